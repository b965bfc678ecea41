//! `tunerun apply`: exactly what was reviewed, or nothing.
use super::exit::Exit;
use super::options::{HostOptions, LinkOptions};
use super::play::Play;
use super::purpose::{Plans, Purpose};
use super::screen::Telling;
use super::sign::approved;
use super::term;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use tunerun::diagnostic::Diagnostic;
use tunerun::engine::run::HostError;
use tunerun::engine::walk::Scene;
use tunerun::journal::HostEnd;
use tunerun::plan::approval::Approval;
use tunerun::plan::{Difference, Origin, Saved, differences, parse};
use tunerun::report::plan::{Sum, fleet};

/// Applies a saved plan exactly as it was reviewed.
///
/// All hosts are looked at again. Where the facts that a step rests on have moved, that host is refused, with what
/// differs; the others go on. Playbook, inventory and variables that changed since are named.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun plan site.yaml -i prod --out monday.plan    plan and save
  tunerun apply monday.plan                           show, ask, apply, prove
  tunerun apply monday.plan --check                   does the plan still fit? changes nothing
  tunerun apply monday.plan --yes                     without the question, for CI
  tunerun apply monday.plan --require-approval approvers --yes
                                                      only what one of them has signed: see `tunerun sign --help`")]
pub struct Apply {
    /// The saved plan
    pub file: PathBuf,
    /// Refuse a plan that nobody has signed whom this file names: lines `NAME ssh-ed25519 AAAA…`
    #[arg(long, value_name = "FILE")]
    pub require_approval: Option<PathBuf>,
    /// So many of them must have signed
    #[arg(long, value_name = "N", default_value_t = 1, requires = "require_approval")]
    pub approvals: usize,
    /// Only compare; change nothing
    #[arg(short = 'C', long)]
    pub check: bool,
    /// Show what changes line by line
    #[arg(short = 'D', long)]
    pub diff: bool,
    /// Apply without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Go on though some hosts cannot be reached now
    #[arg(long)]
    pub allow_partial: bool,
    /// Go on on hosts where this earlier run was left open
    #[arg(long, value_name = "RUN")]
    pub over: Vec<String>,
    /// File that holds the vault's password, `LABEL@FILE` for one label; a program is run
    #[arg(long, value_name = "FILE")]
    pub vault_password_file: Vec<String>,
    /// Ask for the vault's password
    #[arg(long)]
    pub ask_vault_pass: bool,
    #[command(flatten)]
    pub links: LinkOptions,
    #[command(flatten)]
    pub telling: Telling,
}

impl Apply {
    /// Runs it.
    pub fn run(self) -> Exit {
        let name = self.file.display().to_string();
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(why) => {
                term::wrong(
                    format!("the plan {name} cannot be read: {}", term::io_words(&why)),
                    Some("make one by `tunerun plan PLAYBOOK -i INVENTORY --out FILE`"),
                );
                return Exit::Wrong;
            }
        };
        let saved = match parse(&name, &text) {
            Ok(saved) => saved,
            Err(problem) => {
                term::problems_only(&[*problem]);
                return Exit::Wrong;
            }
        };
        let approvals = match &self.require_approval {
            Some(approvers) => match approved(&self.file, &text, approvers, self.approvals.max(1)) {
                Ok(approvals) => approvals,
                Err(exit) => return exit,
            },
            None => Vec::new(),
        };
        let open = saved.open();
        if !open.is_empty() && !saved.options.late {
            let mut problem = Diagnostic::error("this plan has parts that are not decided", None)
                .help("plan again with --late to let them be decided while it is applied");
            problem.notes = open;
            term::problems_only(&[problem]);
            return Exit::Wrong;
        }
        self.play(saved, name, approvals)
    }

    fn play(self, saved: Saved, name: String, approvals: Vec<Approval>) -> Exit {
        // Names in the plan are seen from where it was made; those on this command line from here.
        let here = std::env::current_dir().unwrap_or_default();
        let mut vault =
            HostOptions { vault_password_file: self.vault_password_file, ..HostOptions::default() };
        vault.stay_here(&here);
        let vault = vault.vault_password_file;
        let mut links = self.links;
        links.runs = links.runs.map(|runs| here.join(runs));
        if !saved.folder.is_empty() && here != std::path::Path::new(&saved.folder) {
            if let Err(why) = std::env::set_current_dir(&saved.folder) {
                term::wrong(
                    format!("the plan was made in {}, which cannot be entered: {why}", saved.folder),
                    Some("plan again"),
                );
                return Exit::Wrong;
            }
            term::say(&format!("working in {}, where the plan was made", saved.folder));
        }
        let options = saved.options.clone();
        let play = Play {
            playbook: PathBuf::from(options.playbook),
            hosts: HostOptions {
                inventory: options.inventories,
                limit: options.limit,
                extra: options.extra,
                vault_password_file: options.vault_password_files.into_iter().chain(vault).collect(),
                ask_vault_pass: self.ask_vault_pass,
                vault_pass: None,
            },
            links,
            telling: self.telling,
            check: self.check,
            diff: self.diff,
            yes: self.yes,
            tags: options.tags,
            skip_tags: options.skip_tags,
            start_at_task: options.start_at_task,
            no_probes: options.no_probes,
            allow_partial: self.allow_partial,
            over: self.over,
            purpose: Purpose::Apply(Arc::new(saved), name),
            decided: approvals
                .into_iter()
                .map(|Approval { by, key }| (format!("the plan is approved: signed with {key}"), by))
                .collect(),
            ..Play::default()
        };
        play.run()
    }
}

