//! The way back as a script that lies on the host: enough to go back by hand, without the controller.
use super::prepared::Batch;
use super::text::needs_keeping;
use crate::engine::probe::{call_text, path_word};
use crate::transport::shell::word::{emit, literal};
use modules::vocabulary::{Act, Back, Content, HostPath, Image, Meta, Owner, Seen, Step};
use std::fmt::Write as _;

/// The script that runs the batches' scripts, newest first.
const DRIVER: &str = r#"#!/bin/sh
# Takes back what this run of tunerun changed on this host, newest first. What somebody else has changed since is left
# alone and said. Repeating it does no harm.
D=$(cd "$(dirname "$0")" && pwd) || exit 1; _rc=0; _n=1
while [ -d "$D/$_n" ]; do _n=$((_n+1)); done
while [ $_n -gt 1 ]; do _n=$((_n-1)); [ ! -f "$D/$_n/undo.sh" ] || D="$D" sh "$D/$_n/undo.sh" || _rc=1; done
[ $_rc != 0 ] || echo undone > "$D/mark"
exit $_rc
"#;

/// What each batch's script begins with. `is PATH DIGEST MODE UID GID`: whether a file is in a state.
const HEAD: &str = r#"B=$(cd "$(dirname "$0")" && pwd) || exit 1; D=${D:-${B%/*}}; _rc=0; LC_ALL=C; export LC_ALL
d() { _s=$(sha256sum < "$1" 2>/dev/null); printf %s "${_s%% *}"; }
conflict() { echo "left alone: $1 is neither as tunerun found it nor as tunerun left it" >&2; _rc=1; }
failed() { echo "failed: $1" >&2; _rc=1; }
did() { [ ! -f "$B/log" ] || grep -qx "begun $1" "$B/log"; }
"#;

/// Writes the commands that store the scripts.
pub(super) fn write(batch: &Batch, out: &mut String) -> Result<(), String> {
    let mut script = HEAD.to_owned();
    for (index, folded) in batch.steps.iter().enumerate().rev() {
        step(index, &folded.step, &mut script)?;
    }
    script.push_str("exit $_rc\n");
    if batch.undo {
        // Taking back a taking back would be doing it again.
        script = "exit 0\n".to_owned();
    }
    let _ = writeln!(out, "{} > \"$B/undo.sh\" || f back", emit(script.as_bytes()));
    let _ = writeln!(out, "[ -f \"$D/undo.sh\" ] || {} > \"$D/undo.sh\" || f back", emit(DRIVER.as_bytes()));
    Ok(())
}

fn step(index: usize, step: &Step, out: &mut String) -> Result<(), String> {
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
            put(path, image, made, step, out)?;
        }
        (Back::Exactly(Act::Write { path, value }), Act::Write { value: written, .. }) => {
            write_value(path, value, written, out)?;
        }
        (
            Back::Exactly(Act::Call { row, .. }) | Back::Approximately { act: Act::Call { row, .. }, .. },
            _,
        ) => {
            let _ = writeln!(out, "{} || failed {}", call_text(row)?, word(step.claim.as_str())?);
        }
        (Back::Exactly(other) | Back::Approximately { act: other, .. }, _) => {
            let _ = writeln!(out, "failed {}", word(&format!("{other:?} must be taken back by tunerun"))?);
        }
    }
    out.push_str("fi\n");
    Ok(())
}

fn put(path: &HostPath, old: &Image, made: &Image, step: &Step, out: &mut String) -> Result<(), String> {
    let here = path_word(path)?;
    let temp = match path.parent() {
        Some(folder) => path_word(&folder.join(".tunerun-undo")?)?,
        None => return Err("the root folder cannot be put back".to_owned()),
    };
    let is_before = is_before(path, &step.before)?;
    let is_after = is_after(path, made, step)?;
    let back = match old {
        Image::Absent => match made {
            Image::Dir { .. } => format!("rmdir -- {here}"),
            _ => format!("rm -f -- {here}"),
        },
        Image::Aside => format!("mv -T -- \"$D/aside\"{here} {here}"),
        Image::File { content: Content::Same, meta } | Image::Dir { meta } => metas(&here, meta)?,
        Image::File { .. } | Image::Link { .. } if needs_keeping(step) => {
            format!(
                "cp -a -- \"$B/before\"{here} {temp} && {{ mv -fT -- {temp} {here} 2>/dev/null || {{ cat {temp} > {here} && rm -f -- {temp}; }}; }}"
            )
        }
        Image::File { .. } | Image::Link { .. } => "false".to_owned(),
    };
    let _ = writeln!(
        out,
        "if {is_before}; then :; elif {is_after}; then {back} || failed {here}; else conflict {here}; fi"
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
        Image::Dir { .. } => format!("[ -d {here} ] && [ ! -L {here} ]"),
        Image::Aside => format!("[ -e {here} ]"),
        Image::File { content, .. } => {
            let digest = match content {
                Content::Bytes(bytes) => Some(bytes.digest()),
                Content::Kept(digest) => Some(*digest),
                Content::Same => match &step.before {
                    Seen::Node(node) => node.digest(),
                    _ => None,
                },
            };
            match digest {
                Some(digest) => format!("[ ! -L {here} ] && [ \"$(d {here})\" = {digest} ]"),
                None => format!("[ -f {here} ] && [ ! -L {here} ]"),
            }
        }
    })
}

fn write_value(path: &HostPath, old: &str, written: &str, out: &mut String) -> Result<(), String> {
    let (here, old, new) = (path_word(path)?, word(old)?, word(written)?);
    // Word by word: the kernel prints tabs where blanks were written, and marks a choice by brackets.
    let _ = writeln!(
        out,
        "_v=$(cat {here} | tr -s '\\t ' ' ' | sed 's/.*\\[\\(.*\\)\\].*/\\1/'); _o=$(printf %s {old} | tr -s '\\t ' ' '); _n=$(printf %s {new} | tr -s '\\t ' ' ')
if [ \"$_v\" = \"$_o\" ]; then :; elif [ \"$_v\" = \"$_n\" ]; then printf %s {old} > {here} || failed {here}; else conflict {here}; fi"
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
