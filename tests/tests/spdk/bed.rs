//! A folder with a socket, a playbook and runs; this machine is its host.
use modules::host::Target;
use modules::vocabulary::HostPath;
use serde_json::Value as Json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tests::program::tunerun;
use tunerun::transport::endpoint::Endpoint;
use tunerun::transport::rpc::Client;
use tunerun::transport::{Connection, Identity, NoSecrets};

/// The folder of the recorded cases.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/spdk-rpc")
}

/// The names of all recorded cases, sorted.
pub fn cases() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// A recorded case.
pub fn case(name: &str) -> Json {
    let text = fs::read_to_string(data().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// An empty target on two cores with 2 GiB.
pub fn target() -> Target {
    Target::new(&[0, 1], 2 << 30)
}

/// A client as the login user.
pub async fn client<'a>(link: &'a Connection, socket: &Path) -> Client<'a> {
    let socket = HostPath::new(socket.to_str().unwrap()).unwrap();
    Client::open(link, &Identity::Login, &socket).await.unwrap_or_else(|why| panic!("{why:?}"))
}

/// The folder. It goes away with all of it.
pub struct Bed {
    pub root: PathBuf,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Bed {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // The path of a socket is short.
        let root = Path::new("/var/tmp").join(format!("tunerun-spdk-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("etc")).unwrap();
        let inventory = format!("h ansible_connection=local tunerun_state_dir={}/state\n", root.display());
        fs::write(root.join("hosts.ini"), inventory).unwrap();
        Self { root }
    }

    /// Where a target serves.
    pub fn socket(&self) -> PathBuf {
        self.root.join("spdk.sock")
    }

    /// Where the list is kept.
    pub fn list(&self) -> PathBuf {
        self.root.join("etc/vhost.json")
    }

    /// A link to this machine.
    pub async fn link(&self) -> Connection {
        Connection::open(&Endpoint::local("h"), Arc::new(NoSecrets)).await.unwrap()
    }

    /// Writes a playbook of one `spdk_vhost` task. `args` is YAML, indented by six blanks.
    pub fn vhost(&self, args: &str, more: &str) {
        let text = format!(
            "- hosts: all\n  gather_facts: false\n  tasks:\n  - name: exports\n    spdk_vhost:\n      socket: {}\n      \
             config: {}\n{args}{more}",
            self.socket().display(),
            self.list().display()
        );
        fs::write(self.root.join("play.yml"), text).unwrap();
    }

    /// A call of the program.
    pub fn words(&self, words: &[&str]) -> Command {
        let mut command = Command::new(tunerun());
        command.args(words).current_dir(&self.root).env("TUNERUN_RUNS", self.root.join("runs"));
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    pub fn tunerun(&self, words: &[&str]) -> Said {
        let output = self.words(words).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        Said { code: output.status.code(), text }
    }

    /// The name of the oldest run.
    pub fn oldest(&self) -> String {
        let runs = self.tunerun(&["runs"]).ended(0).text;
        runs.lines().next().unwrap().split_whitespace().next().unwrap().to_owned()
    }

    pub fn play(&self) -> Said {
        self.tunerun(&["play", "play.yml", "-i", "hosts.ini", "--yes"])
    }
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub text: String,
}

impl Said {
    /// Asserts how it ended, and shows what it said where it did not.
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self
    }

    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.text.contains(word), "`{word}` is missing in:\n{}", self.text);
        }
        self
    }

    #[track_caller]
    pub fn never_says(self, word: &str) -> Self {
        assert!(!self.text.contains(word), "`{word}` is in:\n{}", self.text);
        self
    }
}

/// Two block devices, a scsi and a blk controller.
pub const ALL: &str = "      bdevs:
      - {name: Malloc0, kind: malloc, size: 512M, block_size: 4096}
      - {name: Malloc1, kind: malloc, size: 64M}
      - {name: Aio0, kind: aio, file: /srv/disk.img, block_size: 4096}
      controllers:
      - {name: vhost.0, kind: scsi, cpumask: 0x1, slots: {0: Malloc0, 3: Aio0}}
      - {name: vhost.1, kind: blk, cpumask: '[1]', bdev: Malloc1}
";
