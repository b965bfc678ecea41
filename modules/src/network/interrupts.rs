//! The interrupts of a host by their names: numbers change from boot to boot, names do not.
use crate::shape::Shape;
use crate::vocabulary::{
    Act, Back, Claim, Facts, HostPath, Match, Output, Read, Row, Seen, Spoil, Step, Stop, glob_matches,
};
use std::collections::BTreeSet;

/// One interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interrupt {
    /// Its number, until the next boot.
    pub number: u32,
    /// The controller and what it knows of the sender: `PCI-MSIX-0000:21:00.0`.
    pub source: String,
    /// What raises it: `virtio0-input.3`, `mlx5_comp3@pci:0000:21:00.0`, `nvme0q5`.
    pub name: String,
}

/// The row that lists them.
pub(crate) fn row() -> Row {
    Row::new("interrupts", Vec::<String>::new())
}

/// All interrupts that have a name.
pub(crate) fn all(facts: &Facts) -> Result<Vec<Interrupt>, Stop> {
    let output = facts.output(&row())?;
    if output.status != 0 {
        let said = output.error_text();
        return Err(Stop::failed(format!("interrupts cannot be listed: {}", said.trim()))
            .way_out("`awk` must be there, and /proc/interrupts be readable"));
    }
    Ok(output.text().lines().filter_map(one).collect())
}

/// The names that more than one interrupt has.
pub(crate) fn shared(facts: &Facts) -> Result<BTreeSet<String>, Stop> {
    let mut seen = BTreeSet::new();
    let again = all(facts)?.into_iter().map(|one| one.name).filter(|name| !seen.insert(name.clone()));
    Ok(again.collect())
}

/// A line: number, controller, the controller's own number with the trigger, name.
fn one(line: &str) -> Option<Interrupt> {
    let (number, rest) = line.split_once(':')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_trigger = |word: &&str| {
        let word = word.rsplit('-').next().unwrap_or_default().to_ascii_lowercase();
        matches!(word.as_str(), "edge" | "level" | "fasteoi")
    };
    let trigger = words.iter().position(is_trigger)?;
    let name = words[trigger + 1..].join(" ");
    (!name.is_empty()).then_some(())?;
    let source = words[..trigger].first().copied().unwrap_or_default().to_owned();
    Some(Interrupt { number: number.trim().parse().ok()?, source, name })
}

impl Interrupt {
    /// The name without the PCI address that some drivers put behind it.
    fn own_name(&self) -> &str {
        self.name.split_once('@').map_or(&self.name, |(name, _)| name)
    }

    /// The queue that it serves: the last number of its name. None where it serves no data: configuration, errors,
    /// commands, the admin queue of NVMe.
    pub fn queue(&self) -> Option<u32> {
        let name = self.own_name();
        if ["async", "config", "control", "cmd", "ctrl", "mbox", "misc", "mgmnt", "fdir", "event", "aq"]
            .iter()
            .any(|word| name.contains(word))
        {
            return None;
        }
        let digits: String = name.chars().rev().take_while(char::is_ascii_digit).collect();
        let queue = digits.chars().rev().collect::<String>().parse().ok()?;
        match name.strip_prefix("nvme").and_then(|rest| rest.split_once('q')) {
            // Queue 0 is for administration; the first queue of data is 1.
            Some((_, "0")) => None,
            Some(_) => Some(queue - 1),
            None => Some(queue),
        }
    }

    /// Whether it is of a kind that the kernel spreads by itself and lets nobody move: queues of NVMe and virtio-blk.
    pub fn is_managed(&self) -> bool {
        let name = self.own_name();
        let nvme = name.strip_prefix("nvme").and_then(|rest| rest.split_once('q'));
        let virtio = name.strip_prefix("virtio").and_then(|rest| rest.split_once("-req."));
        [nvme, virtio].into_iter().flatten().any(|(device, queue)| {
            !device.is_empty() && device.bytes().all(|digit| digit.is_ascii_digit()) && queue != "0"
                || virtio.is_some()
        })
    }

    /// Whether a name or a pattern of `*`, `?` and `[…]` means it.
    pub fn is_meant_by(&self, pattern: &str) -> bool {
        if pattern == self.name || pattern == self.own_name() {
            return true;
        }
        let matches = |name: &str| {
            let escaped = name.replace('/', ":");
            HostPath::new(&format!("/{escaped}"))
                .is_ok_and(|path| glob_matches(&format!("/{}", pattern.replace('/', ":")), &path))
        };
        pattern.contains(['*', '?', '[']) && (matches(&self.name) || matches(self.own_name()))
    }

    /// The row that reads which CPUs may serve it.
    pub fn look(&self) -> Row {
        Row::new("interrupt-cpus", [self.name.as_str()])
    }

