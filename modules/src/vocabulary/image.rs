//! What a path shall hold: the states that a put can reach.
use super::bytes::{Bytes, Digest};
use super::seen::{Body, Kind, Node, Seen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An owner or a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Owner {
    /// By number.
    Id(u32),
    /// By name, resolved on the host.
    Name(String),
}

impl Owner {
    /// Whether a node's number and name are this owner.
    pub fn is(&self, id: u32, name: &str) -> bool {
        match self {
            Self::Id(wanted) => *wanted == id,
            Self::Name(wanted) => wanted == name || wanted.parse() == Ok(id),
        }
    }
}

/// Mode and owners. What is not said stays as it is, or is the host's default for a new node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Permission bits, 0 to 0o7777.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Owner>,
}

/// What a regular file shall hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// These bytes.
    Bytes(Bytes),
    /// What it holds already; only mode and owners change.
    Same,
    /// What was kept on the host under this digest before the run changed it.
    Kept(Digest),
}

/// What a path shall be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    /// Nothing. A folder is taken away with all that is in it, moved aside under the run's folder.
    Absent,
    /// A regular file.
    File {
        /// What it holds.
        content: Content,
        /// Mode and owners.
        #[serde(flatten)]
        meta: Meta,
    },
    /// A folder; what is in it stays.
    Dir {
        /// Mode and owners.
        #[serde(flatten)]
        meta: Meta,
    },
    /// A symbolic link.
    Link {
        /// The text of the link.
        target: String,
    },
    /// What was moved aside from this path by this run, put back.
    Aside,
}

impl Image {
    /// The image that brings a node back to the state that was seen; none where that is not possible from what
    /// was read (devices, pipes, sockets, or a content that nobody read).
    pub fn of(seen: &Seen) -> Option<Self> {
        match seen {
            Seen::Absent => Some(Self::Absent),
            Seen::Node(node) => Self::of_node(node),
            _ => None,
        }
    }

    fn of_node(node: &Node) -> Option<Self> {
        let meta = Meta::of(node);
        match &node.kind {
            Kind::File => {
                let content = match node.body.as_ref()? {
                    Body::Bytes(bytes) => Content::Bytes(bytes.clone()),
                    Body::Digest(digest) => Content::Kept(*digest),
                };
                Some(Self::File { content, meta })
            }
            Kind::Dir => Some(Self::Dir { meta }),
            Kind::Link { target } => Some(Self::Link { target: target.clone() }),
            Kind::Block | Kind::Char | Kind::Fifo | Kind::Socket => None,
        }
    }

    /// Whether what was seen is what this image asks for.
    pub fn holds(&self, seen: &Seen) -> bool {
        match (self, seen) {
            (Self::Absent, Seen::Absent) => true,
            (Self::Aside, Seen::Node(_)) => true,
            (Self::File { content, meta }, Seen::Node(node)) => {
                node.kind == Kind::File && meta.holds(node) && content.holds(node)
            }
            (Self::Dir { meta }, Seen::Node(node)) => node.kind == Kind::Dir && meta.holds(node),
            (Self::Link { target }, Seen::Node(node)) => {
                matches!(&node.kind, Kind::Link { target: seen } if seen == target)
            }
            _ => false,
        }
    }
}

impl Meta {
    /// The mode and the owners of a node.
    pub fn of(node: &Node) -> Self {
        Self { mode: Some(node.mode), owner: Some(Owner::Id(node.uid)), group: Some(Owner::Id(node.gid)) }
    }

    /// Whether a node has this mode and these owners, as far as they are said.
    pub fn holds(&self, node: &Node) -> bool {
        self.mode.is_none_or(|mode| mode == node.mode)
            && self.owner.as_ref().is_none_or(|owner| owner.is(node.uid, &node.user))
            && self.group.as_ref().is_none_or(|group| group.is(node.gid, &node.group))
    }
}

impl Content {
    fn holds(&self, node: &Node) -> bool {
        match self {
            Self::Bytes(bytes) => node.digest() == Some(bytes.digest()),
            Self::Kept(digest) => node.digest() == Some(*digest),
            Self::Same => true,
        }
    }
}
