//! Hosts of each boot layout on which the contract suite tries the module.
use serde_json::json;

use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::Row;

/// The trials.
pub(super) fn samples() -> Vec<Sample> {
    let call = |row: &str| vec![(Row::new(row, Vec::<String>::new()), Vec::new())];
    let sample = |about, args, host, calls| Sample { about, args, host, calls };
    let cloud = "GRUB_CMDLINE_LINUX_DEFAULT=\"console=tty1 console=ttyS0\"\n";
    vec![
        sample(
            "Debian with update-grub",
            json!({"args": "mitigations=auto hugepagesz=1G hugepages=4", "absent": ["quiet"]}),
            debian(),
            call("update-grub"),
        ),
        sample(
            "a cloud image whose drop-in assigns again",
            json!({"args": {"init_on_alloc": 0}}),
            debian().file("/etc/default/grub.d/50-cloudimg-settings.cfg", cloud),
            call("update-grub"),
        ),
        sample(
            "Proxmox",
            json!({"args": "iommu=pt", "last": ["console=ttyS0"]}),
            debian()
                .file("/etc/kernel/proxmox-boot-uuids", "AAAA-BBBB\n")
                .file("/etc/kernel/cmdline", "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n"),
            call("proxmox-boot-refresh"),
        ),
        sample(
            "RHEL 9 with boot entries",
            json!({"args": "mitigations=auto,nosmt crashkernel=512M"}),
            rhel("options root=/dev/sda1 ro crashkernel=auto quiet $tuned_params\n"),
            Vec::new(),
        ),
        sample(
            "RHEL 8, whose entries take their arguments from the environment block",
            json!({"args": "crashkernel=512M", "absent": ["quiet"]}),
            rhel("options $kernelopts $tuned_params\n").file("/boot/grub2/grubenv", environment_block()),
            Vec::new(),
        ),
        sample(
            "boot entries of systemd-boot",
            json!({"args": ["skew_tick=1"]}),
            Host::new()
                .file(
                    "/boot/loader/entries/a.conf",
                    "title A\nlinux /vmlinuz\noptions root=/dev/sda1 quiet\n",
                )
                .file("/etc/kernel/cmdline", "root=/dev/sda1 quiet\n")
                .value("/proc/cmdline", "root=/dev/sda1 quiet"),
            Vec::new(),
        ),
    ]
}

fn debian() -> Host {
    let mkconfig = "#!/bin/sh\nfor x in ${sysconfdir}/default/grub.d/*.cfg ; do . \"$x\"; done\n";
    let default = "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n";
    Host::new()
        .file("/etc/default/grub", default)
        .file("/usr/sbin/grub-mkconfig", mkconfig)
        .file("/usr/sbin/update-grub", "#!/bin/sh\nexec grub-mkconfig -o /boot/grub/grub.cfg \"$@\"\n")
        .value("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet")
}

fn rhel(options: &str) -> Host {
    Host::new()
        .file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"crashkernel=auto quiet\"\nGRUB_ENABLE_BLSCFG=true\n")
        .file("/usr/sbin/grub2-mkconfig", "#!/bin/sh\n# --update-bls-cmdline\n")
        .file("/boot/grub2/grub.cfg", "insmod blscfg\nblscfg\n")
        .file("/boot/loader/entries/m-1.conf", format!("title RHEL\nlinux /vmlinuz-1\n{options}"))
        .file("/boot/loader/entries/m-0-rescue.conf", "title Rescue\noptions root=/dev/sda1 ro\n")
        .value("/proc/cmdline", "root=/dev/sda1 ro crashkernel=auto quiet")
}

fn environment_block() -> Vec<u8> {
    let mut block =
        b"# GRUB Environment Block\nkernelopts=root=/dev/sda1 ro crashkernel=auto quiet \n".to_vec();
    block.resize(1024, b'#');
    block
}
