//! A batch as one piece of shell text, in four phases: stage and keep the ways back, compare all befores, act in order,
//! look again. Stale anywhere: nothing is written.
use super::act_text::act;
use super::back_text;
use super::compare_text;
use super::dead_man_text;
use super::lock_text::lock_batch;
use super::place::{Place, Placing, leftovers};
use super::prepared::{Batch, Prepared};
use crate::engine::probe::{Reads, path_word};
use crate::transport::shell::word::{self, emit, literal, quote};
use modules::vocabulary::{
    Act, Back, Bytes, Content, Digest, HostPath, Identity, Image, Match, Meta, Owner, Read, Step, TEXT_LIMIT,
    Want, touches,
};
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

/// Makes the text of a batch.
///
/// # Errors
/// Says which value cannot be brought to a host.
pub fn text(prepared: &Prepared, base: &str, who: &Identity) -> Result<Text, String> {
    let batch = prepared.batch();
    let placing = Placing::new(batch, prepared.run(), who);
    let mut body = String::new();
    head(prepared, &mut body);
    if who.uid == 0 {
        immutable(batch, &mut body)?;
    }
    let uploads = stage(batch, &placing, &mut body)?;
    keep(batch, &mut body)?;
    back_text::write(batch, prepared.run(), &placing, &mut body)?;
    sync(batch, &placing, &mut body)?;
    compare_text::write(batch, &mut body)?;
    body.push_str(&evidence(batch).text("b.")?);
    if let Some(seconds) = batch.dead_man {
        dead_man_text::arm(batch, prepared.run(), seconds, &mut body);
    }
    for (index, folded) in batch.steps.iter().enumerate() {
        act(batch, index, &folded.step, &placing, &mut body)?;
    }
    // What an act that failed had begun beside its target would keep the folder from going back.
    let begun: Vec<String> =
        leftovers(batch, prepared.run()).iter().map(path_word).collect::<Result<_, _>>()?;
    if !begun.is_empty() {
        let _ = writeln!(body, "[ $_ok = 1 ] || rm -f -- {}", begun.join(" "));
    }
    let looks = looks(batch);
    let _ = writeln!(body, "{{ :\n{}}} 9>&-", looks.text("p.")?);
    if batch.last {
        body.push_str("[ $_ok = 0 ] || echo finished > \"$D/mark\"\n");
    }
    body.push_str("[ $_ok = 1 ]\n");
    Ok(Text { script: lock_batch(&body, prepared, base), looks, uploads })
}

/// What is looked at right before the acts: what an act must change to prove that it happened.
pub fn evidence(batch: &Batch) -> Reads {
    let changed = batch.steps.iter().filter(|folded| folded.step.after == Match::Changed);
    let reads: Vec<&Read> = changed.filter_map(|folded| folded.step.look.as_ref()).collect();
    Reads::new(reads)
}

/// What is looked at after the acts: each step's own look, and what the tasks ask again. A content that was put is
/// known here: its digest tells whether it is there, and it does not travel back.
pub fn looks(batch: &Batch) -> Reads {
    let own = batch.steps.iter().filter_map(|folded| folded.step.look.clone());
    let asked = batch.verify.iter().map(|read| match (read, content_put(batch, read)) {
        (Read::File { path, .. }, Some(_)) => Read::digest(path),
        _ => read.clone(),
    });
    Reads::new(&own.chain(asked).collect::<Vec<Read>>())
}

/// The content that a batch puts where a text is read, if nothing later in it touches that.
pub(super) fn content_put<'b>(batch: &'b Batch, read: &Read) -> Option<&'b Bytes> {
    let Read::File { path, want: Want::Text } = read else { return None };
    let mut acts = batch.steps.iter().rev().map(|folded| &folded.step.act).filter(|act| touches(act, read));
    match acts
        .find(|act| !matches!(act, Act::Put { image: Image::File { content: Content::Same, .. }, .. }))?
    {
        Act::Put { path: at, image: Image::File { content: Content::Bytes(bytes), .. }, .. }
            if at == path && bytes.as_slice().len() as u64 <= TEXT_LIMIT =>
        {
            Some(bytes)
        }
        _ => None,
    }
}

