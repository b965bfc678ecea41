//! `command`: a program with arguments, without a shell.
use super::call::{Call, argv, input};
use crate::argument::{Names, yes};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// A program with arguments, without a shell.
///
/// It is run at the task's place, once, and its exit status is the evidence. `creates` and `removes` are looked at
/// while planning. What it changes is not known to the plan: it spoils what `spoils`, `creates` and `removes` name,
/// and nothing else. `probe: true` says that it only looks: then it is asked like any read.
///
/// Errors: a quote that is not closed, an empty command, both `cmd` and `argv`. Source: Ansible's module of that
/// name; shlex of Python for the quotes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// The command as one line; quotes as in a shell, but no variables, pipes or patterns.
    #[serde(default)]
    pub cmd: Option<String>,
    /// The command as words; either this or `cmd`.
    #[serde(default)]
    pub argv: Option<Vec<String>>,
    /// The folder to run in; else `/`.
    #[serde(default)]
    pub chdir: Option<String>,
    /// A path or pattern: where it is there, nothing is run.
    #[serde(default)]
    pub creates: Option<String>,
    /// A path or pattern: where it is not there, nothing is run.
    #[serde(default)]
    pub removes: Option<String>,
    /// What the program reads from its standard input.
    #[serde(default)]
    pub stdin: Option<String>,
    /// Whether a newline is added to `stdin` where it has none at its end.
    #[serde(default = "yes")]
    pub stdin_add_newline: bool,
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
    /// Taken as Ansible does; only `false` is how it works here: words are never expanded by the host.
    #[serde(default)]
    pub expand_argument_vars: bool,
}

impl Command {
    fn call(&self) -> Result<Call<'_>, Stop> {
        if self.expand_argument_vars {
            return Err(Stop::refused("expand_argument_vars", "variables of the host are not expanded here")
                .way_out("use `shell`, or a variable of the playbook"));
        }
        let words = argv(self.cmd.as_deref(), self.argv.as_deref())?;
        Ok(Call {
            row: "command",
            probe_row: "probe",
            shown: json!(words),
            words,
            stdin: input(self.stdin.as_deref(), self.stdin_add_newline),
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

impl Module for Command {
    const NAME: &'static str = "command";
    const EXAMPLE: &'static str = "\
- name: A machine id, where there is none
  command:
    argv: [systemd-machine-id-setup]
    creates: /etc/machine-id
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    const FREE_FORM: Option<&'static str> = Some("cmd");

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.call()?.plan(facts)
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new().file("/etc/machine-id", "1\n");
        let args = json!({ "cmd": "systemd-machine-id-setup", "creates": "/etc/machine-id" });
        vec![Sample { about: "what it makes is there", args, host, calls: Vec::new() }]
    }
}
