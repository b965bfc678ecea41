//! What all drawings share: their frame with title and description, the table of the same numbers, axes, keys.
use super::element::{Element, el};
use super::scale::Scale;

/// A drawing that screen readers read as one picture with a name and a text.
pub fn drawing(id: &str, height: u32, title: &str, text: &str) -> Element {
    drawing_of("chart", id, height, title, text)
}

fn drawing_of(class: &str, id: &str, height: u32, title: &str, text: &str) -> Element {
    el("svg")
        .at("role", "img")
        .at("aria-labelledby", format!("{id}-t {id}-d"))
        .at("width", "100%")
        .at("height", height.to_string())
        .class(class)
        .with(el("title").at("id", format!("{id}-t")).text(title))
        .with(el("desc").at("id", format!("{id}-d")).text(text))
}

/// The same with room at its left, where words stand at places below 0.
pub fn gutter(id: &str, height: u32, title: &str, text: &str) -> Element {
    drawing_of("chart gutter", id, height, title, text)
}

/// A drawing with its heading, its key and the table of the same numbers.
pub fn figure(title: &str, note: &str, key: Vec<Element>, drawing: Element, numbers: Element) -> Element {
    let mut figure = el("figure").with(el("figcaption").with(el("strong").text(title)).text(" ").text(note));
    if !key.is_empty() {
        figure = figure.with(el("ul").class("key").all(key));
    }
    figure.with(drawing).with(folded("The same as numbers", numbers))
}

/// A part that is opened when it is wanted.
pub fn folded(title: &str, inner: Element) -> Element {
    el("details").with(el("summary").text(title)).with(inner)
}

/// One row of a key: a sign and its words.
pub fn key(sign: Sign, words: &str) -> Element {
    let sample = el("svg")
        .at("width", "16")
        .at("height", "12")
        .at("aria-hidden", "true")
        .at("focusable", "false")
        .with(sign.at("8", 6.0));
    el("li").with(sample).text(" ").text(words)
}

/// A sign at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Without the change: a ring.
    Without,
    /// With the change: a dot.
    With,
    /// An estimate: a larger dot.
    Estimate,
    /// A host that kept as it was: a small grey square.
    Control,
    /// A line where nothing changes.
    Zero,
    /// A line at the margin.
    Margin,
    /// A bar of a change that is put on.
    Forward,
    /// A bar of a way back.
    Back,
    /// A bar of what makes it felt.
    Activation,
    /// A bar of a gate.
    Gate,
}

impl Sign {
    /// It at a place: across as it is said, down in pixels.
    pub fn at(self, x: &str, y: f64) -> Element {
        let circle = |class: &str| el("circle").at("cx", x).at("cy", px(y)).at("r", "4").class(class);
        let bar = |class: &str| {
            el("rect").at("x", "1").at("y", px(y - 4.0)).at("width", "14").at("height", "8").class(class)
        };
        match self {
            Self::Without => circle("a"),
            Self::With => circle("b"),
            Self::Estimate => circle("estimate"),
            Self::Control => circle("c"),
            Self::Zero => line((x, y - 6.0), (x, y + 6.0), "zero"),
            Self::Margin => line((x, y - 6.0), (x, y + 6.0), "margin"),
            Self::Forward => bar("forward"),
            Self::Back => bar("back"),
            Self::Activation => bar("activation"),
            Self::Gate => bar("span"),
        }
    }
}

/// Pixels.
pub fn px(number: f64) -> String {
    format!("{number:.1}")
}

/// A line between two places.
pub fn line((x1, y1): (&str, f64), (x2, y2): (&str, f64), class: &str) -> Element {
    el("line").at("x1", x1).at("y1", px(y1)).at("x2", x2).at("y2", px(y2)).class(class)
}

/// Words at a place. `anchor` is start, middle or end.
pub fn words(x: &str, y: f64, anchor: &str, class: &str, text: &str) -> Element {
    el("text").at("x", x).at("y", px(y)).at("text-anchor", anchor).class(class).text(text)
}

/// The ticks of an axis across, below a drawing. Those at its ends keep their words within it.
pub fn axis(scale: Scale, (top, bottom): (f64, f64), shown: impl Fn(f64) -> String) -> Vec<Element> {
    let mut out = Vec::new();
    for tick in scale.ticks(4) {
        let x = scale.across(tick);
        let share = scale.share(tick);
        let anchor = if share < 0.08 {
            "start"
        } else if share > 0.92 {
            "end"
        } else {
            "middle"
        };
        out.push(line((&x, top), (&x, bottom), "grid"));
        out.push(words(&x, bottom + 14.0, anchor, "tick", &shown(tick)));
    }
    out
}

/// A table with headings. The first cell of each row names the row. On narrow pages it is moved sideways by itself.
pub fn table(name: &str, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Element {
    let rows = rows.into_iter().map(|cells| cells.into_iter().map(|cell| el("td").text(cell)).collect());
    table_of(name, head, rows)
}

/// The same with cells that hold more than text; they are `td`, and the first becomes a heading of its row.
pub fn table_of(name: &str, head: &[&str], rows: impl IntoIterator<Item = Vec<Element>>) -> Element {
    let heads = head.iter().map(|word| el("th").at("scope", "col").text(word));
    let row = |cells: Vec<Element>| {
        let mut row = el("tr");
        for (at, cell) in cells.into_iter().enumerate() {
            row = row.with(if at == 0 { cell.renamed("th").at("scope", "row") } else { cell });
        }
        row
    };
    let table = el("table")
        .with(el("caption").text(name))
        .with(el("thead").with(el("tr").all(heads)))
        .with(el("tbody").all(rows.into_iter().map(row)));
    scrolled(name, table)
}

/// What may be wider than the page: moved sideways by itself, by keys too.
pub fn scrolled(name: &str, inner: Element) -> Element {
    el("div").class("scroll").at("role", "group").at("tabindex", "0").at("aria-label", name).with(inner)
}

/// A text that fits a drawing, cut where it does not.
pub fn fitting(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(letters.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
