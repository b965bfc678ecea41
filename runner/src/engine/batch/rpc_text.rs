//! A batch over a socket, as far as the host's shell has a part in it: the lock, the way back, the marks, the looks.
//! Its acts are marked as begun together, before the first is sent: a look tells how far they came.
use super::lock_text::lock_batch;
use super::place::Placing;
use super::prepared::{Batch, Prepared};
use super::report::ActDone;
use super::text::{head, looks, sync};
use super::{BatchReport, back_text};
use crate::engine::probe::Reads;
use crate::transport::Script;
use crate::transport::shell::Answer;
use crate::transport::shell::word::LARGE;
use modules::vocabulary::{Identity, Seen};
use std::fmt::Write as _;

/// A script, and the looks in its answer.
#[derive(Debug)]
pub(crate) struct RpcText {
    /// The script; it keeps the host's lock in its session.
    pub script: Script,
    /// The looks at its end.
    pub looks: Reads,
}

/// What comes before the first request.
///
/// # Errors
/// Says which value cannot be brought to a host, and a step without a look: nobody could tell what came of it.
pub(crate) fn opening(prepared: &Prepared, base: &str) -> Result<RpcText, String> {
    let batch = prepared.batch();
    if let Some(blind) = batch.steps.iter().find(|folded| folded.step.look.is_none()) {
        return Err(format!("{} is an RPC without a look", blind.step.claim));
    }
    let placing = Placing::new(batch, prepared.run(), &Identity::default());
    let mut body = String::new();
    head(prepared, &mut body);
    back_text::write(batch, prepared.run(), &placing, &mut body)?;
    sync(batch, &placing, &mut body)?;
    let script = Script::new(lock_batch(&body, prepared, base)).in_session();
    Ok(RpcText { script, looks: Reads::default() })
}

/// The marks of all acts, once it is clear that they may begin.
pub(crate) fn begun(prepared: &Prepared, base: &str) -> Script {
    let mut body = folders(prepared);
    body.push_str("{ :");
    for index in 0..prepared.batch().steps.len() {
        let _ = write!(body, "; echo begun {index}");
    }
    body.push_str("; } >> \"$B/log\" && sync -- \"$B/log\"\n");
    Script::new(lock_batch(&body, prepared, base)).in_session()
}

fn folders(prepared: &Prepared) -> String {
    let run = crate::transport::shell::word::quote(prepared.run());
    format!("D=$_b/{run}; B=$D/{}\n", prepared.batch().number)
}

/// What comes after the last answer: the marks, and the looks of the host's shell.
///
/// # Errors
/// As [`opening`].
pub(crate) fn closing(
    prepared: &Prepared,
    base: &str,
    acts: &[Option<ActDone>],
    well: bool,
) -> Result<RpcText, String> {
    let batch = prepared.batch();
    let mut body = folders(prepared);
    for (index, act) in acts.iter().enumerate() {
        let Some(act) = act else { continue };
        let _ = writeln!(body, "echo ended {index} {} >> \"$B/log\"", act.output.status);
        if act.output.status == 0 {
            for earlier in batch.undoes(index) {
                let _ = writeln!(
                    body,
                    "[ ! -d \"$D/{0}\" ] || echo undone {1} >> \"$D/{0}/log\"",
                    earlier.batch, earlier.step
                );
            }
        }
    }
    let looks = looks(batch);
    let _ = writeln!(body, "{{ :\n{}}} 9>&-", looks.text("p.")?);
    if batch.last && well {
        body.push_str("echo finished > \"$D/mark\"\n");
    }
    body.push_str(":\n");
    let lists = 64 << 20;
    let script = Script::new(lock_batch(&body, prepared, base))
        .in_session()
        .cap("p.c", looks.content_cap().max(LARGE))
        .cap("p.st", lists)
        .cap("p.dg", lists)
        .cap("p.v", lists);
    Ok(RpcText { script, looks })
}

impl BatchReport {
    /// What the host's shell said in such a script.
    ///
    /// # Errors
    /// Says what in the answer is not as the script makes it.
    pub(crate) fn of_rpc(batch: &Batch, looks: &Reads, answer: &Answer) -> Result<Self, String> {
        let shell = Batch { steps: Vec::new(), ..batch.clone() };
        let told = Self::of(&shell, &Reads::default(), answer)?;
        if told.nothing_was_written() {
            return Ok(told);
        }
        let round = looks.answers("p.", answer)?;
        let mut seen = round.seen;
        for read in round.again {
            seen.insert(read, Seen::Failed("it changed while it was looked at".to_owned()));
        }
        Ok(Self { seen, ..Self::default() })
    }
}
