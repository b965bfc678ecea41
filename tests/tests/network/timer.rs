//! The dead man of a batch on real shells: confirmed it stays, unconfirmed it goes back, and whoever decides first decides.
use crate::bed::until;
use modules::fold::fold;
use modules::vocabulary::{Claim, Content, HostPath, Identity, Image, Meta, Read, Step, TaskId};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tunerun::engine::batch::{Batch, BatchReport};
use tunerun::engine::carrier::{Carrier, Decided};
use tunerun::journal::Store;
use tunerun::transport::endpoint::Endpoint;
use tunerun::transport::{Connection, NoSecrets};

const SHELLS: [&str; 3] = ["dash", "bash", "busybox sh"];
const LIMIT: Duration = Duration::from_secs(60);

struct Bed {
    root: PathBuf,
    shell: String,
    who: Identity,
    store: Store,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl Bed {
    async fn new(shell: &str, name: &str) -> (Self, Carrier) {
        let folder = format!("tunerun-timer-{}-{}-{name}", std::process::id(), shell.replace(' ', "-"));
        let root = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(root.join("etc")).unwrap();
        std::fs::write(root.join("etc/one"), "old\n").unwrap();
        let store = Store::new(root.join("runs"));
        let mut bed = Self { root, shell: shell.to_owned(), who: Identity::default(), store };
        let carrier = bed.connect().await;
        bed.who = carrier.greet(&[]).await.unwrap().0.who;
        (bed, carrier)
    }

    /// A connection of its own.
    async fn connect(&self) -> Carrier {
        let mut endpoint = Endpoint::local("here");
        endpoint.interpreter.clone_from(&self.shell);
        let connection = Connection::open(&endpoint, Arc::new(NoSecrets)).await.unwrap();
        let state = Some(HostPath::new(self.root.join("state").to_str().unwrap()).unwrap());
        Carrier::Shell { connection: Arc::new(connection), who: tunerun::transport::Identity::Login, state }
    }

    /// Writes the file under a dead man; gives the run's name.
    async fn watched(&self, carrier: &Carrier, seconds: u32) -> (String, Batch, BatchReport) {
        let path = HostPath::new(self.root.join("etc/one").to_str().unwrap()).unwrap();
        let read = Read::text(&path);
        let before = carrier.look(std::slice::from_ref(&read)).await.unwrap().remove(&read).unwrap();
        let image = Image::File { content: Content::Bytes("new\n".into()), meta: Meta::default() };
        let steps = fold([(TaskId(0), Step::put(Claim::file(&path), path, before, image))]);
        let batch =
            Batch { host: "here".into(), number: 1, steps, dead_man: Some(seconds), ..Batch::default() };
        let journal = self.store.begin().unwrap();
        let run = journal.run().to_owned();
        let prepared = journal.prepare(batch.clone(), Vec::new()).await.unwrap();
        let report = carrier.carry_out(prepared, &self.who).await.unwrap();
        assert!(!report.nothing_was_written(), "{}: {report:?}", self.shell);
        assert_eq!(self.one(), "new\n", "{}", self.shell);
        (run, batch, report)
    }

    fn one(&self) -> String {
        std::fs::read_to_string(self.root.join("etc/one")).unwrap()
    }

    fn of_batch(&self, run: &str, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join("state").join(run).join("1").join(name)).ok()
    }

    /// Whether the timer's process is gone.
    fn has_ended(&self, run: &str) -> bool {
        let pid = self.of_batch(run, "armed").unwrap_or_default();
        let command = std::fs::read(format!("/proc/{}/cmdline", pid.trim())).unwrap_or_default();
        !command.windows(8).any(|part| part == b"dead-man")
    }
}

