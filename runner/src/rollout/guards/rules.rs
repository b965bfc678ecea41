//! What must hold around hosts of a cluster: pure decisions on what was seen at the start and is seen now.
use super::daemons::Daemons;
use super::sight::{About, Sight};
use modules::ceph::answers::OkToStop;

/// Which way a run goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Going {
    /// Changes are made: bad health stops them.
    #[default]
    Forward,
    /// Changes are taken back: bad health may be their work, and does not stop that.
    Back,
}

/// Whether all that must hold does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All holds.
    Met,
    /// This does not hold yet, in words.
    NotYet(Vec<String>),
}

impl Verdict {
    fn of(why: Vec<String>) -> Self {
        if why.is_empty() { Self::Met } else { Self::NotYet(why) }
    }

    /// What does not hold.
    pub fn why(self) -> Vec<String> {
        match self {
            Self::Met => Vec::new(),
            Self::NotYet(why) => why,
        }
    }
}

/// What a guard asks for.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Health codes that may stand.
    pub allow: &'a [String],
    /// Whether daemons are asked for whether they may stop.
    pub ok_to_stop: bool,
    /// Which way the run goes.
    pub going: Going,
}

/// The health code of flags that are set for nodes: our own are among them.
const OWN: &str = "OSD_FLAGS";
/// The health code of flags of the whole cluster.
const FLAGS: &str = "OSDMAP_FLAGS";
/// Flags of the whole cluster that make nothing worse while hosts are down; a gate pauses scrubs by two of them.
const HARMLESS: [&str; 3] = ["noscrub", "nodeep-scrub", "noout"];

impl Rules<'_> {
    /// What must hold before hosts go down. `may` is the answer for [`About::osds`] together with all others that are
    /// about to stop.
    pub fn before(&self, start: &Sight, now: &Sight, about: &About, may: &OkToStop) -> Verdict {
        let mut why = Vec::new();
        if self.going == Going::Forward {
            self.health(start, now, about, &mut why);
        }
        if self.ok_to_stop {
            may_stop(about, may, &mut why);
            quorum_stays(now, about, &mut why);
        }
        Verdict::of(why)
    }

    /// What must hold after hosts were down. `others` is what other hosts of the run have down still.
    pub fn after(&self, start: &Sight, now: &Sight, others: &About, back: &Back<'_>) -> Verdict {
        let mut why = Vec::new();
        for host in back.hosts {
            host.up(back.before, now, &mut why);
        }
        if self.going == Going::Forward {
            self.health(start, now, others, &mut why);
        }
        Verdict::of(why)
    }

    /// Whether a cluster is as well as at the start, but for what this run has down.
    fn health(&self, start: &Sight, now: &Sight, ours: &About, why: &mut Vec<String>) {
        let was_down = start.down();
        let is_new = |id: &&i64| !was_down.contains(id) && !ours.down_osds.contains(id);
        let more: Vec<String> = now.down().iter().filter(is_new).map(|id| format!("osd.{id}")).collect();
        if !more.is_empty() {
            let is = if more.len() == 1 { "is" } else { "are" };
            why.push(format!("{} {is} down, and was not at the start", more.join(", ")));
        }
        for (code, check) in &now.status.health.checks {
            let is_error = |severity: &str| severity == "HEALTH_ERR";
            let stood = start.status.health.checks.get(code);
            let worse = stood.is_some_and(|stood| !is_error(&stood.severity) && is_error(&check.severity));
            let expected = code == OWN || code == FLAGS || ours.explains(code, more.is_empty());
            if check.muted || self.allow.contains(code) || expected || (stood.is_some() && !worse) {
                continue;
            }
            let then = if worse { "it is an error by now" } else { "it did not stand at the start" };
            why.push(format!("{code}: {}; {then}", check.summary.message));
        }
        let is_new =
            |flag: &&String| !start.osds.flags_set.contains(flag) && !HARMLESS.contains(&flag.as_str());
        let flags: Vec<&str> = now.osds.flags_set.iter().filter(is_new).map(String::as_str).collect();
        if !flags.is_empty() && !self.allow.iter().any(|code| code == FLAGS) {
            why.push(format!("the flag {} was set meanwhile", flags.join(", ")));
        }
        groups(start, now, ours, why);
    }
}

/// Placement groups are as clean as at the start; while hosts of this run are down, they serve as at the start.
fn groups(start: &Sight, now: &Sight, ours: &About, why: &mut Vec<String>) {
    let (start, now) = (&start.status.pgmap, &now.status.pgmap);
    let (was, count, what) = match ours.down_osds.is_empty() {
        true => (start.not_clean(), now.not_clean(), "active and clean"),
        false => (start.not_active(), now.not_active(), "active"),
    };
    if count <= was {
        return;
    }
    let not_clean = now.pgs_by_state.iter().filter(|state| !state.is_clean());
    let states: Vec<String> =
        not_clean.take(4).map(|state| format!("{} {}", state.count, state.state_name)).collect();
    let of = now.num_pgs;
    let words = format!("{count} of {of} placement groups are not {what} ({was} at the start)");
    why.push(if states.is_empty() { words } else { format!("{words}: {}", states.join(", ")) });
}

