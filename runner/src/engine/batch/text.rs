//! A batch as one piece of shell text, in four phases: stage and keep the ways back, compare all befores, act in order,
//! look again. Stale anywhere: nothing is written.
use super::back_text;
use super::compare_text;
use super::place::{Place, Placing};
use super::prepared::{Batch, Prepared};
use crate::engine::probe::{Reads, call_text, path_word};
use crate::transport::shell::word::{emit, literal, quote};
use modules::vocabulary::{Act, Content, HostPath, Image, Meta, Owner, Read, Step};
use std::fmt::Write as _;

/// Exit status of a script that found something stale, and wrote nothing.
pub const STALE: i32 = 73;
/// Exit status of a script that could not stage, and wrote nothing.
pub const UNSTAGED: i32 = 74;
/// Exit status of a script that found the host locked by another run.
pub const LOCKED: i32 = 75;

/// The text, and what its answer must be read with.
#[derive(Debug)]
pub struct Text {
    /// What goes to the interpreter, in session place: the lock is held by the session's descriptor.
    pub script: String,
    /// The looks at its end.
    pub looks: Reads,
    /// Values too large to be part of a script: where they must be uploaded first, and their step.
    pub uploads: Vec<(HostPath, usize)>,
}

/// Where the host keeps what belongs to runs, as shell text: the folder that the inventory names
/// (`tunerun_state_dir`), else for root one that outlives reboots, for others one below the home folder.
pub fn base(named: Option<&HostPath>, uid: u32) -> Result<String, String> {
    match named {
        Some(path) => path_word(path),
        None if uid == 0 => Ok("/var/lib/tunerun".to_owned()),
        None => Ok("\"${HOME:?}\"/.local/state/tunerun".to_owned()),
    }
}

/// Makes the text of a batch.
///
/// # Errors
/// Says which value cannot be brought to a host.
pub fn text(prepared: &Prepared, base: &str) -> Result<Text, String> {
    let batch = prepared.batch();
    let placing = Placing::new(batch, prepared.run());
    let mut body = String::new();
    head(prepared, &mut body);
    let uploads = stage(batch, &placing, &mut body)?;
    keep(batch, &mut body)?;
    back_text::write(batch, &mut body)?;
    sync(&placing, &mut body)?;
    compare_text::write(batch, &mut body)?;
    for (index, folded) in batch.steps.iter().enumerate() {
        act(index, &folded.step, &placing, &mut body)?;
    }
    let looks = looks(batch);
    body.push_str(&looks.text("p.")?);
    if batch.last {
        body.push_str("[ $_ok = 0 ] || echo finished > \"$D/mark\"\n");
    }
    body.push_str("[ $_ok = 1 ]\n");
    Ok(Text { script: locked(&body, prepared.run(), base), looks, uploads })
}

/// What is looked at after the acts: each step's own look, and what the tasks ask again.
pub fn looks(batch: &Batch) -> Reads {
    let own = batch.steps.iter().filter_map(|folded| folded.step.look.as_ref());
    let reads: Vec<&Read> = own.chain(&batch.verify).collect();
    Reads::new(reads)
}

/// The lock is taken once a session and kept by descriptor 9, which subshells close: no child inherits it.
fn locked(body: &str, run: &str, base: &str) -> String {
    format!(
        "_b={base}; if [ -z \"$_locked\" ]; then umask 077; mkdir -p \"$_b\" && exec 9>>\"$_b/lock\" && \
         if flock -n 9; then _locked=1; echo {run} > \"$_b/lock.run\"; fi; umask 022; fi
if [ -z \"$_locked\" ]; then cat \"$_b/lock.run\"; s locked {LOCKED}; ( exit {LOCKED} ); else (
{body}) 9>&-; fi\n"
    )
}

