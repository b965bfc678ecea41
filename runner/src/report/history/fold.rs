//! Records folded into a run.
use super::setting::setting;
use super::{Batch, Began, Came, Decided, End, Fate, Gate, History, Host, Kind, Moment, Setting, Veil};
use crate::engine::batch::{Batch as Sent, BatchReport, Undoes, Verdict};
use crate::engine::run::activation_words;
use crate::gate::Record as GateRecord;
use crate::journal::{DeadManCame, Entry, HostEnd, Journaled, Record};
use modules::fold::Folded;
use modules::vocabulary::{Act, Activation, Back, HostPath};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How the names of looks after the last wave end: they are no gates of their own.
const SPOT_CHECK: &str = "-spot-check";
/// What stands for a reason that the terminal told before: a report tells it where it belongs.
const TOLD_ABOVE: &str = "see the events above";

const SECRET: &str = "a secret is in it";
const PRIVATE: &str = "others may not read this";
const NOT_TOLD: &str = "this journal does not tell which tasks hold a secret";

/// A batch that was prepared, with what hides its parts.
struct Prepared<'a> {
    batch: &'a Sent,
    tasks: &'a [(u32, String)],
    secret: Option<&'a [u32]>,
}

impl Prepared<'_> {
    fn title(&self, folded: &Folded) -> String {
        let of = |task: &modules::vocabulary::TaskId| self.tasks.iter().find(|(number, _)| *number == task.0);
        folded.tasks.iter().rev().find_map(of).map(|(_, title)| title.clone()).unwrap_or_default()
    }

    fn holds_secret(&self, folded: &Folded) -> bool {
        self.secret.is_some_and(|secret| folded.tasks.iter().any(|task| secret.contains(&task.0)))
    }
}

/// What is hidden of a run's steps.
#[derive(Default)]
struct Hiding {
    /// Files that a task with a secret writes: what others see of them is not shown either.
    paths: BTreeSet<HostPath>,
    veil: Veil,
    told: bool,
}

impl Hiding {
    fn of(entries: &[Entry]) -> Self {
        let batches: Vec<Prepared<'_>> = entries.iter().filter_map(|entry| prepared(&entry.record)).collect();
        let told = batches.iter().all(|one| one.secret.is_some());
        let steps = || batches.iter().flat_map(|one| one.batch.steps.iter().map(move |folded| (one, folded)));
        let secret =
            |(one, folded): &(&Prepared<'_>, &Folded)| one.holds_secret(folded) || one.secret.is_none();
        let paths: BTreeSet<HostPath> = steps()
            .filter(|(one, folded)| one.holds_secret(folded))
            .filter_map(|(_, folded)| folded.step.path().cloned())
            .collect();
        let veiled: Vec<&Folded> = steps()
            .filter(|both| secret(both) || crate::plan::is_private(&both.1.step, &paths))
            .map(|(_, folded)| folded)
            .collect();
        Self { veil: Veil::over(veiled), paths, told }
    }

    fn why(&self, one: &Prepared<'_>, folded: &Folded) -> Option<&'static str> {
        match one.secret {
            None => Some(NOT_TOLD),
            _ if one.holds_secret(folded) => Some(SECRET),
            _ if crate::plan::is_private(&folded.step, &self.paths) => Some(PRIVATE),
            _ => None,
        }
    }
}

fn prepared(record: &Record) -> Option<Prepared<'_>> {
    match record {
        Record::Prepared { batch, tasks, secret } => {
            Some(Prepared { batch, tasks, secret: secret.as_deref() })
        }
        _ => None,
    }
}

/// A host while its records are read.
#[derive(Default)]
struct Part<'a> {
    host: Host,
    sent: BTreeMap<u32, Prepared<'a>>,
    /// The setting that each step is about.
    about: BTreeMap<Undoes, usize>,
    owed: BTreeSet<Activation>,
}

impl Part<'_> {
    /// The host is back at its old state as a whole: also what was found to be there already, so that nothing was sent.
    fn is_back(&mut self) {
        for setting in &mut self.host.settings {
            if matches!(setting.fate, Fate::Stays | Fate::Unknown) {
                setting.fate = Fate::TakenBack;
            }
        }
    }
}

