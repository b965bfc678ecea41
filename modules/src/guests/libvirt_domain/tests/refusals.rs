//! What is refused in the plan, each with its way out.
use super::{plan, refusal};
use crate::guests::libvirt_domain::LibvirtDomain;
use crate::guests::libvirt_domain::samples::{host, running, small};
use crate::guests::virsh;
use crate::host::Host;
use crate::module::Module;
use crate::services::acts::start;
use crate::services::unit::Unit;
use crate::trial;
use crate::vocabulary::{
    Back, Bytes, Claim, Facts, HostPath, Output, Read, RiskName, Row, Seen, Spoil, Standing, Step, Stop,
    TaskId,
};
use serde_json::json;

fn one() -> Host {
    host(&[("web-1", &small())])
}

#[test]
fn native_io_needs_a_direct_cache() {
    let disk = |cache: &str| json!({ "disks": [{ "target": "vda", "io": "native", "cache": cache }] });
    let why = refusal(&one(), disk("writethrough"));
    assert!(why.contains("io native with cache writethrough") && why.contains("cache: none"), "{why}");
    let why = refusal(&one(), json!({ "disks": [{ "target": "vda", "io": "native" }] }));
    assert!(why.contains("cache default"), "{why}");
    for fine in ["none", "directsync"] {
        assert_eq!(plan(&one(), disk(fine)).steps.len(), 1);
    }
}

#[test]
fn an_io_thread_serves_a_disk_that_names_it() {
    let why = refusal(&one(), json!({ "iothreads": 1 }));
    assert!(why.contains("serves no disk"), "{why}");
    let why = refusal(&one(), json!({ "disks": [{ "target": "vda", "iothread": 2 }] }));
    assert!(why.contains("I/O thread 2, and 0 are declared") && why.contains("iothreads: 2"), "{why}");
    let scsi = small().replace("bus='virtio'", "bus='scsi'");
    let args = json!({ "iothreads": 1, "disks": [{ "target": "vda", "iothread": 1 }] });
    assert!(refusal(&host(&[("web-1", &scsi)]), args).contains("virtio-blk disks alone"));
}

#[test]
fn queues_and_topology_fit_the_cpus() {
    let why = refusal(&one(), json!({ "disks": [{ "target": "vda", "queues": 4 }] }));
    assert!(why.contains("4 queues, and the guest has 2 CPUs"), "{why}");
    let shared = json!({ "hugepages": true, "access": "shared" });
    let args =
        json!({ "memory_backing": shared, "vhost_user_scsi": [{ "id": "c", "socket": "/s", "queues": 3 }] });
    assert!(refusal(&one(), args).contains("3 queues"));
    let why = refusal(&one(), json!({ "vcpus": { "count": 16, "sockets": 1, "cores": 8, "threads": 1 } }));
    assert!(why.contains("16 CPUs do not fit") && why.contains("8 in all"), "{why}");
    let wide = small()
        .replace("  <features>", "  <cpu><topology sockets='1' cores='2' threads='1'/></cpu>\n  <features>");
    assert!(refusal(&host(&[("web-1", &wide)]), json!({ "vcpus": 4 })).contains("4 CPUs do not fit"));
    let why = refusal(&one(), json!({ "cputune": { "vcpupin": { "2": "0" } } }));
    assert!(why.contains("virtual CPU 2 is pinned"), "{why}");
}

#[test]
fn a_feature_that_libvirt_drops_is_known_beforehand() {
    let why = refusal(&one(), json!({ "features": { "pvsendipi": "on" } }));
    assert!(why.contains("`pvsendipi`") && why.contains("kvm/pv-ipi"), "{why}");
    let old = Output::ok("Using library: libvirt 3.0.0\nRunning hypervisor: QEMU 2.8.0\n");
    let old = one().answer(virsh::version("qemu:///system"), Seen::Output(old));
    let why = refusal(&old, json!({ "features": { "ioapic": "qemu", "kvm/pv-ipi": true } }));
    assert!(why.contains("since 3.4.0") && why.contains("since 7.10.0"), "both are told: {why}");
    let change = plan(&one(), json!({ "features": { "pvspinlok": true } }));
    assert!(change.notes.iter().any(|note| note.contains("did you mean `pvspinlock`")), "{:?}", change.notes);
}

