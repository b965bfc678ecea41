//! `mount`: file systems that are mounted, now and at boot.
use super::{fstab, options};
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Activation, Change, Claim, Effect, Evidence, Facts, HostPath, Read, Row, Standing, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

mod live;
mod samples;
#[cfg(test)]
mod tests;

/// File systems that are mounted, now and at boot.
///
/// `mounted` is both a line of fstab and a mount; `present` the line alone, `ephemeral` the mount alone. The line is
/// edited field by field, and options are compared as sets; all other bytes of the file stay. A folder to mount on is
/// made where it is missing.
///
/// Options of a file system that is mounted already are brought by a remount where every file system takes them so
/// (`noatime`, `ro`, `nosuid`, `discard` …); others are written and felt at the next mount, which the plan says. Nothing is
/// unmounted for an option.
///
/// `unmounted` and `absent` unmount what nobody uses, and fail where somebody does; `absent` takes the line out of fstab
/// too and leaves the folder. The way back mounts it again as it was.
///
/// Errors: another file system that is mounted there, a source that is missing. Sources: mount(8), fstab(5), findmnt(8).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// The folder.
    pub path: String,
    /// What is mounted: a device, `UUID=…`, `LABEL=…`, or a remote file system's address.
    #[serde(default)]
    pub src: Option<String>,
    /// The type of the file system.
    #[serde(default)]
    pub fstype: Option<String>,
    /// Options, parted by commas.
    #[serde(default)]
    pub opts: Option<String>,
    /// Whether it is mounted at boot; else `noauto` is added to the options.
    #[serde(default = "crate::argument::yes")]
    pub boot: bool,
    /// The fifth field of fstab: whether `dump` saves it.
    #[serde(default)]
    pub dump: u32,
    /// The sixth field of fstab: when it is checked at boot.
    #[serde(default)]
    pub passno: u32,
    /// How it shall be.
    #[serde(default)]
    pub state: State,
    /// The file of mounts.
    #[serde(default = "fstab_path")]
    pub fstab: String,
}

fn fstab_path() -> String {
    "/etc/fstab".to_owned()
}

/// How a file system shall be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// In fstab, and mounted.
    #[default]
    Mounted,
    /// In fstab.
    Present,
    /// Mounted until the next boot.
    Ephemeral,
    /// Not mounted.
    Unmounted,
    /// Neither mounted nor in fstab.
    Absent,
    /// Mounted again with the options of fstab: an act.
    Remounted,
}

impl State {
    fn is_mounted(self) -> bool {
        matches!(self, Self::Mounted | Self::Ephemeral)
    }
    fn is_written(self) -> bool {
        matches!(self, Self::Mounted | Self::Present)
    }
}

/// File systems that come over a network.
const REMOTE: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "fuse.ceph", "ocfs2"];

/// What a mount names.
struct What {
    source: String,
    fstype: String,
    options: Vec<String>,
}

