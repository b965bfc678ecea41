//! Which files must hold what, for each boot layout.
use std::collections::BTreeMap;

use super::amend::{Trouble, Wish};
use super::environment_block::Block;
use super::grub::{self, Asked, BootLine, Refusal, Variable};
use super::layout::{Layout, Regenerate, generated_lines};
use super::line::Line;
use super::plain::{Plain, cmdline_lines, entry_lines};
use super::seeing::{Found, KERNEL_CMDLINE, Text, entry_line, resolved};
use super::shell::script::{Reading, Script};
use super::standing;
use super::token::Token;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    /// Its path as people know it.
    pub(super) path: String,
    /// Its bytes as wished.
    pub(super) after: Vec<u8>,
}

/// One line before and after, each argument with where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) before: Vec<(Token, Option<String>)>,
    pub(super) after: Vec<(Token, Option<String>)>,
}

/// What must be written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub(super) files: Vec<Write>,
    pub(super) regenerate: Option<Regenerate>,
    pub(super) shown: Vec<Shown>,
    /// What the files say afterwards.
    pub(super) declared: Line,
    /// What will be booted afterwards, where that is known.
    pub(super) next_boot: Option<Line>,
    pub(super) notes: Vec<String>,
}

/// Something that cannot be done, with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hindrance {
    pub(super) path: String,
    pub(super) refusal: Refusal,
}

/// Works out the files for a layout.
pub(super) fn written(
    found: &Found,
    layout: &Layout,
    wishes: &[Wish],
    variable: Variable,
) -> Result<Written, Vec<Hindrance>> {
    let mut written = Written::default();
    let asked = Asked {
        wishes,
        variable,
        references: &found.references,
        drop_ins: found.signs.mkconfig.as_ref().is_some_and(|mkconfig| mkconfig.drop_ins),
    };
    let hindrances = match layout {
        Layout::Grub { regenerate, .. } => grub_files(found, asked, regenerate, &mut written),
        Layout::GrubEntries { update_bls_flag } => grub_entries(found, asked, *update_bls_flag, &mut written),
        Layout::Entries => loader_entries(found, wishes, &mut written),
        Layout::Proxmox { .. } => proxmox(found, asked, &mut written),
    };
    if !found.rescue.is_empty() && !written.files.is_empty() {
        let names: Vec<&str> = found.rescue.iter().map(|path| path.as_str()).collect();
        written.notes.push(format!("rescue entries stay as they are, as a way back: {}", names.join(", ")));
    }
    if hindrances.is_empty() { Ok(written) } else { Err(hindrances) }
}

fn grub_files(
    found: &Found,
    asked: Asked<'_>,
    regenerate: &Regenerate,
    written: &mut Written,
) -> Vec<Hindrance> {
    let hindrances = shell(found, asked, written).err().unwrap_or_default();
    generated(found, asked.wishes, regenerate, written);
    hindrances
}

fn grub_entries(
    found: &Found,
    asked: Asked<'_>,
    update_bls_flag: bool,
    written: &mut Written,
) -> Vec<Hindrance> {
    let mut hindrances = Vec::new();
    let references = block(found, asked.wishes, written).unwrap_or_else(|more| {
        hindrances.extend(more);
        found.references.clone()
    });
    hindrances.extend(entries(found, asked.wishes, &references, written).err().into_iter().flatten());
    hindrances.extend(kernel_cmdline(found, asked.wishes, written).err().into_iter().flatten());
    // What boots is what the entries say; the default file is for entries that are made later.
    let (declared, next_boot) = (written.declared.clone(), written.next_boot.clone());
    if found.signs.default_grub {
        hindrances.extend(shell(found, asked, written).err().into_iter().flatten());
    }
    (written.declared, written.next_boot) = (declared, next_boot);
    if !written.files.is_empty() {
        let how = match update_bls_flag {
            true => "only `--update-bls-cmdline` lets grub2-mkconfig rewrite the entries",
            false => "grub2-mkconfig rewrites the entries from that file",
        };
        written.notes.push(format!(
            "GRUB reads boot entries here, so the entries and {} are written alike ({how}); nothing has to be \
             generated",
            grub::MAIN
        ));
    }
    hindrances
}

fn loader_entries(found: &Found, wishes: &[Wish], written: &mut Written) -> Vec<Hindrance> {
    let mut hindrances = entries(found, wishes, &found.references, written).err().unwrap_or_default();
    hindrances.extend(kernel_cmdline(found, wishes, written).err().into_iter().flatten());
    if found.kernel_cmdline.is_none() && !written.files.is_empty() {
        written.notes.push(format!(
            "there is no {KERNEL_CMDLINE}: kernel-install copies the running line into the entries of new kernels, so \
             a kernel that is installed before the next boot lacks what is changed here"
        ));
    }
    hindrances
}

