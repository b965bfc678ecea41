//! Sums on captured hosts: what grows beyond the memory is a risk, what cannot be seen is said.
use super::{about, judge};
use crate::host::Host;
use crate::kernel::{Hugepages, KernelArgs};
use crate::trial::planned;
use crate::vocabulary::{Output, RiskName, Row, Seen};
use serde_json::json;

/// 64 GiB of memory.
const MEMINFO: &str =
    "MemTotal:       67108864 kB\nMemFree: 60000000 kB\nMemAvailable: 60000000 kB\nHugepagesize: 2048 kB";

fn host() -> Host {
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    Host::new()
        .dir("/etc/sysctl.d")
        .value("/proc/meminfo", MEMINFO)
        .value("/proc/cmdline", "quiet")
        .value("/proc/sys/vm/nr_hugepages", "0")
        .value(&format!("{pool}/nr_hugepages"), "0")
        .value(&format!("{pool}/free_hugepages"), "0")
}

/// Three OSDs of packages; two of them answer.
fn with_osds(host: Host) -> Host {
    let text = "/run/ceph/ceph-osd.0.asok {\"osd_memory_target\":\"8589934592\"}\n\
        /run/ceph/ceph-osd.1.asok {\"osd_memory_target\":\"8589934592\"}\n";
    host.dir("/var/lib/ceph/osd/ceph-0")
        .dir("/var/lib/ceph/osd/ceph-1")
        .dir("/var/lib/ceph/osd/ceph-2")
        .answer(Row::new("ceph-osd-targets", Vec::<String>::new()), Seen::Output(Output::ok(text)))
}

fn with_guest(host: Host, backing: &str) -> Host {
    let text = format!(
        "<domstatus state='running'><domain type='kvm' id='1'><name>web</name><memory unit='GiB'>16</memory>{backing}</domain></domstatus>"
    );
    host.file("/run/libvirt/qemu/web.xml", text)
}

fn pages(count: u64) -> serde_json::Value {
    json!({ "size": "2M", "count": count, "persist": false })
}

#[test]
fn sums_below_the_memory_pass() {
    let change = planned::<Hugepages>(&host(), pages(16384));
    assert!(change.risks.is_empty() && !change.steps.is_empty(), "{:?}", change.risks);
}

#[test]
fn the_sum_names_each_part_and_where_it_was_seen() {
    let host = with_guest(with_osds(host()), "");
    let change = planned::<Hugepages>(&host, pages(16384));
    let [risk] = &change.risks[..] else { panic!("{change:?}") };
    assert_eq!(risk.name, RiskName::Memory);
    for part in [
        "32 GiB for 16384 huge pages of 2 MiB (this task)",
        "16 GiB for 2 OSDs with osd_memory_target 8 GiB (their sockets)",
        "16 GiB for guests: web (/run/libvirt/qemu)",
        "3.2 GiB for a reserve",
        "= 67.2 GiB of 64 GiB",
        "what osd.2 may use is not known",
        "ask for fewer huge pages",
    ] {
        assert!(risk.why.contains(part), "{part}: {}", risk.why);
    }
}

#[test]
fn guests_of_huge_pages_are_not_counted_twice() {
    let backed = with_guest(host(), "<memoryBacking><hugepages/></memoryBacking>");
    assert!(planned::<Hugepages>(&backed, pages(24576)).risks.is_empty());
    let plain = with_guest(host(), "");
    assert_eq!(planned::<Hugepages>(&plain, pages(24576)).risks.len(), 1);
}

#[test]
fn what_is_not_known_is_said_and_not_guessed() {
    let silent = host().dir("/var/lib/ceph/osd/ceph-7");
    let change = planned::<Hugepages>(&silent, pages(1024));
    assert!(change.risks.is_empty());
    assert!(
        change.notes.iter().any(|note| note.contains("what osd.7 may use is not known")),
        "{:?}",
        change.notes
    );
}

#[test]
fn fewer_pages_are_never_held_up() {
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let full = with_guest(with_osds(host()), "")
        .value(&format!("{pool}/nr_hugepages"), "30000")
        .value(&format!("{pool}/free_hugepages"), "30000");
    assert!(planned::<Hugepages>(&full, pages(20000)).risks.is_empty());
    assert!(planned::<Hugepages>(&full, pages(30000)).steps.is_empty());
}

#[test]
fn the_next_boot_is_judged_by_its_line() {
    let grub = |host: Host| {
        host.file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\"\n")
            .file("/usr/sbin/grub-mkconfig", "#!/bin/sh\n")
            .file("/usr/sbin/update-grub", "#!/bin/sh\n")
            .file("/boot/grub/grub.cfg", "linux /vmlinuz\n")
    };
    let args =
        |count: u32| json!({ "args": format!("default_hugepagesz=1G hugepagesz=1G hugepages={count}") });
    let change = planned::<KernelArgs>(&grub(host()), args(64));
    let [risk] = &change.risks[..] else { panic!("{change:?}") };
    assert!(
        risk.why.contains("64 GiB for 64 huge pages of 1 GiB (the kernel line after this task)"),
        "{}",
        risk.why
    );
    assert!(planned::<KernelArgs>(&grub(host()), args(32)).risks.is_empty());
    // A pool that the running line made goes with it; one that was made since stays.
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    let by_line = grub(host()).value(pool, "20000").value("/proc/cmdline", "hugepages=20000");
    assert!(planned::<KernelArgs>(&by_line, args(45)).risks.is_empty());
    let by_hand = grub(host()).value(pool, "20000");
    assert_eq!(planned::<KernelArgs>(&by_hand, args(45)).risks.len(), 1);
}

#[test]
fn sums_are_told_as_people_add_them() {
    for (bytes, text) in [(64 << 30, "64 GiB"), (3_435_973_836, "3.2 GiB"), (512 << 20, "512 MiB")] {
        assert_eq!(about(bytes), text);
    }
}

#[test]
fn a_host_that_tells_no_memory_is_not_judged() {
    let facts = host().facts([]);
    let mut change = crate::vocabulary::Change::default();
    assert_eq!(judge(&facts, &super::Asked::default(), &mut change), Ok(()), "nothing is changed");
}
