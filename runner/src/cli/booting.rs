//! Boots that the way back of a run calls for: one host after the other, each proven by another boot id.
use super::exit::Exit;
use super::reopened::Reopened;
use super::term;
use modules::fold::Folded;
use modules::vocabulary::{
    Activation, Back, Claim, Goal, HostPath, Match, Read, Row, Seen, Spoil, Step, TaskId, Wait,
};
use tunerun::engine::batch::{Batch, Verdict};
use tunerun::engine::carrier::CarrierError;
use tunerun::engine::run::{HostError, Road};
use tunerun::engine::target::Target;
use tunerun::journal::Record;

/// How long a host may take, in seconds.
const TIMEOUT: u32 = 600;

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
    let look = Read::text(&HostPath::new("/proc/sys/kernel/random/boot_id").map_err(wrong)?);
    let seen = carrier.look(std::slice::from_ref(&look)).await.map_err(HostError::Carrier)?;
    let before = seen.get(&look).cloned().unwrap_or(Seen::Absent);
    let row = Row::new("reboot", Vec::<String>::new());
    let looked = (look, before, Match::Changed);
    let step = Step::call_seen(Claim::new("host", "boot"), row, vec![Spoil::Volatile], looked, Back::Nothing);
    let batch = Batch {
        host: host.to_owned(),
        number,
        acting: acting.clone(),
        steps: vec![Folded { tasks: vec![TaskId(0)], step }],
        undo: true,
        ..Batch::default()
    };
    let prepared = reopened.journal.prepare(batch.clone(), Vec::new()).await.map_err(HostError::Journal)?;
    let goal = Goal::Boot { test: vec!["true".to_owned()], trial: None, power_cycle: Vec::new() };
    let wait = Wait { goal, timeout: TIMEOUT, delay: 0, sleep: 1, settle: 0, message: None };
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
