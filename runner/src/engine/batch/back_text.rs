//! The way back as a script that lies on the host: enough to go back by hand, without the controller.
use super::place::{Place, Placing};
use super::prepared::Batch;
use super::text::needs_keeping;
use crate::engine::probe::{call_text, path_word};
use crate::transport::shell::word::{emit, literal, wire};
use modules::vocabulary::{
    Act, Activation, Back, Content, HostPath, Image, Kind, Meta, Owner, Read, Seen, Step,
};
use std::fmt::Write as _;

/// The script that runs the batches' scripts, newest first.
const DRIVER: &str = r#"#!/bin/sh
# Takes back what this run of tunerun changed on this host, newest first. What somebody else has changed since is left
# alone and said. Repeating it does no harm.
D=$(cd "$(dirname "$0")" && pwd) || exit 1; _rc=0; _n=1
# The host's lock: a script of the run may still be at work, or a recovery from elsewhere.
exec 9>>"${D%/*}/lock" || exit 1; _w=0
while command -v flock >/dev/null && ! flock -n 9; do _w=$((_w+1)); [ $_w -lt 30 ] || { echo "the host is held by a run" >&2; exit 1; }; sleep 1; done
while [ -d "$D/$_n" ]; do _n=$((_n+1)); done
_last=$_n
# What would take a batch back by itself must not do so beside this.
for _f in "$D"/*/dead-man; do [ ! -f "$_f" ] || ! mkdir "${_f%/*}/decided" 2>/dev/null || echo undone > "${_f%/*}/decided/by"; done
while [ $_n -gt 1 ]; do _n=$((_n-1)); [ ! -f "$D/$_n/undo.sh" ] || D="$D" sh "$D/$_n/undo.sh" 9>&- || _rc=1; done
# What the restored states call for, once, in the order of the run.
if [ -f "$D/went" ]; then
while [ $_n -lt $_last ]; do [ ! -f "$D/$_n/after.sh" ] || sh "$D/$_n/after.sh" 9>&- || _rc=1; _n=$((_n+1)); done
[ $_rc != 0 ] || rm -f "$D/went"
fi
[ $_rc != 0 ] || echo undone > "$D/mark"
exit $_rc
"#;

/// What each batch's script begins with. `is PATH DIGEST MODE UID GID`: whether a file is in a state.
const HEAD: &str = r#"B=$(cd "$(dirname "$0")" && pwd) || exit 1; D=${D:-${B%/*}}; _rc=0; LC_ALL=C; export LC_ALL
IFS= read -r _i < /proc/sys/kernel/random/boot_id
d() { _s=$(sha256sum < "$1" 2>/dev/null); printf %s "${_s%% *}"; }
conflict() { echo "left alone: $1 is neither as tunerun found it nor as tunerun left it" >&2; _rc=1; }
failed() { echo "failed: $1" >&2; _rc=1; }
did() { [ ! -f "$B/log" ] || grep -qx "begun $1" "$B/log" || ! grep -qx "boot $_i" "$B/log"; }
went() { : > "$D/went"; }
# A call leaves nothing to look at: it goes back if it was begun and has not gone back yet.
call() { if grep -qx "undone $1" "$B/log"; then return 1; elif grep -qx "begun $1" "$B/log"; then return 0
elif grep -qx "boot $_i" "$B/log"; then return 1; else echo "left alone: whether $2 was done is not known, the host has booted since" >&2; _rc=1; return 1; fi; }
called() { echo "undone $1" >> "$B/log"; went; }
# half N FILE NEW: whether a write in place was cut off: what is there is the begin of what was to be written.
half() { grep -qx "begun $1" "$B/log" && ! grep -q "^ended $1 " "$B/log" && [ -f "$3" ] && [ "$(head -c "$(wc -c < "$2")" "$3" | sha256sum)" = "$(sha256sum < "$2")" ]; }
"#;

/// Writes the commands that store the scripts.
pub(super) fn write(batch: &Batch, run: &str, placing: &Placing, out: &mut String) -> Result<(), String> {
    let mut script = HEAD.to_owned();
    for (index, folded) in batch.steps.iter().enumerate().rev() {
        step(index, &folded.step, placing.of(index), &mut script)?;
    }
    let temps: Vec<String> = super::leftovers(batch, run).iter().map(path_word).collect::<Result<_, _>>()?;
    if !temps.is_empty() {
        let _ = writeln!(script, "rm -f -- {}", temps.join(" "));
    }
    script.push_str("exit $_rc\n");
    if batch.undo {
        // Taking back a taking back would be doing it again.
        script = "exit 0\n".to_owned();
    }
    let _ = writeln!(out, "{} > \"$B/undo.sh\" || f back \"$B/undo.sh\"", emit(&wire(&script)));
    let after = activations(batch)?;
    if !after.is_empty() && !batch.undo {
        let _ = writeln!(out, "{} > \"$B/after.sh\" || f back \"$B/after.sh\"", emit(&wire(&after)));
    }
    let _ = writeln!(
        out,
        "[ -f \"$D/undo.sh\" ] || {} > \"$D/undo.sh\" || f back \"$D/undo.sh\"",
        emit(DRIVER.as_bytes())
    );
    Ok(())
}

/// The calls that states of a batch ask for; a reboot is told, not made.
fn activations(batch: &Batch) -> Result<String, String> {
    let mut text = String::new();
    for folded in &batch.steps {
        let Act::Call { row, .. } = &folded.step.act else { continue };
        match Activation::of_row(row) {
            Some(Activation::Reboot) => text.push_str("echo 'owed: a reboot' >&2\n"),
            Some(_) => {
                let _ = writeln!(text, "{} || exit 1", call_text(row)?);
            }
            None if folded.step.claim.as_str().starts_with("activation/") => {
                let _ = writeln!(text, "{} || exit 1", call_text(row)?);
            }
            None => {}
        }
    }
    Ok(text)
}

fn step(index: usize, step: &Step, place: Option<&Place>, out: &mut String) -> Result<(), String> {
    if step.back == Back::Nothing {
        return Ok(());
    }
    if let (
        Back::Exactly(Act::Call { row, .. }) | Back::Approximately { act: Act::Call { row, .. }, .. },
        None,
    ) = (&step.back, &step.look)
    {
        let claim = word(step.claim.as_str())?;
        let _ = writeln!(
            out,
            "if call {index} {claim}; then if {}; then called {index}; else failed {claim}; fi; fi",
            call_text(row)?
        );
        return Ok(());
    }
    if let Back::Exactly(act @ Act::Rpc { .. }) | Back::Approximately { act: act @ Act::Rpc { .. }, .. } =
        &step.back
    {
        return by_socket(index, step, act, out);
    }
    let _ = writeln!(out, "if did {index}; then");
    match (&step.back, &step.act) {
        (Back::Nothing, _) => out.push_str(":\n"),
        (Back::None { why }, _) => {
            let _ = writeln!(
                out,
                "failed {}",
                word(&format!("there is no way back from {}: {why}", step.claim))?
            );
        }
        (Back::Exactly(Act::Put { path, image, .. }), Act::Put { image: made, .. }) => {
            put(index, path, (image, made), step, place, out)?;
        }
        (Back::Exactly(Act::Write { path, value }), Act::Write { value: written, .. }) => {
            write_value(path, value, written, out)?;
        }
        (
            Back::Exactly(Act::Call { row, .. }) | Back::Approximately { act: Act::Call { row, .. }, .. },
            _,
        ) => {
            // With a look that a call makes or takes away, the look says whether there is anything to take back.
            let there = before_of_look(step)?;
            let _ = writeln!(
                out,
                "if {there}; then :; elif {}; then went; else failed {}; fi",
                call_text(row)?,
                word(step.claim.as_str())?
            );
        }
        (Back::Exactly(other) | Back::Approximately { act: other, .. }, _) => {
            let _ = writeln!(out, "failed {}", word(&format!("{other:?} must be taken back by tunerun"))?);
        }
    }
    out.push_str("fi\n");
    Ok(())
}

/// No shell speaks over a socket: the request is told. Who serves it forgets everything at a boot.
fn by_socket(index: usize, step: &Step, act: &Act, out: &mut String) -> Result<(), String> {
    let Act::Rpc { socket, method, params } = act else { return Ok(()) };
    let request = modules::programs::rpc::encoded(1, method, params);
    let words =
        format!("{}: take it back by tunerun, or send to {socket}: {}", step.claim, request.trim_end());
    let _ = writeln!(
        out,
        "if grep -qx 'begun {index}' \"$B/log\" && grep -qx \"boot $_i\" \"$B/log\" && ! grep -qx 'undone {index}' \"$B/log\"; then failed {}; fi",
        word(&words)?
    );
    Ok(())
}

/// Whether what a call was looked at by is as it was before.
fn before_of_look(step: &Step) -> Result<String, String> {
    Ok(match &step.look {
        Some(Read::Stat(path) | Read::File { path, .. }) if !path.is_virtual() => {
            is_before(path, &step.before)?
        }
        Some(Read::Ask(row)) => match &step.before {
            Seen::Output(before) => format!(
                "[ \"$({} 2>/dev/null)\" = {} ]",
                call_text(row)?,
                word(before.text().trim_end_matches('\n'))?
            ),
            _ => "false".to_owned(),
        },
        _ => "false".to_owned(),
    })
}

fn put(
    index: usize,
    path: &HostPath,
    (old, made): (&Image, &Image),
    step: &Step,
    place: Option<&Place>,
    out: &mut String,
) -> Result<(), String> {
    let here = path_word(path)?;
    let temp = match path.parent() {
        Some(folder) => path_word(&folder.join(".tunerun-undo")?)?,
        None => return Err("the root folder cannot be put back".to_owned()),
    };
    let in_place = place.is_some_and(|place| place.in_place);
    let is_before = is_before(path, &step.before)?;
    let is_after = is_after(path, made, step)?;
    let back = match old {
        Image::Absent => match made {
            Image::Dir { .. } => format!("rmdir -- {here}"),
            _ => format!("rm -f -- {here}"),
        },
        Image::Aside => format!("mv -T -- \"$D/aside\"{here} {here}"),
        Image::File { content: Content::Same, meta } | Image::Dir { meta } => metas(&here, meta)?,
        Image::File { .. } if needs_keeping(step) && in_place => {
            // What the act has not changed is not set again: who does not own the file may not.
            let meta = match (old, made) {
                (Image::File { meta, .. }, Image::File { meta: made, .. }) => {
                    let owns = made.owner.is_some() || made.group.is_some();
                    let (owner, group) = (meta.owner.clone(), meta.group.clone());
                    metas(
                        &here,
                        &Meta {
                            mode: meta.mode.filter(|_| made.mode.is_some() || owns),
                            owner: owner.filter(|_| owns),
                            group: group.filter(|_| owns),
                        },
                    )?
                }
                _ => ":".to_owned(),
            };
            format!("cat \"$B/before\"{here} > {here} && {meta}")
        }
        Image::File { .. } | Image::Link { .. } if needs_keeping(step) => {
            format!(
                "cp -a -- \"$B/before\"{here} {temp} && {{ mv -fT -- {temp} {here} 2>/dev/null || {{ cat {temp} > {here} && rm -f -- {temp}; }}; }}"
            )
        }
        Image::File { .. } | Image::Link { .. } => "false".to_owned(),
    };
    let half = match place {
        Some(place) if in_place => format!(" || half {index} {here} {}", place.word()?),
        _ => String::new(),
    };
    let _ = writeln!(
        out,
        "if {is_before}; then :; elif {is_after}{half}; then {{ {back}; }} && went || failed {here}; else conflict {here}; fi"
    );
    Ok(())
}

fn is_before(path: &HostPath, before: &Seen) -> Result<String, String> {
    let here = path_word(path)?;
    Ok(match before {
        Seen::Absent => format!("[ ! -e {here} ] && [ ! -L {here} ]"),
        Seen::Node(node) => {
            let line =
                format!("{:x}|{}|{}", node.mode | super::compare_text::bits(&node.kind), node.uid, node.gid);
            let mut text = format!("[ \"$(stat -c '%f|%u|%g' -- {here} 2>/dev/null)\" = '{line}' ]");
            if let Some(digest) = node.digest() {
                let _ = write!(text, " && [ \"$(d {here})\" = {digest} ]");
            }
            if let modules::vocabulary::Kind::Link { target } = &node.kind {
                let _ = write!(text, " && [ \"$(readlink -n -- {here})\" = {} ]", word(target)?);
            }
            text
        }
        _ => "false".to_owned(),
    })
}

fn is_after(path: &HostPath, made: &Image, step: &Step) -> Result<String, String> {
    let here = path_word(path)?;
    Ok(match made {
        Image::Absent => format!("[ ! -e {here} ] && [ ! -L {here} ]"),
        Image::Link { target } => format!("[ \"$(readlink -n -- {here})\" = {} ]", word(target)?),
        Image::Dir { meta } => format!("[ ! -L {here} ] && {}", has_meta(&here, &Kind::Dir, meta, step)),
        Image::Aside => format!("[ -e {here} ]"),
        Image::File { content, meta } => {
            let digest = match content {
                Content::Bytes(bytes) => Some(bytes.digest()),
                Content::Kept(digest) => Some(*digest),
                Content::Same => None,
            };
            let meta = has_meta(&here, &Kind::File, meta, step);
            match digest {
                Some(digest) => format!("[ \"$(d {here})\" = {digest} ] && {meta}"),
                None => meta,
            }
        }
    })
}

/// Whether a node has the mode and, as far as these are known by number, the owners that the step leaves.
fn has_meta(here: &str, kind: &Kind, meta: &Meta, step: &Step) -> String {
    let node = match &step.before {
        Seen::Node(node) if node.kind == *kind => Some(node),
        _ => None,
    };
    let new = if *kind == Kind::Dir { 0o755 } else { 0o644 };
    let mode = meta.mode.or(node.map(|node| node.mode)).unwrap_or(new) | super::compare_text::bits(kind);
    let id = |owner: &Option<Owner>, old: Option<u32>| match owner {
        Some(Owner::Id(id)) => Some(*id),
        Some(Owner::Name(_)) => None,
        None => old,
    };
    let owners = (id(&meta.owner, node.map(|node| node.uid)), id(&meta.group, node.map(|node| node.gid)));
    match owners {
        (Some(uid), Some(gid)) => {
            format!("[ \"$(stat -c '%f|%u|%g' -- {here} 2>/dev/null)\" = '{mode:x}|{uid}|{gid}' ]")
        }
        _ => format!("[ \"$(stat -c %f -- {here} 2>/dev/null)\" = {mode:x} ]"),
    }
}

fn write_value(path: &HostPath, old: &str, written: &str, out: &mut String) -> Result<(), String> {
    let (here, old, new) = (path_word(path)?, word(old)?, word(written)?);
    // Word by word: the kernel prints tabs where blanks were written, and marks a choice by brackets.
    let _ = writeln!(
        out,
        "_v=$(cat {here} | tr -s '\\t ' ' ' | sed 's/.*\\[\\(.*\\)\\].*/\\1/'); _o=$(printf %s {old} | tr -s '\\t ' ' '); _n=$(printf %s {new} | tr -s '\\t ' ' ')
if [ \"$_v\" = \"$_o\" ]; then :; elif [ \"$_v\" = \"$_n\" ]; then printf %s {old} > {here} && went || failed {here}; else conflict {here}; fi"
    );
    Ok(())
}

fn metas(here: &str, meta: &Meta) -> Result<String, String> {
    let mut parts = Vec::new();
    if let (Some(Owner::Id(uid)), Some(Owner::Id(gid))) = (&meta.owner, &meta.group) {
        parts.push(format!("chown -h -- {uid}:{gid} {here}"));
    }
    if let Some(mode) = meta.mode {
        parts.push(format!("chmod {mode:04o} {here}"));
    }
    Ok(if parts.is_empty() { ":".to_owned() } else { parts.join(" && ") })
}

fn word(value: &str) -> Result<String, String> {
    literal(value.as_bytes()).map_err(|why| format!("a value {why}"))
}
