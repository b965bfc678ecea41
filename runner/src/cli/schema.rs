//! `tunerun schema`: the JSON schema of playbooks.
use super::exit::Exit;
use super::term;
use clap::Args;

/// Prints the JSON schema of playbooks, with the arguments of all modules, for editors.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun schema > playbook.schema.json
  # yaml-language-server: $schema=playbook.schema.json     (the first line of a playbook)")]
pub struct Schema {}

impl Schema {
    /// Runs it.
    pub fn run(self) -> Exit {
        let schema = tunerun::report::schema::playbook();
        term::data(&serde_json::to_string_pretty(&schema).unwrap_or_default());
        Exit::Done
    }
}
