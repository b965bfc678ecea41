//! One state to reach: what was there, what shall be there, how it gets there and back.
use super::claim::Claim;
use super::image::{Content, Image, Meta};
use super::path::HostPath;
use super::read::Read;
use super::row::Row;
use super::seen::{Body, Kind, Seen};
use crate::shape::Shape;
use crate::xml::{Document, Want};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The four shapes of acting. Each is data: only the engine carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Makes a path what the image says, by rename where that is possible.
    Put {
        /// Where.
        path: HostPath,
        /// What it shall be.
        image: Image,
        /// A shell command that must accept the new content before it is put in place; `%s` stands for the
        /// temporary file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        validate: Option<String>,
    },
    /// Writes one value into a file of the kernel, in one write.
    Write {
        /// A file below /proc or /sys.
        path: HostPath,
        /// The value, without a newline at its end.
        value: String,
    },
    /// Calls a row of the table of mutating programs.
    Call {
        /// The call.
        row: Row,
        /// What is not known any more afterwards.
        spoils: Vec<Spoil>,
    },
    /// Sends one JSON-RPC request to a socket on the host: a row of [`crate::programs::rpc::SENDING`].
    Rpc {
        /// The socket.
        socket: HostPath,
        /// The method.
        method: String,
        /// Its parameters.
        params: Json,
    },
}

/// What an act makes unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spoil {
    /// One read.
    Read(Read),
    /// One read whose answer is known all the same: what the act leaves. Tasks behind it are planned on that.
    Becomes(Read, Seen),
    /// Every file at or below a path.
    Below(HostPath),
    /// Every answer of a row with this name.
    Answers(String),
    /// All values of the kernel: /proc, /sys, what programs say of them, and what is answered over sockets.
    Volatile,
    /// Every answer over a socket: who serves it may be another one.
    Rpc,
    /// What is not there yet at or below a path, such as files that an unpacked package may bring. What is there
    /// stays known, and so do names that hold `tunerun`: nobody else makes those. Below /usr programs may come: the
    /// answer of one that was not found is not known any more.
    Missing(HostPath),
    /// Everything.
    All,
}

/// What must be seen after an act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Exactly this state (see [`Seen::same_state`]).
    Exactly(Seen),
    /// A node as the image says.
    Image(Image),
    /// A value that means the same.
    Alike {
        /// How values are compared.
        shape: Shape,
        /// The value.
        value: String,
    },
    /// A program's output that holds each of these lines.
    Has(Vec<String>),
    /// A program's output that holds one of these lines, whichever.
    HasOne(Vec<String>),
    /// A program's output that holds none of these lines.
    Lacks(Vec<String>),
    /// A program that ended with this status.
    Status(i32),
    /// A program's output that is XML in which all of this is so.
    Xml {
        /// The text that was sent: what later tasks plan on.
        text: String,
        /// What must be so of it when it is read back.
        wants: Vec<Want>,
    },
    /// Something else than what was seen right before the act, such as a start time or a boot id: evidence that
    /// the act happened. The `before` of the plan is not compared, since it may move on its own.
    Changed,
    /// Whatever is seen: the act is proven by its own evidence, such as an exit status or a boot id.
    Any,
}

impl Match {
    /// Whether what was seen is what must be seen.
    pub fn holds(&self, seen: &Seen) -> bool {
        match self {
            Self::Exactly(wanted) => wanted.same_state(seen),
            Self::Image(image) => image.holds(seen),
            Self::Alike { shape, value } => match seen {
                Seen::Value(text) => shape.alike(text, value),
                Seen::Output(output) => shape.alike(&output.text(), value),
                _ => false,
            },
            Self::Has(lines) => {
                output_lines(seen).is_some_and(|seen| lines.iter().all(|line| seen.contains(line)))
            }
            Self::HasOne(lines) => {
                output_lines(seen).is_some_and(|seen| lines.iter().any(|line| seen.contains(line)))
            }
            Self::Lacks(lines) => {
                output_lines(seen).is_some_and(|seen| !lines.iter().any(|line| seen.contains(line)))
            }
            Self::Status(status) => matches!(seen, Seen::Output(output) if output.status == *status),
            Self::Xml { wants, .. } => xml_fault(wants, seen).is_none(),
            Self::Changed | Self::Any => true,
        }
    }

    /// What of a text with structure is not as it must be, in words; none where this tells nothing more than
    /// [`Match::holds`].
    pub fn fault(&self, seen: &Seen) -> Option<String> {
        match self {
            Self::Xml { wants, .. } => xml_fault(wants, seen),
            _ => None,
        }
    }

    /// Whether what was seen after an act is what must be seen, where `before` was seen right before it.
    pub fn proves(&self, before: &Seen, after: &Seen) -> bool {
        match self {
            Self::Changed => {
                !matches!(after, Seen::Denied | Seen::Failed(_) | Seen::Absent) && !before.same_state(after)
            }
            _ => self.holds(after),
        }
    }
}

