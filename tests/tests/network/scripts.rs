//! The scripts that put interrupts back on their CPUs at boot, run by every shell and awk that hosts have.
use modules::vocabulary::{Act, Content, Facts, HostPath, Identity, Image, Read, Seen, Stop};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

/// The files that the module puts on a host, by their paths.
fn files(about: &str) -> BTreeMap<String, String> {
    let module = modules::find("irq_affinity").unwrap();
    let sample = (module.samples)().into_iter().find(|sample| sample.about == about).unwrap();
    let planner = (module.parse)(sample.args).unwrap();
    let mut base: BTreeMap<Read, Seen> = BTreeMap::new();
    let change = loop {
        match planner.plan(&Facts::new(Arc::new(base.clone()), Identity::default())) {
            Err(Stop::Unread(reads)) => {
                base.extend(reads.into_iter().map(|read| (read.clone(), sample.host.see(&read))))
            }
            other => break other.unwrap(),
        }
    };
    let text = |act: &Act| match act {
        Act::Put { path, image: Image::File { content: Content::Bytes(bytes), .. }, .. } => {
            Some((path.to_string(), bytes.text()?.to_owned()))
        }
        _ => None,
    };
    change.steps.iter().filter_map(|step| text(&step.act)).collect()
}

/// A folder that looks like /proc and /etc to the scripts.
struct Bed(PathBuf);

impl Bed {
    fn new(name: &str, interrupts: &str, numbers: &[u32], map: &str) -> Self {
        let bed = Self(std::env::temp_dir().join(format!("tunerun-irq-{}-{name}", std::process::id())));
        std::fs::create_dir_all(bed.0.join("maps")).unwrap();
        std::fs::create_dir_all(bed.0.join("proc/irq")).unwrap();
        for number in numbers {
            std::fs::create_dir_all(bed.0.join(format!("proc/irq/{number}"))).unwrap();
            std::fs::write(bed.0.join(format!("proc/irq/{number}/smp_affinity_list")), "0-7").unwrap();
        }
        std::fs::write(bed.0.join("proc/interrupts"), interrupts).unwrap();
        std::fs::write(bed.0.join("maps/eth0.map"), map).unwrap();
        bed
    }

    fn run(&self, shell: &[&str], awk: &str, script: &str, args: &[&str]) -> Output {
        let bin = self.0.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let _ = std::fs::remove_file(bin.join("awk"));
        match awk {
            "busybox" => std::fs::write(bin.join("awk"), "#!/bin/sh\nexec busybox awk \"$@\"\n").unwrap(),
            other => std::os::unix::fs::symlink(format!("/usr/bin/{other}"), bin.join("awk")).unwrap(),
        }
        let _ =
            std::fs::set_permissions(bin.join("awk"), std::os::unix::fs::PermissionsExt::from_mode(0o755));
        std::fs::write(self.0.join("script"), script).unwrap();
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(self.0.join("script")).args(args).stdin(Stdio::null());
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).output().unwrap()
    }

    fn affinity(&self, number: u32) -> String {
        std::fs::read_to_string(self.0.join(format!("proc/irq/{number}/smp_affinity_list"))).unwrap()
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every shell with every awk that is installed; CI must have them all.
fn each(mut what: impl FnMut(&[&str], &str)) {
    let there =
        |name: &str| Path::new("/usr/bin").join(name).exists() || Path::new("/bin").join(name).exists();
    let (mut shells, mut awks): (Vec<&[&str]>, Vec<&str>) = (Vec::new(), Vec::new());
    for (name, words) in
        [("dash", &["dash"][..]), ("bash", &["bash"][..]), ("busybox", &["busybox", "ash"][..])]
    {
        if there(name) {
            shells.push(words);
        }
    }
    awks.extend(["mawk", "gawk", "busybox"].into_iter().filter(|name| there(name)));
    if shells.len() < 3 || awks.len() < 3 {
        eprintln!("NOT TESTED with all: dash, bash and busybox, mawk and gawk are wanted");
        assert!(std::env::var_os("CI").is_none(), "CI must have them all");
    }
    for shell in &shells {
        for awk in &awks {
            what(shell, awk);
        }
    }
}

const MICROVM: &str = include_str!("../../data/corpus/topology/interrupts-own-2cpu-microvm.txt");
const MELLANOX: &str = include_str!("../../data/corpus/topology/interrupts-256cpu-mlx5-nvme-synthetic.txt");

#[test]
fn names_are_found_again_whatever_their_numbers() {
    let files = files("split over two nodes");
    let script = &files["/usr/local/lib/tunerun/irq-affinity"];
    assert!(files["/etc/tunerun/irq-affinity/eth0.map"].contains("\tvirtio0-input.0\n"));
    each(|shell, awk| {
        let name = format!("{}-{awk}", shell[0]);
        let bed =
            Bed::new(&name, MICROVM, &[37, 38, 39], "# a word\n1\tvirtio2-input.0\n0\tvirtio2-output.0\n");
        let output = bed.run(shell, awk, script, &[&bed.at("maps"), &bed.at("proc"), "1"]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(
            (bed.affinity(37), bed.affinity(38), bed.affinity(39)),
            ("0-7".into(), "1".into(), "0".into()),
            "{name}"
        );

        let bed = Bed::new(&format!("{name}-mlx"), MELLANOX, &[44], "200\tmlx5_comp3@pci:0000:21:00.0\n");
        let output = bed.run(shell, awk, script, &[&bed.at("maps"), &bed.at("proc"), "1"]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(bed.affinity(44), "200", "{name}");
    });
}

#[test]
fn what_is_missing_or_refused_is_said() {
    let files = files("split over two nodes");
    let script = &files["/usr/local/lib/tunerun/irq-affinity"];
    each(|shell, awk| {
        let name = format!("miss-{}-{awk}", shell[0]);
        let bed =
            Bed::new(&name, MICROVM, &[39], "1\tvirtio2-input.0\n0\tvirtio2-output.0\n1\tvirtio9-input.0\n");
        let output = bed.run(shell, awk, script, &[&bed.at("maps"), &bed.at("proc"), "1"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("virtio9-input.0: there is no such interrupt"),
            "{name}: {said}"
        );
        assert!(
            said.contains("virtio2-input.0: the kernel does not let it be served by 1"),
            "{name}: {said}"
        );
        assert_eq!(bed.affinity(39), "0", "{name}: the others are placed all the same");
        std::fs::remove_file(bed.0.join("maps/eth0.map")).unwrap();
        assert!(
            bed.run(shell, awk, script, &[&bed.at("maps"), &bed.at("proc"), "1"]).status.success(),
            "{name}"
        );
    });
}

#[test]
fn irqbalance_is_told_to_leave_placed_interrupts_alone() {
    let script = &files("beside irqbalance")["/usr/local/lib/tunerun/irqbalance-policy"];
    each(|shell, awk| {
        let name = format!("ban-{}-{awk}", shell[0]);
        let bed = Bed::new(&name, MICROVM, &[], "1\tvirtio2-input.0\n");
        for (number, banned) in [("38", "ban=true\n"), ("39", ""), ("99", ""), ("24", "")] {
            let output =
                bed.run(shell, awk, script, &["/sys/devices/x", number, &bed.at("maps"), &bed.at("proc")]);
            assert!(output.status.success(), "{name} {number}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(String::from_utf8_lossy(&output.stdout), banned, "{name} {number}");
        }
    });
}

#[test]
fn every_path_is_whole() {
    for about in ["split over two nodes", "beside irqbalance"] {
        for path in files(about).keys() {
            assert!(HostPath::new(path).is_ok(), "{path}");
        }
    }
}
