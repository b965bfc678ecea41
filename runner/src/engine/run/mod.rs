//! A run on one host: look, walk, act, look again, until nothing is left to do; on failure take the batch back.
mod act;
mod arms;
mod back;
mod boot;
mod consent;
mod dead_man;
mod end;
mod error;
mod guests;
mod reboot;
mod roll_back;
mod waiting;

pub use arms::{Arms, Asked, Mark, Part};
pub(in crate::engine) use back::unwritten;
pub use boot::Road;
pub use consent::Consent;
pub use end::activation_words;
pub use error::HostError;
pub use reboot::{boot_batch, boot_id_look};

use super::links::Links;
use super::next::{Next, next};
use super::target::{Acting, HostState, Target};
use super::undo::Past;
use super::walk::{Planned, Ran, Scene, Verdict as Judged, Walked, What, walk};
use crate::diagnostic::Diagnostic;
use crate::journal::{HostEnd, Journal, JournalError};
use crate::report::event::{Counts, Event, TaskEnd};
use modules::vocabulary::{Activation, Read};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// How often a host may be looked at before its plan must be complete.
const ROUNDS: u32 = 10;

/// Where events go.
pub type Events = tokio::sync::mpsc::UnboundedSender<Event>;

/// How people are asked while a run goes on.
pub type Ask = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Why a task may not be carried out though it is planned: it is not what was reviewed.
pub type Review = Arc<dyn Fn(&Planned) -> Option<Diagnostic> + Send + Sync>;

/// A host that takes part in a run.
pub struct HostRun {
    scene: Arc<Scene>,
    links: Arc<Links>,
    events: Events,
    ask: Ask,
    /// What is known of it and was done there.
    pub state: HostState,
    /// Runs that were found open on it.
    pub open_runs: BTreeSet<String>,
    /// Why its part does not begin, if it does not.
    pub refused: Option<HostEnd>,
    /// What judges each task of a batch before the batch is prepared.
    pub review: Option<Review>,
    /// What a person has agreed to.
    pub consent: Consent,
    /// Who held its lock when it was first looked at.
    pub held: Option<String>,
    /// Whether the mark of the open run stays until its part ends: what is done may still be taken off.
    pub stays_open: bool,
    /// Whether restarts and power cycles that it owes are left to somebody else: they stay owed.
    pub felt_later: bool,
    /// The last part of the play under way that is carried out; none for all of it.
    pub until: Option<u32>,
    /// Where the mark of an open run stands.
    marked: BTreeSet<Target>,
    counts: Counts,
    told: HashSet<String>,
    past: HashMap<Target, Vec<Past>>,
    owed: BTreeSet<Activation>,
    /// Whether a boot for its own sake has made something felt.
    booted: bool,
    /// Restarts and power cycles that this run has made, in order: what goes back calls for them again.
    made: Vec<Activation>,
    /// What is written and not felt, as the last whole walk has told.
    not_live: Vec<String>,
    recorded: HashSet<String>,
    greeted: bool,
}

/// What an applied batch was, until the next walk judges it.
struct Applied {
    target: Target,
    past: Vec<Past>,
    keys: Vec<String>,
}

impl HostRun {
    /// A host of which nothing is known.
    pub fn new(scene: Arc<Scene>, links: Arc<Links>, events: Events, ask: Ask, state: HostState) -> Self {
        Self {
            scene,
            links,
            events,
            ask,
            state,
            open_runs: BTreeSet::new(),
            refused: None,
            review: None,
            consent: Consent::default(),
            held: None,
            stays_open: false,
            felt_later: false,
            until: None,
            marked: BTreeSet::new(),
            counts: Counts::default(),
            told: HashSet::new(),
            past: HashMap::new(),
            owed: BTreeSet::new(),
            booted: false,
            made: Vec::new(),
            not_live: Vec::new(),
            recorded: HashSet::new(),
            greeted: false,
        }
    }

    /// Whether it has failed or cannot be reached.
    pub fn has_left(&self) -> bool {
        self.scene.has_left(&self.state.name)
    }

    /// Nobody waits for it any more.
    pub fn leave(&self) {
        self.scene.leave(&self.state.name);
    }

