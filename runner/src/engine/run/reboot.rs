//! A boot for its own sake: a change that is felt only then is measured, or taken back.
use super::boot::Road;
use super::{HostError, HostRun, Part};
use crate::engine::batch::{Batch, Verdict};
use crate::engine::carrier::CarrierError;
use crate::engine::target::{Acting, Target};
use crate::gate::Live;
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::Event;
use modules::fold::Folded;
use modules::vocabulary::{
    Activation, Back, Claim, Goal, HostPath, Match, Read, Row, Seen, Spoil, Step, TaskId, Wait,
};
use std::sync::Arc;

/// How long a host may take, in seconds.
const TIMEOUT: u32 = 600;

/// The look at the kernel's name of a boot.
///
/// # Errors
/// Never: the path is fixed.
pub fn boot_id_look() -> Result<Read, String> {
    HostPath::new("/proc/sys/kernel/random/boot_id").map(|path| Read::text(&path))
}

/// A batch that boots a host, and what is waited for; `before` is the kernel's name of the boot under way.
pub fn boot_batch(
    host: &str,
    acting: &Acting,
    number: u32,
    look: Read,
    before: Seen,
    undo: bool,
) -> (Batch, Wait) {
    let row = Row::new("reboot", Vec::<String>::new());
    let looked = (look, before, Match::Changed);
    let step = Step::call_seen(Claim::new("host", "boot"), row, vec![Spoil::Volatile], looked, Back::Nothing);
    let batch = Batch {
        host: host.to_owned(),
        number,
        acting: acting.clone(),
        steps: vec![Folded { tasks: vec![TaskId(0)], step }],
        undo,
        ..Batch::default()
    };
    let goal = Goal::Boot { test: vec!["true".to_owned()], trial: None, power_cycle: Vec::new() };
    (batch, Wait { goal, timeout: TIMEOUT, delay: 0, sleep: 1, settle: 0, message: None })
}

impl HostRun {
    /// As whom it is booted: whoever acted there last.
    fn boots_as(&self) -> Target {
        let own = self.past.keys().chain(self.marked.iter()).find(|target| target.host == self.state.name);
        let known = self.state.known.keys().filter(|target| target.host == self.state.name);
        let root = known
            .clone()
            .find(|target| self.state.known[*target].who.as_ref().is_some_and(|who| who.uid == 0));
        own.or(root).cloned().unwrap_or_else(|| self.state.login.clone())
    }

    /// The kernel's name of the boot under way.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn boot_id(&mut self) -> Result<String, HostError> {
        let wrong = |why: String| HostError::Carrier(CarrierError::Value(why));
        let look = boot_id_look().map_err(wrong)?;
        let target = self.boots_as();
        let carrier = self.links.carrier(&self.scene, &target).await.map_err(HostError::Unreachable)?;
        let seen = carrier.look(std::slice::from_ref(&look)).await.map_err(HostError::Carrier)?;
        match seen.get(&look) {
            Some(Seen::Node(node)) => {
                let bytes = node.bytes();
                let text = bytes.map(|bytes| String::from_utf8_lossy(bytes.as_slice()).into_owned());
                text.map(|text| text.trim().to_owned())
                    .ok_or_else(|| wrong("the boot id is empty".to_owned()))
            }
            Some(Seen::Value(text)) => Ok(text.trim().to_owned()),
            _ => Err(HostError::Carrier(CarrierError::Value("the host has no boot id".to_owned()))),
        }
    }

    /// Boots the host where what it was told is felt only then.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn boot_if_owed(&mut self, journal: &Journal) -> Result<Result<(), HostEnd>, JournalError> {
        if self.owed.contains(&Activation::Reboot) { self.boot_now(journal).await } else { Ok(Ok(())) }
    }

    /// Boots the host and waits for it. Gives how its part ended where it did not come back.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn boot_now(&mut self, journal: &Journal) -> Result<Result<(), HostEnd>, JournalError> {
        match self.booted_now(journal).await {
            Ok(()) => Ok(Ok(())),
            Err(HostError::Journal(error)) => Err(error),
            Err(error) => self.broken(journal, &error, true).await.map(Err),
        }
    }

    async fn booted_now(&mut self, journal: &Journal) -> Result<(), HostError> {
        let wrong = |why: String| HostError::Carrier(CarrierError::Value(why));
        let look = boot_id_look().map_err(wrong)?;
        let target = self.boots_as();
        let carrier = self.links.carrier(&self.scene, &target).await.map_err(HostError::Unreachable)?;
        let seen = carrier.look(std::slice::from_ref(&look)).await.map_err(HostError::Carrier)?;
        let before = seen.get(&look).cloned().unwrap_or(Seen::Absent);
        let number = self.number(&target.host);
        let (batch, wait) = boot_batch(&target.host, &target.user, number, look, before, true);
        let who = self.state.known.get(&target).and_then(|known| known.who.clone()).unwrap_or_default();
        let prepared = journal.prepare(batch.clone(), Vec::new()).await.map_err(HostError::Journal)?;
        let (host, events) = (self.state.name.clone(), self.events.clone());
        let tell = move |problem| {
            // Nobody may listen any more; the journal is the record.
            let _ = events.send(Event::Trouble { host: host.clone(), title: None, problem });
        };
        let scene = Arc::clone(&self.scene);
        let links = Arc::clone(&self.links);
        let road = Road { scene: &scene, links: &links, journal, target: &target, who: &who, tell: &tell };
        let report = road.boot(&carrier, prepared, &wait).await?;
        let verdict = report.verdict(&batch, 0);
        self.learn(&target, &batch, &report);
        let record = Record::Done { host: target.host.clone(), batch: batch.number, report };
        journal.note(record).map_err(HostError::Journal)?;
        if let Verdict::Failed(words) = verdict {
            return Err(wrong(words));
        }
        self.booted |= self.owed.remove(&Activation::Reboot);
        let record =
            Record::Activated { host: target.host.clone(), activation: Activation::Reboot, output: None };
        journal.note(record).map_err(HostError::Journal)
    }

    /// Whether the host still asks for what a play says: it was never changed, or stays as it is.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn still_asks(&mut self, of: Part) -> Result<Live, HostError> {
        for known in self.state.known.values_mut() {
            Arc::make_mut(&mut known.seen).clear();
        }
        let asked = self.asks_for(of).await?;
        Ok(match asked.len() {
            0 => Live::Differs {
                expected: "a host that is not changed".to_owned(),
                seen: "one that is as the play says already".to_owned(),
            },
            many => Live::Proven { seen: format!("{many} tasks ask for their changes still") },
        })
    }
}
