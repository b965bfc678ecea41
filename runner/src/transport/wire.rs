//! One running program on a host: its input, its two outputs, its end.
use super::local;
use super::shell::Stream;
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A running program.
pub(crate) struct Wire {
    pub writer: Writer,
    pub reader: Reader,
    /// One of the few channels that a server allows; given back when the program is gone.
    pub permit: OwnedSemaphorePermit,
}

/// Its input.
#[derive(Clone)]
pub(crate) enum Writer {
    Local(Arc<local::Input>),
    Ssh(Arc<ChannelWriteHalf<Msg>>),
}

/// Its outputs.
pub(crate) enum Reader {
    Local(Box<local::Outputs>),
    Ssh(SshOutputs),
}

/// The outputs of a channel and the exit that was announced before it closed.
pub(crate) struct SshOutputs {
    half: ChannelReadHalf,
    exit: Exit,
}

/// How a program ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exit {
    /// Exit status.
    pub status: Option<i32>,
    /// Signal that ended it, or why there is no status.
    pub signal: Option<String>,
    /// Whether the host refused to start it.
    pub refused: bool,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.status, &self.signal) {
            _ if self.refused => out.write_str("the host refused to start it"),
            (Some(status), _) => write!(out, "exit status {status}"),
            (None, Some(signal)) => write!(out, "ended by {signal}"),
            (None, None) => out.write_str("the host went away"),
        }
    }
}

/// Takes output in.
pub(crate) type Sink<'a> = &'a mut (dyn FnMut(Stream, &[u8]) + Send);

impl Writer {
    pub(crate) fn ssh(half: ChannelWriteHalf<Msg>) -> Self {
        Self::Ssh(Arc::new(half))
    }

    /// Sends all bytes; waits while the host does not take them.
    pub(crate) async fn send(&self, bytes: Vec<u8>) -> Result<(), String> {
        match self {
            Self::Local(input) => input.send(&bytes).await.map_err(|error| error.to_string()),
            Self::Ssh(half) => half.data_bytes(bytes).await.map_err(|error| error.to_string()),
        }
    }

    /// Ends the input.
    pub(crate) async fn finish(&self) {
        match self {
            Self::Local(input) => input.finish().await,
            // A channel that is gone needs no end.
            Self::Ssh(half) => drop(half.eof().await),
        }
    }

    /// Lets go of the program; with `kill` its process group is ended where that is in our hands.
    pub(crate) async fn close(&self, kill: bool) {
        match self {
            Self::Local(input) => {
                input.finish().await;
                if kill {
                    input.kill();
                }
            }
            Self::Ssh(half) => {
                let _ = half.eof().await;
                let _ = half.close().await;
            }
        }
    }
}

impl Reader {
    pub(crate) fn ssh(half: ChannelReadHalf) -> Self {
        Self::Ssh(SshOutputs { half, exit: Exit::default() })
    }

    /// Waits for some output and hands it to `sink`, or for the end. It may be cancelled between pieces.
    pub(crate) async fn next(&mut self, sink: Sink<'_>) -> Option<Exit> {
        match self {
            Self::Local(outputs) => outputs.next(sink).await,
            Self::Ssh(outputs) => outputs.next(sink).await,
        }
    }
}

impl SshOutputs {
    async fn next(&mut self, sink: Sink<'_>) -> Option<Exit> {
        match self.half.wait().await {
            Some(ChannelMsg::Data { data }) => sink(Stream::Out, &data),
            Some(ChannelMsg::ExtendedData { data, ext: 1 }) => sink(Stream::Err, &data),
            Some(ChannelMsg::ExitStatus { exit_status }) => {
                self.exit.status = Some(i32::try_from(exit_status).unwrap_or(255));
            }
            Some(ChannelMsg::ExitSignal { signal_name, .. }) => {
                self.exit.signal = Some(format!("signal {signal_name:?}"));
            }
            Some(ChannelMsg::Failure) => {
                self.exit.refused = true;
                return Some(self.exit.clone());
            }
            Some(ChannelMsg::Close) | None => return Some(self.exit.clone()),
            Some(_) => {}
        }
        None
    }
}
