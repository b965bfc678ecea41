//! What brings looks and batches to their subject: a host's shell, or a host in memory.
use super::batch::{
    ActDone, Batch, BatchReport, Prepared, Text, base, confirm, leftovers, lock, logs, mark, text,
};
use super::marks::{Logs, logs_of};
use super::probe::{Reads, identity};
use super::rpc;
use crate::transport::shell::word::LARGE;
use crate::transport::{Connection, Identity as Who, LinkError, LinkErrorKind, Script};
use modules::host::Host;
use modules::vocabulary::{Act, Bytes, HostPath, Identity, Output, Read, Seen, Want, touches};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often files that change while they are read are read again.
const ATTEMPTS: u32 = 3;

/// How often, and after which pauses, a lock that somebody holds is tried again: a script whose controller is gone
/// ends on its own.
const LOCK_WAITS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(500);

/// Why a host could not be looked at or acted on.
#[derive(Debug)]
pub enum CarrierError {
    /// The link failed.
    Link(LinkError),
    /// The host's tools answered what the scripts do not make.
    Answer(String),
    /// A value cannot be brought to a host.
    Value(String),
    /// Another run holds the host: its name, and where it came from.
    Held(String),
}

impl fmt::Display for CarrierError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => write!(out, "{error}"),
            Self::Answer(why) => write!(out, "the host's answer cannot be understood: {why}"),
            Self::Value(why) => out.write_str(why),
            Self::Held(run) => write!(out, "it is held by another run ({run})"),
        }
    }
}

impl std::error::Error for CarrierError {}

impl From<LinkError> for CarrierError {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

/// Who acts: read by builtins where it is root, whose names need no look; by one process else.
const WHO: &str = r#"_u=; _g=; while read -r _k _r _e _x; do case $_k in Uid:) _u=$_e;; Gid:) _g=$_e; break;; esac; done </proc/self/status
if [ "$_u|$_g" = "0|0" ]; then echo "0|0|root|root"; s who 0; else stat -c '%u|%g|%U|%G' /proc/self/; s who $?; fi"#;

/// What was found at the first look.
#[derive(Clone, Debug, Default)]
pub struct Greeting {
    /// Who acts there.
    pub who: Identity,
    /// Runs that began on the host and neither ended nor were undone.
    pub open_runs: Vec<String>,
    /// Who holds the host's lock right now, where a run is open.
    pub held: Option<String>,
    /// What tells the machine from every other: machine-id, boot-id, and the mount that all else is below. Equal for two
    /// ways to one machine; unlike for two containers on one kernel.
    pub machine: Option<String>,
}

/// What tells the machine, by builtins: no process.
const MACHINE: &str = "_w=; _i=; _x=; { IFS= read -r _w </etc/machine-id; IFS= read -r _i </proc/sys/kernel/random/boot_id; read -r _x _y _z _l </proc/self/mountinfo; } 2>/dev/null; \
printf %s \"$_w|$_i|$_x $_y $_z\"; s machine 0";
/// What became of a batch that the host takes back by itself unless it is confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// It stays.
    Confirmed,
    /// The host is taking it back.
    TakesBack,
    /// The host took it back.
    TakenBack {
        /// The status of the way back.
        status: i32,
        /// Its words.
        said: String,
    },
}

/// What brings looks and batches to a host.
#[derive(Clone)]
pub enum Carrier {
    /// A shell over a connection, as one identity.
    Shell {
        /// The connection.
        connection: Arc<Connection>,
        /// The identity.
        who: Who,
        /// Where the host keeps what belongs to runs, if not in the usual place.
        state: Option<HostPath>,
    },
    /// A host in memory.
    Memory(Arc<Mutex<Host>>),
}

