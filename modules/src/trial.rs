//! Tries of modules on hosts in memory, for the tests beside them.
use crate::host::Host;
use crate::module::Module;
use crate::vocabulary::{Change, Facts, Read, Stop};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The facts that a module asks for, round by round; more than four rounds are a fault.
pub(crate) fn facts<M: Module>(host: &Host, module: &M) -> Facts {
    let mut reads: BTreeSet<Read> = BTreeSet::new();
    for _ in 0..4 {
        let facts = host.facts(reads.clone());
        let before = reads.len();
        reads.extend(module.reads(&facts));
        if reads.len() == before {
            return facts;
        }
    }
    host.facts(reads)
}

/// What a module plans.
pub(crate) fn plan<M: Module>(host: &Host, args: Json) -> Result<Change, Stop> {
    let module: M = serde_json::from_value(args).unwrap_or_else(|why| panic!("{why}"));
    module.plan(&facts(host, &module))
}

/// The change that a module plans.
pub(crate) fn planned<M: Module>(host: &Host, args: Json) -> Change {
    plan::<M>(host, args).unwrap_or_else(|stop| panic!("{stop:?}"))
}

/// Why a module refuses, with its way out.
pub(crate) fn refusal<M: Module>(host: &Host, args: Json) -> String {
    match plan::<M>(host, args) {
        Err(Stop::Refused(refusal)) => format!("{}: {}", refusal.why, refusal.way_out.unwrap_or_default()),
        other => panic!("not refused: {other:?}"),
    }
}
