//! Whether daemons hold what is asked for, in their own words.
use super::felt::Felt;
use super::who::Who;
use crate::ceph::answers::{Crush, OptionHelp, told};
use crate::ceph::cluster::Shell;
use crate::vocabulary::{Effect, Evidence, Facts, Look, Read, Row, Seen, Standing};
use std::collections::BTreeMap;

/// How long all daemons of a kind may take to answer, in seconds; one that hangs must not hold a plan for long.
const ASKING: u32 = 20;

/// The rows that ask daemons for an option.
pub(super) fn rows(shell: &Shell, who: &Who, name: &str) -> Vec<Row> {
    let row = |whom: String| shell.row_within("ceph-tell-config-get", ASKING, [whom, name.to_owned()]);
    who.daemons().into_iter().map(row).collect()
}

/// What daemons hold, as far as they answer, and why some do not.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Values by daemon.
    pub by: BTreeMap<String, String>,
    /// Why not all are known.
    pub missing: Option<String>,
}

/// What the daemons that are meant hold. None where an earlier task changes it.
pub(super) fn held(
    facts: &Facts,
    shell: &Shell,
    who: &Who,
    name: &str,
    tree: Option<&Crush>,
) -> Option<Held> {
    let mut all = Held::default();
    for (whom, row) in who.daemons().iter().zip(rows(shell, who, name)) {
        let output = match facts.look(&Read::Ask(row.clone())) {
            Look::Seen(Seen::Output(output)) => output,
            Look::Seen(_) => {
                all.missing = Some(format!("{whom} could not be asked"));
                continue;
            }
            Look::Unread | Look::Late(_) => return None,
        };
        let alone = whom.trim_end_matches(".*");
        all.by.extend(told(&output, alone, name).into_iter().filter(|(daemon, _)| {
            // A kind with one daemon answers without its name.
            daemon == alone || who.means(daemon, tree)
        }));
        if output.status != 0 {
            let said = output.error_text();
            let last =
                said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no answer").trim().to_owned();
            all.missing = Some(format!("{whom}: {last}"));
        }
    }
    Some(all)
}

/// A value with its daemons, the many cut.
pub(super) fn grouped(held: &Held) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (daemon, value) in &held.by {
        groups.entry(value).or_default().push(daemon);
    }
    let told = groups.iter().map(|(value, daemons)| match daemons.len() {
        0..=4 => format!("{value} ({})", daemons.join(", ")),
        many => format!("{value} ({}, … {many} daemons)", daemons[..3].join(", ")),
    });
    told.collect::<Vec<_>>().join("; ")
}

/// What is to be proven.
pub(super) struct Claimed<'a> {
    pub who: &'a Who,
    pub help: &'a OptionHelp,
    /// What daemons shall hold.
    pub wanted: &'a str,
    /// Whether it is stored so already.
    pub written: bool,
    pub felt: Felt,
}

impl Claimed<'_> {
    fn alike(&self, value: &str) -> bool {
        super::typed::stored(self.help, value)
            .is_ok_and(|value| super::typed::shape(self.help).alike(&value, self.wanted))
    }

    /// Whether every daemon that is meant holds it.
    pub fn agrees(&self, held: &Held) -> bool {
        held.by.values().all(|value| self.alike(value))
    }

    /// The evidence of it.
    pub fn evidence(&self, held: Option<&Held>) -> Option<Evidence> {
        let name = &self.help.name;
        let what = format!("{} has {name} = {}", self.who.text(), self.wanted);
        let whom = self.who.daemons();
        if whom.is_empty() || self.felt == Felt::ByClients {
            let why =
                "a client's options cannot be asked of the cluster: look at the client, or at its connection";
            return Some(Evidence::not_available(what, "ceph config show", why));
        }
        let proof = format!("ceph tell {} config get {name}", whom.join(" and "));
        let held = held?;
        if held.by.is_empty() {
            let why = held.missing.clone().unwrap_or_else(|| "no daemon that is meant answers".to_owned());
            return Some(Evidence::not_available(what, proof, why));
        }
        let agrees = self.agrees(held);
        let mut seen = grouped(held);
        if let Some(missing) = &held.missing {
            seen.push_str(&format!("; not asked: {missing}"));
        }
        if agrees && held.missing.is_some() {
            return Some(Evidence::not_available(what, proof, seen));
        }
        if agrees && matches!(self.felt, Felt::AtStartThoughTold | Felt::Unsure) {
            let why = format!("{seen}, and a running daemon says that before it uses it");
            return Some(Evidence { what, proof, standing: Standing::NotAvailable { why } });
        }
        if self.written && !agrees && self.felt == Felt::AtOnce {
            // No restart would help: it does not reach all that are meant.
            seen.push_str("; something nearer to them wins");
            return Some(Evidence { what, proof, standing: Standing::Absent { seen } });
        }
        let until = match self.felt.effect() {
            Effect::Now => Effect::DaemonRestart,
            other => other,
        };
        Some(Evidence::told(what, proof, (agrees, self.written), seen, until))
    }
}
