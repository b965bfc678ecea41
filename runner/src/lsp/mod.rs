//! The language server: what editors ask of playbooks and inventories, by the Language Server Protocol 3.17.
//!
//! A server is data: a message goes in, messages come out. Streams, environment and exit are the binary's.
mod complete;
mod context;
mod definition;
mod diagnose;
pub mod frame;
mod hover;
mod names;
mod outline;
mod place;
pub mod position;
mod uri;

use crate::inventory::World;
use crate::playbook::{Files, Overlay};
use complete::Asked;
use diagnose::Ground;
use place::kind;
use position::Lines;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Codes of errors, by the protocol.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
const NOT_INITIALIZED: i64 = -32002;
const CANCELLED: i64 = -32800;

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Before `initialize`.
    New,
    /// Between `initialize` and `shutdown`.
    Open,
    /// After `shutdown`.
    Closing,
    /// After `exit`, with the exit code.
    Ended(u8),
}

/// A session with one editor.
pub struct Server {
    files: Box<dyn Files>,
    world: Box<dyn World>,
    role_paths: Vec<String>,
    stage: Stage,
    /// Open documents: their address by path.
    addresses: BTreeMap<String, String>,
    /// Their texts by path.
    texts: BTreeMap<String, String>,
    /// Documents whose problems are to be told again.
    stale: BTreeSet<String>,
}

impl Server {
    /// A session that nothing was said in yet.
    pub fn new(files: Box<dyn Files>, world: Box<dyn World>, role_paths: Vec<String>) -> Self {
        Self {
            files,
            world,
            role_paths,
            stage: Stage::New,
            addresses: BTreeMap::new(),
            texts: BTreeMap::new(),
            stale: BTreeSet::new(),
        }
    }

    /// The exit code, once the editor has ended the session.
    pub fn ended(&self) -> Option<u8> {
        match self.stage {
            Stage::Ended(code) => Some(code),
            _ => None,
        }
    }

