//! `sysctl`: a setting of the kernel, live and at boot.
mod name;
pub(crate) mod order;
mod settings;
#[cfg(test)]
mod tests;

use crate::argument::{Scalar, nearest, yes};
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::shape::Shape;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, HostPath, Read, Seen, Step, Stop, all, coupled,
};
use name::Key;
use order::{Order, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The file that settings go to when nobody names one. Its name sorts behind what distributions and people use,
/// so that it is applied last.
pub(crate) const LATE_FILE: &str = "/etc/sysctl.d/zz-tunerun.conf";

/// A setting of the kernel, live and at boot.
///
/// The live value (/proc/sys) is written, and the line that decides at boot is looked for in all folders of
/// systemd-sysctl (/etc/sysctl.d, /run/sysctl.d, /usr/local/lib/sysctl.d, /usr/lib/sysctl.d), in its order. Only
/// the setting's own line changes; all other bytes of the file stay. Where the named file loses to a later one,
/// the line is put into `/etc/sysctl.d/zz-tunerun.conf` as well, and the plan names the file that would have won.
/// Values are compared word by word (`4096<TAB>131072` is `4096 131072`). Sources: sysctl.d(5),
/// systemd-sysctl.service(8), the kernel's Documentation/admin-guide/sysctl.
///
/// Of `vm.dirty_bytes` and `vm.dirty_ratio` (and the `background` pair) the kernel keeps one and sets the other
/// to 0: an undo restores the one that was in force.
///
/// Not as in Ansible: the default file is the late file rather than /etc/sysctl.conf; `reload` writes this
/// setting alone and never loads the other lines of the file.
///
/// Errors: a setting that the kernel does not have is refused, unless `ignoreerrors` says to persist it all the
/// same; a file behind the late file that says otherwise is refused by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sysctl {
    /// The setting: `net.ipv4.tcp_rmem` or `net/ipv4/tcp_rmem`; a dot inside a part is written as a slash in the
    /// first form (`net.ipv4.conf.eth0/100.rp_filter`).
    pub name: String,
    /// The value, in the kernel's own unit of that setting; needed for `present`.
    #[serde(default)]
    pub value: Option<Scalar>,
    /// Whether the setting is persisted. `absent` takes its lines out of `sysctl_file`; the live value stays
    /// until the next boot.
    #[serde(default)]
    pub state: State,
    /// Whether the live value is written as well.
    #[serde(default = "yes")]
    pub reload: bool,
    /// Whether the live value is written even where `reload` is false.
    #[serde(default)]
    pub sysctl_set: bool,
    /// Persist a setting that the kernel does not have (yet), rather than refuse.
    #[serde(default)]
    pub ignoreerrors: bool,
    /// The file that holds the line; else `/etc/sysctl.d/zz-tunerun.conf`.
    #[serde(default)]
    pub sysctl_file: Option<HostFile>,
}

/// A path of a settings file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HostFile(String);

/// Whether a setting is persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is.
    #[default]
    Present,
    /// It is not.
    Absent,
}

impl Sysctl {
    /// A setting of the late file, for modules that persist by one.
    pub(crate) fn parts(name: &str, value: &str, state: State) -> Option<Self> {
        serde_json::from_value(json!({ "name": name, "value": value, "state": state })).ok()
    }

    /// Adds what persists it, without the live value.
    pub(crate) fn persisted(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        self.persist(facts, &self.key()?, &self.wanted()?, change)
    }

