//! `sysfs`: values below /sys and /proc/irq.
use super::tmpfiles;
use crate::argument::{Scalar, nearest};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::shape::{CpuList, Shape};
use crate::vocabulary::{
    Change, Claim, Diff, Effect, Evidence, Facts, HostPath, Read, Seen, Step, Stop, glob_matches,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Values below /sys and /proc/irq.
///
/// A path may hold `*`, `?` and `[…]`: every file that matches gets the value
/// (`/sys/class/net/eth0/queues/tx-*/xps_cpus`). Values are compared by what they mean: `ff` is `00000000,000000ff`,
/// `0-3,8` is `0,1,2,3,8`, `always [madvise] never` is `madvise`. Beside `smp_affinity` and `smp_affinity_list` the
/// effective affinity is read: where the kernel serves an interrupt elsewhere the plan says so.
///
/// A value is lost at the next boot, at a queue's resize and at a device's reset, unless `persist: tmpfiles` lets
/// systemd-tmpfiles write it at boot (a `w` line of /etc/tmpfiles.d/zz-tunerun.conf); that comes too early for devices
/// that appear later.
///
/// Errors: a path that is not there is refused, unless `missing: skip`; so is a word that a choice does not offer.
/// That a device with a single queue, or a managed interrupt, refuses a write (ENOENT, EIO, ENOSPC) is known only from
/// the write: then the step fails with the kernel's words and is undone. Sources: the kernel's Documentation/ABI,
/// Documentation/networking/scaling.rst, core-api/irq/irq-affinity.rst; tmpfiles.d(5).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sysfs {
    /// The file, or a pattern of files, below /sys or /proc/irq.
    pub path: String,
    /// The value, in the kernel's own unit of that file.
    pub value: Scalar,
    /// How values are compared; else told from the file's name and content.
    #[serde(default)]
    pub shape: ValueShape,
    /// Whether and how it is written again at boot.
    #[serde(default)]
    pub persist: Persist,
    /// What to do where no file matches.
    #[serde(default)]
    pub missing: Missing,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ValueShape {
    /// Told from the file's name and content.
    #[default]
    Auto,
    /// One of several words, the chosen one in brackets.
    Choice,
    /// A mask of CPUs in hexadecimal words.
    Mask,
    /// A list of CPUs.
    List,
    /// A whole number.
    Number,
    /// Words between blanks.
    Words,
}

/// Whether and how a value is written again at boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Persist {
    /// It is not.
    #[default]
    None,
    /// By systemd-tmpfiles.
    Tmpfiles,
}

/// What to do where no file matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// Refuse.
    #[default]
    Refuse,
    /// Leave it out and say so.
    Skip,
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

impl Sysfs {
    fn check(&self) -> Result<(), Stop> {
        let path = self.path.as_str();
        if path.starts_with("/proc/sys/") {
            return Err(
                Stop::refused("path", format!("{path} is a setting")).way_out("use the module `sysctl`")
            );
        }
        if !(path.starts_with("/sys/") || path.starts_with("/proc/irq/"))
            || path.split('/').any(|part| part == "..")
        {
            return Err(Stop::refused("path", format!("`{path}` is not below /sys or /proc/irq")));
        }
        if self.value.text().is_empty() {
            return Err(Stop::refused("value", "the value is empty"));
        }
        Ok(())
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = match is_pattern(&self.path) {
            true => vec![Read::Glob(self.path.clone())],
            false => value_reads(&HostPath::new(&self.path).map_err(|why| Stop::refused("path", why))?),
        };
        if self.persist == Persist::Tmpfiles {
            reads.extend(tmpfiles::first_reads()?);
        }
        Ok(reads)
    }

    fn paths(&self, facts: &Facts) -> Result<Vec<HostPath>, Stop> {
        if is_pattern(&self.path) {
            return facts.names(&self.path);
        }
        let path = HostPath::new(&self.path).map_err(|why| Stop::refused("path", why))?;
        Ok(if facts.value(&path)?.is_some() { vec![path] } else { Vec::new() })
    }