    /// Takes a message; gives what is answered.
    pub fn message(&mut self, message: &Json) -> Vec<Json> {
        let Some(method) = message.get("method").and_then(Json::as_str) else {
            // An answer to something that was never asked, or no message at all.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            return if is_answer {
                Vec::new()
            } else {
                vec![error(&Json::Null, INVALID_REQUEST, "a message needs its `method`")]
            };
        };
        let nothing = Json::Null;
        let params = message.get("params").unwrap_or(&nothing);
        match message.get("id") {
            Some(id) => vec![match self.request(method, params) {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err((code, why)) => error(id, code, &why),
            }],
            None => self.notification(method, params),
        }
    }

    fn request(&mut self, method: &str, params: &Json) -> Result<Json, (i64, String)> {
        match (self.stage, method) {
            (Stage::New, "initialize") => {
                self.stage = Stage::Open;
                Ok(capabilities())
            }
            (Stage::New, _) => Err((NOT_INITIALIZED, "`initialize` comes first".to_owned())),
            (Stage::Closing | Stage::Ended(_), _) => {
                Err((INVALID_REQUEST, "the session was shut down".to_owned()))
            }
            (Stage::Open, "initialize") => Err((INVALID_REQUEST, "the session is open already".to_owned())),
            (Stage::Open, "shutdown") => {
                self.stage = Stage::Closing;
                Ok(Json::Null)
            }
            (Stage::Open, "textDocument/completion" | "textDocument/hover" | "textDocument/definition") => {
                self.asked(method, params)
            }
            (Stage::Open, _) => Err((METHOD_NOT_FOUND, format!("`{method}` is not offered"))),
        }
    }

    fn asked(&self, method: &str, params: &Json) -> Result<Json, (i64, String)> {
        let wrong = |why: &str| (INVALID_PARAMS, why.to_owned());
        let address = params.pointer("/textDocument/uri").and_then(Json::as_str);
        let path = uri::path(address.ok_or_else(|| wrong("a request names its document"))?);
        let text = self.texts.get(&path).ok_or_else(|| wrong("this document is not open"))?;
        let place = |name: &str| {
            let number = params.pointer(&format!("/position/{name}")).and_then(Json::as_u64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let (Some(line), Some(column)) = (place("line"), place("character")) else {
            return Err(wrong("a request needs its position"));
        };
        let lines = Lines::new(text);
        let context = context::context(text, lines.offset(line, column));
        let files = Overlay::new(&*self.files, &self.texts);
        let asked = Asked { path: &path, text, kind: kind(&path, text), files: &files };
        Ok(match method {
            "textDocument/completion" => complete::complete(&asked, &context).into(),
            "textDocument/hover" => match hover::hover(&asked, &context) {
                Some(words) => json!({
                    "contents": {"kind": "markdown", "value": words},
                    "range": lines.range(context.range.clone()),
                }),
                None => Json::Null,
            },
            _ => {
                let found = definition::definitions(&asked, &context);
                found.into_iter().map(|target| self.location(&target, &files)).collect()
            }
        })
    }

    fn location(&self, target: &definition::Target, files: &dyn Files) -> Json {
        let text = files.read(&target.path).unwrap_or_default();
        let address = self.addresses.get(&target.path).cloned().unwrap_or_else(|| uri::of(&target.path));
        json!({"uri": address, "range": Lines::new(&text).range(target.range.clone())})
    }

    fn notification(&mut self, method: &str, params: &Json) -> Vec<Json> {
        let address = params.pointer("/textDocument/uri").and_then(Json::as_str).unwrap_or_default();
        match (self.stage, method) {
            (Stage::Closing, "exit") => self.stage = Stage::Ended(0),
            (_, "exit") => self.stage = Stage::Ended(1),
            (Stage::Open, "textDocument/didOpen") => {
                self.changed(address, params.pointer("/textDocument/text"));
            }
            (Stage::Open, "textDocument/didChange") => {
                // The whole text comes with each change; of several the last one holds.
                let changes = params.get("contentChanges").and_then(Json::as_array);
                self.changed(address, changes.and_then(|changes| changes.last()?.get("text")));
            }
            (Stage::Open, "textDocument/didSave") => self.stale.extend(self.texts.keys().cloned()),
            (Stage::Open, "textDocument/didClose") => {
                let path = uri::path(address);
                self.texts.remove(&path);
                self.stale.remove(&path);
                if let Some(address) = self.addresses.remove(&path) {
                    return vec![published(&address, Vec::new())];
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn changed(&mut self, address: &str, text: Option<&Json>) {
        let Some(text) = text.and_then(Json::as_str).filter(|_| !address.is_empty()) else { return };
        let path = uri::path(address);
        self.addresses.insert(path.clone(), address.to_owned());
        self.texts.insert(path.clone(), text.to_owned());
        self.stale.insert(path);
    }

    /// Tells the problems of documents that have changed. To be called when no message waits.
    pub fn settle(&mut self) -> Vec<Json> {
        if self.stage != Stage::Open {
            return Vec::new();
        }
        let stale = std::mem::take(&mut self.stale);
        let ground = Ground {
            files: &*self.files,
            world: &*self.world,
            texts: &self.texts,
            role_paths: &self.role_paths,
        };
        let told = stale.iter().filter_map(|path| {
            let (address, text) = (self.addresses.get(path)?, self.texts.get(path)?);
            Some(published(address, diagnose::diagnostics(&ground, path, text, kind(path, text))))
        });
        told.collect()
    }
}

/// The answer to a request that was taken back before its turn came.
pub fn cancelled(id: &Json) -> Json {
    error(id, CANCELLED, "the request was cancelled")
}

/// The answer to a request that could not be worked out.
pub fn failed(id: &Json) -> Json {
    error(id, INTERNAL_ERROR, "this is a mistake of the server: the request could not be answered")
}

/// The answer to bytes that are no message.
pub fn malformed(why: &frame::Fault) -> Json {
    error(&Json::Null, PARSE_ERROR, &why.to_string())
}

fn error(id: &Json, code: i64, why: &str) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

fn published(address: &str, diagnostics: Vec<Json>) -> Json {
    json!({
        "jsonrpc": "2.0",
        "method": "textDocument/publishDiagnostics",
        "params": {"uri": address, "diagnostics": diagnostics},
    })
}

fn capabilities() -> Json {
    json!({
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": true, "change": 1, "save": true},
            "completionProvider": {"triggerCharacters": [" ", ":", "{", "."]},
            "hoverProvider": true,
            "definitionProvider": true,
        },
        "serverInfo": {"name": "tunerun", "version": env!("CARGO_PKG_VERSION")},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playbook::Memory;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Whatever was typed so far, wherever the caret stands: an answer, and problems, and no crash.
        #[test]
        fn no_text_makes_it_crash(
            text in "(- |  |    |hosts: all|tasks:|sysctl:|copy: \\{|\\[|\\]|\\}|when: |\\{\\{ |a|: |, |\n|\"|'|\\||#|é|😀|roles:|vars:|notify: |\t|gate:|all:|hosts:|register: |set_fact: |=){0,30}",
            line in 0..12_usize,
            column in 0..30_usize,
            name in prop_oneof![Just("site.yaml"), Just("hosts.yaml"), Just("hosts.ini"), Just("roles/a/tasks/main.yml"), Just("group_vars/all.yaml")],
        ) {
            let mut server = Server::new(Box::new(Memory::default()), Box::new(crate::inventory::Disk), Vec::new());
            server.message(&json!({"id": 1, "method": "initialize"}));
            let address = format!("file:///none/{name}");
            let document = json!({"uri": address, "text": text});
            server.message(&json!({"method": "textDocument/didOpen", "params": {"textDocument": document}}));
            prop_assert_eq!(server.settle().len(), 1);
            for method in ["completion", "hover", "definition"] {
                let position = json!({"line": line, "character": column});
                let params = json!({"textDocument": {"uri": address}, "position": position});
                let answers = server.message(&json!({"id": 2, "method": format!("textDocument/{method}"), "params": params}));
                prop_assert!(answers[0].get("result").is_some(), "{:?}", answers);
            }
        }
    }
}
