//! What a module is: typed arguments, the reads they need, and the change they ask for.
use crate::host::Host;
use crate::vocabulary::{Change, Facts, Read, Row, Seen, Stop, missing};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// What a task of a module acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A host.
    Host,
    /// A guest.
    Guest,
    /// A cluster.
    Cluster,
}

/// A module *is* its typed arguments. It never touches a host: it names what must be read, and turns what was
/// seen into a change made of data.
pub trait Module: Serialize + DeserializeOwned + JsonSchema + 'static {
    /// The name in playbooks.
    const NAME: &'static str;
    /// What its tasks act on.
    const SCOPE: Scope = Scope::Host;
    /// A task that uses it, as YAML; shown in the documentation and run by the contract suite.
    const EXAMPLE: &'static str;
    /// Other names of arguments: (other name, name).
    const ALIASES: &'static [(&'static str, &'static str)] = &[];
    /// The argument that a single word or line of text stands for, if one does.
    const FREE_FORM: Option<&'static str> = None;

    /// What this very task acts on, where its arguments decide it.
    fn scope(&self) -> Scope {
        Self::SCOPE
    }

    /// What must be looked at; asked again until nothing new is named. What the plan misses, so that it is planned
    /// with all that was read and nothing else: a plan asks early, by [`Facts::need`], for what can share a round.
    fn reads(&self, seen: &Facts) -> Vec<Read> {
        missing(self.plan(seen))
    }

    /// The change, from facts alone.
    ///
    /// # Errors
    /// [`Stop`]: unread, late, or refused with the argument, the reason and the way out.
    fn plan(&self, facts: &Facts) -> Result<Change, Stop>;

    /// Hosts and arguments on which the contract suite tries it, besides the example.
    fn samples() -> Vec<Sample> {
        Vec::new()
    }
}

/// One trial of the contract suite.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What is tried, one line.
    pub about: &'static str,
    /// The arguments.
    pub args: Json,
    /// The host before.
    pub host: Host,
    /// What calls of programs leave: after the row, these reads have these answers.
    pub calls: Vec<(Row, Vec<(Read, Seen)>)>,
}

/// Arguments of some module, ready to be planned.
pub trait Planner: Send + Sync {
    /// As [`Module::scope`].
    fn scope(&self) -> Scope;
    /// As [`Module::reads`].
    fn reads(&self, seen: &Facts) -> Vec<Read>;
    /// As [`Module::plan`].
    ///
    /// # Errors
    /// As [`Module::plan`].
    fn plan(&self, facts: &Facts) -> Result<Change, Stop>;
}

impl<M: Module + Send + Sync> Planner for M {
    fn scope(&self) -> Scope {
        Module::scope(self)
    }
    fn reads(&self, seen: &Facts) -> Vec<Read> {
        Module::reads(self, seen)
    }
    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        Module::plan(self, facts)
    }
}

/// A module in the list of all.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name in playbooks.
    pub name: &'static str,
    /// What its tasks act on.
    pub scope: Scope,
    /// A task that uses it.
    pub example: &'static str,
    /// Other names of arguments: (other name, name).
    pub aliases: &'static [(&'static str, &'static str)],
    /// The argument that free text stands for.
    pub free_form: Option<&'static str>,
    /// The JSON schema of its arguments, with their documentation.
    pub schema: fn() -> Json,
    /// Arguments that fit the schema, made into a planner.
    pub parse: fn(Json) -> Result<Box<dyn Planner>, serde_json::Error>,
    /// Trials of the contract suite.
    pub samples: fn() -> Vec<Sample>,
}

impl Entry {
    /// The entry of a module.
    pub const fn of<M: Module + Send + Sync>() -> Self {
        Self {
            name: M::NAME,
            scope: M::SCOPE,
            example: M::EXAMPLE,
            aliases: M::ALIASES,
            free_form: M::FREE_FORM,
            schema: || schemars::schema_for!(M).to_value(),
            parse: |args| Ok(Box::new(serde_json::from_value::<M>(args)?)),
            samples: M::samples,
        }
    }
}

/// The module with a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    crate::ALL.iter().find(|entry| entry.name == name)
}
