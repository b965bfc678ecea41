//! `spdk_setup` on hosts in memory.
use super::SpdkSetup;
use super::samples::{ADDRESS, blank, host};
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Back, Change, Output, Row, Seen, Standing};
use serde_json::{Value as Json, json};

fn one() -> Json {
    json!({ "devices": [{ "address": "0000:02:00.0" }] })
}

fn disk(more: Json) -> Json {
    let mut disk = blank();
    for (key, value) in more.as_object().unwrap() {
        disk[key] = value.clone();
    }
    disk
}

fn binds(change: &Change) -> Vec<Vec<String>> {
    let calls = change.steps.iter().filter_map(|step| match &step.act {
        Act::Call { row, .. } if row.name == "pci-bind" => Some(row.args.clone()),
        _ => None,
    });
    calls.collect()
}

fn answer(host: Host, address: &str, driver: &str) -> Host {
    host.answer(Row::new("pci-driver", [address]), Seen::Output(Output::ok(format!("{driver}\n"))))
}

#[test]
fn a_blank_disk_is_bound_and_given_back() {
    let change = planned::<SpdkSetup>(&host(&blank()), one());
    assert_eq!(binds(&change), [[ADDRESS, "vfio-pci"]]);
    let step = change.steps.iter().find(|step| step.claim.as_str() == "pci/0000:02:00.0/driver").unwrap();
    let Back::Exactly(Act::Call { row, .. }) = &step.back else { panic!("{:?}", step.back) };
    assert_eq!(row.args, [ADDRESS, "nvme"]);
    let order: Vec<&str> = change.steps.iter().map(|step| step.claim.as_str()).collect();
    let at = |claim: &str| order.iter().position(|known| known.contains(claim)).unwrap();
    assert!(at("module/vfio_pci") < at("pci/"), "{order:?}");
    let text = format!("{:?}", change.steps);
    assert!(text.contains("tunerun-spdk-bind") && text.contains("S3X1"), "it is bound at boot too");
}

#[test]
fn a_bound_disk_needs_nothing() {
    let host = answer(host(&blank()), ADDRESS, "vfio-pci").value("/sys/module/vfio_pci/initstate", "live");
    let change =
        planned::<SpdkSetup>(&host, json!({ "devices": [{ "address": "02:00.0" }], "persist": false }));
    assert!(change.is_empty(), "{:?}", change.steps);
    assert!(matches!(change.evidence[0].standing, Standing::Live { .. }));
}

#[test]
fn what_is_in_use_is_refused_with_its_holder() {
    for (more, words) in [
        (
            json!({ "children": [{ "name": "vg0-root", "kname": "dm-0", "type": "lvm" }] }),
            "held by dm-0 (lvm vg0-root)",
        ),
        (json!({ "mountpoints": ["/srv/osd"] }), "mounted on /srv/osd"),
        (json!({ "mountpoints": ["[SWAP]"], "fstype": "swap" }), "swapped to"),
        (json!({ "children": [{ "name": "md0", "type": "raid1" }] }), "held by md0 (raid1)"),
    ] {
        let args = json!({ "devices": [{ "address": ADDRESS, "data": "S3X1" }] });
        let why = refusal::<SpdkSetup>(&host(&disk(more)), args);
        assert!(why.contains(words) && why.contains("no argument overrides"), "{why}");
    }
}

#[test]
fn what_a_process_holds_open_is_refused_with_its_name() {
    let openers = |status: i32, text: &str| {
        let output = Seen::Output(Output { status, ..Output::ok(text) });
        host(&blank()).answer(super::bind::openers(ADDRESS), output)
    };
    let args = json!({ "devices": [{ "address": ADDRESS, "data": "S3X1" }] });
    let why = refusal::<SpdkSetup>(&openers(0, "/dev/nvme0n1 4711 qemu-system-x86\n"), args.clone());
    assert!(why.contains("held open by qemu-system-x86 (process 4711)"), "{why}");
    assert!(why.contains("no argument overrides"), "{why}");
    // What cannot be told is not free.
    assert!(refusal::<SpdkSetup>(&openers(126, ""), args.clone()).contains("cannot be told"));
    assert_eq!(binds(&planned::<SpdkSetup>(&openers(0, ""), args)).len(), 1);
}

