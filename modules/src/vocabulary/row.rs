//! A call of a program: a row of the visible tables in [`crate::programs`].
use super::path::HostPath;
use serde::{Deserialize, Serialize};

/// One call: the row's name and its arguments. What runs is made from the table, never from text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Row {
    /// The row of the table.
    pub name: String,
    /// The row's arguments, each one word whatever it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The folder to run in; else `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<HostPath>,
    /// Variables added to the environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// What the program reads from its standard input; else nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
}

impl Row {
    /// A call without folder, environment or input.
    pub fn new<A: Into<String>>(name: &str, args: impl IntoIterator<Item = A>) -> Self {
        Self {
            name: name.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            dir: None,
            env: Vec::new(),
            stdin: None,
        }
    }
}
