//! The bytes of a socket on a host: a channel of SSH, a socket of this machine, or a program's input and output.
use super::program;
use crate::transport::exec::Opener;
use crate::transport::shell::{Script, Stream};
use crate::transport::wire::Wire;
use crate::transport::{Connection, Identity, LinkError, LinkErrorKind};
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::OwnedSemaphorePermit;

const BUFFER: usize = 64 * 1024;

/// Why a socket was not opened.
#[derive(Clone, Debug, PartialEq)]
pub enum NotOpened {
    /// It is not there, or nobody serves it: a socket that a dead target left counts.
    Absent,
    /// The user may not connect, in words with the way out.
    Denied(String),
    /// It is something else, or cannot be reached, in words.
    Failed(String),
    /// The link to the host failed.
    Link(LinkError),
}

impl From<LinkError> for NotOpened {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

/// An open socket.
pub(super) enum Pipe {
    Unix(UnixStream, Vec<u8>),
    Channel { read: ChannelReadHalf, write: ChannelWriteHalf<Msg>, _permit: OwnedSemaphorePermit },
    Program { wire: Wire, early: Vec<u8>, ended: bool },
}

impl Pipe {
    /// Opens a socket as somebody: as the login user directly, as others by a program that they run.
    pub async fn open(connection: &Connection, who: &Identity, socket: &str) -> Result<Self, NotOpened> {
        match (who, connection.link().opener()) {
            (Identity::Login, Opener::Local) => match UnixStream::connect(socket).await {
                Ok(stream) => Ok(Self::Unix(stream, vec![0; BUFFER])),
                Err(error) => Err(of_io(socket, &error)),
            },
            (Identity::Login, Opener::Ssh(_)) => Self::through_ssh(connection, socket).await,
            (Identity::Become(_), _) => Self::by_program(connection, who, socket).await,
        }
    }

    async fn through_ssh(connection: &Connection, socket: &str) -> Result<Self, NotOpened> {
        let link = connection.link();
        let Opener::Ssh(session) = link.opener() else {
            return Err(NotOpened::Failed("it is not reached by SSH".to_owned()));
        };
        let permit = link.permit().await?;
        link.counters.channel();
        link.counters.round_trips(1);
        match session.socket(socket).await {
            Ok(channel) => {
                let (read, write) = channel.split();
                Ok(Self::Channel { read, write, _permit: permit })
            }
            Err(russh::Error::ChannelOpenFailure(_)) => {
                drop(permit);
                Self::refused(connection, socket).await
            }
            Err(error) => Err(link.error(LinkErrorKind::Closed(error.to_string())).into()),
        }
    }

    /// sshd says only that it did not open it: the host is asked why.
    async fn refused(connection: &Connection, socket: &str) -> Result<Self, NotOpened> {
        let text = program::why(socket).map_err(NotOpened::Failed)?;
        let answer = connection.run(&Identity::Login, &Script::new(text)).await?;
        let why = answer.section("why").map(|section| section.stdout.text()).unwrap_or_default();
        match why.trim() {
            "absent" => Err(NotOpened::Absent),
            "denied" => Err(NotOpened::Denied(denied(socket))),
            "other" => Err(NotOpened::Failed(format!("{socket} is not a socket"))),
            // It is served, and the user may connect: sshd forwards to no sockets, a program may.
            _ => match Self::by_program(connection, &Identity::Login, socket).await {
                Err(NotOpened::Failed(why)) => Err(NotOpened::Failed(format!(
                    "sshd does not forward to {socket} (see AllowStreamLocalForwarding and DisableForwarding in \
                     sshd_config), and {why}"
                ))),
                other => other,
            },
        }
    }

    async fn by_program(connection: &Connection, who: &Identity, socket: &str) -> Result<Self, NotOpened> {
        let link = connection.link();
        let text = program::text(socket).map_err(NotOpened::Failed)?;
        let mut wire = link.start(who, &text).await?;
        link.counters.round_trips(1);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let connected = async {
            loop {
                let mut sink = |stream: Stream, bytes: &[u8]| match stream {
                    Stream::Out => out.extend_from_slice(bytes),
                    Stream::Err => err.extend_from_slice(bytes),
                };
                if let Some(exit) = wire.reader.next(&mut sink).await {
                    return Some(exit);
                }
                if out.contains(&b'\n') {
                    return None;
                }
            }
        };
        let Ok(exit) = tokio::time::timeout(link.connect_timeout, connected).await else {
            wire.writer.close(true).await;
            return Err(NotOpened::Failed(format!("no program connected to {socket} in time")));
        };
        let Some(exit) = exit else { return Ok(Self::Program { wire, early: out, ended: false }) };
        Err(match exit.status {
            Some(program::ABSENT) => NotOpened::Absent,
            Some(program::DENIED) => NotOpened::Denied(denied(socket)),
            Some(program::NONE) => NotOpened::Failed(
                "the acting user needs a program to reach the socket, and the host has neither python3 nor perl; log in \
                 as that user, or install one of them"
                    .to_owned(),
            ),
            _ => {
                let said = String::from_utf8_lossy(&err).trim().to_owned();
                let said = if said.is_empty() { exit.to_string() } else { said };
                NotOpened::Failed(format!("{socket} cannot be connected to: {said}"))
            }
        })
    }

    /// Sends all bytes; an error is the end of the pipe.
    pub async fn send(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        match self {
            Self::Unix(stream, _) => stream.write_all(&bytes).await.map_err(|error| error.to_string()),
            Self::Channel { write, .. } => write.data_bytes(bytes).await.map_err(|error| error.to_string()),
            Self::Program { wire, .. } => wire.writer.send(bytes).await,
        }
    }

    /// Waits for some bytes; none at the end.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Unix(stream, buffer) => match stream.read(buffer).await {
                Ok(0) | Err(_) => None,
                Ok(count) => Some(buffer[..count].to_vec()),
            },
            Self::Channel { read, .. } => loop {
                match read.wait().await {
                    Some(ChannelMsg::Data { data }) => return Some(data.to_vec()),
                    // sshd closes a channel only when both sides have ended.
                    Some(ChannelMsg::Eof | ChannelMsg::Close) | None => return None,
                    Some(_) => {}
                }
            },
            Self::Program { wire, early, ended } => loop {
                if !early.is_empty() {
                    return Some(std::mem::take(early));
                }
                if *ended {
                    return None;
                }
                let mut sink = |stream: Stream, bytes: &[u8]| {
                    if stream == Stream::Out {
                        early.extend_from_slice(bytes);
                    }
                };
                *ended = wire.reader.next(&mut sink).await.is_some();
            },
        }
    }

    /// Lets go of it.
    pub async fn close(self) {
        match self {
            Self::Unix(..) => {}
            Self::Channel { write, .. } => {
                let _ = write.close().await;
            }
            Self::Program { wire, .. } => wire.writer.close(true).await,
        }
    }
}

fn denied(socket: &str) -> String {
    format!(
        "the user may not connect to {socket}: the socket's own permissions count; log in or become the user that runs \
         the target, or let the target's group write to the socket"
    )
}

fn of_io(socket: &str, error: &std::io::Error) -> NotOpened {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => NotOpened::Absent,
        ErrorKind::PermissionDenied => NotOpened::Denied(denied(socket)),
        _ => NotOpened::Failed(format!("{socket} cannot be connected to: {error}")),
    }
}
