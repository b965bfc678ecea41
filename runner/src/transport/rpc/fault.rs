//! What goes wrong on an open socket. After any of it the socket is not used again, and whether the method was carried
//! out is not known.
use std::fmt;
use std::time::Duration;

/// What went wrong, with the method that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The connection was closed without an answer, or in the middle of one.
    Closed {
        /// The method.
        method: String,
        /// What had arrived of the answer.
        arrived: usize,
    },
    /// What came is not JSON-RPC.
    Garbage {
        /// The method.
        method: String,
        /// What is wrong with it.
        why: String,
    },
    /// An answer bears a number that was not asked.
    Unasked {
        /// The method.
        method: String,
        /// The number.
        id: String,
    },
    /// The target could not read the request.
    Unread {
        /// The method.
        method: String,
        /// Its words.
        said: String,
    },
    /// No answer came in time.
    Late {
        /// The method.
        method: String,
        /// The limit.
        after: Duration,
        /// What had arrived of an answer.
        arrived: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { method, arrived: 0 } => {
                write!(
                    out,
                    "the target closed the connection without an answer to {method}; it may have died of it"
                )
            }
            Self::Closed { method, arrived } => {
                write!(
                    out,
                    "the target closed the connection in the middle of its answer to {method}, after {arrived} bytes"
                )
            }
            Self::Garbage { method, why } => {
                write!(out, "what came in answer to {method} is not JSON-RPC: {why}")
            }
            Self::Unasked { method, id } => {
                write!(out, "the answer to {method} bears the number {id}, which was not asked")
            }
            Self::Unread { method, said } => {
                write!(out, "the target could not read the request for {method}: {said}")
            }
            Self::Late { method, after, arrived } => {
                let after = humantime::format_duration(*after);
                match arrived {
                    0 => write!(out, "no answer to {method} came within {after}"),
                    _ => {
                        write!(out, "the answer to {method} did not end within {after}: {arrived} bytes came")
                    }
                }
            }
        }
    }
}

impl std::error::Error for Fault {}
