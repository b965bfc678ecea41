//! A network card with many queues on two processors: its queues and interrupts, and the processors of a unit, tuned,
//! kept over a boot, taken back.
use super::bed::{call, play};
use nix::sched::{CloneFlags, unshare};
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;
use tests::vm::{Vm, can};

/// Two threads of one core (Linux knows threads of AMD by a feature that TCG lacks), and a card with two pairs of queues
/// behind a tap.
const HARDWARE: [&str; 8] = [
    "-cpu",
    "qemu64,+rdrand,vendor=GenuineIntel,-svm",
    "-smp",
    "2,sockets=1,cores=1,threads=2",
    "-netdev",
    "tap,id=n1,ifname=tap0,script=no,downscript=no,vhost=off,queues=2",
    "-device",
    "virtio-net-pci,mq=on,vectors=6,netdev=n1,romfile=",
];

/// The other end of the card's wire. What is sent to many ports takes all queues.
const PEER: &str = "10.99.9.1";
const CARD: &str = "10.99.9.2";
const PORTS: std::ops::Range<u16> = 20_000..20_064;

/// Each queue of the card with its CPUs.
const QUEUES: &str = "cd /sys/class/net/eth1/queues && for q in *; do echo $q $(cat $q/?ps_cpus); done";

/// Whether there are taps here; loud where not.
fn has_taps() -> bool {
    let there = std::path::Path::new("/dev/net/tun").exists();
    if !there {
        eprintln!("NOT TESTED: a card with many queues needs /dev/net/tun");
        assert!(std::env::var_os("CI").is_none(), "CI must have /dev/net/tun");
    }
    there
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}: {status}");
}

/// A machine whose card leads into a network of this thread's own: all that is started from here on lives there, and
/// the network goes with it.
fn machine() -> Vm {
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    ip("link set lo up");
    ip("tuntap add dev tap0 mode tap multi_queue");
    ip("link set tap0 up");
    ip(&format!("address add {PEER}/24 dev tap0"));
    let vm = Vm::powered_on(&HARDWARE);
    plug(&vm);
    vm
}

fn plug(vm: &Vm) {
    vm.ssh(&format!("ip link set eth1 up && ip address replace {CARD}/24 dev eth1"));
}

/// Lets every queue receive and send, until each interrupt is where it was asked to be: one moves when it comes next.
fn wait_until_served(vm: &mut Vm, wanted: &str) {
    let socket = UdpSocket::bind((PEER, 0)).unwrap();
    let send = format!("for p in $(seq {} {}); do echo x >/dev/udp/{PEER}/$p; done", PORTS.start, PORTS.end);
    vm.wait_for("interrupts on their CPUs", Duration::from_secs(120), |vm| {
        for port in PORTS {
            let _ = socket.send_to(b"x", (CARD, port));
        }
        vm.try_ssh(&format!("bash -c '{send}'"));
        interrupts(vm, "effective_affinity_list") == wanted
    });
}

/// The queues' interrupts in order of their names, with a file of each.
fn interrupts(vm: &Vm, file: &str) -> String {
    vm.ssh(&format!(
        "v=$(basename $(readlink -f /sys/class/net/eth1/device)); awk -v v=\"$v-\" 'index($NF, v) == 1 && /put/ {{ print $NF, $1+0 }}' \
         /proc/interrupts | sort | while read -r name number; do echo ${{name#*-}} $(cat /proc/irq/$number/{file}); done"
    ))
}

const PLACED: &str = "input.0 1\ninput.1 0\noutput.0 1\noutput.1 0";

/// What is tuned: nobody else would place queue 0 on CPU 1.
const TASKS: &str = "\
- name: Two queues
  nic_queues: {device: eth1, channels: {combined: 2}}
- name: Their CPUs
  nic_queues: {device: eth1, rps: 0-1, xps: '0'}
- name: Interrupts
  irq_affinity:
    device: eth1
    map: {'*put.0': '1', '*put.1': '0'}
- name: A daemon on one CPU
  cpu_affinity: {unit: pinned, cpus: '1', by: [cpuset], restart: true}
";

const UNIT: &str = "printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\n' \
    >/etc/systemd/system/pinned.service; systemctl daemon-reload; systemctl enable -q --now pinned";

fn allowed(vm: &Vm) -> String {
    vm.ssh("grep Cpus_allowed_list /proc/$(systemctl show -P MainPID pinned)/status | cut -f2")
}

