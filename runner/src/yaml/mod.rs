//! YAML as people write it: a tree in which every key and value knows its place.
use crate::source::Span;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub data: Data,
    /// Where it stands (for an alias or a merged key: where it is used).
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
    /// A number with a fraction or exponent.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    Seq(Vec<Node>),
    /// A mapping in the order that was written; keys are unique.
    Map(Vec<(Node, Node)>),
}
