//! `tunerun lsp`: the language server on standard input and output.
use super::exit::Exit;
use clap::Args;
use serde_json::Value as Json;
use std::collections::VecDeque;
use std::io::{self, BufReader};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use tunerun::lsp::frame::{self, Fault};
use tunerun::lsp::{Server, cancelled, malformed};
use tunerun::{inventory, playbook};

/// Helps editors: problems while typing, completion, documentation, and where things are set.
///
/// It speaks the Language Server Protocol on standard input and output, contacts no host and runs no program.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun lsp                                   started by the editor, not by hand
  vim.lsp.start({name = 'tunerun', cmd = {'tunerun', 'lsp'}})          in Neovim, for files of YAML")]
pub struct Lsp {
    /// Taken for editors that add it; there is no other way
    #[arg(long, hide = true)]
    pub stdio: bool,
}

/// Messages that are read ahead: enough to see that one was taken back.
const AHEAD: usize = 256;

impl Lsp {
    /// Runs it.
    pub fn run(self) -> Exit {
        let roles = std::env::var("TUNERUN_ROLES_PATH").unwrap_or_default();
        let roles = roles.split(':').filter(|path| !path.is_empty()).map(str::to_owned).collect();
        let mut server = Server::new(Box::new(playbook::Disk), Box::new(inventory::Disk), roles);
        let (sender, receiver) = sync_channel(AHEAD);
        std::thread::spawn(move || {
            let mut input = BufReader::new(io::stdin());
            loop {
                let found = frame::read(&mut input).transpose();
                let Some(found) = found else { return };
                let broken = matches!(found, Err(Fault::Io(_)));
                if sender.send(found).is_err() || broken {
                    return;
                }
            }
        });
        match serve(&mut server, &receiver) {
            Ok(Some(0)) => Exit::Done,
            // The stream ended without `exit`: whoever asked is gone.
            _ => Exit::Failed,
        }
    }
}

/// Answers until the editor ends the session or the stream ends.
fn serve(server: &mut Server, receiver: &Receiver<Result<Json, Fault>>) -> io::Result<Option<u8>> {
    let mut waiting: VecDeque<Result<Json, Fault>> = VecDeque::new();
    let mut output = io::stdout().lock();
    let mut is_broken = false;
    loop {
        loop {
            match receiver.try_recv() {
                Ok(message) => waiting.push_back(message),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        if waiting.is_empty() {
            for message in server.settle() {
                frame::write(&mut output, &message)?;
            }
            match receiver.recv() {
                Ok(message) => waiting.push_back(message),
                Err(_) => return Ok(None),
            }
            continue;
        }
        match waiting.pop_front() {
            Some(Ok(message)) => {
                is_broken = false;
                if let Some(id) = message.get("id").filter(|id| is_taken_back(id, &waiting)) {
                    frame::write(&mut output, &cancelled(id))?;
                    continue;
                }
                for answer in server.message(&message) {
                    frame::write(&mut output, &answer)?;
                }
            }
            Some(Err(Fault::Io(_))) | None => return Ok(None),
            // Of one broken message many lines may be left: they are told once.
            Some(Err(why)) => {
                let is_header = matches!(why, Fault::Header(_));
                if !(is_header && is_broken) {
                    frame::write(&mut output, &malformed(&why))?;
                }
                is_broken = is_header;
            }
        }
        if let Some(code) = server.ended() {
            return Ok(Some(code));
        }
    }
}

/// Whether a request is cancelled by a message behind it.
fn is_taken_back(id: &Json, waiting: &VecDeque<Result<Json, Fault>>) -> bool {
    waiting.iter().flatten().any(|message| {
        message.get("method").and_then(Json::as_str) == Some("$/cancelRequest")
            && message.pointer("/params/id") == Some(id)
    })
}
