//! What an element shall be like: as data, for edits and for checks of what came of them.
use super::route::{Part, Route};
use crate::shape::CpuList;
use roxmltree::Node;
use serde::{Deserialize, Serialize};

/// How a value is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Like {
    /// Letter by letter.
    #[default]
    Text,
    /// Sets of CPUs: `0-3` is `0,1,2,3`.
    Cpus,
    /// Machines of QEMU: `q35` is every version `pc-q35-10.0` of it, `pc` every `pc-i440fx-10.0`.
    Machine,
    /// A switch: an attribute that is not there means `on`.
    Switch,
}

impl Like {
    /// Whether a value is what is wanted.
    pub fn alike(self, seen: Option<&str>, wanted: &str) -> bool {
        match (self, seen) {
            (Self::Switch, None) => wanted == "on",
            (_, None) => false,
            (_, Some(seen)) if seen.trim() == wanted.trim() => true,
            (Self::Cpus, Some(seen)) => {
                matches!((CpuList::parse(seen), CpuList::parse(wanted)), (Ok(one), Ok(two)) if one == two)
            }
            (Self::Machine, Some(seen)) => family(seen) == Some(wanted),
            _ => false,
        }
    }
}

/// The name that a versioned machine is the newest of.
fn family(machine: &str) -> Option<&'static str> {
    [("pc-q35-", "q35"), ("pc-i440fx-", "pc"), ("virt-", "virt")]
        .into_iter()
        .find(|(versioned, _)| machine.starts_with(versioned))
        .map(|(_, name)| name)
}

/// A value, and how it is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The text to write.
    pub text: String,
    /// How it is compared.
    #[serde(default)]
    pub like: Like,
}

impl Value {
    /// Compared letter by letter.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), like: Like::Text }
    }

    /// Compared in another way.
    pub fn like(text: impl Into<String>, like: Like) -> Self {
        Self { text: text.into(), like }
    }
}

/// What shall be so of an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// It is there, with these attributes and this text.
    There {
        /// Attributes by name; others stay.
        #[serde(default)]
        attributes: Vec<(String, Value)>,
        /// Attributes that it must not have.
        #[serde(default)]
        without: Vec<String>,
        /// Its text.
        #[serde(default)]
        text: Option<Value>,
    },
    /// It is not there.
    Gone,
    /// It holds children one behind the other, each with the next value of an attribute.
    Row {
        /// What the children are.
        child: Part,
        /// Their attribute.
        name: String,
        /// The values in order.
        values: Vec<String>,
        /// Values in a row whose place they take.
        #[serde(default)]
        instead: Option<Vec<String>>,
    },
}

/// What an element shall be like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// Which element.
    pub route: Route,
    /// What shall be so of it.
    pub wanted: Wanted,
}

impl Want {
    /// An element is there.
    pub fn there(route: Route) -> Self {
        Self { route, wanted: Wanted::There { attributes: Vec::new(), without: Vec::new(), text: None } }
    }

    /// An element is not there.
    pub fn gone(route: Route) -> Self {
        Self { route, wanted: Wanted::Gone }
    }

    /// With an attribute.
    pub fn with(mut self, name: &str, value: Value) -> Self {
        if let Wanted::There { attributes, .. } = &mut self.wanted {
            attributes.push((name.to_owned(), value));
        }
        self
    }

    /// Without an attribute.
    pub fn lacking(mut self, name: &str) -> Self {
        if let Wanted::There { without, .. } = &mut self.wanted {
            without.push(name.to_owned());
        }
        self
    }

    /// With a text.
    pub fn saying(mut self, value: Value) -> Self {
        if let Wanted::There { text, .. } = &mut self.wanted {
            *text = Some(value);
        }
        self
    }

    /// What is not so below a root element, in words; none where all is so.
    pub fn fault(&self, root: Node<'_, '_>) -> Option<String> {
        let node = self.route.find(root);
        match (&self.wanted, node) {
            (Wanted::Gone, None) => None,
            (Wanted::Gone, Some(_)) => Some(format!("{} is still there", self.route)),
            (_, None) => Some(format!("{} is not there", self.shown())),
            (Wanted::There { attributes, without, text }, Some(node)) => {
                let wrong = attributes
                    .iter()
                    .find(|(name, value)| !value.like.alike(node.attribute(name.as_str()), &value.text));
                if let Some((name, value)) = wrong {
                    let seen = node.attribute(name.as_str()).map_or_else(
                        || "it has no such attribute".to_owned(),
                        |seen| format!("it is `{seen}`"),
                    );
                    return Some(format!("{} has not {name}='{}': {seen}", self.route, value.text));
                }
                if let Some(name) = without.iter().find(|name| node.has_attribute(name.as_str())) {
                    return Some(format!("{} still has `{name}`", self.route));
                }
                let text = text.as_ref()?;
                (!text.like.alike(node.text(), &text.text)).then(|| {
                    format!("{} is `{}`, not `{}`", self.route, node.text().unwrap_or("").trim(), text.text)
                })
            }
            (Wanted::Row { child, name, values, .. }, Some(node)) => row(node, child, name, values)
                .is_none()
                .then(|| format!("{} has not {} `{}` in a row", self.route, child.name, values.join(" "))),
        }
    }

    /// The element with its attributes, as a person would write it.
    fn shown(&self) -> String {
        let mut words = format!("{}", self.route);
        if let Wanted::There { attributes, .. } = &self.wanted {
            for (name, value) in attributes {
                words.push_str(&format!(" {name}='{}'", value.text));
            }
        }
        words
    }
}

/// The first children in a row that have these values.
pub(super) fn row<'a, 'i>(
    parent: Node<'a, 'i>,
    child: &Part,
    name: &str,
    values: &[String],
) -> Option<Vec<Node<'a, 'i>>> {
    let children: Vec<Node<'a, 'i>> = parent.children().filter(|other| child.is(other)).collect();
    let mut windows = children.windows(values.len().max(1));
    windows
        .find(|window| {
            window.iter().zip(values).all(|(node, value)| node.attribute(name) == Some(value.as_str()))
        })
        .map(<[Node<'_, '_>]>::to_vec)
}

/// The text of an element, blanks at its ends taken away.
pub fn text_of(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().to_owned()
}
