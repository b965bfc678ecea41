//! Everything of the grammar that is said in the example, and what is wrong said plainly.
use super::*;
use crate::gate::Toggle;
use serde_json::json;

fn gate(more: Json) -> Json {
    let mut gate = json!({
        "benchmarks": [
            {"id": "rbd", "on": "clients", "share": "10%", "fio": {"ioengine": "rbd", "pool": "bench", "rbdname": "img",
             "rw": "randrw", "rwmixread": 80, "bs": "4k", "iodepth": 32}},
            {"id": "net", "iperf3": {"server": "10.0.0.2", "streams": 4}},
        ],
        "metrics": [
            {"name": "iops", "from": "rbd.read.iops", "direction": "higher"},
            {"name": "p99", "from": "rbd.read.clat_ns.p99", "direction": "lower", "role": "guard"},
            {"name": "net", "from": "net.sum_received.bits_per_second", "direction": "higher", "cost": "35%"},
        ],
        "hard": {"rbd.errors": 0},
    });
    if let (Json::Object(gate), Json::Object(more)) = (&mut gate, more) {
        gate.extend(more);
    }
    gate
}

fn experiment(more: Json) -> Result<crate::gate::Experiment, Vec<String>> {
    let gate: Gate = read(&gate(more)).map_err(|fault| vec![fault])?;
    gate.experiment("g", "tcp_rmem", vec!["h1".into()], vec!["h2".into()], 7)
}

#[test]
fn a_gate_becomes_an_experiment() {
    let found = experiment(json!({"max_pairs": 12, "alpha": {"rollback": "1%"}})).unwrap();
    assert_eq!((found.max_pairs, found.toggle, found.errors.rollback), (12, Toggle::Runtime, 0.01));
    let [iops, p99, net] = &found.metrics[..] else { panic!() };
    assert_eq!((iops.margin, iops.share), (0.05, 0.10));
    assert_eq!((p99.margin, p99.floor), (0.15, 0.008));
    assert_eq!((net.margin, net.cost, net.share), (0.35, true, 1.0));
    let loaders = json!({"benchmarks": [{"id": "rbd", "true": "clients", "ping": {"target": "x"}}]});
    let read: Gate = super::read(&gate(loaders)).unwrap();
    assert_eq!(read.benchmarks[0].on.as_deref(), Some("clients"), "`on:` is a boolean to YAML 1.1");
    let boots = experiment(json!({"toggle": "reboot", "max_pairs": 3, "scope": "host"})).unwrap();
    assert_eq!((boots.max_pairs, boots.runs_each), (3, 4));
}

#[test]
fn every_fault_of_a_gate_is_told() {
    let told = experiment(json!({
        "scope": "cluster",
        "metrics": [
            {"name": "x", "from": "nosuch.iops", "direction": "higher", "margin": "5%", "cost": "6%"},
            {"name": "y", "from": "rbd.iops", "direction": "higher", "margin": "0%"},
        ],
        "hard": {"loss.percent": 0.01},
        "max_pairs": 2,
    }))
    .unwrap_err()
    .join("\n");
    for part in [
        "nosuch.iops is of no benchmark; there are rbd, net",
        "say one of them",
        "`hard` names loss.percent",
        "the margin of y is 0",
        "2 pairs decide nothing",
        "has no controls",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    let told = experiment(json!({"max_pears": 2})).unwrap_err().join("");
    assert!(told.contains("max_pears"), "{told}");
    let typo = json!({"benchmarks": [{"id": "n", "shar": "5%", "ping": {"target": "x"}}]});
    let told = experiment(typo).unwrap_err().join("");
    assert!(told.contains("shar") && told.contains("say one tool"), "{told}");
}

#[test]
fn a_run_need_not_be_steady() {
    for off in [json!("off"), json!(false)] {
        let read: RunTimes =
            super::read(&json!({"settle": "0s", "ramp": "1s", "measure": "3s", "steady": off})).unwrap();
        assert!(matches!(read.steady, Steady::Off(_)));
    }
    let rule: RunTimes = super::read(&json!({"steady": {"windows": 3, "range": "20%"}})).unwrap();
    assert!(matches!(rule.steady, Steady::Rule(Windows { windows: 3, .. })));
}

#[test]
fn rollouts_and_guards_are_said_shortly() {
    let rollout: Rollout = read(&json!({
        "canary": {"one_per": "rack"},
        "controls": 4,
        "waves": [4, {"hosts": "25%", "pause": "Go on?", "soak": "1h"}, "100%"],
        "by": "rack",
        "window": {"from": "22:00", "to": "05:00", "days": ["mon", "tue"]},
        "activate": "now",
        "on_inconclusive": "hold",
    }))
    .unwrap();
    assert_eq!(rollout.waves.iter().map(|wave| wave.hosts().of(40)).collect::<Vec<_>>(), [4, 10, 40]);
    assert_eq!(rollout.max_down, Hosts::Count(1));
    assert_eq!(rollout.canary, Canary::Per(CanaryPer { one_per: "rack".into() }));
    assert_eq!((rollout.on_regress, rollout.on_error), (OnRegress::Run, OnError::Hold));
    let guard: Guard = read(&json!({"allow": ["POOL_NO_REDUNDANCY"], "timeout": "10min"})).unwrap();
    assert!(guard.ok_to_stop && guard.noout == Noout::Lease);
    for off in [json!("off"), json!(false)] {
        assert_eq!(read::<Guard>(&json!({"noout": off})).unwrap().noout, Noout::Off);
    }
    assert!(read::<Guard>(&json!({"noout": true})).unwrap_err().contains("lease or off"));
    assert!(read::<Rollout>(&json!({"waves": [1], "wavs": 2})).unwrap_err().contains("wavs"));
    assert!(schema::<Rollout>().get("properties").is_some());
}

/// The example is the grammar: each of its plays is read by the types, and each gate is an experiment.
#[test]
fn the_example_says_three_rollouts() {
    let plays: Vec<Json> =
        serde_yaml::from_str(include_str!("../../../../playbooks/example-rollout.yaml")).unwrap();
    assert_eq!(plays.len(), 3);
    let rollout = |play: &Json| play.get("rollout").map(|value| read::<Rollout>(value).unwrap());
    let gate = |play: &Json| play.get("gate").map(|value| read::<Gate>(value).unwrap());
    let boots = gate(&plays[0]).unwrap();
    let hosts = |names: [&str; 4]| names.map(Into::into).to_vec();
    let experiment = boots
        .experiment("g", "init_on_alloc", hosts(["a1", "b1", "c1", "d1"]), hosts(["a2", "b2", "c2", "d2"]), 1)
        .unwrap();
    // Four hosts and four controls with two pairs each, and one boot that is thrown away.
    assert_eq!((experiment.toggle, experiment.boots()), (Toggle::Reboot, 40));
    let waves = rollout(&plays[0]).unwrap().waves;
    assert_eq!(waves.iter().map(|wave| wave.hosts().of(40)).collect::<Vec<_>>(), [4, 10, 20, 40]);
    assert!(read::<Guard>(&plays[0]["guard"]).unwrap().allow == ["POOL_NO_REDUNDANCY"]);
    let secure = gate(&plays[1]).unwrap();
    let experiment = secure.experiment("g", "secure", vec!["mon1".into()], Vec::new(), 1).unwrap();
    assert!(experiment.metrics[0].cost && experiment.limits.len() == 1);
    assert!(gate(&plays[2]).is_none());
    assert_eq!(rollout(&plays[2]).unwrap().activate, Activate::Later);
}
