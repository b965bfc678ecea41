//! The table of reading RPC methods, and what each row takes from an answer.
use super::Reply;
use super::taking;
use crate::vocabulary::{Row, Seen};
use serde_json::Value as Json;

/// One row: a method, and what is taken from its answer. Rows of one method share one request.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The row's name, used by [`Row::name`].
    pub name: &'static str,
    /// What it tells, one sentence.
    pub about: &'static str,
    /// The method.
    pub method: &'static str,
    /// How many arguments the row takes.
    pub takes: usize,
    /// What is taken from the result: what it moves by itself (counters, ticks) is left out, so that two looks at one
    /// state are alike.
    pub take: fn(&[String], &Json) -> Result<Seen, String>,
}

const fn row(
    name: &'static str,
    method: &'static str,
    takes: usize,
    take: fn(&[String], &Json) -> Result<Seen, String>,
    about: &'static str,
) -> Question {
    Question { name, about, method, takes, take }
}

/// Methods that look and never change anything.
pub const ASKING: &[Question] = &[
    row("spdk-version", "spdk_get_version", 0, taking::version, "the version of an SPDK target"),
    row("spdk-reactors", "framework_get_reactors", 0, taking::reactors, "the cores that a target runs on"),
    row("spdk-bdevs", "bdev_get_bdevs", 0, taking::bdevs, "all block devices of a target"),
    row("spdk-bdev", "bdev_get_bdevs", 1, taking::bdev, "one block device: kind, geometry, file"),
    row(
        "spdk-nvme-controllers",
        "bdev_nvme_get_controllers",
        0,
        taking::nvme_controllers,
        "all NVMe controllers that a target holds",
    ),
    row(
        "spdk-nvme-controller",
        "bdev_nvme_get_controllers",
        1,
        taking::nvme_controller,
        "where an NVMe controller is attached",
    ),
    row("spdk-controllers", "vhost_get_controllers", 0, taking::controllers, "all vhost controllers"),
    row(
        "spdk-controller",
        "vhost_get_controllers",
        1,
        taking::controller,
        "one vhost controller: kind, cores, and of a blk one its block device",
    ),
    row("spdk-slot", "vhost_get_controllers", 2, taking::slot, "the block device in a slot of a controller"),
    row(
        "spdk-sessions",
        "vhost_get_controllers",
        1,
        taking::sessions,
        "the sessions of a controller: guests that hold it open",
    ),
];

/// The row with a name.
pub fn question(name: &str) -> Option<&'static Question> {
    ASKING.iter().find(|row| row.name == name)
}

/// The method to send for a row.
///
/// # Errors
/// Names a row that the table does not have, and arguments that it does not take.
pub fn asks(row: &Row) -> Result<&'static str, String> {
    let question = question(&row.name)
        .ok_or_else(|| format!("the table of reading RPC methods has no row `{}`", row.name))?;
    if question.takes != row.args.len() {
        return Err(format!("the row `{}` takes {} arguments", row.name, question.takes));
    }
    Ok(question.method)
}

/// What a row takes from an answer.
pub fn taken(row: &Row, reply: &Reply) -> Seen {
    let method = match asks(row) {
        Ok(method) => method,
        Err(why) => return Seen::Failed(why),
    };
    match (question(&row.name), reply) {
        (Some(question), Reply::Result(result)) => (question.take)(&row.args, result).unwrap_or_else(|why| {
            Seen::Failed(format!("the answer to {method} cannot be understood: {why}"))
        }),
        (_, Reply::Error { code, message }) => Seen::Failed(match code {
            -32601 => {
                format!("the target does not know {method}: it is of another version, or built without it")
            }
            -1 => format!("{method}: {message} The target waits for `framework_start_init`"),
            _ => format!("{method}: {message} ({code})"),
        }),
        (None, _) => Seen::Failed(format!("no row `{}`", row.name)),
    }
}
