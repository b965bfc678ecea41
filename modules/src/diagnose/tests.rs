//! Rules on samples. Profiles are made by hand from the figures that the sources give, where it says so; one sample was
//! captured on a real machine.
use super::*;
use crate::cpu::topology::machines::machine;
use crate::guests::process;
use crate::network::interrupts;
use crate::services::RUNNING;
use crate::vocabulary::{Read, Row};
use std::collections::BTreeSet;

const HEAD: &str = "took\t5.00\t100\n";

fn host(text: &str) -> Host {
    machine(2, 4, 2, false)
        .value("/proc/cmdline", "BOOT_IMAGE=/vmlinuz quiet")
        .value("/proc/sys/kernel/osrelease", "6.8.0")
        .answer(Row::new("samples", ["5"]), Seen::Output(Output::ok(format!("{HEAD}{text}"))))
}

fn found(host: &Host) -> Json {
    let module = Diagnose { seconds: 5 };
    let mut reads: BTreeSet<Read> = BTreeSet::new();
    // As many rounds as the engine allows.
    for _ in 0..10 {
        match module.plan(&host.facts(reads.clone())) {
            Ok(change) => return change.result,
            Err(Stop::Unread(more)) => reads.extend(more),
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("it asks for ever")
}

fn rules_of(found: &Json) -> Vec<&str> {
    found["findings"].as_array().unwrap().iter().filter_map(|one| one["rule"].as_str()).collect()
}

fn drafts(found: &Json) -> Vec<(String, Json)> {
    let all = found["findings"].as_array().unwrap().iter().flat_map(|one| one["drafts"].as_array().unwrap());
    all.map(|draft| (draft["outcome"].as_str().unwrap().to_owned(), draft["task"].clone())).collect()
}

fn with_grub(host: Host) -> Host {
    host.file("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"\"\n")
        .file("/usr/sbin/grub-mkconfig", "#!/bin/sh\n")
        .file("/usr/sbin/update-grub", "#!/bin/sh\n")
        .file("/boot/grub/grub.cfg", "linux /vmlinuz quiet\n")
}

fn config(text: &str) -> Seen {
    let status = i32::from(text.is_empty());
    Seen::Output(Output { status, stdout: text.into(), stderr: "".into() })
}

const CONFIG: &str = "/boot/config-6.8.0";

/// By hand: the source tells of CPUs full of clearing, without a figure.
const CLEARING: &str = "perf\t31.00%;ksoftirqd/3;[kernel.kallsyms];[k] clear_page_erms\n\
    perf\t40.00%;swapper;[kernel.kallsyms];[k] intel_idle\n\
    perf\t1.00%;ksoftirqd/3;[kernel.kallsyms];[k] csum_partial\n";

#[test]
fn clearing_of_pages_asks_for_init_on_alloc_where_the_kernel_does_it() {
    let row = || Row::new("kernel-config-init", [CONFIG]);
    let on = host(CLEARING).answer(row(), config("CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n"));
    let told = found(&with_grub(on));
    assert_eq!(rules_of(&told), ["page_clearing"], "1 % of checksums is below the rule's share");
    let evidence = told["findings"][0]["evidence"][0].as_str().unwrap();
    assert!(evidence.contains("51.7 %"), "idle CPUs are no work: {evidence}");
    let (outcome, task) = &drafts(&told)[0];
    assert_eq!(task["kernel_args"]["args"]["init_on_alloc"], 0);
    assert!(outcome == "needs_word" || outcome == "changes", "{told:?}");
    let off = host(CLEARING).answer(row(), config(""));
    let told = found(&with_grub(off));
    assert!(told["findings"][0]["instead"].as_str().unwrap().contains("built without it"), "{told}");
    assert!(drafts(&told).is_empty());
    let line = host(CLEARING).value("/proc/cmdline", "init_on_alloc=0");
    assert!(found(&line)["findings"][0]["instead"].as_str().unwrap().contains("init_on_alloc=0"));
}

fn with_card(host: Host, queues: u32, node: &str) -> Host {
    let device = "/sys/devices/pci0000:00/0000:00:03.0";
    let mut text = String::from("40: PCI-MSIX-0000:00:03.0 0-edge virtio0-config\n");
    let mut host = host
        .link("/sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0")
        .value(&format!("{device}/numa_node"), node);
    for queue in 0..queues {
        text.push_str(&format!("{}: PCI-MSIX-0000:00:03.0 {queue}-edge virtio0-input.{queue}\n", 41 + queue));
        host = host.value(&format!("/sys/class/net/eth0/queues/rx-{queue}/rps_cpus"), "0");
        host = host.value(&format!("/proc/irq/{}/smp_affinity_list", 41 + queue), "0-7");
        host = host.value(&format!("/proc/irq/{}/effective_affinity_list", 41 + queue), "0");
    }
    host.answer(interrupts::row(), Seen::Output(Output::ok(text)))
}

fn features(rx: &str) -> Seen {
    Seen::Output(Output::ok(format!("Features for eth0:\nrx-checksumming: {rx}\ntx-checksumming: on\n")))
}

const CARD: &str = "card\teth0\t900000000\t900000\t1000\t10\n";

#[test]
fn checksums_are_the_cards_work() {
    let text = format!("{CARD}perf\t6.00%;ksoftirqd/3;[kernel.kallsyms];[k] csum_partial\n");
    let row = || Row::new("ethtool-features", ["eth0"]);
    let off = with_card(host(&text), 4, "0").answer(row(), features("off"));
    let told = found(&off);
    let (outcome, task) = &drafts(&told)[0];
    assert_eq!(task["nic_offload"]["features"]["rx"], true);
    assert_eq!(outcome, "needs_word", "no probe was given");
    let on = with_card(host(&text), 4, "0").answer(row(), features("on"));
    assert!(found(&on)["findings"][0]["instead"].as_str().unwrap().contains("are on here"));
}

#[test]
fn waiting_for_locks_is_for_the_hypervisor() {
    let told = found(&host("perf\t7.00%;rados;[kernel.kallsyms];[k] __pv_queued_spin_lock_slowpath\n"));
    assert_eq!(rules_of(&told), ["paravirtual_locks"]);
    assert_eq!(drafts(&told)[0].0, "elsewhere");
    assert_eq!(drafts(&told)[0].1["libvirt_domain"]["features"]["pvspinlock"], "off");
}

/// By hand: of QEMU with librbd, one messenger thread full, 18 % in libc's allocator.
const QEMU: &str = "task\t300\t190\t0\t900\t902\t3\tuser\tqemu-system-x86\tmsgr-worker-0\n\
    task\t200\t200\t0\t900\t900\t1\tuser\tqemu-system-x86\tqemu-system-x86\n\
    perf\t12.00%;msgr-worker-0;libc.so.6;[.] _int_malloc\n\
    perf\t6.00%;msgr-worker-0;libc.so.6;[.] malloc_consolidate\n";

fn qemu(lines: &str) -> Seen {
    Seen::Output(Output::ok(format!(
        "arg /usr/bin/qemu-system-x86_64\narg -name\narg guest=web,debug-threads=on\n{lines}"
    )))
}

#[test]
fn the_allocator_of_a_guest_is_named_with_the_guest() {
    let with = |lines: &str| host(QEMU).answer(process::look("900"), qemu(lines));
    let told = found(&with(""));
    let rules = rules_of(&told);
    for rule in ["allocator_in_qemu", "full_messengers", "full_main_loop"] {
        assert!(rules.contains(&rule), "{rule}: {rules:?}");
    }
    let tasks: Vec<Json> = drafts(&told).into_iter().map(|(_, task)| task).collect();
    assert!(tasks.iter().any(|task| task["libvirt_domain"]["domains"][0] == "web"), "{tasks:?}");
    assert!(tasks.iter().any(|task| task["ceph_config"]["who"] == "client"), "{tasks:?}");
    let other = found(&with("lib /usr/lib64/libtcmalloc.so.4.5.9\n"));
    let finding = other["findings"].as_array().unwrap().iter().find(|one| one["rule"] == "allocator_in_qemu");
    assert!(finding.unwrap()["instead"].as_str().unwrap().contains("libtcmalloc.so.4.5.9"));
    let plain =
        "task\t300\t190\t0\t77\t77\t3\tuser\tredis\tredis\nperf\t18.00%;redis;libc.so.6;[.] _int_malloc\n";
    assert!(rules_of(&found(&host(plain))).is_empty(), "only guests are meant");
}

#[test]
fn encryption_is_what_secure_mode_costs() {
    // 14 % in each messenger thread, as the source shows it.
    let text = "task\t300\t190\t0\t70\t71\t3\tuser\tceph-osd\tmsgr-worker-0\n\
        perf\t14.00%;msgr-worker-0;libcrypto.so.3;[.] _aesni_ctr32_ghash_6x\n";
    let told = found(&host(text));
    assert_eq!(rules_of(&told), ["encryption", "full_messengers"]);
    assert_eq!(told["findings"][0]["module"], "ceph_msgr_mode");
    assert!(drafts(&told).iter().all(|(outcome, _)| outcome == "elsewhere"));
    let other = "perf\t14.00%;openssl;libcrypto.so.3;[.] _aesni_ctr32_ghash_6x\n";
    assert!(rules_of(&found(&host(other))).is_empty());
}

fn cpus(busy: &[u32], serving: &[u32]) -> String {
    (0..8)
        .map(|cpu| {
            let (user, softirq) =
                (if busy.contains(&cpu) { 490 } else { 5 }, if serving.contains(&cpu) { 450 } else { 0 });
            format!("cpu\t{cpu}\t{user}\t0\t0\t{}\t0\t0\t{softirq}\t0\n", 500 - user.max(softirq))
        })
        .collect()
}

#[test]
fn copying_on_few_cpus_asks_for_one_cache() {
    let text = format!(
        "{}task\t480\t10\t0\t55\t55\t4\tuser\tjuicefs\tjuicefs\nperf\t35.00%;juicefs;libc.so.6;[.] __memmove_avx512_unaligned_erms\n",
        cpus(&[4, 5], &[])
    );
    let unit = |host: Host| {
        let show = "Id=juicefs.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=55\nUnitFileState=enabled\n";
        let host = host.value("/proc/55/cgroup", "0::/system.slice/juicefs.service");
        host.dir("/etc/systemd/system")
            .dir(RUNNING)
            .value("/proc/55/status", "Cpus_allowed_list:\t0-7\n")
            .answer(crate::services::unit::show("juicefs.service"), Seen::Output(Output::ok(show)))
    };
    let told = found(&unit(host(&text)));
    assert!(rules_of(&told).contains(&"copying_on_few_cpus"), "{told}");
    let (outcome, task) = &drafts(&told)[0];
    assert_eq!(
        (task["cpu_affinity"]["unit"].as_str(), &task["cpu_affinity"]["l3"]),
        (Some("juicefs.service"), &json!([2]))
    );
    assert_eq!(outcome, "changes", "{told}");
    let everywhere = text.replace(&cpus(&[4, 5], &[]), &cpus(&[0, 1, 2, 3, 4, 5, 6, 7], &[]));
    let told = found(&unit(host(&everywhere)));
    assert!(told["findings"][0]["instead"].as_str().unwrap().contains("spread over the machine"), "{told}");
}

#[test]
fn interrupts_of_one_queue_or_one_node_are_placed() {
    let irq = |cpus: &str, total: u64| -> String {
        (41..49).map(|number| format!("irq\t{number}\t{total}\t{cpus}\tPCI-MSIX\n")).collect()
    };
    let one = format!("{CARD}{}{}softirq\tNET_RX\t90000\t0:90000\t\n", irq("0:5000", 5000), cpus(&[], &[0]));
    let told = found(&with_card(host(&one), 8, "0"));
    let rules = rules_of(&told);
    assert!(rules.contains(&"interrupts_on_one_cpu") && rules.contains(&"serving_cpus"), "{rules:?}");
    let tasks = drafts(&told);
    assert!(tasks.iter().any(|(_, task)| task["irq_affinity"]["place"] == "l3"), "{tasks:?}");
    let spread: String =
        (0..8).map(|at| format!("irq\t{}\t5000\t{}:5000\tPCI-MSIX\n", 41 + at, at % 4)).collect();
    let told = found(&with_card(host(&format!("{CARD}{spread}")), 8, "0"));
    assert_eq!(rules_of(&told), ["interrupts_on_one_node"]);
    assert_eq!(drafts(&told)[0].1["irq_affinity"]["place"], "split");
    let quiet = format!("{CARD}{}", irq("0:50", 50));
    assert!(rules_of(&found(&with_card(host(&quiet), 8, "0"))).is_empty(), "eighty a second are no load");
}

#[test]
fn a_single_queue_hands_on() {
    let text = format!("{CARD}irq\t41\t500000\t2:500000\tPCI-MSIX\n{}", cpus(&[], &[2]));
    let told = found(&with_card(host(&text), 1, "1"));
    assert!(rules_of(&told).contains(&"single_queue"), "{told}");
    let rps = drafts(&told).into_iter().find(|(_, task)| !task["nic_queues"].is_null()).unwrap();
    assert_eq!(rps.1["nic_queues"]["rps"], "4-7", "the CPUs of the card's node");
}

#[test]
fn far_memory_and_waiting_and_stolen_time_are_told() {
    let text = format!(
        "{}task\t480\t10\t0\t55\t55\t4\tuser\tx\tx\nnuma\t/sys/devices/system/node/node0/numastat\tlocal_node\t50000\n\
         numa\t/sys/devices/system/node/node1/numastat\tother_node\t50000\n\
         pressure\t/proc/pressure/memory\tsome\t1000000\ncpu\t9\t10\t0\t0\t390\t0\t0\t0\t100\n",
        cpus(&[4], &[])
    );
    let told = found(&host(&text));
    assert_eq!(rules_of(&told), ["far_memory", "stolen_time", "waiting_for_memory"]);
    assert!(told["findings"][0]["evidence"][0].as_str().unwrap().starts_with("50 %"), "{told}");
}

#[test]
fn without_a_profile_its_rules_are_not_judged() {
    let told = found(&host("none\tperf\tit is not installed\n"));
    assert!(told["not_judged"].as_array().unwrap().iter().any(|rule| rule == "page_clearing"));
    assert_eq!(told["unseen"][0]["why"], "it is not installed");
}

#[test]
fn rules_are_told_apart_and_say_all() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        assert!(!rule.what.is_empty() && !rule.why.is_empty() && !rule.source.is_empty(), "{}", rule.name);
        assert!(!rule.tuning.is_empty(), "{}", rule.name);
        assert!(rule.module.is_empty() || crate::module::find(rule.module).is_some(), "{}", rule.module);
        assert_eq!(rule.is_elsewhere, !rule.place.is_empty(), "{}", rule.name);
    }
}

