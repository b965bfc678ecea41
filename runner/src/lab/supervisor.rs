//! The supervisor: pid 1 of a lab, owner of its network, its mounts and its hosts.
//!
//! It reads its orders from standard input, answers once on standard output, and then only waits for its lifeline,
//! which is standard input again: when that closes without the word "keep", the lab ends. Its own end, however it
//! comes, is the kernel's order to end every process in its pid namespace.
use super::booted::{Booted, Frame};
use super::keys::{Pair, pair};
use super::knobs::{self, Settings};
use super::plain::{self, Birth};
use super::process::Started;
use super::spec::{LabHost, LabSpec, Tier};
use super::state::{State, private_file, private_folder};
use super::{cgroup, cmdline, failed, network, refused, root, skeleton};
use crate::diagnostic::{Diagnostic, Problems};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::wait;
use nix::unistd::{Pid, setsid};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Stdin, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The word on the lifeline after which its closing ends nothing.
pub(super) const KEEP: u8 = b'k';

/// What a supervisor says once it knows how the start went.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// Every host answers.
    Ready,
    /// The lab could not be started: what, and notes.
    Failed(Vec<(String, Vec<String>)>),
}

/// The lab as its supervisor holds it.
struct Owned {
    spec: LabSpec,
    dir: PathBuf,
    me: Started,
    booted: Vec<Booted>,
    plain: Vec<Child>,
}

/// What `__lab-supervisor` does. Returns when the lab has ended and everything is cleared away.
pub(super) fn run() {
    let mut orders = BufReader::new(std::io::stdin());
    let (answer, owned) = match start(&mut orders) {
        Ok(owned) => (Answer::Ready, Some(Box::new(owned))),
        Err(Failed { problems, owned }) => {
            let told = problems.into_iter().map(|it| (it.message, it.notes)).collect();
            (Answer::Failed(told), owned)
        }
    };
    let text = serde_json::to_string(&answer).unwrap_or_default();
    let told = writeln!(std::io::stdout(), "{text}").is_ok();
    let ready = matches!(answer, Answer::Ready);
    if ready && told {
        lifeline(orders);
    }
    if let Some(owned) = owned {
        owned.end();
    }
}

/// Waits as long as the lab is wanted.
fn lifeline(mut orders: BufReader<Stdin>) {
    let mut word = [0];
    while orders.read(&mut word).is_ok_and(|count| count > 0) {
        if word[0] == KEEP {
            loop {
                std::thread::park();
            }
        }
    }
}

/// A start that failed, and what there is to take down again.
struct Failed {
    problems: Problems,
    owned: Option<Box<Owned>>,
}

impl<T: Into<Problems>> From<T> for Failed {
    fn from(problems: T) -> Self {
        Self { problems: problems.into(), owned: None }
    }
}

fn start(orders: &mut BufReader<Stdin>) -> Result<Owned, Failed> {
    let mut line = String::new();
    orders.read_line(&mut line).map_err(failed("read its orders"))?;
    let spec: LabSpec =
        serde_json::from_str(&line).map_err(|error| failed("read its orders")(error.into()))?;
    // /proc is still the machine's: it tells the name that others know this process by.
    let me = fs::read_link("/proc/self")
        .ok()
        .and_then(|pid| pid.to_str()?.parse().ok())
        .and_then(Started::of)
        .ok_or_else(|| Diagnostic::error("the lab could not find its own name in /proc", None))?;
    let _ = setsid();
    let dir = spec.dir();
    let mut owned = Owned { spec, dir, me, booted: Vec::new(), plain: Vec::new() };
    match owned.build() {
        Ok(()) => Ok(owned),
        Err(problems) => Err(Failed { problems, owned: Some(Box::new(owned)) }),
    }
}

impl Owned {
    fn build(&mut self) -> Result<(), Problems> {
        let fs_dir = self.territory()?;
        network::bridge()?;
        let client = pair()?;
        let keys = self.spec.hosts.iter().map(|_| pair()).collect::<Result<Vec<_>, _>>()?;
        let hosts = self.write_way_in(&client, &keys)?;
        State::new(&self.spec, self.spec.tier, self.me, hosts.clone()).write(&self.dir)?;
        let skel = skeleton::build(&fs_dir, &client, &self.spec.hidden, &network::names(&hosts))?;
        let tree = Arc::new(knobs::snapshot());
        let mut settings = Vec::new();
        let mut roots = Vec::new();
        for (host, key) in hosts.iter().zip(&keys) {
            roots.push(root::make(&fs_dir, &skel, host, key, self.spec.upper_mib)?);
            let at = fs_dir.join("settings").join(&host.name);
            settings.push((Settings::serve(&tree, &at)?, at));
        }
        match self.spec.tier {
            Tier::Booted => self.boot(&hosts, roots, settings)?,
            Tier::Plain | Tier::Auto => self.spawn(&hosts, roots, settings)?,
        }
        self.answers(&hosts)
    }

