//! Programs on this machine, for `connection: local`: the same protocol over pipes.
use super::shell::Stream;
use super::wire::{Exit, Sink};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

/// Output that a program left behind is awaited so long when it has ended and a child of it holds the pipes.
const LINGER: Duration = Duration::from_millis(200);
const BUFFER: usize = 32 * 1024;

/// The input of a local program, and its process group.
pub(crate) struct Input {
    stdin: Mutex<Option<ChildStdin>>,
    group: Pid,
    gone: Arc<AtomicBool>,
}

/// The outputs of a local program.
pub(crate) struct Outputs {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: Vec<u8>,
    err: Vec<u8>,
    exit: Option<Exit>,
    gone: Arc<AtomicBool>,
}

/// Starts a shell command line in a process group of its own.
pub(crate) fn start(command: &str) -> std::io::Result<(Input, Outputs)> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    let group = group.ok_or_else(|| std::io::Error::other("it ended while it was started"))?;
    let gone = Arc::new(AtomicBool::new(false));
    let stdin = Mutex::new(child.stdin.take());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let input = Input { stdin, group, gone: Arc::clone(&gone) };
    let (out, err) = (vec![0; BUFFER], vec![0; BUFFER]);
    Ok((input, Outputs { child, stdout, stderr, out, err, exit: None, gone }))
}

impl Input {
    pub(crate) async fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        match self.stdin.lock().await.as_mut() {
            Some(stdin) => stdin.write_all(bytes).await,
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(crate) async fn finish(&self) {
        // A writer that is stuck holds the lock; then the kill or the end of the program frees it.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
    }

    /// Ends the whole group. Not after its leader was waited for: the number may be somebody else's then.
    pub(crate) fn kill(&self) {
        if !self.gone.load(Ordering::SeqCst) {
            let _ = killpg(self.group, Signal::SIGKILL);
        }
    }
}

impl Outputs {
    pub(crate) async fn next(&mut self, sink: Sink<'_>) -> Option<Exit> {
        if let (None, None) = (&self.stdout, &self.stderr) {
            return Some(self.reap().await);
        }
        let ended = self.exit.is_some();
        tokio::select! {
            biased;
            read = read(self.stdout.as_mut(), &mut self.out), if self.stdout.is_some() => match read {
                0 => self.stdout = None,
                count => sink(Stream::Out, &self.out[..count]),
            },
            read = read(self.stderr.as_mut(), &mut self.err), if self.stderr.is_some() => match read {
                0 => self.stderr = None,
                count => sink(Stream::Err, &self.err[..count]),
            },
            status = self.child.wait(), if !ended => {
                self.exit = Some(exit_of(status));
                self.gone.store(true, Ordering::SeqCst);
            }
            () = tokio::time::sleep(LINGER), if ended => return self.exit.clone(),
        }
        None
    }

    async fn reap(&mut self) -> Exit {
        if self.exit.is_none() {
            self.exit = Some(exit_of(self.child.wait().await));
            self.gone.store(true, Ordering::SeqCst);
        }
        self.exit.clone().unwrap_or_default()
    }
}

/// Reads once; an error is an end.
async fn read(from: Option<&mut (impl AsyncReadExt + Unpin)>, buffer: &mut [u8]) -> usize {
    match from {
        Some(from) => from.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

fn exit_of(status: std::io::Result<std::process::ExitStatus>) -> Exit {
    match status {
        Ok(status) => Exit {
            status: status.code(),
            signal: status.signal().map(|signal| format!("signal {signal}")),
            refused: false,
        },
        Err(error) => Exit { signal: Some(error.to_string()), ..Exit::default() },
    }
}