/// The first thing that an output's XML lacks.
fn xml_fault(wants: &[Want], seen: &Seen) -> Option<String> {
    let text = match seen {
        Seen::Output(output) if output.status == 0 => output.text(),
        _ => return Some("it cannot be read back".to_owned()),
    };
    let document = match Document::parse(&text) {
        Ok(document) => document,
        Err(why) => return Some(why),
    };
    let faults: Vec<String> = wants.iter().filter_map(|want| want.fault(document.root())).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// The lines of an output, without blanks at their ends.
fn output_lines(seen: &Seen) -> Option<Vec<String>> {
    match seen {
        Seen::Output(output) => Some(output.text().lines().map(|line| line.trim().to_owned()).collect()),
        _ => None,
    }
}

/// The way back of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Back {
    /// To the very state that was seen before.
    Exactly(Act),
    /// As near as possible.
    Approximately {
        /// The act that goes back.
        act: Act,
        /// What stays all the same, in words.
        stays: String,
    },
    /// There is none.
    None {
        /// Why not.
        why: String,
    },
    /// Nothing needs to be undone: the act leaves no state.
    Nothing,
}

/// One state to reach on one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What it owns.
    pub claim: Claim,
    /// The narrow look by which before and after are told; none where the act is proven by its own evidence,
    /// such as an exit status.
    pub look: Option<Read>,
    /// What was seen; unlike right before the act means stale, and nothing is written.
    pub before: Seen,
    /// What must be seen afterwards.
    pub after: Match,
    /// How it gets there.
    pub act: Act,
    /// How it gets back.
    pub back: Back,
}

impl Step {
    /// A step that makes `path` what `image` says. The way back follows from what was seen.
    pub fn put(claim: Claim, path: HostPath, before: Seen, image: Image) -> Self {
        let back = match (&image, &before) {
            (Image::File { content: Content::Same, .. }, Seen::Node(node)) if node.kind == Kind::File => {
                Some(Image::File { content: Content::Same, meta: Meta::of(node) })
            }
            // A tree that is taken away is moved aside and comes back whole.
            (Image::Absent, Seen::Node(node)) if node.kind == Kind::Dir => Some(Image::Aside),
            _ => Image::of(&before),
        };
        let back = match back {
            Some(image) => Back::Exactly(Act::Put { path: path.clone(), image, validate: None }),
            None => Back::None {
                why: "what was there is neither a file that was read, nor a folder, nor a link".to_owned(),
            },
        };
        // Where only mode and owners change, the content is no matter: it is neither read nor compared.
        let look = match &image {
            Image::File { content: Content::Same, .. } | Image::Dir { .. } => Read::Stat(path.clone()),
            _ => Read::digest(&path),
        };
        Self {
            claim,
            look: Some(look),
            before: digested(before),
            after: Match::Image(image.clone()),
            act: Act::Put { path, image, validate: None },
            back,
        }
    }

    /// A step that writes a kernel value. The way back writes what was seen.
    pub fn write(claim: Claim, path: HostPath, before: Seen, value: &str, shape: Shape) -> Self {
        let back = match &before {
            Seen::Value(old) => Back::Exactly(Act::Write { path: path.clone(), value: shape.written(old) }),
            _ => Back::None { why: "the value before could not be read".to_owned() },
        };
        Self {
            claim,
            look: Some(Read::text(&path)),
            before,
            after: Match::Alike { shape, value: value.to_owned() },
            act: Act::Write { path, value: value.to_owned() },
            back,
        }
    }

    /// A call of a program whose exit status is its own evidence, with what it spoils and the way back.
    pub fn call(claim: Claim, row: Row, spoils: Vec<Spoil>, back: Back) -> Self {
        Self {
            claim,
            look: None,
            before: Seen::Absent,
            after: Match::Any,
            act: Act::Call { row, spoils },
            back,
        }
    }

    /// A call of a program that must bring a look from `before` to `after`.
    pub fn call_seen(
        claim: Claim,
        row: Row,
        spoils: Vec<Spoil>,
        (look, before, after): (Read, Seen, Match),
        back: Back,
    ) -> Self {
        Self { claim, look: Some(look), before, after, act: Act::Call { row, spoils }, back }
    }

    /// An RPC request that must bring a look over the same socket from `before` to `after`.
    pub fn rpc(
        claim: Claim,
        socket: &HostPath,
        (method, params): (&str, Json),
        (row, before, after): (Row, Seen, Match),
        back: Back,
    ) -> Self {
        let act = Act::Rpc { socket: socket.clone(), method: method.to_owned(), params };
        Self { claim, look: Some(Read::rpc(socket, row)), before, after, act, back }
    }

    /// Whether it is an act rather than a state: proven by its own evidence, done again whenever it is asked for.
    pub fn is_act(&self) -> bool {
        self.look.is_none() || matches!(self.after, Match::Changed | Match::Any)
    }

    /// Lets a shell command accept the new content of a put first.
    pub fn validated(mut self, command: Option<String>) -> Self {
        if let Act::Put { validate, .. } = &mut self.act {
            *validate = command;
        }
        self
    }

    /// The path that it acts on, if it acts on one.
    pub fn path(&self) -> Option<&HostPath> {
        match &self.act {
            Act::Put { path, .. } | Act::Write { path, .. } => Some(path),
            Act::Call { .. } | Act::Rpc { .. } => None,
        }
    }
}

/// The comparison before an act needs the digest alone; the bytes live in the way back.
fn digested(seen: Seen) -> Seen {
    match seen {
        Seen::Node(mut node) => {
            node.body = node.body.map(|body| Body::Digest(body.digest()));
            Seen::Node(node)
        }
        other => other,
    }
}
