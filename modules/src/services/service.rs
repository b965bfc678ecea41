//! `service`: Ansible's name for units of hosts that any init system runs; here systemd alone.
use super::systemd_unit::{State, SystemdUnit};
use super::unit::RUNNING;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a service runs and starts at boot.
///
/// The same as `systemd_unit` with `name`, `state` and `enabled`. Hosts that systemd does not run are refused by
/// name. Errors and source: as `systemd_unit`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// The service.
    pub name: String,
    /// What it shall do.
    #[serde(default)]
    pub state: Option<State>,
    /// Whether it starts at boot.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Which init system runs the host; only systemd is known here.
    #[serde(default, rename = "use")]
    pub by: InitSystem,
}

/// Which init system runs a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InitSystem {
    /// Whichever does; it must be systemd.
    #[default]
    Auto,
    /// systemd.
    #[serde(alias = "ansible.builtin.systemd", alias = "ansible.builtin.systemd_service")]
    Systemd,
}

impl Service {
    fn unit(&self) -> SystemdUnit {
        SystemdUnit {
            name: Some(self.name.clone()),
            state: self.state,
            enabled: self.enabled,
            ..SystemdUnit::default()
        }
    }
}

impl Module for Service {
    const NAME: &'static str = "service";
    const EXAMPLE: &'static str = "\
- name: No balancer moves interrupts away from their CPUs
  service:
    name: irqbalance
    state: stopped
    enabled: false
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        Module::plan(&self.unit(), facts)
    }

    fn samples() -> Vec<Sample> {
        let mut samples: Vec<Sample> = SystemdUnit::samples().into_iter().take(2).collect();
        samples.iter_mut().for_each(|sample| sample.host = sample.host.clone().dir(RUNNING));
        samples
    }
}
