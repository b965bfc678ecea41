//! What is decided on outputs of a real cluster.
use super::*;
use crate::rollout::guards::{by_cluster, nodes};
use modules::ceph::answers::{Health, HealthCheck, MonDump, OsdDump, Status, json};
use modules::vocabulary::Output;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

fn recorded<T: DeserializeOwned>(text: &str) -> T {
    json(&Output::ok(text)).unwrap_or_else(|why| panic!("{why}"))
}

macro_rules! data {
    ($name:literal) => {
        recorded(include_str!(concat!("../../../../../tests/data/ceph-json/", $name)))
    };
}

/// Three OSDs that are up, and a mon.
fn well() -> Sight {
    Sight { status: data!("status.json"), osds: data!("osd-dump.json"), mons: data!("mon-dump.json") }
}

/// The same with osd.1 down.
fn one_down() -> Sight {
    let mut osds: OsdDump = data!("osd-dump-3hosts.json");
    osds.osds.iter_mut().for_each(|osd| osd.up_from -= 100);
    Sight { status: data!("status-final.json"), osds, mons: data!("mon-dump.json") }
}

fn with_health(health: Health) -> Sight {
    let well = well();
    Sight { status: Status { health, ..well.status.clone() }, ..well }
}

fn about(osds: &[i64], down: &[i64]) -> About {
    About {
        osds: osds.iter().chain(down).copied().collect(),
        down_osds: down.iter().copied().collect(),
        ..About::default()
    }
}

fn yes(osds: &[i64]) -> OkToStop {
    OkToStop { ok_to_stop: true, osds: osds.to_vec(), ..OkToStop::default() }
}

const FORWARD: Rules<'_> = Rules { allow: &[], ok_to_stop: true, going: Going::Forward };
const BACK: Rules<'_> = Rules { allow: &[], ok_to_stop: true, going: Going::Back };

#[track_caller]
fn waits_for(verdict: Verdict, words: &[&str]) {
    let why = verdict.why();
    assert_eq!(why.len(), words.len(), "{why:#?}");
    for word in words {
        assert!(why.iter().any(|why| why.contains(word)), "`{word}` is not in {why:#?}");
    }
}

#[test]
fn a_healthy_cluster_lets_a_host_go() {
    let may: OkToStop = data!("osd-ok-to-stop-0.json");
    assert_eq!(FORWARD.before(&well(), &well(), &about(&[0], &[]), &may), Verdict::Met);
}

#[test]
fn osds_that_may_not_stop_together_wait_whichever_way_the_run_goes() {
    let may: OkToStop = data!("osd-ok-to-stop-0-1.json");
    for rules in [FORWARD, BACK] {
        let verdict = rules.before(&well(), &well(), &about(&[0, 1], &[]), &may);
        waits_for(
            verdict,
            &["osd.0, osd.1 may not stop together: 33 placement groups would stop serving, such as 1.0"],
        );
    }
    let unasked = Rules { ok_to_stop: false, ..FORWARD };
    assert_eq!(unasked.before(&well(), &well(), &about(&[0, 1], &[]), &may), Verdict::Met);
}

#[test]
fn a_yes_that_is_not_of_all_is_none() {
    let verdict = FORWARD.before(&well(), &well(), &about(&[0, 2], &[]), &yes(&[0]));
    waits_for(verdict, &["has not said whether osd.2 may stop"]);
}

#[test]
fn ids_that_the_map_has_not_are_told_since_ceph_calls_them_fine() {
    assert_eq!(about(&[0, 77], &[]).unknown(&well()), ["osd.77"]);
    let mons = About { mons: ["a", "z"].map(str::to_owned).into(), ..About::default() };
    assert_eq!(mons.unknown(&well()), ["mon.z"]);
}

#[test]
fn an_osd_that_went_down_by_itself_stops_the_run_and_not_its_way_back() {
    let verdict = FORWARD.before(&well(), &one_down(), &about(&[0], &[]), &yes(&[0, 1]));
    let why = [
        "osd.1 is down",
        "OSD_DOWN: 1 osds down",
        "OSD_HOST_DOWN",
        "PG_DEGRADED",
        "33 of 33 placement groups",
    ];
    waits_for(verdict, &why);
    assert_eq!(BACK.before(&well(), &one_down(), &about(&[0], &[]), &yes(&[0, 1])), Verdict::Met);
}

