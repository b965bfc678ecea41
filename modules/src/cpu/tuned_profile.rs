//! `tuned_profile`: the profile that TuneD applies.
use crate::argument::Scalar;
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Act, Activation, Back, Change, Claim, Diff, Effect, Evidence, Facts, HostPath, Match, Output, Read, Row,
    Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The profile that TuneD applies, and what a profile of one's own says.
///
/// With `settings` the profile's file is written to /etc/tuned/PROFILE/tuned.conf, where TuneD looks before its own ones. By
/// default it lets the host's sysctl files win over a profile's `[sysctl]` section (`reapply_sysctl` in
/// /etc/tuned/tuned-main.conf): where that is so it is said. TuneD reads that file when it starts, so that it is started
/// again where the task changes it. A profile changes values below /proc and /sys that no plan names, so that tasks behind
/// it are planned anew; the way back is the profile before, and TuneD itself restores what it remembers.
///
/// Errors: TuneD is not installed or does not run, a profile that is neither there nor made here. Sources: tuned-adm(8),
/// tuned.conf(5), tuned-main.conf(5).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TunedProfile {
    /// The profile's name; several at once are parted by blanks, and the later ones win.
    pub profile: String,
    /// Sections of a profile of one's own, and their settings: `{main: {include: network-latency}, sysctl: {vm.swappiness: 10}}`.
    #[serde(default)]
    pub settings: BTreeMap<String, BTreeMap<String, Scalar>>,
    /// Whether the host's sysctl files win over the profile's; stays as it is where it is not said.
    #[serde(default)]
    pub reapply_sysctl: Option<bool>,
}

const MAIN: &str = "/etc/tuned/tuned-main.conf";
const DAEMON: &str = "tuned.service";
const ACTIVE: &str = "Current active profile: ";