#[test]
fn trim_of_virtio_blk_is_a_matter_of_the_version() {
    let args = json!({ "disks": [{ "target": "vda", "discard": "unmap" }] });
    assert!(plan(&one(), args.clone()).notes.is_empty());
    let old = Output::ok("Using library: libvirt 5.0.0\nRunning hypervisor: QEMU 3.1.0\n");
    let old = one().answer(virsh::version("qemu:///system"), Seen::Output(old));
    assert!(plan(&old, args).notes[0].contains("since 4.0"));
}

#[test]
fn huge_pages_must_be_there_for_all_guests_together() {
    let args = json!({ "memory_backing": { "hugepages": true } });
    assert_eq!(plan(&one(), args.clone()).steps.len(), 1, "512 of 1024 pages");
    let names = ["web-1", "web-2", "web-3"];
    let texts: Vec<String> = names.iter().map(|name| small().replace("web-1", name)).collect();
    let three: Vec<(&str, &str)> = names.iter().copied().zip(texts.iter().map(String::as_str)).collect();
    let change = plan(&host(&three), args);
    assert!(change.steps.is_empty());
    let why = &change.risks[0].why;
    assert_eq!(change.risks[0].name, RiskName::CannotConverge);
    assert!(why.contains("1536 huge pages of 2 MiB are needed, and 1024") && why.contains("web-3"), "{why}");
    assert!(why.contains("`hugepages`"), "{why}");
    let change = plan(&one(), json!({ "memory_backing": { "hugepages": { "size": "1G" } } }));
    assert!(change.risks[0].why.contains("not offered by the kernel"), "{:?}", change.risks);
    let bound = small()
        .replace("  <os>", "  <numatune>\n    <memory mode='strict' nodeset='1'/>\n  </numatune>\n  <os>");
    let change = plan(&host(&[("web-1", &bound)]), json!({ "memory_backing": { "hugepages": true } }));
    assert!(change.risks[0].why.contains("on node 1, and 0"), "{:?}", change.risks);
}

#[test]
fn pages_that_others_use_are_not_there() {
    let args = json!({ "memory_backing": { "hugepages": true } });
    let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
    let used = |host: Host, free: &str, promised: &str| {
        host.value(&format!("{pool}/free_hugepages"), free).value(&format!("{pool}/resv_hugepages"), promised)
    };
    // 1024 are reserved, the guest needs 512.
    assert_eq!(plan(&used(one(), "512", "0"), args.clone()).steps.len(), 1);
    for (free, promised, others) in [("511", "0", 513), ("600", "100", 524)] {
        let change = plan(&used(one(), free, promised), args.clone());
        let why = &change.risks[0].why;
        assert!(
            change.steps.is_empty() && why.contains(&format!("{others} of them in use by others")),
            "{why}"
        );
    }
    // What the guest has itself comes back before it is started anew.
    let live = small().replace("  <vcpu", "  <memoryBacking>\n    <hugepages/>\n  </memoryBacking>\n  <vcpu");
    let host = running(host(&[("web-1", &live)]), "web-1", &live, "arg qemu\nhuge 1048576\n");
    let change = plan(&used(host, "512", "0"), args);
    assert!(change.risks.is_empty() && change.steps.is_empty(), "{:?}", change.risks);
    let told: Vec<&Standing> = change.evidence.iter().map(|evidence| &evidence.standing).collect();
    assert!(matches!(told[..], [Standing::Live { .. }, Standing::Live { .. }]), "{told:?}");
}

#[test]
fn the_rest_goes_on_where_one_cannot() {
    let nova = small()
        .replace("web-1", "vm-2")
        .replace("http://example.org/lab", "http://openstack.org/xmlns/libvirt/nova/1.1");
    let both = host(&[("web-1", &small()), ("vm-2", &nova)]);
    let change = plan(&both, json!({ "features": { "pvspinlock": false } }));
    assert_eq!(change.steps.len(), 1);
    assert!(change.risks[0].why.contains("vm-2: OpenStack Nova owns it"), "{:?}", change.risks);
}