    /// What the plan reads first.
    pub(crate) fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = order::first_reads();
        reads.extend(place::first_reads(&self.file()?));
        reads.extend(place::first_reads(&known(LATE_FILE)?));
        if let (State::Present, Ok(live)) = (self.state, self.key()?.live()) {
            let other = coupled(&live).map(known).transpose()?;
            reads.extend([live].iter().chain(&other).map(Read::text));
        }
        Ok(reads)
    }

    fn key(&self) -> Result<Key, Stop> {
        Key::parse(&self.name).map_err(|why| Stop::refused("name", why))
    }

    fn file(&self) -> Result<HostPath, Stop> {
        let path = self.sysctl_file.as_ref().map_or(LATE_FILE, |file| file.0.as_str());
        HostPath::new(path).map_err(|why| Stop::refused("sysctl_file", why))
    }

    fn wanted(&self) -> Result<String, Stop> {
        let Some(value) = &self.value else {
            return Err(Stop::refused("value", "`state: present` needs a value"));
        };
        let value = value.text();
        match value.contains(['\n', '\0']) {
            true => Err(Stop::refused("value", "the value of a setting is one line")),
            false => Ok(value),
        }
    }

    /// The live value's step, or what to say of it.
    fn live(&self, facts: &Facts, key: &Key, value: &str, change: &mut Change) -> Result<(), Stop> {
        let path = key.live().map_err(|why| Stop::refused("name", why))?;
        let Some(now) = facts.value(&path)? else {
            if !self.ignoreerrors {
                return Err(unknown(facts, key, &path));
            }
            change
                .notes
                .push(format!("the kernel has no {} now: it is persisted and not live", key.dotted()));
            change.effect = Effect::HostReboot;
            return Ok(());
        };
        let is_live = Shape::Words.alike(&now, value);
        let is_written = change.steps.is_empty() && !self.sysctl_set;
        change.evidence.push(Evidence::told(
            format!("{} is {value}", key.dotted()),
            path.as_str(),
            (is_live, is_written),
            &*now,
            Effect::HostReboot,
        ));
        if is_live {
            return Ok(());
        }
        if !self.reload && !self.sysctl_set {
            change.notes.push(format!("{} is `{now}` live until the next boot", key.dotted()));
            change.effect = Effect::HostReboot;
            return Ok(());
        }
        let claim = Claim::new("sysctl", &key.dotted());
        let mut step = Step::write(claim, path.clone(), Seen::Value(now.clone()), value, Shape::Words);
        if let Some(other) = coupled(&path) {
            let other = known(other)?;
            if let Some(back) = facts.value(&other)?.filter(|value| value != "0") {
                step.back = Back::Exactly(Act::Write { path: other, value: back });
            }
        }
        change.steps.push(step);
        change.diff.push(Diff::Value {
            name: format!("{} (live)", key.dotted()),
            before: Some(now),
            after: Some(value.to_owned()),
        });
        Ok(())
    }

    fn persist(&self, facts: &Facts, key: &Key, value: &str, change: &mut Change) -> Result<(), Stop> {
        let late = known(LATE_FILE)?;
        let path = self.file()?;
        let file = TextFile::read(facts, &path)?;
        let order = Order::read(facts)?;
        let persisted = order.winner(key);
        let own = last_value(&file.text, key);
        let text = match &own {
            Some(own) if Shape::Words.alike(own, value) => file.text.clone(),
            _ => settings::set(&file.text, key, value),
        };
        file.put(facts, Claim::part(file.path(), &key.dotted()), &text, change)?;
        let applied = order.holds(&path) || Order::would_hold(&path);
        let mut order = order.with(&path, &text);
        let elsewhere = !applied && path.as_str() != "/etc/sysctl.conf";
        if elsewhere {
            change.notes.push(format!("{path} is not read at boot by systemd-sysctl"));
        }
        let decides = |order: &Order| match order.winner(key) {
            Some(place) if Shape::Words.alike(&place.value, value) => None,
            other => Some(other),
        };
        if let (Some(loses_to), false) = (decides(&order), elsewhere) {
            if path != late {
                let file = TextFile::read(facts, &late)?;
                let text = settings::set(&file.text, key, value);
                file.put(facts, Claim::part(file.path(), &key.dotted()), &text, change)?;
                order = order.with(&late, &text);
                change.notes.push(match loses_to {
                    Some(place) => format!(
                        "{}, line {}, sets it to `{}` after {path}: the line is put into {late} too",
                        place.file, place.line, place.value
                    ),
                    None => format!("{path} is not read at boot here: the line is put into {late} too"),
                });
            }
            if let Some(Some(place)) = decides(&order) {
                return Err(overridden(key, &place));
            }
        }
        if let Some(place) = persisted.filter(|place| !Shape::Words.alike(&place.value, value)) {
            change.diff.push(Diff::Value {
                name: format!(
                    "{} (at boot, was decided by {}, line {})",
                    key.dotted(),
                    place.file,
                    place.line
                ),
                before: Some(place.value),
                after: Some(value.to_owned()),
            });
        }
        pair_note(&order, key, change);
        Ok(())
    }

    fn absent(&self, facts: &Facts, key: &Key, change: &mut Change) -> Result<(), Stop> {
        let path = self.file()?;
        let file = TextFile::read(facts, &path)?;
        let text = settings::unset(&file.text, key);
        let ours = file.path().as_str() == LATE_FILE;
        let changed = match (text == file.text, text.is_empty() && ours) {
            (true, _) => false,
            (false, true) => file.remove(Claim::file(file.path()), change),
            (false, false) => file.put(facts, Claim::part(file.path(), &key.dotted()), &text, change)?,
        };
        if changed {
            change.effect = Effect::HostReboot;
            change.notes.push(format!("the live value of {} stays until the next boot", key.dotted()));
        }
        if let Some(place) = Order::read(facts)?.with(&path, &text).winner(key) {
            change.notes.push(format!(
                "{}, line {}, still sets {} to `{}`",
                place.file,
                place.line,
                key.dotted(),
                place.value
            ));
        }
        Ok(())
    }
}

