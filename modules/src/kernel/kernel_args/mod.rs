//! Kernel arguments: what stands on the command line, who wrote it there, and how to change it for good.
//!
//! The line is an ordered multiset of arguments. What a task does not name stays, byte for byte, where it stands; a
//! value is replaced in its place; each edit is read back by the same reader before it is planned.

pub mod amend;
pub(crate) mod declared;
pub mod environment_block;
pub mod grub;
pub mod layout;
pub mod line;
pub mod lints;
pub mod memparse;
pub mod plain;
mod planning;
pub mod pools;
mod samples;
mod seeing;
pub mod shell;
pub mod standing;
pub mod table;
pub mod token;
pub mod try_boot;
pub mod wishes;
mod writing;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Stop};
use grub::Variable;
use wishes::{Fault, Said};

/// Arguments of the kernel's command line, for the next boot and all after it. Felt at a reboot, which it never does
/// by itself: `register` holds `reboot_needed`, true only where what counts on the running line differs.
///
/// Huge pages that, with OSDs, guests and a reserve, want more than the host's memory need `accept_risk: {memory: …}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelArgs {
    /// Arguments that shall count at boot. A mapping (`init_on_alloc: 0`; a flag has `null` or `true`; YAML's `off`
    /// and `no` become `off`), a list, or a line as the kernel has it (`hugepagesz=1G hugepages=64`). A value is
    /// replaced where it stands. `hugepagesz` and the `hugepages` behind it are one pool.
    #[serde(default, skip_serializing_if = "Args::is_empty")]
    pub args: Args,
    /// Arguments to have besides others of the same name, for names that may repeat (`console`, `rd.lvm.lv` …).
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub add: Words,
    /// Arguments to have instead of all others of the same name, in this order.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub replace: Words,
    /// Names, or whole arguments, that shall not be there: `quiet`, `console=ttyS0`.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub absent: Words,
    /// Arguments that shall be the last of their name: the last `console` is `/dev/console`.
    #[serde(default, skip_serializing_if = "Words::is_empty")]
    pub last: Words,
    /// Where new arguments go on hosts with GRUB's shell files.
    #[serde(default)]
    pub variable: Variable,
    /// Whether repeats without effect and replaced assignments are taken out.
    #[serde(default)]
    pub tidy: bool,
}

/// Arguments as a mapping, a list or a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Args {
    /// Names and values.
    Map(Map<String, Json>),
    /// Arguments one by one, or as lines.
    Words(Words),
}

impl Default for Args {
    fn default() -> Self {
        Self::Map(Map::new())
    }
}

impl Args {
    fn is_empty(&self) -> bool {
        match self {
            Self::Map(map) => map.is_empty(),
            Self::Words(words) => words.is_empty(),
        }
    }
}

/// Arguments in a list, or as one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    /// One by one.
    List(Vec<String>),
    /// As a line.
    Line(String),
}

impl Default for Words {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Words {
    fn is_empty(&self) -> bool {
        match self {
            Self::List(list) => list.is_empty(),
            Self::Line(line) => line.trim().is_empty(),
        }
    }

    fn read(&self, argument: &'static str, faults: &mut Vec<Fault>) -> Vec<token::Token> {
        let (tokens, more) = match self {
            Self::List(list) => wishes::tokens(argument, list),
            Self::Line(line) => wishes::tokens(argument, std::slice::from_ref(line)),
        };
        faults.extend(more);
        tokens
    }
}

impl KernelArgs {
    /// What the task says, all faults of it at once.
    fn said(&self) -> Result<Said, Vec<Fault>> {
        let mut faults = Vec::new();
        let args = match &self.args {
            Args::Map(map) => {
                let (tokens, more) = wishes::mapped(map);
                faults.extend(more);
                tokens
            }
            Args::Words(words) => words.read("args", &mut faults),
        };
        let said = Said {
            args,
            add: self.add.read("add", &mut faults),
            replace: self.replace.read("replace", &mut faults),
            absent: self.absent.read("absent", &mut faults),
            last: self.last.read("last", &mut faults),
            tidy: self.tidy,
        };
        if faults.is_empty() { Ok(said) } else { Err(faults) }
    }
}

impl Module for KernelArgs {
    const NAME: &'static str = "kernel_args";
    const EXAMPLE: &'static str = "\
- name: Isolate the interrupt CPUs and reserve huge pages
  kernel_args:
    args:
      isolcpus: managed_irq,domain,2-15
      nohz_full: 2-15
      rcu_nocbs: 2-15
      init_on_alloc: 0
      default_hugepagesz: 1G
      hugepagesz: 1G
      hugepages: 64
    absent: [quiet]
";
    const FREE_FORM: Option<&'static str> = Some("args");

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        planning::plan(self, facts)
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}
