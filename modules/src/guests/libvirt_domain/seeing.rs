//! What is looked at: the domains that a task means, and what of the host decides whether they can be so.
use super::LibvirtDomain;
use super::hugepages::Pools;
use super::problem::{Kind, Problems};
use super::wish::{Says, Selector};
use crate::argument::nearest;
use crate::files::place::known;
use crate::guests::process::{self, Process};
use crate::guests::virsh::{self, Version};
use crate::shape::CpuList;
use crate::vocabulary::{Facts, HostPath, Output, Read, Row, Stop, glob_matches};
use crate::xml::{Document, Part, text_of};
use roxmltree::Node;

/// The CPUs that the host runs on.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// A domain.
pub(super) struct Domain {
    /// Its uuid.
    pub(super) uuid: String,
    /// Its name.
    pub(super) name: String,
    /// What it is started with next.
    pub(super) inactive: String,
    /// The row that tells it.
    pub(super) inactive_row: Row,
    /// That row's answer.
    pub(super) output: Output,
    /// What it was started with, where it runs.
    pub(super) live: Option<String>,
    /// Its process, where it runs and can be looked at.
    pub(super) process: Option<Process>,
}

/// What is seen of the host.
pub(super) struct Sight {
    /// The version of libvirt.
    pub(super) libvirt: Option<Version>,
    /// The version of QEMU.
    pub(super) qemu: Option<Version>,
    /// Huge pages, where they are asked for.
    pub(super) pools: Option<Pools>,
    online: Option<CpuList>,
    /// Libraries that the environment names and the host lacks.
    missing: Vec<String>,
    /// Uuid and name of all domains.
    all: Vec<(String, String)>,
    active: Vec<String>,
}

impl Sight {
    /// Looks at the host; the first round.
    pub(super) fn of(task: &LibvirtDomain, facts: &Facts) -> Result<Self, Stop> {
        let (list, active, version) =
            (virsh::list(&task.uri), virsh::active(&task.uri), virsh::version(&task.uri));
        let mut reads: Vec<Read> = [&list, &active, &version].into_iter().cloned().map(Read::Ask).collect();
        let libraries = libraries(task)?;
        reads.extend(libraries.iter().map(|path| Read::Stat(path.clone())));
        let online = known(ONLINE)?;
        if task.cputune.is_some() {
            reads.push(Read::text(&online));
        }
        let wants_pages = super::hugepages::asked(task);
        if wants_pages {
            reads.extend(Pools::first_reads()?);
        }
        if task.sizes_memory() {
            reads.extend(crate::budget::first_reads()?);
        }
        facts.need(&reads)?;
        let (libvirt, qemu) = virsh::versions(&facts.output(&version)?.text());
        let online = match task.cputune {
            Some(_) => facts.value(&online)?.and_then(|text| CpuList::parse(&text).ok()),
            None => None,
        };
        let mut missing = Vec::new();
        for path in &libraries {
            if facts.stat(path)?.is_none() {
                missing.push(path.to_string());
            }
        }
        Ok(Self {
            libvirt,
            qemu,
            online,
            missing,
            all: all(task, &facts.output(&list)?)?,
            active: said(task, &facts.output(&active)?)?.lines().map(|line| line.trim().to_owned()).collect(),
            pools: if wants_pages { Some(Pools::of(facts)?) } else { None },
        })
    }

    /// The domains that the task means.
    pub(super) fn domains(&self, task: &LibvirtDomain, facts: &Facts) -> Result<Vec<Domain>, Stop> {
        let by_name: Vec<&(String, String)> =
            self.all.iter().filter(|domain| task.domains.iter().any(|one| named(one, domain))).collect();
        let says = task.domains.iter().any(|one| matches!(one, Selector::Says(_)));
        let looked: Vec<&(String, String)> = if says { self.all.iter().collect() } else { by_name.clone() };
        facts.need(&looked.iter().flat_map(|domain| self.reads(task, domain)).collect::<Vec<_>>())?;
        let mut chosen = Vec::new();
        let mut met = vec![0; task.domains.len()];
        for domain in looked {
            let row = virsh::inactive_xml(&task.uri, &domain.0);
            let output = facts.output(&row)?;
            let inactive = said(task, &output)?;
            let document =
                Document::parse(&inactive).map_err(|why| Stop::failed(format!("{}: {why}", domain.1)))?;
            is_domain(document.root(), &domain.1)?;
            let mut is_chosen = false;
            for (index, one) in task.domains.iter().enumerate() {
                if named(one, domain) || says_so(one, document.root()) {
                    met[index] += 1;
                    is_chosen = true;
                }
            }
            if is_chosen {
                chosen.push(self.domain(task, facts, domain, inactive.clone(), (row, output))?);
            }
        }
        let strangers: Vec<&Selector> =
            task.domains.iter().zip(&met).filter(|(_, count)| **count == 0).map(|(one, _)| one).collect();
        if strangers.is_empty() { Ok(chosen) } else { Err(self.nobody(task, &strangers)) }
    }

    fn reads(&self, task: &LibvirtDomain, (uuid, name): &(String, String)) -> Vec<Read> {
        let mut reads = vec![Read::Ask(virsh::inactive_xml(&task.uri, uuid))];
        if self.active.contains(uuid) {
            reads.push(Read::Ask(virsh::live_xml(&task.uri, uuid)));
            reads.extend(pid_file(task, name).map(|file| Read::Ask(process::look(&file))));
        }
        reads
    }