#[test]
fn managers_are_told_by_their_marks() {
    for (from, to, who) in [
        ("http://example.org/lab", "http://ovirt.org/vm/1.0", "oVirt"),
        ("http://example.org/lab", "http://kubevirt.io", "KubeVirt"),
        ("/srv/web-1.img", "/dev/pve/vm-100-disk-0", "Proxmox"),
        ("/srv/web-1.img", "/var/lib/one/datastores/0/42/disk.0", "OpenNebula"),
        ("<name>web-1<", "<name>i-2-34-VM<", "CloudStack"),
        ("<name>web-1<", "<name>one-7<", "OpenNebula"),
    ] {
        let change = plan(&host(&[("x", &small().replace(from, to))]), json!({ "iothreads": 1 }));
        assert!(change.risks[0].why.contains(who) && change.steps.is_empty(), "{who}: {:?}", change.risks);
    }
    let change =
        plan(&host(&[("x", &small().replace("web-1", "one-of-us"))]), json!({ "features": { "hap": true } }));
    assert_eq!(change.steps.len(), 1, "a name that only begins so is nobody's mark");
}

/// The facts of a host for a task that asks its libvirt.
fn asked(host: &Host) -> (LibvirtDomain, Facts) {
    let args = json!({ "domains": ["web-1"], "features": { "hap": true } });
    let task: LibvirtDomain = serde_json::from_value(args).unwrap();
    let facts = trial::facts(host, &task);
    (task, facts)
}

#[test]
fn a_libvirt_that_an_earlier_task_brings_is_decided_late() {
    let (task, mut facts) = asked(&Host::new());
    let install = Row::new("apt-get-install", ["libvirt-daemon-system"]);
    let install =
        |spoils| Step::call(Claim::new("package", "libvirt"), install.clone(), spoils, Back::Nothing);
    let below = |folder: &str| vec![Spoil::Missing(HostPath::new(folder).unwrap())];
    facts.plan(TaskId(3), [install(below("/etc"))]);
    assert!(matches!(task.plan(&facts), Err(Stop::Refused(_))), "nothing brings it");
    facts.plan(TaskId(7), [install(below("/usr"))]);
    assert_eq!(task.plan(&facts), Err(Stop::Late(TaskId(7))));
    // A libvirt that is there is not asked again for that.
    let (task, mut facts) = asked(&one());
    facts.plan(TaskId(7), [install(below("/usr"))]);
    assert_eq!(task.plan(&facts).unwrap().steps.len(), 1);
}

#[test]
fn a_libvirt_that_an_earlier_task_starts_is_decided_late() {
    let silent = Output { status: 1, stdout: Bytes::default(), stderr: "error: no connection".into() };
    let host = one().answer(virsh::list("qemu:///system"), Seen::Output(silent));
    let start = |name: &str| {
        let properties = [("LoadState", "loaded"), ("ActiveState", "inactive")];
        let properties = properties.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        start(&Unit { name: name.to_owned(), properties }).unwrap()
    };
    let (task, mut facts) = asked(&host);
    facts.plan(TaskId(1), [start("chrony.service")]);
    assert!(matches!(task.plan(&facts), Err(Stop::Refused(_))));
    facts.plan(TaskId(2), [start("libvirtd.service")]);
    assert_eq!(task.plan(&facts), Err(Stop::Late(TaskId(2))));
    let list = Read::Ask(virsh::list("qemu:///system"));
    assert!(facts.seen(&list).is_some(), "it was asked, and what it said is not believed any more");
}

#[test]
fn strangers_and_a_silent_libvirt_are_refused() {
    let why = refusal(&one(), json!({ "domains": ["web-2"], "iothreads": 1 }));
    assert!(why.contains("`web-2`") && why.contains("did you mean `web-1`"), "{why}");
    let why = refusal(&Host::new(), json!({ "iothreads": 1 }));
    assert!(why.contains("virsh is not installed"), "{why}");
    let silent = Output { status: 124, stdout: Bytes::default(), stderr: Bytes::default() };
    let silent = one().answer(virsh::list("qemu:///system"), Seen::Output(silent));
    assert!(refusal(&silent, json!({ "iothreads": 1 })).contains("in time"));
    assert!(refusal(&one(), json!({})).contains("nothing is asked"));
    assert!(refusal(&one(), json!({ "iothreads": 1, "power_cycle": "window" })).contains("needs the hours"));
    assert!(refusal(&one(), json!({ "cputune": { "emulatorpin": "a-b" } })).contains("0-3,8"));
    let change = plan(&one(), json!({ "cputune": { "emulatorpin": "15-16" } }));
    assert!(change.risks[0].why.contains("CPU 16 is not online"), "{:?}", change.risks);
}