#[test]
fn what_stood_at_the_start_passes() {
    assert_eq!(FORWARD.before(&one_down(), &one_down(), &about(&[0], &[]), &yes(&[0, 1])), Verdict::Met);
    // It became an error since.
    let mut worse = one_down();
    worse.status.health.checks.get_mut("PG_DEGRADED").unwrap().severity = "HEALTH_ERR".into();
    let verdict = FORWARD.before(&one_down(), &worse, &about(&[0], &[]), &yes(&[0, 1]));
    waits_for(
        verdict,
        &[
            "PG_DEGRADED: Degraded data redundancy: 72/216 objects degraded (33.333%), 19 pgs degraded; it is an error by now",
        ],
    );
}

#[test]
fn hosts_that_this_run_has_down_are_expected_to_be() {
    let ours = about(&[0], &[1]);
    assert_eq!(FORWARD.before(&well(), &one_down(), &ours, &yes(&[0, 1])), Verdict::Met);
    // Another one is down besides: then its codes count.
    let mut two = one_down();
    two.osds.osds[2].up = 0;
    let verdict = FORWARD.before(&well(), &two, &ours, &yes(&[0, 1, 2]));
    waits_for(verdict, &["osd.2 is down", "OSD_DOWN", "OSD_HOST_DOWN", "PG_DEGRADED"]);
    // Groups that do not serve count, whoever is down.
    let mut peered = one_down();
    peered.status.pgmap.pgs_by_state[0].state_name = "undersized+degraded+peered".into();
    let verdict = FORWARD.before(&well(), &peered, &ours, &yes(&[0, 1]));
    waits_for(
        verdict,
        &["19 of 33 placement groups are not active (0 at the start): 19 undersized+degraded+peered"],
    );
}

#[test]
fn own_flags_allowed_and_muted_codes_pass_and_new_ones_do_not() {
    let of = |text: &str| with_health(recorded(text));
    let before = |now: &Sight, rules: Rules<'_>| rules.before(&well(), now, &about(&[0], &[]), &yes(&[0]));
    let noout = include_str!("../../../../../tests/data/ceph-json/health-noout-group.json");
    assert_eq!(before(&of(noout), FORWARD), Verdict::Met);
    let slow = HealthCheck { severity: "HEALTH_WARN".into(), ..HealthCheck::default() };
    let health = |check: HealthCheck| Health {
        status: "HEALTH_WARN".into(),
        checks: [("SLOW_OPS".to_owned(), check)].into(),
    };
    waits_for(
        before(&with_health(health(slow.clone())), FORWARD),
        &["SLOW_OPS: ; it did not stand at the start"],
    );
    let muted = HealthCheck { muted: true, ..slow.clone() };
    assert_eq!(before(&with_health(health(muted)), FORWARD), Verdict::Met);
    let allow = ["SLOW_OPS".to_owned()];
    assert_eq!(before(&with_health(health(slow)), Rules { allow: &allow, ..FORWARD }), Verdict::Met);
}

#[test]
fn flags_of_the_whole_cluster_count_by_what_they_do() {
    let flagged = |flag: &str| {
        let mut now = with_health(data!("health-noout.json"));
        now.osds.flags_set.push(flag.to_owned());
        FORWARD.before(&well(), &now, &about(&[0], &[]), &yes(&[0]))
    };
    assert_eq!(flagged("noout"), Verdict::Met);
    assert_eq!(flagged("noscrub"), Verdict::Met, "a gate pauses scrubs");
    waits_for(flagged("norecover"), &["the flag norecover was set meanwhile"]);
}

#[test]
fn most_mons_stay_in_the_quorum() {
    let only: About = About { mons: ["a".to_owned()].into(), ..About::default() };
    let may = OkToStop::default();
    waits_for(
        FORWARD.before(&well(), &well(), &only, &may),
        &["the quorum would have 0 of 1 mons, and it needs 1"],
    );
    let five = |quorum: &[i64]| {
        let mons = ["a", "b", "c", "d", "e"].iter().enumerate();
        let mons = mons.map(|(rank, name)| serde_json::json!({"rank": rank, "name": name}));
        let mons = serde_json::json!({"mons": mons.collect::<Vec<_>>(), "quorum": quorum});
        Sight { mons: serde_json::from_value::<MonDump>(mons).unwrap(), ..well() }
    };
    let two: About = About { mons: ["a", "b"].map(str::to_owned).into(), ..About::default() };
    assert_eq!(FORWARD.before(&well(), &five(&[0, 1, 2, 3, 4]), &two, &may), Verdict::Met);
    waits_for(FORWARD.before(&well(), &five(&[0, 1, 2, 3]), &two, &may), &["2 of 5 mons, and it needs 3"]);
}

