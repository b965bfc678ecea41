//! `libvirt_domain`: how domains of libvirt are defined, edited in place and proven on the running guest.
mod disks;
mod features;
mod hugepages;
mod order;
mod owner;
mod problem;
mod proof;
mod rules;
mod samples;
mod seeing;
#[cfg(test)]
mod tests;
mod vhost;
mod wants;
pub(super) mod wish;

pub(crate) use wants::bytes;

use super::virsh::Version;
use crate::argument::{Scalar, yes};
use crate::budget::{self, Asked, Guest};
use crate::module::{Module, Sample, Scope};
use crate::vocabulary::{
    Act, Activation, Back, Change, Claim, CycleTime, Diff, Effect, Facts, GuestCycle, Match, Read, Risk,
    RiskName, Seen, Spoil, Step, Stop,
};
use crate::xml::{Document, Want, reach};
use problem::{Kind, Problem, Problems};
use schemars::JsonSchema;
use seeing::{Domain, Sight};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use wish::{
    AfterTimeout, Cache, Cputune, Disk, Feature, MemoryBacking, PowerCycle, Selector, Vcpus, VhostUserScsi,
};

/// How domains of libvirt are defined: features, memory, I/O threads, pinning, machine, CPUs, disks, and QEMU's own
/// environment and arguments.
///
/// The *inactive* XML is edited in place: only what is asked for changes, everything else stays letter by letter. It is
/// read back after the define: an element that libvirt dropped without a word is a failed step that names it, and is
/// taken back. A running guest feels the change after a power cycle (not a reboot from inside); until then it is owed and
/// told. Each domain is its own target by its uuid: one that was renamed, changed or undefined meanwhile is stale, and
/// nothing is written. The way back defines the very XML that was there.
///
/// Units: sizes as `16G`, `2M` (powers of 1024); CPU lists as `0-3,8`; times in seconds. Defaults: `qemu:///system`, the
/// define checked by libvirt's schema, no power cycle.
///
/// Errors: refused are `io: native` without `cache: none` or `directsync`, an I/O thread that serves nothing or a disk
/// that names one that is not declared, more queues than CPUs, CPUs that do not fit the topology, vhost-user without
/// shared memory, and features that libvirt is known to drop (`pvsendipi`). What one domain cannot have in place while
/// others can (huge pages that are not there or that others use, a library that is not installed, a domain that Nova,
/// oVirt, KubeVirt, Proxmox, OpenNebula or CloudStack owns) needs the waiver `cannot_converge`. `cache: writeback` and
/// `unsafe` need `data_loss`; guests that, with huge pages and OSDs, want more memory than the host has need `memory`.
/// Sources: formatdomain.html of libvirt, qemu-system(1), virsh(1).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LibvirtDomain {
    /// The domains: names, patterns of names, uuids, or what they say of themselves.
    pub domains: Vec<Selector>,
    /// Which libvirt.
    #[serde(default = "system")]
    pub uri: String,
    /// Features by name, those of KVM and Hyper-V as `kvm/hidden`, `hyperv/relaxed`. Any name is taken that libvirt
    /// keeps.
    #[serde(default)]
    pub features: BTreeMap<String, Feature>,
    /// What the guest's memory is made of.
    #[serde(default)]
    pub memory_backing: Option<MemoryBacking>,
    /// How many I/O threads there are; each must serve a disk.
    #[serde(default)]
    pub iothreads: Option<u32>,
    /// Which CPUs of the host run which threads.
    #[serde(default)]
    pub cputune: Option<Cputune>,
    /// The machine, such as `q35`; a name without a version is met by every version of it.
    #[serde(default)]
    pub machine: Option<String>,
    /// The guest's CPUs: a count, or `{count, sockets, dies, cores, threads}`.
    #[serde(default)]
    pub vcpus: Option<Vcpus>,
    /// The guest's memory, such as `16G`.
    #[serde(default)]
    pub memory: Option<Scalar>,
    /// Disks, each found by `target`, `serial` or `source`.
    #[serde(default)]
    pub disks: Vec<Disk>,
    /// Variables of QEMU's environment, such as `LD_PRELOAD`; null takes one away. Libraries that they name must be on
    /// the host. AppArmor and SELinux profiles know nothing of them.
    #[serde(default)]
    pub environment: BTreeMap<String, Option<Scalar>>,
    /// Further arguments of QEMU, an option with its value in one text or in two: `-chardev socket,id=c0,path=/x`. One
    /// with the `id=` of an argument that is there takes its place.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// vhost-user-scsi devices, rendered as arguments.
    #[serde(default)]
    pub vhost_user_scsi: Vec<VhostUserScsi>,
    /// Whether libvirt checks the XML by its own schema before it takes it. Without it, unknown elements are dropped:
    /// that is found when the XML is read back.
    #[serde(default = "yes")]
    pub validate: bool,
    /// When a running domain whose definition is not felt yet is powered off and on.
    #[serde(default)]
    pub power_cycle: PowerCycle,
    /// The host's hours for `power_cycle: window`, such as `01:00-05:00`.
    #[serde(default)]
    pub window: Option<String>,
    /// How long a guest may take to shut down, in seconds.
    #[serde(default = "three_minutes")]
    pub shutdown_timeout: u32,
    /// What becomes of a guest that does not shut down in time.
    #[serde(default)]
    pub after_timeout: AfterTimeout,
}

