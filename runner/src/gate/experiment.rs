//! An experiment: everything that is fixed before its first run.
use super::decide::Errors;
use super::metric::{Limit, Metric};
use super::random::Seeded;
use super::schedule::Schedule;
use super::words::{Arm, Order, Reach, Toggle};
use serde::{Deserialize, Serialize};

/// What a gate does, on which hosts, and how it judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Its name in the store.
    pub id: String,
    /// The change that is judged, in words.
    pub change: String,
    /// How it is put on and taken off.
    #[serde(default)]
    pub toggle: Toggle,
    /// Whom it reaches.
    #[serde(default)]
    pub reach: Reach,
    /// The hosts that are changed.
    pub canaries: Vec<String>,
    /// Hosts that keep as they are, measured beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<String>,
    /// What is judged.
    pub metrics: Vec<Metric>,
    /// What must not be exceeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// How often it may err.
    #[serde(default)]
    pub errors: Errors,
    /// The most pairs: of runs, or for a reboot the pairs of boots of each host.
    pub max_pairs: u32,
    /// Runs in each boot, or before and after for what cannot be toggled.
    #[serde(default = "one")]
    pub runs_each: u32,
    /// Where the order comes from.
    pub seed: u64,
    /// The gate that this one extends on fresh runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// The wave: 0 for the canaries, whose gate is the whole procedure.
    #[serde(default)]
    pub wave: u32,
    /// What earlier gates say of the spread of one host's change: variance and degrees of freedom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<(f64, f64)>,
}

const fn one() -> u32 {
    1
}

impl Experiment {
    /// A crossover on one host, with the defaults.
    pub fn new(id: &str, canary: &str, metrics: Vec<Metric>, seed: u64) -> Self {
        Self {
            id: id.into(),
            change: String::new(),
            toggle: Toggle::Runtime,
            reach: Reach::Host,
            canaries: vec![canary.into()],
            controls: Vec::new(),
            metrics,
            limits: Vec::new(),
            errors: Errors::default(),
            max_pairs: 24,
            runs_each: 1,
            seed,
            extends: None,
            wave: 0,
            profile: None,
        }
    }

    /// Whether a seeded coin turned all orders round.
    pub const fn flipped(&self) -> bool {
        Seeded::new(self.seed).coin()
    }

    /// How often this gate may err: later waves and extensions spend half of what came before them.
    pub fn budget(&self) -> Errors {
        let halvings = self.wave + u32::from(self.extends.is_some());
        (0..halvings).fold(self.errors, |errors, _| errors.halved())
    }

    /// When it looks.
    pub fn schedule(&self) -> Schedule {
        match self.toggle {
            Toggle::Runtime => Schedule::of(self.max_pairs),
            // Boots are dear: their number is fixed, and it is looked at once.
            Toggle::Reboot | Toggle::Guest => {
                Schedule::Listed { looks: vec![self.max_pairs * self.canaries.len() as u32] }
            }
            Toggle::None => Schedule::Listed { looks: vec![self.canaries.len() as u32] },
        }
    }

    /// How many runs one host makes at most, without repeats.
    pub const fn slots(&self) -> u32 {
        match self.toggle {
            Toggle::Runtime => 2 * self.max_pairs,
            Toggle::Reboot | Toggle::Guest => 2 * self.max_pairs * self.runs_each,
            Toggle::None => 2 * self.runs_each,
        }
    }

    /// The boots or power cycles that it costs, the first one that is thrown away included.
    pub fn boots(&self) -> u32 {
        match self.toggle {
            Toggle::Runtime | Toggle::None => 0,
            Toggle::Reboot | Toggle::Guest => {
                (self.canaries.len() + self.controls.len()) as u32 * (2 * self.max_pairs + 1)
            }
        }
    }

    /// The order of one pair on the `host`-th canary.
    pub const fn order(&self, host: usize, pair: u32) -> Order {
        // Where each host's pairs are units of their own, half of the hosts start with the change.
        let own = match self.toggle {
            Toggle::Reboot | Toggle::Guest => host % 2 == 1,
            Toggle::Runtime | Toggle::None => false,
        };
        let odd = pair % 2 == 1;
        if (odd != own) != self.flipped() { Order::Ba } else { Order::Ab }
    }

    /// The arm of a slot on the `host`-th canary. Controls share the slots and never change.
    pub const fn arm(&self, host: usize, slot: u32) -> Arm {
        let (pair, second) = match self.toggle {
            Toggle::Runtime => (slot / 2, slot % 2 == 1),
            Toggle::Reboot | Toggle::Guest => {
                let boot = slot / self.runs_each;
                (boot / 2, boot % 2 == 1)
            }
            Toggle::None => return if slot < self.runs_each { Arm::A } else { Arm::B },
        };
        let first = self.order(host, pair).first();
        if second { first.other() } else { first }
    }

