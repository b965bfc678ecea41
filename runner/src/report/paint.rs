//! Colour, where it is wanted: never the only carrier of a meaning.

/// Whether words are coloured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paint(pub bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What comes.
    pub fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    /// What goes, or went wrong.
    pub fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    /// What is open.
    pub fn mark(self, text: &str) -> String {
        self.with("33", text)
    }

    /// What differs within a painted line.
    pub fn within(self, text: &str) -> String {
        if self.0 { format!("\x1b[4m{text}\x1b[24m") } else { text.to_owned() }
    }

    /// A heading.
    pub fn strong(self, text: &str) -> String {
        self.with("1", text)
    }
}
