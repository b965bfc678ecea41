//! What the module looks at on a host, and what it makes of the answers.
use std::collections::BTreeMap;

use super::environment_block::Block;
use super::grub::{DROP_INS, MAIN, OURS};
use super::layout::{Mkconfig, Signs};
use super::line::Line;
use super::lints::{self, Ground, Vendor};
use super::plain::entry_lines;
use super::shell::script::{Reading, Script};
use super::token::Token;
use crate::files::place::{self, known};
use crate::vocabulary::{Facts, HostPath, Look, Read, Row, Seen, Stop, missing};

const MKCONFIGS: [(&str, &str); 2] =
    [("/usr/sbin/grub-mkconfig", "grub-mkconfig"), ("/usr/sbin/grub2-mkconfig", "grub2-mkconfig")];
const CONFIGS: [&str; 2] = ["/boot/grub2/grub.cfg", "/boot/grub/grub.cfg"];
const EFI_CONFIGS: &str = "/boot/efi/EFI/*/grub.cfg";
const BLOCKS: [&str; 2] = ["/boot/grub2/grubenv", "/boot/grub/grubenv"];
const ENTRIES: [&str; 3] =
    ["/boot/loader/entries/*.conf", "/efi/loader/entries/*.conf", "/boot/efi/loader/entries/*.conf"];
const UNIFIED: [&str; 2] = ["/efi/EFI/Linux/*.efi", "/boot/efi/EFI/Linux/*.efi"];
const TUNED: &str = "/etc/tuned/bootcmdline";
/// Where kernel-install finds the line for new entries.
pub(super) const KERNEL_CMDLINE: &str = "/etc/kernel/cmdline";
const UPDATE_GRUB: &str = "/usr/sbin/update-grub";
const PROXMOX: &str = "/etc/kernel/proxmox-boot-uuids";
const OSTREE: &str = "/run/ostree-booted";
const RUNNING: &str = "/proc/cmdline";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const PRESENT: &str = "/sys/devices/system/cpu/present";

/// A text file, links followed.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// Where it really is.
    pub(super) path: HostPath,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
}

/// Everything that the plan is made from.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) reading: Reading,
    /// For each path that a script was asked by, where it really is.
    pub(super) real: BTreeMap<String, HostPath>,
    pub(super) signs: Signs,
    /// The boot entries, rescue entries left out.
    pub(super) entries: Vec<Text>,
    /// The rescue entries that stay as they are.
    pub(super) rescue: Vec<HostPath>,
    pub(super) block: Option<Text>,
    pub(super) kernel_cmdline: Option<Text>,
    /// What the boot loader's variables hold.
    pub(super) references: BTreeMap<String, Vec<Token>>,
    pub(super) running: Line,
    pub(super) ground: Ground,
}

/// What must be looked at: everything that can be named at once, then what patterns and links name.
pub(super) fn reads(seen: &Facts, wanted: &[Token]) -> Vec<Read> {
    let mut reads = Vec::new();
    let texts = [MAIN, OURS, KERNEL_CMDLINE, TUNED, RUNNING];
    let mkconfigs = MKCONFIGS.map(|(path, _)| path);
    for text in texts.iter().chain(&mkconfigs).chain(&CONFIGS).chain(&BLOCKS) {
        if let Ok(path) = HostPath::new(text) {
            follow(seen, path, &mut reads);
        }
    }
    for text in [UPDATE_GRUB, PROXMOX, OSTREE] {
        reads.extend(HostPath::new(text).ok().map(Read::Stat));
    }
    let drop_ins = format!("{DROP_INS}/*.cfg");
    for pattern in ENTRIES.iter().chain([&EFI_CONFIGS, &drop_ins.as_str()]) {
        let read = Read::Glob((*pattern).to_owned());
        if let Look::Seen(Seen::Names(names)) = seen.look(&read) {
            names.into_iter().for_each(|name| follow(seen, name, &mut reads));
        }
        reads.push(read);
    }
    reads.extend(UNIFIED.iter().map(|pattern| Read::Glob((*pattern).to_owned())));
    if asks_pools(wanted) {
        reads.extend(crate::budget::first_reads().unwrap_or_default());
    }
    if lints::asks_cpus(wanted) {
        reads.extend(HostPath::new(PRESENT).ok().map(|path| Read::text(&path)));
    }
    if lints::asks_vendor(wanted) {
        reads.push(Read::Ask(lscpu()));
    }
    if lints::asks_config(wanted)
        && let Ok(path) = HostPath::new(RELEASE)
    {
        let read = Read::text(&path);
        if let Look::Seen(Seen::Value(release)) = seen.look(&read) {
            reads.push(Read::Ask(kernel_config(&release)));
        }
        reads.push(read);
    }
    reads
}