fn head(prepared: &Prepared, out: &mut String) {
    let (run, number) = (quote(prepared.run()), prepared.batch().number);
    let _ = writeln!(
        out,
        "D=$_b/{run}; B=$D/{number}; _ok=1; _tmp=; umask 077
f() {{ s \"$1\" {UNSTAGED}; [ -z \"$_tmp\" ] || eval rm -f -- \"$_tmp\"; exit {UNSTAGED}; }}
mkdir -p \"$B/before\" || f dir
[ -s \"$D/mark\" ] || echo open > \"$D/mark\" || f dir"
    );
}

/// New contents go to temporary files beside their targets, with owner, mode, attributes and label copied first.
fn stage(batch: &Batch, placing: &Placing, out: &mut String) -> Result<Vec<(HostPath, usize)>, String> {
    let mut uploads = Vec::new();
    for (index, folded) in batch.steps.iter().enumerate() {
        let Some(place) = placing.of(index) else { continue };
        let Act::Put { path, image: Image::File { content, meta }, validate } = &folded.step.act else {
            continue;
        };
        let temp = place.word()?;
        let existing = place.existing;
        let _ = writeln!(out, "_tmp=\"$_tmp {}\"", quote(&temp).replace('"', "\\\""));
        if existing {
            let from = path_word(path)?;
            let _ = writeln!(
                out,
                "cp -a --attributes-only -T -- {from} {temp} 2>/dev/null || cp -p -- {from} {temp} || f stage.{index}"
            );
        }
        let plain = if existing { None } else { meta.mode.or(Some(0o644)) };
        if let Some(mode) = plain {
            let _ = writeln!(out, "umask {:04o}", 0o666 & !mode);
        }
        match content {
            Content::Bytes(bytes) if bytes.as_slice().len() >= crate::transport::shell::word::LARGE => {
                let Place { path: Some(temp), .. } = place else {
                    return Err(format!(
                        "{path} is too large to be put where its folder is made in the same batch"
                    ));
                };
                uploads.push((temp.clone(), index));
                let length = bytes.as_slice().len();
                let _ = writeln!(out, "[ \"$(wc -c < {temp})\" = {length} ] || f stage.{index}");
                if let Some(mode) = plain {
                    let _ = writeln!(out, "chmod {mode:04o} {temp} || f stage.{index}");
                }
            }
            Content::Bytes(bytes) => {
                let _ = writeln!(out, "{} > {temp} || f stage.{index}", emit(bytes.as_slice()));
            }
            Content::Kept(digest) => {
                // What was kept lies in the folder of the batch that changed it first.
                let kept = path_word(path)?;
                let _ = writeln!(
                    out,
                    "_k=; for _c in \"$D\"/*/before{kept}; do case $(sha256sum < \"$_c\") in {digest}*) _k=$_c;; esac; done; cat \"$_k\" > {temp} || f stage.{index}"
                );
            }
            Content::Same => {}
        }
        if plain.is_some() {
            out.push_str("umask 077\n");
        }
        meta_text(&temp, meta, plain, &format!("f stage.{index}"), out)?;
        if let Some(command) = validate {
            let command = command.replace("%s", &temp);
            let _ = writeln!(
                out,
                "( {command} ) </dev/null; _r=$?; s validate.{index} $_r; [ $_r = 0 ] || f stage.{index}"
            );
        }
    }
    Ok(uploads)
}

/// Mode and owners of a path that is there. What `made` has already is not set again.
fn meta_text(word: &str, meta: &Meta, made: Option<u32>, or: &str, out: &mut String) -> Result<(), String> {
    let owner = |owner: &Owner| match owner {
        Owner::Id(id) => Ok(id.to_string()),
        Owner::Name(name) => literal(name.as_bytes()).map_err(|why| format!("an owner {why}")),
    };
    let owners = match (&meta.owner, &meta.group) {
        (None, None) => None,
        (Some(user), None) => Some(owner(user)?),
        (None, Some(group)) => Some(format!(":{}", owner(group)?)),
        (Some(user), Some(group)) => Some(format!("{}:{}", owner(user)?, owner(group)?)),
    };
    if let Some(owners) = owners {
        let _ = writeln!(out, "chown -h -- {owners} {word} || {or}");
    }
    // chown clears the set-id bits, so the mode comes after it.
    match meta.mode {
        Some(mode) if made != Some(mode) || mode & !0o666 != 0 || meta.owner.is_some() => {
            let _ = writeln!(out, "chmod {mode:04o} {word} || {or}");
        }
        _ => {}
    }
    Ok(())
}

/// What is there before goes to the run's folder, whole, with its attributes.
fn keep(batch: &Batch, out: &mut String) -> Result<(), String> {
    let mut words = Vec::new();
    for folded in &batch.steps {
        if let (Some(path), true) = (folded.step.path(), needs_keeping(&folded.step)) {
            words.push(path_word(path)?);
        }
    }
    if !words.is_empty() {
        let words = words.join(" ");
        let _ = writeln!(
            out,
            "cp -a --reflink=auto --parents -- {words} \"$B/before\" 2>/dev/null || for _f in {words}; do mkdir -p \"$B/before${{_f%/*}}\" && cp -a -- \"$_f\" \"$B/before$_f\" || f keep; done"
        );
    }
    Ok(())
}

/// Whether a put takes a content away that was there: a change of mode alone and a moved tree do not.
pub(super) fn needs_keeping(step: &Step) -> bool {
    use modules::vocabulary::{Kind, Seen};
    let Act::Put { image, .. } = &step.act else { return false };
    if matches!(image, Image::File { content: Content::Same, .. } | Image::Dir { .. } | Image::Aside) {
        return false;
    }
    matches!(&step.before, Seen::Node(node) if matches!(node.kind, Kind::File | Kind::Link { .. }))
}

fn sync(placing: &Placing, out: &mut String) -> Result<(), String> {
    let mut words = vec!["\"$B/undo.sh\"".to_owned(), "\"$B\"".to_owned()];
    words.extend(placing.staged().map(Place::word).collect::<Result<Vec<_>, _>>()?);
    let _ = writeln!(out, "sync -- {} 2>/dev/null || sync", words.join(" "));
    Ok(())
}

fn act(index: usize, step: &Step, placing: &Placing, out: &mut String) -> Result<(), String> {
    let mut text = String::new();
    match &step.act {
        Act::Put { path, image, .. } => put(index, path, image, step, placing, &mut text)?,
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
    let _ = writeln!(
        out,
        "if [ $_ok = 1 ]; then echo begun {index} >> \"$B/log\"; umask 022; {text}; _r=$?; umask 077; \
         echo ended {index} $_r >> \"$B/log\"; s a.{index} $_r; [ $_r = 0 ] || _ok=0; fi"
    );
    Ok(())
}

fn put(
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
        Image::File { .. } => {
            let place = placing.of(index).ok_or("a content without a place")?;
            let temp = place.word()?;
            match (place.in_place, &place.path) {
                (true, _) => {
                    let _ = write!(out, "cat {temp} > {word} && rm -f -- {temp}");
                    let Image::File { meta, .. } = image else { return Ok(()) };
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
                (false, None) => {
                    let beside = placing.beside(path, index)?;
                    let _ = write!(out, "cp -p -- {temp} {beside} && mv -fT -- {beside} {word}");
                }
            }
            if step.before == modules::vocabulary::Seen::Absent {
                // A new file has the label of its folder; the policy may want another.
                let _ = write!(
                    out,
                    " && {{ [ ! -e /sys/fs/selinux/enforce ] || ! command -v restorecon >/dev/null || restorecon -- {word}; }}"
                );
            }
        }
        Image::Dir { meta } => {
            let new = step.before == modules::vocabulary::Seen::Absent;
            let mode = meta.mode.unwrap_or(0o755);
            if new {
                let _ = write!(out, "mkdir -m {mode:04o} -- {word}");
            }
            let mut lines = String::new();
            let rest = if new { Meta { mode: None, ..meta.clone() } } else { meta.clone() };
            meta_text(&word, &rest, None, "false", &mut lines)?;
            match (new, lines.is_empty()) {
                (true, true) => {}
                (true, false) => {
                    out.push_str(" && ");
                    join_lines(&lines, out);
                }
                (false, _) => join_lines(&lines, out),
            }
        }
        Image::Link { target } => {
            let target = literal(target.as_bytes()).map_err(|why| format!("a link {why}"))?;
            let beside = placing.beside(path, index)?;
            let _ = write!(out, "ln -s -- {target} {beside} && mv -fT -- {beside} {word}");
        }
        Image::Absent => {
            let moved = matches!(&step.before, modules::vocabulary::Seen::Node(node) if node.kind == modules::vocabulary::Kind::Dir);
            if moved {
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

fn parent_word(path: &HostPath) -> Result<String, String> {
    path.parent().map_or_else(|| Ok("/".to_owned()), |parent| path_word(&parent))
}

/// Lines of `COMMAND || false` as one list.
fn join_lines(lines: &str, out: &mut String) {
    let joined: Vec<&str> = lines.lines().map(|line| line.trim_end_matches(" || false")).collect();
    out.push_str(if joined.is_empty() { ":" } else { "" });
    out.push_str(&joined.join(" && "));
}
