//! A lab from the outside: starting it, reaching its hosts, ending it.
use super::network::inside;
use super::process::Started;
use super::requirement::{problems, tier};
use super::spec::{LabHost, LabSpec, Tier};
use super::state::{State, lock, private_folder};
use super::supervisor::{Answer, KEEP};
use super::sweep::sweep;
use super::{cgroup, failed, refused};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use nix::sched::{CloneFlags, setns, unshare};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// How long the end of a lab may take before it is said that it did not end.
const END: Duration = Duration::from_secs(30);

/// A lab that runs.
///
/// A lab that was started without `keep` ends when this is dropped, and when this process dies.
#[derive(Debug)]
pub struct Lab {
    state: State,
    dir: PathBuf,
    root: PathBuf,
    network: File,
    own: Option<Own>,
}

/// What only the process holds that started the lab and did not let it go.
#[derive(Debug)]
struct Own {
    supervisor: Child,
    lifeline: Option<ChildStdin>,
}

impl Lab {
    /// Starts a lab and waits until each host's sshd answers.
    ///
    /// What gone labs left behind is swept first. All that keeps the lab from starting is told at once.
    pub fn up(spec: &LabSpec) -> Result<Self, Problems> {
        let spec = LabSpec { tier: tier(spec.tier), ..spec.clone() };
        let found = problems(&spec);
        if !found.is_empty() {
            return Err(found);
        }
        let lock = lock(&spec.state)?;
        sweep(&spec.state);
        let dir = spec.dir();
        if dir.exists() {
            return Err(Diagnostic::error(format!("the lab `{}` runs already", spec.name), None)
                .help(format!("tunerun lab down --name {}", spec.name))
                .into());
        }
        private_folder(&dir)?;
        let started = Self::launch(&spec, &dir);
        if started.is_err() {
            let _ = fs::remove_dir_all(&dir);
        }
        drop(lock);
        started
    }

    fn launch(spec: &LabSpec, dir: &Path) -> Result<Self, Problems> {
        let mut own = supervisor(spec, dir)?;
        let started = own.answer(spec, dir).and_then(|()| Self::attach(&spec.state, &spec.name));
        match started {
            Ok(lab) if spec.keep => own.say(&[KEEP]).map(|()| lab).map_err(Problems::from),
            Ok(mut lab) => {
                lab.own = Some(own);
                Ok(lab)
            }
            Err(problems) => {
                own.end();
                cgroup::sweep();
                Err(problems)
            }
        }
    }

    /// The lab of this name that runs already.
    pub fn attach(root: &Path, name: &str) -> Result<Self, Problems> {
        let dir = root.join(name);
        let state = State::read(&dir)
            .filter(|state| state.supervisor.is_alive())
            .ok_or_else(|| Diagnostic::error(format!("no lab `{name}` runs"), None).help("tunerun lab up"))?;
        let path = format!("/proc/{}/ns/net", state.supervisor.pid);
        let network = File::open(&path).map_err(failed(format!("open {path}")))?;
        Ok(Self { state, dir, root: root.to_owned(), network, own: None })
    }

    /// The hosts, in the order they were asked for.
    pub fn hosts(&self) -> Vec<LabHost> {
        self.state.hosts.clone()
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Result<&LabHost, Box<Diagnostic>> {
        self.state.hosts.iter().find(|host| host.name == name).ok_or_else(|| {
            let problem = Diagnostic::error(format!("the lab has no host `{name}`"), None);
            match did_you_mean(name, self.state.hosts.iter().map(|host| host.name.as_str())) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem,
            }
            .into()
        })
    }

    /// The supervisor: its end is the end of the lab.
    pub fn supervisor(&self) -> Started {
        self.state.supervisor
    }

    /// Whether hosts are booted by systemd, so that units and reboots are real. Where not, a task that needs them
    /// has to be refused by name.
    pub fn has_systemd(&self) -> bool {
        self.state.tier == Tier::Booted
    }

    /// How real the hosts are: [`Tier::Plain`] or [`Tier::Booted`].
    pub fn tier(&self) -> Tier {
        self.state.tier
    }

    /// The lab's folder: `id_ed25519`, `known_hosts`, `ssh_config`, and a log for each host.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Connects to a port of a host, from inside the lab's network.
    ///
    /// The socket belongs to that network for as long as it lives, whatever thread uses it. It blocks; a caller
    /// in an async world sets it to non-blocking.
    pub fn dial(&self, host: &str, port: u16) -> std::io::Result<TcpStream> {
        let ip = self.host(host).map_err(|problem| std::io::Error::other(problem.message))?.ip;
        self.dial_address(ip, port, Duration::from_secs(10))
    }

