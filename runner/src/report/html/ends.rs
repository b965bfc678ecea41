//! How each host ended, and who decided what.
use super::chart::{table, table_of};
use super::element::el;
use super::{Section, names};
use crate::journal::HostEnd;
use crate::report::history::{Fate, History, Host, Kind};
use crate::report::terminal::end_words;

/// How each host ended; more than this many ends alike are told once.
const EACH: usize = 60;

/// The table of hosts.
pub fn section(history: &History) -> Option<Section> {
    if history.hosts.is_empty() {
        return None;
    }
    let mut rows: Vec<(Vec<&str>, [String; 6])> = Vec::new();
    for host in &history.hosts {
        let cells = cells(host);
        match rows.iter_mut().find(|(_, known)| history.hosts.len() > EACH && *known == cells) {
            Some((hosts, _)) => hosts.push(&host.name),
            None => rows.push((vec![&host.name], cells)),
        }
    }
    rows.sort_by_key(|(hosts, _)| hosts.len());
    let rows = rows.into_iter().map(|(hosts, cells)| {
        let name = if hosts.len() == 1 {
            hosts[0].to_owned()
        } else {
            format!("{} hosts: {}", hosts.len(), names(&hosts))
        };
        let tone = if cells[0].starts_with(char::is_uppercase) { "bad" } else { "plain" };
        let mut row = vec![el("td").text(name)];
        let end = el("td").with(el("span").class(tone).text(&cells[0]));
        row.push(end);
        row.extend(cells.iter().skip(1).map(|cell| el("td").text(cell)));
        row
    });
    let head = ["host", "how it ended", "steps", "settings", "boots", "written, not felt yet", "round trips"];
    let inner = el("div").with(table_of("How each host ended", &head, rows));
    Some(Section { id: "hosts", title: "Hosts", inner })
}

fn cells(host: &Host) -> [String; 6] {
    let end = match &host.end {
        Some(end) => match &end.why {
            Some(why) => format!("{}: {why}", end_words(end.how)),
            None => end_words(end.how).to_owned(),
        },
        None => "no end is recorded".to_owned(),
    };
    let steps: usize =
        host.batches.iter().filter(|batch| batch.kind != Kind::Back).map(|batch| batch.proven).sum();
    let back: usize =
        host.batches.iter().filter(|batch| batch.kind == Kind::Back).map(|batch| batch.proven).sum();
    let mut settings = Vec::new();
    for fate in [Fate::Stays, Fate::Ran, Fate::TakenBack, Fate::Failed, Fate::NotWritten, Fate::Unknown] {
        let count = host.settings.iter().filter(|setting| setting.fate == fate).count();
        settings.extend((count > 0).then(|| format!("{count} {}", fate.words())));
    }
    let waiting = matches!(host.end.as_ref().map(|end| end.how), Some(HostEnd::Waiting));
    let settings = match (settings.is_empty(), waiting) {
        (false, _) => settings.join(", "),
        (true, true) => "-".to_owned(),
        (true, false) => "nothing was to be done".to_owned(),
    };
    let steps = if back > 0 { format!("{steps} done, {back} back") } else { format!("{steps} done") };
    let owed = if host.owed.is_empty() { "-".to_owned() } else { host.owed.join(", ") };
    let trips = host
        .end
        .as_ref()
        .and_then(|end| end.round_trips)
        .map_or_else(|| "-".to_owned(), |trips| trips.to_string());
    [end, steps, settings, host.reboots.to_string(), owed, trips]
}

/// What was decided, and what an undo left.
pub fn decisions(history: &History) -> Option<Section> {
    if history.decided.is_empty() && history.left.is_empty() {
        return None;
    }
    let mut inner = el("div");
    if !history.decided.is_empty() {
        let rows = history.decided.iter().map(|decided| {
            let at = decided.at.map(|at| at.to_string()).unwrap_or_default();
            vec![at, decided.what.clone(), decided.by.clone()]
        });
        inner = inner.with(table("What was decided", &["when", "what", "by"], rows));
    }
    if !history.left.is_empty() {
        let lines = history.left.iter().map(|words| el("li").text(words));
        inner = inner.with(el("h3").text("Left as it is by the undo")).with(el("ul").all(lines));
    }
    Some(Section { id: "decisions", title: "Decisions", inner })
}
