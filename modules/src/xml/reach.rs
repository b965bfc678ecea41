//! Edits of a text until what is wanted of it is so.
use super::document::{Document, Splice, escaped};
use super::route::{Key, Part, Route};
use super::want::{Value, Want, Wanted, row};
use roxmltree::Node;

/// The order in which an element's children are written: a new one is put behind those before it in the list. Names
/// that it does not hold go to the end.
pub type Order = fn(parent: &str) -> &'static [&'static str];

/// The text in which what is wanted is so; the same text where it is so already. Nothing else changes.
///
/// # Errors
/// The text is no XML; an element cannot be made from what tells it apart; a text is wanted where elements are.
pub fn reach(text: &str, want: &Want, order: Order) -> Result<String, String> {
    let mut text = text.to_owned();
    let mut is_new = false;
    if want.wanted != Wanted::Gone {
        is_new = want.route.find(Document::parse(&text)?.root()).is_none();
        // One element a turn, and one turn to declare a namespace.
        for _ in 0..=want.route.parts().len() {
            let made = make(&Document::parse(&text)?, &want.route, order)?;
            if made == text {
                break;
            }
            text = made;
        }
    }
    settle(&text, want, order, is_new)
}

/// Changes an element that is there. One that was just made says all that is wanted of it, also what would be so unsaid.
fn settle(text: &str, want: &Want, order: Order, is_new: bool) -> Result<String, String> {
    let document = Document::parse(text)?;
    if !is_new && want.fault(document.root()).is_none() {
        return Ok(text.to_owned());
    }
    let done = match (&want.wanted, want.route.find(document.root())) {
        (Wanted::Gone, Some(node)) => Splice::all(text, vec![document.remove(node)]),
        (Wanted::Gone, None) => text.to_owned(),
        (_, None) => return Err(format!("{} cannot be made here", want.route)),
        (Wanted::There { attributes, without, text: says }, Some(node)) => {
            let mut splices = change(&document, node, (attributes, without), is_new);
            splices.extend(says.as_ref().map(|says| say(&document, node, says)).transpose()?.flatten());
            Splice::all(text, splices)
        }
        (Wanted::Row { child, name, values, instead }, Some(node)) => {
            let old = instead.as_ref().and_then(|old| row(node, child, name, old));
            let splices = match old.filter(|old| old.len() == values.len()) {
                Some(old) => replace(&document, &old, name, values),
                None => {
                    let made = |value| child.clone().with(name, value);
                    let lines = values.iter().map(|value| element(&document, &made(value)));
                    let lines = lines.collect::<Result<Vec<_>, _>>()?;
                    vec![append(&document, node, &lines, &child.name, order)]
                }
            };
            Splice::all(text, splices)
        }
    };
    let after = Document::parse(&done)?;
    match want.fault(after.root()) {
        None => Ok(done),
        Some(fault) => Err(format!("{} cannot be reached by an edit: {fault}", want.route)),
    }
}

/// Makes the first element of a way that is not there.
fn make(document: &Document<'_>, route: &Route, order: Order) -> Result<String, String> {
    let mut node = document.root();
    for part in route.parts() {
        let Some(next) = part.of(node) else {
            if let Some(space) = part.space.as_deref().filter(|space| node.lookup_prefix(space).is_none()) {
                return Ok(declare(document, space));
            }
            let line = element(document, part)?;
            let splice = append(document, node, &[line], &part.name, order);
            return Ok(Splice::all(document.text(), vec![splice]));
        };
        node = next;
    }
    Ok(document.text().to_owned())
}

/// Declares a namespace on the root element, by the last word of its address that is no version.
fn declare(document: &Document<'_>, space: &str) -> String {
    let root = document.root();
    let prefix = space
        .rsplit('/')
        .find(|word| !word.is_empty() && word.chars().all(char::is_alphabetic))
        .unwrap_or("ns");
    let at = document.attributes_end(root);
    let quote = document.quote(root);
    Splice::all(document.text(), vec![Splice::insert(at, format!(" xmlns:{prefix}={quote}{space}{quote}"))])
}

/// An empty element as text, with the attributes that tell it apart.
fn element(document: &Document<'_>, part: &Part) -> Result<String, String> {
    let root = document.root();
    let prefix = part.space.as_deref().and_then(|space| root.lookup_prefix(space));
    let prefix = prefix.map(|prefix| format!("{prefix}:")).unwrap_or_default();
    let quote = document.quote(root);
    let mut out = format!("<{prefix}{}", part.name);
    for key in &part.keys {
        match key {
            Key::Attribute { name, value } => {
                out.push_str(&format!(" {name}={quote}{}{quote}", escaped(value, Some(quote))));
            }
            Key::Without(_) => {}
            Key::Child { .. } => {
                return Err(format!("there is no {}", Route::of([part.clone()])));
            }
        }
    }
    out.push_str("/>");
    Ok(out)
}

