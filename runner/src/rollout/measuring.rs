//! One slot of an experiment: every host's benchmarks, each proven to be in its arm before and after.
use super::bed::{Bed, Subject};
use super::conduct::Rolling;
use super::halt::Halt;
use crate::bench::Span;
use crate::engine::run::HostError;
use crate::gate::record::{Raw, Record};
use crate::gate::so_far::so_far;
use crate::gate::steady::SteadyRule;
use crate::gate::summary::shown;
use crate::gate::{Arm, Fault, Figure, Live, Run, RunEnd, Wanted};
use crate::load::{self, Failed, Ground, Load, Measured, Terms, measure};
use crate::playbook::rollout::{Gate, RunTimes, Steady};
use crate::report::progress::Progress;
use modules::vocabulary::Digest;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What came of one measurement, for all hosts that share it.
type Taken = Result<Arc<Measured>, Arc<Failed>>;

/// Loads under way; where this is dropped they end.
struct Started(tokio::task::JoinHandle<Taken>);

impl Started {
    async fn joined(mut self) -> Result<Taken, tokio::task::JoinError> {
        (&mut self.0).await
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Rolling<'_, '_> {
    /// Measures the wanted runs of one slot.
    pub async fn measure(&mut self, bed: &mut Bed, wanted: &[Wanted]) -> Result<(), Halt> {
        self.rested(&bed.gate).await?;
        tokio::time::sleep(bed.gate.run.settle.0).await;
        let subjects: Vec<Subject> =
            wanted.iter().filter_map(|one| bed.subject(&one.host).cloned()).collect();
        let mut before = Vec::new();
        for (subject, one) in subjects.iter().zip(wanted) {
            before.push(self.live(subject, one.arm).await);
        }
        let (taken, ended) = self.watched(&subjects, terms(&bed.gate)).await;
        let disturbed = if ended.is_none() { self.disturbed().await } else { None };
        let counts = |taken: Taken| match (&disturbed, taken) {
            (Some(why), Ok(measured)) => {
                Err(Arc::new(Failed { fault: Fault::Unfit { what: why.clone() }, raw: measured.raw.clone() }))
            }
            (_, taken) => taken,
        };
        let taken: Vec<Taken> = taken.into_iter().map(counts).collect();
        for (((subject, one), before), taken) in subjects.iter().zip(wanted).zip(before).zip(taken) {
            let after = self.live(subject, one.arm).await;
            let run = self.run(bed, subject, one, worse(before, after), &taken).await;
            self.told(bed, &run);
            let at = u32::try_from(bed.runs.len()).unwrap_or(u32::MAX);
            let printed = taken.as_ref().map_or_else(|failed| &failed.raw, |measured| &measured.raw);
            bed.raw.extend(self.keep_raw(bed, at, printed));
            bed.runs.push(run);
        }
        self.keep(bed);
        let so_far = so_far(&bed.experiment, &bed.runs);
        if !so_far.is_empty() {
            self.tell(Progress::SoFar(so_far));
        }
        match ended {
            Some(why) => self.undecided(bed, why).await,
            None => Ok(()),
        }
    }

    /// Loads, until they are over or must end: then why.
    async fn watched(&self, subjects: &[Subject], terms: Terms) -> (Vec<Taken>, Option<String>) {
        let outage = self.outage();
        tokio::select! {
            taken = self.loaded(subjects, terms) => (taken, None),
            // What loads ends as it is dropped.
            why = outage => {
                let why = format!("the load was ended: {why}");
                (subjects.iter().map(|_| Err(unfit(why.clone()))).collect(), Some(why))
            }
        }
    }

    /// Loads that share a host go one after another, all others at once. Equal loads are measured once.
    async fn loaded(&self, subjects: &[Subject], terms: Terms) -> Vec<Taken> {
        let mut taken: Vec<Option<Taken>> = vec![None; subjects.len()];
        let mut left: Vec<usize> = (0..subjects.len()).collect();
        while !left.is_empty() {
            let mut busy: BTreeSet<String> = BTreeSet::new();
            let mut now: Vec<(usize, Started)> = Vec::new();
            for at in left.clone() {
                let loads = &subjects[at].loads;
                let same = (0..at).find(|other| subjects[*other].loads == *loads);
                if let Some(done) = same.and_then(|other| taken[other].clone()) {
                    taken[at] = Some(done);
                    left.retain(|other| *other != at);
                    continue;
                }
                let hosts = hosts(loads);
                if same.is_some() || hosts.iter().any(|host| busy.contains(host)) {
                    continue;
                }
                busy.extend(hosts);
                left.retain(|other| *other != at);
                now.push((at, self.started(loads.clone(), terms)));
            }
            for (at, task) in now {
                let lost = |why: tokio::task::JoinError| Err(unfit(format!("measuring broke off: {why}")));
                taken[at] = Some(task.joined().await.unwrap_or_else(lost));
            }
        }
        let lost = || Err(unfit("it was not measured".to_owned()));
        taken.into_iter().map(|taken| taken.unwrap_or_else(lost)).collect()
    }

    fn started(&self, loads: Vec<Load>, terms: Terms) -> Started {
        let (scene, links) = (Arc::clone(&self.scene), Arc::clone(&self.links));
        Started(tokio::spawn(async move {
            measure(Ground { scene: &scene, links: &links }, &loads, terms)
                .await
                .map(Arc::new)
                .map_err(Arc::new)
        }))
    }

    /// Which arm is live on a host, by looking.
    async fn live(&mut self, subject: &Subject, arm: Arm) -> Live {
        let of = self.of();
        let Some(run) = self.fleet.part(subject.host) else { return Live::Unknown };
        let told = match (subject.changed, subject.on) {
            (true, Some(_)) => run.live(&subject.arms, arm).await,
            // What was never changed asks for the change still.
            (true, None) | (false, _) => run.still_asks(of).await,
        };
        match told {
            Ok(live) => live,
            Err(error) => {
                Live::Differs { expected: "an answer".to_owned(), seen: words(&error, &subject.name) }
            }
        }
    }

    async fn run(&mut self, bed: &Bed, subject: &Subject, one: &Wanted, live: Live, taken: &Taken) -> Run {
        let boot = match self.fleet.part(subject.host) {
            Some(run) => bed.anew(subject).now(run).await,
            None => None,
        };
        let mut run = Run {
            host: one.host.clone(),
            slot: one.slot,
            arm: one.arm,
            live,
            end: RunEnd::Failed(Fault::Unfit { what: String::new() }),
            boot,
            versions: std::collections::BTreeMap::new(),
            flags: Vec::new(),
            within: None,
        };
        match taken {
            Ok(measured) => {
                run.end = RunEnd::Measured { figures: measured.figures.clone() };
                run.versions.clone_from(&measured.versions);
                run.flags.clone_from(&measured.flags);
                run.within = measured.within;
            }
            Err(failed) => run.end = RunEnd::Failed(failed.fault.clone()),
        }
        run
    }

    fn told(&self, bed: &Bed, run: &Run) {
        let mut numbers = Vec::new();
        let (figures, fault) = match (&run.end, &run.live) {
            (RunEnd::Failed(fault), _) => (Vec::new(), Some(fault.text())),
            (_, Live::Differs { expected, seen }) => {
                (Vec::new(), Some(format!("its arm is not live: {seen} where {expected} should be")))
            }
            (_, Live::Unknown) => (Vec::new(), Some("whether its arm is live is not known".to_owned())),
            (RunEnd::Measured { figures }, Live::Proven { .. }) => {
                let number = |from: &str| match figures.get(from) {
                    Some(Figure::Number(number)) => Some(*number),
                    _ => None,
                };
                let judged = bed.experiment.metrics.iter();
                numbers.extend(
                    bed.experiment
                        .metrics
                        .iter()
                        .filter_map(|metric| Some((metric.name.clone(), number(&metric.from)?))),
                );
                let told = judged.filter_map(|metric| {
                    Some((metric.name.clone(), shown(&metric.from, number(&metric.from)?)))
                });
                (told.collect(), None)
            }
        };
        let run_number = u32::try_from(bed.runs.len()).unwrap_or(u32::MAX).saturating_add(1);
        self.tell(Progress::Measured {
            host: run.host.clone(),
            run: run_number,
            arm: run.arm,
            figures,
            numbers,
            fault,
        });
    }

    fn folder(&self) -> PathBuf {
        self.desk.folder.join("gates")
    }

    /// Stores the experiment with its runs so far. Where it cannot be stored, that is told: the journal has the answer.
    pub fn keep(&self, bed: &Bed) {
        let record = Record { raw: bed.raw.clone(), ..Record::new(bed.experiment.clone(), bed.runs.clone()) };
        let path = self.folder().join(format!("{}.json", bed.experiment.id));
        let written = serde_json::to_vec_pretty(&record).map_err(std::io::Error::other);
        let written = written.and_then(|text| {
            std::fs::create_dir_all(self.folder())?;
            std::fs::write(&path, text)
        });
        if let Err(why) = written {
            self.tell(Progress::Noted(format!(
                "the runs of the gate cannot be stored in {}: {why}",
                path.display()
            )));
        }
    }

    /// Stores what the tools printed.
    fn keep_raw(&self, bed: &Bed, run: u32, printed: &[load::Raw]) -> Vec<Raw> {
        let mut kept = Vec::new();
        for raw in printed {
            let name = format!("{}/run{}-{}-{}.out", bed.experiment.id, run + 1, raw.load, raw.host);
            let path = self.folder().join(&name);
            let folder = path.parent().map(std::fs::create_dir_all);
            if matches!(folder, Some(Ok(()))) && std::fs::write(&path, &raw.output.stdout).is_ok() {
                let sha256 = Digest::of(raw.output.stdout.as_bytes()).to_string();
                kept.push(Raw { run, path: name, sha256 });
            }
        }
        kept
    }

    /// After a rollback: one more round of the benchmarks, beside what they said without the change.
    pub async fn once_more(&mut self, bed: &Bed) {
        let subjects: Vec<Subject> = bed.subjects.iter().filter(|subject| subject.changed).cloned().collect();
        let (taken, _) = self.watched(&subjects, terms(&bed.gate)).await;
        for (subject, taken) in subjects.iter().zip(taken) {
            let words = match taken {
                Ok(measured) => bed
                    .experiment
                    .metrics
                    .iter()
                    .filter_map(|metric| {
                        let Some(Figure::Number(now)) = measured.figures.get(&metric.from).cloned() else {
                            return None;
                        };
                        let before = without(bed, &subject.name, &metric.from);
                        let [now, before] = [now, before?].map(|figure| shown(&metric.from, figure));
                        Some(format!("{} {now}, {before} without the change", metric.name))
                    })
                    .collect::<Vec<_>>()
                    .join("; "),
                Err(failed) => format!("it could not be measured: {}", failed.fault.text()),
            };
            self.tell(Progress::Noted(format!("{} after the rollback: {words}", subject.name)));
        }
    }
}

/// The middle of what a host showed without the change.
fn without(bed: &Bed, host: &str, from: &str) -> Option<f64> {
    let of = |run: &Run| match &run.end {
        RunEnd::Measured { figures } => match figures.get(from) {
            Some(Figure::Number(number)) => Some(*number),
            _ => None,
        },
        RunEnd::Failed(_) => None,
    };
    let runs = bed.runs.iter().filter(|run| run.host == host && run.arm == Arm::A);
    let figures: Vec<f64> = runs.filter_map(of).collect();
    (!figures.is_empty()).then(|| crate::gate::distribution::median(&figures))
}

fn unfit(what: String) -> Arc<Failed> {
    Arc::new(Failed { fault: Fault::Unfit { what }, raw: Vec::new() })
}

/// What was not proven before or after a run was not proven.
fn worse(before: Live, after: Live) -> Live {
    match (&before, &after) {
        (Live::Proven { .. }, _) => after,
        _ => before,
    }
}

fn hosts(loads: &[Load]) -> BTreeSet<String> {
    let all = loads.iter().flat_map(|load| load.on.iter().chain(&load.peer));
    all.map(|target| target.host.clone()).collect()
}

/// What makes a run of a gate count.
pub(super) fn terms(gate: &Gate) -> Terms {
    let RunTimes { ramp, measure, steady, .. } = gate.run;
    Terms {
        span: Span { ramp: ramp.0, measure: measure.0 },
        steady: self::steady(steady),
        steal_max: gate.preflight.steal_max.0,
    }
}

fn steady(written: Steady) -> Option<SteadyRule> {
    match written {
        Steady::Off(_) => None,
        Steady::Rule(windows) => Some(SteadyRule {
            windows: windows.windows as usize,
            seconds: windows.window.0.as_secs() as usize,
            range: windows.range.0,
            slope: windows.slope.0,
        }),
    }
}

fn words(error: &HostError, host: &str) -> String {
    error.diagnostic(host).message
}
