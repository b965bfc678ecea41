//! Applying: play by play, batch of hosts by batch of hosts.
use super::exit::Exit;
use super::term;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tunerun::engine::run::{Events, HostRun};
use tunerun::engine::walk::{Scene, Walked};
use tunerun::inventory::HostId;
use tunerun::journal::{HostEnd, Journal, JournalError};
use tunerun::report::event::Event;
use tunerun::report::plan::Sum;

/// Applies play by play, batch of hosts by batch of hosts.
pub async fn apply_all(
    scene: &Arc<Scene>,
    journal: &Journal,
    planned: Vec<(HostRun, Walked)>,
    events: &Events,
    forks: &Arc<Semaphore>,
    step: bool,
) -> Exit {
    let mut waiting: Vec<(HostRun, Option<HostEnd>)> = planned
        .into_iter()
        .map(|(run, walked)| {
            // What is known to fail is not begun on that host; what would come before it stays undone.
            let fails = (Sum::of(&walked).failures > 0).then_some(HostEnd::Refused);
            let end = run.refused.or(fails);
            (run, end)
        })
        .collect();
    let mut broken = None;
    for (number, play) in scene.playbook.plays.iter().enumerate() {
        let members = &scene.plays[number];
        let _ = events.send(Event::Play { name: play.name.clone(), hosts: members.len() });
        for batch in batches(play, members) {
            let fatal = play.settings.any_errors_fatal.as_ref().and_then(|fatal| fatal.fixed().copied())
                == Some(true);
            let failed = |waiting: &[(HostRun, Option<HostEnd>)]| {
                waiting.iter().filter(|(run, end)| end.is_some() && members.contains(&run.state.id)).count()
            };
            if fatal && failed(&waiting) > 0 {
                break;
            }
            let most = play.max_fail_percentage.as_ref().and_then(|most| most.fixed().copied());
            if most.is_some_and(|most| failed(&waiting) as f64 * 100.0 > most * members.len() as f64) {
                break;
            }
            let (now, later): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|(run, end)| end.is_none() && batch.contains(&run.state.id));
            waiting = later;
            let mut tasks = Vec::new();
            for (mut run, _) in now {
                if step && !term::ask(&format!("Apply on {}?", run.state.name)) {
                    waiting.push((run, Some(HostEnd::Skipped)));
                    continue;
                }
                let (journal, forks) = (journal.clone(), Arc::clone(forks));
                let task = tokio::spawn(async move {
                    let _permit = forks.acquire_owned().await;
                    let end = run.apply(&journal, number).await;
                    (run, end)
                });
                if step {
                    // The next host is asked about when this one is done.
                    ended(task.await, &mut waiting, &mut broken);
                } else {
                    tasks.push(task);
                }
            }
            for task in tasks {
                ended(task.await, &mut waiting, &mut broken);
            }
        }
    }
    let mut worst = Exit::Done;
    for (mut run, end) in waiting {
        match run.finish(journal, end).await {
            Ok(end) => worst = worse(worst, end),
            Err(error) => broken = Some(error.to_string()),
        }
    }
    match broken {
        Some(why) => {
            term::wrong(why, Some("`tunerun resume` or `tunerun undo` the run once that is mended"));
            Exit::UndoIncomplete
        }
        None => worst,
    }
}

type Ended = Result<(HostRun, Result<Option<HostEnd>, JournalError>), tokio::task::JoinError>;

fn ended(task: Ended, waiting: &mut Vec<(HostRun, Option<HostEnd>)>, broken: &mut Option<String>) {
    match task {
        Ok((run, Ok(end))) => waiting.push((run, end)),
        Ok((run, Err(error))) => {
            *broken = Some(error.to_string());
            waiting.push((run, Some(HostEnd::FailedHalf)));
        }
        Err(why) => *broken = Some(format!("a host's task broke off: {why}")),
    }
}

fn worse(worst: Exit, end: HostEnd) -> Exit {
    let exit = match end {
        HostEnd::Proven | HostEnd::Skipped => Exit::Done,
        HostEnd::Failed | HostEnd::Refused => Exit::Failed,
        HostEnd::Stale => Exit::Stale,
        HostEnd::Held => Exit::Busy,
        HostEnd::FailedHalf => Exit::UndoIncomplete,
        HostEnd::Unreachable => Exit::Unreachable,
    };
    let weight = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::Unreachable => 1,
        Exit::Stale | Exit::Busy => 2,
        Exit::Failed => 3,
        _ => 4,
    };
    if weight(exit) > weight(worst) { exit } else { worst }
}

/// `serial:` as batches of hosts.
fn batches(play: &tunerun::playbook::Play, members: &[HostId]) -> Vec<Vec<HostId>> {
    use tunerun::playbook::Batch;
    if play.serial.is_empty() {
        return vec![members.to_vec()];
    }
    let mut batches = Vec::new();
    let mut rest = members;
    let mut sizes = play.serial.iter();
    let mut size = sizes.next();
    while let (false, Some(batch)) = (rest.is_empty(), size) {
        let count = match batch {
            Batch::Hosts(count) => *count as usize,
            Batch::Percent(share) => (members.len() as f64 * share / 100.0) as usize,
            Batch::Template(_) => members.len(),
        };
        let (now, later) = rest.split_at(count.clamp(1, rest.len()));
        batches.push(now.to_vec());
        rest = later;
        size = sizes.next().or(size);
    }
    batches
}
