//! How places are kept over boots: a map by names, a script that finds the numbers again, and a unit that runs it.
use super::balancer::put_with_mode;
use crate::files::place::{self, folders, known};
use crate::files::text::TextFile;
use crate::vocabulary::{
    Activation, Change, Claim, Diff, Facts, HostPath, Image, Kind, Meta, Read, Seen, Step, Stop,
};

const MAPS: &str = "/etc/tunerun/irq-affinity";
const PROGRAM: &str = "/usr/local/lib/tunerun/irq-affinity";
const UNIT: &str = "/etc/systemd/system/tunerun-irq-affinity.service";
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants/tunerun-irq-affinity.service";

/// Finds interrupts by their names and puts them on their CPUs. Its arguments are for trying it elsewhere.
pub(super) const SCRIPT: &str = r#"#!/bin/sh
# Made by tunerun. Puts interrupts on the CPUs that the maps say: one line each, CPUs, a tab, the name. Numbers change
# from boot to boot, so that names are looked up each time. Cards that come late are waited for.
maps=${1:-/etc/tunerun/irq-affinity} proc=${2:-/proc} tries=${3:-12}
try() {
    awk '
        FILENAME ~ /\.map$/ { at = index($0, "\t"); if (at > 1 && $0 !~ /^#/) cpus[substr($0, at + 1)] = substr($0, 1, at - 1); next }
        FNR == 1 { columns = NF; next }
        $1 ~ /^[0-9]+:$/ {
            name = ""; found = 0
            for (i = columns + 2; i <= NF; i++) {
                if (found) name = name (name == "" ? "" : " ") $i
                if (tolower($i) ~ /(edge|level|fasteoi)$/) found = 1
            }
            if (name in cpus) { seen[name] = 1; print $1 + 0, cpus[name], name }
        }
        END { for (name in cpus) if (!(name in seen)) print "-", "-", name }
    ' "$maps"/*.map "$proc/interrupts" | {
        rc=0
        while read -r number cpus name; do
            if [ "$number" = - ]; then
                [ "$rc" != 0 ] || rc=2
                [ "$1" != last ] || echo "$name: there is no such interrupt" >&2
            elif ! { printf %s "$cpus" > "$proc/irq/$number/smp_affinity_list"; } 2>/dev/null; then
                rc=1
                [ "$1" != last ] || echo "$name: the kernel does not let it be served by $cpus" >&2
            fi
        done
        exit $rc
    }
}
for map in "$maps"/*.map; do [ -f "$map" ] || exit 0; done
while [ "$tries" -gt 1 ]; do
    tries=$((tries - 1))
    try; rc=$?
    [ $rc = 2 ] || break
    sleep 5
done
[ "${rc-2}" = 0 ] || try last
"#;

const SERVICE: &str = "# Made by tunerun.\n[Unit]\nDescription=Interrupts on their CPUs, by name\n\
    Wants=network-online.target\nAfter=network-online.target irqbalance.service\n\n[Service]\nType=oneshot\n\
    RemainAfterExit=yes\nExecStart=/usr/local/lib/tunerun/irq-affinity\n\n[Install]\nWantedBy=multi-user.target\n";

fn map(label: &str) -> Result<HostPath, Stop> {
    known(&format!("{MAPS}/{label}.map"))
}

/// What is read first.
pub(super) fn first_reads(label: &str) -> Result<Vec<Read>, Stop> {
    let paths = [map(label)?, known(PROGRAM)?, known(UNIT)?, known(WANTED)?];
    Ok(paths.iter().flat_map(place::whole_reads).collect())
}

/// Adds the map, the script and the unit.
pub(super) fn keep(
    facts: &Facts,
    label: &str,
    places: &[(String, String)],
    change: &mut Change,
) -> Result<(), Stop> {
    let lines: String = places.iter().map(|(name, cpus)| format!("{cpus}\t{name}\n")).collect();
    let text = format!("# Made by tunerun: CPUs, a tab, the interrupt.\n{lines}");
    let path = map(label)?;
    TextFile::read(facts, &path)?.put(facts, Claim::file(&path), &text, change)?;
    program(facts, &known(PROGRAM)?, SCRIPT, change)?;
    let unit = known(UNIT)?;
    let changed = TextFile::read(facts, &unit)?.put(facts, Claim::file(&unit), SERVICE, change)?;
    let linked = link(facts, change)?;
    if changed || linked {
        change.then.insert(Activation::DaemonReload);
    }
    Ok(())
}

/// The link by which the unit starts at boot: what `systemctl enable` makes.
fn link(facts: &Facts, change: &mut Change) -> Result<bool, Stop> {
    let path = known(WANTED)?;
    let node = facts.node(&path)?;
    if let Some(Kind::Link { target }) = node.as_ref().map(|node| &node.kind)
        && target == UNIT
    {
        return Ok(false);
    }
    change.steps.extend(missing_folders(facts, &path, change)?);
    let image = Image::Link { target: UNIT.to_owned() };
    change.steps.push(Step::put(Claim::file(&path), path, node.map_or(Seen::Absent, Seen::Node), image));
    change.diff.push(Diff::Note("tunerun-irq-affinity.service starts at boot".to_owned()));
    Ok(true)
}

/// The folders above a path that neither are there nor are made by an earlier step of the change.
fn missing_folders(facts: &Facts, path: &HostPath, change: &Change) -> Result<Vec<Step>, Stop> {
    let steps = folders(facts, path, &Meta::default())?;
    Ok(steps.into_iter().filter(|step| !change.steps.iter().any(|made| made.path() == step.path())).collect())
}

/// Adds a program of ours; says whether it changes.
pub(super) fn program(facts: &Facts, path: &HostPath, text: &str, change: &mut Change) -> Result<bool, Stop> {
    let node = facts.node(path)?;
    let same = node.as_ref().is_some_and(|node| {
        node.kind == Kind::File
            && node.mode == 0o755
            && node.bytes().and_then(crate::vocabulary::Bytes::text) == Some(text)
    });
    if same {
        return Ok(false);
    }
    change.steps.extend(missing_folders(facts, path, change)?);
    let before = node.map_or(Seen::Absent, Seen::Node);
    change.diff.push(Diff::Note(format!("{path} is put in place")));
    change.steps.push(put_with_mode(before, path, text, 0o755));
    Ok(true)
}
