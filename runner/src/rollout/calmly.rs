//! Clusters around a gate: calm before it is measured, watched while it is loaded, left as they were.
use super::bed::Bed;
use super::conduct::Rolling;
use super::guarded::told_by;
use super::guards::{Alive, Ground, Guards, Limits, Stopped, Tell};
use super::halt::Halt;
use crate::engine::walk::Scene;
use crate::load::Load;
use crate::playbook::rollout::Gate;
use crate::report::progress::{Progress, time};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Clients that do less than this many operations a second are none.
const SILENT: f64 = 1.0;

/// How often it is looked whether a cluster has become fit.
const PAUSE: Duration = Duration::from_secs(2);

/// The clusters of a gate.
pub(super) struct Calm {
    guards: Guards,
    limits: Arc<Limits>,
    paused: Option<(Instant, Duration)>,
    #[expect(dead_code, reason = "its drop ends the renewing of leases")]
    alive: Alive,
}

/// Whether a benchmark of a gate loads a cluster, or the gate speaks of one.
pub(super) fn is_about_a_cluster<'l>(gate: &Gate, mut loads: impl Iterator<Item = &'l Load>) -> bool {
    loads.any(|load| load.tool.loads_a_cluster()) || gate.abort_if.is_some() || gate.rate.is_some()
}

/// Why a play has no guards, where it says so.
pub(super) fn unguarded(scene: &Scene, play: usize) -> Option<String> {
    let settings = &scene.playbook.plays[play].settings;
    let waiver = settings.accept_risk.iter().find(|waiver| waiver.risk == "no_guard");
    waiver.map(|waiver| waiver.reason.clone())
}

/// Holds loads on clusters back to a share of what clients do, which is so many operations a second. Gives what it was
/// held to, where it was.
///
/// # Errors
/// Why it cannot be held back.
pub(super) fn limited<'l>(
    gate: &Gate,
    clients: f64,
    loads: impl Iterator<Item = &'l mut Load>,
) -> Result<Option<f64>, String> {
    let mut most = None;
    for load in loads.filter(|load| load.tool.loads_a_cluster()).take_while(|_| clients >= SILENT) {
        let Some(share) = gate.rate else {
            return Err(format!(
                "clients do {clients:.0} operations a second on the cluster, and nothing limits the load beside them: say \
                 `rate: 20%` in the gate, or accept that by `accept_risk: {{no_guard: REASON}}`"
            ));
        };
        let of_clients = (clients * share.0).max(1.0);
        load.tool = load.tool.limited(of_clients as u64).map_err(|why| format!("{}: {why}", load.id))?;
        most = Some(of_clients);
    }
    Ok(most)
}

impl Rolling<'_, '_> {
    /// Before the first run of a gate: its clusters are found, scrubs are paused, the load is limited to a share of what
    /// clients do, and what is not well is waited for.
    pub async fn calm(&mut self, bed: &mut Bed) -> Result<(), Halt> {
        let about = is_about_a_cluster(&bed.gate, bed.subjects.iter().flat_map(|subject| &subject.loads));
        if let Some(reason) = self.unguarded() {
            if about {
                self.tell(Progress::Noted(format!("no guard over the load: {reason}")));
            }
            return Ok(());
        }
        let hosts: Vec<_> = bed.subjects.iter().map(|subject| subject.host).collect();
        let targets = self.targets(&hosts)?;
        let ground = Ground {
            scene: Arc::clone(&self.scene),
            links: Arc::clone(&self.links),
            play: self.stage.play,
            left: self.desk.left.clone(),
        };
        let tell: Tell = told_by(self.fleet.events);
        let begun =
            Guards::begin(self.stage.guard.clone(), &ground, &targets, self.fleet.journal, tell).await;
        let guards = match begun {
            Ok(guards) => guards,
            // What is loaded is the host and not its cluster: nobody said how that is reached, and nobody has to.
            Err(stopped) if !about && !matches!(stopped, Stopped::Journal(_)) => {
                let why = stopped.words();
                self.tell(Progress::Noted(format!("the cluster of these hosts is not watched: {why}")));
                return Ok(());
            }
            Err(stopped) => return Err(self.stopped(&stopped)),
        };
        if about && !guards.has_clusters() {
            let Some(first) = targets.first() else { return Ok(()) };
            guards.lead(first).await.map_err(|stopped| self.blind(&stopped))?;
        }
        if !guards.has_clusters() {
            return Ok(());
        }
        let limits = Arc::new(Limits { abort_if: bed.gate.abort_if.clone().unwrap_or_default() });
        let alive = guards.keep_alive(self.fleet.journal);
        self.calm = Some(Calm { guards: guards.clone(), limits, paused: None, alive });
        if bed.gate.preflight.scrub_pause {
            let notes =
                guards.pause_scrubs(self.fleet.journal).await.map_err(|stopped| self.stopped(&stopped))?;
            notes.into_iter().for_each(|note| self.tell(Progress::Noted(note)));
            let most = bed.gate.preflight.scrub_pause_max.0;
            self.calm.iter_mut().for_each(|calm| calm.paused = Some((Instant::now(), most)));
        }
        self.limited(bed, &guards).await?;
        self.rested(&bed.gate).await
    }