    /// The boot that a slot lies in, from 0.
    pub const fn boot(&self, slot: u32) -> u32 {
        slot / self.runs_each
    }

    /// What is wrong with it, for the plan: every fault, not the first.
    pub fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.metrics.iter().flat_map(Metric::faults).collect();
        let mut say = |wrong: bool, text: String| {
            if wrong {
                faults.push(text);
            }
        };
        say(self.metrics.iter().all(|metric| metric.warn), "no metric that decides".into());
        say(self.canaries.is_empty(), "no host to try the change on".into());
        say(self.runs_each == 0, "no run in an arm: runs is 0".into());
        let pairs = self.schedule().max_pairs();
        say(self.toggle != Toggle::None && pairs < 3, format!("{pairs} pairs decide nothing: at least 3"));
        let errors = self.errors;
        for (name, risk) in [("rollback", errors.rollback), ("pass", errors.pass)] {
            say(!(risk > 0.0 && risk < 0.5), format!("alpha {name} is {risk}: say a share from 0 to 0.5"));
        }
        let shared: Vec<&String> = self.canaries.iter().filter(|host| self.controls.contains(host)).collect();
        say(!shared.is_empty(), format!("{shared:?} cannot be changed and kept as they are"));
        let cluster = self.reach == Reach::Cluster;
        say(
            cluster && !self.controls.is_empty(),
            "a change of a whole cluster has no controls: they change too".into(),
        );
        say(
            cluster && self.toggle == Toggle::None && self.wave > 0,
            "a change of a whole cluster has no later waves".into(),
        );
        faults
    }

    /// The same experiment on fresh runs, after one that was inconclusive: once, with half of the risks.
    ///
    /// # Errors
    /// Where it is an extension already: to run until it passes is no experiment.
    pub fn extend(&self, id: &str, max_pairs: u32, seed: u64) -> Result<Self, String> {
        if let Some(first) = &self.extends {
            return Err(format!(
                "{} extends {first} already; to go on until it passes is no experiment. Change the design: longer \
                 runs, more hosts, a larger margin",
                self.id
            ));
        }
        let mut next = self.clone();
        (next.id, next.extends, next.max_pairs, next.seed) =
            (id.into(), Some(self.id.clone()), max_pairs, seed);
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::Direction;
    use super::*;

    fn experiment(toggle: Toggle) -> Experiment {
        let metrics = vec![Metric::new("iops", "x.iops", Direction::Higher, 0.05)];
        Experiment { toggle, ..Experiment::new("g1", "h1", metrics, 0) }
    }

    fn arms(experiment: &Experiment, host: usize, slots: u32) -> String {
        (0..slots).map(|slot| if experiment.arm(host, slot) == Arm::A { 'A' } else { 'B' }).collect()
    }

    #[test]
    fn pairs_are_counterbalanced() {
        let mut run = experiment(Toggle::Runtime);
        assert_eq!(arms(&run, 0, 8), if run.flipped() { "BAABBAAB" } else { "ABBAABBA" });
        assert_eq!(arms(&run, 0, 8), arms(&run, 1, 8), "canaries share the order of a slot");
        let (mut seen, n) = (0, 1000);
        for seed in 0..n {
            run.seed = seed;
            seen += u32::from(run.flipped());
        }
        assert!((400..600).contains(&seen), "the coin is fair: {seen} of {n}");
    }

    #[test]
    fn half_of_the_hosts_boot_the_change_first() {
        let boot = Experiment { max_pairs: 2, runs_each: 2, ..experiment(Toggle::Reboot) };
        let [one, two] = [arms(&boot, 0, 8), arms(&boot, 1, 8)];
        assert_ne!(one, two);
        assert!(["AABBBBAA", "BBAAAABB"].contains(&one.as_str()));
        assert_eq!(boot.boots(), 5);
    }

    #[test]
    fn an_extension_comes_once_and_spends_half() {
        let first = experiment(Toggle::Runtime);
        let more = first.extend("g2", 24, 5).unwrap();
        assert_eq!(more.budget(), Errors { rollback: 0.0025, pass: 0.025 });
        assert!(more.extend("g3", 24, 6).unwrap_err().contains("g2 extends g1"));
        let third = Experiment { wave: 2, ..first };
        assert_eq!(third.budget(), Errors { rollback: 0.00125, pass: 0.0125 });
    }

    #[test]
    fn a_cluster_has_no_controls() {
        let cluster = Experiment {
            reach: Reach::Cluster,
            controls: vec!["h1".into()],
            max_pairs: 2,
            ..experiment(Toggle::Runtime)
        };
        assert_eq!(cluster.faults().len(), 3, "{:?}", cluster.faults());
        assert!(experiment(Toggle::Runtime).faults().is_empty());
    }
}
