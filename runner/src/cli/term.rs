//! The terminal: data to stdout, all else to stderr, questions to people.
use indicatif::MultiProgress;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use tunerun::diagnostic::Diagnostic;
use tunerun::report::diagnostic::{count, render};
use tunerun::report::paint::Paint;

/// What is held back, in the order in which it came, while somebody plays many times.
static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Holds back all that is said from now on.
pub fn hold() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// Ends that; what was held back is said now, or dropped.
pub fn release(show: bool) {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(held) = held.filter(|_| show) {
        let _ = std::io::stderr().lock().write_all(&held);
    }
}

/// Where all goes that is said, once the terminal is gone.
static ELSEWHERE: Mutex<Option<std::fs::File>> = Mutex::new(None);

/// Everything is written there from now on.
pub fn redirect(file: std::fs::File) {
    *ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
}

/// Whether it was written elsewhere.
fn is_elsewhere(text: &str) -> bool {
    let mut elsewhere = ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file) = elsewhere.as_mut() else { return false };
    let _ = file.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = file.write_all(b"\n");
    }
    true
}

/// The picture that stands below the text, while a run goes on.
static PICTURE: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Whether stdout is for programs.
static PROGRAMS: AtomicBool = AtomicBool::new(false);

/// A picture stands below the text from now on, or none.
pub fn draw(picture: Option<MultiProgress>) {
    *PICTURE.lock().unwrap_or_else(PoisonError::into_inner) = picture;
}

/// Writes while the picture is away.
fn beside_picture<T>(write: impl FnOnce() -> T) -> T {
    let picture = PICTURE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match picture {
        Some(picture) => picture.suspend(write),
        None => write(),
    }
}

/// What is data for people goes to stderr from now on.
pub fn data_is_for_programs() {
    PROGRAMS.store(true, Ordering::Relaxed);
}

/// Whether a picture can be drawn again and again: a person looks on, at a terminal that can.
pub fn can_draw() -> bool {
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    std::io::stderr().is_terminal()
        && !dumb
        && std::env::var_os("CI").is_none()
        && std::env::var_os("TERM").is_some()
}

/// How wide the terminal is, in characters.
pub fn width() -> usize {
    usize::from(console::Term::stderr().size().1)
}

/// Whether it was held back.
fn is_held(text: &str) -> bool {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(held) = held.as_mut() else { return false };
    held.extend_from_slice(text.as_bytes());
    if !text.ends_with('\n') {
        held.push(b'\n');
    }
    true
}

/// Prints data. A reader that went away (a closed pipe) is not an error.
pub fn data(text: &str) {
    if text.is_empty() || is_held(text) || is_elsewhere(text) {
        return;
    }
    if PROGRAMS.load(Ordering::Relaxed) {
        return say(text);
    }
    beside_picture(|| {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes());
        if !text.ends_with('\n') {
            let _ = out.write_all(b"\n");
        }
    });
}

/// What the system says of a file, in words for people.
pub fn io_words(why: &std::io::Error) -> String {
    match why.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "you may not do that there".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => why.to_string(),
    }
}

/// Prints bytes as they are.
pub fn bytes(bytes: &[u8]) {
    let _ = std::io::stdout().lock().write_all(bytes);
}

/// Says something beside the data.
pub fn say(text: &str) {
    if is_held(text) || is_elsewhere(text) {
        return;
    }
    beside_picture(|| {
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(text.as_bytes());
        if !text.ends_with('\n') {
            let _ = out.write_all(b"\n");
        }
    });
}

/// Whether stdout takes colour.
pub fn paint() -> Paint {
    Paint(std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none())
}

/// Whether stderr takes colour.
pub fn paint_stderr() -> Paint {
    Paint(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
}

/// Shows problems with their places, and their count.
pub fn problems(problems: &[Diagnostic]) {
    if problems.is_empty() {
        return;
    }
    say(&render(problems, paint_stderr().0));
    say(&count(problems));
}

/// Shows problems that are not about what was written: without their count.
pub fn problems_only(problems: &[Diagnostic]) {
    if !problems.is_empty() {
        say(&render(problems, paint_stderr().0));
    }
}

/// One problem without a place.
pub fn wrong(message: impl Into<String>, help: Option<&str>) {
    let mut problem = Diagnostic::error(message, None);
    problem.help = help.map(str::to_owned);
    say(&render(&[problem], paint_stderr().0));
}

/// Whether a person can be asked.
pub fn can_ask() -> bool {
    let gone = ELSEWHERE.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    !gone && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question that is answered by yes or no; no where nobody can be asked.
pub fn ask(question: &str) -> bool {
    let asked = || dialoguer::Confirm::new().with_prompt(question).default(false).interact().unwrap_or(false);
    can_ask() && beside_picture(asked)
}

/// Asks while hosts are at work: one question at a time. All but its last line is said before.
pub fn ask_in_turn(question: &str) -> bool {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match question.rsplit_once('\n') {
        Some((before, last)) => {
            say(before);
            ask(last)
        }
        None => ask(question),
    }
}

/// Asks for a secret.
pub fn ask_secret(question: &str) -> Option<String> {
    if !can_ask() {
        return None;
    }
    beside_picture(|| {
        dialoguer::Password::new().with_prompt(question).allow_empty_password(true).interact().ok()
    })
}

/// Asks for text.
pub fn ask_text(question: &str, default: Option<&str>) -> Option<String> {
    if !can_ask() {
        return None;
    }
    let mut input = dialoguer::Input::<String>::new().with_prompt(question).allow_empty(true);
    if let Some(default) = default {
        input = input.default(default.to_owned());
    }
    beside_picture(|| input.interact_text().ok())
}
