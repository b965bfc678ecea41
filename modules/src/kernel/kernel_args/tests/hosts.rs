//! The module on whole hosts in memory: every boot layout, comparison with the running line, refusals.
use serde_json::{Value as Json, json};

use crate::host::Host;
use crate::kernel::kernel_args::KernelArgs;
use crate::module::Module;
use crate::vocabulary::{Act, HostPath, Output, Read, TaskId};
use crate::vocabulary::{
    Activation, Change, Content, Diff, Effect, Facts, Image, Mark, RiskName, Row, Seen, Stop,
};

const DEBIAN_GRUB: &str = "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX=\"\"\n";
const RUNNING: &str = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet";
const MKCONFIG: &str = "#!/bin/sh\nfor x in ${sysconfdir}/default/grub.d/*.cfg ; do . $x; done\n";
const RHEL_GRUB: &str = "GRUB_CMDLINE_LINUX=\"crashkernel=auto rhgb quiet\"\nGRUB_ENABLE_BLSCFG=true\n";

fn task(args: Json) -> KernelArgs {
    serde_json::from_value(args).unwrap()
}

fn facts(host: &Host, task: &KernelArgs) -> Facts {
    let mut reads: Vec<Read> = Vec::new();
    for _ in 0..4 {
        let more = task.reads(&host.facts(reads.clone()));
        let new: Vec<Read> = more.into_iter().filter(|read| !reads.contains(read)).collect();
        if new.is_empty() {
            return host.facts(reads);
        }
        reads.extend(new);
    }
    panic!("more than four rounds of reads")
}

fn plan(host: &Host, args: Json) -> Result<Change, Stop> {
    let task = task(args);
    task.plan(&facts(host, &task))
}

