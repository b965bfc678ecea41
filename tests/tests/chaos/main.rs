//! Chaos: rollouts over forty hosts while links are cut, sessions and controllers killed and disks filled, by seeds.
//!
//! Whatever happens, once a person has gone on with the run until it is over, every host is wholly old or wholly new, the
//! program's answer says which, and nothing is left. More seeds than CI plays:
//! `TUNERUN_CHAOS=1..201 cargo nextest run -p tests --test chaos --no-capture`.
#[path = "../lab/bed.rs"]
#[expect(dead_code, reason = "the lab's own tests use all of it")]
mod bed;
mod faults;
mod field;

use field::Field;
use std::ops::Range;

/// The seeds that are played where nothing else is said.
const SEEDS: Range<u64> = 1..13;

fn seeds() -> Range<u64> {
    let Some(asked) = std::env::var("TUNERUN_CHAOS").ok() else { return SEEDS };
    let (from, to) = asked.split_once("..").expect("TUNERUN_CHAOS=FROM..TO");
    from.parse().expect("a seed")..to.parse().expect("a seed")
}

#[test]
fn every_host_is_wholly_old_or_wholly_new() {
    if !bed::can(tunerun::lab::Tier::Plain) {
        return;
    }
    let field = Field::new();
    let mut failed = Vec::new();
    let mut figures = field::Figures::default();
    for seed in seeds() {
        match field.play(seed, &mut figures) {
            Ok(()) => {}
            Err(why) => {
                println!("seed {seed} FAILED: {why}; its journals are in {}", field.kept(seed).display());
                failed.push(seed);
            }
        }
    }
    println!("{figures}");
    assert!(failed.is_empty(), "failed seeds: {failed:?}");
}
