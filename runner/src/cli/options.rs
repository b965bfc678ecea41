//! Options that several subcommands share.
use super::term;
use clap::Args;
use std::path::{Path, PathBuf};
use tunerun::transport::Secret;

/// Whom a command without a playbook is about, and how they are reached.
#[derive(Args, Clone, Debug)]
pub struct Whom {
    /// The hosts: names, groups, patterns such as `osds:!osd3`
    pub pattern: String,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
}

/// Which hosts, and with which variables.
#[derive(Args, Clone, Debug, Default)]
pub struct HostOptions {
    /// Inventory: a name in inventories/, a path, a folder, `host,` lists, or a program; may be given several times
    #[arg(short, long = "inventory", value_name = "INVENTORY")]
    pub inventory: Vec<String>,
    /// Only these hosts: a pattern, or `@FILE` with one host a line
    #[arg(short, long, value_name = "PATTERN")]
    pub limit: Option<String>,
    /// Variables that outrank all others: `k=v`, JSON, or `@FILE`
    #[arg(short, long = "extra-vars", value_name = "VARS")]
    pub extra: Vec<String>,
    /// File that holds the vault's password, `LABEL@FILE` for one label; a program is run
    #[arg(long, value_name = "FILE")]
    pub vault_password_file: Vec<String>,
    /// Ask for the vault's password
    #[arg(long)]
    pub ask_vault_pass: bool,
    /// The vault's password, where it was asked for already.
    #[arg(skip)]
    pub vault_pass: Option<Secret>,
}

/// How hosts are reached.
#[derive(Args, Clone, Debug, Default)]
pub struct LinkOptions {
    /// Ask for the password that sudo, su or doas want
    #[arg(short = 'K', long)]
    pub ask_become_pass: bool,
    /// Ask for the password of the connection
    #[arg(short = 'k', long)]
    pub ask_pass: bool,
    /// At most so many hosts at once
    #[arg(short, long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    pub forks: u16,
    /// Folder of the run journals [default: $XDG_STATE_HOME/tunerun/runs]
    #[arg(long, value_name = "DIR", env = "TUNERUN_RUNS", hide_env_values = true)]
    pub runs: Option<PathBuf>,
    /// Passwords that were asked for already: of the connection, and to become another user.
    #[arg(skip)]
    pub known: (Option<Secret>, Option<Secret>),
}

impl HostOptions {
    /// Names on the command line are seen from here, wherever the work goes on.
    pub fn stay_here(&mut self, here: &Path) {
        let there = |text: &str| here.join(text).exists().then(|| here.join(text).display().to_string());
        for text in &mut self.inventory {
            *text = there(text).unwrap_or_else(|| text.clone());
        }
        for text in &mut self.extra {
            *text = match text.strip_prefix('@') {
                Some(path) => format!("@{}", here.join(path).display()),
                None => text.clone(),
            };
        }
        for text in &mut self.vault_password_file {
            *text = match text.split_once('@') {
                Some((label, path)) => format!("{label}@{}", here.join(path).display()),
                None => here.join(&text).display().to_string(),
            };
        }
    }

    /// Asks for what is to be asked for, once.
    pub fn ask(&mut self) {
        if self.ask_vault_pass && self.vault_pass.is_none() {
            self.vault_pass = term::ask_secret("Vault password").map(Secret::new);
        }
    }
}

impl LinkOptions {
    /// Asks for what is to be asked for, once. Gives the passwords of the connection and to become another user.
    pub fn ask(&mut self) -> (Option<Secret>, Option<Secret>) {
        if self.ask_pass && self.known.0.is_none() {
            self.known.0 = term::ask_secret("SSH password").map(Secret::new);
        }
        if self.ask_become_pass && self.known.1.is_none() {
            self.known.1 = term::ask_secret("BECOME password").map(Secret::new);
        }
        self.known.clone()
    }

    /// The folder of the run journals.
    pub fn runs(&self) -> PathBuf {
        runs_folder(self.runs.as_ref())
    }
}

/// The folder of the run journals: as said, or the user's state folder.
pub fn runs_folder(said: Option<&PathBuf>) -> PathBuf {
    if let Some(said) = said {
        return said.clone();
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    state.unwrap_or_else(|| home().join(".local/state")).join("tunerun/runs")
}

/// The user's home folder.
pub fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/root"), PathBuf::from)
}

/// The user's name.
pub fn user() -> String {
    nix::unistd::User::from_uid(nix::unistd::getuid())
        .ok()
        .flatten()
        .map(|user| user.name)
        .or_else(|| std::env::var("USER").ok())
        .unwrap_or_else(|| "root".to_owned())
}

/// A word as a person would type it in a shell: quoted only where that is needed.
pub fn typed(word: &str) -> String {
    shlex::try_quote(word)
        .map_or_else(|_| tunerun::transport::shell::word::quote(word), |word| word.into_owned())
}

/// The command line as it was typed.
pub fn command_line() -> String {
    std::env::args().map(|word| typed(&word)).collect::<Vec<_>>().join(" ")
}