fn refused(host: &Host, args: Json) -> (String, String) {
    match plan(host, args) {
        Err(Stop::Refused(refusal)) => (refusal.why, refusal.way_out.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

/// Plans, acts, and plans again: the second plan must be empty.
fn apply(host: &mut Host, args: Json) -> Change {
    let change = plan(host, args.clone()).unwrap();
    for step in &change.steps {
        host.act(&step.act).unwrap();
    }
    let again = plan(host, args).unwrap();
    assert!(again.steps.is_empty(), "{again:?}");
    change
}

fn text(host: &Host, path: &str) -> String {
    match host.see(&Read::text(&HostPath::new(path).unwrap())) {
        Seen::Node(node) => String::from_utf8(node.bytes().unwrap().as_slice().to_vec()).unwrap(),
        other => panic!("{path}: {other:?}"),
    }
}

fn paths(change: &Change) -> Vec<&str> {
    change.steps.iter().map(|step| step.path().unwrap().as_str()).collect()
}

fn debian() -> Host {
    Host::new()
        .file_mode("/etc/default/grub", DEBIAN_GRUB, 0o640)
        .file("/usr/sbin/grub-mkconfig", MKCONFIG)
        .file("/usr/sbin/update-grub", "#!/bin/sh\n")
        .value("/proc/cmdline", RUNNING)
}

fn update_grub() -> Activation {
    Activation::Regenerate(Row::new("update-grub", Vec::<String>::new()))
}

fn rhel9() -> Host {
    let entry = "title RHEL\nlinux /vmlinuz-5.14\noptions root=/dev/sda1 ro crashkernel=auto rhgb quiet $tuned_params\n";
    Host::new()
        .file("/etc/default/grub", RHEL_GRUB)
        .file("/usr/sbin/grub2-mkconfig", "#!/bin/sh\n# --update-bls-cmdline\n")
        .file("/boot/grub2/grub.cfg", "set default=0\ninsmod blscfg\nblscfg\n")
        .file("/boot/loader/entries/m-5.14.conf", entry)
        .file("/boot/loader/entries/m-5.15.conf", entry.replace("5.14", "5.15"))
        .file("/boot/loader/entries/m-0-rescue.conf", "title Rescue\noptions root=/dev/sda1 ro\n")
        .value(
            "/proc/cmdline",
            "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-5.14 root=/dev/sda1 ro crashkernel=auto rhgb quiet",
        )
}

fn rhel8(free: usize) -> Host {
    let mut block = b"# GRUB Environment Block\nsaved_entry=m-4.18\nkernelopts=root=/dev/sda1 ro crashkernel=auto rhgb quiet \n".to_vec();
    let size = block.len() + free;
    block.resize(size, b'#');
    Host::new()
        .file("/etc/default/grub", RHEL_GRUB)
        .file("/usr/sbin/grub2-mkconfig", "#!/bin/sh\n")
        .file("/boot/grub2/grub.cfg", "insmod blscfg\nblscfg\n")
        .link("/boot/grub2/grubenv", "../efi/EFI/redhat/grubenv")
        .file("/boot/efi/EFI/redhat/grubenv", block)
        .file("/boot/loader/entries/m-4.18.conf", "title RHEL\noptions $kernelopts $tuned_params\n")
        .value("/proc/cmdline", "root=/dev/sda1 ro crashkernel=auto rhgb quiet")
}

#[test]
fn debian_one_line_and_update_grub() {
    let mut host = debian();
    let change = apply(&mut host, json!({"args": {"skew_tick": 1}, "absent": ["quiet"]}));
    assert_eq!(paths(&change), ["/etc/default/grub"]);
    assert_eq!(change.steps[0].claim.as_str(), "file/etc/default/grub#kernel_args:skew_tick,quiet");
    assert_eq!(text(&host, "/etc/default/grub"), DEBIAN_GRUB.replace("quiet", "skew_tick=1"));
    assert!(matches!(
        &change.steps[0].act,
        Act::Put { image: Image::File { content: Content::Bytes(_), meta }, .. } if meta.mode.is_none()
    ));
    assert_eq!(change.then.iter().collect::<Vec<_>>(), [&update_grub()]);
    assert_eq!(change.effect, Effect::HostReboot);
    assert_eq!(change.risks, []);
    let Diff::Tokens { tokens, .. } = &change.diff[0] else { panic!() };
    let shown: Vec<_> = tokens.iter().map(|token| (token.text.as_str(), token.mark)).collect();
    assert_eq!(shown, [("quiet", Mark::Removed), ("skew_tick=1", Mark::Added)]);
    assert_eq!(tokens[0].origin.as_deref(), Some("/etc/default/grub line 2 (GRUB_CMDLINE_LINUX_DEFAULT)"));
    assert_eq!(change.result["reboot_needed"], json!(true));
    let [quiet, tick] = [0, 1].map(|at| change.result["args"][at].clone());
    assert_eq!(
        (&quiet["wanted"], &quiet["running"], &quiet["declared"]),
        (&json!(false), &json!("quiet"), &json!(null))
    );
    assert_eq!((&tick["declared"], &tick["next_boot"]), (&json!("skew_tick=1"), &json!("skew_tick=1")));
    assert_eq!((&tick["running"], &tick["live"]), (&json!(null), &json!(false)));
}

#[test]
fn protections_need_a_waiver() {
    let change = plan(&debian(), json!({"args": "mitigations=off nokaslr skew_tick=1"})).unwrap();
    assert!(change.risks.iter().all(|risk| risk.name == RiskName::Security));
    let why: Vec<&str> = change.risks.iter().map(|risk| risk.why.as_str()).collect();
    assert_eq!(why.len(), 2, "{why:?}");
    assert!(why[0].starts_with("`mitigations=off`"));
    // YAML's `off` is a boolean.
    let change = plan(&debian(), json!({"args": {"mitigations": false}})).unwrap();
    assert!(change.risks[0].why.starts_with("`mitigations=off`"));
}

#[test]
fn a_new_drop_in_has_owner_and_mode() {
    let mut host = debian().file(
        "/etc/default/grub.d/50-cloudimg-settings.cfg",
        "GRUB_CMDLINE_LINUX_DEFAULT=\"console=tty1 console=ttyS0\"\n",
    );
    let change = apply(&mut host, json!({"args": ["mitigations=auto"]}));
    assert_eq!(paths(&change), ["/etc/default/grub.d/zz-tunerun.cfg"]);
    let Seen::Node(node) =
        host.see(&Read::text(&HostPath::new("/etc/default/grub.d/zz-tunerun.cfg").unwrap()))
    else {
        panic!()
    };
    assert_eq!((node.mode, node.uid), (0o644, 0));
}

#[test]
fn a_link_is_written_where_it_leads() {
    let mut host = Host::new()
        .link("/etc/default/grub", "../sysconfig/real-grub")
        .file("/etc/sysconfig/real-grub", DEBIAN_GRUB)
        .file("/usr/sbin/grub2-mkconfig", "#!/bin/sh\n")
        .file("/boot/grub2/grub.cfg", "menuentry 'SUSE' {\n linux /vmlinuz root=/dev/sda1 quiet\n}\n")
        .value("/proc/cmdline", RUNNING);
    let change = apply(&mut host, json!({"args": ["a=1"]}));
    assert_eq!(paths(&change), ["/etc/sysconfig/real-grub"]);
    let made = Activation::Regenerate(Row::new("grub2-mkconfig", ["/boot/grub2/grub.cfg"]));
    assert!(change.then.contains(&made), "{:?}", change.then);
}

#[test]
fn a_configuration_that_was_not_made_again_is_made_again() {
    let stale = "menuentry 'Debian' --class debian {\n\tlinux\t/vmlinuz root=/dev/sda1 ro  quiet\n}\n";
    let host = debian().file("/boot/grub/grub.cfg", stale);
    let host = host.file("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet a=1\"\n");
    let change = plan(&host, json!({"args": ["a=1"]})).unwrap();
    assert!(change.steps.is_empty() && change.then.contains(&update_grub()));
    // Behind a task that writes the file in this run, its activation is trusted to come.
    let task = task(json!({"args": ["a=1"]}));
    let host = debian().file("/boot/grub/grub.cfg", stale);
    let mut facts = facts(&host, &task);
    let first = task.plan(&facts).unwrap();
    assert_eq!(first.steps.len(), 1);
    facts.plan(TaskId(0), first.steps);
    assert!(task.plan(&facts).unwrap().is_empty());
    // And one that boots it already is left alone.
    let fresh = host.file("/boot/grub/grub.cfg", stale.replace("quiet", "quiet a=1"));
    let fresh = fresh.file("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet a=1\"\n");
    assert!(plan(&fresh, json!({"args": ["a=1"]})).unwrap().is_empty());
}

#[test]
fn boot_entries_and_the_default_file_are_written_alike() {
    let mut host = rhel9();
    let change = apply(&mut host, json!({"args": "mitigations=auto,nosmt crashkernel=512M"}));
    assert_eq!(
        paths(&change),
        ["/boot/loader/entries/m-5.14.conf", "/boot/loader/entries/m-5.15.conf", "/etc/default/grub"]
    );
    assert!(change.then.is_empty(), "nothing has to be generated");
    assert!(text(&host, "/boot/loader/entries/m-5.14.conf").ends_with(
        "options root=/dev/sda1 ro crashkernel=512M rhgb quiet $tuned_params mitigations=auto,nosmt\n"
    ));
    assert!(
        text(&host, "/etc/default/grub")
            .starts_with("GRUB_CMDLINE_LINUX=\"crashkernel=512M rhgb quiet mitigations=auto,nosmt\"\n")
    );
    assert!(change.notes.iter().any(|note| note.contains("rescue") && note.contains("m-0-rescue.conf")));
    assert!(change.notes.iter().any(|note| note.contains("--update-bls-cmdline")));
}

#[test]
fn the_environment_block_keeps_its_size() {
    let mut host = rhel8(500);
    let change = apply(&mut host, json!({"args": "mitigations=auto", "absent": ["rhgb"]}));
    assert_eq!(paths(&change), ["/boot/efi/EFI/redhat/grubenv", "/etc/default/grub"]);
    let block = text(&host, "/boot/efi/EFI/redhat/grubenv");
    assert!(
        block.contains("\nkernelopts=root=/dev/sda1 ro crashkernel=auto quiet mitigations=auto \n#"),
        "{block}"
    );
    assert!(block.contains("\nsaved_entry=m-4.18\n"));
    assert_eq!(block.len(), text(&rhel8(500), "/boot/efi/EFI/redhat/grubenv").len());
}

#[test]
fn a_full_environment_block_is_refused() {
    let (why, _) = refused(&rhel8(3), json!({"args": "mitigations=auto"}));
    assert!(why.contains("environment block is full"), "{why}");
}

#[test]
fn systemd_boot_entries_and_kernel_cmdline() {
    let mut host = Host::new()
        .file("/boot/loader/entries/a.conf", "title A\noptions root=/dev/sda1 quiet -- init-word\n")
        .file("/boot/loader/entries/b.conf", "title B\nlinux /vmlinuz")
        .file("/etc/kernel/cmdline", "# the line\nroot=/dev/sda1 quiet")
        .value("/proc/cmdline", "root=/dev/sda1 quiet");
    apply(&mut host, json!({"args": "x=1 y=2"}));
    assert_eq!(
        text(&host, "/boot/loader/entries/a.conf"),
        "title A\noptions root=/dev/sda1 quiet x=1 y=2 -- init-word\n"
    );
    assert_eq!(text(&host, "/boot/loader/entries/b.conf"), "title B\nlinux /vmlinuz\noptions x=1 y=2\n");
    assert_eq!(text(&host, "/etc/kernel/cmdline"), "# the line\nroot=/dev/sda1 quiet x=1 y=2");
    apply(&mut host, json!({"absent": ["x", "y", "quiet"]}));
    assert_eq!(text(&host, "/boot/loader/entries/a.conf"), "title A\noptions root=/dev/sda1 -- init-word\n");
    assert_eq!(text(&host, "/etc/kernel/cmdline"), "# the line\nroot=/dev/sda1");
}

#[test]
fn proxmox_is_refreshed() {
    let host = debian().file("/etc/kernel/proxmox-boot-uuids", "AAAA-BBBB\n");
    let host = host.file("/etc/kernel/cmdline", "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n");
    let change = plan(&host, json!({"args": "iommu=pt"})).unwrap();
    assert_eq!(paths(&change), ["/etc/kernel/cmdline", "/etc/default/grub"]);
    let refresh = Activation::Regenerate(Row::new("proxmox-boot-refresh", Vec::<String>::new()));
    assert!(change.then.contains(&refresh));
}

#[test]
fn case_04_no_reboot_for_what_counts_already() {
    let running = include_str!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/data/corpus/cmdline/02-el9-duplicated-crashkernel.txt"
    ));
    let line = running.trim().split_once(" ro ").unwrap().1;
    let host = Host::new()
        .file("/etc/default/grub", format!("GRUB_CMDLINE_LINUX=\"{line}\"\n"))
        .file("/usr/sbin/grub2-mkconfig", "#!/bin/sh\n")
        .file("/boot/grub2/grub.cfg", format!("linux /vmlinuz root=/dev/sda1 ro {line}\n"))
        .value("/proc/cmdline", running.trim());
    let change = plan(&host, json!({"args": "crashkernel=auto"})).unwrap();
    assert!(change.is_empty());
    assert_eq!(change.result["reboot_needed"], json!(false));
    assert_eq!(change.effect, Effect::Now);
    let change = plan(&host, json!({"args": "crashkernel=512M quiet"})).unwrap();
    assert_eq!(change.result["reboot_needed"], json!(true));
    let notes: Vec<_> = change.notes.iter().filter(|note| note.contains("reboot is needed")).collect();
    assert_eq!(notes, ["a reboot is needed before this is live: crashkernel=512M"]);
}

#[test]
fn what_is_live_is_not_owed() {
    let host = debian()
        .value("/proc/cmdline", "console=ttyS0,115200n8 hugepagesz=2M hugepages=4 rd.lvm.lv=a/b a=1 a=2");
    for (args, owed) in [
        (json!({"last": ["console=ttyS0"]}), false),
        (json!({"last": ["console=tty0"]}), true),
        (json!({"args": "hugepagesz=2048K hugepages=4"}), false),
        (json!({"args": "hugepagesz=1G hugepages=4"}), true),
        (json!({"add": ["rd.lvm.lv=a/b"]}), false),
        (json!({"args": "a=2"}), false),
        (json!({"args": "a=1"}), true),
        (json!({"absent": ["a=1"]}), true),
        (json!({"absent": ["b", "a=3"]}), false),
    ] {
        assert_eq!(plan(&host, args.clone()).unwrap().result["reboot_needed"], json!(owed), "{args}");
    }
}

#[test]
fn the_mitigation_list_is_explained() {
    let list = "nospec_store_bypass_disable noibrs noibpb spectre_v2_user=off spectre_v2=off nopti l1tf=off \
                kvm-intel.vmentry_l1d_flush=never mitigations=off spec_rstack_overflow=off";
    let lscpu = |vendor: &str| {
        let stdout = format!("{{\"lscpu\":[{{\"field\":\"Vendor ID:\",\"data\":\"{vendor}\"}}]}}");
        Seen::Output(Output { status: 0, stdout: stdout.as_str().into(), stderr: "".into() })
    };
    for (vendor, foreign, native) in [
        ("AuthenticAMD", "kvm-intel.vmentry_l1d_flush=never", "spec_rstack_overflow=off"),
        ("GenuineIntel", "spec_rstack_overflow=off", "l1tf=off"),
    ] {
        let host = debian().answer(Row::new("lscpu", Vec::<String>::new()), lscpu(vendor));
        let change = plan(&host, json!({"args": list})).unwrap();
        let says = |arg: &str, words: &str| {
            change.notes.iter().any(|note| note.starts_with(&format!("`{arg}` ")) && note.contains(words))
        };
        for arg in
            ["nospec_store_bypass_disable", "spectre_v2_user=off", "spectre_v2=off", "nopti", "l1tf=off"]
        {
            assert!(says(arg, "implied by `mitigations=off`"), "{arg}: {:?}", change.notes);
        }
        assert!(says("noibrs", "vendor kernels") && says("noibpb", "vendor kernels"));
        assert!(
            says(foreign, "does nothing here") && !says(native, "does nothing here"),
            "{:?}",
            change.notes
        );
        assert!(!says("mitigations=off", ""));
        assert_eq!(change.risks.len(), 10, "every one of them needs the waiver");
    }
}

#[test]
fn what_the_kernel_does_already_is_said() {
    let config = |stdout: &str, status| {
        let row = Row::new("kernel-config-init", ["/boot/config-6.8.0"]);
        let seen = Seen::Output(Output { status, stdout: stdout.into(), stderr: "".into() });
        debian().value("/proc/sys/kernel/osrelease", "6.8.0").answer(row, seen)
    };
    let note = |host: &Host| {
        let notes = plan(host, json!({"args": {"init_on_alloc": 0}})).unwrap().notes;
        notes.into_iter().find(|note| note.starts_with("`init_on_alloc"))
    };
    assert_eq!(note(&config("CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n", 0)), None);
    assert!(note(&config("", 1)).unwrap().contains("INIT_ON_ALLOC_DEFAULT_ON is not set"));
    assert_eq!(note(&config("", 2)), None, "no such file: nothing is known");
}

#[test]
fn couplings_are_said() {
    let host = debian().value("/sys/devices/system/cpu/present", "0-15");
    let notes = |args: &str| plan(&host, json!({"args": args})).unwrap().notes.join("\n");
    let said =
        notes("isolcpus=2-3 nohz_full=0-3 rcu_nocbs=2-99 default_hugepagesz=1GB hugepagesz=1G hugepages=4");
    for words in [
        "`managed_irq",
        "holds CPU 0",
        "names CPU 16, but this host has 16",
        "2 MiB pages",
        "spelt otherwise",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(notes("isolcpus=managed_irq,domain,0-15").contains("every CPU"));
}

#[test]
fn a_line_for_huge_pages_is_merged_not_written_over() {
    let mut host = debian().file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"root=/dev/md0 console=ttyS0\"\n");
    apply(&mut host, json!({"args": {"default_hugepagesz": "1GB", "hugepagesz": "1G", "hugepages": 64}}));
    assert_eq!(
        text(&host, "/etc/default/grub"),
        "GRUB_CMDLINE_LINUX=\"root=/dev/md0 console=ttyS0 default_hugepagesz=1GB hugepagesz=1G hugepages=64\"\n"
    );
}

#[test]
fn what_tuned_brings_is_not_fought_over() {
    let host = debian()
        .file("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet \\$tuned_params\"\n")
        .file("/etc/tuned/bootcmdline", "TUNED_BOOT_CMDLINE=\"skew_tick=1 isolcpus=2-3\"\n");
    assert!(plan(&host, json!({"args": "skew_tick=1"})).unwrap().is_empty());
    let (why, way) = refused(&host, json!({"absent": ["isolcpus"]}));
    assert!(why.contains("$tuned_params") && way.contains("TuneD profile"), "{why} {way}");
}

#[test]
fn what_the_task_says_is_checked_whole() {
    let host = debian();
    for (args, words) in [
        (json!({}), "nothing is asked for"),
        (json!({"args": "a=1 a=2"}), "`a` is given twice"),
        (json!({"args": {"quiet": false}}), "is a flag"),
        (json!({"args": {"quiet": "absent"}}), "the word `absent`"),
        (json!({"args": {"a": {"b": 1}}}), "no value"),
        (json!({"args": ["a=x;y"]}), "script language"),
        (json!({"add": ["mitigations=off"]}), "may stand once only"),
        (json!({"args": "a=1", "absent": ["a"]}), "shall be absent"),
        (json!({"args": "quiet console=hvc0", "absent": "console=hvc0"}), "shall be absent"),
        (json!({"replace": ["hugepages=3"]}), "half of a pair"),
    ] {
        let (why, _) = refused(&host, args.clone());
        assert!(why.contains(words), "{args}: {why}");
    }
    let (why, _) = refused(&host, json!({"args": "a=1 a=2 b=x;y"}));
    assert!(why.contains("script language"), "{why}");
    assert!(serde_json::from_value::<KernelArgs>(json!({"argz": []})).is_err());
}

#[test]
fn what_cannot_be_done_is_refused_with_a_way_out() {
    let host = debian().file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"console=tty0\"\n");
    let (why, way) = refused(&host, json!({"args": "console=ttyS0"}));
    assert!(why.contains("console=tty0") && way.contains("`add:`") && way.contains("`replace:`"));
    let (why, _) = refused(&debian().deny("/etc/default/grub"), json!({"args": "a=1"}));
    assert!(why.contains("cannot be read"), "{why}");
    let (why, way) = refused(&Host::new(), json!({"args": "a=1"}));
    assert!(why.contains("no boot loader") && !way.is_empty());
    let (why, way) = refused(&debian().file("/run/ostree-booted", ""), json!({"args": "a=1"}));
    assert!(why.contains("ostree") && way.contains("rpm-ostree kargs"));
    let host = Host::new().file("/etc/default/grub", DEBIAN_GRUB);
    assert!(refused(&host, json!({"args": "a=1"})).1.contains("grub2-common"));
    let host = Host::new().file("/efi/EFI/Linux/a.efi", "MZ");
    assert!(refused(&host, json!({"args": "a=1"})).0.contains("unified images"));
    let broken = debian().file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet\nX=\"y\nZ='\n");
    assert!(refused(&broken, json!({"args": "a=1"})).0.contains("/etc/default/grub line"));
}

#[test]
fn the_example_and_the_samples_plan() {
    for sample in KernelArgs::samples() {
        let mut host = sample.host.clone();
        let change = apply(&mut host, sample.args.clone());
        assert!(!change.is_empty(), "{}", sample.about);
    }
}

#[test]
fn mappings_may_hold_lists_and_pairs() {
    let mut host = debian();
    apply(
        &mut host,
        json!({"args": {"hugepagesz": ["1G", "2M"], "hugepages": [4, 512], "intel_iommu": true, "nosmt": null}}),
    );
    assert!(
        text(&host, "/etc/default/grub")
            .contains("\"quiet intel_iommu=on nosmt hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=512\"")
    );
    apply(&mut host, json!({"absent": ["hugepagesz=1024M"]}));
    assert!(text(&host, "/etc/default/grub").contains("nosmt hugepagesz=2M hugepages=512\""));
}
