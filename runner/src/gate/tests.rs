//! The judge over whole runs: orders, repeats, arms that were never live, missing figures, advice, replay.
use super::*;
use std::collections::BTreeMap;

fn metric() -> Metric {
    Metric::new("iops", "rbd.iops", Direction::Higher, 0.05)
}

fn experiment() -> Experiment {
    Experiment::new("g1", "h1", vec![metric()], 7)
}

fn figures(value: f64) -> BTreeMap<String, Figure> {
    BTreeMap::from([("rbd.iops".to_owned(), Figure::of(value))])
}

fn run(host: &str, slot: u32, arm: Arm, end: RunEnd) -> Run {
    let live = Live::Proven { seen: format!("{arm:?}") };
    Run {
        host: host.into(),
        slot,
        arm,
        live,
        end,
        boot: None,
        versions: BTreeMap::new(),
        flags: Vec::new(),
        within: None,
    }
}

fn measured(value: f64) -> RunEnd {
    RunEnd::Measured { figures: figures(value) }
}

/// Plays a gate to its end: `bench` is asked for each wanted run, told how often that slot was tried.
fn play(experiment: &Experiment, bench: impl Fn(&Wanted) -> Run) -> (Vec<Run>, Verdict) {
    let mut runs = Vec::new();
    loop {
        match judge(experiment, &runs) {
            Judgement::Answer(verdict) => return (runs, *verdict),
            Judgement::Wants(wanted) => {
                assert!(!wanted.is_empty() && runs.len() < 2000, "it asks for something and ends");
                runs.extend(wanted.iter().map(&bench));
            }
        }
    }
}

/// A small wobble that differs from slot to slot.
fn wobble(slot: u32) -> f64 {
    1.0 + 0.004 * f64::from((slot * 7 + 3) % 5) - 0.008
}

fn with_effect(effect: f64) -> impl Fn(&Wanted) -> Run {
    move |wanted| {
        let factor = if wanted.arm == Arm::B { 1.0 + effect } else { 1.0 };
        run(&wanted.host, wanted.slot, wanted.arm, measured(1000.0 * factor * wobble(wanted.slot)))
    }
}

#[test]
fn a_harmless_change_passes_and_a_loss_is_taken_back() {
    let (runs, verdict) = play(&experiment(), with_effect(0.0));
    assert_eq!((verdict.outcome, &verdict.reason), (Outcome::Pass, &Reason::Harmless));
    assert_eq!((verdict.pairs, runs.len()), (6, 12));
    let (_, verdict) = play(&experiment(), with_effect(-0.08));
    assert_eq!(verdict.reason, Reason::Loss { metric: "iops".into() });
    let (runs, verdict) = play(&experiment(), with_effect(-0.30));
    assert_eq!((verdict.outcome, runs.len()), (Outcome::Regress, 6));
    assert!(matches!(verdict.reason, Reason::Catastrophe { .. }));
}

#[test]
fn equal_numbers_pass_and_a_shift_of_them_does_not() {
    let same = |effect: f64| {
        move |wanted: &Wanted| {
            let value = if wanted.arm == Arm::B { 1000.0 * (1.0 + effect) } else { 1000.0 };
            run(&wanted.host, wanted.slot, wanted.arm, measured(value))
        }
    };
    let (_, verdict) = play(&experiment(), same(0.0));
    assert_eq!((verdict.outcome, verdict.pairs), (Outcome::Pass, 6));
    let (_, verdict) = play(&experiment(), same(-0.06));
    assert_eq!(verdict.outcome, Outcome::Regress);
}

#[test]
fn an_arm_that_never_was_is_never_a_pass() {
    for live in [Live::Unknown, Live::Differs { expected: "on".into(), seen: "off".into() }] {
        let (_, verdict) = play(&experiment(), |wanted| {
            let mut run = with_effect(0.0)(wanted);
            if wanted.arm == Arm::B {
                run.live = live.clone();
            }
            run
        });
        assert_eq!(verdict.outcome, Outcome::Inconclusive);
        assert!(matches!(verdict.reason, Reason::NotLive { .. }), "{:?}", verdict.reason);
    }
    // The other arm was measured, and was live.
    let (_, verdict) = play(&experiment(), |wanted| Run { arm: Arm::A, ..with_effect(0.0)(wanted) });
    assert!(matches!(verdict.reason, Reason::NotLive { .. }));
}

