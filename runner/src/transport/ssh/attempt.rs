//! One try to connect: the road, the handshake, the login, through all jump hosts.
use super::gate::Gate;
use super::login::Login;
use super::{road, touch, words};
use crate::transport::endpoint::SshWay;
use crate::transport::error::LinkErrorKind;
use crate::transport::secret::Secrets;
use russh::client::{self, Handle};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};

/// What a try needs.
pub(super) struct Attempt<'a> {
    pub host: &'a str,
    /// Limit of each step; time in which a person types is not counted.
    pub limit: Duration,
    pub secrets: &'a Arc<dyn Secrets>,
    /// What a person should know although it went well.
    pub warnings: &'a Mutex<Vec<String>>,
}

/// TCP, the version lines, the key exchange's two, the service request.
const HANDSHAKE_ROUND_TRIPS: u64 = 5;

/// What is read at once from a socket, in bytes.
const BUFFER: usize = 8 * 1024;

impl Attempt<'_> {
    /// The handle, those of the jump hosts, and the round trips.
    pub(super) async fn connect(
        &self,
        way: &SshWay,
    ) -> Result<(Handle<Gate>, Vec<Handle<Gate>>, u64), LinkErrorKind> {
        let mut jumps: Vec<Handle<Gate>> = Vec::new();
        let mut round_trips = 0;
        for jump in &way.jumps {
            let (handle, count) = self.hop(jump, jumps.last()).await.map_err(|kind| through(jump, kind))?;
            round_trips += count + 2;
            // sshd turns Nagle's algorithm off only after a session was run: without this each request waits 40 ms.
            self.within("a session on the jump host", async {
                touch(&handle).await;
                Ok(())
            })
            .await?;
            jumps.push(handle);
        }
        let (handle, count) = self.hop(way, jumps.last()).await?;
        Ok((handle, jumps, round_trips + count))
    }

    async fn hop(
        &self,
        way: &SshWay,
        from: Option<&Handle<Gate>>,
    ) -> Result<(Handle<Gate>, u64), LinkErrorKind> {
        let (mut handle, count) = match (from, &way.proxy_command) {
            (Some(jump), _) => {
                let channel = jump.channel_open_direct_tcpip(&*way.address, way.port.into(), "127.0.0.1", 0);
                let open = async {
                    channel
                        .await
                        .map_err(|error| LinkErrorKind::Proxy(format!("{}: {}", way.shown(), words(&error))))
                };
                let channel = self.within("opening the way through the jump host", open).await?;
                (self.shake(way, channel.into_stream()).await?, HANDSHAKE_ROUND_TRIPS)
            }
            (None, Some(command)) => {
                let (pipes, last_words) = road::proxy(command)?;
                let handle = match self.shake(way, pipes).await {
                    Err(LinkErrorKind::Closed(why)) => {
                        let said = last_words.hear().await;
                        let said = if said.is_empty() { why } else { said };
                        return Err(LinkErrorKind::Proxy(format!("`{command}`: {said}")));
                    }
                    other => other?,
                };
                (handle, HANDSHAKE_ROUND_TRIPS)
            }
            (None, None) => {
                let stream = self.within("connecting", road::tcp(way)).await?;
                // russh asks for each packet's length and for its rest: with a buffer that is one call of the kernel.
                let stream = BufReader::with_capacity(BUFFER, stream);
                (self.shake(way, stream).await?, HANDSHAKE_ROUND_TRIPS)
            }
        };
        let asked = Login { attempt: self, way }.run(&mut handle).await?;
        Ok((handle, count + asked))
    }

    async fn shake(
        &self,
        way: &SshWay,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Handle<Gate>, LinkErrorKind> {
        let gate = Gate::new(way);
        let refusal = gate.refusal();
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(gate.warnings());
        let config = client::Config {
            nodelay: true,
            preferred: gate.preferred(),
            keepalive_interval: way.keepalive,
            keepalive_max: way.keepalive_max,
            ..client::Config::default()
        };
        let shake = async {
            client::connect_stream(Arc::new(config), stream, gate).await.map_err(|error| match error {
                russh::Error::NoCommonAlgo { kind, theirs, .. } => LinkErrorKind::Protocol(format!(
                    "no {kind:?} algorithm in common; the host offers {}",
                    theirs.join(", ")
                )),
                russh::Error::Version => LinkErrorKind::Protocol("that is no SSH server".into()),
                other => LinkErrorKind::Closed(words(&other)),
            })
        };
        let done = self.within("the SSH handshake", shake).await;
        done.map_err(|kind| refusal.take().unwrap_or(kind))
    }

    /// Runs a step under the time limit.
    pub(super) async fn within<T>(
        &self,
        step: &str,
        work: impl Future<Output = Result<T, LinkErrorKind>>,
    ) -> Result<T, LinkErrorKind> {
        let late = || LinkErrorKind::ConnectTimeout { step: step.into(), after: self.limit };
        tokio::time::timeout(self.limit, work).await.unwrap_or_else(|_| Err(late()))
    }
}

/// Errors of a jump host name it; those that have advice of their own keep it.
fn through(jump: &SshWay, kind: LinkErrorKind) -> LinkErrorKind {
    use LinkErrorKind as Kind;
    match kind {
        kind @ (Kind::HostKeyUnknown { .. }
        | Kind::HostKeyChanged { .. }
        | Kind::HostKeyRevoked { .. }
        | Kind::Config(_)) => kind,
        Kind::Auth { tried, offered, mut notes } => {
            notes.push(format!("that was at the jump host {}", jump.shown()));
            Kind::Auth { tried, offered, notes }
        }
        other => Kind::Proxy(format!("jump host {}: {other}", jump.shown())),
    }
}
