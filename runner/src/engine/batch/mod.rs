//! Acting on a host: a prepared batch as one script, and what its answer says.
mod act_text;
mod back_text;
mod compare_text;
mod dead_man_text;
mod lock_text;
mod place;
mod prepared;
mod report;
mod rpc_text;
mod text;

pub(crate) use dead_man_text::confirm;
pub(crate) use lock_text::lock;
pub use lock_text::{base, logs, mark};
pub use place::leftovers;
pub use prepared::{Batch, Prepared, Undoes};
pub(crate) use report::shown_call;
pub use report::{ActDone, BatchReport, Verdict};
pub(crate) use rpc_text::{RpcText, begun as rpc_begun, closing as rpc_closing, opening as rpc_opening};
pub use text::looks;
pub(crate) use text::{Text, text};
