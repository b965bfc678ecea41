//! Patterns that choose hosts: `web,db`, `all:!canary`, `osds:&rack1`, `osd*[0:2]`, `~osd\d+`, `@file` for a limit.
use super::glob::Glob;
use super::model::HostId;
use super::subscript::subscript;
use super::world::World;
use super::{Inventory, address};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::Span;
use modules::regex::{Flags, Part, Pattern as Regex};
use std::collections::HashSet;
use std::path::Path;

/// Why a pattern chose nothing. The kinds are told apart, since each has its own exit code and cure.
#[derive(Clone, Debug, PartialEq)]
pub struct Unselected {
    /// What kind of failure it is.
    pub kind: Unselection,
    /// What to show; for unknown names one problem a name.
    pub problems: Problems,
}

/// How a pattern can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unselection {
    /// It names hosts or groups that do not exist.
    Unknown,
    /// Every name exists, and together they leave no host.
    Empty,
    /// It cannot be read.
    Malformed,
}

impl Unselected {
    fn unknown(problem: Diagnostic) -> Self {
        Self { kind: Unselection::Unknown, problems: vec![problem] }
    }

    fn empty(problem: Diagnostic) -> Self {
        Self { kind: Unselection::Empty, problems: vec![problem] }
    }

    pub(super) fn malformed(problem: Diagnostic) -> Self {
        Self { kind: Unselection::Malformed, problems: vec![problem] }
    }
}

/// What one part of a pattern does to the hosts that the parts before it chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Add,
    Keep,
    Remove,
}

/// One part of a pattern.
struct Term<'p> {
    effect: Effect,
    text: &'p str,
}

impl Inventory {
    /// The hosts that a pattern chooses, each once.
    ///
    /// # Errors
    /// See [`Unselected`]; an empty pattern is malformed, never all hosts.
    pub fn select(&self, pattern: &str, span: Option<&Span>) -> Result<Vec<HostId>, Unselected> {
        self.select_all_of(&[pattern], span)
    }

    /// As [`Inventory::select`], for a list of patterns that count as one.
    ///
    /// # Errors
    /// See [`Unselected`].
    pub fn select_all_of(&self, patterns: &[&str], span: Option<&Span>) -> Result<Vec<HostId>, Unselected> {
        let shown = patterns.join(",");
        let mut terms: Vec<Term<'_>> = Vec::new();
        for pattern in patterns {
            for text in self.split(pattern) {
                terms.push(term(text));
            }
        }
        if terms.is_empty() {
            let problem = Diagnostic::error("an empty host pattern", span.cloned());
            return Err(Unselected::malformed(problem.help("name hosts or groups; every host is `all`")));
        }
        if let Some(bare) = terms.iter().find(|term| term.text.is_empty()) {
            let mark = if bare.effect == Effect::Keep { '&' } else { '!' };
            return Err(Unselected::malformed(
                Diagnostic::error(
                    format!("`{mark}` without a name in the host pattern `{shown}`"),
                    span.cloned(),
                )
                .help(format!("write the group or host right after the `{mark}`")),
            ));
        }
        // As Ansible does: what adds goes first, then what keeps, then what removes.
        terms.sort_by_key(|term| term.effect as u8);
        if terms[0].effect != Effect::Add {
            terms.insert(0, Term { effect: Effect::Add, text: "all" });
        }
        let mut unknown = Vec::new();
        let mut chosen: Vec<HostId> = Vec::new();
        for term in &terms {
            match self.term_hosts(term.text, span) {
                Ok(hosts) => apply(&mut chosen, hosts, term.effect),
                Err(mut bad) if bad.kind == Unselection::Unknown => unknown.append(&mut bad.problems),
                Err(bad) => return Err(bad),
            }
        }
        if !unknown.is_empty() {
            return Err(Unselected { kind: Unselection::Unknown, problems: unknown });
        }
        if chosen.is_empty() {
            return Err(Unselected::empty(self.empty(&shown, &terms, span)));
        }
        Ok(chosen)
    }

