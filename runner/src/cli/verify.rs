//! `tunerun verify`: whether hosts still are as the playbook says.
use super::exit::Exit;
use super::options::{HostOptions, LinkOptions};
use super::play::Play;
use super::purpose::Purpose;
use super::term;
use clap::Args;
use std::path::PathBuf;
use tunerun::engine::run::{HostError, HostRun};
use tunerun::engine::walk::Walked;
use tunerun::report::drift::{Drift, drift};

/// Compares what is declared with what is persisted and what is live; changes nothing.
///
/// Ends with 0 where nothing has drifted, 8 where something has, 3 where a host could not be asked. Commands have no
/// state to compare, so they are listed apart; what is decided only by what they answer cannot be told: then 12.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun verify site.yaml -i prod                 for a nightly job
  tunerun verify site.yaml -i prod --limit osds    some hosts
  tunerun verify site.yaml -i prod --skip-tags reboot")]
pub struct Verify {
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
    /// Run no commands, not even those that only read
    #[arg(long)]
    pub no_probes: bool,
}

impl Verify {
    /// Runs it.
    pub fn run(self) -> Exit {
        let play = Play {
            playbook: self.playbook,
            hosts: self.hosts,
            links: self.links,
            tags: self.tags,
            skip_tags: self.skip_tags,
            no_probes: self.no_probes,
            check: true,
            diff: true,
            purpose: Purpose::Verify,
            ..Play::default()
        };
        play.run()
    }
}

/// Tells what drifted, for hosts alike once.
pub fn told(planned: &[(HostRun, Walked)], unreachable: &[(String, HostError)]) -> Exit {
    for (host, error) in unreachable {
        term::problems_only(&[error.diagnostic(host)]);
    }
    let hosts = planned.iter().map(|(run, walked)| (run.state.name.as_str(), walked));
    let found: Vec<Drift> = drift(hosts, term::paint());
    let mut out = String::new();
    found.iter().for_each(|class| out.push_str(&class.text));
    term::data(&out);
    if !unreachable.is_empty() {
        let names: Vec<&str> = unreachable.iter().map(|(host, _)| host.as_str()).collect();
        term::say(&format!("not asked, since they cannot be reached: {}", names.join(", ")));
    }
    if found.iter().any(|class| class.drifted > 0) {
        Exit::Drift
    } else if !unreachable.is_empty() {
        Exit::Unreachable
    } else if found.iter().any(|class| class.failing > 0) {
        Exit::Failed
    } else if found.iter().any(|class| class.unknown > 0) {
        Exit::Inconclusive
    } else {
        Exit::Done
    }
}
