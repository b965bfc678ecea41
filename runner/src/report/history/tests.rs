//! Folds of recorded runs.
use super::recorded::{HIDDEN, cut, folder, recorded};
use super::{Came, Difference, Fate, History, Kind, Mark, Standing, points};
use crate::gate::Outcome;
use crate::journal::{HostEnd, Record};

#[test]
fn a_run_that_passed_stays_on_every_host() {
    let run = recorded("passed");
    assert_eq!((run.standing, run.exit, run.torn), (Standing::Ended(0), Some(0), 0));
    let began = run.began.as_ref().unwrap();
    assert_eq!((began.by.as_str(), run.playbook()), ("root on controller", "site.yml"));
    let names: Vec<&str> = run.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["odd", "osd1", "osd2", "osd3"]);
    for host in &run.hosts {
        assert_eq!(host.end.as_ref().unwrap().how, HostEnd::Proven, "{}", host.name);
        assert_eq!(host.settings.len(), 4, "toggled settings are told once: {:?}", host.settings);
        assert!(host.settings.iter().all(|setting| setting.fate == Fate::Stays), "{:?}", host.settings);
        assert!(host.batches.iter().all(|batch| batch.came == Came::Done && batch.until >= batch.at));
    }
    let canary = &run.hosts[1];
    assert!(canary.batches.iter().any(|batch| batch.kind == Kind::Back), "the gate took it off");
    let Difference::Text { lines, .. } = &canary.settings[0].difference else { panic!() };
    let told: Vec<(Mark, &str)> = lines.iter().map(|line| (line.mark, line.text.as_str())).collect();
    assert_eq!(told, [(Mark::Removed, "100"), (Mark::Added, "150")], "from before the gate to its end");
}

#[test]
fn a_gate_has_its_runs_and_the_look_after_the_last_wave() {
    let run = recorded("passed");
    let [gate] = &run.gates[..] else { panic!("{:?}", run.gates) };
    assert_eq!(
        (gate.outcome, gate.kept, gate.title()),
        (Some(Outcome::Pass), Some(true), "the knob".to_owned())
    );
    assert!(gate.began < gate.ended);
    assert_eq!(gate.spot_runs().len(), 4);
    let points = points(gate.record.as_ref().unwrap());
    assert_eq!(points.iter().map(|points| points.pairs.len()).collect::<Vec<_>>(), [6, 6]);
    let rate = &points[0];
    assert!(rate.pairs.iter().all(|pair| pair.host == "osd1" && pair.with > 1.4 * pair.without), "{rate:?}");
}

#[test]
fn what_was_rolled_back_is_told_as_taken_back() {
    let run = recorded("rolled_back");
    assert!(run.rolled_back() && run.standing == Standing::Ended(7));
    let ends: Vec<HostEnd> = run.hosts.iter().map(|host| host.end.as_ref().unwrap().how).collect();
    assert_eq!(ends, [HostEnd::RolledBack, HostEnd::Waiting, HostEnd::Waiting]);
    assert!(run.hosts[0].settings.iter().all(|setting| setting.fate == Fate::TakenBack));
    assert!(run.hosts[1].settings.is_empty());
    assert_eq!((run.gates[0].outcome, run.gates[0].kept), (Some(Outcome::Regress), Some(false)));
    assert!(run.decided[0].what.contains("all goes back"), "{:?}", run.decided);
}

#[test]
fn a_failed_batch_says_where_and_why() {
    let run = recorded("failed");
    let bad = run.hosts.iter().find(|host| host.name == "bad").unwrap();
    let failed = bad.settings.iter().find(|setting| setting.fate == Fate::Failed).unwrap();
    assert_eq!(failed.task, "Fails on one host");
    assert!(failed.failed.as_ref().unwrap().contains("it broke & burnt"), "{failed:?}");
    assert_eq!(bad.end.as_ref().unwrap().how, HostEnd::FailedHalf);
    let first = &bad.settings[0];
    assert_eq!(first.fate, Fate::TakenBack, "{first:?}");
    assert!(run.hosts.iter().any(|host| host.name == "good" && host.settings.len() == 3), "{:?}", run.hosts);
}

#[test]
fn nothing_hidden_is_in_a_history() {
    for name in ["passed", "rolled_back"] {
        let run = recorded(name);
        assert!(run.tells_secrets);
        let whys: Vec<&str> = run.hosts[0]
            .settings
            .iter()
            .filter_map(|setting| match setting.difference {
                Difference::Hidden { why } => Some(why),
                _ => None,
            })
            .collect();
        assert_eq!(whys, ["a secret is in it", "others may not read this"]);
        let veil = run.veil.clone();
        let told = format!("{:?}", History { veil: super::Veil::default(), ..run });
        for word in HIDDEN {
            assert!(!told.contains(word), "{word} is in {name}");
            assert_eq!(veil.text(&format!("x is `{word}`")), "x is `(hidden)`");
        }
    }
}

#[test]
fn a_journal_that_does_not_tell_of_secrets_shows_no_value() {
    let mut journaled = crate::journal::read(&folder("passed").join("journal.jsonl")).unwrap();
    for entry in &mut journaled.entries {
        if let Record::Prepared { secret, .. } = &mut entry.record {
            *secret = None;
        }
    }
    let run = History::of("old", &journaled, Vec::new());
    assert!(!run.tells_secrets);
    let mut settings = run.hosts.iter().flat_map(|host| &host.settings);
    assert!(settings.all(|setting| matches!(setting.difference, Difference::Hidden { .. })));
    assert!(
        run.hosts[0].settings.iter().all(|setting| setting.fate == Fate::Stays),
        "what came of it is told"
    );
}

#[test]
fn a_run_that_was_cut_off_is_told_as_far_as_it_came() {
    let whole = recorded("passed").records.len();
    for part in 1..20 {
        let run = cut("passed", |length| length * part / 20);
        assert_eq!((run.standing, run.exit, run.ended), (Standing::Open, None, None), "{part}");
        assert!(run.records.len() < whole && run.began_at() <= run.until, "{part}");
    }
    // In the middle of a batch nobody knows what came of it.
    let text = std::fs::read_to_string(folder("passed").join("journal.jsonl")).unwrap();
    let prepared: usize =
        text.find("\"record\":\"prepared\"").map(|at| at + text[at..].find('\n').unwrap() + 1).unwrap();
    let run = cut("passed", |_| prepared + 10);
    assert_eq!(run.torn, 10);
    let host = &run.hosts[0];
    assert_eq!((host.batches.len(), &host.batches[0].came), (1, &Came::Open));
    assert!(host.settings.iter().all(|setting| setting.fate == Fate::Unknown));
}
