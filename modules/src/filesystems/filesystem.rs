//! `filesystem`: a file system on an empty device.
use crate::block::device;
use crate::files::place::known;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Facts, Match, Output, Read, Row, Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A file system on an empty device.
///
/// It is made only where nothing is: no signature (file system, partition table, LVM, RAID, Ceph …), no mount, no
/// holder. A device that holds the same type already is left as it is, whatever the options; one that holds something
/// else is refused, with what it holds. There is no `force`.
///
/// The way back takes the signatures of a file system that this run made, as long as no files are in it. A partition of
/// a DOS label ends at 2 TiB: larger disks want GPT, or no partitions at all.
///
/// Errors: a device that is not there (with the nearest name), in use, or not empty; a host without the program.
/// Sources: mkfs.xfs(8), mke2fs(8), mkswap(8), wipefs(8).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filesystem {
    /// The device: a path below /dev, best one below /dev/disk/by-id or a volume of LVM.
    pub dev: String,
    /// The type.
    pub fstype: Type,
    /// Options of the program that makes it, as on its command line; those that force are refused.
    #[serde(default)]
    pub opts: String,
    /// Whether it shall be there: there is no other way here.
    #[serde(default)]
    pub state: State,
    /// Ansible's; only `false` is taken: nothing is ever overwritten.
    #[serde(default)]
    pub force: bool,
}

/// Types of file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// XFS.
    Xfs,
    /// ext4.
    Ext4,
    /// ext3.
    Ext3,
    /// ext2.
    Ext2,
    /// A swap area.
    Swap,
}

/// Whether it shall be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It shall.
    #[default]
    Present,
}

impl Type {
    /// As the kernel and libblkid call it.
    fn word(self) -> &'static str {
        match self {
            Self::Xfs => "xfs",
            Self::Ext4 => "ext4",
            Self::Ext3 => "ext3",
            Self::Ext2 => "ext2",
            Self::Swap => "swap",
        }
    }

    /// The program that makes it, and the package that brings it.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Xfs => ("mkfs.xfs", "xfsprogs"),
            Self::Ext4 => ("mkfs.ext4", "e2fsprogs"),
            Self::Ext3 => ("mkfs.ext3", "e2fsprogs"),
            Self::Ext2 => ("mkfs.ext2", "e2fsprogs"),
            Self::Swap => ("mkswap", "util-linux"),
        }
    }
}

impl Filesystem {
    fn check(&self) -> Result<(), Stop> {
        device::check("dev", &self.dev)?;
        if self.force {
            return Err(Stop::refused("force", "nothing is overwritten here")
                .way_out(format!("take what is on the device away by hand: wipefs -a {}", self.dev)));
        }
        let forces = |word: &&str| {
            let short = word.starts_with('-') && !word.starts_with("--");
            (short && word.trim_start_matches('-').chars().next().is_some_and(|letter| "fF".contains(letter)))
                || *word == "--force"
        };
        match self.opts.split_whitespace().find(forces) {
            Some(word) => Err(Stop::refused("opts", format!("`{word}` would overwrite what is there"))
                .way_out("leave it out: an empty device needs no force")),
            None => Ok(()),
        }
    }

    fn programs(&self) -> Result<[Read; 2], Stop> {
        let name = self.fstype.program().0;
        Ok([Read::Stat(known(&format!("/usr/sbin/{name}"))?), Read::Stat(known(&format!("/sbin/{name}"))?)])
    }

    fn has_program(&self, facts: &Facts) -> Result<(), Stop> {
        for read in self.programs()? {
            if let Some(path) = read.path()
                && facts.stat(path)?.is_some()
            {
                return Ok(());
            }
        }
        let (program, package) = self.fstype.program();
        Err(Stop::refused("fstype", format!("this host has no {program}"))
            .way_out(format!("install it by an earlier task: `package: {{name: {package}}}`")))
    }

    fn make(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        let (word, dev) = (self.fstype.word(), self.dev.as_str());
        let content = Read::Ask(device::content(dev));
        let spoils = |seen: Seen| {
            vec![
                Spoil::Becomes(content.clone(), seen),
                Spoil::Read(Read::Ask(device::signatures(dev))),
                Spoil::Read(Read::Ask(device::tree(dev))),
                Spoil::Answers("lsblk".to_owned()),
            ]
        };
        let made = Seen::Output(Output::ok(format!("{word}\n")));
        let before = facts.get(&content)?;
        let back = Back::Approximately {
            act: Act::Call { row: Row::new("wipefs-empty", [dev]), spoils: spoils(before.clone()) },
            stays: format!("{dev} holds no signature again, but its blocks are not what they were"),
        };
        let words = self.opts.split_whitespace().chain([dev]).map(str::to_owned);
        let row = Row::new(self.fstype.program().0, words);
        let look = (content.clone(), before, Match::Exactly(made.clone()));
        change.steps.push(Step::call_seen(Claim::new("filesystem", dev), row, spoils(made), look, back));
        change.diff.push(Diff::Value {
            name: dev.to_owned(),
            before: Some("empty".to_owned()),
            after: Some(word.to_owned()),
        });
        Ok(())
    }
}