    /// Holds the load back to a share of what clients do anyway.
    async fn limited(&self, bed: &mut Bed, guards: &Guards) -> Result<(), Halt> {
        let clients = guards.clients().await.map_err(|stopped| self.stopped(&stopped))?;
        let loads = bed.subjects.iter_mut().flat_map(|subject| &mut subject.loads);
        let most = limited(&bed.gate, clients, loads).map_err(|why| Halt::Held { why })?;
        if let Some(most) = most {
            self.tell(Progress::Noted(format!(
                "clients do {clients:.0} operations a second: the load is held to {most:.0} a second"
            )));
        }
        Ok(())
    }

    /// Waits until the clusters are fit to be measured.
    pub async fn rested(&mut self, gate: &Gate) -> Result<(), Halt> {
        let Some(calm) = &self.calm else { return Ok(()) };
        let (guards, most, began) = (calm.guards.clone(), gate.preflight.timeout.0, Instant::now());
        let mut told = Vec::new();
        loop {
            let why = guards.unfit().await;
            if why.is_empty() {
                return self.scrubs_go_on(false).await;
            }
            if began.elapsed() >= most {
                let why = why.join("; ");
                return Err(Halt::Held {
                    why: format!("the cluster is not fit to be measured after {}: {why}", time(most)),
                });
            }
            if told != why {
                self.tell(Progress::Waited { on: format!("the cluster to be measured: {}", why.join("; ")) });
                told = why;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Why the clusters are not what was to be measured any more, once a run is over.
    pub async fn disturbed(&self) -> Option<String> {
        let calm = self.calm.as_ref()?;
        let why = calm.guards.unfit().await;
        (!why.is_empty()).then(|| format!("the cluster was not at rest: {}", why.join("; ")))
    }

    /// Ends with why the load must end now; never where nothing is watched.
    pub fn outage(&self) -> impl Future<Output = String> + use<> {
        let watched = self.calm.as_ref().map(|calm| (calm.guards.clone(), Arc::clone(&calm.limits)));
        async move {
            match watched {
                Some((guards, limits)) => guards.outage(&limits).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Lets scrubs go on: at the end of a gate, or once they were paused as long as they may be.
    pub async fn scrubs_go_on(&mut self, now: bool) -> Result<(), Halt> {
        let Some(calm) = &mut self.calm else { return Ok(()) };
        let Some((since, most)) = calm.paused else { return Ok(()) };
        let is_over = since.elapsed() >= most;
        if !now && !is_over {
            return Ok(());
        }
        calm.paused = None;
        let guards = calm.guards.clone();
        let stays = guards.at_ease(self.fleet.journal).await.map_err(|stopped| self.stopped(&stopped))?;
        if is_over && !now {
            self.tell(Progress::Noted(format!(
                "scrubs were paused for {}: they go on from here",
                time(most)
            )));
        }
        stays.into_iter().for_each(|words| self.tell(Progress::Noted(words)));
        Ok(())
    }

    /// After a gate the clusters are left as they were.
    pub async fn at_ease(&mut self) -> Result<(), Halt> {
        self.scrubs_go_on(true).await?;
        // What could not be given back is tried again at the end of the run.
        self.over.extend(self.calm.take().map(|calm| calm.guards));
        Ok(())
    }

    /// The guards of all gates, whatever came of them: what they have set is given back at the end of the run.
    pub fn calmed(&mut self) -> Vec<Guards> {
        let mut all = std::mem::take(&mut self.over);
        all.extend(self.calm.take().map(|calm| calm.guards));
        all
    }

    /// Nothing leads to the cluster that a benchmark loads.
    fn blind(&self, stopped: &Stopped) -> Halt {
        let Halt::Held { why } = self.stopped(stopped) else { return self.stopped(stopped) };
        Halt::Held { why: format!("whether the load becomes an outage cannot be watched: {why}") }
    }
}
