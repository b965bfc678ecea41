//! `tunerun compare`: two runs side by side.
use super::exit::Exit;
use super::options::runs_folder;
use super::term;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tunerun::journal::Store;
use tunerun::report::compare::compare;

/// Compares two runs: what was asked, hosts in one of them, settings that differ, what their gates found.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun compare k7fq last              what did the newest run do differently?
  tunerun compare k7fq m2xp --format json")]
pub struct Compare {
    /// The first run: its name, the end of its name, or `last`
    pub a: String,
    /// The second run
    pub b: String,
    /// As text or as JSON
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "text|json")]
    pub format: Format,
    /// Folder of the run journals
    #[arg(long, value_name = "DIR", env = "TUNERUN_RUNS", hide_env_values = true)]
    pub runs: Option<PathBuf>,
}

/// How it is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

impl Compare {
    /// Runs it.
    pub fn run(self) -> Exit {
        let store = Store::new(runs_folder(self.runs.as_ref()));
        let both = super::report::history(&store, &self.a)
            .and_then(|a| Ok((a, super::report::history(&store, &self.b)?)));
        let (a, b) = match both {
            Ok(both) => both,
            Err(exit) => return exit,
        };
        for history in [&a, &b] {
            if let Some(why) = &history.unreadable {
                term::wrong(
                    format!("run {} cannot be compared: {why}", history.run),
                    Some("`tunerun report RUN --html FILE` tells what lies beside its journal"),
                );
                return Exit::Failed;
            }
        }
        let comparison = compare(&a, &b);
        match self.format {
            Format::Text => term::data(&comparison.text()),
            Format::Json => term::data(&serde_json::to_string_pretty(&comparison).unwrap_or_default()),
        }
        Exit::Done
    }
}