/// Folders that profiles are in.
const FOLDERS: [&str; 4] = ["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];

fn look() -> Row {
    Row::new("tuned-adm-active", Vec::<String>::new())
}

impl TunedProfile {
    fn names(&self) -> Result<Vec<&str>, Stop> {
        let names: Vec<&str> = self.profile.split_whitespace().collect();
        let fine = |name: &&str| {
            !name.starts_with(['-', '.'])
                && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
        };
        if names.is_empty() || !names.iter().all(fine) {
            return Err(Stop::refused("profile", format!("`{}` is not the name of a profile", self.profile)));
        }
        if names.len() > 1 && !self.settings.is_empty() {
            return Err(Stop::refused("settings", "`settings` belong to one profile, and several are named"));
        }
        Ok(names)
    }

    fn file(name: &str) -> Result<HostPath, Stop> {
        known(&format!("/etc/tuned/{name}/tuned.conf"))
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = vec![Read::Ask(look())];
        reads.extend(place::first_reads(&known(MAIN)?));
        for name in self.names()? {
            reads.extend(place::first_reads(&Self::file(name)?));
        }
        reads.extend(FOLDERS.iter().map(|folder| Read::Glob(format!("{folder}/*/tuned.conf"))));
        Ok(reads)
    }

    fn text(&self) -> Result<String, Stop> {
        let mut text = "# Made by tunerun.\n".to_owned();
        for (section, settings) in &self.settings {
            text.push_str(&format!("[{section}]\n"));
            for (name, value) in settings {
                let value = value.text();
                if value.contains('\n') || name.contains(['\n', '=']) || section.contains([']', '\n']) {
                    return Err(Stop::refused("settings", format!("the setting {name} is not one line")));
                }
                text.push_str(&format!("{name}={value}\n"));
            }
        }
        Ok(text)
    }

    /// Refuses a profile that nobody has.
    fn known_to(&self, facts: &Facts, names: &[&str]) -> Result<(), Stop> {
        let mut all: Vec<String> = Vec::new();
        for folder in FOLDERS {
            let files = facts.names(&format!("{folder}/*/tuned.conf"))?;
            all.extend(files.iter().filter_map(|file| Some(file.parent()?.name().to_owned())));
        }
        for name in names {
            if self.settings.is_empty() && !all.iter().any(|known| known == name) {
                let near = crate::argument::nearest(name, all.iter().map(String::as_str));
                let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                return Err(Stop::refused("profile", format!("TuneD has no profile `{name}`"))
                    .way_out(format!("{hint}`tuned-adm list` shows them; `settings` makes one")));
            }
        }
        Ok(())
    }

    /// What tuned-main.conf says of sysctl files, and the trap where they win.
    fn reapply(&self, facts: &Facts, change: &mut Change) -> Result<bool, Stop> {
        let path = known(MAIN)?;
        let file = TextFile::read(facts, &path)?;
        let is_ours = |line: &str| {
            line.split_once('=').is_some_and(|(name, _)| name.trim() == "reapply_sysctl")
                && !line.trim_start().starts_with('#')
        };
        let now = file.text.lines().rfind(|line| is_ours(line)).and_then(|line| line.split_once('='));
        let wins = now.is_none_or(|(_, value)| {
            matches!(value.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
        });
        let mut changed = false;
        if let Some(wanted) = self.reapply_sysctl.filter(|wanted| *wanted != wins) {
            let line = format!("reapply_sysctl = {}\n", u8::from(wanted));
            let mut after: String = file.text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
            if !after.is_empty() && !after.ends_with('\n') {
                after.push('\n');
            }
            after.push_str(&line);
            changed = file.put(facts, Claim::part(&path, "reapply_sysctl"), &after, change)?;
            // TuneD reads its own settings when it starts.
            change.then.insert(Activation::Restart(DAEMON.to_owned()));
        }
        if self.reapply_sysctl.unwrap_or(wins) && self.settings.contains_key("sysctl") {
            change.notes.push(
                "the host's sysctl files win over the profile's [sysctl] section: say `reapply_sysctl: false`, or set these by `sysctl`"
                    .to_owned(),
            );
        }
        Ok(changed)
    }
}

/// The profiles that are active; none where TuneD applies none.
fn active(output: &Output) -> Option<String> {
    output.text().lines().find_map(|line| line.trim().strip_prefix(ACTIVE)).map(|name| name.trim().to_owned())
}

/// The step that has TuneD apply profiles: once more, or in place of those `now`.
fn applied(wanted: &str, now: Option<&str>, seen: &Output, live: bool) -> Step {
    let call = |names: &str| Row::new("tuned-adm-profile", names.split_whitespace());
    let spoils = || vec![Spoil::Volatile];
    let back = match now {
        Some(before) => call(before),
        None => Row::new("tuned-adm-off", Vec::<String>::new()),
    };
    let back = Back::Approximately {
        act: Act::Call { row: back, spoils: spoils() },
        stays: "what TuneD does not remember to have changed".to_owned(),
    };
    let claim = Claim::new("tuned", "profile");
    if live {
        return Step::call(claim, call(wanted), spoils(), back);
    }
    let after = Match::Has(vec![format!("{ACTIVE}{wanted}")]);
    let look = (Read::Ask(look()), Seen::Output(seen.clone()), after);
    Step::call_seen(claim, call(wanted), spoils(), look, back)
}

impl Module for TunedProfile {
    const NAME: &'static str = "tuned_profile";
    const EXAMPLE: &'static str = "\
- name: Latency first, and nothing swapped
  tuned_profile:
    profile: storage-host
    settings:
      main: {include: network-latency}
      sysctl: {vm.swappiness: 1}
    reapply_sysctl: false
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "profile")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let names = self.names()?;
        facts.need(&self.first_reads()?)?;
        let seen = facts.output(&look())?;
        if seen.status == 127 {
            return Err(Stop::failed("TuneD is not installed on this host")
                .way_out("install the package `tuned` in an earlier task"));
        }
        self.known_to(facts, &names)?;
        let mut change = Change::default();
        let mut changed = self.reapply(facts, &mut change)?;
        if let (Some(name), false) = (names.first(), self.settings.is_empty()) {
            let path = Self::file(name)?;
            changed |=
                TextFile::read(facts, &path)?.put(facts, Claim::file(&path), &self.text()?, &mut change)?;
        }
        let (wanted, now) = (names.join(" "), active(&seen));
        let live = now.as_deref() == Some(wanted.as_str());
        if !live || changed {
            change.diff.push(Diff::Value {
                name: "TuneD's profile".to_owned(),
                before: now.clone(),
                after: Some(if live { format!("{wanted}, applied again") } else { wanted.clone() }),
            });
            change.steps.push(applied(&wanted, now.as_deref(), &seen, live));
        }
        change.evidence.push(Evidence::told(
            format!("TuneD applies {wanted}"),
            "tuned-adm active",
            (live, false),
            now.unwrap_or_else(|| "no profile".to_owned()),
            Effect::Now,
        ));
        change.result = json!({ "profile": wanted });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let told = |name: &str| Seen::Output(Output::ok(format!("{ACTIVE}{name}\n")));
        let host = || {
            Host::new()
                .file("/usr/lib/tuned/balanced/tuned.conf", "[main]\n")
                .file("/usr/lib/tuned/network-latency/tuned.conf", "[main]\n")
                .file(MAIN, "daemon = 1\nreapply_sysctl = 1\n")
                .answer(look(), told("balanced"))
        };
        let set = |name: &str| (Row::new("tuned-adm-profile", [name]), vec![(Read::Ask(look()), told(name))]);
        let sample = |about, args| Sample {
            about,
            args,
            host: host(),
            calls: vec![set("balanced"), set("network-latency"), set("own")],
        };
        vec![
            sample("one that is there", json!({ "profile": "network-latency" })),
            sample(
                "one of one's own",
                json!({ "profile": "own", "settings": { "sysctl": { "vm.swappiness": 1 } }, "reapply_sysctl": false }),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    fn host() -> Host {
        TunedProfile::samples()[0].host.clone()
    }

    #[test]
    fn the_hosts_sysctl_files_win_unless_told_otherwise() {
        let args = json!({ "profile": "own", "settings": { "sysctl": { "vm.swappiness": 1 } } });
        let change = planned::<TunedProfile>(&host(), args.clone());
        assert!(change.notes.iter().any(|note| note.contains("reapply_sysctl: false")), "{:?}", change.notes);
        let mut told = args;
        told["reapply_sysctl"] = json!(false);
        let change = planned::<TunedProfile>(&host(), told);
        assert!(!change.notes.iter().any(|note| note.contains("sysctl files win")), "{:?}", change.notes);
        assert!(change.steps.iter().any(|step| step.claim.as_str().ends_with("#reapply_sysctl")));
        assert!(
            change.then.contains(&Activation::Restart(DAEMON.to_owned())),
            "it reads that when it starts"
        );
    }

    #[test]
    fn the_way_back_is_the_profile_before() {
        let change = planned::<TunedProfile>(&host(), json!({ "profile": "network-latency" }));
        let [step] = &change.steps[..] else { panic!("{change:?}") };
        let Back::Approximately { act: Act::Call { row, .. }, .. } = &step.back else { panic!("{step:?}") };
        assert_eq!(row.args, ["balanced"]);
        let none = host().answer(look(), Seen::Output(Output::ok("No current active profile.\n")));
        let change = planned::<TunedProfile>(&none, json!({ "profile": "network-latency" }));
        let Back::Approximately { act: Act::Call { row, .. }, .. } = &change.steps[0].back else {
            panic!("{change:?}")
        };
        assert_eq!(row.name, "tuned-adm-off");
        let there = planned::<TunedProfile>(&host(), json!({ "profile": "balanced" }));
        assert!(there.is_empty(), "{there:?}");
    }

    #[test]
    fn strangers_are_refused() {
        let refused = |args| refusal::<TunedProfile>(&host(), args);
        assert!(refused(json!({ "profile": "balansed" })).contains("did you mean `balanced`"));
        assert!(refused(json!({ "profile": "../x" })).contains("not the name"));
        assert!(
            refused(json!({ "profile": "a b", "settings": { "main": {} } })).contains("several are named")
        );
        let bare = Host::new();
        assert!(refusal::<TunedProfile>(&bare, json!({ "profile": "balanced" })).contains("not installed"));
    }
}
