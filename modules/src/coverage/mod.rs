//! Which tuning of the measured sources is said by what: the table at the end of the reference.
//!
//! The sources are five published accounts of tuning Ceph, QEMU, SPDK, LVM and the network under them. Each of their
//! tunings has a row: what says it in a playbook, when it is felt, how it is taken back, what proves it, and the test
//! that shows it. A row without one of these, or with a test that is not there, fails the contract suite.
mod benchmarks;
mod ceph;
mod guests;
mod host;
mod kernel_line;
mod lvm;
mod spdk;

use crate::vocabulary::Effect;

/// What says a tuning in a playbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying {
    /// A module's argument. An argument inside another one is named after a dot.
    Argument(&'static str, &'static str),
    /// A fact that tasks look at: a name of `ansible_facts`, or a module that only reads.
    Fact(&'static str),
    /// A task of this title in a playbook of `playbooks/`: what no tool applies is a `manual` task with its probe, a
    /// benchmark a `command`.
    Task(&'static str, &'static str),
}

/// One tuning of the sources.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Its number, from 1, in the order of the table.
    pub row: u16,
    /// The tuning as an engineer writes it.
    pub what: &'static str,
    /// What says it.
    pub said_by: Saying,
    /// When it is felt; none for what changes nothing.
    pub effect: Option<Effect>,
    /// How it is taken back.
    pub inverse: &'static str,
    /// What proves that it is live.
    pub proof: &'static str,
    /// The test that shows it: a file below the repository's top, `::`, and a function in it.
    pub test: &'static str,
}

const fn row(
    row: u16,
    what: &'static str,
    said_by: Saying,
    effect: Option<Effect>,
    (inverse, proof): (&'static str, &'static str),
    test: &'static str,
) -> Tuning {
    Tuning { row, what, said_by, effect, inverse, proof, test }
}

/// All tunings, in the order of their numbers.
pub fn coverage() -> Vec<Tuning> {
    let mut all: Vec<Tuning> =
        [kernel_line::ROWS, host::ROWS, ceph::ROWS, guests::ROWS, lvm::ROWS, spdk::ROWS, benchmarks::ROWS]
            .concat();
    all.sort_by_key(|tuning| tuning.row);
    all
}
