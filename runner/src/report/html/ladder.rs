//! Changes that were judged one by one, as a ladder of bars: how far each came, and what it was worth by itself.
use super::chart::{drawing, figure, fitting, line, px, table, words};
use super::element::{Element, el};
use super::scale::{Scale, percent};
use super::{Section, change};
use crate::gate::Record;
use crate::gate::summary::shown;
use crate::report::history::History;
use crate::report::ladder::{Ladder, Rung, ladders};

/// The ladders of a run that judged its changes one by one.
pub fn section(history: &History) -> Option<Section> {
    if !history.is_ladder() {
        return None;
    }
    let records: Vec<&Record> = history.gates.iter().filter_map(|gate| gate.record.as_ref()).collect();
    let ladders = ladders(&records);
    if ladders.is_empty() {
        return None;
    }
    let drawn = ladders.iter().enumerate().map(|(at, ladder)| drawn(at, ladder));
    Some(Section { id: "ladder", title: "Ladder", inner: el("div").all(drawn) })
}

/// The figure that a ladder begins with.
fn start(ladder: &Ladder<'_>) -> Option<f64> {
    ladder.rungs.iter().find_map(|rung| rung.without)
}

fn drawn(at: usize, ladder: &Ladder<'_>) -> Element {
    const ROW: f64 = 52.0;
    let from = ladder.metric.from.as_str();
    let figures = ladder.rungs.iter().flat_map(|rung| [rung.without, rung.with]).flatten();
    let scale = Scale::from_zero(figures);
    let height = ROW * (ladder.rungs.len() + 1) as f64 + 4.0;
    let told: Vec<String> =
        ladder.rungs.iter().map(|rung| format!("{} {}", rung.title, effect(rung))).collect();
    let title = format!("Ladder of {}", ladder.metric.name);
    let mut out = drawing(&format!("l{at}"), height as u32, &title, &format!("{}.", told.join("; ")));
    let bar = |top: f64, figure: f64, class: &str| {
        el("rect")
            .at("x", "0")
            .at("y", px(top + 22.0))
            .at("width", percent(scale.share(figure)))
            .at("height", "16")
            .at("rx", "2")
            .class(class)
    };
    let label = |top: f64, text: &str, right: &str| {
        [
            words("0", top + 15.0, "start", "label", &fitting(text, 30)),
            words("100%", top + 15.0, "end", "figure", right),
        ]
    };
    if let Some(start) = start(ladder) {
        out = out.all(label(0.0, "before", &shown(from, start))).with(bar(0.0, start, "bar a"));
    }
    for (number, rung) in ladder.rungs.iter().enumerate() {
        let top = ROW * (number + 1) as f64;
        let right = match rung.with {
            Some(with) => format!("{}  {}", shown(from, with), own(rung)),
            None => "no figure".to_owned(),
        };
        out = out.all(label(top, &rung.title, &right));
        if let Some(with) = rung.with {
            out = out.with(bar(top, with, if rung.stays() { "bar b" } else { "bar bad" }));
        }
        if let Some(without) = rung.without {
            let x = scale.across(without);
            out = out.with(line((&x, top + 19.0), (&x, top + 41.0), "zero"));
        }
    }
    let note = "Each bar is the figure with the rung, the thin line the figure without it; beside it the rung's own effect.";
    let mut whole = figure(&title, note, Vec::new(), out, numbers(ladder));
    if let Some(last) = ladder.rungs.last() {
        whole = whole.with(
            el("p").class("quiet").text(format!("All rungs that stay together: {}.", change(last.so_far))),
        );
    }
    whole
}

fn own(rung: &Rung) -> String {
    rung.change.map_or_else(|| "-".to_owned(), change)
}

fn effect(rung: &Rung) -> String {
    match (rung.change, rung.interval) {
        (Some(middle), Some((from, to))) => {
            format!("{} ({} to {})", change(middle), change(from), change(to))
        }
        (Some(middle), None) => format!("{} of the medians", change(middle)),
        (None, _) => "-".to_owned(),
    }
}

fn numbers(ladder: &Ladder<'_>) -> Element {
    let from = ladder.metric.from.as_str();
    let shown = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| shown(from, figure));
    let rows = ladder.rungs.iter().map(|rung| {
        let answer =
            if rung.stays() { rung.outcome.word().to_owned() } else { "REGRESS: does not stay".to_owned() };
        vec![
            rung.title.clone(),
            shown(rung.without),
            shown(rung.with),
            effect(rung),
            change(rung.so_far),
            answer,
        ]
    });
    let head = ["rung", "without", "with", "its own effect", "so far", "answer"];
    table(&format!("Rungs of {}", ladder.metric.name), &head, rows)
}
