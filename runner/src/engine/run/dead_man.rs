//! A batch that may cut the link: sent under a timer on the host, and confirmed over a new connection.
use super::{HostError, HostRun};
use crate::engine::batch::{BatchReport, Prepared};
use crate::engine::carrier::{Carrier, CarrierError, Decided};
use crate::engine::target::Target;
use crate::journal::{DeadManCame, Journal, JournalError, Record};
use modules::recovery::{Found, found};
use modules::vocabulary::{Identity, Read, Step};
use std::time::{Duration, Instant};

/// How long one attempt to reach the host anew may take.
const ATTEMPT: Duration = Duration::from_secs(10);
/// How long a host that was cut off may take to come back after its deadline.
const GRACE: Duration = Duration::from_secs(90);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// What came of the attempts to confirm.
enum Confirmed {
    /// It stays.
    Yes,
    /// The host took it back, with this status and these words.
    TakenBack(i32, String),
    /// It was not reached: the last reason.
    Unreached(String),
}

impl HostRun {
    /// Sends a batch under a dead man, and confirms it over a new connection.
    pub(super) async fn watched(
        &mut self,
        journal: &Journal,
        target: &Target,
        carrier: &Carrier,
        prepared: Prepared,
        who: &Identity,
        seconds: u32,
    ) -> Result<Result<BatchReport, HostError>, JournalError> {
        let deadline = Duration::from_secs(u64::from(seconds));
        let number = prepared.batch().number;
        let steps: Vec<Step> = prepared.batch().steps.iter().map(|folded| folded.step.clone()).collect();
        let began = Instant::now();
        // A link that was cut answers nothing at all: there must be time left to confirm over a new one.
        let sent = tokio::time::timeout(deadline * 3 / 4, carrier.carry_out(prepared, who)).await;
        match &sent {
            Ok(Ok(report)) if report.nothing_was_written() => return Ok(Ok(report.clone())),
            Ok(Err(CarrierError::Value(_))) => {
                return Ok(sent.unwrap_or_else(|_| Ok(BatchReport::default())).map_err(HostError::Carrier));
            }
            _ => {}
        }
        let run = journal.run().to_owned();
        let confirmed = self.confirm(&run, target, who, number, began + deadline + GRACE).await;
        let came = match &confirmed {
            Confirmed::Yes => DeadManCame::Confirmed,
            Confirmed::TakenBack(0, _) => DeadManCame::TookBack,
            Confirmed::TakenBack(..) => DeadManCame::TookBackInPart,
            Confirmed::Unreached(_) => DeadManCame::Unknown,
        };
        journal.note(Record::DeadMan { host: target.host.clone(), batch: number, came })?;
        Ok(match (confirmed, sent) {
            (Confirmed::Yes, Ok(sent)) => sent.map_err(HostError::Carrier),
            (Confirmed::Yes, Err(_)) => Err(HostError::Carrier(CarrierError::Answer(format!(
                "no answer within {} s, though a new connection can be made",
                (deadline * 3 / 4).as_secs()
            )))),
            (Confirmed::TakenBack(status, said), _) => {
                let standing = self.standing(target, &steps).await;
                Err(HostError::CutOff { seconds, whole: status == 0, said, standing })
            }
            (Confirmed::Unreached(last), _) => Err(HostError::Unconfirmed { seconds, last }),
        })
    }

    async fn confirm(
        &self,
        run: &str,
        target: &Target,
        who: &Identity,
        number: u32,
        until: Instant,
    ) -> Confirmed {
        let mut last = "it was not tried".to_owned();
        while Instant::now() < until {
            // A connection that stands proves nothing: the one that people will need is the next one.
            self.links.forget(&target.host).await;
            let decided = tokio::time::timeout(ATTEMPT, async {
                let carrier = self.links.carrier(&self.scene, target).await?;
                carrier.confirm(run, who, number).await
            });
            match decided.await {
                Ok(Ok(Decided::Confirmed)) => return Confirmed::Yes,
                Ok(Ok(Decided::TakenBack { status, said })) => return Confirmed::TakenBack(status, said),
                Ok(Ok(Decided::TakesBack)) => last = "the host takes the change back right now".to_owned(),
                Ok(Err(error)) => last = error.to_string(),
                Err(_) => last = format!("no answer within {} s", ATTEMPT.as_secs()),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Confirmed::Unreached(last)
    }

    /// How the steps of a batch stand, in words.
    async fn standing(&self, target: &Target, steps: &[Step]) -> String {
        let looks: Vec<Read> = steps.iter().filter_map(|step| step.look.clone()).collect();
        if looks.is_empty() {
            return "there is nothing to look at: what was done and undone is told by the host's own marks"
                .to_owned();
        }
        let Ok(carrier) = self.links.carrier(&self.scene, target).await else {
            return "it could not be looked at again".to_owned();
        };
        let Ok(Ok(seen)) = tokio::time::timeout(ATTEMPT, carrier.look(&looks)).await else {
            return "it could not be looked at again".to_owned();
        };
        let (mut before, mut after, mut neither) = (0, 0, Vec::new());
        for step in steps {
            let Some(now) = step.look.as_ref().and_then(|look| seen.get(look)) else { continue };
            match found(step, None, now) {
                Found::Before => before += 1,
                Found::After => after += 1,
                Found::Conflict => neither.push(step.claim.to_string()),
            }
        }
        let mut words = format!("looked at again: {before} as before, {after} as the change would have it");
        if !neither.is_empty() {
            words.push_str(&format!(", neither of both: {}", neither.join(", ")));
        }
        words
    }
}
