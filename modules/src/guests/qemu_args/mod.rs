//! `qemu_args`: the same tunings for people who start QEMU from a script or a unit.
mod checks;
mod edit;
mod line;
mod place;
mod render;
mod samples;
#[cfg(test)]
mod tests;
mod wish;
mod words;

use super::process::{self, Process};
use crate::argument::Scalar;
use crate::module::{Module, Sample, Scope};
use crate::shape::CpuList;
use crate::vocabulary::{
    Activation, Change, Claim, Diff, Effect, Evidence, Facts, Read, Risk, RiskName, Stop,
};
use edit::Edit;
use line::Line;
use place::Place;
use render::{Wish, wishes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use wish::Guest;
use words::{Dialect, Word};

/// How QEMU is started by a script or a unit: machine, CPUs, memory, disks, I/O threads, vhost-user devices,
/// environment and pinning.
///
/// One description of the guest is compared with the command line option by option: an option is found by its name and
/// its `id`, a property that differs is changed in its place, and everything else stays letter by letter. Of a script
/// only the words of its one command that starts QEMU change; of a unit a drop-in of its own carries the whole
/// `ExecStart`, made from the unit's. A guest that runs feels it when QEMU is started again.
///
/// Units: sizes as `4G` (a bare number of `memory` is MiB, as QEMU takes it); CPU lists as `2-3,8`. Defaults: nothing is
/// restarted. Errors: `aio: native` without `cache: none` or `directsync`, an I/O thread that serves nothing or is not
/// declared, more queues than CPUs, CPUs that do not fit the topology, vhost-user without shared memory, a library that is
/// not on the host. `cache: writeback` and `unsafe` need the waiver `data_loss`. Sources: qemu-system(1), the
/// documentation of SPDK's vhost.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QemuArgs {
    /// The script that starts the guest.
    #[serde(default)]
    pub script: Option<String>,
    /// Or the unit that does.
    #[serde(default)]
    pub unit: Option<String>,
    /// The name of the unit's drop-in.
    #[serde(default = "own_drop_in")]
    pub drop_in: String,
    /// What QEMU's options shall be. What is left out stays as it is.
    #[serde(default)]
    pub guest: Guest,
    /// Variables of QEMU's environment, such as `LD_PRELOAD`; null takes one away. Libraries must be on the host.
    #[serde(default)]
    pub environment: BTreeMap<String, Option<Scalar>>,
    /// The host's CPUs that QEMU is bound to: `taskset -c` in a script, `CPUAffinity` of a unit.
    #[serde(default)]
    pub cpus: Option<Scalar>,
    /// The file with the number of QEMU's process, by which what is felt is proven; else the line's own `-pidfile`, or
    /// the unit's main process.
    #[serde(default)]
    pub pid_file: Option<String>,
    /// Whether a unit that runs, and not as described, is started again once, after all changes of the host: its guest
    /// is cut off.
    #[serde(default)]
    pub restart: bool,
}

fn own_drop_in() -> String {
    "tunerun-qemu".to_owned()
}

impl QemuArgs {
    fn check(&self, facts: &Facts, after: &Line) -> Result<(), Stop> {
        let stray =
            super::options(&self.guest.arguments).into_iter().find(|(option, _)| !option.starts_with('-'));
        if let Some((stray, _)) = stray {
            return Err(Stop::refused("guest", format!("`{stray}` is no option of QEMU"))
                .way_out("write each as `-option value`"));
        }
        let faults = checks::faults(after);
        if !faults.is_empty() {
            let words: Vec<&str> = faults.iter().map(|(why, _)| why.as_str()).collect();
            let mut ways: Vec<&str> = faults.iter().map(|(_, way)| *way).collect();
            ways.dedup();
            return Err(Stop::refused("guest", words.join("; ")).way_out(ways.join("; ")));
        }
        if let Some(Some(value)) = self.environment.get("LD_PRELOAD") {
            let paths = process::libraries(&value.text())?;
            facts.need(&paths.iter().map(|path| Read::Stat(path.clone())).collect::<Vec<_>>())?;
            for path in paths {
                if facts.stat(&path)?.is_none() {
                    let why = format!("{path} is not on the host, and QEMU would not start with it");
                    return Err(Stop::refused("environment", why)
                        .way_out("install the library first, or name the path that this distribution has"));
                }
            }
        }
        Ok(())
    }