fn proxmox(found: &Found, asked: Asked<'_>, written: &mut Written) -> Vec<Hindrance> {
    let mut hindrances = kernel_cmdline(found, asked.wishes, written).err().unwrap_or_default();
    let declared = written.declared.clone();
    if found.signs.default_grub {
        hindrances.extend(shell(found, asked, written).err().into_iter().flatten());
    }
    if found.kernel_cmdline.is_some() {
        written.declared = declared;
    }
    if !written.files.is_empty() {
        written.regenerate = Some(Regenerate { row: "proxmox-boot-refresh", args: Vec::new() });
        written.next_boot = Some(written.declared.clone());
    }
    hindrances
}

/// `/etc/default/grub` and its drop-ins.
fn shell(found: &Found, asked: Asked<'_>, written: &mut Written) -> Result<(), Vec<Hindrance>> {
    let files = grub::rewrite(&found.reading, asked).map_err(|refusals| {
        let path = grub::MAIN.to_owned();
        refusals.into_iter().map(|refusal| Hindrance { path: path.clone(), refusal }).collect::<Vec<_>>()
    })?;
    let mut scripts = found.reading.scripts.clone();
    for file in &files {
        match scripts.iter_mut().find(|script| script.path == file.path) {
            Some(script) => script.bytes.clone_from(&file.after),
            None => scripts.push(Script { path: file.path.clone(), bytes: file.after.clone() }),
        }
    }
    scripts.sort_by_key(|script| (script.path != grub::MAIN, script.path.clone()));
    let after = Reading::of(scripts);
    let name = format!("kernel line ({} + {})", grub::VARIABLES[0], grub::VARIABLES[1]);
    if !files.is_empty() {
        written.shown.push(Shown { name, before: placed(&found.reading), after: placed(&after) });
    }
    written.declared = resolved(&BootLine::of(&after).line().args, &found.references);
    written.files.extend(files.into_iter().map(|file| Write { path: file.path, after: file.after }));
    Ok(())
}

pub(super) fn placed(reading: &Reading) -> Vec<(Token, Option<String>)> {
    let line = BootLine::of(reading);
    let tokens = line.slots.iter().enumerate();
    tokens.filter_map(|(at, slot)| Some((slot.token.clone()?, line.origin(reading, at)))).collect()
}

/// Whether the generated configuration already boots what the files say; else it is made again.
fn generated(found: &Found, wishes: &[Wish], regenerate: &Regenerate, written: &mut Written) {
    if !written.files.is_empty() {
        written.regenerate = Some(regenerate.clone());
        written.next_boot = Some(written.declared.clone());
        return;
    }
    let Some((path, text)) = &found.signs.grub_cfg else { return };
    let Some(first) = generated_lines(text).into_iter().next() else { return };
    let line = resolved(&Line::read(&first).args, &found.references);
    // Tidiness is the files' matter; what counts at boot is asked here.
    let boots = wishes.iter().all(|wish| matches!(wish, Wish::Tidy) || standing::holds(wish, &line));
    if !boots {
        written.regenerate = Some(regenerate.clone());
        written.next_boot = Some(written.declared.clone());
        written.notes.push(format!("{path} does not boot yet what the files say, so it is made again"));
    } else {
        written.next_boot = Some(line);
    }
}

/// `kernelopts` in GRUB's environment block, where an entry uses it (RHEL 8). Gives the variables afterwards.
fn block(
    found: &Found,
    wishes: &[Wish],
    written: &mut Written,
) -> Result<BTreeMap<String, Vec<Token>>, Vec<Hindrance>> {
    let mut references = found.references.clone();
    let uses = found.entries.iter().any(uses_kernelopts);
    let Some(text) = found.block.as_ref().filter(|_| uses) else { return Ok(references) };
    let path = text.path.as_str().to_owned();
    let hinder = |refusal| vec![Hindrance { path: path.clone(), refusal }];
    let broken = |what: String| hinder(Refusal::Broken { path: path.clone(), line: 1, what });
    let block =
        Block::read(&text.bytes).ok_or_else(|| broken("it is no GRUB environment block".to_owned()))?;
    let value = block.get("kernelopts").unwrap_or_default();
    let whole = 0..value.len();
    let plain = Plain::of(value.as_bytes(), std::slice::from_ref(&whole));
    let after = plain.meet(value.as_bytes(), wishes, &BTreeMap::new());
    let after = after.map_err(|troubles| hindrances(&path, troubles))?;
    if let Some(after) = after {
        let after = String::from_utf8_lossy(&after).into_owned();
        let bytes = block.with("kernelopts", &after).map_err(|full| {
            broken(format!(
                "the environment block is full: {} of {} bytes are needed",
                full.needed, full.size
            ))
        })?;
        written.shown.push(Shown {
            name: format!("kernelopts in {path}"),
            before: plain.tokens().map(|token| (token.clone(), None)).collect(),
            after: Line::read(&after).args.into_iter().map(|token| (token, None)).collect(),
        });
        written.files.push(Write { path, after: bytes });
        references.insert("$kernelopts".to_owned(), Line::read(&after).args);
    }
    Ok(references)
}