struct Fold<'a> {
    history: History,
    hiding: Hiding,
    parts: Vec<Part<'a>>,
    /// Where each host's part is.
    places: HashMap<String, usize>,
}

/// Folds a journal and the gates beside it.
pub fn fold(run: &str, journaled: &Journaled, gates: Vec<GateRecord>) -> History {
    let hiding = Hiding::of(&journaled.entries);
    let history = History { run: run.to_owned(), torn: journaled.torn, ..History::default() };
    let mut fold = Fold { history, hiding, parts: Vec::new(), places: HashMap::new() };
    for entry in &journaled.entries {
        fold.take(entry);
    }
    let mut history = fold.history;
    history.hosts = fold
        .parts
        .into_iter()
        .map(|part| Host { owed: part.owed.iter().map(activation_words).collect(), ..part.host })
        .collect();
    // Which of them was met first is chance.
    history.hosts.sort_by_cached_key(|host| natural(&host.name));
    history.tells_secrets = fold.hiding.told;
    history.veil = fold.hiding.veil;
    join(&mut history.gates, gates);
    history.records = super::records(&journaled.entries, &history);
    history
}

/// A name in parts, so that osd10 comes after osd9.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut parts: Vec<(u64, String)> = Vec::new();
    for part in name.split_inclusive(|letter: char| !letter.is_ascii_digit()) {
        let word = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        parts.push((part[..part.len() - word.len()].parse().unwrap_or(0), word.to_owned()));
    }
    parts
}

/// Puts the stored runs of gates to their answers.
fn join(gates: &mut Vec<Gate>, records: Vec<GateRecord>) {
    let (checks, records): (Vec<_>, Vec<_>) =
        records.into_iter().partition(|record| record.experiment.id.ends_with(SPOT_CHECK));
    for record in records {
        let id = record.experiment.id.clone();
        let verdict = record.verdict.as_ref();
        let (outcome, why) =
            (verdict.map(|verdict| verdict.outcome), verdict.map(|verdict| verdict.reason.text()));
        let at = gates.iter().rposition(|gate| gate.id == id).unwrap_or_else(|| {
            gates.push(Gate { id, hosts: record.experiment.canaries.clone(), ..Gate::default() });
            gates.len() - 1
        });
        let gate = &mut gates[at];
        gate.outcome = gate.outcome.or(outcome);
        if gate.why.is_empty() {
            gate.why = why.unwrap_or_default();
        }
        gate.record = Some(record);
    }
    for check in checks {
        let of = check.experiment.id.trim_end_matches(SPOT_CHECK);
        if let Some(gate) = gates.iter_mut().rev().find(|gate| gate.id == of) {
            gate.spot_check = Some(check);
        }
    }
}

impl<'a> Fold<'a> {
    fn take(&mut self, entry: &'a Entry) {
        let at = Moment::parse(&entry.at);
        let history = &mut self.history;
        history.standing = history.standing.after(&entry.record);
        history.until = at.or(history.until);
        match &entry.record {
            Record::Began { run, version, command, made_from, by, asked, continues, .. } => {
                history.run.clone_from(run);
                history.began = Some(Began {
                    at,
                    by: by.clone(),
                    version: version.clone(),
                    command: command.clone(),
                    made_from: made_from.clone(),
                    asked: asked.clone(),
                    continues: continues.clone(),
                });
            }
            Record::Decided { what, by } => {
                let what = self.hiding.veil.text(what);
                history.decided.push(Decided { at, what, by: by.clone() });
            }
            Record::Ended { exit } => (history.exit, history.ended) = (Some(*exit), at),
            Record::Undo { conflicts, undone, .. } => {
                history.left = conflicts.iter().map(|words| self.hiding.veil.text(words)).collect();
                undone.iter().for_each(|host| self.part(host).is_back());
            }
            Record::GateBegan { id, hosts } => history.gates.push(Gate {
                id: id.clone(),
                began: at,
                hosts: hosts.iter().map(|(host, _)| host.clone()).collect(),
                ..Gate::default()
            }),
            Record::Gate { id, hosts, outcome, why, kept } => {
                let known = history.gates.iter().rposition(|gate| gate.id == *id);
                let known = known.unwrap_or_else(|| {
                    history.gates.push(Gate { id: id.clone(), ..Gate::default() });
                    history.gates.len() - 1
                });
                let gate = &mut history.gates[known];
                gate.hosts.clone_from(hosts);
                (gate.ended, gate.outcome, gate.kept) = (at, Some(*outcome), Some(*kept));
                gate.why = self.hiding.veil.text(why);
            }
            Record::Closed { .. } | Record::Blob { .. } => {}
            record => self.of_host(at, record),
        }
    }

