//! The change that a `kernel_args` task asks for, from facts alone.
use serde_json::json;

use super::amend::{Trouble, Wish};
use super::grub::Refusal;
use super::layout::{self, Layout, Unclear};
use super::line::Line;
use super::lints;
use super::seeing::{self, Found};
use super::standing::{self, Lines, Standing};
use super::token::Token;
use super::wishes::Said;
use super::writing::{self, Hindrance, Shown, Written};
use super::{KernelArgs, grub, pools};
use crate::budget::{self, Asked};
use crate::vocabulary::{
    Activation, Change, Claim, Content, Diff, Effect, Evidence, Facts, HostPath, Image, Mark, Meta, Read,
    Risk, RiskName, Row, Step, Stop,
};
use crate::vocabulary::{Owner, Token as ShownToken};

/// The change.
///
/// # Errors
/// Unread and late as facts say; refusals with the way out.
pub(super) fn plan(task: &KernelArgs, facts: &Facts) -> Result<Change, Stop> {
    let said = task.said().map_err(refuse_task)?;
    let wishes = said.wishes().map_err(refuse_task)?;
    let found = seeing::look(facts, &said.wanted())?;
    let layout = layout::detect(&found.signs, &found.reading).map_err(unclear)?;
    let mut written = writing::written(&found, &layout, &wishes, task.variable).map_err(hindered)?;
    // What an earlier task of this run writes is not generated yet; its own activation does that.
    if written.files.is_empty() && written.regenerate.is_some() && is_pending(facts, &found) {
        written.regenerate = None;
        written.notes.clear();
    }
    let declared = written.declared.clone();
    let mut change = change(&said, &wishes, facts, &found, &layout, written)?;
    if seeing::asks_pools(&said.wanted()) {
        memory(facts, &declared, &found.running, &mut change)?;
    }
    Ok(change)
}

/// Whether the host has the memory for the huge pages of the next boot. Pools that the running line does not name were
/// made since the boot, and are taken to be made again.
fn memory(facts: &Facts, declared: &Line, running: &Line, change: &mut Change) -> Result<(), Stop> {
    if change.steps.is_empty() {
        return Ok(());
    }
    let default = budget::default_page(facts)?;
    let mut pools = budget::pools_now(facts)?;
    let by_line = pools::counted(running, default);
    pools.retain(|size, _| !by_line.contains_key(size));
    pools.extend(pools::counted(declared, default));
    let source = "the kernel line after this task".to_owned();
    budget::judge(facts, &Asked { pools: Some(pools), source, ..Asked::default() }, change)
}

fn is_pending(facts: &Facts, found: &Found) -> bool {
    let mut paths = found.real.values().cloned().chain(HostPath::new(grub::OURS));
    paths.any(|path| facts.planned_act(&path).is_some())
}

fn change(
    said: &Said,
    wishes: &[Wish],
    facts: &Facts,
    found: &Found,
    layout: &Layout,
    written: Written,
) -> Result<Change, Stop> {
    let mut steps = Vec::new();
    for file in &written.files {
        steps.push(step(said, facts, found, &file.path, &file.after)?);
    }
    let regenerate = written.regenerate.as_ref().map(|made| Row::new(made.row, made.args.clone()));
    let standings = standings(wishes, found, &written);
    let waiting: Vec<&Standing> = standings.iter().filter(|standing| !standing.live).collect();
    let wanted = said.wanted();
    let changes = !steps.is_empty() || regenerate.is_some();
    let mut notes: Vec<String> = lints::lints(&wanted, &written.declared, &found.ground)
        .into_iter()
        .map(|lint| format!("`{}` {}", lint.arg, lint.text))
        .collect();
    notes.extend(
        lints::needed_to_boot(&said.absent).into_iter().map(|lint| format!("`{}` {}", lint.arg, lint.text)),
    );
    notes.extend(written.notes.iter().cloned());
    if !waiting.is_empty() {
        let names: Vec<&str> = waiting.iter().map(|standing| standing.arg.as_str()).collect();
        notes.push(format!("a reboot is needed before this is live: {}", names.join(", ")));
    }
    let evidence = standings.iter().map(|standing| evidence(standing, !changes)).collect();
    let risks = lints::weakening(&wanted)
        .into_iter()
        .filter(|_| changes)
        .map(|lint| Risk { name: RiskName::Security, why: format!("`{}`: {}", lint.arg, lint.text) });
    Ok(Change {
        result: json!({
            "layout": layout_name(layout),
            "line": written.declared.to_string(),
            "args": standings,
            "reboot_needed": !waiting.is_empty(),
            "files": written.files.iter().map(|file| &file.path).collect::<Vec<_>>(),
        }),
        steps,
        then: regenerate.into_iter().map(Activation::Regenerate).collect(),
        // What the kernel runs with already, such as a line on trial, is only made to last.
        effect: if changes && !waiting.is_empty() { Effect::HostReboot } else { Effect::Now },
        risks: risks.collect(),
        diff: written.shown.iter().map(tokens).collect(),
        notes,
        evidence,
        ..Change::default()
    })
}

