//! GRUB's one-shot: `next_entry` in its environment block, which GRUB clears before it boots the entry.
use super::menu;
use super::{Asked, ID, Trial, TryBoot, custom, folder, prefix, release, text};
use crate::files::place::known;
use crate::kernel::kernel_args::environment_block::Block;
use crate::kernel::kernel_args::line::Line;
use crate::kernel::kernel_args::seeing::{Text, entry_line};
use crate::vocabulary::{Act, Back, Claim, HostPath, Match, Output, Read, Row, Spoil, Step, Stop, all};

/// File systems that GRUB writes to through the list of a file's blocks, and that leave those blocks in place.
const PLAIN: [&str; 6] = ["ext2", "xfs", "fat", "exfat", "jfs", "minix"];

/// A menu that `grub-mkconfig` generated.
pub(super) fn generated(asked: &Asked<'_>) -> Result<Trial, Stop> {
    let place = match Place::of(asked)? {
        Ok(place) => place,
        Err(why) => return Ok(Trial::Impossible(why)),
    };
    let menu = menu::read(place.grub_cfg);
    let saved = place.saved();
    let entry = menu::default_of(place.grub_cfg, saved.as_deref())
        .and_then(|default| menu::chosen(&menu, &default).cloned())
        .filter(|entry| entry.linux().is_some());
    let Some(entry) = entry else {
        return Ok(Trial::Impossible(format!("which entry {} boots cannot be told", place.cfg)));
    };
    let stood = Line::read(entry.linux().map_or("", |(_, args)| args));
    let (line, mark) = asked.line(&prefix(&stood));
    let Some(body) = entry.with_args(&line) else {
        return Ok(Trial::Impossible(format!("the default entry of {} boots no kernel", place.cfg)));
    };
    place.armed(asked, &custom::entry(&body, entry.unrestricted), (line, mark))
}

/// Boot entries that GRUB reads: RHEL 8 and later, Fedora.
pub(super) fn entries(asked: &Asked<'_>) -> Result<Trial, Stop> {
    let place = match Place::of(asked)? {
        Ok(place) => place,
        Err(why) => return Ok(Trial::Impossible(why)),
    };
    let running = release(asked.facts)?;
    let saved = place.saved().unwrap_or_default();
    let named = |text: &&Text| stem(&text.path) == saved;
    let running = |text: &&Text| !running.is_empty() && stem(&text.path).ends_with(&running);
    let entries = &asked.found.entries;
    let Some(entry) = entries.iter().find(named).or_else(|| entries.iter().find(running)) else {
        return Ok(Trial::Impossible("which boot entry is the default cannot be told".to_owned()));
    };
    let probed = asked.facts.output(&place.probe("fs_uuid", "/boot"))?;
    let uuid = probed.text().trim().to_owned();
    if probed.status != 0 || uuid.is_empty() {
        return Ok(Trial::Impossible(format!(
            "{} does not tell the file system of /boot",
            place.program("probe")
        )));
    }
    let line = entry_line(&entry.bytes, &asked.found.references);
    let (line, mark) = asked.line_of(&line);
    let Some(body) = entry_body(&entry.bytes, &uuid, &line) else {
        return Ok(Trial::Impossible(format!("{} names no kernel", entry.path)));
    };
    place.armed(asked, &custom::entry(&body, true), (line, mark))
}

impl Asked<'_> {
    /// As [`Asked::line`], of a line that stands in an entry already.
    fn line_of(&self, line: &Line) -> (String, String) {
        let written = super::Written { declared: line.clone(), ..super::Written::default() };
        Asked { written: &written, ..*self }.line(&[])
    }
}

fn stem(path: &HostPath) -> String {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".conf").unwrap_or(name).to_owned()
}

/// The body of a menu entry that boots what a boot entry boots.
fn entry_body(bytes: &[u8], uuid: &str, line: &str) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(bytes);
    let values = |key: &str| -> Vec<String> {
        let of = |line: &str| {
            let (name, value) = line.trim().split_once(char::is_whitespace)?;
            (name == key).then(|| value.trim().to_owned())
        };
        text.lines().filter_map(of).collect()
    };
    let kernel = values("linux").into_iter().next()?;
    // `$tuned_initrd` and its like are words for GRUB too.
    let initrds = values("initrd").join(" ");
    let mut body =
        vec![format!("\tsearch --no-floppy --fs-uuid --set=root {uuid}"), format!("\tlinux {kernel} {line}")];
    if !initrds.is_empty() {
        body.push(format!("\tinitrd {initrds}"));
    }
    Some(body)
}

