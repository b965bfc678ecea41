//! `package_facts`: which packages a host has.
use super::family::Family;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Output, Row, Seen, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// Which packages a host has; nothing changes.
///
/// The result is `ansible_facts.packages`, by name a list of `name`, `version`, `arch`, `source` (apt or rpm); with
/// RPM also `release` and `epoch`.
///
/// Errors: a host with another package manager. Sources: dpkg-query(1), rpm(8).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackageFacts {
    /// Which package manager to ask; the host's own is asked whatever is said.
    #[serde(default)]
    pub manager: crate::argument::Names,
}

fn row(family: Family) -> Row {
    let name = match family {
        Family::Apt => "dpkg-query",
        Family::Dnf => "rpm-query",
    };
    Row::new(name, if family == Family::Dnf { vec!["-a"] } else { Vec::new() })
}

fn packages(family: Family, text: &str) -> Map<String, Json> {
    let mut packages = Map::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (name, package) = match (family, &fields[..]) {
            (Family::Apt, [name, version, status, arch]) if status.starts_with("ii") => {
                let name = name.split(':').next().unwrap_or(name);
                (name, json!({ "name": name, "version": version, "arch": arch, "source": "apt" }))
            }
            (Family::Dnf, [name, epoch, version, release, arch]) => (
                *name,
                json!({ "name": name, "version": version, "release": release, "epoch": epoch.parse::<u64>().ok(), "arch": arch, "source": "rpm" }),
            ),
            _ => continue,
        };
        if let Json::Array(list) = packages.entry(name).or_insert_with(|| json!([])) {
            list.push(package);
        }
    }
    packages
}

impl Module for PackageFacts {
    const NAME: &'static str = "package_facts";
    const EXAMPLE: &'static str = "\
- name: Which packages are there
  package_facts: {}
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let family = Family::of(facts)?;
        let packages = packages(family, &facts.output(&row(family))?.text());
        Ok(Change::nothing(json!({ "ansible_facts": { "packages": packages } })))
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new()
            .file("/usr/bin/apt-get", "")
            .answer(row(Family::Apt), Seen::Output(Output::ok("dash\t0.5.12-2\tii \tamd64\n")));
        vec![Sample { about: "one package", args: json!({}), host, calls: Vec::new() }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_listed_by_name() {
        let apt = packages(Family::Apt, "libc6:amd64\t2.36\tii \tamd64\nold\t1\trc \tamd64\n");
        assert_eq!(
            apt["libc6"],
            json!([{ "name": "libc6", "version": "2.36", "arch": "amd64", "source": "apt" }])
        );
        assert!(!apt.contains_key("old"));
        let rpm = packages(
            Family::Dnf,
            "kernel\t(none)\t5.14\t1.el9\tx86_64\nkernel\t(none)\t5.14\t2.el9\tx86_64\n",
        );
        assert_eq!(rpm["kernel"].as_array().unwrap().len(), 2);
        assert_eq!(rpm["kernel"][1]["release"], json!("2.el9"));
    }
}
