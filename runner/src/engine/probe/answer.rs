//! The answers to a round of reads, taken from the sections of a script.
use super::script::Reads;
use crate::transport::shell::{Answer, Captured, Section};
use modules::vocabulary::{
    Body, Bytes, Digest, HostPath, Identity, Kind, Node, Output, Read, Seen, TEXT_LIMIT, Want,
};
use std::collections::BTreeMap;

/// Linux's file types in `st_mode`.
const TYPES: [(u32, Kind); 6] = [
    (0o100_000, Kind::File),
    (0o040_000, Kind::Dir),
    (0o060_000, Kind::Block),
    (0o020_000, Kind::Char),
    (0o010_000, Kind::Fifo),
    (0o140_000, Kind::Socket),
];

/// What came of a round.
#[derive(Debug, Default)]
pub struct Round {
    /// The answers.
    pub seen: BTreeMap<Read, Seen>,
    /// Files that changed while they were read, to be read again.
    pub again: Vec<Read>,
}

impl Reads {
    /// Takes the answers of this round.
    ///
    /// # Errors
    /// Says which part of the answer is not as the script makes it: the host's tools are not what is expected.
    pub fn answers(&self, prefix: &str, answer: &Answer) -> Result<Round, String> {
        let mut round = Round::default();
        if !self.nodes.is_empty() {
            self.nodes_answers(prefix, answer, &mut round)?;
        }
        if !self.values.is_empty() {
            self.values_answers(prefix, answer, &mut round)?;
        }
        for (index, pattern) in self.globs.iter().enumerate() {
            let section = section(answer, &format!("{prefix}g.{index}"))?;
            let seen = if section.rc == Some(13) { Seen::Denied } else { names(&whole(&section.stdout)?) };
            round.seen.insert(Read::Glob(pattern.clone()), seen);
        }
        for (index, row) in self.asks.iter().enumerate() {
            let section = section(answer, &format!("{prefix}a.{index}"))?;
            round.seen.insert(Read::Ask(row.clone()), Seen::Output(output(section)));
        }
        Ok(round)
    }

    fn nodes_answers(&self, prefix: &str, answer: &Answer, round: &mut Round) -> Result<(), String> {
        let classes = whole(&section(answer, &format!("{prefix}k"))?.stdout)?;
        if classes.len() != self.nodes.len() {
            return Err(format!("{} nodes were asked for and {} classed", self.nodes.len(), classes.len()));
        }
        let stats = section(answer, &format!("{prefix}st"))?;
        let stat_text = whole(&stats.stdout)?;
        let mut rest = &stat_text[..];
        let mut nodes: Vec<Option<Node>> = Vec::with_capacity(self.nodes.len());
        for ((path, _), class) in self.nodes.iter().zip(&classes) {
            let record = if b"LFDOR".contains(class) { record(rest, path) } else { None };
            let Some((node, after)) = record else {
                nodes.push(None);
                continue;
            };
            rest = after;
            nodes.push(Some(node));
        }
        self.links(prefix, answer, &mut nodes);
        let mut contents = Contents::new(self, prefix, answer, &classes, &nodes)?;
        for (index, ((path, want), class)) in self.nodes.iter().zip(&classes).enumerate() {
            let read = match want {
                Some(want) => Read::File { path: path.clone(), want: *want },
                None => Read::Stat(path.clone()),
            };
            let seen = match (class, nodes[index].take()) {
                (b'A', _) => Seen::Absent,
                (b'X', _) => Seen::Denied,
                (b'R', Some(_)) if want.is_some() => Seen::Denied,
                (b'F', Some(node)) if want.is_some() => match contents.bodies.remove(&index) {
                    Some(body) => Seen::Node(Node { body: Some(body), ..node }),
                    // Too large for its text: its digest is what is known of it.
                    None if node.size > TEXT_LIMIT => {
                        round.again.push(Read::digest(path));
                        continue;
                    }
                    None => {
                        round.again.push(read);
                        continue;
                    }
                },
                (_, Some(node)) => Seen::Node(node),
                // It was there for the shell and gone for stat, or the other way round.
                (_, None) => {
                    round.again.push(read);
                    continue;
                }
            };
            round.seen.insert(read, seen);
        }
        Ok(())
    }

    fn links(&self, prefix: &str, answer: &Answer, nodes: &mut [Option<Node>]) {
        for (index, node) in nodes.iter_mut().enumerate() {
            let Some(section) = answer.section(&format!("{prefix}rl.{index}")) else { continue };
            if let (Some(node), Some(0)) = (node.as_mut(), section.rc) {
                node.kind = Kind::Link { target: section.stdout.text() };
            }
        }
    }

    fn values_answers(&self, prefix: &str, answer: &Answer, round: &mut Round) -> Result<(), String> {
        let classes = whole(&section(answer, &format!("{prefix}vk"))?.stdout)?;
        let section = section(answer, &format!("{prefix}v"))?;
        let text = String::from_utf8_lossy(&whole(&section.stdout)?).into_owned();
        let errors = section.stderr.text();
        let mut lines = text.split_inclusive('\n').peekable();
        for (path, class) in self.values.iter().zip(&classes) {
            let head = format!("{path}:");
            let mut value: Option<String> = None;
            while let Some(line) = lines.next_if(|line| line.starts_with(&head)) {
                value.get_or_insert_default().push_str(&line[head.len()..]);
            }
            let failed = errors.lines().find_map(|line| {
                let (_, why) = line.split_once(&format!("{path}: "))?;
                Some(why.to_owned())
            });
            let seen = match (class, value, failed) {
                (b'A', ..) => Seen::Absent,
                (b'X' | b'R', ..) => Seen::Denied,
                (b'F' | b'L', Some(value), _) => Seen::Value(value.trim_end_matches('\n').to_owned()),
                (_, None, Some(why)) if why.contains("Permission denied") => Seen::Denied,
                (_, None, Some(why)) => Seen::Failed(why),
                (b'F' | b'L', None, None) => Seen::Value(String::new()),
                _ => Seen::Failed("it is not a value but a folder or a device".to_owned()),
            };
            round.seen.insert(Read::text(path), seen);
        }
        Ok(())
    }
}

