//! Changes carried out on the host in memory, asked again, and undone.
use crate::trial::{Calls, Trial, all, is_state, none_wrong, plan};
use modules::fold::{Folded, fold};
use modules::host::Host;
use modules::recovery::way_back;
use modules::vocabulary::{Act, Back, Change, RiskName, TaskId, touches};

/// Carries an act out, with what a call leaves.
fn act(host: &mut Host, act: &Act, calls: &Calls) -> Result<(), String> {
    if let Act::Call { row, .. } = act {
        for (read, seen) in calls.iter().filter(|(called, _)| called == row).flat_map(|(_, left)| left) {
            host.set(read, seen.clone());
        }
    }
    host.act(act)
}

/// The folded steps of a change.
pub fn folded(change: &Change) -> Vec<Folded> {
    fold(change.steps.iter().map(|step| (TaskId(0), step.clone())))
}

/// The host after a change.
pub fn apply(trial: &Trial, change: &Change) -> Result<Host, String> {
    let mut host = trial.host.clone();
    for folded in folded(change) {
        act(&mut host, &folded.step.act, &trial.calls)?;
    }
    Ok(host)
}

/// Trials that plan a change, with it.
fn changes() -> Vec<(Trial, Change)> {
    let planned = all().into_iter().filter_map(|trial| {
        let change = plan(&*trial.planner, &trial.host).ok()?;
        Some((trial, change))
    });
    planned.collect()
}

#[test]
fn each_module_changes_or_answers_something() {
    for entry in modules::ALL {
        let answers = changes().iter().filter(|(trial, _)| trial.module.name == entry.name).count();
        assert!(answers > 0, "no sample of {} gives a change", entry.name);
    }
}

#[test]
fn before_is_what_is_seen() {
    let mut wrong = Vec::new();
    for (trial, change) in changes() {
        for folded in folded(&change) {
            let Some(look) = &folded.step.look else { continue };
            let seen = trial.host.see(look);
            if !folded.step.before.same_state(&seen) {
                wrong.push(format!(
                    "{}: {look:?} is {seen:?}, the step says {:?}",
                    trial.name, folded.step.before
                ));
            }
        }
    }
    none_wrong(wrong);
}

#[test]
fn after_holds_and_a_second_plan_is_empty() {
    let mut wrong = Vec::new();
    for (trial, change) in changes() {
        let host = match apply(&trial, &change) {
            Ok(host) => host,
            Err(why) => {
                wrong.push(format!("{}: {why}", trial.name));
                continue;
            }
        };
        let steps = folded(&change);
        for (number, folded) in steps.iter().enumerate() {
            let Some(look) = &folded.step.look else { continue };
            // As the engine judges it: what a later step touches is that step's to prove.
            if steps[number + 1..].iter().any(|later| touches(&later.step.act, look)) {
                continue;
            }
            let seen = host.see(look);
            if !folded.step.after.holds(&seen) {
                wrong.push(format!("{}: {:?} does not hold: {seen:?}", trial.name, folded.step.after));
            }
        }
        match plan(&*trial.planner, &host) {
            Ok(again) => {
                // An act that leaves no state is proven by its own evidence and asked for each time.
                let states: Vec<_> = again.steps.iter().filter(|step| is_state(step)).collect();
                if !states.is_empty() {
                    wrong.push(format!("{}: asked again it plans {states:?}", trial.name));
                }
                if again.steps.is_empty() && !again.then.is_empty() {
                    wrong.push(format!("{}: asked again it calls for {:?}", trial.name, again.then));
                }
            }
            Err(stop) => wrong.push(format!("{}: asked again it stops: {stop:?}", trial.name)),
        }
    }
    none_wrong(wrong);
}

#[test]
fn undo_gives_back_the_host() {
    let mut wrong = Vec::new();
    for (trial, change) in changes() {
        let steps = folded(&change);
        let exact = steps.iter().all(|folded| matches!(folded.step.back, Back::Exactly(_) | Back::Nothing));
        let Ok(mut host) = apply(&trial, &change) else { continue };
        for folded in steps.iter().rev() {
            if let (Some(back), _) = way_back(&folded.step)
                && let Err(why) = act(&mut host, back, &trial.calls)
            {
                wrong.push(format!("{}: the way back fails: {why}", trial.name));
            }
        }
        let differences = trial.host.differences(&host);
        if exact && !differences.is_empty() {
            wrong.push(format!("{}: undone, but\n{}", trial.name, differences.join("\n")));
        }
    }
    none_wrong(wrong);
}

#[test]
fn no_way_back_is_a_risk_that_is_named() {
    for (trial, change) in changes() {
        // What a person's own command leaves is theirs to say, by `undo:`; the plan shows that nobody did.
        let own = |act: &Act| matches!(act, Act::Call { row, .. } if ["command", "shell", "shell-by"].contains(&row.name.as_str()));
        let lost = change.steps.iter().any(|step| matches!(step.back, Back::None { .. }) && !own(&step.act));
        let said = change.risks.iter().any(|risk| risk.name == RiskName::Irreversible);
        assert!(!lost || said, "{}: a step has no way back, and no risk says so", trial.name);
    }
}

#[test]
fn changes_survive_json() {
    for (trial, change) in changes() {
        let text = serde_json::to_string(&change).unwrap();
        let back: Change =
            serde_json::from_str(&text).unwrap_or_else(|why| panic!("{}: {why}: {text}", trial.name));
        assert_eq!(back, change, "{}", trial.name);
    }
}

#[test]
fn a_change_is_seen_in_the_diff_or_in_the_answer() {
    for (trial, change) in changes() {
        let states = change.steps.iter().any(is_state);
        assert!(
            !states || !change.diff.is_empty(),
            "{}: something changes and the diff shows nothing",
            trial.name
        );
    }
}

#[test]
fn results_leave_the_engines_words_alone() {
    for (trial, change) in changes() {
        for word in ["changed", "failed", "skipped"] {
            assert!(change.result.get(word).is_none(), "{}: the result says `{word}`", trial.name);
        }
    }
}
