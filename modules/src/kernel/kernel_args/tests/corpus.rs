//! `/etc/default/grub` files of real hosts: values, and edits that touch nothing else.
use std::collections::BTreeMap;

use super::files::{CLOUD, FIPS, Files, MAIN, XEN, files, grub};
use crate::kernel::kernel_args::amend::{Trouble, Wish};
use crate::kernel::kernel_args::grub::{OURS, Refusal, Variable};
use crate::kernel::kernel_args::line::Line;
use crate::kernel::kernel_args::pools;
use crate::kernel::kernel_args::token::{Key, Token};

fn set(text: &str) -> Wish {
    Wish::Set(Token::read(text))
}

fn absent(name: &str) -> Wish {
    Wish::AbsentKey(Key::of(name))
}

fn raws(line: &Line, name: &str) -> Vec<String> {
    line.all(&Key::of(name)).map(|token| token.raw().to_owned()).collect()
}

#[test]
fn values_are_those_that_a_shell_has() {
    let expected: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_slice(grub!("effective.json")).unwrap();
    assert_eq!(expected.len(), 13);
    for (name, variables) in &expected {
        let reading = files(name).reading();
        for (variable, text) in variables {
            let value = reading.value(variable).unwrap_or_else(|| panic!("{name}: {variable} is not set"));
            assert_eq!(&value.likely(), text, "{name} {variable}");
            // Only the drop-in that is a program leaves anything in doubt.
            let sure = name != "11-xen-dropin-shell-code.cfg";
            assert_eq!(value.known().as_ref(), sure.then_some(text), "{name} {variable}");
        }
        let sure = reading.variables.iter().filter(|(_, value)| value.known().is_some());
        let lines = sure.map(|(name, _)| name).filter(|name| name.starts_with("GRUB_CMDLINE"));
        for variable in lines {
            assert!(variables.contains_key(variable), "{name} {variable}");
        }
    }
}

#[test]
fn c01_debian_stock_changes_one_line() {
    let before = grub!("01-debian-stock.grub");
    let mut host = Files::main(before);
    assert_eq!(host.set("mitigations=off"), [MAIN]);
    let line = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet mitigations=off\"";
    assert_eq!(host.changed_lines(MAIN, before), [(9, line.to_owned())]);
    // Taken out again, the file is what it was.
    host.apply(&[absent("mitigations")]);
    assert_eq!(host.files[MAIN], before);
}

#[test]
fn c02_cloud_image_needs_a_later_drop_in() {
    let mut host = files("02-ubuntu-cloudimg");
    assert_eq!(host.set("mitigations=off"), [OURS]);
    let value = host.value("GRUB_CMDLINE_LINUX_DEFAULT");
    assert_eq!(value, "console=tty1 console=ttyS0 nvme_core.io_timeout=4294967295 mitigations=off");
    assert_eq!(host.set("init_on_alloc=0"), [OURS]);
    assert_eq!(
        host.text(OURS).lines().nth(1).unwrap(),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT mitigations=off init_on_alloc=0\""
    );
    assert!(!host.value("GRUB_CMDLINE_LINUX_DEFAULT").contains("splash"));
}

#[test]
fn c02_where_drop_ins_are_not_read_the_main_file_is_all_there_is() {
    let mut host = Files::main(grub!("02-ubuntu-cloudimg/default-grub")).without_drop_ins();
    assert_eq!(host.set("mitigations=off"), [MAIN]);
}

#[test]
fn c03_fips_keeps_its_reference() {
    let mut host = files("03-ubuntu-cloudimg-fips");
    assert_eq!(host.plan(&[set("fips=1")]), Ok(Vec::new()));
    assert_eq!(host.apply(&[Wish::Absent(Token::read("console=ttyS0"))]), [CLOUD]);
    assert_eq!(host.value("GRUB_CMDLINE_LINUX_DEFAULT"), "console=tty1 fips=1");
    assert_eq!(host.text(FIPS), "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT fips=1\"\n");
    assert_eq!(host.apply(&[absent("fips")]), [FIPS]);
    assert_eq!(host.text(FIPS), "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT\"\n");
}

