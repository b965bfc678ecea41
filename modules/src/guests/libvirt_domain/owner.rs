//! Domains that another manager owns: what it writes is written again over everybody's edits.
use roxmltree::Node;

/// Another manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// OpenStack Nova.
    Nova,
    /// oVirt and Red Hat Virtualization.
    Ovirt,
    /// KubeVirt and what is built on it.
    KubeVirt,
    /// Proxmox VE.
    Proxmox,
    /// OpenNebula.
    OpenNebula,
    /// Apache CloudStack.
    CloudStack,
}

/// Namespaces and paths by which managers are told.
const MARKS: &[(&str, Owner)] = &[
    ("openstack.org/xmlns/libvirt/nova", Owner::Nova),
    ("/var/lib/nova/instances/", Owner::Nova),
    ("ovirt.org/vm/", Owner::Ovirt),
    ("/rhev/data-center/", Owner::Ovirt),
    ("kubevirt.io", Owner::KubeVirt),
    ("/var/run/kubevirt", Owner::KubeVirt),
    ("/run/kubevirt", Owner::KubeVirt),
    ("/dev/pve/vm-", Owner::Proxmox),
    ("/etc/pve/", Owner::Proxmox),
    ("opennebula.org/xmlns", Owner::OpenNebula),
    ("/var/lib/one/datastores/", Owner::OpenNebula),
];

/// Makers of the machine that managers write into the firmware's tables.
const MAKERS: &[(&str, Owner)] = &[
    ("OpenStack", Owner::Nova),
    ("oVirt", Owner::Ovirt),
    ("RHEV", Owner::Ovirt),
    ("KubeVirt", Owner::KubeVirt),
    ("CloudStack", Owner::CloudStack),
];

impl Owner {
    /// Tells who owns a domain, and by what that was seen.
    pub(super) fn of(domain: Node<'_, '_>) -> Option<(Self, String)> {
        for node in domain.descendants().filter(Node::is_element) {
            let spaces = node.namespaces().map(|space| space.uri().to_owned());
            let values = node.attributes().map(|attribute| attribute.value().to_owned());
            for text in spaces.chain(values) {
                if let Some((_, owner)) = MARKS.iter().find(|(mark, _)| text.contains(mark)) {
                    return Some((*owner, text));
                }
            }
            if node.has_tag_name("entry") {
                let text = node.text().unwrap_or_default();
                if let Some((_, owner)) = MAKERS.iter().find(|(maker, _)| text.contains(maker)) {
                    return Some((*owner, format!("sysinfo says {text}")));
                }
            }
        }
        let name = domain.children().find(|node| node.has_tag_name("name"))?.text()?;
        let numbered = |prefix: &str| {
            name.strip_prefix(prefix)
                .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|letter| letter.is_ascii_digit()))
        };
        if numbered("one-") {
            return Some((Self::OpenNebula, format!("the name {name}")));
        }
        let parts: Vec<&str> = name.split('-').collect();
        let cloud = matches!(parts.as_slice(), ["i" | "r" | "s" | "v", one, two, ..]
            if [one, two].iter().all(|part| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_digit())));
        cloud.then(|| (Self::CloudStack, format!("the name {name}")))
    }

    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nova => "OpenStack Nova",
            Self::Ovirt => "oVirt",
            Self::KubeVirt => "KubeVirt",
            Self::Proxmox => "Proxmox VE",
            Self::OpenNebula => "OpenNebula",
            Self::CloudStack => "CloudStack",
        }
    }

    /// The manager's own setting for what a task asks for; `knob` is an argument of the module.
    pub(super) fn setting(self, knob: &str) -> &'static str {
        match (self, knob) {
            (Self::Nova, "memory_backing") => "the flavor's `hw:mem_page_size` and `hw:locked_memory`",
            (Self::Nova, "cputune") => {
                "the flavor's `hw:cpu_policy=dedicated` and `hw:emulator_threads_policy`"
            }
            (Self::Nova, "machine") => "the image's `hw_machine_type`",
            (Self::Nova, "vcpus" | "memory") => "the flavor, with `hw:cpu_sockets` and `hw:cpu_cores`",
            (Self::Nova, "disks") => {
                "`disk_cachemodes` of [libvirt] in nova.conf and the image's `hw_disk_bus`"
            }
            (Self::Nova, "features") => {
                "the flavor and image properties (`hw:hide_hypervisor_id` and the like)"
            }
            (Self::Nova, _) => "nova.conf, flavors and image properties",
            (Self::Ovirt, "memory_backing") => "the custom property `hugepages` of the VM",
            (Self::Ovirt, "cputune") => "the VM's CPU pinning topology",
            (Self::Ovirt, "iothreads" | "disks") => "the VM's `IO Threads` and the disk's interface",
            (Self::Ovirt, _) => "the VM's settings, or a vdsm hook",
            (Self::KubeVirt, "memory_backing") => "`spec.domain.memory.hugepages.pageSize`",
            (Self::KubeVirt, "cputune") => "`spec.domain.cpu.dedicatedCpuPlacement`",
            (Self::KubeVirt, "iothreads") => "`spec.domain.ioThreadsPolicy`",
            (Self::KubeVirt, "disks") => {
                "`cache`, `io` and `dedicatedIOThread` of `spec.domain.devices.disks`"
            }
            (Self::KubeVirt, "features") => "`spec.domain.features`",
            (Self::KubeVirt, "machine") => "`spec.domain.machine.type`",
            (Self::KubeVirt, "vcpus" | "memory") => "`spec.domain.cpu` and `spec.domain.memory`",
            (Self::KubeVirt, _) => "the VirtualMachine's spec, or a hook sidecar",
            (Self::Proxmox, "memory_backing") => "`qm set VMID --hugepages 1024`",
            (Self::Proxmox, "cputune") => "`qm set VMID --affinity`",
            (Self::Proxmox, "disks" | "iothreads") => {
                "`qm set VMID --virtio0 …,cache=none,aio=native,iothread=1`"
            }
            (Self::Proxmox, "machine") => "`qm set VMID --machine q35`",
            (Self::Proxmox, _) => "`qm set VMID`, and `args:` for the rest",
            (Self::OpenNebula, _) => "the VM template: FEATURES, TOPOLOGY, DISK and RAW",
            (Self::CloudStack, _) => "the service offering and the VM's `extraconfig` detail",
        }
    }
}
