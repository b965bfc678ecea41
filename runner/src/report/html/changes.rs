//! What the run changed: from what to what, hosts alike once, the odd host first.
use super::chart::scrolled;
use super::element::{Element, el};
use super::{Section, counted, names};
use crate::report::history::{Difference, Fate, History, Host, Line, Mark, Setting};
use crate::report::plan::replaced;
use std::collections::BTreeMap;

/// Hosts to which the same was done.
struct Class<'a> {
    hosts: Vec<&'a str>,
    settings: &'a [Setting],
}

/// What was changed, by classes of hosts.
pub fn section(history: &History) -> Option<Section> {
    let classes = classes(&history.hosts);
    if classes.is_empty() {
        return None;
    }
    let open = classes.len() <= 3;
    let drawn = classes.iter().map(|class| drawn(class, open));
    Some(Section { id: "changes", title: "What was changed", inner: el("div").all(drawn) })
}

fn classes(hosts: &[Host]) -> Vec<Class<'_>> {
    let mut by_text: BTreeMap<String, Class<'_>> = BTreeMap::new();
    for host in hosts.iter().filter(|host| !host.settings.is_empty()) {
        // A host's own name in its files does not make it another class.
        let text: Vec<String> = host
            .settings
            .iter()
            .map(|setting| {
                format!("{:?} {:?}", setting.claim, (&setting.difference, setting.fate, &setting.failed))
            })
            .collect();
        let text = replaced(&text.join("\n"), &host.name);
        let class =
            by_text.entry(text).or_insert_with(|| Class { hosts: Vec::new(), settings: &host.settings });
        class.hosts.push(&host.name);
    }
    let mut classes: Vec<Class<'_>> = by_text.into_values().collect();
    classes.sort_by_key(|class| class.hosts.len());
    classes
}

fn drawn(class: &Class<'_>, open: bool) -> Element {
    let title = match class.hosts.len() {
        1 => class.hosts[0].to_owned(),
        many => format!("{many} hosts alike: {}", names(&class.hosts)),
    };
    let stays = class.settings.iter().filter(|setting| setting.fate == Fate::Stays).count();
    let back = class.settings.iter().filter(|setting| setting.fate == Fate::TakenBack).count();
    let mut parts = vec![counted(class.settings.len(), "setting")];
    parts.extend((stays > 0).then(|| format!("{stays} {}", if stays == 1 { "stays" } else { "stay" })));
    parts.extend((back > 0).then(|| format!("{back} taken back")));
    let summary = el("summary").with(el("strong").text(title)).text(format!(" — {}", parts.join(", ")));
    let name = class.hosts.first().copied().unwrap_or_default();
    let alike = (class.hosts.len() > 1).then_some(name);
    let settings = class.settings.iter().map(|setting| one(setting, alike));
    let details = el("details").class("class").with(summary).with(el("div").all(settings));
    if open { details.at("open", "") } else { details }
}

/// One setting. Where it stands for several hosts, the name of the first is `<host>`.
fn one(setting: &Setting, alike: Option<&str>) -> Element {
    let said = |text: &str| alike.map_or_else(|| text.to_owned(), |name| replaced(text, name));
    let tone = match setting.fate {
        Fate::Stays | Fate::Ran => "good",
        Fate::Failed => "bad",
        Fate::TakenBack | Fate::NotWritten | Fate::Unknown => "open",
    };
    let mut head = el("p").class("setting").with(el("code").text(said(&setting.claim)));
    head = head.text(" ").with(el("span").class(&format!("tag {tone}")).text(setting.fate.words()));
    if !setting.task.is_empty() {
        head = head.with(el("span").class("quiet").text(format!(" {}", setting.task)));
    }
    let mut out = el("div").class("one").with(head).with(difference(setting, &said));
    if let Some(why) = &setting.failed {
        out = out.with(el("p").with(el("strong").text("Failed: ")).text(said(why)));
    }
    if let Some(way) = &setting.way_back {
        out = out.with(el("p").class("quiet").text(format!("Way back {}", said(way))));
    }
    out
}

fn difference(setting: &Setting, said: &impl Fn(&str) -> String) -> Element {
    match &setting.difference {
        Difference::Hidden { why } => el("p").class("quiet").text(format!("(hidden: {why})")),
        Difference::Ran { call } => el("p").text("ran ").with(el("code").text(said(call))),
        Difference::Value { .. } => {
            let (before, after) = setting.difference.words();
            el("p")
                .class("value")
                .with(el("del").text(said(&before)))
                .with(el("span").class("arrow").at("aria-hidden", "true").text(" → "))
                .with(el("span").class("out").text(" becomes "))
                .with(el("ins").text(said(&after)))
        }
        Difference::Text { lines, meta } => {
            let mut out = el("div");
            if !lines.is_empty() {
                let text = el("pre").all(lines.iter().map(|line| self::line(line, said)));
                out = out.with(scrolled(&format!("Lines of {}", said(&setting.claim)), text));
            }
            if let Some((before, after)) = meta {
                let text = format!("{before} → {after}");
                out = out.with(el("p").class("quiet").text(text));
            }
            out
        }
    }
}

/// A line with its sign, so that no meaning is in colour alone.
fn line(line: &Line, said: &impl Fn(&str) -> String) -> Element {
    let text = said(&line.text);
    match line.mark {
        Mark::Same => el("span").text(format!("  {text}\n")),
        Mark::Added => el("ins").text(format!("+ {text}\n")),
        Mark::Removed => el("del").text(format!("- {text}\n")),
        Mark::Gap => el("span").class("quiet").text(format!("  … {text}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, value: &str) -> Host {
        let setting = Setting {
            claim: format!("file/etc/{name}.conf"),
            task: "t".to_owned(),
            difference: Difference::Value { before: None, after: Some(value.to_owned()) },
            fate: Fate::Stays,
            failed: None,
            way_back: None,
            same: modules::vocabulary::Digest::of(b""),
        };
        Host { name: name.to_owned(), settings: vec![setting], ..Host::default() }
    }

    #[test]
    fn hosts_alike_are_shown_once_and_the_odd_one_first() {
        let hosts = [host("h1", "1"), host("h2", "1"), host("odd", "2"), host("h3", "1")];
        let classes = classes(&hosts);
        let names: Vec<_> = classes.iter().map(|class| class.hosts.clone()).collect();
        assert_eq!(names, [vec!["odd"], vec!["h1", "h2", "h3"]]);
        let mut html = String::new();
        drawn(&classes[1], true).write(&mut html);
        assert!(
            html.contains("3 hosts alike: h1, h2, h3") && html.contains("file/etc/&lt;host&gt;.conf"),
            "{html}"
        );
    }
}