#[test]
fn c04_no_final_newline_and_no_default() {
    let before = grub!("04-rhel8-bls-stig-no-final-newline.grub");
    let mut host = Files::main(before).without_drop_ins();
    host.set("mitigations=off");
    let changed = host.changed_lines(MAIN, before);
    assert_eq!(changed.len(), 1);
    assert!(changed[0].1.ends_with("slub_debug=P mitigations=off\""), "{changed:?}");
    assert!(host.text(MAIN).ends_with("GRUB_ENABLE_BLSCFG=true"));
    let mut host = Files::main(before).without_drop_ins().in_variable(Variable::Default);
    host.set("mitigations=off");
    let end = "GRUB_ENABLE_BLSCFG=true\nGRUB_CMDLINE_LINUX_DEFAULT=\"mitigations=off\"\n";
    assert!(host.text(MAIN).ends_with(end));
}

#[test]
fn c05_one_argument_with_commas_is_replaced_whole() {
    let mut host = files("05-rocky9-crashkernel-ranges.grub").without_drop_ins();
    host.set("crashkernel=512M");
    assert_eq!(
        host.value("GRUB_CMDLINE_LINUX"),
        "crashkernel=512M resume=/dev/mapper/rl-swap rd.lvm.lv=rl/root rd.lvm.lv=rl/swap rhgb quiet"
    );
}

#[test]
fn c06_commented_alternatives_are_not_touched() {
    let before = grub!("06-proxmox-zfs-commented-alternatives.grub");
    let mut host = Files::main(before).in_variable(Variable::Linux);
    host.set("iommu=pt");
    let line = "GRUB_CMDLINE_LINUX=\"root=ZFS=rpool/ROOT/pve-1 boot=zfs intel_iommu=on iommu=pt\"";
    assert_eq!(host.changed_lines(MAIN, before), [(11, line.to_owned())]);
}

#[test]
fn c07_case_01_repeated_lines() {
    let before = grub!("07-proxmox-repeated-lines.grub");
    let host = Files::main(before);
    let size = Wish::Pools(pools::pair(&[Token::read("hugepagesz=1G")]));
    assert_eq!(host.plan(&[set("nmi_watchdog=0"), set("iommu=pt"), size]), Ok(Vec::new()));
    let mut host = Files::main(before);
    host.set("nmi_watchdog=1");
    assert_eq!(host.changed_lines(MAIN, before).len(), 1);
    assert_eq!(raws(&host.line(), "nmi_watchdog"), ["nmi_watchdog=1"]);
    let mut host = Files::main(before);
    host.apply(&[absent("nmi_watchdog")]);
    assert!(!host.value("GRUB_CMDLINE_LINUX").contains("nmi_watchdog"));
    assert!(host.value("GRUB_CMDLINE_LINUX").ends_with("hugepagesz=1G default_hugepagesz=2M"));
}

#[test]
fn c07_case_01_tidy_leaves_one_assignment_and_each_argument_once() {
    let mut host = files("07-proxmox-repeated-lines.grub");
    host.apply(&[set("nmi_watchdog=0"), Wish::Tidy]);
    assert_eq!(host.text(MAIN).matches("GRUB_CMDLINE_LINUX=").count(), 1);
    assert_eq!(
        host.value("GRUB_CMDLINE_LINUX"),
        "root=ZFS=rpool/ROOT/pve-1 console=ttyS1,115200n8 console=tty0 amd_iommu=on iommu=pt \
         hugepagesz=1G default_hugepagesz=2M nmi_watchdog=0"
    );
}

