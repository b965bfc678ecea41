//! The connections of a run: one a host, opened when first needed, shared by all that act there.
use super::carrier::{Carrier, CarrierError};
use super::target::{Acting, Target};
use super::walk::Scene;
use crate::diagnostic::Diagnostic;
use crate::lab::Lab;
use crate::template::{Held, Json, Templates, Var, Vars};
use crate::transport::endpoint::{Defaults, Dial, Dialer, Endpoint, Way, from_vars};
use crate::transport::{Connection, LinkError, Secret, Secrets, Tally};
use modules::vocabulary::HostPath;
use serde_json::Map;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore, SemaphorePermit};

/// How many hosts work at once where nothing else is said.
const FORKS: usize = 500;

/// Why a host cannot be reached.
#[derive(Debug)]
pub enum Unreachable {
    /// Its variables do not say how.
    Variables(Vec<Diagnostic>),
    /// The link failed.
    Link(LinkError),
}

impl Unreachable {
    /// The reason in words, with what to do next.
    pub fn diagnostic(&self, host: &str) -> Diagnostic {
        match self {
            Self::Variables(problems) => {
                let mut all = problems.iter().cloned();
                let first = all.next();
                let first = first
                    .unwrap_or_else(|| Diagnostic::error(format!("host `{host}` cannot be reached"), None));
                all.fold(first, |first, other| first.note(other.message))
            }
            Self::Link(error) => error.to_diagnostic(),
        }
    }
}

/// Problems of a host's variables with the places where those are written, as far as they name one.
fn placed(why: Unreachable, scene: &Scene, host: &str) -> Unreachable {
    let Unreachable::Variables(mut problems) = why else { return why };
    let inventory = scene.inventory();
    if let Some(id) = inventory.host(host) {
        for problem in problems.iter_mut().filter(|problem| problem.span.is_none()) {
            let named = problem.message.split(['`', ':', ' ']).find(|word| word.starts_with("ansible_"));
            problem.span = named.and_then(|name| inventory.var(id, name)).map(|var| var.origin.clone());
        }
    }
    Unreachable::Variables(problems)
}

/// The place of one host's connection: held while it is made, so that nobody makes a second one.
type Slot = Arc<Mutex<Option<Open>>>;

/// A connection that stands, and the user that logged in, where that is known before the host is asked.
struct Open {
    connection: Arc<Connection>,
    login: Option<String>,
}

/// The connections of a run.
pub struct Links {
    defaults: Defaults,
    secrets: Arc<dyn Secrets>,
    lab: Option<Arc<Lab>>,
    become_password: Option<Secret>,
    open: Mutex<HashMap<String, Slot>>,
    turns: Mutex<HashMap<String, Arc<Mutex<()>>>>,
    forks: Semaphore,
}

impl Links {
    /// No connection yet.
    pub fn new(
        defaults: Defaults,
        secrets: Arc<dyn Secrets>,
        lab: Option<Arc<Lab>>,
        become_password: Option<Secret>,
    ) -> Self {
        Self {
            defaults,
            secrets,
            lab,
            become_password,
            open: Mutex::default(),
            turns: Mutex::default(),
            forks: Semaphore::new(FORKS),
        }
    }

    /// The same, that at most so many hosts work at once.
    #[must_use]
    pub fn with_forks(mut self, forks: usize) -> Self {
        self.forks = Semaphore::new(forks.max(1));
        self
    }

