//! Ways to a socket: through a real sshd, past one that forwards nothing, as another user, and not at all.
use crate::bed::{ALL, Bed, target};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tests::program::is_root;
use tests::spdk::Served;
use tests::sshd::{Setup, Sshd};

struct Road {
    bed: Bed,
    served: Served,
    sshd: Sshd,
}

fn road(setup: &Setup, user: &str) -> Road {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    let sshd = Sshd::start(setup);
    // The state's folder is the host's; the user who logs in writes there.
    fs::set_permissions(&bed.root, fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(bed.root.join("etc"), fs::Permissions::from_mode(0o777)).unwrap();
    let inventory = format!(
        "h ansible_host=127.0.0.1 ansible_port={} ansible_user={user} ansible_ssh_private_key_file={}/id_ed25519 \
         ansible_ssh_common_args='-o UserKnownHostsFile={}/known_hosts' tunerun_state_dir={}/state\n",
        sshd.port,
        sshd.folder.display(),
        sshd.folder.display(),
        bed.root.display()
    );
    fs::write(bed.root.join("hosts.ini"), inventory).unwrap();
    bed.vhost(ALL, "");
    Road { bed, served, sshd }
}

impl Road {
    /// Made, made again, taken back.
    fn is_passable(&self) {
        let before = self.served.target();
        self.bed.play().ended(0);
        assert!(self.served.target() != before);
        self.bed.play().ended(0).never_says("changed on");
        self.bed.tunerun(&["undo", &self.bed.oldest()]).ended(0);
        assert_eq!(self.served.target(), before);
    }
}

#[test]
fn through_sshd_as_root() {
    if is_root("a real sshd") {
        road(&Setup::default(), "root").is_passable();
    }
}

#[test]
fn past_an_sshd_that_forwards_to_no_sockets() {
    if !is_root("a real sshd") {
        return;
    }
    let setup = Setup { config: "AllowStreamLocalForwarding no\n".to_owned(), ..Setup::default() };
    let road = road(&setup, "root");
    road.is_passable();
    assert!(road.sshd.log().contains("refused streamlocal"), "{}", road.sshd.log());
}

#[test]
fn a_user_who_may_not_connect_is_told_so() {
    if !is_root("a real sshd") {
        return;
    }
    let road = road(&Setup::default(), "tuner");
    fs::set_permissions(road.bed.socket(), fs::Permissions::from_mode(0o700)).unwrap();
    road.bed.play().ended(1).says(&["spdk.sock", "may not be connected to", "tuner", "become"]);
    assert_eq!(road.served.target(), target());
}

#[test]
fn a_user_who_becomes_root_connects_as_root() {
    if !is_root("a real sshd") {
        return;
    }
    let sudoers = "root ALL=(ALL:ALL) ALL\ntuner ALL=(ALL:ALL) NOPASSWD: ALL\n".to_owned();
    let road = road(&Setup { sudoers, ..Setup::default() }, "tuner");
    fs::set_permissions(road.bed.socket(), fs::Permissions::from_mode(0o700)).unwrap();
    road.bed.vhost(ALL, "    become: true\n");
    road.is_passable();
}
