//! A run as JUnit XML, as CI servers read it: hosts are suites, their tasks are cases, and so are the gates.
use super::history::{
    Batch, Came, Difference, End, Fate, Gate, History, Host, Kind, Moment, Standing, exit_words,
};
use super::terminal::end_words;
use crate::gate::Outcome;
use crate::journal::HostEnd;
use std::fmt::Write as _;
use std::time::Duration;

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Result {
    Passed,
    Skipped(String),
    /// What was looked for is not so.
    Failed(String),
    /// It could not be found out.
    Error(String),
}

/// One case.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    time: Duration,
    result: Result,
    said: String,
}

/// One suite.
struct Suite {
    name: String,
    at: Option<Moment>,
    cases: Vec<Case>,
}

/// The run as a document.
pub fn junit(history: &History) -> String {
    let mut suites = vec![whole(history)];
    suites.extend(history.hosts.iter().map(|host| of_host(host, history.began_at())));
    if !history.gates.is_empty() {
        let cases = history.gates.iter().map(|gate| of_gate(gate, history)).collect();
        let at = history.gates.iter().find_map(|gate| gate.began).or(history.began_at());
        suites.push(Suite { name: "gates".to_owned(), at, cases });
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let cases = || suites.iter().flat_map(|suite| &suite.cases);
    let name = escaped(&format!("tunerun {}", history.run));
    let _ = writeln!(out, "<testsuites name=\"{name}\" {}>", counts(cases()));
    for suite in &suites {
        write_suite(suite, history, &mut out);
    }
    out.push_str("</testsuites>\n");
    out
}

/// The run as a whole: how it ended.
fn whole(history: &History) -> Suite {
    let time = history.began_at().zip(history.ended.or(history.until));
    let time = time.map(|(at, until)| until.since(at)).unwrap_or_default();
    let result = match (history.standing, history.exit) {
        (Standing::Unreadable, _) => Result::Error(format!(
            "its journal cannot be read: {}",
            history.unreadable.as_deref().unwrap_or_default()
        )),
        (Standing::Open, _) => {
            Result::Error("no end is recorded: it is still running, or was cut off".to_owned())
        }
        (_, Some(7)) => Result::Failed(format!("ROLLED BACK: {}{}", exit_words(7), why(history))),
        (_, Some(0)) | (Standing::Undone, None) => Result::Passed,
        (standing, Some(code)) => Result::Failed(format!("{standing}: {}", exit_words(code))),
        (standing, None) => Result::Failed(standing.to_string()),
    };
    let mut said = history.began.as_ref().map_or_else(String::new, |began| began.command.clone());
    for decided in &history.decided {
        let _ = write!(said, "\ndecided by {}: {}", decided.by, decided.what);
    }
    if !matches!(history.standing, Standing::Ended(_) | Standing::Open | Standing::Unreadable) {
        let _ = write!(said, "\nafterwards: {}", history.standing);
    }
    let case = Case { name: "how the run ended".to_owned(), time, result, said };
    Suite { name: "run".to_owned(), at: history.began_at(), cases: vec![case] }
}

fn why(history: &History) -> String {
    let gate = history.gates.iter().rev().find(|gate| gate.kept == Some(false));
    gate.map(|gate| format!("\n{} {}: {}", gate.change(), gate.word(), gate.why)).unwrap_or_default()
}

fn of_host(host: &Host, began: Option<Moment>) -> Suite {
    let mut cases: Vec<Case> = host.batches.iter().flat_map(|batch| of_batch(host, batch)).collect();
    // A gate puts its change on many times: each time is a case of its own.
    let mut seen: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    for case in &mut cases {
        let count = seen.entry(case.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let _ = write!(case.name, " (again, {count})");
        }
    }
    cases.push(of_end(host));
    let at = host.batches.iter().find_map(|batch| batch.at).or(began);
    Suite { name: format!("host {}", host.name), at, cases }
}

fn of_batch(host: &Host, batch: &Batch) -> Vec<Case> {
    let time = batch.at.zip(batch.until).map(|(at, until)| until.since(at)).unwrap_or_default();
    let whole = |name: String| Case { name, time, result: result(&batch.came), said: String::new() };
    if batch.tasks.is_empty() {
        return vec![whole(format!("batch {}: {}", batch.number, batch.kind.words()))];
    }
    if batch.kind != Kind::Forward {
        return vec![whole(format!("{}: {}", batch.kind.words(), batch.tasks.join(", ")))];
    }
    // The batch is one script: its time is told with its first task alone.
    let mut times = std::iter::once(time).chain(std::iter::repeat(Duration::ZERO));
    let one = |task: &String| {
        let own: Vec<_> = host.settings.iter().filter(|setting| setting.task == *task).collect();
        let failed = own.iter().find_map(|setting| setting.failed.clone());
        let result = match (&batch.came, failed) {
            (Came::Done, _) => Result::Passed,
            (Came::Failed(_), Some(why)) => Result::Failed(why),
            (Came::Failed(_), None) if own.iter().all(|setting| setting.fate == Fate::NotWritten) => {
                Result::Skipped("an earlier task of its batch failed".to_owned())
            }
            (Came::Failed(why), None) if batch.tasks.len() == 1 => Result::Failed(why.clone()),
            (Came::Failed(_), None) => Result::Passed,
            (came, _) => self::result(came),
        };
        let said = own.iter().map(|setting| {
            let what = match &setting.difference {
                Difference::Ran { call } => format!("ran {call}"),
                difference => {
                    let (before, after) = difference.words();
                    format!("{before} -> {after}")
                }
            };
            format!("{}: {what} ({})", setting.claim, setting.fate.words())
        });
        let said = said.collect::<Vec<_>>().join("\n");
        Case { name: task.clone(), time: times.next().unwrap_or_default(), result, said }
    };
    batch.tasks.iter().map(one).collect()
}

fn result(came: &Came) -> Result {
    match came {
        Came::Done => Result::Passed,
        Came::Failed(why) => Result::Failed(why.clone()),
        Came::NothingWritten(why) => Result::Failed(format!("nothing was written: {why}")),
        Came::Lost(why) => Result::Error(format!("whether it was done is not known: {why}")),
        Came::Open => Result::Error("no answer is recorded".to_owned()),
    }
}

fn of_end(host: &Host) -> Case {
    let said = match &host.owed[..] {
        [] => String::new(),
        owed => format!("written, and felt only after: {}", owed.join(", ")),
    };
    let result = match &host.end {
        None => Result::Error("no end is recorded".to_owned()),
        Some(End { how: HostEnd::Proven, .. }) => Result::Passed,
        Some(End { how: how @ (HostEnd::Skipped | HostEnd::Waiting | HostEnd::Declined), .. }) => {
            Result::Skipped(end_words(*how).to_owned())
        }
        Some(End { how: how @ (HostEnd::Unreachable | HostEnd::Lost), why, .. }) => {
            Result::Error(told(*how, why.as_deref()))
        }
        Some(End { how, why, .. }) => Result::Failed(told(*how, why.as_deref())),
    };
    Case { name: "how the host ended".to_owned(), time: Duration::ZERO, result, said }
}

fn told(how: HostEnd, why: Option<&str>) -> String {
    why.map_or_else(|| end_words(how).to_owned(), |why| format!("{}: {why}", end_words(how)))
}

fn of_gate(gate: &Gate, history: &History) -> Case {
    let why = history.veil.text(&gate.why);
    let stays = gate.kept == Some(true);
    let result = match gate.outcome {
        Some(Outcome::Pass) => Result::Passed,
        Some(Outcome::Inconclusive) if stays => Result::Passed,
        Some(outcome) => Result::Failed(format!("{}: {why}", outcome.word())),
        None => Result::Error("it gave no answer".to_owned()),
    };
    let said = match (&gate.record, gate.record.as_ref().and_then(|record| record.verdict.as_ref())) {
        (Some(record), Some(verdict)) => {
            history.veil.text(&crate::gate::summary::summary(&record.experiment, verdict))
        }
        _ => why,
    };
    let time = gate.began.zip(gate.ended).map(|(at, until)| until.since(at)).unwrap_or_default();
    // Gates of later waves judge the same change again.
    let name = format!("{} ({})", gate.change(), gate.id);
    Case { name, time, result, said }
}

fn counts<'a>(cases: impl Iterator<Item = &'a Case>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped, mut time) = (0, 0, 0, 0, Duration::ZERO);
    for case in cases {
        tests += 1;
        time += case.time;
        match case.result {
            Result::Passed => {}
            Result::Skipped(_) => skipped += 1,
            Result::Failed(_) => failures += 1,
            Result::Error(_) => errors += 1,
        }
    }
    format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{:.3}\"",
        time.as_secs_f64()
    )
}