/// Whether huge pages are asked for.
pub(super) fn asks_pools(wanted: &[Token]) -> bool {
    wanted.iter().any(|token| super::pools::is_part(&token.key()))
}

/// The reads of a text and, where it is a link, of what it leads to.
fn follow(seen: &Facts, path: HostPath, reads: &mut Vec<Read>) {
    reads.push(Read::text(&path));
    reads.extend(missing(seen.resolve(&path)));
}

fn lscpu() -> Row {
    Row::new("lscpu", Vec::<String>::new())
}

fn kernel_config(release: &str) -> Row {
    Row::new("kernel-config-init", [format!("/boot/config-{}", release.trim())])
}

/// Makes the answers into what the plan is made from.
///
/// # Errors
/// Unread and late as facts say; a file that is there but cannot be read is a refusal, never "not there".
pub(super) fn look(facts: &Facts, wanted: &[Token]) -> Result<Found, Stop> {
    facts.need(&reads(facts, wanted))?;
    if facts.stat(&known(OSTREE)?)?.is_some() {
        return Err(Stop::failed(
            "this host is an ostree deployment, whose kernel line belongs to the deployment",
        )
        .way_out("change it by `rpm-ostree kargs` in a `command` task with an `undo:`"));
    }
    let mut real = BTreeMap::new();
    let reading = scripts(facts, &mut real)?;
    let signs = signs(facts, &reading)?;
    let (mut entries, mut rescue) = (Vec::new(), Vec::new());
    for pattern in ENTRIES {
        for name in facts.names(pattern)? {
            // A line on trial is not one that new kernels get.
            if name.as_str().contains(super::try_boot::ID) {
                continue;
            }
            match (name.as_str().contains("rescue"), text(facts, &name)?) {
                (true, _) => rescue.push(name),
                (false, Some(entry)) if entries.iter().all(|other: &Text| other.path != entry.path) => {
                    entries.push(entry);
                }
                (false, _) => {}
            }
        }
    }
    let mut block = None;
    for name in BLOCKS {
        block = block.or(text(facts, &known(name)?)?);
    }
    let references = references(facts, block.as_ref())?;
    let running = facts.value(&known(RUNNING)?)?.unwrap_or_default();
    Ok(Found {
        reading,
        real,
        signs: Signs { entries: entries.len(), ..signs },
        entries,
        rescue,
        block,
        kernel_cmdline: text(facts, &known(KERNEL_CMDLINE)?)?,
        references,
        running: Line::read(&running),
        ground: ground(facts, wanted)?,
    })
}

/// A file's text with links followed; none where nothing is there.
fn text(facts: &Facts, name: &HostPath) -> Result<Option<Text>, Stop> {
    let place = place::at(facts, name)?;
    let bytes = place.bytes()?;
    Ok(bytes.map(|bytes| Text { path: place.path, bytes: bytes.as_slice().to_vec() }))
}

fn scripts(facts: &Facts, real: &mut BTreeMap<String, HostPath>) -> Result<Reading, Stop> {
    let mut names = vec![known(MAIN)?];
    names.extend(match mkconfig(facts)? {
        Some(Mkconfig { drop_ins: true, .. }) => facts.names(&format!("{DROP_INS}/*.cfg"))?,
        _ => Vec::new(),
    });
    let mut scripts = Vec::new();
    for name in names {
        if let Some(text) = text(facts, &name)? {
            real.insert(name.as_str().to_owned(), text.path);
            scripts.push(Script { path: name.as_str().to_owned(), bytes: text.bytes });
        }
    }
    Ok(Reading::of(scripts))
}

fn mkconfig(facts: &Facts) -> Result<Option<Mkconfig>, Stop> {
    for (name, program) in MKCONFIGS {
        if let Some(text) = text(facts, &known(name)?)? {
            return Ok(Some(Mkconfig::read(program, &String::from_utf8_lossy(&text.bytes))));
        }
    }
    Ok(None)
}

