//! `cpu_isolation`: CPUs that the scheduler, the tick and RCU leave alone.
use super::topology::{self, Topology};
use crate::argument::Names;
use crate::files::place::known;
use crate::host::Host;
use crate::kernel::KernelArgs;
use crate::module::{Module, Sample};
use crate::network::interrupts;
use crate::shape::CpuList;
use crate::vocabulary::{Change, Effect, Evidence, Facts, Read, Stop, all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// CPUs that the scheduler, the tick and RCU leave alone: `isolcpus`, `nohz_full` and `rcu_nocbs` from one list.
///
/// The list is checked against the host's topology, and with `interrupts` against where these are served: CPUs that are
/// isolated for interrupts and serve none are lost to everybody. It is written to the kernel's command line as the module
/// `kernel_args` does, with its try-boot, and felt at the next boot; the evidence is what the running kernel says of itself
/// (`/sys/devices/system/cpu/isolated`, `nohz_full`).
///
/// Errors: housekeeping CPUs (CPU 0 unless said otherwise) or CPUs that do not run in the list, and a list of all CPUs.
/// Said: a node without a housekeeping CPU, a core of which one thread alone is isolated, interrupts that are served
/// elsewhere, and that interrupts which the kernel spreads by itself heed `isolcpus` only with `managed_irq`, as well as
/// they can. Sources: the kernel's admin-guide/kernel-parameters, timers/no_hz.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuIsolation {
    /// The CPUs: `2-15,18-31`, or the result of an `irq_affinity` task: `{{ irqs.cpus }}`.
    pub cpus: String,
    /// CPUs that do everything else, and are never in the list.
    #[serde(default = "zero")]
    pub housekeeping: String,
    /// Names or patterns of interrupts that are served by these CPUs, to be checked: `virtio0-input.*`.
    #[serde(default)]
    pub interrupts: Names,
    /// The kinds of isolation that `isolcpus` names before the list.
    #[serde(default = "kinds")]
    pub kinds: Vec<Kind>,
    /// Whether the scheduler leaves them alone (`isolcpus`).
    #[serde(default = "crate::argument::yes")]
    pub isolcpus: bool,
    /// Whether the tick leaves them alone while one task runs (`nohz_full`).
    #[serde(default = "crate::argument::yes")]
    pub nohz_full: bool,
    /// Whether RCU's callbacks run elsewhere (`rcu_nocbs`).
    #[serde(default = "crate::argument::yes")]
    pub rcu_nocbs: bool,
}

fn zero() -> String {
    "0".to_owned()
}

fn kinds() -> Vec<Kind> {
    vec![Kind::ManagedIrq, Kind::Domain]
}

/// A kind of isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The scheduler's balancing.
    Domain,
    /// Interrupts that the kernel spreads by itself, as well as it can.
    ManagedIrq,
    /// The tick.
    Nohz,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::ManagedIrq => "managed_irq",
            Self::Nohz => "nohz",
        }
    }
}

const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const NOHZ_FULL: &str = "/sys/devices/system/cpu/nohz_full";

impl CpuIsolation {
    fn list(&self) -> Result<CpuList, Stop> {
        CpuList::parse(&self.cpus).map_err(|why| Stop::refused("cpus", why))
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = topology::first_reads()?;
        reads.extend([Read::text(&known(ISOLATED)?), Read::text(&known(NOHZ_FULL)?)]);
        if !self.interrupts.list().is_empty() {
            reads.push(Read::Ask(interrupts::row()));
        }
        Ok(reads)
    }

