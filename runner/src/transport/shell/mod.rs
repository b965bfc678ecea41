//! The sh protocol: one long-lived interpreter for a host and an identity, fed with frames.

mod answer;
mod capture;
mod collect;
mod frame;
mod split;
pub mod word;

pub use answer::{Answer, Place, Script, Section, Stream, Watch};
pub use capture::{Captured, DEFAULT_CAP};

use super::error::{LinkError, LinkErrorKind};
use super::exec::Link;
use super::identity::Identity;
use super::wire::{Exit, Reader, Wire, Writer};
use collect::Collector;
use split::{Mark, Part, Splitter};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// What is kept of words that come outside a frame: banners, the last words of a shell.
const NOISE_CAP: usize = 4096;

/// A long-lived interpreter. Frames run one after another; one that did not run to its end closes the shell.
pub struct Shell {
    link: Arc<Link>,
    identity: Identity,
    writer: Writer,
    turn: tokio::sync::Mutex<()>,
    shared: Arc<Shared>,
    session: u64,
}

/// What the reading task and the callers share.
struct Shared {
    state: Mutex<State>,
    woken: Notify,
    closing: Notify,
    broken: AtomicBool,
}

struct State {
    out: Splitter,
    err: Splitter,
    hello: [Option<(u32, u32)>; 2],
    frame: Option<Collector>,
    noise: Captured,
    end: Option<End>,
}

#[derive(Clone)]
enum End {
    Exit(Exit),
    Protocol(String),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `done` gives something.
    async fn until<T>(&self, done: impl Fn(&mut State) -> Option<T>) -> T {
        loop {
            let woken = self.woken.notified();
            if let Some(value) = done(&mut self.lock()) {
                return value;
            }
            woken.await;
        }
    }

    fn give_up(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.closing.notify_one();
    }
}

impl State {
    fn feed(&mut self, stream: Stream, bytes: &[u8]) {
        let Self { out, err, hello, frame, noise, end } = self;
        let (splitter, side) = match stream {
            Stream::Out => (out, 0),
            Stream::Err => (err, 1),
        };
        let mut trouble = None;
        let fed = splitter.feed(bytes, &mut |part| match (part, frame.as_mut()) {
            (Part::Data(data), Some(frame)) if hello[side].is_some() => frame.data(stream, data),
            (Part::Data(data), _) => noise.push(data),
            (Part::Mark(words), frame) => match (words.first().map(String::as_str), frame) {
                (Some("h"), _) => hello[side] = hello_of(&words),
                (_, Some(frame)) if hello[side].is_some() => trouble = frame.mark(stream, &words).err(),
                _ => trouble = Some(format!("a mark `{}` came outside a frame", words.join(" "))),
            },
        });
        if let Some(why) = fed.err().or(trouble) {
            end.get_or_insert(End::Protocol(why));
        }
    }
}

/// Process and group of the interpreter; 0 where it could not tell.
fn hello_of(words: &[String]) -> Option<(u32, u32)> {
    Some((words.get(1)?.parse().ok()?, words.get(2)?.parse().ok()?))
}

/// Closes the shell if a frame was left in the middle: by an error, a time limit, or a caller that went away.
struct InFlight<'a>(&'a Shared, bool);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.give_up();
        }
    }
}

