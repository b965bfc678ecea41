//! `service_facts`: which services a host has and what they do.
use super::unit::{RUNNING, need_systemd};
use crate::files::place::known;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Output, Read, Row, Seen, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// Which services a host has and what they do; nothing changes.
///
/// The result is `ansible_facts.services`, by unit name: `name`, `state` (running, stopped, inactive, failed),
/// `status` (enabled, disabled, static, masked, not-found, unknown), `source` (always systemd).
///
/// Errors: hosts that systemd does not run are refused. Source: systemctl(1) list-units and list-unit-files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceFacts {}

fn row(name: &str) -> Row {
    Row::new(name, Vec::<String>::new())
}

/// The services, by the name of their unit.
fn services(units: &str, files: &str) -> Map<String, Json> {
    let mut services = Map::new();
    for line in units.lines() {
        let fields: Vec<&str> = line.trim_start_matches(['●', '*', ' ']).split_whitespace().collect();
        let [unit, load, active, sub, ..] = fields[..] else { continue };
        let state = match (active, sub) {
            (_, "running") => "running",
            ("failed", _) => "failed",
            ("inactive", _) => "inactive",
            _ => "stopped",
        };
        let status = if load == "loaded" { "unknown" } else { load };
        services.insert(unit.to_owned(), service(unit, state, status));
    }
    for line in files.lines() {
        let mut fields = line.split_whitespace();
        let (Some(unit), Some(status)) = (fields.next(), fields.next()) else { continue };
        if !unit.ends_with(".service") {
            continue;
        }
        match services.get_mut(unit) {
            Some(known) => known["status"] = json!(status),
            None => drop(services.insert(unit.to_owned(), service(unit, "inactive", status))),
        }
    }
    services
}

fn service(unit: &str, state: &str, status: &str) -> Json {
    json!({ "name": unit, "state": state, "status": status, "source": "systemd" })
}

impl Module for ServiceFacts {
    const NAME: &'static str = "service_facts";
    const EXAMPLE: &'static str = "\
- name: Which services are there
  service_facts: {}
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let asked = ["systemctl-units", "systemctl-unit-files"].map(|name| Read::Ask(row(name)));
        facts.need([Read::Stat(known(RUNNING)?)].iter().chain(&asked))?;
        need_systemd(facts)?;
        let units = facts.output(&row("systemctl-units"))?.text();
        let files = facts.output(&row("systemctl-unit-files"))?.text();
        Ok(Change::nothing(json!({ "ansible_facts": { "services": services(&units, &files) } })))
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new()
            .dir(RUNNING)
            .answer(
                row("systemctl-units"),
                Seen::Output(Output::ok("ssh.service loaded active running OpenSSH\n")),
            )
            .answer(row("systemctl-unit-files"), Seen::Output(Output::ok("ssh.service enabled enabled\n")));
        vec![Sample { about: "one service", args: json!({}), host, calls: Vec::new() }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_files_are_one_table() {
        let services = services(
            "ssh.service loaded active running OpenSSH\n● bad.service loaded failed failed Bad\nnone.service not-found inactive dead none.service\nkeys.service loaded active exited Keys\n",
            "ssh.service enabled enabled\ngetty@.service enabled enabled\nx.timer enabled enabled\n",
        );
        let of = |name: &str| (services[name]["state"].clone(), services[name]["status"].clone());
        assert_eq!(of("ssh.service"), (json!("running"), json!("enabled")));
        assert_eq!(of("bad.service"), (json!("failed"), json!("unknown")));
        assert_eq!(of("none.service"), (json!("inactive"), json!("not-found")));
        assert_eq!(of("keys.service").0, json!("stopped"));
        assert_eq!(of("getty@.service"), (json!("inactive"), json!("enabled")));
        assert!(!services.contains_key("x.timer"));
    }
}
