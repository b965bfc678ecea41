//! `find`: which files are below folders.
use super::stat::{check_algorithm, checksum, described};
use super::{is_false, place};
use crate::host::Host;
use crate::regex::{Flags, Pattern, widen};
use crate::vocabulary::{Change, Facts, HostPath, Kind, Node, Read, Row, Seen, Stop, glob_matches};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Lists what is below folders and changes nothing. Each of `files` has the names of the module `stat`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// The folders to look below.
    pub paths: Vec<String>,
    /// Patterns of the shell, of which one must match the name, or regular expressions with `use_regex`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// Patterns of which none may match the name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excludes: Vec<String>,
    /// Whether `patterns` and `excludes` are regular expressions of Python, which match from the name's start.
    #[serde(default, skip_serializing_if = "is_false")]
    pub use_regex: bool,
    /// What is looked for.
    #[serde(default)]
    pub file_type: FileType,
    /// Whether folders in folders are looked through.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recurse: bool,
    /// How deep, with `recurse`: 1 is the folder itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Whether names that begin with a dot are looked at.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// A regular expression of Python that some line of the file must match from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// The least size: `10m`, or with a minus the most size: `-1k`. Units are b, k, m, g, t.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Whether each file's SHA-256 is given.
    #[serde(default, skip_serializing_if = "is_false")]
    pub get_checksum: bool,
    /// The algorithm of the checksum: only `sha256`. Ansible's default is `sha1`.
    #[serde(default = "sha256")]
    pub checksum_algorithm: String,
    /// Refused: what is found must not depend on the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<Json>,
    /// Refused where true: a link may lead out of the folder.
    #[serde(default, skip_serializing_if = "is_false")]
    pub follow: bool,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// Regular files.
    #[default]
    File,
    /// Folders.
    Directory,
    /// Symbolic links.
    Link,
    /// Everything.
    Any,
}

fn sha256() -> String {
    "sha256".to_owned()
}

impl Module for Find {
    const NAME: &'static str = "find";
    const EXAMPLE: &'static str = "\
- name: Which drop-ins are there for OSDs
  find:
    paths: [/etc/systemd/system/ceph-osd@.service.d]
    patterns: ['*.conf']
  register: drop_ins
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("path", "paths"),
        ("name", "paths"),
        ("pattern", "patterns"),
        ("exclude", "excludes"),
        ("checksum_algo", "checksum_algorithm"),
        ("checksum", "checksum_algorithm"),
    ];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        check_algorithm(&self.checksum_algorithm)?;
        if self.age.is_some() {
            return Err(Stop::refused("age", "what is found must not depend on the clock")
                .way_out("use a `command` with `find -mtime` and `changed_when: false`"));
        }
        if self.follow {
            return Err(Stop::refused("follow", "links are not followed: they may lead out of the folder"));
        }
        let filter = Filter::new(self)?;
        let mut folders = Vec::new();
        for text in &self.paths {
            folders.push(place::path("paths", text)?);
        }
        let rows: Vec<Read> = folders.iter().map(|folder| Read::Ask(listing(folder))).collect();
        let stats: Vec<Read> = folders.iter().cloned().map(Read::Stat).collect();
        facts.need(stats.iter().chain(&rows))?;
        let (mut names, mut skipped, mut examined) = (Vec::new(), serde_json::Map::new(), 0);
        for folder in &folders {
            if facts.stat(folder)?.is_none_or(|node| node.kind != Kind::Dir) {
                skipped.insert(folder.to_string(), format!("'{folder}' is not a directory").into());
                continue;
            }
            let below = names_below(facts, "paths", folder)?;
            let below: Vec<HostPath> =
                below.into_iter().filter(|name| self.is_reached(folder, name)).collect();
            examined += below.len();
            names.extend(below.into_iter().filter(|name| filter.name(name)));
        }
        let files = self.files(facts, &filter, &names)?;
        let message = if skipped.is_empty() {
            "All paths examined"
        } else {
            "Not all paths examined, check warnings for details"
        };
        Ok(Change::nothing(json!({
            "files": files, "matched": files.len(), "examined": examined, "skipped_paths": skipped, "msg": message,
        })))
    }

    fn samples() -> Vec<Sample> {
        let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
        let host = || {
            Host::new()
                .file("/etc/d/a.conf", "one\n")
                .file("/etc/d/b c.conf", "two\n")
                .file("/etc/d/.hidden.conf", "x")
                .file("/etc/d/deep/er/z.conf", "x")
                .link("/etc/d/l.conf", "gone")
        };
        vec![
            sample(
                "files of one folder",
                json!({ "paths": ["/etc/d", "/etc/none"], "patterns": ["*.conf"] }),
                host(),
            ),
            sample(
                "everything by regular expressions, deeper down, with checksums",
                json!({ "paths": ["/etc/d"], "patterns": ["[az].*"], "use_regex": true, "recurse": true,
                        "file_type": "any", "size": "-1k", "get_checksum": true, "hidden": true }),
                host(),
            ),
            sample("files with a line", json!({ "paths": ["/etc/d"], "contains": "t.o$" }), host()),
            sample("the clock is not asked", json!({ "paths": ["/etc/d"], "age": "2d" }), host()),
        ]
    }
}