    fn shape(&self, path: &HostPath, now: &str) -> Shape {
        match self.shape {
            ValueShape::Choice => Shape::Choice,
            ValueShape::Mask => Shape::CpuMask,
            ValueShape::List => Shape::CpuList,
            ValueShape::Number => Shape::Number,
            ValueShape::Words => Shape::Words,
            ValueShape::Auto => match path.name() {
                "rps_cpus" | "xps_cpus" | "smp_affinity" | "cpumask" | "default_smp_affinity" => {
                    Shape::CpuMask
                }
                "smp_affinity_list" | "cpulist" | "cpus" | "xps_rxqs" => Shape::CpuList,
                _ if now.contains('[') && now.contains(']') => Shape::Choice,
                _ if now.trim().parse::<i128>().is_ok() => Shape::Number,
                _ => Shape::Words,
            },
        }
    }

    fn one(&self, facts: &Facts, path: &HostPath, change: &mut Change) -> Result<(), Stop> {
        let value = self.value.text();
        let Some(now) = facts.value(path)? else {
            return Err(Stop::refused("path", format!("{path} is gone since it was listed")));
        };
        let shape = self.shape(path, &now);
        check_value(shape, &now, &value, path)?;
        let is_live = shape.alike(&now, &value);
        change.evidence.push(Evidence::told(
            format!("{path} is {value}"),
            path.as_str(),
            (is_live, false),
            &*now,
            Effect::Now,
        ));
        if is_live {
            return effective(facts, path, shape, &value, change);
        }
        let claim = Claim::new("sysfs", path.as_str().trim_start_matches("/sys/").trim_start_matches('/'));
        let (before, after) = (Some(now.clone()), Some(value.clone()));
        change.steps.push(Step::write(claim, path.clone(), Seen::Value(now), &value, shape));
        change.diff.push(Diff::Value { name: path.to_string(), before, after });
        Ok(())
    }

    fn missing(&self, facts: &Facts) -> Stop {
        let folder = match is_pattern(&self.path) {
            true => None,
            false => HostPath::new(&self.path).ok().and_then(|path| path.parent()),
        };
        let names = match folder.map(|folder| facts.names(&format!("{folder}/*"))) {
            Some(Err(unread @ Stop::Unread(_))) => return unread,
            Some(Ok(names)) => names,
            _ => Vec::new(),
        };
        let wanted = self.path.rsplit('/').next().unwrap_or_default();
        let near = nearest(wanted, names.iter().map(HostPath::name));
        let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Stop::refused("path", format!("nothing on this host is called {}", self.path))
            .way_out(format!("{hint}set `missing: skip` where some hosts have no such device or queue"))
    }
}

fn check_value(shape: Shape, now: &str, value: &str, path: &HostPath) -> Result<(), Stop> {
    match shape {
        Shape::Choice if now.contains('[') => {
            let offered: Vec<&str> =
                now.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
            if offered.contains(&value) {
                return Ok(());
            }
            Err(Stop::refused("value", format!("{path} does not offer `{value}`"))
                .way_out(format!("choose one of {}", offered.join(", "))))
        }
        Shape::CpuMask => CpuList::parse_mask(value).map(drop).map_err(|why| Stop::refused("value", why)),
        Shape::CpuList => CpuList::parse(value).map(drop).map_err(|why| Stop::refused("value", why)),
        _ => Ok(()),
    }
}

/// The file beside an interrupt's affinity that says where it is really served.
fn effective_path(path: &HostPath) -> Option<HostPath> {
    let name = match path.name() {
        "smp_affinity" => "effective_affinity",
        "smp_affinity_list" => "effective_affinity_list",
        _ => return None,
    };
    path.parent()?.join(name).ok()
}

fn value_reads(path: &HostPath) -> Vec<Read> {
    [path.clone()].iter().chain(&effective_path(path)).map(Read::text).collect()
}

/// Says where an interrupt is served elsewhere than wanted: the kernel takes one CPU of the wanted ones.
fn effective(
    facts: &Facts,
    path: &HostPath,
    shape: Shape,
    value: &str,
    change: &mut Change,
) -> Result<(), Stop> {
    let Some(beside) = effective_path(path) else { return Ok(()) };
    let Some(now) = facts.value(&beside)? else { return Ok(()) };
    let parse = |text: &str| match shape {
        Shape::CpuMask => CpuList::parse_mask(text),
        _ => CpuList::parse(text),
    };
    if let (Ok(wanted), Ok(served)) = (parse(value), parse(&now))
        && !served.iter().all(|cpu| wanted.contains(cpu))
    {
        change
            .notes
            .push(format!("{path} is `{value}`, but not live: the interrupt is served by {now} ({beside})"));
    }
    Ok(())
}

