//! What the playbooks ask of domains that no module changes: told by a real libvirt, yes and no.
use crate::bed::{Bed, Done, can};
use crate::guests::Boot;
use std::fs;
use std::path::Path;

const CDROM: &str = "<disk type='file' device='cdrom'>
      <driver name='qemu' type='raw'/>
      <source file='/srv/virtio-win-0.1.iso'/>
      <target dev='sda' bus='sata'/>
      <readonly/>
    </disk>
    <graphics";
const LUN: &str = "<disk type='block' device='lun'>
      <driver name='qemu' type='raw'/>
      <source dev='/dev/sdz'/>
      <target dev='sdb' bus='scsi'/>
    </disk>
    <graphics";
const CARD: &str = "<hostdev mode='subsystem' type='pci' managed='yes'>
      <source><address domain='0x0000' bus='0x5e' slot='0x00' function='0x0'/></source>
    </hostdev>
    <graphics";

fn check(bed: &Bed, tag: &str, vars: &str) -> Done {
    let playbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../playbooks/lvm-kvm-disk.yaml");
    let playbook = playbook.to_str().unwrap();
    bed.tunerun(&["play", playbook, "-i", "groups.ini", "--check", "--tags", tag, "-e", vars])
}

/// The domain on a volume, which need not be there to be named.
fn on_volume(xml: String, name: &str) -> String {
    let at = xml.find("<source file=").unwrap();
    let end = at + xml[at..].find("/>").unwrap() + 2;
    let source = format!("<source dev='/dev/win_pool/{name}'/>");
    format!("{}{source}{}", &xml[..at], &xml[end..]).replace("<disk type='file'", "<disk type='block'")
}

#[test]
fn volumes_drivers_and_passed_disks_are_told_by_libvirt() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    let hosts = fs::read_to_string(bed.dir.join("hosts.ini")).unwrap();
    fs::write(bed.dir.join("groups.ini"), format!("{hosts}[hypervisors]\nh\n")).unwrap();
    bed.define("file", 1, Boot::Stubborn);
    bed.define_as("volume", 2, Boot::Stubborn, |xml| on_volume(xml, "volume"));
    bed.define_as("table", 3, Boot::Stubborn, |xml| {
        on_volume(xml, "table").replace("type='raw'", "type='qcow2'")
    });
    bed.define_as("windows", 4, Boot::Stubborn, |xml| xml.replace("<graphics", CDROM));

    // Whether a check finds a task not done.
    let asks = |tag: &str, vars: String, title: &str| {
        let done = check(&bed, tag, &vars);
        done.ended(0).says(&["as it should be"]);
        done.text.contains(&format!("~ {title}"))
    };
    let volume = |name: &str| {
        let vars = format!("{{\"guest_volumes\": [{{\"name\": \"{name}\", \"size\": \"1G\"}}]}}");
        asks("volumes", vars, "The guest's data is on the volume")
    };
    assert!(!volume("volume"));
    assert!(volume("file") && volume("table"), "a file, and a table of its own on a volume");
    assert!(volume("nobody"), "a domain that is not there is not on a volume");

    let driver = |name: &str| {
        asks(
            "virtio_win",
            format!("{{\"windows_guests\": [\"{name}\"]}}"),
            "Windows guests have the VirtIO drivers",
        )
    };
    assert!(!driver("windows"));
    assert!(driver("file"));

    check(&bed, "policy", "{}").ended(0);
    for (name, number, device) in [("lun", 5, LUN), ("card", 6, CARD)] {
        bed.define_as(name, number, Boot::Stubborn, |xml| xml.replace("<graphics", device));
        check(&bed, "policy", "{}").ended(1).says(&["No disk is passed through", name]);
        bed.virsh(&["undefine", name]);
    }
    check(&bed, "policy", "{}").ended(0);
}
