//! What takes a change back by itself when it has cut the host off.
use super::change::Change;
use serde::{Deserialize, Serialize};

/// How long a host waits for somebody to confirm that it can still be reached, in seconds, where nothing else is said.
pub const DEADLINE: u32 = 60;

/// The dead man of a change that may cut the link: a timer on the host that takes the batch back unless the engine
/// confirms over a new connection in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadMan {
    /// How long the host waits, in seconds.
    pub seconds: u32,
    /// What may cut the link, one sentence.
    pub why: String,
}

impl DeadMan {
    /// Arms one, and says so in the change's notes.
    pub fn arm(change: &mut Change, seconds: u32, why: impl Into<String>) {
        let armed = Self { seconds, why: why.into() };
        if let Some(before) = change.dead_man.take() {
            let said = before.note();
            change.notes.retain(|note| *note != said);
        }
        change.notes.push(armed.note());
        change.dead_man = Some(armed);
    }

    fn note(&self) -> String {
        format!(
            "may cut the link ({}): the host takes it back by itself after {} s unless it is reached over a new connection",
            self.why, self.seconds
        )
    }
}
