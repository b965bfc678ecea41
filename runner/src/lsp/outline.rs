//! A YAML text line by line: keys, dashes and columns. It reads what is being typed, which no parser does.
use std::ops::Range;

/// One line that holds something.
#[derive(Clone, Debug)]
pub struct Line {
    /// The byte of the text that it begins with.
    pub start: usize,
    /// Columns of the dashes before its content.
    pub dashes: Vec<usize>,
    /// The column of its content.
    pub column: usize,
    /// The bytes of its key, without quotes; none where it has none.
    pub key: Option<Range<usize>>,
    /// The bytes of what stands behind the key, or of the whole content.
    pub value: Range<usize>,
}

impl Line {
    /// Its key.
    pub fn key<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.key.clone().map(|range| &text[range])
    }

    /// What stands behind its key, without quotes and comment.
    pub fn value<'t>(&self, text: &'t str) -> &'t str {
        bare(&text[self.value.clone()])
    }
}

/// A value without quotes around it and without a comment behind it.
pub fn bare(value: &str) -> &str {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote) {
            return inner.split(quote).next().unwrap_or(inner);
        }
    }
    value.split(" #").next().unwrap_or(value).trim_end()
}

/// The lines of a text that hold something, without comments and the insides of block texts.
pub fn outline(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    // Inside of a block text: what stands further right than this column belongs to it.
    let mut block: Option<usize> = None;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        let indent = line.len() - line.trim_start_matches(' ').len();
        let content = &line[indent..];
        let inside = block.is_some_and(|column| content.is_empty() || indent > column);
        if !inside {
            block = None;
            if !content.is_empty() && !content.starts_with('#') && !line.starts_with("---") {
                let found = one(start, line);
                let value = text[found.value.clone()].trim();
                let is_block = value.starts_with(['|', '>'])
                    && value[1..].chars().all(|sign| "+-0123456789".contains(sign));
                if is_block {
                    let column = if found.key.is_some() { found.column } else { indent };
                    block = Some(column);
                }
                lines.push(found);
            }
        }
        start += whole.len();
    }
    lines
}

/// Takes one line apart.
pub fn one(start: usize, line: &str) -> Line {
    let mut column = line.len() - line.trim_start_matches(' ').len();
    let mut dashes = Vec::new();
    while line[column..].starts_with("- ") || &line[column..] == "-" {
        dashes.push(column);
        let rest = &line[column + 1..];
        column += 1 + rest.len() - rest.trim_start_matches(' ').len();
    }
    let content = &line[column..];
    let (key, value) = match split(content) {
        Some((key, value)) => (Some(start + column + key.start..start + column + key.end), column + value),
        None => (None, column),
    };
    let value = value.min(line.len());
    Line { start, dashes, column, key, value: start + value..start + line.len() }
}

/// The key of `key: value`, and where the value begins.
fn split(content: &str) -> Option<(Range<usize>, usize)> {
    let quote = content.chars().next().filter(|first| matches!(first, '"' | '\''));
    let (key, colon) = match quote {
        Some(quote) => {
            let close = 1 + content[1..].find(quote)?;
            (1..close, close + 1)
        }
        None if content.starts_with(['{', '[', '#', '&', '*', '|', '>', '@', '%']) => return None,
        None => {
            let colon = content.match_indices(':').map(|(at, _)| at).find(|at| {
                let rest = &content[at + 1..];
                rest.is_empty() || rest.starts_with(' ')
            })?;
            (0..colon, colon)
        }
    };
    let rest = content.get(colon..)?.strip_prefix(':')?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let value = content.len() - rest.trim_start().len();
    Some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let text = "# c\n- hosts: all\n  tasks:\n    - - name: 'a: b' # c\n    - shell: |\n        key: inside\n\n      when: x\n  \"q k\": {a: 1}\n  half\n";
        let lines = outline(text);
        let told: Vec<(Option<&str>, &str, usize, Vec<usize>)> = lines
            .iter()
            .map(|line| (line.key(text), line.value(text), line.column, line.dashes.clone()))
            .collect();
        assert_eq!(
            told,
            [
                (Some("hosts"), "all", 2, vec![0]),
                (Some("tasks"), "", 2, vec![]),
                (Some("name"), "a: b", 8, vec![4, 6]),
                (Some("shell"), "|", 6, vec![4]),
                (Some("when"), "x", 6, vec![]),
                (Some("q k"), "{a: 1}", 2, vec![]),
                (None, "half", 2, vec![]),
            ]
        );
    }
}