#[test]
fn no_figure_is_never_a_pass() {
    for value in [0.0, -3.0, f64::NAN, f64::INFINITY] {
        for arm in [Arm::A, Arm::B] {
            let (_, verdict) = play(&experiment(), |wanted| {
                let good = with_effect(0.0)(wanted);
                if wanted.arm == arm { Run { end: measured(value), ..good } } else { good }
            });
            assert_eq!(verdict.outcome, Outcome::Inconclusive, "{value} in {arm:?}");
        }
    }
    let (_, verdict) = play(&experiment(), |wanted| Run {
        end: RunEnd::Measured { figures: BTreeMap::new() },
        ..with_effect(0.0)(wanted)
    });
    assert!(matches!(verdict.reason, Reason::Invalid { .. }));
}

#[test]
fn runs_that_fail_with_the_change_alone_are_its_doing() {
    let broken = |arm: Arm, tries: u32| {
        move |wanted: &Wanted| {
            let good = with_effect(0.0)(wanted);
            let fails = wanted.arm == arm && wanted.slot >= 4 && (!wanted.repeat || tries > 1);
            let end = RunEnd::Failed(Fault::Tool { what: "fio: Input/output error".into() });
            if fails { Run { end, ..good } } else { good }
        }
    };
    let (_, verdict) = play(&experiment(), broken(Arm::B, 2));
    assert_eq!(verdict.outcome, Outcome::Regress);
    assert!(matches!(verdict.reason, Reason::Broken { .. }), "{:?}", verdict.reason);
    let (_, verdict) = play(&experiment(), broken(Arm::A, 2));
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "without the change it is no sign against it");
    // Every run with the change has to be repeated: whatever the figures say, that is no pass.
    let (_, verdict) = play(&experiment(), broken(Arm::B, 1));
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert!(matches!(verdict.reason, Reason::Shaky | Reason::Unstable), "{:?}", verdict.reason);
}

#[test]
fn a_fault_of_both_arms_or_of_the_first_run_decides_nothing() {
    let fault = || RunEnd::Failed(Fault::Tool { what: "no such pool".into() });
    let (_, verdict) = play(&experiment(), |wanted| Run { end: fault(), ..with_effect(0.0)(wanted) });
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "{:?}", verdict.reason);
    // Where the change is measured first, its failure waits for a run without it.
    let seed = (0..).find(|seed| experiment_with(*seed).flipped()).unwrap();
    let (runs, verdict) = play(&experiment_with(seed), |wanted| {
        let good = with_effect(0.0)(wanted);
        if wanted.arm == Arm::B { Run { end: fault(), ..good } } else { good }
    });
    assert_eq!((verdict.outcome, runs.len()), (Outcome::Regress, 3));
}

fn experiment_with(seed: u64) -> Experiment {
    Experiment { seed, ..experiment() }
}

#[test]
fn load_that_hurts_others_ends_the_gate_and_is_no_regress() {
    let (_, verdict) = play(&experiment(), |wanted| {
        let end = RunEnd::Failed(Fault::Aborted { what: "SLOW_OPS".into() });
        if wanted.slot == 5 { Run { end, ..with_effect(-0.04)(wanted) } } else { with_effect(-0.04)(wanted) }
    });
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert_eq!(verdict.reason, Reason::Aborted { what: "SLOW_OPS".into() });
}

