//! Reads as one piece of shell text: few processes, whatever the number of reads.
//!
//! Nodes are classed by the shell's own tests, then one `stat`, one `head`, one `sha256sum` and one `grep` answer for
//! all of them. The order of the reads is the order of the answers, so no name has to be found in the output.
use crate::transport::shell::word::{literal, plain, quote};
use modules::programs;
use modules::vocabulary::{HostPath, Read, Row, TEXT_LIMIT, Want};
use std::fmt::Write as _;

/// What `stat` is asked for; the name comes last since it may hold anything.
pub(super) const STAT_FORMAT: &str = "%f|%u|%g|%h|%s|%Y|%U|%G|%m|%n";

/// The functions that the text uses. `k PATH`: prints the class of a node: `L`ink, `F`ile, `D`ir, `O`ther, un`R`eadable
/// file, `A`bsent, or denied (`X`) where a folder above may not be searched.
const FUNCTIONS: &str = r#"k() { if [ -L "$1" ]; then printf L; elif [ -f "$1" ]; then if [ -r "$1" ]; then printf F; else printf R; fi
elif [ -d "$1" ]; then printf D; elif [ -e "$1" ]; then printf O
else _d=$1; while _d=${_d%/*}; [ -n "$_d" ] && [ ! -d "$_d" ]; do :; done; if [ -x "${_d:-/}" ]; then printf A; else printf X; fi; fi; }
"#;

/// The reads of one round, sorted into what answers them together.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Real nodes with what is wanted of their content.
    pub(super) nodes: Vec<(HostPath, Option<Want>)>,
    /// Files below /proc and /sys.
    pub(super) values: Vec<HostPath>,
    /// Patterns.
    pub(super) globs: Vec<String>,
    /// Programs.
    pub(super) asks: Vec<Row>,
}

impl Reads {
    /// Sorts reads, each once; of one path the fullest read stays.
    pub fn new<'a>(reads: impl IntoIterator<Item = &'a Read>) -> Self {
        let mut sorted = Self::default();
        let mut at = std::collections::HashMap::new();
        for read in reads {
            match read {
                Read::File { path, .. } if path.is_virtual() => once(&mut sorted.values, path),
                Read::File { path, want } => sorted.node(&mut at, path, Some(*want)),
                Read::Stat(path) => sorted.node(&mut at, path, None),
                Read::Glob(pattern) => once(&mut sorted.globs, pattern),
                Read::Ask(row) => once(&mut sorted.asks, row),
                // These go over sockets, not by the host's shell.
                Read::Rpc { .. } => {}
            }
        }
        sorted
    }

    fn node(
        &mut self,
        at: &mut std::collections::HashMap<HostPath, usize>,
        path: &HostPath,
        want: Option<Want>,
    ) {
        let index = *at.entry(path.clone()).or_insert_with(|| {
            self.nodes.push((path.clone(), None));
            self.nodes.len() - 1
        });
        let known = &mut self.nodes[index].1;
        *known = match (*known, want) {
            (Some(Want::Text), _) | (_, Some(Want::Text)) => Some(Want::Text),
            (Some(Want::Digest), _) | (_, Some(Want::Digest)) => Some(Want::Digest),
            (None, None) => None,
        };
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.values.is_empty() && self.globs.is_empty() && self.asks.is_empty()
    }

    /// The most bytes that the contents can be.
    pub fn content_cap(&self) -> usize {
        let texts = self.nodes.iter().filter(|(_, want)| *want == Some(Want::Text)).count();
        texts * (TEXT_LIMIT as usize + 1) + 1
    }

    /// The shell text. Sections: `k` classes, `st` stat, `rl.N` link targets, `c` contents, `dg` digests, `v` values,
    /// `g.N` names, `a.N` answers; each with a prefix so that several probes fit one script.
    ///
    /// # Errors
    /// Says which read cannot be made into a command.
    pub fn text(&self, prefix: &str) -> Result<String, String> {
        let mut out = String::new();
        if !self.nodes.is_empty() || !self.values.is_empty() {
            out.push_str(FUNCTIONS);
        }
        self.nodes_text(prefix, &mut out)?;
        self.values_text(prefix, &mut out)?;
        for (index, pattern) in self.globs.iter().enumerate() {
            glob_text(prefix, index, pattern, &mut out)?;
        }
        for (index, row) in self.asks.iter().enumerate() {
            let _ = writeln!(out, "{}; s {prefix}a.{index} $?", call_text(row)?);
        }
        Ok(out)
    }

    fn nodes_text(&self, prefix: &str, out: &mut String) -> Result<(), String> {
        if self.nodes.is_empty() {
            return Ok(());
        }
        // The positional parameters are the only list that sh has: each reader gets its own pass over the names.
        let words: Vec<String> =
            self.nodes.iter().map(|(path, _)| path_word(path)).collect::<Result<_, _>>()?;
        let _ = writeln!(
            out,
            "set --; for _f in {}; do k \"$_f\"; if [ -e \"$_f\" ] || [ -L \"$_f\" ]; then set -- \"$@\" \"$_f\"; fi; done; s {prefix}k 0",
            words.join(" ")
        );
        let _ =
            writeln!(out, "b {prefix}st; [ $# = 0 ] || stat -c '{STAT_FORMAT}' -- \"$@\"; s {prefix}st 0");
        for (index, word) in words.iter().enumerate() {
            let _ =
                writeln!(out, "if [ -L {word} ]; then readlink -n -- {word}; s {prefix}rl.{index} $?; fi");
        }
        for (wanted, section, command) in [
            (Want::Text, "c", format!("head -q -c {} --", TEXT_LIMIT + 1)),
            (Want::Digest, "dg", "sha256sum --".to_owned()),
        ] {
            let words: Vec<&str> = self
                .nodes
                .iter()
                .zip(&words)
                .filter(|((_, want), _)| *want == Some(wanted))
                .map(|(_, word)| word.as_str())
                .collect();
            if words.is_empty() {
                continue;
            }
            let _ = writeln!(
                out,
                "set --; for _f in {}; do if [ ! -L \"$_f\" ] && [ -f \"$_f\" ] && [ -r \"$_f\" ]; then set -- \"$@\" \"$_f\"; fi; done
b {prefix}{section}; [ $# = 0 ] || {command} \"$@\"; s {prefix}{section} $?",
                words.join(" ")
            );
        }
        Ok(())
    }

    fn values_text(&self, prefix: &str, out: &mut String) -> Result<(), String> {
        if self.values.is_empty() {
            return Ok(());
        }
        let words: Vec<String> = self.values.iter().map(path_word).collect::<Result<_, _>>()?;
        let _ = writeln!(
            out,
            "set --; for _f in {}; do k \"$_f\"; if [ -f \"$_f\" ] && [ -r \"$_f\" ]; then set -- \"$@\" \"$_f\"; fi; done; s {prefix}vk 0
b {prefix}v; [ $# = 0 ] || grep -H '' \"$@\" /dev/null; s {prefix}v 0",
            words.join(" ")
        );
        Ok(())
    }
}

/// The answers are told apart by their order, so nothing may be asked twice.
fn once<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T) {
    if !list.contains(item) {
        list.push(item.clone());
    }
}

/// A path as one shell word.
pub(crate) fn path_word(path: &HostPath) -> Result<String, String> {
    literal(path.as_str().as_bytes()).map_err(|why| format!("{path} {why}"))
}

/// A row of the tables as a simple command, with /dev/null as its input unless it has one.
///
/// # Errors
/// Says what cannot be made into a command.
pub(crate) fn call_text(row: &Row) -> Result<String, String> {
    let words = programs::command(row)?;
    let mut text = String::new();
    for (name, value) in &row.env {
        if !is_name(name) {
            return Err(format!("`{name}` cannot be the name of an environment variable"));
        }
        let _ = write!(text, "{name}={} ", value_word(value)?);
    }
    for (index, word) in words.iter().enumerate() {
        // A first word with quotes around it is never taken for an alias, a keyword or an assignment.
        let word = if index == 0 { forced_quote(word)? } else { value_word(word)? };
        let _ = write!(text, "{word} ");
    }
    text.pop();
    if let Some(stdin) = &row.stdin {
        text = format!("{} | {text}", crate::transport::shell::word::emit(stdin.as_bytes()));
    }
    if let Some(dir) = &row.dir {
        text = format!("( cd {} && {text} )", path_word(dir)?);
    }
    Ok(text)
}

fn value_word(value: &str) -> Result<String, String> {
    literal(value.as_bytes()).map_err(|why| format!("an argument {why}"))
}

fn forced_quote(word: &str) -> Result<String, String> {
    let quoted = value_word(word)?;
    Ok(if quoted.starts_with(['\'', '"']) { quoted } else { format!("'{word}'") })
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|letter: char| letter.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn glob_text(prefix: &str, index: usize, pattern: &str, out: &mut String) -> Result<(), String> {
    let fixed = pattern.split(['*', '?', '[']).next().unwrap_or("/");
    let folder = &fixed[..fixed.rfind('/').map_or(0, |cut| cut.max(1))];
    let folder = if folder.is_empty() { "/" } else { folder };
    let _ = writeln!(
        out,
        "for _f in {}; do if [ -e \"$_f\" ] || [ -L \"$_f\" ]; then printf '%s\\000' \"$_f\"; fi; done; if [ ! -d {} ] || [ -r {} ]; then s {prefix}g.{index} 0; else s {prefix}g.{index} 13; fi",
        glob_word(pattern)?,
        quote(&plain(folder)),
        quote(&plain(folder))
    );
    Ok(())
}

/// A pattern as a shell word in which only `*`, `?` and brackets are special.
fn glob_word(pattern: &str) -> Result<String, String> {
    if pattern.contains('\0') || !pattern.starts_with('/') {
        return Err(format!("`{pattern}` is not a pattern of absolute paths"));
    }
    let mut word = String::new();
    for letter in plain(pattern).chars() {
        match letter {
            '*' | '?' | '[' | ']' | '!' | '-' | '/' => word.push(letter),
            letter if letter.is_ascii_alphanumeric() || "._:@,+".contains(letter) => word.push(letter),
            '\'' => word.push_str("\\'"),
            letter => {
                let _ = write!(word, "'{letter}'");
            }
        }
    }
    Ok(word)
}
