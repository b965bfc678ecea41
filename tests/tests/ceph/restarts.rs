//! OSDs that systemd runs, on a booted host of a lab: started again one after another, and never where data would lose
//! service. A flag that a boot of the host does not keep for good.
use super::cluster::{can, script};
use super::lab;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier};

/// Where the cluster lives on the host.
const DIR: &str = "/var/lib/ceph/lab";

/// A cluster by the script of the other tests, whose OSDs are then Debian's own units, as the user `ceph`. That a unit may
/// not start twice is what an operator meets who restarts OSDs some times within half an hour.
const SETUP: &str = r#"set -e
D=/var/lib/ceph/lab; mkdir -p $D /var/lib/ceph/osd /etc/ceph
STORE=bluestore OSDS=3 bash /root/cluster up $D >/dev/null
for n in 0 1 2; do bash /root/cluster stop-osd $D $n & ln -s $D/osd.$n /var/lib/ceph/osd/ceph-$n; done; wait
sed "/^\[osd\]$/a keyring = $D/osd.\$id/keyring" $D/ceph.conf >/etc/ceph/ceph.conf
chown -R ceph:ceph $D/osd.* $D/run $D/log
mkdir -p /etc/systemd/system/ceph-osd@.service.d
printf '[Unit]\nStartLimitBurst=1\n' >/etc/systemd/system/ceph-osd@.service.d/often.conf
systemctl daemon-reload
systemctl start ceph-osd@0 ceph-osd@1 ceph-osd@2
ceph osd pool create data 8 2>/dev/null; ceph osd pool application enable data rbd 2>/dev/null
bash /root/cluster wait $D
mkdir -p /run/ceph; ln -s $D/run/ceph-osd.*.asok /run/ceph/
"#;

/// A booted host with a cluster.
struct Host {
    lab: Lab,
    bed: lab::Bed,
}

impl Host {
    fn up() -> Option<Self> {
        if !can() || !lab::can(Tier::Booted) {
            return None;
        }
        let bed = lab::Bed::new();
        let spec = LabSpec {
            tier: Tier::Booted,
            upper_mib: 2048,
            ..LabSpec::new("lab", &["a"], bed.root.clone(), tunerun().to_owned())
        };
        let inventory = "all:\n  vars:\n    ansible_connection: lab\n    ceph_via: a\n  hosts:\n    a:\n";
        std::fs::write(bed.root.join("hosts.yaml"), inventory).unwrap();
        let host = Self { lab: Lab::up(&spec).unwrap(), bed };
        let mut give = host.ssh("cat >/root/cluster").stdin(Stdio::piped()).spawn().unwrap();
        give.stdin.take().unwrap().write_all(&std::fs::read(script()).unwrap()).unwrap();
        assert!(give.wait().unwrap().success());
        host.says(SETUP);
        Some(host)
    }

    /// A command that a person gives on the host.
    fn ssh(&self, words: &str) -> Spawn<'_> {
        let mut command = Command::new("ssh");
        command.arg("-F").arg(self.lab.dir().join("ssh_config")).args(["a", words]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Spawn { host: self, command }
    }

    fn says(&self, words: &str) -> String {
        lab::said(&self.lab, "a", words)
    }

    /// Plays tasks; the status and all that was said.
    fn play(&self, tasks: &str) -> (Option<i32>, String) {
        let tasks: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
        let book = format!("- hosts: a\n  gather_facts: false\n  tasks:\n{tasks}");
        std::fs::write(self.bed.root.join("p.yaml"), book).unwrap();
        let output = Command::new(tunerun())
            .args(["play", "p.yaml", "-i", "hosts.yaml", "--yes"])
            .current_dir(&self.bed.root)
            .env("TUNERUN_LABS", &self.bed.root)
            .env("TUNERUN_RUNS", self.bed.root.join("runs"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), said.join("\n"))
    }

    #[track_caller]
    fn refused(&self, tasks: &str, words: &str) {
        let (code, said) = self.play(tasks);
        assert!(code != Some(0) && said.contains(words), "`{words}` is not in {code:?}\n{said}");
    }

    /// The processes of the OSDs, by their number.
    fn daemons(&self) -> Vec<String> {
        let asked = "for n in 0 1 2; do systemctl show -P MainPID ceph-osd@$n; done";
        self.says(asked).lines().map(str::to_owned).collect()
    }

    fn noout(&self) -> bool {
        let output = lab::ssh(&self.lab, "a", "timeout -k 5 10 ceph osd dump -f json");
        let dump: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        !output.status.success() || !dump["crush_node_flags"]["h0"].is_null()
    }
}

/// A command to be started in the lab's network.
struct Spawn<'h> {
    host: &'h Host,
    command: Command,
}

impl Spawn<'_> {
    fn stdin(mut self, stdin: Stdio) -> Self {
        self.command.stdin(stdin);
        self
    }

    fn spawn(mut self) -> Result<Child, Box<tunerun::diagnostic::Diagnostic>> {
        self.host.lab.spawn(&mut self.command)
    }
}

