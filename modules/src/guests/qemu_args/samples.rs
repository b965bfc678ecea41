//! Scripts and units, on which the contract suite tries the module.
use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::{Output, Row, Seen};
use serde_json::json;

/// A script that starts a guest on a disk of rbd with QEMU's defaults.
pub(super) const RBD: &str = "#!/bin/sh
/usr/libexec/qemu-kvm -m 16384 -smp 16,sockets=1,cores=16,threads=1 -drive format=raw,file=rbd:libvirt-pool/CentOS8 -net nic -net user,hostfwd=tcp::2222-:22
";

/// A script that starts a guest on an own disk, line by line.
pub(super) const KVM: &str = "#!/bin/sh
taskset -c 2,3 qemu-system-x86_64 \\
  --enable-kvm \\
  -cpu host -smp 2 \\
  -m 8G \\
  -drive file=iscsi-vm.img,if=none,id=disk \\
  -drive if=virtio,format=raw,file=seed.img \\
  -device ide-hd,drive=disk,bootindex=0 \\
  -hdb /dev/nvme0n1 \\
  -device virtio-net-pci,netdev=net0 \\
  -netdev tap,ifname=tap1,script=no,id=net0 \\
  -nographic
";

/// A unit that starts a guest.
pub(super) const UNIT: &str = "[Unit]\nDescription=vm1\n\n[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -M q35 -smp 2 -m 1G \\\n  -drive file=/srv/vm1.img,if=none,id=d0 -device virtio-blk-pci,drive=d0\n";

/// A host with the script.
pub(super) fn scripted(text: &str) -> Host {
    Host::new().file_mode("/srv/start.sh", text, 0o755)
}

/// A host with the unit, which runs.
pub(super) fn with_unit(text: &str) -> Host {
    let show = "Id=vm1.service\nActiveState=active\nMainPID=77\n";
    Host::new()
        .dir("/etc/systemd/system")
        .file("/etc/systemd/system/vm1.service", text)
        .answer(Row::new("systemctl-show", ["vm1.service"]), Seen::Output(Output::ok(show)))
        .answer(
            crate::guests::process::look("77"),
            Seen::Output(Output::ok("arg /usr/bin/qemu-system-x86_64\narg -M\narg q35\n")),
        )
}

pub(super) fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    vec![
        sample(
            "a disk of rbd past the cache",
            json!({ "script": "/srv/start.sh", "guest": { "iothreads": ["iothread0"], "drives": [{
                "id": "rbd0", "file": "rbd:libvirt-pool/CentOS8", "format": "raw", "cache": "none",
                "device": { "driver": "virtio-blk-pci", "id": "virtioblk0", "iothread": "iothread0" } }] } }),
            scripted(RBD),
        ),
        sample(
            "a vhost-user device instead of a disk",
            json!({ "script": "/srv/start.sh", "guest": {
                "memory": "4G", "shared_memory": { "path": "/dev/hugepages" }, "without": ["-hdb"],
                "vhost_user_scsi": [{ "id": "spdk_vhost_scsi0", "socket": "/var/tmp/vhost.0", "queues": 2 }] } }),
            scripted(KVM),
        ),
        sample(
            "a unit's drop-in",
            json!({ "unit": "vm1", "restart": true, "cpus": "2-3", "environment": { "A": "1" }, "guest": { "iothreads": ["t0"],
                "drives": [{ "id": "d0", "file": "/srv/vm1.img", "cache": "none", "aio": "native",
                             "device": { "driver": "virtio-blk-pci", "iothread": "t0" } }] } }),
            // Its process has just ended: what a restart makes felt is told by tests beside.
            with_unit(UNIT).answer(
                crate::guests::process::look("77"),
                Seen::Output(Output { status: 3, ..Output::ok("") }),
            ),
        ),
        sample(
            "native requests through the cache",
            json!({ "script": "/srv/start.sh", "guest": { "drives": [{
                "id": "rbd0", "file": "rbd:libvirt-pool/CentOS8", "aio": "native" }] } }),
            scripted(RBD),
        ),
    ]
}
