//! `capture`: the present state of a host as tasks.
mod disks;
mod kernel;
mod machine;
mod network;
mod services;
#[cfg(test)]
mod tests;

use crate::draft::{Draft, Outcome};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Stop, all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The present state of a host as tasks: what its tunings are, as a playbook would say them.
///
/// Each task is asked of its own module on the same facts before it is given out: only one that plans nothing on this very
/// host is in `tasks`, so that nothing is guessed. What is live and kept over boots is written as that; what is live alone
/// has `persist: false`. What cannot be said truthfully is in `left_out` with the reason. It only reads. The command
/// `tunerun capture` writes it as a playbook, with where each value was seen as a comment.
///
/// Looked at: kernel arguments (without those that name the host's own disks), sysctl files of the administrator, huge
/// pages, SMT, TuneD's profile, placed interrupts, RPS, XPS and offloads of cards, schedulers and read-ahead of disks,
/// drop-ins that pin units, extents and chunks of LVM, options that a Ceph cluster stores, and how guests of libvirt are
/// defined. Secrets are left out by name.
///
/// Sources: those of each module.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {}

/// Something that is there, and the ways in which it may be said: the first that plans nothing is taken.
#[derive(Clone, Debug, Default)]
struct Found {
    /// What it is, in a few words.
    what: String,
    /// Where it was seen.
    source: String,
    /// The ways, the fullest first.
    ways: Vec<Draft>,
    /// Why it cannot be said, where that is known already.
    why_not: Option<String>,
}

impl Found {
    fn new(what: impl Into<String>, source: impl Into<String>) -> Self {
        Self { what: what.into(), source: source.into(), ..Self::default() }
    }

    /// One more way.
    fn way(mut self, name: &str, module: &'static str, args: Json) -> Self {
        self.ways.push(Draft::new(name, module, args).about(format!("from {}", self.source)));
        self
    }

    /// As it is now and after the next boot; else as it is now.
    fn kept_or_live(self, name: &str, module: &'static str, args: Json) -> Self {
        let live = with(&args, "persist", json!(false));
        let mut found = self.way(name, module, args).way(name, module, live);
        if let Some(draft) = found.ways.last_mut() {
            draft.about.push("it is so now; nothing that tunerun knows keeps it over a boot".to_owned());
        }
        found
    }

    /// It cannot be said.
    fn because(mut self, why: impl Into<String>) -> Self {
        self.why_not = Some(why.into());
        self
    }

    /// The way that says it truthfully, or why none does.
    fn settled(&self, facts: &Facts) -> Result<Result<Draft, String>, Stop> {
        let mut why = self.why_not.clone();
        for way in &self.ways {
            match way.tried(facts)? {
                Outcome::Same => return Ok(Ok(way.clone())),
                Outcome::Changes(_) => {
                    why.get_or_insert_with(|| "what is live and what is written down differ".to_owned());
                }
                Outcome::NeedsWord(_, reason) | Outcome::Refused(reason) => why = Some(reason),
            }
        }
        Ok(Err(why.unwrap_or_else(|| "no module says it".to_owned())))
    }
}

/// Arguments with one more.
fn with(args: &Json, name: &str, value: Json) -> Json {
    let mut args = args.clone();
    if let Some(map) = args.as_object_mut() {
        map.insert(name.to_owned(), value);
    }
    args
}

/// A part of the host: what it finds there.
type Part = fn(&Facts) -> Result<Vec<Found>, Stop>;

/// The parts, in the order of a playbook.
const PARTS: [Part; 13] = [
    kernel::line,
    kernel::settings,
    kernel::huge_pages,
    machine::smt,
    machine::tuned,
    machine::pinned_units,
    network::offloads,
    network::queues,
    network::interrupts,
    disks::queues,
    disks::volumes,
    services::ceph,
    services::guests,
];

impl Module for Capture {
    const NAME: &'static str = "capture";
    const EXAMPLE: &'static str = "\
- name: What this host is tuned to
  capture: {}
  register: state
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let found: Vec<Found> = all(PARTS.iter().map(|part| part(facts)))?.into_iter().flatten().collect();
        let settled = all(found.iter().map(|one| one.settled(facts)))?;
        let (mut drafts, mut left_out) = (Vec::new(), Vec::new());
        for (one, settled) in found.iter().zip(settled) {
            match settled {
                Ok(draft) => drafts.push(draft),
                Err(why) => left_out.push(json!({ "what": one.what, "source": one.source, "why": why })),
            }
        }
        // What holds argument by argument is one task where it holds together too.
        if let Some(whole) = kernel::together(&drafts)
            && whole.tried(facts)? == Outcome::Same
        {
            let first = drafts.iter().position(|draft| draft.module == whole.module).unwrap_or(0);
            drafts.retain(|draft| draft.module != whole.module);
            drafts.insert(first, whole);
        }
        let tasks: Vec<Json> =
            drafts.iter().map(|draft| json!({ "about": draft.about, "task": draft.task() })).collect();
        Ok(Change::nothing(json!({ "tasks": tasks, "left_out": left_out })))
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new()
            .file("/etc/sysctl.d/zz-tunerun.conf", "vm.swappiness = 1\n")
            .value("/proc/sys/vm/swappiness", "1");
        vec![Sample { about: "one setting", args: json!({}), host, calls: Vec::new() }]
    }
}
