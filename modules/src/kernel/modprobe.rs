//! `modprobe`: a kernel module, loaded or not, now and at boot, and its parameters.
use crate::argument::nearest;
use crate::files::place::{self, known};
use crate::files::text::{TextFile, ended};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Facts, HostPath, Match, Output, Read, Row, Seen, Spoil, Step,
    Stop, all,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A kernel module, loaded or not, now and at boot, and its parameters.
///
/// Whether it is loaded is read from /sys/module; a module that is built into the kernel counts as loaded.
/// `persistent: present` lets it be loaded at boot (/etc/modules-load.d/NAME.conf) with its parameters
/// (/etc/modprobe.d/NAME.conf); `absent` turns such lines of any file there into comments.
///
/// Parameters count when a module is loaded. Where it is loaded with others they cannot be changed live: with
/// `persistent: present` they are written and the plan says that they are not live yet, else the task is refused.
///
/// Errors: a module that this kernel does not have; `state: absent` of one that is built in. Sources: modprobe(8),
/// modules-load.d(5), modprobe.d(5), the kernel's Documentation/ABI/testing/sysfs-module.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Modprobe {
    /// The module; `-` and `_` are the same.
    pub name: String,
    /// Whether it is loaded.
    #[serde(default)]
    pub state: State,
    /// Its parameters: `nr_devices=4 mode=2`.
    #[serde(default)]
    pub params: String,
    /// Whether it is loaded at boot.
    #[serde(default)]
    pub persistent: Persistent,
}

/// Whether a module is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is.
    #[default]
    Present,
    /// It is not.
    Absent,
}

/// Whether a module is loaded at boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Persistent {
    /// That stays as it is.
    #[default]
    Disabled,
    /// It is.
    Present,
    /// It is not.
    Absent,
}

const FOLDERS: [&str; 2] = ["/etc/modules-load.d", "/etc/modprobe.d"];

/// How a module stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Loaded,
    BuiltIn,
    Unloaded,
}

impl Modprobe {
    /// The name as the kernel writes it.
    fn name(&self) -> Result<String, Stop> {
        let fine = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        match self.name.is_empty() || self.name.starts_with('-') || !self.name.chars().all(fine) {
            true => Err(Stop::refused("name", format!("`{}` is not the name of a kernel module", self.name))),
            false => Ok(self.name.replace('-', "_")),
        }
    }

    fn params(&self) -> Result<Vec<(&str, &str)>, Stop> {
        self.params
            .split_whitespace()
            .map(|word| word.split_once('=').unwrap_or((word, "")))
            .map(|(name, value)| match name.is_empty() || name.contains('/') {
                true => Err(Stop::refused("params", format!("`{}` are not parameters", self.params))),
                false => Ok((name, value)),
            })
            .collect()
    }

    fn state_path(&self) -> Result<HostPath, Stop> {
        known(&format!("/sys/module/{}/initstate", self.name()?))
    }

    fn info(&self) -> Result<Row, Stop> {
        Ok(Row::new("modinfo", ["-F".to_owned(), "filename".to_owned(), "--".to_owned(), self.name()?]))
    }

    fn standing(&self, facts: &Facts) -> Result<Standing, Stop> {
        if facts.value(&self.state_path()?)?.is_some() {
            return Ok(Standing::Loaded);
        }
        let output = facts.output(&self.info()?)?;
        match (output.status, output.text().contains("(builtin)")) {
            (0, true) => Ok(Standing::BuiltIn),
            (0, false) => Ok(Standing::Unloaded),
            (127, _) => Err(Stop::failed("this host has no `modinfo`").way_out("install the package `kmod`")),
            _ => Err(self.unknown(facts)),
        }
    }

