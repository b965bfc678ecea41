//! A person at a terminal: the question before a plan is applied, before each host, and for what is decided late.
use crate::bed::{Bed, Done, on_all};
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tests::program::tunerun;

/// The program on a pseudo terminal that `script` of util-linux makes.
pub struct Terminal {
    child: Child,
    input: ChildStdin,
    shown: Arc<Mutex<String>>,
    read: usize,
}

impl Terminal {
    /// Plays `site.yml`.
    pub fn play(bed: &Bed, arguments: &str) -> Self {
        Self::of(bed, &format!("play site.yml -i hosts.yml {arguments}"))
    }

    /// Resumes the last run.
    fn resume(bed: &Bed, arguments: &str) -> Self {
        Self::of(bed, &format!("resume last {arguments}"))
    }

    fn of(bed: &Bed, words: &str) -> Self {
        let words = format!("'{}' {words} --runs runs", tunerun().display());
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--flush", "--command", &words, "/dev/null"]);
        command.current_dir(&bed.dir).env("NO_COLOR", "1").env("TERM", "dumb");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let shown = Arc::new(Mutex::new(String::new()));
        let seen = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { child, input, shown, read: 0 }
    }

    /// Waits for words that were not there before, and answers.
    #[track_caller]
    pub fn answer(&mut self, question: &str, answer: &str) -> &mut Self {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let shown = self.shown.lock().unwrap().clone();
            if let Some(at) = shown[self.read..].find(question) {
                self.read += at + question.len();
                break;
            }
            assert!(Instant::now() < until, "`{question}` is not asked in:\n{}", &shown[self.read..]);
            std::thread::sleep(Duration::from_millis(20));
        }
        self.input.write_all(answer.as_bytes()).unwrap();
        self.input.flush().unwrap();
        self
    }

    pub fn ended(mut self) -> Done {
        let until = Instant::now() + Duration::from_secs(60);
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code().unwrap_or(-1);
            }
            if Instant::now() > until {
                let _ = self.child.kill();
                panic!("it does not end:\n{}", self.shown.lock().unwrap());
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let err = self.shown.lock().unwrap().clone();
        Done { code, out: String::new(), err }
    }
}

#[test]
fn a_plan_is_applied_where_a_person_says_yes() {
    let bed = Bed::one();
    bed.file("site.yml", &on_all("- copy: {dest: \"{{ root }}/x\", content: x}"));
    let mut terminal = Terminal::play(&bed, "");
    terminal.answer("Apply this?", "n");
    terminal.ended().ended(16).says("nothing was changed").says("~ copy");
    assert!(bed.names("a").is_empty() && bed.runs().is_empty());
    let mut terminal = Terminal::play(&bed, "");
    terminal.answer("Apply this?", "y");
    terminal.ended().ok();
    assert_eq!(bed.names("a"), ["x"]);
}

#[test]
fn with_step_each_host_is_asked_for_in_turn() {
    let bed = Bed::new(&["a", "b", "c"]);
    bed.file("site.yml", &on_all("- copy: {dest: \"{{ root }}/x\", content: x}"));
    let mut terminal = Terminal::play(&bed, "--step");
    terminal.answer("Apply this?", "y").answer("Go on with a?", "y").answer("Go on with b?", "n");
    // Nobody goes on before the one before is done.
    assert_eq!(bed.names("a"), ["x"]);
    terminal.answer("Go on with c?", "y");
    terminal.ended().ended(16).says("not confirmed");
    assert_eq!(
        (bed.names("a"), bed.names("b"), bed.names("c")),
        (vec!["x".into()], vec![], vec!["x".into()])
    );
    // With --yes the plan is not asked for, the hosts are.
    let mut terminal = Terminal::play(&bed, "--step --yes");
    terminal.answer("Go on with b?", "y");
    terminal.ended().ok();
    assert_eq!(bed.names("b"), ["x"]);
}

const LATE: &str = r#"- copy: {dest: "{{ root }}/first", content: x}
- command: echo wide
  register: how
  changed_when: true
- copy: {dest: "{{ root }}/late", content: "{{ how.stdout }}\n"}
- copy: {dest: "{{ root }}/sure", content: x}"#;

#[test]
fn what_is_decided_late_is_asked_for_when_it_is_decided() {
    let bed = Bed::one();
    bed.file("site.yml", &on_all(LATE));
    let mut terminal = Terminal::play(&bed, "");
    terminal.answer("decided after", "").answer("Apply this?", "y");
    terminal.answer("decided just now", "").answer("+wide", "").answer("Apply this on a?", "n");
    terminal.ended().ended(16).says("not confirmed");
    // What came before it was agreed to, and stays.
    assert_eq!(bed.names("a"), ["first"]);
    let mut terminal = Terminal::play(&bed, "");
    terminal.answer("Apply this?", "y").answer("Apply this on a?", "y");
    terminal.ended().ok();
    assert_eq!(bed.got("a/late").as_deref(), Some("wide\n"));
    assert_eq!(bed.names("a"), ["first", "late", "sure"]);
}

#[test]
fn yes_takes_what_is_decided_late() {
    let bed = Bed::one();
    bed.file("site.yml", &on_all(LATE));
    bed.call(&["--yes"]).ok();
    assert_eq!(bed.names("a"), ["first", "late", "sure"]);
}

#[test]
fn a_run_is_resumed_where_a_person_says_yes() {
    let bed = super::resuming::cut_off();
    let words = "-e word=w -e api_token=s3cret";
    let mut terminal = Terminal::resume(&bed, words);
    terminal.answer("Apply this?", "n");
    terminal.ended().ended(16);
    assert_eq!(bed.names("a"), ["go"]);
    let mut terminal = Terminal::resume(&bed, words);
    terminal.answer("Apply this?", "y");
    terminal.ended().ok();
    assert_eq!(bed.names("a"), ["first", "go", "last", "second", "waits"]);
}
