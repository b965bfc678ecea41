//! What is wrong with what a person wrote: message, place, likely fix, next command.
use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth a look; the work goes on.
    Warning,
    /// The work cannot go on.
    Error,
}

/// One problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, one sentence without a final stop.
    pub message: String,
    /// Where, if it has a place.
    pub span: Option<Span>,
    /// What the marked text is, shown beside the caret.
    pub label: Option<String>,
    /// The likely fix or the next command.
    pub help: Option<String>,
    /// Further facts, one line each.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(message: impl Into<String>, span: impl Into<Option<Span>>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            span: span.into(),
            label: None,
            help: None,
            notes: Vec::new(),
        }
    }

    /// A warning at a place.
    pub fn warning(message: impl Into<String>, span: impl Into<Option<Span>>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message, span) }
    }

    /// Adds the likely fix.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the words beside the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Adds a further fact.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// All problems that were found, never only the first.
pub type Problems = Vec<Diagnostic>;

/// The nearest of `known` to `word`, if it is near enough to be meant.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

impl serde::Serialize for Diagnostic {
    /// For programs: the words, and the place as file, line and column.
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut out = to.serialize_struct("Diagnostic", 5)?;
        let severity = if self.severity == Severity::Error { "error" } else { "warning" };
        out.serialize_field("severity", severity)?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("at", &self.span.as_ref().map(ToString::to_string))?;
        out.serialize_field("help", &self.help)?;
        out.serialize_field("notes", &self.notes)?;
        out.end()
    }
}