    pub(super) fn tell(&self, event: Event) {
        // Nobody may listen any more; the journal is the record.
        let _ = self.events.send(event);
    }

    /// Looks and walks until the plan is complete, up to and with play number `last`.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn plan(&mut self, last: usize) -> Result<Walked, HostError> {
        let mut rounds = 0;
        while rounds < ROUNDS {
            self.scene.hear(&self.state.name, &mut self.state.heard, &mut self.state.known);
            let walked = walk(&self.scene, &mut self.state, last);
            let settled = walked.wanted.values().all(Vec::is_empty);
            let looked = match settled {
                true => self.meet(&walked).await,
                false => self.look_all(walked.wanted.clone()).await,
            };
            match looked {
                Ok(()) if settled => {
                    self.not_live = end::not_live(&walked.told);
                    return Ok(walked);
                }
                Ok(()) => rounds += 1,
                // Another host reaches the cluster as well: the walk chooses it.
                Err((target, error)) if self.passes_over(&target, &error) => {}
                Err((_, error)) => return Err(error),
            }
        }
        Err(HostError::Unsettled)
    }

    /// As [`HostRun::plan`], while things are done: a host that looks does not leave others waiting in vain.
    async fn plan_on(&mut self, last: usize) -> Result<Walked, HostError> {
        let scene = Arc::clone(&self.scene);
        let _acts = scene.acts();
        self.plan(last).await
    }

    async fn look_all(&mut self, wanted: BTreeMap<Target, Vec<Read>>) -> Result<(), (Target, HostError)> {
        for (target, reads) in wanted {
            self.look(&target, reads).await.map_err(|error| (target, error))?;
        }
        Ok(())
    }

    /// Whether a host that cannot be reached is only one of those that lead to a cluster.
    fn passes_over(&self, target: &Target, error: &HostError) -> bool {
        let passed = error.is_unreachable()
            && target.host != self.state.name
            && self.state.vias.contains(&target.host);
        if passed {
            self.scene.pass_over(&target.host);
        }
        passed
    }

    /// Whoever is acted on was met before, though nothing had to be read: who acts there, and which runs are open.
    async fn meet(&mut self, walked: &Walked) -> Result<(), (Target, HostError)> {
        let acts = walked.planned.iter().filter(|task| matches!(task.what, What::Change(_)));
        let targets: BTreeSet<&Target> = acts.map(|task| &task.target).collect();
        for target in targets {
            if self.state.known.get(target).is_none_or(|known| known.who.is_none()) {
                self.look(target, Vec::new()).await.map_err(|error| (target.clone(), error))?;
            }
        }
        Ok(())
    }

    async fn look(&mut self, target: &Target, mut reads: Vec<Read>) -> Result<(), HostError> {
        let own = target.host == self.state.name;
        // What another host has looked up of a third one is not looked up again.
        let _turn = if own { None } else { Some(self.links.turn(&target.host).await) };
        if !own && let Some(shared) = self.scene.known(target) {
            let known = self.state.known.entry(target.clone()).or_default();
            known.who = known.who.take().or(shared.who);
            known.machine = known.machine.take().or(shared.machine);
            known.learn(shared.seen.iter().map(|(read, seen)| (read.clone(), seen.clone())));
            reads.retain(|read| !known.seen.contains_key(read));
            if reads.is_empty() {
                return Ok(());
            }
        }
        let _permit = self.links.permit().await;
        let carrier = self.links.carrier(&self.scene, target).await.map_err(HostError::Unreachable)?;
        let known = self.state.known.entry(target.clone()).or_default();
        if known.who.is_some() {
            let seen = carrier.look(&reads).await.map_err(HostError::Carrier)?;
            known.learn(seen);
            self.publish(target);
            return Ok(());
        }
        let (greeting, seen) = carrier.greet(&reads).await.map_err(HostError::Carrier)?;
        known.who = Some(greeting.who);
        known.machine = greeting.machine;
        known.learn(seen);
        self.publish(target);
        self.greeted = true;
        if target.host == self.state.name || self.state.vias.contains(&target.host) {
            self.open_runs.extend(greeting.open_runs);
            self.held = self.held.take().or(greeting.held);
        }
        Ok(())
    }

    /// Whether a host that leads to a cluster cannot be reached any more; then the next one counts.
    async fn is_gone(&self, target: &Target) -> bool {
        match self.links.carrier(&self.scene, target).await {
            Ok(_) => false,
            Err(error) => self.passes_over(target, &HostError::Unreachable(error)),
        }
    }

    /// Tells other hosts what was seen where they may look too.
    fn publish(&self, target: &Target) {
        if let Some(known) = self.state.known.get(target)
            && (target.user == Acting::Login || target.host != self.state.name)
        {
            self.scene.tell_known(target, known);
        }
    }

    /// Applies everything up to and with play number `last`. Gives how the host's part ended, if it ended.
    ///
    /// # Errors
    /// [`HostError::Journal`]: the run must stop. All else is told and becomes an end.
    pub async fn apply(&mut self, journal: &Journal, last: usize) -> Result<Option<HostEnd>, JournalError> {
        let end = self.applied(journal, last).await;
        match &end {
            Ok(None) => {}
            _ => self.scene.leave(&self.state.name),
        }
        self.scene.arrive(&self.state.name, last, u32::MAX);
        end
    }

    async fn applied(&mut self, journal: &Journal, last: usize) -> Result<Option<HostEnd>, JournalError> {
        let mut applied: Option<Applied> = None;
        loop {
            let walked = match self.plan_on(last).await {
                Ok(walked) => walked,
                Err(HostError::Journal(error)) => return Err(error),
                Err(error) => return self.broken(journal, &error, applied.is_some()).await.map(Some),
            };
            if let Some(batch) = applied.take()
                && let Some(end) = self.judge(journal, &walked.planned, batch).await?
            {
                return Ok(Some(end));
            }
            let end = self.reach(&walked.planned, last);
            match next(&walked.planned[..end]) {
                Next::Nothing => {
                    self.tell_rest(&walked.planned, end);
                    return Ok(None);
                }
                Next::Failed { at, problem } => {
                    self.tell_rest(&walked.planned, at);
                    self.trouble(Some(&walked.planned[at]), *problem);
                    return Ok(Some(HostEnd::Failed));
                }
                Next::Stuck { at, on } => {
                    self.tell_rest(&walked.planned, at);
                    if !self.wait_for_others(&walked.planned[at], &on).await {
                        return Ok(Some(HostEnd::Failed));
                    }
                }
                Next::Again { at } => {
                    self.freeze(&walked.planned[..at]);
                    self.tell_rest(&walked.planned, at);
                    if let Err(error) = self.look_again(&walked.planned[at]).await {
                        return self.broken(journal, &error, false).await.map(Some);
                    }
                }
                Next::Pause { at, seconds, prompt } => {
                    self.tell_rest(&walked.planned, at);
                    let task = &walked.planned[at];
                    if !self.pause(task, seconds, prompt).await {
                        return Ok(Some(HostEnd::Failed));
                    }
                }
                // The way to a cluster may be gone since it was planned: nothing was sent yet.
                Next::Batch(group) if group.cluster.is_some() && self.is_gone(&group.target).await => {}
                Next::Batch(group) => {
                    if let Some(end) = self.held_back(&walked.planned, &group.members).await {
                        return Ok(Some(end));
                    }
                    self.freeze(&walked.planned[..group.end]);
                    self.tell_rest(&walked.planned, group.members[0]);
                    match self.act(journal, &walked.planned, *group).await? {
                        Ok(batch) => applied = Some(batch),
                        Err(end) => return Ok(Some(end)),
                    }
                }
            }
        }
    }

    /// Takes a batch back that its own tasks judge bad; the host's end, unless somebody handles that.
    async fn judge(
        &mut self,
        journal: &Journal,
        planned: &[Planned],
        batch: Applied,
    ) -> Result<Option<HostEnd>, JournalError> {
        let Some((task, problem, handled)) = judged_bad(planned, &batch.keys) else { return Ok(None) };
        let (title, keys) = (task.title.clone(), batch.keys.clone());
        let end = self.take_back(journal, batch, title, problem, handled).await?;
        if handled {
            return Ok(None);
        }
        // What the batch changed is no more: it is not told as changed.
        let first = planned.iter().position(|task| keys.contains(&task.key));
        self.tell_rest(planned, first.unwrap_or(0));
        self.counts.add(TaskEnd::Failed);
        Ok(Some(end))
    }

    /// How far a walk is carried out: up to the part of the play that is not its turn yet.
    fn reach(&self, planned: &[Planned], play: usize) -> usize {
        let Some(until) = self.until else { return planned.len() };
        let later = |task: &Planned| task.play == play && task.part > until;
        planned.iter().position(later).unwrap_or(planned.len())
    }

    /// What was decided before an act stays decided: it is not asked again on what the act left.
    fn freeze(&mut self, planned: &[Planned]) {
        for task in planned {
            if self.state.ran.contains_key(&task.key) {
                continue;
            }
            let ran = match &task.what {
                What::Skipped { why } => Ran { skipped: Some(why.clone()), ..Ran::default() },
                What::Same { result, .. } => {
                    let sets = match (task.module.as_str(), result.get("ansible_facts")) {
                        ("set_fact", Some(serde_json::Value::Object(facts))) => facts
                            .iter()
                            .map(|(name, value)| (name.clone(), value.clone(), task.secret))
                            .collect(),
                        _ => Vec::new(),
                    };
                    let changed = result.get("changed").and_then(serde_json::Value::as_bool).unwrap_or(false);
                    let verdict = Some(Judged { result: result.clone(), changed, failed: false });
                    Ran { result: result.clone(), sets, verdict, secret: task.secret, ..Ran::default() }
                }
                _ => continue,
            };
            if !matches!(task.module.as_str(), "include_vars" | "debug" | "add_host" | "group_by" | "meta") {
                self.state.ran.insert(task.key.clone(), ran);
            }
        }
    }

    /// Tells of tasks that need nothing done, once each.
    fn tell_rest(&mut self, planned: &[Planned], end: usize) {
        for task in &planned[..end.min(planned.len())] {
            let end = match &task.what {
                What::Skipped { .. } => TaskEnd::Skipped,
                What::Same { .. } | What::Probed { .. } => TaskEnd::Same,
                What::Said { text, .. } => {
                    if !self.told.contains(&task.key) {
                        let (host, title) = (self.state.name.clone(), task.title.clone());
                        self.tell(Event::Said { host, title, text: text.clone() });
                    }
                    TaskEnd::Same
                }
                What::Done { failed: true, .. } => TaskEnd::Ignored,
                What::Done { changed: true, .. } => TaskEnd::Changed,
                What::Done { .. } => TaskEnd::Same,
                _ => continue,
            };
            if self.told.insert(task.key.clone()) {
                self.counts.add(end);
                let (host, title, label) = (self.state.name.clone(), task.title.clone(), task.label.clone());
                self.tell(Event::Task { host, title, label, end });
            }
        }
    }

    pub(super) fn trouble(&mut self, task: Option<&Planned>, problem: Diagnostic) {
        self.counts.add(TaskEnd::Failed);
        let title = task.map(|task| task.title.clone());
        self.tell(Event::Trouble { host: self.state.name.clone(), title, problem });
    }
}

/// The failure of a task of the last batch, and whether the playbook handles it.
fn judged_bad<'a>(planned: &'a [Planned], keys: &[String]) -> Option<(&'a Planned, Box<Diagnostic>, bool)> {
    planned.iter().filter(|task| keys.contains(&task.key)).find_map(|task| match &task.what {
        What::Failed(problem) => Some((task, problem.clone(), false)),
        // What is held until `always` or forced handlers are over is told then.
        What::Done { failed: true, .. } if held(planned, &task.key) => {
            let words = format!("`{}` failed; what runs in any case comes first", task.title);
            Some((task, Box::new(Diagnostic::warning(words, None)), true))
        }
        What::Done { failed: true, .. } => {
            let words = match &task.failure {
                Some(problem) => problem.message.clone(),
                None => "it failed".to_owned(),
            };
            let span = (!task.secret).then(|| task.span.clone());
            let mut problem = Diagnostic::warning(words, span);
            problem.notes.push("the playbook handles this failure".to_owned());
            Some((task, Box::new(problem), true))
        }
        _ => None,
    })
}

fn held(planned: &[Planned], key: &str) -> bool {
    planned.iter().any(|task| task.key.strip_suffix('!') == Some(key))
}
