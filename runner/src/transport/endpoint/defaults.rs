//! What surrounds the controller: home, user, agent, ssh_config. The library reads no environment, so it is given.
use crate::transport::ssh_config::{Settings, SshConfig, ssh_g};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Asks `ssh -G`: the arguments, the host.
type AskSsh = Arc<dyn Fn(&[String], &str) -> Result<Settings, String> + Send + Sync>;

/// Answers of `ssh -G` by arguments and host.
type Answers = HashMap<(Vec<String>, String), Result<Settings, String>>;

/// The controller's side of a connection. It keeps parsed files and answers of `ssh -G`, so make one and share it.
pub struct Defaults {
    /// Home folder of the user.
    pub home: PathBuf,
    /// The user's name here, which is the login name where nothing else is said.
    pub user: String,
    /// The agent's socket (`SSH_AUTH_SOCK`).
    pub agent: Option<PathBuf>,
    /// The user's ssh_config; nothing reads none.
    pub user_config: Option<PathBuf>,
    /// The machine's ssh_config.
    pub machine_config: Option<PathBuf>,
    ask: AskSsh,
    parsed: Mutex<HashMap<Option<PathBuf>, Arc<SshConfig>>>,
    answers: Mutex<Answers>,
}

impl Defaults {
    /// The usual places below a home folder.
    pub fn new(home: impl Into<PathBuf>, user: impl Into<String>, agent: Option<PathBuf>) -> Self {
        let home = home.into();
        Self {
            user_config: Some(home.join(".ssh/config")),
            machine_config: Some("/etc/ssh/ssh_config".into()),
            home,
            user: user.into(),
            agent,
            ask: Arc::new(ssh_g),
            parsed: Mutex::default(),
            answers: Mutex::default(),
        }
    }

    /// Without any ssh_config file, as the lab's hosts and tests want it.
    pub fn bare(home: impl Into<PathBuf>, user: impl Into<String>) -> Self {
        Self { user_config: None, machine_config: None, ..Self::new(home, user, None) }
    }

    /// Another way to ask `ssh -G`, for tests.
    pub fn ask_by(
        mut self,
        ask: impl Fn(&[String], &str) -> Result<Settings, String> + Send + Sync + 'static,
    ) -> Self {
        self.ask = Arc::new(ask);
        self
    }

    /// What is given, and the settings that ssh_config adds for a host. `file` is that of `-F`; `words` are what is
    /// given as options of a command line, for `ssh -G`.
    pub(super) fn settings(
        &self,
        file: Option<&Path>,
        words: &[String],
        host: &str,
        given: &Settings,
    ) -> Result<Settings, String> {
        let config = {
            let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
            let read = || match file {
                Some(file) => SshConfig::read(Some(file), None, &self.home),
                None => {
                    SshConfig::read(self.user_config.as_deref(), self.machine_config.as_deref(), &self.home)
                }
            };
            Arc::clone(parsed.entry(file.map(Path::to_owned)).or_insert_with(|| Arc::new(read())))
        };
        let unclear = match config.lookup(host, &self.user, given) {
            Ok(settings) => return Ok(settings),
            Err(unclear) => unclear,
        };
        let key = (words.to_vec(), host.to_owned());
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answers.entry(key).or_insert_with(|| (self.ask)(words, host));
        let answer = answer.clone().map_err(|why| format!("{} needs `ssh -G`: {why}", unclear.why))?;
        let mut settings = given.clone();
        settings.add_all(&answer);
        Ok(settings)
    }

    /// A path with `~/` at its start.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(text),
        }
    }
}