fn uses_kernelopts(entry: &Text) -> bool {
    let plain = Plain::of(&entry.bytes, &entry_lines(&entry.bytes));
    plain.tokens().any(|token| token.raw() == "$kernelopts")
}

fn hindrances(path: &str, troubles: Vec<Trouble>) -> Vec<Hindrance> {
    let of = |trouble| Hindrance { path: path.to_owned(), refusal: Refusal::Trouble(trouble) };
    troubles.into_iter().map(of).collect()
}

fn entries(
    found: &Found,
    wishes: &[Wish],
    references: &BTreeMap<String, Vec<Token>>,
    written: &mut Written,
) -> Result<(), Vec<Hindrance>> {
    let mut problems = Vec::new();
    // What an entry takes from the environment block was changed there.
    let single: Vec<Wish> = wishes
        .iter()
        .filter(|wish| matches!(wish, Wish::Set(_) | Wish::AbsentKey(_) | Wish::Absent(_)))
        .cloned()
        .collect();
    for entry in &found.entries {
        let path = entry.path.as_str();
        let lines = entry_lines(&entry.bytes);
        let plain = Plain::of(&entry.bytes, &lines);
        let asked = if uses_kernelopts(entry) { single.as_slice() } else { wishes };
        match plain.meet(&entry.bytes, asked, references) {
            Err(troubles) => problems.extend(hindrances(path, troubles)),
            Ok(None) => {}
            Ok(Some(after)) => {
                let after = match lines.is_empty() {
                    true => with_options_line(&entry.bytes, &after),
                    false => after,
                };
                let line = Plain::of(&after, &entry_lines(&after));
                written.shown.push(Shown {
                    name: format!("options of {path}"),
                    before: plain.tokens().map(|token| (token.clone(), None)).collect(),
                    after: line.tokens().map(|token| (token.clone(), None)).collect(),
                });
                written.files.push(Write { path: path.to_owned(), after });
            }
        }
    }
    let first = found.entries.first().map(|entry| {
        let after = written.files.iter().find(|file| file.path == entry.path.as_str());
        entry_line(after.map_or(&entry.bytes, |file| &file.after), references)
    });
    written.declared = first.clone().unwrap_or_default();
    written.next_boot = first;
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// An entry without options: what was written at its end becomes a line of its own.
fn with_options_line(before: &[u8], after: &[u8]) -> Vec<u8> {
    let mut bytes = before.to_vec();
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(b"options ");
    bytes.extend_from_slice(after[before.len().min(after.len())..].trim_ascii());
    bytes.push(b'\n');
    bytes
}

/// `/etc/kernel/cmdline`, from which entries of new kernels are made.
fn kernel_cmdline(found: &Found, wishes: &[Wish], written: &mut Written) -> Result<(), Vec<Hindrance>> {
    let Some(text) = &found.kernel_cmdline else { return Ok(()) };
    let path = text.path.as_str();
    let plain = Plain::of(&text.bytes, &cmdline_lines(&text.bytes));
    let after =
        plain.meet(&text.bytes, wishes, &BTreeMap::new()).map_err(|troubles| hindrances(path, troubles))?;
    let line = match &after {
        None => plain.tokens().cloned().collect(),
        Some(after) => Plain::of(after, &cmdline_lines(after)).tokens().cloned().collect::<Line>(),
    };
    if written.declared.args.is_empty() {
        written.declared = line.clone();
    }
    if let Some(after) = after {
        written.shown.push(Shown {
            name: path.to_owned(),
            before: plain.tokens().map(|token| (token.clone(), None)).collect(),
            after: line.args.into_iter().map(|token| (token, None)).collect(),
        });
        written.files.push(Write { path: path.to_owned(), after });
    }
    Ok(())
}
