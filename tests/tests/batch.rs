//! Batches on real shells: what is asked for is what is there, stale is left alone, and the way back is exact.
use modules::fold::fold;
use modules::vocabulary::{
    Act, Back, Claim, Content, HostPath, Identity, Image, Kind, Match, Meta, Read, Row, Seen, Step, TaskId,
};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tunerun::engine::batch::{Batch, BatchReport, Verdict};
use tunerun::engine::carrier::Carrier;
use tunerun::journal::Store;
use tunerun::transport::endpoint::Endpoint;
use tunerun::transport::{Connection, NoSecrets};

struct Bed {
    root: PathBuf,
    carrier: Carrier,
    who: Identity,
    store: Store,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

async fn bed(shell: &str, name: &str) -> Bed {
    let root = std::env::temp_dir().join(format!(
        "tunerun-batch-{}-{}-{name}",
        std::process::id(),
        shell.replace(' ', "-")
    ));
    std::fs::create_dir_all(root.join("etc")).unwrap();
    let mut endpoint = Endpoint::local("here");
    endpoint.interpreter = shell.to_owned();
    let connection = Connection::open(&endpoint, Arc::new(NoSecrets)).await.unwrap();
    let state = Some(HostPath::new(root.join("state").to_str().unwrap()).unwrap());
    let carrier =
        Carrier::Shell { connection: Arc::new(connection), who: tunerun::transport::Identity::Login, state };
    let (greeting, _) = carrier.greet(&[]).await.unwrap();
    Bed { store: Store::new(root.join("runs")), root, carrier, who: greeting.who }
}

impl Bed {
    /// The host's own undo takes the host's lock, which a connection that has acted holds until it ends.
    async fn leave(&self) {
        if let Carrier::Shell { connection, .. } = &self.carrier {
            connection.close().await;
        }
    }

    fn path(&self, below: &str) -> HostPath {
        HostPath::new(self.root.join(below).to_str().unwrap()).unwrap()
    }

    async fn seen(&self, path: &HostPath) -> Seen {
        let read = Read::text(path);
        self.carrier.look(std::slice::from_ref(&read)).await.unwrap().remove(&read).unwrap()
    }

    async fn put(&self, below: &str, image: Image) -> Step {
        let path = self.path(below);
        Step::put(Claim::file(&path), path.clone(), self.seen(&path).await, image)
    }

    /// Another connection to the same host.
    async fn again(&self, shell: &str) -> Carrier {
        let mut endpoint = Endpoint::local("here");
        endpoint.interpreter = shell.to_owned();
        let connection = Connection::open(&endpoint, Arc::new(NoSecrets)).await.unwrap();
        let state = Some(self.path("state"));
        Carrier::Shell { connection: Arc::new(connection), who: tunerun::transport::Identity::Login, state }
    }