    fn unknown(&self, facts: &Facts) -> Stop {
        let names = match facts.names("/sys/module/*") {
            Err(unread @ Stop::Unread(_)) => return unread,
            names => names.unwrap_or_default(),
        };
        let near = nearest(&self.name, names.iter().map(HostPath::name));
        let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        Stop::refused("name", format!("the running kernel has no module {}", self.name)).way_out(format!(
            "{hint}install the package that brings it (on Debian and Ubuntu linux-modules-extra, on RHEL \
             kernel-modules-extra), and boot the kernel that it was made for"
        ))
    }

    /// Parameters that a loaded module has otherwise: name, now, wanted.
    fn differing(&self, facts: &Facts) -> Result<Vec<(String, String, String)>, Stop> {
        let mut differing = Vec::new();
        for (name, wanted) in self.params()? {
            let path = known(&format!("/sys/module/{}/parameters/{name}", self.name()?))?;
            // Some parameters cannot be read back: of these nothing can be said.
            let Some(now) = facts.value(&path)? else { continue };
            let truth = |text: &str| match text {
                "Y" | "y" | "1" => Some(true),
                "N" | "n" | "0" => Some(false),
                _ => None,
            };
            let same = now.trim() == wanted || (truth(&now).is_some() && truth(&now) == truth(wanted));
            if !same {
                differing.push((name.to_owned(), now, wanted.to_owned()));
            }
        }
        Ok(differing)
    }

    fn live(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        match (self.state, self.standing(facts)?) {
            (State::Absent, Standing::Unloaded) => Ok(()),
            (State::Absent, Standing::BuiltIn) => Err(Stop::refused(
                "state",
                format!("{} is built into the kernel and cannot be unloaded", self.name),
            )),
            (State::Absent, Standing::Loaded) => self.call(false, change),
            (State::Present, Standing::Unloaded) => self.call(true, change),
            (State::Present, _) => self.loaded(facts, change),
        }
    }

    fn loaded(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        for (name, now, wanted) in self.differing(facts)? {
            let words =
                format!("{} is loaded with {name}={}: {wanted} cannot be set live", self.name, now.trim());
            if self.persistent != Persistent::Present {
                return Err(Stop::refused("params", words).way_out(
                    "set `persistent: present` and reboot, or unload it first by a task with `state: absent`",
                ));
            }
            change.effect = Effect::HostReboot;
            change.notes.push(format!(
                "{words}; it counts when the module is loaded again, at the latest by a reboot"
            ));
        }
        Ok(())
    }

    fn call(&self, load: bool, change: &mut Change) -> Result<(), Stop> {
        let name = self.name()?;
        let mut args = vec![name.clone()];
        args.extend(self.params.split_whitespace().map(ToOwned::to_owned));
        let loads = Row::new("modprobe", args);
        let unloads = Row::new("modprobe-remove", [name.clone()]);
        let path = self.state_path()?;
        let live = Seen::Value("live".to_owned());
        let mut spoils = vec![Spoil::Read(Read::text(&path))];
        for folder in ["/proc", "/sys"] {
            spoils.push(Spoil::Missing(known(folder)?));
        }
        let act = |row| Act::Call { row, spoils: spoils.clone() };
        let (row, before, after, back) = match load {
            true => (loads, Seen::Absent, live, Back::Exactly(act(unloads))),
            false => {
                let stays = "parameters that it was loaded with come from the host's files again".to_owned();
                (
                    unloads,
                    live,
                    Seen::Absent,
                    Back::Approximately { act: act(Row::new("modprobe", [name.clone()])), stays },
                )
            }
        };
        let look = (Read::text(&path), before, Match::Exactly(after));
        change.steps.push(Step::call_seen(Claim::new("module", &name), row, spoils.clone(), look, back));
        let standing = |loaded: bool| Some(if loaded { "loaded" } else { "not loaded" }.to_owned());
        change.diff.push(Diff::Value {
            name: format!("module {name}"),
            before: standing(!load),
            after: standing(load),
        });
        Ok(())
    }

