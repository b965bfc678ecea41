//! What was seen on a host.
use super::bytes::{Bytes, Digest};
use super::path::HostPath;
use serde::{Deserialize, Serialize};

/// The answer to a [`super::Read`]. *Denied* is not *absent*.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen {
    /// It is not there, and that could be told.
    Absent,
    /// It could not be looked at for want of a right.
    Denied,
    /// Looking failed, in the host's words.
    Failed(String),
    /// A file, folder, link or other node.
    Node(Node),
    /// The text of a file below /proc or /sys, without its last newline, or what was taken from an RPC answer.
    Value(String),
    /// What a pattern matched, sorted.
    Names(Vec<HostPath>),
    /// What a program answered.
    Output(Output),
}

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Exit status; 127 where the program is not there, 128 + n where signal n ended it.
    pub status: i32,
    /// Standard output.
    pub stdout: Bytes,
    /// Standard error.
    #[serde(default)]
    pub stderr: Bytes,
}

impl Output {
    /// What a program that ended well answered.
    pub fn ok(stdout: impl AsRef<[u8]>) -> Self {
        Self { status: 0, stdout: Bytes::from(stdout), stderr: Bytes::default() }
    }

    /// Standard output as text, damaged characters replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.stdout.as_slice()).into_owned()
    }

    /// Standard error as text, damaged characters replaced.
    pub fn error_text(&self) -> String {
        String::from_utf8_lossy(self.stderr.as_slice()).into_owned()
    }
}

/// A node of the file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, 0 to 0o7777.
    pub mode: u32,
    /// Numeric owner.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
    /// The owner's name; the number where it has none.
    pub user: String,
    /// The group's name; the number where it has none.
    pub group: String,
    /// Hard links.
    pub links: u64,
    /// Bytes.
    pub size: u64,
    /// Seconds since 1970 of the last change of content; none where it is only predicted.
    #[serde(default)]
    pub modified: Option<i64>,
    /// Whether something is mounted on it, so that it cannot be replaced by a rename.
    #[serde(default)]
    pub mount_point: bool,
    /// What it holds, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
}

/// Kinds of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link.
    Link {
        /// The text of the link, as stored.
        target: String,
    },
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}

/// What a regular file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// All of it.
    Bytes(Bytes),
    /// Its digest alone.
    Digest(Digest),
}

impl Body {
    /// The digest of the content.
    pub fn digest(&self) -> Digest {
        match self {
            Self::Bytes(bytes) => bytes.digest(),
            Self::Digest(digest) => *digest,
        }
    }
}

impl Node {
    /// The content, where it was read.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.body {
            Some(Body::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The digest of the content, where it is known.
    pub fn digest(&self) -> Option<Digest> {
        self.body.as_ref().map(Body::digest)
    }

    /// Whether two nodes are in the same state: kind, mode, owner, group and content. Times, link counts and
    /// inode numbers are not state. Where one side does not know the content, it does not count.
    pub fn same_state(&self, other: &Self) -> bool {
        let content = match (self.digest(), other.digest()) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        };
        // The permission bits of a link mean nothing and differ between systems.
        let mode = matches!(self.kind, Kind::Link { .. }) || self.mode == other.mode;
        self.kind == other.kind && mode && self.uid == other.uid && self.gid == other.gid && content
    }
}

impl Seen {
    /// Whether two answers describe the same state (see [`Node::same_state`]).
    pub fn same_state(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Node(one), Self::Node(two)) => one.same_state(two),
            (Self::Value(one), Self::Value(two)) => one.trim() == two.trim(),
            // Warnings on standard error are not state.
            (Self::Output(one), Self::Output(two)) => {
                one.status == two.status && one.text().trim_end() == two.text().trim_end()
            }
            _ => self == other,
        }
    }
}