    async fn run(&self, steps: Vec<Step>) -> (Batch, BatchReport, String) {
        let steps = fold(steps.into_iter().enumerate().map(|(index, step)| (TaskId(index as u32), step)));
        let batch = Batch {
            host: "here".into(),
            number: 1,
            steps,
            last: true,
            timeout: Some(30),
            ..Batch::default()
        };
        let journal = self.store.begin().unwrap();
        let run = journal.run().to_owned();
        let prepared = journal.prepare(batch.clone(), Vec::new()).await.unwrap();
        let report = self.carrier.carry_out(prepared, &self.who).await.unwrap();
        (batch, report, run)
    }
}

fn file(text: impl AsRef<[u8]>, mode: Option<u32>) -> Image {
    Image::File { content: Content::Bytes(text.as_ref().into()), meta: Meta { mode, ..Meta::default() } }
}

fn all_proven(batch: &Batch, report: &BatchReport) {
    for index in 0..batch.steps.len() {
        assert_eq!(report.verdict(batch, index), Verdict::Proven, "{:?} {report:?}", batch.steps[index]);
    }
}

async fn undo_by_hand(root: &Path, run: &str, shell: &str) -> std::process::Output {
    let script = root.join("state").join(run).join("undo.sh");
    let words: Vec<&str> = shell.split(' ').collect();
    // Not blocking: the connection that was left ends on this very thread.
    tokio::process::Command::new(words[0]).args(&words[1..]).arg(script).output().await.unwrap()
}

const SHELLS: [&str; 3] = ["dash", "bash", "busybox sh"];

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one story")]
async fn files_folders_links_and_modes_are_made_and_taken_back() {
    for shell in SHELLS {
        let bed = bed(shell, "all").await;
        let old = b"GRUB_CMDLINE_LINUX=\"quiet\"\n\xff\x00 raw\n";
        std::fs::write(bed.root.join("etc/grub"), old).unwrap();
        std::fs::set_permissions(bed.root.join("etc/grub"), std::fs::Permissions::from_mode(0o640)).unwrap();
        std::fs::write(bed.root.join("etc/crontab"), "x").unwrap();
        std::fs::write(bed.root.join("etc/gone it's"), "bye").unwrap();
        std::fs::create_dir_all(bed.root.join("etc/tree/deep")).unwrap();
        std::fs::write(bed.root.join("etc/tree/deep/leaf"), "leaf").unwrap();
        let every: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let folder =
            bed.put("etc/new.d", Image::Dir { meta: Meta { mode: Some(0o750), ..Meta::default() } }).await;
        let steps = vec![
            bed.put("etc/grub", file("GRUB_CMDLINE_LINUX=\"it's $(off)\"\n", None)).await,
            bed.put(
                "etc/crontab",
                Image::File { content: Content::Same, meta: Meta { mode: Some(0o600), ..Meta::default() } },
            )
            .await,
            folder,
            bed.put("etc/new.d/90 $x\n'.conf", file(&every, Some(0o644))).await,
            bed.put("etc/gone it's", Image::Absent).await,
            bed.put("etc/tree", Image::Absent).await,
            bed.put("etc/link", Image::Link { target: "../a b'c".into() }).await,
        ];
        let (batch, report, run) = bed.run(steps).await;
        all_proven(&batch, &report);
        assert_eq!(std::fs::read(bed.root.join("etc/new.d/90 $x\n'.conf")).unwrap(), every, "{shell}");
        assert_eq!(
            std::fs::metadata(bed.root.join("etc/grub")).unwrap().permissions().mode() & 0o7777,
            0o640
        );
        assert_eq!(
            std::fs::metadata(bed.root.join("etc/new.d")).unwrap().permissions().mode() & 0o7777,
            0o750
        );
        assert_eq!(
            std::fs::metadata(bed.root.join("etc/crontab")).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        assert_eq!(std::fs::read_link(bed.root.join("etc/link")).unwrap(), Path::new("../a b'c"));
        assert!(!bed.root.join("etc/tree").exists() && !bed.root.join("etc/gone it's").exists());
        let left: Vec<_> = std::fs::read_dir(bed.root.join("etc"))
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tunerun")), "{left:?}");

        bed.leave().await;
        let undone = undo_by_hand(&bed.root, &run, shell).await;
        assert!(undone.status.success(), "{shell}: {}", String::from_utf8_lossy(&undone.stderr));
        assert_eq!(std::fs::read(bed.root.join("etc/grub")).unwrap(), old);
        assert_eq!(
            std::fs::metadata(bed.root.join("etc/grub")).unwrap().permissions().mode() & 0o7777,
            0o640
        );
        assert_eq!(std::fs::read(bed.root.join("etc/gone it's")).unwrap(), b"bye");
        assert_eq!(std::fs::read(bed.root.join("etc/tree/deep/leaf")).unwrap(), b"leaf");
        assert!(
            !bed.root.join("etc/new.d").exists() && bed.root.join("etc/link").symlink_metadata().is_err()
        );
        assert!(
            undo_by_hand(&bed.root, &run, shell).await.status.success(),
            "repeating an undo does no harm"
        );
    }
}

#[tokio::test]
async fn what_moved_since_the_plan_is_stale_and_nothing_is_written() {
    for shell in SHELLS {
        let bed = bed(shell, "stale").await;
        std::fs::write(bed.root.join("etc/a"), "one\n").unwrap();
        std::fs::write(bed.root.join("etc/b"), "one\n").unwrap();
        let steps =
            vec![bed.put("etc/a", file("two\n", None)).await, bed.put("etc/b", file("two\n", None)).await];
        std::fs::write(bed.root.join("etc/b"), "by hand\n").unwrap();
        let (_, report, _) = bed.run(steps).await;
        let words = report.stale.unwrap();
        assert!(words.contains("etc/b") && !words.contains("etc/a is"), "{words}");
        assert_eq!(std::fs::read(bed.root.join("etc/a")).unwrap(), b"one\n");
        assert_eq!(std::fs::read(bed.root.join("etc/b")).unwrap(), b"by hand\n");
        assert_eq!(std::fs::read_dir(bed.root.join("etc")).unwrap().count(), 2);

        let appeared = vec![bed.put("etc/c", file("c", None)).await];
        std::fs::write(bed.root.join("etc/c"), "mine").unwrap();
        let (_, report, _) = bed.run(appeared).await;
        assert!(report.stale.unwrap().contains("etc/c"));
        assert_eq!(std::fs::read(bed.root.join("etc/c")).unwrap(), b"mine");
    }
}

#[tokio::test]
async fn a_third_persons_edit_survives_the_hosts_own_undo() {
    let bed = bed("dash", "third").await;
    std::fs::write(bed.root.join("etc/a"), "one\n").unwrap();
    let steps =
        vec![bed.put("etc/a", file("two\n", None)).await, bed.put("etc/new", file("n\n", None)).await];
    let (batch, report, run) = bed.run(steps).await;
    all_proven(&batch, &report);
    std::fs::write(bed.root.join("etc/a"), "three\n").unwrap();
    bed.leave().await;
    let undone = undo_by_hand(&bed.root, &run, "dash").await;
    assert!(!undone.status.success());
    assert!(String::from_utf8_lossy(&undone.stderr).contains("left alone"));
    assert_eq!(std::fs::read(bed.root.join("etc/a")).unwrap(), b"three\n");
    assert!(!bed.root.join("etc/new").exists(), "the rest is taken back");
}

#[tokio::test]
async fn a_failing_act_stops_the_batch_and_is_told_by_its_own_words() {
    for shell in SHELLS {
        let bed = bed(shell, "fail").await;
        let call = |row: Row| Step::call(Claim::new("command", "x"), row, Vec::new(), Back::Nothing);
        let steps = vec![
            bed.put("etc/first", file("1", None)).await,
            call(Row::new("shell", ["echo out; echo it broke >&2; exit 7"])),
            bed.put("etc/never", file("2", None)).await,
        ];
        let (batch, report, run) = bed.run(steps).await;
        assert_eq!(report.verdict(&batch, 0), Verdict::Proven);
        let Verdict::Failed(words) = report.verdict(&batch, 1) else { panic!("{report:?}") };
        assert!(words.contains("status 7") && words.contains("it broke"), "{words}");
        assert_eq!(report.verdict(&batch, 2), Verdict::NotReached);
        assert!(!bed.root.join("etc/never").exists());
        let output = &report.acts[1].as_ref().unwrap().output;
        assert_eq!(output.text(), "out\n");
        bed.leave().await;
        assert!(undo_by_hand(&bed.root, &run, shell).await.status.success());
        assert!(!bed.root.join("etc/first").exists());
    }
}

#[tokio::test]
async fn a_full_disk_and_a_refused_validation_write_nothing() {
    let bed = bed("dash", "validate").await;
    std::fs::write(bed.root.join("etc/a"), "good\n").unwrap();
    let step = bed.put("etc/a", file("bad\n", None)).await.validated(Some("grep -q good %s".into()));
    let (_, report, _) = bed.run(vec![step]).await;
    assert!(report.unstaged.is_some(), "{report:?}");
    assert_eq!(std::fs::read(bed.root.join("etc/a")).unwrap(), b"good\n");
    assert_eq!(std::fs::read_dir(bed.root.join("etc")).unwrap().count(), 1);
    let missing = bed.put("none/a", file("x", None)).await;
    let (_, report, _) = bed.run(vec![missing]).await;
    assert!(report.unstaged.is_some(), "{report:?}");
}

#[tokio::test]
async fn other_hard_links_keep_seeing_the_file() {
    let bed = bed("dash", "links").await;
    std::fs::write(bed.root.join("etc/a"), "one\n").unwrap();
    std::fs::hard_link(bed.root.join("etc/a"), bed.root.join("etc/b")).unwrap();
    let step = bed.put("etc/a", file("two\n", Some(0o600))).await;
    let (batch, report, _) = bed.run(vec![step]).await;
    all_proven(&batch, &report);
    assert_eq!(std::fs::read(bed.root.join("etc/b")).unwrap(), b"two\n");
}

#[tokio::test]
async fn every_kind_of_node_is_seen_as_it_is() {
    for shell in SHELLS {
        let bed = bed(shell, "seen").await;
        std::fs::write(bed.root.join("etc/a"), "one\n").unwrap();
        std::os::unix::fs::symlink("a", bed.root.join("etc/l")).unwrap();
        std::fs::write(bed.root.join("etc/large"), vec![b'x'; (1 << 20) + 1]).unwrap();
        assert!(matches!(bed.seen(&bed.path("etc/none")).await, Seen::Absent));
        assert!(matches!(bed.seen(&bed.path("etc")).await, Seen::Node(node) if node.kind == Kind::Dir));
        assert!(
            matches!(bed.seen(&bed.path("etc/l")).await, Seen::Node(node) if node.kind == Kind::Link { target: "a".into() })
        );
        let Seen::Node(large) = bed.seen(&bed.path("etc/large")).await else { panic!() };
        assert!(large.bytes().is_none() && large.digest().is_some(), "{large:?}");
        let version = HostPath::new("/proc/sys/kernel/ostype").unwrap();
        assert_eq!(bed.seen(&version).await, Seen::Value("Linux".into()));
        let glob = Read::Glob(format!("{}/etc/*", bed.root.display()));
        let seen = bed.carrier.look(std::slice::from_ref(&glob)).await.unwrap();
        assert!(matches!(&seen[&glob], Seen::Names(names) if names.len() == 3));
        let ask = Read::Ask(Row::new("uname", ["-s"]));
        let seen = bed.carrier.look(std::slice::from_ref(&ask)).await.unwrap();
        assert!(
            matches!(&seen[&ask], Seen::Output(output) if output.text() == "Linux\n" && output.status == 0)
        );
    }
}

#[tokio::test]
async fn a_value_that_did_not_take_is_a_failed_step() {
    let bed = bed("dash", "value").await;
    let path = bed.path("etc/value");
    std::fs::write(path.as_str(), "60\n").unwrap();
    // The look is of another file: what is seen afterwards is not what was written.
    let other = HostPath::new("/proc/sys/kernel/ostype").unwrap();
    let mut step = Step::write(
        Claim::new("sysctl", "x"),
        path,
        Seen::Value("Linux".into()),
        "10",
        modules::shape::Shape::Words,
    );
    step.look = Some(Read::text(&other));
    assert!(matches!(step.act, Act::Write { .. }) && matches!(step.after, Match::Alike { .. }));
    let (batch, report, _) = bed.run(vec![step]).await;
    let Verdict::Failed(words) = report.verdict(&batch, 0) else { panic!("{report:?}") };
    assert!(words.contains("Linux"), "{words}");
}

#[tokio::test]
async fn a_batch_that_comes_late_does_nothing() {
    for shell in SHELLS {
        let bed = bed(shell, "late").await;
        let steps = |step| fold([(TaskId(0), step)]);
        let numbered = |number, step| Batch {
            host: "here".into(),
            number,
            steps: steps(step),
            timeout: Some(30),
            ..Batch::default()
        };
        let journal = bed.store.begin().unwrap();
        let first = numbered(1, bed.put("etc/late", file("1", None)).await);
        let late = journal.prepare(first.clone(), Vec::new()).await.unwrap();
        // Whoever sent it is taken for gone: a recovery looks, finds nothing, and leaves.
        let recovery = bed.again(shell).await;
        recovery.hold((journal.run(), "somebody"), &bed.who, &[&first]).await.unwrap();
        let Carrier::Shell { connection, .. } = &recovery else { unreachable!() };
        connection.close().await;
        let report = bed.carrier.carry_out(late, &bed.who).await.unwrap();
        assert!(
            report.locked.as_ref().is_some_and(|who| who.contains("taken batch 1 for lost")),
            "{report:?}"
        );
        assert!(report.nothing_was_written());
        assert!(!bed.root.join("etc/late").exists());
        // The same program that goes on after a lost link numbers its batches on.
        bed.carrier.hold((journal.run(), journal.holder()), &bed.who, &[&first]).await.unwrap();
        let again = journal.prepare(first, Vec::new()).await.unwrap();
        let report = bed.carrier.carry_out(again, &bed.who).await.unwrap();
        assert!(report.nothing_was_written(), "{report:?}");
        let second = numbered(2, bed.put("etc/late", file("2", None)).await);
        let prepared = journal.prepare(second.clone(), Vec::new()).await.unwrap();
        all_proven(&second, &bed.carrier.carry_out(prepared, &bed.who).await.unwrap());
        // Nobody is kept out by one that came late.
        connection.close().await;
    }
}

#[tokio::test]
async fn a_session_that_lost_its_controller_does_not_keep_its_run_from_going_back() {
    for shell in SHELLS {
        let bed = bed(shell, "orphan").await;
        let (_, _, run) = bed.run(vec![bed.put("etc/made", file("1", None)).await]).await;
        // Its session stays, and nobody speaks to it any more. Another run is kept out, this run's recovery is not.
        let recovery = bed.again(shell).await;
        let other = recovery.hold(("20260101-000000-aaaa", "other"), &bed.who, &[]);
        let other = tokio::time::timeout(std::time::Duration::from_secs(2), other).await;
        assert!(other.is_err(), "another run waits");
        let recovery = bed.again(shell).await;
        recovery.hold((&run, "somebody"), &bed.who, &[]).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_at_work_is_waited_for() {
    let bed = bed("dash", "work").await;
    let row = Row::new("shell", [format!("touch {}/begun; sleep 2", bed.root.display())]);
    let step = Step::call(Claim::new("command", "x"), row, Vec::new(), Back::Nothing);
    let begun = bed.root.join("begun");
    let recovery = async {
        while !begun.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let run = bed.store.runs().pop().unwrap();
        let asked = std::time::Instant::now();
        let held = bed.again("dash").await.hold((&run, "somebody"), &bed.who, &[]).await;
        (held.map(drop), asked.elapsed())
    };
    let ((batch, report, _), (held, waited)) = tokio::join!(bed.run(vec![step]), recovery);
    all_proven(&batch, &report);
    held.unwrap();
    assert!(waited > std::time::Duration::from_secs(1), "{waited:?}");
}

#[tokio::test]
async fn what_a_failed_act_had_begun_does_not_keep_its_folder() {
    for shell in SHELLS {
        let bed = bed(shell, "begun").await;
        let folder = Image::Dir { meta: Meta::default() };
        let call = |row: Row| Step::call(Claim::new("command", "x"), row, Vec::new(), Back::Nothing);
        // In a folder of the same batch a file is written beside its name: here that name becomes a folder first.
        let steps = vec![
            bed.put("etc/new", folder).await,
            call(Row::new("shell", [format!("mkdir {}", bed.path("etc/new/f").as_str())])),
            bed.put("etc/new/f", file("1", None)).await,
            bed.put("etc/other", file("2", None)).await,
        ];
        let (batch, report, _) = bed.run(steps).await;
        assert!(matches!(report.verdict(&batch, 2), Verdict::Failed(_)), "{report:?}");
        let left = |below: &str| {
            let names = std::fs::read_dir(bed.root.join(below)).unwrap().flatten();
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(left("etc/new"), ["f"], "{shell}");
        assert_eq!(left("etc"), ["new"], "{shell}: nor does what waited for its turn stay");
    }
}
