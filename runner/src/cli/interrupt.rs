//! Ctrl-C, and what else ends programs: a run finishes what it has begun, asks once, and never ends in the middle.
use super::detached;
use super::term;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tunerun::engine::walk::Scene;
use tunerun::journal::{Journal, Record};
use tunerun::rollout::ROLLED_BACK;

/// Listens while a run acts. Dropped, the signals end the program again as ever.
pub struct Interrupt(JoinHandle<()>);

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether a person asked for all that the run changed to go back.
pub type AskedBack = Arc<OnceLock<()>>;

/// What a person says to a run that was interrupted.
enum Word {
    Stop,
    Undo,
    GoOn,
}

impl Interrupt {
    /// Listens from now on.
    pub fn listen(scene: &Arc<Scene>, journal: &Journal, back: &AskedBack) -> Option<Self> {
        let (mut interrupt, mut terminate, mut hangup) = (
            signal(SignalKind::interrupt()).ok()?,
            signal(SignalKind::terminate()).ok()?,
            signal(SignalKind::hangup()).ok()?,
        );
        let (scene, journal, back) = (Arc::clone(scene), journal.clone(), Arc::clone(back));
        Some(Self(tokio::spawn(async move {
            let asking = Arc::new(AtomicBool::new(false));
            loop {
                tokio::select! {
                    Some(()) = interrupt.recv() => {
                        let again = asking.swap(true, Ordering::SeqCst);
                        if again || !term::can_ask() {
                            stop(&scene, again);
                            continue;
                        }
                        scene.stopping().ask();
                        let run = Asked { scene: Arc::clone(&scene), journal: journal.clone(), back: Arc::clone(&back) };
                        let asking = Arc::clone(&asking);
                        let runtime = tokio::runtime::Handle::current();
                        // A thread of its own: the end of the program does not wait for somebody who says nothing.
                        std::thread::spawn(move || {
                            let word = ask();
                            runtime.block_on(run.answered(word));
                            asking.store(false, Ordering::SeqCst);
                        });
                    }
                    Some(()) = terminate.recv() => stop(&scene, false),
                    Some(()) = hangup.recv() => lost(&journal),
                    else => return,
                }
            }
        })))
    }
}

/// Nothing more is begun.
fn stop(scene: &Scene, again: bool) {
    let words = if again { "interrupted again: " } else { "interrupted: " };
    term::say(&format!("{words}what was begun is finished, and nothing more is begun"));
    scene.stopping().stop();
}

/// The terminal is gone: the run goes on, and says what it has to say where `tunerun attach` looks.
fn lost(journal: &Journal) {
    let folder: Option<PathBuf> = journal.path().parent().map(Into::into);
    if let Some(folder) = folder
        && let Ok(output) = detached::output(&folder)
    {
        term::redirect(output);
    }
}

/// A run that somebody has interrupted.
struct Asked {
    scene: Arc<Scene>,
    journal: Journal,
    back: AskedBack,
}

fn ask() -> Word {
    loop {
        term::say(
            "interrupted: what was begun is finished, and the run waits. Stop here (s), take all back (u), or go on (c)? \
             Ctrl-C again stops",
        );
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => return Word::Stop,
            Ok(_) => {}
        }
        match line.trim().to_lowercase().as_str() {
            "s" | "stop" => return Word::Stop,
            "u" | "undo" => return Word::Undo,
            "c" | "continue" => return Word::GoOn,
            _ => {}
        }
    }
}

impl Asked {
    async fn answered(&self, word: Word) {
        let by = super::options::user();
        match word {
            Word::GoOn => self.scene.stopping().go_on(),
            Word::Stop => self.scene.stopping().stop(),
            Word::Undo => {
                // Recorded first: whoever resumes it takes it back.
                let what = format!("{ROLLED_BACK}a person has interrupted it");
                if let Err(why) = self.journal.decide(Record::Decided { what, by }).await {
                    term::wrong(why.to_string(), None);
                }
                let _ = self.back.set(());
                self.scene.stopping().stop();
            }
        }
    }
}
