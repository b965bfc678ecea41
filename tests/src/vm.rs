//! A virtual machine with a real boot loader and a real kernel of its own: QEMU, restored from a snapshot.
//!
//! `tests/vm/image` builds the image once and keeps it outside the clone; each machine is a copy of it, ready in a few
//! seconds. It dies with the test.
use crate::program::is_root;
use crate::sshd::free_port;
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a boot may take: other work beside it makes it many times slower.
pub const BOOT: Duration = Duration::from_secs(600);

/// A running machine. Dropping it ends it and takes its folder away.
pub struct Vm {
    child: Child,
    /// Disks, console, keys, inventory.
    pub dir: PathBuf,
    /// Where its sshd is on 127.0.0.1.
    pub port: u16,
    /// Where QEMU listens for what a BMC would do.
    pub bmc: u16,
}

/// Whether machines can be tested here; loud where not.
///
/// # Panics
/// Under CI, if not.
pub fn can() -> bool {
    let missing: Vec<&str> = ["qemu-system-x86_64", "qemu-img", "setpriv", "ssh"]
        .into_iter()
        .filter(|name| {
            let paths = std::env::var("PATH").unwrap_or_default();
            !paths.split(':').any(|folder| Path::new(folder).join(name).is_file())
        })
        .collect();
    if !missing.is_empty() {
        eprintln!("NOT TESTED: a virtual machine needs {}: bash tests/vm/install", missing.join(", "));
        assert!(std::env::var_os("CI").is_none(), "CI must have {}", missing.join(", "));
        return false;
    }
    is_root("a virtual machine")
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vm")
}

/// The folder of the image, built if need be.
fn image() -> &'static Path {
    static IMAGE: OnceLock<PathBuf> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let mut build = Command::new("bash");
        let output =
            build.arg(scripts().join("image")).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.expect("bash is there");
        assert!(
            output.status.success(),
            "the image of the virtual machine was not made; its words are above"
        );
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
    })
}

