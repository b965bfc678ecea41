//! A canary within a cluster: an option by Ceph's own mask, judged, then said for all and the mask dropped.
use super::bed::Bed;
use super::cluster::Cluster;
use std::fs;

const OPTION: &str = "osd_max_backfills";

/// Three hosts with an OSD each, and the mon by which the cluster is changed.
fn bed(cluster: &Cluster) -> Bed<'_> {
    let bed = Bed::new(cluster, &["h0", "h1", "h2"], &["a"], &format!("ceph_fsid: {}", cluster.fsid()));
    for number in 0..3 {
        bed.host_vars(&format!("h{number}"), &format!("ceph_daemons: [osd.{number}]\n"));
    }
    bed.host_vars("a", "ceph_daemons: [mon.a]\n");
    let inventory = fs::read_to_string(bed.dir.join("hosts.yml")).unwrap();
    fs::write(
        bed.dir.join("hosts.yml"),
        format!("{inventory}    osds:\n      hosts: {{h0: , h1: , h2: }}\n"),
    )
    .unwrap();
    bed
}

/// The playbook, with a benchmark that asks the canary's OSD what it has: with the option the rate is `with`.
fn playbook(bed: &Bed<'_>, cluster: &Cluster, with: u32) -> String {
    let text =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../playbooks/ceph-canary-by-mask.yaml"))
            .unwrap();
    let (head, rest) = text.split_once("    benchmarks:\n").unwrap();
    let (_, tasks) = rest.split_once("  tasks:\n").unwrap();
    let conf = cluster.conf();
    let script = format!(
        "n=$(($(cat {dir}/n 2>/dev/null || echo 0) + 1)); echo $n > {dir}/n; r=200; ceph -c {conf} tell osd.0 config get {OPTION} | \
         grep -q 7 && r={with}; echo \"{{\\\"rate\\\": $((r * 100 + n % 7))}}\"\n",
        dir = bed.dir.display(),
        conf = conf.display()
    );
    fs::write(bed.dir.join("rate"), script).unwrap();
    format!(
        "{head}    run: {{settle: 0s, ramp: 0s, measure: 1s, steady: off}}
    preflight: {{steal_max: 100%}}
    benchmarks:
      - id: own
        command:
          argv: [sh, {}/rate]
          figures: {{rate: {{path: rate, direction: higher}}}}
    metrics:
      - {{name: rate, from: own.rate, direction: higher, margin: 5%}}
  tasks:
{tasks}",
        bed.dir.display()
    )
}

#[test]
fn an_option_is_tried_by_a_mask_and_then_said_for_all() {
    let Some(cluster) = Cluster::any() else { return };
    let settings = [("osd/host:h0", OPTION), ("osd", OPTION)];
    cluster.clear(&settings);
    let bed = bed(&cluster);
    let play = |with: u32| {
        fs::write(bed.dir.join("site.yml"), playbook(&bed, &cluster, with)).unwrap();
        let option = format!("option={OPTION}");
        bed.call(&["play", "site.yml", "-i", "hosts.yml", "--yes", "-e", &option, "-e", "value=7"])
    };
    // A loss is taken back where it was tried, and nobody else ever had it.
    play(100).ended(7).says("rolled back: ");
    assert_eq!(settings.map(|(who, name)| cluster.stored(who, name)), [None, None]);
    assert_eq!(cluster.held(OPTION), ["1", "1", "1"]);
    // A gain is said for all, and the mask goes.
    play(300).ended(0);
    assert_eq!(cluster.stored("osd/host:h0", OPTION), None);
    assert_eq!(cluster.stored("osd", OPTION).as_deref(), Some("7"));
    assert_eq!(cluster.held(OPTION), ["7", "7", "7"]);
    let run = bed.newest_run();
    let journal = fs::read_to_string(bed.dir.join("runs").join(&run).join("journal.jsonl")).unwrap();
    let at = |words: &str| journal.find(words).unwrap_or_else(|| panic!("no {words} in the journal"));
    let wide = at(&format!("config/osd/{OPTION}\",\"look"));
    assert!(at("\"record\":\"gate\"") < wide, "it is judged before it is said for all");
    // One undo takes all of it back.
    bed.call(&["undo", &run]).ended(0);
    assert_eq!(settings.map(|(who, name)| cluster.stored(who, name)), [None, None]);
    assert_eq!(cluster.held(OPTION), ["1", "1", "1"]);
}

#[test]
fn a_canary_that_would_be_the_whole_cluster_is_refused() {
    let Some(cluster) = Cluster::any() else { return };
    cluster.clear(&[("osd", OPTION)]);
    let bed = bed(&cluster);
    let play = |more: &str| {
        let task = format!("    - ceph_config: {{who: osd, name: {OPTION}, value: 7}}\n{more}");
        let text = format!(
            "- hosts: osds\n  gather_facts: false\n  rollout: {{waves: [1, 100%]}}\n  tasks:\n{task}"
        );
        fs::write(bed.dir.join("site.yml"), text).unwrap();
        bed.call(&["play", "site.yml", "-i", "hosts.yml", "--check"])
    };
    play("").ended(1).says("one setting of the whole cluster").says("blast_radius_cluster");
    play("      accept_risk: {blast_radius_cluster: it is meant}\n")
        .ended(0)
        .says("accepted risk blast_radius_cluster");
}
