//! The comparison of all befores right before the acts: two processes, whatever the number of files.
use super::prepared::Batch;
use super::text::STALE;
use crate::engine::probe::{call_text, path_word};
use crate::transport::shell::word::literal;
use modules::vocabulary::{HostPath, Kind, Match, Node, Read, Seen, touches};
use std::fmt::Write as _;

/// Writes the comparison. Where something is unlike, section `stale.N` holds what was seen, and the script ends.
pub(super) fn write(batch: &Batch, out: &mut String) -> Result<(), String> {
    let mut stats: Vec<(&HostPath, &Node)> = Vec::new();
    let mut digests: Vec<(&HostPath, String)> = Vec::new();
    let mut values: Vec<(&HostPath, &str)> = Vec::new();
    let or = "_st=\"$_st $_i\"";
    out.push_str("_st=\n");
    for (index, folded) in batch.steps.iter().enumerate() {
        let step = &folded.step;
        // What moves on its own is compared with what is seen right before the act; what an earlier step of this batch
        // makes is not there yet.
        let Some(look) = step.look.as_ref().filter(|_| step.after != Match::Changed) else { continue };
        if batch.steps[..index].iter().any(|earlier| touches(&earlier.step.act, look)) {
            continue;
        }
        match (look, &step.before) {
            (Read::File { path, .. } | Read::Stat(path), Seen::Absent) => {
                let word = path_word(path)?;
                let _ = writeln!(out, "_i={index}; if [ -e {word} ] || [ -L {word} ]; then {or}; fi");
            }
            (Read::File { path, .. } | Read::Stat(path), Seen::Node(node)) => {
                stats.push((path, node));
                if let (Kind::File, Some(digest)) = (&node.kind, node.digest()) {
                    digests.push((path, digest.to_string()));
                }
                if let Kind::Link { target } = &node.kind {
                    let target = word(target)?;
                    let _ = writeln!(
                        out,
                        "_i={index}; [ \"$(readlink -n -- {})\" = {target} ] || {or}",
                        path_word(path)?
                    );
                }
            }
            (Read::File { path, .. }, Seen::Value(value)) if value.is_empty() => {
                let _ = writeln!(out, "_i={index}; [ -z \"$(cat {})\" ] || {or}", path_word(path)?);
            }
            (Read::File { path, .. }, Seen::Value(value)) => values.push((path, value)),
            (Read::Ask(row), Seen::Output(before)) => {
                let wanted = word(before.text().trim_end_matches('\n'))?;
                let _ = writeln!(
                    out,
                    "_i={index}; [ \"$({} 2>/dev/null)\" = {wanted} ] || {or}",
                    call_text(row)?
                );
            }
            _ => {}
        }
    }
    together(&stats, &digests, &values, out)?;
    let _ = writeln!(
        out,
        "if [ -n \"$_st\" ]; then printf '%s' \"$_st\"; s stale {STALE}; [ -z \"$_tmp\" ] || eval rm -f -- \"$_tmp\"; exit {STALE}; fi"
    );
    Ok(())
}

fn together(
    stats: &[(&HostPath, &Node)],
    digests: &[(&HostPath, String)],
    values: &[(&HostPath, &str)],
    out: &mut String,
) -> Result<(), String> {
    if !stats.is_empty() {
        let words = join(stats.iter().map(|(path, _)| *path))?;
        let lines: Vec<String> = stats
            .iter()
            .map(|(path, node)| {
                format!("{:x}|{}|{}|{path}", node.mode | bits(&node.kind), node.uid, node.gid)
            })
            .collect();
        check(&format!("stat -c '%f|%u|%g|%n' -- {words}"), &lines.join("\n"), "nodes", out)?;
    }
    if !digests.is_empty() {
        let (odd, plain): (Vec<_>, Vec<_>) =
            digests.iter().partition(|(path, _)| path.as_str().contains(['\\', '\n', '\r']));
        if !plain.is_empty() {
            let words = join(plain.iter().map(|(path, _)| *path))?;
            let lines: Vec<String> = plain.iter().map(|(path, digest)| format!("{digest}  {path}")).collect();
            check(&format!("sha256sum -- {words}"), &lines.join("\n"), "contents", out)?;
        }
        // Names with a backslash or a newline are printed escaped: these are read from standard input.
        for (path, digest) in odd {
            check(&format!("sha256sum < {}", path_word(path)?), &format!("{digest}  -"), "contents", out)?;
        }
    }
    if !values.is_empty() {
        let words = join(values.iter().map(|(path, _)| *path))?;
        let lines: Vec<String> = values
            .iter()
            .flat_map(|(path, value)| value.split('\n').map(move |line| format!("{path}:{line}")))
            .collect();
        check(&format!("grep -H '' {words} /dev/null"), &lines.join("\n"), "values", out)?;
    }
    Ok(())
}

/// One command whose whole output is compared; where it differs, what was seen is printed for the person.
fn check(command: &str, wanted: &str, what: &str, out: &mut String) -> Result<(), String> {
    let _ = writeln!(
        out,
        "_o=$({command} 2>&1); [ \"$_o\" = {} ] || {{ _st=\"$_st {what}\"; printf '%s\\n' \"$_o\"; s found.{what} 0; }}",
        word(wanted)?
    );
    Ok(())
}

fn join<'a>(paths: impl Iterator<Item = &'a HostPath>) -> Result<String, String> {
    Ok(paths.map(path_word).collect::<Result<Vec<_>, _>>()?.join(" "))
}

fn word(value: &str) -> Result<String, String> {
    literal(value.as_bytes()).map_err(|why| format!("a value {why}"))
}

/// The file type's bits in `st_mode`.
pub(super) fn bits(kind: &Kind) -> u32 {
    match kind {
        Kind::File => 0o100_000,
        Kind::Dir => 0o040_000,
        Kind::Link { .. } => 0o120_000,
        Kind::Block => 0o060_000,
        Kind::Char => 0o020_000,
        Kind::Fifo => 0o010_000,
        Kind::Socket => 0o140_000,
    }
}
