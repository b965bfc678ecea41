//! `tunerun inventory`: what the inventory says.
use super::exit::Exit;
use super::load;
use super::options::HostOptions;
use super::term;
use clap::Subcommand;
use tunerun::inventory::GroupId;

/// Looks at the inventory; contacts no host.
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun inventory graph -i prod               groups and hosts as a tree
  tunerun inventory host osd1 -i prod           the variables that osd1 sees
  tunerun inventory list -i prod                all of it as JSON, as in Ansible")]
pub enum Inventory {
    /// All hosts, groups and variables as JSON
    List {
        #[command(flatten)]
        hosts: HostOptions,
    },
    /// The groups as a tree
    Graph {
        /// Begin at this group
        #[arg(default_value = "all")]
        group: String,
        #[command(flatten)]
        hosts: HostOptions,
    },
    /// The merged variables of one host as JSON
    Host {
        /// The host
        host: String,
        #[command(flatten)]
        hosts: HostOptions,
    },
}

impl Inventory {
    /// Runs it.
    pub fn run(self) -> Exit {
        match self {
            Self::List { hosts } => with(&hosts, |inventory| {
                let mut out = std::io::BufWriter::new(std::io::stdout().lock());
                // A reader that went away is not an error.
                let _ = serde_json::to_writer_pretty(&mut out, &inventory.listing());
                let _ = std::io::Write::write_all(&mut out, b"\n");
                Exit::Done
            }),
            Self::Graph { group, hosts } => with(&hosts, |inventory| {
                let top = if group == "all" { Some(GroupId::ALL) } else { inventory.group(&group) };
                match top {
                    Some(top) => {
                        term::data(&inventory.graph(top));
                        Exit::Done
                    }
                    None => missing("group", &group, inventory.groups().map(|(name, _)| name)),
                }
            }),
            Self::Host { host, hosts } => with(&hosts, |inventory| match inventory.host(&host) {
                Some(id) => {
                    term::data(&serde_json::to_string_pretty(&inventory.host_json(id)).unwrap_or_default());
                    Exit::Done
                }
                None => missing("host", &host, inventory.hosts().map(|id| inventory.host_name(id))),
            }),
        }
    }
}

fn with(options: &HostOptions, act: impl FnOnce(&tunerun::inventory::Inventory) -> Exit) -> Exit {
    match load::hosts(options, None) {
        Ok(hosts) => act(&hosts.inventory),
        Err(exit) => exit,
    }
}

fn missing<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Exit {
    let near = tunerun::diagnostic::did_you_mean(name, known).map(|near| format!("did you mean `{near}`?"));
    term::wrong(format!("the inventory has no {kind} `{name}`"), near.as_deref());
    Exit::NoHosts
}