    fn empty(&self, shown: &str, terms: &[Term<'_>], span: Option<&Span>) -> Diagnostic {
        let problem = Diagnostic::error(format!("the host pattern `{shown}` chooses no host"), span.cloned());
        if self.hosts().next().is_none() {
            return problem.help("the inventory has no hosts; name one with `-i`");
        }
        match terms {
            [Term { text, .. }] if self.group(text).is_some() => {
                problem.help(format!("the group `{text}` exists and is empty; put hosts into it"))
            }
            _ => problem.help("its parts exist, but together they leave nothing"),
        }
    }

    /// The parts of a pattern. Commas part if there are any, else colons; none inside brackets, and for a regular
    /// expression none inside its parentheses and braces.
    fn split<'p>(&self, pattern: &'p str) -> Vec<&'p str> {
        let pattern = pattern.trim();
        if self.host_index.contains_key(pattern) || address::is_ipv6(pattern) {
            return vec![pattern];
        }
        let by_comma = cut(pattern, ',');
        let parts = if by_comma.len() > 1 { by_comma } else { cut(pattern, ':') };
        parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
    }

    fn term_hosts(&self, text: &str, span: Option<&Span>) -> Result<Vec<HostId>, Unselected> {
        if let Some(host) = self.host_index.get(text).filter(|host| !self.is_implicit(**host)) {
            return Ok(vec![*host]);
        }
        if let Some(expression) = text.strip_prefix('~') {
            return self.matched(text, &regex(text, expression, span)?, span);
        }
        let (name, subscript) = subscript(text, span)?;
        let hosts = self.named(name, span)?;
        let Some(subscript) = subscript else { return Ok(hosts) };
        subscript.of(&hosts).ok_or_else(|| {
            let problem = Diagnostic::error(
                format!("`{text}` asks for a host beyond the last: `{name}` has {}", hosts.len()),
                span.cloned(),
            );
            Unselected::unknown(problem.help("positions count from 0, and from -1 at the end"))
        })
    }

    fn named(&self, name: &str, span: Option<&Span>) -> Result<Vec<HostId>, Unselected> {
        if let Some(group) = self.group(name) {
            return Ok(self.hosts_of(group));
        }
        if name.contains(['*', '?', '[']) {
            return self.matched(name, &Glob::new(name), span);
        }
        if let Some(host) = self.host(name) {
            return Ok(vec![host]);
        }
        let known = self.groups().map(|(name, _)| name).chain(self.hosts().map(|host| self.host_name(host)));
        let problem = Diagnostic::error(format!("no host or group is named `{name}`"), span.cloned());
        Err(Unselected::unknown(match did_you_mean(name, known) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None if self.hosts().next().is_none() => {
                problem.help("the inventory has no hosts; name one with `-i`")
            }
            None => problem.help("see what there is with `tunerun inventory graph`"),
        }))
    }

    /// All hosts of the groups that match, then the hosts that match themselves, each once: a position counts hosts,
    /// while Ansible counts a host of two groups twice.
    fn matched(
        &self,
        shown: &str,
        wanted: &dyn Matches,
        span: Option<&Span>,
    ) -> Result<Vec<HostId>, Unselected> {
        let mut found = Vec::new();
        let mut any = false;
        let failed = |why: String| {
            let problem = Diagnostic::error(format!("the pattern `{shown}` gave up: {why}"), span.cloned());
            Unselected::malformed(problem.help("write a simpler expression, without nested repetitions"))
        };
        for (name, group) in self.groups() {
            if wanted.matches(name).map_err(failed)? {
                any = true;
                found.extend(self.hosts_of(group));
            }
        }
        for host in self.hosts() {
            if wanted.matches(self.host_name(host)).map_err(failed)? {
                found.push(host);
            }
        }
        if found.is_empty() && !any {
            let problem = Diagnostic::error(format!("no host or group matches `{shown}`"), span.cloned());
            return Err(Unselected::unknown(
                problem.help("see what there is with `tunerun inventory graph`"),
            ));
        }
        let mut seen = HashSet::new();
        found.retain(|host| seen.insert(*host));
        Ok(found)
    }

    /// The patterns that a `--limit` stands for: `@FILE` is replaced by that file's lines.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn limit_patterns(text: &str, world: &dyn World) -> Result<Vec<String>, Problems> {
        if !text.contains('@') {
            return Ok(vec![text.to_owned()]);
        }
        let mut patterns = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some(path) = part.strip_prefix('@') else {
                patterns.push(part.to_owned());
                continue;
            };
            let bytes = world.read(Path::new(path)).map_err(|error| {
                vec![
                    Diagnostic::error(format!("the limit file {path} cannot be read: {error}"), None)
                        .help("after `@` goes the path of a file with one pattern a line"),
                ]
            })?;
            let lines = String::from_utf8_lossy(&bytes);
            patterns.extend(lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
        }
        Ok(patterns)
    }
}

fn term(text: &str) -> Term<'_> {
    match text.as_bytes().first() {
        Some(b'&') => Term { effect: Effect::Keep, text: text[1..].trim() },
        Some(b'!') => Term { effect: Effect::Remove, text: text[1..].trim() },
        _ => Term { effect: Effect::Add, text },
    }
}

fn apply(chosen: &mut Vec<HostId>, hosts: Vec<HostId>, effect: Effect) {
    match effect {
        Effect::Add => {
            let known: HashSet<HostId> = chosen.iter().copied().collect();
            chosen.extend(hosts.into_iter().filter(|host| !known.contains(host)));
        }
        Effect::Keep | Effect::Remove => {
            let hosts: HashSet<HostId> = hosts.into_iter().collect();
            chosen.retain(|host| hosts.contains(host) == (effect == Effect::Keep));
        }
    }
}

fn cut(pattern: &str, at: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let (mut brackets, mut round) = (0usize, 0usize);
    let mut escaped = false;
    for (index, c) in pattern.char_indices() {
        let is_regex = || pattern[start..].trim_start().trim_start_matches(['!', '&']).starts_with('~');
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '\\' if is_regex() => escaped = true,
            '[' => brackets += 1,
            ']' => brackets = brackets.saturating_sub(1),
            '(' | '{' if is_regex() => round += 1,
            ')' | '}' if is_regex() => round = round.saturating_sub(1),
            _ if c == at && brackets == 0 && round == 0 => {
                parts.push(&pattern[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&pattern[start..]);
    parts
}

/// A name matches or not; an expression may give up.
trait Matches {
    fn matches(&self, name: &str) -> Result<bool, String>;
}

impl Matches for Regex {
    fn matches(&self, name: &str) -> Result<bool, String> {
        self.holds(name, Part::Start).map_err(|fault| fault.to_string())
    }
}

impl Matches for Glob {
    fn matches(&self, name: &str) -> Result<bool, String> {
        Ok(self.is_match(name))
    }
}

fn regex(text: &str, expression: &str, span: Option<&Span>) -> Result<Regex, Unselected> {
    Regex::new(expression, Flags::default()).map_err(|fault| {
        let problem =
            Diagnostic::error(format!("`{text}` is not a regular expression: {fault}"), span.cloned());
        Unselected::malformed(problem.help("after `~` goes an expression such as `~osd\\d+`"))
    })
}
