//! Tests of `systemd_unit` and `service` on hosts in memory.
use super::*;
use crate::services::Service;
use crate::trial::{facts, planned, refusal};
use crate::vocabulary::{Act, Back, Claim, Content, HostPath, Image, Match, Meta, TaskId};

const UNIT: &str = "irqbalance.service";

fn host(active: &str, file: &str) -> Host {
    let shown = properties(UNIT, active, file);
    Host::new().dir(RUNNING).dir("/etc/systemd/system").answer(show(UNIT), shown)
}

fn calls(change: &Change) -> Vec<&str> {
    change
        .steps
        .iter()
        .filter_map(|step| match &step.act {
            Act::Call { row, .. } => Some(row.name.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn states_are_reached_by_calls_with_inverses() {
    for (active, file, args, wanted) in [
        (
            "inactive",
            "disabled",
            json!({ "state": "started", "enabled": true }),
            vec!["systemctl-enable", "systemctl-start"],
        ),
        ("active", "enabled", json!({ "state": "started", "enabled": true }), vec![]),
        (
            "active",
            "enabled",
            json!({ "state": "stopped", "enabled": false }),
            vec!["systemctl-disable", "systemctl-stop"],
        ),
        (
            "active",
            "enabled",
            json!({ "state": "stopped", "masked": true }),
            vec!["systemctl-mask", "systemctl-stop"],
        ),
        (
            "inactive",
            "masked",
            json!({ "state": "started", "masked": false }),
            vec!["systemctl-unmask", "systemctl-start"],
        ),
        ("active", "enabled", json!({ "state": "restarted" }), vec!["systemctl-restart"]),
        ("inactive", "static", json!({ "enabled": true }), vec![]),
        ("failed", "enabled", json!({ "state": "started" }), vec!["systemctl-start"]),
        ("active", "enabled", json!({ "daemon_reload": true }), vec![]),
    ] {
        let mut args = args;
        args["name"] = json!("irqbalance");
        let change = planned::<SystemdUnit>(&host(active, file), args.clone());
        assert_eq!(calls(&change), wanted, "{args}");
        for step in &change.steps {
            assert!(!matches!(step.back, Back::None { .. }), "{step:?}");
            assert!(step.look.is_some());
            assert!(step.after == Match::Changed || !step.after.holds(&step.before), "{step:?}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let refused = |active: &str, file: &str, args: Json| refusal::<SystemdUnit>(&host(active, file), args);
    assert!(
        refused("inactive", "masked", json!({ "name": UNIT, "state": "started" })).contains("masked: false")
    );
    assert!(refused("active", "static", json!({ "name": UNIT, "enabled": false })).contains("masked: true"));
    assert!(refused("active", "enabled", json!({ "name": UNIT, "state": "reloaded" })).contains("restarted"));
    assert!(refused("active", "enabled", json!({ "state": "started" })).contains("`name` is not set"));
    assert!(
        refused("active", "enabled", json!({ "name": "a b", "state": "started" })).contains("not the name")
    );
    let plain = Host::new().answer(show(UNIT), properties(UNIT, "active", "enabled"));
    assert!(refusal::<Service>(&plain, json!({ "name": UNIT })).contains("not run by systemd"));
    assert!(serde_json::from_value::<Service>(json!({ "name": "x", "use": "openrc" })).is_err());
}

#[test]
fn unknown_units_are_refused_or_late() {
    let unknown = "irqbalanced.service";
    let shown =
        Seen::Output(Output::ok(format!("Id={unknown}\nLoadState=not-found\nActiveState=inactive\n")));
    let host = Host::new()
        .dir(RUNNING)
        .file("/usr/lib/systemd/system/irqbalance.service", "")
        .answer(show(unknown), shown);
    let args = json!({ "name": "irqbalanced", "state": "started" });
    assert!(refusal::<SystemdUnit>(&host, args.clone()).contains("did you mean `irqbalance.service`"));
    let module: SystemdUnit = serde_json::from_value(args).unwrap();
    let mut facts = facts(&host, &module);
    let file = path("/etc/systemd/system/irqbalanced.service");
    let image = Image::File { content: Content::Bytes("[Service]\n".into()), meta: Meta::default() };
    facts.plan(TaskId(4), [Step::put(Claim::file(&file), file.clone(), Seen::Absent, image)]);
    assert_eq!(Module::plan(&module, &facts), Err(Stop::Late(TaskId(4))));
}

#[test]
fn a_unit_that_systemd_has_not_read_yet_is_started_after_it_has() {
    let unread = "limit.service";
    let told = "LoadState=not-found\nActiveState=inactive\n";
    let host = |text: &str| {
        Host::new()
            .dir(RUNNING)
            .file("/etc/systemd/system/limit.service", text)
            .answer(show(unread), Seen::Output(Output::ok(format!("Id={unread}\n{told}"))))
    };
    let args = json!({ "name": "limit", "state": "started" });
    let lasting = "[Service]\nType = oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n";
    let change = planned::<SystemdUnit>(&host(lasting), args.clone());
    assert_eq!(calls(&change), ["systemctl-daemon-reload", "systemctl-start"]);
    let once = planned::<SystemdUnit>(&host("[Service]\nType=oneshot\n"), args);
    assert_eq!(calls(&once), ["systemctl-daemon-reload", "systemctl-start"]);
    assert_ne!(change.steps[1].back, once.steps[1].back, "what runs to its end cannot be stopped afterwards");
}

#[test]
fn a_later_task_sees_what_an_earlier_leaves() {
    let host = host("active", "enabled");
    let stop: SystemdUnit = serde_json::from_value(json!({ "name": UNIT, "state": "stopped" })).unwrap();
    let start: SystemdUnit = serde_json::from_value(json!({ "name": UNIT, "state": "started" })).unwrap();
    let mut facts = facts(&host, &stop);
    assert!(Module::plan(&start, &facts).unwrap().is_empty());
    let change = Module::plan(&stop, &facts).unwrap();
    facts.plan(TaskId(0), change.steps);
    assert!(Module::plan(&stop, &facts).unwrap().is_empty());
    assert_eq!(calls(&Module::plan(&start, &facts).unwrap()), ["systemctl-start"]);
}

#[test]
fn drop_ins_are_written_and_activated() {
    let drop_in = json!({ "name": "pin", "settings": { "Service": { "CPUAffinity": "0-15", "ExecStart": ["", "/bin/x"], "PrivateTmp": true } } });
    let mut args = json!({ "name": UNIT, "drop_in": drop_in });
    let change = planned::<SystemdUnit>(&host("active", "enabled"), args.clone());
    assert_eq!(change.then.iter().collect::<Vec<_>>(), [&Activation::DaemonReload]);
    assert_eq!((change.effect, change.notes.len()), (Effect::DaemonRestart, 1));
    let Some(Diff::Text { after, .. }) = change.diff.first() else { panic!("{:?}", change.diff) };
    assert_eq!(after, "[Service]\nCPUAffinity=0-15\nExecStart=\nExecStart=/bin/x\nPrivateTmp=yes\n");
    args["drop_in"]["restart"] = json!(true);
    let change = planned::<SystemdUnit>(&host("active", "enabled"), args.clone());
    assert!(change.then.contains(&Activation::Restart(UNIT.to_owned())));
    args["state"] = json!("restarted");
    let change = planned::<SystemdUnit>(&host("active", "enabled"), args);
    assert_eq!(calls(&change), ["systemctl-daemon-reload", "systemctl-restart"]);
    assert!(change.then.is_empty());
    let template =
        json!({ "name": "ceph-osd@.service", "drop_in": { "name": "pin", "content": "[Service]\n" } });
    let change = planned::<SystemdUnit>(&host("active", "enabled"), template);
    assert_eq!(
        change.steps.last().unwrap().path().unwrap().as_str(),
        "/etc/systemd/system/ceph-osd@.service.d/pin.conf"
    );
}

#[test]
fn a_planned_unit_file_calls_for_a_daemon_reload_first() {
    let module: SystemdUnit = serde_json::from_value(json!({ "name": UNIT, "state": "restarted" })).unwrap();
    let mut facts = facts(&host("active", "enabled"), &module);
    let file = path("/etc/systemd/system/irqbalance.service.d/a.conf");
    let image = Image::File { content: Content::Bytes("[Service]\n".into()), meta: Meta::default() };
    facts.plan(TaskId(0), [Step::put(Claim::file(&file), file.clone(), Seen::Absent, image)]);
    let change = Module::plan(&module, &facts).unwrap();
    assert_eq!(calls(&change), ["systemctl-daemon-reload", "systemctl-restart"]);
    facts.plan(TaskId(1), change.steps);
    assert_eq!(calls(&Module::plan(&module, &facts).unwrap()), ["systemctl-restart"]);
}

#[test]
fn a_restart_needs_another_start_time() {
    let change =
        planned::<SystemdUnit>(&host("active", "enabled"), json!({ "name": UNIT, "state": "restarted" }));
    let step = &change.steps[0];
    let later = Seen::Output(Output::ok(
        "ExecMainStartTimestampMonotonic=2000\nActiveEnterTimestampMonotonic=2000\n",
    ));
    assert!(step.after.proves(&step.before, &later));
    assert!(!step.after.proves(&step.before, &step.before));
    let Act::Call { row, .. } = &step.act else { panic!("{step:?}") };
    assert_eq!(Activation::of_row(row), Some(Activation::Restart(UNIT.to_owned())));
}

fn path(text: &str) -> HostPath {
    HostPath::new(text).unwrap()
}
