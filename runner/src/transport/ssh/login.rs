//! Logging in: keys of the agent and of files with their certificates, keyboard-interactive, password.
use super::agent::Agent;
use super::attempt::Attempt;
use super::gate::Gate;
use super::keys::{self, KeyFile};
use super::{signer, words};
use crate::transport::endpoint::SshWay;
use crate::transport::error::LinkErrorKind;
use crate::transport::exec::Link;
use crate::transport::secret::{Secret, SecretRequest};
use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::agent::AgentIdentity;
use russh::keys::{Certificate, HashAlg, PrivateKeyWithHashAlg, PublicKey};
use russh::{MethodKind, MethodSet};
use std::path::Path;

/// A login on one host.
pub(super) struct Login<'a> {
    pub attempt: &'a Attempt<'a>,
    pub way: &'a SshWay,
}

/// What was tried and what the host said.
#[derive(Default)]
struct Progress {
    tried: Vec<String>,
    notes: Vec<String>,
    /// What the host still takes; nothing before it has said.
    offered: Option<MethodSet>,
    round_trips: u64,
    password: Option<Secret>,
    asked: bool,
}

impl Progress {
    fn may(&self, method: MethodKind) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.contains(&method))
    }

    /// Notes an answer. True when we are in.
    fn heard(&mut self, what: String, answer: AuthResult) -> bool {
        self.round_trips += 1;
        match answer {
            AuthResult::Success => true,
            AuthResult::Failure { remaining_methods, partial_success } => {
                self.tried.push(if partial_success {
                    format!("{what} (taken, more is wanted)")
                } else {
                    what
                });
                self.offered = Some(remaining_methods);
                false
            }
        }
    }
}