fn system() -> String {
    "qemu:///system".to_owned()
}

fn three_minutes() -> u32 {
    180
}

/// One domain, and what is planned for it.
struct Planned {
    wants: Vec<Want>,
    after: String,
    problems: Problems,
}

impl LibvirtDomain {
    /// QEMU's arguments as option and value.
    fn qemu_arguments(&self, qemu: Option<Version>) -> Vec<(String, Option<String>)> {
        let given = super::options(&self.arguments).into_iter();
        let devices = self.vhost_user_scsi.iter().flat_map(|device| {
            let chardev = format!("socket,id={},path={}", device.id, device.socket);
            let scsi = vhost::device(device, qemu);
            [("-chardev".to_owned(), Some(chardev)), ("-device".to_owned(), Some(scsi))]
        });
        given.chain(devices).collect()
    }

    /// The arguments that ask for something, in the order of their documentation.
    fn knobs(&self) -> Vec<&'static str> {
        let asked = [
            ("features", !self.features.is_empty()),
            ("memory_backing", self.memory_backing.is_some()),
            ("iothreads", self.iothreads.is_some()),
            ("cputune", self.cputune.is_some()),
            ("machine", self.machine.is_some()),
            ("vcpus", self.vcpus.is_some()),
            ("memory", self.memory.is_some()),
            ("disks", !self.disks.is_empty()),
            ("environment", !self.environment.is_empty()),
            ("arguments", !self.arguments.is_empty()),
            ("vhost_user_scsi", !self.vhost_user_scsi.is_empty()),
        ];
        asked.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| name).collect()
    }

    /// What is wrong with the arguments on every domain.
    fn check(&self, sight: &Sight) -> Result<Vec<String>, Stop> {
        if self.knobs().is_empty() {
            return Err(Stop::refused("domains", "nothing is asked of the domains")
                .way_out("say what they shall be like, by `features`, `disks`, `memory_backing` …"));
        }
        let mut problems = Problems::of("every domain");
        let mut notes = Vec::new();
        for name in self.features.keys() {
            match features::refusal(name, sight.libvirt) {
                Some((why, way)) => problems.add(Kind::Mistake, "features", &why, &way),
                None => notes.extend(features::stranger(name)),
            }
        }
        for text in self
            .qemu_arguments(sight.qemu)
            .iter()
            .map(|(option, _)| option)
            .filter(|text| !text.starts_with('-'))
        {
            let why = format!("`{text}` is no option of QEMU");
            problems.add(Kind::Mistake, "arguments", &why, "write each as `-option value`");
        }
        notes.extend(vhost::misplaced(&self.qemu_arguments(sight.qemu), sight.qemu));
        if self.power_cycle == PowerCycle::Window && self.cycle_time().is_none() {
            let why = "`power_cycle: window` needs the hours";
            problems.add(Kind::Mistake, "window", why, "write `window: 01:00-05:00`, by the host's clock");
        }
        if problems.all.is_empty() { Ok(notes) } else { Err(refused(&problems.all)) }
    }

    fn cycle_time(&self) -> Option<CycleTime> {
        match self.power_cycle {
            PowerCycle::Never => Some(CycleTime::Never),
            PowerCycle::Ask => Some(CycleTime::Asked),
            PowerCycle::Window => {
                let (from, to) = self.window.as_deref()?.split_once('-')?;
                let clock = |text: &str| {
                    let (hour, minute) = text.trim().split_once(':')?;
                    let (hour, minute) = (hour.parse::<u8>().ok()?, minute.parse::<u8>().ok()?);
                    (hour < 24 && minute < 60).then(|| format!("{hour:02}{minute:02}"))
                };
                Some(CycleTime::Within { from: clock(from)?, to: clock(to)? })
            }
        }
    }

    /// What one domain becomes, and what stands against it.
    fn planned(&self, sight: &Sight, domain: &Domain) -> Result<Planned, Stop> {
        let mut problems = Problems::of(&domain.name);
        let mut after = domain.inactive.clone();
        let failed = |why: String| Stop::failed(format!("{}: {why}", domain.name));
        let document = Document::parse(&domain.inactive).map_err(failed)?;
        if let Some((owner, mark)) = owner::Owner::of(document.root()) {
            let settings: Vec<&str> = self.knobs().iter().map(|knob| owner.setting(knob)).collect();
            let mut settings_once = settings;
            settings_once.dedup();
            let why = format!("{} owns it (by {mark}) and would write it anew", owner.name());
            let way = format!("set it there: {}", settings_once.join("; "));
            problems.add(Kind::CannotConverge, "domains", &why, &way);
            return Ok(Planned { wants: Vec::new(), after, problems });
        }
        let wants = wants::wants(self, document.root(), sight.qemu, &mut problems);
        for want in &wants {
            match reach(&after, want, order::order) {
                Ok(reached) => after = reached,
                Err(why) => {
                    problems.add(Kind::CannotConverge, "domains", &why, "edit it by `virsh edit` once")
                }
            }
        }
        let document = Document::parse(&after).map_err(failed)?;
        rules::check(self, document.root(), sight.qemu, &mut problems);
        sight.check(document.root(), &mut problems);
        Ok(Planned { wants, after, problems })
    }

    /// The define of one domain.
    fn step(&self, domain: &Domain, planned: &Planned) -> Step {
        let look = Read::Ask(domain.inactive_row.clone());
        let define = |xml: &str| super::virsh::define(&self.uri, self.validate, xml);
        // What was there is given back unchecked: libvirt has taken it before.
        let back = super::virsh::define(&self.uri, false, &domain.inactive);
        let spoils = || vec![Spoil::Read(look.clone())];
        let claim = Claim::new("guest", &format!("{}#{}", domain.uuid, self.knobs().join("+")));
        let after = Match::Xml { text: planned.after.clone(), wants: planned.wants.clone() };
        Step::call_seen(
            claim,
            define(&planned.after),
            spoils(),
            (look.clone(), Seen::Output(domain.output.clone()), after),
            Back::Exactly(Act::Call { row: back, spoils: spoils() }),
        )
    }

    fn cycle(&self, domain: &Domain) -> Activation {
        Activation::GuestCycle(GuestCycle {
            uri: self.uri.clone(),
            uuid: domain.uuid.clone(),
            name: domain.name.clone(),
            timeout: self.shutdown_timeout,
            destroy: self.after_timeout == AfterTimeout::Destroy,
            when: self.cycle_time().unwrap_or(CycleTime::Never),
        })
    }

    /// What one domain adds to the change.
    fn add(
        &self,
        sight: &Sight,
        domain: &Domain,
        planned: &Planned,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let changes = planned.after != domain.inactive;
        let is_felt = domain.live.as_deref().is_none_or(|live| proof::unfelt(live, &planned.wants).is_none());
        change.evidence.extend(proof::evidence(self, domain, &planned.wants, (!changes, sight.qemu)));
        if changes {
            change.steps.push(self.step(domain, planned));
            change.diff.push(Diff::Text {
                title: format!("{} ({}), inactive XML", domain.name, domain.uuid),
                before: masked(&domain.inactive),
                after: masked(&planned.after),
                private: false,
            });
        }
        if is_felt {
            return Ok(());
        }
        change.effect = Effect::GuestPowerCycle;
        if changes || self.power_cycle != PowerCycle::Never {
            change.then.insert(self.cycle(domain));
        } else {
            change.notes.push(format!(
                "{} runs on with what it was started with: it needs a power cycle (`power_cycle: ask` or `window`, or shut \
                 it down and start it)",
                domain.name
            ));
        }
        Ok(())
    }

    /// Whether it says how much memory guests have, or what that is made of.
    fn sizes_memory(&self) -> bool {
        self.memory.is_some() || self.memory_backing.is_some()
    }

    /// Whether the host has the memory for the guests, besides what else is promised.
    fn promised(
        &self,
        facts: &Facts,
        domains: &[Domain],
        plans: &[Planned],
        change: &mut Change,
    ) -> Result<(), Stop> {
        let mut guests = BTreeMap::new();
        for (domain, planned) in domains.iter().zip(plans) {
            let document = Document::parse(&planned.after).map_err(Stop::failed)?;
            guests.extend(Guest::of(document.root()).map(|guest| (domain.name.clone(), guest)));
        }
        let source = "the definition after this task".to_owned();
        budget::judge(facts, &Asked { guests, source, ..Asked::default() }, change)
    }

    fn risks(&self, change: &mut Change) {
        let volatile: Vec<&str> = self
            .disks
            .iter()
            .filter_map(|disk| disk.cache)
            .filter(|cache| cache.is_volatile())
            .map(Cache::text)
            .collect();
        if !change.steps.is_empty() && !volatile.is_empty() {
            let why = format!(
                "cache {}: a power cut of the host loses what the guest has written and not flushed",
                volatile.join(", ")
            );
            change.risks.push(Risk { name: RiskName::DataLoss, why });
        }
        let cycles = change
            .then
            .iter()
            .any(|then| matches!(then, Activation::GuestCycle(cycle) if cycle.when != CycleTime::Never));
        if cycles && self.after_timeout == AfterTimeout::Destroy {
            let why = format!("a guest that is not down after {} s is destroyed", self.shutdown_timeout);
            change.risks.push(Risk { name: RiskName::DestroyGuest, why });
        }
        if !change.steps.is_empty() && self.environment.contains_key("LD_LIBRARY_PATH") {
            change.notes.push(
                "LD_LIBRARY_PATH: whoever may write these folders decides what QEMU runs; keep them root's"
                    .to_owned(),
            );
        }
        let of_qemu = !self.environment.is_empty() || !self.qemu_arguments(None).is_empty();
        if of_qemu && !change.steps.is_empty() {
            change.notes.push(
                "libvirt marks a domain with own QEMU arguments as tainted, and its AppArmor and SELinux profiles do not \
                 know the files that they name"
                    .to_owned(),
            );
        }
    }
}

