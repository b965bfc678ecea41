//! What a planned step makes of a read: untouched, exactly known, or late.
use super::facts::Identity;
use super::image::{Content, Image, Meta, Owner};
use super::path::HostPath;
use super::read::Read;
use super::row::Row;
use super::seen::{Body, Kind, Node, Output, Seen};
use super::step::{Act, Match, Spoil, Step};
use crate::programs;

/// The permission bits of a new file that nobody said a mode for: the host's shell runs with umask 022.
const NEW_FILE: u32 = 0o644;
/// The same for a folder.
const NEW_DIR: u32 = 0o755;
/// Where programs are installed.
const PROGRAMS: &str = "/usr";
/// The status of a program that is not there.
const NOT_FOUND: i32 = 127;

/// A function from what would be seen before the step to what is seen after it; none where that is late.
pub(super) type Changes<'a> = Box<dyn FnOnce(Seen) -> Option<Seen> + 'a>;

/// The knob that the kernel sets to 0 when this one is written.
pub(crate) fn coupled(path: &HostPath) -> Option<&'static str> {
    COUPLED.iter().find_map(|(one, two)| match path.as_str() {
        path if path == *one => Some(*two),
        path if path == *two => Some(*one),
        _ => None,
    })
}

/// Pairs of which the kernel keeps one: the other becomes 0.
const COUPLED: &[(&str, &str)] = &[
    ("/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"),
    ("/proc/sys/vm/dirty_background_bytes", "/proc/sys/vm/dirty_background_ratio"),
];

/// What a step makes of a read.
pub(super) enum Touch<'a> {
    /// Nothing.
    No,
    /// This, whatever was there.
    Exactly(Seen),
    /// This, made from what was there.
    Changes(Changes<'a>),
    /// Something that nobody can say yet.
    Late,
}

/// Whether an act may change the answer to a read. Total: every pair has an answer.
pub fn touches(act: &Act, read: &Read) -> bool {
    match act {
        Act::Put { path, image, .. } => put_touches(path, image, read),
        Act::Write { path, .. } => match read {
            Read::File { path: at, .. } | Read::Stat(at) => at == path || coupled(path) == Some(at.as_str()),
            Read::Glob(_) | Read::Rpc { .. } => false,
            Read::Ask(row) => programs::reads_path(&row.name, path),
        },
        Act::Call { spoils, .. } => spoils.iter().any(|spoil| spoils_read(spoil, read)),
        Act::Rpc { socket, method, params } => match read {
            Read::Rpc { socket: asked, row } => {
                asked == socket && programs::rpc::touches(method, params, row)
            }
            _ => false,
        },
    }
}

/// Whether an act may change an answer that was seen: as [`touches`], and by bringing a program that was not found.
pub fn outdates(act: &Act, read: &Read, seen: &Seen) -> bool {
    touches(act, read) || (lacks_program(read, seen) && brings_programs(act))
}

/// Whether an answer says that its program is not there.
pub(super) fn lacks_program(read: &Read, seen: &Seen) -> bool {
    matches!((read, seen), (Read::Ask(_), Seen::Output(output)) if output.status == NOT_FOUND)
}

/// Whether programs may come by an act, such as those of a package.
pub(super) fn brings_programs(act: &Act) -> bool {
    let brings = |spoil: &Spoil| matches!(spoil, Spoil::Missing(folder) if folder.as_str() == PROGRAMS);
    matches!(act, Act::Call { spoils, .. } if spoils.iter().any(brings))
}

fn put_touches(path: &HostPath, image: &Image, read: &Read) -> bool {
    let whole_tree = matches!(image, Image::Absent | Image::Aside);
    match read {
        Read::File { path: at, .. } | Read::Stat(at) => at == path || (whole_tree && at.is_within(path)),
        Read::Glob(pattern) => glob_matches(pattern, path) || (whole_tree && glob_below(pattern, path)),
        Read::Ask(row) => {
            programs::reads_path(&row.name, path)
                || listed_folder(row).is_some_and(|folder| path.is_within(&folder) || folder.is_within(path))
        }
        // A socket that is taken away is served by nobody any more.
        Read::Rpc { socket, .. } => socket == path || (whole_tree && socket.is_within(path)),
    }
}