/// Compares the fresh plans with what was reviewed, shows and asks.
pub fn judged(
    play: &Play,
    scene: &Scene,
    saved: &Arc<Saved>,
    mut planned: Plans,
    unreachable: &[(String, HostError)],
    made_from: &[Origin],
) -> Result<Plans, Exit> {
    for line in saved.moved(made_from) {
        term::say(&format!("since the plan was made: {line}"));
    }
    let known = |host: &str| planned.iter().any(|(run, _)| run.state.name == host);
    let gone: Vec<&str> = saved
        .hosts
        .keys()
        .map(String::as_str)
        .filter(|host| !known(host) && !unreachable.iter().any(|(name, _)| name == host))
        .collect();
    for host in &gone {
        term::wrong(
            format!("{host} is in the plan, and its plays do not name it any more"),
            Some("plan again"),
        );
    }
    let mut stale = gone.len();
    for (run, walked) in &mut planned {
        if !saved.hosts.contains_key(&run.state.name) {
            term::say(&format!("{} is not in the plan, and is left as it is", run.state.name));
            run.refused = Some(HostEnd::Skipped);
            continue;
        }
        let found = differences(saved, &run.state.name, walked);
        if !found.is_empty() {
            term::problems_only(&[refused(&run.state.name, &found)]);
            run.refused = Some(HostEnd::Stale);
            stale += 1;
        }
    }
    if stale > 0 {
        term::say(&format!(
            "{stale} of {} hosts {} refused: what was planned no longer fits",
            saved.hosts.len(),
            if stale == 1 { "is" } else { "are" }
        ));
    }
    if planned.iter().all(|(run, _)| run.refused.is_some()) && unreachable.is_empty() {
        term::say("nothing was changed");
        return Err(Exit::Stale);
    }
    if play.check {
        play.left_out(planned.len(), unreachable);
        let plans = planned.iter().filter(|(run, _)| run.refused.is_none());
        let sums: Vec<Sum> = plans.clone().map(|(_, walked)| Sum::of(walked)).collect();
        term::data(&fleet(
            plans.map(|(run, walked)| (run.state.name.as_str(), walked)),
            play.diff,
            term::paint(),
        ));
        let exit = play.looked(&sums, unreachable);
        return Err(if stale > 0 { Exit::Stale } else { exit });
    }
    let (fitting, rest): (Plans, Plans) = planned.into_iter().partition(|(run, _)| run.refused.is_none());
    if let Some(exit) = play.shown(scene, &fitting, unreachable) {
        return Err(exit);
    }
    Ok(fitting.into_iter().chain(rest).collect())
}

/// A host that is not as it was, with what differs.
pub fn refused(host: &str, found: &[Difference]) -> Diagnostic {
    let mut problem = Diagnostic::error(format!("{host} is not as it was when the plan was made"), None)
        .help("plan again, review, apply; nothing is changed on this host");
    for difference in found {
        let mut note = format!("`{}` {}", difference.title, difference.words);
        difference.lines.iter().for_each(|line| note.push_str(&format!("\n  {line}")));
        problem.notes.push(note);
    }
    problem
}
