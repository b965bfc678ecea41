//! Trials: something is played on one host, measured and taken back, again and again. Each trial is a run of its own with
//! its own journal, so that whatever ends this leaves nothing that `undo` does not know.
use super::bench;
use super::exit::Exit;
use super::journal::Undo;
use super::options::{HostOptions, LinkOptions};
use super::play::Play;
use super::purpose::Purpose;
use super::shape::Shape;
use super::term;
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tunerun::engine::run::{HostError, HostRun};
use tunerun::engine::walk::{Scene, Walked};
use tunerun::gate::{Figure, Metric};
use tunerun::playbook::rungs::Rung;
use tunerun::rollout::{Bundle, Stages, bundle};

/// What is tried, and where.
#[derive(Args, Clone, Debug)]
pub struct Trying {
    /// The playbook
    pub playbook: PathBuf,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    /// Only tasks with one of these tags
    #[arg(short, long, value_delimiter = ',')]
    pub tags: Vec<String>,
    /// No tasks with one of these tags
    #[arg(long, value_delimiter = ',')]
    pub skip_tags: Vec<String>,
    /// Begin without asking
    #[arg(short, long)]
    pub yes: bool,
    /// The seed of the order of trials; default: a new one, which is told
    #[arg(long)]
    pub seed: Option<u64>,
}

/// Where the changes of a plan go.
#[derive(Clone, Debug, Default)]
pub struct Sink(Arc<Mutex<Option<Bundle>>>);

impl Sink {
    /// Takes them out of plans.
    pub fn take(
        &self,
        scene: &Scene,
        stages: &Stages,
        planned: &[(HostRun, Walked)],
        unreachable: &[(String, HostError)],
    ) -> Exit {
        if let Some((host, error)) = unreachable.first() {
            term::problems_only(&[error.diagnostic(host)]);
            return Exit::Unreachable;
        }
        match bundle(scene, stages, planned) {
            Ok(bundle) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(bundle);
                Exit::Done
            }
            Err(problems) => {
                term::problems_only(&problems);
                Exit::GateRefused
            }
        }
    }
}

/// One trial.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Variables beside those of the command line.
    pub extra: Vec<String>,
    /// Changes that are left away.
    pub without: BTreeSet<Rung>,
}

impl Trying {
    /// Asks for passwords once, for all trials.
    pub fn begin(&mut self) {
        self.hosts.ask();
        self.links.ask();
    }

    fn play(&self) -> Play {
        Play {
            playbook: self.playbook.clone(),
            hosts: self.hosts.clone(),
            links: self.links.clone(),
            tags: self.tags.clone(),
            skip_tags: self.skip_tags.clone(),
            yes: true,
            ..Play::default()
        }
    }

    /// What can be tried, by a plan with these variables beside.
    pub fn bundle(&self, extra: &[String]) -> Result<Bundle, Exit> {
        let sink = Sink::default();
        let mut play = Play { check: true, shape: Shape::Ladder, ..self.play() };
        play.hosts.extra.extend_from_slice(extra);
        play.purpose = Purpose::Bundle(sink.clone());
        let exit = play.run();
        let found = sink.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        found.ok_or(if exit == Exit::Done { Exit::Failed } else { exit })
    }

    /// Asks whether to begin.
    pub fn agreed(&self) -> Result<(), Exit> {
        if self.yes {
            return Ok(());
        }
        if !term::can_ask() {
            term::wrong("nobody can be asked whether to begin", Some("add --yes to begin without asking"));
            return Err(Exit::Declined);
        }
        if term::ask("Begin?") { Ok(()) } else { Err(Exit::Declined) }
    }

    /// The goodness of each metric on a host in one trial; afterwards the host is as it was.
    pub fn trial(&self, host: &str, bundle: &Bundle, trial: &Trial) -> Result<Vec<f64>, Exit> {
        term::hold();
        let ended = self.tried(host, bundle, trial);
        term::release(ended.is_err());
        ended
    }

    fn tried(&self, host: &str, bundle: &Bundle, trial: &Trial) -> Result<Vec<f64>, Exit> {
        let name = Arc::new(OnceLock::new());
        let mut play =
            Play { shape: Shape::Trial(trial.without.clone()), name: Arc::clone(&name), ..self.play() };
        play.hosts.limit = Some(host.to_owned());
        play.hosts.extra.extend_from_slice(&trial.extra);
        let exit = play.run();
        let figures = match exit {
            // As in a gate, a tool that fails is asked once more.
            Exit::Done => self.measured(host, bundle, trial).or_else(|_| self.measured(host, bundle, trial)),
            exit => Err(exit),
        };
        // Where nothing was to be changed, no run has begun.
        if let Some(run) = name.get() {
            let (hosts, links) = (self.hosts.clone(), self.links.clone());
            let undo = Undo { run: run.clone(), hosts, links, force: Vec::new(), reboot: false };
            if undo.run() != Exit::Done {
                term::wrong(
                    format!("run {run} of a trial on {host} is not taken back whole"),
                    Some("see what is told above, then `tunerun undo` that run again"),
                );
                return Err(Exit::UndoIncomplete);
            }
        }
        figures
    }

    fn measured(&self, host: &str, bundle: &Bundle, trial: &Trial) -> Result<Vec<f64>, Exit> {
        std::thread::sleep(bundle.settle);
        let taken = bench::Taken::default();
        let mut play = Play { check: true, ..self.play() };
        play.hosts.limit = Some(host.to_owned());
        play.hosts.extra.extend_from_slice(&trial.extra);
        play.purpose =
            Purpose::Bench(bench::Asked { runs: 1, out: None, json: false, taken: Some(Arc::clone(&taken)) });
        let exit = play.run();
        let taken = std::mem::take(&mut *taken.lock().unwrap_or_else(PoisonError::into_inner));
        let figures = taken.into_iter().find(|(name, _)| name == host).map(|(_, figures)| figures);
        let Some(figures) = figures.filter(|_| exit == Exit::Done) else {
            return Err(if exit == Exit::Done { Exit::Failed } else { exit });
        };
        bundle.metrics.iter().map(|metric| goodness(metric, &figures)).collect()
    }
}

fn goodness(metric: &Metric, figures: &BTreeMap<String, Figure>) -> Result<f64, Exit> {
    let figure = match figures.get(&metric.from) {
        Some(Figure::Number(figure)) => metric.direction.goodness(*figure),
        _ => None,
    };
    figure.ok_or_else(|| {
        term::wrong(format!("{} gave no figure above 0 for {}", metric.from, metric.name), None);
        Exit::Failed
    })
}
