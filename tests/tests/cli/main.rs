//! Transcripts of the real program: `cases/*.txt` hold what is typed and all that is printed.
//!
//! A case begins with words about it, goes on with files (`--- PATH` and their text), then commands: `$ COMMAND` for
//! sh, what it prints, `? STATUS`. `/DIR` stands for the case's own folder. UPDATE=1 writes the printed texts anew: read
//! every changed one, for it must be kind, true and of use. ONLY=NAME runs one case.
mod broken;
mod lsp;
mod man;
mod redact;
mod schemas;
mod script;

use script::Script;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn transcripts_are_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/cases");
    let only = std::env::var("ONLY").ok();
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .filter(|path| only.as_deref().is_none_or(|only| path.file_stem().is_some_and(|stem| stem == only)))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no case");
    let bed = Bed::new();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Some(words) = bed.differs(case) {
                        wrong.lock().unwrap().push(words);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} cases differ:\n\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    println!("{} transcripts are as written", cases.len());
}

/// A folder that any user may enter, with the program in it. It goes away in the end.
struct Bed {
    folder: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let folder = PathBuf::from(format!("/tmp/tunerun-cli-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        std::fs::copy(tests::program::tunerun(), folder.join("bin/tunerun")).unwrap();
        Self { folder }
    }

    /// Plays a case; gives what differs.
    fn differs(&self, path: &Path) -> Option<String> {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let written = std::fs::read_to_string(path).unwrap();
        let script = Script::parse(&name, &written);
        if script.needs_root && !tests::program::is_root(&format!("the transcript `{name}`")) {
            return None;
        }
        let found = script.play(&self.folder.join("bin"), &self.folder.join(&name));
        if found == written {
            return None;
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, &found).unwrap();
            return None;
        }
        Some(format!("== {name}\n{}", difference(&written, &found)))
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The lines around the first difference.
fn difference(written: &str, found: &str) -> String {
    let same = written.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let part = |text: &str, mark: &str| -> String {
        let from = same.saturating_sub(if mark == "-" { 4 } else { 0 });
        text.lines()
            .enumerate()
            .skip(from)
            .take(if mark == "-" { 12 } else { 14 })
            .map(|(at, line)| format!("{} {line}\n", if at < same { " " } else { mark }))
            .collect()
    };
    format!("line {}:\n{}{}", same + 1, part(written, "-"), part(found, "+"))
}
