//! The rollout over time: a row for each host with its batches, ways back, activations, and the gates behind them.
use super::chart::{Sign, figure, fitting, gutter, key, line, px, table, words};
use super::element::{Element, el};
use super::scale::percent;
use super::{Section, names};
use crate::report::history::{Batch, History, Host, Kind, Moment, lasted};
use std::collections::BTreeMap;

/// More hosts than these are drawn as classes of hosts that went alike.
const EACH: usize = 60;
const ROW: f64 = 26.0;
const TOP: f64 = 8.0;
/// Where the names of the rows begin: left of the drawing, in its gutter.
const LEFT: &str = "-100";

/// One row: a host, or hosts that went alike.
struct Row<'a> {
    name: String,
    hosts: Vec<&'a Host>,
}

/// The rollout over time.
pub fn section(history: &History) -> Option<Section> {
    let moments = history.hosts.iter().flat_map(|host| {
        let batches = host.batches.iter().flat_map(|batch| [batch.at, batch.until]);
        batches
            .chain(host.activated.iter().map(|(at, _)| *at))
            .chain([host.end.as_ref().and_then(|end| end.at)])
    });
    let known: Vec<Moment> =
        moments.flatten().chain(history.began_at()).chain(history.ended.or(history.until)).collect();
    let (from, to) = (*known.iter().min()?, *known.iter().max()?);
    if history.hosts.iter().all(|host| host.batches.is_empty()) {
        return None;
    }
    let rows = rows(&history.hosts);
    let out = drawn(history, &rows, (from, to));
    let signs = vec![
        key(Sign::Forward, "change"),
        key(Sign::Back, "way back"),
        key(Sign::Activation, "restart, power cycle or boot"),
        key(Sign::Gate, "gate"),
    ];
    let note = match rows.len() < history.hosts.len() {
        true => "Hosts that went alike are one row.",
        false => "A row for each host.",
    };
    let inner = figure("From the begin to the end", note, signs, out, numbers(&history.hosts));
    Some(Section { id: "timeline", title: "Timeline", inner: el("div").with(inner) })
}

fn rows(hosts: &[Host]) -> Vec<Row<'_>> {
    if hosts.len() <= EACH {
        return hosts.iter().map(|host| Row { name: host.name.clone(), hosts: vec![host] }).collect();
    }
    let mut classes: BTreeMap<String, Vec<&Host>> = BTreeMap::new();
    for host in hosts {
        let batches: Vec<(Kind, usize)> =
            host.batches.iter().map(|batch| (batch.kind, batch.steps)).collect();
        let how = host.end.as_ref().map(|end| end.how);
        classes.entry(format!("{batches:?} {how:?} {:?}", host.owed)).or_default().push(host);
    }
    let mut rows: Vec<Row<'_>> = classes
        .into_values()
        .map(|hosts| {
            let name = match hosts[..] {
                [one] => one.name.clone(),
                _ => format!("{} hosts", hosts.len()),
            };
            Row { name, hosts }
        })
        .collect();
    rows.sort_by_key(|row| row.hosts.len());
    rows
}

fn drawn(history: &History, rows: &[Row<'_>], (from, to): (Moment, Moment)) -> Element {
    let whole = to.since(from).as_secs_f64().max(0.001);
    let share = |at: Moment| at.since(from).as_secs_f64() / whole;
    let bottom = TOP + ROW * rows.len() as f64;
    let text = format!("{} over {}.", super::counted(history.hosts.len(), "host"), lasted(to.since(from)));
    let mut out = gutter("time", (bottom + 26.0) as u32, "Timeline of the run", &text);
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + ROW * at as f64;
        out = out.with(words(LEFT, y + 17.0, "start", "label", &fitting(&row.name, 13)));
    }
    for (at, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let x = percent(at);
        out = out.with(line((&x, TOP), (&x, bottom), "grid"));
        let moment = Moment::of_seconds((from.seconds() + whole * at) as u64);
        let text = if at == 1.0 { format!("{} UTC", moment.hour()) } else { moment.hour() };
        out = out.with(words(&x, bottom + 16.0, anchor, "tick", &text));
    }
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + ROW * at as f64;
        out = out.with(line(("0", y + ROW / 2.0), ("100%", y + ROW / 2.0), "grid"));
        out = out.all(spans(history, row, y, &share));
        out = out.all(bars(row, y, &share));
    }
    out
}

