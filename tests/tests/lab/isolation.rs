//! What a host may write, and that neither the machine nor its neighbours feel it.
use crate::bed::{Bed, can, said, ssh};
use std::fs;
use tunerun::lab::{Lab, LabSpec, Tier};

fn tiers(test: impl Fn(Tier)) {
    for tier in [Tier::Plain, Tier::Booted] {
        if can(tier) {
            test(tier);
        }
    }
}

#[test]
fn kernel_settings_are_the_hosts_own_and_refuse_as_the_kernel_does() {
    tiers(|tier| {
        let bed = Bed::new();
        let lab = bed.up(tier, &["a", "b"]);
        let real = fs::read_to_string("/proc/sys/vm/swappiness").unwrap();
        let thp = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap();
        assert_eq!(said(&lab, "a", "echo 17 > /proc/sys/vm/swappiness; cat /proc/sys/vm/swappiness"), "17");
        for (key, wrong) in [
            ("vm.swappiness", "201"),
            ("vm.swappiness", "many"),
            ("vm.dirty_ratio", "101"),
            ("vm.dirty_bytes", "1"),
        ] {
            let output = ssh(&lab, "a", &format!("sysctl -w {key}={wrong}"));
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && words.contains("Invalid argument"),
                "{tier:?} {key}={wrong}: {words}"
            );
        }
        assert_eq!(
            said(&lab, "a", "sysctl -qw vm.dirty_bytes=1048576; sysctl -n vm.dirty_bytes vm.dirty_ratio"),
            "1048576\n0"
        );
        let chosen = "cd /sys/kernel/mm/transparent_hugepage; echo never > enabled; cat enabled";
        assert!(said(&lab, "a", chosen).ends_with("[never]"), "{tier:?}");
        assert_eq!(
            said(&lab, "b", "cat /proc/sys/vm/swappiness"),
            real.trim(),
            "{tier:?}: a neighbour felt it"
        );
        assert_eq!(
            fs::read_to_string("/proc/sys/vm/swappiness").unwrap(),
            real,
            "{tier:?}: the machine felt it"
        );
        assert_eq!(fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap(), thp);
    });
}

#[test]
fn huge_pages_are_one_number_in_two_places() {
    tiers(|tier| {
        let bed = Bed::new();
        let lab = bed.up(tier, &["a"]);
        let real = fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap();
        let both = "sysctl -n vm.nr_hugepages; cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
        assert_eq!(said(&lab, "a", &format!("sysctl -qw vm.nr_hugepages=12; {both}")), "12\n12", "{tier:?}");
        assert_eq!(fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap(), real);
    });
}

#[test]
fn only_the_queues_of_the_hosts_own_cards_are_real_in_sys() {
    tiers(|tier| {
        let bed = Bed::new();
        let lab = bed.up(tier, &["a", "b"]);
        let queue = "/sys/class/net/eth0/queues";
        assert_eq!(
            said(&lab, "a", &format!("ls {queue} | wc -l; ls /sys/class/net | sort | tr '\\n' ' '")),
            "8\neth0 lo"
        );
        assert_eq!(
            said(&lab, "a", &format!("echo 1 > {queue}/rx-1/rps_cpus; cat {queue}/rx-1/rps_cpus")),
            "1",
            "{tier:?}"
        );
        assert_eq!(
            said(&lab, "a", &format!("echo 1 > {queue}/tx-1/xps_cpus; cat {queue}/tx-1/xps_cpus")),
            "1",
            "{tier:?}"
        );
        assert_eq!(said(&lab, "b", &format!("cat {queue}/rx-1/rps_cpus")), "0");
        assert_eq!(said(&lab, "a", "sysctl -qw net.core.somaxconn=999; sysctl -n net.core.somaxconn"), "999");
        assert_ne!(fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim(), "999");
        let writable = "awk '$3 == \"sysfs\" && $4 ~ /^rw/ { print $2 }' /proc/mounts";
        assert_eq!(said(&lab, "a", writable), "/sys/devices/virtual/net", "{tier:?}");
        let written = ssh(&lab, "a", "echo change > /sys/devices/system/cpu/cpu0/uevent");
        assert!(!written.status.success(), "{tier:?}: /sys is writable");
        let affinity =
            "d=$(ls -d /proc/irq/[0-9]*/ | tail -1); echo 1 > $d/smp_affinity; cat $d/smp_affinity";
        assert_eq!(said(&lab, "a", affinity), "1", "{tier:?}");
    });
}

#[test]
fn scratch_and_private_folders_are_empty() {
    tiers(|tier| {
        let bed = Bed::new();
        let here = bed.root.join("project");
        fs::create_dir(&here).unwrap();
        fs::write(here.join("vault.yml"), "secret").unwrap();
        let opt = std::path::Path::new("/opt").join(format!("tunerun-lab-test-{}", std::process::id()));
        fs::create_dir_all(&opt).unwrap();
        fs::write(opt.join("vault.yml"), "secret").unwrap();
        let spec =
            LabSpec { hidden: vec![here, opt.clone(), "/".into(), "/usr".into()], ..bed.spec(tier, &["a"]) };
        let lab = Lab::up(&spec).unwrap();
        let seen = said(
            &lab,
            "a",
            &format!(
                "ls -A /home /mnt /srv {} | grep -v -e : -e '^$'; ls -A /root; test -x /usr/sbin/sshd",
                opt.display()
            ),
        );
        fs::remove_dir_all(&opt).unwrap();
        assert_eq!(seen, ".ssh", "{tier:?}");
        assert_eq!(
            said(&lab, "a", "find / -xdev -name vault.yml 2>/dev/null | grep tunerun-lab | wc -l"),
            "0"
        );
        assert_eq!(said(&lab, "a", "touch /root/x /mnt/x /opt/x; rm -r /home; mkdir /home; ls -A /home"), "");
    });
}

#[test]
fn a_full_disk_on_one_host_is_not_full_on_another() {
    tiers(|tier| {
        let bed = Bed::new();
        let lab = Lab::up(&LabSpec { upper_mib: 32, ..bed.spec(tier, &["a", "b"]) }).unwrap();
        let full = ssh(&lab, "a", "dd if=/dev/zero of=/var/full bs=1M count=100");
        assert!(String::from_utf8_lossy(&full.stderr).contains("No space left"), "{tier:?}");
        assert_eq!(
            said(&lab, "b", "dd if=/dev/zero of=/var/some bs=1M count=8 2>&1 | tail -1 | cut -c1-7"),
            "8388608"
        );
        assert!(!std::path::Path::new("/var/full").exists() && !std::path::Path::new("/var/some").exists());
    });
}

#[test]
fn the_machines_files_stay_as_they_are() {
    tiers(|tier| {
        let bed = Bed::new();
        let lab = bed.up(tier, &["a", "b"]);
        let real = fs::read("/etc/hostname").ok();
        said(
            &lab,
            "a",
            "echo changed > /etc/hostname; rm /etc/passwd-; mkdir -p /etc/sysctl.d; echo vm.swappiness=1 > /etc/sysctl.d/90-lab-test.conf; hostname other; true",
        );
        assert_eq!(fs::read("/etc/hostname").ok(), real);
        assert!(!std::path::Path::new("/etc/sysctl.d/90-lab-test.conf").exists());
        assert_eq!(
            said(&lab, "b", "hostname; ls /etc/sysctl.d | grep -c lab-test || true"),
            "b\n0",
            "{tier:?}"
        );
        assert_ne!(nix_hostname(), "other");
    });
}

fn nix_hostname() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}
