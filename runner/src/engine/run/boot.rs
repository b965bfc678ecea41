//! A boot: the link breaks, and the evidence is another boot id over a new connection. With a new kernel line on trial
//! the line itself is evidence too: the boot loader may have fallen back to the old one.
use super::{HostError, HostRun};
use crate::diagnostic::Diagnostic;
use crate::engine::batch::{ActDone, Batch, BatchReport, Prepared};
use crate::engine::carrier::{Carrier, CarrierError};
use crate::engine::links::Links;
use crate::engine::target::Target;
use crate::engine::walk::Scene;
use crate::journal::{Journal, Record};
use crate::report::event::Event;
use crate::transport::LinkErrorKind;
use modules::vocabulary::{Bytes, Facts, Goal, HostPath, Identity, Output, Read, Seen, Wait};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is another one after each boot (random(4)).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// The line that the kernel runs with.
const CMDLINE: &str = "/proc/cmdline";
/// How long a power cycle may take.
const POWER_CYCLE: Duration = Duration::from_secs(120);

fn seconds(count: u32) -> Duration {
    Duration::from_secs(u64::from(count))
}

/// What is looked at to tell a boot.
struct Looks {
    boot_id: Read,
    cmdline: Read,
    all: Vec<Read>,
    before: Option<Seen>,
}

impl Looks {
    fn of(batch: &Batch, wait: &Wait) -> Result<Self, String> {
        let boot_id = Read::text(&HostPath::new(BOOT_ID)?);
        let cmdline = Read::text(&HostPath::new(CMDLINE)?);
        let mut all = vec![boot_id.clone(), cmdline.clone()];
        let steps = batch.steps.iter().filter_map(|folded| folded.step.look.clone());
        for read in wait.goal.reads().into_iter().chain(steps) {
            if !all.contains(&read) {
                all.push(read);
            }
        }
        // As it was when the boot was planned; the batch itself compares nothing here, since it moves on its own.
        let step = batch.steps.iter().find(|folded| folded.step.look.as_ref() == Some(&boot_id));
        let before = step.map(|folded| folded.step.before.clone());
        Ok(Self { boot_id, cmdline, all, before })
    }

    /// Whether the word of a trial is on the running line.
    fn has(&self, seen: &BTreeMap<Read, Seen>, mark: &str) -> bool {
        match seen.get(&self.cmdline) {
            Some(Seen::Value(line)) => line.split_whitespace().any(|word| word == mark),
            _ => false,
        }
    }
}

/// How a host came back.
enum Came {
    /// As asked for.
    Up(BTreeMap<Read, Seen>),
    /// With the old kernel line.
    Fallen(BTreeMap<Read, Seen>),
    /// Not yet: why.
    Not(String),
}

/// The way to a host that boots, and where it is told.
pub struct Road<'a> {
    /// What all hosts of the run share.
    pub scene: &'a Scene,
    /// The connections.
    pub links: &'a Links,
    /// Where a power cycle is recorded.
    pub journal: &'a Journal,
    /// The host, as whoever acts there.
    pub target: &'a Target,
    /// Who that is.
    pub who: &'a Identity,
    /// Takes what a person should know meanwhile.
    pub tell: &'a (dyn Fn(Diagnostic) + Sync),
}

impl HostRun {
    /// Boots the host of a batch, and waits for it.
    pub(super) async fn boot(
        &self,
        journal: &Journal,
        target: &Target,
        carrier: &Carrier,
        (prepared, wait): (Prepared, &Wait),
        who: &Identity,
    ) -> Result<BatchReport, HostError> {
        let (host, events) = (self.state.name.clone(), self.events.clone());
        let tell = move |problem| {
            // Nobody may listen any more; the journal is the record.
            let _ = events.send(Event::Trouble { host: host.clone(), title: None, problem });
        };
        let road = Road { scene: &self.scene, links: &self.links, journal, target, who, tell: &tell };
        road.boot(carrier, prepared, wait).await
    }
}