#[test]
fn what_is_not_blank_is_refused_until_it_is_given_away() {
    for (more, words) in [
        (json!({ "pttype": "gpt" }), "partition table type gpt"),
        (json!({ "fstype": "ceph_bluestore" }), "an OSD of Ceph"),
        (json!({ "fstype": "LVM2_member" }), "physical volume of LVM"),
    ] {
        let host = host(&disk(more));
        let why = refusal::<SpdkSetup>(&host, one());
        assert!(why.contains(words) && why.contains("wipefs") && why.contains("S3X1"), "{why}");
        let given = |data: &str| json!({ "devices": [{ "address": ADDRESS, "data": data }] });
        assert!(refusal::<SpdkSetup>(&host, given("OTHER")).contains(words));
        assert_eq!(binds(&planned::<SpdkSetup>(&host, given("S3X1"))).len(), 1);
        let by_id = host.link("/dev/disk/by-id/nvme-Disk_S3X1", "../../nvme0n1");
        assert_eq!(binds(&planned::<SpdkSetup>(&by_id, given("nvme-Disk_S3X1"))).len(), 1);
        let other = by_id.link("/dev/disk/by-id/nvme-Disk_S3X2", "../../nvme1n1");
        assert!(refusal::<SpdkSetup>(&other, given("nvme-Disk_S3X2")).contains(words));
    }
}

#[test]
fn only_disks_that_are_there() {
    let why = refusal::<SpdkSetup>(&host(&blank()), json!({ "devices": [{ "address": "0000:99:00.0" }] }));
    assert!(why.contains("no PCI device 0000:99:00.0"), "{why}");
    let card = host(&blank()).value("/sys/bus/pci/devices/0000:02:00.0/class", "0x020000");
    assert!(refusal::<SpdkSetup>(&card, one()).contains("no disk"));
    let twice = json!({ "devices": [{ "address": ADDRESS }, { "address": "02:00.0" }] });
    assert!(refusal::<SpdkSetup>(&host(&blank()), twice).contains("twice"));
    let silent = host(&blank()).answer(
        Row::new("lsblk", Vec::<String>::new()),
        Seen::Output(Output { status: 127, ..Output::ok("") }),
    );
    assert!(refusal::<SpdkSetup>(&silent, one()).contains("cannot be told"));
}

#[test]
fn vfio_needs_an_iommu_and_tells_of_its_group() {
    let shared = answer(host(&blank()), "0000:02:00.1", "snd_hda_intel")
        .value("/sys/bus/pci/devices/0000:02:00.0/iommu_group/devices/0000:02:00.1/class", "0x040300");
    let change = planned::<SpdkSetup>(&shared, one());
    assert!(change.notes.iter().any(|note| note.contains("snd_hda_intel")), "{:?}", change.notes);
    let bare = answer(Host::new(), ADDRESS, "nvme");
    assert!(refusal::<SpdkSetup>(&bare, one()).contains("needs an IOMMU"));
}

#[test]
fn huge_pages_are_counted_and_kept() {
    let args = json!({ "hugepages": { "size": "2M", "count": 4096 } });
    let change = planned::<SpdkSetup>(&host(&blank()), args);
    let text = format!("{:?}", change.steps);
    assert!(text.contains("nr_hugepages") && text.contains("4096"), "{text}");
    assert!(text.contains("/etc/sysctl.d"), "they are there after a boot too: {text}");
    let more = json!({ "hugepages": { "count": 1_000_000 } });
    assert!(refusal::<SpdkSetup>(&host(&blank()), more).contains("to give"));
    let once = json!({ "hugepages": { "count": 8 }, "persist": false });
    assert_eq!(planned::<SpdkSetup>(&host(&blank()), once).steps.len(), 1);
}

#[test]
fn without_systemd_nothing_is_kept() {
    let bare = answer(Host::new(), ADDRESS, "vfio-pci")
        .value("/sys/bus/pci/devices/0000:02:00.0/class", "0x010802")
        .value("/sys/kernel/iommu_groups/7/type", "DMA")
        .value("/sys/module/vfio_pci/initstate", "live");
    assert!(refusal::<SpdkSetup>(&bare, one()).contains("persist: false"));
}

#[test]
fn the_list_is_the_only_reason_to_touch_a_disk() {
    let change = planned::<SpdkSetup>(&host(&blank()), json!({ "hugepages": { "count": 8 } }));
    assert_eq!(binds(&change), [[""; 0]; 0]);
}