impl Carrier {
    /// The first look: who acts, which runs are open, and the first reads; one round trip.
    ///
    /// # Errors
    /// [`CarrierError`].
    pub async fn greet(&self, reads: &[Read]) -> Result<(Greeting, BTreeMap<Read, Seen>), CarrierError> {
        match self {
            Self::Memory(_) => Ok((Greeting::default(), self.look(reads).await?)),
            Self::Shell { connection, who, state } => {
                let base = base(state.as_ref(), 0).map_err(CarrierError::Value)?;
                let sorted = Reads::new(reads);
                let text = format!(
                    "{WHO}
{MACHINE}
for _b in {base} \"${{HOME:-/}}/.local/state/tunerun\"; do for _f in \"$_b\"/*/mark; do [ -f \"$_f\" ] && IFS= read -r _l < \"$_f\" && [ \"$_l\" = open ] && {{ _f=${{_f%/mark}}; printf '%s\\n' \"${{_f##*/}}\"; \
_h=1; }}; done; [ -z \"$_h\" ] || ( flock -n 9 ) 9>>\"$_b/lock\" || {{ IFS= read -r _l < \"$_b/lock.run\"; echo \"held $_l\"; }}; _h=; done; s open 0
{}",
                    sorted.text("p.").map_err(CarrierError::Value)?
                );
                let script = with_caps(Script::new(text), &sorted);
                let answer = connection.run(who, &script).await?;
                let identity_text =
                    answer.section("who").map(|section| section.stdout.text()).unwrap_or_default();
                let who_link = who;
                let who = identity(&identity_text).ok_or_else(|| {
                    CarrierError::Answer(format!("`stat` said {identity_text:?} of /proc/self"))
                })?;
                let open = answer.section("open").map(|section| section.stdout.text()).unwrap_or_default();
                let (held, open_runs): (Vec<&str>, Vec<&str>) =
                    open.lines().partition(|line| line.starts_with("held "));
                let held = held.first().map(|line| {
                    let mut words = line.split(' ').skip(1);
                    let run = words.next().unwrap_or_default().to_owned();
                    match words.nth(2).filter(|from| !from.is_empty()) {
                        Some(from) => format!("{run}, which came from {from}"),
                        None => run,
                    }
                });
                let machine = answer.section("machine").map(|section| section.stdout.text());
                let machine =
                    machine.filter(|machine| machine.split('|').skip(1).all(|part| part.trim() != ""));
                let open_runs = open_runs.into_iter().map(str::to_owned).collect();
                let round = sorted.answers("p.", &answer).map_err(CarrierError::Answer)?;
                let mut seen = round.seen;
                if !round.again.is_empty() {
                    seen.extend(self.look(&round.again).await?);
                }
                large_by_digest(reads, &mut seen);
                seen.extend(rpc::look(connection, who_link, reads).await?);
                Ok((Greeting { who, open_runs, held, machine }, seen))
            }
        }
    }

    /// Looks; one round trip, more only for files that change meanwhile.
    ///
    /// # Errors
    /// [`CarrierError`].
    pub async fn look(&self, reads: &[Read]) -> Result<BTreeMap<Read, Seen>, CarrierError> {
        match self {
            Self::Memory(host) => {
                let host = host.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(reads.iter().map(|read| (read.clone(), host.see(read))).collect())
            }
            Self::Shell { connection, who, .. } => {
                let mut seen = BTreeMap::new();
                let mut wanted = reads.to_vec();
                for _ in 0..ATTEMPTS {
                    if wanted.is_empty() {
                        break;
                    }
                    let sorted = Reads::new(&wanted);
                    if sorted.is_empty() {
                        break;
                    }
                    let text = sorted.text("p.").map_err(CarrierError::Value)?;
                    let answer = connection.run(who, &with_caps(Script::new(text), &sorted)).await?;
                    let round = sorted.answers("p.", &answer).map_err(CarrierError::Answer)?;
                    seen.extend(round.seen);
                    wanted = round.again;
                }
                for read in wanted.into_iter().filter(|read| !matches!(read, Read::Rpc { .. })) {
                    seen.insert(read, Seen::Failed("it changes while it is read".to_owned()));
                }
                large_by_digest(reads, &mut seen);
                seen.extend(rpc::look(connection, who, reads).await?);
                Ok(seen)
            }
        }
    }

