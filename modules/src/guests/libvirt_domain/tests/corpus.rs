//! The corpus of domains, each with the checks that its index names.
use super::{after, lines, plan, refusal};
use crate::guests::libvirt_domain::samples::host;
use crate::vocabulary::RiskName;
use serde_json::json;

macro_rules! corpus {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/corpus/libvirt/", $name))
    };
}

const NUMA: &str = corpus!("01-numa-hostdev-file-disk.xml");
const RHEL7: &str = corpus!("02-rhel7-file-disk-many-devices.xml");
const DOMSTATUS: &str = corpus!("03-domstatus-wrapper.xml");
const RBD: &str = corpus!("04-rbd-disks-no-features.xml");
const NOVA: &str = corpus!("05-nova-realtime.xml");
const ARM: &str = corpus!("06-aarch64-virt.xml");
const COMMENT: &str = corpus!("07-pvspinlock-off-with-comment.xml");
const VHOST: &str = corpus!("08-vhostuser-disk-shared-hugepages.xml");
const PINNED: &str = corpus!("09-iothreads-pinned-hyperv-kvm-features.xml");

fn pvspinlock(state: &str) -> serde_json::Value {
    json!({ "features": { "pvspinlock": state } })
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn one_line_for_the_spin_lock_and_the_comment_stays_first() {
    let text = after(NUMA, pvspinlock("off"));
    assert_eq!(lines(NUMA, &text), (none(), vec!["<pvspinlock state='off'/>".to_owned()]));
    assert!(text.starts_with("<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE."));
    assert_eq!(text.replace("    <pvspinlock state='off'/>\n", ""), NUMA);
}

#[test]
fn huge_pages_add_one_element() {
    let args = json!({ "memory_backing": { "hugepages": true } });
    let big = host(&[("guest", NUMA)])
        .value("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "6144")
        .value("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3072")
        .value("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "3072");
    let text = super::sent(&plan(&big, args).steps[0]);
    let added = "  <memoryBacking>\n    <hugepages/>\n  </memoryBacking>\n";
    assert_eq!(text.replace(added, ""), NUMA);
    assert_eq!(text.matches(added).count(), 1);
}

#[test]
fn a_cache_touches_one_driver() {
    let args = json!({ "disks": [{ "target": "vda", "cache": "none" }] });
    let text = after(RHEL7, args);
    assert_eq!(text, RHEL7.replace("type='qcow2'/>", "type='qcow2' cache='none'/>"));
}

#[test]
fn a_file_of_a_running_state_is_refused_by_its_root() {
    let why = refusal(&host(&[("guest-idm", DOMSTATUS)]), pvspinlock("off"));
    assert!(why.contains("<domstatus>") && why.contains("/run/libvirt"), "{why}");
}

#[test]
fn features_are_made_and_the_disks_of_rbd_stay() {
    let text = after(RBD, pvspinlock("off"));
    let added = "  <features>\n    <pvspinlock state='off'/>\n  </features>\n";
    assert_eq!(text.replace(added, ""), RBD);
    assert!(text.contains(&format!("</os>\n{added}")), "{text}");
    let text = after(RBD, json!({ "disks": [{ "target": "vdb", "cache": "none" }] }));
    let (gone, come) = lines(RBD, &text);
    assert_eq!(gone, ["<driver name='qemu' type='raw'/>"]);
    assert_eq!(come, ["<driver name='qemu' type='raw' cache='none'/>"]);
    // The network disks are found by their source too, where that tells one of them.
    let why = refusal_of_two(json!({ "disks": [{ "source": "pool/image", "cache": "none" }] }));
    assert!(why.contains("2 of its disks"), "{why}");
}

fn refusal_of_two(args: serde_json::Value) -> String {
    let change = plan(&host(&[("guest", RBD)]), args);
    change.risks.iter().map(|risk| risk.why.clone()).collect()
}

#[test]
fn a_guest_of_nova_is_left_alone_with_novas_own_setting() {
    let args = json!({ "memory_backing": { "hugepages": { "size": "1G" } } });
    let change = plan(&host(&[("instance-00000003", NOVA)]), args);
    assert!(change.steps.is_empty());
    let [risk] = &change.risks[..] else { panic!("{:?}", change.risks) };
    assert_eq!(risk.name, RiskName::CannotConverge);
    assert!(risk.why.contains("OpenStack Nova") && risk.why.contains("hw:mem_page_size"), "{}", risk.why);
}

#[test]
fn huge_pages_keep_what_else_memory_is_made_of() {
    // The same guest, not Nova's: asked of its inactive XML, nothing of the running one is taken over.
    let own = NOVA
        .replace("http://openstack.org/xmlns/libvirt/nova/1.0", "http://example.org/lab")
        .replace("/var/lib/nova/instances/", "/srv/");
    let args = json!({ "memory_backing": { "hugepages": { "size": "2M" } } });
    let text = after(&own, args);
    let added = "    <hugepages>\n      <page size='2048' unit='KiB'/>\n    </hugepages>\n";
    assert_eq!(text.replace(added, ""), own);
    assert!(text.contains("<nosharepages/>") && text.contains("<locked/>"));
    assert!(text.contains(&format!("<memoryBacking>\n{added}")), "first in its list: {text}");
    let why = refusal(
        &host(&[("guest", &own)]),
        json!({ "memory_backing": { "access": "private" }, "vhost_user_scsi": [{ "id": "c0", "socket": "/var/tmp/vhost.0" }] }),
    );
    assert!(why.contains("memory that others may map"), "{why}");
}

#[test]
fn a_feature_of_x86_is_not_given_to_arm() {
    let change = plan(&host(&[("arm-guest", ARM)]), pvspinlock("off"));
    assert!(change.steps.is_empty() && change.risks[0].why.contains("aarch64"), "{change:?}");
    let text =
        after(ARM, json!({ "iothreads": 1, "disks": [{ "target": "vda", "iothread": 1, "cache": "none" }] }));
    assert!(text.contains("<gic version='3'/>"));
    assert_eq!(after(ARM, json!({ "memory": "4G", "features": { "gic": 3 } })), ARM, "4 GiB are 4194304 KiB");
}

#[test]
fn a_comment_on_the_line_of_the_attribute_stays() {
    assert_eq!(after(COMMENT, pvspinlock("off")), COMMENT);
    assert_eq!(
        after(COMMENT, json!({ "features": { "hap": true, "acpi": true, "pae": true, "ioapic": "qemu" } })),
        COMMENT
    );
    let on = after(COMMENT, pvspinlock("on"));
    assert_eq!(on, COMMENT.replace("<pvspinlock state='off'/>", "<pvspinlock state='on'/>"));
    assert_eq!(after(COMMENT, json!({ "memory": "8G", "machine": "q35", "vcpus": 8 })), COMMENT);
    let io = after(COMMENT, json!({ "disks": [{ "source": "/dev/vg0/cvm-root", "io": "threads" }] }));
    assert_eq!(io, COMMENT.replace("io=\"native\"", "io=\"threads\""));
}

#[test]
fn another_page_size_keeps_source_access_and_comment() {
    let args = json!({ "memory_backing": { "hugepages": { "size": "1G" }, "access": "shared" } });
    let big =
        host(&[("guest", VHOST)]).value("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "16");
    let text = super::sent(&plan(&big, args).steps[0]);
    assert_eq!(text, VHOST.replace("size='2048'", "size='1048576'"));
    // Shared memory is there: a further vhost-user device is taken.
    let args = json!({ "vhost_user_scsi": [{ "id": "c0", "socket": "/var/tmp/vhost.0", "queues": 4 }] });
    assert!(after(VHOST, args).contains(
        "\"driver\":\"vhost-user-scsi-pci\",\"id\":\"c0-scsi\",\"chardev\":\"c0\",\"num_queues\":4"
    ));
}

#[test]
fn nested_features_and_pins_are_kept() {
    let text = after(PINNED, pvspinlock("off"));
    assert_eq!(text, PINNED.replace("<pvspinlock state='on'/>", "<pvspinlock state='off'/>"));
    let why = refusal(&host(&[("guest", PINNED)]), json!({ "iothreads": 1 }));
    assert!(why.contains("I/O thread 2 is pinned, and 1 are declared"), "{why}");
    let text = after(PINNED, json!({ "features": { "kvm/hidden": "off", "kvm/pv-ipi": true } }));
    let (gone, come) = lines(PINNED, &text);
    assert_eq!(gone, ["<hidden state='on'/>"]);
    assert_eq!(come, ["<hidden state='off'/>", "<pv-ipi state='on'/>"]);
    let why =
        refusal(&host(&[("guest", PINNED)]), json!({ "memory_backing": { "hugepages": { "size": "2M" } } }));
    assert!(why.contains("nodeset 0"), "{why}");
}
