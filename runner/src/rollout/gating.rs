//! An experiment carried out: arms are put on, runs are measured, and what the answer means is done.
use super::anew::Anew;
use super::bed::Bed;
use super::conduct::Rolling;
use super::forward::{Whom, applied};
use super::guards::Going;
use super::halt::Halt;
use super::stage::Stage;
use crate::engine::run::{Arms, Asked, Mark};
use crate::gate::effort::{Timing, effort};
use crate::gate::noise::Noise;
use crate::gate::summary::summary;
use crate::gate::{Arm, Experiment, Judgement, Live, Outcome, Toggle, Verdict, Wanted, judge};
use crate::inventory::HostId;
use crate::journal::{HostEnd, Record};
use crate::playbook::rollout::{Gate, OnInconclusive, OnRegress};
use crate::report::event::Event;
use crate::report::progress::Progress;
use crate::yaml::Node;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What the gate of the canaries has found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Where each canary stood before what was judged.
    pub since: BTreeMap<HostId, Mark>,
    pub bed: Bed,
    pub verdict: Verdict,
}

impl Rolling<'_, '_> {
    /// The canaries: the whole experiment decides whether the change stays.
    pub async fn gate(
        &mut self,
        hosts: &[HostId],
        max_down: usize,
        node: &Node,
        title: &str,
    ) -> Result<(), Halt> {
        let asked = self.asked(hosts).await;
        let changing = changing(hosts, &asked);
        if changing.is_empty() {
            let why = format!("{} is as the play says already", Stage::names(&self.scene, hosts).join(", "));
            self.tell(Progress::NothingToJudge { why });
            return self.forward(hosts, max_down).await;
        }
        let controls = self.controls(&changing).await;
        self.mark(&changing);
        let mut bed = match self.bed(node, (&changing, &controls), max_down, title, Gate::clone) {
            Ok(bed) => bed,
            Err(problems) => return Err(self.wrong(problems)),
        };
        self.boots |= bed.experiment.toggle == Toggle::Reboot;
        if bed.experiment.toggle == Toggle::Guest {
            self.name_guests(&mut bed).await;
        }
        self.begin(&mut bed, 0).await?;
        self.calm(&mut bed).await?;
        if bed.experiment.toggle != Toggle::None {
            // The change is made first: what fails fails before anything is measured, and the way back is tried.
            let arms = changing.iter().map(|host| (*host, Arm::B)).collect();
            self.put(&mut bed, &arms).await?;
            if let Some(why) = self.unfit(&bed) {
                return self.undecided(&bed, why).await;
            }
        }
        let verdict = self.experiment(&mut bed).await?;
        self.answered(&bed, &verdict).await?;
        self.follow(&mut bed, &verdict).await?;
        self.at_ease().await?;
        // Those that had nothing to change have handlers and commands that follow.
        let rest: Vec<HostId> = hosts.iter().copied().filter(|host| !changing.contains(host)).collect();
        self.forward(&rest, max_down).await?;
        self.judged = Some(Found { since: self.since.clone(), bed, verdict });
        Ok(())
    }

    /// Hosts that keep as they are beside the canaries: those that the rollout names, as far as they can be changed.
    async fn controls(&mut self, changing: &[HostId]) -> Vec<HostId> {
        let named: Vec<HostId> = self.stage.order.controls.clone();
        let named: Vec<HostId> = named.into_iter().filter(|host| !changing.contains(host)).collect();
        self.fleet.enter(&named);
        let asked = self.asked(&named).await;
        self::changing(&named, &asked)
    }

    /// The gate itself is wrong: nothing was done for it.
    pub fn wrong(&self, problems: Vec<crate::diagnostic::Diagnostic>) -> Halt {
        let why = problems.first().map_or_else(String::new, |problem| problem.message.clone());
        for problem in problems {
            self.fleet.tell(Event::Trouble { host: "gate".to_owned(), title: None, problem });
        }
        Halt::Held { why: format!("the gate cannot be carried out: {why}") }
    }

    /// What is judged begins where the hosts stand now.
    pub fn mark(&mut self, hosts: &[HostId]) {
        self.since.clear();
        for host in hosts {
            if let Some(run) = self.fleet.part(*host) {
                self.since.insert(*host, run.mark());
            }
        }
    }

