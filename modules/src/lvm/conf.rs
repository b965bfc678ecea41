//! `lvm_conf`: settings of lvm.conf and lvmlocal.conf.
use super::report::fault;
use crate::argument::{Names, nearest};
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::shape::parse_size;
use crate::vocabulary::{
    Change, Claim, Effect, Evidence, Facts, HostPath, Output, Read, Row, Seen, Stop, all,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

mod text;

/// Settings of lvm.conf and lvmlocal.conf.
///
/// Each setting stands in its section: `allocation/thin_pool_chunk_size: 4096`, or the same nested. A key without its
/// section, which LVM would not take, is refused with the section that it belongs to; so is a key that the host's LVM
/// does not know. Every other byte of the file stays as it is; of a setting that stands twice the last one counts and is
/// changed. The new text must be accepted by LVM itself (`lvmconfig --validate`) before it is put in place.
///
/// lvmlocal.conf wins over lvm.conf and is no package's: settings go there unless `file: lvm` is said, which is refused
/// where lvmlocal.conf says otherwise. What counts is told by `lvmconfig`. Settings are for new objects: a pool that is
/// there keeps its chunk size. Later tasks of the same run are planned as if LVM saw the same devices.
///
/// Values are numbers, truths, texts or lists; sizes of `…_chunk_size` are KiB, and a text with a unit (`4M`) is
/// converted. Sources: lvm.conf(5), lvmconfig(8).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LvmConf {
    /// The settings: `section/key: value`, or `section: {key: value}`.
    #[serde(default)]
    pub settings: BTreeMap<String, Json>,
    /// Settings, each as `section/key`, that are taken out, so that LVM's default counts again.
    #[serde(default)]
    pub absent: Names,
    /// The file.
    #[serde(default)]
    pub file: ConfFile,
}

/// Which file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConfFile {
    /// /etc/lvm/lvmlocal.conf, for this host alone.
    #[default]
    Local,
    /// /etc/lvm/lvm.conf, the distribution's.
    Lvm,
}

const LVM: &str = "/etc/lvm/lvm.conf";
const LOCAL: &str = "/etc/lvm/lvmlocal.conf";
/// Accepts a text where LVM does. It reads one folder, so the text gets one of its own.
const VALIDATE: &str = "d=$(mktemp -d) && cp -- %s \"$d/lvm.conf\" && \
    LVM_SYSTEM_DIR=\"$d\" LVM_SUPPRESS_FD_WARNINGS=1 LC_ALL=C lvmconfig --validate; r=$?; rm -rf -- \"$d\"; exit $r";

fn known_settings() -> Row {
    Row::new("lvmconfig-known", Vec::<String>::new())
}

fn counts(path: &str) -> Row {
    Row::new("lvmconfig-value", [path])
}

/// A value as lvm.conf has it.
fn literal(path: &str, value: &Json) -> Result<String, Stop> {
    let text = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    match value {
        Json::Bool(truth) => Ok(u8::from(*truth).to_string()),
        Json::Number(number) => Ok(number.to_string()),
        Json::String(word) if word.parse::<i64>().is_ok() => Ok(word.clone()),
        Json::String(word) if path.ends_with("_chunk_size") => match parse_size(word) {
            Ok(bytes) if bytes.is_multiple_of(1024) => Ok((bytes / 1024).to_string()),
            Ok(_) => Err(Stop::refused(
                "settings",
                format!("{path} counts in KiB, and `{word}` is no whole number of them"),
            )),
            Err(why) => Err(Stop::refused("settings", format!("{path}: {why}"))),
        },
        Json::String(word) => Ok(text(word)),
        Json::Array(members) => {
            let members = members.iter().map(|member| literal("", member)).collect::<Result<Vec<_>, _>>()?;
            Ok(if members.is_empty() { "[]".to_owned() } else { format!("[ {} ]", members.join(", ")) })
        }
        Json::Null | Json::Object(_) => Err(Stop::refused(
            "settings",
            format!("{path} has no value that LVM takes: write a number, a truth, a text or a list"),
        )
        .way_out("a setting is taken out by `absent`")),
    }
}

impl LvmConf {
    /// Settings by path, with what lvm.conf holds for them.
    fn wished(&self) -> Result<BTreeMap<String, String>, Stop> {
        let mut wished = BTreeMap::new();
        for (name, value) in &self.settings {
            match (name.contains('/'), value) {
                (false, Json::Object(keys)) => {
                    for (key, value) in keys {
                        let path = format!("{name}/{key}");
                        wished.insert(path.clone(), literal(&path, value)?);
                    }
                }
                _ => drop(wished.insert(name.clone(), literal(name, value)?)),
            }
        }
        let absent = self.absent.list();
        if let Some(both) = absent.iter().find(|path| wished.contains_key(*path)) {
            return Err(Stop::refused("absent", format!("{both} is set by `settings` too")));
        }
        if wished.is_empty() && absent.is_empty() {
            return Err(Stop::refused("settings", "which settings? `settings` is empty"));
        }
        Ok(wished)
    }