/// Hosts h1 with osd.1 and mon.a, before and now.
fn returned(now: &str, sight: &Sight, before: &Sight, rules: Rules<'_>) -> Verdict {
    let of = |text: &str| by_cluster(text).remove("f").unwrap_or_default();
    let (was, now) = (of("boot b\ndaemon osd 1 f 10 100\ndaemon mon a f 11 100\n"), of(now));
    let hosts = [Returned { host: "h1", before: &was, now: &now }];
    rules.after(&well(), sight, &About::default(), &Back { hosts: &hosts, before })
}

#[test]
fn a_host_is_back_when_all_its_daemons_are_up_in_a_newer_map() {
    let (same, anew) = (
        "boot b\ndaemon osd 1 f 10 100\ndaemon mon a f 11 100\n",
        "boot c\ndaemon osd 1 f 10 100\ndaemon mon a f 11 90\n",
    );
    assert_eq!(returned(same, &well(), &well(), FORWARD), Verdict::Met, "nothing was restarted");
    // The map still calls it up from before.
    waits_for(
        returned(anew, &well(), &well(), FORWARD),
        &["osd.1 runs, and the map does not call it up yet"],
    );
    let mut newer = well();
    newer.osds.osds[1].up_from += 4;
    assert_eq!(returned(anew, &newer, &well(), FORWARD), Verdict::Met);
    // The shell answers, and daemons do not run.
    waits_for(returned("boot c\n", &newer, &well(), FORWARD), &["h1: mon.a, osd.1 do not run"]);
    waits_for(returned("boot c\ndaemon mon a f 9 1\n", &newer, &well(), BACK), &["h1: osd.1 does not run"]);
    let mut alone = newer.clone();
    alone.mons.quorum.clear();
    waits_for(returned(anew, &alone, &well(), FORWARD), &["mon.a runs, and is not in the quorum yet"]);
}

#[test]
fn after_a_host_groups_are_clean_again_unless_changes_go_back() {
    let anew = "boot c\ndaemon osd 1 f 10 100\ndaemon mon a f 11 90\n";
    let mut now = well();
    now.osds.osds[1].up_from += 4;
    now.status.pgmap.pgs_by_state[0].state_name = "active+undersized".into();
    waits_for(
        returned(anew, &now, &well(), FORWARD),
        &["33 of 33 placement groups are not active and clean"],
    );
    assert_eq!(returned(anew, &now, &well(), BACK), Verdict::Met);
    now.status.pgmap.pgs_by_state[0].state_name = "active+clean+scrubbing+deep".into();
    assert_eq!(returned(anew, &now, &well(), FORWARD), Verdict::Met, "a scrub is no harm");
}

#[test]
fn an_osd_that_was_down_before_need_not_be_up_after() {
    let now = "boot c\ndaemon osd 1 f 10 100\ndaemon mon a f 11 90\n";
    assert_eq!(returned(now, &one_down(), &one_down(), BACK), Verdict::Met);
}

#[test]
fn reports_that_are_older_than_the_start_do_not_count() {
    assert_eq!(reported("0 12 12\n1 15 19\n"), Verdict::Met);
    waits_for(reported("0 12 11\n1 0 9\n2 3 4\n"), &["placement groups of osd.0, osd.1 have not reported"]);
}

#[test]
fn nodes_are_crush_hosts_where_these_hold_no_foreign_osds() {
    let tree = data!("osd-tree-3hosts.json");
    let of = |ids: &[i64]| nodes(&tree, &BTreeSet::from_iter(ids.iter().copied()));
    assert_eq!(of(&[0, 2]), ["h0", "h2"]);
    let tree: modules::ceph::answers::Crush = recorded(
        r#"{"nodes":[{"id":-2,"name":"h0","type":"host","children":[0,1]},{"id":0,"name":"osd.0","type":"osd"},{"id":1,"name":"osd.1","type":"osd"}]}"#,
    );
    assert_eq!(nodes(&tree, &BTreeSet::from([0])), ["osd.0"]);
    assert_eq!(nodes(&tree, &BTreeSet::from([0, 1, 5])), ["h0", "osd.5"]);
}
