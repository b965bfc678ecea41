//! Loop devices in a mount namespace with an LVM of its own, which go away with the test however that ends.
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tests::program::tunerun;

/// Where beds lie; their names hold the number of the process that made them.
const ROOT: &str = "/var/tmp";
const MARK: &str = "tunerun-lvm-";

/// Some disks, and a host by `connection: local` that has no others.
pub struct Bed {
    pub root: PathBuf,
    /// The loop devices.
    pub disks: Vec<String>,
    keeper: Child,
    /// The keeper ends when this closes.
    lifeline: Option<ChildStdin>,
}

/// Holds the namespace and the disks. A loop device that is detached while it is open goes away with its last opener:
/// the kernel cleans up even where this shell is killed.
const KEEPER: &str = r#"
set -e
root=$1; shift
mount -t tmpfs tmpfs /etc/lvm
mkdir -p /etc/udev/rules.d
mount -t tmpfs tmpfs /etc/udev/rules.d
number=20; filter=; names=
for size in "$@"; do
  truncate -s "$size" "$root/$number.img"
  disk=$(losetup --find --show "$root/$number.img")
  eval "exec $number<>$disk"
  losetup --detach "$disk"
  rm "$root/$number.img"
  filter="$filter\"a|^$disk\$|\", "; names="$names $disk"; number=$((number + 1))
done
cat > /etc/lvm/lvm.conf <<END
devices {
	filter = [ $filter"r|.*|" ]
	use_devicesfile = 0
	hints = "none"
	obtain_device_list_from_udev = 0
}
global {
	activation = 0
	locking_dir = "$root/lock"
}
END
echo $names
read -r line || true
"#;

impl Bed {
    /// Disks of these sizes; none, said loudly, where this is not root.
    pub fn new(sizes: &[&str]) -> Option<Self> {
        if !tests::program::is_root("LVM on loop devices") {
            return None;
        }
        for tool in ["lvm", "losetup", "mkfs.xfs", "mkfs.ext4", "nsenter"] {
            let found = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
                .iter()
                .any(|dir| Path::new(dir).join(tool).exists());
            if !found {
                eprintln!("NOT TESTED: LVM on loop devices needs {tool}");
                assert!(
                    std::env::var_os("CI").is_none(),
                    "LVM on loop devices needs {tool}, and CI must give it"
                );
                return None;
            }
        }
        sweep();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = Path::new(ROOT).join(format!("{MARK}{}-{number}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "bash", "-c", KEEPER, "keeper"])
            .arg(&root)
            .args(sizes);
        let mut keeper = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let disks: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let lifeline = keeper.stdin.take();
        let bed = Self { root, disks, keeper, lifeline };
        assert_eq!(bed.disks.len(), sizes.len(), "the disks could not be made");
        let inventory =
            format!("h ansible_connection=local tunerun_state_dir={}/state\n", bed.root.display());
        std::fs::write(bed.root.join("hosts.ini"), inventory).unwrap();
        Some(bed)
    }

    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.keeper.id()));
        command.arg("--").env("TUNERUN_RUNS", self.root.join("runs")).env("NO_COLOR", "1").env("LC_ALL", "C");
        command.env("LVM_SUPPRESS_FD_WARNINGS", "1").stdin(Stdio::null());
        command
    }

    /// Calls the program.
    pub fn tunerun(&self, words: &[&str]) -> Said {
        Said::of(self.inside().arg(tunerun()).args(words).output().unwrap())
    }

    /// Writes the playbook; `DISK0`, `DISK1` … and `ROOT` stand for themselves.
    pub fn write(&self, tasks: &str) -> &Self {
        let mut tasks = tasks.replace("ROOT", &self.root.display().to_string());
        for (number, disk) in self.disks.iter().enumerate() {
            tasks = tasks.replace(&format!("DISK{number}"), disk);
        }
        let indented: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
        let text = format!("- hosts: all\n  gather_facts: false\n  tasks:\n{indented}");
        std::fs::write(self.root.join("play.yml"), text).unwrap();
        self
    }

    fn call(&self, tasks: &str, more: &[&str]) -> Said {
        let at = |name: &str| self.root.join(name).display().to_string();
        let (play, hosts) = (at("play.yml"), at("hosts.ini"));
        self.write(tasks).tunerun(&[&["play", &play, "-i", &hosts], more].concat())
    }

    /// Plays these tasks.
    pub fn play(&self, tasks: &str) -> Said {
        self.call(tasks, &["--yes", "--diff"])
    }

    /// Plans these tasks.
    pub fn check(&self, tasks: &str) -> Said {
        self.call(tasks, &["--check", "--diff"])
    }

    /// Plays these tasks again: nothing may change.
    #[track_caller]
    pub fn same(&self, tasks: &str) -> Said {
        self.call(tasks, &["--check", "--detailed-exitcode"]).ended(0)
    }

    /// Takes the newest run back.
    pub fn undo(&self) -> Said {
        self.tunerun(&["undo", "last"])
    }

    /// What a shell command says, without blanks at its ends.
    #[track_caller]
    pub fn sh(&self, text: &str) -> String {
        let mut text = text.replace("ROOT", &self.root.display().to_string());
        for (number, disk) in self.disks.iter().enumerate() {
            text = text.replace(&format!("DISK{number}"), disk);
        }
        let output = self.inside().args(["sh", "-c", &text]).output().unwrap();
        let said = Said::of(output);
        assert_eq!(said.code, Some(0), "{text}\n{}", said.text);
        said.out.trim().to_owned()
    }

    /// Fields of LVM's objects, with one blank between them.
    #[track_caller]
    pub fn field(&self, program: &str, field: &str, object: &str) -> String {
        let text = self.sh(&format!("{program} --noheadings --units b --nosuffix -o {field} {object}"));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(mut lifeline) = self.lifeline.take() {
            let _ = lifeline.write_all(b"end\n");
        }
        let _ = self.keeper.wait();
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Takes away what beds of tests that are gone have left.
fn sweep() {
    for entry in std::fs::read_dir(ROOT).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(number) = name.strip_prefix(MARK).and_then(|rest| rest.split('-').next()) else { continue };
        if !Path::new("/proc").join(number).exists() {
            let listed = Command::new("losetup")
                .args(["--list", "--noheadings", "--output", "NAME,BACK-FILE"])
                .output();
            let text =
                listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
            for disk in text
                .lines()
                .filter(|line| line.contains(&name))
                .filter_map(|line| line.split_whitespace().next())
            {
                let _ = Command::new("losetup").args(["--detach", disk]).status();
            }
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub text: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let text = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
        Self { code: output.status.code(), out, text }
    }

    /// Asserts how it ended, and shows what it said where it did not.
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self
    }

    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        // Long lines are wrapped for people.
        let flat = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(flat.contains(word), "`{word}` is missing in:\n{}", self.text);
        }
        self
    }
}
