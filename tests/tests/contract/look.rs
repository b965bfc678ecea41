//! Reads and what a plan makes of them when they are missing, denied or failed.
use crate::trial::{ROUNDS, all, facts, is_state, none_wrong, plan, settle};
use modules::host::Host;
use modules::vocabulary::{Act, Back, Change, HostPath, Read, Seen, Stop, touches};

#[test]
fn reads_settle_and_suffice() {
    let mut wrong = Vec::new();
    for trial in all() {
        let (base, rounds) = settle(&*trial.planner, &trial.host);
        if rounds > ROUNDS {
            wrong.push(format!("{}: {rounds} rounds of reads", trial.name));
        }
        if let Err(Stop::Unread(reads)) = trial.planner.plan(&facts(base)) {
            wrong.push(format!("{}: the plan misses {reads:?}, which it never asked for", trial.name));
        }
    }
    none_wrong(wrong);
}

#[test]
fn plans_are_the_same_each_time_whatever_else_was_read() {
    let mut wrong = Vec::new();
    for trial in all() {
        let (base, _) = settle(&*trial.planner, &trial.host);
        let first = trial.planner.plan(&facts(base.clone()));
        let mut more = base.clone();
        for path in ["/etc/unrelated", "/proc/unrelated", "/zz"] {
            let path = HostPath::new(path).unwrap();
            more.entry(Read::text(&path)).or_insert(Seen::Absent);
            more.entry(Read::Stat(path)).or_insert(Seen::Denied);
        }
        if first != trial.planner.plan(&facts(base)) {
            wrong.push(format!("{}: two plans of the same facts differ", trial.name));
        }
        if first != trial.planner.plan(&facts(more)) {
            wrong.push(format!("{}: what it did not ask for changes its plan", trial.name));
        }
    }
    none_wrong(wrong);
}

#[test]
fn a_missing_read_never_makes_another_change() {
    let mut wrong = Vec::new();
    for trial in all() {
        let (base, _) = settle(&*trial.planner, &trial.host);
        let whole = trial.planner.plan(&facts(base.clone()));
        for read in base.keys() {
            let mut fewer = base.clone();
            fewer.remove(read);
            match trial.planner.plan(&facts(fewer)) {
                Err(_) => {}
                Ok(change) if whole.as_ref() == Ok(&change) => {}
                Ok(change) => {
                    wrong.push(format!("{}: without {read:?} it plans {:?}", trial.name, acts(&change)));
                }
            }
        }
    }
    none_wrong(wrong);
}

#[test]
fn denied_and_failed_are_never_taken_for_absent() {
    let mut wrong = Vec::new();
    for trial in all() {
        let (base, _) = settle(&*trial.planner, &trial.host);
        let whole = trial.planner.plan(&facts(base.clone()));
        for read in base.keys() {
            for answer in [Seen::Denied, Seen::Failed("Input/output error".to_owned())] {
                let mut worse = base.clone();
                worse.insert(read.clone(), answer.clone());
                let Ok(change) = trial.planner.plan(&facts(worse)) else { continue };
                for step in &change.steps {
                    let on_it = read.path().is_some() && read.path() == step.path();
                    let known = whole.as_ref().is_ok_and(|whole| {
                        whole
                            .steps
                            .iter()
                            .any(|known| known.path() == step.path() && known.claim == step.claim)
                    });
                    if on_it || !known {
                        wrong.push(format!(
                            "{}: with {answer:?} for {read:?} it plans {:?}",
                            trial.name, step.act
                        ));
                    }
                }
            }
        }
    }
    none_wrong(wrong);
}

#[test]
fn a_host_that_denies_all_is_left_alone() {
    for trial in all() {
        let (base, _) = settle(&*trial.planner, &trial.host);
        if base.is_empty() {
            continue;
        }
        let denied = base.keys().map(|read| (read.clone(), Seen::Denied)).collect();
        if let Ok(change) = trial.planner.plan(&facts(denied)) {
            let states = change.steps.iter().filter(|step| is_state(step));
            assert_eq!(states.count(), 0, "{}: {:?}", trial.name, acts(&change));
        }
    }
}

#[test]
fn an_empty_host_never_breaks_a_plan() {
    for trial in all() {
        // Whatever it says is right, as long as it says it.
        let _ = plan(&*trial.planner, &Host::new());
    }
}

#[test]
fn refusals_speak() {
    for trial in all() {
        if let Err(Stop::Refused(refusal)) = plan(&*trial.planner, &trial.host) {
            assert!(refusal.why.trim().len() > 10, "{}: {refusal:?}", trial.name);
            if let Some(argument) = refusal.argument {
                let schema = (trial.module.schema)();
                assert!(schema["properties"].get(argument).is_some(), "{}: blames `{argument}`", trial.name);
            }
        }
    }
}

fn acts(change: &Change) -> Vec<String> {
    change.steps.iter().map(|step| format!("{:?}", step.act)).collect()
}

/// Undo plans the way back of an older step on what a newer one leaves, and so do tasks: a call that says nothing of its
/// own look would leave both with what was seen before it.
#[test]
fn a_call_and_its_way_back_touch_what_their_step_looks_at() {
    let mut wrong = Vec::new();
    for trial in all() {
        let Ok(change) = plan(&*trial.planner, &trial.host) else { continue };
        for step in &change.steps {
            let Some(look) = &step.look else { continue };
            let back = match &step.back {
                Back::Exactly(act) => Some(act),
                _ => None,
            };
            for act in std::iter::once(&step.act).chain(back).filter(|act| matches!(act, Act::Call { .. })) {
                if !touches(act, look) {
                    wrong.push(format!("{}: {act:?} does not touch {look:?}", trial.name));
                }
            }
        }
    }
    none_wrong(wrong);
}
