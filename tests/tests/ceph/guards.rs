//! Guards around hosts of a real cluster: who may go down, what is waited for, and flags that never stay.
use super::bed::Bed;
use super::cluster::Cluster;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tunerun::engine::links::Links;
use tunerun::engine::target::{Acting, Target};
use tunerun::engine::vocabulary::vocabulary;
use tunerun::engine::walk::{Asked, Scene};
use tunerun::inventory::{Disk, Inventory, InventorySource};
use tunerun::journal::{Journal, Store};
use tunerun::playbook::rollout::Guard;
use tunerun::playbook::{Loader, Memory};
use tunerun::rollout::guards::{Going, Ground, Guards, Held, Stopped, Tell, Waiting, left_by};
use tunerun::template::{TemplateWorld, Templates};
use tunerun::transport::NoSecrets;
use tunerun::transport::endpoint::Defaults;

/// Hosts of one machine: each has the daemons that its variables name.
struct Stage<'c> {
    cluster: &'c Cluster,
    bed: Bed<'c>,
    told: Arc<Mutex<Vec<Waiting>>>,
}

impl<'c> Stage<'c> {
    fn new(cluster: &'c Cluster) -> Self {
        let fsid = cluster.fsid();
        let bed = Bed::new(cluster, &["h0", "h1", "h2"], &["a"], &format!("ceph_fsid: {fsid}"));
        for number in 0..3 {
            bed.host_vars(&format!("h{number}"), &format!("ceph_daemons: [osd.{number}]\n"));
        }
        bed.host_vars("a", "ceph_daemons: [mon.a]\n");
        Self { cluster, bed, told: Arc::default() }
    }

    /// What a run gives its guards.
    fn ground(&self, left: BTreeSet<String>) -> Ground {
        let source = InventorySource::Path(self.bed.dir.join("hosts.yml"));
        let (inventory, _) = Inventory::load(&[source], &Disk, None).unwrap();
        let book = [("site.yml", "- hosts: all\n  gather_facts: false\n  tasks: []\n")];
        let files: &'static Memory = Box::leak(Box::new(Memory::new(book)));
        let loader = Loader::new(files, vocabulary(), Vec::new());
        let playbook = loader.load("site.yml").unwrap();
        let templates = Templates::new(TemplateWorld::default());
        let plays = vec![inventory.hosts().collect()];
        let scene = Scene::new(playbook, "/".into(), loader, templates, inventory, plays, Asked::default());
        let links = Links::new(Defaults::new("/nowhere", "root", None), Arc::new(NoSecrets), None, None);
        Ground { scene: Arc::new(scene), links: Arc::new(links), play: 0, left }
    }

    async fn begin(&self, ground: &Ground, timeout: u64, journal: &Journal) -> Result<Guards, Stopped> {
        let written = serde_json::json!({ "timeout": timeout });
        let guard: Guard = serde_json::from_value(written).unwrap();
        let told = Arc::clone(&self.told);
        let tell: Tell = Arc::new(move |waiting| told.lock().unwrap().push(waiting));
        Guards::begin(Some(guard), ground, &hosts(&["h0", "h1", "h2"]), journal, tell).await
    }

    fn journal(&self) -> Journal {
        Store::new(self.bed.dir.join("runs")).begin().unwrap()
    }

    fn flags(&self) -> Vec<String> {
        ["h0", "h1", "h2"].iter().flat_map(|node| self.cluster.flags(node)).collect()
    }

    fn is_waited_for(&self, words: &str) -> bool {
        let told = self.told.lock().unwrap();
        told.iter().flat_map(|waiting| &waiting.why).any(|why| why.contains(words))
    }
}

fn hosts(names: &[&str]) -> Vec<Target> {
    names.iter().map(|name| Target { host: (*name).to_owned(), user: Acting::Login }).collect()
}

