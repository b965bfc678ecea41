//! Guests whose memory others share: a vhost-user device that really starts, and huge pages of the real machine.
use crate::backend::{self, Backend};
use crate::bed::{Bed, can};
use crate::guests::Boot;
use crate::pages::{self, Reserved};

/// The guest's memory, in MiB and in pages of 2 MiB.
const MIB: u64 = 32;
const PAGES: u64 = MIB / 2;

fn device(bed: &Bed) -> String {
    format!(
        "    vhost_user_scsi:\n      - {{id: spdk0, socket: {}/vhost.0, queues: 2, bootindex: 2}}\n",
        bed.dir.display()
    )
}

fn task(backing: &str, more: &str) -> String {
    format!("- name: Tune\n  libvirt_domain:\n    domains: [guest]\n    memory_backing: {backing}\n{more}")
}

#[test]
fn a_vhost_user_device_carries_requests_and_is_proven_live() {
    if !can() || !backend::can() {
        return;
    }
    let bed = Bed::new();
    let mut backend = Backend::new(&bed.dir.join("vhost.0"));
    bed.define("guest", 1, Boot::Obedient);
    let before = bed.inactive("guest");
    // Memory that nobody else can map carries nothing: refused before QEMU would find out.
    bed.play(&task("{source: memfd}", &device(&bed))).ended(1).says(&["shared"]);
    assert_eq!(bed.inactive("guest"), before);

    let more = format!("{}    arguments: [\"-overcommit cpu-pm=on\"]\n", device(&bed));
    let shared = task("{source: memfd, access: shared}", &more);
    let done = bed.play(&shared);
    done.ended(0);
    bed.virsh(&["start", "guest"]);
    assert_eq!(backend.memory_of_a_guest_that_asks(), MIB, "the device sees all of the guest's memory");
    bed.ready("guest");
    let told = bed.tunerun(&["evidence", "site.yml", "-i", "hosts.ini"]);
    told.ended(0).says(&[
        "QEMU was started with {\"driver\":\"vhost-user-scsi-pci\",\"id\":\"spdk0-scsi\"",
        "QEMU was started with cpu-pm=on",
    ]);
    bed.play(&shared).ended(0).says(&["1 ok, 0 changed"]);
    bed.virsh(&["destroy", "guest"]);
    bed.undo(&done.run()).ended(0);
    assert_eq!(bed.inactive("guest"), before);
}

#[test]
fn huge_pages_are_missing_then_there_and_proven_by_the_kernel() {
    if !can() || !backend::can() || !pages::can() {
        return;
    }
    // Given back last, when no guest has them any more.
    let reserved;
    let bed = Bed::new();
    let mut backend = Backend::new(&bed.dir.join("vhost.0"));
    bed.define("guest", 1, Boot::Obedient);
    let before = bed.inactive("guest");
    let huge = task("{hugepages: true, access: shared}", &device(&bed));
    let (all, free) = pages::pages();
    if free < PAGES {
        let missing = format!("guest: {PAGES} huge pages of 2 MiB are needed, and {all} are reserved");
        bed.play(&huge).says(&[&missing, "`hugepages`"]);
        assert_eq!(bed.inactive("guest"), before);
    }
    reserved = Reserved::more(PAGES);
    let done = bed.play(&huge);
    done.ended(0);
    bed.virsh(&["start", "guest"]);
    assert_eq!(backend.memory_of_a_guest_that_asks(), MIB, "the device maps the same pages");
    bed.ready("guest");
    let told = bed.tunerun(&["evidence", "site.yml", "-i", "hosts.ini"]);
    told.ended(0).says(&["the guest's memory is huge pages", "32 MiB of huge pages are mapped into QEMU"]);
    // The guest has them all: it may be defined again, another one may not.
    bed.play(&huge).ended(0).says(&["1 ok, 0 changed"]);
    bed.define("other", 2, Boot::Stubborn);
    let other =
        huge.replace("[guest]", "[other]").replace("hugepages: true, access: shared", "hugepages: true");
    let device = device(&bed);
    let second = bed.play(&other.replace(&device, ""));
    second.says(&[&format!("other: {PAGES} huge pages of 2 MiB are needed")]);
    assert!(!bed.inactive("other").contains("hugepages"), "{}", second.text);

    bed.virsh(&["destroy", "guest"]);
    bed.undo(&done.run()).ended(0);
    assert_eq!(bed.inactive("guest"), before);
    drop((backend, bed));
    drop(reserved);
}