impl Mount {
    fn what(&self) -> Result<What, Stop> {
        let need = |argument: &'static str, value: &Option<String>| match value.as_deref().map(str::trim) {
            Some(value) if !value.is_empty() => Ok(value.to_owned()),
            _ => Err(Stop::refused(
                argument,
                format!("`{argument}` is needed to mount something at {}", self.path),
            )),
        };
        let mut options = options::list(self.opts.as_deref().unwrap_or_default());
        if !self.boot && !options.iter().any(|option| option == "noauto") {
            options.push("noauto".to_owned());
        }
        Ok(What { source: need("src", &self.src)?, fstype: need("fstype", &self.fstype)?, options })
    }

    fn path(&self) -> Result<HostPath, Stop> {
        let path = HostPath::new(&self.path).map_err(|why| Stop::refused("path", why))?;
        match path.as_str() {
            "/" if self.state != State::Present && self.state != State::Remounted => {
                Err(Stop::refused("path", "the root file system is mounted at boot")
                    .way_out("use `state: present`"))
            }
            _ => Ok(path),
        }
    }

    fn fstab(&self) -> Result<HostPath, Stop> {
        HostPath::new(&self.fstab).map_err(|why| Stop::refused("fstab", why))
    }

    fn first_reads(&self, path: &HostPath) -> Result<Vec<Read>, Stop> {
        let mut reads = vec![Read::Ask(live::mounted(path))];
        if self.state.is_written() || self.state == State::Absent {
            reads.extend(place::first_reads(&self.fstab()?));
            reads.push(Read::Stat(known(crate::services::RUNNING)?));
        }
        if self.state.is_mounted() {
            reads.extend([live::from(&self.what()?.source, path), live::options(path)].map(Read::Ask));
            reads.push(Read::Stat(path.clone()));
        }
        Ok(reads)
    }

    /// The line of fstab.
    fn line(&self, facts: &Facts, path: &HostPath, change: &mut Change) -> Result<(), Stop> {
        let file = TextFile::read(facts, &self.fstab()?)?;
        let after = match self.state {
            State::Absent => fstab::unset(&file.text, path.as_str()),
            _ => {
                let what = self.what()?;
                if fstab::count(&file.text, path.as_str()) > 1 {
                    change.notes.push(format!(
                        "{} stands twice in {}: the first line counts here",
                        path,
                        file.path()
                    ));
                }
                let entry = fstab::Entry {
                    source: what.source,
                    path: path.to_string(),
                    fstype: what.fstype,
                    options: options::text(&what.options),
                    dump: self.dump,
                    pass: self.passno,
                };
                fstab::set(&file.text, &entry)
            }
        };
        if after == file.text {
            return Ok(());
        }
        file.put(facts, Claim::part(file.path(), path.as_str()), &after, change)?;
        // systemd makes its mount units from fstab.
        if facts.stat(&known(crate::services::RUNNING)?)?.is_some() {
            change.then.insert(Activation::DaemonReload);
        }
        Ok(())
    }

    /// What people of this job stumble over.
    fn lints(&self, what: &What, change: &mut Change) {
        let remote = REMOTE.contains(&what.fstype.as_str()) || what.source.starts_with("/dev/rbd");
        if self.state.is_written() && remote && !what.options.iter().any(|option| option == "_netdev") {
            change.notes.push(format!(
                "{} comes over a network: without the option `_netdev` a boot may wait for it before there is one",
                what.source
            ));
        }
        let name = what.source.strip_prefix("/dev/").unwrap_or_default();
        if self.state.is_written() && name.starts_with("sd") {
            change
                .notes
                .push(format!("{} may be another disk after a boot: `UUID=…` stays right", what.source));
        }
    }

    /// Whether it is felt.
    fn prove(&self, facts: &Facts, path: &HostPath, what: &What, change: &mut Change) -> Result<(), Stop> {
        let claim = format!("{path} is mounted from {} with {}", what.source, options::text(&what.options));
        let proof = format!("findmnt {path}");
        let (from, live) =
            match (facts.output(&live::from(&what.source, path)), facts.output(&live::options(path))) {
                // What is being mounted is asked again afterwards.
                (Err(Stop::Late(_)), _) | (_, Err(Stop::Late(_))) => return Ok(()),
                (from, live) => (from?, live?),
            };
        if !live::found(&from)? {
            let standing = Standing::Absent { seen: "not mounted".to_owned() };
            change.evidence.push(Evidence { what: claim, proof, standing });
            return Ok(());
        }
        let live: Vec<String> = live.text().lines().map(str::to_owned).collect();
        let (now, later) = options::lacking(&what.options, &live);
        let lacks = [now, later].concat();
        let is_written = change.steps.is_empty();
        // That a file system takes an option only when it is mounted is owed to the next mount, at the latest a boot.
        change.evidence.push(Evidence::told(
            claim,
            proof,
            (lacks.is_empty(), is_written),
            live.join(","),
            Effect::HostReboot,
        ));
        Ok(())
    }
}

impl Module for Mount {
    const NAME: &'static str = "mount";
    const EXAMPLE: &'static str = "\
- name: The images, without access times
  mount:
    path: /srv/images
    src: /dev/vg0/images
    fstype: xfs
    opts: noatime,nofail
    state: mounted
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "path")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let path = self.path()?;
        facts.need(&self.first_reads(&path)?)?;
        let mut change =
            Change::nothing(json!({ "path": path.as_str(), "src": self.src, "fstype": self.fstype }));
        match self.state {
            State::Mounted | State::Ephemeral | State::Present => {
                let what = self.what()?;
                self.lints(&what, &mut change);
                if self.state.is_written() {
                    self.line(facts, &path, &mut change)?;
                }
                if self.state.is_mounted() {
                    self.mount(facts, &path, &what, &mut change)?;
                    self.prove(facts, &path, &what, &mut change)?;
                }
            }
            State::Unmounted => self.unmount(facts, &path, &mut change)?,
            State::Absent => {
                self.unmount(facts, &path, &mut change)?;
                self.line(facts, &path, &mut change)?;
            }
            State::Remounted => self.remount(facts, &path, &mut change)?,
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::all()
    }
}

/// The row of one call.
fn row(name: &str, words: &[&str]) -> Row {
    Row::new(name, words.iter().copied())
}