impl Shell {
    /// Starts an interpreter. It does not wait for its hello: that comes with the first answer.
    pub(crate) async fn start(link: &Arc<Link>, identity: &Identity) -> Result<Self, LinkError> {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        let Wire { writer, reader, permit } = link.start(identity, frame::LOOP).await?;
        let mark = Mark::random();
        let opening = frame::opening(&mark);
        let state = State {
            out: Splitter::new(mark.clone()),
            err: Splitter::new(mark),
            hello: [None, None],
            frame: None,
            noise: Captured::new(NOISE_CAP),
            end: None,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            woken: Notify::new(),
            closing: Notify::new(),
            broken: AtomicBool::new(false),
        });
        // A failure to write shows as the shell's end, with its last words.
        let _ = writer.send(opening).await;
        tokio::spawn(pump(Arc::clone(link), Arc::clone(&shared), writer.clone(), reader, permit));
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            link: Arc::clone(link),
            identity: identity.clone(),
            writer,
            turn: tokio::sync::Mutex::new(()),
            shared,
            session,
        })
    }

    /// A number that no other shell of this process has: what was held by this one's session (the host's lock) is
    /// gone when the number is another.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Whether it can take a frame.
    pub fn is_open(&self) -> bool {
        !self.shared.broken.load(Ordering::SeqCst) && self.shared.lock().end.is_none() && self.link.is_open()
    }

    /// Runs a script: one frame, one round trip.
    pub async fn run(&self, script: &Script) -> Result<Answer, LinkError> {
        let _turn = self.turn.lock().await;
        if script.text.contains(&0) {
            return Err(self.link.error(LinkErrorKind::Config("a script holds a NUL byte".into())));
        }
        if self.shared.broken.load(Ordering::SeqCst) {
            return Err(self
                .link
                .error(LinkErrorKind::Closed("an earlier script of this shell did not end".into())));
        }
        self.shared.lock().frame = Some(Collector::new(script));
        let mut in_flight = InFlight(&self.shared, false);
        let bytes = frame::encode(script);
        self.link.counters.frame();
        self.link.counters.round_trips(1);
        self.link.counters.sent(bytes.len());
        let work = self.exchange(bytes);
        let done = match script.timeout {
            None => work.await,
            Some(limit) => match tokio::time::timeout(limit, work).await {
                Ok(done) => done,
                Err(_) => return Err(self.overrun(limit).await),
            },
        };
        done.inspect(|_| in_flight.1 = true)
    }

    /// Writes the frame and waits for its answer at once: a host that floods must be read while we write.
    async fn exchange(&self, bytes: Vec<u8>) -> Result<Answer, LinkError> {
        let mut send = std::pin::pin!(self.writer.send(bytes));
        let mut receive = std::pin::pin!(self.receive());
        tokio::select! {
            answer = &mut receive => answer,
            sent = &mut send => match sent {
                Ok(()) => receive.await,
                // The reading side knows the reason, if anybody does.
                Err(why) => match tokio::time::timeout(Duration::from_secs(2), receive).await {
                    Ok(answer) => answer,
                    Err(_) => Err(self.link.error(LinkErrorKind::Closed(why))),
                },
            },
        }
    }

    async fn receive(&self) -> Result<Answer, LinkError> {
        let greeted = self
            .shared
            .until(|state| (state.hello.iter().all(Option::is_some) || state.end.is_some()).then_some(()));
        if tokio::time::timeout(self.link.connect_timeout, greeted).await.is_err() {
            let noise = self.shared.lock().noise.text();
            let why = format!("`{}` did not start; the host said: {}", self.link.interpreter, noise.trim());
            return Err(self.link.error(LinkErrorKind::Protocol(why)));
        }
        let done = self.shared.until(|state| {
            // An answer that is complete counts, even if the shell ended right after it.
            match state.frame.take_if(|frame| frame.is_complete()) {
                Some(frame) => Some(Ok(frame.into_answer())),
                None => state.end.clone().map(Err),
            }
        });
        done.await.map_err(|end| self.ended(&end))
    }

    fn ended(&self, end: &End) -> LinkError {
        let state = self.shared.lock();
        let greeted = state.hello[0].is_some();
        let noise = state.noise.text();
        match (end, &self.identity) {
            (End::Protocol(why), _) => self.link.error(LinkErrorKind::Protocol(why.clone())),
            (End::Exit(exit), Identity::Become(who)) if !greeted => self.link.denied(who, &noise, exit),
            (End::Exit(exit), _) => {
                let what = if greeted {
                    "the shell ended in the middle of a script"
                } else {
                    "no shell was started"
                };
                let said = match noise.trim() {
                    "" => String::new(),
                    words => format!("; it said: {words}"),
                };
                self.link.error(LinkErrorKind::Closed(format!("{what} ({exit}){said}")))
            }
        }
    }

    async fn overrun(&self, after: Duration) -> LinkError {
        let group = self.shared.lock().hello[0].map(|(_, group)| group);
        let ended = match group {
            Some(group) => self.link.kill(&self.identity, group).await,
            None => false,
        };
        self.link.error(LinkErrorKind::CommandTimeout { after, ended })
    }

    /// Ends the interpreter; a script that still runs is ended too.
    pub async fn close(&self) {
        self.shared.give_up();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The reading task closes the channel; `broken` stays as it is, so an idle shell's children live on.
        self.shared.closing.notify_one();
    }
}

/// Reads for as long as the shell lives, frames or not: what nobody reads would stall the host's other channels.
async fn pump(
    link: Arc<Link>,
    shared: Arc<Shared>,
    writer: Writer,
    mut reader: Reader,
    permit: OwnedSemaphorePermit,
) {
    let exit = loop {
        let mut sink = |stream: Stream, bytes: &[u8]| {
            link.counters.received(bytes.len());
            shared.lock().feed(stream, bytes);
            shared.woken.notify_one();
        };
        tokio::select! {
            exit = reader.next(&mut sink) => if let Some(exit) = exit {
                break exit;
            },
            () = shared.closing.notified() => {
                let kill = shared.broken.load(Ordering::SeqCst);
                writer.close(kill).await;
                break Exit { signal: Some("us".into()), ..Exit::default() };
            }
        }
        if let Some(End::Protocol(_)) = &shared.lock().end {
            shared.give_up();
        }
    };
    shared.lock().end.get_or_insert(End::Exit(exit));
    shared.woken.notify_one();
    drop(permit);
}
