//! What becomes of irqbalance, which moves interrupts on its own.
use super::kept;
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::services::acts;
use crate::services::unit::{RUNNING, Unit, show};
use crate::vocabulary::{
    Activation, Change, Claim, Diff, Facts, HostPath, Image, Meta, Read, Seen, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of irqbalance where it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Balancer {
    /// Nothing is placed beside it: the task is refused with the way out.
    #[default]
    Refuse,
    /// It is stopped and masked, so that no interrupt of the host is moved any more.
    Stop,
    /// It is told by a policy script to leave these interrupts alone, and goes on with all others.
    Ban,
    /// It is left as it is, and may undo what is placed here.
    Leave,
}

const UNIT: &str = "irqbalance.service";
const DROP_IN: &str = "/etc/systemd/system/irqbalance.service.d/50-tunerun.conf";
/// The policy script.
pub(super) const POLICY: &str = "/usr/local/lib/tunerun/irqbalance-policy";

/// Distributions name the variable with the arguments differently. An EnvironmentFile of theirs counts more.
const SETTINGS: &str = "# Made by tunerun: interrupts with a place of their own are left alone.\n[Service]\n\
    Environment=\"OPTIONS=--policyscript=/usr/local/lib/tunerun/irqbalance-policy\" \
    \"IRQBALANCE_ARGS=--policyscript=/usr/local/lib/tunerun/irqbalance-policy\"\n";

/// Called with the device's folder and the interrupt's number.
pub(super) const SCRIPT: &str = r#"#!/bin/sh
# Made by tunerun. Tells irqbalance to leave an interrupt alone that has a place of its own: $2 is its number.
for map in "${3:-/etc/tunerun/irq-affinity}"/*.map; do
    [ -f "$map" ] || continue
    awk -v number="$2" '
        FILENAME ~ /\.map$/ { at = index($0, "\t"); if (at > 1 && $0 !~ /^#/) placed[substr($0, at + 1)] = 1; next }
        FNR == 1 { columns = NF; next }
        $1 == number ":" {
            name = ""
            for (i = columns + 2; i <= NF; i++) {
                if (found) name = name (name == "" ? "" : " ") $i
                if (tolower($i) ~ /(edge|level|fasteoi)$/) found = 1
            }
            exit !(name in placed)
        }
        END { if (!found) exit 1 }
    ' "$map" "${4:-/proc}/interrupts" && echo ban=true && exit 0
done
exit 0
"#;

/// What is read first.
pub(super) fn first_reads() -> Result<Vec<Read>, Stop> {
    let mut reads = vec![Read::Stat(known(RUNNING)?), Read::Ask(show(UNIT))];
    for path in [DROP_IN, POLICY] {
        reads.extend(place::whole_reads(&known(path)?));
    }
    Ok(reads)
}

/// Adds what becomes of it.
pub(super) fn settle(facts: &Facts, wanted: Balancer, change: &mut Change) -> Result<(), Stop> {
    if facts.stat(&known(RUNNING)?)?.is_none() {
        return Ok(());
    }
    let output = facts.output(&show(UNIT))?;
    if output.status != 0 || output.text().contains("LoadState=not-found") {
        return Ok(());
    }
    let mut unit = Unit::read(facts, UNIT)?;
    match wanted {
        Balancer::Leave if unit.runs() => {
            change.notes.push("irqbalance runs on, and may move these interrupts away again".to_owned());
        }
        Balancer::Refuse if unit.runs() => {
            return Err(Stop::refused("irqbalance", "irqbalance runs, and moves interrupts away again")
                .way_out(
                    "say `irqbalance: stop`, or `ban` to let it go on with the other interrupts, or `leave`",
                ));
        }
        Balancer::Stop => {
            if let Some(step) = acts::mask(&unit, true)? {
                unit.follow("systemctl-mask");
                change.steps.push(step);
                change.diff.push(Diff::Note("irqbalance is masked".to_owned()));
            }
            if unit.runs() {
                change.steps.push(acts::stop(&unit));
                change.diff.push(Diff::Note("irqbalance is stopped".to_owned()));
            }
        }
        Balancer::Ban => ban(facts, &unit, change)?,
        Balancer::Leave | Balancer::Refuse => {}
    }
    Ok(())
}

fn ban(facts: &Facts, unit: &Unit, change: &mut Change) -> Result<(), Stop> {
    let script = kept::program(facts, &known(POLICY)?, SCRIPT, change)?;
    let path = known(DROP_IN)?;
    let settings = TextFile::read(facts, &path)?.put(facts, Claim::file(&path), SETTINGS, change)?;
    if settings {
        change.then.insert(Activation::DaemonReload);
    }
    if unit.runs() && (script || settings) {
        change.then.insert(Activation::Restart(UNIT.to_owned()));
        change.notes.push(
            "irqbalance has been seen to move interrupts that it was told to leave: ask for the evidence again after two \
             of its periods (20 s), or say `irqbalance: stop`"
                .to_owned(),
        );
    }
    Ok(())
}

/// A file that the program itself wrote down, with a mode.
pub(super) fn put_with_mode(before: Seen, path: &HostPath, text: &str, mode: u32) -> Step {
    let meta = Meta { mode: Some(mode), ..Meta::default() };
    let image = Image::File { content: crate::vocabulary::Content::Bytes(text.into()), meta };
    Step::put(Claim::file(path), path.clone(), before, image)
}
