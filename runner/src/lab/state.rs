//! What is written about a lab: one folder each, with the supervisor's name, the hosts, and the way in.
use super::failed;
use super::process::Started;
use super::spec::{LabHost, LabSpec, Tier};
use crate::diagnostic::{Diagnostic, Problems};
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The version of `state.json`.
const FORMAT: u16 = 1;

/// A lab as its folder tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct State {
    /// The version of this format.
    pub format: u16,
    /// The lab's name.
    pub name: String,
    /// How real its hosts are; never [`Tier::Auto`].
    pub tier: Tier,
    /// The supervisor, as the machine's own pid namespace counts.
    pub supervisor: Started,
    /// The hosts.
    pub hosts: Vec<LabHost>,
    /// The cgroups made for the lab, innermost last.
    pub cgroups: Vec<PathBuf>,
}

impl State {
    /// The state of a lab that is about to start.
    pub fn new(spec: &LabSpec, tier: Tier, supervisor: Started, hosts: Vec<LabHost>) -> Self {
        Self { format: FORMAT, name: spec.name.clone(), tier, supervisor, hosts, cgroups: Vec::new() }
    }

    /// Reads the state in a lab's folder; none if there is no such lab.
    pub fn read(dir: &Path) -> Option<Self> {
        let state: Self = serde_json::from_slice(&fs::read(dir.join("state.json")).ok()?).ok()?;
        (state.format == FORMAT).then_some(state)
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, dir: &Path) -> Result<(), Box<Diagnostic>> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed("name its state")(error.into()))?;
        let aside = dir.join("state.json.new");
        fs::write(&aside, text).map_err(failed(format!("write {}", aside.display())))?;
        fs::rename(&aside, dir.join("state.json")).map_err(failed("put its state in place"))
    }
}

/// One line of `lab list`.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// The lab's name.
    pub name: String,
    /// How real its hosts are.
    pub tier: Tier,
    /// The supervisor.
    pub supervisor: Started,
    /// Whether it still runs; if not, the next `lab up` or `lab down` clears it away.
    pub alive: bool,
    /// The hosts.
    pub hosts: Vec<LabHost>,
}

/// The labs whose folders are in `root`, by name.
pub fn list(root: &Path) -> Vec<Listed> {
    let mut labs: Vec<Listed> = folders(root)
        .into_iter()
        .filter_map(|dir| State::read(&dir))
        .map(|state| Listed {
            alive: state.supervisor.is_alive(),
            name: state.name,
            tier: state.tier,
            supervisor: state.supervisor,
            hosts: state.hosts,
        })
        .collect();
    labs.sort_by(|a, b| a.name.cmp(&b.name));
    labs
}

/// The folders of labs in `root`.
pub(super) fn folders(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Makes a folder that only its owner may enter.
pub(super) fn private_folder(path: &Path) -> Result<(), Box<Diagnostic>> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed(format!("make {}", path.display())))
}

/// Writes a file that only its owner may read.
pub(super) fn private_file(path: &Path, text: &[u8]) -> Result<(), Box<Diagnostic>> {
    let _ = fs::remove_file(path);
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text))
        .map_err(failed(format!("write {}", path.display())))
}

/// Holds off every other `up`, `down` and sweep on the same folder of labs until it is dropped.
pub(super) fn lock(root: &Path) -> Result<Flock<File>, Problems> {
    private_folder(root)?;
    let path = root.join(".lock");
    let file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(failed(format!("open {}", path.display())))?;
    Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, error)| failed(format!("lock {}", path.display()))(error.into()).into())
}
