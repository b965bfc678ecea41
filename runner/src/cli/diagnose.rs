//! `tunerun diagnose`: what hosts spend their time on, and which tunings answer that.
use super::exit::Exit;
use super::options::{Whom, typed};
use super::play::Play;
use super::purpose::{Plans, Purpose};
use super::{run, term};
use clap::Args;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use tunerun::engine::run::HostError;
use tunerun::engine::walk::{Walked, What};
use tunerun::report::diagnosis::{drafted, findings};
use tunerun::report::draft::playbook;

/// Looks at hosts for some seconds while they work, and tells which tunings answer what they spend their time on.
///
/// Interrupts by CPU, full threads, memory of other NUMA nodes, waiting, packets, and a profile by `perf` where that is
/// installed and allowed. Each finding has its figures, the tuning, why, who measured it and what it may cost. Nothing is
/// changed and nothing is written on the hosts. `--out` writes a draft playbook: tasks that plan something are tasks, what
/// needs a person's word is a comment. Ends with 0 whatever was found, 3 where a host could not be asked, 1 where one could
/// not be measured.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun diagnose osds -i prod                                while the benchmark runs
  tunerun diagnose client1 -i prod -b --seconds 30 --out draft.yaml
  tunerun play draft.yaml -i prod --check --diff               what the draft would change")]
pub struct Diagnose {
    #[command(flatten)]
    pub whom: Whom,
    /// Become root: profiles and other users' processes are root's to see
    #[arg(short, long)]
    pub r#become: bool,
    /// For how many seconds each host is looked at
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=120))]
    pub seconds: u32,
    /// Write a draft playbook to this file, which must not be there yet
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// What a look at hosts is asked for, and where its playbook goes.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The file of the playbook.
    pub out: Option<PathBuf>,
    /// Whether its plays become root.
    pub is_root: bool,
}

impl Diagnose {
    /// Runs it.
    pub fn run(self) -> Exit {
        if let Some(exit) = taken(self.out.as_deref()) {
            return exit;
        }
        let task =
            json!({ "name": "what the host spends its time on", "diagnose": { "seconds": self.seconds } });
        let purpose = Purpose::Diagnose(Asked { out: self.out, is_root: self.r#become });
        looked(self.whom, task, self.r#become, purpose)
    }
}

/// Refuses to write over a file.
pub fn taken(out: Option<&Path>) -> Option<Exit> {
    let out = out.filter(|out| out.exists())?;
    term::wrong(
        format!("{} is there already", out.display()),
        Some("name another file, or move that one away"),
    );
    Some(Exit::Wrong)
}

/// Plays one task that only reads, and tells its results.
pub fn looked(whom: Whom, task: Json, is_root: bool, purpose: Purpose) -> Exit {
    let Whom { pattern, hosts, links } = whom;
    let mut play = json!({ "name": "a look", "hosts": pattern, "gather_facts": false, "tasks": [task] });
    if let (true, Some(play)) = (is_root, play.as_object_mut()) {
        play.insert("become".to_owned(), json!(true));
    }
    let text = json!([play]).to_string() + "\n";
    let play =
        Play { playbook: PathBuf::from(run::NAME), hosts, links, check: true, purpose, ..Play::default() };
    play.with(run::loader_of_text(text))
}

/// The results of hosts whose task said something; the problems of the others are told.
pub fn results<'a>(
    planned: &'a Plans,
    unreachable: &[(String, HostError)],
) -> (Vec<(&'a str, &'a Json)>, Exit) {
    let mut exit = Exit::Done;
    let mut results = Vec::new();
    for (run, walked) in planned {
        match result(walked) {
            Some(result) => results.push((run.state.name.as_str(), result)),
            None => {
                exit = Exit::Failed;
                let failed = walked.planned.iter().find_map(|task| match &task.what {
                    What::Failed(problem) => Some((**problem).clone()),
                    _ => None,
                });
                let mut problems: Vec<_> = failed.into_iter().collect();
                if problems.is_empty() {
                    problems.extend(walked.failed.clone());
                }
                term::say(&format!("{}:", run.state.name));
                term::problems_only(&problems);
            }
        }
    }
    for (host, error) in unreachable {
        term::problems_only(&[error.diagnostic(host)]);
    }
    if !unreachable.is_empty() {
        exit = Exit::Unreachable;
    }
    (results, exit)
}

fn result(walked: &Walked) -> Option<&Json> {
    walked.planned.iter().find_map(|task| match &task.what {
        What::Same { result, .. } => Some(result),
        _ => None,
    })
}

/// Writes a playbook.
pub fn write(path: &Path, text: &str) -> Result<(), Exit> {
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    written.map_err(|why| {
        term::wrong(format!("{} cannot be written: {}", path.display(), term::io_words(&why)), None);
        Exit::Failed
    })
}

/// Tells what was found, and writes the draft.
pub fn told(asked: &Asked, planned: &Plans, unreachable: &[(String, HostError)]) -> Exit {
    let (results, exit) = results(planned, unreachable);
    let out: String = results.iter().map(|(host, found)| findings(host, found, term::paint())).collect();
    term::data(&out);
    let Some(path) = &asked.out else { return exit };
    let plays: Vec<_> = results
        .iter()
        .map(|(host, found)| drafted(host, found, asked.is_root))
        .filter(|play| !play.tasks.is_empty())
        .collect();
    if plays.is_empty() {
        term::say("nothing was found that a task answers, so no draft was written");
        return exit;
    }
    let about = [
        "Drafted by `tunerun diagnose`: tasks are drafted from what was seen, and none was measured here.",
        "Judge each by a benchmark of your own load, one change at a time.",
    ];
    let about: Vec<String> = about.iter().map(|line| (*line).to_owned()).collect();
    if let Err(exit) = write(path, &playbook(&about, &plays)) {
        return exit;
    }
    term::say(&format!(
        "the draft is in {0}: `tunerun play {0} --check --diff` shows what it would change",
        typed(&path.display().to_string())
    ));
    exit
}
