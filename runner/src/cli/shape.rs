//! Whether all of a playbook is played as it is written, or its changes one by one.
use std::collections::BTreeSet;
use tunerun::engine::walk::Scene;
use tunerun::playbook::Playbook;
use tunerun::playbook::rollout::OnInconclusive;
use tunerun::playbook::rungs::{Rung, gate_each, leave_out};
use tunerun::rollout::Stages;

/// What of a playbook is played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// All of it.
    #[default]
    Written,
    /// Each change of a play with a gate under that gate, on its canaries alone.
    Ladder,
    /// Without its gates, since somebody else measures, and without these changes.
    Trial(BTreeSet<Rung>),
}

impl Shape {
    /// Shapes a playbook that was loaded just now.
    pub fn of(&self, playbook: &mut Playbook) {
        match self {
            Self::Written => {}
            Self::Ladder => gate_each(playbook),
            Self::Trial(without) => leave_out(playbook, without),
        }
    }

    /// Shapes its rollouts.
    pub fn of_stages(&self, stages: &mut Stages, scene: &Scene) {
        for (number, stage) in stages.iter_mut() {
            match self {
                Self::Written => {}
                Self::Ladder => {
                    stage.rollout.on_inconclusive = Some(OnInconclusive::Accept);
                    let later: Vec<_> = stage.order.waves.drain(1..).flat_map(|wave| wave.hosts).collect();
                    stage.order.left_out.extend(later);
                    scene.set_waves(
                        *number,
                        stage.order.waves.iter().map(|wave| wave.hosts.clone()).collect(),
                    );
                }
                Self::Trial(_) => (stage.gate, stage.parts) = (None, Vec::new()),
            }
        }
    }
}
