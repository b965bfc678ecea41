//! Pages of recorded runs, read back by a parser: a page is well formed, escapes all, hides what is hidden.
use super::page;
use crate::report::history::recorded::{HIDDEN, cut, recorded};
use crate::report::history::{Gate, History, Host, Moment};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roxmltree::{Document, Node};

/// The page as a tree: elements without an end are closed, what is no XML is left out.
fn tree(page: &str) -> String {
    let mut text = page.strip_prefix("<!doctype html>\n").unwrap().to_owned();
    for name in ["style", "script"] {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let (from, to) = (text.find(&open).unwrap(), text.find(&close).unwrap());
        text.replace_range(from + open.len()..to, "");
    }
    for name in ["<meta", "<link"] {
        let mut at = 0;
        while let Some(found) = text[at..].find(name) {
            let end = at + found + text[at + found..].find('>').unwrap();
            text.insert(end, '/');
            at = end;
        }
    }
    text
}

fn texts(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|node| node.text().filter(|_| node.is_text())).collect()
}

#[test]
fn pages_are_well_formed_and_load_nothing() {
    for name in ["passed", "rolled_back", "ladder", "failed"] {
        let page = page(&recorded(name));
        let text = tree(&page);
        let document = Document::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}: an id twice");
        for node in document.descendants().filter(Node::is_element) {
            assert!(!["img", "iframe", "object", "embed", "form"].contains(&node.tag_name().name()));
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on") && attribute.name() != "style", "{attribute:?}");
                if ["href", "src"].contains(&attribute.name()) {
                    let value = attribute.value();
                    let inner = value.starts_with("data:")
                        || value.strip_prefix('#').is_some_and(|id| ids.contains(&id));
                    assert!(inner, "{name}: {value}");
                }
            }
        }
        for drawing in document.descendants().filter(|node| node.attribute("role") == Some("img")) {
            let named = drawing.attribute("aria-labelledby").unwrap();
            assert!(named.split(' ').all(|id| ids.contains(&id)), "{named}");
            let figure = drawing.ancestors().find(|node| node.has_tag_name("figure")).unwrap();
            assert!(
                figure.descendants().any(|node| node.has_tag_name("table")),
                "a drawing without its numbers"
            );
        }
        let heads = document.descendants().filter(|node| node.has_tag_name("th"));
        assert!(heads.into_iter().all(|head| head.attribute("scope").is_some()));
        assert!(page.contains("default-src 'none'") || page.contains("default-src &#39;none&#39;"));
    }
}

#[test]
fn what_is_hidden_is_in_no_page_and_in_none_of_its_data() {
    for name in ["passed", "rolled_back"] {
        let page = page(&recorded(name));
        let mut told = page.clone();
        for part in page.split("base64,").skip(1) {
            let data = STANDARD.decode(part.split('"').next().unwrap()).unwrap();
            let json: serde_json::Value = serde_json::from_slice(&data).unwrap();
            told.push_str(&json.to_string());
        }
        assert!(told.len() > page.len() + 5_000, "the data is in it");
        for word in HIDDEN {
            assert!(!told.contains(word), "{word} is in {name}");
        }
        assert!(page.contains("(hidden: a secret is in it)"));
        assert!(page.contains("(hidden: others may not read this)"));
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut history = recorded("failed");
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"x";
    history.hosts.push(Host { name: hostile.to_owned(), owed: vec![hostile.to_owned()], ..Host::default() });
    history.gates.push(Gate { id: hostile.to_owned(), hosts: vec![hostile.to_owned()], ..Gate::default() });
    history.left.push(hostile.to_owned());
    let page = page(&history);
    let text = tree(&page);
    let document = Document::parse(&text).unwrap();
    assert_eq!(document.descendants().filter(|node| node.has_tag_name("script")).count(), 1);
    assert!(document.descendants().all(|node| !node.has_tag_name("img") && !node.has_tag_name("b")));
    let body = texts(document.root_element());
    for words in
        [hostile, "<script>alert('a task')</script> & \"more\"", "</pre><script>alert('a file')</script>"]
    {
        assert!(body.contains(words), "{words}");
    }
    assert!(body.contains("it broke & burnt"));
}

#[test]
fn the_head_says_what_came_of_the_run() {
    let head = |history: &History| {
        let page = page(history);
        page[page.find("<header>").unwrap()..page.find("</header>").unwrap()].to_owned()
    };
    let back = head(&recorded("rolled_back"));
    assert!(
        back.contains("Rolled back") && back.contains("Why: ") && back.contains("the knob REGRESS"),
        "{back}"
    );
    assert!(head(&recorded("passed")).contains("Done"));
    let open = head(&cut("passed", |length| length / 2));
    assert!(open.contains("Still running, or cut off") && open.contains("tunerun resume"), "{open}");
    let torn = head(&cut("passed", |length| length - 5));
    assert!(torn.contains("torn record"), "{torn}");
    let unreadable = head(&History::unreadable("r", "line 3: damaged".to_owned(), Vec::new()));
    assert!(unreadable.contains("Not readable") && unreadable.contains("line 3: damaged"), "{unreadable}");
}

#[test]
fn a_ladder_is_drawn_with_its_numbers() {
    let page = page(&recorded("ladder"));
    assert!(page.contains("Ladder of rate") && page.contains("Ladder of latency"));
    for words in ["Huge pages for the guests", "+29.9 %", "+38.3 %", "All rungs that stay together: +79"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!super::page(&recorded("passed")).contains("Ladder of"), "a gate is no ladder");
}

#[test]
fn many_hosts_are_folded_to_those_alike() {
    let mut history = recorded("passed");
    let like = history.hosts.iter().find(|host| host.name == "osd2").unwrap().clone();
    let at = Moment::parse("2026-12-01T10:00:00Z");
    for number in 10..150 {
        let mut host = like.clone();
        host.name = format!("osd{number}");
        for setting in &mut host.settings {
            setting.claim = setting.claim.replace("osd2", &host.name);
            if let crate::report::history::Difference::Text { lines, .. } = &mut setting.difference {
                lines.iter_mut().for_each(|line| line.text = line.text.replace("osd2", &host.name));
            }
        }
        host.end = host.end.map(|end| crate::report::history::End { at, ..end });
        history.hosts.push(host);
    }
    let page = page(&history);
    assert!(
        page.contains("143 hosts alike: osd1, osd2, osd3"),
        "{}",
        &page[page.find("hosts alike").unwrap_or(0)..][..200]
    );
    assert!(page.find(">odd<").unwrap() < page.find("hosts alike").unwrap(), "the odd one first");
    assert!(page.contains("Hosts that went alike are one row."));
    // The data is as long as it is; what is read is not.
    let read = |page: &str| page.find("<h2 id=\"data\">").unwrap();
    let own = read(&super::page(&recorded("passed")));
    assert!(read(&page) < own * 3, "{} of {own}", read(&page));
}
