//! What is seen of a host's memory: its size, huge pages, OSDs and guests.
use super::{Asked, Budget, Part, reserve};
use crate::files::place::known;
use crate::shape::size_text;
use crate::vocabulary::{Body, Facts, HostPath, Look, Node, Read, Row, Seen, Stop};
use crate::xml::{Document, Part as Element, text_of};
use std::collections::{BTreeMap, BTreeSet};

const MEMINFO: &str = "/proc/meminfo";
const POOLS: &str = "/sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages";
/// Folders of OSDs: of packages, and of cephadm.
const OSDS: [&str; 2] = ["/var/lib/ceph/osd/*-*", "/var/lib/ceph/*/osd.*"];
/// What libvirt keeps of guests that run.
const GUESTS: &str = "/run/libvirt/qemu/*.xml";

/// A guest's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guest {
    /// Bytes.
    pub memory: u64,
    /// Whether it is made of huge pages, which are counted by themselves.
    pub of_huge_pages: bool,
}

impl Guest {
    /// The guest that a domain's XML describes; none where it names no memory.
    pub fn of(domain: roxmltree::Node<'_, '_>) -> Option<Self> {
        let node = Element::new("memory").of(domain)?;
        let memory = crate::guests::bytes(node, &text_of(node))?;
        let backing = Element::new("memoryBacking").of(domain);
        let of_huge_pages = backing.and_then(|backing| Element::new("hugepages").of(backing)).is_some();
        Some(Self { memory, of_huge_pages })
    }
}

/// What can be asked for at once.
///
/// # Errors
/// None in practice: the paths are fixed.
pub(crate) fn first_reads() -> Result<Vec<Read>, Stop> {
    let globs = [POOLS, GUESTS].into_iter().chain(OSDS);
    let globs = globs.map(|pattern| Read::Glob(pattern.to_owned()));
    Ok(std::iter::once(Read::text(&known(MEMINFO)?)).chain(globs).collect())
}

/// What the daemons of the host may use, as they hold it.
fn targets() -> Row {
    Row::new("ceph-osd-targets", Vec::<String>::new())
}

/// What is promised, once a task's part is put in.
pub(super) fn budget(facts: &Facts, asked: &Asked) -> Result<Budget, Stop> {
    facts.need(&first_reads()?)?;
    let mut budget = Budget::default();
    let Some(Seen::Value(meminfo)) = told(facts, &Read::text(&known(MEMINFO)?))? else { return Ok(budget) };
    budget.total = line(&meminfo, "MemTotal:").unwrap_or(0) * 1024;
    let osds = osds(facts, &mut budget)?;
    let guests = names(facts, GUESTS)?;
    let mut further: Vec<Read> = names(facts, POOLS)?.iter().flatten().map(Read::text).collect();
    further.extend(guests.iter().flatten().map(Read::text));
    further.extend((!osds.is_empty()).then(|| Read::Ask(targets())));
    facts.need(&further)?;
    pools(facts, asked, &mut budget)?;
    osd_parts(facts, asked, &osds, &mut budget)?;
    guest_parts(facts, asked, guests.as_deref(), &mut budget)?;
    budget.parts.push(reserve(budget.total));
    Ok(budget)
}

/// An answer; none where an earlier task makes it unknown until it has run.
fn told(facts: &Facts, read: &Read) -> Result<Option<Seen>, Stop> {
    match facts.look(read) {
        Look::Seen(seen) => Ok(Some(seen)),
        Look::Unread => Err(Stop::Unread(vec![read.clone()])),
        Look::Late(_) => Ok(None),
    }
}

/// Names that a pattern matches; none where they may not be seen.
fn names(facts: &Facts, pattern: &str) -> Result<Option<Vec<HostPath>>, Stop> {
    Ok(match told(facts, &Read::Glob(pattern.to_owned()))? {
        Some(Seen::Names(names)) => Some(names),
        Some(Seen::Absent) => Some(Vec::new()),
        _ => None,
    })
}

/// A line of meminfo, in KiB.
fn line(meminfo: &str, name: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The huge pages that the kernel keeps now: bytes of a page, and how many.
pub(crate) fn pools_now(facts: &Facts) -> Result<BTreeMap<u64, u64>, Stop> {
    let paths = names(facts, POOLS)?.unwrap_or_default();
    facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
    let mut pools = BTreeMap::new();
    for path in paths {
        let kib = path.parent().and_then(|folder| {
            folder.name().strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()
        });
        let Some(Seen::Value(text)) = told(facts, &Read::text(&path))? else { continue };
        if let (Some(kib), Ok(count)) = (kib, text.trim().parse::<u64>()) {
            pools.insert(kib * 1024, count);
        }
    }
    Ok(pools)
}

/// The size of a page that is meant where none is named, in bytes.
///
/// # Errors
/// [`Stop::Unread`].
pub(crate) fn default_page(facts: &Facts) -> Result<u64, Stop> {
    let meminfo = match told(facts, &Read::text(&known(MEMINFO)?))? {
        Some(Seen::Value(text)) => text,
        _ => String::new(),
    };
    Ok(line(&meminfo, "Hugepagesize:").unwrap_or(2048) * 1024)
}

fn pools(facts: &Facts, asked: &Asked, budget: &mut Budget) -> Result<(), Stop> {
    let (pools, source) = match &asked.pools {
        Some(pools) => (pools.clone(), asked.source.as_str()),
        None => (pools_now(facts)?, "/sys/kernel/mm/hugepages"),
    };
    budget.parts.extend(pools.into_iter().filter(|(_, count)| *count > 0).map(|(size, count)| Part {
        what: format!("{count} huge pages of {}", size_text(size)),
        bytes: size.saturating_mul(count),
        source: source.to_owned(),
    }));
    Ok(())
}

/// The OSDs that have a folder here, by number.
fn osds(facts: &Facts, budget: &mut Budget) -> Result<BTreeSet<String>, Stop> {
    let mut found = BTreeSet::new();
    for pattern in OSDS {
        match names(facts, pattern)? {
            Some(paths) => found.extend(paths.iter().filter_map(|path| number(path.name()))),
            None => budget.unknown.push("whether OSDs are here is not known".to_owned()),
        }
    }
    budget.unknown.dedup();
    Ok(found)
}

/// `3` of `ceph-3`, `osd.3` and the socket `ceph-osd.3.asok`.
fn number(name: &str) -> Option<String> {
    let name = name.strip_suffix(".asok").unwrap_or(name);
    let digits = name.rsplit(['-', '.']).next()?;
    (!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())).then(|| digits.to_owned())
}

