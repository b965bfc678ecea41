//! The program is killed at every boundary of its journal, one host each.
use crate::fleet::Fleet;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What is tried after a kill.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Undo,
    Resume,
    ByHand,
}

const WAYS: [Way; 3] = [Way::Undo, Way::Resume, Way::ByHand];
/// More than a run of the playbook writes.
const MOST: usize = 24;

#[test]
fn killed_at_every_record_every_way_leads_back_or_on() {
    let begun = Instant::now();
    let Some(fleet) = Fleet::up(1 + MOST * WAYS.len()) else { return };
    // The first host tells what the new state is, and how many records there are.
    fleet.play("h1").ended(0);
    let new = fleet.state("h1");
    assert!(
        new.iter().filter(|(claim, state)| fleet.old.get(*claim) != Some(state)).count() >= 12,
        "{new:?}"
    );
    let records = fleet.journal("h1").matches('\n').count();
    assert!((10..=MOST).contains(&records), "{records} records");
    let cases: Vec<(usize, Way)> = (1..=records).flat_map(|record| WAYS.map(|way| (record, way))).collect();
    let next = AtomicUsize::new(0);
    let cut_off = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((record, way)) = cases.get(at).copied() else { break };
                    let host = format!("h{}", at + 2);
                    if fleet.killed_at(&host, record) {
                        cut_off.fetch_add(1, Ordering::Relaxed);
                    }
                    after(&fleet, &host, way, &new, &format!("killed at record {record}, then {way:?}"));
                }
            });
        }
    });
    assert!(
        cut_off.load(Ordering::Relaxed) >= cases.len() * 2 / 3,
        "too few runs were killed before their end"
    );
    assert!(begun.elapsed().as_secs() < 240, "{:?}", begun.elapsed());
}

fn after(fleet: &Fleet, host: &str, way: Way, new: &BTreeMap<String, String>, what: &str) {
    let old = &fleet.old;
    match way {
        // At once: a script may still be at work.
        Way::Undo => {
            for _ in 0..2 {
                let said = fleet.tunerun(host, &["undo", "last"]);
                assert_eq!(said.code, Some(0), "{what}: {}", said.text);
                fleet.is_one_of(host, &[old], what);
            }
            let said = fleet.tunerun_plain(host, &["show", "last"]);
            assert!(said.text.contains("undo ended"), "{what}: {}", said.text);
        }
        Way::Resume => {
            let said = fleet.tunerun(host, &["resume", "last"]);
            assert_eq!(said.code, Some(0), "{what}: {}", said.text);
            assert!(said.text.contains("tunerun play play.yml"), "{what}: {}", said.text);
            fleet.is_one_of(host, &[old, new], what);
            let said = fleet.play(host);
            assert_eq!(said.code, Some(0), "{what}: {}", said.text);
            fleet.is_one_of(host, &[new], what);
        }
        Way::ByHand => {
            let script = "for u in /var/lib/tunerun/*/undo.sh; do [ ! -f $u ] || sh $u || exit; done";
            for _ in 0..2 {
                fleet.settled(host);
                let said = fleet.on(host, script);
                assert_eq!(said.code, Some(0), "{what}: {}", said.text);
                fleet.is_one_of(host, &[old], what);
            }
            let said = fleet.tunerun(host, &["undo", "last"]);
            assert_eq!(said.code, Some(0), "{what}: {}", said.text);
            assert!(
                !said.text.contains(" step taken back") && !said.text.contains("1 steps"),
                "{what}: {}",
                said.text
            );
            fleet.is_one_of(host, &[old], what);
        }
    }
}
