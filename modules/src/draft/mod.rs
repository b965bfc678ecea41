//! Tasks that tunerun itself drafts: each is asked of its module on the same facts, so that what is written down loads,
//! and what it would do is known.
use crate::module::find;
use crate::vocabulary::{Change, Facts, Stop, all};
use serde_json::{Map, Value as Json, json};

/// One task that is drafted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    /// Lines of the comment above it.
    pub about: Vec<String>,
    /// The task's name.
    pub name: String,
    /// The module.
    pub module: &'static str,
    /// Its arguments.
    pub args: Json,
}

impl Draft {
    /// A task without a comment.
    pub fn new(name: impl Into<String>, module: &'static str, args: Json) -> Self {
        Self { about: Vec::new(), name: name.into(), module, args }
    }

    /// With one more line of comment.
    pub fn about(mut self, line: impl Into<String>) -> Self {
        self.about.push(line.into());
        self
    }

    /// As a task of a playbook.
    pub fn task(&self) -> Json {
        let mut task = Map::new();
        task.insert("name".to_owned(), json!(self.name));
        task.insert(self.module.to_owned(), self.args.clone());
        Json::Object(task)
    }

    /// What its module makes of it.
    ///
    /// # Errors
    /// [`Stop::Unread`] alone.
    pub fn tried(&self, facts: &Facts) -> Result<Outcome, Stop> {
        let Some(entry) = find(self.module) else {
            return Ok(Outcome::Refused(format!("there is no module `{}`", self.module)));
        };
        let planner = match (entry.parse)(self.args.clone()) {
            Ok(planner) => planner,
            Err(why) => return Ok(Outcome::Refused(why.to_string())),
        };
        match planner.plan(facts) {
            Ok(change) => Ok(Outcome::of(change)),
            Err(Stop::Unread(reads)) => Err(Stop::Unread(reads)),
            Err(Stop::Late(_)) => Ok(Outcome::Refused("an earlier task must run first".to_owned())),
            Err(Stop::Refused(refusal)) => {
                let way = refusal.way_out.map(|way| format!(" ({way})")).unwrap_or_default();
                Ok(Outcome::Refused(format!("{}{way}", refusal.why)))
            }
        }
    }
}

/// What a module makes of a drafted task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is so already.
    Same,
    /// It would change something.
    Changes(Box<Change>),
    /// It would, and somebody must accept a risk: the name of the waiver, and what is risked.
    NeedsWord(&'static str, String),
    /// It is refused, and why.
    Refused(String),
}

impl Outcome {
    fn of(change: Change) -> Self {
        match change.risks.first() {
            Some(risk) => Self::NeedsWord(risk.name.as_str(), risk.why.clone()),
            None if change.is_empty() && change.wait.is_none() => Self::Same,
            None => Self::Changes(Box::new(change)),
        }
    }

    /// The word for it in results, and what is to be said.
    pub fn words(&self) -> (&'static str, String) {
        match self {
            Self::Same => ("same", String::new()),
            Self::Changes(_) => ("changes", String::new()),
            Self::NeedsWord(name, why) => ("needs_word", format!("{name}: {why}")),
            Self::Refused(why) => ("refused", why.clone()),
        }
    }
}

/// What all of them come to; what they miss together is one round.
///
/// # Errors
/// [`Stop::Unread`] alone.
pub(crate) fn tried(facts: &Facts, drafts: &[Draft]) -> Result<Vec<Outcome>, Stop> {
    all(drafts.iter().map(|draft| draft.tried(facts)))
}

/// Asks for what is nice to know: none where nobody can tell, an error only where nobody has looked yet.
///
/// # Errors
/// [`Stop::Unread`] alone.
pub(crate) fn known<T>(answer: Result<T, Stop>) -> Result<Option<T>, Stop> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Unread(reads)) => Err(Stop::Unread(reads)),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Draft, Outcome};
    use crate::host::Host;
    use crate::vocabulary::{Read, Stop};
    use serde_json::json;
    use std::collections::BTreeSet;

    fn outcome(host: &Host, draft: &Draft) -> Outcome {
        let mut reads: BTreeSet<Read> = BTreeSet::new();
        loop {
            match draft.tried(&host.facts(reads.clone())) {
                Ok(outcome) => return outcome,
                Err(Stop::Unread(more)) => reads.extend(more),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_draft_is_asked_of_its_module() {
        let host = Host::new().value("/proc/sys/vm/swappiness", "10").dir("/etc/sysctl.d");
        let draft = |value: u8, module| {
            Draft::new("swap", module, json!({"name": "vm.swappiness", "value": value, "state": "present"}))
        };
        assert!(matches!(outcome(&host, &draft(1, "sysctl")), Outcome::Changes(_)));
        assert!(matches!(outcome(&host, &draft(1, "sysctll")), Outcome::Refused(_)));
        let kept = host.file("/etc/sysctl.d/zz-tunerun.conf", "vm.swappiness = 10\n");
        assert_eq!(outcome(&kept, &draft(10, "sysctl")), Outcome::Same);
        let unknown = Draft::new("x", "sysctl", json!({"nam": "vm.swappiness"}));
        assert!(matches!(outcome(&kept, &unknown), Outcome::Refused(_)));
        let risky = Draft::new("m", "kernel_args", json!({"args": "mitigations=off"}));
        let grub = kept
            .file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\"\n")
            .file("/usr/sbin/grub-mkconfig", "#!/bin/sh\n")
            .file("/usr/sbin/update-grub", "#!/bin/sh\n")
            .file("/boot/grub/grub.cfg", "linux /vmlinuz\n")
            .value("/proc/cmdline", "quiet");
        assert!(matches!(outcome(&grub, &risky), Outcome::NeedsWord("security", _)));
    }
}
