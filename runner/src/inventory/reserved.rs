//! Variables of hosts and groups that mean something here: the text of `tunerun doc`, of the schema and of editors.

/// A variable that says how a host or its cluster is reached.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: ReservedKind,
    /// What it says.
    pub about: &'static str,
}

/// What such a variable may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReservedKind {
    /// Several shapes.
    Any,
    /// One text.
    Text,
    /// One text or a list of them.
    Texts,
    /// A whole number.
    Whole,
    /// `true` or `false`.
    Flag,
    /// A way to reach a host.
    Connection,
    /// A way to become another user.
    Method,
}

impl ReservedKind {
    /// The words of a closed list; empty where it is open.
    pub fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Flag => &["true", "false"],
            Self::Connection => &["ssh", "local", "lab"],
            Self::Method => &["sudo", "su", "doas"],
            _ => &[],
        }
    }
}

const fn reserved(name: &'static str, kind: ReservedKind, about: &'static str) -> Reserved {
    Reserved { name, kind, about }
}

/// All of them.
pub const RESERVED: [Reserved; 30] = [
    reserved(
        "ansible_host",
        ReservedKind::Text,
        "The address that the host is reached at, where its name is not one.",
    ),
    reserved("ansible_port", ReservedKind::Whole, "The port of its ssh."),
    reserved("ansible_user", ReservedKind::Text, "The user to log in as."),
    reserved(
        "ansible_connection",
        ReservedKind::Connection,
        "How it is reached: ssh, local for this machine, lab for a host of the lab.",
    ),
    reserved(
        "ansible_password",
        ReservedKind::Text,
        "The password to log in with; keep it in a vault. A key is better.",
    ),
    reserved("ansible_ssh_private_key_file", ReservedKind::Text, "The key to log in with."),
    reserved(
        "ansible_ssh_common_args",
        ReservedKind::Text,
        "Arguments of ssh, such as `-o ProxyJump=bastion`. Each option is taken over or refused by name.",
    ),
    reserved("ansible_ssh_extra_args", ReservedKind::Text, "As `ansible_ssh_common_args`, behind them."),
    reserved("ansible_ssh_args", ReservedKind::Text, "As `ansible_ssh_common_args`, before them."),
    reserved("ansible_ssh_retries", ReservedKind::Whole, "How often a connection is tried again."),
    reserved("ansible_timeout", ReservedKind::Whole, "Seconds until a connection has failed."),
    reserved(
        "ansible_host_key_checking",
        ReservedKind::Flag,
        "Only `true` is taken: the keys of hosts are always checked.",
    ),
    reserved(
        "ansible_shell_executable",
        ReservedKind::Text,
        "The POSIX shell of the host, where it is not /bin/sh.",
    ),
    reserved("ansible_become", ReservedKind::Flag, "Act as another user."),
    reserved("ansible_become_user", ReservedKind::Text, "The user to become: root where nothing is said."),
    reserved("ansible_become_method", ReservedKind::Method, "How: sudo, su or doas."),
    reserved("ansible_become_password", ReservedKind::Text, "The password for it; keep it in a vault."),
    reserved("ansible_become_flags", ReservedKind::Text, "Flags of sudo, su or doas."),
    reserved("ansible_become_exe", ReservedKind::Text, "The program, where it has another path."),
    reserved(
        "ansible_group_priority",
        ReservedKind::Whole,
        "Of groups on one level the one with the higher number wins. Default 1.",
    ),
    reserved(
        "tunerun_state_dir",
        ReservedKind::Text,
        "The folder on the host that holds the ways back of runs. Default /var/lib/tunerun.",
    ),
    reserved(
        "ceph_via",
        ReservedKind::Text,
        "The hosts through which the cluster is asked. Default: the group `mons`.",
    ),
    reserved(
        "ceph_by",
        ReservedKind::Text,
        "By what commands of Ceph run: the host's own `ceph`, or the container of `cephadm`; else the first that there is.",
    ),
    reserved("ceph_conf", ReservedKind::Text, "The cluster's configuration file."),
    reserved("ceph_keyring", ReservedKind::Text, "The keyring of the client."),
    reserved("ceph_client", ReservedKind::Text, "The name of the client. Default client.admin."),
    reserved("ceph_timeout", ReservedKind::Whole, "Seconds that a command of Ceph may take."),
    reserved("ceph_fsid", ReservedKind::Text, "The fsid that the cluster must have."),
    reserved(
        "ceph_daemons",
        ReservedKind::Texts,
        "Which daemons of the machine are this host's, where several hosts of the inventory share it: [osd.0].",
    ),
    reserved(
        "guest_of",
        ReservedKind::Any,
        "The hypervisor of a guest that is a host of the inventory itself: HOST, or {host: HOST, domain: NAME}.",
    ),
];

#[cfg(test)]
mod tests {
    use super::RESERVED;

    /// Every variable that the connection asks for by its current name is explained.
    #[test]
    fn what_is_asked_for_is_explained() {
        let sources =
            [include_str!("../transport/endpoint/vars.rs"), include_str!("../transport/endpoint/resolve.rs")];
        // Older names of what is explained under the new one, and what means nothing here.
        let older = [
            "ansible_ssh_",
            "ansible_private_key_file",
            "ansible_pass",
            "ansible_shell_type",
            "ansible_paramiko",
        ];
        for source in sources {
            for word in source.split('"').filter(|word| word.starts_with("ansible_")) {
                let plain = word.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_');
                let known = RESERVED.iter().any(|reserved| reserved.name == word)
                    || older.iter().any(|older| word.starts_with(older));
                assert!(!plain || known, "`{word}` is explained nowhere");
            }
        }
    }
}