    fn domain(
        &self,
        task: &LibvirtDomain,
        facts: &Facts,
        (uuid, name): &(String, String),
        inactive: String,
        (inactive_row, output): (Row, Output),
    ) -> Result<Domain, Stop> {
        let (mut live, mut process) = (None, None);
        if self.active.contains(uuid) {
            let seen = facts.output(&virsh::live_xml(&task.uri, uuid))?;
            // One that ended since the list was made does not run.
            live = (seen.status == 0).then(|| seen.text());
            if let Some(file) = pid_file(task, name) {
                process = Process::of(facts, &file)?;
            }
        }
        Ok(Domain { uuid: uuid.clone(), name: name.clone(), inactive, inactive_row, output, live, process })
    }

    fn nobody(&self, task: &LibvirtDomain, strangers: &[&Selector]) -> Stop {
        let names: Vec<&str> = self.all.iter().map(|(_, name)| name.as_str()).collect();
        let mut near = None;
        let shown: Vec<String> = strangers
            .iter()
            .map(|one| match one {
                Selector::Name(name) => {
                    near = near.or_else(|| nearest(name, names.iter().copied()));
                    format!("`{name}`")
                }
                Selector::Says(says) => format!("{says:?}"),
            })
            .collect();
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let why = format!("no persistent domain of {} is {}", task.uri, shown.join(" or "));
        let has =
            if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        Stop::refused("domains", why)
            .way_out(format!("{near}{has}; a transient domain has no definition that would stay"))
    }

    /// Checks what a domain needs of the host.
    pub(super) fn check(&self, after: Node<'_, '_>, problems: &mut Problems) {
        for path in &self.missing {
            let why = format!("{path} is not on the host, and QEMU would not start with it");
            let way = "install the library first, or name the path that this distribution has";
            problems.add(Kind::CannotConverge, "environment", &why, way);
        }
        let Some(online) = &self.online else { return };
        let pins = Part::new("cputune").of(after).into_iter().flat_map(|node| node.children());
        for cpus in pins.filter_map(|pin| pin.attribute("cpuset")) {
            let Ok(cpus) = CpuList::parse(cpus) else { continue };
            let absent: Vec<String> =
                cpus.iter().filter(|cpu| !online.contains(*cpu)).map(|cpu| cpu.to_string()).collect();
            if !absent.is_empty() {
                let why = format!("CPU {} is not online here, {online} are", absent.join(", "));
                problems.add(Kind::CannotConverge, "cputune", &why, "pin to CPUs that the host has");
            }
        }
    }
}

/// Only the system's libvirt keeps its process files at a place that is known.
fn pid_file(task: &LibvirtDomain, name: &str) -> Option<String> {
    (task.uri == "qemu:///system").then(|| format!("/run/libvirt/qemu/{name}.pid"))
}

/// What an answer says; one that failed is a refusal.
fn said(task: &LibvirtDomain, output: &Output) -> Result<String, Stop> {
    if output.status == 0 {
        return Ok(output.text());
    }
    let words = match output.status {
        127 => "virsh is not installed".to_owned(),
        124 | 137 => "libvirt does not answer in time".to_owned(),
        _ => output.error_text().trim().to_owned(),
    };
    Err(Stop::refused("uri", format!("libvirt at {} cannot be asked: {words}", task.uri)).way_out(
        "`virsh -c URI list` on the host must answer for the acting user; set `become: true` or `uri`",
    ))
}

fn all(task: &LibvirtDomain, output: &Output) -> Result<Vec<(String, String)>, Stop> {
    let text = said(task, output)?;
    let pairs = text.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
    Ok(pairs.map(|(uuid, name)| (uuid.to_owned(), name.trim().to_owned())).collect())
}

/// What is to be edited is a domain, not a file around one.
pub(super) fn is_domain(root: Node<'_, '_>, name: &str) -> Result<(), Stop> {
    let found = root.tag_name().name();
    if found == "domain" {
        return Ok(());
    }
    Err(Stop::failed(format!("{name}: the root element is <{found}>, not <domain>"))
        .way_out("files below /run/libvirt hold the state of running guests and are never edited"))
}

fn named(one: &Selector, (uuid, name): &(String, String)) -> bool {
    match one {
        Selector::Name(pattern) => pattern == uuid || pattern == name || fits(pattern, name),
        Selector::Says(_) => false,
    }
}

/// Whether a pattern fits a text, as the shell takes names.
fn fits(pattern: &str, text: &str) -> bool {
    let flat = |text: &str| format!("/-{}", text.replace('/', "\u{1}"));
    HostPath::new(&flat(text)).is_ok_and(|path| glob_matches(&flat(pattern), &path))
}

fn says_so(one: &Selector, root: Node<'_, '_>) -> bool {
    let Selector::Says(Says { title, description, metadata, value }) = one else { return false };
    let text = |name: &str| Part::new(name).of(root).map(text_of);
    let own = |pattern: &Option<String>, name: &str| {
        pattern.as_ref().is_none_or(|pattern| text(name).is_some_and(|text| fits(pattern, &text)))
    };
    let element = metadata.as_ref().is_none_or(|name| {
        let list = Part::new("metadata").of(root);
        list.into_iter().flat_map(|list| list.descendants()).any(|node| {
            node.is_element()
                && node.tag_name().name() == name
                && value.as_ref().is_none_or(|pattern| fits(pattern, &text_of(node)))
        })
    });
    let asks = title.is_some() || description.is_some() || metadata.is_some();
    asks && own(title, "title") && own(description, "description") && element
}

/// The libraries that the environment names.
fn libraries(task: &LibvirtDomain) -> Result<Vec<HostPath>, Stop> {
    match task.environment.get("LD_PRELOAD") {
        Some(Some(value)) => process::libraries(&value.text()),
        _ => Ok(Vec::new()),
    }
}