    /// Refuses keys without a section, and those that this LVM does not know.
    fn check<'a>(
        &self,
        facts: &Facts,
        paths: impl Iterator<Item = (&'static str, &'a str)>,
    ) -> Result<(), Stop> {
        let output = facts.output(&known_settings())?;
        if output.status != 0 {
            return Err(fault(&output));
        }
        let text = output.text();
        let known: Vec<&str> = text.lines().map(str::trim).collect();
        for (argument, path) in paths {
            if known.contains(&path) || path.starts_with("tags/") {
                continue;
            }
            if !path.contains('/') {
                let place = known.iter().find(|known| known.rsplit('/').next() == Some(path));
                let stop =
                    Stop::refused(argument, format!("`{path}` stands in no section: LVM would not take it"));
                return Err(match place {
                    Some(place) => stop.way_out(format!("write `{place}`")),
                    None => stop.way_out("write section/key; `lvmconfig --typeconfig list` shows all"),
                });
            }
            let near = nearest(path, known.iter().copied());
            let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            return Err(Stop::refused(argument, format!("this host's LVM knows no setting {path}"))
                .way_out(format!("{hint}`lvmconfig --typeconfig list` shows all")));
        }
        Ok(())
    }

    fn path(&self) -> Result<HostPath, Stop> {
        known(if self.file == ConfFile::Lvm { LVM } else { LOCAL })
    }

    /// Refuses lvm.conf where lvmlocal.conf says otherwise.
    fn overridden(&self, facts: &Facts, wished: &BTreeMap<String, String>) -> Result<(), Stop> {
        if self.file == ConfFile::Local {
            return Ok(());
        }
        let local = TextFile::read(facts, &known(LOCAL)?)?;
        let parsed = text::parse(&local.text).map_err(|why| broken(&local, &why))?;
        for (path, literal) in wished {
            match text::value(&local.text, &parsed, path) {
                Some(value) if !text::alike(value, literal) => {
                    return Err(Stop::refused(
                        "file",
                        format!("{LOCAL} sets {path} to {value}, which wins over {LVM}"),
                    )
                    .way_out("leave `file: lvm` out, so that lvmlocal.conf is changed"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn edit(
        &self,
        facts: &Facts,
        wished: &BTreeMap<String, String>,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let file = TextFile::read(facts, &self.path()?)?;
        let mut after = file.text.clone();
        for (path, literal) in wished {
            after = text::set(&after, path, literal).map_err(|why| broken(&file, &why))?;
        }
        for path in self.absent.list() {
            after = text::unset(&after, &path).map_err(|why| broken(&file, &why))?;
        }
        if after == file.text {
            return Ok(());
        }
        let names: Vec<&str> = wished.keys().map(String::as_str).collect();
        file.put(facts, Claim::part(file.path(), &names.join(",")), &after, change)?;
        for step in change.steps.iter_mut().filter(|step| step.path() == Some(file.path())) {
            *step = step.clone().validated(Some(VALIDATE.to_owned()));
        }
        Ok(())
    }

    /// What counts, as LVM itself says.
    fn prove(
        &self,
        facts: &Facts,
        wished: &BTreeMap<String, String>,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let answers = all(wished.iter().map(|(path, literal)| match facts.output(&counts(path)) {
            // What is being changed is asked again afterwards.
            Err(Stop::Late(_)) => Ok(None),
            other => other.map(|output| Some((path, literal, output))),
        }))?;
        for (path, literal, output) in answers.into_iter().flatten() {
            let text = output.text();
            let value = text.trim().split_once('=').map_or("", |(_, value)| value);
            let (what, proof) =
                (format!("LVM's {path} is {literal}"), format!("lvmconfig --type full {path}"));
            let seen = if value.is_empty() { "LVM's own choice".to_owned() } else { value.to_owned() };
            let written = change.steps.is_empty();
            let live = text::alike(value, literal);
            change.evidence.push(Evidence::told(what, proof, (live, written), seen, Effect::CreationOnly));
        }
        Ok(())
    }
}

fn broken(file: &TextFile, why: &str) -> Stop {
    Stop::failed(format!("{} is not understood: {why}", file.path()))
        .way_out("mend it by hand; `lvmconfig --validate` helps")
}

impl Module for LvmConf {
    const NAME: &'static str = "lvm_conf";
    const EXAMPLE: &'static str = "\
- name: New pools have chunks of 4 MiB and are not zeroed
  lvm_conf:
    settings:
      allocation/thin_pool_chunk_size: 4096
      allocation/thin_pool_zero: false
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let wished = self.wished()?;
        let absent = self.absent.list();
        let mut reads = vec![Read::Ask(known_settings())];
        reads.extend(place::first_reads(&self.path()?));
        reads.push(Read::text(&known(LOCAL)?));
        reads.extend(wished.keys().map(|path| Read::Ask(counts(path))));
        facts.need(&reads)?;
        let named = wished.keys().map(|path| ("settings", path.as_str()));
        self.check(facts, named.chain(absent.iter().map(|path| ("absent", path.as_str()))))?;
        self.overridden(facts, &wished)?;
        let mut change = Change { effect: Effect::CreationOnly, ..Change::default() };
        self.edit(facts, &wished, &mut change)?;
        self.prove(facts, &wished, &mut change)?;
        change.result = json!({ "path": self.path()?.as_str(), "settings": wished });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
        let args = json!({ "settings": { "allocation/thin_pool_chunk_size": 4096, "allocation": { "thin_pool_zero": false } } });
        let text = "allocation {\n\t# thin_pool_chunk_size = 64\n\tthin_pool_zero = 1\n}\n";
        vec![
            sample("a new file", args.clone(), host()),
            sample("a file that is there", args.clone(), host().file(LOCAL, text)),
            sample(
                "lvm.conf",
                {
                    let mut args = args;
                    args["file"] = json!("lvm");
                    args
                },
                host().file(LVM, text),
            ),
            sample(
                "a setting that goes",
                json!({ "absent": "allocation/thin_pool_zero" }),
                host().file(LOCAL, text),
            ),
        ]
    }
}

/// A host whose LVM knows a few settings.
fn host() -> Host {
    let list = "config/checks\ndevices/filter\nallocation/thin_pool_zero\nallocation/thin_pool_chunk_size\n";
    ["allocation/thin_pool_zero", "allocation/thin_pool_chunk_size", "devices/filter"].into_iter().fold(
        Host::new().dir("/etc/lvm").answer(known_settings(), Seen::Output(Output::ok(list))),
        |host, path| host.answer(counts(path), Seen::Output(Output::ok(""))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::{Act, Diff, Standing};

    fn after(change: &Change) -> &str {
        let [Diff::Text { after, .. }] = &change.diff[..] else { panic!("{change:?}") };
        after
    }

    #[test]
    fn settings_stand_in_their_section_and_lvm_must_accept_them() {
        let change = planned::<LvmConf>(
            &host(),
            json!({ "settings": { "allocation/thin_pool_chunk_size": "4M", "allocation/thin_pool_zero": false } }),
        );
        assert_eq!(after(&change), "allocation {\n\tthin_pool_chunk_size = 4096\n\tthin_pool_zero = 0\n}\n");
        let Some(Act::Put { validate: Some(command), .. }) = change.steps.last().map(|step| &step.act) else {
            panic!()
        };
        assert!(command.contains("lvmconfig --validate") && command.contains("%s"));
    }

    /// The guide gives its keys without the section that LVM wants.
    #[test]
    fn a_key_without_its_section_is_refused_with_the_section() {
        let why = refusal::<LvmConf>(&host(), json!({ "settings": { "thin_pool_chunk_size": 4096 } }));
        assert!(
            why.contains("no section") && why.contains("write `allocation/thin_pool_chunk_size`"),
            "{why}"
        );
        let why =
            refusal::<LvmConf>(&host(), json!({ "settings": { "allocation/thin_pool_chunksize": 4096 } }));
        assert!(why.contains("did you mean `allocation/thin_pool_chunk_size`"), "{why}");
    }

    #[test]
    fn the_file_that_wins_is_told() {
        let host = host().file(LOCAL, "allocation { thin_pool_zero = 1 }\n").file(LVM, "");
        let args = json!({ "settings": { "allocation/thin_pool_zero": false }, "file": "lvm" });
        assert!(refusal::<LvmConf>(&host, args).contains("wins over"));
    }

    #[test]
    fn what_counts_is_proven() {
        let path = "allocation/thin_pool_zero";
        let args = json!({ "settings": { path: false } });
        let host = host().file(LOCAL, "allocation { thin_pool_zero = n }\n");
        let standing = |value: &str| {
            let host = host.clone().answer(counts(path), Seen::Output(Output::ok(value)));
            let change = planned::<LvmConf>(&host, args.clone());
            assert!(change.is_empty());
            change.evidence[0].standing.clone()
        };
        assert!(matches!(standing("thin_pool_zero=\"n\"\n"), Standing::Live { .. }));
        assert!(matches!(standing("thin_pool_zero=1\n"), Standing::Owed { .. }));
    }

    #[test]
    fn a_broken_file_is_left_alone() {
        let host = host().file(LOCAL, "allocation {\n");
        let why = refusal::<LvmConf>(&host, json!({ "settings": { "allocation/thin_pool_zero": false } }));
        assert!(why.contains("is not closed"), "{why}");
        assert!(refusal::<LvmConf>(&host, json!({ "settings": {} })).contains("which settings"));
    }
}
