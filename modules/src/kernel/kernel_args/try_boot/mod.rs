//! Try-boot: the new kernel line is booted once, and becomes the default only after the host came back with it.
//!
//! What is written first is a trial entry and the boot loader's one-shot; the files that the default is made of are
//! written afterwards, by the task itself. So whatever goes wrong in between, the next boot is the old one.
mod custom;
mod grub;
mod loader;
mod menu;

use super::layout::{self, Layout};
use super::line::Line;
use super::seeing::{self, Found};
use super::token::Token;
use super::writing::{self, Written};
use crate::files::place::known;
use crate::vocabulary::{Bytes, Claim, Facts, HostPath, Read, Step, Stop};

/// The name of the trial entry.
pub(super) const ID: &str = "tunerun-trial";

/// The argument that only the line of a trial has; the kernel passes over names with a dot that no module has.
const MARK: &str = "tunerun.trial";

/// How long the kernel stays in a panic before it boots again, in seconds.
const PANIC: &str = "panic=30";

/// Where there is a watchdog, systemd lets it bite after this time (systemd 250; others pass over it).
const WATCHDOG: &str = "systemd.watchdog_sec=2min";

const WATCHDOGS: &str = "/dev/watchdog*";
const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// Whether a new kernel line can be booted once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// It can.
    Possible(TryBoot),
    /// It cannot: why.
    Impossible(String),
}

/// How a new kernel line is booted once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryBoot {
    /// What lets the boot loader take the trial entry at the next boot alone, in order.
    pub steps: Vec<Step>,
    /// The word on `/proc/cmdline` that tells the trial from all other boots.
    pub mark: String,
    /// What boots it once, in words.
    pub by: String,
    /// The line on trial.
    pub line: String,
}

/// How the line that the files say (with what earlier tasks plan to write) is booted once.
///
/// # Errors
/// Unread and late as facts say. Where it is not possible, that is an answer, not an error.
pub fn trial(facts: &Facts) -> Result<Trial, Stop> {
    let found = seeing::look(facts, &[])?;
    let impossible = |why: &str| Ok(Trial::Impossible(why.to_owned()));
    let Ok(layout) = layout::detect(&found.signs, &found.reading) else {
        return impossible("no boot loader is known here");
    };
    let Ok(written) = writing::written(&found, &layout, &[], super::grub::Variable::Auto) else {
        return impossible("what the files say cannot be told");
    };
    facts.need(&first_reads()?)?;
    let watchdog = !facts.names(WATCHDOGS)?.is_empty();
    let asked = Asked { facts, found: &found, written: &written, watchdog };
    match &layout {
        Layout::Grub { .. } => grub::generated(&asked),
        Layout::GrubEntries { .. } => grub::entries(&asked),
        Layout::Entries => loader::trial(&asked),
        Layout::Proxmox { .. } => impossible(
            "`proxmox-boot-tool` copies kernels and lines to boot partitions of its own, where nothing is cleared",
        ),
    }
}

/// What can be named before the boot loader is known: one round for all of it, and for what takes the entry away.
fn first_reads() -> Result<Vec<Read>, Stop> {
    let mut reads = vec![Read::Glob(WATCHDOGS.to_owned()), Read::text(&known(RELEASE)?)];
    reads.extend(custom::reads()?);
    reads.extend(loader::reads()?);
    Ok(reads)
}

/// What takes a trial entry away again; nothing where there is none.
///
/// # Errors
/// Unread and late as facts say.
pub fn over(facts: &Facts) -> Result<Vec<Step>, Stop> {
    facts.need(&first_reads()?)?;
    let mut steps = custom::over(facts)?;
    steps.extend(loader::over(facts)?);
    Ok(steps)
}

/// Whether a claim is the boot loader's one-shot.
pub fn is_one_shot(claim: &Claim) -> bool {
    matches!(claim.as_str(), "grub/next_entry" | "systemd-boot/one-shot")
}

/// What a trial is made from.
struct Asked<'a> {
    facts: &'a Facts,
    found: &'a Found,
    written: &'a Written,
    watchdog: bool,
}

impl Asked<'_> {
    /// The line on trial and its mark: what shall be booted, what lets a panic end, and what tells this boot.
    fn line(&self, prefix: &[Token]) -> (String, String) {
        let mut words: Vec<&str> = prefix.iter().chain(&self.written.declared.args).map(Token::raw).collect();
        words.push(PANIC);
        if self.watchdog {
            words.push(WATCHDOG);
        }
        let digest = Bytes::from(words.join(" ")).digest().to_string();
        let mark = format!("{MARK}={}", digest.get(..12).unwrap_or(&digest));
        words.push(&mark);
        (words.join(" "), mark)
    }
}

/// The arguments that `grub-mkconfig` itself puts before those of the files.
fn prefix(line: &Line) -> Vec<Token> {
    let own = |token: &&Token| {
        matches!(token.key().as_str(), "root" | "ro" | "rw" | "rootflags" | "rootfstype" | "boot")
    };
    line.args.iter().take_while(own).cloned().collect()
}

/// The real place of a file, its text, and the text without our own part; none where no file is there.
fn text(facts: &Facts, path: &HostPath) -> Result<(HostPath, Option<String>), Stop> {
    let place = crate::files::place::at(facts, path)?;
    let bytes = place.bytes()?;
    let text = bytes.map(|bytes| String::from_utf8_lossy(bytes.as_slice()).into_owned());
    Ok((place.path, text))
}

/// The folder of a path as text.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The version of the running kernel.
fn release(facts: &Facts) -> Result<String, Stop> {
    Ok(facts.value(&known(RELEASE)?)?.unwrap_or_default().trim().to_owned())
}