    fn task(&self, list: &CpuList) -> Result<KernelArgs, Stop> {
        let mut args = Map::new();
        if self.isolcpus {
            let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.word()).collect();
            let comma = if kinds.is_empty() { "" } else { "," };
            args.insert("isolcpus".to_owned(), json!(format!("{}{comma}{list}", kinds.join(","))));
        }
        if self.nohz_full {
            args.insert("nohz_full".to_owned(), json!(list.to_string()));
        }
        if self.rcu_nocbs {
            args.insert("rcu_nocbs".to_owned(), json!(list.to_string()));
        }
        if args.is_empty() {
            return Err(Stop::refused(
                "isolcpus",
                "`isolcpus`, `nohz_full` and `rcu_nocbs` are all false: nothing is asked for",
            ));
        }
        serde_json::from_value(json!({ "args": Json::Object(args) }))
            .map_err(|why| Stop::failed(format!("the arguments cannot be said: {why}")))
    }

    /// What the list means on this host.
    fn checked(&self, list: &CpuList, topology: &Topology, notes: &mut Vec<String>) -> Result<(), Stop> {
        let kept = CpuList::parse(&self.housekeeping).map_err(|why| Stop::refused("housekeeping", why))?;
        let of = |keep: &dyn Fn(u32) -> bool| -> CpuList { list.iter().filter(|cpu| keep(*cpu)).collect() };
        let (both, off) = (of(&|cpu| kept.contains(cpu)), of(&|cpu| !topology.online.contains(cpu)));
        if list.is_empty() {
            return Err(Stop::refused("cpus", "no CPU is named"));
        }
        if !both.is_empty() {
            return Err(Stop::refused(
                "cpus",
                format!("CPU {both} keeps house: it does what no isolated CPU does"),
            )
            .way_out("leave it out of the list, or name other CPUs by `housekeeping`"));
        }
        if !off.is_empty() {
            return Err(Stop::refused("cpus", format!("CPU {off} does not run on this host"))
                .way_out(format!("it has: {}", topology.online)));
        }
        let left: CpuList = topology.online.iter().filter(|cpu| !list.contains(*cpu)).collect();
        if left.is_empty() {
            return Err(Stop::refused("cpus", "no CPU is left for everything else"));
        }
        for (node, cpus) in &topology.nodes {
            if !cpus.is_empty() && cpus.iter().all(|cpu| list.contains(cpu)) {
                notes.push(format!(
                    "no CPU of node {node} is left for housekeeping: what the kernel does for that node's memory crosses to another"
                ));
            }
        }
        let halved: CpuList = topology
            .cores
            .iter()
            .filter(|core| {
                core.iter().any(|cpu| list.contains(cpu)) && core.iter().any(|cpu| !list.contains(cpu))
            })
            .flat_map(|core| core.iter().filter(|cpu| !list.contains(*cpu)).collect::<Vec<_>>())
            .collect();
        if !halved.is_empty() {
            notes.push(format!("CPU {halved} shares its core with an isolated one, and disturbs it"));
        }
        if self.isolcpus && !self.kinds.contains(&Kind::ManagedIrq) {
            notes.push(
                "without `managed_irq` the interrupts that the kernel spreads by itself ignore `isolcpus`"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Where the interrupts that these CPUs are isolated for are served.
    fn served(&self, facts: &Facts, list: &CpuList, notes: &mut Vec<String>) -> Result<(), Stop> {
        let patterns = self.interrupts.list();
        if patterns.is_empty() {
            return Ok(());
        }
        let meant = interrupts::all(facts)?;
        for pattern in &patterns {
            if !meant.iter().any(|one| one.is_meant_by(pattern)) {
                return Err(Stop::refused("interrupts", format!("no interrupt is called `{pattern}`"))
                    .way_out("`awk '{print $NF}' /proc/interrupts` shows their names"));
            }
        }
        let meant: Vec<_> =
            meant.into_iter().filter(|one| patterns.iter().any(|name| one.is_meant_by(name))).collect();
        let files = meant.iter().map(|one| one.file("smp_affinity_list")).collect::<Result<Vec<_>, _>>()?;
        facts.need(&files.iter().map(Read::text).collect::<Vec<_>>())?;
        let (mut elsewhere, mut busy) = (Vec::new(), Vec::new());
        for (one, file) in meant.iter().zip(&files) {
            let cpus = topology::list(facts, file)?.unwrap_or_default();
            match cpus.iter().all(|cpu| list.contains(cpu)) {
                true => busy.extend(cpus.iter()),
                false => elsewhere.push(format!("{} ({cpus})", one.name)),
            }
        }
        if !elsewhere.is_empty() {
            notes.push(format!(
                "{} of {} interrupts may be served by CPUs that are not isolated: {}; place them by `irq_affinity` first",
                elsewhere.len(),
                meant.len(),
                elsewhere.iter().take(4).cloned().collect::<Vec<_>>().join(", ")
            ));
        }
        let idle: CpuList = list.iter().filter(|cpu| !busy.contains(cpu)).collect();
        if !idle.is_empty() {
            notes.push(format!(
                "CPU {idle} is isolated and serves none of these interrupts: it is lost to everybody"
            ));
        }
        Ok(())
    }

    fn evidence(
        &self,
        facts: &Facts,
        list: &CpuList,
        written: bool,
        change: &mut Change,
    ) -> Result<(), Stop> {
        for (asked, path, what) in [
            (
                self.isolcpus && self.kinds.contains(&Kind::Domain),
                ISOLATED,
                "the scheduler leaves them alone",
            ),
            (self.nohz_full, NOHZ_FULL, "the tick leaves them alone"),
        ] {
            if !asked {
                continue;
            }
            let what = format!("CPU {list}: {what}");
            let Some(now) = facts.value(&known(path)?)? else {
                let why = "this kernel was built without it";
                change.evidence.push(Evidence::not_available(what, path, why));
                change.notes.push(format!("{path} is not there: {why}"));
                continue;
            };
            let live = CpuList::parse(now.trim()).is_ok_and(|now| now == *list);
            let seen = match now.trim() {
                "" | "(null)" => "none".to_owned(),
                cpus => cpus.to_owned(),
            };
            change.evidence.push(Evidence::told(what, path, (live, written), seen, Effect::HostReboot));
        }
        Ok(())
    }
}

impl Module for CpuIsolation {
    const NAME: &'static str = "cpu_isolation";
    const EXAMPLE: &'static str = "\
- name: The CPUs of the card's interrupts serve nothing else
  cpu_isolation:
    cpus: 2-15
    interrupts: [virtio0-input.*, virtio0-output.*]
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let list = self.list()?;
        let task = self.task(&list)?;
        let own = facts.need(&self.first_reads()?).and_then(|()| Topology::read(facts));
        let kernel = task.plan(facts).map_err(|stop| match stop {
            Stop::Refused(mut refusal) => {
                refusal.argument = Some("cpus");
                Stop::Refused(refusal)
            }
            other => other,
        });
        let (topology, mut change) = match (own, kernel) {
            (Ok(topology), Ok(change)) => (topology, change),
            (own, kernel) => {
                all([own.map(drop), kernel.map(drop)])?;
                return Err(Stop::failed("neither the processors nor the boot loader could be told"));
            }
        };
        let mut notes = Vec::new();
        self.checked(&list, &topology, &mut notes)?;
        self.served(facts, &list, &mut notes)?;
        let written = change.steps.is_empty();
        self.evidence(facts, &list, written, &mut change)?;
        notes.append(&mut change.notes);
        change.notes = notes;
        change.result["cpus"] = json!(list.to_string());
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        vec![Sample {
            about: "Debian, fourteen of sixteen",
            args: json!({ "cpus": "2-15", "housekeeping": "0-1" }),
            host: debian(topology::machines::machine(2, 8, 4, false)),
            calls: vec![(crate::vocabulary::Row::new("update-grub", Vec::<String>::new()), Vec::new())],
        }]
    }
}

/// A Debian host that was booted without isolation.
fn debian(host: Host) -> Host {
    host.dir("/etc/default/grub.d")
        .file("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n")
        .file("/usr/sbin/grub-mkconfig", "")
        .file("/usr/sbin/update-grub", "")
        .value("/proc/cmdline", "root=/dev/sda1 quiet")
        .value(ISOLATED, "")
        .value(NOHZ_FULL, "(null)")
}

#[cfg(test)]
mod tests {
    use super::topology::machines::machine;
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::{Output, Seen, Standing};

    fn host() -> Host {
        debian(machine(2, 8, 4, true))
    }

    #[test]
    fn one_list_makes_three_arguments() {
        let change = planned::<CpuIsolation>(&host(), json!({ "cpus": "2-7,18-23" }));
        let line = change.result["line"].as_str().unwrap();
        for arg in ["isolcpus=managed_irq,domain,2-7,18-23", "nohz_full=2-7,18-23", "rcu_nocbs=2-7,18-23"] {
            assert!(line.contains(arg), "{line}");
        }
        assert_eq!(change.effect, Effect::HostReboot);
        assert!(
            matches!(&change.evidence.last().unwrap().standing, Standing::Absent { seen } if seen == "none")
        );
        let plain = planned::<CpuIsolation>(
            &host(),
            json!({ "cpus": "2,18", "kinds": [], "nohz_full": false, "rcu_nocbs": false }),
        );
        assert!(plain.result["line"].as_str().unwrap().ends_with("isolcpus=2,18"), "{}", plain.result);
        assert!(plain.notes.iter().any(|note| note.contains("managed_irq")), "{:?}", plain.notes);
    }

    #[test]
    fn what_the_running_kernel_says_is_the_evidence() {
        let booted = host()
            .file("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"isolcpus=managed_irq,domain,2-7,18-23 nohz_full=2-7,18-23 rcu_nocbs=2-7,18-23\"\n")
            .value("/proc/cmdline", "root=/dev/sda1 isolcpus=managed_irq,domain,2-7,18-23 nohz_full=2-7,18-23 rcu_nocbs=2-7,18-23")
            .value(ISOLATED, "2-7,18-23")
            .value(NOHZ_FULL, "2-7");
        let change = planned::<CpuIsolation>(&booted, json!({ "cpus": "2-7,18-23" }));
        assert!(change.is_empty(), "{:?}", change.steps);
        let of = |what: &str| &change.evidence.iter().find(|one| one.what.contains(what)).unwrap().standing;
        assert!(matches!(of("scheduler"), Standing::Live { .. }));
        assert!(
            matches!(of("the tick"), Standing::Owed { seen, .. } if seen == "2-7"),
            "{:?}",
            of("the tick")
        );
    }

    #[test]
    fn housekeeping_is_kept_out() {
        let refused = |args| refusal::<CpuIsolation>(&host(), args);
        assert!(refused(json!({ "cpus": "0-7" })).contains("CPU 0 keeps house"));
        assert!(refused(json!({ "cpus": "2-99" })).contains("does not run"));
        assert!(refused(json!({ "cpus": "0-31", "housekeeping": "" })).contains("no CPU is left"));
        assert!(refused(json!({ "cpus": "" })).contains("no CPU is named"));
        let node = planned::<CpuIsolation>(&host(), json!({ "cpus": "8-15,24-31" }));
        assert!(node.notes.iter().any(|note| note.contains("no CPU of node 1")), "{:?}", node.notes);
        let half = planned::<CpuIsolation>(&host(), json!({ "cpus": "2-3" }));
        assert!(half.notes.iter().any(|note| note.contains("CPU 18-19 shares its core")), "{:?}", half.notes);
    }

    #[test]
    fn the_list_is_held_against_where_interrupts_are_served() {
        let text = "41: PCI-MSI 1-edge virtio0-input.0\n42: PCI-MSI 2-edge virtio0-input.1\n";
        let served = |one: &str, two: &str| {
            host()
                .answer(interrupts::row(), Seen::Output(Output::ok(text)))
                .value("/proc/irq/41/smp_affinity_list", one)
                .value("/proc/irq/42/smp_affinity_list", two)
        };
        let ask = |host: Host| {
            planned::<CpuIsolation>(&host, json!({ "cpus": "2,3,18,19", "interrupts": "virtio0-input.*" }))
        };
        let wrong = ask(served("2", "0-31"));
        assert!(
            wrong
                .notes
                .iter()
                .any(|note| note.contains("1 of 2 interrupts") && note.contains("virtio0-input.1")),
            "{:?}",
            wrong.notes
        );
        assert!(
            wrong.notes.iter().any(|note| note.contains("CPU 3,18-19 is isolated and serves none")),
            "{:?}",
            wrong.notes
        );
        let right = ask(served("2,18", "3,19"));
        assert!(!right.notes.iter().any(|note| note.contains("interrupts")), "{:?}", right.notes);
        let why = refusal::<CpuIsolation>(&served("2", "3"), json!({ "cpus": "2", "interrupts": "eth9" }));
        assert!(why.contains("`eth9`"), "{why}");
    }
}