/// `f SECTION [FILE]` ends the script where nothing was written yet. Shells' builtins call every failed write an "I/O
/// error": a further write to the file by a program tells the reason.
pub(super) fn head(prepared: &Prepared, out: &mut String) {
    let (run, number) = (quote(prepared.run()), prepared.batch().number);
    // The next batch's folder too: that saves it a process.
    let next = number + 1;
    let _ = writeln!(
        out,
        "D=$_b/{run}; B=$D/{number}; _ok=1; _tmp=; umask 077
f() {{ [ -z \"$2\" ] || {{ head -c 65536 /dev/zero >> \"$2\"; rm -f -- \"$2\"; }}; s \"$1\" {UNSTAGED}; [ -z \"$_tmp\" ] || eval rm -f -- \"$_tmp\"; exit {UNSTAGED}; }}
[ -d \"$B/before\" ] || mkdir -p \"$B/before\" \"$D/{next}/before\" || f dir
IFS= read -r _i < /proc/sys/kernel/random/boot_id; printf 'boot %s\\ngroup %s\\n' \"$_i\" \"$_g\" > \"$B/log\" || f dir \"$B/log\"
echo open > \"$D/mark\" || f dir \"$D/mark\""
    );
}

/// What root may not write is immutable, or its file system is read-only: said before anything is written. The
/// shell's own test asks the kernel (access(2)), which costs no process.
fn immutable(batch: &Batch, out: &mut String) -> Result<(), String> {
    use modules::vocabulary::{Kind, Seen};
    let there = batch.steps.iter().filter_map(|folded| match (&folded.step.act, &folded.step.before) {
        (Act::Put { path, .. }, Seen::Node(node)) if matches!(node.kind, Kind::File | Kind::Dir) => {
            Some(path)
        }
        _ => None,
    });
    let words = there.map(path_word).collect::<Result<Vec<_>, _>>()?;
    if !words.is_empty() {
        let _ = writeln!(
            out,
            "for _f in {}; do [ ! -e \"$_f\" ] || [ -w \"$_f\" ] || {{ echo \"$_f cannot be written, not even by root: it is immutable \
             ('chattr -i' lifts that, 'lsattr' shows it), or its file system is read-only\" >&2; f immutable; }}; done",
            words.join(" ")
        );
    }
    Ok(())
}

/// New contents go to temporary files beside their targets, with owner, mode, attributes and label copied first.
fn stage(batch: &Batch, placing: &Placing, out: &mut String) -> Result<Vec<(HostPath, usize)>, String> {
    let mut uploads = Vec::new();
    for (index, folded) in batch.steps.iter().enumerate() {
        let Some(place) = placing.of(index).filter(|place| !place.direct) else { continue };
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
                uploads.push((uploaded(path, place)?, index));
                let length = bytes.as_slice().len();
                let _ = writeln!(out, "[ \"$(wc -c < {temp})\" = {length} ] || f stage.{index}");
                if let Some(mode) = plain {
                    let _ = writeln!(out, "chmod {mode:04o} {temp} || f stage.{index}");
                }
            }
            Content::Bytes(bytes) => {
                let mut write = format!("{} > {temp}", emit(bytes.as_slice()));
                if let Some(digest) = place.kept {
                    write = format!(
                        "{}; if [ -n \"$_k\" ]; then cp -a -T -- \"$_k\" {temp}; else {write}; fi",
                        find_kept(&path_word(path)?, digest)
                    );
                }
                let _ = writeln!(out, "{write} || f stage.{index} {temp}");
            }
            Content::Kept(digest) => stage_kept((path, *digest), place, index, out)?,
            Content::Same => {}
        }
        if plain.is_some() {
            out.push_str("umask 077\n");
        }
        // What is written in place keeps its own.
        let kept = Meta::default();
        let meta = if place.in_place { &kept } else { meta };
        meta_text(&temp, meta, plain, &format!("f stage.{index}"), out)?;
        if let Some(command) = validate {
            let command = word::plain(command).replace("%s", &temp);
            let _ = writeln!(
                out,
                "( {command} ) </dev/null 9>&-; _r=$?; s validate.{index} $_r; [ $_r = 0 ] || f stage.{index}"
            );
        }
    }
    Ok(uploads)
}

/// The temporary file that a large content is sent to by a channel of its own.
fn uploaded(path: &HostPath, place: &Place) -> Result<HostPath, String> {
    place.path.clone().ok_or_else(|| {
        format!(
            "{path} is too large to be put where its folder is made in the same batch, or where it must be written in \
             place (a mount point, or other hard links to it)"
        )
    })
}

/// A content that the host itself kept comes back.
fn stage_kept(
    (path, digest): (&HostPath, Digest),
    place: &Place,
    index: usize,
    out: &mut String,
) -> Result<(), String> {
    let (temp, kept) = (place.word()?, path_word(path)?);
    let copy = match place.kept {
        Some(_) => format!("cp -a -T -- \"$_k\" {temp}"),
        None => format!("cat \"$_k\" > {temp}"),
    };
    let _ = writeln!(
        out,
        "{}; [ -n \"$_k\" ] || {{ echo 'what was kept of '{kept}' is not in the folder of the run any more' >&2; f stage.{index}; }}; \
         {copy} || f stage.{index}",
        find_kept(&kept, digest)
    );
    Ok(())
}

/// Finds what was kept of a path under a digest, in the folder of the batch that changed it first: with all of its
/// attributes.
fn find_kept(word: &str, digest: Digest) -> String {
    format!(
        "_k=; for _c in \"$D\"/*/before{word}; do [ ! -f \"$_c\" ] || case $(sha256sum < \"$_c\") in {digest}*) _k=$_c;; esac; done"
    )
}

/// Mode and owners of a path that is there. What `made` has already is not set again.
pub(super) fn meta_text(
    word: &str,
    meta: &Meta,
    made: Option<u32>,
    or: &str,
    out: &mut String,
) -> Result<(), String> {
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

pub(super) fn sync(batch: &Batch, placing: &Placing, out: &mut String) -> Result<(), String> {
    let mut words = vec!["\"$B/undo.sh\"".to_owned(), "\"$B\"".to_owned()];
    if batch.number == 1 {
        words.extend(["\"$D/undo.sh\"".to_owned(), "\"$D\"".to_owned(), "\"$_b\"".to_owned()]);
    }
    // What the controller's journal holds by its digest alone lies here and nowhere else.
    for folded in &batch.steps {
        let alone = matches!(
            &folded.step.back,
            Back::Exactly(Act::Put { image: Image::File { content: Content::Kept(_), .. }, .. })
        );
        if let (Some(path), true, true) = (folded.step.path(), alone, needs_keeping(&folded.step)) {
            words.push(format!("\"$B/before\"{}", path_word(path)?));
        }
    }
    words.extend(placing.staged().map(Place::word).collect::<Result<Vec<_>, _>>()?);
    let _ = writeln!(out, "sync -- {} 2>/dev/null || sync", words.join(" "));
    Ok(())
}