    /// Waits until a host may work. None where the run is over.
    pub async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.forks.acquire().await.ok()
    }

    /// Waits until nobody else looks a host up for its own sake.
    pub async fn turn(&self, host: &str) -> OwnedMutexGuard<()> {
        let turn = Arc::clone(self.turns.lock().await.entry(host.to_owned()).or_default());
        turn.lock_owned().await
    }

    /// What brings looks and batches to a target; connects where there is no connection.
    ///
    /// # Errors
    /// [`Unreachable`].
    pub async fn carrier(&self, scene: &Scene, target: &Target) -> Result<Carrier, Unreachable> {
        let vars = self.variables(scene, &target.host);
        let slot = Arc::clone(self.open.lock().await.entry(target.host.clone()).or_default());
        let mut slot = slot.lock().await;
        if !slot.as_ref().is_some_and(|open| open.connection.is_open()) {
            *slot = None;
        }
        let open = match &mut *slot {
            Some(open) => open,
            closed => closed.insert(
                self.connect(&target.host, &vars).await.map_err(|why| placed(why, scene, &target.host))?,
            ),
        };
        let state = vars
            .get("tunerun_state_dir")
            .and_then(Json::as_str)
            .map(HostPath::new)
            .transpose()
            .map_err(|why| Unreachable::Variables(vec![Diagnostic::error(why, None)]))?;
        Ok(Carrier::Shell {
            connection: Arc::clone(&open.connection),
            who: target.user.identity(self.password(&target.user, &vars), open.login.as_deref()),
            state,
        })
    }

    async fn connect(&self, host: &str, vars: &Map<String, Json>) -> Result<Open, Unreachable> {
        let endpoint: Endpoint = match vars.get("ansible_connection").and_then(Json::as_str) {
            Some("lab") => self.in_lab(host, vars)?,
            _ => from_vars(host, vars, &self.defaults).map_err(Unreachable::Variables)?,
        };
        let login = match &endpoint.way {
            Way::Ssh(way) => Some(way.user.clone()),
            Way::Local => nix::unistd::geteuid().is_root().then(|| "root".to_owned()),
        };
        let connection =
            Connection::open(&endpoint, Arc::clone(&self.secrets)).await.map_err(Unreachable::Link)?;
        Ok(Open { connection: Arc::new(connection), login })
    }

    /// A host of the lab is reached by a socket that is made inside the lab's network, with the lab's own keys.
    fn in_lab(&self, host: &str, vars: &Map<String, Json>) -> Result<Endpoint, Unreachable> {
        let wrong = |problem: Diagnostic| Unreachable::Variables(vec![problem]);
        let Some(lab) = &self.lab else {
            return Err(wrong(
                Diagnostic::error(format!("`{host}` is a host of the lab, and no lab runs"), None)
                    .help("tunerun lab up"),
            ));
        };
        let found = lab.host(host).map_err(|problem| wrong(*problem))?.clone();
        let mut vars = vars.clone();
        let options = format!(
            "-o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null -o IdentitiesOnly=yes",
            found.known_hosts.display()
        );
        for (name, value) in [
            ("ansible_connection", "ssh".to_owned()),
            ("ansible_host", found.ip.to_string()),
            ("ansible_user", found.user.clone()),
            ("ansible_ssh_private_key_file", found.key.display().to_string()),
            ("ansible_ssh_common_args", options),
        ] {
            vars.insert(name.to_owned(), Json::String(value));
        }
        let mut endpoint = from_vars(host, &vars, &self.defaults).map_err(Unreachable::Variables)?;
        if let Way::Ssh(way) = &mut endpoint.way {
            way.port = found.port;
            way.dial = Some(Dialer(Arc::new(LabDial {
                lab: Arc::clone(lab),
                host: host.to_owned(),
                port: found.port,
            })));
        }
        Ok(endpoint)
    }

    /// The folder that the inventory names for what a host keeps of runs.
    pub fn state(&self, scene: &Scene, host: &str) -> Option<String> {
        let vars = self.variables(scene, host);
        vars.get("tunerun_state_dir").and_then(Json::as_str).map(str::to_owned)
    }

    /// Whether a host of the lab lacks systemd, so that tasks that need it cannot be done there.
    pub fn lacks_systemd(&self) -> bool {
        self.lab.as_ref().is_some_and(|lab| !lab.has_systemd())
    }

    fn password(&self, who: &Acting, vars: &Map<String, Json>) -> Option<Secret> {
        if *who == Acting::Login {
            return None;
        }
        let names = ["ansible_become_password", "ansible_become_pass", "ansible_sudo_pass"];
        let own = names.iter().find_map(|name| vars.get(*name).and_then(Json::as_str)).map(Secret::new);
        own.or_else(|| self.become_password.clone())
    }

    /// The variables of a host that say how it is reached, their templates rendered.
    fn variables(&self, scene: &Scene, host: &str) -> Map<String, Json> {
        let id = scene.inventory().host(host);
        let Some(id) = id else { return Map::new() };
        let vars = OfHost { vars: scene.inventory_vars(id), host: host.to_owned() };
        let wanted = |name: &&String| name.starts_with("ansible_") || name.starts_with("tunerun_");
        vars.vars
            .iter()
            .filter(|(name, _)| wanted(name))
            .filter_map(|(name, var)| {
                let Held::Data(value) = &var.held else { return None };
                let value =
                    if var.trusted { rendered(&scene.templates, value, &vars)? } else { (**value).clone() };
                Some((name.clone(), value))
            })
            .collect()
    }

    /// Forgets the connection of a host: it is gone, or must be made anew.
    pub async fn forget(&self, host: &str) {
        if let Some(slot) = self.open.lock().await.get(host) {
            *slot.lock().await = None;
        }
    }

    /// What was counted on the connection of a host.
    pub async fn tally(&self, host: &str) -> Option<Tally> {
        let slot = Arc::clone(self.open.lock().await.get(host)?);
        let connection = Arc::clone(&slot.lock().await.as_ref()?.connection);
        Some(connection.tally())
    }
}

fn rendered(templates: &Templates, value: &Json, vars: &dyn Vars) -> Option<Json> {
    templates.json(value, vars).ok().map(|rendered| rendered.value)
}

struct OfHost {
    vars: HashMap<String, Var>,
    host: String,
}

impl Vars for OfHost {
    fn get(&self, name: &str) -> Option<Var> {
        match name {
            "inventory_hostname" => Some(Var::seen(Json::String(self.host.clone()))),
            _ => self.vars.get(name).cloned(),
        }
    }

    fn names(&self) -> Vec<String> {
        self.vars.keys().cloned().collect()
    }
}

impl From<Unreachable> for CarrierError {
    fn from(unreachable: Unreachable) -> Self {
        match unreachable {
            Unreachable::Link(error) => Self::Link(error),
            Unreachable::Variables(problems) => Self::Value(
                problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; "),
            ),
        }
    }
}

/// A socket to a host of the lab.
struct LabDial {
    lab: Arc<Lab>,
    host: String,
    port: u16,
}

impl Dial for LabDial {
    fn dial(&self) -> Pin<Box<dyn Future<Output = std::io::Result<tokio::net::TcpStream>> + Send + '_>> {
        let (lab, host, port) = (Arc::clone(&self.lab), self.host.clone(), self.port);
        Box::pin(async move {
            // Entering the lab's network is a matter of threads, and connecting there blocks.
            let socket = tokio::task::spawn_blocking(move || lab.dial(&host, port))
                .await
                .map_err(std::io::Error::other)??;
            socket.set_nonblocking(true)?;
            tokio::net::TcpStream::from_std(socket)
        })
    }
}
