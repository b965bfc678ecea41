//! Rollouts seen from the command line: what a plan refuses, the controller's part, and how they end.
use super::ends;
use super::exit::Exit;
use super::plan::Format;
use super::play::Play;
use super::purpose::Purpose;
use super::shape::Shape;
use super::term;
use jiff::Zoned;
use std::collections::BTreeSet;
use std::sync::Arc;
use tunerun::engine::fleet::{Applying, Fleet};
use tunerun::engine::links::Links;
use tunerun::engine::run::{HostError, HostRun};
use tunerun::engine::walk::{Scene, Walked};
use tunerun::journal::{HostEnd, Journal, Store};
use tunerun::playbook::rollout::Day;
use tunerun::rollout::guards::left_by;
use tunerun::rollout::{self, Desk, Halt, Moment, Profiles, Stages, conduct, foresee};

/// How a play was conducted.
pub(super) struct Conducted {
    /// The exit code.
    pub exit: Exit,
    /// The last line, where it ended early.
    pub halt: Option<String>,
}

impl From<Exit> for Conducted {
    fn from(exit: Exit) -> Self {
        Self { exit, halt: None }
    }
}

impl Play {
    /// How the plan is printed.
    fn printed(&self) -> Format {
        match &self.purpose {
            Purpose::Save(saving) => saving.format,
            _ => Format::Text,
        }
    }

    /// The rollouts and gates of a playbook, in the shape that is played.
    pub(super) fn staged(&self, scene: &Scene) -> Result<Stages, Exit> {
        let mut stages = rollout::stages(scene).map_err(|problems| {
            term::problems(&problems);
            Exit::Wrong
        })?;
        self.shape.of_stages(&mut stages, scene);
        if self.shape == Shape::Ladder && stages.values().all(|stage| stage.parts.is_empty()) {
            term::wrong(
                "no play of this playbook has a gate",
                Some("say `gate: {benchmarks: [...]}` on a play"),
            );
            return Err(Exit::Wrong);
        }
        Ok(stages)
    }

    /// Shows the rollouts and gates that a plan asks for. Gives the exit where one is refused.
    pub(super) fn foreseen(
        &self,
        scene: &Scene,
        stages: &Stages,
        planned: &[(HostRun, Walked)],
        unreachable: &[(String, HostError)],
    ) -> Option<Exit> {
        if let Purpose::Bundle(sink) = &self.purpose {
            return Some(sink.take(scene, stages, planned, unreachable));
        }
        if !self.purpose.plans() {
            return None;
        }
        let foreseen = foresee(scene, stages, planned, &Profiles::beside(&self.links.runs()));
        match self.printed() {
            Format::Text => term::data(&foreseen.text),
            // Beside the one document that is printed.
            _ if foreseen.text.is_empty() => {}
            Format::Json => term::say(&foreseen.text),
            Format::Markdown => {
                term::data(&format!("## Rollout\n\n```text\n{}\n```\n", foreseen.text.trim_end()))
            }
        }
        if foreseen.refused.is_empty() {
            return None;
        }
        term::problems_only(&foreseen.refused);
        term::say("nothing was changed");
        Some(Exit::GateRefused)
    }
}

/// What guards have set goes back once all parts of hosts have ended.
async fn give_back(conducted: &rollout::Conducted, journal: &Journal, applying: &Applying) {
    match conducted.give_back(journal, &applying.open).await {
        Ok(stays) => stays.iter().for_each(|words| term::say(words)),
        Err(why) => term::wrong(why.to_string(), None),
    }
}

impl Play {
    /// Applies what was planned: how its hosts ended, and why a rollout ended early, if it did.
    pub(super) async fn rolled(
        &self,
        mut fleet: Fleet<'_>,
        scene: &Arc<Scene>,
        links: &Arc<Links>,
        stages: &Stages,
    ) -> (Exit, Option<Halt>) {
        let journal = fleet.journal;
        let conducted = conduct(&mut fleet, scene, links, &self.desk(journal), stages).await;
        let applying = fleet.finish(conducted.stopped.then_some(HostEnd::Skipped)).await;
        give_back(&conducted, journal, &applying).await;
        (ends::ended(applying), conducted.halt)
    }

    /// The controller's part in a run.
    fn desk(&self, journal: &Journal) -> Desk {
        let earlier = self.continues().map(|earlier| Store::new(self.links.runs()).read(earlier.run()));
        let left = earlier.and_then(Result::ok).map(|journaled| left_by(&journaled)).unwrap_or_default();
        desk(journal, left)
    }
}

fn desk(journal: &Journal, left: BTreeSet<String>) -> Desk {
    let folder = journal.path().parent().map(std::path::Path::to_owned).unwrap_or_default();
    Desk {
        ask: Arc::new(|question: &str| term::ask_in_turn(question)),
        attended: term::can_ask(),
        now: Arc::new(now),
        folder,
        run: journal.run().to_owned(),
        left,
    }
}

fn now() -> Moment {
    let now = Zoned::now();
    let days = [Day::Mon, Day::Tue, Day::Wed, Day::Thu, Day::Fri, Day::Sat, Day::Sun];
    let day = days[usize::try_from(now.weekday().to_monday_zero_offset()).unwrap_or(0) % 7];
    let (hour, minute) = (i32::from(now.hour()), i32::from(now.minute()));
    Moment { day, minute: u32::try_from(hour * 60 + minute).unwrap_or(0) }
}

/// How a run ended whose rollout ended early.
pub(super) fn ended(exit: Exit, halt: Option<&Halt>) -> Exit {
    let Some(halt) = halt else { return exit };
    if matches!(exit, Exit::UndoIncomplete | Exit::Lost) || !halt.left().is_empty() {
        return if exit == Exit::Lost { exit } else { Exit::UndoIncomplete };
    }
    match halt {
        Halt::RolledBack { .. } => Exit::RolledBack,
        Halt::Held { .. } => Exit::Held,
        Halt::Regress { .. } => Exit::Regress,
        Halt::Inconclusive { .. } => Exit::Inconclusive,
    }
}

/// The last line of the output.
pub(super) fn words(halt: &Halt, run: &str) -> String {
    let next = match halt {
        Halt::RolledBack { .. } => format!("`tunerun show {run}` tells what was done"),
        Halt::Held { .. } | Halt::Regress { .. } | Halt::Inconclusive { .. } => held(run),
    };
    format!("{halt}; {next}")
}

/// What can be done with a run that is held.
pub(super) fn held(run: &str) -> String {
    format!("`tunerun resume {run}` goes on, `tunerun undo {run}` takes back what stands")
}
