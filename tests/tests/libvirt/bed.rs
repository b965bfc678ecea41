//! One libvirtd with its guests, in namespaces of its own: nothing of the machine's libvirt is touched.
use crate::guests::{Boot, domain, sector};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tests::program::{is_root, tunerun};

/// What runs as the first process of the namespaces. `virsh` is covered by a script that can spring a trap.
const INIT: &str = r#"set -e
ip link set lo up
cp /usr/bin/virsh "$1/virsh"
mkdir -p /var/cache/libvirt
for folder in /etc/libvirt /var/lib/libvirt /var/log/libvirt /var/cache/libvirt /run; do mount -t tmpfs -o mode=755 tunerun-libvirt "$folder"; done
mount --bind "$1/wrapper" /usr/bin/virsh
mkdir -p /run/libvirt /run/lock
cp "$1/qemu.conf" /etc/libvirt/qemu.conf
mkdir "$1/huge"; mount -t hugetlbfs -o pagesize=2M tunerun-huge "$1/huge" || echo "huge pages cannot be mounted"
virtlogd --pid-file "$1/virtlogd.pid" >"$1/virtlogd.log" 2>&1 &
libvirtd --config "$1/libvirtd.conf" --pid-file "$1/libvirtd.pid" >"$1/libvirtd.log" 2>&1 &
wait
"#;

/// What `virsh` is in the namespaces: where a trap is laid, its text runs at the second look at a definition: after the
/// plan, right before the act.
const WRAPPER: &str = r#"#!/bin/sh
case "$*" in *dumpxml*--inactive*)
  if [ -f BED/trap ]; then
    echo x >> BED/trap.looks
    if [ "$(wc -l < BED/trap.looks)" = 2 ]; then mv BED/trap BED/sprung; sh BED/sprung BED/virsh >/dev/null 2>&1; fi
  fi;;
esac
exec BED/virsh "$@"
"#;

/// libvirt's settings of QEMU.
const CONF: &str = "user = \"root\"
group = \"root\"
dynamic_ownership = 0
security_driver = \"none\"
cgroup_controllers = []
namespaces = []
";

/// A libvirt for one test.
pub struct Bed {
    pub dir: PathBuf,
    child: Child,
    init: u32,
}

/// What a call of the program came to.
pub struct Done {
    pub code: i32,
    pub text: String,
}

/// Whether a libvirt can be tested here; loud where not.
pub fn can() -> bool {
    let programs =
        ["/usr/sbin/libvirtd", "/usr/sbin/virtlogd", "/usr/bin/virsh", "/usr/bin/qemu-system-x86_64"];
    let missing: Vec<&str> =
        programs.into_iter().filter(|path| !std::path::Path::new(path).exists()).collect();
    if !missing.is_empty() {
        eprintln!("NOT TESTED: domains of libvirt need {}", missing.join(", "));
        assert!(std::env::var_os("CI").is_none(), "CI must have {missing:?}");
        return false;
    }
    is_root("a libvirtd")
}

