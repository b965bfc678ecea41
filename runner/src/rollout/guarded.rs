//! Hosts that go down stand within guards: what must hold is waited for before, and after.
use super::calmly::unguarded;
use super::conduct::Rolling;
use super::guards::{Going, Ground, Guards, Held, Stopped, Tell, Waiting};
use super::halt::Halt;
use crate::engine::run::Events;
use crate::engine::target::Target;
use crate::engine::walk::Gauge;
use crate::inventory::HostId;
use crate::report::event::Event;
use crate::report::progress::{Progress, time};
use std::sync::Arc;

/// Tells people what guards wait for.
pub(super) fn told_by(events: &Events) -> Tell {
    let events = events.clone();
    Arc::new(move |waiting: Waiting| {
        // Nobody may listen any more; the journal is the record.
        let _ = events.send(Event::Came(Progress::Waited { on: words(&waiting) }));
    })
}

impl Rolling<'_, '_> {
    /// Why this play has no guards, where it says so.
    pub fn unguarded(&self) -> Option<String> {
        unguarded(&self.scene, self.stage.play)
    }

    /// Waits until hosts may go down together; none where nothing of them is down meanwhile and no guard is asked for.
    pub async fn let_down(&mut self, hosts: &[HostId], going: Going) -> Result<Option<Held>, Halt> {
        if self.unguarded().is_some()
            || self.stage.guard.is_none() && !hosts.iter().any(|host| self.down.contains(host))
        {
            return Ok(None);
        }
        let targets = self.targets(hosts)?;
        let guards = self.begun_guards().await?;
        let held = guards
            .before(self.fleet.journal, &targets, going)
            .await
            .map_err(|stopped| self.stopped(&stopped))?;
        for note in &held.notes {
            self.tell(Progress::Noted(note.clone()));
        }
        Ok(Some(held))
    }

    /// Waits until all that went down is up again.
    pub async fn up_again(&mut self, held: Option<Held>) -> Result<(), Halt> {
        let (Some(held), Some(guards)) = (held, self.guards.clone()) else { return Ok(()) };
        let stays =
            guards.after(self.fleet.journal, &held).await.map_err(|stopped| self.stopped(&stopped))?;
        for words in stays {
            self.tell(Progress::Noted(words));
        }
        Ok(())
    }

    /// The guards of this rollout; they look at all of its hosts when they are first needed.
    async fn begun_guards(&mut self) -> Result<Guards, Halt> {
        if let Some(guards) = &self.guards {
            return Ok(guards.clone());
        }
        let all: Vec<HostId> = self.stage.order.waves.iter().flat_map(|wave| wave.hosts.clone()).collect();
        self.fleet.enter(&all);
        let targets = self.targets(&all)?;
        let ground = Ground {
            scene: Arc::clone(&self.scene),
            links: Arc::clone(&self.links),
            play: self.stage.play,
            left: self.desk.left.clone(),
        };
        let tell = told_by(self.fleet.events);
        let begun =
            Guards::begin(self.stage.guard.clone(), &ground, &targets, self.fleet.journal, tell).await;
        let guards = begun.map_err(|stopped| self.stopped(&stopped))?;
        self.alive = Some(guards.keep_alive(self.fleet.journal));
        self.guards = Some(guards.clone());
        Ok(guards)
    }

    /// Hosts as whoever the play acts as.
    pub(super) fn targets(&mut self, hosts: &[HostId]) -> Result<Vec<Target>, Halt> {
        let (scene, play) = (Arc::clone(&self.scene), self.stage.play);
        let mut targets = Vec::new();
        for host in hosts {
            let Some(run) = self.fleet.any(*host) else { continue };
            match Gauge::new(&scene, &run.state, play).acting(&run.state.name) {
                Ok(target) => targets.push(target),
                Err(problem) => return Err(self.wrong(vec![*problem])),
            }
        }
        Ok(targets)
    }

    pub(super) fn stopped(&self, stopped: &Stopped) -> Halt {
        let problem = stopped.diagnostic();
        let why = problem.message.clone();
        self.fleet.tell(Event::Trouble { host: "guard".to_owned(), title: None, problem });
        Halt::Held { why }
    }
}

fn words(waiting: &Waiting) -> String {
    let hosts = waiting.hosts.join(", ");
    if waiting.why.is_empty() {
        return format!("nothing more: {hosts}, after {}", time(waiting.waited));
    }
    let what = if waiting.before { "to go down" } else { "to be whole again" };
    format!(
        "{hosts} {what}: {} (for {}, at most {})",
        waiting.why.join("; "),
        time(waiting.waited),
        time(waiting.most)
    )
}
