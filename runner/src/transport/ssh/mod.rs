//! SSH by russh: connecting, host keys, logging in, channels.

mod agent;
mod attempt;
mod gate;
mod keys;
mod login;
mod road;
mod signer;

use super::endpoint::{Endpoint, SshWay};
use super::error::{LinkError, LinkErrorKind};
use super::secret::Secrets;
use super::wire::{Reader, Writer};
use gate::Gate;
use russh::client::Handle;
use russh::{ChannelMsg, Disconnect};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An open and logged in connection, with those that it goes through.
pub(crate) struct SshSession {
    handle: Handle<Gate>,
    /// Kept for as long as the connection lives; nearest first.
    _jumps: Vec<Handle<Gate>>,
    warnings: Vec<String>,
}

/// Connects and logs in; tries again where that may help. The number is the round trips that it takes by the protocol.
pub(crate) async fn open(
    endpoint: &Endpoint,
    way: &SshWay,
    secrets: &Arc<dyn Secrets>,
) -> Result<(SshSession, u64), LinkError> {
    let mut tries = 0;
    loop {
        let warnings = Mutex::default();
        let limit = endpoint.connect_timeout;
        let attempt = attempt::Attempt { host: &endpoint.host, limit, secrets, warnings: &warnings };
        let failed = match attempt.connect(way).await {
            Ok((handle, jumps, round_trips)) => {
                let mut warnings = warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
                warnings.dedup();
                return Ok((SshSession { handle, _jumps: jumps, warnings }, round_trips));
            }
            Err(kind) => {
                LinkError { host: endpoint.host.clone(), address: endpoint.address(), kind: Box::new(kind) }
            }
        };
        if tries >= endpoint.retries || !failed.is_worth_a_retry() {
            return Err(failed);
        }
        // Jitter, so that hundreds of hosts behind one jump host do not knock together again.
        let pause = 0.5 * f64::from(1u32 << tries.min(5)) * rand::random_range(0.5..1.5);
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
        tries += 1;
    }
}

impl SshSession {
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.handle.is_closed()
    }

    pub(crate) async fn close(&self) {
        let goodbye = self.handle.disconnect(Disconnect::ByApplication, "", "en");
        // A host that is gone takes no goodbye.
        let _ = tokio::time::timeout(Duration::from_secs(1), goodbye).await;
    }

    /// Opens a socket on the host, as the user who logged in.
    pub(crate) async fn socket(
        &self,
        path: &str,
    ) -> Result<russh::Channel<russh::client::Msg>, russh::Error> {
        self.handle.channel_open_direct_streamlocal(path).await
    }

    /// Starts a command. It does not wait for the host to say that it was started.
    pub(crate) async fn exec(&self, command: String) -> Result<(Writer, Reader), LinkErrorKind> {
        let mut pause = Duration::from_millis(20);
        let channel = loop {
            match self.handle.channel_open_session().await {
                // sshd counts a session for a moment longer than its channel is open.
                Err(russh::Error::ChannelOpenFailure(_)) if pause < Duration::from_secs(1) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                other => break other.map_err(no_channel)?,
            }
        };
        channel.exec(true, command).await.map_err(no_channel)?;
        let (read, write) = channel.split();
        Ok((Writer::ssh(write), Reader::ssh(read)))
    }
}

fn no_channel(error: russh::Error) -> LinkErrorKind {
    match error {
        russh::Error::ChannelOpenFailure(why) => LinkErrorKind::Channel(format!(
            "the host refuses another session ({why:?}); see MaxSessions of its sshd"
        )),
        other => LinkErrorKind::Closed(words(&other)),
    }
}

/// What russh meant, in words that say something to a person.
fn words(error: &russh::Error) -> String {
    match error {
        russh::Error::HUP | russh::Error::Disconnect | russh::Error::RecvError | russh::Error::SendError => {
            "the host hung up".into()
        }
        russh::Error::KeepaliveTimeout => "the host gave no sign of life".into(),
        russh::Error::IO(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// Runs a command for its side effect and waits for its end.
async fn touch(handle: &Handle<Gate>) {
    let Ok(mut channel) = handle.channel_open_session().await else { return };
    if channel.exec(true, "exec true").await.is_ok() {
        while let Some(message) = channel.wait().await {
            if matches!(message, ChannelMsg::Close | ChannelMsg::Failure) {
                break;
            }
        }
    }
}
