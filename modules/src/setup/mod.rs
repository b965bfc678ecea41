//! Facts of a host.
use crate::vocabulary::{Facts, Read, Stop};
/// A fact.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Its name.
    pub name: &'static str,
}
/// All facts.
pub const FACTS: &[Fact] = &[];
/// What must be read for a fact.
pub fn fact_reads(_name: &str, _facts: &Facts) -> Vec<Read> {
    Vec::new()
}
/// The value of a fact.
///
/// # Errors
/// None.
pub fn fact_value(_name: &str, _facts: &Facts) -> Result<serde_json::Value, Stop> {
    Ok(serde_json::Value::Null)
}
