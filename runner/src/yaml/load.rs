//! From the parser's events to a tree: anchors, merge keys, duplicate keys, tags, and the limits against bombs.
use std::collections::HashMap;
use std::sync::Arc;

use serde_yaml::granit_parser::{Event, Options, Parser, ScalarStyle, Span as Marks, StructureStyle, Tag};

use super::{Data, Node, fault, scalar};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::{Source, Span};

/// Nodes that aliases may add to one text: far above any real file, far below what a machine feels.
const ALIASED_NODES: usize = 100_000;
/// Bytes of text that aliases may add to one text.
const ALIASED_BYTES: usize = 16 << 20;
/// Collections inside each other, aliases followed.
const DEPTH: usize = 200;
/// The tags that mean something here.
const TAGS: [&str; 3] = ["!vault", "!vault-encrypted", "!unsafe"];

/// Reads all documents of a text.
pub fn documents(source: &Arc<Source>) -> Result<Vec<Node>, Problems> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEPTH;
    options.block_nesting_limit = DEPTH;
    options.block_scalar_eof_without_line_feed = true;
    options.emit_unresolved_aliases = true;
    let mut tree = Tree::new(source);
    for next in Parser::new_from_str_with_options(&source.text, options) {
        match next {
            Ok((event, marks)) => tree.take(event, &marks),
            Err(error) => {
                if tree.problems.is_empty() {
                    tree.problems.push(fault::syntax(source, &error));
                }
                break;
            }
        }
        if tree.full {
            break;
        }
    }
    if tree.problems.is_empty() { Ok(tree.documents) } else { Err(tree.problems) }
}

/// What an anchor stands for, with what a copy of it costs.
struct Anchored {
    node: Arc<Node>,
    nodes: usize,
    bytes: usize,
    depth: usize,
}

/// A collection that is still open.
struct Open {
    anchor: usize,
    tag: Option<String>,
    span: Span,
    flow: bool,
    shape: Shape,
    /// Nodes, bytes and depth of what is inside so far.
    size: Size,
}

enum Shape {
    Seq(Vec<Node>),
    Map { pairs: Vec<(Node, Node)>, key: Option<Node>, merges: Vec<Node> },
}

#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

struct Tree<'a> {
    source: &'a Arc<Source>,
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    problems: Problems,
    /// Copied by aliases so far.
    copied: Size,
    full: bool,
}

impl<'a> Tree<'a> {
    fn new(source: &'a Arc<Source>) -> Self {
        Self {
            source,
            documents: Vec::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            problems: Vec::new(),
            copied: Size::default(),
            full: false,
        }
    }

    fn span(&self, marks: &Marks) -> Span {
        let range = marks.byte_range().unwrap_or(0..0);
        Span::new(self.source, range.start, range.end)
    }

