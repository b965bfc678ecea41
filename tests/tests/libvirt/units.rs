//! QEMU started by a unit of a real systemd: a drop-in of its own, a restart, the proof on the process, and the way back.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tests::program::{is_root, tunerun};
use tunerun::lab::{Lab, LabSpec, Tier};

const LIBRARY: &str = "/lib/x86_64-linux-gnu/libBrokenLocale.so.1";

const UNIT: &str = "[Service]
ExecStart=/usr/bin/qemu-system-x86_64 -accel tcg -display none -S -m 64 -smp 2 \\
  -drive file=/srv/vm1.img,if=none,id=d0,format=raw -device ide-hd,drive=d0 -nic none
";

/// A folder with one booted host and its playbook.
struct Bed {
    root: PathBuf,
    lab: Option<Lab>,
}

impl Drop for Bed {
    fn drop(&mut self) {
        drop(self.lab.take());
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn can() -> bool {
    for (program, package) in
        [("/usr/bin/systemd-nspawn", "systemd-container"), ("/usr/bin/qemu-system-x86_64", "qemu-system-x86")]
    {
        if !Path::new(program).is_file() {
            eprintln!("NOT TESTED: a unit that starts QEMU needs the package {package}");
            assert!(std::env::var_os("CI").is_none(), "CI must have {package}");
            return false;
        }
    }
    is_root("a lab")
}

impl Bed {
    fn new() -> Self {
        let root = PathBuf::from(format!("/var/tmp/tunerun-qemu-unit-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let inventory = "all:\n  vars: {ansible_connection: lab}\n  hosts: {hv1: {}}\n";
        fs::write(root.join("hosts.yml"), inventory).unwrap();
        let mut bed = Self { root, lab: None };
        let spec = LabSpec::new("lab", &["hv1"], bed.root.clone(), tunerun().to_owned());
        bed.lab = Some(Lab::up(&LabSpec { tier: Tier::Booted, ..spec }).unwrap());
        bed
    }

    /// What a script on the host says; it must end well.
    #[track_caller]
    fn on(&self, script: &str) -> String {
        let lab = self.lab.as_ref().unwrap();
        let mut command = Command::new("ssh");
        command.arg("-F").arg(lab.dir().join("ssh_config")).args(["hv1", script]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = lab.spawn(&mut command).unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn tunerun(&self, words: &[&str], code: i32) -> String {
        let mut command = Command::new(tunerun());
        command.args(words).current_dir(&self.root).stdin(Stdio::null()).env("NO_COLOR", "1");
        command.env("TUNERUN_LABS", &self.root).env("TUNERUN_RUNS", self.root.join("runs"));
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
        text
    }

    fn play(&self, arguments: &str) -> String {
        let text = format!(
            "- hosts: all\n  gather_facts: false\n  tasks:\n  - name: Tune\n    qemu_args:\n      unit: vm1\n{arguments}"
        );
        fs::write(self.root.join("site.yml"), text).unwrap();
        self.tunerun(&["play", "site.yml", "-i", "hosts.yml", "--yes"], 0)
    }

    fn evidence(&self, code: i32) -> String {
        self.tunerun(&["evidence", "site.yml", "-i", "hosts.yml"], code)
    }

    /// The words of the unit's process, once QEMU has taken them.
    fn words(&self) -> String {
        self.on("p=$(systemctl show -P MainPID vm1); tr '\\0' ' ' < /proc/$p/cmdline")
    }
}

const WISH: &str = "      environment: {LD_PRELOAD: LIBRARY}
      cpus: 0
      guest:
        iothreads: [t0]
        drives:
          - id: d0
            file: /srv/vm1.img
            format: raw
            device: {driver: virtio-blk-pci, iothread: t0}
";

#[test]
fn a_unit_is_started_as_described_proven_and_taken_back() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.on(&format!(
        "truncate -s 1M /srv/vm1.img; cat > /etc/systemd/system/vm1.service <<'EOF'\n{UNIT}EOF\nsystemctl daemon-reload; systemctl start vm1"
    ));
    let before = bed.words();
    assert!(before.contains("-device ide-hd,drive=d0"), "{before}");
    let wish = WISH.replace("LIBRARY", LIBRARY);

    // Written and not felt: nobody said that the guest may be cut off.
    let first = bed.play(&wish);
    assert!(first.contains("applied, not live"), "{first}");
    assert_eq!(bed.words(), before);
    bed.evidence(13);

    // The file is as it shall be, and what runs is not: leave to restart is all that was missing.
    let second = bed.play(&format!("{wish}      restart: true\n"));
    let after = bed.words();
    for words in ["-object iothread,id=t0", "-device virtio-blk-pci", "iothread=t0"] {
        assert!(after.contains(words), "`{words}` is not in {after}");
    }
    assert!(!after.contains("ide-hd"), "{after}");
    let process = bed
        .on("p=$(systemctl show -P MainPID vm1); cat /proc/$p/maps; grep Cpus_allowed_list /proc/$p/status");
    assert!(process.contains(LIBRARY.rsplit('/').next().unwrap()), "{process}");
    assert!(process.ends_with("\t0"), "{process}");
    let told = bed.evidence(0);
    for words in ["each option is as described", "is mapped into QEMU", "QEMU runs on CPU 0"] {
        assert!(told.contains(words), "`{words}` is not in {told}");
    }
    let again = bed.play(&format!("{wish}      restart: true\n"));
    assert!(again.contains("1 ok, 0 changed"), "{again}");

    // A further wish reaches the running guest at once; its undo does too.
    let third = bed.play(&format!("{wish}        cpu: qemu64,-apic\n      restart: true\n"));
    assert!(bed.words().contains("-cpu qemu64"), "{third}");
    bed.tunerun(&["undo", run(&third)], 0);
    assert_eq!(bed.words(), after);
    // The run that restarted alone has nothing to take back; the first one takes the file away.
    bed.tunerun(&["undo", run(&second)], 0);
    bed.tunerun(&["undo", run(&first)], 0);
    assert_eq!(bed.on("ls /etc/systemd/system/vm1.service.d 2>/dev/null || true"), "");
    bed.on("systemctl restart vm1");
    assert_eq!(bed.words(), before);
}

/// The name of a run, of what it said.
fn run(text: &str) -> &str {
    let line = text.lines().find_map(|line| line.strip_prefix("run "));
    line.unwrap_or_else(|| panic!("no run in:\n{text}")).trim()
}
