//! systemd-boot's one-shot: a boot entry, and the EFI variable `LoaderEntryOneShot`, which it clears itself.
use super::{Asked, ID, Trial, TryBoot, folder, release};
use crate::files::place::known;
use crate::kernel::kernel_args::plain::{Plain, entry_lines};
use crate::kernel::kernel_args::seeing::Text;
use crate::vocabulary::{
    Act, Back, Claim, Content, Facts, HostPath, Image, Match, Meta, Read, Row, Seen, Spoil, Step, Stop,
};

/// systemd-boot's own vendor id.
const VARIABLES: &str = "/sys/firmware/efi/efivars";
const VENDOR: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// Where our entry may lie.
const PLACES: [&str; 3] = ["/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries"];

pub(super) fn trial(asked: &Asked<'_>) -> Result<Trial, Stop> {
    let facts = asked.facts;
    let impossible = |why: String| Ok(Trial::Impossible(why));
    let features = known(&format!("{VARIABLES}/LoaderFeatures-{VENDOR}"))?;
    let shot = known(&format!("{VARIABLES}/LoaderEntryOneShot-{VENDOR}"))?;
    facts.need(&[Read::Stat(features.clone()), Read::Stat(shot.clone())])?;
    if facts.stat(&features)?.is_none() {
        return impossible(
            "the host was not booted by systemd-boot, which alone boots an entry once".to_owned(),
        );
    }
    if facts.stat(&shot)?.is_some() {
        return impossible(
            "somebody else has asked for one boot of another entry (`bootctl status`)".to_owned(),
        );
    }
    let running = release(facts)?;
    let boots = |entry: &&Text| {
        let text = String::from_utf8_lossy(&entry.bytes).into_owned();
        !running.is_empty() && (entry.path.as_str().contains(&running) || text.contains(&running))
    };
    let entries = &asked.found.entries;
    let entry = match entries.as_slice() {
        [only] => Some(only),
        several => several.iter().find(boots),
    };
    let Some(entry) = entry else {
        return impossible("which boot entry is the default cannot be told".to_owned());
    };
    let lines = entry_lines(&entry.bytes);
    let plain = Plain::of(&entry.bytes, &lines);
    let stood: Vec<&str> = plain.tokens().map(super::Token::raw).collect();
    let declared = crate::kernel::kernel_args::line::Line::read(&stood.join(" "));
    let written = super::Written { declared, ..super::Written::default() };
    let (line, mark) = Asked { written: &written, ..*asked }.line(&[]);
    let path = known(&format!("{}/{ID}.conf", folder(entry.path.as_str())))?;
    let before = facts.get(&Read::text(&path))?;
    let image = Image::File {
        content: Content::Bytes(text(&entry.bytes, &line).into_bytes().into()),
        meta: Meta::default(),
    };
    Ok(Trial::Possible(TryBoot {
        steps: vec![Step::put(Claim::part(&path, ID), path.clone(), before, image), one_shot(shot)],
        mark,
        by: format!("systemd-boot boots {path} once, by LoaderEntryOneShot"),
        line,
    }))
}

/// The entry with another title and line.
fn text(bytes: &[u8], line: &str) -> String {
    let old = String::from_utf8_lossy(bytes);
    let key = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let kept = old.lines().filter(|line| !matches!(key(line).as_str(), "title" | "options" | "sort-key"));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    format!("title A kernel line on trial\n{kept}options {line}\n")
}

fn one_shot(path: HostPath) -> Step {
    let call = |entry: &str| Act::Call {
        row: Row::new("bootctl-set-oneshot", [entry]),
        spoils: vec![Spoil::Read(Read::Stat(path.clone()))],
    };
    Step {
        claim: Claim::new("systemd-boot", "one-shot"),
        look: Some(Read::Stat(path.clone())),
        before: Seen::Absent,
        after: Match::Any,
        act: call(&format!("{ID}.conf")),
        back: Back::Exactly(call("")),
    }
}

/// What is read of it.
pub(super) fn reads() -> Result<Vec<Read>, Stop> {
    PLACES.iter().map(|place| Ok(Read::text(&known(&format!("{place}/{ID}.conf"))?))).collect()
}

/// The steps that take our entry away.
pub(super) fn over(facts: &Facts) -> Result<Vec<Step>, Stop> {
    let mut steps = Vec::new();
    for place in PLACES {
        let path = known(&format!("{place}/{ID}.conf"))?;
        let before = facts.get(&Read::text(&path))?;
        if matches!(before, Seen::Node(_)) {
            steps.push(Step::put(Claim::part(&path, ID), path, before, Image::Absent));
        }
    }
    Ok(steps)
}