#[test]
fn a_limit_counts_against_the_change_and_a_sensor_that_is_not_there_does_not() {
    let limited =
        Experiment { limits: vec![Limit { from: "loss.percent".into(), max: 0.01 }], ..experiment() };
    let with_loss = |loss: Figure, arm: Arm| {
        move |wanted: &Wanted| {
            let mut all = figures(1000.0 * wobble(wanted.slot));
            let calm = if wanted.arm == arm { loss.clone() } else { Figure::of(0.0) };
            all.insert("loss.percent".into(), calm);
            run(&wanted.host, wanted.slot, wanted.arm, RunEnd::Measured { figures: all })
        }
    };
    let (_, verdict) = play(&limited, with_loss(Figure::of(0.2), Arm::B));
    assert_eq!(verdict.outcome, Outcome::Regress, "{:?}", verdict.reason);
    let none = Figure::NotAvailable { why: "no ping".into() };
    let (_, verdict) = play(&limited, with_loss(none, Arm::B));
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    let (_, verdict) = play(&limited, with_loss(Figure::of(0.0), Arm::B));
    assert_eq!(verdict.outcome, Outcome::Pass);
}

#[test]
fn a_percentile_of_too_few_is_inconclusive_and_a_warning_never_decides() {
    let mut two = experiment();
    two.metrics.push(Metric { role: Role::Guard, ..Metric::new("p99", "rbd.p99", Direction::Lower, 0.15) });
    let short = |wanted: &Wanted| {
        let mut all = figures(1000.0 * wobble(wanted.slot));
        all.insert("rbd.p99".into(), Figure::Insufficient { had: 3200, needs: 10_000 });
        run(&wanted.host, wanted.slot, wanted.arm, RunEnd::Measured { figures: all })
    };
    let (_, verdict) = play(&two, short);
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert!(
        matches!(&verdict.reason, Reason::Lacking { why, .. } if why.contains("3200")),
        "{:?}",
        verdict.reason
    );
    two.metrics[1].warn = true;
    let (_, verdict) = play(&two, short);
    assert_eq!(verdict.outcome, Outcome::Pass);
    let none = |wanted: &Wanted| run(&wanted.host, wanted.slot, wanted.arm, measured(1000.0));
    let (_, verdict) = play(&two, none);
    assert_eq!((verdict.outcome, verdict.metrics[1].finding), (Outcome::Pass, decide::Finding::Lacking));
}

#[test]
fn a_promised_gain_must_be_shown() {
    let mut promise = experiment();
    promise.metrics[0].min_gain = Some(0.10);
    let (_, verdict) = play(&promise, with_effect(0.25));
    assert_eq!((verdict.outcome, verdict.metrics[0].gain), (Outcome::Pass, Some((0.10, true))));
    let (_, verdict) = play(&promise, with_effect(0.0));
    assert_eq!(verdict.reason, Reason::NoGain { metric: "iops".into() });
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    let (_, verdict) = play(&promise, with_effect(-0.30));
    assert_eq!(verdict.outcome, Outcome::Regress);
}

#[test]
fn an_accepted_cost_passes_with_its_price() {
    let mut cost = experiment();
    (cost.metrics[0].margin, cost.metrics[0].cost) = (0.35, true);
    let (_, verdict) = play(&cost, with_effect(-0.25));
    assert_eq!(verdict.outcome, Outcome::Pass);
    assert!(verdict.metrics[0].measurable);
    let text = summary::summary(&cost, &verdict);
    assert!(text.contains("pass, at its price") && text.contains("-35.0 %"), "{text}");
}

#[test]
fn one_changed_host_of_forty_never_passes_with_a_loss() {
    let mut shared = experiment();
    shared.metrics[0].share = 1.0 / 40.0;
    // The loss of 30 % on one host of forty is 0.75 % of the whole.
    let (_, verdict) = play(&shared, with_effect(-0.30 / 40.0));
    assert_ne!(verdict.outcome, Outcome::Pass, "{:?}", verdict.reason);
    // Not even where nothing else moves at all.
    let (_, verdict) = play(&shared, |wanted| {
        let value = if wanted.arm == Arm::B { 1000.0 * (1.0 - 0.30 / 40.0) } else { 1000.0 };
        run(&wanted.host, wanted.slot, wanted.arm, measured(value))
    });
    assert_ne!(verdict.outcome, Outcome::Pass);
}

