//! `tunerun schema`: the JSON schemas of playbooks, inventories and plans.
use super::exit::Exit;
use super::term;
use clap::Args;
use tunerun::report::schema;

/// Prints a JSON schema: of playbooks with the arguments of all modules, of inventories, or of plans.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun schema > playbook.schema.json
  # yaml-language-server: $schema=playbook.schema.json     (the first line of a playbook)
  tunerun schema inventory > inventory.schema.json
  tunerun schema plan                                     what `plan --format json` prints")]
pub struct Schema {
    /// Of what
    #[arg(value_enum, default_value_t = Of::Playbook)]
    pub of: Of,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Of {
    /// Plays, tasks and all modules.
    Playbook,
    /// Groups and hosts in the YAML form.
    Inventory,
    /// Plans as JSON.
    Plan,
}

impl Schema {
    /// Runs it.
    pub fn run(self) -> Exit {
        let schema = match self.of {
            Of::Playbook => schema::playbook(),
            Of::Inventory => schema::inventory(),
            Of::Plan => schema::plan(),
        };
        term::data(&serde_json::to_string_pretty(&schema).unwrap_or_default());
        Exit::Done
    }
}
