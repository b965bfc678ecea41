//! `tunerun lint`: all that can be told of a playbook without a host.
use super::exit::Exit;
use super::gather;
use super::load::templates;
use super::term;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use tunerun::diagnostic::{Diagnostic, Problems, Severity};
use tunerun::playbook::Playbook;
use tunerun::playbook::lints::lints;
use tunerun::report::sarif::sarif;
use tunerun::source::Source;

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
            let loader = gather::loader();
            let (playbook, mut problems) = loader.look(&path.display().to_string());
            let mut folders = vec![gather::folder(path)];
            let roles = playbook.plays.iter().flat_map(|play| &play.roles);
            folders.extend(roles.map(|role| PathBuf::from(&role.path)));
            problems.extend(gather::template_problems(&templates(folders), &playbook));
            let told: Vec<_> = problems.iter().filter_map(line).collect();
            // What was not understood is not judged: the rest of its line was told already.
            problems.extend(lints(&playbook).into_iter().filter(|lint| {
                lint.severity == Severity::Warning || line(lint).is_none_or(|at| !told.contains(&at))
            }));
            sorted(&mut problems, &playbook);
            all.append(&mut problems);
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

/// The file and line of a problem.
fn line(problem: &Diagnostic) -> Option<(*const Source, usize)> {
    let span = problem.span.as_ref()?;
    Some((Arc::as_ptr(&span.source), span.line_column().0))
}

/// By file in the order in which they were read, then by place.
fn sorted(problems: &mut Problems, playbook: &Playbook) {
    let file = |problem: &Diagnostic| {
        let span = problem.span.as_ref()?;
        let at = playbook.sources.iter().position(|source| Arc::ptr_eq(source, &span.source));
        Some((at.unwrap_or(usize::MAX), span.start))
    };
    problems.sort_by_key(file);
}
