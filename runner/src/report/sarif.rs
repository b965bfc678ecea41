//! Problems in the format that code hosts show beside the lines they are about.
//!
//! Source: OASIS, Static Analysis Results Interchange Format 2.1.0.
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Span;
use serde_json::{Value as Json, json};

/// All problems as one run of this program.
pub fn sarif(problems: &[Diagnostic]) -> String {
    let results: Vec<Json> = problems.iter().map(result).collect();
    let rules: Vec<Json> = ["error", "warning"].iter().map(|id| json!({ "id": id })).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "tunerun", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).unwrap_or_default()
}

fn result(problem: &Diagnostic) -> Json {
    let level = match problem.severity {
        Severity::Error => "error",
        _ => "warning",
    };
    let mut text = problem.message.clone();
    for more in problem.notes.iter().map(String::as_str).chain(problem.help.as_deref()) {
        text.push('\n');
        text.push_str(more);
    }
    let locations: Vec<Json> = problem.span.iter().map(location).collect();
    json!({ "ruleId": level, "level": level, "message": { "text": text }, "locations": locations })
}

fn location(span: &Span) -> Json {
    let (line, column) = span.line_column();
    let text = span.text();
    // The end stands behind the last sign, on the line that it is on.
    let (lines, last) = (text.matches('\n').count(), text.rsplit('\n').next().unwrap_or_default());
    let end = last.chars().count() + if lines == 0 { column } else { 1 };
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&span.source.name) },
            "region": { "startLine": line, "startColumn": column, "endLine": line + lines, "endColumn": end },
        }
    })
}

/// A path as a relative or absolute reference (RFC 3986).
fn uri(path: &str) -> String {
    use std::fmt::Write as _;
    let mut uri = String::new();
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn a_problem_stands_where_it_is() {
        let source = Source::new("./play books/a.yaml", "one\n  twö: x\n");
        let start = source.text.find("twö").unwrap();
        let span = Span::new(&source, start, start + "twö".len());
        let problem = Diagnostic::error("no such word", span).help("did you mean `two`?");
        let told: Json = serde_json::from_str(&sarif(&[problem])).unwrap();
        let result = &told["runs"][0]["results"][0];
        assert_eq!(result["level"], "error");
        assert_eq!(result["message"]["text"], "no such word\ndid you mean `two`?");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "play%20books/a.yaml");
        assert_eq!(place["region"], json!({"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 6}));
        let none: Json = serde_json::from_str(&sarif(&[])).unwrap();
        assert_eq!((&none["version"], &none["runs"][0]["results"]), (&json!("2.1.0"), &json!([])));
    }
}
