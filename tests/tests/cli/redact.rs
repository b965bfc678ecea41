//! What differs from run to run, replaced by a word.

/// A text without names of runs, times, digests, and names of this machine.
pub fn redacted(text: &str, folder: &str) -> String {
    let mut out = text.replace(folder, "/DIR");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let user = user();
    for (from, to) in [
        (format!("by {user} on {}", host.trim()), "by USER on MACHINE".to_owned()),
        (format!("acting as {user}"), "acting as USER".to_owned()),
        (format!(" {user}:{user}"), " USER:GROUP".to_owned()),
    ] {
        out = out.replace(&from, &to);
    }
    let rules: [(&[Piece], &str); 5] = [
        (&[Digits(8), Text("-"), Digits(6), Text("-"), Letters(4)], "RUN"),
        (
            &[
                Digits(4),
                Text("-"),
                Digits(2),
                Text("-"),
                Digits(2),
                Text("T"),
                Digits(2),
                Text(":"),
                Digits(2),
                Text(":"),
                Digits(2),
                Text("."),
                Digits(3),
                Text("Z"),
            ],
            "TIME",
        ),
        (&[Text("("), Hex(12), Text(")")], "(DIGEST)"),
        (&[Text("plan "), Hex(12), Text(";")], "plan DIGEST;"),
        (&[Text("content "), Hex(8), Text("…")], "content DIGEST…"),
    ];
    for (pattern, word) in rules {
        out = replaced(&out, pattern, word);
    }
    out
}

fn user() -> String {
    let output = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A part of a pattern.
enum Piece {
    Text(&'static str),
    Digits(usize),
    Letters(usize),
    Hex(usize),
}
use Piece::{Digits, Hex, Letters, Text};

fn replaced(text: &str, pattern: &[Piece], word: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match matched(rest, pattern) {
            Some(length) => {
                out.push_str(word);
                rest = &rest[length..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

fn matched(text: &str, pattern: &[Piece]) -> Option<usize> {
    let mut at = 0;
    for piece in pattern {
        let rest = &text[at..];
        let all = |count: usize, fits: fn(char) -> bool| {
            let taken: Vec<char> = rest.chars().take(count).collect();
            (taken.len() == count && taken.iter().all(|letter| letter.is_ascii() && fits(*letter)))
                .then_some(count)
        };
        at += match piece {
            Text(words) => rest.starts_with(words).then_some(words.len())?,
            Digits(count) => all(*count, |letter| letter.is_ascii_digit())?,
            Letters(count) => all(*count, |letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())?,
            Hex(count) => all(*count, |letter| letter.is_ascii_hexdigit())?,
        };
    }
    Some(at)
}
