//! The order in which libvirt writes a domain's elements: where new ones are put.

/// The children of an element, in libvirt's order.
pub(super) fn order(parent: &str) -> &'static [&'static str] {
    match parent {
        "domain" => &[
            "name", "uuid", "genid", "title", "description", "metadata", "maxMemory", "memory", "currentMemory",
            "blkiotune", "memtune", "memoryBacking", "vcpu", "vcpus", "iothreads", "iothreadids",
            "defaultiothread", "cputune", "numatune", "resource", "sysinfo", "bootloader", "os", "idmap",
            "features", "cpu", "clock", "on_poweroff", "on_reboot", "on_crash", "pm", "perf", "devices",
            "seclabel", "keywrap", "launchSecurity", "commandline",
        ],
        "memoryBacking" => &["hugepages", "nosharepages", "locked", "source", "access", "allocation", "discard"],
        "cputune" => &[
            "shares", "period", "quota", "global_period", "global_quota", "emulator_period", "emulator_quota",
            "iothread_period", "iothread_quota", "vcpupin", "emulatorpin", "iothreadpin", "vcpusched",
            "iothreadsched", "emulatorsched", "cachetune", "memorytune",
        ],
        "features" => &[
            "acpi", "apic", "pae", "hap", "viridian", "privnet", "hyperv", "kvm", "xen", "pvspinlock", "pmu",
            "vmport", "gic", "smm", "ioapic", "hpt", "vmcoreinfo", "htm", "nested-hv", "msrs",
        ],
        "cpu" => &["model", "vendor", "topology", "cache", "maxphysaddr", "feature", "numa"],
        "disk" => &["driver", "auth", "source", "backingStore", "mirror", "target", "iotune"],
        "commandline" => &["arg", "env"],
        _ => &[],
    }
}
