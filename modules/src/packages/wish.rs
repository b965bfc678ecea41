//! What `package`, `apt` and `dnf` share: packages that are wished for, compared with what is there.
use super::family::{Family, spoils};
use crate::argument::Names;
use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::{Act, Back, Change, Claim, Diff, Facts, Match, Output, Read, Row, Seen, Step, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Whether packages are installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// They are, in any version.
    #[default]
    #[serde(alias = "installed")]
    Present,
    /// They are not.
    #[serde(alias = "removed")]
    Absent,
    /// They are, in the newest version that the lists know.
    Latest,
}

/// What `package`, `apt` and `dnf` share.
pub(crate) struct Wish<'a> {
    pub(crate) packages: &'a Names,
    pub(crate) state: State,
    pub(crate) update_cache: bool,
    pub(crate) purge: bool,
    pub(crate) options: Vec<&'a str>,
    pub(crate) only: Option<Family>,
}

/// What is installed: versions by name.
type Installed = BTreeMap<String, String>;

/// A package, the version that is wished for, and the one that could be installed.
type Todo = (String, Option<String>, Option<String>);

impl Wish<'_> {
    fn packages(&self) -> Result<Vec<(String, Option<String>)>, Stop> {
        let mut packages = Vec::new();
        for package in self.packages.list() {
            let (name, version) = match package.split_once('=') {
                Some((name, version)) => {
                    (name.trim().to_owned(), Some(version.trim_start_matches('=').trim().to_owned()))
                }
                None => (package, None),
            };
            let fine = |letter: char| letter.is_ascii_alphanumeric() || "+-._:".contains(letter);
            if name.starts_with(['-', '+']) || name.is_empty() || !name.chars().all(fine) {
                return Err(Stop::refused("name", format!("`{name}` is not the name of a package")).way_out(
                    "name packages of the host's lists: files, URLs, groups and patterns are not known here",
                ));
            }
            packages.push((name, version));
        }
        Ok(packages)
    }

    fn names(&self) -> Result<Vec<String>, Stop> {
        let mut names: Vec<String> = self.packages()?.into_iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn family(&self, facts: &Facts) -> Result<Family, Stop> {
        let family = Family::of(facts)?;
        match self.only {
            Some(only) if only != family => {
                Err(Stop::failed(format!("packages of this host are kept by {}", family.name())).way_out(
                    format!(
                        "use `package`, or leave the host out by `when: ansible_pkg_mgr == '{}'`",
                        only.name()
                    ),
                ))
            }
            _ => Ok(family),
        }
    }

    fn installed(&self, facts: &Facts, family: Family) -> Result<(Installed, Output), Stop> {
        let output = facts.output(&family.look(&self.names()?))?;
        if output.status == 127 {
            return Err(Stop::failed(format!(
                "the programs of {} cannot be asked on this host",
                family.name()
            )));
        }
        let installed = output
            .text()
            .lines()
            .filter_map(|line| line.trim().strip_suffix(" installed")?.split_once('='))
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .collect();
        Ok((installed, output))
    }

    /// Packages that are not there, or not in the version that is asked for.
    fn missing(&self, facts: &Facts, family: Family) -> Result<Vec<(String, Option<String>)>, Stop> {
        let (installed, _) = self.installed(facts, family)?;
        let fits = |(name, wanted): &(String, Option<String>)| match (installed.get(name), wanted) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(now), Some(wanted)) => version_fits(now, wanted),
        };
        Ok(self.packages()?.into_iter().filter(|package| !fits(package)).collect())
    }

    pub(crate) fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let family = self.family(facts)?;
        let names = self.names()?;
        let mut change = Change::nothing(json!({ "name": names }));
        if names.is_empty() {
            if self.update_cache {
                change.steps.push(self.update(family));
                change.diff.push(Diff::Note("fetches the lists of packages".to_owned()));
            }
            return Ok(change);
        }
        if self.state == State::Latest {
            facts.need(&[family.look(&names), family.candidates(&names)].map(Read::Ask))?;
        }
        match self.state {
            State::Absent => self.remove(facts, family, &mut change)?,
            State::Present | State::Latest => self.install(facts, family, &mut change)?,
        }
        Ok(change)
    }

    fn update(&self, family: Family) -> Step {
        Step::call(Claim::new("packages", "lists"), family.update(), spoils(), Back::Nothing)
    }

    fn install(&self, facts: &Facts, family: Family, change: &mut Change) -> Result<(), Stop> {
        let (installed, before) = self.installed(facts, family)?;
        let mut wanted = self.missing(facts, family)?;
        if self.state == State::Latest {
            wanted = self.packages()?;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let todo = self.todo(facts, family, &installed, wanted)?;
        if todo.is_empty() {
            return Ok(());
        }
        if self.update_cache {
            change.steps.push(self.update(family));
        }
        let packages: Vec<String> = todo
            .iter()
            .map(|(name, version, _)| match version {
                Some(version) => format!("{name}={version}"),
                None => name.clone(),
            })
            .collect();
        let lines = todo.iter().map(|(name, version, candidate)| {
            let exact = match (version, candidate) {
                (Some(version), _) if !version.ends_with('*') => Some(version),
                // What an update of the lists brings is not known yet.
                (None, Some(candidate)) if self.state == State::Latest && !self.update_cache => {
                    Some(candidate)
                }
                _ => None,
            };
            exact.map_or(format!("{name} installed"), |version| format!("{name}={version} installed"))
        });
        let look =
            (Read::Ask(family.look(&self.names()?)), Seen::Output(before), Match::Has(lines.collect()));
        let row = family.install(&self.options, &packages);
        let todo_names: Vec<&str> = todo.iter().map(|(name, ..)| name.as_str()).collect();
        let back = self.back(family, &todo_names, &installed);
        change.steps.push(Step::call_seen(self.claim(&todo_names), row, spoils(), look, back));
        for (name, version, candidate) in &todo {
            let after = version.clone().or(candidate.clone()).unwrap_or_else(|| "the newest".to_owned());
            change.diff.push(Diff::Value {
                name: format!("package {name}"),
                before: installed.get(name).cloned(),
                after: Some(after),
            });
        }
        Ok(())
    }

    /// What is really to be installed: name, wanted version, candidate.
    fn todo(
        &self,
        facts: &Facts,
        family: Family,
        installed: &Installed,
        wanted: Vec<(String, Option<String>)>,
    ) -> Result<Vec<Todo>, Stop> {
        let answer = facts.output(&family.candidates(&self.names()?))?;
        let mut todo = Vec::new();
        for (name, version) in wanted {
            let candidate = family.candidate(&answer, &name);
            if candidate.is_none() && !self.update_cache && !installed.contains_key(&name) {
                return Err(Stop::refused("name", format!("the lists of this host know no package {name}"))
                    .way_out("set `update_cache: true`, or add the repository that has it"));
            }
            if self.state == State::Latest && version.is_none() && installed.get(&name) == candidate.as_ref()
            {
                continue;
            }
            if self.state == State::Latest && candidate.is_none() && installed.contains_key(&name) {
                continue;
            }
            todo.push((name, version, candidate));
        }
        Ok(todo)
    }

    fn claim(&self, names: &[&str]) -> Claim {
        Claim::new("package", &names.join(","))
    }

    fn back(&self, family: Family, names: &[&str], installed: &Installed) -> Back {
        let (old, new): (Vec<&str>, Vec<&str>) =
            names.iter().partition(|name| installed.contains_key(**name));
        let stays =
            "users, logs and configuration that the packages made, and packages that came along".to_owned();
        let row = match (old.is_empty(), new.is_empty()) {
            (true, _) => family.remove(false, &owned(&new)),
            (false, true) => {
                let versions: Vec<String> =
                    old.iter().map(|name| format!("{name}={}", installed[*name])).collect();
                family.install(&downgrade(family), &versions)
            }
            (false, false) => {
                return Back::Approximately {
                    act: Act::Call { row: family.remove(false, &owned(&new)), spoils: spoils() },
                    stays: format!("{stays}; newer versions of {}", old.join(", ")),
                };
            }
        };
        Back::Approximately { act: Act::Call { row, spoils: spoils() }, stays }
    }

    fn remove(&self, facts: &Facts, family: Family, change: &mut Change) -> Result<(), Stop> {
        let (installed, before) = self.installed(facts, family)?;
        let there: Vec<String> =
            self.names()?.into_iter().filter(|name| installed.contains_key(name)).collect();
        if there.is_empty() {
            return Ok(());
        }
        let versions: Vec<String> = there.iter().map(|name| format!("{name}={}", installed[name])).collect();
        let back = Back::Approximately {
            act: Act::Call { row: family.install(&downgrade(family), &versions), spoils: spoils() },
            stays: "packages that went along, and what they kept outside of their files".to_owned(),
        };
        let lines = there.iter().map(|name| format!("{name} installed")).collect();
        let look = (Read::Ask(family.look(&self.names()?)), Seen::Output(before), Match::Lacks(lines));
        let names: Vec<&str> = there.iter().map(String::as_str).collect();
        let row = family.remove(self.purge, &there);
        change.steps.push(Step::call_seen(self.claim(&names), row, spoils(), look, back));
        for name in &there {
            let before = installed.get(name).cloned();
            change.diff.push(Diff::Value { name: format!("package {name}"), before, after: None });
        }
        Ok(())
    }
}

