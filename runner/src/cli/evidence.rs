//! `tunerun evidence`: whether what a playbook asks for is felt, and by what proof.
use super::exit::Exit;
use super::options::{HostOptions, LinkOptions};
use super::play::Play;
use super::purpose::{Plans, Purpose};
use super::term;
use clap::Args;
use std::path::PathBuf;
use tunerun::engine::run::HostError;
use tunerun::report::evidence::{Proofs, proofs};

/// Tells of each tuning whether it is live, applied but not live, or absent, and by what proof; changes nothing.
///
/// A file that says so is no proof: what is looked at is the running kernel's command line, the value in the kernel,
/// the affinity that the hardware took, the daemon's own view, the library in the process. Ends with 0 where all is
/// live, 13 where something is applied and not live yet, 8 where something is absent, 3 where a host could not be asked.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun evidence site.yaml -i prod                 after a maintenance window
  tunerun evidence site.yaml -i prod --limit osds    some hosts")]
pub struct Evidence {
    /// The playbook
    pub playbook: PathBuf,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    /// Only tasks with one of these tags
    #[arg(short, long, value_delimiter = ',')]
    pub tags: Vec<String>,
    /// No tasks with one of these tags
    #[arg(long, value_delimiter = ',')]
    pub skip_tags: Vec<String>,
}

impl Evidence {
    /// Runs it.
    pub fn run(self) -> Exit {
        let play = Play {
            playbook: self.playbook,
            hosts: self.hosts,
            links: self.links,
            tags: self.tags,
            skip_tags: self.skip_tags,
            check: true,
            purpose: Purpose::Evidence,
            ..Play::default()
        };
        play.run()
    }
}

/// Tells what the proofs say, for hosts alike once.
pub fn told(planned: &Plans, unreachable: &[(String, HostError)]) -> Exit {
    for (host, error) in unreachable {
        term::problems_only(&[error.diagnostic(host)]);
    }
    let hosts = planned.iter().map(|(run, walked)| (run.state.name.as_str(), walked));
    let found: Vec<Proofs> = proofs(hosts, term::paint());
    let out: String = found.iter().map(|class| class.text.as_str()).collect();
    term::data(&out);
    let silent = found.iter().map(|class| class.silent).max().unwrap_or_default();
    if silent > 0 {
        term::say(&format!(
            "{silent} more tasks a host name no proof of their own; `tunerun verify` compares what they ask for"
        ));
    }
    if found.iter().any(|class| class.absent > 0) {
        Exit::Drift
    } else if !unreachable.is_empty() {
        Exit::Unreachable
    } else if found.iter().any(|class| class.owed > 0) {
        Exit::Staged
    } else {
        Exit::Done
    }
}