/// The folder whose names below a row lists, each ended by NUL: `find FOLDER -print0`.
pub(crate) fn listed_folder(row: &Row) -> Option<HostPath> {
    match row.args.as_slice() {
        [folder, print] if row.name == "find" && print == "-print0" => HostPath::new(folder).ok(),
        _ => None,
    }
}

/// What [`listed_folder`] lists after a put. Late where a tree comes back, or where nothing could be listed.
fn listing_after(before: Seen, folder: &HostPath, path: &HostPath, image: &Image) -> Option<Seen> {
    let Seen::Output(output) = before else { return Some(before) };
    let there = output.status == 0;
    let text = output.stdout.text()?;
    let mut names: Vec<&str> = text.split('\0').filter(|name| !name.is_empty()).collect();
    if *image == Image::Absent {
        names.retain(|name| !HostPath::new(name).is_ok_and(|name| name.is_within(path)));
        if folder.is_within(path) {
            return None;
        }
    } else if !there {
        return None;
    } else if !names.contains(&path.as_str()) && path.is_within(folder) {
        names.push(path.as_str());
        names.sort_unstable();
    }
    let stdout: String = names.iter().flat_map(|name| [name, "\0"]).collect();
    Some(Seen::Output(Output { stdout: stdout.into(), ..output }))
}

/// Whether a spoil makes a read unknown.
pub(crate) fn spoils_read(spoil: &Spoil, read: &Read) -> bool {
    match spoil {
        Spoil::All => true,
        Spoil::Becomes(spoiled, _) => spoiled == read,
        Spoil::Read(spoiled) => match (spoiled.path(), read.path()) {
            (Some(one), Some(two)) => one == two,
            _ => spoiled == read,
        },
        Spoil::Below(folder) => match read {
            Read::File { path, .. } | Read::Stat(path) => path.is_within(folder),
            Read::Glob(pattern) => glob_below(pattern, folder) || glob_matches(pattern, folder),
            Read::Ask(row) => programs::reads_path(&row.name, folder),
            Read::Rpc { socket, .. } => socket.is_within(folder),
        },
        Spoil::Missing(folder) => match read {
            Read::File { path, .. } | Read::Stat(path) => {
                path.is_within(folder) && !path.name().contains("tunerun")
            }
            Read::Glob(_) | Read::Ask(_) | Read::Rpc { .. } => false,
        },
        Spoil::Rpc => matches!(read, Read::Rpc { .. }),
        Spoil::Answers(name) => matches!(read, Read::Ask(row) if row.name == *name),
        Spoil::Volatile => match read {
            Read::File { path, .. } | Read::Stat(path) => path.is_virtual(),
            Read::Glob(pattern) => pattern.starts_with("/sys/") || pattern.starts_with("/proc/"),
            Read::Ask(row) => programs::is_volatile(&row.name),
            Read::Rpc { .. } => true,
        },
    }
}

