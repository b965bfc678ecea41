//! Events folded into the lines of a terminal, a pipe or a log of CI.
use super::diagnostic::render;
use super::event::{Counts, Event, TaskEnd};
use super::paint::Paint;
use super::plan::shortened;
use super::progress::Progress;
use crate::journal::HostEnd;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A host's part that is over.
#[derive(Debug)]
struct Ended {
    host: String,
    end: HostEnd,
    counts: Counts,
    owed: Vec<String>,
    not_live: Vec<String>,
}

/// What a run looks like so far.
#[derive(Debug, Default)]
pub struct Terminal {
    paint: Paint,
    order: Vec<String>,
    tasks: BTreeMap<String, BTreeMap<u8, Vec<String>>>,
    ends: Vec<Ended>,
}

impl Terminal {
    /// Nothing happened yet.
    pub fn new(paint: Paint) -> Self {
        Self { paint, ..Self::default() }
    }

    /// Takes an event; gives what is to be said at once.
    pub fn take(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::Began { run } => Some(format!("run {run}")),
            Event::Play { name, hosts } => Some(format!("play {name}: {hosts} {}", plural(*hosts, "host"))),
            Event::Acting { .. } => None,
            Event::Came(Progress::SoFar(_)) => None,
            Event::Came(progress) => Some(progress.text(self.paint)),
            Event::Said { host, title, text } => Some(format!("{host}: {title}: {text}")),
            Event::Task { host, title, label: _, end } => {
                if !self.tasks.contains_key(title) {
                    self.order.push(title.clone());
                }
                let hosts = self.tasks.entry(title.clone()).or_default().entry(rank(*end)).or_default();
                if hosts.last() != Some(host) {
                    hosts.push(host.clone());
                }
                None
            }
            Event::Trouble { host, title, problem } => {
                let title = title.as_ref().map(|title| format!(": {title}")).unwrap_or_default();
                let head = self.paint.bad(&format!("{host}{title}"));
                Some(format!("{head}\n{}", render(std::slice::from_ref(problem), self.paint.0)))
            }
            Event::Undone { host, steps, left } => {
                let mut text = match steps {
                    0 => format!("{host}: nothing was taken back"),
                    _ => format!("{host}: taken back: {steps} {}", plural(*steps, "step")),
                };
                for words in left {
                    let _ = write!(text, "\n{host}: {}: {words}", self.paint.bad("left as it is"));
                }
                Some(text)
            }
            Event::HostEnded { host, end, counts, tally: _, owed, not_live } => {
                let (host, owed, not_live) = (host.clone(), owed.clone(), not_live.clone());
                self.ends.push(Ended { host, end: *end, counts: *counts, owed, not_live });
                None
            }
        }
    }

    /// The lines at the end: by task, then by host, equal ones once.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        for title in &self.order {
            let Some(ends) = self.tasks.get(title) else { continue };
            let parts: Vec<String> = ends
                .iter()
                .filter(|(end, _)| **end != 0 || ends.len() > 1)
                .map(|(end, hosts)| self.part(*end, hosts))
                .collect();
            if ends.keys().any(|end| *end != 0) {
                let _ = writeln!(out, "  {title}: {}", parts.join("; "));
            }
        }
        let mut classes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for Ended { host, end, counts, owed, not_live } in &self.ends {
            let owed = if owed.is_empty() { String::new() } else { format!("; owed: {}", owed.join(", ")) };
            let not_live = applied_not_live(not_live);
            let text = format!(
                "{}: {} ok, {} changed, {} left out, {} failed{owed}{not_live}",
                end_words(*end),
                counts.same + counts.ignored,
                counts.changed,
                counts.skipped,
                counts.failed
            );
            classes.entry(text).or_default().push(host);
        }
        let mut classes: Vec<(String, Vec<&str>)> = classes.into_iter().collect();
        classes.sort_by_key(|(_, hosts)| hosts.len());
        for (text, hosts) in classes {
            let names = match hosts.len() {
                1 => hosts[0].to_owned(),
                many => format!("{many} hosts ({})", shortened(&hosts)),
            };
            let _ = writeln!(out, "{names}: {text}");
        }
        out
    }

    fn part(&self, end: u8, hosts: &[String]) -> String {
        let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let word = match end {
            0 => "ok",
            1 => "left out",
            2 => "changed",
            3 => "failed, handled",
            _ => "failed",
        };
        let word = if end == 2 { self.paint.mark(word) } else { word.to_owned() };
        match names.len() {
            1 => format!("{word} on {}", names[0]),
            many => format!("{word} on {many} hosts"),
        }
    }
}

/// How many settings that are not felt yet are named; of more the number is told.
const NAMED: usize = 3;

fn applied_not_live(settings: &[String]) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let mut words = settings.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if settings.len() > NAMED {
        let _ = write!(words, " and {} more, which `tunerun evidence` lists", settings.len() - NAMED);
    }
    format!("; applied, not live: {words}")
}

fn rank(end: TaskEnd) -> u8 {
    match end {
        TaskEnd::Same => 0,
        TaskEnd::Skipped => 1,
        TaskEnd::Changed => 2,
        TaskEnd::Ignored => 3,
        TaskEnd::Failed => 4,
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// How a host's part ended, in words.
pub fn end_words(end: HostEnd) -> &'static str {
    match end {
        HostEnd::Proven => "proven",
        HostEnd::Failed => "failed, its batch taken back",
        HostEnd::FailedHalf => "FAILED, NOT ALL TAKEN BACK",
        HostEnd::Held => "held by another run, left as it was",
        HostEnd::Stale => "stale, left as it was",
        HostEnd::Unreachable => "unreachable",
        HostEnd::Lost => "LOST: it did not come back from a boot",
        HostEnd::Skipped => "left out",
        HostEnd::Stopped => "STOPPED by a person; what follows was not begun",
        HostEnd::Declined => "not confirmed; what follows was not begun",
        HostEnd::Refused => "known to fail; nothing was changed",
        HostEnd::RolledBack => "ROLLED BACK: as it was before the run",
        HostEnd::Waiting => "not begun: the rollout ended before its turn",
    }
}