    /// Takes the host's lock for this session, waiting a little for a script that still runs, and reads the marks that
    /// the acts of a run left. What batches that were cut off left beside their targets goes away.
    ///
    /// # Errors
    /// [`CarrierError`]; [`CarrierError::Held`] where somebody holds it on.
    pub async fn hold(
        &self,
        (run, holder): (&str, &str),
        who: &Identity,
        cut_off: &[&Batch],
    ) -> Result<Logs, CarrierError> {
        let Self::Shell { connection, who: link, state } = self else { return Ok(Logs::default()) };
        let base = base(state.as_ref(), who.uid).map_err(CarrierError::Value)?;
        let body = logs((run, holder), cut_off).map_err(CarrierError::Value)?;
        let script = Script::new(lock(&body, run, holder, &base)).in_session();
        let mut waits = LOCK_WAITS;
        loop {
            let answer = connection.run(link, &script).await?;
            match (answer.section("locked"), answer.section("log")) {
                (Some(section), _) if waits == 0 => {
                    return Err(CarrierError::Held(section.stdout.text().trim().to_owned()));
                }
                (Some(_), _) => {
                    waits -= 1;
                    tokio::time::sleep(LOCK_PAUSE).await;
                }
                (None, Some(section)) => {
                    let logs = logs_of(&section.stdout.text());
                    match logs.running {
                        None => return Ok(logs),
                        Some(group) if waits == 0 => {
                            let words = format!("{run}: what it began still runs, process group {group}");
                            return Err(CarrierError::Held(words));
                        }
                        Some(_) => {
                            waits -= 1;
                            tokio::time::sleep(LOCK_PAUSE).await;
                        }
                    }
                }
                (None, None) => {
                    let said = answer.rest.stderr.text();
                    return Err(CarrierError::Answer(format!("its lock cannot be taken: {}", said.trim())));
                }
            }
        }
    }

    /// Writes the run's mark, where the host has a folder of the run.
    ///
    /// # Errors
    /// [`CarrierError`].
    pub async fn mark(&self, run: &str, who: &Identity, word: &str) -> Result<(), CarrierError> {
        let Self::Shell { connection, who: link, state } = self else { return Ok(()) };
        let base = base(state.as_ref(), who.uid).map_err(CarrierError::Value)?;
        let answer = connection.run(link, &Script::new(mark(&base, run, word))).await?;
        match answer.rc {
            0 => Ok(()),
            _ => Err(CarrierError::Answer(answer.rest.stderr.text().trim().to_owned())),
        }
    }

