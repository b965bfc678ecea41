//! A connection to one host: its interpreters by identity, uploads, counts.
use super::counters::Tally;
use super::endpoint::{Endpoint, Way};
use super::error::{LinkError, LinkErrorKind};
use super::exec::{Link, Opener};
use super::identity::Identity;
use super::secret::Secrets;
use super::shell::word::{literal, quote};
use super::shell::{Answer, Script, Shell};
use super::ssh;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// At most so many shells are kept; the other channels are left for uploads.
const SHELLS: usize = 5;

/// A connection to one host. It may be shared; frames of one identity wait for each other, identities do not.
pub struct Connection {
    link: Arc<Link>,
    shells: Mutex<HashMap<Identity, Arc<Shell>>>,
}

impl Connection {
    /// Connects and logs in, trying again where that may help. What `secrets` is asked for: passphrases and
    /// passwords that the endpoint does not hold.
    pub async fn open(endpoint: &Endpoint, secrets: Arc<dyn Secrets>) -> Result<Self, LinkError> {
        let (opener, round_trips) = match &endpoint.way {
            Way::Local => (Opener::Local, 0),
            Way::Ssh(way) => {
                let (session, round_trips) = ssh::open(endpoint, way, &secrets).await?;
                (Opener::Ssh(Box::new(session)), round_trips)
            }
        };
        let link = Link::new(
            endpoint.host.clone(),
            endpoint.address(),
            endpoint.interpreter.clone(),
            endpoint.connect_timeout,
            opener,
        );
        link.counters.round_trips(round_trips);
        Ok(Self { link: Arc::new(link), shells: Mutex::default() })
    }

    /// What is common to all that is opened on the host.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Inventory name of the host.
    pub fn host(&self) -> &str {
        &self.link.host
    }

    /// `user@address:port`, or `local`.
    pub fn address(&self) -> &str {
        &self.link.address
    }

    /// What a person should know although it went well: damaged lines of known_hosts files, each with `file:line`.
    pub fn warnings(&self) -> &[String] {
        self.link.warnings()
    }

    /// Whether the connection still stands, as far as it is known without asking the host.
    pub fn is_open(&self) -> bool {
        self.link.is_open()
    }

    /// The interpreter of an identity, started if there is none or it has ended. What must stay in its session (the
    /// host's lock) stays for as long as the caller keeps the shell and [`Shell::session`] is the same.
    pub async fn shell(&self, identity: &Identity) -> Result<Arc<Shell>, LinkError> {
        let mut shells = self.shells.lock().await;
        if let Some(shell) = shells.get(identity)
            && shell.is_open()
        {
            return Ok(Arc::clone(shell));
        }
        shells.remove(identity);
        if shells.len() >= SHELLS {
            // Somebody who holds a shell may hold the host's lock by it, so only idle ones nobody holds go.
            let idle =
                shells.iter().find(|(_, shell)| Arc::strong_count(shell) == 1).map(|(who, _)| who.clone());
            idle.and_then(|who| shells.remove(&who));
        }
        let shell = Arc::new(Shell::start(&self.link, identity).await?);
        shells.insert(identity.clone(), Arc::clone(&shell));
        Ok(shell)
    }

    /// Runs a script in the interpreter of an identity.
    pub async fn run(&self, identity: &Identity, script: &Script) -> Result<Answer, LinkError> {
        self.shell(identity).await?.run(script).await
    }

    /// Writes a file by a channel of its own and checks its length; for values of [`LARGE`](super::shell::word::LARGE)
    /// bytes and more. The mode is 0600. If the connection breaks a part of the file may stay: give a temporary name.
    pub async fn upload(
        &self,
        identity: &Identity,
        path: &[u8],
        bytes: Vec<u8>,
        timeout: Option<Duration>,
    ) -> Result<(), LinkError> {
        let shown = String::from_utf8_lossy(path).into_owned();
        let failed = |said: String| self.link.error(LinkErrorKind::Upload { path: shown.clone(), said });
        let word = literal(path).map_err(|nul| failed(nul.to_string()))?;
        let length = bytes.len();
        // A `cat` that a signal ended would leave a short file and may still be followed by `wc`.
        let program = format!("umask 077; cat > {word} && exec wc -c < {word}");
        let run = self.link.run(identity, &program, bytes, 64 * 1024);
        let output = match timeout {
            None => run.await?,
            Some(limit) => match tokio::time::timeout(limit, run).await {
                Ok(output) => output?,
                Err(_) => {
                    return Err(failed(format!("it took longer than {}", humantime::format_duration(limit))));
                }
            },
        };
        let said = output.stderr.text();
        if output.exit.status != Some(0) {
            let said = if said.trim().is_empty() { output.exit.to_string() } else { said.trim().to_owned() };
            return Err(failed(said));
        }
        // Banners of a login shell may stand before the number.
        let arrived =
            output.stdout.text().split_whitespace().last().and_then(|word| word.parse::<usize>().ok());
        match arrived {
            Some(arrived) if arrived == length => Ok(()),
            Some(arrived) => Err(failed(format!("{arrived} of {length} bytes arrived"))),
            None => Err(failed(format!("the host did not tell its length: {}", quote(said.trim())))),
        }
    }

    /// What it cost so far.
    pub fn tally(&self) -> Tally {
        self.link.counters.tally()
    }

    /// Ends the interpreters and the connection.
    pub async fn close(&self) {
        for (_, shell) in self.shells.lock().await.drain() {
            shell.close().await;
        }
        self.link.close().await;
    }
}
