//! Pages of `tunerun report` of real runs, opened in Chromium: nothing is loaded, nothing fails, everybody can read them.
#[path = "../play/bed.rs"]
#[expect(dead_code, reason = "a part of it is for other tests")]
mod bed;
mod runs;

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether pages can be opened here. Says so loudly where not, and fails under CI.
fn can() -> bool {
    let there = |name: &str| ["/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(name).exists());
    let missing: Vec<&str> = ["chromium", "node", "npm"].into_iter().filter(|name| !there(name)).collect();
    if !missing.is_empty() {
        eprintln!("NOT TESTED: no page can be opened, {} missing (chromium nodejs npm)", missing.join(", "));
        assert!(std::env::var_os("CI").is_none(), "CI must have {}", missing.join(", "));
        return false;
    }
    let installed = Command::new("bash").arg(scripts().join("install")).arg(modules()).output().unwrap();
    if !installed.status.success() {
        let why = String::from_utf8_lossy(&installed.stderr).into_owned();
        eprintln!("NOT TESTED: playwright-core and axe-core cannot be installed: {why}");
        assert!(std::env::var_os("CI").is_none(), "CI must reach the registry of npm: {why}");
        return false;
    }
    true
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("page")
}

/// The folder that builds go to.
fn target() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(3).unwrap().to_owned()
}

fn modules() -> PathBuf {
    target().join("page-modules")
}

/// Looks at pages; what is seen. Screenshots lie in `page/` of the folder that builds go to.
fn looked(pages: &[(&str, PathBuf)]) -> Json {
    let mut node = Command::new("node");
    node.arg(scripts().join("look.mjs")).arg(target().join("page"));
    node.args(pages.iter().map(|(name, file)| format!("{name}={}", file.display())));
    let output = node.env("TUNERUN_PAGE_MODULES", modules()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn list<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    json[name].as_array().map(Vec::as_slice).unwrap_or_else(|| panic!("no {name} in {json}"))
}

#[test]
fn pages_of_real_runs_can_be_read_by_everybody() {
    if !can() {
        return;
    }
    let bed = runs::bed();
    let pages = [
        ("passed", runs::passed(&bed)),
        ("rolled-back", runs::rolled_back(&bed)),
        ("ladder", runs::ladder(&bed)),
        ("hostile", runs::hostile(&bed)),
        ("cut-off", runs::cut_off(&bed)),
    ];
    let told = looked(&pages);
    let looks = list(&told, "looks");
    assert_eq!(looks.len(), pages.len() * 4, "light and dark, wide and narrow");
    for look in looks {
        let at = format!("{} {} {}", look["name"], look["scheme"], look["width"]);
        assert!(list(look, "console").is_empty(), "{at}: {}", look["console"]);
        assert!(list(look, "requests").is_empty(), "{at}: something was loaded: {}", look["requests"]);
        assert!(list(look, "violations").is_empty(), "{at}: {:#}", look["violations"]);
        assert!(look["passes"].as_u64().unwrap() > 20, "{at}: axe has looked at nothing");
        assert_eq!(
            look["wide"]["page"], look["wide"]["view"],
            "{at}: the page moves sideways: {:#}",
            look["wide"]
        );
        assert!(list(&look["wide"], "out").is_empty(), "{at}: {:#}", look["wide"]);
        assert!(look["colours"].as_u64().unwrap() > 8, "{at}: the screenshot is blank");
        assert_eq!(look["injected"], 1, "{at}: one script, the page's own, and nothing else");
        keyboard(look, &at);
    }
    for print in list(&told, "prints") {
        assert!(print["pages"].as_u64().unwrap() >= 1 && print["bytes"].as_u64().unwrap() > 5_000, "{print}");
    }
    contents(looks);
}

/// The Tab key reaches the skip link first, then every part that can be opened, each with a frame that shows where it is.
fn keyboard(look: &Json, at: &str) {
    let keys = &look["keyboard"];
    let reached = list(keys, "reached");
    assert_eq!(reached[0]["text"], "Skip to the parts of the run", "{at}");
    assert_eq!(keys["skipped"], "main", "{at}: the skip link leads to the main part");
    let summaries = reached.iter().filter(|stop| stop["tag"] == "summary").count() as u64;
    assert_eq!(Some(summaries), keys["summaries"].as_u64(), "{at}: {reached:?}");
    assert!(summaries > 0, "{at}");
    assert_ne!(keys["toggles"], false, "{at}: Enter opens a part");
    let unseen: Vec<&Json> = reached.iter().filter(|stop| stop["shown"] != true).collect();
    assert!(unseen.is_empty(), "{at}: {unseen:?}");
}

fn contents(looks: &[Json]) {
    let of = |name: &str| looks.iter().find(|look| look["name"] == name).unwrap();
    let has = |name: &str, heading: &str| {
        let headings = list(of(name), "headings");
        assert!(headings.iter().any(|known| known == heading), "{name}: {heading} is not in {headings:?}");
    };
    for part in ["H2 Gates", "H3 the knob", "H2 What was changed", "H2 Timeline", "H2 Hosts", "H2 Data"] {
        has("passed", part);
        has("rolled-back", part);
    }
    has("ladder", "H2 Ladder");
    let title = |name: &str| of(name)["title"].as_str().unwrap().to_owned();
    assert!(title("passed").starts_with("Done: run "), "{}", title("passed"));
    assert!(title("rolled-back").starts_with("Rolled back: run "), "{}", title("rolled-back"));
    assert!(title("cut-off").starts_with("Still running, or cut off: run "), "{}", title("cut-off"));
}