    /// Confirms a batch, unless the host has begun to take it back by itself.
    ///
    /// # Errors
    /// [`CarrierError`].
    pub async fn confirm(&self, run: &str, who: &Identity, number: u32) -> Result<Decided, CarrierError> {
        let Self::Shell { connection, who: link, state } = self else { return Ok(Decided::Confirmed) };
        let base = base(state.as_ref(), who.uid).map_err(CarrierError::Value)?;
        let answer = connection.run(link, &Script::new(confirm(&base, run, number))).await?;
        let text = answer.section("dead-man").map(|section| section.stdout.text()).unwrap_or_default();
        let (by, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let (status, said) = rest.split_once('\n').unwrap_or((rest, ""));
        match (by, status.parse()) {
            ("confirmed", _) => Ok(Decided::Confirmed),
            ("fired", Ok(status)) => Ok(Decided::TakenBack { status, said: said.to_owned() }),
            ("fired", Err(_)) => Ok(Decided::TakesBack),
            // A recovery, or a person by `undo.sh`, was first.
            ("recovered" | "undone", _) => Ok(Decided::TakenBack {
                status: 0,
                said: "somebody else has begun to take it back".to_owned(),
            }),
            _ => Err(CarrierError::Answer(format!("nobody decided on a batch: {text:?}"))),
        }
    }

    /// Takes away what a batch left beside its targets.
    async fn clean(&self, batch: &Batch, run: &str) -> Result<(), CarrierError> {
        let Self::Shell { connection, who, .. } = self else { return Ok(()) };
        let words: Vec<String> = leftovers(batch, run)
            .iter()
            .map(super::probe::path_word)
            .collect::<Result<_, _>>()
            .map_err(CarrierError::Value)?;
        connection.run(who, &Script::new(format!("rm -f -- {}", words.join(" ")))).await?;
        Ok(())
    }

    /// Carries a batch out, and uses it up.
    ///
    /// # Errors
    /// [`CarrierError`]: whether anything was written is not known then, and must be looked at.
    pub async fn carry_out(&self, prepared: Prepared, who: &Identity) -> Result<BatchReport, CarrierError> {
        match self {
            Self::Memory(host) => {
                let mut host = host.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(carry_out_in_memory(&mut host, &prepared))
            }
            Self::Shell { connection, who: link, state } => {
                let base = base(state.as_ref(), who.uid).map_err(CarrierError::Value)?;
                match prepared.batch().steps.first() {
                    Some(first) if rpc::is_rpc(&first.step) => {
                        return rpc::carry_out(connection, link, &prepared, &base).await;
                    }
                    _ => {}
                }
                let Text { script, looks, uploads } =
                    text(&prepared, &base, who).map_err(CarrierError::Value)?;
                for (path, index) in uploads {
                    let step = &prepared.batch().steps[index].step;
                    let bytes = content(&step.act).map(|bytes| bytes.as_slice().to_vec()).unwrap_or_default();
                    let sent = connection.upload(link, path.as_str().as_bytes(), bytes, None).await;
                    if let Some(words) = unstaged(sent)? {
                        self.clean(prepared.batch(), prepared.run()).await?;
                        let unstaged_step = Some(index);
                        return Ok(BatchReport {
                            unstaged: Some(words),
                            unstaged_step,
                            ..BatchReport::default()
                        });
                    }
                }
                let mut script = with_caps(Script::new(script), &looks).in_session();
                if let Some(seconds) = prepared.batch().timeout {
                    script = script.timeout(Duration::from_secs(seconds));
                }
                let answer = connection.run(link, &script).await?;
                let report = BatchReport::of(prepared.batch(), &looks, &answer);
                let mut report = report.map_err(CarrierError::Answer)?;
                if !report.nothing_was_written() {
                    report.seen.extend(rpc::look(connection, link, &prepared.batch().verify).await?);
                }
                Ok(report)
            }
        }
    }
}

/// The host's words where it could not store an upload.
fn unstaged(sent: Result<(), LinkError>) -> Result<Option<String>, LinkError> {
    match sent {
        Ok(()) => Ok(None),
        Err(error) => match &*error.kind {
            LinkErrorKind::Upload { path, said } => Ok(Some(format!("{path}: {said}"))),
            _ => Err(error),
        },
    }
}

/// Files that are too large for their text were read again by digest: that answers the first question too.
fn large_by_digest(reads: &[Read], seen: &mut BTreeMap<Read, Seen>) {
    for read in reads {
        if let Read::File { path, want: Want::Text } = read
            && !seen.contains_key(read)
            && let Some(known) = seen.get(&Read::digest(path)).cloned()
        {
            seen.insert(read.clone(), known);
        }
    }
}

fn content(act: &Act) -> Option<&Bytes> {
    use modules::vocabulary::{Content, Image};
    match act {
        Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } => Some(bytes),
        _ => None,
    }
}

fn with_caps(script: Script, reads: &Reads) -> Script {
    let lists = 64 << 20;
    script.cap("p.c", reads.content_cap().max(LARGE)).cap("p.st", lists).cap("p.dg", lists).cap("p.v", lists)
}

/// The same four phases on a host in memory.
fn carry_out_in_memory(host: &mut Host, prepared: &Prepared) -> BatchReport {
    let batch = prepared.batch();
    for (index, folded) in batch.steps.iter().enumerate() {
        if let Some(look) = &folded.step.look
            // What an earlier step of this batch makes is not there yet.
            && !batch.steps[..index].iter().any(|earlier| touches(&earlier.step.act, look))
            && !host.see(look).same_state(&folded.step.before)
        {
            let stale = Some(format!("{} is not as it was when this was planned", folded.step.claim));
            return BatchReport { stale, ..BatchReport::default() };
        }
    }
    let mut acts = Vec::new();
    let mut ok = true;
    for folded in &batch.steps {
        acts.push(ok.then(|| {
            let (status, stderr) = match host.act(&folded.step.act) {
                Ok(()) => (0, Bytes::default()),
                Err(why) => (1, Bytes::from(why)),
            };
            ok = status == 0;
            ActDone { output: Output { status, stdout: Bytes::default(), stderr } }
        }));
    }
    let own = batch.steps.iter().filter_map(|folded| folded.step.look.clone());
    let seen = own.chain(batch.verify.iter().cloned()).map(|read| (read.clone(), host.see(&read))).collect();
    BatchReport { acts, seen, ..BatchReport::default() }
}