    fn of_host(&mut self, at: Option<Moment>, record: &'a Record) {
        match record {
            Record::Host { host, address, .. } => self.part(host).host.address.clone_from(address),
            Record::Prepared { batch, .. } => {
                if let Some(one) = prepared(record) {
                    self.prepared(at, &batch.host, one);
                }
            }
            Record::Done { host, batch, report } => self.done(at, host, *batch, report),
            Record::Lost { host, batch, why } => {
                let why = self.hiding.veil.text(why);
                if let Some(sent) = self.batch(host, *batch) {
                    (sent.until, sent.came) = (at, Came::Lost(why));
                }
            }
            Record::DeadMan { host, batch, came } => self.dead_man(host, *batch, *came),
            Record::Owed { host, activation } => {
                self.part(host).owed.insert(activation.clone());
            }
            Record::Activated { host, activation, .. } => {
                let part = self.part(host);
                part.owed.remove(activation);
                part.host.activated.push((at, activation_words(activation)));
            }
            Record::HostEnded { host, end, why, tally } => {
                let why = why.as_ref().filter(|why| *why != TOLD_ABOVE);
                let why = why.map(|why| self.hiding.veil.text(why));
                let round_trips = tally.as_ref().map(|tally| tally.round_trips);
                if *end == HostEnd::RolledBack {
                    self.part(host).is_back();
                }
                self.part(host).host.end = Some(End { at, how: *end, why, round_trips });
            }
            _ => {}
        }
    }

