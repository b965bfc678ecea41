//! One setting of block devices' queues: written now, and again whenever udev sees the device.
use super::rules;
use crate::argument::{Names, nearest};
use crate::files::place::known;
use crate::files::udev::{self, Rule};
use crate::shape::Shape;
use crate::vocabulary::{
    Change, Claim, Diff, Effect, Evidence, Facts, HostPath, Kind, Read, Seen, Step, Stop, all,
};

/// A setting of a queue.
pub(super) struct Setting<'a> {
    /// The devices, as they were named.
    pub(super) devices: &'a Names,
    /// Its file below /sys/block/DEVICE/queue.
    pub(super) file: &'static str,
    /// Its value.
    pub(super) value: String,
    /// How values are compared.
    pub(super) shape: Shape,
    /// Whether it is so after the next boot too.
    pub(super) persist: bool,
}

/// A device that was named.
enum Named {
    /// A name or a pattern of the kernel's names.
    Kernel(String),
    /// A link below /dev that udev keeps.
    Link(HostPath),
}

impl Named {
    fn parse(text: &str) -> Result<Self, Stop> {
        let name = text.strip_prefix("/dev/").unwrap_or(text);
        let fine = |letter: char| letter.is_ascii_graphic() && !"\"\\".contains(letter);
        if name.is_empty() || !name.chars().all(fine) || name.split('/').any(|part| part == "..") {
            return Err(Stop::refused("devices", format!("`{text}` is not the name of a device")));
        }
        match (name.contains('/'), text.starts_with("/dev/")) {
            (false, _) => Ok(Self::Kernel(name.to_owned())),
            (true, true) => known(text).map(Self::Link),
            (true, false) => Err(Stop::refused("devices", format!("`{text}` is not a device below /dev"))),
        }
    }

    /// As a match of a udev rule.
    fn rule(&self) -> String {
        match self {
            Self::Kernel(name) => format!("KERNEL==\"{name}\""),
            Self::Link(path) => format!("SYMLINK==\"{}\"", path.as_str().trim_start_matches("/dev/")),
        }
    }

    fn files(&self, facts: &Facts, setting: &Setting<'_>) -> Result<Vec<HostPath>, Stop> {
        let file = |name: &str| known(&format!("/sys/block/{name}/queue/{}", setting.file));
        match self {
            Self::Kernel(name) if name.contains(['*', '?', '[']) => {
                facts.names(&format!("/sys/block/{name}/queue/{}", setting.file))
            }
            Self::Kernel(name) => {
                let path = file(name)?;
                Ok(if facts.value(&path)?.is_some() { vec![path] } else { Vec::new() })
            }
            Self::Link(link) => {
                let Some(node) = facts.stat(link)? else { return Ok(Vec::new()) };
                let target = match node.kind {
                    Kind::Link { target } => {
                        crate::vocabulary::link_target(link, &target).map_err(Stop::failed)?
                    }
                    _ => link.clone(),
                };
                let path = file(target.name())?;
                Ok(if facts.value(&path)?.is_some() { vec![path] } else { Vec::new() })
            }
        }
    }

    fn first_reads(&self, setting: &Setting<'_>) -> Result<Vec<Read>, Stop> {
        Ok(match self {
            Self::Kernel(name) if name.contains(['*', '?', '[']) => {
                vec![Read::Glob(format!("/sys/block/{name}/queue/{}", setting.file))]
            }
            Self::Kernel(name) => {
                vec![Read::text(&known(&format!("/sys/block/{name}/queue/{}", setting.file))?)]
            }
            Self::Link(link) => vec![Read::Stat(link.clone())],
        })
    }
}

impl Setting<'_> {
    /// Adds what makes it so; gives the names of the devices.
    pub(super) fn plan(&self, facts: &Facts, change: &mut Change) -> Result<Vec<String>, Stop> {
        let named = self.devices.list();
        if named.is_empty() {
            return Err(Stop::refused("devices", "which devices? `devices` is empty"));
        }
        let named = named
            .iter()
            .map(|name| Named::parse(name).map(|parsed| (name.as_str(), parsed)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut reads = if self.persist { rules::first_reads()? } else { Vec::new() };
        for (_, device) in &named {
            reads.extend(device.first_reads(self)?);
        }
        facts.need(&reads)?;
        let found = all(named.iter().map(|(_, device)| device.files(facts, self)))?;
        if let Some(((name, _), _)) = named.iter().zip(&found).find(|(_, files)| files.is_empty()) {
            return Err(missing(facts, name));
        }
        let mut files: Vec<HostPath> = found.into_iter().flatten().collect();
        files.sort();
        files.dedup();
        facts.need(&files.iter().map(Read::text).collect::<Vec<_>>())?;
        let rules: Vec<Rule> = match self.persist {
            true => {
                named.iter().map(|(_, device)| rules::rule(&device.rule(), self.file, &self.value)).collect()
            }
            false => Vec::new(),
        };
        let mut kept = Change::default();
        udev::keep(facts, rules::FILE, &rules, &mut kept)?;
        change.diff.extend(kept.diff);
        change.notes.extend(kept.notes);
        let mut devices = Vec::new();
        for path in &files {
            devices.push(device_of(path).to_owned());
            self.one(facts, path, kept.steps.is_empty(), change)?;
        }
        change.steps.extend(kept.steps);
        Ok(devices)
    }

    fn one(&self, facts: &Facts, path: &HostPath, kept: bool, change: &mut Change) -> Result<(), Stop> {
        let device = device_of(path);
        let Some(now) = facts.value(path)? else {
            return Err(Stop::refused("devices", format!("{device} is gone since it was listed")));
        };
        if self.shape == Shape::Choice && now.contains('[') {
            let offered: Vec<&str> =
                now.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
            if !offered.contains(&self.value.as_str()) {
                let near = nearest(&self.value, offered.iter().copied());
                let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                return Err(Stop::refused("scheduler", format!("{device} does not offer `{}`", self.value))
                    .way_out(format!(
                        "{hint}it offers {}; others may come with a kernel module (`modprobe: {{name: {}}}`)",
                        offered.join(", "),
                        self.value
                    )));
            }
        }
        let live = self.shape.alike(&now, &self.value);
        let what = format!("{device} is served with {} {}", self.file, self.value);
        change.evidence.push(Evidence::told(
            what,
            path.as_str(),
            (live, false),
            self.shape.written(&now),
            Effect::Now,
        ));
        if live {
            if !kept {
                change
                    .notes
                    .push(format!("{device} has it already; it would have been lost at the next boot"));
            }
            return Ok(());
        }
        let claim = Claim::new("block", &format!("{device}/{}", self.file));
        let before = self.shape.written(&now);
        change.steps.push(Step::write(claim, path.clone(), Seen::Value(now), &self.value, self.shape));
        change.diff.push(Diff::Value {
            name: format!("{} of {device}", self.file),
            before: Some(before),
            after: Some(self.value.clone()),
        });
        Ok(())
    }
}

fn device_of(path: &HostPath) -> &str {
    path.as_str().split('/').nth(3).unwrap_or_default()
}

fn missing(facts: &Facts, name: &str) -> Stop {
    let names = match facts.names("/sys/block/*") {
        Err(unread @ Stop::Unread(_)) => return unread,
        names => names.unwrap_or_default(),
    };
    let wanted = name.rsplit('/').next().unwrap_or_default();
    let near = nearest(wanted, names.iter().map(HostPath::name));
    let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Stop::refused("devices", format!("this host has no whole disk called {name}"))
        .way_out(format!("{hint}a partition has no queue of its own: name its disk; `lsblk -d` shows them"))
}