fn signs(facts: &Facts, reading: &Reading) -> Result<Signs, Stop> {
    let mut unified = Vec::new();
    for pattern in UNIFIED {
        unified.extend(facts.names(pattern)?.into_iter().map(|name| name.as_str().to_owned()));
    }
    let mut configs = Vec::new();
    for name in CONFIGS {
        configs.extend(text(facts, &known(name)?)?);
    }
    // RHEL 8 by EFI keeps the whole configuration there; elsewhere only a stub stands there.
    let mut efi = Vec::new();
    for name in facts.names(EFI_CONFIGS)? {
        let found = text(facts, &name)?;
        efi.extend(found.filter(|found| !String::from_utf8_lossy(&found.bytes).contains("configfile")));
    }
    let chosen = match (efi.len(), configs.is_empty()) {
        (1, _) => efi.pop(),
        _ => configs.into_iter().next(),
    };
    let grub_cfg =
        chosen.map(|text| (text.path.as_str().to_owned(), String::from_utf8_lossy(&text.bytes).into_owned()));
    Ok(Signs {
        mkconfig: mkconfig(facts)?,
        update_grub: facts.stat(&known(UPDATE_GRUB)?)?.is_some(),
        default_grub: reading.scripts.iter().any(|script| script.path == MAIN),
        grub_cfg,
        entries: 0,
        kernel_cmdline: facts.node(&known(KERNEL_CMDLINE)?)?.is_some(),
        proxmox: facts.stat(&known(PROXMOX)?)?.is_some(),
        unified,
    })
}

/// `$kernelopts` and `$tuned_params`, from the environment block and from TuneD's own file.
fn references(facts: &Facts, block: Option<&Text>) -> Result<BTreeMap<String, Vec<Token>>, Stop> {
    let mut found = BTreeMap::new();
    if let Some(block) = block.and_then(|text| Block::read(&text.bytes)) {
        for name in ["kernelopts", "tuned_params"] {
            if let Some(value) = block.get(name) {
                found.insert(format!("${name}"), Line::read(&value).args);
            }
        }
    }
    if let Some(text) = text(facts, &known(TUNED)?)? {
        let script = Script { path: TUNED.to_owned(), bytes: text.bytes };
        let value = Reading::of(vec![script]).value("TUNED_BOOT_CMDLINE").map(|value| value.likely());
        if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
            found.entry("$tuned_params".to_owned()).or_insert_with(|| Line::read(&value).args);
        }
    }
    Ok(found)
}

fn ground(facts: &Facts, wanted: &[Token]) -> Result<Ground, Stop> {
    let mut ground = Ground::default();
    if lints::asks_cpus(wanted) {
        let present = facts.value(&known(PRESENT)?)?;
        let cpus = present.and_then(|text| crate::shape::CpuList::parse(&text).ok());
        ground.cpus = cpus.and_then(|cpus| cpus.iter().last()).map(|last| last + 1);
    }
    if lints::asks_vendor(wanted)
        && let Ok(output) = facts.output(&lscpu())
    {
        let text = output.text();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let fields = json.get("lscpu").and_then(|fields| fields.as_array());
        let vendor = fields.and_then(|fields| {
            fields.iter().find(|field| field.get("field").is_some_and(|name| name == "Vendor ID:"))
        });
        ground.vendor = vendor.and_then(|field| field.get("data")?.as_str()).map(Vendor::named);
    }
    if lints::asks_config(wanted)
        && let Some(release) = facts.value(&known(RELEASE)?)?
        && let Ok(output) = facts.output(&kernel_config(&release))
        && output.status < 2
    {
        let text = output.text();
        let set =
            |option: &str| Some(text.lines().any(|line| line == format!("CONFIG_{option}_DEFAULT_ON=y")));
        ground.init_on_alloc_default = set("INIT_ON_ALLOC");
        ground.init_on_free_default = set("INIT_ON_FREE");
    }
    Ok(ground)
}

/// The line that a boot entry boots, the loader's variables put in.
pub(super) fn entry_line(bytes: &[u8], references: &BTreeMap<String, Vec<Token>>) -> Line {
    let plain = super::plain::Plain::of(bytes, &entry_lines(bytes));
    resolved(plain.tokens(), references)
}

/// A line with the boot loader's variables put in.
pub(super) fn resolved<'a>(
    tokens: impl IntoIterator<Item = &'a Token>,
    references: &BTreeMap<String, Vec<Token>>,
) -> Line {
    let mut line = Line::default();
    for token in tokens {
        match token.is_reference() {
            true => line.args.extend(references.get(token.raw()).cloned().unwrap_or_default()),
            false => line.args.push(token.clone()),
        }
    }
    line
}