#[test]
fn c08_every_other_argument_stays() {
    let before = files("08-oracle-arm-iscsi-root.grub").value("GRUB_CMDLINE_LINUX");
    let mut host = files("08-oracle-arm-iscsi-root.grub").without_drop_ins();
    host.set("mitigations=off");
    assert_eq!(host.value("GRUB_CMDLINE_LINUX"), format!("{before} mitigations=off"));
    assert_eq!(raws(&host.line(), "console"), ["console=ttyAMA0", "console=ttyAMA0,115200"]);
}

#[test]
fn c09_an_argument_in_the_other_variable_counts() {
    let mut host = files("09-arch-hardened-both-keys.grub").without_drop_ins();
    assert_eq!(host.plan(&[set("init_on_free=1")]), Ok(Vec::new()));
    host.set("preempt=full");
    assert!(host.value("GRUB_CMDLINE_LINUX").contains("fb_tunnels=none preempt=full noautogroup"));
    assert_eq!(host.value("GRUB_CMDLINE_LINUX_DEFAULT"), "loglevel=3 quiet");
}

#[test]
fn c10_the_last_one_must_be_off() {
    for variable in [Variable::Auto, Variable::Linux, Variable::Default] {
        let before = grub!("10-suse-xen.grub");
        let mut host = Files::main(before).without_drop_ins().in_variable(variable);
        host.set("mitigations=off");
        assert_eq!(raws(&host.line(), "mitigations"), ["mitigations=off"], "{variable:?}");
        let changed = host.changed_lines(MAIN, before);
        assert!(changed.iter().all(|(_, line)| !line.contains("XEN")), "{changed:?}");
    }
}

#[test]
fn c11_a_program_is_neither_run_nor_rewritten() {
    let (main, xen) = (grub!("01-debian-stock.grub"), grub!("11-xen-dropin-shell-code.cfg"));
    let mut host = Files::of(&[(MAIN, main), (XEN, xen)]);
    assert_eq!(host.set("mitigations=off"), [OURS]);
    assert_eq!(host.files[XEN], xen);
    assert_eq!(host.files[MAIN], main);
    let line = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT mitigations=off\"\n";
    assert!(host.text(OURS).ends_with(line));
    // What the program may bring cannot be taken away.
    let refused = host.plan(&[absent("quiet")]).unwrap_err();
    assert_eq!(refused, [Refusal::Trouble(Trouble::Unknown { key: Key::of("quiet") })]);
}

#[test]
fn c12_making_a_console_last_moves_it() {
    let mut host = files("12-aws-el8-default-absent.grub").without_drop_ins();
    assert_eq!(raws(&host.line(), "console"), ["console=ttyS0,115200n8", "console=tty0"]);
    host.apply(&[Wish::Last(Token::read("console=ttyS0"))]);
    assert_eq!(
        host.value("GRUB_CMDLINE_LINUX"),
        "console=tty0 console=ttyS0,115200n8 net.ifnames=0 rd.blacklist=nouveau \
         nvme_core.io_timeout=4294967295 crashkernel=auto"
    );
}

#[test]
fn c13_another_tools_line_keeps_its_marker() {
    let before = grub!("13-marker-comment-self-reference.grub");
    let mut host = Files::main(before).without_drop_ins();
    assert_eq!(host.line().args.len() - 1, 7, "seven in GRUB_CMDLINE_LINUX, `quiet` in the other");
    host.apply(&[Wish::Pools(pools::pair(&[Token::read("hugepages=16")]))]);
    let line = "GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX} default_hugepagesz=1G hugepagesz=1G hugepages=16\" \
                # hugepages managed block";
    assert_eq!(host.changed_lines(MAIN, before), [(5, line.to_owned())]);
    let mut host = Files::main(before).without_drop_ins();
    host.apply(&[absent("isolcpus")]);
    let line = "GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX} rcu_nocbs=2-15 nohz_full=2-15\" \
                # isolation managed block";
    assert_eq!(host.changed_lines(MAIN, before), [(6, line.to_owned())]);
    host.apply(&["isolcpus", "rcu_nocbs", "nohz_full"].map(absent));
    let line = "GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX}\" # isolation managed block";
    assert_eq!(host.changed_lines(MAIN, before), [(6, line.to_owned())]);
}

