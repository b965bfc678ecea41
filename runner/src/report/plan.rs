//! A plan as people read it: hosts with equal plans once, the odd one first.
use super::cost::Cost;
use super::diagnostic::COMMAND_LINE;
use super::holes::{Group, groups};
use super::lines::unified;
use super::paint::Paint;
use crate::engine::walk::{Planned, Walked, What};
use modules::vocabulary::{Activation, Back, Change, Diff, Effect, Mark};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a host's plan comes to, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum {
    /// Tasks that change something.
    pub changes: usize,
    /// Commands that change nothing, by their author's word, and run in their place.
    pub runs: usize,
    /// Tasks that are decided later.
    pub late: usize,
    /// Tasks that will fail.
    pub failures: usize,
    /// Tasks that fail, which the playbook ignores.
    pub ignored: usize,
    /// Tasks that ask for nothing.
    pub same: usize,
    /// Tasks that are left out.
    pub skipped: usize,
}

impl Sum {
    /// Counts a walk.
    pub fn of(walked: &Walked) -> Self {
        let mut sum = Self::default();
        for task in &walked.planned {
            match &task.what {
                What::Change(change) if runs_only(change) => sum.runs += 1,
                What::Change(_) | What::Pause { .. } => sum.changes += 1,
                What::Late { .. } => sum.late += 1,
                What::Failed(_) => sum.failures += 1,
                What::Done { failed: true, .. } => sum.ignored += 1,
                What::Skipped { .. } => sum.skipped += 1,
                _ => sum.same += 1,
            }
        }
        sum
    }

    /// Whether something may change.
    pub fn is_pending(&self) -> bool {
        self.changes + self.late > 0
    }
}

/// Whether a change is a command that leaves no state.
fn runs_only(change: &Change) -> bool {
    !change.steps.is_empty()
        && change.then.is_empty()
        && change.steps.iter().all(|step| step.look.is_none() && step.back == Back::Nothing)
}

/// Hosts whose plans say the same.
pub struct Class<'a> {
    /// Their names.
    pub hosts: Vec<&'a str>,
    /// What each plan comes to.
    pub sum: Sum,
    /// The plan in lines; of several hosts, their names are `<host>`.
    pub text: String,
    /// The plan of the first of them.
    first: &'a Walked,
    /// Whether their plans differ in a few words, which stand below the text.
    holes: bool,
}

impl Class<'_> {
    /// How many hosts, which, and what their plans come to, in one line.
    pub fn title(&self) -> String {
        title(&self.hosts, &self.sum, self.holes)
    }

    /// The plan in lines without its differences.
    pub fn brief(&self) -> String {
        if self.holes {
            // What one of them says is not what all say.
            return self.text.clone();
        }
        let own = host(self.first, false, Paint::default());
        match self.hosts[..] {
            [_] => own,
            [name, ..] => replaced(&own, name),
            [] => own,
        }
    }
}

/// The plans of many hosts: equal ones once, the odd one first.
pub fn classes<'a>(
    hosts: impl IntoIterator<Item = (&'a str, &'a Walked)>,
    diff: bool,
    paint: Paint,
) -> Vec<Class<'a>> {
    let mut classes: BTreeMap<(Sum, String), (Vec<&str>, String, &Walked)> = BTreeMap::new();
    for (name, walked) in hosts {
        // A host's own name in its files does not make it another class.
        let own = host(walked, diff, paint);
        let text = if own.contains(name) { replaced(&own, name) } else { own.clone() };
        classes.entry((Sum::of(walked), text)).or_insert_with(|| (Vec::new(), own, walked)).0.push(name);
    }
    // Each with its text as it would stand for others, too.
    let class = |((sum, text), (hosts, own, first)): ((Sum, String), (Vec<&'a str>, String, &'a Walked))| {
        (Class { hosts, sum, text: own, first, holes: false }, text)
    };
    let mut classes: Vec<Class<'a>> = together(classes.into_iter().map(class).collect());
    classes.sort_by_key(|class| class.hosts.len());
    classes
}

