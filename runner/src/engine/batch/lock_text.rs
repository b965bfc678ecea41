//! The host's lock, the mark of an open run and the marks of acts, as shell text.
use super::prepared::{Batch, Prepared};
use super::text::LOCKED;
use crate::engine::probe::path_word;
use crate::transport::shell::word::quote;
use modules::vocabulary::HostPath;
use std::fmt::Write as _;

/// Where the host keeps what belongs to runs, as shell text: the folder that the inventory names
/// (`tunerun_state_dir`), else for root one that outlives reboots, for others one below the home folder.
pub fn base(named: Option<&HostPath>, uid: u32) -> Result<String, String> {
    match named {
        Some(path) => path_word(path),
        None if uid == 0 => Ok("/var/lib/tunerun".to_owned()),
        None => Ok("\"${HOME:?}\"/.local/state/tunerun".to_owned()),
    }
}

/// Takes the lock once a session, by descriptor 9, and runs `body` in a subshell that keeps it: where the session's
/// shell is killed, a script that still runs holds it on. Acts close it for their children. Where another session of
/// the same holder has it, that counts. Else section `locked` says who has it.
///
/// For whoever takes a run back: nobody else writes the run's journal, so another session of this run has lost its
/// controller. Where it is idle it is ended: its end of a cut link may not hear of that for hours. One that is at work is
/// waited for.
pub(crate) fn lock(body: &str, run: &str, holder: &str, base: &str) -> String {
    let idle = format!(
        "if [ -z \"$_locked\" ] && [ \"$_r\" = {} ] && [ \"${{_lp:-0}}\" -gt 1 ] 2>/dev/null && [ \"/proc/$_lp/fd/9\" -ef \"$_b/lock\" ] && \
         ( for _f in /proc/[0-9]*/stat; do {{ IFS= read -r _x < \"$_f\"; }} 2>/dev/null || continue; set -- ${{_x##*) }}; \
         [ \"$2\" != \"$_lp\" ] || exit 1; done ); then kill -KILL \"$_lp\"; fi\n",
        quote(run)
    );
    locked(body, run, holder, base, &idle)
}

/// The same for the script of a batch: one that comes late, when a recovery has taken its batch for lost, does nothing.
/// A network delivers what was sent to it also when whoever sent it is gone.
pub(crate) fn lock_batch(body: &str, prepared: &Prepared, base: &str) -> String {
    let (run, holder, number) = (quote(prepared.run()), quote(prepared.holder()), prepared.batch().number);
    let fence = format!(
        "if [ -n \"$_locked\" ] && [ -f \"$_b\"/{run}/fence ]; then IFS=' ' read -r _fh _fn < \"$_b\"/{run}/fence; \
         {{ [ \"$_fh\" = {holder} ] && [ {number} -gt \"$_fn\" ]; }} || {{ _locked=; exec 9>&-; _r={run}', where a recovery has taken batch \
         {number} for lost'; _who=; }}; fi\n"
    );
    locked(body, prepared.run(), prepared.holder(), base, &fence)
}

fn locked(body: &str, run: &str, holder: &str, base: &str, fence: &str) -> String {
    let (run, holder) = (quote(run), quote(holder));
    format!(
        "_b={base}; if [ -z \"$_locked\" ]; then _who=; umask 077; {{ [ -d \"$_b\" ] || mkdir -p \"$_b\"; }} && exec 9>>\"$_b/lock\" && \
         if flock -n 9; then _locked=1; echo {run} {holder} $$ \"${{SSH_CONNECTION%% *}}\" > \"$_b/lock.run\"; \
         else IFS=' ' read -r _r _h _lp _who < \"$_b/lock.run\"; [ \"$_h\" != {holder} ] || _locked=1; fi; umask 022; fi
{fence}if [ -z \"$_locked\" ]; then printf '%s' \"$_r${{_who:+, which came from $_who}}\"; s locked {LOCKED}; ( exit {LOCKED} ); else (
{body}); fi\n"
    )
}

/// Whether anything but zombies is left of a process group.
const LEFT: &str = r#"left() { kill -0 -"$1" 2>/dev/null || return 1; for _p in /proc/[0-9]*/stat; do { IFS= read -r _x < "$_p"; } 2>/dev/null || continue
set -- "$1" ${_x##*) }; [ "$4" = "$1" ] && [ "$2" != Z ] && return 0; done; return 1; }
"#;

/// Prints the acts' marks of all batches of a run in section `log`, disarms what would take a batch back by itself, and
/// takes away what batches that were cut off left beside their targets. From then on their scripts, if they come late,
/// do nothing. Where an act was begun and did not end, `running GROUP` tells that it still runs: its
/// script may have been killed over it, and the lock with it.
pub fn logs((run, holder): (&str, &str), cut_off: &[&Batch]) -> Result<String, String> {
    let fence = cut_off.iter().map(|batch| batch.number).max().map_or_else(String::new, |number| {
        format!("( umask 077; mkdir -p \"$D\" && echo {} {number} > \"$D/fence\" )\n", quote(holder))
    });
    let mut text = format!(
        "{LEFT}D=$_b/{}; {fence}IFS= read -r _i < /proc/sys/kernel/random/boot_id
for _f in \"$D\"/*/dead-man; do [ ! -f \"$_f\" ] || ! mkdir \"${{_f%/*}}/decided\" 2>/dev/null || echo recovered > \"${{_f%/*}}/decided/by\"; done
for _f in \"$D\"/*/log; do [ -f \"$_f\" ] || continue; _n=${{_f%/log}}; printf 'batch %s\\n' \"${{_n##*/}}\"; _gg=; _now=; _last=
while IFS= read -r _l; do printf '%s\\n' \"$_l\"; _last=$_l; case $_l in group*) _gg=${{_l#group }};; \"boot $_i\") _now=1;; esac; done < \"$_f\"
case $_now$_last in 1begun*) [ \"${{_gg:-0}}\" = 0 ] || [ \"$_gg\" = \"$_g\" ] || ! left \"$_gg\" || printf 'running %s\\n' \"$_gg\";; esac; done
printf 'now %s\\n' \"$_i\"; s log 0\n",
        quote(run)
    );
    let names = cut_off.iter().flat_map(|batch| super::leftovers(batch, run));
    let words: Vec<String> = names.map(|path| path_word(&path)).collect::<Result<_, _>>()?;
    if !words.is_empty() {
        let _ = writeln!(text, "rm -f -- {}", words.join(" "));
    }
    Ok(text)
}

/// Writes the run's mark, where the host has a folder of the run: `open` stops later runs.
pub fn mark(base: &str, run: &str, word: &str) -> String {
    let run = quote(run);
    format!("_b={base}; [ ! -d \"$_b\"/{run} ] || echo {word} > \"$_b\"/{run}/mark")
}
