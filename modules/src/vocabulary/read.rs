//! What must be looked at on a host.
use super::path::HostPath;
use super::row::Row;
use serde::{Deserialize, Serialize};

/// How much of a file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Its text up to [`TEXT_LIMIT`]; of a larger one the digest.
    Text,
    /// Its digest and size alone.
    Digest,
}

/// The largest file whose text is read, in bytes. Larger ones are known by digest and size.
pub const TEXT_LIMIT: u64 = 1 << 20;

/// One thing to look at: the four shapes of reading.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read {
    /// A node and its content. A link is seen as a link: follow it by reading its target.
    /// Below /proc and /sys it is the value as text.
    File {
        /// Where.
        path: HostPath,
        /// How much.
        want: Want,
    },
    /// A node without its content, links not followed.
    Stat(HostPath),
    /// The names that a pattern of `*`, `?` and `[…]` matches, sorted; the folder parts may hold patterns too.
    Glob(String),
    /// The answer of a row of the table of read-only programs.
    Ask(Row),
    /// What a row of the table of reading RPC methods takes from the answer of who serves a socket: a value, or
    /// absent where nobody serves it or the thing is not there.
    Rpc {
        /// The socket.
        socket: HostPath,
        /// The row of [`crate::programs::rpc::ASKING`].
        row: Row,
    },
}

impl Read {
    /// The text of a file, or the value of a file below /proc and /sys.
    pub fn text(path: &HostPath) -> Self {
        Self::File { path: path.clone(), want: Want::Text }
    }

    /// The digest of a file.
    pub fn digest(path: &HostPath) -> Self {
        Self::File { path: path.clone(), want: Want::Digest }
    }

    /// A row of the table of reading RPC methods, over a socket.
    pub fn rpc(socket: &HostPath, row: Row) -> Self {
        Self::Rpc { socket: socket.clone(), row }
    }

    /// The path that it names, if it names one.
    pub fn path(&self) -> Option<&HostPath> {
        match self {
            Self::File { path, .. } | Self::Stat(path) => Some(path),
            Self::Glob(_) | Self::Ask(_) | Self::Rpc { .. } => None,
        }
    }
}