/// The gates of the hosts of a row.
fn spans(history: &History, row: &Row<'_>, y: f64, share: &impl Fn(Moment) -> f64) -> Vec<Element> {
    let until = history.until;
    let own = history
        .gates
        .iter()
        .filter(|gate| gate.hosts.iter().any(|host| row.hosts.iter().any(|known| known.name == *host)));
    own.filter_map(|gate| {
        let (began, ended) = (share(gate.began?), share(gate.ended.or(until)?));
        Some(bar(y + 2.0, ROW - 4.0, (began, ended), "span"))
    })
    .collect()
}

fn bars(row: &Row<'_>, y: f64, share: &impl Fn(Moment) -> f64) -> Vec<Element> {
    let mut out = Vec::new();
    let most = row.hosts.iter().map(|host| host.batches.len()).max().unwrap_or(0);
    for at in 0..most {
        let batches: Vec<&Batch> = row.hosts.iter().filter_map(|host| host.batches.get(at)).collect();
        let begin = batches.iter().filter_map(|batch| batch.at).min();
        let end = batches.iter().filter_map(|batch| batch.until.or(batch.at)).max();
        let (Some(begin), Some(end), Some(first)) = (begin, end, batches.first()) else { continue };
        let class = match first.kind {
            Kind::Forward => "forward",
            Kind::Back => "back",
            Kind::Activation | Kind::Boot => "activation",
        };
        let trouble = batches.iter().any(|batch| batch.came.trouble().is_some());
        let class = if trouble { format!("{class} trouble") } else { class.to_owned() };
        out.push(bar(y + 7.0, ROW - 14.0, (share(begin), share(end)), &class));
    }
    let activated = row.hosts.iter().flat_map(|host| &host.activated);
    for (at, _) in activated {
        let Some(at) = at else { continue };
        let x = percent(share(*at));
        out.push(line((&x, y + 4.0), (&x, y + ROW - 4.0), "activated"));
    }
    out
}

/// A bar that is wide enough to be seen.
fn bar(y: f64, height: f64, (from, to): (f64, f64), class: &str) -> Element {
    let width = (to - from).max(0.006);
    el("rect")
        .at("x", percent(from.min(1.0 - width)))
        .at("y", px(y))
        .at("width", percent(width))
        .at("height", px(height))
        .at("rx", "1.5")
        .class(class)
}

fn numbers(hosts: &[Host]) -> Element {
    const MOST: usize = 2_000;
    let one = |host: &Host, batch: &Batch| {
        let took = batch.at.zip(batch.until).map(|(at, until)| lasted(until.since(at)));
        vec![
            host.name.clone(),
            batch.at.map(Moment::hour).unwrap_or_default(),
            took.unwrap_or_else(|| "-".to_owned()),
            batch.kind.words().to_owned(),
            batch.tasks.join(", "),
            format!("{} of {}", batch.proven, batch.steps),
            batch.came.trouble().unwrap_or("done").to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> =
        hosts.iter().flat_map(|host| host.batches.iter().map(move |batch| one(host, batch))).collect();
    let left = rows.len().saturating_sub(MOST);
    let head = ["host", "began", "took", "what", "tasks", "steps", "what came of it"];
    let table = table("Batches of all hosts", &head, rows.into_iter().take(MOST));
    let mut out = el("div").with(table);
    if left > 0 {
        out = out.with(el("p").class("quiet").text(format!("{left} more are in the records below.")));
    }
    let gone = hosts
        .iter()
        .filter(|host| host.batches.is_empty())
        .map(|host| host.name.as_str())
        .collect::<Vec<_>>();
    if !gone.is_empty() {
        out = out.with(el("p").class("quiet").text(format!("Nothing was sent to {}.", names(&gone))));
    }
    out
}
