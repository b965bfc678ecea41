//! What a cluster answers, as typed data: tolerant of fields that are new, missing or of another type.
mod config;
mod health;
mod map;
mod orch;

pub use config::{DaemonOption, OptionHelp, Stored, told};
pub use health::{Health, HealthCheck, PgCounts, PgState, Status, Versions, Words};
pub use map::{Crush, CrushNode, MgrDump, MonDump, OkToStop, Osd, OsdDump};
pub use orch::{OrchStatus, UpgradeStatus};

use crate::vocabulary::Output;
use serde::de::DeserializeOwned;

/// The JSON of an answer. It often begins with an empty line, and some commands say a line of text before it.
///
/// # Errors
/// In words, where there is no JSON or it is of another kind.
pub fn json<T: DeserializeOwned>(output: &Output) -> Result<T, String> {
    let text = output.text();
    let start = text.find(['{', '[']).ok_or_else(|| "it holds no JSON".to_owned())?;
    serde_json::from_str(text[start..].trim_end()).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests;