/// The running kernel's command line is the proof, not the files.
fn evidence(standing: &Standing, written: bool) -> Evidence {
    let what = if standing.wanted { "the kernel runs with" } else { "the kernel runs without" };
    let seen = standing.running.clone().unwrap_or_else(|| "not on it".to_owned());
    let stands = (standing.live, written);
    Evidence::told(format!("{what} {}", standing.arg), "/proc/cmdline", stands, seen, Effect::HostReboot)
}

fn layout_name(layout: &Layout) -> &'static str {
    match layout {
        Layout::Grub { .. } => "grub",
        Layout::GrubEntries { .. } => "grub with boot entries",
        Layout::Entries => "boot entries",
        Layout::Proxmox { .. } => "proxmox-boot-tool",
    }
}

fn step(said: &Said, facts: &Facts, found: &Found, name: &str, after: &[u8]) -> Result<Step, Stop> {
    let path = match found.real.get(name) {
        Some(real) => real.clone(),
        None => HostPath::new(name).map_err(Stop::failed)?,
    };
    let before = facts.get(&Read::text(&path))?;
    let meta = match facts.node(&path)? {
        Some(_) => Meta::default(),
        None => Meta { mode: Some(0o644), owner: Some(Owner::Id(0)), group: Some(Owner::Id(0)) },
    };
    let keys: Vec<String> = said.keys().iter().map(|key| key.as_str().to_owned()).collect();
    let part = format!("kernel_args:{}", if keys.is_empty() { "tidy".to_owned() } else { keys.join(",") });
    let image = Image::File { content: Content::Bytes(after.into()), meta };
    Ok(Step::put(Claim::part(&path, &part), path, before, image))
}

fn standings(wishes: &[Wish], found: &Found, written: &Written) -> Vec<Standing> {
    let lines =
        Lines { declared: &written.declared, next_boot: written.next_boot.as_ref(), running: &found.running };
    wishes.iter().filter_map(|wish| standing::of(wish, lines)).collect()
}

/// The line token by token: what stays, what comes, what goes, and where each is written.
fn tokens(shown: &Shown) -> Diff {
    let raws = |side: &[(Token, Option<String>)]| -> Vec<String> {
        side.iter().map(|(token, _)| token.raw().to_owned()).collect()
    };
    let (before, after) = (raws(&shown.before), raws(&shown.after));
    let mut tokens = Vec::new();
    let of = |side: &[(Token, Option<String>)], at: usize, mark: Mark| ShownToken {
        text: side[at].0.raw().to_owned(),
        mark,
        origin: side[at].1.clone(),
    };
    for op in similar::capture_diff_slices(similar::Algorithm::Myers, &before, &after) {
        match op.tag() {
            similar::DiffTag::Equal => {
                tokens.extend(op.new_range().map(|at| of(&shown.after, at, Mark::Same)));
            }
            _ => {
                tokens.extend(op.old_range().map(|at| of(&shown.before, at, Mark::Removed)));
                tokens.extend(op.new_range().map(|at| of(&shown.after, at, Mark::Added)));
            }
        }
    }
    Diff::Tokens { name: shown.name.clone(), tokens }
}