    /// The hosts whose batches are judged: those that are changed, and those by which they change their cluster.
    fn acting(&mut self, bed: &Bed) -> Vec<String> {
        let mut acting = bed.experiment.canaries.clone();
        for host in bed.changed() {
            let vias = self.fleet.part(host).map(|run| run.state.vias.clone()).unwrap_or_default();
            acting.extend(vias);
        }
        let mut seen = BTreeSet::new();
        acting.retain(|host| seen.insert(host.clone()));
        acting
    }

    /// The experiment is recorded before anything is put on.
    pub async fn begin(&mut self, bed: &mut Bed, wave: u32) -> Result<(), Halt> {
        let part = self.part.map(|part| format!("-gate{}", part / 2 + 1)).unwrap_or_default();
        bed.experiment.id = format!("play{}-wave{wave}{part}", self.stage.play + 1);
        bed.experiment.wave = wave;
        bed.acting = self.acting(bed);
        let hosts =
            bed.acting.iter().map(|host| (host.clone(), self.scene.number_batches(host, 0))).collect();
        let record = Record::GateBegan { id: bed.experiment.id.clone(), hosts };
        self.fleet.journal.decide(record).await.map_err(|error| Halt::Held { why: error.to_string() })?;
        let noise = vec![None; bed.experiment.metrics.len()];
        let expected = expected(&bed.gate, &bed.experiment, &noise);
        self.tell(Progress::GateBegan {
            change: bed.experiment.change.clone(),
            design: expected.design,
            least: expected.least,
            most: expected.most,
        });
        Ok(())
    }

    /// Why what was put on cannot be toggled or told.
    fn unfit(&mut self, bed: &Bed) -> Option<String> {
        for subject in bed.subjects.iter().filter(|subject| subject.changed) {
            let mark = self.since.get(&subject.host).cloned().unwrap_or_default();
            let Some(run) = self.fleet.part(subject.host) else { continue };
            if let Some(why) = run.one_way(&mark).into_iter().next() {
                return Some(format!("{} cannot be taken off again: {why}", subject.name));
            }
            if let Some(owed) = run.owes().first() {
                return Some(format!("the change is not felt on {} until its {owed}", subject.name));
            }
            if subject.arms.is_empty() {
                return Some(format!("nothing tells on {} whether the change is on", subject.name));
            }
        }
        None
    }

    /// Measures slot after slot until there is an answer.
    pub async fn experiment(&mut self, bed: &mut Bed) -> Result<Verdict, Halt> {
        loop {
            match judge(&bed.experiment, &bed.runs) {
                Judgement::Answer(verdict) => return Ok(*verdict),
                Judgement::Wants(wanted) => {
                    if let Err(halt) = self.may_go_on().await {
                        // What is not judged does not stay.
                        self.off(bed).await?;
                        self.proven_off(bed).await;
                        return Err(halt);
                    }
                    if let Some(most) = bed.gate.max_time.filter(|most| bed.began.elapsed() > most.0) {
                        let why =
                            format!("it is not decided after {}", crate::report::progress::time(most.0));
                        self.undecided(bed, why).await?;
                    }
                    self.arm(bed, &wanted).await?;
                    self.measure(bed, &wanted).await?;
                }
            }
        }
    }

    /// Puts the arm of each wanted run on.
    async fn arm(&mut self, bed: &mut Bed, wanted: &[Wanted]) -> Result<(), Halt> {
        let boots = matches!(bed.experiment.toggle, Toggle::Reboot | Toggle::Guest);
        let mut arms = BTreeMap::new();
        for one in wanted {
            let Some(subject) = bed.subject(&one.host) else { continue };
            let boot = bed.experiment.boot(one.slot);
            let anew = boots && subject.boot != Some(boot);
            // Before the change was ever made, it is off.
            let off = subject.on.is_none() && one.arm == Arm::A && !boots;
            if anew || (subject.on != Some(one.arm) && !off && subject.changed) {
                arms.insert(subject.host, one.arm);
            }
            if boots {
                let host = subject.host;
                if let Some(subject) = bed.subject_mut(host) {
                    subject.boot = Some(boot);
                }
            }
        }
        self.put(bed, &arms).await
    }