    /// The same by address and with a time limit.
    pub fn dial_address(&self, ip: Ipv4Addr, port: u16, limit: Duration) -> std::io::Result<TcpStream> {
        // The connection's own error is handed on as it is, for callers tell "refused" from "timed out".
        inside(&self.network, || Ok(TcpStream::connect_timeout(&SocketAddr::from((ip, port)), limit)))
            .unwrap_or_else(|problem| Err(std::io::Error::other(problem.message)))
    }

    /// Becomes a program inside the lab's network; returns only if that failed.
    ///
    /// It moves the calling thread into that network, so it is for a process that has no other use left.
    pub fn exec(&self, program: &OsString, arguments: &[OsString]) -> Box<Diagnostic> {
        if let Err(error) = setns(&self.network, CloneFlags::CLONE_NEWNET) {
            return refused("enter the lab's network")(error);
        }
        failed(format!("run {}", program.display()))(Command::new(program).args(arguments).exec())
    }

    /// Starts a program inside the lab's network, as the caller prepared it, from a thread that is there.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, Box<Diagnostic>> {
        inside(&self.network, || command.spawn().map_err(failed("start a program in its network")))
    }

    /// Ends the lab and waits until nothing of it is left.
    pub fn down(mut self) -> Result<(), Problems> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Problems> {
        let _lock = lock(&self.root)?;
        let ended = match self.own.take() {
            Some(own) => own.end(),
            None => self.state.supervisor.end(END),
        };
        if !ended {
            let words = format!("the lab's supervisor, pid {}, does not end", self.state.supervisor.pid);
            return Err(Diagnostic::error(words, None).into());
        }
        cgroup::remove_lab(self.state.supervisor);
        let cleared = match fs::remove_dir_all(&self.dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        cleared.map_err(|error| failed(format!("remove {}", self.dir.display()))(error).into())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.own.is_some() {
            let _ = self.finish();
        }
    }
}

impl Own {
    /// Gives the supervisor its orders and waits for its answer.
    fn answer(&mut self, spec: &LabSpec, dir: &Path) -> Result<(), Problems> {
        let mut orders =
            serde_json::to_vec(spec).map_err(|error| failed("write its orders")(error.into()))?;
        orders.push(b'\n');
        let mut line = String::new();
        // A supervisor that ended early tells why in its log, not by the broken pipe.
        if self.say(&orders).is_ok()
            && let Some(answers) = self.supervisor.stdout.take()
        {
            BufReader::new(answers).read_line(&mut line).map_err(failed("hear from its supervisor"))?;
        }
        match serde_json::from_str(&line) {
            Ok(Answer::Ready) => Ok(()),
            Ok(Answer::Failed(told)) => Err(told
                .into_iter()
                .map(|(message, notes)| Diagnostic { notes, ..Diagnostic::error(message, None) })
                .collect()),
            Err(_) => {
                let log = fs::read_to_string(dir.join("supervisor.log")).unwrap_or_default();
                Err(Diagnostic::error("the lab's supervisor ended early", None).note(log.trim()).into())
            }
        }
    }

    fn say(&mut self, words: &[u8]) -> Result<(), Box<Diagnostic>> {
        let said = self.lifeline.as_mut().map(|lifeline| lifeline.write_all(words));
        said.unwrap_or(Ok(())).map_err(failed("speak to its supervisor"))
    }

    fn end(mut self) -> bool {
        drop(self.lifeline.take());
        let killed = self.supervisor.kill();
        killed.is_ok() && self.supervisor.wait().is_ok()
    }
}

/// Starts the supervisor in namespaces of its own, from a thread, so that the caller's stay what they are.
fn supervisor(spec: &LabSpec, dir: &Path) -> Result<Own, Box<Diagnostic>> {
    let log = File::create(dir.join("supervisor.log")).map_err(failed("open its log"))?;
    let mut supervisor = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(
                CloneFlags::CLONE_NEWNS
                    | CloneFlags::CLONE_NEWNET
                    | CloneFlags::CLONE_NEWPID
                    | CloneFlags::CLONE_NEWUTS
                    | CloneFlags::CLONE_NEWIPC,
            )
            .map_err(|error| {
                refused("make namespaces")(error)
                    .note("inside a container it needs CAP_SYS_ADMIN: --privileged")
            })?;
            Command::new(&spec.program)
                .arg("__lab-supervisor")
                .env_clear()
                .current_dir("/")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(log)
                .spawn()
                .map_err(failed(format!("start {}", spec.program.display())))
        });
        thread
            .join()
            .unwrap_or_else(|_| Err(Diagnostic::error("the lab's starting thread ended early", None).into()))
    })?;
    Ok(Own { lifeline: supervisor.stdin.take(), supervisor })
}