    /// How the process is found: by its number, or by the file that holds it.
    fn which(&self, place: &Place) -> Option<String> {
        let own = place.line.options.iter().find(|choice| choice.name == "pidfile");
        let own = own.and_then(|choice| choice.value.as_ref()?.value.clone());
        match &place.unit {
            Some(unit) if self.pid_file.is_none() => {
                Some(unit.pid.clone()).filter(|pid| pid != "0" && !pid.is_empty())
            }
            _ => self.pid_file.clone().or(own).filter(|file| file.contains('/')),
        }
    }

    /// What the running QEMU was not started with; none where it is no QEMU (yet).
    fn unlike(process: &Process, wishes: &[Wish]) -> Result<Option<Vec<String>>, Stop> {
        let words: Vec<Word> =
            process.arguments.iter().map(|text| Word { range: 0..0, value: Some(text.clone()) }).collect();
        let Some(live) = Line::running(&words) else { return Ok(None) };
        let rest = Edit::of(&live, wishes).map_err(Stop::failed)?;
        Ok(Some(rest.unlike(&live)))
    }

    /// Whether a QEMU runs on that was started otherwise: by what it was given when it was started, not by what it has
    /// made of that since.
    fn is_outdated(&self, facts: &Facts, place: &Place, wishes: &[Wish]) -> Result<bool, Stop> {
        let Some(which) = self.which(place) else { return Ok(false) };
        let Some(process) = Process::of(facts, &which)? else { return Ok(false) };
        let Some(unlike) = Self::unlike(&process, wishes)? else { return Ok(false) };
        let cpus = self.cpus.as_ref().and_then(|cpus| CpuList::parse(&cpus.text()).ok());
        let strays = cpus.is_some_and(|cpus| !process.threads.is_empty() && !process.bound(&cpus).0);
        let of_linker = self.environment.iter().filter(|(name, _)| name.starts_with("LD_"));
        let mut variables = of_linker.map(|(name, wanted)| {
            let seen = process.environment.iter().find(|(other, _)| other == name);
            seen.map(|(_, value)| value.clone()) == wanted.as_ref().map(Scalar::text)
        });
        Ok(!unlike.is_empty() || strays || variables.any(|same| !same))
    }

    /// What proves it on the running process.
    fn evidence(
        &self,
        facts: &Facts,
        place: &Place,
        wishes: &[Wish],
        is_written: bool,
    ) -> Result<Vec<Evidence>, Stop> {
        let what = format!("QEMU of {} runs as described", place.file.path());
        let Some(which) = self.which(place) else {
            let why = "no `pid_file` says which process it is, or it does not run";
            return Ok(vec![Evidence::not_available(what, "QEMU's process", why)]);
        };
        let proof = format!("/proc/PID of {which}");
        let Some(process) = Process::of(facts, &which)? else {
            return Ok(vec![Evidence::not_available(what, proof, "it does not run")]);
        };
        let until = Effect::GuestPowerCycle;
        let mut all = Vec::new();
        if let Some(unlike) = Self::unlike(&process, wishes)? {
            let seen = if unlike.is_empty() {
                "each option is as described".to_owned()
            } else {
                format!("it was not started with {}", unlike.join(", "))
            };
            all.push(Evidence::told(what, proof.clone(), (unlike.is_empty(), is_written), seen, until));
        }
        if let Some(Ok(cpus)) = self.cpus.as_ref().map(|cpus| CpuList::parse(&cpus.text())) {
            let (live, seen) = process.bound(&cpus);
            let what = format!("QEMU runs on CPU {cpus}");
            all.push(Evidence::told(what, proof.clone(), (live, is_written), seen, until));
        }
        if let Some(Some(value)) = self.environment.get("LD_PRELOAD") {
            for (what, live, seen) in process.preloaded(&value.text()) {
                all.push(Evidence::told(what, proof.clone(), (live, is_written), seen, until));
            }
        }
        Ok(all)
    }

