//! YAML as people write it: a tree in which every key and value knows its place.
//!
//! Scalars are read as Ansible reads them (YAML 1.1 as PyYAML does): `yes` is a boolean, `0644` an octal number,
//! `08` text. Duplicate keys, unknown tags and alias bombs are errors; `<<` is merged.
mod fault;
mod load;
mod node;
mod place;
mod scalar;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use node::{UNSAFE_KEY, VAULT_KEY};

use crate::diagnostic::{Diagnostic, Problems};
use crate::source::{Source, Span};

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub data: Data,
    /// Where it stands. An alias stands where it is used, while what is inside of it, and merged keys, stand where
    /// they were written.
    pub span: Span,
    /// A local tag such as `!vault` or `!unsafe`, with its `!`.
    pub tag: Option<String>,
}

/// The kinds of YAML values, after YAML 1.1's booleans and octal numbers as Ansible reads them.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// `null`, `~` or nothing.
    Null,
    /// `true`, `yes`, `on` and their kin, unquoted.
    Bool(bool),
    /// A whole number; `0644` is octal.
    Int(i64),
    /// A whole number that is greater than an `i64` holds, as in `kernel.shmmax: 18446744073692774399`.
    UInt(u64),
    /// A number with a fraction or exponent.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    Seq(Vec<Node>),
    /// A mapping in the order that was written; keys are unique.
    Map(Vec<(Node, Node)>),
}

/// All documents of a text; an empty text has none.
///
/// # Errors
/// Every problem that was found: one of syntax ends the reading, duplicate keys and unknown tags do not.
pub fn parse(source: &Arc<Source>) -> Result<Vec<Node>, Problems> {
    load::documents(source)
}

/// The only document of a text; an empty text is [`Data::Null`].
///
/// # Errors
/// As [`parse`], and a second document.
pub fn parse_one(source: &Arc<Source>) -> Result<Node, Problems> {
    let mut documents = parse(source)?;
    if let Some(second) = documents.get(1) {
        return Err(vec![
            Diagnostic::error("this file holds more than one YAML document", second.span.clone())
                .label("the second one starts here")
                .help("keep one document a file, or take the `---` line above out"),
        ]);
    }
    Ok(documents.pop().unwrap_or_else(|| Node { data: Data::Null, span: Span::new(source, 0, 0), tag: None }))
}