fn is_tuned(vm: &mut Vm) {
    let queues = vm.ssh(QUEUES);
    assert_eq!(queues, "rx-0 3\nrx-1 3\ntx-0 1\ntx-1 1");
    assert_eq!(interrupts(vm, "smp_affinity_list"), PLACED);
    assert_eq!(allowed(vm), "1");
    wait_until_served(vm, PLACED);
    let evidence = call(vm, &["evidence", "site.yml"]);
    evidence.ended(
        0,
        &[
            "eth1 has 2 combined queues",
            "every queue of eth1",
            "are served by",
            "of pinned.service run on CPU 1",
        ],
    );
}

/// All that is tuned here, and what keeps it.
fn standing(vm: &Vm) -> String {
    let files =
        vm.ssh("find /etc/udev/rules.d /etc/systemd/system /etc/tunerun /usr/local/lib 2>/dev/null | sort");
    [vm.ssh(QUEUES), interrupts(vm, "smp_affinity_list"), allowed(vm), files].join("\n")
}

#[test]
fn queues_interrupts_and_cpus_are_placed_kept_over_a_boot_and_taken_back() {
    if !can() || !has_taps() {
        return;
    }
    let mut vm = machine();
    vm.ssh(UNIT);
    vm.ssh("ethtool -L eth1 combined 1");
    let before = standing(&vm);
    play(&vm, TASKS, &[]).ended(0, &["proven"]);
    is_tuned(&mut vm);
    play(&vm, TASKS, &["--check", "--detailed-exitcode"]).ended(0, &[]);

    vm.reboot();
    plug(&vm);
    vm.wait_for("the units of the boot", Duration::from_secs(120), |vm| {
        let up = "systemctl is-active -q tunerun-irq-affinity && systemctl is-active -q pinned";
        vm.try_ssh(up).status.success()
    });
    is_tuned(&mut vm);
    play(&vm, TASKS, &["--check", "--detailed-exitcode"]).ended(0, &[]);

    let run = first_run(&vm);
    call(&vm, &["undo", &run]).ended(0, &[]);
    assert_eq!(standing(&vm), before);
    interrupts_that_the_kernel_keeps(&vm);
    threads_go_and_come(&vm);
}

fn first_run(vm: &Vm) -> String {
    let runs = std::fs::read_dir(vm.dir.join("runs")).unwrap().flatten();
    runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).min().unwrap()
}

/// Queues of a virtual disk: the kernel spreads them, and lets nobody move one.
fn interrupts_that_the_kernel_keeps(vm: &Vm) {
    let disk = vm.ssh("basename $(readlink -f /sys/block/vdb/device)");
    let refused = vm.try_ssh(&format!(
        "n=$(awk '$NF == \"{disk}-req.1\" {{ print $1+0 }}' /proc/interrupts); [ -n \"$n\" ] || exit 9; \
         echo 0 >/proc/irq/$n/smp_affinity_list"
    ));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() != Some(9) && said.contains("Input/output error"), "{said}");
    let task = format!("- irq_affinity: {{device: {disk}, cpus: '0', persist: false}}\n");
    let stuck = format!("{disk}-req.1 (served by 1, not 0)");
    play(vm, &task, &[]).ended(1, &[&stuck, "cannot_converge"]);
    let waived = format!("{task}  accept_risk: {{cannot_converge: the kernel spreads them}}\n");
    play(vm, &waived, &["--check"]).ended(0, &[&stuck]);
    play(vm, &waived, &[]).ended(0, &["proven"]);
    call(vm, &["evidence", "site.yml"]).ended(8, &["req.1 by 1"]);
}

/// The second thread of the core.
fn threads_go_and_come(vm: &Vm) {
    let control = vm.ssh("cat /sys/devices/system/cpu/smt/control");
    assert_eq!(control, "on");
    let online = || vm.ssh("cat /sys/devices/system/cpu/online");
    assert_eq!(online(), "0-1");
    let task = "- smt: {enabled: false, persist: false}\n";
    play(vm, task, &[]).ended(0, &["proven"]);
    assert_eq!(online(), "0");
    call(vm, &["evidence", "site.yml"]).ended(0, &["cores run one thread each"]);
    play(vm, task, &["--check", "--detailed-exitcode"]).ended(0, &[]);
    call(vm, &["undo", "last"]).ended(0, &[]);
    assert_eq!(online(), "0-1");
}

#[test]
fn a_machine_without_a_second_thread_says_so() {
    if !can() {
        return;
    }
    let vm = Vm::restored();
    play(&vm, "- smt: {enabled: true, persist: false}\n", &[]).ended(1, &["no SMT to turn on", "firmware"]);
    let off = "- smt: {enabled: false, persist: false}\n";
    play(&vm, off, &["--check", "--detailed-exitcode"]).ended(0, &[]);
    call(&vm, &["evidence", "site.yml"]).ended(0, &["cores run one thread each"]);
}