/// Passwords of displays are in the XML, and in no diff.
fn masked(xml: &str) -> String {
    let mut out = String::with_capacity(xml.len());
    let mut rest = xml;
    while let Some(at) = rest.find(" passwd=") {
        let (before, value) = rest.split_at(at + " passwd=".len());
        out.push_str(before);
        let quote = value.chars().next().unwrap_or('\'');
        let end = value[quote.len_utf8()..].find(quote).map_or(value.len(), |end| end + 2 * quote.len_utf8());
        out.push_str(&format!("{quote}(hidden){quote}"));
        rest = &value[end..];
    }
    out.push_str(rest);
    out
}

fn refused(problems: &[Problem]) -> Stop {
    let argument = problems.first().map_or("domains", |problem| problem.argument);
    let stop = Stop::refused(argument, problem::words(problems));
    match problem::ways_out(problems) {
        way if way.is_empty() => stop,
        way => stop.way_out(way),
    }
}

impl Module for LibvirtDomain {
    const NAME: &'static str = "libvirt_domain";
    const SCOPE: Scope = Scope::Guest;
    const EXAMPLE: &'static str = "\
- name: Guests without the paravirtual spin lock, disks past the host's cache with a thread of their own
  libvirt_domain:
    domains: [\"web-*\", db1]
    features:
      pvspinlock: off
      hap: on
      ioapic: {driver: qemu}
    iothreads: 1
    disks:
      - target: vda
        cache: none
        io: native
        iothread: 1
    power_cycle: ask
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let sight = Sight::of(self, facts)?;
        let mut change = Change { notes: self.check(&sight)?, ..Change::default() };
        let domains = sight.domains(self, facts)?;
        let mut problems = Vec::new();
        let mut plans = Vec::new();
        for domain in &domains {
            let planned = self.planned(&sight, domain)?;
            change.notes.extend(planned.problems.notes.iter().cloned());
            problems.extend(planned.problems.all.iter().cloned());
            plans.push(planned);
        }
        problems.extend(hugepages::together(self, &sight, &domains, &plans)?);
        let mistakes: Vec<Problem> =
            problems.iter().filter(|problem| problem.kind == Kind::Mistake).cloned().collect();
        if !mistakes.is_empty() {
            return Err(refused(&mistakes));
        }
        for (domain, planned) in domains.iter().zip(&plans) {
            if problems.iter().all(|problem| problem.domain != domain.name) {
                self.add(&sight, domain, planned, &mut change)?;
            }
        }
        if !problems.is_empty() {
            let way = problem::ways_out(&problems);
            let way = if way.is_empty() { way } else { format!("; {way}") };
            let why = format!("{}{way}", problem::words(&problems));
            change.risks.push(Risk { name: RiskName::CannotConverge, why });
        }
        if self.sizes_memory() {
            self.promised(facts, &domains, &plans, &mut change)?;
        }
        self.risks(&mut change);
        let names: Vec<&str> = domains.iter().map(|domain| domain.name.as_str()).collect();
        change.result = json!({ "domains": names });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}
