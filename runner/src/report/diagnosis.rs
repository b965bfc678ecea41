//! What hosts spend their time on, as people read it, and the playbook that is drafted from it.
use super::draft::{DraftedPlay, DraftedTask};
use super::paint::Paint;
use serde_json::Value as Json;
use std::fmt::Write as _;

fn text<'a>(value: &'a Json, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn words(value: &Json, name: &str) -> Vec<String> {
    list(value, name).iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// What was found on a host: the result of the module `diagnose`.
pub fn findings(host: &str, found: &Json, paint: Paint) -> String {
    let mut out = String::new();
    let all = list(found, "findings");
    let seconds = found["seconds"].as_f64().unwrap_or(0.0);
    let title = match all.len() {
        0 => format!("{host}: nothing stands out in {seconds:.1} s"),
        1 => format!("{host}: 1 finding in {seconds:.1} s"),
        many => format!("{host}: {many} findings in {seconds:.1} s"),
    };
    let _ = writeln!(out, "{}", paint.strong(&title));
    for finding in all {
        one(finding, paint, &mut out);
    }
    let busy: Vec<String> = list(found, "threads")
        .iter()
        .take(4)
        .map(|thread| {
            let percent = thread["percent"].as_f64().unwrap_or(0.0);
            format!("{} ({percent:.0} %, CPU {})", text(thread, "thread"), thread["cpu"])
        })
        .collect();
    if !busy.is_empty() {
        let _ = writeln!(out, "  busiest threads: {}", busy.join(", "));
    }
    for unseen in list(found, "unseen") {
        let _ = writeln!(out, "  not seen: {}: {}", text(unseen, "what"), text(unseen, "why"));
    }
    let not_judged = words(found, "not_judged");
    if !not_judged.is_empty() {
        let _ = writeln!(out, "  not judged for want of a profile: {}", not_judged.join(", "));
        out.push_str(
            "  for a profile: install perf (Debian's `linux-perf`, RHEL's `perf`) and look as root (`-b`), outside containers\n",
        );
    }
    out
}

fn one(finding: &Json, paint: Paint, out: &mut String) {
    let _ = writeln!(out, "  {}: {}", paint.mark(text(finding, "rule")), text(finding, "what"));
    for line in words(finding, "evidence") {
        let _ = writeln!(out, "    seen: {line}");
    }
    let module = match text(finding, "module") {
        "" => String::new(),
        module => format!(" (`{module}`)"),
    };
    let _ = writeln!(out, "    tuning: {}{module}", text(finding, "tuning"));
    for (label, name) in [("why", "why"), ("source", "source"), ("cost", "cost"), ("but", "instead")] {
        if !text(finding, name).is_empty() {
            let _ = writeln!(out, "    {label}: {}", text(finding, name));
        }
    }
    for draft in list(finding, "drafts") {
        let _ = writeln!(out, "    draft: {}{}", text(&draft["task"], "name"), standing(draft));
    }
}

/// What is to be said of a drafted task.
fn standing(draft: &Json) -> String {
    let said = text(draft, "said");
    match text(draft, "outcome") {
        "same" => " — it is so already".to_owned(),
        "changes" => String::new(),
        "needs_word" => format!(" — somebody must accept a risk: {said}"),
        "elsewhere" => format!(" — {said}"),
        _ => format!(" — not possible here: {said}"),
    }
}

/// The play that is drafted for a host.
pub fn drafted(host: &str, found: &Json, is_root: bool) -> DraftedPlay {
    let mut tasks = Vec::new();
    for finding in list(found, "findings") {
        let mut about = vec![format!("{}: {}", text(finding, "rule"), text(finding, "what"))];
        about.extend(words(finding, "evidence").into_iter().map(|line| format!("seen: {line}")));
        about.push(format!("why: {}", text(finding, "why")));
        for (label, name) in [("source", "source"), ("cost", "cost"), ("but", "instead")] {
            if !text(finding, name).is_empty() {
                about.push(format!("{label}: {}", text(finding, name)));
            }
        }
        tasks.push(DraftedTask { about, ..DraftedTask::default() });
        for draft in list(finding, "drafts") {
            let mut about = words(draft, "about");
            let is_comment = !matches!(text(draft, "outcome"), "changes" | "same");
            let words = standing(draft);
            about.extend((!words.is_empty()).then(|| words.trim_start_matches(" — ").to_owned()));
            tasks.push(DraftedTask { about, task: Some(draft["task"].clone()), is_comment });
        }
    }
    DraftedPlay {
        name: format!("Drafted from what {host} spends its time on"),
        hosts: host.to_owned(),
        is_root,
        tasks,
    }
}

/// The play that says how a host is: the result of the module `capture`.
pub fn captured(host: &str, found: &Json, is_root: bool) -> DraftedPlay {
    let mut tasks: Vec<DraftedTask> = list(found, "tasks")
        .iter()
        .map(|task| DraftedTask {
            about: words(task, "about"),
            task: Some(task["task"].clone()),
            is_comment: false,
        })
        .collect();
    let left = list(found, "left_out");
    if !left.is_empty() {
        let mut about = vec!["Not said above, since it cannot be said truthfully:".to_owned()];
        let mut groups: Vec<((&str, &str), Vec<&str>)> = Vec::new();
        for one in left {
            let reason = (text(one, "source"), text(one, "why"));
            match groups.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, all)) => all.push(text(one, "what")),
                None => groups.push((reason, vec![text(one, "what")])),
            }
        }
        about.extend(
            groups.iter().map(|((source, why), all)| format!("- {} ({source}): {why}", all.join(", "))),
        );
        tasks.push(DraftedTask { about, ..DraftedTask::default() });
    }
    DraftedPlay { name: format!("As {host} is"), hosts: host.to_owned(), is_root, tasks }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn findings_are_told_with_their_figures() {
        let draft = |outcome: &str, said: &str| json!({"about": [], "task": {"name": "t", "sysctl": {"name": "a", "value": 1}}, "outcome": outcome, "said": said});
        let found = json!({
            "seconds": 5.0,
            "findings": [{
                "rule": "page_clearing", "what": "w", "evidence": ["8 %"], "module": "kernel_args", "tuning": "t",
                "why": "y", "source": "s", "cost": "c", "instead": null,
                "drafts": [draft("changes", ""), draft("needs_word", "security: x")],
            }],
            "threads": [{"thread": "ksoftirqd/0", "percent": 99.0, "cpu": 0}],
            "unseen": [{"what": "perf", "why": "it is not installed"}],
            "not_judged": ["checksums"],
        });
        let told = findings("a", &found, Paint(false));
        for words in [
            "a: 1 finding in 5.0 s",
            "seen: 8 %",
            "(`kernel_args`)",
            "cost: c",
            "security: x",
            "ksoftirqd/0 (99 %, CPU 0)",
            "not seen: perf",
            "want of a profile: checksums",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        let play = drafted("a", &found, true);
        let active: Vec<bool> =
            play.tasks.iter().filter(|task| task.task.is_some()).map(|task| !task.is_comment).collect();
        assert_eq!(active, [true, false], "what needs a person's word is a comment");
    }
}