    /// Puts arms on hosts, in turns where something is down meanwhile.
    pub async fn put(&mut self, bed: &mut Bed, arms: &BTreeMap<HostId, Arm>) -> Result<(), Halt> {
        let hosts: Vec<HostId> = arms.keys().copied().collect();
        let of = self.of();
        let boots = matches!(bed.experiment.toggle, Toggle::Reboot);
        let felt = self.boots;
        if boots {
            self.down.extend(&hosts);
        }
        for turn in self.turns(&hosts, bed.max_down) {
            let held = self.let_down(&turn, Going::Forward).await?;
            let arms = Arc::new(arms.clone());
            let marks = Arc::new(self.since.clone());
            let on: Arc<HashMap<HostId, (Option<Arm>, Anew)>> = Arc::new(
                bed.subjects.iter().map(|subject| (subject.host, (subject.on, bed.anew(subject)))).collect(),
            );
            self.fleet
                .each(&turn, move |mut run, end, journal| {
                    let arm = arms.get(&run.state.id).copied().unwrap_or(Arm::A);
                    let mark = marks.get(&run.state.id).cloned().unwrap_or_default();
                    let (on, anew) = on.get(&run.state.id).cloned().unwrap_or_default();
                    async move {
                        if end.is_some() || run.has_left() {
                            return (run, Ok(end));
                        }
                        let before = anew.now(&mut run).await;
                        let (run, end) = match (arm, on) {
                            (Arm::B, Some(Arm::B)) | (Arm::A, Some(Arm::A) | None) => (run, Ok(None)),
                            (Arm::B, _) => applied(run, journal.clone(), of.play, felt && !boots).await,
                            (Arm::A, Some(Arm::B)) => {
                                let off = run.take_off(&journal, of, &mark).await;
                                (run, off.map(Result::err))
                            }
                        };
                        anew.begun(run, end, journal, before).await
                    }
                })
                .await;
            self.after(&turn).await?;
            self.up_again(held).await?;
        }
        for (host, arm) in arms {
            let mark = self.since.get(host).cloned().unwrap_or_default();
            let states = match self.fleet.part(*host) {
                Some(run) if *arm == Arm::B => {
                    let mut states = run.arms(&mark);
                    // Where it cannot be looked at now, no run counts: that is told then.
                    let _ = run.settle(&mut states).await;
                    states
                }
                _ => Arms::default(),
            };
            if let Some(subject) = bed.subject_mut(*host).filter(|subject| subject.changed) {
                subject.on = Some(*arm);
                if *arm == Arm::B {
                    subject.arms = states;
                }
            }
        }
        Ok(())
    }

    /// Takes the change off all hosts of an experiment.
    pub async fn off(&mut self, bed: &mut Bed) -> Result<(), Halt> {
        let on = bed.subjects.iter().filter(|subject| subject.on == Some(Arm::B));
        let arms = on.map(|subject| (subject.host, Arm::A)).collect();
        self.put(bed, &arms).await
    }

    /// Records the answer and tells it.
    pub async fn answered(&mut self, bed: &Bed, verdict: &Verdict) -> Result<(), Halt> {
        let record = Record::Gate {
            id: bed.experiment.id.clone(),
            hosts: bed.acting.clone(),
            outcome: verdict.outcome,
            why: verdict.reason.text(),
            kept: self.keeps(verdict),
        };
        self.keep(bed);
        self.fleet.journal.decide(record).await.map_err(|error| Halt::Held { why: error.to_string() })?;
        let rollout = &self.stage.rollout;
        let action = match (verdict.outcome, verdict.goes_on) {
            (Outcome::Pass, _) => "kept",
            (Outcome::Inconclusive, true) => "no loss is seen; the next wave may go on",
            (Outcome::Regress, _) => match rollout.on_regress {
                OnRegress::Run => "all that this run changed goes back",
                OnRegress::Wave => "what this wave changed goes back",
                OnRegress::Hold => "held; the change is off where it was judged",
            },
            (Outcome::Inconclusive, false) => match self.on_inconclusive() {
                OnInconclusive::Run => "all that this run changed goes back",
                OnInconclusive::Hold => "held; the change is off where it was judged",
                OnInconclusive::Accept => "ACCEPTED UNDECIDED: the playbook says `on_inconclusive: accept`",
            },
        };
        self.tell(Progress::Judged {
            outcome: verdict.outcome,
            report: summary(&bed.experiment, verdict),
            action: action.to_owned(),
        });
        Ok(())
    }

    /// Whether the change stays.
    pub fn keeps(&self, verdict: &Verdict) -> bool {
        verdict.goes_on
            || (verdict.outcome == Outcome::Inconclusive && self.on_inconclusive() == OnInconclusive::Accept)
    }

    /// Does what the answer means.
    async fn follow(&mut self, bed: &mut Bed, verdict: &Verdict) -> Result<(), Halt> {
        let why = format!("{} {}: {}", bed.experiment.change, verdict.outcome.word(), verdict.reason.text());
        if self.keeps(verdict) {
            let arms = bed.changed().into_iter().map(|host| (host, Arm::B)).collect();
            return self.put(bed, &arms).await;
        }
        self.goes_back(bed, verdict.outcome, why).await
    }

