//! The dry run cannot lie: what is planned on planned steps is what is planned after they were carried out.
use crate::apply::apply;
use crate::trial::{Trial, all, facts, is_state, none_wrong, on, plan, settle, settle_on};
use modules::vocabulary::{Change, Facts, Read, Step, Stop, TaskId, touches};

/// The plan of a second task, made before the first one was carried out.
fn foreseen(first: &Trial, change: &Change, second: &Trial) -> Result<Change, Stop> {
    let mut planned = Facts::default();
    planned.plan(TaskId(0), change.steps.clone());
    let (base, _) = settle_on(&*second.planner, &first.host, &planned);
    second.planner.plan(&on(&base, &planned))
}

/// Whether two steps are the same, save what cannot be known beforehand: times.
fn alike(one: &Step, two: &Step) -> bool {
    one.claim == two.claim
        && one.look == two.look
        && one.act == two.act
        && one.after == two.after
        && one.back == two.back
        && one.before.same_state(&two.before)
}

#[test]
fn a_task_behind_any_other_is_planned_as_it_would_be_afterwards() {
    let trials = all();
    let mut wrong = Vec::new();
    let (mut pairs, mut met, mut late) = (0, 0, 0);
    for first in &trials {
        let Ok(change) = plan(&*first.planner, &first.host) else { continue };
        let Ok(host) = apply(first, &change) else { continue };
        for second in &trials {
            pairs += 1;
            // Where nothing that it reads is touched, the second plan is the same by itself.
            let (reads, _) = settle(&*second.planner, &first.host);
            let touched = |read: &Read| change.steps.iter().any(|step| touches(&step.act, read));
            if !reads.keys().any(touched) {
                continue;
            }
            // Behind a call of a program much is late, and rightly.
            let known = change.steps.iter().all(|step| step.path().is_some());
            met += usize::from(known);
            let before = foreseen(first, &change, second);
            let after = plan(&*second.planner, &host);
            let same = match (&before, &after) {
                (Err(Stop::Late(_)), _) => {
                    late += usize::from(known);
                    true
                }
                (Ok(before), Ok(after)) => {
                    before.steps.len() == after.steps.len()
                        && before.steps.iter().zip(&after.steps).all(|(one, two)| alike(one, two))
                        && before.then == after.then
                        && before.diff == after.diff
                }
                (Err(Stop::Refused(before)), Err(Stop::Refused(after))) => before == after,
                _ => false,
            };
            if !same {
                wrong.push(format!(
                    "{} behind {}:\n  foreseen {before:?}\n  in truth {after:?}",
                    second.name, first.name
                ));
            }
        }
    }
    assert!(met >= 100, "only {met} of {pairs} pairs meet: the samples are too far apart");
    // Lateness is honest, but a planner that answers everything with it would be of no use.
    assert!(late * 4 < met, "{late} of {met} plans are late");
    wrong.truncate(20);
    none_wrong(wrong);
}

#[test]
fn a_task_on_its_own_steps_plans_nothing_more() {
    let mut wrong = Vec::new();
    for trial in all() {
        let Ok(change) = plan(&*trial.planner, &trial.host) else { continue };
        match foreseen(&trial, &change, &trial) {
            Ok(again) => {
                let states = again.steps.iter().filter(|step| is_state(step)).count();
                if states > 0 {
                    wrong.push(format!("{}: on its own steps it plans {:?}", trial.name, again.steps));
                }
            }
            Err(Stop::Late(_)) if change.steps.iter().any(|step| step.path().is_none()) => {}
            Err(stop) => wrong.push(format!("{}: on its own steps it stops: {stop:?}", trial.name)),
        }
    }
    none_wrong(wrong);
}

#[test]
fn facts_of_another_host_are_no_facts() {
    // A plan on no facts at all asks, or refuses by its arguments; it never acts.
    for trial in all() {
        if let Ok(change) = trial.planner.plan(&facts(Default::default())) {
            let states = change.steps.iter().filter(|step| is_state(step)).count();
            assert!(states == 0, "{}: a change from no facts", trial.name);
        }
        assert!(settle(&*trial.planner, &trial.host).1 <= 2 * crate::trial::ROUNDS + 1);
    }
}
