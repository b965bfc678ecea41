//! Gates over changes of a real cluster: its own benchmark decides, and the cluster ends as it was or as it was asked for.
//!
//! What the benchmark says here is noise of a small machine: which answer comes is not asserted, only that the cluster is
//! as the answer says.
use super::bed::Bed;
use super::cluster::Cluster;
use super::wire::Load;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tunerun::gate::{Live, Outcome, Record};

const POOL: &str = "judged";

fn pool(cluster: &Cluster) {
    cluster.good(&["osd", "pool", "create", POOL, "8"]);
    cluster.good(&["osd", "pool", "application", "enable", POOL, "rbd"]);
    cluster.does(&["wait"]);
}

/// A play under a gate of `rados bench` with runs of so many seconds.
fn playbook(task: &str, metric: &str, conf: &str, seconds: u32, more: &str) -> String {
    format!(
        "- name: the change
  hosts: mons
  gather_facts: false
  rollout: {{waves: [1]{more}}}
  gate:
    scope: cluster
    max_pairs: 3
    run: {{settle: 1s, ramp: 1s, measure: {seconds}s, steady: off}}
    preflight: {{steal_max: 100%}}
    benchmarks:
      - id: rados
        rados_bench: {{pool: {POOL}, mode: write, block_size: 4K, threads: 16, conf: \"{conf}\"}}
    metrics:
      - {{name: write, from: rados.iops, direction: higher, {metric}}}
  tasks:
    - {task}
"
    )
}

/// One host that is a mon of this cluster; other clusters' daemons on this machine are not its.
fn bed(cluster: &Cluster) -> Bed<'_> {
    let bed = Bed::one(cluster);
    bed.host_vars("a", "ceph_daemons: [mon.a]\n");
    bed
}

fn records(bed: &Bed<'_>) -> Vec<Record> {
    let runs = fs::read_dir(bed.dir.join("runs")).unwrap().flatten();
    let files = runs.map(|run| run.path().join("gates/play1-wave0.json")).filter(|file| file.exists());
    files.map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

#[test]
fn encryption_of_clients_is_judged_at_its_price() {
    let Some(cluster) = Cluster::any() else { return };
    pool(&cluster);
    // Both modes are offered: what is judged is the client's choice, before anything is required of the daemons.
    for name in ["ms_cluster_mode", "ms_service_mode", "ms_client_mode"] {
        cluster.good(&["config", "set", "global", name, "crc secure"]);
    }
    let health = cluster.health();
    let bed = bed(&cluster);
    let conf = bed.dir.join("client.conf");
    fs::copy(cluster.conf(), &conf).unwrap();
    let task = "ini_file: {path: '{{ playbook_dir }}/client.conf', section: client, option: ms_client_mode, value: secure}";
    let done = bed.play_book(&playbook(
        task,
        "cost: 35%",
        "{{ playbook_dir }}/client.conf",
        3,
        ", on_inconclusive: accept",
    ));
    assert!([0, 7].contains(&done.code), "{}\n{}", done.out, done.err);
    let record = records(&bed).remove(0);
    let verdict = record.replay().unwrap();
    assert!(record.runs.len() >= 6 && record.runs.iter().all(|run| matches!(run.live, Live::Proven { .. })));
    let kept = verdict.outcome != Outcome::Regress;
    assert_eq!(done.code, if kept { 0 } else { 7 }, "{}\n{}", done.out, done.err);
    let asks = fs::read_to_string(conf).unwrap().contains("ms_client_mode = secure");
    assert_eq!(asks, kept, "{}", done.err);
    assert_eq!(cluster.health(), health);
    for name in ["ms_cluster_mode", "ms_service_mode", "ms_client_mode"] {
        cluster.good(&["config", "rm", "global", name]);
    }
    cluster.drop_pool(POOL);
    // What it held is gone before the next test writes.
    cluster.does(&["wait"]);
}

/// The lines of the newest run's journal.
fn length(bed: &Bed<'_>) -> usize {
    let runs = fs::read_dir(bed.dir.join("runs")).into_iter().flatten().flatten();
    let newest = runs.map(|run| run.path()).max();
    newest
        .and_then(|run| fs::read_to_string(run.join("journal.jsonl")).ok())
        .map_or(0, |text| text.lines().count())
}

#[test]
fn a_gate_that_is_killed_again_and_again_leaves_the_cluster_as_it_was() {
    let Some(cluster) = Cluster::any() else { return };
    pool(&cluster);
    let health = cluster.health();
    let before = cluster.held("osd_client_message_cap");
    let bed = bed(&cluster);
    // One message at a time: a loss.
    let task = "ceph_config: {who: osd, name: osd_client_message_cap, value: 1}";
    fs::write(
        bed.dir.join("site.yml"),
        playbook(task, "margin: 5%", "{{ ceph_conf }}", 1, ", on_regress: run"),
    )
    .unwrap();
    let mut words = vec!["play", "site.yml", "-i", "hosts.yml", "--yes"];
    for at in [4, 5, 6, 7, 8, 10, 12, 14, 16, 18] {
        let mut child = bed.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        let known = bed_runs(&bed);
        loop {
            let begun = bed_runs(&bed) > known || words[0] == "play";
            if (begun && length(&bed) >= at) || child.try_wait().unwrap().is_some() {
                break;
            }
            assert!(Instant::now() < until, "{words:?} never came to record {at}");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Where it has ended by itself there is nothing to kill.
        let _ = child.kill();
        child.wait().unwrap();
        words = vec!["resume", "last", "--yes"];
    }
    let done = bed.call(&words);
    assert!([0, 7].contains(&done.code), "{}\n{}", done.out, done.err);
    assert_eq!(cluster.stored("osd", "osd_client_message_cap"), None, "{}", done.err);
    assert_eq!(cluster.held("osd_client_message_cap"), before);
    assert_eq!(cluster.health(), health);
    cluster.drop_pool(POOL);
    // What it held is gone before the next test writes.
    cluster.does(&["wait"]);
}

/// The journal of the newest run, as text.
fn journal(bed: &Bed<'_>) -> String {
    fs::read_to_string(bed.dir.join("runs").join(bed.newest_run()).join("journal.jsonl")).unwrap()
}

/// Whether the benchmark runs right now.
fn loads() -> bool {
    let runs = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"rados\0") && String::from_utf8_lossy(&line).contains(&format!("{POOL}\0"))
    };
    fs::read_dir("/proc").unwrap().flatten().any(runs)
}

#[test]
fn a_load_is_watched_and_ends_where_it_would_be_the_outage() {
    let Some(cluster) = Cluster::any() else { return };
    pool(&cluster);
    let (health, flags) = (cluster.health(), cluster.flags("."));
    let bed = bed(&cluster);
    fs::write(bed.dir.join("knob"), "1\n").unwrap();
    let task = "copy: {dest: '{{ playbook_dir }}/knob', content: \"2\\n\"}";
    let book = playbook(task, "margin: 50%", "{{ ceph_conf }}", 20, "");
    // A new health code in mid-load: the load ends at the next look, and the gate is no REGRESS.
    let limits = "    abort_if: {health: [OSD_FLAGS]}\n    preflight:";
    fs::write(bed.dir.join("site.yml"), book.replace("    preflight:", limits)).unwrap();
    let mut play = bed.command(&["play", "site.yml", "-i", "hosts.yml", "--yes"]);
    let play = play.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !loads() {
        assert!(Instant::now() < until, "nothing loads");
        std::thread::sleep(Duration::from_millis(50));
    }
    cluster.good(&["osd", "set-group", "nodown", "osd.0"]);
    let output = play.wait_with_output().unwrap();
    cluster.good(&["osd", "unset-group", "nodown", "osd.0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("INCONCLUSIVE: the load was ended: OSD_FLAGS"), "{said}");
    assert!(!loads(), "the load goes on");
    assert_eq!(fs::read_to_string(bed.dir.join("knob")).unwrap(), "1\n");
    let told = journal(&bed);
    for flag in ["noscrub", "nodeep-scrub"] {
        assert!(told.contains(&format!("guard: {flag} of the cluster")), "{told}");
    }
    assert_eq!((cluster.flags("."), cluster.health()), (flags.clone(), health.clone()), "{said}");
    // Beside clients a load wants a limit, which `rados bench` does not know.
    let mut clients = Load::begin(&cluster, POOL, &[]);
    let until = Instant::now() + Duration::from_secs(60);
    while cluster.json(&["status"])["pgmap"]["write_op_per_sec"].as_f64().is_none_or(|writes| writes < 1.0) {
        assert!(Instant::now() < until, "the cluster does not tell of its clients");
        std::thread::sleep(Duration::from_millis(500));
    }
    let done = bed.play_book(&book);
    assert_eq!(done.code, 9, "{}\n{}", done.out, done.err);
    done.says("nothing limits the load beside them: say `rate: 20%`");
    bed.call(&["undo", "last"]);
    let done = bed.play_book(&book.replace("    preflight:", "    rate: 20%\n    preflight:"));
    assert_eq!(done.code, 9, "{}\n{}", done.out, done.err);
    done.says("this tool cannot be held back; use fio");
    clients.goes_on();
    drop(clients);
    assert_eq!(cluster.flags("."), flags);
    cluster.drop_pool(POOL);
    cluster.does(&["wait"]);
}

fn bed_runs(bed: &Bed<'_>) -> usize {
    fs::read_dir(bed.dir.join("runs")).map_or(0, Iterator::count)
}
