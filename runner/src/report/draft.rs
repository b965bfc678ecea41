//! Playbooks that tunerun itself drafts: block style, with comments that say where each task comes from.
use serde_json::{Map, Value as Json};
use std::fmt::Write as _;

/// One task of a draft, or what stands in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftedTask {
    /// Lines of the comment above it.
    pub about: Vec<String>,
    /// The task; none where there is only a comment.
    pub task: Option<Json>,
    /// Whether it is written as a comment, for a person to decide.
    pub is_comment: bool,
}

/// One play of a draft.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DraftedPlay {
    /// Its name.
    pub name: String,
    /// Its hosts, as a pattern.
    pub hosts: String,
    /// Whether its tasks become root.
    pub is_root: bool,
    /// Its tasks.
    pub tasks: Vec<DraftedTask>,
}

/// The text of a playbook. `about` are lines of the comment at its head.
pub fn playbook(about: &[String], plays: &[DraftedPlay]) -> String {
    let mut out = String::new();
    comment(about, "", &mut out);
    for (index, play) in plays.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let _ = writeln!(out, "- name: {}", scalar(&play.name));
        let _ = writeln!(out, "  hosts: {}", scalar(&play.hosts));
        out.push_str("  gather_facts: false\n");
        if play.is_root {
            out.push_str("  become: true\n");
        }
        let active = play.tasks.iter().any(|task| task.task.is_some() && !task.is_comment);
        out.push_str(if active { "  tasks:\n" } else { "  tasks: []\n" });
        for task in &play.tasks {
            comment(&task.about, "    ", &mut out);
            if let Some(body) = &task.task {
                let mut text = String::new();
                item(body, 4, &mut text);
                if task.is_comment {
                    text.lines().for_each(|line| {
                        let _ = writeln!(out, "    # {}", line.get(4..).unwrap_or_default());
                    });
                } else {
                    out.push_str(&text);
                }
            }
        }
    }
    out
}

fn comment(lines: &[String], indent: &str, out: &mut String) {
    // A newline in what a host said must not become a line of the playbook.
    for line in lines.iter().flat_map(|line| line.lines()) {
        let line: String =
            line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let _ = writeln!(out, "{}", format!("{indent}# {line}").trim_end());
    }
}

/// A member of a list, its first key behind the dash.
fn item(value: &Json, depth: usize, out: &mut String) {
    match value {
        Json::Object(map) if !map.is_empty() => {
            let mut text = String::new();
            mapping(map, depth + 2, &mut text);
            let _ = write!(out, "{}- {}", " ".repeat(depth), text.trim_start());
        }
        other => {
            let _ = writeln!(out, "{}- {}", " ".repeat(depth), inline(other));
        }
    }
}

fn mapping(map: &Map<String, Json>, depth: usize, out: &mut String) {
    // A task's name is read first.
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key != "name");
    for (key, value) in entries {
        let _ = write!(out, "{}{}:", " ".repeat(depth), scalar(key));
        match value {
            Json::Object(map) if !map.is_empty() => {
                out.push('\n');
                mapping(map, depth + 2, out);
            }
            Json::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                out.push('\n');
                items.iter().for_each(|member| item(member, depth + 2, out));
            }
            other => {
                let _ = writeln!(out, " {}", inline(other));
            }
        }
    }
}

/// A value on one line.
fn inline(value: &Json) -> String {
    match value {
        Json::String(text) => scalar(text),
        Json::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// A text as a scalar: plain where it can be mistaken for nothing else, never a template.
fn scalar(text: &str) -> String {
    let quoted = || Json::from(text).to_string();
    if ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
        return format!("!unsafe {}", quoted());
    }
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "_ ./@+-='".contains(letter);
    let begins =
        text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/' || letter == '_');
    let words = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];
    let is_word = words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_number =
        ["inf", "nan"].iter().any(|word| text.to_ascii_lowercase().contains(word)) && text.len() < 6;
    if begins && text.chars().all(fine) && !text.ends_with(' ') && !is_word && !is_number {
        return text.to_owned();
    }
    quoted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let task = json!({
            "name": "Off: a trap",
            "libvirt_domain": {
                "domains": ["web", "on", "1", "a b", "-x", "#c"],
                "disks": [{ "target": "vda", "iothread": 1 }, { "target": "vdb", "io": "native" }],
                "text": "line\nline",
                "jinja": "{{ x }}",
                "empty": {},
                "none": [],
            },
        });
        let drafted = |is_comment| DraftedTask {
            about: vec!["seen\nhere".to_owned()],
            task: Some(task.clone()),
            is_comment,
        };
        let plays = [DraftedPlay {
            name: "Drafted for a:b".to_owned(),
            hosts: "a:b".to_owned(),
            is_root: true,
            tasks: vec![drafted(false), drafted(true)],
        }];
        let text = playbook(&["head".to_owned()], &plays);
        let source = crate::source::Source::new("draft", text.clone());
        let read = crate::yaml::parse_one(&source).unwrap_or_else(|why| panic!("{why:?}\n{text}")).to_json();
        assert_eq!(read[0]["hosts"], "a:b", "{text}");
        let back = &read[0]["tasks"][0];
        assert_eq!(back["name"], task["name"]);
        let (one, two) = (&back["libvirt_domain"], &task["libvirt_domain"]);
        for key in ["domains", "disks", "text", "empty", "none"] {
            assert_eq!(one[key], two[key], "{key}: {text}");
        }
        assert_eq!(one["jinja"]["__ansible_unsafe"], "{{ x }}");
        assert_eq!(read[0]["tasks"].as_array().map(Vec::len), Some(1), "{text}");
        assert!(text.contains("    # - name: "), "{text}");
    }

    #[test]
    fn a_play_of_comments_has_no_tasks() {
        let plays = [DraftedPlay {
            tasks: vec![DraftedTask { about: vec!["nothing".to_owned()], ..DraftedTask::default() }],
            ..DraftedPlay::default()
        }];
        let text = playbook(&[], &plays);
        let source = crate::source::Source::new("draft", text.clone());
        assert_eq!(crate::yaml::parse_one(&source).unwrap().to_json()[0]["tasks"], json!([]), "{text}");
    }
}
