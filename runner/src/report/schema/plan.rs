//! The schema of what `plan --format json` prints and `plan --out` saves.
use crate::plan::Saved;
use serde_json::Value as Json;

/// The schema of a plan.
pub fn plan() -> Json {
    let mut schema = schemars::schema_for!(Saved).to_value();
    schema["title"] = "A plan of tunerun".into();
    schema
}
