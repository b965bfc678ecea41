//! `tunerun lsp`: the language server on standard input and output.
use super::exit::Exit;
use clap::Args;
use serde_json::Value as Json;
use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::sync::mpsc::{Receiver, sync_channel};
use tunerun::lsp::frame::{self, Fault};
use tunerun::lsp::{Server, cancelled, failed, malformed};
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
        match serve(&mut server, &receiver, &mut io::stdout().lock()) {
            Ok(Some(0)) => Exit::Done,
            // The stream ended without `exit`: whoever asked is gone.
            _ => Exit::Failed,
        }
    }
}

/// Answers until the editor ends the session or the stream ends.
fn serve(
    server: &mut Server,
    receiver: &Receiver<Result<Json, Fault>>,
    output: &mut impl Write,
) -> io::Result<Option<u8>> {
    let mut waiting: VecDeque<Result<Json, Fault>> = VecDeque::new();
    let mut is_broken = false;
    loop {
        while let Ok(message) = receiver.try_recv() {
            waiting.push_back(message);
        }
        if waiting.is_empty() {
            for message in guarded(&Json::Null, || server.settle()) {
                frame::write(output, &message)?;
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
                    frame::write(output, &cancelled(id))?;
                    continue;
                }
                let id = message.get("id").cloned().unwrap_or_default();
                for answer in guarded(&id, || server.message(&message)) {
                    frame::write(output, &answer)?;
                }
            }
            Some(Err(Fault::Io(_))) | None => return Ok(None),
            // Of one broken message many lines may be left: they are told once.
            Some(Err(why)) => {
                let is_header = matches!(why, Fault::Header(_));
                if !(is_header && is_broken) {
                    frame::write(output, &malformed(&why))?;
                }
                is_broken = is_header;
            }
        }
        if let Some(code) = server.ended() {
            return Ok(Some(code));
        }
    }
}

/// A mistake of this program costs one answer, and not the editor's session.
fn guarded(id: &Json, work: impl FnOnce() -> Vec<Json>) -> Vec<Json> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
        .unwrap_or_else(|_| if id.is_null() { Vec::new() } else { vec![failed(id)] })
}

/// Whether a request is cancelled by a message behind it.
fn is_taken_back(id: &Json, waiting: &VecDeque<Result<Json, Fault>>) -> bool {
    waiting.iter().flatten().any(|message| {
        message.get("method").and_then(Json::as_str) == Some("$/cancelRequest")
            && message.pointer("/params/id") == Some(id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is answered to messages that all wait already.
    fn answers(messages: &[Json]) -> (Vec<Json>, Option<u8>) {
        let (sender, receiver) = sync_channel(AHEAD);
        messages.iter().for_each(|message| sender.send(Ok(message.clone())).unwrap());
        drop(sender);
        let mut server = Server::new(Box::new(playbook::Disk), Box::new(inventory::Disk), Vec::new());
        let mut output = Vec::new();
        let code = serve(&mut server, &receiver, &mut output).unwrap();
        let mut input = &output[..];
        let mut found = Vec::new();
        while let Ok(Some(message)) = frame::read(&mut input) {
            found.push(message);
        }
        (found, code)
    }

    #[test]
    fn a_request_that_was_taken_back_is_not_done() {
        let hover = json!({"id": 5, "method": "textDocument/hover", "params": {}});
        let (found, code) = answers(&[
            json!({"id": 1, "method": "initialize"}),
            hover.clone(),
            json!({"method": "$/cancelRequest", "params": {"id": 5}}),
            json!({"id": 6, "method": "shutdown"}),
            json!({"method": "exit"}),
            hover,
        ]);
        let told: Vec<&Json> = found.iter().map(|answer| &answer["id"]).collect();
        assert_eq!(told, [1, 5, 6], "{found:?}");
        assert_eq!((found[1]["error"]["code"].as_i64(), code), (Some(-32800), Some(0)));
    }

    #[test]
    fn only_the_last_of_several_texts_is_looked_at() {
        let open = |text: &str| json!({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///none/site.yaml", "text": text}}});
        let (found, code) =
            answers(&[json!({"id": 1, "method": "initialize"}), open("- hostss: x"), open("- hosts: all\n")]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((&found[1]["params"]["diagnostics"], code), (&json!([]), None));
    }

    #[test]
    fn a_mistake_of_this_program_costs_one_answer() {
        let told = guarded(&json!(7), || panic!("on purpose"));
        assert_eq!(told[0]["error"]["code"], -32603);
        assert!(guarded(&Json::Null, || panic!("on purpose")).is_empty());
    }
}