impl Road<'_> {
    /// Boots a host and waits for it; powers it off and on once where it does not come back and the wait says how.
    ///
    /// # Errors
    /// [`HostError::Lost`] where it does not come back, and what else goes wrong on the way.
    pub async fn boot(
        &self,
        carrier: &Carrier,
        prepared: Prepared,
        wait: &Wait,
    ) -> Result<BatchReport, HostError> {
        let batch = prepared.batch().clone();
        let looks = Looks::of(&batch, wait).map_err(|why| HostError::Carrier(CarrierError::Value(why)))?;
        tokio::time::sleep(seconds(wait.delay)).await;
        match carrier.carry_out(prepared, self.who).await {
            Ok(report) if report.nothing_was_written() => return Ok(report),
            // Where the call itself failed there is no boot to wait for.
            Ok(report) if report.acts.iter().flatten().any(|act| act.output.status != 0) => {
                return Ok(report);
            }
            Ok(_) => {}
            Err(CarrierError::Link(error))
                if matches!(*error.kind, LinkErrorKind::Closed(_) | LinkErrorKind::Channel(_)) => {}
            Err(error) => return Err(HostError::Carrier(error)),
        }
        let mut came = self.come_back(&looks, wait).await;
        if let (Came::Not(why), Goal::Boot { power_cycle, .. }) = (&came, &wait.goal)
            && !power_cycle.is_empty()
        {
            self.power_cycle(wait, power_cycle, why).await?;
            came = self.come_back(&looks, wait).await;
        }
        match came {
            Came::Up(seen) => {
                tokio::time::sleep(seconds(wait.settle)).await;
                Ok(booted(&batch, &looks, seen))
            }
            Came::Fallen(seen) => Ok(BatchReport {
                fell_back: Some(
                    "the host came back with the old kernel line: the new one failed on trial, and the default \
                     was not changed"
                        .to_owned(),
                ),
                ..booted(&batch, &looks, seen)
            }),
            Came::Not(why) => {
                Err(HostError::Lost(format!("it did not come back within {} s: {why}", wait.timeout)))
            }
        }
    }

    /// Looks over new connections until the host is up again or the time is over.
    async fn come_back(&self, looks: &Looks, wait: &Wait) -> Came {
        let until = Instant::now() + seconds(wait.timeout);
        let mut last = "it has not gone down".to_owned();
        while Instant::now() < until {
            self.links.forget(&self.target.host).await;
            match self.look(&looks.all).await {
                Ok(seen) if looks.before.as_ref() != seen.get(&looks.boot_id) => {
                    match &wait.goal {
                        Goal::Boot { trial: Some(mark), .. } if !looks.has(&seen, mark) => {
                            return Came::Fallen(seen);
                        }
                        _ => {}
                    }
                    if wait.goal.is_met(&Facts::new(Arc::new(seen.clone()), self.who.clone())) == Ok(true) {
                        return Came::Up(seen);
                    }
                    last = "it is up, and the test command does not end well yet".to_owned();
                }
                Ok(_) => last = "its boot id is still the old one".to_owned(),
                Err(error) => last = error.diagnostic(&self.target.host).message,
            }
            tokio::time::sleep(seconds(wait.sleep.max(1))).await;
        }
        Came::Not(last)
    }

    async fn look(&self, reads: &[Read]) -> Result<BTreeMap<Read, Seen>, HostError> {
        let carrier = self.links.carrier(self.scene, self.target).await.map_err(HostError::Unreachable)?;
        carrier.look(reads).await.map_err(HostError::Carrier)
    }

    /// Runs the controller's own command that powers a host off and on. It is recorded and told before.
    async fn power_cycle(&self, wait: &Wait, command: &[String], why: &str) -> Result<(), HostError> {
        let shown = command.join(" ");
        let what = format!(
            "{} did not come back within {} s ({why}): it is powered off and on once by `{shown}`",
            self.target.host, wait.timeout
        );
        let record = Record::Decided { what: what.clone(), by: "power_cycle of the task".to_owned() };
        self.journal.decide(record).await.map_err(HostError::Journal)?;
        (self.tell)(Diagnostic::warning(what, None));
        let Some((program, arguments)) = command.split_first() else { return Ok(()) };
        let mut call = tokio::process::Command::new(program);
        call.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ended = tokio::time::timeout(POWER_CYCLE, call.kill_on_drop(true).output()).await;
        let words = match ended {
            Ok(Ok(output)) if output.status.success() => return Ok(()),
            Ok(Ok(output)) => {
                format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it was not over after {} s", POWER_CYCLE.as_secs()),
        };
        // The host may come back all the same: it is waited for.
        (self.tell)(Diagnostic::warning(format!("`{shown}` failed: {words}"), None));
        Ok(())
    }
}

/// The report of a boot that was seen.
fn booted(batch: &Batch, looks: &Looks, seen: BTreeMap<Read, Seen>) -> BatchReport {
    let output = Output { status: 0, stdout: Bytes::default(), stderr: Bytes::default() };
    let steps: Vec<&Read> = batch.steps.iter().filter_map(|folded| folded.step.look.as_ref()).collect();
    BatchReport {
        acts: vec![Some(ActDone { output }); batch.steps.len()],
        evidence: looks.before.clone().map(|before| (looks.boot_id.clone(), before)).into_iter().collect(),
        seen: seen.into_iter().filter(|(read, _)| steps.contains(&read)).collect(),
        ..BatchReport::default()
    }
}
