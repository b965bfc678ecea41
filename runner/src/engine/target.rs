//! A host of the run: what is known of it, and what was done there.
use crate::engine::walk::{Key, Ran};
use crate::inventory::HostId;
use crate::transport::{Become, BecomeMethod, Identity, Secret};
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
        method: BecomeMethod,
        /// Who.
        user: String,
        /// Further arguments of the program.
        flags: Vec<String>,
        /// The program's path.
        exe: Option<String>,
    },
}

impl Acting {
    /// Somebody that the login user becomes: `method` by its name, Ansible's long names too; `flags` as one text.
    ///
    /// # Errors
    /// A sentence: a method that is not supported, or a quote of the flags that is not closed.
    pub fn becoming(
        method: &str,
        user: String,
        flags: Option<&str>,
        exe: Option<String>,
    ) -> Result<Self, String> {
        let short = method.rsplit('.').next().unwrap_or(method);
        let method = BecomeMethod::from_name(short).ok_or_else(|| {
            format!(
                "`become_method: {method}` is not supported: sudo, su and doas are; the others ask on a terminal or \
                 need more than a POSIX shell"
            )
        })?;
        let flags = shlex::split(flags.unwrap_or_default())
            .ok_or("`become_flags` has a quote that is not closed")?
            .into_iter()
            // Ansible's default flags: these are given anyway, as far as the password lets them.
            .filter(|flag| !matches!(flag.as_str(), "-H" | "-S" | "-n"))
            .collect();
        Ok(Self::Becoming { method, user, flags, exe })
    }

    /// As the transport knows it; `password` answers the program's prompt. Who logs in as that user already (`login`,
    /// where it is known) becomes nobody.
    pub fn identity(&self, password: Option<Secret>, login: Option<&str>) -> Identity {
        match self {
            Self::Becoming { method, user, flags, exe } if login != Some(user) => Identity::Become(Become {
                password,
                exe: exe.clone(),
                flags: flags.clone(),
                ..Become::new(*method, user.clone())
            }),
            _ => Identity::Login,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_becomes_whom() {
        let of = |method, flags| Acting::becoming(method, "ceph".into(), flags, None);
        let su = of("ansible.builtin.su", Some("-H -l")).unwrap();
        let Identity::Become(who) = su.identity(Some(Secret::new("pw")), Some("me")) else { panic!() };
        assert_eq!((who.method, who.user.as_str()), (BecomeMethod::Su, "ceph"));
        assert_eq!(who.flags, ["-l"]);
        assert_eq!(who.password.unwrap().reveal(), "pw");
        assert_eq!(su.identity(None, Some("ceph")), Identity::Login);
        assert!(matches!(su.identity(None, None), Identity::Become(_)));
        assert!(of("runas", None).unwrap_err().contains("`become_method: runas` is not supported"));
        assert!(of("sudo", Some("-u 'x")).unwrap_err().contains("quote"));
        assert_eq!(Acting::Login.identity(None, Some("me")), Identity::Login);
    }
}
