//! A host that loads or serves, over its connection.
use super::surroundings::{self, Looked};
use super::{Ground, devices, script};
use crate::bench::{Call, Output, Overwritten, Server, Source};
use crate::engine::carrier::Carrier;
use crate::engine::target::Target;
use crate::gate::Fault;
use crate::transport::{Connection, Identity};
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};

/// The most bytes of an output that are kept.
const CAP: usize = 16 * 1024 * 1024;

/// How many processes of one benchmark a host runs at once: a connection has channels for two more, which looks and
/// what is measured beside need.
pub const ROOM: usize = 6;

/// How long a host may take to start or end something beyond its own time.
const GRACE: Duration = Duration::from_secs(15);

/// What a shell tells of a program that a signal ended.
const SIGNALS: RangeInclusive<i32> = 129..=192;

/// A call under way. Where this is dropped the call is over: what the host runs ends with its input.
pub(super) struct Calling(JoinHandle<Result<Output, Fault>>);

impl Drop for Calling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Future for Calling {
    type Output = Result<Result<Output, Fault>, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

/// A host, as whoever loads there.
pub(super) struct Host {
    name: String,
    room: Arc<Semaphore>,
    connection: Arc<Connection>,
    who: Identity,
}

/// A server that answers.
pub(super) struct Serving(crate::transport::Tethered);

impl Serving {
    /// Ends it.
    pub async fn let_go(self) {
        // Where the host does not answer, its own clock ends the server.
        let _ = tokio::time::timeout(GRACE, self.0.let_go()).await;
    }
}

impl Host {
    /// Connects, where there is no connection yet.
    pub async fn reach(ground: Ground<'_>, target: &Target) -> Result<Self, Fault> {
        let carrier = ground.links.carrier(ground.scene, target).await;
        let carrier = carrier.map_err(|error| failed(error.diagnostic(&target.host).message))?;
        match &carrier {
            Carrier::Shell { connection, who, .. } => Ok(Self {
                name: target.host.clone(),
                connection: Arc::clone(connection),
                who: who.clone(),
                room: Arc::new(Semaphore::new(ROOM)),
            }),
            Carrier::Memory(_) => Err(failed("nothing is run on a host in memory".to_owned())),
        }
    }

    /// The host's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a call; its output once it is over. Where the task is dropped the call ends.
    pub fn run(&self, call: &Call) -> Calling {
        let (connection, who, text) = (Arc::clone(&self.connection), self.who.clone(), script::call(call));
        let (name, room) = (self.name.clone(), Arc::clone(&self.room));
        let limit = call.limit + script::AFTER * u32::try_from(call.after.len()).unwrap_or(u32::MAX);
        Calling(tokio::spawn(async move {
            let lost = |why: &dyn std::fmt::Display| failed(format!("{name}: {why}"));
            let _place = room.acquire_owned().await.map_err(|why| lost(&why))?;
            let begun = tokio::time::timeout(GRACE, connection.link().tether(&who, &text, CAP)).await;
            let tethered =
                begun.map_err(|_| lost(&"no program can be started there"))?.map_err(|why| lost(&why))?;
            // The host ends it by itself; where it does not answer any more, so do we.
            let ended = tokio::time::timeout(limit + GRACE, tethered.ended()).await;
            let ended = ended.map_err(|_| lost(&"it does not answer any more"))?;
            if ended.stdout.dropped() > 0 {
                return Err(lost(&"the tool printed more than 16 MiB"));
            }
            let Some(status) = ended.exit.status else { return Err(lost(&ended.exit)) };
            // A shell tells 128 and the signal of a program that was ended and did not end.
            let status = Some(status).filter(|status| !SIGNALS.contains(status));
            Ok(Output { status, stdout: ended.stdout.text(), stderr: ended.stderr.text() })
        }))
    }

