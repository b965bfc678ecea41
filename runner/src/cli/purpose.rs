//! What a plan is made for: to be played, to be saved, to be compared, or because it was reviewed before.
use super::continuing::Continuation;
use super::exit::Exit;
use super::options::typed;
use super::play::Play;
use super::term;
use super::trying::Sink;
use super::{apply, bench, capture, diagnose, evidence, plan, run, verify};
use std::sync::Arc;
use tunerun::engine::run::{HostError, HostRun, Review};
use tunerun::engine::walk::{Scene, Walked};
use tunerun::journal::Journal;
use tunerun::plan::{Origin, OriginKind, Saved, unreviewed};

/// What a plan is for.
#[derive(Clone, Debug, Default)]
pub enum Purpose {
    /// It is applied once it was seen.
    #[default]
    Play,
    /// One task from the command line: as a person typed it.
    Task(String),
    /// It is shown, and saved where a file is named.
    Save(plan::Saving),
    /// It must be empty.
    Verify,
    /// What its tasks prove is told.
    Evidence,
    /// What hosts spend their time on is told.
    Diagnose(diagnose::Asked),
    /// How hosts are is written down.
    Capture(diagnose::Asked),
    /// The benchmarks of its gates are run alone.
    Bench(bench::Asked),
    /// The changes that can be tried are told.
    Bundle(Sink),
    /// It was reviewed before, and must be the same.
    Apply(Arc<Saved>, String),
    /// It goes on with a run that was cut off.
    Continue(Arc<Continuation>),
}

/// Hosts with their plans.
pub type Plans = Vec<(HostRun, Walked)>;

impl Purpose {
    /// Whether the plan is reviewed first and applied by another call.
    pub fn is_for_later(&self) -> bool {
        matches!(self, Self::Save(_) | Self::Apply(..))
    }

    /// Whether something is planned: rollouts and gates are foreseen then.
    pub fn plans(&self) -> bool {
        matches!(self, Self::Play | Self::Save(_) | Self::Apply(..) | Self::Continue(_))
    }

    /// Whether the plan speaks of a host.
    pub fn is_about(&self, host: &str) -> bool {
        match self {
            Self::Apply(saved, _) => saved.hosts.contains_key(host),
            _ => true,
        }
    }

    /// What judges the tasks of a host before they are carried out: only what was reviewed is.
    pub fn review(&self, host: &str) -> Option<Review> {
        let Self::Apply(saved, _) = self else { return None };
        let (saved, host) = (Arc::clone(saved), host.to_owned());
        Some(Arc::new(move |task| {
            unreviewed(&saved, &host, task).map(|found| apply::refused(&host, &[found]))
        }))
    }
}

impl Play {
    /// Whether anything is changed in the end.
    pub(super) fn acts(&self) -> bool {
        !self.check && !matches!(self.purpose, Purpose::Save(_) | Purpose::Verify | Purpose::Evidence)
    }

    /// Shows and judges the plans. Gives those that are applied, or how the command ends.
    pub(super) fn judged(
        &self,
        scene: &Scene,
        planned: Plans,
        unreachable: &[(String, HostError)],
        made_from: &[Origin],
    ) -> Result<Plans, Exit> {
        match &self.purpose {
            Purpose::Task(_) if !planned.is_empty() && run::answers(&planned).is_some() => {
                self.left_out(planned.len(), unreachable);
                term::data(&run::answers(&planned).unwrap_or_default());
                Err(if unreachable.is_empty() { Exit::Done } else { Exit::Unreachable })
            }
            Purpose::Play | Purpose::Task(_) => match self.shown(scene, &planned, unreachable) {
                Some(exit) => Err(exit),
                None => Ok(planned),
            },
            Purpose::Continue(earlier) => match earlier.refused(made_from) {
                Some(exit) => Err(exit),
                None => self.shown(scene, &planned, unreachable).map_or(Ok(planned), Err),
            },
            Purpose::Save(saving) => Err(plan::shown(self, saving, &planned, unreachable, made_from)),
            Purpose::Verify => Err(verify::told(&planned, unreachable)),
            Purpose::Evidence => Err(evidence::told(&planned, unreachable)),
            Purpose::Diagnose(asked) => Err(diagnose::told(asked, &planned, unreachable)),
            Purpose::Capture(asked) => Err(capture::told(asked, &planned, unreachable)),
            // It is measured before anything is planned.
            Purpose::Bench(_) | Purpose::Bundle(_) => Err(Exit::Done),
            Purpose::Apply(saved, _) => apply::judged(self, scene, saved, planned, unreachable, made_from),
        }
    }

    /// The journal of the run that this one goes on with.
    pub(super) fn continues(&self) -> Option<&Journal> {
        match &self.purpose {
            Purpose::Continue(earlier) => Some(&earlier.journal),
            _ => None,
        }
    }

    /// Looks up what the earlier plan brought to hosts and this one did not read, since it did not come that far.
    pub(super) fn look_up(&self, now: &mut Vec<Origin>) {
        let Purpose::Apply(saved, _) = &self.purpose else { return };
        let known = |now: &[Origin], name: &str| now.iter().any(|origin| origin.name == name);
        for then in &saved.made_from {
            if then.kind == OriginKind::Source
                && !known(now, &then.name)
                && let Ok(bytes) = std::fs::read(&then.name)
            {
                let digest = modules::vocabulary::Digest::of(&bytes).to_string();
                now.push(Origin { digest, ..then.clone() });
            }
        }
    }

    /// As a person would type it again; `-e` values stay out, since they may be secret.
    pub(super) fn command(&self) -> String {
        let mut words = match &self.purpose {
            Purpose::Apply(_, file) => return format!("tunerun apply {}", typed(file)),
            Purpose::Task(line) => vec![line.clone()],
            _ => vec!["tunerun play".to_owned(), typed(&self.playbook.display().to_string())],
        };
        words.extend(self.hosts.inventory.iter().map(|inventory| format!("-i {}", typed(inventory))));
        words.extend(self.hosts.limit.iter().map(|limit| format!("--limit {}", typed(limit))));
        words.extend((!self.tags.is_empty()).then(|| format!("--tags {}", typed(&self.tags.join(",")))));
        words.extend(
            (!self.skip_tags.is_empty()).then(|| format!("--skip-tags {}", typed(&self.skip_tags.join(",")))),
        );
        words.join(" ")
    }
}