    /// What did not pass goes back or is held.
    pub async fn goes_back(&mut self, bed: &mut Bed, outcome: Outcome, why: String) -> Result<(), Halt> {
        let whom = match (outcome, self.stage.rollout.on_regress, self.on_inconclusive()) {
            (Outcome::Regress, OnRegress::Run, _) | (Outcome::Inconclusive, _, OnInconclusive::Run) => {
                Some(Whom::Run)
            }
            (Outcome::Regress, OnRegress::Wave, _) => Some(Whom::Wave),
            _ => None,
        };
        let Some(whom) = whom else {
            self.off(bed).await?;
            let left = self.proven_off(bed).await;
            return Err(match outcome {
                _ if !left.is_empty() => Halt::RolledBack { why, left, wave: true },
                Outcome::Regress => Halt::Regress { why },
                Outcome::Pass | Outcome::Inconclusive => Halt::Inconclusive { why },
            });
        };
        // More goes back than what is judged: what was there before the run, or its wave, is to be there again.
        for subject in &mut bed.subjects {
            let mark = match whom {
                Whom::Run => Mark::default(),
                Whom::Wave => self.marks.get(&subject.host).cloned().unwrap_or_default(),
            };
            if let Some(run) = self.fleet.any(subject.host) {
                subject.arms = run.arms(&mark).and(&subject.arms);
            }
        }
        let mut halt = self.roll_back(whom, why).await;
        let off = self.proven_off(bed).await;
        if let Halt::RolledBack { left, .. } = &mut halt {
            left.extend(off);
        }
        self.once_more(bed).await;
        Err(halt)
    }

    /// The hosts of an experiment end as taken back, once that is seen. Gives what is not as it was.
    async fn proven_off(&mut self, bed: &Bed) -> Vec<String> {
        let mut left = Vec::new();
        for subject in bed.subjects.iter().filter(|subject| subject.changed && !subject.arms.is_empty()) {
            let told = match self.fleet.any(subject.host) {
                Some(run) => run.live(&subject.arms, Arm::A).await,
                None => continue,
            };
            let wrong = match told {
                Ok(Live::Proven { .. }) => None,
                Ok(Live::Differs { expected, seen }) => Some(format!(
                    "{}: somebody else has changed it since: {seen}, and it was {expected}",
                    subject.name
                )),
                Ok(Live::Unknown) => Some(format!("{}: its state could not be read", subject.name)),
                Err(error) => Some(error.diagnostic(&subject.name).message),
            };
            let end = if wrong.is_some() { HostEnd::FailedHalf } else { HostEnd::RolledBack };
            self.fleet.end_part(subject.host, end);
            left.extend(wrong);
        }
        left
    }

    /// A gate that cannot be carried out to an answer.
    pub async fn undecided(&mut self, bed: &Bed, why: String) -> Result<(), Halt> {
        self.tell(Progress::Noted(format!("gate {}: INCONCLUSIVE: {why}", bed.experiment.change)));
        let why = format!("{} INCONCLUSIVE: {why}", bed.experiment.change);
        match self.on_inconclusive() {
            // What was never measured is not accepted by a word that is about figures.
            OnInconclusive::Accept | OnInconclusive::Run => Err(self.roll_back(Whom::Run, why).await),
            OnInconclusive::Hold => {
                let mut bed = bed.clone();
                self.goes_back(&mut bed, Outcome::Inconclusive, why).await
            }
        }
    }
}

/// What an experiment costs.
pub(super) fn expected(
    gate: &Gate,
    experiment: &Experiment,
    noise: &[Option<Noise>],
) -> crate::gate::effort::Effort {
    let timing = Timing {
        settle: gate.run.settle.0,
        ramp: gate.run.ramp.0,
        measure: gate.run.measure.0,
        toggle: std::time::Duration::from_secs(1),
        ..Timing::default()
    };
    let loads = gate.benchmarks.iter().filter(|bench| bench.tool.driver().loads()).count() as u32;
    effort(experiment, &timing, loads, noise)
}

/// The hosts that have something to change, in order.
pub(super) fn changing(hosts: &[HostId], asked: &HashMap<HostId, Vec<Asked>>) -> Vec<HostId> {
    let changes = |host: &HostId| asked.get(host).is_some_and(|asked| !asked.is_empty());
    hosts.iter().copied().filter(changes).collect()
}
