//! `tunerun capture`: the present state of hosts as a playbook.
use super::diagnose::{Asked, looked, results, taken, write};
use super::exit::Exit;
use super::options::{Whom, typed};
use super::purpose::{Plans, Purpose};
use super::term;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use tunerun::engine::run::HostError;
use tunerun::report::diagnosis::captured;
use tunerun::report::draft::playbook;

/// Writes the present state of hosts as a playbook, which plans no change on these very hosts.
///
/// Kernel arguments, settings, huge pages, interrupts, queues, offloads, disks, LVM, pinned units, options of Ceph, guests of
/// libvirt. Each task is asked of its module on what was seen, and is written only where it plans nothing; comments say where
/// each value was seen. What cannot be said truthfully is named in a comment, not guessed. Nothing is changed on the hosts.
/// Ends with 3 where a host could not be asked.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun capture osd1 -i prod -b > osd1.yaml
  tunerun capture osds -i prod -b --out osds.yaml
  tunerun play osds.yaml -i prod --check              plans nothing")]
pub struct Capture {
    #[command(flatten)]
    pub whom: Whom,
    /// Become root: much of a host's state is root's to see
    #[arg(short, long)]
    pub r#become: bool,
    /// Write the playbook to this file, which must not be there yet; else it is printed
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl Capture {
    /// Runs it.
    pub fn run(self) -> Exit {
        if let Some(exit) = taken(self.out.as_deref()) {
            return exit;
        }
        let task = json!({ "name": "what the host is tuned to", "capture": {} });
        let purpose = Purpose::Capture(Asked { out: self.out, is_root: self.r#become });
        looked(self.whom, task, self.r#become, purpose)
    }
}

/// Writes the playbook.
pub fn told(asked: &Asked, planned: &Plans, unreachable: &[(String, HostError)]) -> Exit {
    let (results, exit) = results(planned, unreachable);
    let plays: Vec<_> = results.iter().map(|(host, found)| captured(host, found, asked.is_root)).collect();
    if plays.is_empty() {
        return exit;
    }
    let about = ["Captured by `tunerun capture`: it plans no change where it was captured.".to_owned()];
    let text = playbook(&about, &plays);
    match &asked.out {
        None => term::data(&text),
        Some(path) => {
            if let Err(exit) = write(path, &text) {
                return exit;
            }
            let active = |task: &&tunerun::report::draft::DraftedTask| task.task.is_some();
            let tasks: usize = plays.iter().map(|play| play.tasks.iter().filter(active).count()).sum();
            term::say(&format!(
                "{tasks} tasks of {} hosts are in {}",
                plays.len(),
                typed(&path.display().to_string())
            ));
        }
    }
    exit
}
