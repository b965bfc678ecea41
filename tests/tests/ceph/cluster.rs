//! The cluster of the stage, or one of a test's own: see `tests/ceph/cluster`.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A cluster that runs.
pub struct Cluster {
    pub dir: PathBuf,
    /// Holds one of our own until it is dropped; its standard input is the lifeline.
    holder: Option<Child>,
}

/// What a command of the cluster answered.
pub struct Answer {
    pub status: i32,
    pub out: String,
    pub err: String,
}

pub fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("ceph/cluster")
}

/// Whether a cluster can run here. Where it cannot, says so loudly, and fails under CI.
pub fn can() -> bool {
    let missing: Vec<&str> = ["ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "jq"]
        .into_iter()
        .filter(|name| !["/usr/bin", "/bin"].iter().any(|folder| Path::new(folder).join(name).exists()))
        .collect();
    if !missing.is_empty() {
        eprintln!(
            "NOT TESTED: no Ceph here, {} missing (ceph-mon ceph-mgr ceph-osd ceph-common jq)",
            missing.join(", ")
        );
        assert!(std::env::var_os("CI").is_none(), "CI must have {}", missing.join(", "));
    }
    missing.is_empty() && tests::program::is_root("a Ceph cluster")
}

impl Cluster {
    /// The stage's cluster, else one of our own. None where it cannot be tested here.
    pub fn any() -> Option<Self> {
        match std::env::var_os("TUNERUN_CEPH") {
            Some(dir) => Some(Self { dir: dir.into(), holder: None }),
            None => Self::own(&[]),
        }
    }

    /// A cluster of our own.
    pub fn own(settings: &[(&str, &str)]) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !can() {
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("tunerun-ceph-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut holder = Command::new("bash")
            .arg(script())
            .arg("hold")
            .arg(&dir)
            .envs(settings.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let cluster = Self { dir, holder: Some(holder) };
        assert_eq!(said.trim(), "ready", "the cluster did not come up");
        Some(cluster)
    }

    /// A verb of the script, such as `stop-mon a`.
    pub fn does(&self, words: &[&str]) {
        let (verb, operands) = words.split_first().unwrap();
        let status = Command::new("bash")
            .arg(script())
            .arg(verb)
            .arg(&self.dir)
            .args(operands)
            .stdin(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{words:?}");
    }

    /// A command of `ceph`.
    pub fn ceph(&self, words: &[&str]) -> Answer {
        self.program(&["ceph", "--connect-timeout", "30"], words)
    }

    /// A command of `rados` that must end well.
    #[track_caller]
    pub fn rados(&self, words: &[&str]) -> String {
        let answer = self.program(&["rados"], words);
        assert_eq!(answer.status, 0, "rados {words:?}: {}", answer.err);
        answer.out
    }

    /// A command of `rbd`.
    pub fn rbd(&self, words: &[&str]) -> Answer {
        self.program(&["rbd"], words)
    }

    fn program(&self, program: &[&str], words: &[&str]) -> Answer {
        let output = Command::new("timeout")
            .args(["-k", "5", "60"])
            .args(program)
            .arg("--conf")
            .arg(self.conf())
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Answer {
            status: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// A command that must end well.
    #[track_caller]
    pub fn good(&self, words: &[&str]) -> String {
        let answer = self.ceph(words);
        assert_eq!(answer.status, 0, "{words:?}: {}", answer.err);
        answer.out
    }

    pub fn conf(&self) -> PathBuf {
        self.dir.join("ceph.conf")
    }

    pub fn fsid(&self) -> String {
        self.good(&["fsid"]).trim().to_owned()
    }

    /// What is stored for somebody.
    pub fn stored(&self, who: &str, name: &str) -> Option<String> {
        self.key(&format!("config/{who}/{name}"))
    }

    /// What each OSD holds, by number.
    pub fn held(&self, name: &str) -> Vec<String> {
        let told = self.good(&["tell", "osd.*", "config", "get", name, "-f", "json"]);
        let mut values: Vec<(String, String)> = told
            .lines()
            .filter_map(|line| {
                let (daemon, object) = line.split_once(": ")?;
                let object: serde_json::Value = serde_json::from_str(object).ok()?;
                Some((daemon.to_owned(), object[name].as_str()?.to_owned()))
            })
            .collect();
        values.sort();
        values.into_iter().map(|(_, value)| value).collect()
    }

    /// An answer in JSON.
    #[track_caller]
    pub fn json(&self, words: &[&str]) -> serde_json::Value {
        let words: Vec<&str> = words.iter().copied().chain(["-f", "json"]).collect();
        serde_json::from_str(&self.good(&words)).unwrap()
    }

    /// The codes of what is not well.
    pub fn health(&self) -> Vec<String> {
        let health = self.json(&["health"]);
        health["checks"].as_object().unwrap().keys().cloned().collect()
    }

    /// Flags of the OSD map that somebody of this name has.
    pub fn flags(&self, node: &str) -> Vec<String> {
        let dump = self.json(&["osd", "dump"]);
        let words = |list: &serde_json::Value| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect()
        };
        match node.strip_prefix("osd.") {
            Some(id) => {
                let (osds, id) = (dump["osds"].as_array().unwrap(), id.parse::<i64>().unwrap());
                words(&osds.iter().find(|osd| osd["osd"].as_i64() == Some(id)).unwrap()["state"])
            }
            None if node == "." => words(&dump["flags_set"]),
            None => {
                [words(&dump["crush_node_flags"][node]), words(&dump["device_class_flags"][node])].concat()
            }
        }
    }

    /// Whether a pool is there.
    pub fn has_pool(&self, name: &str) -> bool {
        self.good(&["osd", "pool", "ls"]).lines().any(|line| line == name)
    }

    /// Takes a pool away, whatever is in it.
    pub fn drop_pool(&self, name: &str) {
        self.good(&["osd", "pool", "rm", name, name, "--yes-i-really-really-mean-it"]);
    }

    /// One key of the mons' store.
    pub fn key(&self, name: &str) -> Option<String> {
        let answer = self.ceph(&["config-key", "get", name]);
        match answer.status {
            0 => Some(answer.out.trim().to_owned()),
            2 => None,
            other => panic!("{other}: {}", answer.err),
        }
    }

    /// The newest version of the options' log.
    pub fn version(&self) -> u64 {
        let log: serde_json::Value =
            serde_json::from_str(&self.good(&["config", "log", "1", "-f", "json"])).unwrap();
        log[0]["version"].as_u64().unwrap_or(0)
    }

    /// Takes away what a test set, whatever became of it.
    pub fn clear(&self, settings: &[(&str, &str)]) {
        for (who, name) in settings {
            self.good(&["config", "rm", who, name]);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut holder) = self.holder.take() {
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
}
