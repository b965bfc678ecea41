//! Starts programs on a host as an identity: interpreters, uploads, kills. Answers the prompts of sudo and su.
use super::counters::Counters;
use super::error::{LinkError, LinkErrorKind};
use super::identity::{Become, BecomeMethod, Identity};
use super::local;
use super::secret::{SecretRequest, Secrets};
use super::shell::word::quote;
use super::shell::{Captured, Stream};
use super::wire::{Exit, Reader, Wire, Writer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// At most so many programs at once on one connection: sshd's MaxSessions is 10 by default.
const CHANNELS: usize = 8;

/// Ends a process group: TERM, a second of grace, KILL. Zombies count as ended: who reaps them is not our concern.
const KILL: &str = "left() { kill -0 -GROUP 2>/dev/null || return 1; for f in /proc/[0-9]*/stat; do \
    { IFS= read -r x < $f; } 2>/dev/null || continue; set -- ${x##*) }; \
    [ \"$3\" = GROUP ] && [ \"$1\" != Z ] && return 0; done; return 1; }; \
    for how in TERM KILL; do kill -$how -GROUP 2>/dev/null; i=0; \
    while [ $i -lt 10 ] && left; do sleep 0.1 || sleep 1; i=$((i+1)); done; done; if left; then exit 1; fi";

/// What is common to all programs of one host.
pub(crate) struct Link {
    pub host: String,
    pub address: String,
    /// Words that need no quotes, such as `sh` or `busybox sh`.
    pub interpreter: String,
    pub connect_timeout: Duration,
    pub counters: Counters,
    opener: Opener,
    channels: Arc<Semaphore>,
}

/// Where programs are started.
pub(crate) enum Opener {
    Local,
    Ssh(Box<super::ssh::SshSession>),
}

/// What a program that ran to its end gave.
#[derive(Debug)]
pub(crate) struct Output {
    pub exit: Exit,
    pub stdout: Captured,
    pub stderr: Captured,
}

impl Link {
    pub(crate) fn new(
        host: String,
        address: String,
        interpreter: String,
        connect_timeout: Duration,
        opener: Opener,
    ) -> Self {
        let (counters, channels) = (Counters::default(), Arc::new(Semaphore::new(CHANNELS)));
        Self { host, address, interpreter, connect_timeout, counters, opener, channels }
    }

    pub(crate) fn error(&self, kind: LinkErrorKind) -> LinkError {
        LinkError { host: self.host.clone(), address: self.address.clone(), kind: Box::new(kind) }
    }

    /// Where programs are started and sockets opened.
    pub(crate) fn opener(&self) -> &Opener {
        &self.opener
    }

    /// One of the few channels that a server allows.
    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, LinkError> {
        let permit = Arc::clone(&self.channels).acquire_owned().await;
        permit.map_err(|_| self.error(LinkErrorKind::Closed("it was closed by us".into())))
    }

    /// Whether the connection below is still there.
    pub(crate) fn is_open(&self) -> bool {
        match &self.opener {
            Opener::Local => true,
            Opener::Ssh(session) => session.is_open(),
        }
    }

    /// Damaged lines of known_hosts files.
    pub(crate) fn warnings(&self) -> &[String] {
        match &self.opener {
            Opener::Local => &[],
            Opener::Ssh(session) => session.warnings(),
        }
    }

    /// Ends the connection below.
    pub(crate) async fn close(&self) {
        self.channels.close();
        if let Opener::Ssh(session) = &self.opener {
            session.close().await;
        }
    }

    /// Starts `program` (shell text) as an identity. Where a password may be asked for it is given, and the program
    /// has begun when this returns.
    pub(crate) async fn start(&self, identity: &Identity, program: &str) -> Result<Wire, LinkError> {
        let interpreter = &self.interpreter;
        match identity {
            Identity::Login => self.open(format!("exec {interpreter} -c {}", quote(program))).await,
            Identity::Become(who) => self.start_as(who, program).await,
        }
    }

    async fn start_as(&self, who: &Become, program: &str) -> Result<Wire, LinkError> {
        let asks = who.password.is_some();
        if asks && who.method == BecomeMethod::Doas {
            return Err(self.error(LinkErrorKind::BecomeTerminal { method: "doas".into() }));
        }
        let nonce = format!("{:032x}", rand::random::<u128>());
        let prompt = format!("[tunerun {nonce}] password:");
        let ready = format!("[tunerun {nonce}] ready");
        let program = if asks || who.method == BecomeMethod::Su {
            format!("printf {} >&2; {program}", quote(&ready))
        } else {
            program.to_owned()
        };
        let command = who.command(&self.interpreter, &program, &prompt);
        let mut wire = self.open(command).await?;
        if asks || who.method == BecomeMethod::Su {
            let talk = self.answer_prompt(who, &mut wire, &prompt, &ready);
            let talk = tokio::time::timeout(self.connect_timeout, talk).await;
            let talk = talk.unwrap_or_else(|_| {
                let step = format!("becoming `{}` by {}", who.user, who.method.name());
                Err(self.error(LinkErrorKind::ConnectTimeout { step, after: self.connect_timeout }))
            });
            if let Err(error) = talk {
                wire.writer.close(true).await;
                return Err(error);
            }
        }
        Ok(wire)
    }

    /// Reads stderr until the program has begun, and gives the password once.
    async fn answer_prompt(
        &self,
        who: &Become,
        wire: &mut Wire,
        prompt: &str,
        ready: &str,
    ) -> Result<(), LinkError> {
        let mut said = Vec::new();
        let mut given = false;
        let mut seen = 0;
        loop {
            let exit = wire.reader.next(&mut |_, bytes| said.extend_from_slice(bytes)).await;
            let text = String::from_utf8_lossy(&said).into_owned();
            if text.contains(ready) {
                self.counters.round_trips(1);
                return Ok(());
            }
            if let Some(exit) = exit {
                return Err(self.denied(who, &text.replace(prompt, ""), &exit));
            }
            let prompts = match who.method {
                BecomeMethod::Su => text.matches("assword:").count(),
                _ => text.matches(prompt).count(),
            };
            if prompts > seen {
                seen = prompts;
                let kind = LinkErrorKind::BecomePassword {
                    method: who.method.name().into(),
                    user: who.user.clone(),
                    given,
                };
                if given {
                    return Err(self.error(kind));
                }
                let password = who.password.as_ref().ok_or_else(|| self.error(kind))?;
                let line = format!("{}\n", password.reveal()).into_bytes();
                wire.writer.send(line).await.map_err(|why| self.error(LinkErrorKind::Closed(why)))?;
                self.counters.round_trips(1);
                given = true;
            }
            if said.len() > 64 * 1024 {
                return Err(self.error(LinkErrorKind::Protocol(format!(
                    "{} says too much before it runs anything",
                    who.method.name()
                ))));
            }
        }
    }

    /// What sudo, su or doas meant by its words.
    pub(crate) fn denied(&self, who: &Become, said: &str, exit: &Exit) -> LinkError {
        let (method, user) = (who.method.name().to_owned(), who.user.clone());
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let kind = if has(&["must have a tty", "a tty is required", "must be run from a terminal"]) {
            LinkErrorKind::BecomeTerminal { method }
        } else if has(&["incorrect password", "Authentication failure", "try again", "Permission denied"])
            && who.password.is_some()
            && !has(&["not in the sudoers"])
        {
            LinkErrorKind::BecomePassword { method, user, given: true }
        } else if has(&[
            "password is required",
            "no password was provided",
            "Authentication required",
            "Authentication token",
        ]) || (who.method == BecomeMethod::Su
            && who.password.is_none()
            && has(&["Authentication failure"]))
        {
            LinkErrorKind::BecomePassword { method, user, given: who.password.is_some() }
        } else {
            let said = said.trim();
            let said = if said.is_empty() { exit.to_string() } else { said.to_owned() };
            LinkErrorKind::BecomeDenied { method, user, said }
        };
        self.error(kind)
    }

    async fn open(&self, command: String) -> Result<Wire, LinkError> {
        let permit = self.permit().await?;
        self.counters.channel();
        let (writer, reader) = match &self.opener {
            Opener::Local => {
                let (input, outputs) = local::start(&command)
                    .map_err(|error| self.error(LinkErrorKind::Channel(format!("/bin/sh: {error}"))))?;
                (Writer::Local(Arc::new(input)), Reader::Local(Box::new(outputs)))
            }
            Opener::Ssh(session) => {
                self.counters.round_trips(1);
                session.exec(command).await.map_err(|kind| self.error(kind))?
            }
        };
        Ok(Wire { writer, reader, permit })
    }

    /// Runs a program to its end with `input`, keeping at most `cap` bytes of each output.
    pub(crate) async fn run(
        &self,
        identity: &Identity,
        program: &str,
        input: Vec<u8>,
        cap: usize,
    ) -> Result<Output, LinkError> {
        let mut wire = self.start(identity, program).await?;
        self.counters.sent(input.len());
        let writer = wire.writer.clone();
        let mut feed = std::pin::pin!(async move {
            // An error shows as the program's end.
            let _ = writer.send(input).await;
            writer.finish().await;
        });
        let (mut stdout, mut stderr) = (Captured::new(cap), Captured::new(cap));
        let mut fed = false;
        let exit = loop {
            let mut sink = |stream: Stream, bytes: &[u8]| {
                self.counters.received(bytes.len());
                match stream {
                    Stream::Out => stdout.push(bytes),
                    Stream::Err => stderr.push(bytes),
                }
            };
            tokio::select! {
                () = &mut feed, if !fed => fed = true,
                exit = wire.reader.next(&mut sink) => if let Some(exit) = exit {
                    break exit;
                },
            }
        };
        self.counters.round_trips(1);
        if let (Identity::Become(who), true) =
            (identity, exit.status != Some(0) && stderr.text().starts_with("sudo:"))
        {
            return Err(self.denied(who, &stderr.text(), &exit));
        }
        Ok(Output { exit, stdout, stderr })
    }

    /// Ends a process group on the host. True if nothing of it is left.
    pub(crate) async fn kill(&self, identity: &Identity, group: u32) -> bool {
        if group < 2 {
            return false;
        }
        let program = KILL.replace("GROUP", &group.to_string());
        let run = self.run(identity, &program, Vec::new(), 4096);
        matches!(tokio::time::timeout(Duration::from_secs(10), run).await, Ok(Ok(output)) if output.exit.status == Some(0))
    }

    /// Asks for a secret on a blocking thread.
    pub(crate) async fn ask(
        secrets: &Arc<dyn Secrets>,
        request: SecretRequest,
    ) -> Option<super::secret::Secret> {
        let secrets = Arc::clone(secrets);
        tokio::task::spawn_blocking(move || secrets.ask(&request)).await.ok().flatten()
    }
}
