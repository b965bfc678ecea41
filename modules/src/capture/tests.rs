//! States of hosts as tasks: what is written plans nothing there, what differs is named.
use super::*;
use crate::vocabulary::{Output, Read, Row, Seen};
use std::collections::BTreeSet;

fn captured(host: &Host) -> Json {
    let module = Capture::default();
    let mut reads: BTreeSet<Read> = BTreeSet::new();
    for _ in 0..10 {
        let facts = host.facts(reads.clone());
        match module.plan(&facts) {
            Ok(change) => {
                assert!(change.is_empty());
                return change.result;
            }
            Err(Stop::Unread(more)) => reads.extend(more),
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("it asks for ever")
}

fn tasks<'a>(found: &'a Json, module: &str) -> Vec<&'a Json> {
    let all = found["tasks"].as_array().unwrap().iter();
    all.map(|task| &task["task"][module]).filter(|args| !args.is_null()).collect()
}

fn left_out<'a>(found: &'a Json, word: &str) -> Option<&'a str> {
    let all = found["left_out"].as_array().unwrap().iter();
    all.filter(|one| one["what"].as_str().unwrap().contains(word)).find_map(|one| one["why"].as_str())
}

#[test]
fn settings_are_told_with_the_file_that_decides() {
    let host = Host::new()
        .file("/etc/sysctl.d/50-net.conf", "net.core.somaxconn = 4096\nnet.ipv4.conf.*.rp_filter = 2\n")
        .file("/etc/sysctl.d/zz-tunerun.conf", "vm.swappiness = 1\nvm.dirty_ratio = 10\n")
        .file("/usr/lib/sysctl.d/50-default.conf", "kernel.sysrq = 16\n")
        .value("/proc/sys/net/core/somaxconn", "4096")
        .value("/proc/sys/vm/swappiness", "1")
        .value("/proc/sys/vm/dirty_ratio", "20");
    let found = captured(&host);
    let sysctls = tasks(&found, "sysctl");
    assert_eq!(sysctls.len(), 2, "{found}");
    assert_eq!(sysctls[0]["sysctl_file"], "/etc/sysctl.d/50-net.conf");
    assert!(sysctls[1]["sysctl_file"].is_null());
    assert!(left_out(&found, "dirty_ratio").unwrap().contains("differ"), "{found}");
    assert!(left_out(&found, "rp_filter").unwrap().contains("pattern"));
}

#[test]
fn kernel_arguments_are_told_without_the_disks_of_the_host() {
    let host = Host::new()
        .file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"init_on_alloc=0 hugepagesz=1G hugepages=4 console=tty0 console=ttyS0\"\n")
        .file("/usr/sbin/grub-mkconfig", "#!/bin/sh\n")
        .file("/usr/sbin/update-grub", "#!/bin/sh\n")
        .file("/boot/grub/grub.cfg", "linux /vmlinuz root=/dev/sda1 ro init_on_alloc=0 hugepagesz=1G hugepages=4 console=tty0 console=ttyS0\n")
        .value(
            "/proc/cmdline",
            "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro init_on_alloc=0 hugepagesz=1G hugepages=4 console=tty0 console=ttyS0 nosmt",
        );
    let found = captured(&host);
    let all = tasks(&found, "kernel_args");
    assert_eq!(all.len(), 1, "what holds together is one task: {found}");
    let args = all[0]["args"].to_string();
    assert!(args.contains("\"hugepagesz=1G\",\"hugepages=4\"") && args.contains("init_on_alloc=0"), "{args}");
    assert_eq!(all[0]["replace"], json!(["console=tty0", "console=ttyS0"]));
    let all: Vec<String> = all.iter().map(|args| args.to_string()).collect();
    assert!(!all.iter().any(|args| args.contains("root=") || args.contains("BOOT_IMAGE")));
    assert!(left_out(&found, "nosmt").is_some(), "it is on the running line alone: {found}");
}

#[test]
fn what_is_live_alone_is_told_as_that() {
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let host = Host::new()
        .dir("/etc/sysctl.d")
        .value("/proc/meminfo", "MemTotal: 16000000 kB\nHugepagesize: 2048 kB")
        .value("/proc/cmdline", "")
        .value(&format!("{pool}/nr_hugepages"), "64")
        .value(&format!("{pool}/free_hugepages"), "64")
        .value("/proc/sys/vm/nr_hugepages", "64")
        .value("/sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline")
        .value("/sys/block/loop0/queue/scheduler", "[none]")
        .value("/sys/block/nvme0n1/queue/read_ahead_kb", "128");
    let found = captured(&host);
    assert_eq!(
        tasks(&found, "hugepages")[0],
        &json!({"size": "2M", "count": 64, "persist": false}),
        "{found}"
    );
    let scheduler = tasks(&found, "io_scheduler")[0];
    assert_eq!((&scheduler["devices"], &scheduler["scheduler"]), (&json!(["nvme0n1"]), &json!("none")));
    assert_eq!(scheduler["persist"], false);
    let about = found["tasks"][0]["about"].to_string();
    assert!(about.contains("nothing that tunerun knows keeps it"), "{about}");
    let kept = host.file("/etc/sysctl.d/zz-tunerun.conf", "vm.nr_hugepages = 64\n");
    assert_eq!(tasks(&captured(&kept), "hugepages")[0], &json!({"size": "2M", "count": 64}));
}

#[test]
fn cards_are_told_where_all_queues_are_alike() {
    let features = "Features for eth0:\nrx-checksumming: on\ntx-checksumming: on\n\ttx-checksum-ip-generic: on\n\
        generic-receive-offload: off\nlarge-receive-offload: off [fixed]\n";
    let queue = |card: &str, queue: &str| format!("/sys/class/net/{card}/queues/{queue}");
    let host = Host::new()
        .value("/sys/devices/system/cpu/online", "0-3")
        .value(&queue("eth0", "rx-0/rps_cpus"), "f")
        .value(&queue("eth0", "rx-1/rps_cpus"), "f")
        .value(&queue("eth0", "tx-0/xps_cpus"), "1")
        .value(&queue("eth0", "tx-1/xps_cpus"), "2")
        .dir("/sys/class/net/eth0")
        .answer(Row::new("ethtool-features", ["eth0"]), Seen::Output(Output::ok(features)));
    let found = captured(&host);
    let offload = tasks(&found, "nic_offload");
    assert_eq!(offload.len(), 1, "{found}");
    assert_eq!(offload[0]["features"]["generic-receive-offload"], false);
    assert!(offload[0]["features"]["large-receive-offload"].is_null(), "nobody can change it");
    assert!(left_out(&found, "XPS of eth0").unwrap().contains("queues differ"), "{found}");
}