fn downgrade(family: Family) -> Vec<&'static str> {
    match family {
        Family::Apt => vec!["--allow-downgrades"],
        Family::Dnf => Vec::new(),
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Whether a version is the wanted one: equal, or alike up to a `*`; an epoch counts only where it is wanted.
fn version_fits(now: &str, wanted: &str) -> bool {
    let without_epoch = now.split_once(':').map_or(now, |(_, version)| version);
    let fits = |now: &str| match wanted.strip_suffix('*') {
        Some(start) => now.starts_with(start),
        None => now == wanted,
    };
    fits(now) || fits(without_epoch)
}

/// Samples on a host of the apt family.
pub(crate) fn apt_samples() -> Vec<Sample> {
    let look = Family::Apt.look(&["numactl".to_owned()]);
    let there = Seen::Output(Output::ok("numactl installed\nnumactl=2.0.16-1 installed\n"));
    let none = Seen::Output(Output { status: 1, stdout: "".into(), stderr: "no packages found".into() });
    let policy = Seen::Output(Output::ok("numactl:\n  Installed: (none)\n  Candidate: 2.0.16-1\n"));
    let host = Host::new().file("/usr/bin/apt-get", "").answer(Row::new("apt-policy", ["numactl"]), policy);
    let install = |args: &[&str]| {
        (Row::new("apt-get-install", args.to_vec()), vec![(Read::Ask(look.clone()), there.clone())])
    };
    let calls = vec![
        install(&["--", "numactl"]),
        install(&["--allow-downgrades", "--", "numactl=2.0.16-1"]),
        (Row::new("apt-get-remove", ["numactl"]), vec![(Read::Ask(look.clone()), none.clone())]),
    ];
    let sample = |about, args, seen: &Seen| Sample {
        about,
        args,
        host: host.clone().answer(look.clone(), seen.clone()),
        calls: calls.clone(),
    };
    vec![
        sample("it comes", json!({ "name": "numactl" }), &none),
        sample("it goes", json!({ "name": ["numactl"], "state": "absent" }), &there),
    ]
}

#[cfg(test)]
mod tests;