/// Puts new children into an element, in the order of the children, indented as those beside them.
fn append(
    document: &Document<'_>,
    parent: Node<'_, '_>,
    lines: &[String],
    name: &str,
    order: Order,
) -> Splice {
    let children: Vec<Node<'_, '_>> = parent.children().filter(Node::is_element).collect();
    let list = order(parent.tag_name().name());
    let rank = |name: &str| list.iter().position(|other| *other == name);
    let anchor = match rank(name) {
        Some(own) => children
            .iter()
            .rev()
            .find(|child| rank(child.tag_name().name()).is_some_and(|rank| rank <= own))
            .or_else(|| children.last().filter(|_| list.is_empty())),
        None => children.last(),
    };
    let indent = children.iter().find_map(|child| document.line_before(*child));
    match (anchor, indent) {
        (Some(anchor), Some(indent)) => Splice::insert(
            document.behind(*anchor),
            lines.iter().map(|line| format!("{}{line}", own_end(document, indent))).collect::<String>(),
        ),
        (Some(anchor), None) => Splice::insert(document.behind(*anchor), lines.concat()),
        (None, Some(indent)) => Splice::insert(
            document.start_tag_end(parent).0,
            lines.iter().map(|line| format!("{}{line}", own_end(document, indent))).collect::<String>(),
        ),
        (None, None) => fill(document, parent, lines, &children),
    }
}

/// Puts children into an element that has none on lines of their own.
fn fill(
    document: &Document<'_>,
    parent: Node<'_, '_>,
    lines: &[String],
    children: &[Node<'_, '_>],
) -> Splice {
    let (start, empty) = document.start_tag_end(parent);
    if !children.is_empty() {
        return Splice::insert(start, lines.concat());
    }
    let step = step(document);
    let body = |close: &str| match document.line_before(parent) {
        Some(indent) => {
            let indent = own_end(document, indent);
            let lines: String = lines.iter().map(|line| format!("{indent}{step}{line}")).collect();
            format!("{lines}{indent}{close}")
        }
        None => format!("{}{close}", lines.concat()),
    };
    if empty {
        let close = format!("</{}>", document.name(parent));
        return Splice { range: document.open_end(parent)..start, text: format!(">{}", body(&close)) };
    }
    let inner = document.inner(parent);
    let blank = document.text()[inner.clone()].trim().is_empty();
    Splice { range: if blank { inner } else { start..start }, text: body("") }
}

/// How much further a child is indented than its parent: as the root's first child is.
fn step(document: &Document<'_>) -> String {
    let first = document.root().children().find(Node::is_element);
    let blanks = first.and_then(|first| document.line_before(first));
    blanks.map_or_else(|| "  ".to_owned(), |blanks| blanks.trim_start_matches('\n').to_owned())
}

/// A line's begin with the text's own line end.
fn own_end(document: &Document<'_>, blanks: &str) -> String {
    blanks.replacen('\n', document.line_end(), 1)
}

fn change(
    document: &Document<'_>,
    node: Node<'_, '_>,
    (attributes, without): (&[(String, Value)], &[String]),
    is_new: bool,
) -> Vec<Splice> {
    let quote = document.quote(node);
    let mut splices = Vec::new();
    let mut added = String::new();
    for (name, value) in attributes {
        let unsaid = is_new && !node.has_attribute(name.as_str());
        if !unsaid && value.like.alike(node.attribute(name.as_str()), &value.text) {
            continue;
        }
        match node.attribute_node(name.as_str()) {
            Some(attribute) => splices.push(document.set(&attribute, &value.text)),
            None => {
                added.push_str(&format!(" {name}={quote}{}{quote}", escaped(&value.text, Some(quote))));
            }
        }
    }
    for name in without {
        splices.extend(node.attribute_node(name.as_str()).map(|attribute| document.unset(&attribute)));
    }
    if !added.is_empty() {
        splices.push(Splice::insert(document.attributes_end(node), added));
    }
    splices
}

/// Replaces the text of an element that holds nothing else.
fn say(document: &Document<'_>, node: Node<'_, '_>, value: &Value) -> Result<Option<Splice>, String> {
    if value.like.alike(node.text(), &value.text) {
        return Ok(None);
    }
    if let Some(other) = node.children().find(|child| !child.is_text()) {
        let what = if other.is_comment() { "a comment" } else { "an element" };
        return Err(format!("<{}> holds {what}, not a text alone", node.tag_name().name()));
    }
    let text = escaped(&value.text, None);
    let (start, empty) = document.start_tag_end(node);
    if !empty {
        return Ok(Some(Splice { range: document.inner(node), text }));
    }
    let close = format!("</{}>", document.name(node));
    Ok(Some(Splice { range: document.open_end(node)..start, text: format!(">{text}{close}") }))
}

fn replace(document: &Document<'_>, old: &[Node<'_, '_>], name: &str, values: &[String]) -> Vec<Splice> {
    let changed = old.iter().zip(values).filter(|(node, value)| node.attribute(name) != Some(value.as_str()));
    changed.filter_map(|(node, value)| Some(document.set(&node.attribute_node(name)?, value))).collect()
}
