//! A link that is cut for good under a change: the host's own timer takes it back.
use super::bed::{begin, call, play};
use serde_json::json;
use std::time::Duration;
use tests::vm::{Vm, can};

/// A change that takes a while on the host, under a timer.
const TASKS: &str = "- name: The knob is turned
  command: sh -c 'echo new > /root/knob; sleep 5'
  args: {undo: sh -c 'echo old > /root/knob'}
  dead_man: 12
";

#[test]
fn a_link_that_is_cut_for_good_is_answered_by_the_hosts_own_timer() {
    if !can() {
        return;
    }
    let mut vm = Vm::restored();
    vm.ssh("echo old > /root/knob");
    let link = |vm: &Vm, up: bool| drop(vm.qmp("set_link", json!({ "name": "n0", "up": up })));
    let mut child = begin(&vm, TASKS);
    vm.wait_for("the change", Duration::from_secs(90), |vm| vm.ssh("cat /root/knob") == "new");
    link(&vm, false);
    let mut ended = None;
    vm.wait_for("the end of the run", Duration::from_secs(240), |_| {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    let said = std::fs::read_to_string(vm.dir.join("play.log")).unwrap();
    assert!(ended.is_some_and(|ended| !ended.success()), "{said}");
    assert!(said.contains("vm"), "{said}");
    link(&vm, true);
    vm.wait_for("an answer", Duration::from_secs(120), |vm| vm.try_ssh("true").status.success());
    vm.wait_for("the old knob", Duration::from_secs(60), |vm| vm.ssh("cat /root/knob") == "old");
    // What was asked for can still be had.
    call(&vm, &["resume", "last", "--no-play"]).ended(0, &["all is as it was before the run"]);
    play(&vm, TASKS, &[]).ended(0, &[]);
    assert_eq!(vm.ssh("cat /root/knob"), "new");
    call(&vm, &["undo", "last"]).ended(0, &[]);
    assert_eq!(vm.ssh("cat /root/knob"), "old");
}
