//! `script`: a script of the controller, run on the host.
use super::call::{Call, argv};
use crate::argument::{Names, yes};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// A script of the controller, run on the host.
///
/// It is run at the task's place, once, and its exit status is the evidence. `creates` and `removes` are looked at
/// while planning. What it changes is not known to the plan: it spoils what `spoils`, `creates` and `removes` name,
/// and nothing else. `probe: true` says that it only looks: then it is asked like any read.
///
/// Errors: a quote that is not closed, an empty command, both `cmd` and `argv`. Source: Ansible's module of that
/// name; shlex of Python for the quotes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The script's file on the controller and its arguments, as one line.
    pub cmd: String,
    /// The script's text: the runner puts it here.
    #[serde(default)]
    pub body: String,
    /// The program that runs it; else its own first line says so.
    #[serde(default)]
    pub executable: Option<String>,
    /// The folder to run in; else `/`.
    #[serde(default)]
    pub chdir: Option<String>,
    /// A path or pattern: where it is there, nothing is run.
    #[serde(default)]
    pub creates: Option<String>,
    /// A path or pattern: where it is not there, nothing is run.
    #[serde(default)]
    pub removes: Option<String>,
    /// Whether newlines at the ends of the answer are taken away.
    #[serde(default = "yes")]
    pub strip_empty_ends: bool,
    /// Variables added to the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What it may change besides `creates` and `removes`: absolute paths or patterns (all below them), `volatile`
    /// for every value of the kernel, or `all`. Later tasks that depend on these are decided after it ran.
    #[serde(default)]
    pub spoils: Names,
    /// Shell text that takes back what it did, safe to run twice. Without it there is no way back, and the plan
    /// says so.
    #[serde(default)]
    pub undo: Option<String>,
    /// It only looks: it may run while planning, and changes nothing.
    #[serde(default)]
    pub probe: bool,
}

impl Script {
    fn call(&self) -> Result<Call<'_>, Stop> {
        let words = argv(Some(&self.cmd), None)?;
        if self.body.is_empty() {
            return Err(Stop::refused("cmd", format!("the script {} is empty", words[0])));
        }
        let mut row = vec![self.executable.clone().unwrap_or_default()];
        row.extend(words.into_iter().skip(1));
        Ok(Call {
            row: "script",
            probe_row: "probe-script",
            shown: json!(self.cmd),
            words: row,
            stdin: Some(self.body.clone()),
            chdir: self.chdir.as_deref(),
            creates: self.creates.as_deref(),
            removes: self.removes.as_deref(),
            env: &self.env,
            spoils: &self.spoils,
            undo: self.undo.as_deref(),
            probe: self.probe,
            strip: self.strip_empty_ends,
        })
    }
}

impl Module for Script {
    const NAME: &'static str = "script";
    const EXAMPLE: &'static str = "\
- name: Tune the firmware once
  script:
    cmd: files/tune.sh --all
    creates: /var/lib/tuned-once
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    const FREE_FORM: Option<&'static str> = Some("cmd");

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.call()?.plan(facts)
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new().file("/var/lib/tuned-once", "");
        let args = json!({ "cmd": "tune.sh", "body": "#!/bin/sh\n", "creates": "/var/lib/tuned-once" });
        vec![Sample { about: "what it makes is there", args, host, calls: Vec::new() }]
    }
}