/// Classes whose plans differ in a few words become one, with holes. Each comes with its text in which hosts are `<host>`.
fn together<'a>(classes: Vec<(Class<'a>, String)>) -> Vec<Class<'a>> {
    let mut by_sum: BTreeMap<Sum, Vec<(Class<'a>, String)>> = BTreeMap::new();
    for class in classes {
        by_sum.entry(class.0.sum).or_default().push(class);
    }
    let mut all = Vec::new();
    for classes in by_sum.into_values() {
        let (mut classes, common): (Vec<Class<'a>>, Vec<String>) = classes.into_iter().unzip();
        let texts: Vec<&str> = common.iter().map(String::as_str).collect();
        let names: Vec<Vec<&str>> = classes.iter().map(|class| class.hosts.clone()).collect();
        let groups = groups(&texts, &names);
        for (class, text) in classes.iter_mut().zip(&common).filter(|(class, _)| class.hosts.len() > 1) {
            class.text.clone_from(text);
        }
        let mut gone = vec![false; classes.len()];
        for Group { members, text } in groups {
            let Some((first, others)) = members.split_first() else { continue };
            let more: Vec<&str> = others.iter().flat_map(|other| classes[*other].hosts.clone()).collect();
            others.iter().for_each(|other| gone[*other] = true);
            let class = &mut classes[*first];
            class.hosts.extend(more);
            (class.text, class.holes) = (text, true);
        }
        let left = classes.into_iter().zip(gone).filter(|(_, gone)| !gone);
        all.extend(left.map(|(class, _)| class));
    }
    all
}

/// The plans of many hosts as text: equal ones once, and what is down meanwhile. `hosts` are names with their walks.
pub fn fleet<'a>(hosts: impl IntoIterator<Item = (&'a str, &'a Walked)>, diff: bool, paint: Paint) -> String {
    let hosts: Vec<(&str, &Walked)> = hosts.into_iter().collect();
    let mut out = String::new();
    for class in classes(hosts.iter().copied(), diff, paint) {
        let _ = writeln!(out, "{}", paint.strong(&class.title()));
        out.push_str(&class.text);
        out.push('\n');
    }
    if let Some(line) = Cost::of(hosts).line() {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// A text with a host's own name as `<host>`: it does not make what is said another thing.
pub(crate) fn replaced(text: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let word =
            |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let whole = !word(rest[..at].chars().next_back()) && !word(rest[at + name.len()..].chars().next());
        out.push_str(&rest[..at]);
        out.push_str(if whole { "<host>" } else { name });
        rest = &rest[at + name.len()..];
    }
    out.push_str(rest);
    out
}

fn title(hosts: &[&str], sum: &Sum, holes: bool) -> String {
    let names = shortened(hosts);
    let count = match hosts.len() {
        1 => names,
        many => {
            format!("{many} hosts {}: {names}", if holes { "alike but for a few words" } else { "alike" })
        }
    };
    let mut parts = vec![match sum.changes {
        0 => "nothing to change".to_owned(),
        many => format!("{many} to change"),
    }];
    if sum.runs > 0 {
        parts.push(format!("{} to run", sum.runs));
    }
    if sum.late > 0 {
        parts.push(format!("{} decided later", sum.late));
    }
    if sum.failures > 0 {
        parts.push(format!("{} will fail", sum.failures));
    }
    if sum.ignored > 0 {
        parts.push(format!("{} will fail, which is ignored", sum.ignored));
    }
    parts.push(format!("{} as it should be", sum.same));
    if sum.skipped > 0 {
        parts.push(format!("{} left out", sum.skipped));
    }
    format!("{count}: {}", parts.join(", "))
}

/// Names of hosts, cut with their number where they are many.
pub fn shortened(hosts: &[&str]) -> String {
    const SHOWN: usize = 8;
    if hosts.len() <= SHOWN {
        return hosts.join(", ");
    }
    format!("{}, … and {} more", hosts[..SHOWN].join(", "), hosts.len() - SHOWN)
}

fn host(walked: &Walked, diff: bool, paint: Paint) -> String {
    let mut out = String::new();
    let mut probed = Vec::new();
    for task in &walked.planned {
        match &task.what {
            What::Change(change) if runs_only(change) => {
                let _ =
                    writeln!(out, "  {} {} (a command that changes nothing)", paint.mark(">"), name(task));
            }
            What::Change(change) => self::change(task, change, diff, paint, &mut out),
            What::Late { on } => {
                let _ = writeln!(out, "  {} {} — decided after {on}", paint.mark("?"), name(task));
            }
            What::Failed(problem) => {
                let written = problem.span.as_ref().filter(|span| span.source.name != COMMAND_LINE);
                let place = written.map(|span| format!(" ({span})")).unwrap_or_default();
                let _ = writeln!(
                    out,
                    "  {} {} — will fail: {}{place}",
                    paint.bad("x"),
                    name(task),
                    problem.message
                );
                if let Some(help) = &problem.help {
                    let _ = writeln!(out, "      help: {help}");
                }
            }
            What::Pause { seconds, .. } => {
                let how = seconds.map_or_else(|| "for a person".to_owned(), |seconds| format!("{seconds} s"));
                let _ = writeln!(out, "  {} {} — waits {how}", paint.mark("?"), name(task));
            }
            What::Said { text, .. } => {
                let _ = writeln!(out, "    {} — says: {text}", name(task));
            }
            What::Same { notes, .. } => {
                for note in notes {
                    let _ = writeln!(out, "    {} — {note}", name(task));
                }
            }
            What::Probed { .. } => probed.push(name(task)),
            What::Done { failed: true, .. } => {
                // Its words may hold a secret that nothing marks: they are not said.
                let _ = writeln!(out, "  {} {} — fails, which is ignored", paint.bad("x"), name(task));
            }
            What::Skipped { .. } | What::Done { .. } => {}
        }
    }
    if !probed.is_empty() {
        let _ = writeln!(out, "    ran while planning: {}", probed.join(", "));
    }
    out
}

fn name(task: &Planned) -> String {
    match &task.label {
        Some(label) => format!("{} [{label}]", task.title),
        None => task.title.clone(),
    }
}

/// One task's change with its differences, as in a plan.
pub fn task_text(task: &Planned, change: &Change, paint: Paint) -> String {
    let mut out = String::new();
    self::change(task, change, true, paint, &mut out);
    out
}

fn change(task: &Planned, change: &Change, diff: bool, paint: Paint, out: &mut String) {
    let mut facts = Vec::new();
    facts.extend(change.cluster.as_ref().map(|fsid| format!("for cluster {fsid}, by {}", task.target.host)));
    match change.effect {
        Effect::Now => {}
        Effect::DaemonRestart => facts.push("felt after a daemon restart".to_owned()),
        Effect::GuestPowerCycle => facts.push("felt after a guest power cycle".to_owned()),
        Effect::HostReboot => facts.push("felt after a reboot".to_owned()),
        Effect::CreationOnly => facts.push("fixed at creation".to_owned()),
    }
    for activation in &change.then {
        let words = match activation {
            Activation::Reboot => continue,
            Activation::GuestCycle(cycle) if cycle.row().is_none() => continue,
            other => crate::engine::run::activation_words(other),
        };
        facts.push(format!("then {words}"));
    }
    for step in &change.steps {
        match &step.back {
            Back::Approximately { stays, .. } => facts.push(format!("way back approximate: {stays}")),
            Back::None { why } => facts.push(format!("no way back: {why}")),
            Back::Exactly(_) | Back::Nothing => {}
        }
    }
    facts.dedup();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join("; ")) };
    let _ = writeln!(out, "  {} {}{facts}", paint.good("~"), name(task));
    for risk in &change.risks {
        let _ = writeln!(out, "      accepted risk {}: {}", risk.name.as_str(), risk.why);
    }
    for note in &change.notes {
        let _ = writeln!(out, "      note: {note}");
    }
    if !diff {
        return;
    }
    if task.secret {
        out.push_str("      (hidden: a secret is in it)\n");
        return;
    }
    for part in &change.diff {
        self::diff(part, paint, out);
    }
}

fn diff(diff: &Diff, paint: Paint, out: &mut String) {
    match diff {
        Diff::Text { title, private: true, .. } => {
            let _ = writeln!(out, "      {title}: (hidden: others cannot read this file)");
        }
        Diff::Text { title, before, after, .. } => {
            for line in unified(title, before, after, paint) {
                let _ = writeln!(out, "      {line}");
            }
        }
        Diff::Value { name, before, after } => {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
            let _ =
                writeln!(out, "      {name}: {} -> {}", paint.bad(&shown(before)), paint.good(&shown(after)));
        }
        Diff::Tokens { name, tokens } => {
            let words: Vec<String> = tokens
                .iter()
                .map(|token| match token.mark {
                    Mark::Same => token.text.clone(),
                    Mark::Added => paint.good(&format!("+{}", token.text)),
                    Mark::Removed => paint.bad(&format!("-{}", token.text)),
                })
                .collect();
            let _ = writeln!(out, "      {name}: {}", words.join(" "));
        }
        Diff::Note(words) => {
            let _ = writeln!(out, "      {words}");
        }
    }
}
