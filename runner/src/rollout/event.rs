//! `on_event:`: a command of the controller that hears what becomes of a rollout. Its failure never stops a run.
use super::halt::Halt;
use serde::Serialize;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

/// How long the command may take.
const LIMIT: Duration = Duration::from_secs(60);

/// What is told, as JSON on the command's input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// `held`, `regress`, `inconclusive`, `rolled_back`, `undo_failed` or `done`.
    pub event: &'static str,
    /// The run.
    pub run: String,
    /// The play.
    pub play: String,
    /// Why, in a sentence; empty where all went well.
    pub why: String,
    /// What could not be taken back.
    pub left: Vec<String>,
}

impl Told {
    /// What a rollout's end is called.
    pub fn of(halt: Option<&Halt>, run: &str, play: &str) -> Self {
        let (event, why, left) = match halt {
            None => ("done", "", &[][..]),
            Some(Halt::RolledBack { why, left, .. }) if left.is_empty() => {
                ("rolled_back", why.as_str(), &[][..])
            }
            Some(Halt::RolledBack { why, left, .. }) => ("undo_failed", why.as_str(), left.as_slice()),
            Some(Halt::Held { why }) => ("held", why.as_str(), &[][..]),
            Some(Halt::Regress { why }) => ("regress", why.as_str(), &[][..]),
            Some(Halt::Inconclusive { why }) => ("inconclusive", why.as_str(), &[][..]),
        };
        Self { event, run: run.to_owned(), play: play.to_owned(), why: why.to_owned(), left: left.to_vec() }
    }
}

/// Runs the command. Gives why it failed, if it did.
pub async fn heard(argv: &[String], told: &Told) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    let text = serde_json::to_vec(told).unwrap_or_default();
    let run = async {
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // One that reads nothing has heard all that it wants.
            let _ = input.write_all(&text).await;
        }
        child.wait_with_output().await
    };
    match tokio::time::timeout(LIMIT, run).await {
        Ok(Ok(output)) if output.status.success() => None,
        Ok(Ok(output)) => {
            Some(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim()))
        }
        Ok(Err(why)) => Some(why.to_string()),
        Err(_) => Some(format!("it was not over after {} s", LIMIT.as_secs())),
    }
}