#[test]
fn seconds_have_bounds_and_a_host_that_cannot_be_measured_says_so() {
    assert!(
        crate::trial::refusal::<Diagnose>(&host(""), json!({ "seconds": 0 })).contains("between 1 and 120")
    );
    let bare = Host::new();
    assert!(crate::trial::refusal::<Diagnose>(&bare, json!({})).contains("cannot be measured"));
}

/// Captured on a machine with two processors that compiled, by perf 6.1 and gawk.
const CAPTURED: &str = include_str!("../../../tests/data/host-facts/samples-2cpu.txt");

#[test]
fn a_captured_machine_is_read_whole() {
    let seen = samples::Samples::parse(CAPTURED);
    assert!(seen.seconds > 2.9 && seen.cpus.len() == 2 && seen.has_profile(), "{seen:?}");
    assert!(seen.threads.iter().any(|thread| thread.name.starts_with("rustc")), "{:?}", seen.threads);
    assert!(seen.interrupts.iter().any(|counts| counts.name.contains("virtio")), "{:?}", seen.interrupts);
    let host = machine(1, 2, 2, false)
        .value("/proc/cmdline", "quiet")
        .answer(Row::new("samples", ["5"]), Seen::Output(Output::ok(CAPTURED)));
    let told = found(&host);
    assert_eq!(told["unseen"], json!([]), "{told}");
    assert!(told["symbols"].as_array().unwrap().len() > 5);
}