    fn take(&mut self, event: Event<'_>, marks: &Marks) {
        match event {
            Event::DocumentStart(..) => self.anchors.clear(),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = self.tag(tag.as_deref(), marks);
                let mut span = self.span(marks);
                if text.is_empty() && style == ScalarStyle::Plain {
                    span = self.nothing(span);
                } else if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) {
                    span = Span::new(self.source, span.start, span.start + span.text().trim_end().len());
                }
                let data = self.scalar(&text, style, tag.as_deref(), &span);
                let tag = tag.filter(|tag| tag.starts_with('!') && !tag.starts_with("!!"));
                let size = Size { nodes: 1, bytes: text.len(), depth: 0 };
                let merge = text == "<<" && style == ScalarStyle::Plain;
                self.put(Node { data, span, tag }, anchor, size, merge, false);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.begin(style, anchor, tag.as_deref(), marks, Shape::Seq(Vec::new()));
            }
            Event::MappingStart(style, anchor, tag) => {
                let shape = Shape::Map { pairs: Vec::new(), key: None, merges: Vec::new() };
                self.begin(style, anchor, tag.as_deref(), marks, shape);
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(marks),
            Event::Alias(anchor) => self.alias(anchor, marks),
            Event::UnresolvedAlias(name) => self.unknown_anchor(&name, marks),
            _ => {}
        }
    }

    /// Nothing at all stands right after the key that it belongs to, not on the next line.
    fn nothing(&self, span: Span) -> Span {
        let key = match self.open.last().map(|open| &open.shape) {
            Some(Shape::Map { key: Some(key), .. }) => key.span.end,
            _ => return span,
        };
        Span::new(self.source, key.min(span.start), key.min(span.start))
    }

    fn tag(&mut self, tag: Option<&Tag>, marks: &Marks) -> Option<String> {
        let tag = tag?;
        if let Some(core) = tag.core_suffix() {
            return Some(format!("!!{core}"));
        }
        let written = tag.original();
        if written == "!" || TAGS.contains(&written.as_str()) {
            return Some(written);
        }
        let span = marks.tag_span().map_or_else(|| self.span(marks), |marks| self.span(&marks));
        let mut problem = Diagnostic::error(format!("unknown YAML tag `{written}`"), span)
            .note(format!("known tags: {}", TAGS.join(", ")));
        problem = match did_you_mean(&written, TAGS) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help("take the tag out, or quote the text if the `!` belongs to it"),
        };
        self.problems.push(problem);
        None
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&str>, span: &Span) -> Data {
        let quoted = style != ScalarStyle::Plain;
        match tag {
            None if quoted => Data::Str(text.to_owned()),
            None => scalar::plain(text),
            Some("!!str" | "!" | "!vault" | "!vault-encrypted") => Data::Str(text.to_owned()),
            Some("!unsafe") if quoted => Data::Str(text.to_owned()),
            Some("!unsafe") => scalar::plain(text),
            Some(core) => {
                let data = scalar::plain(text);
                let data = match (core, data) {
                    ("!!float", Data::Int(value)) => {
                        value.to_string().parse().map_or(Data::Null, Data::Float)
                    }
                    (_, data) => data,
                };
                let fits = match core {
                    "!!null" => matches!(data, Data::Null),
                    "!!bool" => matches!(data, Data::Bool(_)),
                    "!!int" => matches!(data, Data::Int(_) | Data::UInt(_)),
                    "!!float" => matches!(data, Data::Float(_)),
                    _ => false,
                };
                if !fits {
                    let message = format!("`{core}` does not fit this value");
                    self.problems.push(
                        Diagnostic::error(message, span.clone())
                            .help("take the tag out, or write such a value"),
                    );
                }
                data
            }
        }
    }

    fn begin(
        &mut self,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        marks: &Marks,
        shape: Shape,
    ) {
        let tag = self.tag(tag, marks);
        let expected = if matches!(shape, Shape::Seq(_)) { "!!seq" } else { "!!map" };
        if let Some(core) = tag.as_deref().filter(|tag| tag.starts_with("!!") && *tag != expected) {
            let message = format!("`{core}` is not supported here");
            self.problems
                .push(Diagnostic::error(message, self.span(marks)).help("write a plain list or mapping"));
        }
        let tag = tag.filter(|tag| tag == "!unsafe");
        let flow = style == StructureStyle::Flow;
        self.open.push(Open { anchor, tag, span: self.span(marks), flow, shape, size: Size::default() });
        if self.open.len() > DEPTH {
            self.too_deep(self.span(marks));
        }
    }

    fn end(&mut self, marks: &Marks) {
        let Some(open) = self.open.pop() else { return };
        let last = match &open.shape {
            Shape::Seq(members) => members.last().map(|last| last.span.end),
            Shape::Map { pairs, merges, .. } => {
                let last = pairs.last().map(|(key, value)| value.span.end.max(key.span.end));
                last.max(merges.last().map(|merge| merge.span.end))
            }
        };
        let end = if open.flow { self.span(marks).end } else { last.unwrap_or(open.span.end) };
        let span = Span::new(self.source, open.span.start, end);
        let data = match open.shape {
            Shape::Seq(members) => Data::Seq(members),
            Shape::Map { pairs, merges, .. } => Data::Map(self.merged(pairs, merges)),
        };
        let size = Size { nodes: open.size.nodes + 1, depth: open.size.depth + 1, ..open.size };
        self.put(Node { data, span, tag: open.tag }, open.anchor, size, false, open.flow);
    }

    /// Puts a finished node where it belongs.
    fn put(&mut self, node: Node, anchor: usize, size: Size, merge: bool, flow: bool) {
        if anchor != 0 {
            let Size { nodes, bytes, depth } = size;
            self.anchors.insert(anchor, Anchored { node: Arc::new(node.clone()), nodes, bytes, depth });
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return;
        };
        open.size.nodes += size.nodes;
        open.size.bytes += size.bytes;
        open.size.depth = open.size.depth.max(size.depth);
        match &mut open.shape {
            Shape::Seq(members) => members.push(node),
            Shape::Map { pairs, key: pending, merges } => match pending.take() {
                Some(key) if key.tag.as_deref() == Some("<<") => merges.push(node),
                Some(key) => pairs.push((key, node)),
                None => {
                    if matches!(node.data, Data::Seq(_) | Data::Map(_)) {
                        self.problems.push(fault::bad_key(&node, flow));
                    }
                    let tag = if merge { Some("<<".to_owned()) } else { node.tag };
                    *pending = Some(Node { tag, ..node });
                }
            },
        }
    }

    fn alias(&mut self, anchor: usize, marks: &Marks) {
        let span = self.span(marks);
        let Some(anchored) = self.anchors.get(&anchor) else {
            let problem = Diagnostic::error("this alias points to a value that holds itself", span.clone());
            self.problems.push(problem.help("write the inner value out"));
            return self.put(Node { data: Data::Null, span, tag: None }, 0, Size::default(), false, false);
        };
        let size = Size { nodes: anchored.nodes, bytes: anchored.bytes, depth: anchored.depth };
        let node = Arc::clone(&anchored.node);
        self.copied.nodes += size.nodes;
        self.copied.bytes += size.bytes;
        if self.copied.nodes > ALIASED_NODES || self.copied.bytes > ALIASED_BYTES {
            let problem = Diagnostic::error("the aliases of this file expand to far too much", span)
                .label("refused from here on")
                .help("write the values out; nested aliases multiply");
            self.problems.push(problem);
            self.full = true;
        } else if self.open.len() + size.depth > DEPTH {
            self.too_deep(span);
        } else {
            self.put(Node { span, ..Node::clone(&node) }, 0, size, false, false);
        }
    }

    fn unknown_anchor(&mut self, name: &str, marks: &Marks) {
        let span = self.span(marks);
        let problem = Diagnostic::error(
            format!("no anchor `&{name}` stands before this alias"),
            span.clone(),
        )
        .help(format!("quote it if it is text (\"*{name}\"), or write `&{name}` at the value that is meant"));
        self.problems.push(problem);
        self.put(Node { data: Data::Null, span, tag: None }, 0, Size::default(), false, false);
    }

    fn too_deep(&mut self, span: Span) {
        let message = format!("more than {DEPTH} lists and mappings inside each other");
        self.problems.push(Diagnostic::error(message, span).help("flatten the data"));
        self.full = true;
    }

    /// The pairs with what `<<` brings: own keys win, then the earlier mapping. Reports keys that are there twice.
    fn merged(&mut self, pairs: Vec<(Node, Node)>, merges: Vec<Node>) -> Vec<(Node, Node)> {
        let own = unique(pairs, |first, again| self.problems.push(fault::duplicate(first, again)));
        if merges.is_empty() {
            return own;
        }
        let mut sources = Vec::new();
        for merge in merges {
            match merge.data {
                Data::Map(pairs) => sources.push(pairs),
                Data::Seq(members) if members.iter().all(|member| member.as_map().is_some()) => {
                    let maps = members.into_iter().filter_map(|member| match member.data {
                        Data::Map(pairs) => Some(pairs),
                        _ => None,
                    });
                    sources.extend(maps);
                }
                _ => self.problems.push(
                    Diagnostic::error(format!("`<<` merges mappings; this is {}", merge.kind()), merge.span)
                        .help("give an alias of a mapping: `<<: *name`"),
                ),
            }
        }
        unique(own.into_iter().chain(sources.into_iter().flatten()).collect(), |_, _| {})
    }
}

/// Keeps the first pair of every key.
fn unique(pairs: Vec<(Node, Node)>, mut twice: impl FnMut(&Node, &Node)) -> Vec<(Node, Node)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<(Node, Node)> = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        if kept.len() < 16 {
            if let Some((first, _)) = kept.iter().find(|(other, _)| other.key_text() == key.key_text()) {
                twice(first, &key);
                continue;
            }
        } else {
            if seen.is_empty() {
                seen =
                    kept.iter().enumerate().map(|(at, (key, _))| (key.key_text().into_owned(), at)).collect();
            }
            if let Some(first) = seen.get(key.key_text().as_ref()) {
                twice(&kept[*first].0, &key);
                continue;
            }
            seen.insert(key.key_text().into_owned(), kept.len());
        }
        kept.push((key, value));
    }
    kept
}
