//! Sessions with the language server, played against the real program: tests/cases/lsp/NAME.
//!
//! `session.json` is a list of what an editor sends, in order; the other files of the folder are on its disk.
//! `expected.json` is all that comes back. `DIR` stands for the folder, `"text": "@FILE"` for a file's text,
//! `"position": {"behind": TEXT}` for the place behind a text; `{"raw": TEXT}` is sent as it stands. Completions are
//! kept as their labels. UPDATE=1 writes the answers anew: read every changed one.
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest that one answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Json>,
}

impl Editor {
    fn new(folder: &Path) -> Self {
        let mut child = Command::new(tests::program::tunerun())
            .arg("lsp")
            .current_dir(folder)
            .env_remove("TUNERUN_ROLES_PATH")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, answers) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            while let Some(message) = next(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, answers }
    }

    fn write(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Json) {
        let text = message.to_string();
        self.write(&format!("Content-Length: {}\r\n\r\n{text}", text.len()));
    }

    fn answer(&self) -> Json {
        self.answers.recv_timeout(PATIENCE).expect("an answer")
    }

    /// The exit code, once the stream is closed.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

fn next(output: &mut impl BufRead) -> Option<Json> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().strip_prefix("Content-Length: ") {
            Some(number) => length = number.parse().ok()?,
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// One case: what comes back, and the exit code last.
fn play(folder: &Path) -> Json {
    let here = format!("file://{}", folder.display());
    let text = std::fs::read_to_string(folder.join("session.json")).unwrap();
    let session: Vec<Json> = serde_json::from_str(&text).unwrap();
    let mut editor = Editor::new(folder);
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut told = Vec::new();
    for step in session {
        let awaited = if let Some(raw) = step.get("raw").and_then(Json::as_str) {
            editor.write(raw);
            step["awaits"].as_u64().unwrap_or(1)
        } else {
            let message = filled(step, folder, &here, &mut texts);
            editor.send(&message);
            let method = message["method"].as_str().unwrap_or_default();
            let tells =
                matches!(method, "textDocument/didOpen" | "textDocument/didChange" | "textDocument/didClose");
            u64::from(message.get("id").is_some() || tells)
        };
        for _ in 0..awaited {
            told.push(shortened(editor.answer(), folder));
        }
    }
    let code = editor.end();
    told.push(json!({ "exit": code }));
    Json::Array(told)
}

/// A message with what stands for files and places put in.
fn filled(mut message: Json, folder: &Path, here: &str, texts: &mut BTreeMap<String, String>) -> Json {
    message["jsonrpc"] = json!("2.0");
    let mut address = String::new();
    if let Some(uri) = message.pointer_mut("/params/textDocument/uri") {
        address = uri.as_str().unwrap_or_default().replace("DIR", here);
        *uri = json!(address);
    }
    let paths = ["/params/textDocument/text", "/params/contentChanges/0/text"];
    for path in paths {
        if let Some(text) = message.pointer_mut(path) {
            if let Some(name) = text.as_str().and_then(|text| text.strip_prefix('@')) {
                *text = json!(std::fs::read_to_string(folder.join(name)).unwrap());
            }
            texts.insert(address.clone(), text.as_str().unwrap_or_default().to_owned());
        }
    }
    if let Some(behind) = message.pointer("/params/position/behind").and_then(Json::as_str) {
        let text = &texts[&address];
        let at = text.find(behind).unwrap_or_else(|| panic!("{behind} is not in\n{text}")) + behind.len();
        let line = text[..at].matches('\n').count();
        let column = text[..at].rsplit('\n').next().unwrap().encode_utf16().count();
        message["params"]["position"] = json!({"line": line, "character": column});
    }
    message
}

fn shortened(mut answer: Json, folder: &Path) -> Json {
    let is_completion = |items: &Vec<Json>| items.first().is_some_and(|item| item.get("label").is_some());
    if let Some(Json::Array(items)) =
        answer.get("result").filter(|result| result.as_array().is_some_and(is_completion))
    {
        let labels: Vec<&str> = items.iter().filter_map(|item| item["label"].as_str()).collect();
        let documented = items.iter().filter(|item| item.get("documentation").is_some()).count();
        answer["result"] = json!({"labels": labels.join(" "), "documented": documented});
    }
    if let Some(version) = answer.pointer_mut("/result/serverInfo/version") {
        *version = json!("VERSION");
    }
    let text = answer.to_string().replace(&folder.display().to_string(), "DIR");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn sessions_are_answered_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/lsp");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    assert!(cases.len() >= 8, "only {} sessions", cases.len());
    let only = std::env::var("ONLY").ok();
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| only.as_deref().is_none_or(|only| case.ends_with(only))) {
        let found = serde_json::to_string_pretty(&play(case)).unwrap() + "\n";
        let expected = case.join("expected.json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &found).unwrap();
        }
        let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
        if found != wanted {
            let same = wanted.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
            let part = |text: &str| {
                text.lines().skip(same.saturating_sub(3)).take(12).collect::<Vec<_>>().join("\n")
            };
            wrong.push(format!("== {}\n{}\ninstead of\n{}", case.display(), part(&found), part(&wanted)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} sessions differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A document of 5,000 lines: each answer, and the problems, well within what a person waits for.
#[test]
fn a_long_document_is_answered_at_once() {
    let folder = std::env::temp_dir().join(format!("tunerun-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut text = "- hosts: all\n  vars: {swappiness: 1}\n  tasks:\n".to_owned();
    for number in 0..1000 {
        text.push_str(&format!(
            "    - name: task {number}\n      sysctl:\n        name: vm.knob{number}\n        value: \"{{{{ swappiness }}}}\"\n      when: swappiness == {number}\n"
        ));
    }
    let whole = text.clone();
    text.push_str("    - sysctl:\n        nam");
    let last = text.lines().count() - 1;
    let address = format!("file://{}/site.yaml", folder.display());
    let mut editor = Editor::new(&folder);
    editor.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}));
    editor.answer();
    let document = json!({"uri": address, "languageId": "yaml", "version": 1, "text": whole});
    let mut slowest = Duration::ZERO;
    let mut timed = |editor: &mut Editor, message: Json| {
        let begun = Instant::now();
        editor.send(&message);
        let answer = editor.answer();
        slowest = slowest.max(begun.elapsed());
        answer
    };
    let opened =
        json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}});
    let told = timed(&mut editor, opened);
    assert_eq!(told["params"]["diagnostics"], json!([]), "{told}");
    let params = json!({"textDocument": {"uri": address}, "contentChanges": [{"text": text}]});
    let changed = json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params});
    let told = timed(&mut editor, changed);
    assert_eq!(told["params"]["diagnostics"][0]["range"]["start"]["line"], last, "{told}");
    for method in ["completion", "hover", "definition"] {
        let params = json!({"textDocument": {"uri": address}, "position": {"line": last, "character": 11}});
        let asked =
            json!({"jsonrpc": "2.0", "id": 2, "method": format!("textDocument/{method}"), "params": params});
        let answer = timed(&mut editor, asked);
        assert!(answer.get("result").is_some(), "{answer}");
        if method == "completion" {
            assert!(
                answer["result"].as_array().unwrap().iter().any(|item| item["label"] == "value"),
                "{answer}"
            );
        }
    }
    editor.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert_eq!(editor.end(), Some(1), "`exit` without `shutdown`");
    let _ = std::fs::remove_dir_all(&folder);
    println!("the slowest answer took {slowest:?}");
    assert!(slowest < Duration::from_secs(3), "an answer took {slowest:?}");
}