/// The contents of files, cut out of what one `head` printed for all, and digests.
struct Contents {
    bodies: BTreeMap<usize, Body>,
}

impl Contents {
    fn new(
        reads: &Reads,
        prefix: &str,
        answer: &Answer,
        classes: &[u8],
        nodes: &[Option<Node>],
    ) -> Result<Self, String> {
        let mut bodies = BTreeMap::new();
        let of = |wanted: Want| {
            reads
                .nodes
                .iter()
                .enumerate()
                .filter(move |(index, (_, want))| *want == Some(wanted) && classes[*index] == b'F')
        };
        if let Some(section) = answer.section(&format!("{prefix}c")) {
            let all = whole(&section.stdout)?;
            let size =
                |index: usize| nodes[index].as_ref().map_or(0, |node| node.size.min(TEXT_LIMIT + 1)) as usize;
            // One that grew or shrank since shifts all that follow: then none of the cuts is trusted.
            if of(Want::Text).map(|(index, _)| size(index)).sum::<usize>() == all.len() {
                let mut at = 0;
                for (index, _) in of(Want::Text) {
                    let bytes = &all[at..at + size(index)];
                    at += size(index);
                    let large = bytes.len() as u64 > TEXT_LIMIT;
                    if !large {
                        bodies.insert(index, Body::Bytes(Bytes::from(bytes)));
                    }
                }
            }
        }
        if let Some(section) = answer.section(&format!("{prefix}dg")) {
            let text = String::from_utf8_lossy(&whole(&section.stdout)?).into_owned();
            let digests: Vec<Digest> = text
                .lines()
                .filter_map(|line| Digest::parse(line.trim_start_matches('\\').get(..64)?).ok())
                .collect();
            if digests.len() == of(Want::Digest).count() {
                bodies.extend(
                    of(Want::Digest).zip(digests).map(|((index, _), digest)| (index, Body::Digest(digest))),
                );
            }
        }
        Ok(Self { bodies })
    }
}

/// One record of `stat`, and what follows it; none where the next record is of another path.
fn record<'a>(text: &'a [u8], path: &HostPath) -> Option<(Node, &'a [u8])> {
    let tail = [b"|", path.as_str().as_bytes(), b"\n"].concat();
    let end = text.windows(tail.len()).position(|window| window == tail)?;
    let head = std::str::from_utf8(&text[..end]).ok()?;
    let fields: Vec<&str> = head.splitn(9, '|').collect();
    let [mode, uid, gid, links, size, modified, user, group, mount] = fields.as_slice() else { return None };
    // A record that begins on a later line belongs to another node.
    if mount.contains('\n') || mode.contains('\n') {
        return None;
    }
    let mode = u32::from_str_radix(mode, 16).ok()?;
    let kind = TYPES.iter().find(|(bits, _)| mode & 0o170_000 == *bits).map(|(_, kind)| kind.clone());
    let node = Node {
        kind: kind.unwrap_or(Kind::Link { target: String::new() }),
        mode: mode & 0o7777,
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        user: name_or_number(user, uid),
        group: name_or_number(group, gid),
        links: links.parse().ok()?,
        size: size.parse().ok()?,
        modified: modified.parse().ok(),
        mount_point: *mount == path.as_str(),
        body: None,
    };
    Some((node, &text[end + tail.len()..]))
}

fn name_or_number(name: &str, number: &str) -> String {
    if name == "UNKNOWN" || name.is_empty() { number.to_owned() } else { name.to_owned() }
}

fn names(bytes: &[u8]) -> Seen {
    let mut names = Vec::new();
    for name in bytes.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        match std::str::from_utf8(name).map_err(|why| why.to_string()).and_then(HostPath::new) {
            Ok(path) => names.push(path),
            Err(why) => return Seen::Failed(format!("a name cannot be used: {why}")),
        }
    }
    names.sort();
    Seen::Names(names)
}

pub(crate) fn output(section: &Section) -> Output {
    Output {
        status: section.rc.unwrap_or(-1),
        stdout: Bytes::from(section.stdout.bytes()),
        stderr: Bytes::from(section.stderr.bytes()),
    }
}

fn section<'a>(answer: &'a Answer, tag: &str) -> Result<&'a Section, String> {
    answer.section(tag).ok_or_else(|| format!("the host's answer has no part `{tag}`"))
}

fn whole(captured: &Captured) -> Result<Vec<u8>, String> {
    captured.complete().ok_or_else(|| "the host's answer is longer than it may be".to_owned())
}

/// Who acts, from the record of `/proc/self/`.
pub(crate) fn identity(text: &str) -> Option<Identity> {
    let fields: Vec<&str> = text.trim_end().split('|').collect();
    let [uid, gid, user, group] = fields.as_slice() else { return None };
    Some(Identity {
        user: name_or_number(user, uid),
        uid: uid.parse().ok()?,
        group: name_or_number(group, gid),
        gid: gid.parse().ok()?,
    })
}
