//! The device whose interrupts are meant, by the names that people and interrupts have for it.
use super::interrupts::Interrupt;
use crate::files::place::known;
use crate::vocabulary::{Facts, HostPath, Kind, Read, Stop, link_target};

/// Folders in which the kernel links to devices by names that people use.
const LINKS: [&str; 4] =
    ["/sys/class/net", "/sys/class/nvme", "/sys/bus/virtio/devices", "/sys/bus/pci/devices"];

/// The device whose interrupts are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owner {
    /// As people call it.
    pub name: String,
    /// Its parts as interrupts may call them: card, virtio number, PCI address.
    aliases: Vec<String>,
    /// Its NUMA node, where the machine tells.
    pub node: Option<u32>,
}

/// Whether a word is a PCI address such as `0000:21:00.0`.
pub(crate) fn is_pci(word: &str) -> bool {
    let mut parts = word.split([':', '.']);
    let sizes: Vec<usize> = parts.by_ref().map(str::len).collect();
    sizes == [4, 2, 2, 1] && word.chars().all(|letter| letter.is_ascii_hexdigit() || ":.".contains(letter))
}

impl Owner {
    fn links(name: &str) -> Result<Vec<HostPath>, Stop> {
        let fine = |letter: char| letter.is_ascii_alphanumeric() || ".:_-@".contains(letter);
        if name.is_empty() || !name.chars().all(fine) || name.starts_with('.') {
            return Err(Stop::refused("device", format!("`{name}` is not the name of a device")));
        }
        LINKS.iter().map(|folder| known(&format!("{folder}/{name}"))).collect()
    }

    /// What it is read from first.
    pub fn first_reads(name: Option<&str>) -> Result<Vec<Read>, Stop> {
        match name {
            None => Ok(Vec::new()),
            Some(name) => Ok(Self::links(name)?.into_iter().map(Read::Stat).collect()),
        }
    }

    /// The device of a name that is known to be there.
    pub fn of(facts: &Facts, name: &str) -> Result<Self, Stop> {
        facts.need(&Self::first_reads(Some(name))?)?;
        Self::read(facts, Some(name))
    }

    /// Reads it.
    pub fn read(facts: &Facts, name: Option<&str>) -> Result<Self, Stop> {
        let Some(name) = name else { return Ok(Self { name: "this host".to_owned(), ..Self::default() }) };
        let mut device = Self { name: name.to_owned(), aliases: vec![name.to_owned()], node: None };
        for link in Self::links(name)? {
            let Some(Kind::Link { target }) = facts.stat(&link)?.map(|node| node.kind) else { continue };
            let path = link_target(&link, &target).map_err(Stop::failed)?;
            let above: Vec<HostPath> = std::iter::successors(Some(path), HostPath::parent).collect();
            // The nearest PCI device above is the one that raises the interrupts.
            if let Some(pci) = above.iter().find(|path| is_pci(path.name())) {
                device.aliases.push(pci.name().to_owned());
                let node = facts.value(&pci.join("numa_node").map_err(Stop::failed)?)?;
                device.node = node.and_then(|node| node.trim().parse().ok());
            }
            let virtio = above.iter().map(HostPath::name).find(|name| name.starts_with("virtio"));
            device.aliases.extend(virtio.map(str::to_owned));
            break;
        }
        Ok(device)
    }

    /// Whether an interrupt is of this device.
    pub fn has(&self, interrupt: &Interrupt) -> bool {
        let name = &interrupt.name;
        let word = |alias: &str| {
            let edge = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_ascii_alphanumeric());
            name.match_indices(alias).any(|(at, _)| {
                let (before, after) = (&name[..at], &name[at + alias.len()..]);
                let nvme = alias.starts_with("nvme") && after.starts_with('q');
                edge(before.chars().next_back()) && (edge(after.chars().next()) || nvme)
            })
        };
        self.aliases.is_empty()
            || self
                .aliases
                .iter()
                .any(|alias| word(alias) || (is_pci(alias) && interrupt.source.ends_with(alias.as_str())))
    }
}