/// The row that lists all names below a folder, the folder first.
fn listing(folder: &HostPath) -> Row {
    Row::new("find", [folder.as_str(), "-print0"])
}

/// All names below a folder, sorted, without the folder.
pub(super) fn names_below(
    facts: &Facts,
    argument: &'static str,
    folder: &HostPath,
) -> Result<Vec<HostPath>, Stop> {
    let output = facts.output(&listing(folder))?;
    if output.status != 0 {
        let words = output.error_text();
        return Err(Stop::refused(argument, format!("{folder} cannot be listed: {}", words.trim())));
    }
    let Some(text) = output.stdout.text() else {
        return Err(Stop::refused(argument, format!("a name below {folder} is not UTF-8")));
    };
    let mut names = Vec::new();
    for name in text.split('\0').filter(|name| !name.is_empty()) {
        let name = HostPath::new(name).map_err(|why| Stop::refused(argument, why))?;
        if name != *folder {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// What of names and sizes counts.
struct Filter<'a> {
    wants: &'a Find,
    patterns: Vec<Pattern>,
    excludes: Vec<Pattern>,
    contains: Option<Pattern>,
    size: Option<(bool, u64)>,
}

impl<'a> Filter<'a> {
    fn new(wants: &'a Find) -> Result<Self, Stop> {
        let compile = |argument: &'static str, text: &String| {
            Pattern::new(&format!("\\A(?:{text})"), Flags::default())
                .map_err(|fault| Stop::refused(argument, format!("`{text}`: {fault}")))
        };
        let all = |argument: &'static str, texts: &[String]| -> Result<Vec<Pattern>, Stop> {
            let texts = if wants.use_regex { texts } else { &[] };
            texts.iter().map(|text| compile(argument, text)).collect()
        };
        Ok(Self {
            wants,
            patterns: all("patterns", &wants.patterns)?,
            excludes: all("excludes", &wants.excludes)?,
            contains: wants.contains.as_ref().map(|text| compile("contains", text)).transpose()?,
            size: wants.size.as_deref().map(size).transpose()?,
        })
    }

    fn name(&self, path: &HostPath) -> bool {
        let matches = |shell: &[String], regex: &[Pattern]| {
            if self.wants.use_regex {
                regex.iter().any(|pattern| pattern.is_match(path.name()).unwrap_or(false))
            } else {
                shell.iter().any(|pattern| name_matches(pattern, path.name()))
            }
        };
        let wanted = self.wants.patterns.is_empty() || matches(&self.wants.patterns, &self.patterns);
        wanted && !matches(&self.wants.excludes, &self.excludes)
    }

    fn node(&self, node: &Node) -> bool {
        let kind = match self.wants.file_type {
            FileType::File => node.kind == Kind::File,
            FileType::Directory => node.kind == Kind::Dir,
            FileType::Link => matches!(node.kind, Kind::Link { .. }),
            FileType::Any => true,
        };
        let sized = self.size.is_none_or(|(most, size)| {
            node.kind != Kind::File || if most { node.size <= size } else { node.size >= size }
        });
        kind && sized
    }
}

