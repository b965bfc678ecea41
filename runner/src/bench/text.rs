//! Reading what tools print: JSON with text around it, numbers in strings, the line that says why.
use super::{Output, failed};
use crate::gate::Fault;
use serde_json::Value;

/// The JSON objects in a text that may hold other lines, and those lines. An object begins on a line of its own.
pub(super) fn documents(text: &str) -> (Vec<Value>, Vec<String>) {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..end];
        if line.trim_start().starts_with('{') {
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(value)) = stream.next() {
                found.push(value);
                rest = &rest[stream.byte_offset()..];
                continue;
            }
        }
        if !line.trim().is_empty() {
            others.push(line.trim().into());
        }
        rest = &rest[end..];
    }
    (found, others)
}

/// A number that may be written as a string.
pub(super) fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
    .filter(|number: &f64| number.is_finite())
}

/// Walks down keys.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// The number behind keys.
pub(super) fn number_at(value: &Value, path: &[&str]) -> Option<f64> {
    number(at(value, path))
}

/// Why a call failed, if its status says so: the last line of its errors, else of its output.
pub(super) fn check_status(tool: &str, output: &Output) -> Result<(), Fault> {
    match output.status {
        Some(0) => Ok(()),
        Some(127) => Err(failed(format!("{tool} is not there: {}", complaint(output)))),
        Some(status) => Err(failed(format!("{tool} ended with {status}: {}", complaint(output)))),
        None => Err(failed(format!("{tool} was killed, by its limit or a signal"))),
    }
}

/// The line that says most of why: the last of the errors, else the first of the output that is no JSON.
pub(super) fn complaint(output: &Output) -> String {
    let last = output.stderr.lines().rev().find(|line| !line.trim().is_empty());
    let first =
        output.stdout.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('{'));
    last.or(first).unwrap_or("it said nothing").trim().into()
}

/// The first output, which every driver has.
pub(super) fn only<'a>(tool: &str, outputs: &'a [Output]) -> Result<&'a Output, Fault> {
    outputs.first().ok_or_else(|| failed(format!("{tool} was not run")))
}

/// A number with a unit of bytes a second: `381 MiB/s`, `4.2e6`.
pub(super) fn bytes_per_second(text: &str) -> Option<f64> {
    let text = text.trim().trim_end_matches("/s").trim_end();
    let digits = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E').unwrap_or(text.len());
    let number: f64 = text[..digits].trim().parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "B" => 1.0,
        "KiB" | "kB" | "KB" => 1024.0,
        "MiB" | "MB" => 1024.0 * 1024.0,
        "GiB" | "GB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_among_lines() {
        let text = "note: something\n{\n \"a\": 1\n}\nbetween\n{ \"a\": 2 }\nafter {\n";
        let (found, others) = documents(text);
        assert_eq!(found.iter().filter_map(|v| number(v.get("a"))).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(others, ["note: something", "between", "after {"]);
        assert!(documents("{\n \"a\": 1,\n").0.is_empty(), "half a document is none");
    }

    #[test]
    fn numbers_may_be_strings_and_not_nan() {
        assert_eq!(number(Some(&Value::from("33.28"))), Some(33.28));
        assert_eq!(number(Some(&Value::from("nan"))), None);
        assert_eq!(bytes_per_second("381 MiB/s"), Some(381.0 * 1048576.0));
        assert_eq!(bytes_per_second("4200000.50"), Some(4_200_000.5));
        assert_eq!(bytes_per_second("4.2e6"), Some(4.2e6));
        assert_eq!(bytes_per_second("fast"), None);
    }
}
