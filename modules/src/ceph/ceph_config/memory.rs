//! Whether hosts have the memory that `osd_memory_target` gives to their OSDs.
use super::Wished;
use super::mons::TARGET;
use super::proof::Held;
use super::who::Who;
use crate::budget::{self, Asked, OsdHosts, OsdMetadata};
use crate::ceph::answers;
use crate::ceph::cluster::Shell;
use crate::shape::parse_size;
use crate::vocabulary::{Change, Facts, Look, Read, Risk, RiskName, Row, Seen, Stop};

/// Whether a task gives OSDs memory.
pub(super) fn is_sized(who: &Who, wished: &Wished<'_>) -> bool {
    matches!(who.kind(), "osd" | "global")
        && wished.iter().any(|(name, value)| name == TARGET && value.is_some())
}

/// What OSDs say of themselves and of their hosts.
pub(super) fn row(shell: &Shell) -> Row {
    shell.plain("ceph-osd-metadata")
}

/// Judges every host by what its OSDs say: a change of the cluster has no facts of them.
pub(super) fn of_hosts(
    facts: &Facts,
    shell: &Shell,
    wanted: u64,
    held: &Held,
    means: impl Fn(u64) -> bool,
    change: &mut Change,
) {
    let grows = held.by.is_empty()
        || held.by.values().any(|value| value.parse::<u64>().map_or(true, |held| held < wanted));
    if !grows {
        return;
    }
    let metadata: Result<Vec<OsdMetadata>, String> = match facts.look(&Read::Ask(row(shell))) {
        Look::Seen(Seen::Output(output)) if output.status == 0 => answers::json(&output),
        _ => Err("it was not answered".to_owned()),
    };
    match metadata {
        Err(why) => change.notes.push(format!(
            "memory: not judged, since `ceph osd metadata` tells no hosts ({why}): compare {TARGET} × OSDs with each host's \
             memory yourself"
        )),
        Ok(metadata) => {
            let hosts = OsdHosts::of(&metadata);
            change.notes.push(hosts.judged());
            let why = hosts.over("this task", |osd| means(osd).then_some(wanted));
            change.risks.extend(why.map(|why| Risk { name: RiskName::Memory, why }));
        }
    }
}

/// Judges the host of a ceph.conf.
pub(super) fn of_file(
    facts: &Facts,
    who: &Who,
    wished: &Wished<'_>,
    change: &mut Change,
) -> Result<(), Stop> {
    // One OSD alone says little of the others.
    if !is_sized(who, wished) || who.id().is_some() {
        return Ok(());
    }
    let value = wished.iter().find(|(name, _)| name == TARGET).and_then(|(_, value)| *value);
    let Some(target) = value.and_then(|value| parse_size(&value.text(&[])).ok()) else { return Ok(()) };
    let source = "this task".to_owned();
    budget::judge(facts, &Asked { osd_target: Some(target), source, ..Asked::default() }, change)
}
