//! A host of the run: what is known of it, and what was done there.
use crate::engine::walk::{Key, Ran};
use crate::inventory::HostId;
use crate::transport::{Become, Identity};
use modules::vocabulary::{Claim, Facts, Identity as Who, Read, Seen};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What tasks act on: a host, as somebody.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The host's name in the inventory.
    pub host: String,
    /// As whom.
    pub user: Acting,
}

/// As whom tasks act.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Acting {
    /// The user that logs in.
    #[default]
    Login,
    /// Somebody that the login user becomes.
    Becoming {
        /// sudo, su or doas.
        method: String,
        /// Who.
        user: String,
        /// Further arguments of the program.
        flags: Vec<String>,
        /// The program's path.
        exe: Option<String>,
    },
}

impl Acting {
    /// As the transport knows it; `password` answers the program's prompt.
    pub fn identity(&self, password: Option<crate::transport::Secret>) -> Identity {
        match self {
            Self::Login => Identity::Login,
            Self::Becoming { method, user, flags, exe } => {
                let method = crate::transport::BecomeMethod::from_name(method)
                    .unwrap_or(crate::transport::BecomeMethod::Sudo);
                Identity::Become(Become {
                    password,
                    exe: exe.clone(),
                    flags: flags.clone(),
                    ..Become::new(method, user.clone())
                })
            }
        }
    }
}

/// What was seen of one target.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Who acts there; none before the first look.
    pub who: Option<Who>,
    /// What tells the machine from others (see [`super::carrier::Greeting`]).
    pub machine: Option<String>,
    /// The answers.
    pub seen: Arc<BTreeMap<Read, Seen>>,
}

impl Known {
    /// Facts without planned steps.
    pub fn facts(&self) -> Facts {
        Facts::new(Arc::clone(&self.seen), self.who.clone().unwrap_or_default())
    }

    /// Forgets answers.
    pub fn forget(&mut self, spoiled: impl Fn(&Read, &Seen) -> bool) {
        if self.seen.iter().any(|(read, seen)| spoiled(read, seen)) {
            Arc::make_mut(&mut self.seen).retain(|read, seen| !spoiled(read, seen));
        }
    }

    /// Takes further answers.
    pub fn learn(&mut self, seen: impl IntoIterator<Item = (Read, Seen)>) {
        Arc::make_mut(&mut self.seen).extend(seen);
    }
}

/// A host of the run.
#[derive(Debug)]
pub struct HostState {
    /// Its name in the inventory.
    pub name: String,
    /// Its number there.
    pub id: HostId,
    /// The host itself, as the user that logs in.
    pub login: Target,
    /// What was seen, by target: tasks may be delegated to other hosts.
    pub known: BTreeMap<Target, Known>,
    /// What was done, by task.
    pub ran: HashMap<Key, Ran>,
    /// Whether the walk proves what was done: tasks are asked again on what is there.
    pub proving: bool,
    /// How many batches were prepared, by host.
    pub batches: HashMap<String, u32>,
    /// Hosts by which its tasks reach a cluster.
    pub vias: BTreeSet<String>,
    /// Tasks whose changes of a cluster another host makes: the things, by fsid and claim.
    pub shares: HashMap<Key, Vec<(String, Claim)>>,
    /// How much of what other hosts have done it has heard of.
    pub heard: usize,
}

impl HostState {
    /// A host of which nothing is known.
    pub fn new(name: &str, id: HostId) -> Self {
        Self {
            name: name.to_owned(),
            id,
            login: Target { host: name.to_owned(), user: Acting::Login },
            known: BTreeMap::new(),
            ran: HashMap::new(),
            proving: false,
            batches: HashMap::new(),
            vias: BTreeSet::new(),
            shares: HashMap::new(),
            heard: 0,
        }
    }
}
