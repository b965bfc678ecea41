//! What goes wrong, and when: drawn from a seed.

/// SplitMix64 (Steele, Lea, Flood 2014): the same seed gives the same plan in every version.
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The controller is killed.
    Controller,
    /// All sessions of a host are killed.
    Sessions,
    /// A host's link is cut; it is mended once the controller has ended.
    Link,
    /// A host's disk is full until the controller has ended.
    Disk,
}

/// One fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kind: Kind,
    /// The number of the host, from 1.
    pub host: u64,
    /// It comes once the journals have so many records.
    pub at: usize,
}

/// What a plan's gate finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// There is none.
    None,
    /// A gain.
    Gain,
    /// A loss.
    Loss,
}

/// One plan.
#[derive(Clone, Debug)]
pub struct Plan {
    pub on_error: &'static str,
    pub gate: Gate,
    pub faults: Vec<Fault>,
}

/// The plan of a seed.
pub fn plan(seed: u64, hosts: u64) -> Plan {
    let mut seeded = Seeded::new(seed);
    let on_error = ["hold", "run", "wave"][seeded.below(3) as usize];
    let gate = [Gate::None, Gate::None, Gate::Gain, Gate::Loss][seeded.below(4) as usize];
    // A loss ends a rollout early.
    let records = if gate == Gate::Loss { 40 } else { 150 };
    let count = 1 + seeded.below(3);
    let mut faults: Vec<Fault> = (0..count)
        .map(|_| {
            let kind = [Kind::Controller, Kind::Sessions, Kind::Link, Kind::Disk][seeded.below(4) as usize];
            Fault { kind, host: 1 + seeded.below(hosts), at: 3 + seeded.below(records) as usize }
        })
        .collect();
    faults.sort_by_key(|fault| fault.at);
    Plan { on_error, gate, faults }
}

#[test]
fn a_seed_has_one_plan_and_all_kinds_come() {
    assert_eq!(format!("{:?}", plan(7, 40)), format!("{:?}", plan(7, 40)));
    let all: Vec<Plan> = (1..13).map(|seed| plan(seed, 40)).collect();
    for kind in [Kind::Controller, Kind::Sessions, Kind::Link, Kind::Disk] {
        assert!(all.iter().flat_map(|plan| &plan.faults).any(|fault| fault.kind == kind), "{kind:?}");
    }
    assert!(
        [Gate::None, Gate::Gain, Gate::Loss].iter().all(|gate| all.iter().any(|plan| plan.gate == *gate))
    );
}
