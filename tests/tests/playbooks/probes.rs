//! What no tool applies is done by hand, and its probe tells whether it is done: each probe of the playbooks answers yes
//! and no. The programs that a probe asks are stood in for by scripts that answer as the real ones do.
use serde_json::{Value as Json, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tests::program::tunerun;

/// A folder with stand-ins; this machine is every host.
struct Bed {
    root: PathBuf,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Bed {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = PathBuf::from(format!("/var/tmp/tunerun-probes-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("bin")).unwrap();
        let mut text = format!("h ansible_connection=local tunerun_state_dir={}/state\n", root.display());
        for group in ["mons", "osds", "clients", "hypervisors", "qemu_hosts", "guests", "spdk_hosts"] {
            text.push_str(&format!("[{group}]\nh\n"));
        }
        fs::write(root.join("hosts.ini"), text).unwrap();
        Self { root }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A program that answers instead of the real one; `HERE` is the folder.
    fn stand_in(&self, name: &str, script: &str) {
        let path = format!("bin/{name}");
        self.write(
            &path,
            &format!("#!/bin/sh\n{}\n", script.replace("HERE", &self.root.display().to_string())),
        );
        fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Plays what a tag names of a playbook.
    fn run(&self, playbook: &str, tag: &str, vars: &Json, mode: &str) -> (Option<i32>, String) {
        let playbook = super::repository().join("playbooks").join(playbook).with_extension("yaml");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(tunerun());
        command.arg("play").arg(playbook).args([
            "-i",
            "hosts.ini",
            "--tags",
            tag,
            mode,
            "-e",
            &vars.to_string(),
        ]);
        command.current_dir(&self.root).stdin(Stdio::null()).env("NO_COLOR", "1");
        command.env("TUNERUN_RUNS", self.root.join("runs"));
        command.env("PATH", format!("{}/bin:{path}", self.root.display()));
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Whether a check finds this task not done.
    #[track_caller]
    fn asks(&self, playbook: &str, tag: &str, vars: &Json, title: &str) -> bool {
        let (code, text) = self.run(playbook, tag, vars, "--check");
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("as it should be"), "{text}");
        text.contains(&format!("~ {title}"))
    }
}

#[test]
fn both_ports_of_the_card_carry_what_comes() {
    let bed = Bed::new();
    let vars = json!({ "lag_ports": ["p0", "p1"], "net_class": bed.root.join("net") });
    let asks = |first: u64, second: u64| {
        bed.write("net/p0/statistics/rx_bytes", "1000\n");
        bed.write("net/p1/statistics/rx_bytes", "7000\n");
        // While the probe sleeps, the network goes on.
        bed.stand_in(
            "sleep",
            &format!(
                "echo {} > HERE/net/p0/statistics/rx_bytes; echo {} > HERE/net/p1/statistics/rx_bytes",
                1000 + first,
                7000 + second
            ),
        );
        bed.asks("ceph-network-cpu", "network_team", &vars, "The card's ports are one LAG")
    };
    assert!(!asks(40_000_000, 52_000_000), "both carry it");
    assert!(asks(92_000_000, 0), "one carries it all");
    assert!(asks(90_000_000, 2_000_000), "one carries nearly all");
    assert!(asks(400, 500), "without traffic nothing can be told");
}

#[test]
fn the_rate_is_what_was_asked_of_the_provider() {
    let bed = Bed::new();
    let vars = json!({ "peer": "10.0.0.2", "wanted_gigabits": 180 });
    let asks = |rate: &str| {
        bed.stand_in(
            "iperf3",
            &format!(
                "[ \"$2\" = 10.0.0.2 ] || exit 1
echo '[  5]   0.00-5.00   sec  14.5 GBytes  24912 Mbits/sec  112             sender'
echo '[  5]   0.00-5.04   sec  14.5 GBytes  24703 Mbits/sec                  receiver'
echo '[SUM]   0.00-5.00   sec   116 GBytes  199300 Mbits/sec  901             sender'
echo '[SUM]   0.00-5.04   sec   116 GBytes  {rate} Mbits/sec                  receiver'"
            ),
        );
        bed.asks("ceph-network-cpu", "network_team", &vars, "The provider's rate limit is lifted")
    };
    assert!(!asks("198004"));
    assert!(asks("24870"), "the meter is still there");
    bed.stand_in("iperf3", "echo 'iperf3: error - unable to connect to server' >&2; exit 1");
    assert!(
        bed.asks("ceph-network-cpu", "network_team", &vars, "The provider's rate limit is lifted"),
        "no answer is no yes"
    );
}

#[test]
fn idle_guests_are_counted_by_the_kernel() {
    let bed = Bed::new();
    let vars = json!({ "kvm_counters": bed.root.join("kvm") });
    let asks = |exits: u64| {
        bed.write("kvm/halt_exits", "5000\n");
        bed.stand_in("sleep", &format!("echo {} > HERE/kvm/halt_exits", 5000 + exits));
        bed.asks("ceph-network-cpu", "idle_proof", &vars, "Hardly anything leaves a guest for HLT")
    };
    assert!(!asks(40));
    assert!(asks(60_000));
    fs::remove_dir_all(bed.root.join("kvm")).unwrap();
    bed.stand_in("sleep", ":");
    let words = "Hardly anything leaves a guest for HLT";
    assert!(
        bed.asks("ceph-network-cpu", "idle_proof", &vars, words),
        "a kernel that does not count says nothing"
    );
}

#[test]
fn figures_are_compared_on_a_cluster_like_the_measured_one() {
    let bed = Bed::new();
    bed.stand_in("ceph", "[ \"$*\" = 'osd metadata --format json' ] && cat HERE/metadata.json");
    let captured =
        fs::read_to_string(super::repository().join("tests/data/ceph-json/osd-metadata.json")).unwrap();
    let captured: Json = serde_json::from_str(&captured).unwrap();
    let ends = |osds: usize, hosts: usize, rotational: &str| {
        let all: Vec<Json> = (0..osds)
            .map(|number| {
                let mut osd = captured[0].clone();
                osd["id"] = json!(number);
                osd["hostname"] = json!(format!("osd-host-{}", number % hosts));
                osd["bluestore_bdev_rotational"] = json!(rotational);
                osd
            })
            .collect();
        bed.write("metadata.json", &json!(all).to_string());
        bed.run("ceph-qemu-librbd", "like_measured", &json!({}), "--check")
    };
    let (code, text) = ends(30, 5, "0");
    assert_eq!(code, Some(0), "{text}");
    for (osds, hosts, rotational) in [(29, 5, "0"), (30, 4, "0"), (30, 5, "1")] {
        let (code, text) = ends(osds, hosts, rotational);
        assert_eq!(code, Some(1), "{osds} {hosts} {rotational}: {text}");
        assert!(text.contains("30 OSDs on NVMe in five hosts"), "{text}");
    }
}

#[test]
fn a_guests_disk_ends_at_two_terabytes_with_an_old_label() {
    let bed = Bed::new();
    let asks = |lines: &str| {
        bed.write("disks", lines);
        bed.stand_in("lsblk", "case $* in *--nodeps*PTTYPE*) cat HERE/disks;; *) exit 1;; esac");
        bed.asks("ceph-qemu-librbd", "gpt", &json!({}), "Guest disks beyond 2 TB have a GPT")
    };
    assert!(!asks("vda 6442450944000 gpt\nvdb 107374182400 dos\nsr0 1073741312 \n"));
    assert!(asks("vda 6442450944000 dos\n"));
    assert!(!asks("vda 6442450944000 \n"), "one without a label has room for it");
    bed.stand_in("lsblk", "exit 1");
    assert!(
        !bed.asks("ceph-qemu-librbd", "gpt", &json!({}), "nothing"),
        "a guest without disks needs nothing"
    );
}

#[test]
fn a_sweep_of_chunk_sizes_overwrites_what_is_blank_and_idle_alone() {
    if !std::path::Path::new("/usr/sbin/mkswap").exists() {
        eprintln!("NOT TESTED: signatures need /usr/sbin/mkswap");
        assert!(std::env::var_os("CI").is_none(), "CI must have util-linux");
        return;
    }
    let bed = Bed::new();
    bed.stand_in("fio", "echo \"$*\" >> HERE/fio.log; echo '{}'");
    let partition = bed.root.join("partition");
    fs::write(&partition, vec![0; 1 << 20]).unwrap();
    let vars = json!({ "spare_partition": partition });
    let jobs = || fs::read_to_string(bed.root.join("fio.log")).unwrap_or_default();

    let (code, text) = bed.run("lvm-kvm-disk", "sweep", &json!({}), "--yes");
    assert!(code == Some(1) && text.contains("name one by `spare_partition`"), "{text}");
    assert!(Command::new("/usr/sbin/mkswap").arg(&partition).output().unwrap().status.success());
    let (code, text) = bed.run("lvm-kvm-disk", "sweep", &vars, "--yes");
    assert!(code == Some(1) && text.contains("It holds nothing"), "{text}");
    fs::write(&partition, vec![0; 1 << 20]).unwrap();
    let held = fs::File::open(&partition).unwrap();
    let (code, text) = bed.run("lvm-kvm-disk", "sweep", &vars, "--yes");
    assert!(code == Some(1) && text.contains("It holds nothing"), "{text}");
    assert_eq!(jobs(), "", "nothing was written");
    drop(held);

    let (code, text) = bed.run("lvm-kvm-disk", "sweep", &vars, "--yes");
    assert_eq!(code, Some(0), "{text}");
    let jobs = jobs();
    let sizes: Vec<&str> =
        jobs.lines().filter_map(|line| line.split("--blocksize=").nth(1)?.split(' ').next()).collect();
    assert_eq!(sizes, ["64k", "256k", "1m", "4m"]);
    let named = format!("--filename={}", partition.display());
    assert!(jobs.lines().all(|line| line.contains(&named) && line.contains("--direct=1")), "{jobs}");
}
