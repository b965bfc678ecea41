//! The grammar of rollouts: `rollout:`, `guard:` and `gate:` as people write them, once templates are evaluated.
mod amounts;
mod gate;
mod guard;
mod waves;

pub use amounts::{Hosts, Share, Time};
pub use gate::{AbortIf, Alpha, Bench, Gate, Judge, Off, OffWord, Preflight, RunTimes, Steady, Windows};
pub use guard::{Guard, Noout};
pub use waves::{
    Activate, By, Canary, CanaryPer, Day, OnError, OnInconclusive, OnRegress, Rollout, TimeWindow, Wave,
};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// A written part of the grammar from its evaluated value. A sentence says what is wrong and where.
///
/// # Errors
/// A word that is not known, a value that does not fit, or one that is missing.
pub fn read<T: DeserializeOwned>(value: &Json) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// The JSON schema of a part of the grammar.
pub fn schema<T: JsonSchema>() -> Json {
    schemars::schema_for!(T).to_value()
}

#[cfg(test)]
mod tests;
