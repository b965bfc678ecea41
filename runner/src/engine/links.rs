//! The connections of a run: one a host, opened when first needed, shared by all that act there.
use super::carrier::{Carrier, CarrierError};
use super::target::{Acting, Target};
use super::walk::Scene;
use crate::diagnostic::Diagnostic;
use crate::template::{Held, Json, Templates, Var, Vars};
use crate::transport::endpoint::{Defaults, Dialer, Endpoint, Way, from_vars};
use crate::transport::{Connection, LinkError, Secret, Secrets, Tally};
use modules::vocabulary::HostPath;
use serde_json::Map;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

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
            Self::Variables(problems) => problems
                .first()
                .cloned()
                .unwrap_or_else(|| Diagnostic::error(format!("host `{host}` cannot be reached"), None)),
            Self::Link(error) => error.to_diagnostic(),
        }
    }
}

/// How hosts of a lab are dialled.
pub type Dial = Arc<dyn Fn(&str) -> Option<Dialer> + Send + Sync>;

/// How passwords to become another user are known.
pub type Passwords = HashMap<String, Secret>;

/// The connections of a run.
pub struct Links {
    defaults: Defaults,
    secrets: Arc<dyn Secrets>,
    dial: Option<Dial>,
    become_password: Option<Secret>,
    open: Mutex<HashMap<String, Arc<Mutex<Option<Arc<Connection>>>>>>,
}

impl Links {
    /// No connection yet.
    pub fn new(
        defaults: Defaults,
        secrets: Arc<dyn Secrets>,
        dial: Option<Dial>,
        become_password: Option<Secret>,
    ) -> Self {
        Self { defaults, secrets, dial, become_password, open: Mutex::default() }
    }

    /// What brings looks and batches to a target; connects where there is no connection.
    ///
    /// # Errors
    /// [`Unreachable`].
    pub async fn carrier(&self, scene: &Scene, target: &Target) -> Result<Carrier, Unreachable> {
        let vars = self.variables(scene, &target.host);
        let slot = Arc::clone(self.open.lock().await.entry(target.host.clone()).or_default());
        let mut slot = slot.lock().await;
        let connection = match slot.as_ref().filter(|connection| connection.is_open()) {
            Some(connection) => Arc::clone(connection),
            None => {
                let connection = Arc::new(self.connect(&target.host, &vars).await?);
                *slot = Some(Arc::clone(&connection));
                connection
            }
        };
        let state = vars
            .get("tunerun_state_dir")
            .and_then(Json::as_str)
            .map(HostPath::new)
            .transpose()
            .map_err(|why| Unreachable::Variables(vec![Diagnostic::error(why, None)]))?;
        Ok(Carrier::Shell {
            connection,
            who: target.user.identity(self.password(&target.user, &vars)),
            state,
        })
    }

    async fn connect(&self, host: &str, vars: &Map<String, Json>) -> Result<Connection, Unreachable> {
        let mut endpoint: Endpoint = from_vars(host, vars, &self.defaults).map_err(Unreachable::Variables)?;
        if let (Some(dialer), Way::Ssh(way)) =
            (self.dial.as_ref().and_then(|dial| dial(host)), &mut endpoint.way)
        {
            way.dial = Some(dialer);
        }
        Connection::open(&endpoint, Arc::clone(&self.secrets)).await.map_err(Unreachable::Link)
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
        let connection = slot.lock().await.clone()?;
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