impl Vm {
    /// A machine as the image left it: booted, idle, nothing tuned.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn restored() -> Self {
        Self::started(&["-loadvm", "ready"], Duration::from_secs(120))
    }

    /// The same disks in another machine, powered on: what QEMU shall do otherwise, and have beside.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn powered_on(hardware: &[&str]) -> Self {
        Self::started(hardware, BOOT)
    }

    fn started(arguments: &[&str], limit: Duration) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let dir = std::env::temp_dir().join(format!("tunerun-vm-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let image = image();
        for name in ["root.qcow2", "data1.qcow2", "data2.qcow2"] {
            let mut copy = Command::new("cp");
            copy.arg("--sparse=always").arg(image.join(name)).arg(&dir);
            assert!(copy.status().unwrap().success(), "{name} could not be copied: is the disk full?");
        }
        std::os::unix::fs::symlink(image.join("golden.img"), dir.join("golden.img")).unwrap();
        fs::copy(image.join("id"), dir.join("id")).unwrap();
        let (port, bmc) = (free_port(), free_port());
        let key = fs::read_to_string(image.join("host_key.pub")).unwrap();
        fs::write(dir.join("known_hosts"), format!("[127.0.0.1]:{port} {key}")).unwrap();
        let child = Command::new("bash")
            .args(["-euc", ". \"$1/machine.sh\"; shift; machine \"$@\"", "machine"])
            .args([&scripts(), &dir])
            .arg(port.to_string())
            .args(arguments)
            .arg("-qmp")
            .arg(format!("unix:{},server=on,wait=off", dir.join("qmp").display()))
            .arg("-qmp")
            .arg(format!("tcp:127.0.0.1:{bmc},server=on,wait=off"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(dir.join("qemu.log")).unwrap())
            .spawn()
            .unwrap();
        let mut vm = Self { child, dir, port, bmc };
        vm.write_controller();
        vm.wait_for("an answer after the start", limit, |vm| vm.try_ssh("true").status.success());
        // Its clock stands where the snapshot was made.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        vm.ssh(&format!("date -s @{now} >/dev/null"));
        vm
    }

    /// What a controller has of it: an inventory, and the command that powers it off and on.
    fn write_controller(&self) {
        let dir = self.dir.display();
        let inventory = format!(
            "all:\n  hosts:\n    vm:\n      ansible_host: 127.0.0.1\n      ansible_port: {}\n      ansible_user: root\n      \
             ansible_ssh_private_key_file: {dir}/id\n      ansible_ssh_common_args: -o UserKnownHostsFile={dir}/known_hosts\n",
            self.port
        );
        fs::write(self.dir.join("hosts.yml"), inventory).unwrap();
        let script = format!(
            "# Powers the machine off and on, as a BMC does; QEMU says so when it was done.\n\
             exec 3<>/dev/tcp/127.0.0.1/{} || exit 1\n\
             echo '{{\"execute\":\"qmp_capabilities\"}}' >&3; echo '{{\"execute\":\"system_reset\"}}' >&3\n\
             while read -r -t 20 line <&3; do case $line in *RESET*) echo reset >>{dir}/power-cycles; exit 0 ;; esac; done\n\
             exit 1\n",
            self.bmc
        );
        fs::write(self.dir.join("power-cycle"), script).unwrap();
    }

    /// How often it was powered off and on.
    pub fn power_cycles(&self) -> usize {
        fs::read_to_string(self.dir.join("power-cycles")).unwrap_or_default().lines().count()
    }

    /// Waits until something is so.
    ///
    /// # Panics
    /// If the time is over, with the machine's last words; if QEMU has ended.
    pub fn wait_for(&mut self, what: &str, limit: Duration, mut so: impl FnMut(&Self) -> bool) {
        let begun = Instant::now();
        while !so(self) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "QEMU has ended ({ended:?}): {}", self.text("qemu.log"));
            assert!(begun.elapsed() < limit, "not within {limit:?}: {what}\n{}", self.console());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.dir.join(name)).unwrap_or_default()).into_owned()
    }

    /// The last words on its console.
    pub fn console(&self) -> String {
        let text = self.text("console.log");
        let lines: Vec<&str> = text.lines().rev().take(25).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Whether words came on its console since it was restored.
    pub fn said(&self, words: &str) -> bool {
        self.text("console.log").contains(words)
    }

    /// Runs a script there by the machine's own ssh, whatever comes of it.
    pub fn try_ssh(&self, script: &str) -> Output {
        let known = format!("UserKnownHostsFile={}", self.dir.join("known_hosts").display());
        Command::new("ssh")
            .args([
                "-n",
                "-F",
                "none",
                "-p",
                &self.port.to_string(),
                "-o",
                "BatchMode=yes",
                "-o",
                &known,
                "-i",
            ])
            .arg(self.dir.join("id"))
            .args(["-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=10", "root@127.0.0.1", script])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Runs a script there; gives what it printed.
    ///
    /// # Panics
    /// If it fails.
    pub fn ssh(&self, script: &str) -> String {
        let output = self.try_ssh(script);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}: {}\n{out}\n{err}", output.status);
        out.trim_end().to_owned()
    }

    /// The kernel line that it runs with.
    pub fn cmdline(&self) -> String {
        self.ssh("cat /proc/cmdline")
    }

    /// The name of its boot.
    pub fn boot_id(&self) -> String {
        self.ssh("cat /proc/sys/kernel/random/boot_id")
    }

    /// Whether it answers as another boot than this one.
    pub fn is_booted_since(&self, boot_id: &str) -> bool {
        let output = self.try_ssh("cat /proc/sys/kernel/random/boot_id");
        output.status.success() && String::from_utf8_lossy(&output.stdout).trim() != boot_id
    }

    /// Whether its sshd greets.
    pub fn greets(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(3)));
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("SSH-")
    }

    /// Boots it by itself, as a person would.
    pub fn reboot(&mut self) {
        let boot_id = self.boot_id();
        let _ = self.try_ssh("systemctl reboot");
        self.wait_for("another boot", BOOT, |vm| vm.is_booted_since(&boot_id));
    }

    /// Boots it by itself, and gives how long a boot should be waited for while the load is as it is now.
    pub fn patience(&mut self) -> Duration {
        let begun = Instant::now();
        self.reboot();
        (4 * begun.elapsed()).clamp(Duration::from_secs(60), BOOT)
    }

    /// Asks QEMU something.
    ///
    /// # Panics
    /// If it refuses.
    pub fn qmp(&self, command: &str, arguments: Json) -> Json {
        let stream = UnixStream::connect(self.dir.join("qmp")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answers = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        let mut last = Json::Null;
        for asked in
            [json!({"execute": "qmp_capabilities"}), json!({"execute": command, "arguments": arguments})]
        {
            writeln!(stream, "{asked}").unwrap();
            last = loop {
                let mut line = String::new();
                answers.read_line(&mut line).unwrap();
                let answer: Json = serde_json::from_str(&line).unwrap();
                assert!(answer.get("error").is_none(), "{command}: {answer}");
                if let Some(value) = answer.get("return") {
                    break value.clone();
                }
            };
        }
        last
    }

    /// Limits a disk (`root`, `data1`, `data2`) to so many operations a second; 0 lifts the limit.
    pub fn throttle(&self, disk: &str, iops: u32) {
        let line = format!("block_set_io_throttle {disk} 0 0 0 {iops} 0 0");
        let said = self.qmp("human-monitor-command", json!({ "command-line": line }));
        assert_eq!(said, json!(""), "{line}");
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the machine's last words:\n{}", self.console());
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}