#[test]
fn a_disturbance_of_all_hosts_is_not_the_changes_doing() {
    let mut beside = experiment();
    beside.controls = vec!["c1".into()];
    // Something slows all hosts in exactly the slots of the change.
    let (_, verdict) = play(&beside, |wanted| {
        let arm = beside.arm(0, wanted.slot);
        let factor = if arm == Arm::B { 0.7 } else { 1.0 };
        run(&wanted.host, wanted.slot, wanted.arm, measured(1000.0 * factor * wobble(wanted.slot)))
    });
    assert_eq!(verdict.reason, Reason::Clash { host: "c1".into() });
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    // A control that breaks is left out.
    let (_, verdict) = play(&beside, |wanted| {
        let end = RunEnd::Failed(Fault::Tool { what: "away".into() });
        if wanted.host == "c1" { Run { end, ..with_effect(0.0)(wanted) } } else { with_effect(0.0)(wanted) }
    });
    assert_eq!((verdict.outcome, verdict.lost_controls.len()), (Outcome::Pass, 1));
}

#[test]
fn one_host_of_three_that_loses_is_named() {
    let three = Experiment { canaries: vec!["h1".into(), "h2".into(), "h3".into()], ..experiment() };
    let (_, verdict) = play(&three, |wanted| {
        let effect = if wanted.host == "h2" { -0.2 } else { 0.0 };
        with_effect(effect)(wanted)
    });
    assert_eq!((verdict.outcome, verdict.losing_hosts), (Outcome::Pass, vec!["h2".to_owned()]));
}

/// Hosts of different levels, whose boots differ by up to 2 %. `once` is a host that never boots.
fn booted(boots: &Experiment, effect: f64, once: bool) -> impl Fn(&Wanted) -> Run {
    let boots = boots.clone();
    move |wanted| {
        let level = f64::from(wanted.host.as_bytes()[1]) * 100.0;
        let factor = if wanted.arm == Arm::B { 1.0 + effect } else { 1.0 };
        let boot = boots.boot(wanted.slot);
        let value = level * factor * (1.0 + 0.01 * f64::from(boot % 3)) * wobble(wanted.slot);
        let id = format!("{}-{}", wanted.host, if once { 0 } else { boot });
        Run { boot: Some(id), ..run(&wanted.host, wanted.slot, wanted.arm, measured(value)) }
    }
}

#[test]
fn boots_are_units_of_their_own_and_must_have_happened() {
    let mut boots = Experiment {
        toggle: Toggle::Reboot,
        canaries: ["h1", "h2", "h3", "h4"].map(Into::into).into(),
        max_pairs: 2,
        runs_each: 4,
        ..experiment()
    };
    let (runs, verdict) = play(&boots, booted(&boots, 0.0, false));
    assert_eq!((verdict.outcome, verdict.pairs, runs.len()), (Outcome::Pass, 8, 64), "{:?}", verdict.reason);
    let (_, verdict) = play(&boots, booted(&boots, -0.10, false));
    assert_eq!(verdict.outcome, Outcome::Regress, "{:?}", verdict.reason);
    let (_, verdict) = play(&boots, booted(&boots, 0.0, true));
    assert!(matches!(verdict.reason, Reason::NotBooted { .. }), "{:?}", verdict.reason);
    // One machine, three pairs: only a catastrophe decides.
    (boots.canaries, boots.max_pairs, boots.runs_each) = (vec!["h1".into()], 3, 1);
    let (_, verdict) = play(&boots, booted(&boots, -0.5, false));
    assert!(matches!(verdict.reason, Reason::Catastrophe { .. }), "{:?}", verdict.reason);
}