fn last_value(text: &str, key: &Key) -> Option<String> {
    settings::assignments(text).into_iter().rfind(|found| found.key == *key && found.value.is_some())?.value
}

fn unknown(facts: &Facts, key: &Key, path: &HostPath) -> Stop {
    let names = match siblings(path).map(|pattern| facts.names(&pattern)) {
        Some(Err(unread @ Stop::Unread(_))) => return unread,
        Some(Ok(names)) => names,
        _ => Vec::new(),
    };
    let near = nearest(path.name(), names.iter().map(HostPath::name));
    let hint = match near.zip(path.parent()) {
        Some((near, folder)) => {
            let near = Key::parse(&format!("{folder}/{near}")).map_or(near.to_owned(), |key| key.dotted());
            format!("did you mean `{near}`? ")
        }
        None => String::new(),
    };
    Stop::refused("name", format!("the kernel of this host has no setting {}", key.dotted())).way_out(format!(
        "{hint}load the kernel module that brings it by `modprobe` in an earlier task, or set `ignoreerrors: true` to \
         persist it all the same"
    ))
}

fn siblings(path: &HostPath) -> Option<String> {
    path.parent().map(|folder| format!("{folder}/*"))
}

fn overridden(key: &Key, place: &Place) -> Stop {
    Stop::refused(
        "name",
        format!(
            "{} is set to `{}` by {}, line {}, which is applied after {LATE_FILE}",
            key.dotted(),
            place.value,
            place.file,
            place.line
        ),
    )
    .way_out(format!(
        "set `sysctl_file: {}`, or take that line away by a `sysctl` task with `state: absent`",
        place.file
    ))
}

/// Says where the other of a coupled pair is set at boot as well.
fn pair_note(order: &Order, key: &Key, change: &mut Change) {
    let other = key.live().ok().and_then(|path| coupled(&path)).and_then(|other| Key::parse(other).ok());
    if let Some((other, place)) = other.and_then(|other| order.winner(&other).map(|place| (other, place)))
        && place.value != "0"
    {
        change.notes.push(format!(
            "{}, line {}, sets {}: of this and {} the kernel keeps the one that is applied last",
            place.file,
            place.line,
            other.dotted(),
            key.dotted()
        ));
    }
}

impl Module for Sysctl {
    const NAME: &'static str = "sysctl";
    const EXAMPLE: &'static str = "\
- name: Keep the page cache rather than swap
  sysctl:
    name: vm.swappiness
    value: 1
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("key", "name"), ("val", "value")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let key = self.key()?;
        if key.is_pattern() {
            return Err(Stop::refused("name", "a pattern cannot be one setting")
                .way_out("name the settings one by one, by `loop`"));
        }
        facts.need(&self.first_reads()?)?;
        let mut change =
            Change::nothing(json!({ "name": key.dotted(), "sysctl_file": self.file()?.as_str() }));
        match self.state {
            State::Absent => self.absent(facts, &key, &mut change)?,
            State::Present => {
                let value = self.wanted()?;
                let persisted = self.persist(facts, &key, &value, &mut change);
                let live = self.live(facts, &key, &value, &mut change);
                all([persisted, live])?;
                change.result["value"] = json!(value);
            }
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let host = || {
            Host::new()
                .dir("/etc/sysctl.d")
                .file("/usr/lib/sysctl.d/50-default.conf", "vm.swappiness = 60\n")
                .value("/proc/sys/vm/swappiness", "60")
                .value("/proc/sys/vm/dirty_ratio", "0")
                .value("/proc/sys/vm/dirty_bytes", "268435456")
        };
        let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
        vec![
            sample("own late file", json!({ "name": "vm.swappiness", "value": 1 }), host()),
            sample(
                "the other of a pair is in force",
                json!({ "name": "vm.dirty_ratio", "value": "10" }),
                host(),
            ),
            sample(
                "a later file wins",
                json!({ "name": "vm.swappiness", "value": 1, "sysctl_file": "/etc/sysctl.d/10-a.conf" }),
                host(),
            ),
            sample(
                "the line goes",
                json!({ "name": "vm.swappiness", "state": "absent" }),
                host().file(LATE_FILE, "vm.swappiness = 1\nvm.dirty_ratio = 1\n"),
            ),
        ]
    }
}