#[test]
fn case_02_a_longer_name_is_another_name() {
    let before = "GRUB_CMDLINE_LINUX=\"net.ifnames=0 crashkernel=auto rd.lvm.lv=vg/root rd.lvm.lv=vg/swap rhgb \
                  quiet audit=1\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"vga=normal console=tty1 console=ttyS0\"\n";
    let mut host = Files::main(before.as_bytes()).in_variable(Variable::Linux);
    host.set("audit_backlog_limit=8192");
    assert_eq!(host.text(MAIN), before.replace("audit=1\"", "audit=1 audit_backlog_limit=8192\""));
}

#[test]
fn case_03_changing_a_value_replaces_it() {
    let mut host = Files::main(b"GRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=2-3 lockdown=none\"\n");
    host.set("isolcpus=managed_irq,domain,2-7");
    host.set("lockdown=integrity");
    assert_eq!(
        host.text(MAIN),
        "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet isolcpus=managed_irq,domain,2-7 lockdown=integrity\"\n"
    );
}

#[test]
fn values_in_any_quoting_are_edited() {
    const D: &str = "GRUB_CMDLINE_LINUX_DEFAULT=";
    for (before, after) in [
        (format!("{D}quiet\n"), format!("{D}\"quiet a=1\"\n")),
        (format!("{D}\n"), format!("{D}\"a=1\"\n")),
        (format!("{D}'quiet' # x\n"), format!("{D}'quiet a=1' # x\n")),
        (format!("{D}''\n"), format!("{D}'a=1'\n")),
        (format!("{D}quiet\\ x\n"), format!("{D}\"quiet x a=1\"\n")),
        (format!("X=y\n{D}$X\n"), format!("X=y\n{D}$X\" a=1\"\n")),
        (format!("{D}\"quiet \\\n  x\"\n"), format!("{D}\"quiet \\\n  x a=1\"\n")),
        (format!("\t{D}\"x \""), format!("\t{D}\"x a=1\"")),
        (String::new(), "GRUB_CMDLINE_LINUX=\"a=1\"\n".to_owned()),
        ("GRUB_DEFAULT=0".to_owned(), "GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX=\"a=1\"\n".to_owned()),
    ] {
        let mut host = Files::main(before.as_bytes());
        host.set("a=1");
        assert_eq!(host.text(MAIN), after, "{before:?}");
    }
}

#[test]
fn tuneds_own_line_is_understood() {
    let text = "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\nGRUB_CMDLINE_LINUX_DEFAULT=\
                \"${GRUB_CMDLINE_LINUX_DEFAULT:+$GRUB_CMDLINE_LINUX_DEFAULT }\\$tuned_params\"\n";
    let mut host = Files::main(text.as_bytes());
    assert_eq!(host.value("GRUB_CMDLINE_LINUX_DEFAULT"), "quiet $tuned_params");
    host.set("mitigations=off");
    assert_eq!(host.value("GRUB_CMDLINE_LINUX_DEFAULT"), "quiet $tuned_params mitigations=off");
}

#[test]
fn a_broken_file_is_refused_with_its_line() {
    let host = Files::main(b"GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX=\"quiet\n");
    let refused = host.plan(&[set("a=1")]).unwrap_err();
    assert!(matches!(&refused[0], Refusal::Broken { line: 2, path, .. } if path == MAIN), "{refused:?}");
}

#[test]
fn code_that_decides_is_named_where_no_drop_in_helps() {
    let text = b"GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n. /etc/local-grub\n";
    let refused = Files::main(text).without_drop_ins().plan(&[set("a=1")]).unwrap_err();
    let Refusal::Unproven { args, because } = &refused[0] else { panic!("{refused:?}") };
    assert_eq!(args, &["a=1"]);
    assert!(because[0].contains("`.`") && because[0].contains("line 2"), "{because:?}");
}
