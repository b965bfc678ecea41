//! Hosts with domains, on which the contract suite tries the module.
use crate::guests::virsh;
use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::{Output, Read, Row, Seen};
use serde_json::{Value as Json, json};

const URI: &str = "qemu:///system";

/// The uuid of a sample's domain.
pub(super) const UUID: &str = "11111111-2222-4333-8444-000000000001";

/// A small domain, as libvirt writes it.
pub(super) fn small() -> String {
    format!(
        "<domain type='kvm'>
  <name>web-1</name>
  <uuid>{UUID}</uuid>
  <title>shop</title>
  <metadata>
    <lab:tier xmlns:lab=\"http://example.org/lab\">gold</lab:tier>
  </metadata>
  <memory unit='KiB'>1048576</memory>
  <currentMemory unit='KiB'>1048576</currentMemory>
  <vcpu placement='static'>2</vcpu>
  <os>
    <type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
  </os>
  <features>
    <acpi/>
    <apic/>
  </features>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='/srv/web-1.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <graphics type='vnc' port='-1' autoport='yes' passwd='hush'/>
  </devices>
</domain>

"
    )
}

fn ok(text: impl AsRef<[u8]>) -> Seen {
    Seen::Output(Output::ok(text))
}

/// A host with domains: name and XML; uuids are counted from 1.
pub(super) fn host(domains: &[(&str, &str)]) -> Host {
    let uuid = |number: usize| format!("{}{:04}", &UUID[..32], number + 1);
    let lines: String =
        domains.iter().enumerate().map(|(at, (name, _))| format!("{} {name}\n", uuid(at))).collect();
    let mut host = Host::new()
        .answer(virsh::list(URI), ok(&lines))
        .answer(virsh::active(URI), ok("\n"))
        .answer(virsh::version(URI), ok("Using library: libvirt 9.0.0\nRunning hypervisor: QEMU 7.2.0\n"))
        .value("/sys/devices/system/cpu/online", "0-15")
        .value("/proc/meminfo", "MemTotal: 16000000 kB\nHugepagesize: 2048 kB")
        .value("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1024")
        .value("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "1024");
    for (at, (_, xml)) in domains.iter().enumerate() {
        host = host.answer(virsh::inactive_xml(URI, &uuid(at)), ok(xml));
    }
    host
}

/// Lets a domain of a host run, as some XML says, with a process.
pub(super) fn running(host: Host, name: &str, live: &str, process: &str) -> Host {
    host.answer(virsh::active(URI), ok(format!("{UUID}\n\n")))
        .answer(virsh::live_xml(URI, UUID), ok(live))
        .answer(crate::guests::process::look(&format!("/run/libvirt/qemu/{name}.pid")), ok(process))
}

/// What a define of a text leaves, and what its way back leaves.
fn calls(checked: bool, before: &str, after: &str) -> Vec<(Row, Vec<(Read, Seen)>)> {
    let look = Read::Ask(virsh::inactive_xml(URI, UUID));
    vec![
        (virsh::define(URI, checked, after), vec![(look.clone(), ok(after))]),
        (virsh::define(URI, false, before), vec![(look, ok(before))]),
    ]
}

pub(super) fn samples() -> Vec<Sample> {
    let before = small();
    let sample = |about, args: Json, after: String, host: Host| Sample {
        about,
        args,
        host,
        calls: calls(true, &before, &after),
    };
    let features = before.replace(
        "    <apic/>\n",
        "    <apic/>\n    <hap state='on'/>\n    <pvspinlock state='off'/>\n    <ioapic driver='qemu'/>\n",
    );
    let disk = before
        .replace("raw'/>", "raw' cache='none' io='native' iothread='1'/>")
        .replace("2</vcpu>\n", "2</vcpu>\n  <iothreads>1</iothreads>\n");
    let memory = before.replace(
        "  <vcpu",
        "  <memoryBacking>\n    <hugepages/>\n    <access mode='shared'/>\n  </memoryBacking>\n  <vcpu",
    );
    let plain = || host(&[("web-1", &before)]);
    let process = "arg /usr/bin/qemu-system-x86_64\narg -cpu\narg host\n";
    let mut samples = vec![
        sample(
            "features of the machine",
            json!({ "domains": ["web-*"], "features": { "pvspinlock": false, "hap": true, "ioapic": { "driver": "qemu" } } }),
            features,
            plain(),
        ),
        sample(
            "a disk past the cache with its own thread",
            json!({ "domains": ["web-1"], "iothreads": 1,
                    "disks": [{ "target": "vda", "cache": "none", "io": "native", "iothread": 1 }] }),
            disk,
            plain(),
        ),
        sample(
            "memory of shared huge pages, found by metadata",
            json!({ "domains": [{ "metadata": "tier", "value": "gold" }],
                    "memory_backing": { "hugepages": true, "access": "shared" } }),
            memory,
            plain(),
        ),
        sample(
            "a guest that runs needs a power cycle",
            json!({ "domains": ["web-1"], "features": { "pvspinlock": "off" } }),
            before.replace("    <apic/>\n", "    <apic/>\n    <pvspinlock state='off'/>\n"),
            running(plain(), "web-1", &before, process),
        ),
    ];
    samples.extend(refused(&before));
    samples
}

/// What is refused, each in its own words.
fn refused(before: &str) -> [Sample; 2] {
    [
        Sample {
            about: "a domain of Nova",
            args: json!({ "domains": ["web-1"], "iothreads": 1 }),
            host: host(&[(
                "web-1",
                &before.replace("http://example.org/lab", "http://openstack.org/xmlns/libvirt/nova/1.1"),
            )]),
            calls: Vec::new(),
        },
        Sample {
            about: "a feature that libvirt drops",
            args: json!({ "domains": ["web-1"], "features": { "pvsendipi": true } }),
            host: host(&[("web-1", before)]),
            calls: Vec::new(),
        },
    ]
}
