//! The grammar of rollouts: `rollout:`, `guard:` and `gate:` as people write them, once templates are evaluated.
mod amounts;
mod bench_schema;
mod gate;
mod grammar;
mod guard;
mod waves;

pub use amounts::{Hosts, Share, Time};
pub use gate::{AbortIf, Alpha, Bench, Gate, Judge, Off, OffWord, Preflight, RunTimes, Steady, Windows};
pub use guard::{Guard, Noout};
pub use waves::{
    Activate, By, Canary, CanaryPer, Day, OnError, OnInconclusive, OnRegress, Rollout, TimeWindow, Wave,
};

use super::fields::is_template;
use crate::diagnostic::{Diagnostic, Problems};
use crate::yaml::Node;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::sync::Arc;

/// A written part of the grammar from its evaluated value. A sentence says what is wrong and where.
///
/// # Errors
/// A word that is not known, a value that does not fit, or one that is missing.
pub fn read<T: DeserializeOwned>(value: &Json) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

/// A written part as it stands in a playbook, checked as far as no template hides it.
pub(super) fn written<T: DeserializeOwned + JsonSchema>(
    key: &Node,
    value: Node,
    problems: &mut Problems,
) -> Arc<Node> {
    let before = problems.len();
    grammar::check(&schema::<T>(), key, &value, problems);
    let json = value.to_json();
    if problems.len() == before
        && !is_template(&json.to_string())
        && let Err(why) = read::<T>(&json)
    {
        let words = format!("`{}` is not understood: {why}", key.key_text());
        problems.push(Diagnostic::error(words, value.span.clone()).help(grammar::explained(key)));
    }
    Arc::new(value)
}

/// The JSON schema of a part of the grammar.
pub fn schema<T: JsonSchema>() -> Json {
    schemars::schema_for!(T).to_value()
}

#[cfg(test)]
mod tests;
