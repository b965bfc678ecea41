//! Boots that the way back of a run calls for: one host after the other, each proven by another boot id.
use super::exit::Exit;
use super::reopened::Reopened;
use super::term;
use modules::vocabulary::{Activation, Seen};
use tunerun::engine::batch::Verdict;
use tunerun::engine::carrier::CarrierError;
use tunerun::engine::run::{HostError, Road, boot_batch, boot_id_look};
use tunerun::engine::target::Target;
use tunerun::journal::Record;

/// Boots hosts one after the other; the first that does not come back ends it.
pub(super) async fn all(reopened: &Reopened, hosts: Vec<(String, u32)>) -> Exit {
    for (host, number) in hosts {
        match boot(reopened, &host, number + 1).await {
            Ok(()) => term::data(&format!("{host}: booted: what was before the run is felt again")),
            Err(error) => {
                term::problems(&[error.diagnostic(&host)]);
                return match error {
                    HostError::Lost(_) => Exit::Lost,
                    _ => Exit::Failed,
                };
            }
        }
    }
    Exit::Done
}

async fn boot(reopened: &Reopened, host: &str, number: u32) -> Result<(), HostError> {
    let Some(past) = reopened.hosts.get(host) else { return Ok(()) };
    let acting = past.past.last().map_or_else(|| past.acting.clone(), |past| past.batch.acting.clone());
    let wrong = |why: String| HostError::Carrier(CarrierError::Value(why));
    let (carrier, who) = reopened.carrier(host, &acting).await?;
    let look = boot_id_look().map_err(wrong)?;
    let seen = carrier.look(std::slice::from_ref(&look)).await.map_err(HostError::Carrier)?;
    let before = seen.get(&look).cloned().unwrap_or(Seen::Absent);
    let (batch, wait) = boot_batch(host, &acting, number, look, before, true);
    let prepared = reopened.journal.prepare(batch.clone(), Vec::new()).await.map_err(HostError::Journal)?;
    let target = Target { host: host.to_owned(), user: acting };
    let tell = |problem| term::problems(&[problem]);
    let road = Road {
        scene: &reopened.scene,
        links: &reopened.links,
        journal: &reopened.journal,
        target: &target,
        who: &who,
        tell: &tell,
    };
    let report = road.boot(&carrier, prepared, &wait).await?;
    let verdict = report.verdict(&batch, 0);
    let record = Record::Done { host: host.to_owned(), batch: batch.number, report };
    reopened.journal.note(record).map_err(HostError::Journal)?;
    if let Verdict::Failed(words) = verdict {
        return Err(wrong(words));
    }
    let record = Record::Activated { host: host.to_owned(), activation: Activation::Reboot, output: None };
    reopened.journal.note(record).map_err(HostError::Journal)
}