    /// Starts a server, and waits until it answers.
    pub async fn serve(&self, server: &Server, limit: Duration) -> Result<Serving, Fault> {
        let text = script::server(server, limit + Duration::from_secs(60));
        let lost = |why: &dyn std::fmt::Display| failed(format!("{}: {why}", self.name));
        let begun = tokio::time::timeout(GRACE, self.connection.link().tether(&self.who, &text, CAP)).await;
        let mut tethered =
            begun.map_err(|_| lost(&"no server can be started there"))?.map_err(|why| lost(&why))?;
        let said = tokio::time::timeout(Duration::from_secs(60), tethered.said(script::READY)).await;
        if matches!(said, Ok(true)) {
            return Ok(Serving(tethered));
        }
        let ended = tokio::time::timeout(GRACE, tethered.let_go()).await;
        let words = ended.map(|output| output.stderr.text()).unwrap_or_default();
        Err(failed(format!("{}: the server did not come up: {}", self.name, words.trim())))
    }

    /// Runs a short command to its end.
    pub async fn ask(&self, argv: Vec<String>) -> Result<Output, Fault> {
        let call = Call::new(argv, Duration::from_secs(60));
        self.run(&call).await.unwrap_or_else(|why| Err(failed(format!("{}: {why}", self.name))))
    }

    /// Refuses where something that is written over is in use or holds anything.
    pub async fn may_lose(&self, all: &[Overwritten]) -> Result<(), Fault> {
        let mut paths = Vec::new();
        for one in all {
            match one {
                Overwritten::Path(path) => paths.push(path.clone()),
                Overwritten::Image { spec, user } => {
                    let output = self.ask(devices::image(spec, user.as_deref())).await?;
                    self.refuse(devices::image_in_use(spec, &output))?;
                }
                Overwritten::SpdkConfig(path) => {
                    paths.extend(self.refuse_or(devices::named_by_spdk(&self.file(path).await?))?);
                }
                Overwritten::VdbenchParameters(path) => {
                    paths.extend(devices::named_by_vdbench(&self.file(path).await?));
                }
            }
        }
        if paths.is_empty() {
            return Ok(());
        }
        let output = self.ask(devices::look(&paths)).await?;
        self.refuse(devices::in_use(&paths, &output.stdout))
    }

    fn refuse(&self, why: Option<String>) -> Result<(), Fault> {
        why.map_or(Ok(()), |why| Err(Fault::Unfit { what: format!("{}: {why}", self.name) }))
    }

    fn refuse_or<T>(&self, found: Result<T, String>) -> Result<T, Fault> {
        found.map_err(|why| Fault::Unfit { what: format!("{}: {why}", self.name) })
    }

    /// The text of a file that a benchmark reads.
    async fn file(&self, path: &str) -> Result<String, Fault> {
        let plain = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
        let output = self.ask(vec!["cat".to_owned(), plain]).await?;
        match output.status {
            Some(0) => Ok(output.stdout),
            _ => Err(failed(format!("{}: {path} cannot be read: {}", self.name, output.stderr.trim()))),
        }
    }

    /// What it is like here, before or after a run.
    pub async fn looked(&self, source: &Source) -> Result<Looked, Fault> {
        let output = self.ask(surroundings::look(source)).await?;
        Looked::read(&output.stdout)
            .ok_or_else(|| failed(format!("{}: what it is like there was not told whole", self.name)))
    }

    /// Judges what a run met since the look before it. What a reader should know.
    pub async fn met(&self, before: &Looked, source: &Source, steal_max: f64) -> Result<Vec<String>, Fault> {
        let after = self.looked(source).await?;
        let fitness = before.around(&after, source).judge(steal_max);
        match fitness.unfit.first() {
            Some(what) => Err(Fault::Unfit { what: format!("{}: {what}", self.name) }),
            None => Ok(fitness.notes.iter().map(|note| format!("{}: {note}", self.name)).collect()),
        }
    }
}

fn failed(what: String) -> Fault {
    Fault::Tool { what }
}
