//! `tunerun show`: what the journal of a run holds.
use super::exit::Exit;
use super::options::runs_folder;
use super::term;
use clap::Args;
use std::fmt::Write as _;
use std::path::PathBuf;
use tunerun::journal::{DeadManCame, HostEnd, Journaled, Record, Store};
use tunerun::report::terminal::end_words;

/// Shows a run: what was asked for, which batches were done, how the hosts ended.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun show last              the newest run
  tunerun show k7fq              by the end of its name")]
pub struct Show {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    /// Folder of the run journals
    #[arg(long, value_name = "DIR", env = "TUNERUN_RUNS", hide_env_values = true)]
    pub runs: Option<PathBuf>,
}

impl Show {
    /// Runs it.
    pub fn run(self) -> Exit {
        let store = Store::new(runs_folder(self.runs.as_ref()));
        match store.read(&self.run) {
            Ok(journaled) => {
                term::data(&text(&journaled));
                Exit::Done
            }
            Err(why) => {
                term::wrong(why.to_string(), None);
                Exit::Wrong
            }
        }
    }
}

fn command(journaled: &Journaled) -> String {
    journaled
        .entries
        .iter()
        .find_map(|entry| match &entry.record {
            Record::Began { command, .. } => Some(command.clone()),
            _ => None,
        })
        .unwrap_or_default()
}

fn text(journaled: &Journaled) -> String {
    let mut out = String::new();
    for entry in &journaled.entries {
        if let Record::Began { run, .. } = &entry.record {
            let _ = writeln!(out, "run {run}: {}", command(journaled));
        }
        if let Some(line) = line(&entry.record) {
            let _ = writeln!(out, "{} {line}", entry.at);
        }
        for more in below(&entry.record) {
            let _ = writeln!(out, "{more}");
        }
    }
    if journaled.torn > 0 {
        let _ = writeln!(out, "the last {} bytes are a torn record: it was never acted on", journaled.torn);
    }
    out
}

/// What a record says, in a line.
fn line(record: &Record) -> Option<String> {
    Some(match record {
        Record::Began { version, by, .. } => format!("began, by {by}, tunerun {version}"),
        Record::Host { host, address, user, .. } => format!("{host} is {address}, acting as {user}"),
        Record::Prepared { batch, .. } => format!(
            "{} batch {} {}: {}{}",
            batch.host,
            batch.number,
            if batch.undo { "way back prepared" } else { "prepared" },
            counted(batch.steps.len(), "step"),
            batch.cluster.as_ref().map(|fsid| format!(" on cluster {fsid}")).unwrap_or_default()
        ),
        Record::Done { host, batch, report } => {
            let done = report.acts.iter().flatten().filter(|act| act.output.status == 0).count();
            format!("{host} batch {batch} answered: {done} of {} acts done", report.acts.len())
        }
        Record::Lost { host, batch, why } => format!("{host} batch {batch} lost: {why}"),
        Record::DeadMan { host, batch, came } => format!("{host} batch {batch} {}", dead_man_words(*came)),
        Record::Owed { host, activation } => {
            format!("{host} owes: {}", tunerun::engine::run::activation_words(activation))
        }
        Record::Activated { host, activation, .. } => {
            format!("{host} did: {}", tunerun::engine::run::activation_words(activation))
        }
        Record::HostEnded { host, end, tally, .. } => {
            let cost = tally
                .as_ref()
                .map(|tally| format!(" ({})", counted(tally.round_trips as usize, "round trip")))
                .unwrap_or_default();
            format!("{host}: {}{cost}", end_of(*end))
        }
        Record::GateBegan { id, hosts } => {
            let names: Vec<&str> = hosts.iter().map(|(host, _)| host.as_str()).collect();
            format!("gate {id} began on {}", names.join(", "))
        }
        Record::Gate { id, outcome, why, .. } => format!("gate {id}: {}: {why}", outcome.word()),
        Record::Decided { what, by } => format!("decided by {by}: {what}"),
        Record::Ended { exit } => format!("ended with {exit}"),
        Record::Undo { undone, conflicts, ended } => {
            format!("undo {}", undo_words(undone, conflicts, *ended))
        }
        Record::Closed { hosts } => format!("closed on {}", hosts.join(", ")),
        Record::Blob { .. } => return None,
    })
}

/// What is said below a record's line.
fn below(record: &Record) -> Vec<String> {
    match record {
        Record::Began { made_from, continues, .. } => {
            let earlier = continues.iter().map(|earlier| format!("  goes on with run {earlier}"));
            let from = made_from
                .iter()
                .map(|(name, digest)| format!("  made from {name} ({})", &digest[..12.min(digest.len())]));
            earlier.chain(from).collect()
        }
        Record::Prepared { tasks, .. } => tasks.iter().map(|(_, title)| format!("    {title}")).collect(),
        Record::Done { report, .. } => {
            let unwritten = [&report.stale, &report.unstaged, &report.locked].into_iter().flatten();
            let unwritten = unwritten.map(|words| format!("    nothing written: {words}"));
            unwritten.chain(report.fell_back.iter().map(|words| format!("    {words}"))).collect()
        }
        Record::Undo { conflicts, .. } => {
            conflicts.iter().map(|words| format!("    left: {words}")).collect()
        }
        _ => Vec::new(),
    }
}

fn dead_man_words(came: DeadManCame) -> &'static str {
    match came {
        DeadManCame::Confirmed => "confirmed over a new connection",
        DeadManCame::TookBack => "cut the link, and the host took it back by itself",
        DeadManCame::TookBackInPart => "cut the link, and the host took it back in part",
        DeadManCame::Unknown => "may have cut the link: the host was not reached again",
    }
}

fn undo_words(undone: &[String], conflicts: &[String], ended: bool) -> String {
    match (ended, undone.is_empty()) {
        (false, _) => "began".to_owned(),
        (true, true) if conflicts.is_empty() => "ended: there was nothing to undo".to_owned(),
        (true, true) => "ended: no host is wholly back".to_owned(),
        (true, false) => format!("ended: back as before on {}", undone.join(", ")),
    }
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn end_of(end: HostEnd) -> &'static str {
    end_words(end)
}