impl Login<'_> {
    /// Tries until the host lets us in; the number is the round trips.
    pub(super) async fn run(&self, handle: &mut Handle<Gate>) -> Result<u64, LinkErrorKind> {
        let mut progress = Progress::default();
        match self.steps(handle, &mut progress).await {
            Ok(true) => return Ok(progress.round_trips),
            Ok(false) => {}
            Err(LinkErrorKind::Closed(why)) if !progress.tried.is_empty() => {
                progress.notes.push(format!("{why}; it may allow fewer tries, see `IdentitiesOnly`"));
            }
            Err(other) => return Err(other),
        }
        let offered = progress.offered.iter().flat_map(|set| set.iter());
        let offered = offered.map(|method| <&'static str>::from(method).to_owned()).collect();
        Err(LinkErrorKind::Auth { tried: progress.tried, offered, notes: progress.notes })
    }

    fn methods(&self) -> Vec<String> {
        let default = ["publickey", "password", "keyboard-interactive"];
        self.way.methods.clone().unwrap_or_else(|| default.map(str::to_owned).to_vec())
    }

    async fn steps(&self, handle: &mut Handle<Gate>, progress: &mut Progress) -> Result<bool, LinkErrorKind> {
        progress.password = self.way.password.clone();
        for method in self.methods() {
            let done = match method.as_str() {
                "publickey" => self.keys(handle, progress).await?,
                "password" => self.password(handle, progress).await?,
                "keyboard-interactive" => self.interactive(handle, progress).await?,
                _ => false,
            };
            if done {
                return Ok(true);
            }
        }
        if progress.offered.is_none() && progress.tried.is_empty() {
            // Nothing to try: ask what the host would take, for the error, and for hosts that take anybody.
            let answer = self.ask(handle.authenticate_none(&self.way.user)).await?;
            let done = progress.heard("none".into(), answer);
            progress.tried.clear();
            if !done && progress.may(MethodKind::Password) {
                return self.password(handle, progress).await;
            }
            if !done && progress.may(MethodKind::KeyboardInteractive) {
                return self.interactive(handle, progress).await;
            }
            return Ok(done);
        }
        Ok(false)
    }

    async fn ask<T>(
        &self,
        request: impl Future<Output = Result<T, russh::Error>>,
    ) -> Result<T, LinkErrorKind> {
        let request = async { request.await.map_err(|error| LinkErrorKind::Closed(words(&error))) };
        self.attempt.within("logging in", request).await
    }

    async fn agent(
        &self,
        socket: &Path,
        handle: &Handle<Gate>,
    ) -> Result<Result<Agent, String>, LinkErrorKind> {
        self.attempt.within("asking the agent", async { Ok(Agent::connect(socket, handle).await) }).await
    }

    /// Files that were named, the agent's keys, then the default files.
    async fn keys(&self, handle: &mut Handle<Gate>, progress: &mut Progress) -> Result<bool, LinkErrorKind> {
        let named = read_all(&self.way.keys, &mut progress.notes);
        let defaults = read_all(&self.way.default_keys, &mut progress.notes);
        let mut certificates = keys::certificates(&named, &self.way.certificates, &mut progress.notes);
        certificates.extend(keys::certificates(&defaults, &[], &mut progress.notes));
        let mut agent = match &self.way.agent {
            Some(socket) => match self.agent(socket, handle).await? {
                Ok(agent) => Some(agent),
                Err(note) => {
                    progress.notes.push(note);
                    None
                }
            },
            None => None,
        };
        for file in &named {
            if progress.may(MethodKind::PublicKey)
                && self.file(handle, progress, file, &certificates, &mut agent).await?
            {
                return Ok(true);
            }
        }
        if let Some(agent) = &mut agent
            && !self.way.identities_only
        {
            let skip: Vec<&PublicKey> = named.iter().filter_map(|file| file.public.as_ref()).collect();
            for identity in agent.identities.clone() {
                let known = match &identity {
                    AgentIdentity::PublicKey { key, .. } => {
                        skip.iter().any(|skip| skip.key_data() == key.key_data())
                    }
                    AgentIdentity::Certificate { .. } => false,
                };
                if !known
                    && progress.may(MethodKind::PublicKey)
                    && self.by_agent(handle, progress, &identity, &certificates, agent).await?
                {
                    return Ok(true);
                }
            }
        }
        for file in &defaults {
            if progress.may(MethodKind::PublicKey)
                && self.file(handle, progress, file, &certificates, &mut None).await?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// One key file: by the agent where that has the key, else by its own private key.
    async fn file(
        &self,
        handle: &mut Handle<Gate>,
        progress: &mut Progress,
        file: &KeyFile,
        certificates: &[Certificate],
        agent: &mut Option<Agent>,
    ) -> Result<bool, LinkErrorKind> {
        if let (Some(agent), Some(public)) = (agent, &file.public)
            && let Some(identity) = agent.identities.iter().find(|identity| {
                matches!(identity, AgentIdentity::PublicKey { key, .. } if key.key_data() == public.key_data())
            })
        {
            let identity = identity.clone();
            return self.by_agent(handle, progress, &identity, certificates, agent).await;
        }
        let key = match file.unlock(self.attempt.secrets).await {
            Ok(key) => key,
            Err(note) => {
                progress.notes.push(note);
                return Ok(false);
            }
        };
        let user = self.way.user.as_str();
        let hash = self.hash(handle, key.public_key()).await?;
        for certificate in of_key(certificates, key.public_key()) {
            let what = format!("certificate of {}", file.path.display());
            let mut signer = signer::agent_of(key.clone());
            let sign = handle.authenticate_certificate_with(user, certificate, hash, &mut signer);
            let answer = match self.attempt.within("logging in", async { Ok(sign.await) }).await? {
                Ok(answer) => answer,
                Err(error) => {
                    progress.notes.push(format!("{what}: {error}"));
                    continue;
                }
            };
            if progress.heard(what, answer) {
                return Ok(true);
            }
        }
        if !progress.may(MethodKind::PublicKey) {
            return Ok(false);
        }
        let hash = self.hash(handle, key.public_key()).await?;
        let answer =
            self.ask(handle.authenticate_publickey(user, PrivateKeyWithHashAlg::new(key, hash))).await?;
        Ok(progress.heard(format!("key {}", file.path.display()), answer))
    }

    /// One key of the agent. An agent that does not sign is a note.
    async fn by_agent(
        &self,
        handle: &mut Handle<Gate>,
        progress: &mut Progress,
        identity: &AgentIdentity,
        certificates: &[Certificate],
        agent: &mut Agent,
    ) -> Result<bool, LinkErrorKind> {
        let user = self.way.user.as_str();
        let (public, comment) = match identity {
            AgentIdentity::PublicKey { key, comment } => (key.clone(), comment),
            AgentIdentity::Certificate { certificate, comment } => {
                (PublicKey::new(certificate.public_key().clone(), ""), comment)
            }
        };
        let hash = self.hash(handle, &public).await?;
        let mut certified: Vec<Certificate> = of_key(certificates, &public).collect();
        if let AgentIdentity::Certificate { certificate, .. } = identity {
            certified.insert(0, certificate.clone());
        }
        for certificate in certified {
            let sign = handle.authenticate_certificate_with(user, certificate, hash, &mut agent.client);
            let sign = async { Ok(sign.await) };
            match self.attempt.within("logging in by the agent", sign).await? {
                Ok(answer) => {
                    if progress.heard(format!("agent certificate {comment}"), answer) {
                        return Ok(true);
                    }
                }
                Err(error) => progress.notes.push(format!("agent, certificate {comment}: {error}")),
            }
        }
        if matches!(identity, AgentIdentity::Certificate { .. }) || !progress.may(MethodKind::PublicKey) {
            return Ok(false);
        }
        let sign = handle.authenticate_publickey_with(user, public, hash, &mut agent.client);
        let sign = async { Ok(sign.await) };
        match self.attempt.within("logging in by the agent", sign).await? {
            Ok(answer) => Ok(progress.heard(format!("agent key {comment}"), answer)),
            Err(error) => {
                progress.notes.push(format!("agent, key {comment}: {error}"));
                Ok(false)
            }
        }
    }

    /// RSA keys sign with the best hash that the host takes.
    async fn hash(&self, handle: &Handle<Gate>, key: &PublicKey) -> Result<Option<HashAlg>, LinkErrorKind> {
        if !key.algorithm().is_rsa() {
            return Ok(None);
        }
        let best = self.ask(handle.best_supported_rsa_hash()).await?;
        Ok(best.unwrap_or(Some(HashAlg::Sha512)))
    }

    /// The password: a variable's, or one that a person types, asked for once and only if the host takes one.
    async fn secret(&self, progress: &mut Progress) -> Option<Secret> {
        if progress.password.is_none() && !progress.asked && progress.offered.is_some() {
            progress.asked = true;
            let (host, user) = (self.attempt.host.to_owned(), self.way.user.clone());
            progress.password = Link::ask(self.attempt.secrets, SecretRequest::Password { host, user }).await;
        }
        progress.password.clone()
    }

    async fn password(
        &self,
        handle: &mut Handle<Gate>,
        progress: &mut Progress,
    ) -> Result<bool, LinkErrorKind> {
        if !progress.may(MethodKind::Password) {
            return Ok(false);
        }
        let Some(password) = self.secret(progress).await else { return Ok(false) };
        let answer = self.ask(handle.authenticate_password(&self.way.user, password.reveal())).await?;
        if progress.heard("password".into(), answer) {
            return Ok(true);
        }
        // A password that the host has judged is not tried again in another way: accounts get locked.
        if progress.may(MethodKind::Password) {
            progress.password = None;
            progress.asked = true;
        }
        Ok(false)
    }

    async fn interactive(
        &self,
        handle: &mut Handle<Gate>,
        progress: &mut Progress,
    ) -> Result<bool, LinkErrorKind> {
        use KeyboardInteractiveAuthResponse as Response;
        if !progress.may(MethodKind::KeyboardInteractive) {
            return Ok(false);
        }
        let Some(password) = self.secret(progress).await else { return Ok(false) };
        let mut answer =
            self.ask(handle.authenticate_keyboard_interactive_start(&*self.way.user, None)).await?;
        progress.round_trips += 1;
        let mut given = false;
        for _round in 0..10 {
            let responses = match answer {
                Response::Success => return Ok(true),
                Response::Failure { remaining_methods, .. } => {
                    progress.offered = Some(remaining_methods);
                    break;
                }
                // PAM asks a last round without prompts: the answer is an empty list.
                Response::InfoRequest { prompts, .. } if prompts.is_empty() => Vec::new(),
                Response::InfoRequest { prompts, .. } if prompts.len() == 1 && !prompts[0].echo && !given => {
                    given = true;
                    vec![password.reveal().to_owned()]
                }
                Response::InfoRequest { prompts, .. } => {
                    let asked: Vec<_> = prompts.iter().map(|prompt| prompt.prompt.trim()).collect();
                    progress
                        .notes
                        .push(format!("the host asks `{}`, which nobody can answer", asked.join("`, `")));
                    break;
                }
            };
            answer = self.ask(handle.authenticate_keyboard_interactive_respond(responses)).await?;
            progress.round_trips += 1;
        }
        progress.tried.push("keyboard-interactive".into());
        Ok(false)
    }
}

fn read_all(paths: &[std::path::PathBuf], notes: &mut Vec<String>) -> Vec<KeyFile> {
    let mut files = Vec::new();
    for path in paths {
        match KeyFile::read(path) {
            Ok(file) => files.extend(file),
            Err(note) => notes.push(note),
        }
    }
    files
}

fn of_key<'a>(certificates: &'a [Certificate], key: &'a PublicKey) -> impl Iterator<Item = Certificate> + 'a {
    certificates.iter().filter(|certificate| certificate.public_key() == key.key_data()).cloned()
}
