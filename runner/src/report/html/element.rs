//! Elements of HTML and SVG whose texts and attributes are escaped: names come from the program, all else may be hostile.

/// Elements without an end tag.
const VOID: [&str; 4] = ["meta", "br", "hr", "link"];

/// An element with what is in it.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: String,
    inner: String,
}

/// An element without attributes.
pub const fn el(name: &'static str) -> Element {
    Element { name, attributes: String::new(), inner: String::new() }
}

/// A text as it stands between tags and in attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Signs that turn the direction of a text, and controls, are shown instead of obeyed.
            '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\0'..='\u{8}'
            | '\u{b}'..='\u{1f}'
            | '\u{7f}' => {
                out.push('\u{fffd}');
            }
            other => out.push(other),
        }
    }
    out
}

impl Element {
    /// Adds an attribute.
    pub fn at(mut self, name: &'static str, value: impl AsRef<str>) -> Self {
        self.attributes.push(' ');
        self.attributes.push_str(name);
        self.attributes.push_str("=\"");
        self.attributes.push_str(&escaped(value.as_ref()));
        self.attributes.push('"');
        self
    }

    /// Sets its class.
    pub fn class(self, class: &str) -> Self {
        self.at("class", class)
    }

    /// Adds a text.
    pub fn text(mut self, text: impl AsRef<str>) -> Self {
        self.inner.push_str(&escaped(text.as_ref()));
        self
    }

    /// Adds an element.
    pub fn with(mut self, child: Self) -> Self {
        child.write(&mut self.inner);
        self
    }

    /// Adds elements.
    pub fn all(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        children.into_iter().for_each(|child| child.write(&mut self.inner));
        self
    }

    /// Adds a text of the program's own, such as a style sheet, as it is.
    pub fn raw(mut self, text: &'static str) -> Self {
        self.inner.push_str(text);
        self
    }

    /// The same under another name.
    pub const fn renamed(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// Appends it as HTML.
    pub fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(self.name);
        out.push_str(&self.attributes);
        out.push('>');
        if !VOID.contains(&self.name) {
            out.push_str(&self.inner);
            out.push_str("</");
            out.push_str(self.name);
            out.push('>');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{el, escaped};

    #[test]
    fn nothing_that_is_said_becomes_markup() {
        let hostile = "<script>alert('x')</script>\"&\u{202e}\0";
        let mut out = String::new();
        el("p").at("title", hostile).text(hostile).write(&mut out);
        assert!(!out.contains("<script") && !out.contains('\u{202e}') && !out.contains('\0'), "{out}");
        assert_eq!(out.matches('<').count(), 2, "{out}");
        assert_eq!(escaped("a < b"), "a &lt; b");
    }
}