    /// What is missing until it is felt.
    fn owe(&self, place: &Place, change: &mut Change) {
        change.effect = Effect::GuestPowerCycle;
        let Some(unit) = &place.unit else {
            change.notes.push("the guest feels it when it is started by the script again".to_owned());
            return;
        };
        match (unit.runs, self.restart) {
            (true, true) => drop(change.then.insert(Activation::Restart(unit.name.clone()))),
            (true, false) => change.notes.push(format!(
                "{} runs on as it was started: shut the guest down and restart the unit, or set `restart: true`",
                unit.name
            )),
            (false, _) => {}
        }
    }
}

impl Module for QemuArgs {
    const NAME: &'static str = "qemu_args";
    const SCOPE: Scope = Scope::Guest;
    const EXAMPLE: &'static str = "\
- name: A guest of a script with its disk past the cache, a thread of its own and another allocator
  qemu_args:
    script: /srv/kvm/start-guest.sh
    environment: {LD_PRELOAD: /usr/lib64/libtcmalloc.so}
    cpus: 2-3
    guest:
      iothreads: [iothread0]
      drives:
        - id: rbd0
          file: rbd:libvirt-pool/CentOS8
          format: raw
          cache: none
          aio: native
          device: {driver: virtio-blk-pci, id: virtioblk0, iothread: iothread0}
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let place = Place::of(self, facts)?;
        let wishes = wishes(&self.guest);
        let mut edit = Edit::of(&place.line, &wishes)
            .map_err(|why| Stop::refused("guest", why).way_out("write that option out in the script"))?;
        place.surround(self, &mut edit);
        let edited = edit.apply(&place.text, &place.line, place.dialect);
        let after = Line::all(&edited, place.dialect).into_iter().next();
        let after = after.ok_or_else(|| Stop::failed("the edited text starts no QEMU any more"))?;
        self.check(facts, &after)?;
        let text = place.after(self, &edit);
        let mut change = Change::default();
        let is_alone = place.dialect == Dialect::Unit && edit.is_empty() && place.file.text.is_empty();
        let is_nothing = is_alone && self.environment.is_empty() && self.cpus.is_none();
        let claim = Claim::part(place.file.path(), "qemu");
        if !is_nothing && text != place.file.text && place.file.put(facts, claim, &text, &mut change)? {
            if place.dialect == Dialect::Shell {
                // The whole script says nothing more than its one line does.
                change.diff.clear();
            }
            let name = place.file.path().to_string();
            change.diff.push(Diff::Tokens { name, tokens: edit.tokens(&place.line) });
            change.notes.extend(checks::notes(&self.guest, &place.line, &after));
            self.owe(&place, &mut change);
            if place.unit.is_some() {
                change.then.insert(Activation::DaemonReload);
            }
            let volatile =
                self.guest.drives.iter().filter_map(|drive| drive.cache).find(|cache| cache.is_volatile());
            if let Some(cache) = volatile {
                let why = format!("cache {}: a power cut loses what the guest has not flushed", cache.text());
                change.risks.push(Risk { name: RiskName::DataLoss, why });
            }
        }
        let is_written = change.steps.is_empty();
        change.evidence = self.evidence(facts, &place, &wishes, is_written)?;
        if is_written && self.is_outdated(facts, &place, &wishes)? {
            self.owe(&place, &mut change);
        }
        change.result = json!({ "path": place.file.path().as_str() });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}
