//! `stat`: what a path is.
use super::mode::octal;
use super::{is_false, is_true, place, yes};
use crate::host::Host;
use crate::vocabulary::{Change, Facts, HostPath, Kind, Node, Read, Stop, TEXT_LIMIT};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// Looks at a path and changes nothing. The result's `stat` has Ansible's names, save what only the host's kernel
/// counts: `inode`, `dev`, `atime`, `ctime`. `checksum` is a SHA-256.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stat {
    /// The path.
    pub path: String,
    /// Whether a link is followed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub follow: bool,
    /// Whether the SHA-256 of a regular file is asked for. Without a word it is given up to 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub get_checksum: Option<bool>,
    /// The algorithm of the checksum: only `sha256`. Ansible's default is `sha1`.
    #[serde(default = "sha256")]
    pub checksum_algorithm: String,
    /// Accepted for Ansible's sake; the MIME type is never found out.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub get_mime: bool,
    /// Accepted for Ansible's sake; the attributes of `lsattr` are never found out.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub get_attributes: bool,
}

fn sha256() -> String {
    "sha256".to_owned()
}

impl Module for Stat {
    const NAME: &'static str = "stat";
    const EXAMPLE: &'static str = "\
- name: Is there a boot loader's environment block
  stat:
    path: /boot/grub/grubenv
  register: grubenv
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("dest", "path"),
        ("name", "path"),
        ("checksum", "checksum_algorithm"),
        ("checksum_algo", "checksum_algorithm"),
        ("mime", "get_mime"),
        ("mime_type", "get_mime"),
        ("mime-type", "get_mime"),
        ("attr", "get_attributes"),
        ("attributes", "get_attributes"),
    ];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        check_algorithm(&self.checksum_algorithm)?;
        let asked = place::path("path", &self.path)?;
        let path = if self.follow { follow(facts, &asked)? } else { asked.clone() };
        let Some(node) = facts.stat(&path)? else {
            return Ok(Change::nothing(json!({ "stat": { "exists": false } })));
        };
        let mut stat = described(&asked, &node, facts)?;
        if let Kind::Link { target } = &node.kind {
            let source = follow(facts, &path)?;
            stat.insert("lnk_source".to_owned(), source.as_str().into());
            stat.insert("lnk_target".to_owned(), target.as_str().into());
        }
        let wanted = self.get_checksum.unwrap_or(node.size <= TEXT_LIMIT);
        if wanted && node.kind == Kind::File && !path.is_virtual() {
            stat.extend(checksum(facts, &path)?.map(|digest| ("checksum".to_owned(), digest)));
        }
        Ok(Change::nothing(json!({ "stat": stat })))
    }

    fn samples() -> Vec<Sample> {
        samples()
    }
}

/// The SHA-256 of a file.
pub(super) fn checksum(facts: &Facts, path: &HostPath) -> Result<Option<Json>, Stop> {
    match facts.get(&Read::digest(path))? {
        crate::vocabulary::Seen::Node(node) => Ok(node.digest().map(|digest| digest.to_string().into())),
        // Whoever may see a file may not be allowed to read it: Ansible leaves the checksum out then.
        _ => Ok(None),
    }
}

/// Refuses every algorithm but SHA-256.
pub(super) fn check_algorithm(algorithm: &str) -> Result<(), Stop> {
    if algorithm == "sha256" {
        return Ok(());
    }
    Err(Stop::refused("checksum_algorithm", format!("`{algorithm}` is not supported"))
        .way_out("use `sha256`, or ask `md5sum` and its kin by a `command` with `changed_when: false`"))
}

/// Follows links by looks alone.
pub(super) fn follow(facts: &Facts, path: &HostPath) -> Result<HostPath, Stop> {
    let mut here = path.clone();
    for _ in 0..16 {
        let Some(Node { kind: Kind::Link { target }, .. }) = facts.stat(&here)? else { return Ok(here) };
        here = crate::vocabulary::link_target(&here, &target).map_err(Stop::failed)?;
    }
    Err(Stop::failed(format!("{path} is a circle of links")))
}

/// A node by Ansible's names.
pub(super) fn described(path: &HostPath, node: &Node, facts: &Facts) -> Result<Map<String, Json>, Stop> {
    let mut stat = Map::new();
    let mut put = |name: &str, value: Json| stat.insert(name.to_owned(), value);
    put("exists", true.into());
    put("path", path.as_str().into());
    put("mode", octal(node.mode).into());
    let kinds = [
        ("isdir", node.kind == Kind::Dir),
        ("ischr", node.kind == Kind::Char),
        ("isblk", node.kind == Kind::Block),
        ("isreg", node.kind == Kind::File),
        ("isfifo", node.kind == Kind::Fifo),
        ("islnk", matches!(node.kind, Kind::Link { .. })),
        ("issock", node.kind == Kind::Socket),
    ];
    for (name, is) in kinds {
        put(name, is.into());
    }
    // Of an owner that is planned by name alone the number is not known yet.
    for (name, number) in [("uid", node.uid), ("gid", node.gid)] {
        if number != u32::MAX {
            put(name, number.into());
        }
    }
    put("pw_name", node.user.as_str().into());
    put("gr_name", node.group.as_str().into());
    put("size", node.size.into());
    put("nlink", node.links.into());
    if let Some(modified) = node.modified {
        put("mtime", modified.into());
    }
    for (shift, class) in [(6, "usr"), (3, "grp"), (0, "oth")] {
        for (bit, letter) in [(4, 'r'), (2, 'w'), (1, 'x')] {
            put(&format!("{letter}{class}"), (node.mode >> shift & bit != 0).into());
        }
    }
    put("isuid", (node.mode & 0o4000 != 0).into());
    put("isgid", (node.mode & 0o2000 != 0).into());
    let who = facts.who();
    let shift = match (node.uid == who.uid, node.gid == who.gid) {
        (true, _) => 6,
        (false, true) => 3,
        _ => 0,
    };
    let root = who.uid == 0;
    let may = |bit: u32| node.mode >> shift & bit != 0;
    put("readable", (root || may(4)).into());
    put("writeable", (root || may(2)).into());
    put("executable", (may(1) || root && (node.mode & 0o111 != 0 || node.kind == Kind::Dir)).into());
    Ok(stat)
}

fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    vec![
        sample("nothing is there", json!({ "path": "/etc/none" }), Host::new().dir("/etc")),
        sample("a file", json!({ "path": "/etc/a b" }), Host::new().file_mode("/etc/a b", "x", 0o4755)),
        sample(
            "a dangling link, followed",
            json!({ "path": "/etc/l", "follow": true }),
            Host::new().link("/etc/l", "../gone"),
        ),
        sample(
            "a link, not followed",
            json!({ "path": "/etc/l" }),
            Host::new().link("/etc/l", "a").file("/etc/a", "x"),
        ),
        sample(
            "no right to look",
            json!({ "path": "/etc/a" }),
            Host::new().file("/etc/a", "x").deny("/etc/a"),
        ),
    ]
}