#[test]
fn what_cannot_be_toggled_stands_beside_others() {
    let mut once = Experiment {
        toggle: Toggle::None,
        canaries: ["h1", "h2", "h3", "h4"].map(Into::into).into(),
        controls: ["c1", "c2", "c3", "c4"].map(Into::into).into(),
        runs_each: 4,
        ..experiment()
    };
    let by = |effect: f64| {
        move |wanted: &Wanted| {
            let other = u32::from(wanted.host.as_bytes()[1]);
            let factor = if wanted.arm == Arm::B { 1.0 + effect } else { 1.0 };
            let value = 1000.0 * factor * wobble(wanted.slot + other);
            run(&wanted.host, wanted.slot, wanted.arm, measured(value))
        }
    };
    let (runs, verdict) = play(&once, by(0.0));
    assert_eq!((verdict.outcome, runs.len()), (Outcome::Pass, 64), "{:?}", verdict.reason);
    let (_, verdict) = play(&once, by(-0.15));
    assert_eq!(verdict.outcome, Outcome::Regress);
    // A later wave of two hosts proves nothing again and may go on, unless it loses.
    once.canaries.truncate(2);
    once.wave = 2;
    let (_, verdict) = play(&once, by(0.0));
    assert_eq!((verdict.outcome, verdict.goes_on), (Outcome::Inconclusive, true));
    let (_, verdict) = play(&once, by(-0.3));
    assert_eq!((verdict.outcome, verdict.goes_on), (Outcome::Regress, false));
}

#[test]
fn noise_is_inconclusive_with_advice() {
    let noisy = |wanted: &Wanted| {
        let mut seeded = random::Seeded::new(u64::from(wanted.slot) + 500);
        seeded.normal();
        run(&wanted.host, wanted.slot, wanted.arm, measured(1000.0 * (0.3 * seeded.normal()).exp()))
    };
    let (_, verdict) = play(&experiment(), noisy);
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    let advice = verdict.advice.clone().unwrap();
    assert!(advice.visible > 0.05 && advice.pairs > 24, "{advice:?}");
    let text = summary::summary(&experiment(), &verdict);
    assert!(text.contains("INCONCLUSIVE") && text.contains("changed hosts at once"), "{text}");
}

#[test]
fn a_record_gives_the_same_answer_byte_for_byte() {
    for effect in [0.0, -0.08, -0.3, 0.013] {
        let (runs, _) = play(&experiment(), with_effect(effect));
        let record = Record::new(experiment(), runs);
        let text = serde_json::to_string_pretty(&record).unwrap();
        let read: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(read, record);
        let again = Record { verdict: Some(read.replay().unwrap()), ..read };
        assert_eq!(serde_json::to_string_pretty(&again).unwrap(), text);
        let mut forged = again.clone();
        forged.verdict.as_mut().unwrap().pairs += 1;
        assert!(matches!(forged.replay(), Err(record::Unlike::Differs(_))));
        let newer = Record { format: 99, ..again };
        assert_eq!(newer.replay(), Err(record::Unlike::Format(99)));
    }
}

#[test]
fn another_version_of_the_tool_makes_all_of_it_worth_nothing() {
    let (mut runs, verdict) = play(&experiment(), with_effect(0.0));
    assert_eq!(verdict.outcome, Outcome::Pass);
    for run in &mut runs {
        run.versions.insert("fio".into(), "fio-3.33".into());
    }
    let alike = Record::new(experiment(), runs.clone());
    assert_eq!(alike.verdict.map(|verdict| verdict.outcome), Some(Outcome::Pass));
    runs[7].versions.insert("fio".into(), "fio-3.36".into());
    let verdict = Record::new(experiment(), runs).verdict.unwrap();
    assert_eq!(verdict.outcome, Outcome::Inconclusive);
    assert!(matches!(&verdict.reason, Reason::OtherTool { what, .. } if what.contains("3.36")));
}

#[test]
fn boots_that_did_not_happen_are_seen_in_a_whole_record_too() {
    let one = Experiment { toggle: Toggle::Reboot, max_pairs: 8, runs_each: 2, ..experiment() };
    let (mut runs, verdict) = play(&one, booted(&one, 0.0, false));
    assert_eq!(verdict.outcome, Outcome::Pass, "{:?}", verdict.reason);
    let last = runs.len() - 1;
    runs[last].boot = Some("h1-0".into());
    let verdict = Record::new(one, runs).verdict.unwrap();
    assert_eq!(
        (verdict.outcome, verdict.reason),
        (Outcome::Inconclusive, Reason::NotBooted { host: "h1".into() })
    );
}
