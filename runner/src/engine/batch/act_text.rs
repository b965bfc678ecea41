//! The acts of a batch as shell text, each between two marks in the run's folder.
use super::place::Placing;
use super::prepared::Batch;
use super::text::meta_text;
use crate::engine::probe::{call_text, path_word};
use crate::transport::shell::word::{emit, literal};
use modules::vocabulary::{Act, Content, HostPath, Image, Meta, Seen, Step};
use std::fmt::Write as _;

/// Writes one act with its marks. A failing act ends a batch; but what goes back goes back as far as it can.
pub(super) fn act(
    batch: &Batch,
    index: usize,
    step: &Step,
    placing: &Placing,
    out: &mut String,
) -> Result<(), String> {
    let mut text = String::new();
    match &step.act {
        Act::Put { path, image, .. } => put(batch, index, path, image, step, placing, &mut text)?,
        Act::Write { path, value } => {
            let (path, value) =
                (path_word(path)?, literal(value.as_bytes()).map_err(|why| format!("a value {why}"))?);
            // The builtin's own words do not tell EINVAL from EIO; a second try by `tee` does, and changes nothing else.
            let _ = write!(
                text,
                "{{ printf %s {value} > {path}; }} 2>/dev/null || printf %s {value} | tee -- {path} >/dev/null"
            );
        }
        Act::Call { row, .. } => text.push_str(&call_text(row)?),
        Act::Rpc { socket, method, .. } => {
            return Err(format!("{method} on {socket} must go over its own carrier"));
        }
    }
    let go_on = if batch.undo { " || :" } else { "" };
    let mut undone = String::new();
    for earlier in batch.undoes(index) {
        let _ = write!(
            undone,
            "[ $_r != 0 ] || [ ! -d \"$D/{0}\" ] || echo undone {1} >> \"$D/{0}/log\"; ",
            earlier.batch, earlier.step
        );
    }
    let _ = writeln!(
        out,
        "if [ $_ok = 1 ]{go_on}; then echo begun {index} >> \"$B/log\"; umask 022; {{ {text}; }} 9>&-; _r=$?; umask 077; \
         echo ended {index} $_r >> \"$B/log\"; {undone}s a.{index} $_r; [ $_r = 0 ] || _ok=0; fi"
    );
    Ok(())
}

fn put(
    batch: &Batch,
    index: usize,
    path: &HostPath,
    image: &Image,
    step: &Step,
    placing: &Placing,
    out: &mut String,
) -> Result<(), String> {
    let word = path_word(path)?;
    match image {
        Image::File { content: Content::Same, meta } => {
            let mut lines = String::new();
            meta_text(&word, meta, None, "false", &mut lines)?;
            join_lines(&lines, out);
        }
        Image::File { meta, content } => put_file(path, index, (content, meta), step, placing, out)?,
        Image::Dir { meta } => put_dir(&word, meta, step, out)?,
        Image::Link { target } => {
            let target = literal(target.as_bytes()).map_err(|why| format!("a link {why}"))?;
            let beside = placing.beside(path, index)?;
            let _ = write!(out, "ln -s -- {target} {beside} && mv -fT -- {beside} {word}");
        }
        Image::Absent => {
            let moved = matches!(&step.before, modules::vocabulary::Seen::Node(node) if node.kind == modules::vocabulary::Kind::Dir);
            if moved && batch.undo {
                // It was made by the run; what somebody else has put in it since is theirs.
                let _ = write!(out, "rmdir -- {word}");
            } else if moved {
                let _ = write!(
                    out,
                    "mkdir -p \"$D/aside\"{0} && mv -T -- {word} \"$D/aside\"{word}",
                    parent_word(path)?
                );
            } else {
                let _ = write!(out, "rm -f -- {word}");
            }
        }
        Image::Aside => {
            let _ = write!(out, "[ ! -e {word} ] && mv -T -- \"$D/aside\"{word} {word}");
        }
    }
    Ok(())
}

/// A staged content goes to its place.
fn put_file(
    path: &HostPath,
    index: usize,
    (content, meta): (&Content, &Meta),
    step: &Step,
    placing: &Placing,
    out: &mut String,
) -> Result<(), String> {
    let word = path_word(path)?;
    let place = placing.of(index).ok_or("a content without a place")?;
    let temp = place.word()?;
    match (place.in_place, &place.path) {
        (true, _) => {
            let _ = write!(out, "cat {temp} > {word} && rm -f -- {temp}");
            let meta = match &step.before {
                Seen::Node(node) => &meta.beyond(node),
                _ => meta,
            };
            let mut lines = String::new();
            meta_text(&word, meta, None, "false", &mut lines)?;
            if !lines.is_empty() {
                out.push_str(" && ");
                join_lines(&lines, out);
            }
        }
        (false, Some(_)) => {
            let _ = write!(out, "mv -fT -- {temp} {word}");
        }
        (false, None) if place.direct => {
            let Content::Bytes(bytes) = content else { return Err(format!("{path} has no content")) };
            let beside = placing.beside(path, index)?;
            let umask = 0o666 & !meta.mode.unwrap_or(0o644);
            let _ = write!(
                out,
                "umask {umask:04o} && {} > {beside} && umask 022 && mv -fT -- {beside} {word}",
                emit(bytes.as_slice())
            );
        }
        (false, None) => {
            let beside = placing.beside(path, index)?;
            let _ = write!(out, "cp -p -- {temp} {beside} && mv -fT -- {beside} {word}");
        }
    }
    if step.before == Seen::Absent {
        // A new file has the label of its folder; the policy may want another.
        let _ = write!(
            out,
            " && {{ [ ! -e /sys/fs/selinux/enforce ] || ! command -v restorecon >/dev/null || restorecon -- {word}; }}"
        );
    }
    Ok(())
}

/// A folder is made, or gets what it should have.
fn put_dir(word: &str, meta: &Meta, step: &Step, out: &mut String) -> Result<(), String> {
    let new = step.before == Seen::Absent;
    let mode = meta.mode.unwrap_or(0o755);
    if new {
        let _ = write!(out, "mkdir -m {mode:04o} -- {word}");
    }
    let mut lines = String::new();
    let rest = if new { Meta { mode: None, ..meta.clone() } } else { meta.clone() };
    meta_text(word, &rest, None, "false", &mut lines)?;
    match (new, lines.is_empty()) {
        (true, true) => {}
        (true, false) => {
            out.push_str(" && ");
            join_lines(&lines, out);
        }
        (false, _) => join_lines(&lines, out),
    }
    Ok(())
}

fn parent_word(path: &HostPath) -> Result<String, String> {
    path.parent().map_or_else(|| Ok("/".to_owned()), |parent| path_word(&parent))
}

/// Lines of `COMMAND || false` as one list.
fn join_lines(lines: &str, out: &mut String) {
    let joined: Vec<&str> = lines.lines().map(|line| line.trim_end_matches(" || false")).collect();
    out.push_str(if joined.is_empty() { ":" } else { "" });
    out.push_str(&joined.join(" && "));
}