async fn until(what: &str, seconds: u64, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while !so() {
        assert!(Instant::now() < end, "not within {seconds} s: {what}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The test plays in a process of its own, whose host keeps leases elsewhere than this machine.
#[test]
fn hosts_go_down_one_after_another_and_no_flag_stays() {
    let leases = "TUNERUN_LEASES";
    if std::env::var_os(leases).is_none() {
        let Some(cluster) = Cluster::any() else { return };
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "guards::hosts_go_down_one_after_another_and_no_flag_stays", "--nocapture"])
            .env("TUNERUN_CEPH", &cluster.dir)
            .env(leases, cluster.dir.join("leases-of-guards"))
            .stdin(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let cluster = Cluster::any().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(async {
        let stage = Stage::new(&cluster);
        one_after_another(&stage).await;
        what_does_not_hold(&stage).await;
        taken_over(&stage).await;
        assert_eq!(cluster.good(&["config-key", "ls"]).matches("tunerun/").count(), 0);
    });
}

/// Two hosts want to go down: the second one waits for the first, and goes by itself once that is back. What somebody
/// else had set for it stays.
async fn one_after_another(stage: &Stage<'_>) {
    let (ground, journal) = (stage.ground(BTreeSet::new()), stage.journal());
    let guards = stage.begin(&ground, 100, &journal).await.map_err(|stopped| stopped.diagnostic()).unwrap();
    assert!(guards.is_guarded("h0") && !guards.is_guarded("elsewhere"));
    stage.cluster.good(&["osd", "set-group", "noout", "h1"]);
    let first = guards.before(&journal, &hosts(&["h0"]), Going::Forward).await.unwrap();
    assert_eq!(stage.cluster.flags("h0"), ["noout"]);
    let second = tokio::spawn({
        let (guards, journal) = (guards.clone(), journal.clone());
        async move { guards.before(&journal, &hosts(&["h1"]), Going::Forward).await }
    });
    until("the second host waits", 40, || stage.is_waited_for("osd.0, osd.1 may not stop together")).await;
    // It is not back while its daemon does not run, though its shell answers.
    stage.cluster.does(&["stop-osd", "0"]);
    let back = tokio::spawn({
        let (guards, journal) = (guards.clone(), journal.clone());
        async move { guards.after(&journal, &first).await }
    });
    until("the daemon is waited for", 40, || stage.is_waited_for("h0: osd.0 does not run")).await;
    assert_eq!(stage.cluster.flags("h0"), ["noout"]);
    stage.cluster.does(&["start-osd", "0"]);
    assert_eq!(back.await.unwrap().unwrap(), Vec::<String>::new());
    assert_eq!(stage.cluster.flags("h0"), Vec::<String>::new());
    let second: Held = second.await.unwrap().unwrap();
    assert!(second.notes.iter().any(|note| note.contains("set by somebody else")), "{:?}", second.notes);
    assert_eq!(guards.after(&journal, &second).await.unwrap(), Vec::<String>::new());
    assert_eq!(stage.cluster.flags("h1"), ["noout"], "it is not this run's");
    stage.cluster.good(&["osd", "unset-group", "noout", "h1"]);
    assert_eq!(guards.end(&journal, &[]).await.unwrap(), Vec::<String>::new());
    let mark = stage.bed.dir.join(format!("state/a/{}/mark", journal.run()));
    assert_eq!(std::fs::read_to_string(mark).unwrap().trim(), "finished");
}

/// An OSD that went down by itself stops all others; meanwhile what is held is kept alive.
async fn what_does_not_hold(stage: &Stage<'_>) {
    let (ground, journal) = (stage.ground(BTreeSet::new()), stage.journal());
    let guards = stage.begin(&ground, 1, &journal).await.map_err(|stopped| stopped.diagnostic()).unwrap();
    let alive = guards.keep_alive(&journal);
    let held = guards.before(&journal, &hosts(&["h1"]), Going::Forward).await.unwrap();
    let lease = || stage.cluster.key("tunerun/flag/noout/h1").unwrap();
    let first = lease();
    stage.cluster.does(&["stop-osd", "2"]);
    for (going, words) in [(Going::Forward, "osd.2 is down"), (Going::Back, "may not stop together")] {
        let stopped = guards.before(&journal, &hosts(&["h0"]), going).await.unwrap_err();
        let Stopped::TimedOut { why, way_out, .. } = &stopped else { panic!("{stopped:?}") };
        assert!(why.iter().any(|why| why.contains(words)), "{words}: {why:?}");
        assert!(way_out.contains(&format!("tunerun resume {}", journal.run())), "{way_out}");
    }
    assert_eq!(stage.cluster.flags("h0"), Vec::<String>::new());
    stage.cluster.does(&["start-osd", "2"]);
    stage.cluster.does(&["wait"]);
    until("the lease is renewed", 40, || lease() != first).await;
    drop(alive);
    // A guard that timed out may be asked again.
    let end = Instant::now() + Duration::from_secs(60);
    while let Err(stopped) = guards.after(&journal, &held).await {
        assert!(Instant::now() < end, "{:?}", stopped.diagnostic());
    }
    assert_eq!(stage.flags(), Vec::<String>::new());
    assert_eq!(guards.end(&journal, &[]).await.unwrap(), Vec::<String>::new());
}

/// A run that is gone has left a flag: the run that goes on with it gives it back, and its undo would as well.
async fn taken_over(stage: &Stage<'_>) {
    let journal = stage.journal();
    let run = journal.run().to_owned();
    {
        let ground = stage.ground(BTreeSet::new());
        let guards =
            stage.begin(&ground, 60, &journal).await.map_err(|stopped| stopped.diagnostic()).unwrap();
        guards.before(&journal, &hosts(&["h0"]), Going::Forward).await.unwrap();
    }
    // Its sessions are gone with it, and so is its writer.
    drop(journal);
    assert_eq!(stage.cluster.flags("h0"), ["noout"]);
    let journaled = tunerun::journal::read(&Store::new(stage.bed.dir.join("runs")).path(&run).unwrap());
    let left = left_by(&journaled.unwrap());
    assert_eq!(left, BTreeSet::from([format!("guard/{}/noout/h0", stage.cluster.fsid())]));
    let (ground, journal) = (stage.ground(left), stage.journal());
    let guards = stage.begin(&ground, 60, &journal).await.map_err(|stopped| stopped.diagnostic()).unwrap();
    let held = guards.before(&journal, &hosts(&["h0"]), Going::Forward).await.unwrap();
    assert_eq!(stage.cluster.flags("h0"), ["noout"]);
    // The run breaks off here: its end gives everything back.
    drop(held);
    assert_eq!(guards.end(&journal, &[]).await.unwrap(), Vec::<String>::new());
    assert_eq!(stage.flags(), Vec::<String>::new());
    let journaled = tunerun::journal::read(journal.path()).unwrap();
    assert_eq!(left_by(&journaled), BTreeSet::new());
}

/// A whole rollout: each host's OSD is stopped and started by a task, one host after the other, and nothing is left set.
#[test]
fn a_rollout_takes_hosts_down_within_guards() {
    let Some(cluster) = Cluster::any() else { return };
    let stage = Stage::new(&cluster);
    for number in 0..3 {
        let vars = format!("ceph_daemons: [osd.{number}]\nosd: {number}\n");
        stage.bed.host_vars(&format!("h{number}"), &vars);
    }
    let health = cluster.health();
    let osds = |key: &str| -> Vec<u64> {
        let dump = cluster.json(&["osd", "dump"]);
        dump["osds"].as_array().unwrap().iter().map(|osd| osd[key].as_u64().unwrap()).collect()
    };
    let before = osds("up_from");
    let script = super::cluster::script();
    let (script, dir) = (script.display(), cluster.dir.display());
    let done = stage.bed.play_book(&format!(
        "- name: OSDs start again
  hosts: h0,h1,h2
  gather_facts: false
  rollout: {{waves: [1, 100%]}}
  guard: {{timeout: 100s}}
  tasks:
    - name: Stop and start
      shell: bash {script} stop-osd {dir} {{{{ osd }}}} && bash {script} start-osd {dir} {{{{ osd }}}}
      undo: 'true'
"
    ));
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    let after = osds("up_from");
    assert!(before.iter().zip(&after).all(|(old, new)| old < new), "{before:?} {after:?}");
    let run = std::fs::read_dir(stage.bed.dir.join("runs")).unwrap().flatten().next().unwrap().path();
    let journal = std::fs::read_to_string(run.join("journal.jsonl")).unwrap();
    for host in ["h0", "h1", "h2"] {
        assert!(journal.contains(&format!("guard/{}/noout/{host}", cluster.fsid())), "{host}: {}", done.err);
    }
    assert_eq!((stage.flags(), cluster.health()), (Vec::new(), health));
}
