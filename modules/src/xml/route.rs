//! Where an element is: from the root down, each part named and told apart by attributes or children.
use roxmltree::Node;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What tells an element from others of its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// An attribute has this value.
    Attribute {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A child has an attribute with this value: a disk is found by `target dev='vda'`.
    Child {
        /// The child.
        child: String,
        /// Its attribute; empty for its text.
        name: String,
        /// The value.
        value: String,
    },
    /// It has no such attribute.
    Without(String),
}

/// One element on the way down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// Its local name.
    pub name: String,
    /// Its namespace; none means no namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// What tells it from others of the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Key>,
}

impl Part {
    /// The first element of a name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), space: None, keys: Vec::new() }
    }

    /// The element of a name in a namespace.
    pub fn within(space: &str, name: &str) -> Self {
        Self { space: Some(space.to_owned()), ..Self::new(name) }
    }

    /// Told apart by an attribute.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.keys.push(Key::Attribute { name: name.to_owned(), value: value.to_owned() });
        self
    }

    /// Told apart by a child's attribute; by its text where `name` is empty.
    pub fn holding(mut self, child: &str, name: &str, value: &str) -> Self {
        self.keys.push(Key::Child {
            child: child.to_owned(),
            name: name.to_owned(),
            value: value.to_owned(),
        });
        self
    }

    /// Told apart by an attribute that it lacks.
    pub fn without(mut self, name: &str) -> Self {
        self.keys.push(Key::Without(name.to_owned()));
        self
    }

    /// Whether a node is this element.
    pub fn is(&self, node: &Node<'_, '_>) -> bool {
        node.is_element()
            && node.tag_name().name() == self.name
            && node.tag_name().namespace() == self.space.as_deref()
            && self.keys.iter().all(|key| key.holds(node))
    }

    /// The first child that is this element.
    pub fn of<'a, 'i>(&self, parent: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        parent.children().find(|child| self.is(child))
    }
}

impl Key {
    fn holds(&self, node: &Node<'_, '_>) -> bool {
        match self {
            Self::Attribute { name, value } => node.attribute(name.as_str()) == Some(value),
            Self::Without(name) => !node.has_attribute(name.as_str()),
            Self::Child { child, name, value } => node
                .children()
                .filter(|other| other.is_element() && other.has_tag_name(child.as_str()))
                .any(|other| match name.as_str() {
                    "" => other.text().map(str::trim) == Some(value),
                    name => other.attribute(name) == Some(value),
                }),
        }
    }
}

/// The way from the root element, which it does not name, to an element.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Route(Vec<Part>);

impl Route {
    /// A way of plain names: `features/pvspinlock`.
    pub fn plain(names: &str) -> Self {
        Self(names.split('/').map(Part::new).collect())
    }

    /// A way of parts.
    pub fn of(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(parts.into_iter().collect())
    }

    /// One element further down.
    pub fn then(mut self, part: Part) -> Self {
        self.0.push(part);
        self
    }

    /// The parts in order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The element, if it is there.
    pub fn find<'a, 'i>(&self, root: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        self.0.iter().try_fold(root, |node, part| part.of(node))
    }
}

impl fmt::Display for Route {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                out.write_str("/")?;
            }
            out.write_str(&part.name)?;
            for key in &part.keys {
                match key {
                    Key::Attribute { name, value } => write!(out, "[{name}={value}]")?,
                    Key::Child { child, name, value } if name.is_empty() => {
                        write!(out, "[{child}={value}]")?;
                    }
                    Key::Child { child, name, value } => write!(out, "[{child} {name}={value}]")?,
                    Key::Without(_) => {}
                }
            }
        }
        Ok(())
    }
}
