//! What a plan costs those who use the hosts: what is down meanwhile, counted over all hosts. Pure.
use crate::engine::undo::restarted;
use crate::engine::walk::{Planned, Walked, What};
use modules::vocabulary::{Activation, Change, Goal};
use std::collections::{BTreeMap, BTreeSet};

/// What is down while plans are applied. Restarts fold to one a daemon, power cycles to one a guest; what is decided
/// later may add to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Boots by host.
    pub reboots: BTreeMap<String, u32>,
    /// Hosts of which something is felt after a boot that nobody makes.
    pub reboots_owed: BTreeSet<String>,
    /// Hosts by the unit that starts again there.
    pub restarts: BTreeMap<String, BTreeSet<String>>,
    /// OSDs that start again.
    pub osds: BTreeSet<String>,
    /// Guests that are powered off and on, by name and uuid.
    pub guests: BTreeSet<(String, String)>,
    /// Guests that feel it only after a power cycle that nobody makes.
    pub guests_owed: BTreeSet<(String, String)>,
    /// Tasks that may cut the link to their host, and take it back by themselves then.
    pub cuts: u32,
    /// Tasks that are decided later.
    pub late: u32,
}

impl Cost {
    /// Adds up the plans of hosts.
    pub fn of<'a>(hosts: impl IntoIterator<Item = (&'a str, &'a Walked)>) -> Self {
        let mut cost = Self::default();
        for (host, walked) in hosts {
            let (mut owed, mut booted) = (false, false);
            for task in &walked.planned {
                match &task.what {
                    What::Change(change) => {
                        owed |= change.then.contains(&Activation::Reboot);
                        booted |= cost.add(task, change);
                    }
                    What::Late { .. } => cost.late += 1,
                    _ => {}
                }
            }
            if owed && !booted {
                cost.reboots_owed.insert(host.to_owned());
            }
        }
        cost
    }

    /// One change; true where it boots its host.
    fn add(&mut self, task: &Planned, change: &Change) -> bool {
        let host = &task.target.host;
        self.cuts += u32::from(change.dead_man.is_some());
        for activation in &change.then {
            match activation {
                Activation::Restart(unit) => self.restart(unit, host),
                Activation::GuestCycle(guest) => {
                    let known = (guest.name.clone(), guest.uuid.clone());
                    let of = if guest.row().is_some() { &mut self.guests } else { &mut self.guests_owed };
                    of.insert(known);
                }
                _ => {}
            }
        }
        for step in &change.steps {
            match restarted(&step.act) {
                Some((true, osd)) => drop(self.osds.insert(osd)),
                Some((false, unit)) => self.restart(&unit, host),
                None => {}
            }
        }
        let boots = change.wait.as_ref().is_some_and(|wait| matches!(wait.goal, Goal::Boot { .. }));
        if boots {
            *self.reboots.entry(host.clone()).or_insert(0) += 1;
        }
        boots
    }

    fn restart(&mut self, unit: &str, host: &str) {
        self.restarts.entry(unit.to_owned()).or_default().insert(host.to_owned());
    }

    /// In one line; none where nothing is down and nothing is open.
    pub fn line(&self) -> Option<String> {
        let mut parts = Vec::new();
        let boots: u32 = self.reboots.values().sum();
        if boots > 0 {
            let hosts = match self.reboots.len() {
                1 => String::new(),
                many => format!(" on {many} hosts"),
            };
            parts.push(format!("{}{hosts}", counted(boots as usize, "reboot", "reboots")));
        }
        let restarts: usize = self.restarts.values().map(BTreeSet::len).sum();
        if restarts > 0 {
            let units = self.restarts.iter().map(|(unit, hosts)| match hosts.len() {
                1 => unit.clone(),
                many => format!("{unit} on {many} hosts"),
            });
            let units: Vec<String> = units.collect();
            parts.push(format!(
                "{} ({})",
                counted(restarts, "daemon restart", "daemon restarts"),
                cut(&units)
            ));
        }
        if !self.osds.is_empty() {
            let osds: Vec<String> = self.osds.iter().map(|osd| format!("osd.{osd}")).collect();
            let down = "their placement groups are degraded meanwhile";
            parts.push(format!(
                "{} ({}; {down})",
                counted(osds.len(), "OSD restart", "OSD restarts"),
                cut(&osds)
            ));
        }
        if !self.guests.is_empty() {
            let count = counted(self.guests.len(), "guest", "guests");
            parts.push(format!("{count} powered off and on ({})", names(&self.guests)));
        }
        if self.cuts > 0 {
            parts.push(counted(
                self.cuts as usize,
                "change that may cut the link, watched by the host's own timer",
                "changes that may cut the link, watched by the hosts' own timers",
            ));
        }
        let down = (!parts.is_empty()).then(|| format!("down meanwhile: {}", parts.join("; ")));
        let both: Vec<String> = down.into_iter().chain(self.owed()).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }

    /// What is felt only after something that nobody makes.
    fn owed(&self) -> Option<String> {
        let mut owed = Vec::new();
        if !self.reboots_owed.is_empty() {
            owed.push(format!("a reboot of {}", counted(self.reboots_owed.len(), "host", "hosts")));
        }
        if !self.guests_owed.is_empty() {
            let count = counted(self.guests_owed.len(), "guest", "guests");
            owed.push(format!("a power cycle of {count} ({})", names(&self.guests_owed)));
        }
        (!owed.is_empty()).then(|| format!("felt only after {}, which nobody makes here", owed.join(" and ")))
    }
}

fn counted(many: usize, one: &str, several: &str) -> String {
    match many {
        1 => format!("1 {one}"),
        many => format!("{many} {several}"),
    }
}

/// The names of guests.
fn names(guests: &BTreeSet<(String, String)>) -> String {
    cut(&guests.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
}

/// Names, cut with their number where they are many.
fn cut(names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    super::plan::shortened(&names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_plan_that_stops_nothing_says_nothing() {
        assert_eq!(Cost::default().line(), None);
        assert_eq!(Cost { late: 3, ..Cost::default() }.line(), None);
    }

    #[test]
    fn what_is_down_is_counted_once_a_thing() {
        let cost = Cost {
            reboots: [("a".to_owned(), 1), ("b".to_owned(), 2)].into(),
            restarts: [
                ("tuned.service".to_owned(), set(&["a", "b"])),
                ("irqbalance.service".to_owned(), set(&["a"])),
            ]
            .into(),
            osds: set(&["3"]),
            guests: [("vm1".to_owned(), "u1".to_owned())].into(),
            cuts: 1,
            ..Cost::default()
        };
        assert_eq!(
            cost.line().unwrap(),
            "down meanwhile: 3 reboots on 2 hosts; 3 daemon restarts (irqbalance.service, tuned.service on 2 hosts); 1 OSD \
             restart (osd.3; their placement groups are degraded meanwhile); 1 guest powered off and on (vm1); 1 change that \
             may cut the link, watched by the host's own timer"
        );
        let owed = Cost { reboots_owed: set(&["a", "b"]), ..Cost::default() };
        assert_eq!(owed.line().unwrap(), "felt only after a reboot of 2 hosts, which nobody makes here");
    }
}
