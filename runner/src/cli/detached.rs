//! Runs that go on without a terminal: planned and agreed to here, applied by a process of its own, looked at again by
//! `tunerun attach`.
use super::exit::Exit;
use super::options::LinkOptions;
use super::plan::{Saving, may_be_secret};
use super::play::Play;
use super::purpose::Purpose;
use super::term;
use clap::Args;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tunerun::journal::{Record, Store};

/// What tells a process that it is to leave its terminal.
const DETACHED: &str = "TUNERUN_DETACHED";

/// What a detached run says, in its folder.
const OUTPUT: &str = "output.log";

/// The process that carries a detached run out, in its folder.
const CONTROLLER: &str = "controller.pid";

/// How often a file that grows is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Leaves the terminal where a detached run asks for it: what ends the session of whoever started it does not end it.
pub fn leave_terminal() {
    if std::env::var_os(DETACHED).is_some() {
        // It fails for the leader of a group alone, which a process that was just started is not.
        let _ = nix::unistd::setsid();
    }
}

impl Play {
    /// Plans and asks here, then lets another process apply what was agreed to.
    pub(super) fn detached(self) -> Exit {
        if self.links.ask_pass || self.links.ask_become_pass || self.hosts.ask_vault_pass {
            let help = "use keys, an agent that stays, `--vault-password-file`, or sudo without a password";
            term::wrong("a run without a terminal cannot be asked for passwords", Some(help));
            return Exit::Wrong;
        }
        if self.step || self.hosts.extra.iter().any(|word| may_be_secret(word)) {
            let help = "leave --step away, and put secrets into a file: -e @FILE";
            term::wrong(
                "a run without a terminal asks nothing, and is handed over as a saved plan",
                Some(help),
            );
            return Exit::Wrong;
        }
        if !self.yes && !term::can_ask() {
            term::wrong(
                "nobody can be asked whether to apply the plan",
                Some("add --yes to apply without asking"),
            );
            return Exit::Declined;
        }
        let folder = self.links.runs().join("detached");
        let name = format!("{}-{:08x}", std::process::id(), rand::random::<u32>());
        let (plan, output) = (folder.join(format!("{name}.plan")), folder.join(format!("{name}.log")));
        if let Err(why) = std::fs::create_dir_all(&folder) {
            term::wrong(format!("{} cannot be made: {}", folder.display(), term::io_words(&why)), None);
            return Exit::Failed;
        }
        let exit = self.handed_over(&plan, &output);
        // Whatever became of it: what a run has taken is in its own folder by now.
        let _ = std::fs::remove_file(&plan);
        let _ = std::fs::remove_file(&output);
        exit
    }

    fn handed_over(self, plan: &Path, output: &Path) -> Exit {
        let (yes, links, over) = (self.yes, self.links.clone(), self.over.clone());
        let partial = self.allow_partial;
        let vault = self.hosts.vault_password_file.clone();
        let saving = Saving { out: Some(plan.to_owned()), late: true, ..Saving::default() };
        let planned = Self { purpose: Purpose::Save(saving), ..self }.run();
        if planned != Exit::Done {
            return planned;
        }
        if !yes && !term::ask("Apply this?") {
            term::say("nothing was changed");
            return Exit::Declined;
        }
        let mut words = vec!["apply".to_owned(), plan.display().to_string(), "--yes".to_owned()];
        words.extend(["--forks".to_owned(), links.forks.to_string()]);
        words.extend(["--runs".to_owned(), absolute(&links.runs()).display().to_string()]);
        words.extend(over.iter().flat_map(|run| ["--over".to_owned(), run.clone()]));
        words.extend(vault.iter().flat_map(|file| ["--vault-password-file".to_owned(), file.clone()]));
        words.extend(partial.then(|| "--allow-partial".to_owned()));
        match started(&words, output) {
            Ok(child) => announced(child, &Store::new(links.runs()), plan, output),
            Err(why) => {
                term::wrong(format!("the run cannot be started: {}", term::io_words(&why)), None);
                Exit::Failed
            }
        }
    }
}

/// Where a run says what it has to say once its terminal is gone: `tunerun attach` looks there.
pub(super) fn output(folder: &Path) -> std::io::Result<std::fs::File> {
    // Whoever finds the output finds who writes it.
    std::fs::write(folder.join(CONTROLLER), std::process::id().to_string())?;
    std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join(OUTPUT))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn started(words: &[String], output: &Path) -> std::io::Result<Child> {
    let log = std::fs::OpenOptions::new().create_new(true).append(true).mode(0o600).open(output)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).env(DETACHED, "1").stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    command.spawn()
}

