//! A host that loads or serves, over its connection.
use super::{Ground, script};
use crate::bench::preflight::Surroundings;
use crate::bench::{Call, Output, Server};
use crate::engine::carrier::Carrier;
use crate::engine::target::Target;
use crate::gate::Fault;
use crate::transport::{Connection, Identity};
use modules::vocabulary::{HostPath, Read, Seen};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The most bytes of an output that are kept.
const CAP: usize = 16 * 1024 * 1024;

/// A host, as whoever loads there.
pub(super) struct Host {
    name: String,
    carrier: Carrier,
    connection: Arc<Connection>,
    who: Identity,
}

/// A server that answers.
pub(super) struct Serving(crate::transport::Tethered);

impl Serving {
    /// Ends it.
    pub async fn let_go(self) {
        self.0.let_go().await;
    }
}

/// Processor time so far: all of it, and what a hypervisor kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    all: u64,
    stolen: u64,
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
                carrier,
            }),
            Carrier::Memory(_) => Err(failed("nothing is run on a host in memory".to_owned())),
        }
    }

    /// The host's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a call; its output once it is over.
    pub fn run(&self, call: &Call) -> JoinHandle<Result<Output, Fault>> {
        let (connection, who, text) = (Arc::clone(&self.connection), self.who.clone(), script::call(call));
        let (name, limit) = (self.name.clone(), call.limit);
        tokio::spawn(async move {
            let lost = |why: &dyn std::fmt::Display| failed(format!("{name}: {why}"));
            let tethered = connection.link().tether(&who, &text, CAP).await.map_err(|why| lost(&why))?;
            // The host ends it by itself; where it does not answer any more, so do we.
            let ended = tokio::time::timeout(limit + Duration::from_secs(15), tethered.ended()).await;
            let ended = ended.map_err(|_| lost(&"it does not answer any more"))?;
            if ended.stdout.dropped() > 0 {
                return Err(lost(&"the tool printed more than 16 MiB"));
            }
            if ended.exit.status.is_none() {
                return Err(lost(&ended.exit));
            }
            // 128 and a signal: it was ended, and did not end.
            let status = ended.exit.status.filter(|status| *status < 128);
            Ok(Output { status, stdout: ended.stdout.text(), stderr: ended.stderr.text() })
        })
    }

    /// Starts a server, and waits until it answers.
    pub async fn serve(&self, server: &Server, limit: Duration) -> Result<Serving, Fault> {
        let text = script::server(server, limit + Duration::from_secs(60));
        let tethered = self.connection.link().tether(&self.who, &text, CAP).await;
        let mut tethered = tethered.map_err(|why| failed(format!("{}: {why}", self.name)))?;
        let said = tokio::time::timeout(Duration::from_secs(60), tethered.said(script::READY)).await;
        if matches!(said, Ok(true)) {
            return Ok(Serving(tethered));
        }
        let words = tethered.let_go().await.stderr.text();
        Err(failed(format!("{}: the server did not come up: {}", self.name, words.trim())))
    }

    /// Whether a block device may be written over: nothing is mounted from it, lies on it or is signed.
    pub async fn is_free(&self, device: &str) -> Result<(), Fault> {
        let columns = "NAME,TYPE,FSTYPE,MOUNTPOINT";
        let argv = ["lsblk", "--pairs", "--paths", "--output", columns, device].map(str::to_owned);
        let call = Call::new(argv.to_vec(), Duration::from_secs(60));
        let output = self.run(&call).await.map_err(|why| failed(format!("{}: {why}", self.name)))??;
        if output.status != Some(0) {
            let what = format!("{}: {device} cannot be looked at: {}", self.name, output.stderr.trim());
            return Err(Fault::Unfit { what });
        }
        match in_use(&output.stdout) {
            None => Ok(()),
            Some(why) => {
                let what = format!("{}: {device} is not written over: {why}", self.name);
                Err(Fault::Unfit { what })
            }
        }
    }

    /// Processor time so far.
    pub async fn times(&self) -> Result<Times, Fault> {
        let read = HostPath::new("/proc/stat").map(|path| Read::text(&path)).map_err(failed)?;
        let seen = self.carrier.look(std::slice::from_ref(&read)).await;
        let seen = seen.map_err(|why| failed(format!("{}: {why}", self.name)))?;
        let text = match seen.get(&read) {
            Some(Seen::Node(node)) => {
                node.bytes().map(|bytes| String::from_utf8_lossy(bytes.as_slice()).into_owned())
            }
            _ => None,
        };
        Ok(text.as_deref().map(times).unwrap_or_default())
    }

    /// Whether the hypervisor left it alone since.
    pub async fn undisturbed(&self, before: Times, steal_max: f64) -> Result<(), Fault> {
        let now = self.times().await?;
        let all = now.all.saturating_sub(before.all);
        let steal = (all > 0).then(|| now.stolen.saturating_sub(before.stolen) as f64 / all as f64);
        let fitness = Surroundings { steal, ..Surroundings::default() }.judge(steal_max);
        match fitness.unfit.first() {
            Some(what) => Err(Fault::Unfit { what: format!("{}: {what}", self.name) }),
            None => Ok(()),
        }
    }
}

/// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
fn times(text: &str) -> Times {
    let line = text.lines().next().unwrap_or_default();
    let numbers: Vec<u64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    Times { all: numbers.iter().take(8).sum(), stolen: numbers.get(7).copied().unwrap_or(0) }
}

/// Why a device is in use, by `lsblk --pairs`: its own line, and one for whatever lies on it.
fn in_use(lsblk: &str) -> Option<String> {
    let value = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned()).filter(|value| !value.is_empty())
    };
    for (number, line) in lsblk.lines().enumerate() {
        let name = value(line, "NAME").unwrap_or_default();
        if let Some(place) = value(line, "MOUNTPOINT") {
            return Some(format!("{name} is mounted at {place}"));
        }
        if let Some(kind) = value(line, "FSTYPE") {
            return Some(format!("{name} holds {kind}"));
        }
        if number > 0 {
            return Some(format!("{name} lies on it"));
        }
    }
    None
}

fn failed(what: String) -> Fault {
    Fault::Tool { what }
}

#[cfg(test)]
mod tests {
    use super::{in_use, times};

    #[test]
    fn stolen_time_is_the_eighth_figure() {
        let found = times("cpu  100 20 30 400 50 6 7 80 0 0\ncpu0 1 2 3\n");
        assert_eq!((found.all, found.stolen), (693, 80));
        assert_eq!(times("").all, 0);
    }

    #[test]
    fn a_device_with_anything_on_it_is_in_use() {
        let line = |name: &str, kind: &str, place: &str| {
            format!("NAME=\"{name}\" TYPE=\"disk\" FSTYPE=\"{kind}\" MOUNTPOINT=\"{place}\"\n")
        };
        assert_eq!(in_use(&line("/dev/vdb", "", "")), None);
        let told = |text: &str| in_use(text).unwrap();
        assert_eq!(told(&line("/dev/vdb", "ext4", "/mnt")), "/dev/vdb is mounted at /mnt");
        assert_eq!(told(&line("/dev/vdb", "LVM2_member", "")), "/dev/vdb holds LVM2_member");
        let part = line("/dev/vdb", "", "") + &line("/dev/vdb1", "", "");
        assert_eq!(told(&part), "/dev/vdb1 lies on it");
    }
}
