//! `wait_for`: waits until a port, a path or a text is there, or gone.
use crate::argument::Scalar;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Diff, Facts, Goal, HostPath, Presence, Stop, Wait};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Waits until a port, a path or a text is there, or gone; nothing changes.
///
/// It is data for the engine: the goal is looked at again every `sleep` seconds until it is met or `timeout` is over,
/// which fails the task. A port of the host itself is looked for among its listening sockets, so that nothing connects
/// to it; a port of another host is tried by bash. Without `port` and `path` the time of `timeout` passes.
///
/// All times are seconds. Errors: both `port` and `path`, `drained` (connections are not counted here). Sources:
/// Ansible's module of that name, proc_pid_net(5).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitFor {
    /// The host of `port`, as the target reaches it.
    #[serde(default = "itself")]
    pub host: String,
    /// A TCP port.
    #[serde(default)]
    pub port: Option<u16>,
    /// A file or folder.
    #[serde(default)]
    pub path: Option<String>,
    /// A pattern that the text of `path` must match, line by line.
    #[serde(default)]
    pub search_regex: Option<String>,
    /// What to wait for.
    #[serde(default)]
    pub state: State,
    /// How long at most.
    #[serde(default = "five_minutes")]
    pub timeout: u32,
    /// How long before the first look.
    #[serde(default)]
    pub delay: u32,
    /// How long between looks.
    #[serde(default = "one")]
    pub sleep: u32,
    /// How long one try to connect may take; the looks' own time-out is taken.
    #[serde(default)]
    pub connect_timeout: Option<Scalar>,
    /// What to say where the time is over.
    #[serde(default)]
    pub msg: Option<String>,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is there; a port is listened on.
    #[default]
    #[serde(alias = "present")]
    Started,
    /// It is gone; a port is not listened on.
    #[serde(alias = "absent")]
    Stopped,
    /// No connection is left on a port: not known here.
    Drained,
}

fn itself() -> String {
    "127.0.0.1".to_owned()
}

fn five_minutes() -> u32 {
    300
}

fn one() -> u32 {
    1
}

impl WaitFor {
    fn goal(&self) -> Result<Goal, Stop> {
        let state = match self.state {
            State::Started => Presence::There,
            State::Stopped => Presence::Gone,
            State::Drained => {
                return Err(Stop::refused("state", "connections are not counted here")
                    .way_out("ask by a `command` with `probe: true` and `until`"));
            }
        };
        match (self.port, &self.path) {
            (Some(_), Some(_)) => Err(Stop::refused("path", "either `port` or `path`, not both")),
            (Some(port), None) => Ok(Goal::Port { host: self.host.clone(), port, state }),
            (None, Some(path)) => {
                let path = HostPath::new(path).map_err(|why| Stop::refused("path", why))?;
                Ok(Goal::Path { path, search: self.search_regex.clone(), state })
            }
            (None, None) => Ok(Goal::Time),
        }
    }
}

impl Module for WaitFor {
    const NAME: &'static str = "wait_for";
    const EXAMPLE: &'static str = "\
- name: The monitor is back
  wait_for:
    port: 6789
    timeout: 60
";

    fn plan(&self, _: &Facts) -> Result<Change, Stop> {
        let goal = self.goal()?;
        let what = match &goal {
            Goal::Port { host, port, .. } => format!("port {port} of {host}"),
            Goal::Path { path, .. } => path.to_string(),
            _ => "the time to pass".to_owned(),
        };
        Ok(Change {
            result: json!({ "port": self.port, "path": self.path, "search_regex": self.search_regex }),
            diff: vec![Diff::Note(format!("waits for {what}, at most {} s", self.timeout))],
            wait: Some(Wait {
                goal,
                timeout: self.timeout,
                delay: self.delay,
                sleep: self.sleep.max(1),
                settle: 0,
                message: self.msg.clone(),
            }),
            ..Change::default()
        })
    }

    fn samples() -> Vec<Sample> {
        vec![Sample { about: "a port", args: json!({ "port": 22 }), host: Host::new(), calls: Vec::new() }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    #[test]
    fn waiting_is_data_and_changes_nothing() {
        let change =
            planned::<WaitFor>(&Host::new(), json!({ "path": "/x", "state": "absent", "timeout": 5 }));
        assert!(change.is_empty());
        let wait = change.wait.unwrap();
        assert_eq!(wait.timeout, 5);
        assert!(matches!(wait.goal, Goal::Path { state: Presence::Gone, .. }));
        assert!(
            refusal::<WaitFor>(&Host::new(), json!({ "port": 1, "state": "drained" })).contains("counted")
        );
        assert!(refusal::<WaitFor>(&Host::new(), json!({ "port": 1, "path": "/x" })).contains("not both"));
    }
}
