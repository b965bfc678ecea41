//! A person's word that a run shall not go on: it is asked before each batch, so that what was begun is finished.
use tokio::sync::watch;

/// How a run stands with whoever may stop it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Word {
    /// It goes on.
    #[default]
    Going,
    /// Somebody is asked: nothing is begun meanwhile.
    Asked,
    /// Nothing more is begun.
    Stopped,
}

/// What a run asks before it begins a batch, and what tells it to stop.
#[derive(Debug, Default)]
pub struct Stopping(watch::Sender<Word>);

impl Stopping {
    /// Nothing is begun until [`Stopping::go_on`] or [`Stopping::stop`].
    pub fn ask(&self) {
        self.0.send_if_modified(|word| {
            let going = *word == Word::Going;
            if going {
                *word = Word::Asked;
            }
            going
        });
    }

    /// It goes on, unless it was stopped meanwhile.
    pub fn go_on(&self) {
        self.0.send_if_modified(|word| {
            let asked = *word == Word::Asked;
            if asked {
                *word = Word::Going;
            }
            asked
        });
    }

    /// Nothing more is begun.
    pub fn stop(&self) {
        self.0.send_replace(Word::Stopped);
    }

    /// Whether nothing more is begun. While somebody is asked, this waits.
    pub async fn stops(&self) -> bool {
        let mut word = self.0.subscribe();
        let decided = word.wait_for(|word| *word != Word::Asked).await;
        decided.is_ok_and(|word| *word == Word::Stopped)
    }

    /// Waits until it is stopped.
    pub async fn stopped(&self) {
        let mut word = self.0.subscribe();
        if word.wait_for(|word| *word == Word::Stopped).await.is_err() {
            // Nobody is left who could stop it.
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[tokio::test]
    async fn who_asks_waits_for_the_answer() {
        let stopping = Arc::new(Stopping::default());
        assert!(!stopping.stops().await);
        stopping.ask();
        let waits = {
            let stopping = Arc::clone(&stopping);
            tokio::spawn(async move { stopping.stops().await })
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waits.is_finished());
        stopping.go_on();
        assert!(!waits.await.unwrap());
        stopping.stop();
        stopping.ask();
        stopping.go_on();
        assert!(stopping.stops().await, "what was stopped stays so");
        stopping.stopped().await;
    }
}