fn osd_parts(facts: &Facts, asked: &Asked, osds: &BTreeSet<String>, budget: &mut Budget) -> Result<(), Stop> {
    if osds.is_empty() {
        return Ok(());
    }
    if let Some(target) = asked.osd_target {
        let count = osds.len() as u64;
        budget.parts.push(osd_part(count, target, &asked.source));
        return Ok(());
    }
    let answer = match told(facts, &Read::Ask(targets()))? {
        Some(Seen::Output(output)) => output.text(),
        _ => String::new(),
    };
    let mut held: BTreeMap<u64, u64> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for (osd, target) in answer.lines().filter_map(held_by) {
        *held.entry(target).or_default() += 1;
        known.insert(osd);
    }
    budget.parts.extend(held.into_iter().map(|(target, count)| osd_part(count, target, "their sockets")));
    let silent: Vec<&str> = osds.iter().filter(|osd| !known.contains(*osd)).map(String::as_str).collect();
    if !silent.is_empty() {
        let who = match silent.len() {
            1..=4 => format!("osd.{}", silent.join(", osd.")),
            many => format!("osd.{}, … ({many} OSDs)", silent[0]),
        };
        budget
            .unknown
            .push(format!("what {who} may use is not known, since no daemon answers, and not counted"));
    }
    Ok(())
}

fn osd_part(count: u64, target: u64, source: &str) -> Part {
    Part {
        what: format!("{count} OSDs with osd_memory_target {}", super::about(target)),
        bytes: count.saturating_mul(target),
        source: source.to_owned(),
    }
}

/// The OSD of a socket, and its target: `/run/ceph/ceph-osd.3.asok {"osd_memory_target":"4294967296"}`.
fn held_by(line: &str) -> Option<(String, u64)> {
    let (socket, answer) = line.split_once(' ')?;
    let osd = number(socket.rsplit('/').next()?)?;
    let json: serde_json::Value = serde_json::from_str(answer.trim()).ok()?;
    let value = &json["osd_memory_target"];
    let target = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Some((osd, target))
}

fn guest_parts(
    facts: &Facts,
    asked: &Asked,
    running: Option<&[HostPath]>,
    budget: &mut Budget,
) -> Result<(), Stop> {
    let mut guests: BTreeMap<String, (Guest, String)> = BTreeMap::new();
    for path in running.unwrap_or_default() {
        let text = match told(facts, &Read::text(path))? {
            // It ended since its name was read.
            Some(Seen::Absent) => continue,
            Some(Seen::Node(Node { body: Some(Body::Bytes(bytes)), .. })) => bytes.text().map(str::to_owned),
            _ => None,
        };
        match text.as_deref().and_then(running_guest) {
            Some((name, guest)) => {
                guests.insert(name, (guest, "/run/libvirt/qemu".to_owned()));
            }
            // Networks and other state stand there too.
            None if text.is_some() => {}
            None => budget.unknown.push(format!("what {path} says of a guest cannot be read")),
        }
    }
    if running.is_none() {
        budget.unknown.push("which guests run is not known, and not counted".to_owned());
    }
    for (name, guest) in &asked.guests {
        guests.insert(name.clone(), (*guest, asked.source.clone()));
    }
    let mut sources: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
    for (name, (guest, source)) in guests.into_iter().filter(|(_, (guest, _))| !guest.of_huge_pages) {
        let sum = sources.entry(source).or_default();
        sum.0 = sum.0.saturating_add(guest.memory);
        sum.1.push(name);
    }
    budget.parts.extend(sources.into_iter().map(|(source, (bytes, names))| Part {
        what: match names.len() {
            1..=4 => format!("guests: {}", names.join(", ")),
            many => format!("{many} guests: {}, …", names[..3].join(", ")),
        },
        bytes,
        source,
    }));
    Ok(())
}

/// The guest that a file of libvirt's state tells: its name and memory.
fn running_guest(text: &str) -> Option<(String, Guest)> {
    let document = Document::parse(text).ok()?;
    let root = document.root();
    let domain = if root.tag_name().name() == "domain" { root } else { Element::new("domain").of(root)? };
    let name = text_of(Element::new("name").of(domain)?).trim().to_owned();
    Some((name, Guest::of(domain)?))
}