/// Waits until the run has a name, and leaves it alone. Where it ends before, what it said is shown.
fn announced(mut child: Child, store: &Store, plan: &Path, output: &Path) -> Exit {
    loop {
        let said = std::fs::read_to_string(output).unwrap_or_default();
        if let Some(run) = said.lines().find_map(|line| line.strip_prefix("run ")) {
            let Some(folder) = store.path(run).ok().and_then(|path| path.parent().map(Path::to_owned)) else {
                term::wrong(format!("run {run} has no journal"), None);
                return Exit::Failed;
            };
            // The process goes on writing: a file keeps its writers when it gets another name.
            let moved = std::fs::rename(output, folder.join(OUTPUT))
                .and_then(|()| std::fs::rename(plan, folder.join("applied.plan")))
                .and_then(|()| std::fs::write(folder.join(CONTROLLER), child.id().to_string()));
            if let Err(why) = moved {
                term::wrong(format!("what run {run} says cannot be kept: {}", term::io_words(&why)), None);
            }
            term::say(&format!("run {run} goes on by itself; to look at it"));
            term::data(&format!("tunerun attach {run}"));
            return Exit::Done;
        }
        match child.try_wait() {
            Ok(None) => std::thread::sleep(LOOK),
            Ok(Some(status)) => {
                term::say(&std::fs::read_to_string(output).unwrap_or_default());
                return status.code().and_then(Exit::of).unwrap_or(Exit::Failed);
            }
            Err(why) => {
                term::wrong(format!("the run cannot be watched: {why}"), None);
                return Exit::Failed;
            }
        }
    }
}

/// Shows what a run says that was started by `play --detach`, from its beginning, and follows it to its end.
///
/// Ends with the run's own exit code. Ctrl-C ends the looking, not the run. A run that waits for a person is answered by
/// `tunerun approve RUN`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun play site.yaml -i prod --yes --detach     plan, and let it go on by itself
  tunerun attach last                               look at it, from any terminal")]
pub struct Attach {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    #[command(flatten)]
    pub links: LinkOptions,
}

impl Attach {
    /// Runs it.
    pub fn run(self) -> Exit {
        let store = Store::new(self.links.runs());
        let folder = match store.path(&self.run) {
            Ok(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
            Err(why) => {
                term::wrong(why.to_string(), Some("`tunerun runs` lists them"));
                return Exit::Wrong;
            }
        };
        let Ok(mut output) = std::fs::File::open(folder.join(OUTPUT)) else {
            let help = "`tunerun show RUN` tells what it did";
            term::wrong(
                format!("run {} has a terminal of its own: it was not started by `play --detach`", self.run),
                Some(help),
            );
            return Exit::Wrong;
        };
        let mut at = 0;
        loop {
            // Looked at before its last words are read: none of them is missed.
            let ended = ended(&store, &self.run);
            let lives = lives(&folder);
            at = shown(&mut output, at);
            if let Some(exit) = ended.filter(|_| !lives) {
                return exit;
            }
            if !lives {
                let help =
                    format!("`tunerun resume {0}` goes on, `tunerun undo {0}` takes it back", self.run);
                term::wrong("whoever carried the run out is gone", Some(&help));
                return Exit::Failed;
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// Shows what was added since. Gives where it ends now.
fn shown(output: &mut std::fs::File, at: u64) -> u64 {
    let mut more = Vec::new();
    if output.seek(SeekFrom::Start(at)).is_err() || output.read_to_end(&mut more).is_err() {
        return at;
    }
    let _ = std::io::stdout().lock().write_all(&more);
    let _ = std::io::stdout().lock().flush();
    at + more.len() as u64
}

/// How the run ended, if it did.
fn ended(store: &Store, run: &str) -> Option<Exit> {
    let journaled = store.read(run).ok()?;
    journaled.entries.iter().rev().find_map(|entry| match &entry.record {
        Record::Ended { exit } => Exit::of(i32::from(*exit)),
        _ => None,
    })
}

/// Whether the process that carries it out is still there; a process of another program is not it.
fn lives(folder: &Path) -> bool {
    let Ok(pid) = std::fs::read_to_string(folder.join(CONTROLLER)) else { return false };
    let line = std::fs::read(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
    let verbs: [&[u8]; 4] = [b"apply", b"play", b"resume", b"ladder"];
    line.split(|byte| *byte == 0).any(|word| verbs.contains(&word))
}
