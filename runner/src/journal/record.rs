//! The records of a run, in their order on disk. Pure data; a version in front tells older readers to stop.
use crate::engine::batch::{Batch, BatchReport};
use crate::transport::Tally;
use modules::vocabulary::{Activation, Output};
use serde::{Deserialize, Serialize};

/// The version of the format. An older binary refuses a newer record by name.
pub const FORMAT: u16 = 1;

/// One record: a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When it was written, RFC 3339 in UTC with milliseconds.
    pub at: String,
    /// What it says.
    #[serde(flatten)]
    pub record: Record,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The run began. Always first.
    Began {
        /// [`FORMAT`].
        format: u16,
        /// The run's name.
        run: String,
        /// The program's version.
        version: String,
        /// What was asked for, as a person would type it, without secrets.
        command: String,
        /// Playbook and inventories, with digests of their texts.
        made_from: Vec<(String, String)>,
        /// Where the inventory was found, to find the hosts again.
        inventories: Vec<String>,
        /// The folder that the names above are taken from.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        dir: String,
        /// The login name and machine of who runs it.
        by: String,
        /// What was asked for, to be asked for again; none where that is not a play of a playbook.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked: Option<Box<Invocation>>,
        /// The run that this one goes on with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        continues: Option<String>,
    },
    /// Bytes that later records name by digest: each once, for all hosts.
    Blob {
        /// SHA-256.
        digest: String,
        /// The bytes, as text or base64.
        bytes: modules::vocabulary::Bytes,
    },
    /// A host is part of the run, and how it is reached.
    Host {
        /// Its name in the inventory.
        host: String,
        /// `user@address:port`.
        address: String,
        /// Who acts there.
        user: String,
        /// Its number.
        uid: u32,
        /// As whom the run acts there.
        acting: serde_json::Value,
    },
    /// A batch will be sent. Written and synced before; with the ways back.
    Prepared {
        /// The batch.
        batch: Batch,
        /// Names of the tasks by number, for people.
        tasks: Vec<(u32, String)>,
        /// The numbers of those that hold a secret: what they wrote is never shown. None in journals that were written
        /// before this was told: nobody knows then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<Vec<u32>>,
    },
    /// What came of a batch.
    Done {
        /// The host.
        host: String,
        /// The batch's number.
        batch: u32,
        /// What came of it.
        report: BatchReport,
    },
    /// The link broke or the host's answer was not understood: whether the batch was done is not known.
    Lost {
        /// The host.
        host: String,
        /// The batch's number.
        batch: u32,
        /// In words.
        why: String,
    },
    /// What came of the timer that takes a batch back by itself.
    DeadMan {
        /// The host.
        host: String,
        /// The batch's number.
        batch: u32,
        /// What came of it.
        came: DeadManCame,
    },
    /// An activation is called for by states that were reached. It stays owed until it is done.
    Owed {
        /// The host.
        host: String,
        /// The activation.
        activation: Activation,
    },
    /// An activation was done.
    Activated {
        /// The host.
        host: String,
        /// The activation.
        activation: Activation,
        /// The program's answer.
        output: Option<Output>,
    },
    /// A host's part is over.
    HostEnded {
        /// The host.
        host: String,
        /// How.
        end: HostEnd,
        /// In words, where it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// What its connection counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tally: Option<Tally>,
    },
    /// An experiment begins: what it puts on its hosts is judged, or goes back.
    GateBegan {
        /// Its name.
        id: String,
        /// The hosts that are changed, with the number of their last batch before.
        hosts: Vec<(String, u32)>,
    },
    /// A gate gave its answer.
    Gate {
        /// Its name: the file `gates/ID.json` beside this journal holds its runs.
        id: String,
        /// Where the change was on and off.
        hosts: Vec<String>,
        /// The answer.
        outcome: crate::gate::Outcome,
        /// Why, in one sentence.
        why: String,
        /// Whether the change stays.
        kept: bool,
    },
    /// A person or a rule decided something.
    Decided {
        /// What.
        what: String,
        /// By whom.
        by: String,
    },
    /// The run ended in order.
    Ended {
        /// Its exit code.
        exit: u8,
    },
    /// An undo of this run began or ended.
    Undo {
        /// Hosts that are back at their old state.
        #[serde(default)]
        undone: Vec<String>,
        /// Claims that somebody else has changed: left alone.
        #[serde(default)]
        conflicts: Vec<String>,
        /// Whether it is over.
        ended: bool,
    },
    /// The run was closed: its ways back are gone from the hosts.
    Closed {
        /// The hosts that were reached.
        hosts: Vec<String>,
    },
}

/// What a play was asked for. Names start from the folder of the run. No value that may be secret is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Invocation {
    /// The playbook.
    pub playbook: String,
    /// `--limit`.
    pub limit: Option<String>,
    /// `--tags`.
    pub tags: Vec<String>,
    /// `--skip-tags`.
    pub skip_tags: Vec<String>,
    /// `--start-at-task`.
    pub start_at_task: Option<String>,
    /// `-e`, in order.
    pub extra: Vec<Extra>,
    /// `--vault-password-file`: names of files, never what is in them.
    pub vault_password_files: Vec<String>,
    /// `--ask-vault-pass`.
    pub ask_vault_pass: bool,
    /// `--ask-pass`.
    pub ask_pass: bool,
    /// `--ask-become-pass`.
    pub ask_become_pass: bool,
    /// `--forks`.
    pub forks: u16,
    /// `--no-probes`.
    pub no_probes: bool,
    /// `--step`.
    pub step: bool,
    /// `--allow-partial`.
    pub allow_partial: bool,
    /// `--over`.
    pub over: Vec<String>,
    /// Whether each change was judged by itself.
    pub ladder: bool,
}

/// One `-e`, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extra {
    /// `@FILE`: its name.
    File(String),
    /// Names whose values stood on the command line, and are not kept.
    Values(Vec<String>),
}

/// What came of a batch that the host takes back by itself unless it is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadManCame {
    /// It was confirmed over a new connection, and stays.
    Confirmed,
    /// Nobody confirmed it in time: the host took it back, wholly.
    TookBack,
    /// The host took it back, and not everything went back.
    TookBackInPart,
    /// The host was not reached again, so that nobody knows yet.
    Unknown,
}

/// How a host's part of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostEnd {
    /// All is as the playbook says, and proven.
    Proven,
    /// Something failed, and the failed batch was taken back.
    Failed,
    /// Something failed, and not everything could be taken back.
    FailedHalf,
    /// Another run holds it; nothing was written in the batch that met it.
    Held,
    /// Something was not as it was when it was planned; nothing was written in the batch that met it.
    Stale,
    /// It could not be reached.
    Unreachable,
    /// It was booted and did not come back.
    Lost,
    /// It was left out on purpose.
    Skipped,
    /// A person said no: to the host, or to what was decided on the way. What follows was not begun.
    Declined,
    /// A person has stopped the run: what follows was not begun.
    Stopped,
    /// It was known to fail before anything was changed there.
    Refused,
    /// What the run had changed there was taken back, wholly.
    RolledBack,
    /// The rollout was held before its turn: nothing was begun there.
    Waiting,
}
