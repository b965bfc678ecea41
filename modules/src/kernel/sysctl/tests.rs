//! Tests of `sysctl` on hosts in memory.
use super::{LATE_FILE, Sysctl};
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Back, Change, HostPath, Read};
use serde_json::json;

fn host() -> Host {
    Host::new()
        .dir("/etc/sysctl.d")
        .value("/proc/sys/vm/swappiness", "60")
        .value("/proc/sys/vm/dirty_ratio", "20")
        .value("/proc/sys/vm/dirty_bytes", "0")
        .value("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456")
}

fn plan(host: &Host, args: serde_json::Value) -> Change {
    planned::<Sysctl>(host, args)
}

fn applied(mut host: Host, change: &Change) -> Host {
    for step in &change.steps {
        host.act(&step.act).unwrap();
    }
    host
}

fn text(host: &Host, path: &str) -> String {
    let path = HostPath::new(path).unwrap();
    host.facts([Read::text(&path)]).node(&path).unwrap().unwrap().bytes().unwrap().text().unwrap().to_owned()
}

#[test]
fn blanks_and_tabs_are_no_change() {
    let host = host().file(LATE_FILE, "net.ipv4.tcp_rmem = 4096 131072  6291456\n");
    assert!(plan(&host, json!({ "name": "net.ipv4.tcp_rmem", "value": " 4096 131072 6291456 " })).is_empty());
    let change = plan(&host, json!({ "name": "net.ipv4.tcp_rmem", "value": "4096 131072 33554432" }));
    assert!(
        change
            .steps
            .iter()
            .any(|step| matches!(&step.act, Act::Write { value, .. } if value == "4096 131072 33554432"))
    );
}

#[test]
fn a_setting_is_live_and_persisted_and_then_nothing_is_left() {
    let host = host().file("/usr/lib/sysctl.d/10-x.conf", "vm.swappiness = 30\n");
    let args = json!({ "name": "vm.swappiness", "value": 1 });
    let change = plan(&host, args.clone());
    assert_eq!(change.steps.len(), 2);
    let after = applied(host, &change);
    assert_eq!(text(&after, LATE_FILE), "vm.swappiness = 1\n");
    assert!(plan(&after, args).is_empty());
}

#[test]
fn a_later_file_is_named_and_beaten() {
    let host = host().file("/etc/sysctl.d/99-sysctl.conf", "vm.swappiness = 60\n");
    let args = json!({ "name": "vm.swappiness", "value": 1, "sysctl_file": "/etc/sysctl.d/90-a.conf" });
    let change = plan(&host, args.clone());
    assert!(change.notes[0].contains("99-sysctl.conf, line 1"), "{:?}", change.notes);
    let after = applied(host, &change);
    assert_eq!(text(&after, "/etc/sysctl.d/90-a.conf"), "vm.swappiness = 1\n");
    assert_eq!(text(&after, LATE_FILE), "vm.swappiness = 1\n");
    assert!(plan(&after, args).is_empty());
    let worse = after.file("/etc/sysctl.d/zzz.conf", "vm/swappiness=5\n");
    let why = refusal::<Sysctl>(&worse, json!({ "name": "vm.swappiness", "value": 1 }));
    assert!(why.contains("zzz.conf, line 1"), "{why}");
}

#[test]
fn sysctl_conf_counts_where_a_link_names_it() {
    let args = json!({ "name": "vm.swappiness", "value": 1, "sysctl_file": "/etc/sysctl.conf" });
    let linked =
        host().file("/etc/sysctl.conf", "# mine\n").link("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
    let change = plan(&linked, args.clone());
    assert_eq!(change.steps.len(), 2, "{:?}", change.notes);
    assert_eq!(text(&applied(linked, &change), "/etc/sysctl.conf"), "# mine\nvm.swappiness = 1\n");
    let alone = host().file("/etc/sysctl.conf", "# mine\n");
    let change = plan(&alone, args.clone());
    assert!(change.notes[0].contains("not read at boot"), "{:?}", change.notes);
    assert!(plan(&applied(alone, &change), args).is_empty());
}

#[test]
fn masked_files_and_stronger_folders_are_known() {
    let host = host()
        .file("/usr/lib/sysctl.d/zzz-vendor.conf", "vm.swappiness = 60\n")
        .link("/etc/sysctl.d/zzz-vendor.conf", "/dev/null");
    assert!(plan(&host, json!({ "name": "vm.swappiness", "value": 1 })).notes.is_empty());
}

#[test]
fn the_one_in_force_of_a_pair_comes_back() {
    let host = host().value("/proc/sys/vm/dirty_ratio", "0").value("/proc/sys/vm/dirty_bytes", "1048576");
    let change = plan(&host, json!({ "name": "vm.dirty_ratio", "value": 10 }));
    let step = change.steps.iter().find(|step| matches!(step.act, Act::Write { .. })).unwrap();
    let Back::Exactly(back) = &step.back else { panic!("{step:?}") };
    let before = host.clone();
    let mut host = applied(host, &change);
    assert_eq!(
        host.facts([Read::text(&HostPath::new("/proc/sys/vm/dirty_bytes").unwrap())])
            .value(&HostPath::new("/proc/sys/vm/dirty_bytes").unwrap()),
        Ok(Some("0".to_owned()))
    );
    host.act(back).unwrap();
    for name in ["dirty_ratio", "dirty_bytes"] {
        let read = Read::text(&HostPath::new(&format!("/proc/sys/vm/{name}")).unwrap());
        assert_eq!(host.see(&read), before.see(&read), "{name}");
    }
}

#[test]
fn an_unknown_setting_is_refused_with_the_nearest() {
    let why = refusal::<Sysctl>(&host(), json!({ "name": "vm.swapiness", "value": 1 }));
    assert!(why.contains("did you mean `vm.swappiness`"), "{why}");
    let change = plan(&host(), json!({ "name": "net.x.y", "value": 1, "ignoreerrors": true }));
    assert_eq!(change.steps.len(), 1);
    assert!(!change.notes.is_empty());
    assert!(refusal::<Sysctl>(&host(), json!({ "name": "vm.swappiness" })).contains("needs a value"));
}

#[test]
fn patterns_lose_to_names() {
    let host = host()
        .value("/proc/sys/net/ipv4/conf/eth0/rp_filter", "2")
        .file("/etc/sysctl.d/zzz.conf", "net.ipv4.conf.*.rp_filter = 2\n");
    let change = plan(&host, json!({ "name": "net.ipv4.conf.eth0.rp_filter", "value": 0 }));
    assert_eq!(change.steps.len(), 2);
}

#[test]
fn absent_says_who_still_sets_it() {
    let host =
        host().file("/etc/sysctl.d/50-a.conf", "vm.swappiness = 5\n").file(LATE_FILE, "vm.swappiness = 1\n");
    let change = plan(&host, json!({ "name": "vm.swappiness", "state": "absent" }));
    assert!(change.notes.iter().any(|note| note.contains("50-a.conf, line 1, still")), "{:?}", change.notes);
}
