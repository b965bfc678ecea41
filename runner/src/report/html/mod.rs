//! A run as one page that needs no network: what was asked, what came of it, what was measured, what was changed.
mod changes;
mod chart;
mod data;
mod element;
mod ends;
mod gate;
mod ladder;
mod plots;
mod scale;
mod summary;
#[cfg(test)]
mod tests;
mod timeline;

use super::history::History;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use element::{Element, el};
use sha2::{Digest as _, Sha256};

/// How the page looks.
const STYLE: &str = include_str!("style.css");
/// What the page does by itself: nothing that it needs.
const SCRIPT: &str = include_str!("page.js");

/// A part of the page: its heading's name for links, its heading, what is in it.
struct Section {
    id: &'static str,
    title: &'static str,
    inner: Element,
}

/// The page of a run.
pub fn page(history: &History) -> String {
    let sections: Vec<Section> = [
        ladder::section(history),
        gate::section(history),
        changes::section(history),
        timeline::section(history),
        ends::section(history),
        ends::decisions(history),
        data::section(history),
    ]
    .into_iter()
    .flatten()
    .collect();
    let links = sections
        .iter()
        .map(|section| el("li").with(el("a").at("href", format!("#{}", section.id)).text(section.title)));
    let nav = el("nav").at("aria-label", "Parts of this page").with(el("ul").all(links));
    let parts = sections.into_iter().map(|section| {
        let heading = el("h2").at("id", section.id).text(section.title);
        el("section").at("aria-labelledby", section.id).with(heading).with(section.inner)
    });
    let main = el("main").at("id", "main").at("tabindex", "-1").all(parts);
    let footer = el("footer").with(el("p").text(format!(
        "Made from the journal of the run by tunerun {}. All times are UTC. This page loads nothing.",
        env!("CARGO_PKG_VERSION")
    )));
    let skip = el("a").class("skip").at("href", "#main").text("Skip to the parts of the run");
    let body = el("body").with(skip).with(summary::header(history)).with(nav).with(main).with(footer);
    let mut out = String::from("<!doctype html>\n");
    el("html").at("lang", "en").with(head(history)).with(body).write(&mut out);
    out.push('\n');
    out
}

fn head(history: &History) -> Element {
    // Nothing is loaded from anywhere, and only this very style and script are heeded.
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        fingerprint(STYLE),
        fingerprint(SCRIPT)
    );
    el("head")
        .with(el("meta").at("charset", "utf-8"))
        .with(el("meta").at("http-equiv", "Content-Security-Policy").at("content", policy))
        .with(el("meta").at("name", "viewport").at("content", "width=device-width, initial-scale=1"))
        .with(el("meta").at("name", "color-scheme").at("content", "light dark"))
        .with(el("meta").at("name", "referrer").at("content", "no-referrer"))
        .with(el("link").at("rel", "icon").at("href", "data:,"))
        .with(el("title").text(format!("{}: run {}", summary::word(history), history.run)))
        .with(el("style").raw(STYLE))
        .with(el("script").raw(SCRIPT))
}

/// How a policy names a text that it lets in.
fn fingerprint(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// A change as people read it: `+12.3 %`.
fn change(share: f64) -> String {
    // What would be rounded to minus zero is none.
    if share.abs() < 0.0005 {
        return "0 %".to_owned();
    }
    format!("{:+.1} %", share * 100.0).replace('-', "\u{2212}")
}

/// Names of hosts, the rest by their number.
fn names(hosts: &[&str]) -> String {
    super::plan::shortened(hosts)
}

/// A number with its word.
fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
