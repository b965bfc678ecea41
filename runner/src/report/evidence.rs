//! Whether what is asked for is felt: hosts alike once.
use super::paint::Paint;
use super::plan::shortened;
use crate::engine::walk::{Told, Walked, What};
use modules::vocabulary::Standing;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How hosts stand that stand alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proofs {
    /// As people read it.
    pub text: String,
    /// Settings that are felt.
    pub live: usize,
    /// Settings that are written and not felt yet.
    pub owed: usize,
    /// Settings that are neither.
    pub absent: usize,
    /// Settings of which nothing on the host can tell.
    pub not_available: usize,
    /// Tasks that ask for a state and name no proof: what they wrote is all that can be looked at.
    pub silent: usize,
}

/// What the proofs of hosts say. The odd host first.
pub fn proofs<'a>(hosts: impl IntoIterator<Item = (&'a str, &'a Walked)>, paint: Paint) -> Vec<Proofs> {
    let mut classes: BTreeMap<Proofs, Vec<&str>> = BTreeMap::new();
    for (host, walked) in hosts {
        classes.entry(of(walked, paint)).or_default().push(host);
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, hosts)| hosts.len());
    let titled = |(proofs, hosts): (Proofs, Vec<&str>)| {
        let title = paint.strong(&title(&proofs, &hosts));
        Proofs { text: format!("{title}\n{}", proofs.text), ..proofs }
    };
    classes.into_iter().map(titled).collect()
}

fn title(proofs: &Proofs, hosts: &[&str]) -> String {
    let names = match hosts.len() {
        1 => hosts[0].to_owned(),
        many => format!("{many} hosts alike: {}", shortened(hosts)),
    };
    let counts = [
        (proofs.live, "live"),
        (proofs.owed, "applied, not live"),
        (proofs.absent, "absent"),
        (proofs.not_available, "not available"),
    ];
    let mut parts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    if parts.is_empty() {
        parts.push("no proofs".to_owned());
    }
    format!("{names}: {}", parts.join(", "))
}

fn of(walked: &Walked, paint: Paint) -> Proofs {
    let mut proofs = Proofs::default();
    for told in &walked.told {
        let (count, line) = match &told.evidence.standing {
            Standing::Live { seen } => (&mut proofs.live, told_line("live", told, seen)),
            Standing::Owed { until, seen } => {
                let line = told_line("applied, not live", told, seen);
                (&mut proofs.owed, paint.mark(&format!("{line}; felt {}", until.owed_words())))
            }
            Standing::Absent { seen } => (&mut proofs.absent, paint.bad(&told_line("absent", told, seen))),
            Standing::NotAvailable { why } => {
                (&mut proofs.not_available, told_line("not available", told, why))
            }
        };
        *count += 1;
        let _ = writeln!(proofs.text, "  {line}");
    }
    let asks = |what: &What| matches!(what, What::Same { .. } | What::Change(_));
    proofs.silent = walked
        .planned
        .iter()
        .filter(|task| asks(&task.what) && !walked.told.iter().any(|told| told.title == task.title))
        .count();
    proofs
}

fn told_line(word: &str, told: &Told, seen: &str) -> String {
    let seen = seen.lines().next().unwrap_or_default();
    format!("{word}: {} — {}: {seen}", told.evidence.what, told.evidence.proof)
}
