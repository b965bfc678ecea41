//! Whether a line can be tried, and what is written for that, on hosts in memory.
use crate::host::Host;
use crate::kernel::kernel_args::try_boot::{Trial, TryBoot, is_one_shot, over, trial};
use crate::vocabulary::{Act, Content, Facts, Image, Match, Output, Read, Row, Seen, Step, Stop};
use std::collections::BTreeSet;

const GRUB_CFG: &str = "\
if [ \"${next_entry}\" ] ; then
   set default=\"${next_entry}\"
   set next_entry=
   save_env next_entry
else
   set default=\"0\"
fi
menuentry 'Debian' $menuentry_id_option 'gnulinux-simple-7' {
\tload_video
\tlinux\t/boot/vmlinuz-6.1 root=UUID=7 ro  quiet
\tinitrd\t/boot/initrd.img-6.1
}
if [ -f  ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
fi
";

fn block(variables: &str) -> String {
    format!("{:#<1024}", format!("# GRUB Environment Block\n{variables}"))
}

/// What GRUB's programs say of a host.
fn probed(host: Host, prefix: &str, system: &str, layer: &str) -> Host {
    let probe = |target: &str, path: &str| {
        Row::new(&format!("{prefix}-probe"), [format!("--target={target}"), path.to_owned()])
    };
    let folder = format!("/boot/{prefix}");
    host.answer(probe("fs", &folder), Seen::Output(Output::ok(format!("{system}\n"))))
        .answer(probe("abstraction", &folder), Seen::Output(Output::ok(format!("{layer}\n"))))
        .answer(probe("fs_uuid", "/boot"), Seen::Output(Output::ok("12-34\n")))
        .answer(
            Row::new("grub-next-entry", [format!("{folder}/grubenv")]),
            Seen::Output(Output { status: 1, ..Output::ok("") }),
        )
}

fn debian() -> Host {
    Host::new()
        .file("/etc/default/grub", "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet init_on_alloc=0\"\n")
        .file("/usr/sbin/grub-mkconfig", "#!/bin/sh\n")
        .file("/usr/sbin/update-grub", "#!/bin/sh\n")
        .file("/boot/grub/grub.cfg", GRUB_CFG)
        .file("/boot/grub/grubenv", block(""))
        .value("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz-6.1 root=UUID=7 ro quiet")
        .value("/proc/sys/kernel/osrelease", "6.1")
}

/// Asks until nothing new is named, as the engine does.
fn settled<T>(host: &Host, ask: impl Fn(&Facts) -> Result<T, Stop>) -> T {
    let mut reads: BTreeSet<Read> = BTreeSet::new();
    // The engine looks ten times at most; the task itself and its boot share them.
    for _ in 0..7 {
        match ask(&host.facts(reads.clone())) {
            Ok(answer) => return answer,
            Err(Stop::Unread(more)) => reads.extend(more),
            Err(stop) => panic!("{stop:?}"),
        }
    }
    panic!("it asks for ever: {reads:?}")
}

fn possible(host: &Host) -> TryBoot {
    match settled(host, trial) {
        Trial::Possible(trial) => trial,
        Trial::Impossible(why) => panic!("{why}"),
    }
}

fn why_not(host: &Host) -> String {
    match settled(host, trial) {
        Trial::Impossible(why) => why,
        Trial::Possible(trial) => panic!("{trial:?}"),
    }
}

fn text(step: &Step) -> String {
    match &step.act {
        Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } => {
            bytes.text().unwrap().to_owned()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn grub_is_given_an_entry_and_a_one_shot() {
    let host = probed(debian(), "grub", "ext2", "");
    let trial = possible(&host);
    assert_eq!(trial.line, format!("root=UUID=7 ro quiet init_on_alloc=0 panic=30 {}", trial.mark));
    let entry = text(&trial.steps[0]);
    assert!(entry.contains("--id tunerun-trial {\n\tload_video\n"), "{entry}");
    assert!(
        entry.contains(&format!(
            "\tlinux /boot/vmlinuz-6.1 {}\n\tinitrd\t/boot/initrd.img-6.1\n}}",
            trial.line
        ))
    );
    let shot = &trial.steps[1];
    assert!(is_one_shot(&shot.claim) && shot.after == Match::Any);
    let Act::Call { row, .. } = &shot.act else { panic!() };
    assert_eq!(row.args, ["/boot/grub/grubenv", "set", "next_entry=tunerun-trial"]);

    // Where there is a watchdog, it is armed for the trial; another line has another mark.
    let watched = possible(&host.clone().value("/dev/watchdog0", "").file("/dev/watchdog0", ""));
    assert!(watched.line.contains("systemd.watchdog_sec=2min"), "{}", watched.line);
    assert_ne!(watched.mark, trial.mark);

    // What takes it away again.
    let mut host = host;
    assert_eq!(settled(&host, over), []);
    host.act(&trial.steps[0].act).unwrap();
    let steps = settled(&host, over);
    assert!(matches!(&steps[..], [Step { act: Act::Put { image: Image::Absent, .. }, .. }]), "{steps:?}");
}

#[test]
fn boot_entries_are_tried_from_custom_cfg_too() {
    let bls = GRUB_CFG
        .replace("menuentry 'Debian' $menuentry_id_option 'gnulinux-simple-7' {", "blscfg\nmenuentry 'x' {");
    let host = Host::new()
        .file("/etc/default/grub", "GRUB_ENABLE_BLSCFG=true\n")
        .file("/usr/sbin/grub2-mkconfig", "#!/bin/sh\n")
        .file("/boot/grub2/grub.cfg", bls)
        .file("/boot/grub2/grubenv", block("saved_entry=0ab-5.14\n"))
        .file("/boot/loader/entries/0ab-4.18.conf", "title A\nlinux /vmlinuz-4.18\noptions root=/dev/sda1 ro old\n")
        .file(
            "/boot/loader/entries/0ab-5.14.conf",
            "title B\nlinux /vmlinuz-5.14\ninitrd /initramfs-5.14.img $tuned_initrd\noptions root=/dev/sda1 ro skew_tick=1\n",
        )
        .value("/proc/cmdline", "root=/dev/sda1 ro")
        .value("/proc/sys/kernel/osrelease", "5.14");
    let trial = possible(&probed(host.clone(), "grub2", "xfs", ""));
    assert_eq!(trial.line, format!("root=/dev/sda1 ro skew_tick=1 panic=30 {}", trial.mark));
    let entry = text(&trial.steps[0]);
    for line in [
        "search --no-floppy --fs-uuid --set=root 12-34",
        "linux /vmlinuz-5.14 root=/dev/sda1",
        "initrd /initramfs-5.14.img $tuned_initrd",
    ] {
        assert!(entry.contains(line), "{line}: {entry}");
    }
    assert!(entry.contains("--unrestricted"));
    assert!(why_not(&probed(host, "grub2", "xfs", "lvm")).contains("lies on lvm"));
}

#[test]
fn systemd_boot_clears_its_one_shot_itself() {
    let variables = "/sys/firmware/efi/efivars";
    let vendor = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
    let host = Host::new()
        .file(
            "/boot/loader/entries/a.conf",
            "title A\nsort-key z\nversion 6.1\nlinux /vmlinuz\noptions root=/dev/sda1 nosmt\n",
        )
        .value("/proc/cmdline", "root=/dev/sda1")
        .value("/proc/sys/kernel/osrelease", "6.1");
    assert!(why_not(&host).contains("systemd-boot"));
    let booted = host.value(&format!("{variables}/LoaderFeatures-{vendor}"), "");
    let trial = possible(&booted);
    assert_eq!(
        text(&trial.steps[0]),
        format!(
            "title A kernel line on trial\nversion 6.1\nlinux /vmlinuz\noptions root=/dev/sda1 nosmt panic=30 {}\n",
            trial.mark
        )
    );
    let Act::Call { row, .. } = &trial.steps[1].act else { panic!() };
    assert_eq!(
        (row.name.as_str(), row.args.as_slice()),
        ("bootctl-set-oneshot", &["tunerun-trial.conf".to_owned()][..])
    );
    // The entry on trial is none that a task changes, and goes when the trial is over.
    let mut host = booted;
    host.act(&trial.steps[0].act).unwrap();
    assert_eq!(settled(&host, over).len(), 1);
    assert_eq!(possible(&host).line, trial.line);
}

#[test]
fn where_grub_cannot_clear_it_a_trial_is_not_possible() {
    for (system, layer, why) in [
        ("ext2", "diskfilter mdraid1x", "lies on diskfilter mdraid1x"),
        ("ext2", "lvm", "lies on lvm"),
        ("ext2", "cryptodisk luks", "lies on cryptodisk luks"),
        ("btrfs", "", "lies on btrfs"),
        ("zfs", "", "lies on zfs"),
    ] {
        assert!(why_not(&probed(debian(), "grub", system, layer)).contains(why), "{system} {layer}");
    }
    let good = || probed(debian(), "grub", "ext2", "");
    let pending = Row::new("grub-next-entry", ["/boot/grub/grubenv"]);
    for (host, why) in [
        (
            good().file("/boot/grub/grub.cfg", GRUB_CFG.replace("save_env", "keep")),
            "does not clear a one-time entry",
        ),
        (
            good().file("/boot/grub/grub.cfg", GRUB_CFG.replace("custom.cfg", "mine.cfg")),
            "does not read custom.cfg",
        ),
        (good().file("/boot/grub/grub.cfg", GRUB_CFG.replace("\"0\"", "\"9\"")), "cannot be told"),
        (good().file("/boot/grub/grubenv", "damaged"), "is no environment block"),
        (good().answer(pending, Seen::Output(Output::ok("next_entry=memtest\n"))), "somebody else"),
        (
            good().file("/etc/kernel/proxmox-boot-uuids", "A\n").file("/etc/kernel/cmdline", "x\n"),
            "proxmox-boot-tool",
        ),
    ] {
        assert!(why_not(&host).contains(why), "{why}");
    }
}
