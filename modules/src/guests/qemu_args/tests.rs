//! The command lines of the documents, reached step by step by one description; what is refused; what is proven.
use super::QemuArgs;
use super::samples::{KVM, RBD, UNIT, scripted, with_unit};
use crate::guests::process;
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{
    Act, Activation, Change, Content, Diff, Image, Mark, Output, RiskName, Seen, Standing,
};
use serde_json::{Value as Json, json};

/// The text that a change puts.
fn put(change: &Change) -> String {
    let texts: Vec<String> = change
        .steps
        .iter()
        .filter_map(|step| match &step.act {
            Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } => {
                bytes.text().map(ToOwned::to_owned)
            }
            _ => None,
        })
        .collect();
    texts.last().cloned().unwrap_or_else(|| panic!("{change:?}"))
}

fn with(more: Json) -> Json {
    let mut args = json!({ "script": "/srv/start.sh" });
    for (name, value) in more.as_object().unwrap() {
        args[name] = value.clone();
    }
    args
}

/// The line after a description; the same description asks for nothing more on it.
fn reach(line: &str, more: Json) -> String {
    let text = format!("#!/bin/sh\n{line}\n");
    let change =
        planned::<QemuArgs>(&scripted(&text).file("/usr/lib64/libtcmalloc.so", ""), with(more.clone()));
    let after = put(&change);
    let again = scripted(&after).file("/usr/lib64/libtcmalloc.so", "");
    assert!(planned::<QemuArgs>(&again, with(more)).steps.is_empty(), "asked again on {after}");
    after.strip_prefix("#!/bin/sh\n").unwrap().trim_end().to_owned()
}

const HEAD: &str = "/usr/libexec/qemu-kvm -m 16384 -smp 16,sockets=1,cores=16,threads=1 ";
const TAIL: &str = " -net nic -net user,hostfwd=tcp::2222-:22";

fn line(middle: &str) -> String {
    format!("{HEAD}{middle}{TAIL}")
}

fn rbd(more: Json) -> Json {
    let mut drive = json!({ "id": "rbd0", "file": "rbd:libvirt-pool/CentOS8", "format": "raw",
                            "device": { "driver": "virtio-blk-pci", "id": "virtioblk0" } });
    for (name, value) in more.as_object().unwrap() {
        drive[name] = value.clone();
    }
    drive
}

#[test]
fn the_lines_of_the_rbd_document_are_reached_word_by_word() {
    let device = |thread: &str| json!({ "driver": "virtio-blk-pci", "id": "virtioblk0", "iothread": thread });
    let ide = line("-drive format=raw,file=rbd:libvirt-pool/CentOS8");
    let virtio = line(
        "-drive format=raw,id=rbd0,if=none,file=rbd:libvirt-pool/CentOS8 -device virtio-blk-pci,drive=rbd0,id=virtioblk0",
    );
    assert_eq!(reach(&ide, json!({ "guest": { "drives": [rbd(json!({}))] } })), virtio);

    let threaded = line(
        "-drive format=raw,id=rbd0,if=none,file=rbd:libvirt-pool/CentOS8 -object iothread,id=iothread0 -device virtio-blk-pci,iothread=iothread0,drive=rbd0,id=virtioblk0",
    );
    let guest =
        json!({ "iothreads": ["iothread0"], "drives": [rbd(json!({ "device": device("iothread0") }))] });
    assert_eq!(reach(&virtio, json!({ "guest": guest })), threaded);

    let direct = threaded.replace("if=none,file", "if=none,cache=none,file");
    let guest = json!({ "iothreads": ["iothread0"], "drives": [rbd(json!({ "cache": "none", "device": device("iothread0") }))] });
    assert_eq!(reach(&threaded, json!({ "guest": guest })), direct);

    let native = direct.replace("cache=none,file", "cache=none,aio=native,file");
    let guest = json!({ "iothreads": ["iothread0"], "drives": [rbd(json!({ "cache": "none", "aio": "native", "device": device("iothread0") }))] });
    let environment = json!({ "LD_PRELOAD": "/usr/lib64/libtcmalloc.so", "LD_LIBRARY_PATH": "/usr/local/lib:/usr/local/lib64" });
    assert_eq!(
        reach(&direct, json!({ "guest": guest, "environment": environment })),
        format!(
            "LD_LIBRARY_PATH=/usr/local/lib:/usr/local/lib64 LD_PRELOAD=/usr/lib64/libtcmalloc.so {native}"
        )
    );
    // All of it at once, from the first line.
    assert_eq!(reach(&ide, json!({ "guest": guest })), native);

    let blockdev = json!({ "machine": "q35", "iothreads": ["iothread0"],
        "drives": [rbd(json!({ "cache": "none", "blockdev": true, "device": device("iothread0") }))] });
    let after = reach(&native, json!({ "guest": blockdev }));
    for words in [
        "-blockdev rbd,node-name=rbd0,cache.direct=on,pool=libvirt-pool,image=CentOS8",
        "-machine q35",
        "drive=rbd0",
    ] {
        assert!(after.contains(words), "{words} is not in {after}");
    }
    assert!(!after.contains("-drive"), "{after}");
    // The document's own last line says the same already.
    let own = native.replace(
        "-drive format=raw,id=rbd0,if=none,cache=none,aio=native,file=rbd:libvirt-pool/CentOS8",
        "--blockdev rbd,node-name=rbd0,cache.direct=on,pool=libvirt-pool,image=CentOS8 -M q35",
    );
    let host = scripted(&format!("#!/bin/sh\n{own}\n"));
    assert!(planned::<QemuArgs>(&host, with(json!({ "guest": blockdev }))).steps.is_empty());
}