/// Where GRUB's files lie.
struct Place<'a> {
    cfg: &'a str,
    grub_cfg: &'a str,
    block: &'a Text,
    /// `grub` or `grub2`: how the programs are called.
    prefix: &'static str,
}

impl<'a> Place<'a> {
    /// Where they lie, if GRUB can clear a one-shot there; else why not.
    fn of(asked: &Asked<'a>) -> Result<Result<Self, String>, Stop> {
        let found = asked.found;
        let Some((cfg, grub_cfg)) = &found.signs.grub_cfg else {
            return Ok(Err("there is no configuration that GRUB reads".to_owned()));
        };
        let prefix = match found.signs.mkconfig.as_ref().map(|mkconfig| mkconfig.program) {
            Some("grub2-mkconfig") => "grub2",
            _ => "grub",
        };
        for (word, what) in [
            ("save_env next_entry", "does not clear a one-time entry"),
            ("custom.cfg", "does not read custom.cfg"),
        ] {
            if !grub_cfg.contains(word) {
                return Ok(Err(format!("{cfg} {what}: it is not as `{prefix}-mkconfig` makes it")));
            }
        }
        let Some(block) = &found.block else {
            return Ok(Err(format!(
                "GRUB has no environment block in {} to keep a one-time entry in; `{prefix}-editenv - create` makes one",
                folder(cfg)
            )));
        };
        if Block::read(&block.bytes).is_none() {
            return Ok(Err(format!("{} is no environment block of GRUB", block.path)));
        }
        let place = Self { cfg, grub_cfg, block, prefix };
        Ok(place.writable(asked)?.map_or(Ok(place), Err))
    }

    /// Why GRUB cannot write where the environment block lies; none where it can.
    fn writable(&self, asked: &Asked<'_>) -> Result<Option<String>, Stop> {
        let lies = folder(self.block.path.as_str());
        let ask = |target| asked.facts.output(&self.probe(target, lies));
        let answers = all([ask("fs"), ask("abstraction")])?;
        let [system, abstraction] = answers.as_slice() else { return Ok(None) };
        let said = |output: &Output| output.text().trim().to_owned();
        if let Some(output) = answers.iter().find(|output| output.status != 0) {
            let words = output.error_text().trim().to_owned();
            return Ok(Some(format!("{} does not tell what {lies} lies on: {words}", self.program("probe"))));
        }
        Ok(match (said(system), said(abstraction)) {
            (_, layer) if !layer.is_empty() => Some(format!(
                "{lies} lies on {layer}, where GRUB cannot write: it would boot the trial entry for ever"
            )),
            (system, _) if !PLAIN.contains(&system.as_str()) => Some(format!(
                "{lies} lies on {system}, where GRUB cannot write: it would boot the trial entry for ever"
            )),
            _ => None,
        })
    }

    fn program(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    fn probe(&self, target: &str, path: &str) -> Row {
        Row::new(&self.program("probe"), [format!("--target={target}"), path.to_owned()])
    }

    fn saved(&self) -> Option<String> {
        Block::read(&self.block.bytes)?.get("saved_entry")
    }

    /// The steps: the entry, then the one-shot.
    fn armed(&self, asked: &Asked<'_>, entry: &str, (line, mark): (String, String)) -> Result<Trial, Stop> {
        let block = self.block.path.as_str();
        let look = Read::Ask(Row::new("grub-next-entry", [block]));
        let custom = format!("{}/custom.cfg", folder(self.cfg));
        let (before, _) = (asked.facts.get(&look), text(asked.facts, &known(&custom)?)?);
        let before = before?;
        if let crate::vocabulary::Seen::Output(output) = &before
            && output.status == 0
            && output.text().trim() != format!("next_entry={ID}")
        {
            return Ok(Trial::Impossible(format!(
                "somebody else has asked for one boot of another entry: {} in {block}",
                output.text().trim()
            )));
        }
        let set = |words: [&str; 2]| {
            let row = Row::new(&self.program("editenv"), [block, words[0], words[1]]);
            Act::Call {
                row,
                spoils: vec![Spoil::Read(look.clone()), Spoil::Read(Read::text(&self.block.path))],
            }
        };
        let next_entry = format!("next_entry={ID}");
        let one_shot = Step {
            claim: Claim::new("grub", "next_entry"),
            look: Some(look.clone()),
            before,
            // GRUB clears it: the proof is the boot.
            after: Match::Any,
            act: set(["set", &next_entry]),
            back: Back::Exactly(set(["unset", "next_entry"])),
        };
        Ok(Trial::Possible(TryBoot {
            steps: vec![custom::with(asked.facts, &custom, entry)?, one_shot],
            mark,
            by: format!("GRUB boots `{ID}` of {custom} once, by next_entry in {block}"),
            line,
        }))
    }
}