/// What a step makes of a read.
pub(super) fn touch<'a>(step: &'a Step, read: &'a Read, who: &'a Identity) -> Touch<'a> {
    if !touches(&step.act, read) {
        return Touch::No;
    }
    match (&step.act, read) {
        (Act::Put { image: Image::Aside, .. }, _) => Touch::Late,
        (Act::Put { path, image, .. }, Read::File { path: at, .. } | Read::Stat(at)) => {
            if at != path {
                // Below a tree that goes away.
                return Touch::Exactly(Seen::Absent);
            }
            put_on_node(image, who)
        }
        (Act::Put { path, image, .. }, Read::Glob(pattern)) => {
            Touch::Changes(Box::new(move |before| names_after(before, pattern, path, image)))
        }
        (Act::Put { path, image, .. }, Read::Ask(row)) => match listed_folder(row) {
            Some(folder) => {
                Touch::Changes(Box::new(move |before| listing_after(before, &folder, path, image)))
            }
            None => Touch::Late,
        },
        (Act::Put { .. }, Read::Rpc { .. }) => Touch::Late,
        (Act::Write { path, .. }, Read::File { path: at, .. }) if path != at => {
            Touch::Exactly(Seen::Value("0".to_owned()))
        }
        (Act::Write { value, .. }, Read::File { .. }) => match &step.after {
            Match::Alike { .. } => Touch::Exactly(Seen::Value(value.clone())),
            Match::Exactly(seen) => Touch::Exactly(seen.clone()),
            _ => Touch::Late,
        },
        (Act::Call { spoils, .. }, _) if becomes(spoils, read).is_some() => {
            becomes(spoils, read).map_or(Touch::Late, |seen| Touch::Exactly(seen.clone()))
        }
        (_, _) if step.look.as_ref() == Some(read) => match &step.after {
            Match::Exactly(seen) => Touch::Exactly(seen.clone()),
            Match::Xml { text, .. } => Touch::Exactly(Seen::Output(Output::ok(text))),
            _ => Touch::Late,
        },
        (Act::Call { spoils, .. }, _)
            if spoils.iter().all(|spoil| matches!(spoil, Spoil::Missing(_)) || !spoils_read(spoil, read)) =>
        {
            Touch::Changes(Box::new(|before| (before != Seen::Absent).then_some(before)))
        }
        _ => Touch::Late,
    }
}

/// What a call is known to leave of a read.
fn becomes<'a>(spoils: &'a [Spoil], read: &Read) -> Option<&'a Seen> {
    spoils.iter().find_map(|spoil| match spoil {
        Spoil::Becomes(spoiled, seen) if spoiled == read => Some(seen),
        _ => None,
    })
}

fn put_on_node<'a>(image: &'a Image, who: &'a Identity) -> Touch<'a> {
    match image {
        Image::Absent => Touch::Exactly(Seen::Absent),
        Image::Aside => Touch::Late,
        Image::Link { target } => {
            let mut node = new_node(Kind::Link { target: target.clone() }, 0o777, who);
            node.size = target.len() as u64;
            Touch::Exactly(Seen::Node(node))
        }
        Image::Dir { meta } => Touch::Changes(Box::new(move |before| {
            let node = match before {
                Seen::Node(node) if node.kind == Kind::Dir => node,
                _ => new_node(Kind::Dir, NEW_DIR, who),
            };
            Some(Seen::Node(with_meta(node, meta)))
        })),
        Image::File { content, meta } => Touch::Changes(Box::new(move |before| {
            let mut node = match before {
                Seen::Node(node) if node.kind == Kind::File => node,
                _ => new_node(Kind::File, NEW_FILE, who),
            };
            match content {
                Content::Same => {}
                Content::Kept(digest) => node.body = Some(Body::Digest(*digest)),
                Content::Bytes(bytes) => {
                    node.size = bytes.as_slice().len() as u64;
                    node.body = Some(Body::Bytes(bytes.clone()));
                }
            }
            node.modified = None;
            Some(Seen::Node(with_meta(node, meta)))
        })),
    }
}

fn new_node(kind: Kind, mode: u32, who: &Identity) -> Node {
    Node {
        kind,
        mode,
        uid: who.uid,
        gid: who.gid,
        user: who.user.clone(),
        group: who.group.clone(),
        links: 1,
        size: 0,
        modified: None,
        mount_point: false,
        body: None,
    }
}

/// A name's number is not known here: the comparison is by name then, and the number stands for "not known".
fn with_meta(mut node: Node, meta: &Meta) -> Node {
    if let Some(mode) = meta.mode {
        node.mode = mode;
    }
    set_owner(&mut node.uid, &mut node.user, meta.owner.as_ref());
    set_owner(&mut node.gid, &mut node.group, meta.group.as_ref());
    node
}

fn set_owner(id: &mut u32, name: &mut String, owner: Option<&Owner>) {
    match owner {
        None => {}
        Some(owner) if owner.is(*id, name) => {}
        Some(Owner::Id(wanted)) => {
            *id = *wanted;
            *name = if *wanted == 0 { "root".to_owned() } else { wanted.to_string() };
        }
        Some(Owner::Name(wanted)) => {
            *id = if wanted == "root" { 0 } else { u32::MAX };
            *name = wanted.clone();
        }
    }
}