fn spdk() -> Json {
    json!({ "cpus": "2,3", "guest": {
        "kvm": true, "cpu": "host", "vcpus": 2, "memory": "4G", "shared_memory": { "path": "/dev/hugepages" },
        "without": ["-hdb"],
        "drives": [{ "id": "disk", "file": "iscsi-vm.img", "device": { "driver": "ide-hd", "bootindex": 0 } }],
        "vhost_user_scsi": [{ "id": "spdk_vhost_scsi0", "socket": "/var/tmp/vhost.0", "queues": 2 }],
        "arguments": ["-netdev tap,ifname=tap1,script=no,id=net0", "-nographic"] } })
}

#[test]
fn the_script_of_the_spdk_document_is_reached_from_the_one_before_it() {
    let change = planned::<QemuArgs>(&scripted(KVM), with(spdk()));
    let after = put(&change);
    let expected = "#!/bin/sh
taskset -c 2,3 qemu-system-x86_64 \\
  --enable-kvm \\
  -cpu host -smp 2 \\
  -m 4G \\
  -numa node,memdev=mem0 \\
  -drive file=iscsi-vm.img,if=none,id=disk \\
  -drive if=virtio,format=raw,file=seed.img \\
  -object memory-backend-file,id=mem0,size=4G,mem-path=/dev/hugepages,share=on \\
  -chardev socket,id=spdk_vhost_scsi0,path=/var/tmp/vhost.0 \\
  -device ide-hd,drive=disk,bootindex=0 \\
  -device virtio-net-pci,netdev=net0 \\
  -device vhost-user-scsi-pci,chardev=spdk_vhost_scsi0,num_queues=2 \\
  -netdev tap,ifname=tap1,script=no,id=net0 \\
  -nographic
";
    assert_eq!(after, expected);
    let Diff::Tokens { tokens, .. } = &change.diff[0] else { panic!("{:?}", change.diff) };
    let of = |mark| {
        tokens.iter().filter(|token| token.mark == mark).map(|token| token.text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of(Mark::Removed), ["-m 8G", "-hdb /dev/nvme0n1"]);
    assert_eq!(of(Mark::Added).len(), 5, "{:?}", of(Mark::Added));
    // The document's own script says the same already.
    let own = "#!/bin/sh
taskset -c 2,3 qemu-system-x86_64 \\
--enable-kvm \\
-cpu host -smp 2 \\
-m 4G -object memory-backend-file,id=mem0,size=4G,mem-path=/dev/hugepages,share=on -numa node,memdev=mem0 \\
-drive file=iscsi-vm.img,if=none,id=disk \\
-drive if=virtio,format=raw,file=seed.img \\
-device ide-hd,drive=disk,bootindex=0 \\
-chardev socket,id=spdk_vhost_scsi0,path=/var/tmp/vhost.0 \\
-device vhost-user-scsi-pci,id=scsi0,chardev=spdk_vhost_scsi0,num_queues=2 \\
-device virtio-net-pci,netdev=net0 \\
-netdev tap,ifname=tap1,script=no,id=net0 \\
-nographic
";
    assert!(planned::<QemuArgs>(&scripted(own), with(spdk())).steps.is_empty());
    let more =
        put(&planned::<QemuArgs>(&scripted(own), with(json!({ "cpus": "2-5", "guest": { "vcpus": 4 } }))));
    assert_eq!(more, own.replace("-c 2,3", "-c 2-5").replace("-smp 2", "-smp 4"));
}

#[test]
fn what_qemu_refuses_or_does_not_feel_is_refused_before() {
    let on = |text: &str, guest: Json| refusal::<QemuArgs>(&scripted(text), with(json!({ "guest": guest })));
    let drive = |more: Json| json!({ "drives": [rbd(more)] });
    let why = on(RBD, drive(json!({ "aio": "native" })));
    assert!(
        why.contains("aio=native with cache writeback, QEMU's default") && why.contains("cache: none"),
        "{why}"
    );
    assert!(on(RBD, json!({ "iothreads": ["t0"] })).contains("serves no device"));
    let stray = drive(json!({ "device": { "driver": "virtio-blk-pci", "iothread": "t1" } }));
    assert!(on(RBD, stray).contains("t1, which is not declared"));
    let wide = drive(json!({ "device": { "driver": "virtio-blk-pci", "queues": 32 } }));
    assert!(on(RBD, wide).contains("32 queues, and the guest has 16 CPUs"));
    assert!(on(RBD, json!({ "vcpus": 8 })).contains("8 CPUs do not fit a topology of 16"));
    let vhost = json!({ "vhost_user_scsi": [{ "id": "c", "socket": "/s" }] });
    assert!(on(KVM, vhost).contains("its data path is dead"));
    let why = on(
        KVM,
        json!({ "vhost_user_scsi": [{ "id": "c", "socket": "/s" }], "shared_memory": { "path": "/dev/hugepages", "share": false } }),
    );
    assert!(why.contains("share=on"), "{why}");
    let small = KVM.replace(
        "-m 8G",
        "-m 8G -object memory-backend-file,id=mem0,size=4G,mem-path=/x,share=on -numa node,memdev=mem0",
    );
    assert!(on(&small, json!({ "cpu": "host" })).contains("the shared memory has 4G and the guest 8G"));
    assert!(on(RBD, json!({ "arguments": ["q35"] })).contains("`q35` is no option"));
    assert!(on("#!/bin/sh\necho no\n", json!({})).contains("starts no QEMU"));
    assert!(on(&format!("{KVM}{KVM}"), json!({})).contains("2 QEMUs"));
    let missing = with(json!({ "environment": { "LD_PRELOAD": "/usr/lib64/libtcmalloc.so" } }));
    assert!(refusal::<QemuArgs>(&scripted(RBD), missing).contains("is not on the host"));
    let dollar = RBD.replace("format=raw,file=rbd:libvirt-pool/CentOS8", "\"format=raw,id=rbd0,file=$DISK\"");
    let change = planned::<QemuArgs>(&scripted(&dollar), with(json!({ "guest": { "machine": "q35" } })));
    assert!(put(&change).contains("\"format=raw,id=rbd0,file=$DISK\""), "what the shell makes up stays");
}

#[test]
fn features_of_the_cpu_are_switched_by_their_sign() {
    let cpu = |line: &str, cpu: &str| reach(line, json!({ "guest": { "cpu": cpu } }));
    let first = cpu("qemu-system-x86_64 -m 1G", "qemu64,-apic,kvm-pv-unhalt=off");
    assert!(first.contains("-cpu qemu64,-apic,kvm-pv-unhalt=off"), "{first}");
    assert!(
        cpu(&first, "host,+apic").contains("-cpu host,+apic,kvm-pv-unhalt=off"),
        "what is not asked for stays"
    );
    assert!(cpu(&first, "qemu64,+x2apic").contains("-cpu qemu64,-apic,kvm-pv-unhalt=off,+x2apic"));
}

#[test]
fn a_cache_that_loses_data_is_a_risk() {
    let args = with(json!({ "guest": { "drives": [rbd(json!({ "cache": "unsafe" }))] } }));
    assert_eq!(planned::<QemuArgs>(&scripted(RBD), args).risks[0].name, RiskName::DataLoss);
}

#[test]
fn a_unit_gets_a_drop_in_made_from_its_own_line() {
    let sample = &super::samples::samples()[2];
    let change = planned::<QemuArgs>(&sample.host, sample.args.clone());
    assert_eq!(
        put(&change),
        "# Made by tunerun: how QEMU is started by vm1.service.
[Service]
Environment=A=1
CPUAffinity=2-3
ExecStart=
ExecStart=/usr/bin/qemu-system-x86_64 -M q35 -smp 2 -m 1G \\
  -drive cache=none,aio=native,file=/srv/vm1.img,if=none,id=d0 \\
  -object iothread,id=t0 -device virtio-blk-pci,iothread=t0,drive=d0
"
    );
    let then: Vec<&Activation> = change.then.iter().collect();
    assert_eq!(then, [&Activation::DaemonReload, &Activation::Restart("vm1.service".to_owned())]);
    // With the drop-in there: nothing more; a further wish changes that one file.
    let there = with_unit(UNIT).file("/etc/systemd/system/vm1.service.d/tunerun-qemu.conf", put(&change));
    assert!(planned::<QemuArgs>(&there, sample.args.clone()).steps.is_empty());
    let more = json!({ "unit": "vm1.service", "environment": { "B": "2 3" }, "guest": { "cpu": "host" } });
    let text = put(&planned::<QemuArgs>(&there, more));
    assert!(text.contains("Environment=A=1\nEnvironment=\"B=2 3\"\nCPUAffinity=2-3\n"), "{text}");
    assert!(text.contains("-cpu host") && text.contains("iothread=t0"), "{text}");
    let other = there
        .file("/etc/systemd/system/vm1.service.d/zz.conf", "[Service]\nExecStart=\nExecStart=/bin/true\n");
    assert!(refusal::<QemuArgs>(&other, sample.args.clone()).contains("sets ExecStart too"));
    let stranger = json!({ "unit": "vm2", "guest": { "cpu": "host" } });
    assert!(refusal::<QemuArgs>(&with_unit(UNIT), stranger).contains("there is no unit vm2.service"));
}

#[test]
fn a_unit_that_runs_on_as_it_was_is_restarted_by_leave_alone() {
    let sample = &super::samples::samples()[2];
    let change = planned::<QemuArgs>(&sample.host, sample.args.clone());
    let written = with_unit(UNIT).file("/etc/systemd/system/vm1.service.d/tunerun-qemu.conf", put(&change));
    let runs = |process: &str| written.clone().answer(process::look("77"), Seen::Output(Output::ok(process)));
    let old = "arg /usr/bin/qemu-system-x86_64\narg -M\narg q35\n";
    let change = planned::<QemuArgs>(&runs(old), sample.args.clone());
    let then: Vec<&Activation> = change.then.iter().collect();
    assert!(change.steps.is_empty());
    assert_eq!(then, [&Activation::Restart("vm1.service".to_owned())]);
    let mut args = sample.args.clone();
    args["restart"] = json!(false);
    let change = planned::<QemuArgs>(&runs(old), args);
    assert!(change.is_empty() && change.notes[0].contains("runs on as it was started"), "{:?}", change.notes);
    let live = "arg /usr/bin/qemu-system-x86_64\narg -M\narg q35\narg -smp\narg 2\narg -m\narg 1G\narg -drive\narg cache=none,aio=native,file=/srv/vm1.img,if=none,id=d0\narg -object\narg iothread,id=t0\narg -device\narg virtio-blk-pci,iothread=t0,drive=d0\ncpus 7 2-3 qemu\n";
    let change = planned::<QemuArgs>(&runs(live), sample.args.clone());
    assert!(change.is_empty(), "{:?}", change.evidence);
    let stray = planned::<QemuArgs>(&runs(&live.replace("2-3 qemu", "0-7 qemu")), sample.args.clone());
    assert!(stray.steps.is_empty() && !stray.is_empty());
    // What has just been forked is not QEMU yet: it is not restarted once more.
    let forked = planned::<QemuArgs>(&runs("arg (qemu-system-x86_64)\ncpus 7 2-3 x\n"), sample.args.clone());
    assert!(forked.is_empty());
}

#[test]
fn what_the_linker_was_given_is_told_before_it_has_mapped_it() {
    let library = "/usr/lib/libtcmalloc.so";
    let args = json!({ "unit": "vm1", "restart": true, "environment": { "LD_PRELOAD": library } });
    let first = planned::<QemuArgs>(&with_unit(UNIT).file(library, ""), args.clone());
    let drop_in = "/etc/systemd/system/vm1.service.d/tunerun-qemu.conf";
    let written = with_unit(UNIT).file(library, "").file(drop_in, put(&first));
    let runs = |process: &str| {
        let seen = Seen::Output(Output::ok(format!("arg qemu-system-x86_64\n{process}")));
        planned::<QemuArgs>(&written.clone().answer(process::look("77"), seen), args.clone())
    };
    let given = runs(&format!("env LD_PRELOAD={library}\n"));
    assert!(given.is_empty(), "{:?}", given.then);
    assert!(matches!(given.evidence[1].standing, Standing::Owed { .. }), "it is not mapped");
    assert!(!runs("").is_empty());
}

#[test]
fn a_running_qemu_proves_it() {
    let told = |arguments: &str, libraries: &str| {
        let text: String = arguments.split(' ').map(|word| format!("arg {word}\n")).collect();
        let seen = Seen::Output(Output::ok(format!("{text}{libraries}")));
        let host: Host =
            scripted(KVM).answer(process::look("/run/vm.pid"), seen).file("/usr/lib/libtcmalloc.so", "");
        let mut args = with(spdk());
        args["pid_file"] = json!("/run/vm.pid");
        args["environment"] = json!({ "LD_PRELOAD": "/usr/lib/libtcmalloc.so" });
        let change = planned::<QemuArgs>(&host, args);
        change.evidence.iter().map(|evidence| evidence.standing.clone()).collect::<Vec<_>>()
    };
    let live = "qemu-system-x86_64 --enable-kvm -cpu host -smp 2 -m 4G -object memory-backend-file,id=mem0,size=4G,mem-path=/dev/hugepages,share=on -numa node,memdev=mem0 -drive file=iscsi-vm.img,if=none,id=disk -device ide-hd,drive=disk,bootindex=0 -chardev socket,id=spdk_vhost_scsi0,path=/var/tmp/vhost.0 -device vhost-user-scsi-pci,chardev=spdk_vhost_scsi0,num_queues=2 -netdev tap,ifname=tap1,script=no,id=net0 -nographic";
    let more = "lib /usr/lib/libtcmalloc.so.4\ncpus 7 2-3 qemu-system-x86\ncpus 8 2-3 CPU 0/KVM\n";
    let told_live = told(live, more);
    assert!(
        matches!(told_live[..], [Standing::Live { .. }, Standing::Live { .. }, Standing::Live { .. }]),
        "{told_live:?}"
    );
    let old = told(&live.replace("num_queues=2", "num_queues=1"), "cpus 7 0-7 qemu-system-x86\n");
    let [Standing::Absent { seen }, Standing::Absent { seen: cpus }, Standing::Absent { .. }] = &old[..]
    else {
        panic!("{old:?}")
    };
    assert!(seen.contains("num_queues=2") && cpus.contains("CPU 0-7"), "{old:?}");
    let change = planned::<QemuArgs>(&scripted(KVM), with(spdk()));
    assert!(matches!(change.evidence[0].standing, Standing::NotAvailable { .. }));
}
