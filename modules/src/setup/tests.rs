//! Tests of facts on what real hosts answered.
use super::{FACTS, Setup, fact_reads, fact_value};
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Identity, Output, Read, Row, Seen, Stop};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../tests/data/host-facts/", $name))
    };
}

fn asked(host: Host, name: &str, text: &str) -> Host {
    host.answer(Row::new(name, Vec::<String>::new()), Seen::Output(Output::ok(text)))
}

fn host() -> Host {
    let mut host = Host::new()
        .file("/usr/lib/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\n")
        .link("/etc/os-release", "../usr/lib/os-release")
        .file("/etc/debian_version", "12.5\n")
        .file("/usr/bin/apt-get", "")
        .dir("/run/systemd/system")
        .value("/proc/sys/kernel/hostname", "osd1.example.org")
        .value("/proc/sys/kernel/osrelease", "6.1.0-18-amd64")
        .value("/proc/sys/kernel/version", "#1 SMP")
        .value("/proc/cpuinfo", fixture!("cpuinfo-2cpu.txt"))
        .value("/proc/meminfo", "MemTotal:       24683652 kB\nMemFree:        18964996 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB")
        .value("/proc/cmdline", "quiet console=tty0 console=ttyS0 panic=1")
        .value("/proc/uptime", "1234.56 999.00")
        .value("/proc/modules", "nvme 1 0 - Live 0x0")
        .value("/sys/class/net/eth0/mtu", "1400")
        .value("/sys/class/net/lo/mtu", "65536");
    for (name, text) in [
        ("ip-address", fixture!("ip-address.json")),
        ("ip-route", fixture!("ip-route.json")),
        ("ip6-route", "[]"),
        ("lsblk", fixture!("lsblk.json")),
        ("mounts", fixture!("mounts.json")),
        ("environment", "HOME=/root\0LANG=C\0X=a\nb\0"),
    ] {
        host = asked(host, name, text);
    }
    host.answer(Row::new("uname", ["-m"]), Seen::Output(Output::ok("x86_64\n")))
        .answer(Row::new("hostname", ["-f"]), Seen::Output(Output::ok("osd1.example.org\n")))
        .answer(
            Row::new("date", ["+%Y %m %d %H %M %S %A %w %V %s %Z %z"]),
            Seen::Output(Output::ok("2026 11 30 14 22 35 Monday 1 49 1796048555 UTC +0000\n")),
        )
}

/// A fact of a host in memory.
pub(super) fn value(host: &Host, name: &str) -> Result<Json, Stop> {
    let mut reads: BTreeSet<Read> = BTreeSet::new();
    for _ in 0..4 {
        let more = fact_reads(name, &host.facts(reads.clone()));
        reads.extend(more);
    }
    fact_value(name, &host.facts(reads))
}

#[test]
fn facts_are_as_ansible_tells_them() {
    let host = host();
    for (name, wanted) in [
        ("os_family", json!("Debian")),
        ("distribution", json!("Debian")),
        ("distribution_version", json!("12.5")),
        ("distribution_major_version", json!("12")),
        ("distribution_release", json!("bookworm")),
        ("pkg_mgr", json!("apt")),
        ("service_mgr", json!("systemd")),
        ("hostname", json!("osd1")),
        ("nodename", json!("osd1.example.org")),
        ("fqdn", json!("osd1.example.org")),
        ("domain", json!("example.org")),
        ("kernel", json!("6.1.0-18-amd64")),
        ("architecture", json!("x86_64")),
        ("memtotal_mb", json!(24105)),
        ("memfree_mb", json!(18520)),
        ("swaptotal_mb", json!(0)),
        ("processor_count", json!(1)),
        ("processor_cores", json!(2)),
        ("processor_threads_per_core", json!(1)),
        ("processor_vcpus", json!(2)),
        ("processor_nproc", json!(2)),
        (
            "processor",
            json!([
                "0",
                "GenuineIntel",
                "Intel(R) Xeon(R) Processor",
                "1",
                "GenuineIntel",
                "Intel(R) Xeon(R) Processor"
            ]),
        ),
        ("selinux", json!({ "status": "disabled" })),
        ("cmdline", json!({ "quiet": true, "console": "ttyS0", "panic": "1" })),
        ("proc_cmdline", json!({ "quiet": true, "console": ["tty0", "ttyS0"], "panic": "1" })),
        ("uptime_seconds", json!(1234)),
        ("virtualization_role", json!("guest")),
        ("virtualization_type", json!("kvm")),
        ("interfaces", json!(["eth0", "lo"])),
        ("all_ipv4_addresses", json!(["192.0.2.2"])),
        ("user_id", json!(Identity::default().user)),
        ("env", json!({ "HOME": "/root", "LANG": "C", "X": "a\nb" })),
    ] {
        assert_eq!(value(&host, name), Ok(wanted), "{name}");
    }
}