/// A client that writes and reads the same object all the while.
const CLIENT: &str = r#"
import rados, time
cluster = rados.Rados(conffile="/etc/ceph/ceph.conf", conf={"rados_osd_op_timeout": "30"})
cluster.connect()
data = cluster.open_ioctx("data")
while True:
    text = str(time.time()).encode()
    data.write_full("clock", text)
    assert data.read("clock") == text
    time.sleep(0.05)
"#;

const AROUND: &str = "\
- block:
    - ceph_flag: {flag: noout, nodes: h0, lease: 600}
    - ceph_osd_restart: {wait: 120}
  always:
    - ceph_flag: {flag: noout, nodes: h0, state: absent}
";

#[test]
fn osds_of_a_host_start_again_one_after_another_and_a_flag_outlives_a_boot_but_not_its_end() {
    let Some(host) = Host::up() else { return };
    host.says("echo kept >/root/text; rados -p data put mine /root/text");
    // A client that ends at its first error, or with the lab.
    let mut load = host.ssh(&format!("/usr/bin/python3 -c '{CLIENT}'")).spawn().unwrap();
    let before = host.daemons();
    let (code, said) = host.play(AROUND);
    assert_eq!(code, Some(0), "{said}");
    let after = host.daemons();
    assert!(before.iter().zip(&after).all(|(old, new)| old != new), "{before:?} {after:?}");
    assert!(!host.noout());
    assert_eq!(host.says("rados -p data get mine -"), "kept");
    assert!(load.try_wait().unwrap().is_none(), "the client has met an error");
    refusals(&host);
    assert!(load.try_wait().unwrap().is_none(), "the client has met an error");
    let _ = load.kill();
    load.wait().unwrap();
    a_boot(&host);
}

/// What may not be done, and says why.
fn refusals(host: &Host) {
    host.refused("- ceph_osd_restart: {osds: [77]}\n", "the map has no osd.77");
    // What the daemons may use is asked of themselves, by their sockets.
    // The pages alone would fit: what is left is less than the daemons' 12 GiB.
    let total: u64 = host.says("awk '/^MemTotal/ {print $2}' /proc/meminfo").parse().unwrap();
    let pages = total.saturating_sub(11 << 20) / 2048;
    host.refused(
        &format!("- hugepages: {{size: 2M, count: {pages}}}\n"),
        "3 OSDs with osd_memory_target 4 GiB (their sockets)",
    );
    let before = host.daemons();
    // Another host restarts osd.1 right now: it has said so in the cluster.
    host.says("ceph config-key set tunerun/stopping/osd.1 $(($(date +%s) + 600))");
    host.refused("- ceph_osd_restart: {osds: [2], wait: 4}\n", "osd.2 may not stop together with 1");
    // What a process that was killed had said is over some time.
    host.says("ceph config-key set tunerun/stopping/osd.1 $(($(date +%s) - 1))");
    let (code, said) = host.play("- ceph_osd_restart: {osds: [2], wait: 60}\n");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(host.daemons()[..2], before[..2]);
    host.says("ceph config-key rm tunerun/stopping/osd.1");
    // With one OSD down, no other one may go.
    host.says("systemctl stop ceph-osd@2");
    let down = "i=0; until ceph osd info 2 | grep -q ' down '; do i=$((i+1)); [ $i -lt 100 ] || exit 1; sleep 0.3; done";
    host.says(down);
    host.refused("- ceph_osd_restart: {osds: [0], wait: 5}\n", "osd.0 may not stop");
    assert_eq!(host.daemons()[..2], before[..2]);
    assert!(!host.says("ceph config-key ls").contains("tunerun/"));
    host.says("systemctl reset-failed ceph-osd@2; systemctl start ceph-osd@2; bash /root/cluster wait /var/lib/ceph/lab");
}

/// The host boots while it keeps watch over a flag: the watch goes on.
fn a_boot(host: &Host) {
    let (code, said) = host.play("- ceph_flag: {flag: noout, nodes: h0, lease: 20}\n");
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("after a boot"), "{said}");
    assert!(host.noout());
    let boot = "cat /proc/sys/kernel/random/boot_id";
    let old = host.says(boot);
    lab::ssh(&host.lab, "a", "systemctl reboot");
    lab::until("the host is back", Duration::from_secs(120), || {
        let output = lab::ssh(&host.lab, "a", boot);
        output.status.success() && String::from_utf8_lossy(&output.stdout).trim() != old
    });
    host.says(&format!("ceph-mon -i a -c {DIR}/ceph.conf"));
    lab::until("the flag is gone", Duration::from_secs(90), || !host.noout());
    lab::until("its watch is over", Duration::from_secs(30), || {
        host.says("ls /etc/systemd/system /var/lib/tunerun/leases; ceph config-key ls | grep tunerun; true")
            .lines()
            .all(|line| {
                !line.contains("tunerun-flag") && !line.starts_with("noout") && !line.contains("tunerun/flag")
            })
    });
}
