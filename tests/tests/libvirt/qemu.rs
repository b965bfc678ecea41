//! QEMU started by a script: edited option by option, parsed and proven by the real program.
use crate::backend::{self, Backend};
use crate::bed::Done;
use crate::guests::{Boot, sector};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tests::program::tunerun;

const LIBRARY: &str = "/lib/x86_64-linux-gnu/libBrokenLocale.so.1";

/// A folder with a script; a QEMU that it started ends with it.
struct Scripted {
    dir: PathBuf,
    qemu: Option<Child>,
}

fn can() -> bool {
    let there = Path::new("/usr/bin/qemu-system-x86_64").exists();
    if !there {
        eprintln!("NOT TESTED: QEMU's command lines need /usr/bin/qemu-system-x86_64");
        assert!(std::env::var_os("CI").is_none(), "CI must have qemu-system-x86");
    }
    there
}

impl Scripted {
    fn new(line: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = PathBuf::from(format!("/var/tmp/tunerun-qemu-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let here = dir.display();
        fs::write(dir.join("disk.img"), sector(Boot::Stubborn)).unwrap();
        fs::write(dir.join("start.sh"), format!("#!/bin/sh\n{}\n", line.replace("DIR", &here.to_string())))
            .unwrap();
        fs::write(
            dir.join("hosts.ini"),
            format!("h ansible_connection=local tunerun_state_dir={here}/state\n"),
        )
        .unwrap();
        Self { dir, qemu: None }
    }

    fn script(&self) -> String {
        fs::read_to_string(self.dir.join("start.sh")).unwrap()
    }

    fn tunerun(&self, words: &[&str]) -> Done {
        let mut command = Command::new(tunerun());
        command.args(words).current_dir(&self.dir).env("TUNERUN_RUNS", self.dir.join("runs"));
        Done::of(command.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap())
    }

    fn play(&self, arguments: &str) -> Done {
        let here = self.dir.display().to_string();
        let indented: String = arguments.lines().map(|line| format!("        {line}\n")).collect();
        let text = format!(
            "- hosts: all\n  gather_facts: false\n  tasks:\n    - name: Tune\n      qemu_args:\n        script: {here}/start.sh\n{indented}"
        );
        fs::write(self.dir.join("site.yml"), text.replace("DIR", &here)).unwrap();
        self.tunerun(&["play", "site.yml", "-i", "hosts.ini", "--yes"])
    }

    fn evidence(&self) -> Done {
        self.tunerun(&["evidence", "site.yml", "-i", "hosts.ini"])
    }

    /// Starts the guest by the script, and waits until QEMU has taken its command line.
    fn start(&mut self) {
        self.stop();
        let _ = fs::remove_file(self.dir.join("pid"));
        let log = fs::File::create(self.dir.join("log")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "sh"]).arg(self.dir.join("start.sh")).stdin(Stdio::null());
        let mut child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while !fs::read_to_string(self.dir.join("pid")).is_ok_and(|pid| pid.ends_with('\n')) {
            let log = fs::read_to_string(self.dir.join("log")).unwrap();
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "QEMU refuses its command line:\n{}\n{log}", self.script());
            assert!(Instant::now() < end, "QEMU is not up after 60 s:\n{log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        self.qemu = Some(child);
    }

    fn stop(&mut self) {
        if let Some(mut child) = self.qemu.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

#[test]
fn a_disk_past_the_cache_is_proven_on_the_running_qemu() {
    if !can() {
        return;
    }
    let mut bed = Scripted::new(
        "exec qemu-system-x86_64 -accel tcg -display none -S -pidfile DIR/pid \\\n  -m 64 -smp 4,sockets=1,cores=4,threads=1 \\\n  -drive format=raw,file=DIR/disk.img -nic none",
    );
    let before = bed.script();
    bed.start();
    let first = "environment: {LD_PRELOAD: LIBRARY}\ncpus: 0\nguest:\n  machine: q35\n  iothreads: [iothread0]\n  drives:\n    - id: d0\n      file: DIR/disk.img\n      format: raw\n      cache: none\n      aio: native\n      device: {driver: virtio-blk-pci, id: virtioblk0, iothread: iothread0, queues: 4}\n"
        .replace("LIBRARY", LIBRARY);
    let done = bed.play(&first);
    done.ended(0).says(&["applied, not live"]);
    bed.evidence().ended(13).says(&["it was not started with", "is not mapped"]);
    assert!(
        bed.script().contains("cache=none,aio=native,file=")
            && bed.script().contains("taskset -c 0 qemu-system-x86_64")
    );
    // The real program takes the line, and its process proves it.
    bed.start();
    bed.evidence()
        .ended(0)
        .says(&["each option is as described", "libBrokenLocale.so.1 is mapped into QEMU"]);
    bed.play(&first).ended(0).says(&["1 ok, 0 changed"]);
    bed.tunerun(&["undo", &done.run(), "-i", "hosts.ini"]).ended(0);
    assert_eq!(bed.script(), before);
    // What QEMU itself would refuse is refused in the plan: and it would.
    let wrong = first.replace("cache: none", "cache: writeback") + "  without: []\n";
    bed.play(&wrong).ended(1).says(&["aio=native with cache writeback"]);
    assert_eq!(bed.script(), before);
}

#[test]
fn a_vhost_user_device_on_shared_memory_starts_carries_requests_and_is_taken_back() {
    if !can() || !backend::can() {
        return;
    }
    let mut bed = Scripted::new(
        "exec qemu-system-x86_64 \\\n  -accel tcg -display none -pidfile DIR/pid \\\n  -smp 2 \\\n  -m 128M \\\n  -drive file=DIR/disk.img,if=none,id=disk,format=raw \\\n  -device ide-hd,drive=disk,bootindex=0 \\\n  -nic none",
    );
    let before = bed.script();
    let mut backend = Backend::new(&bed.dir.join("vhost.0"));
    let wish = "cpus: 0\nguest:\n  memory: 64M\n  shared_memory: {path: DIR}\n  vhost_user_scsi:\n    - {id: spdk_vhost_scsi0, socket: DIR/vhost.0, queues: 2, bootindex: 2}\n";
    let done = bed.play(wish);
    done.ended(0);
    let after = bed.script();
    for line in [
        "-m 64M \\\n",
        "size=64M,mem-path=",
        "share=on \\\n",
        "-numa node,memdev=mem0 \\\n",
        "-device vhost-user-scsi-pci,chardev=spdk_vhost_scsi0,num_queues=2,bootindex=2",
    ] {
        assert!(after.contains(line), "{line} is not in\n{after}");
    }
    // The real program starts with it, and its guest's requests come through the memory that both map.
    bed.start();
    assert_eq!(backend.memory_of_a_guest_that_asks(), 64);
    bed.evidence().ended(0).says(&["each option is as described", "QEMU runs on CPU 0"]);
    bed.play(wish).ended(0).says(&["1 ok, 0 changed"]);
    // Memory that is not shared is refused in the plan: the data path would be dead.
    bed.play(&wish.replace("path: DIR}", "path: DIR, share: false}")).ended(1).says(&["share=on"]);
    bed.stop();
    bed.tunerun(&["undo", &done.run(), "-i", "hosts.ini"]).ended(0);
    assert_eq!(bed.script(), before);
}