    fn kept(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        let name = self.name()?;
        let own = format!("{}.conf", self.name);
        let mut put = |path: &HostPath, edit: &dyn Fn(&str) -> String| -> Result<(), Stop> {
            let file = TextFile::read(facts, path)?;
            let after = edit(&file.text);
            if after != file.text {
                file.put(facts, Claim::part(path, &name), &after, change)?;
            }
            Ok(())
        };
        if self.persistent == Persistent::Absent {
            let names = all(FOLDERS.map(|folder| facts.names(&format!("{folder}/*.conf"))))?.concat();
            TextFile::read_all(facts, &names)?;
            for path in names {
                put(&path, &|text| commented(text, &name))?;
            }
            return Ok(());
        }
        if !self.is_listed(facts, &name)? {
            put(&known(&format!("{}/{own}", FOLDERS[0]))?, &|text| {
                format!("{}{}\n", ended(text), self.name)
            })?;
        }
        if !self.params.trim().is_empty() {
            let line = format!("options {} {}", self.name, self.params.trim());
            put(&known(&format!("{}/{own}", FOLDERS[1]))?, &|text| with_options(text, &name, &line))?;
        }
        Ok(())
    }

    /// Whether any file lets it be loaded at boot.
    fn is_listed(&self, facts: &Facts, name: &str) -> Result<bool, Stop> {
        let names = facts.names(&format!("{}/*.conf", FOLDERS[0]))?;
        let files = TextFile::read_all(facts, &names)?;
        Ok(files.iter().any(|file| file.text.lines().any(|line| means(line, name))))
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = vec![Read::text(&self.state_path()?)];
        let name = self.name()?;
        for (param, _) in self.params()? {
            reads.push(Read::text(&known(&format!("/sys/module/{name}/parameters/{param}"))?));
        }
        if self.persistent != Persistent::Disabled {
            for folder in FOLDERS {
                reads.push(Read::Glob(format!("{folder}/*.conf")));
                reads.extend(place::first_reads(&known(&format!("{folder}/{}.conf", self.name))?));
            }
        }
        Ok(reads)
    }
}

/// Whether a line of modules-load.d or an `options` line of modprobe.d is about a module.
fn means(line: &str, name: &str) -> bool {
    let line = line.trim();
    let module = match line.strip_prefix("options").filter(|rest| rest.starts_with([' ', '\t'])) {
        Some(rest) => rest.split_whitespace().next().unwrap_or_default(),
        None => line,
    };
    module.replace('-', "_") == name
}

fn commented(text: &str, name: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| if means(line, name) { format!("#{line}") } else { line.to_owned() })
        .collect()
}

fn with_options(text: &str, name: &str, line: &str) -> String {
    let is_own = |old: &str| old.trim_start().starts_with("options") && means(old, name);
    if text.lines().filter(|old| is_own(old)).eq([line]) {
        return text.to_owned();
    }
    let others: String = text.split_inclusive('\n').filter(|old| !is_own(old)).collect();
    format!("{}{line}\n", ended(&others))
}