    fn part(&mut self, host: &str) -> &mut Part<'a> {
        let at = self.places.get(host).copied().unwrap_or_else(|| {
            self.places.insert(host.to_owned(), self.parts.len());
            let host = Host { name: host.to_owned(), ..Host::default() };
            self.parts.push(Part { host, ..Part::default() });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    fn batch(&mut self, host: &str, number: u32) -> Option<&mut Batch> {
        self.part(host).host.batches.iter_mut().rev().find(|batch| batch.number == number)
    }

    fn prepared(&mut self, at: Option<Moment>, host: &str, one: Prepared<'a>) {
        let boots =
            |folded: &Folded| matches!(&folded.step.act, Act::Call { row, .. } if row.name == "reboot");
        let kind = match one.batch {
            batch if batch.undo => Kind::Back,
            batch if batch.steps.iter().any(boots) => Kind::Boot,
            batch if !batch.activations.is_empty() && one.tasks.is_empty() => Kind::Activation,
            _ => Kind::Forward,
        };
        let settings: Vec<(usize, Setting)> = match kind {
            Kind::Back | Kind::Activation => Vec::new(),
            Kind::Boot | Kind::Forward => {
                let steps = one.batch.steps.iter().enumerate().filter(|(_, folded)| !boots(folded));
                steps
                    .map(|(step, folded)| {
                        (step, setting(folded, one.title(folded), self.hiding.why(&one, folded)))
                    })
                    .collect()
            }
        };
        let batch = Batch {
            number: one.batch.number,
            at,
            kind,
            tasks: one.tasks.iter().map(|(_, title)| title.clone()).collect(),
            steps: one.batch.steps.len(),
            ..Batch::default()
        };
        let part = self.part(host);
        for (step, new) in settings {
            let known =
                part.host.settings.iter().position(|old| old.claim == new.claim && old.task == new.task);
            let place = match known {
                Some(place) => {
                    part.host.settings[place] = new;
                    place
                }
                None => {
                    part.host.settings.push(new);
                    part.host.settings.len() - 1
                }
            };
            part.about.insert(Undoes { batch: one.batch.number, step: step as u32 }, place);
        }
        part.host.batches.push(batch);
        part.sent.insert(one.batch.number, one);
    }

    fn done(&mut self, at: Option<Moment>, host: &str, number: u32, report: &BatchReport) {
        let hiding = std::mem::take(&mut self.hiding);
        let part = self.part(host);
        if let Some(one) = part.sent.get(&number) {
            let verdicts: Vec<Verdict> =
                (0..one.batch.steps.len()).map(|step| report.verdict(one.batch, step)).collect();
            // Words of a batch with a secret may hold it.
            let hides = one.batch.steps.iter().any(|folded| hiding.why(one, folded).is_some());
            let words = |words: &str| match hides {
                true => "its words are hidden, a secret may be in them".to_owned(),
                false => hiding.veil.text(words),
            };
            let came = came(report, &verdicts, &words);
            let fates = fates(one, report, &verdicts, &words);
            let proven = verdicts.iter().filter(|verdict| **verdict == Verdict::Proven).count();
            part.host.reboots += boots_done(one, &verdicts);
            for (about, fate, why) in fates {
                if let Some(setting) =
                    part.about.get(&about).and_then(|place| part.host.settings.get_mut(*place))
                {
                    setting.fate = fate;
                    setting.failed = why.or_else(|| setting.failed.take());
                }
            }
            if let Some(batch) = part.host.batches.iter_mut().rev().find(|batch| batch.number == number) {
                (batch.until, batch.came, batch.proven) = (at, came, proven);
            }
        }
        self.hiding = hiding;
    }

    /// What a host took back by itself is as it was before.
    fn dead_man(&mut self, host: &str, number: u32, came: DeadManCame) {
        let part = self.part(host);
        if came != DeadManCame::TookBack {
            return;
        }
        for (about, place) in &part.about {
            if let (true, Some(setting)) = (about.batch == number, part.host.settings.get_mut(*place)) {
                setting.fate = Fate::TakenBack;
            }
        }
    }
}

fn boots_done(one: &Prepared<'_>, verdicts: &[Verdict]) -> u32 {
    let boots = one.batch.steps.iter().zip(verdicts).filter(|(folded, verdict)| {
        **verdict == Verdict::Proven
            && matches!(&folded.step.act, Act::Call { row, .. } if row.name == "reboot")
    });
    boots.count() as u32
}

fn came(report: &BatchReport, verdicts: &[Verdict], words: &impl Fn(&str) -> String) -> Came {
    if let Some(run) = &report.locked {
        let by = if run.is_empty() { "another run".to_owned() } else { format!("run {run}") };
        return Came::NothingWritten(format!("the host is held by {by}"));
    }
    if let Some(why) = [&report.stale, &report.unstaged].into_iter().flatten().next() {
        return Came::NothingWritten(words(why));
    }
    let failed = verdicts.iter().find_map(|verdict| match verdict {
        Verdict::Failed(why) => Some(words(why)),
        _ => None,
    });
    match (failed, &report.fell_back) {
        (Some(why), _) => Came::Failed(why),
        (None, Some(why)) => Came::Failed(words(why)),
        (None, None) => Came::Done,
    }
}

/// What became of each step that a batch is about.
fn fates(
    one: &Prepared<'_>,
    report: &BatchReport,
    verdicts: &[Verdict],
    words: &impl Fn(&str) -> String,
) -> Vec<(Undoes, Fate, Option<String>)> {
    let mut fates = Vec::new();
    for (step, (verdict, folded)) in verdicts.iter().zip(&one.batch.steps).enumerate() {
        if one.batch.undo {
            let back = one.batch.undoes(step).filter(|_| *verdict == Verdict::Proven);
            fates.extend(back.map(|about| (about, Fate::TakenBack, None)));
            continue;
        }
        let leaves_nothing = folded.step.back == Back::Nothing && folded.step.look.is_none();
        let (fate, why) = match verdict {
            _ if report.nothing_was_written() => (Fate::NotWritten, None),
            Verdict::Proven if leaves_nothing => (Fate::Ran, None),
            Verdict::Proven => (Fate::Stays, None),
            Verdict::NotReached => (Fate::NotWritten, None),
            Verdict::Failed(why) => (Fate::Failed, Some(words(why))),
        };
        fates.push((Undoes { batch: one.batch.number, step: step as u32 }, fate, why));
    }
    fates
}