fn may_stop(about: &About, may: &OkToStop, why: &mut Vec<String>) {
    if about.osds.is_empty() {
        return;
    }
    let names = |ids: &mut dyn Iterator<Item = &i64>| {
        ids.map(|id| format!("osd.{id}")).collect::<Vec<_>>().join(", ")
    };
    if may.ok_to_stop {
        let unasked = names(&mut about.osds.iter().filter(|id| !may.osds.contains(id)));
        if !unasked.is_empty() {
            why.push(format!("the cluster has not said whether {unasked} may stop"));
        }
        return;
    }
    let (ids, count) = match may.osds[..] {
        [] => (names(&mut about.osds.iter()), about.osds.len()),
        _ => (names(&mut may.osds.iter()), may.osds.len()),
    };
    let bad = &may.bad_become_inactive;
    let which = match bad.len() {
        0 => String::new(),
        1..=4 => format!(": placement groups {} would stop serving", bad.join(", ")),
        more => format!(": {more} placement groups would stop serving, such as {}", bad[..3].join(", ")),
    };
    let together = if count > 1 { " together" } else { "" };
    why.push(format!("{ids} may not stop{together}{which}"));
}

/// More than half of the mons stay in the quorum.
fn quorum_stays(now: &Sight, about: &About, why: &mut Vec<String>) {
    let left = now.quorum().into_iter().filter(|name| !about.mons.contains(*name)).count();
    let all = now.mons.mons.len();
    if !about.mons.is_empty() && left * 2 <= all {
        let names: Vec<String> = about.mons.iter().map(|name| format!("mon.{name}")).collect();
        let (names, needs) = (names.join(", "), all / 2 + 1);
        why.push(format!("without {names} the quorum would have {left} of {all} mons, and it needs {needs}"));
    }
}

/// The hosts that came back, and how the cluster stood before they went down.
#[derive(Clone, Copy, Debug)]
pub struct Back<'a> {
    /// The hosts; none where nobody asks for their daemons.
    pub hosts: &'a [Returned<'a>],
    /// The cluster right before.
    pub before: &'a Sight,
}

/// A host whose daemons must be up again.
#[derive(Clone, Copy, Debug)]
pub struct Returned<'a> {
    /// Its name.
    pub host: &'a str,
    /// Its daemons before it went down.
    pub before: &'a Daemons,
    /// Its daemons now.
    pub now: &'a Daemons,
}

impl Returned<'_> {
    /// All daemons run, the OSDs are up since they began, and the mons are in the quorum.
    fn up(&self, before: &Sight, now: &Sight, why: &mut Vec<String>) {
        let host = self.host;
        let missing = self.before.missing_in(self.now);
        if !missing.is_empty() {
            let does = if missing.len() == 1 { "does" } else { "do" };
            why.push(format!("{host}: {} {does} not run", missing.join(", ")));
        }
        let anew = self.before.begun_anew(self.now);
        for id in self.before.osds().difference(&before.down()) {
            let is_up = match (now.up_from(*id), before.up_from(*id)) {
                (None, _) => false,
                // A map that has not heard of the restart yet calls it up as well.
                (Some(epoch), Some(earlier)) => !anew.contains(id) || epoch > earlier,
                (Some(_), None) => true,
            };
            if !is_up && !missing.contains(&format!("osd.{id}")) {
                why.push(format!("{host}: osd.{id} runs, and the map does not call it up yet"));
            }
        }
        let (was, is) = (before.quorum(), now.quorum());
        for name in self.before.mons() {
            let is_in = is.contains(name.as_str()) || !was.contains(name.as_str());
            if !is_in && !missing.contains(&format!("mon.{name}")) {
                why.push(format!("{host}: mon.{name} runs, and is not in the quorum yet"));
            }
        }
    }
}

/// Whether the reports of placement groups are newer than the last start of their OSDs: lines of number, the map in which
/// the OSD came up, and the oldest map that a report was made in.
pub fn reported(answer: &str) -> Verdict {
    let late = answer.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [id, up, reported] = words[..] else { return None };
        let (up, reported) = (up.parse::<u64>().ok()?, reported.parse::<u64>().ok()?);
        (up == 0 || reported < up).then(|| format!("osd.{id}"))
    });
    let late: Vec<String> = late.collect();
    let words = format!("placement groups of {} have not reported since it came up", late.join(", "));
    Verdict::of(if late.is_empty() { Vec::new() } else { vec![words] })
}

#[cfg(test)]
mod tests;
