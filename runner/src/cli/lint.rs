//! `tunerun lint`: all that can be told of a playbook without a host.
use super::exit::Exit;
use super::gather;
use super::term;
use clap::Args;
use std::path::PathBuf;
use tunerun::diagnostic::{Problems, Severity};
use tunerun::playbook::lints::told;
use tunerun::report::sarif::sarif;

/// Checks playbooks without contacting a host: YAML, keywords, modules, arguments, roles, templates, conditions.
///
/// Ends with 2 where a playbook has errors, with 0 where it has none or only warnings.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun lint site.yaml
  tunerun lint *.yaml
  tunerun lint site.yaml --format sarif > lint.sarif     for a code host")]
pub struct Lint {
    /// The playbooks
    #[arg(required = true)]
    pub playbooks: Vec<PathBuf>,
    /// How problems are printed: sarif is for code hosts, on standard output
    #[arg(long, value_enum, default_value_t = LintFormat::Text)]
    pub format: LintFormat,
}

/// How problems are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LintFormat {
    /// For people.
    #[default]
    Text,
    /// Static Analysis Results Interchange Format 2.1.0.
    Sarif,
}

impl Lint {
    /// Runs it.
    pub fn run(self) -> Exit {
        let mut all = Problems::new();
        for path in &self.playbooks {
            all.append(&mut told(&gather::loader(), &path.display().to_string()));
        }
        match self.format {
            LintFormat::Text => term::problems(&all),
            LintFormat::Sarif => term::data(&sarif(&all)),
        }
        if all.iter().any(|problem| problem.severity == Severity::Error) {
            return Exit::Wrong;
        }
        if all.is_empty() && self.format == LintFormat::Text {
            let count = self.playbooks.len();
            term::say(&format!(
                "{count} {}: nothing to say",
                if count == 1 { "playbook" } else { "playbooks" }
            ));
        }
        Exit::Done
    }
}
