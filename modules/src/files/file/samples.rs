//! Hosts on which the contract suite tries `file`.
use super::super::blockinfile::mounted;
use crate::Sample;
use crate::host::Host;
use serde_json::json;

#[expect(clippy::too_many_lines, reason = "a table of trials")]
pub(super) fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    let tree = || {
        Host::new()
            .file_mode("/srv/t/a b", "1", 0o755)
            .file("/srv/t/d/ünï'\"", "2")
            .link("/srv/t/l", "/etc/shadow")
            .file("/etc/shadow", "x")
    };
    vec![
        sample(
            "folders are made with their mode",
            json!({ "path": "/srv/a/b/c", "state": "directory", "mode": "0750", "owner": "ceph", "group": "167" }),
            Host::new().dir("/srv"),
        ),
        sample(
            "all that is in a folder gets mode and owner",
            json!({ "path": "/srv/t", "state": "directory", "recurse": true, "mode": "u=rwX,go=", "owner": 167 }),
            tree(),
        ),
        sample(
            "a file where a folder should be",
            json!({ "path": "/srv/t", "state": "directory" }),
            Host::new().file("/srv/t", "x"),
        ),
        sample("a file goes", json!({ "path": "/srv/t/a b", "state": "absent" }), tree()),
        sample("a tree goes", json!({ "path": "/srv/t", "state": "absent" }), tree()),
        sample("a link goes, not its target", json!({ "path": "/srv/t/l", "state": "absent" }), tree()),
        sample("nothing goes", json!({ "path": "/srv/none", "state": "absent" }), tree()),
        sample(
            "a mount point does not go",
            json!({ "path": "/srv/t", "state": "absent" }),
            mounted(tree(), "/srv/t"),
        ),
        sample(
            "an empty file is made",
            json!({ "path": "/srv/new", "state": "touch", "mode": 0o600 }),
            tree(),
        ),
        sample("a file that is there stays", json!({ "path": "/srv/t/a b", "state": "touch" }), tree()),
        sample(
            "a file gets its mode",
            json!({ "path": "/srv/t/a b", "mode": "o-rx", "group": "adm" }),
            tree(),
        ),
        sample("a missing file is refused", json!({ "path": "/srv/none", "state": "file" }), tree()),
        sample(
            "a link is made",
            json!({ "path": "/srv/new", "src": "t/a b", "state": "link", "mode": "0600" }),
            tree(),
        ),
        sample("a link leads elsewhere", json!({ "path": "/srv/t/l", "src": "d", "state": "link" }), tree()),
        sample(
            "a link to nothing is refused",
            json!({ "path": "/srv/n", "src": "no", "state": "link" }),
            tree(),
        ),
        sample(
            "a link takes the place of a file",
            json!({ "path": "/srv/t/a b", "src": "/no where", "state": "link", "force": true }),
            tree(),
        ),
        sample(
            "a hard link is refused",
            json!({ "path": "/srv/h", "src": "/srv/t", "state": "hard" }),
            tree(),
        ),
        sample(
            "an unreadable file is not a missing one",
            json!({ "path": "/srv/t/a b", "state": "touch" }),
            tree().deny("/srv/t/a b"),
        ),
    ]
}
