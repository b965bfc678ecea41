//! `tunerun plan`: what a play would do, shown, and saved to be reviewed and applied.
use super::exit::Exit;
use super::options::{HostOptions, LinkOptions, user};
use super::play::Play;
use super::purpose::Purpose;
use super::term;
use clap::Args;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tunerun::engine::run::{HostError, HostRun};
use tunerun::engine::walk::Walked;
use tunerun::plan::{Options, Origin, Saved, to_text};
use tunerun::report::cost::Cost;
use tunerun::report::markdown::{LIMIT, markdown};
use tunerun::report::paint::Paint;
use tunerun::report::plan::{Sum, classes, fleet};

/// Plans a playbook for its hosts and shows the plan; changes nothing.
///
/// With --out the plan is saved: a file to be reviewed, then applied exactly as it is by `tunerun apply FILE`. Secrets
/// are not in it: a part that holds one stays open, as a part that is decided later does.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun plan site.yaml -i prod --diff                 what would change, as play --check
  tunerun plan site.yaml -i prod --out monday.plan      save it; then: tunerun apply monday.plan
  tunerun plan site.yaml -i prod --json                 for programs
  tunerun plan site.yaml -i prod --format markdown      as one comment of a code review
  tunerun plan site.yaml -i prod --detailed-exitcode    10 where something would change, else 0")]
pub struct Plan {
    /// The playbook
    pub playbook: PathBuf,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    /// Save the plan in this file
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Parts that are decided later may be decided while the plan is applied
    #[arg(long)]
    pub late: bool,
    /// Print the plan as JSON: short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// How the plan is printed: markdown is one comment for a code review, with what changes folded
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Show what changes line by line
    #[arg(short = 'D', long)]
    pub diff: bool,
    /// Only tasks with one of these tags
    #[arg(short, long, value_delimiter = ',')]
    pub tags: Vec<String>,
    /// No tasks with one of these tags
    #[arg(long, value_delimiter = ',')]
    pub skip_tags: Vec<String>,
    /// Begin at the task with this name
    #[arg(long, value_name = "NAME")]
    pub start_at_task: Option<String>,
    /// Run no commands while planning, not even those that only read
    #[arg(long)]
    pub no_probes: bool,
    /// End with code 10 where changes are planned
    #[arg(long)]
    pub detailed_exitcode: bool,
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people at a terminal or in a pipe.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For code reviews.
    Markdown,
}

/// Where a plan goes.
#[derive(Clone, Debug, Default)]
pub struct Saving {
    /// The file.
    pub out: Option<PathBuf>,
    /// Whether late parts may be decided while it is applied.
    pub late: bool,
    /// How it is printed.
    pub format: Format,
}

impl Plan {
    /// Runs it.
    pub fn run(self) -> Exit {
        let format = if self.json { Format::Json } else { self.format };
        if let Some(word) = self.hosts.extra.iter().find(|word| may_be_secret(word)) {
            let name = word.split('=').next().unwrap_or_default();
            if self.out.is_some() || format == Format::Json {
                term::wrong(
                    format!("-e {name}=… may be a secret, and a saved plan holds what -e says"),
                    Some(
                        "put it into a file, vaulted or not, and say -e @FILE: only the file's name is saved",
                    ),
                );
                return Exit::Wrong;
            }
        }
        let play = Play {
            playbook: self.playbook,
            hosts: self.hosts,
            links: self.links,
            diff: self.diff,
            tags: self.tags,
            skip_tags: self.skip_tags,
            start_at_task: self.start_at_task,
            no_probes: self.no_probes,
            detailed_exitcode: self.detailed_exitcode,
            purpose: Purpose::Save(Saving { out: self.out, late: self.late, format }),
            ..Play::default()
        };
        play.run()
    }
}

/// Whether the name of a variable on the command line says that its value is a secret.
pub(super) fn may_be_secret(word: &str) -> bool {
    const NAMES: [&str; 4] = ["pass", "secret", "token", "private_key"];
    let names = match word.trim_start().starts_with(['{', '[']) {
        true => word,
        false => word.split('=').next().unwrap_or_default(),
    };
    !word.starts_with('@') && NAMES.iter().any(|name| names.to_lowercase().contains(name))
}

/// Shows the plans, and saves them.
pub fn shown(
    play: &Play,
    saving: &Saving,
    planned: &[(HostRun, Walked)],
    unreachable: &[(String, HostError)],
    made_from: &[Origin],
) -> Exit {
    play.left_out(planned.len(), unreachable);
    let mut saved = saved(play, saving, planned, unreachable, made_from);
    let text = to_text(&mut saved);
    let plans = planned.iter().map(|(run, walked)| (run.state.name.as_str(), walked));
    match saving.format {
        Format::Json => term::data(&text),
        Format::Text => term::data(&fleet(plans, play.diff, term::paint())),
        Format::Markdown => {
            let command = play.command().replacen("tunerun play", "tunerun plan", 1);
            term::data(&markdown(
                &classes(plans.clone(), true, Paint::default()),
                &Cost::of(plans),
                &command,
                LIMIT,
            ));
        }
    }
    play.expected();
    if let Some(out) = &saving.out {
        if let Err(why) = write(out, &text) {
            term::wrong(
                format!("the plan cannot be saved in {}: {}", out.display(), term::io_words(&why)),
                None,
            );
            return Exit::Failed;
        }
        tell(&saved, saving, out);
    }
    let sums: Vec<Sum> = planned.iter().map(|(_, walked)| Sum::of(walked)).collect();
    play.looked(&sums, unreachable)
}

fn tell(saved: &Saved, saving: &Saving, out: &Path) {
    let file = super::options::typed(&out.display().to_string());
    term::say(&format!("saved as plan {}; next: tunerun apply {file}", &saved.id[..12.min(saved.id.len())]));
    let open = saved.open();
    if !open.is_empty() && !saving.late {
        term::say(
            "this plan has open parts, and apply will refuse it; plan with --late to let them be decided then:",
        );
        open.iter().for_each(|name| term::say(&format!("  {name}")));
    }
}

fn saved(
    play: &Play,
    saving: &Saving,
    planned: &[(HostRun, Walked)],
    unreachable: &[(String, HostError)],
    made_from: &[Origin],
) -> Saved {
    let mut saved = Saved {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        by: format!("{} on {}", user(), nix::unistd::gethostname().unwrap_or_default().to_string_lossy()),
        folder: std::env::current_dir().unwrap_or_default().display().to_string(),
        made_from: made_from.to_vec(),
        options: Options {
            playbook: play.playbook.display().to_string(),
            inventories: play.hosts.inventory.clone(),
            limit: play.hosts.limit.clone(),
            tags: play.tags.clone(),
            skip_tags: play.skip_tags.clone(),
            start_at_task: play.start_at_task.clone(),
            extra: play.hosts.extra.clone(),
            vault_password_files: play.hosts.vault_password_file.clone(),
            no_probes: play.no_probes,
            late: saving.late,
        },
        left_out: unreachable.iter().map(|(host, _)| host.clone()).collect(),
        ..Saved::default()
    };
    for (run, walked) in planned {
        saved.add(&run.state.name, walked);
    }
    saved
}

/// Written beside and renamed: nobody ever reads half a plan. Only its owner may read it.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::may_be_secret;

    #[test]
    fn names_that_tell_a_secret() {
        for word in ["ansible_become_password=x", "API_TOKEN=1", r#"{"db_pass": 1}"#] {
            assert!(may_be_secret(word), "{word}");
        }
        for word in ["@pass.yml", "pool=secret", "a=1"] {
            assert!(!may_be_secret(word), "{word}");
        }
    }
}