impl Module for Filesystem {
    const NAME: &'static str = "filesystem";
    const EXAMPLE: &'static str = "\
- name: XFS for the images
  filesystem:
    dev: /dev/disk/by-id/nvme-images
    fstype: xfs
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("device", "dev"), ("type", "fstype")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let mut reads = device::reads(&self.dev);
        reads.extend(self.programs()?);
        facts.need(&reads)?;
        let mut change = Change { effect: Effect::CreationOnly, ..Change::default() };
        change.result = json!({ "dev": self.dev, "fstype": self.fstype.word() });
        match device::held(facts, "dev", &self.dev)? {
            Some(held) if held == self.fstype.word() => {}
            Some(held) => {
                return Err(Stop::refused("dev", format!("{} is not empty: it holds {held}", self.dev))
                    .way_out(format!(
                        "if nothing of it is needed any more, take the signature away by hand: wipefs -a {}",
                        self.dev
                    )));
            }
            None => {
                device::free(facts, "dev", &self.dev)?;
                self.has_program(facts)?;
                self.make(facts, &mut change)?;
            }
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let dev = "/dev/vg0/images";
        let empty = device::made(dev, 1 << 40).into_iter().fold(Host::new(), |mut host, (read, seen)| {
            host.set(&read, seen);
            host
        });
        let empty = empty.file("/usr/sbin/mkfs.xfs", "").file("/usr/sbin/mkfs.ext4", "");
        let content = Read::Ask(device::content(dev));
        let holds = |word: &str| vec![(content.clone(), Seen::Output(Output::ok(format!("{word}\n"))))];
        let gone = (Row::new("wipefs-empty", [dev]), vec![(content.clone(), empty.see(&content))]);
        let sample =
            |about, args, row| Sample { about, args, host: empty.clone(), calls: vec![row, gone.clone()] };
        vec![
            sample(
                "XFS",
                json!({ "dev": dev, "fstype": "xfs" }),
                (Row::new("mkfs.xfs", [dev]), holds("xfs")),
            ),
            sample(
                "ext4 with options",
                json!({ "dev": dev, "fstype": "ext4", "opts": "-m 0" }),
                (Row::new("mkfs.ext4", ["-m", "0", dev]), holds("ext4")),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    fn host() -> Host {
        Filesystem::samples()[0].host.clone()
    }

    fn args(fstype: &str) -> serde_json::Value {
        json!({ "dev": "/dev/vg0/images", "fstype": fstype })
    }

    #[test]
    fn an_empty_device_gets_it_and_the_same_is_left_alone() {
        let change = planned::<Filesystem>(&host(), args("xfs"));
        assert!(
            matches!(&change.steps[0].back, Back::Approximately { act: Act::Call { row, .. }, .. } if row.name == "wipefs-empty")
        );
        let there = host().answer(device::content("/dev/vg0/images"), Seen::Output(Output::ok("xfs\n")));
        assert!(planned::<Filesystem>(&there, args("xfs")).is_empty());
        let why = refusal::<Filesystem>(&there, args("ext4"));
        assert!(why.contains("it holds xfs") && why.contains("wipefs -a"), "{why}");
    }

    #[test]
    fn force_is_refused_however_it_is_written() {
        let mut forced = args("xfs");
        forced["force"] = json!(true);
        assert!(refusal::<Filesystem>(&host(), forced).contains("nothing is overwritten"));
        for opts in ["-f", "-K -f", "-F", "--force"] {
            let mut forced = args("xfs");
            forced["opts"] = json!(opts);
            assert!(refusal::<Filesystem>(&host(), forced).contains("would overwrite"), "{opts}");
        }
    }

    #[test]
    fn a_host_without_the_program_is_told_the_package() {
        let why = refusal::<Filesystem>(&host(), args("swap"));
        assert!(why.contains("no mkswap") && why.contains("util-linux"), "{why}");
    }
}
