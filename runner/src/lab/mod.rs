//! Hosts without hardware: throw-away SSH hosts in namespaces on one machine.
//!
//! One supervisor, pid 1 of its own pid namespace, owns the bridge, the mounts and every host. Nothing of a lab is
//! seen in the machine's own namespaces; the end of the supervisor is the end of all of it.
//!
//! Limits, said plainly: hosts share the machine's kernel, so kernel settings are copies per host ([`knobs`]): they
//! refuse what the kernel refuses for the keys in `knobs::rule`, they are read back as the kernel would print
//! them, and they have no effect. Settings of the network are real, for each host has a network of its own.
mod booted;
mod cgroup;
mod cmdline;
pub mod entry;
mod keys;
pub mod knobs;
mod network;
mod plain;
mod process;
mod requirement;
mod root;
mod running;
mod skeleton;
mod spec;
mod state;
mod supervisor;
mod sweep;

pub use process::Started;
pub use requirement::problems;
pub use running::Lab;
pub use spec::{LabHost, LabSpec, Tier};
pub use state::{Listed, list};
pub use sweep::{Swept, sweep};

use crate::diagnostic::{Diagnostic, Problems};

/// Turns a failed call into the problem that a person reads: what was tried, and what the system said.
fn failed(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Box<Diagnostic> {
    move |error| Diagnostic::error(format!("the lab could not {what}: {error}"), None).into()
}

/// The same for calls by `nix`, whose errors are bare numbers.
fn refused(what: impl std::fmt::Display) -> impl FnOnce(nix::errno::Errno) -> Box<Diagnostic> {
    move |error| failed(what)(error.into())
}

impl From<Box<Diagnostic>> for Problems {
    fn from(one: Box<Diagnostic>) -> Self {
        vec![*one]
    }
}

impl From<Diagnostic> for Problems {
    fn from(one: Diagnostic) -> Self {
        vec![one]
    }
}