/// A pattern of the shell against one name; unlike in the shell a star matches a leading dot, as Python's does.
fn name_matches(pattern: &str, name: &str) -> bool {
    let plain = |name: &str| {
        let path = HostPath::new(&format!("/x{name}"));
        path.is_ok_and(|path| glob_matches(&format!("/x{pattern}"), &path))
    };
    !pattern.contains('/') && plain(name)
}

fn size(text: &str) -> Result<(bool, u64), Stop> {
    let fault = || Stop::refused("size", format!("`{text}` is not a size such as `10m` or `-1k`"));
    let (most, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = rest.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match rest[digits.len()..].to_lowercase().as_str() {
        "" | "b" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(fault()),
    };
    let number: u64 = digits.parse().map_err(|_| fault())?;
    number.checked_mul(1 << unit).map(|bytes| (most, bytes)).ok_or_else(fault)
}

impl Find {
    /// Whether a name is looked at: not too deep, and not below or itself hidden.
    fn is_reached(&self, folder: &HostPath, name: &HostPath) -> bool {
        let below = name.as_str().strip_prefix(folder.as_str()).unwrap_or_default().trim_start_matches('/');
        let parts: Vec<&str> = below.split('/').collect();
        let deepest = if self.recurse { self.depth.map_or(usize::MAX, |depth| depth as usize) } else { 1 };
        parts.len() <= deepest && (self.hidden || !parts.iter().any(|part| part.starts_with('.')))
    }

    fn files(&self, facts: &Facts, filter: &Filter<'_>, names: &[HostPath]) -> Result<Vec<Json>, Stop> {
        let stats: Vec<Read> = names.iter().cloned().map(Read::Stat).collect();
        facts.need(&stats)?;
        let mut nodes = Vec::new();
        for name in names {
            // A file may go between the list and the look.
            if let Some(node) = facts.stat(name)?.filter(|node| filter.node(node)) {
                nodes.push((name, node));
            }
        }
        let content = nodes.iter().filter(|(_, node)| node.kind == Kind::File).map(|(name, _)| *name);
        let reads: Vec<Read> = match (&filter.contains, self.get_checksum) {
            (Some(_), _) => content.map(Read::text).collect(),
            (None, true) => content.map(Read::digest).collect(),
            (None, false) => Vec::new(),
        };
        facts.need(&reads)?;
        let mut files = Vec::new();
        for (name, node) in nodes {
            if let Some(pattern) = &filter.contains
                && !self.holds_line(facts, name, pattern)?
            {
                continue;
            }
            let mut file = described(name, &node, facts)?;
            file.shift_remove("exists");
            if self.get_checksum && node.kind == Kind::File {
                file.extend(checksum(facts, name)?.map(|digest| ("checksum".to_owned(), digest)));
            }
            files.push(Json::Object(file));
        }
        Ok(files)
    }

    fn holds_line(&self, facts: &Facts, name: &HostPath, pattern: &Pattern) -> Result<bool, Stop> {
        let Seen::Node(node) = facts.get(&Read::text(name))? else { return Ok(false) };
        let Some(bytes) = node.bytes() else { return Ok(false) };
        let text = match bytes.text() {
            Some(text) => text.to_owned(),
            None => widen(bytes.as_slice()),
        };
        for line in text.split_inclusive('\n') {
            if pattern.is_match(line).map_err(|fault| Stop::refused("contains", fault.to_string()))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
