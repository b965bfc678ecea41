//! What each argument makes of a domain.
use super::{after, lines, plan, sent, uuid};
use crate::guests::libvirt_domain::samples::{host, small};
use crate::guests::virsh;
use crate::vocabulary::{Output, RiskName, Seen};
use serde_json::json;

#[test]
fn the_document_of_the_spin_lock_is_said_in_one_task() {
    // `pvsendipi` of that document is refused elsewhere; all else is one define.
    let text = after(
        &small(),
        json!({ "features": { "acpi": true, "apic": true, "pae": true, "hap": "on", "pvspinlock": "off", "ioapic": { "driver": "qemu" } } }),
    );
    let (gone, come) = lines(&small(), &text);
    assert!(gone.is_empty());
    assert_eq!(come, ["<pae/>", "<hap state='on'/>", "<pvspinlock state='off'/>", "<ioapic driver='qemu'/>"]);
}

#[test]
fn cpus_memory_and_machine() {
    let text = after(
        &small(),
        json!({ "vcpus": { "count": 16, "sockets": 1, "cores": 16, "threads": 1 }, "memory": "16G" }),
    );
    let (gone, come) = lines(&small(), &text);
    assert_eq!(gone.len(), 3, "{gone:?}");
    assert!(come.contains(&"<vcpu placement='static'>16</vcpu>".to_owned()), "{come:?}");
    assert!(come.contains(&"<topology sockets='1' cores='16' threads='1'/>".to_owned()), "{come:?}");
    assert!(come.contains(&"<memory unit='KiB'>16777216</memory>".to_owned()), "{come:?}");
    assert!(come.contains(&"<currentMemory unit='KiB'>16777216</currentMemory>".to_owned()), "{come:?}");
    let change = plan(&host(&[("guest", &small())]), json!({ "machine": "pc" }));
    assert!(sent(&change.steps[0]).contains("machine='pc'"));
    assert!(change.notes.iter().any(|note| note.contains("PCI addresses")), "{:?}", change.notes);
    assert_eq!(after(&small(), json!({ "machine": "q35" })), small());
}

