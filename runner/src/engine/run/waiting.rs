//! Waiting: for a time, a person, another host, a goal.
use super::{HostError, HostRun, Judged};
use crate::diagnostic::Diagnostic;
use crate::engine::next::{Group, Next, next};
use crate::engine::target::{Acting, Known, Target};
use crate::engine::walk::{Planned, Ran};
use modules::vocabulary::{Goal, Wait};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a host waits for others while none of them acts.
const IDLE: Duration = Duration::from_secs(20);

fn seconds(count: u32) -> Duration {
    Duration::from_secs(u64::from(count))
}

impl HostRun {
    pub(super) async fn pause(
        &mut self,
        task: &Planned,
        seconds: Option<f64>,
        prompt: Option<String>,
    ) -> bool {
        match seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0))).await,
            None => {
                let question = prompt.unwrap_or_else(|| format!("`{}` waits. Go on?", task.title));
                let ask = Arc::clone(&self.ask);
                let yes = tokio::task::spawn_blocking(move || ask(&question)).await.unwrap_or(false);
                if !yes {
                    let problem =
                        Diagnostic::error("the run was not to go on after a pause", task.span.clone());
                    self.trouble(Some(task), problem);
                    return false;
                }
            }
        }
        let result = serde_json::json!({"changed": false, "failed": false});
        let verdict = Some(Judged { result: result.clone(), changed: false, failed: false });
        self.state.ran.insert(task.key.clone(), Ran { result, verdict, ..Ran::default() });
        true
    }

    /// Looks anew at what a task with `until` looks at, after its delay.
    pub(super) async fn look_again(&mut self, task: &Planned) -> Result<(), HostError> {
        let scene = Arc::clone(&self.scene);
        let _acts = scene.acts();
        if let Some(delay) = task.delay {
            tokio::time::sleep(Duration::from_secs_f64(delay.clamp(0.0, 86_400.0))).await;
        }
        let reads = task.again.clone().unwrap_or_default();
        if !reads.is_empty() {
            let links = Arc::clone(&self.links);
            let _permit = links.permit().await;
            let carrier =
                self.links.carrier(&self.scene, &task.target).await.map_err(HostError::Unreachable)?;
            let seen = carrier.look(&reads).await.map_err(HostError::Carrier)?;
            let known = self.state.known.entry(task.target.clone()).or_default();
            // Other looks at the same paths are as old as the answer that did not hold.
            Arc::make_mut(&mut known.seen).retain(|other, _| {
                reads.contains(other)
                    || !reads.iter().any(|read| read.path().is_some() && read.path() == other.path())
            });
            known.learn(seen);
            if task.target.user == Acting::Login {
                self.scene.tell_known(&task.target, known);
            }
        }
        let ran = self.state.ran.entry(task.key.clone()).or_default();
        ran.tries += 1;
        ran.looked = true;
        Ok(())
    }

    /// A task waits for another host's `run_once` result or variable, as long as some host acts.
    pub(super) async fn wait_for_others(&mut self, task: &Planned, on: &str) -> bool {
        let mut idle = Duration::ZERO;
        let mut pause = Duration::from_millis(10);
        while idle < IDLE {
            tokio::time::sleep(pause).await;
            idle = if self.scene.is_anyone_acting() { Duration::ZERO } else { idle + pause };
            pause = (pause * 3 / 2).min(Duration::from_millis(500));
            let Ok(walked) = self.plan(task.play).await else { return false };
            if !matches!(next(&walked.planned), Next::Stuck { .. }) {
                return true;
            }
        }
        let problem =
            Diagnostic::error(format!("this cannot be decided: it waits for {on}"), task.span.clone());
        self.trouble(Some(task), problem);
        false
    }

    /// With `any_errors_fatal` and `max_fail_percentage` hosts wait for one another before each task. False: so many
    /// have failed that this one stops too.
    pub(super) async fn in_step(&mut self, task: &Planned) -> bool {
        if self.scene.bears(task.play).is_none() {
            return true;
        }
        let batch = self.scene.batch_of(task.play, self.state.id);
        self.scene.arrive(&self.state.name, task.play, task.task);
        let mut pause = Duration::from_millis(5);
        while !self.scene.have_arrived(&batch, task.play, task.task) {
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(Duration::from_millis(200));
        }
        if self.scene.is_lost(task.play, &batch) {
            let words = format!("`{}` and what follows is not begun: other hosts have failed", task.title);
            let problem = Diagnostic::warning(words, task.span.clone())
                .help("`any_errors_fatal` or `max_fail_percentage` of the play says so");
            let (host, title) = (self.state.name.clone(), Some(task.title.clone()));
            self.tell(crate::report::event::Event::Trouble { host, title, problem });
            return false;
        }
        true
    }

    /// Waits for what the last task of a batch waits for. Gives why it was not met.
    pub(super) async fn await_goal(&mut self, group: &Group) -> Option<String> {
        let wait = group.wait.as_ref()?;
        if matches!(wait.goal, Goal::Boot { .. }) {
            return None;
        }
        let until = Instant::now() + seconds(wait.timeout);
        tokio::time::sleep(seconds(wait.delay)).await;
        if wait.goal == Goal::Said {
            let question = wait.message.clone().unwrap_or_else(|| "Is it done?".to_owned());
            let ask = Arc::clone(&self.ask);
            let yes = tokio::task::spawn_blocking(move || ask(&question)).await.unwrap_or(false);
            return (!yes).then(|| "nobody said that it is done".to_owned());
        }
        loop {
            let met = self.is_met(&group.target, wait).await;
            match met {
                Ok(true) => {
                    tokio::time::sleep(seconds(wait.settle)).await;
                    return None;
                }
                Err(why) => return Some(why),
                Ok(false) if Instant::now() >= until => {
                    let words = wait.message.clone();
                    return Some(
                        words.unwrap_or_else(|| format!("after {} s it is still not so", wait.timeout)),
                    );
                }
                Ok(false) => tokio::time::sleep(seconds(wait.sleep.max(1))).await,
            }
        }
    }

    async fn is_met(&mut self, target: &Target, wait: &Wait) -> Result<bool, String> {
        let reads = wait.goal.reads();
        if !reads.is_empty() {
            let carrier = self.links.carrier(&self.scene, target).await;
            let carrier = carrier.map_err(|error| error.diagnostic(&target.host).message)?;
            let seen = carrier.look(&reads).await.map_err(|error| error.to_string())?;
            self.state.known.entry(target.clone()).or_default().learn(seen);
        }
        let facts = self.state.known.get(target).map(Known::facts).unwrap_or_default();
        wait.goal.is_met(&facts).map_err(|stop| format!("{stop:?}"))
    }
}