/// A refusal of what the task says: all faults in one, the first one's argument named.
fn refuse_task(faults: Vec<super::wishes::Fault>) -> Stop {
    let argument = faults.first().map_or("args", |fault| fault.argument);
    let why: Vec<String> = faults.iter().map(|fault| fault.why.clone()).collect();
    let ways: Vec<String> = faults.into_iter().filter_map(|fault| fault.way_out).collect();
    with_ways(Stop::refused(argument, why.join("; ")), ways)
}

fn with_ways(stop: Stop, mut ways: Vec<String>) -> Stop {
    ways.dedup();
    if ways.is_empty() { stop } else { stop.way_out(ways.join("; ")) }
}

fn hindered(hindrances: Vec<Hindrance>) -> Stop {
    let mut whys = Vec::new();
    let mut ways = Vec::new();
    for Hindrance { path, refusal } in hindrances {
        let (why, way) = explained(&path, refusal);
        whys.push(why);
        ways.push(way);
    }
    whys.dedup();
    with_ways(Stop::refused("args", whys.join("; ")), ways)
}

fn explained(path: &str, refusal: Refusal) -> (String, String) {
    match refusal {
        Refusal::Broken { path, line, what } => (
            format!("{path} line {line}: {what}"),
            "mend the file by hand; the boot loader's tools fail on it too".to_owned(),
        ),
        Refusal::Unproven { args, because } => {
            let because =
                if because.is_empty() { String::new() } else { format!(": {}", because.join("; ")) };
            (
                format!("{path} cannot be edited so that {} surely counts{because}", args.join(" ")),
                "let the file set its variables by plain assignments, behind the code".to_owned(),
            )
        }
        Refusal::Trouble(Trouble::Repeats { key, present }) => {
            let present: Vec<&str> = present.iter().map(Token::raw).collect();
            (
                format!("`{key}` may stand more than once, and {path} has {}", present.join(" ")),
                "say `add:` to keep what is there, or `replace:` to have only yours".to_owned(),
            )
        }
        Refusal::Trouble(Trouble::Unknown { key }) => (
            format!("code in {path} may set `{key}`, so it cannot be taken away for sure"),
            "take it out of the code by hand".to_owned(),
        ),
        Refusal::Trouble(Trouble::Brought { key, by }) => (
            format!("`{key}` comes by the boot loader's variable {by}"),
            "change the TuneD profile (or what else sets that variable) instead".to_owned(),
        ),
        Refusal::Trouble(Trouble::WhichPool { sizes }) => (
            format!("`hugepages` alone could mean any of {}", sizes.join(", ")),
            "name the size: `hugepagesz=1G hugepages=16`".to_owned(),
        ),
    }
}

fn unclear(why: Unclear) -> Stop {
    match why {
        Unclear::Nothing => {
            Stop::failed("no boot loader is known here: neither GRUB's files, nor boot entries, nor /etc/kernel/cmdline")
                .way_out("a container or a guest booted from outside has its kernel line outside; leave the task out there")
        }
        Unclear::Unified(images) => {
            Stop::failed(format!("the kernel line is inside unified images: {}", images.join(", ")))
                .way_out("change /etc/kernel/cmdline by `lineinfile` and build the images by a `command` with an `undo:`")
        }
        Unclear::NoMkconfig => Stop::failed("/etc/default/grub is there, but neither grub-mkconfig nor grub2-mkconfig")
            .way_out("install the package grub2-common (Debian) or grub2-tools (RHEL, SUSE) by an earlier task"),
        Unclear::NoConfiguration => {
            Stop::failed("there is no grub.cfg under /boot, so it is not known which file GRUB reads")
                .way_out("run the distribution's grub-mkconfig once by hand, with the path it uses")
        }
    }
}