#[test]
fn pins_of_all_threads() {
    let text = after(
        &small(),
        json!({
            "iothreads": 1, "disks": [{ "target": "vda", "iothread": 1 }],
            "cputune": { "vcpupin": { "0-1": "2,3" }, "emulatorpin": 4, "iothreadpin": { "1": "5" } },
        }),
    );
    for line in [
        "    <vcpupin vcpu='0' cpuset='2-3'/>\n    <vcpupin vcpu='1' cpuset='2-3'/>\n    <emulatorpin cpuset='4'/>\n    <iothreadpin iothread='1' cpuset='5'/>\n",
        "  <iothreads>1</iothreads>\n  <cputune>\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_bus_changes_with_the_name_of_the_disk() {
    let ide = small()
        .replace("<target dev='vda' bus='virtio'/>", "<target dev='hda' bus='ide'/>\n      <address type='drive' controller='0' bus='0' target='0' unit='0'/>");
    let args = json!({ "disks": [{ "source": "/srv/web-1.img", "bus": "virtio", "cache": "none" }] });
    let change = plan(&host(&[("guest", &ide)]), args.clone());
    let text = sent(&change.steps[0]);
    assert!(text.contains("<target dev='vda' bus='virtio'/>\n    </disk>"), "{text}");
    assert!(text.contains("cache='none'"));
    assert!(change.notes.iter().any(|note| note.contains("hda becomes vda")), "{:?}", change.notes);
    assert_eq!(after(&ide, args), text);
}

#[test]
fn a_disk_gets_its_place_in_the_boot_order() {
    let fixed = small().replace(
        "bus='virtio'/>\n",
        "bus='virtio'/>\n      <address type='pci' domain='0x0000' bus='0x04' slot='0x00' function='0x0'/>\n",
    );
    let text = after(&fixed, json!({ "disks": [{ "target": "vda", "boot_order": 2 }] }));
    let (gone, come) = lines(&fixed, &text);
    assert!(gone.is_empty(), "the address is kept: {gone:?}");
    assert_eq!(come, ["<boot order='2'/>"]);
    assert!(text.contains("<boot order='2'/>\n      <address"), "{text}");
    let by_machine = small().replace("</type>\n", "</type>\n    <boot dev='hd'/>\n");
    let change =
        plan(&host(&[("guest", &by_machine)]), json!({ "disks": [{ "target": "vda", "boot_order": 2 }] }));
    assert!(change.risks[0].why.contains("<boot dev"), "{:?}", change.risks);
}

/// QEMU 7.2 takes a device as JSON, behind those that libvirt has placed.
const DEVICE: &str = "    <qemu:arg value='{\"driver\":\"vhost-user-scsi-pci\",\"id\":\"spdk_vhost_scsi0-scsi\",\"chardev\":\"spdk_vhost_scsi0\",\"num_queues\":2,\"bootindex\":2}'/>\n";

#[test]
fn an_older_qemu_takes_devices_in_their_order() {
    let old = "Using library: libvirt 7.0.0\nRunning hypervisor: QEMU 5.2.0\n";
    let version = |text: &str| {
        let answer = Seen::Output(Output::ok(text));
        host(&[("guest", &small())]).answer(virsh::version("qemu:///system"), answer)
    };
    let args = json!({
        "memory_backing": { "hugepages": true, "access": "shared" },
        "vhost_user_scsi": [{ "id": "c0", "socket": "/var/tmp/vhost.0", "queues": 2, "bootindex": 2 }],
        "arguments": ["-device ivshmem-plain-pci,id=i0"],
    });
    let change = plan(&version(old), args.clone());
    let text = sent(&change.steps[0]);
    assert!(
        text.contains(
            "<qemu:arg value='vhost-user-scsi-pci,id=c0-scsi,chardev=c0,num_queues=2,bootindex=2'/>"
        )
    );
    assert!(!change.notes.iter().any(|note| note.contains("addr=")), "{:?}", change.notes);
    // The same device by a newer QEMU takes the place of the older words.
    let newer = host(&[("guest", &text)]);
    let change = plan(&newer, args);
    let after = sent(&change.steps[0]);
    assert!(
        !after.contains("'vhost-user-scsi-pci") && after.matches("vhost-user-scsi-pci").count() == 1,
        "{after}"
    );
    assert!(change.notes.iter().any(|note| note.contains("ivshmem-plain-pci") && note.contains("addr=")));
}

#[test]
fn qemu_is_given_an_environment_and_arguments() {
    let ready = host(&[("guest", &small())]).file("/usr/lib64/libtcmalloc.so", "");
    let args = json!({
        "environment": { "LD_PRELOAD": "/usr/lib64/libtcmalloc.so", "LD_LIBRARY_PATH": "/usr/local/lib:/usr/local/lib64" },
        "memory_backing": { "hugepages": true, "access": "shared" },
        "vhost_user_scsi": [{ "id": "spdk_vhost_scsi0", "socket": "/var/tmp/vhost.0", "queues": 2, "bootindex": 2 }],
        "arguments": ["-nodefaults"],
    });
    let change = plan(&ready, args.clone());
    let text = sent(&change.steps[0]);
    for line in [
        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>",
        "    <qemu:arg value='-nodefaults'/>\n    <qemu:arg value='-chardev'/>\n    <qemu:arg value='socket,id=spdk_vhost_scsi0,path=/var/tmp/vhost.0'/>\n",
        DEVICE,
        "    <qemu:env name='LD_PRELOAD' value='/usr/lib64/libtcmalloc.so'/>\n",
        "  </qemu:commandline>\n</domain>\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(change.notes.iter().any(|note| note.contains("LD_LIBRARY_PATH")), "{:?}", change.notes);
    // Fewer queues: the device is changed, not added once more; a null takes a variable away.
    let fewer = json!({
        "vhost_user_scsi": [{ "id": "spdk_vhost_scsi0", "socket": "/var/tmp/vhost.0", "queues": 1 }],
        "environment": { "LD_LIBRARY_PATH": null },
    });
    let (gone, come) = lines(&text, &after(&text, fewer));
    assert_eq!((gone.len(), come.len()), (2, 1), "{gone:?} {come:?}");
    // A library that is not there.
    let change = plan(&host(&[("guest", &small())]), args);
    assert!(
        change.steps.is_empty() && change.risks[0].why.contains("is not on the host"),
        "{:?}",
        change.risks
    );
}

#[test]
fn domains_are_found_by_name_pattern_uuid_and_what_they_say() {
    let two = small().replace("web-1", "db-1").replace("gold", "iron").replace("shop", "store");
    let hosts = host(&[("web-1", &small()), ("db-1", &two)]);
    let names = |domains: serde_json::Value| {
        let change = plan(&hosts, json!({ "domains": domains, "features": { "hap": true } }));
        change.result["domains"].clone()
    };
    assert_eq!(names(json!(["web-*"])), json!(["web-1"]));
    assert_eq!(names(json!([uuid()])), json!(["web-1"]));
    assert_eq!(names(json!(["*"])), json!(["web-1", "db-1"]));
    assert_eq!(names(json!([{ "metadata": "tier", "value": "ir*" }])), json!(["db-1"]));
    assert_eq!(names(json!([{ "title": "sh?p" }, "db-1"])), json!(["web-1", "db-1"]));
}

#[test]
fn a_password_of_a_display_is_in_no_diff() {
    let change = plan(&host(&[("web-1", &small())]), json!({ "features": { "hap": true } }));
    assert!(sent(&change.steps[0]).contains("passwd='hush'"), "it is kept");
    let shown = serde_json::to_string(&change.diff).unwrap();
    assert!(!shown.contains("hush") && shown.contains("(hidden)"), "{shown}");
}

#[test]
fn write_back_is_a_risk_of_data() {
    let change =
        plan(&host(&[("web-1", &small())]), json!({ "disks": [{ "target": "vda", "cache": "writeback" }] }));
    assert_eq!(change.risks[0].name, RiskName::DataLoss);
    let done = small().replace("type='raw'/>", "type='raw' cache='writeback'/>");
    let change =
        plan(&host(&[("web-1", &done)]), json!({ "disks": [{ "target": "vda", "cache": "writeback" }] }));
    assert!(change.risks.is_empty() && change.steps.is_empty());
}