    /// The step that places it on CPUs, by its name: a way back that is taken after a boot finds it under another number.
    /// `now` is what its file says. Where others share the name it is placed by its number.
    pub fn placed(&self, now: &str, cpus: &str, is_shared: bool) -> Result<Step, Stop> {
        let path = self.file("smp_affinity_list")?;
        if is_shared {
            let claim = Claim::new("irq", &format!("{} ({})", self.name, self.number));
            return Ok(Step::write(claim, path, Seen::Value(now.to_owned()), cpus, Shape::CpuList));
        }
        let (file, now) = (Read::text(&path), now.trim());
        let look = Read::Ask(self.look());
        let told = |cpus: &str| Seen::Output(Output::ok(format!("{cpus}\n")));
        let call = |cpus: &str| Row::new("interrupt-place", [self.name.as_str(), cpus]);
        let spoils = vec![
            Spoil::Becomes(file.clone(), Seen::Value(cpus.to_owned())),
            Spoil::Becomes(look.clone(), told(cpus)),
        ];
        let back = Act::Call { row: call(now), spoils: vec![Spoil::Read(file), Spoil::Read(look.clone())] };
        let after = Match::Alike { shape: Shape::CpuList, value: cpus.to_owned() };
        Ok(Step::call_seen(
            Claim::new("irq", &self.name),
            call(cpus),
            spoils,
            (look, told(now), after),
            Back::Exactly(back),
        ))
    }

    /// A file of the interrupt below /proc/irq.
    pub fn file(&self, name: &str) -> Result<HostPath, Stop> {
        crate::files::place::known(&format!("/proc/irq/{}/{name}", self.number))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What the row makes of a captured /proc/interrupts: the counts are left out.
    pub(crate) fn listed(text: &str) -> String {
        let columns = text.lines().next().unwrap().split_whitespace().count();
        let mut out = String::new();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_number = words[0].strip_suffix(':').is_some_and(|word| word.parse::<u32>().is_ok());
            if is_number {
                let rest = words.get(columns + 1..).unwrap_or_default().join(" ");
                out.push_str(&format!("{} {rest}\n", words[0]));
            }
        }
        out
    }

    fn of(file: &str) -> Vec<Interrupt> {
        listed(file).lines().filter_map(one).collect()
    }

    #[test]
    fn captured_tables_give_names_and_numbers() {
        let desktop = of(include_str!("../../../tests/data/corpus/topology/interrupts-8cpu-desktop.txt"));
        let named = |all: &[Interrupt], name: &str| -> Vec<u32> {
            all.iter().filter(|one| one.is_meant_by(name)).map(|one| one.number).collect()
        };
        assert_eq!(named(&desktop, "enp0s25"), [29]);
        assert_eq!(named(&desktop, "i8042"), [1, 12]);
        assert!(named(&desktop, "ehci_hcd:usb1, mmc0") == [16]);
        let virtio = of(include_str!("../../../tests/data/corpus/topology/interrupts-own-2cpu-microvm.txt"));
        assert_eq!(named(&virtio, "virtio2-*"), [37, 38, 39]);
        let arm = of(include_str!("../../../tests/data/corpus/topology/interrupts-aarch64-virtio.txt"));
        assert_eq!(named(&arm, "virtio0-*"), [16, 17, 18]);
        let large =
            of(include_str!("../../../tests/data/corpus/topology/interrupts-256cpu-mlx5-nvme-synthetic.txt"));
        assert_eq!(named(&large, "mlx5_comp*@pci:0000:21:00.0"), (41..=72).collect::<Vec<u32>>());
        assert_eq!(named(&large, "mlx5_comp3"), [44]);
    }

    #[test]
    fn queues_and_kinds_are_told_by_name() {
        let named = |name: &str| Interrupt { number: 1, source: String::new(), name: name.to_owned() };
        for (name, queue, managed) in [
            ("virtio0-input.47", Some(47), false),
            ("virtio0-output.0", Some(0), false),
            ("virtio0-config", None, false),
            ("virtio1-req.3", Some(3), true),
            ("virtio1-req.0", Some(0), true),
            ("mlx5_comp12@pci:0000:21:00.0", Some(12), false),
            ("mlx5_async0@pci:0000:21:00.0", None, false),
            ("nvme0q0", None, false),
            ("nvme0q5", Some(4), true),
            ("eth0-TxRx-7", Some(7), false),
            ("i40e-ens1f0-TxRx-12", Some(12), false),
            ("acpi", None, false),
        ] {
            assert_eq!((named(name).queue(), named(name).is_managed()), (queue, managed), "{name}");
        }
    }
}
