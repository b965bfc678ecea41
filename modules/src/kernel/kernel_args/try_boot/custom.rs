//! `custom.cfg`: the file beside `grub.cfg` that GRUB reads at every boot, so an entry there needs no `grub-mkconfig`.
use super::{ID, text};
use crate::files::place::known;
use crate::vocabulary::{Claim, Content, Facts, HostPath, Image, Meta, Owner, Read, Step, Stop};

const BEGIN: &str = "### BEGIN tunerun-trial ###\n";
const END: &str = "### END tunerun-trial ###\n";
const ABOUT: &str = "# Booted once by tunerun, which takes it away when the trial is over.\n";

/// Where GRUB looks, by distribution.
const PLACES: [&str; 2] = ["/boot/grub/custom.cfg", "/boot/grub2/custom.cfg"];

/// An entry for `custom.cfg`.
pub(super) fn entry(body: &[String], unrestricted: bool) -> String {
    let option = if unrestricted { " --unrestricted" } else { "" };
    let body = body.join("\n");
    format!("{ABOUT}menuentry 'A kernel line on trial' --id {ID}{option} {{\n{body}\n}}\n")
}

/// The step that puts an entry there, in place of an older one.
pub(super) fn with(facts: &Facts, path: &str, entry: &str) -> Result<Step, Stop> {
    let (path, text) = text(facts, &known(path)?)?;
    let mut after = without(text.as_deref().unwrap_or_default());
    if !after.is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    after.push_str(BEGIN);
    after.push_str(entry);
    after.push_str(END);
    put(facts, path, text.is_some(), Some(after))
}

/// What is read of it.
pub(super) fn reads() -> Result<Vec<Read>, Stop> {
    PLACES.into_iter().map(|path| Ok(Read::text(&known(path)?))).collect()
}

/// The steps that take our entry away; a file that held nothing else goes.
pub(super) fn over(facts: &Facts) -> Result<Vec<Step>, Stop> {
    let mut steps = Vec::new();
    for path in PLACES {
        let (path, Some(text)) = text(facts, &known(path)?)? else { continue };
        let after = without(&text);
        if after != text {
            steps.push(put(facts, path, true, Some(after).filter(|after| !after.is_empty()))?);
        }
    }
    Ok(steps)
}

fn put(facts: &Facts, path: HostPath, there: bool, after: Option<String>) -> Result<Step, Stop> {
    let before = facts.get(&Read::text(&path))?;
    let meta = match there {
        true => Meta::default(),
        false => Meta { mode: Some(0o644), owner: Some(Owner::Id(0)), group: Some(Owner::Id(0)) },
    };
    let image = match after {
        Some(text) => Image::File { content: Content::Bytes(text.into_bytes().into()), meta },
        None => Image::Absent,
    };
    Ok(Step::put(Claim::part(&path, ID), path, before, image))
}

/// A text without our part.
fn without(text: &str) -> String {
    match text.split_once(BEGIN) {
        Some((before, rest)) => {
            let after = rest.split_once(END).map_or("", |(_, after)| after);
            format!("{before}{after}")
        }
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{over, with};
    use crate::host::Host;
    use crate::vocabulary::{Act, Content, HostPath, Image, Read, Step};

    fn text(step: &Step) -> Option<String> {
        match &step.act {
            Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } => {
                bytes.text().map(str::to_owned)
            }
            _ => None,
        }
    }

    #[test]
    fn what_others_wrote_there_stays() {
        let path = HostPath::new("/boot/grub/custom.cfg").unwrap();
        let other = Read::text(&HostPath::new("/boot/grub2/custom.cfg").unwrap());
        for theirs in ["", "menuentry 'memtest' {\n}"] {
            let mut host = Host::new();
            if !theirs.is_empty() {
                host = host.file(path.as_str(), theirs);
            }
            host = host.dir("/boot").dir("/boot/grub");
            let reads = || [Read::text(&path), other.clone()];
            for entry in ["menuentry 'one' {\n}\n", "menuentry 'two' {\n}\n"] {
                let step = with(&host.facts(reads()), path.as_str(), entry).unwrap();
                let after = text(&step).unwrap();
                assert!(after.starts_with(theirs) && after.contains(entry), "{after}");
                assert_eq!(after.matches("BEGIN").count(), 1, "an older entry is replaced");
                host.act(&step.act).unwrap();
            }
            let steps = over(&host.facts(reads())).unwrap();
            assert_eq!(steps.len(), 1);
            match theirs {
                "" => assert!(matches!(&steps[0].act, Act::Put { image: Image::Absent, .. })),
                theirs => assert_eq!(text(&steps[0]).unwrap().trim_end(), theirs),
            }
            host.act(&steps[0].act).unwrap();
            assert_eq!(over(&host.facts(reads())).unwrap(), []);
        }
    }
}