#[test]
fn cards_and_routes() {
    let default = value(&host(), "default_ipv4").unwrap();
    for (name, wanted) in [
        ("interface", json!("eth0")),
        ("address", json!("192.0.2.2")),
        ("gateway", json!("192.0.2.1")),
        ("netmask", json!("255.255.255.0")),
        ("network", json!("192.0.2.0")),
        ("prefix", json!("24")),
        ("mtu", json!(1400)),
        ("macaddress", json!("02:fc:00:00:00:01")),
    ] {
        assert_eq!(default[name], wanted, "{name}");
    }
    let card = value(&host(), "eth0").unwrap();
    assert_eq!((&card["active"], &card["ipv4"]["address"]), (&json!(true), &json!("192.0.2.2")));
    assert_eq!(value(&host(), "lo").unwrap()["type"], json!("loopback"));
    assert!(matches!(value(&host(), "eth7"), Err(Stop::Refused(_))));
}

#[test]
fn devices_and_mounts() {
    let devices = value(&host(), "devices").unwrap();
    assert_eq!(devices["nvme0n1"]["rotational"], json!("0"));
    assert_eq!(devices["nvme0n1"]["holders"], json!(["ceph--a-osd--block--b"]));
    assert_eq!(devices["sda"]["rotational"], json!("1"));
    assert_eq!(devices["sda"]["partitions"]["sda1"]["holders"], json!(["md0"]));
    assert_eq!(devices["sda"]["sectors"], json!(480_103_981_056_u64 / 512));
    let mounts = value(&host(), "mounts").unwrap();
    assert_eq!((&mounts[0]["mount"], &mounts[0]["device"]), (&json!("/"), &json!("/dev/vda")));
    assert!(mounts[0]["size_total"].as_u64().unwrap() > 1 << 30);
}

#[test]
fn dates_are_words_of_the_host() {
    let date = value(&host(), "date_time").unwrap();
    assert_eq!(
        (&date["date"], &date["time"], &date["weekday"]),
        (&json!("2026-11-30"), &json!("14:22:35"), &json!("Monday"))
    );
}

#[test]
fn distributions() {
    for (text, family, name, version, release) in [
        (
            "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.3\"\nVERSION=\"9.3 (Blue Onyx)\"",
            "RedHat",
            "Rocky",
            "9.3",
            "Blue Onyx",
        ),
        (
            "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\nVERSION_CODENAME=jammy",
            "Debian",
            "Ubuntu",
            "22.04",
            "jammy",
        ),
        ("ID=\"rhel\"\nVERSION_ID=\"8.9\"\nVERSION=\"8.9 (Ootpa)\"", "RedHat", "RedHat", "8.9", "Ootpa"),
        ("ID=\"sles\"\nVERSION_ID=\"15.5\"\nVERSION=\"15-SP5\"", "Suse", "SLES", "15.5", "NA"),
        ("ID=strange\nID_LIKE=\"rhel\"\nNAME=Strange\nVERSION_ID=1", "RedHat", "Strange", "1", "NA"),
    ] {
        let host = Host::new().file("/etc/os-release", text);
        let got = ["os_family", "distribution", "distribution_version", "distribution_release"]
            .map(|fact| value(&host, fact).unwrap());
        assert_eq!(got, [family, name, version, release].map(Json::from), "{text}");
    }
    let host = Host::new()
        .file("/etc/os-release", "ID=centos\nVERSION_ID=7")
        .file("/etc/centos-release", "CentOS Linux release 7.9.2009 (Core)\n");
    assert_eq!(value(&host, "distribution_version"), Ok(json!("7.9")));
}

#[test]
fn only_what_is_named_is_read() {
    assert!(fact_reads("distribution", &Host::new().facts([])).len() <= 3);
    assert!(planned::<Setup>(&host(), json!({})).result["ansible_facts"].as_object().unwrap().is_empty());
    let change = planned::<Setup>(&host(), json!({ "filter": "ansible_processor_*" }));
    assert_eq!(change.result["ansible_facts"].as_object().unwrap().len(), 5);
    assert!(
        planned::<Setup>(&host(), json!({ "filter": "*" })).result["ansible_facts"]["kernel"].is_string()
    );
    assert!(
        refusal::<Setup>(&host(), json!({ "filter": "ansible_distributon" }))
            .contains("ansible_distribution`")
    );
    assert!(
        matches!(value(&host(), "python"), Err(Stop::Refused(refusal)) if refusal.why.contains("no Python"))
    );
}

#[test]
fn the_table_is_sorted_by_name() {
    assert!(FACTS.windows(2).all(|pair| pair[0].name < pair[1].name));
}