#[tokio::test]
async fn confirmed_it_stays() {
    for shell in SHELLS {
        let (bed, carrier) = Bed::new(shell, "stays").await;
        let (run, ..) = bed.watched(&carrier, 3).await;
        assert!(!bed.has_ended(&run), "{shell}: the timer runs");
        let other = bed.connect().await;
        assert_eq!(other.confirm(&run, &bed.who, 1).await.unwrap(), Decided::Confirmed, "{shell}");
        assert_eq!(
            other.confirm(&run, &bed.who, 1).await.unwrap(),
            Decided::Confirmed,
            "{shell}: said again"
        );
        until("the timer has ended", LIMIT, || bed.has_ended(&run));
        assert_eq!(bed.one(), "new\n", "{shell}");
    }
}

#[tokio::test]
async fn unconfirmed_it_goes_back_though_the_session_holds_the_lock() {
    for shell in SHELLS {
        let (bed, carrier) = Bed::new(shell, "back").await;
        let (run, ..) = bed.watched(&carrier, 1).await;
        until("it went back", LIMIT, || bed.of_batch(&run, "decided/ended").is_some());
        assert_eq!(bed.one(), "old\n", "{shell}");
        assert_eq!(bed.of_batch(&run, "decided/by").unwrap(), "fired\n");
        let other = bed.connect().await;
        let decided = other.confirm(&run, &bed.who, 1).await.unwrap();
        assert!(matches!(decided, Decided::TakenBack { status: 0, .. }), "{shell}: {decided:?}");
        assert_eq!(bed.one(), "old\n", "{shell}: it is too late to confirm");
    }
}

#[tokio::test]
async fn a_third_hands_edit_is_left_alone_and_said() {
    let (bed, carrier) = Bed::new("dash", "third").await;
    let (run, ..) = bed.watched(&carrier, 1).await;
    std::fs::write(bed.root.join("etc/one"), "mine\n").unwrap();
    until("it was tried", LIMIT, || bed.of_batch(&run, "decided/ended").is_some());
    assert_eq!(bed.one(), "mine\n");
    let other = bed.connect().await;
    let Decided::TakenBack { status: 1, said } = other.confirm(&run, &bed.who, 1).await.unwrap() else {
        panic!()
    };
    assert!(said.contains("left alone"), "{said}");
}

#[tokio::test]
async fn a_recovery_decides_before_the_timer() {
    for shell in SHELLS {
        let (bed, carrier) = Bed::new(shell, "recovery").await;
        let (run, batch, _) = bed.watched(&carrier, 6).await;
        if let Carrier::Shell { connection, .. } = &carrier {
            connection.close().await;
        }
        let other = bed.connect().await;
        other.hold((&run, "another"), &bed.who, &[&batch]).await.unwrap();
        assert_eq!(bed.of_batch(&run, "decided/by").as_deref(), Some("recovered\n"), "{shell}");
        until("the timer has ended", LIMIT, || bed.has_ended(&run));
        assert_eq!(bed.one(), "new\n", "{shell}: what becomes of it is the recovery's");
    }
}

#[tokio::test]
async fn a_person_by_the_hosts_own_undo_decides_too() {
    for shell in SHELLS {
        let (bed, carrier) = Bed::new(shell, "person").await;
        let (run, ..) = bed.watched(&carrier, 6).await;
        if let Carrier::Shell { connection, .. } = &carrier {
            connection.close().await;
        }
        let script = bed.root.join("state").join(&run).join("undo.sh");
        let words: Vec<&str> = shell.split(' ').collect();
        let output =
            tokio::process::Command::new(words[0]).args(&words[1..]).arg(script).output().await.unwrap();
        assert!(output.status.success(), "{shell}: {output:?}");
        assert_eq!(bed.of_batch(&run, "decided/by").as_deref(), Some("undone\n"), "{shell}");
        assert_eq!(bed.one(), "old\n", "{shell}");
        std::fs::write(bed.root.join("etc/one"), "new\n").unwrap();
        until("the timer has ended", LIMIT, || bed.has_ended(&run));
        assert_eq!(bed.one(), "new\n", "{shell}: nothing goes back twice");
    }
}