impl Module for Sysfs {
    const NAME: &'static str = "sysfs";
    const EXAMPLE: &'static str = "\
- name: No CPU is asked to take over received packets
  sysfs:
    path: /sys/class/net/eth0/queues/rx-*/rps_cpus
    value: '0'
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("attr", "path"), ("name", "path")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        facts.need(&self.first_reads()?)?;
        let mut change = Change::default();
        let paths = self.paths(facts)?;
        facts.need(paths.iter().flat_map(value_reads).collect::<Vec<_>>().iter())?;
        if paths.is_empty() {
            if self.missing == Missing::Refuse {
                return Err(self.missing(facts));
            }
            change.notes.push(format!("nothing on this host is called {}", self.path));
        }
        if self.persist == Persist::Tmpfiles {
            tmpfiles::persist(facts, &[(&self.path, Some(self.value.text()))], &mut change)?;
        }
        for path in &paths {
            debug_assert!(!is_pattern(&self.path) || glob_matches(&self.path, path));
            self.one(facts, path, &mut change)?;
        }
        change.effect = Effect::Now;
        let names: Vec<&str> = paths.iter().map(HostPath::as_str).collect();
        change.result = json!({ "paths": names, "value": self.value.text() });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let queue = |queue: u8| format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus");
        let queues = Host::new().value(&queue(0), "00000000,000000ff").value(&queue(1), "00000000,00000000");
        let thp = Host::new()
            .dir("/etc")
            .value("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
        vec![
            sample(
                "every queue",
                json!({ "path": "/sys/class/net/eth0/queues/rx-*/rps_cpus", "value": "0" }),
                queues,
            ),
            sample(
                "a choice, at boot too",
                json!({ "path": "/sys/kernel/mm/transparent_hugepage/enabled", "value": "never", "persist": "tmpfiles" }),
                // The kernel shows all words with the chosen one in brackets; a host in memory shows what was written.
                thp.value("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::{Act, Back};

    #[test]
    fn every_queue_that_differs_is_written() {
        let sample = &Sysfs::samples()[0];
        let change = planned::<Sysfs>(&sample.host, sample.args.clone());
        let [step] = &change.steps[..] else { panic!("{change:?}") };
        assert!(
            matches!(&step.act, Act::Write { path, value } if path.as_str().contains("rx-0") && value == "0")
        );
        assert!(step.after.holds(&Seen::Value("00000000,00000000".to_owned())));
    }

    #[test]
    fn a_choice_is_taken_by_its_word() {
        let path = "/sys/kernel/mm/transparent_hugepage/enabled";
        let host = Host::new().value(path, "always [madvise] never");
        assert!(planned::<Sysfs>(&host, json!({ "path": path, "value": "madvise" })).is_empty());
        let change = planned::<Sysfs>(&host, json!({ "path": path, "value": "never" }));
        assert!(
            matches!(&change.steps[0].back, Back::Exactly(Act::Write { value, .. }) if value == "madvise")
        );
        assert!(
            refusal::<Sysfs>(&host, json!({ "path": path, "value": "nevr" }))
                .contains("always, madvise, never")
        );
    }

    #[test]
    fn an_interrupt_that_is_served_elsewhere_is_told() {
        let host = Host::new()
            .value("/proc/irq/41/smp_affinity_list", "3")
            .value("/proc/irq/41/effective_affinity_list", "0");
        let change = planned::<Sysfs>(&host, json!({ "path": "/proc/irq/41/smp_affinity_list", "value": 3 }));
        assert!(change.is_empty());
        assert!(change.notes[0].contains("not live"), "{:?}", change.notes);
    }

    #[test]
    fn strangers_are_refused() {
        let host = Host::new().value("/sys/devices/system/cpu/smt/control", "on");
        let refused =
            |path: &str, value: &str| refusal::<Sysfs>(&host, json!({ "path": path, "value": value }));
        assert!(refused("/sys/devices/system/cpu/smt/contrl", "off").contains("did you mean `control`"));
        assert!(refused("/proc/sys/vm/swappiness", "1").contains("`sysctl`"));
        assert!(refused("/etc/passwd", "1").contains("not below"));
        assert!(refused("/sys/class/net/eth9/queues/rx-*/rps_cpus", "0").contains("missing: skip"));
        let args =
            json!({ "path": "/sys/class/net/eth9/queues/rx-*/rps_cpus", "value": "0", "missing": "skip" });
        assert!(planned::<Sysfs>(&host, args).is_empty());
    }
}
