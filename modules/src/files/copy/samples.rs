//! Hosts on which the contract suite tries `copy`.
use super::super::blockinfile::mounted;
use crate::Sample;
use crate::host::Host;
use serde_json::json;

#[expect(clippy::too_many_lines, reason = "a table of trials")]
pub(super) fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    vec![
        sample(
            "a new file with hostile bytes",
            json!({ "dest": "/etc/a 'b'", "content": { "base64": "/wAKJyIkKHgpYA==" }, "mode": "u=rw,g=r,o=" }),
            Host::new().dir("/etc"),
        ),
        sample(
            "a folder gets a file of the source's name",
            json!({ "dest": "/etc/d", "source": "ünï.conf", "content": "x\n", "owner": "ceph", "group": 64045 }),
            Host::new().file("/etc/d/ünï.conf", "old\n"),
        ),
        sample(
            "a path with a slash at its end gets its folders",
            json!({ "dest": "/etc/x/y/", "source": "a", "content": "x", "directory_mode": "0700" }),
            Host::new().dir("/etc"),
        ),
        sample(
            "a missing folder is a refusal",
            json!({ "dest": "/etc/x/y", "content": "x" }),
            Host::new().dir("/etc"),
        ),
        sample(
            "a file that is there stays without force",
            json!({ "dest": "/etc/a", "content": "x", "force": false }),
            Host::new().file("/etc/a", "old"),
        ),
        sample(
            "a link becomes a file",
            json!({ "dest": "/etc/l", "content": "x" }),
            Host::new().link("/etc/l", "a").file("/etc/a", "old"),
        ),
        sample(
            "a link is followed, also where it dangles",
            json!({ "dest": "/etc/l", "content": "x", "follow": true }),
            Host::new().link("/etc/l", "gone"),
        ),
        sample(
            "a mount point, with a backup and a command that judges",
            json!({ "dest": "/etc/resolv.conf", "content": "nameserver 192.0.2.1\n", "backup": true,
                    "validate": "grep -q nameserver %s" }),
            mounted(Host::new().file_mode("/etc/resolv.conf", "old\n", 0o600), "/etc/resolv.conf"),
        ),
        sample(
            "a file of the host with its mode",
            json!({ "dest": "/etc/b", "src": "/srv/a", "remote_src": true, "mode": "preserve" }),
            Host::new().file_mode("/srv/a", "x", 0o640).file("/etc/b", "y"),
        ),
        sample(
            "a tree",
            json!({ "dest": "/etc/t", "src": "t/", "mode": "preserve", "tree": [
                { "path": "a", "folder": true }, { "path": "a/b c", "content": "1\n", "mode": 0o640 },
                { "path": "d/e", "content": "2\n" }, { "path": "l", "link": "a/b c" } ] }),
            Host::new().file("/etc/t/d/e", "old"),
        ),
        sample(
            "an unreadable file is not a missing one",
            json!({ "dest": "/etc/a", "content": "x" }),
            Host::new().file("/etc/a", "old").deny("/etc/a"),
        ),
        sample(
            "a wrong checksum is refused",
            json!({ "dest": "/etc/a", "content": "x", "checksum": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" }),
            Host::new().dir("/etc"),
        ),
    ]
}
