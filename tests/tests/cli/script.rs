//! One case: files and commands with what they print.
use crate::redact::redacted;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A case that was read.
pub struct Script {
    /// All before the first command, as written.
    head: String,
    files: Vec<(String, String)>,
    commands: Vec<String>,
    /// Whether it says that it needs root.
    pub needs_root: bool,
}

impl Script {
    /// Reads a case.
    ///
    /// # Panics
    /// If a command is not ended by its status.
    pub fn parse(name: &str, text: &str) -> Self {
        let mut head = String::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            let _ = writeln!(head, "{line}");
        }
        let mut files: Vec<(String, String)> = Vec::new();
        for line in head.lines() {
            match (line.strip_prefix("--- "), files.last_mut()) {
                (Some(path), _) => files.push((path.to_owned(), String::new())),
                (None, Some((_, text))) => {
                    let _ = writeln!(text, "{line}");
                }
                (None, None) => {}
            }
        }
        for (_, text) in &mut files {
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        let mut commands = Vec::new();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            commands.push(command.to_owned());
            while lines.next_if(|line| !is_status(line) && !line.starts_with("$ ")).is_some() {}
            if lines.peek().is_some_and(|line| is_status(line)) {
                lines.next();
            }
        }
        assert!(!commands.is_empty(), "{name} has no command");
        let needs_root = head.lines().any(|line| line == "needs root");
        Self { head, files, commands, needs_root }
    }

    /// Plays the case in a fresh folder; gives the text that its file should hold.
    pub fn play(&self, programs: &Path, folder: &Path) -> String {
        std::fs::create_dir_all(folder.join("home")).unwrap();
        // A case may act as another user in here.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let here = folder.to_string_lossy().into_owned();
        for (name, text) in &self.files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text.replace("/DIR", &here)).unwrap();
        }
        let mut out = self.head.clone();
        for (number, command) in self.commands.iter().enumerate() {
            if number > 0 {
                out.push('\n');
            }
            let (text, status) = run(&command.replace("/DIR", &here), programs, folder);
            let mut text = redacted(&text, &here);
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let _ = write!(out, "$ {command}\n{text}? {status}\n");
        }
        out
    }
}

fn is_status(line: &str) -> bool {
    line.strip_prefix("? ").is_some_and(|rest| rest.parse::<u8>().is_ok())
}

/// Both outputs go to one file, in the order in which they are written.
fn run(command: &str, programs: &Path, folder: &Path) -> (String, i32) {
    let log = folder.with_extension("log");
    let file = std::fs::File::create(&log).unwrap();
    let status = Command::new("/bin/sh")
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", programs.display()))
        .env("HOME", folder.join("home"))
        .env("TUNERUN_RUNS", folder.join("runs"))
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .status()
        .unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    let _ = std::fs::remove_file(&log);
    (text, status.code().unwrap_or(-1))
}
