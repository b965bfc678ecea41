//! What a benchmark writes over: devices in use are refused, however they are spelled.
use crate::bed::Bed;
use std::path::Path;
use std::process::Command;

/// A loop device of its own, which nobody else has open.
struct Loop(String);

impl Loop {
    fn new(image: &Path) -> Self {
        std::fs::File::create(image).unwrap().set_len(64 << 20).unwrap();
        let made = Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(String::from_utf8(made.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// Writes a byte behind everything that a signature could be in.
fn benchmark(bed: &Bed, writes: &str) {
    let gate = format!(
        "{{run: {{settle: 0s, ramp: 0s, measure: 1s, steady: off}}, benchmarks: [{{id: own, command: {{argv: [sh, -c, \
         'echo done >> {root}/ran; echo \"{{\\\"n\\\": 1}}\"'], writes: '{writes}', \
         figures: {{n: {{path: n, direction: higher}}}}}}}}], metrics: [{{name: n, from: own.n, direction: higher, margin: 5%}}]}}",
        root = bed.root.display()
    );
    let text = format!("- name: disks\n  hosts: all\n  gate: {gate}\n");
    std::fs::write(bed.root.join("bench.yml"), text).unwrap();
}

#[test]
fn a_device_that_is_used_is_not_written_over() {
    let Some(bed) = Bed::new(&["64M"]) else { return };
    let free = Loop::new(&bed.root.join("free.img"));
    let at = |name: &str| bed.root.join(name).display().to_string();
    let (play, hosts) = (at("bench.yml"), at("hosts.ini"));
    let bench = |writes: &str| {
        benchmark(&bed, writes);
        bed.tunerun(&["bench", &play, "-i", &hosts])
    };
    let refused = |device: &str, writes: &str, why: &str| {
        bed.sh("rm -f ROOT/ran");
        bench(writes).ended(1).says(&[&format!("({device}) is not written over: {why}")]);
        assert!(!bed.root.join("ran").exists(), "nothing was started");
    };
    bed.sh(&format!("ln -s {} ROOT/free; ln -s DISK0 ROOT/held", free.0));
    let link = at("free");
    bench(&link).ended(0);
    assert!(bed.root.join("ran").exists());
    let name = Path::new(&free.0).file_name().unwrap().to_str().unwrap();
    let odd = format!("/dev/../dev/./{name}");
    bed.sh("echo ',,L' | sfdisk -q --label gpt ROOT/free");
    refused(&free.0, &odd, "it holds ");
    bed.sh("wipefs -qa ROOT/free; mkfs.ext4 -qF ROOT/free");
    refused(&free.0, &link, "it holds ext4");
    bed.sh("mkdir ROOT/m; mount ROOT/free ROOT/m");
    refused(&free.0, &link, &format!("{} is mounted at {}/m", free.0, bed.root.display()));
    bed.sh("umount ROOT/m; wipefs -qa ROOT/free");
    bed.sh(&format!("pvcreate -qq --config 'devices{{filter=[\"a|.*|\"]}}' {}", free.0));
    refused(&free.0, &link, "it holds LVM2_member");
    // Whoever keeps the bed has this one open, as a guest has its disk.
    refused(&bed.disks[0], &at("held"), "process ");
    bed.sh("wipefs -qa ROOT/free");
    bench(&link).ended(0);
}
