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

/// What a task leaves is what it asked for: a second plan is empty, and the way back leads to the host before.
mod samples {
    use crate::host::Host;
    use crate::module::{Entry, Planner, Sample};
    use crate::recovery::way_back;
    use crate::vocabulary::{Act, Back, Change, Facts, Read, Step};
    use std::collections::BTreeSet;

    fn facts(host: &Host, planner: &dyn Planner) -> Facts {
        let mut reads: BTreeSet<Read> = BTreeSet::new();
        for _ in 0..4 {
            let more = planner.reads(&host.facts(reads.clone()));
            reads.extend(more);
        }
        host.facts(reads)
    }

    fn act(host: &mut Host, sample: &Sample, act: &Act) {
        host.act(act).unwrap_or_else(|why| panic!("{}: {why}", sample.about));
        if let Act::Call { row, .. } = act {
            let calls = sample.calls.iter().find(|(known, _)| known == row);
            for (read, seen) in calls.map(|(_, left)| left.clone()).unwrap_or_default() {
                host.set(&read, seen);
            }
        }
    }

    fn check(entry: &Entry, sample: &Sample) {
        let about = format!("{}: {}", entry.name, sample.about);
        let planner = (entry.parse)(sample.args.clone()).unwrap_or_else(|why| panic!("{about}: {why}"));
        let plan = |host: &Host| -> Change {
            planner.plan(&facts(host, &*planner)).unwrap_or_else(|why| panic!("{about}: {why:?}"))
        };
        let mut host = sample.host.clone();
        let Ok(change) = planner.plan(&facts(&host, &*planner)) else { return };
        if change.steps.iter().any(Step::is_act) {
            return;
        }
        for step in &change.steps {
            let look = step.look.as_ref().unwrap();
            assert!(
                step.before.same_state(&host.see(look)),
                "{about}: {:?} {:?}",
                step.before,
                host.see(look)
            );
            act(&mut host, sample, &step.act);
            assert!(step.after.holds(&host.see(look)), "{about}: {:?} {:?}", step.after, host.see(look));
        }
        assert!(plan(&host).steps.is_empty(), "{about}: a second plan is not empty");
        for step in change.steps.iter().rev() {
            if let (Some(back), _) = way_back(step) {
                act(&mut host, sample, back);
            }
            if matches!(step.back, Back::Exactly(_)) {
                assert!(step.before.same_state(&host.see(step.look.as_ref().unwrap())), "{about}: {step:?}");
            }
        }
    }

    #[test]
    fn all_samples_converge_and_go_back() {
        for entry in crate::ALL {
            let samples = (entry.samples)();
            for sample in &samples {
                check(entry, sample);
            }
        }
    }

    #[test]
    fn modules_are_listed_by_name_and_documented() {
        let names: Vec<&str> = crate::ALL.iter().map(|entry| entry.name).collect();
        assert!(names.is_sorted(), "{names:?}");
        for entry in crate::ALL {
            let schema = (entry.schema)();
            assert!(schema["description"].as_str().is_some_and(|text| text.len() > 20), "{}", entry.name);
            assert!(entry.example.contains(&format!("{}:", entry.name)), "{}", entry.name);
            for (alias, name) in entry.aliases {
                assert!(
                    schema["properties"].get(name).is_some(),
                    "{}: {alias} is another name of nothing",
                    entry.name
                );
            }
        }
    }
}
