//! The bytes below SSH: a TCP socket, a proxy command's pipes, a channel of a jump host.
use crate::transport::endpoint::SshWay;
use crate::transport::error::LinkErrorKind;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

/// A socket to the way's address; every address of the name is tried.
pub(crate) async fn tcp(way: &SshWay) -> Result<TcpStream, LinkErrorKind> {
    let stream = match &way.dial {
        Some(dialer) => dialer.0.dial().await.map_err(|error| of_io(&error))?,
        None => connect(way).await?,
    };
    // Without it each request waits 40 ms for an acknowledgement.
    stream.set_nodelay(true).map_err(|error| of_io(&error))?;
    Ok(stream)
}

async fn connect(way: &SshWay) -> Result<TcpStream, LinkErrorKind> {
    let found = tokio::net::lookup_host((way.address.as_str(), way.port)).await;
    let addresses: Vec<_> = found.map_err(|error| LinkErrorKind::Resolve(error.to_string()))?.collect();
    let mut last = LinkErrorKind::Resolve("it has no address".into());
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = of_io(&error),
        }
    }
    Err(last)
}

fn of_io(error: &io::Error) -> LinkErrorKind {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => LinkErrorKind::Refused,
        _ => LinkErrorKind::Unreachable(error.to_string()),
    }
}

/// The pipes of a proxy command. The command is ended with the connection.
pub(crate) struct Proxy {
    _child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

/// What the command said on its stderr, once it has said all.
pub(crate) struct LastWords(watch::Receiver<Option<String>>);

impl LastWords {
    /// Waits shortly for them.
    pub(crate) async fn hear(mut self) -> String {
        let heard = self.0.wait_for(Option::is_some);
        match tokio::time::timeout(std::time::Duration::from_secs(1), heard).await {
            Ok(Ok(said)) => said.clone().unwrap_or_default(),
            _ => String::new(),
        }
    }
}

/// Starts a proxy command.
pub(crate) fn proxy(command: &str) -> Result<(Proxy, LastWords), LinkErrorKind> {
    let failed = |why: String| LinkErrorKind::Proxy(format!("`{command}`: {why}"));
    let mut child = Command::new("/bin/sh")
        .args(["-c", &format!("exec {command}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(mut stderr)) = pipes else {
        return Err(failed("it has no pipes".into()));
    };
    let (said, heard) = watch::channel(None);
    tokio::spawn(async move {
        let mut text = Vec::new();
        let _ = (&mut stderr).take(4096).read_to_end(&mut text).await;
        let _ = said.send(Some(String::from_utf8_lossy(&text).trim().to_owned()));
        // What is beyond is drained, so that the command does not stall.
        let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    });
    Ok((Proxy { _child: child, stdin, stdout }, LastWords(heard)))
}

impl AsyncRead for Proxy {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdout).poll_read(cx, into)
    }
}

impl AsyncWrite for Proxy {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stdin).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stdin).poll_shutdown(cx)
    }
}
