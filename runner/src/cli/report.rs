//! `tunerun report`: a run for people and machines, as files.
use super::exit::Exit;
use super::options::runs_folder;
use super::term;
use clap::Args;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tunerun::gate::Record;
use tunerun::journal::Store;
use tunerun::report::history::History;
use tunerun::report::html::page;
use tunerun::report::junit::junit;
use tunerun::report::prometheus::prometheus;

/// Writes what a run was: as a page, for CI, for monitoring.
///
/// All is read from the journal of the run and the gates beside it; no host is contacted, and secrets are in none of it. A run
/// that still goes on, was cut off, or cannot be read gives a report that says so.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun report last --html run.html              one page that needs no network
  tunerun report k7fq --junit run.xml              for Jenkins, GitLab and other CI servers
  tunerun report last --prometheus /var/lib/node_exporter/tunerun.prom
  tunerun report last --junit -                    to stdout")]
pub struct Report {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    /// Write a page; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write metrics for the textfile collector of the node exporter
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
    /// Folder of the run journals
    #[arg(long, value_name = "DIR", env = "TUNERUN_RUNS", hide_env_values = true)]
    pub runs: Option<PathBuf>,
}

/// What makes a report of a run.
type Fold = fn(&History) -> String;

/// A run from the store: also one whose journal cannot be read.
///
/// # Errors
/// Where there is no such run, after it was said.
pub fn history(store: &Store, run: &str) -> Result<History, Exit> {
    let name = store.name(run).map_err(|why| {
        term::wrong(why.to_string(), None);
        Exit::Wrong
    })?;
    let gates = Record::of_run(&store.root().join(&name));
    Ok(match store.read(&name) {
        Ok(journaled) => History::of(&name, &journaled, gates),
        Err(why) => History::unreadable(&name, why.to_string(), gates),
    })
}

impl Report {
    /// Runs it.
    pub fn run(self) -> Exit {
        let wanted = [(&self.html, page as Fold), (&self.junit, junit), (&self.prometheus, prometheus)];
        let wanted: Vec<_> =
            wanted.into_iter().filter_map(|(path, make)| Some((path.as_ref()?, make))).collect();
        if wanted.is_empty() {
            let help = "say --html FILE, --junit FILE or --prometheus FILE; several at once, `-` is stdout";
            term::wrong("nothing says what the report shall be", Some(help));
            return Exit::Wrong;
        }
        if wanted.iter().filter(|(path, _)| is_stdout(path)).count() > 1 {
            term::wrong("only one report can go to stdout", Some("give the others a file"));
            return Exit::Wrong;
        }
        let store = Store::new(runs_folder(self.runs.as_ref()));
        let history = match history(&store, &self.run) {
            Ok(history) => history,
            Err(exit) => return exit,
        };
        for (path, make) in wanted {
            let text = make(&history);
            if is_stdout(path) {
                term::data(&text);
            } else if let Err(why) = replace(path, &text) {
                let words = format!("{} cannot be written: {}", path.display(), term::io_words(&why));
                term::wrong(words, Some("see that its folder is there and may be written to"));
                return Exit::Failed;
            }
        }
        if let Some(why) = &history.unreadable {
            term::say(&format!("the journal of this run cannot be read, and the report says so: {why}"));
        }
        Exit::Done
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes a file so that whoever reads it sees the old one or the whole new one.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // What is no plain file, such as a pipe, cannot be replaced and is written to.
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        return std::fs::write(path, text);
    }
    let name = path.file_name().ok_or_else(|| std::io::Error::from(std::io::ErrorKind::IsADirectory))?;
    if path.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    // A hidden name: the textfile collector reads every `*.prom` of its folder.
    let draft = path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), std::process::id()));
    let written = std::fs::File::create(&draft).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&draft, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}