impl Module for Modprobe {
    const NAME: &'static str = "modprobe";
    const EXAMPLE: &'static str = "\
- name: NVMe over TCP, at boot too
  modprobe:
    name: nvme-tcp
    state: present
    persistent: present
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        facts.need(&self.first_reads()?)?;
        let mut change = Change::nothing(json!({ "name": self.name, "params": self.params }));
        let kept = match self.persistent {
            Persistent::Disabled => Ok(()),
            _ => self.kept(facts, &mut change),
        };
        let live = self.live(facts, &mut change);
        all([kept, live])?;
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let info = |text: &str| Seen::Output(Output::ok(text));
        let row = Row::new("modinfo", ["-F", "filename", "--", "nvme_tcp"]);
        let host =
            Host::new().dir(FOLDERS[0]).dir(FOLDERS[1]).answer(row, info("/lib/modules/6.1/nvme-tcp.ko\n"));
        let state = Read::text(
            &HostPath::new("/sys/module/nvme_tcp/initstate").unwrap_or_else(|why| panic!("{why}")),
        );
        let calls = vec![
            (Row::new("modprobe", ["nvme_tcp"]), vec![(state.clone(), Seen::Value("live".to_owned()))]),
            (Row::new("modprobe-remove", ["nvme_tcp"]), vec![(state, Seen::Absent)]),
        ];
        let sample = |about, args, host| Sample { about, args, host, calls: calls.clone() };
        vec![
            sample("loaded", json!({ "name": "nvme-tcp" }), host.clone()),
            sample("at boot too", json!({ "name": "nvme-tcp", "persistent": "present" }), host.clone()),
            sample(
                "unloaded",
                json!({ "name": "nvme-tcp", "state": "absent" }),
                host.value("/sys/module/nvme_tcp/initstate", "live"),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    fn host() -> Host {
        Modprobe::samples()[0].host.clone()
    }

    #[test]
    fn loaded_and_kept_with_parameters() {
        let args = json!({ "name": "nvme-tcp", "params": "so_priority=1", "persistent": "present" });
        let change = planned::<Modprobe>(&host(), args);
        let texts: Vec<&str> = change
            .diff
            .iter()
            .filter_map(|diff| match diff {
                Diff::Text { after, .. } => Some(after.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["nvme-tcp\n", "options nvme-tcp so_priority=1\n"]);
        let Act::Call { row, .. } = &change.steps[2].act else { panic!() };
        assert_eq!(row.args, ["nvme_tcp", "so_priority=1"]);
    }

    #[test]
    fn parameters_of_a_loaded_module_are_told_apart() {
        let loaded = host()
            .value("/sys/module/nvme_tcp/initstate", "live")
            .value("/sys/module/nvme_tcp/parameters/wq_unbound", "N");
        let with = |params: &str, persistent: &str| json!({ "name": "nvme_tcp", "params": params, "persistent": persistent });
        assert!(planned::<Modprobe>(&loaded, with("wq_unbound=0", "disabled")).is_empty());
        assert!(
            refusal::<Modprobe>(&loaded, with("wq_unbound=Y", "disabled")).contains("cannot be set live")
        );
        let change = planned::<Modprobe>(&loaded, with("wq_unbound=Y", "present"));
        assert_eq!((change.effect, change.notes.len()), (Effect::HostReboot, 1));
    }

    #[test]
    fn built_in_and_unknown_modules() {
        let row = |name: &str| Row::new("modinfo", ["-F", "filename", "--", name]);
        let none = Seen::Output(Output { status: 1, stdout: "".into(), stderr: "not found".into() });
        let host = Host::new()
            .answer(row("tcp_cubic"), Seen::Output(Output::ok("name: tcp_cubic\n(builtin)\n")))
            .answer(row("nvme_tpc"), none)
            .value("/sys/module/nvme_tcp/initstate", "live");
        assert!(planned::<Modprobe>(&host, json!({ "name": "tcp_cubic" })).is_empty());
        assert!(
            refusal::<Modprobe>(&host, json!({ "name": "tcp_cubic", "state": "absent" }))
                .contains("built into")
        );
        let why = refusal::<Modprobe>(&host, json!({ "name": "nvme_tpc" }));
        assert!(why.contains("no module nvme_tpc"), "{why}");
    }

    #[test]
    fn absent_at_boot_comments_lines_out() {
        assert_eq!(commented("# x\nnvme-tcp\nnvme_tcp_x\n", "nvme_tcp"), "# x\n#nvme-tcp\nnvme_tcp_x\n");
        assert_eq!(
            commented("options nvme-tcp a=1\noptions b c=1", "nvme_tcp"),
            "#options nvme-tcp a=1\noptions b c=1"
        );
        let text = "options nvme-tcp a=1\nalias x y\n";
        assert_eq!(
            with_options(text, "nvme_tcp", "options nvme-tcp a=2"),
            "alias x y\noptions nvme-tcp a=2\n"
        );
    }
}