impl Bed {
    /// A libvirt without domains, ready to be asked.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = PathBuf::from(format!("/var/tmp/tunerun-libvirt-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let write = |name: &str, text: &str| fs::write(dir.join(name), text).unwrap();
        write("wrapper", &WRAPPER.replace("BED", &dir.display().to_string()));
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.join("wrapper"), executable).unwrap();
        write("libvirtd.conf", "auth_unix_rw = \"none\"\n");
        let conf = format!("{CONF}hugetlbfs_mount = [ \"{}/huge\" ]\n", dir.display());
        write("qemu.conf", &conf);
        write(
            "hosts.ini",
            &format!("h ansible_connection=local tunerun_state_dir={}/state\n", dir.display()),
        );
        // Whoever dies, the first process of the namespaces dies too, and all in them with it.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--net", "--ipc", "--fork"]);
        command.args([
            "--kill-child=KILL",
            "--mount-proc",
            "--propagation",
            "private",
            "sh",
            "-c",
            INIT,
            "init",
        ]);
        let log = fs::File::create(dir.join("init.log")).unwrap();
        command.arg(&dir).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap();
        let mut bed = Self { dir, child, init: 0 };
        bed.wait();
        bed
    }

    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(120);
        let pid = self.child.id();
        loop {
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
            self.init = children.split_whitespace().next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
            let ready = self.init != 0
                && self.dir.join("libvirtd.pid").exists()
                && self.run("virsh", &["-q", "list", "--all"]).status.success();
            if ready {
                return;
            }
            let logs: String = ["init.log", "libvirtd.log", "virtlogd.log"]
                .iter()
                .map(|name| fs::read_to_string(self.dir.join(name)).unwrap_or_default())
                .collect();
            assert!(Instant::now() < end, "libvirtd is not ready after 120 s:\n{logs}");
            assert!(self.child.try_wait().unwrap().is_none(), "libvirtd has ended:\n{logs}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A command in the namespaces.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--wd={}", self.dir.display()));
        command.args([
            "--target",
            &self.init.to_string(),
            "--mount",
            "--pid",
            "--net",
            "--ipc",
            "--",
            program,
        ]);
        command.stdin(Stdio::null()).current_dir(&self.dir).env("LC_ALL", "C").env("NO_COLOR", "1");
        command
    }

    fn run(&self, program: &str, words: &[&str]) -> Output {
        self.command(program).args(words).output().unwrap()
    }

    /// A call of `virsh` that must succeed.
    #[track_caller]
    pub fn virsh(&self, words: &[&str]) -> String {
        let output = self.run("virsh", &[&["-q"], words].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "virsh {words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Defines a guest with a disk of its own.
    pub fn define(&self, name: &str, number: u32, boot: Boot) {
        self.define_as(name, number, boot, |xml| xml);
    }

    /// Defines a guest whose XML is changed first.
    pub fn define_as(&self, name: &str, number: u32, boot: Boot, change: impl Fn(String) -> String) {
        let disk = self.dir.join(format!("{name}.img"));
        fs::write(&disk, sector(boot)).unwrap();
        let xml = self.dir.join(format!("{name}.xml"));
        fs::write(&xml, change(domain(name, number, disk.to_str().unwrap()))).unwrap();
        self.virsh(&["define", xml.to_str().unwrap()]);
    }

    /// What a guest is started with next.
    #[track_caller]
    pub fn inactive(&self, name: &str) -> String {
        self.virsh(&["dumpxml", "--inactive", "--security-info", name])
    }

    /// What a guest was started with.
    #[track_caller]
    pub fn live(&self, name: &str) -> String {
        self.virsh(&["dumpxml", name])
    }

    /// How a guest stands.
    #[track_caller]
    pub fn state(&self, name: &str) -> String {
        self.virsh(&["domstate", name]).trim().to_owned()
    }

    /// Waits until an obedient guest listens to the power button: it has enabled its event.
    #[track_caller]
    pub fn ready(&self, name: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let words = ["-q", "qemu-monitor-command", "--hmp", name, "i /h 0x602"];
            let port = self.run("virsh", &words);
            if String::from_utf8_lossy(&port.stdout).contains("= 0x0100") {
                return;
            }
            assert!(Instant::now() < end, "{name} is not up after 60 s: {port:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The arguments of a guest's QEMU.
    pub fn arguments(&self, name: &str) -> String {
        let script = format!("tr '\\0' ' ' < /proc/$(cat /run/libvirt/qemu/{name}.pid)/cmdline");
        String::from_utf8_lossy(&self.run("sh", &["-c", &script]).stdout).into_owned()
    }

    /// Hours around now, by the host's clock.
    pub fn open_window(&self) -> String {
        self.around("-1 hour", "+1 hour")
    }

    /// Hours that are over.
    pub fn closed_window(&self) -> String {
        self.around("-3 hour", "-2 hour")
    }

    fn around(&self, from: &str, to: &str) -> String {
        let clock = |when: &str| {
            let output = self.run("date", &["-d", when, "+%H:%M"]);
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        format!("{}-{}", clock(from), clock(to))
    }

    /// Lays a trap: this shell text runs between the plan and the act; `$1` is the real virsh.
    pub fn trap(&self, text: &str) {
        fs::write(self.dir.join("trap"), text).unwrap();
    }

    /// A call of the program.
    pub fn tunerun(&self, words: &[&str]) -> Done {
        let mut command = self.command(tunerun().to_str().unwrap());
        let output = command.args(words).env("TUNERUN_RUNS", self.dir.join("runs")).output().unwrap();
        Done::of(output)
    }

    /// Writes a playbook of these tasks.
    pub fn playbook(&self, tasks: &str) {
        let indented: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
        let text = format!("- hosts: all\n  gather_facts: false\n  tasks:\n{indented}");
        fs::write(self.dir.join("site.yml"), text).unwrap();
    }

    /// Plays these tasks.
    pub fn play(&self, tasks: &str) -> Done {
        self.playbook(tasks);
        self.tunerun(&["play", "site.yml", "-i", "hosts.ini", "--yes"])
    }

    /// Takes a run back.
    pub fn undo(&self, run: &str) -> Done {
        self.tunerun(&["undo", run, "-i", "hosts.ini"])
    }

    /// The acts that a run's first batch began on the host.
    pub fn acts(&self, run: &str) -> usize {
        let log = fs::read_to_string(self.dir.join("state").join(run).join("1/log")).unwrap();
        log.lines().filter(|line| line.starts_with("begun")).count()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = fs::read_to_string(self.dir.join("libvirtd.log")).unwrap_or_default();
            eprintln!("--- libvirtd.log\n{log}");
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Done {
    /// What it came to.
    pub fn of(output: Output) -> Self {
        let text = [output.stdout, output.stderr].concat();
        let code = output.status.code().unwrap_or(-1);
        Self { code, text: String::from_utf8_lossy(&text).into_owned() }
    }

    /// The name of the run that it was.
    pub fn run(&self) -> String {
        let line = self.text.lines().find_map(|line| line.strip_prefix("run "));
        line.unwrap_or_else(|| panic!("no run in:\n{}", self.text)).trim().to_owned()
    }

    /// It ended with this code.
    #[track_caller]
    pub fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "\n{}", self.text);
        self
    }

    /// It says all of this.
    #[track_caller]
    pub fn says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(self.text.contains(word), "`{word}` is missing in:\n{}", self.text);
        }
        self
    }

    /// It says nothing of this.
    #[track_caller]
    pub fn never_says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(!self.text.contains(word), "`{word}` is in:\n{}", self.text);
        }
        self
    }
}