fn names_after(before: Seen, pattern: &str, path: &HostPath, image: &Image) -> Option<Seen> {
    let mut names = match before {
        Seen::Names(names) => names,
        Seen::Absent => Vec::new(),
        other => return Some(other),
    };
    if *image == Image::Absent {
        names.retain(|name| !name.is_within(path));
    } else if glob_matches(pattern, path) && !names.contains(path) {
        names.push(path.clone());
        names.sort();
    }
    Some(Seen::Names(names))
}

/// Whether a pattern may match something below a path.
fn glob_below(pattern: &str, path: &HostPath) -> bool {
    let depth = path.as_str().split('/').count();
    let parts: Vec<&str> = pattern.split('/').collect();
    parts.len() > depth
        && parts.iter().zip(path.as_str().split('/')).all(|(pattern, part)| part_matches(pattern, part))
}

/// Whether a pattern of `*`, `?` and `[…]` matches a path, part by part, as the shell does: a leading dot is
/// matched only by a dot.
pub fn glob_matches(pattern: &str, path: &HostPath) -> bool {
    let patterns: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let parts: Vec<&str> = path.as_str().split('/').filter(|part| !part.is_empty()).collect();
    patterns.len() == parts.len()
        && patterns.iter().zip(parts).all(|(pattern, part)| part_matches(pattern, part))
}

fn part_matches(pattern: &str, part: &str) -> bool {
    if part.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let part: Vec<char> = part.chars().collect();
    matches_from(&pattern, &part)
}

fn matches_from(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|skip| matches_from(rest, &text[skip..])),
        Some(('?', rest)) => !text.is_empty() && matches_from(rest, &text[1..]),
        Some(('[', rest)) => match (class(rest), text.split_first()) {
            (Some((allowed, after)), Some((first, tail))) => allowed(*first) && matches_from(after, tail),
            (None, Some(('[', tail))) => matches_from(rest, tail),
            _ => false,
        },
        Some((wanted, rest)) => text.first() == Some(wanted) && matches_from(rest, &text[1..]),
    }
}

type Allowed<'a> = Box<dyn Fn(char) -> bool + 'a>;

/// A bracket expression after its `[`: what it allows, and the pattern behind its `]`.
fn class(pattern: &[char]) -> Option<(Allowed<'_>, &[char])> {
    let (negated, body) = match pattern.first() {
        Some('!' | '^') => (true, &pattern[1..]),
        _ => (false, pattern),
    };
    let end = body.iter().skip(1).position(|letter| *letter == ']')? + 1;
    let members = &body[..end];
    let allowed = move |letter: char| {
        let mut index = 0;
        let mut found = false;
        while index < members.len() {
            if index + 2 < members.len() && members[index + 1] == '-' {
                found |= (members[index]..=members[index + 2]).contains(&letter);
                index += 3;
            } else {
                found |= members[index] == letter;
                index += 1;
            }
        }
        found != negated
    };
    Some((Box::new(allowed), &body[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::{HostPath, glob_below, glob_matches};

    #[test]
    fn patterns_match_as_in_the_shell() {
        for (pattern, path, wanted) in [
            ("/etc/sysctl.d/*.conf", "/etc/sysctl.d/90-a.conf", true),
            ("/etc/sysctl.d/*.conf", "/etc/sysctl.d/.hidden.conf", false),
            ("/etc/sysctl.d/*.conf", "/etc/sysctl.d/a/b.conf", false),
            ("/sys/class/net/*/queues/rx-[0-9]*/rps_cpus", "/sys/class/net/eth0/queues/rx-12/rps_cpus", true),
            ("/dev/sd[!a]", "/dev/sda", false),
            ("/dev/sd[!a]", "/dev/sdb", true),
            ("/dev/sd?", "/dev/sd", false),
        ] {
            assert_eq!(glob_matches(pattern, &HostPath::new(path).unwrap()), wanted, "{pattern} {path}");
        }
        assert!(glob_below("/etc/sysctl.d/*.conf", &HostPath::new("/etc").unwrap()));
        assert!(!glob_below("/etc/sysctl.d/*.conf", &HostPath::new("/var").unwrap()));
    }
}