    /// Makes the supervisor's own mounts, none of which the machine sees, and returns the folder of the lab's files.
    fn territory(&self) -> Result<PathBuf, Box<Diagnostic>> {
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
            .map_err(refused("keep its mounts to itself"))?;
        let own = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), "/proc", Some("proc"), own, None::<&str>).map_err(refused("mount its /proc"))?;
        let fs_dir = self.dir.join("fs");
        private_folder(&fs_dir)?;
        mount(Some("tunerun-lab"), &fs_dir, Some("tmpfs"), MsFlags::empty(), Some("mode=755,size=64m"))
            .map_err(refused("mount its own files"))?;
        if self.spec.tier == Tier::Booted {
            let nspawn = Path::new("/run/systemd/nspawn");
            fs::create_dir_all(nspawn).map_err(failed("make /run/systemd/nspawn"))?;
            mount(Some("tunerun-lab"), nspawn, Some("tmpfs"), MsFlags::empty(), Some("mode=755,size=4m"))
                .map_err(refused("mount its own /run/systemd/nspawn"))?;
        }
        Ok(fs_dir)
    }

    /// Writes the client's key, known_hosts and a configuration for ssh; returns the hosts.
    fn write_way_in(&self, client: &Pair, keys: &[Pair]) -> Result<Vec<LabHost>, Box<Diagnostic>> {
        let (key, known_hosts) = (self.dir.join("id_ed25519"), self.dir.join("known_hosts"));
        let hosts: Vec<LabHost> = (1..)
            .zip(&self.spec.hosts)
            .map(|(number, name)| LabHost {
                name: name.clone(),
                number,
                ip: network::address(number),
                port: 22,
                user: "root".to_owned(),
                key: key.clone(),
                known_hosts: known_hosts.clone(),
            })
            .collect();
        private_file(&key, client.private.as_bytes())?;
        private_file(&self.dir.join("id_ed25519.pub"), format!("{}\n", client.public).as_bytes())?;
        let known: String = hosts
            .iter()
            .zip(keys)
            .map(|(host, key)| format!("{},{} {}\n", host.name, host.ip, key.public))
            .collect();
        private_file(&known_hosts, known.as_bytes())?;
        let mut config: String =
            hosts.iter().map(|host| format!("Host {}\n  HostName {}\n", host.name, host.ip)).collect();
        config.push_str(&format!(
            "Host *\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             StrictHostKeyChecking yes\n  BatchMode yes\n",
            key.display(),
            known_hosts.display()
        ));
        private_file(&self.dir.join("ssh_config"), config.as_bytes())?;
        Ok(hosts)
    }

    fn log(&self, host: &LabHost) -> Result<File, Box<Diagnostic>> {
        let path = self.dir.join(format!("{}.log", host.name));
        File::create(&path).map_err(failed(format!("write {}", path.display())))
    }

    fn spawn(
        &mut self,
        hosts: &[LabHost],
        roots: Vec<PathBuf>,
        settings: Vec<(Settings, PathBuf)>,
    ) -> Result<(), Box<Diagnostic>> {
        let mut waiting = Vec::new();
        for ((host, root), (served, settings)) in hosts.iter().zip(roots).zip(settings) {
            served.boot(&cmdline::next(&root));
            let birth = Birth { host: host.clone(), root, settings };
            waiting.push(plain::start(&self.spec.program, birth, self.log(host)?)?);
        }
        let cards: Vec<(&LabHost, u32)> =
            hosts.iter().zip(&waiting).map(|(host, it)| (host, it.child.id())).collect();
        network::plug(&cards)?;
        for host in waiting {
            self.plain.push(host.go()?);
        }
        Ok(())
    }

    fn boot(
        &mut self,
        hosts: &[LabHost],
        roots: Vec<PathBuf>,
        settings: Vec<(Settings, PathBuf)>,
    ) -> Result<(), Box<Diagnostic>> {
        for ((host, root), settings) in hosts.iter().zip(roots).zip(settings) {
            let groups = cgroup::make(self.me, &host.name)?;
            let log = self.dir.join(format!("{}.log", host.name));
            let (host, program) = (host.clone(), self.spec.program.clone());
            self.booted.push(Booted::start(Frame { host, root, settings, groups, log, program }));
        }
        Ok(())
    }

    /// Waits until each host's sshd says its banner.
    fn answers(&mut self, hosts: &[LabHost]) -> Result<(), Problems> {
        let extra = Duration::from_millis(200) * u32::try_from(hosts.len()).unwrap_or(0);
        let deadline = Instant::now() + Duration::from_secs(60) + extra;
        let mut silent = Problems::new();
        for (at, host) in hosts.iter().enumerate() {
            while !greets(host) {
                if Instant::now() > deadline || self.is_off(at) {
                    silent.push(self.silence(host));
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        if silent.is_empty() { Ok(()) } else { Err(silent) }
    }

    fn is_off(&mut self, at: usize) -> bool {
        let ended = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_some());
        self.booted.get(at).is_some_and(Booted::is_off) || self.plain.get_mut(at).is_some_and(ended)
    }

    fn silence(&self, host: &LabHost) -> Diagnostic {
        let log = fs::read_to_string(self.dir.join(format!("{}.log", host.name))).unwrap_or_default();
        let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
        let problem = Diagnostic::error(format!("the lab's host {} does not answer", host.name), None);
        lines[lines.len().saturating_sub(8)..].iter().fold(problem, |it, line| it.note(line.trim()))
    }

    /// Ends every host and removes what the lab made outside its own namespaces.
    fn end(self) {
        for host in &self.booted {
            host.stop_watching();
        }
        // As pid 1, "every process" is every process of this lab but the caller.
        let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
        while wait().is_ok() {}
        let _ = umount2(&self.dir.join("fs"), MntFlags::MNT_DETACH);
        cgroup::remove_lab(self.me);
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Whether a host's sshd says its banner now.
pub(super) fn greets(host: &LabHost) -> bool {
    let address = SocketAddr::from((host.ip, host.port));
    // Short, for a knock that comes before the card is up is lost and would be repeated after a second.
    let limit = Duration::from_millis(100);
    let Ok(mut stream) = TcpStream::connect_timeout(&address, limit) else { return false };
    let mut banner = [0; 8];
    stream.set_read_timeout(Some(Duration::from_secs(5))).is_ok()
        && stream.read_exact(&mut banner).is_ok()
        && banner.starts_with(b"SSH-2.0")
}
