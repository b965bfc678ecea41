//! Hosts and arguments on which the contract suite tries `spdk_setup`.
use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::{HostPath, Output, Read, Row, Seen};
use serde_json::{Value as Json, json};

pub(super) const ADDRESS: &str = "0000:02:00.0";
const FOLDER: &str = "/sys/bus/pci/devices/0000:02:00.0";

fn ok(text: &str) -> Seen {
    Seen::Output(Output::ok(text))
}

/// A machine with an IOMMU, vfio-pci to be loaded, and one NVMe disk of which lsblk tells this.
pub(super) fn host(disk: &Json) -> Host {
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    Host::new()
        .dir("/etc/systemd/system")
        .dir("/run/systemd/system")
        .dir("/etc/modules-load.d")
        .dir("/etc/modprobe.d")
        .dir("/etc/security/limits.d")
        .dir("/etc/sysctl.d")
        .value(
            "/proc/meminfo",
            "MemTotal: 64000000 kB\nMemFree: 48000000 kB\nMemAvailable: 50000000 kB\nHugepagesize: 2048 kB",
        )
        .value("/proc/cmdline", "quiet intel_iommu=on")
        .value("/proc/sys/vm/nr_hugepages", "0")
        .value(&format!("{pool}/nr_hugepages"), "0")
        .value(&format!("{pool}/free_hugepages"), "0")
        .value("/sys/kernel/iommu_groups/7/type", "DMA")
        .value(&format!("{FOLDER}/class"), "0x010802")
        .value(&format!("{FOLDER}/nvme/nvme0/nvme0n1/size"), "1953525168")
        .value(&format!("{FOLDER}/iommu_group/devices/{ADDRESS}/class"), "0x010802")
        .answer(Row::new("pci-driver", [ADDRESS]), ok("nvme\n"))
        .answer(Row::new("lsblk", Vec::<String>::new()), ok(&json!({ "blockdevices": [disk] }).to_string()))
        .answer(super::bind::openers(ADDRESS), ok(""))
        .answer(
            Row::new("modinfo", ["-F", "filename", "--", "vfio_pci"]),
            ok("/lib/modules/6.1/vfio-pci.ko\n"),
        )
        .answer(
            Row::new("modinfo", ["-F", "filename", "--", "uio_pci_generic"]),
            ok("/lib/modules/6.1/uio_pci_generic.ko\n"),
        )
}

/// A blank disk.
pub(super) fn blank() -> Json {
    json!({ "name": "nvme0n1", "kname": "nvme0n1", "type": "disk", "serial": "S3X1", "fstype": null,
        "mountpoints": [null] })
}

fn calls() -> Vec<(Row, Vec<(Read, Seen)>)> {
    let driver = Read::Ask(Row::new("pci-driver", [ADDRESS]));
    let state = |module: &str| {
        let path = HostPath::new(&format!("/sys/module/{module}/initstate"));
        Read::text(&path.unwrap_or_else(|why| panic!("{why}")))
    };
    let mut calls = Vec::new();
    for (name, module) in [("vfio-pci", "vfio_pci"), ("uio_pci_generic", "uio_pci_generic")] {
        calls.push((Row::new("pci-bind", [ADDRESS, name]), vec![(driver.clone(), ok(&format!("{name}\n")))]));
        calls.push((Row::new("modprobe", [module]), vec![(state(module), Seen::Value("live".to_owned()))]));
        calls.push((Row::new("modprobe-remove", [module]), vec![(state(module), Seen::Absent)]));
    }
    calls.push((Row::new("pci-bind", [ADDRESS, "nvme"]), vec![(driver, ok("nvme\n"))]));
    calls
}

/// All samples.
pub(super) fn all() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: calls() };
    let device = json!([{ "address": "02:00.0" }]);
    let table =
        json!({ "name": "nvme0n1", "kname": "nvme0n1", "type": "disk", "serial": "S3X1", "pttype": "gpt" });
    vec![
        sample("a blank disk", json!({ "devices": device }), host(&blank())),
        sample(
            "pages and a disk",
            json!({ "devices": device, "hugepages": { "count": 4096 }, "user": "spdk" }),
            host(&blank()),
        ),
        sample("a partition table", json!({ "devices": device }), host(&table)),
        sample(
            "a partition table, given away",
            json!({ "devices": [{ "address": ADDRESS, "data": "S3X1" }], "driver": "uio_pci_generic", "persist": false }),
            host(&table),
        ),
        sample("pages alone", json!({ "hugepages": { "count": 16 } }), host(&blank())),
    ]
}
