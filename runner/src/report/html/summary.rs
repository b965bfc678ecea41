//! The head of the page: which run it was and what came of it, first of all.
use super::element::{Element, el};
use super::{counted, names};
use crate::gate::Outcome;
use crate::journal::HostEnd;
use crate::report::history::{History, Standing, exit_words, lasted};

/// What came of the run, in a word or two.
pub fn word(history: &History) -> String {
    let word = match (history.standing, history.exit) {
        (Standing::Unreadable, _) => "Not readable".to_owned(),
        (Standing::Open, _) => "Still running, or cut off".to_owned(),
        (Standing::Undone, _) => "Undone".to_owned(),
        (Standing::UndoneInPart, _) => "Undone in part".to_owned(),
        (Standing::UndoCutOff, _) => "Undo cut off".to_owned(),
        (_, Some(code)) => Standing::Ended(code).to_string(),
        (standing, None) => standing.to_string(),
    };
    let mut signs = word.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}

/// How it is to be felt: good, bad, or open.
fn tone(history: &History) -> &'static str {
    match (history.standing, history.exit) {
        (Standing::Unreadable | Standing::Open | Standing::UndoCutOff | Standing::UndoneInPart, _) => "open",
        (Standing::Undone, _) => "open",
        (_, Some(0)) => "good",
        (_, Some(9 | 12 | 13 | 16)) => "open",
        _ => "bad",
    }
}

fn sentence(history: &History) -> String {
    match history.standing {
        Standing::Unreadable => format!(
            "The journal of this run cannot be read, so this page tells only of what lies beside it. {}",
            history.unreadable.as_deref().unwrap_or_default()
        ),
        Standing::Open => {
            "The journal holds no end of this run: it is still running, or was cut off. What follows is as \
                           far as it came; `tunerun resume` goes on with a run that was cut off."
                .to_owned()
        }
        Standing::Undone => {
            "What the run had changed was taken back afterwards by `tunerun undo`.".to_owned()
        }
        Standing::UndoneInPart => {
            "`tunerun undo` took back what it could; what it left is told below.".to_owned()
        }
        Standing::UndoCutOff => "`tunerun undo` began and did not end: run it again.".to_owned(),
        Standing::Ended(_) | Standing::Closed => {
            history.exit.map_or_else(String::new, |exit| exit_words(exit).to_owned())
        }
    }
}

/// The head of the page.
pub fn header(history: &History) -> Element {
    let tone = tone(history);
    let mut outcome = el("div")
        .class(&format!("outcome {tone}"))
        .with(el("p").class("word").text(word(history)))
        .with(el("p").text(sentence(history)));
    if matches!(history.exit, Some(6 | 7)) {
        let why = history.gates.iter().rev().find(|gate| gate.kept == Some(false));
        if let Some(gate) = why {
            outcome = outcome.with(el("p").with(el("strong").text("Why: ")).text(format!(
                "{} {}: {}",
                gate.change(),
                gate.word(),
                gate.why
            )));
        }
    }
    if history.torn > 0 {
        outcome = outcome.with(el("p").text(format!(
            "The last {} bytes of the journal are a torn record: it was never acted on.",
            history.torn
        )));
    }
    if !history.tells_secrets && history.unreadable.is_none() {
        outcome = outcome.with(
            el("p").text("This journal does not tell which tasks hold a secret, so no value is shown."),
        );
    }
    el("header")
        .with(el("p").class("over").text("tunerun report"))
        .with(el("h1").text("Run ").with(el("span").class("name").text(&history.run)))
        .with(outcome)
        .with(facts(history))
}

fn facts(history: &History) -> Element {
    let mut rows: Vec<(&str, Element)> = Vec::new();
    let plain = |text: String| el("dd").text(text);
    if let Some(began) = &history.began {
        rows.push(("Asked", el("dd").with(el("code").text(&began.command))));
        rows.push(("By", plain(format!("{}, tunerun {}", began.by, began.version))));
        if let Some(at) = began.at {
            let time = el("time").at("datetime", at.rfc3339()).text(at.to_string());
            let took = history.ended.or(history.until).map(|until| lasted(until.since(at)));
            let took = took.map(|took| format!(", took {took}")).unwrap_or_default();
            rows.push(("When", el("dd").with(time).text(took)));
        }
        if let Some(earlier) = &began.continues {
            rows.push(("Goes on with", el("dd").with(el("code").text(earlier))));
        }
    }
    if let Some(exit) = history.exit {
        rows.push(("Exit code", plain(format!("{exit}: {}", exit_words(exit)))));
    }
    rows.push(("Hosts", plain(hosts(history))));
    if !history.gates.is_empty() {
        rows.push(("Gates", plain(gates(history))));
    }
    let cells = rows.into_iter().map(|(name, value)| el("div").with(el("dt").text(name)).with(value));
    let mut facts = el("div").with(el("dl").class("facts").all(cells));
    let made_from = history.began.as_ref().map_or(&[][..], |began| &began.made_from[..]);
    if !made_from.is_empty() {
        let rows =
            made_from.iter().map(|(name, digest)| vec![name.clone(), digest.chars().take(12).collect()]);
        let table = super::chart::table("Files that the run was made from", &["file", "SHA-256"], rows);
        facts = facts
            .with(super::chart::folded(&format!("Made from {}", counted(made_from.len(), "file")), table));
    }
    facts
}

fn hosts(history: &History) -> String {
    let of = |end: HostEnd| {
        history.hosts.iter().filter(|host| host.end.as_ref().is_some_and(|known| known.how == end)).count()
    };
    let ends = [
        (of(HostEnd::Proven), "proven"),
        (of(HostEnd::RolledBack), "rolled back"),
        (of(HostEnd::Failed) + of(HostEnd::FailedHalf) + of(HostEnd::Refused), "failed"),
        (of(HostEnd::Unreachable), "unreachable"),
        (of(HostEnd::Lost), "lost"),
        (of(HostEnd::Waiting), "not begun"),
    ];
    let told: Vec<String> =
        ends.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let told = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
    format!("{}{told}", history.hosts.len())
}

fn gates(history: &History) -> String {
    let of = |outcome: Option<Outcome>| -> Vec<&str> {
        history.gates.iter().filter(|gate| gate.outcome == outcome).map(|gate| gate.change()).collect()
    };
    let all = [Some(Outcome::Regress), Some(Outcome::Inconclusive), None, Some(Outcome::Pass)];
    let told = all.into_iter().filter_map(|outcome| {
        let gates = of(outcome);
        let word = outcome.map_or("no answer", Outcome::word);
        (!gates.is_empty()).then(|| format!("{word}: {}", names(&gates)))
    });
    told.collect::<Vec<_>>().join("; ")
}