fn write_suite(suite: &Suite, history: &History, out: &mut String) {
    // Without a zone, as the format has it: in UTC.
    let at = suite.at.map(|at| format!(" timestamp=\"{}\"", &at.rfc3339()[..19])).unwrap_or_default();
    let name = escaped(&suite.name);
    let _ = writeln!(out, "  <testsuite name=\"{name}\" {}{at}>", counts(suite.cases.iter()));
    // A point would begin another level of names.
    let playbook = history.playbook().split('.').next().unwrap_or_default();
    let class = escaped(&format!("tunerun.{playbook}.{}", suite.name));
    for case in &suite.cases {
        let _ = write!(
            out,
            "    <testcase classname=\"{class}\" name=\"{}\" time=\"{:.3}\">",
            escaped(&case.name),
            case.time.as_secs_f64()
        );
        let element = |name: &str, why: &str| {
            let first = why.lines().next().unwrap_or_default();
            format!("<{name} message=\"{}\">{}</{name}>", escaped(first), escaped(why))
        };
        match &case.result {
            Result::Passed => {}
            Result::Skipped(why) => {
                let _ = write!(out, "<skipped message=\"{}\"/>", escaped(why));
            }
            Result::Failed(why) => out.push_str(&element("failure", why)),
            Result::Error(why) => out.push_str(&element("error", why)),
        }
        if !case.said.is_empty() {
            let _ = write!(out, "<system-out>{}</system-out>", escaped(&case.said));
        }
        out.push_str("</testcase>\n");
    }
    out.push_str("  </testsuite>\n");
}

/// A text for XML 1.0: what it cannot hold at all is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
