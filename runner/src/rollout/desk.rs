//! The controller's part in a rollout: a person, a clock, and the run's folder.
use super::window::Moment;
use crate::engine::run::Ask;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often an answer is looked for.
const LOOK: Duration = Duration::from_millis(300);

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Yes,
    /// Do not.
    No,
}

/// The controller's part.
#[derive(Clone)]
pub struct Desk {
    /// Asks a person at the terminal.
    pub ask: Ask,
    /// Whether a person is there to be asked.
    pub attended: bool,
    /// The moment of the week, in the controller's time.
    pub now: Arc<dyn Fn() -> Moment + Send + Sync>,
    /// The folder of the run.
    pub folder: PathBuf,
    /// The name of the run.
    pub run: String,
    /// What guards of a run that this one goes on with have left set.
    pub left: BTreeSet<String>,
}

impl Desk {
    /// Waits for a person's word: at the terminal, or by `tunerun approve RUN`. `number` tells the questions of a run
    /// from one another.
    pub async fn wait(&self, number: usize, question: &str) -> Answer {
        if self.attended {
            let (ask, question) = (Arc::clone(&self.ask), question.to_owned());
            let yes = tokio::task::spawn_blocking(move || ask(&question)).await.unwrap_or(false);
            return if yes { Answer::Yes } else { Answer::No };
        }
        // Whoever approves sees what for; where it cannot be written the run waits all the same.
        let _ = std::fs::write(self.file("asked", number), question);
        loop {
            for (word, answer) in [("approved", Answer::Yes), ("denied", Answer::No)] {
                if self.file(word, number).exists() {
                    return answer;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn file(&self, word: &str, number: usize) -> PathBuf {
        self.folder.join(format!("{word}-{number}"))
    }
}
