//! Patterns that choose hosts: `web,db`, `all:!canary`, `osds:&rack1`, `osd*[0:2]`, `~osd\d+`, `@file` for a limit.
use super::model::HostId;
use super::world::World;
use super::{Inventory, address};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::source::Span;
use fancy_regex::{Regex, RegexBuilder};
use std::collections::HashSet;
use std::path::Path;

/// Why a pattern chose nothing. The three are told apart, since each has its own exit code and cure.
#[derive(Clone, Debug, PartialEq)]
pub enum Unselected {
    /// It names hosts or groups that do not exist; one problem a name.
    Unknown(Vec<Diagnostic>),
    /// Every name exists, and together they leave no host.
    Empty(Diagnostic),
    /// It cannot be read.
    Malformed(Diagnostic),
}

impl Unselected {
    /// The problems to show.
    pub fn problems(self) -> Vec<Diagnostic> {
        match self {
            Self::Unknown(problems) => problems,
            Self::Empty(problem) | Self::Malformed(problem) => vec![problem],
        }
    }
}

/// In what order a play takes its hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As the inventory has them.
    #[default]
    Inventory,
    /// The last first.
    ReverseInventory,
    /// By name.
    Sorted,
    /// By name, the last first.
    ReverseSorted,
    /// By chance that a seed repeats: the plan must be the same when it is made again.
    Shuffle {
        /// Equal seeds give equal orders.
        seed: u64,
    },
}

impl Order {
    /// The order that a play's `order:` names; `seed` is taken for `shuffle`.
    ///
    /// # Errors
    /// A word that names none.
    pub fn from_word(word: &str, seed: u64, span: Option<Span>) -> Result<Self, Diagnostic> {
        const WORDS: [&str; 5] = ["inventory", "reverse_inventory", "sorted", "reverse_sorted", "shuffle"];
        Ok(match word {
            "inventory" => Self::Inventory,
            "reverse_inventory" => Self::ReverseInventory,
            "sorted" => Self::Sorted,
            "reverse_sorted" => Self::ReverseSorted,
            "shuffle" => Self::Shuffle { seed },
            other => {
                let help = did_you_mean(other, WORDS)
                    .map_or_else(|| WORDS.join(", "), |near| format!("did you mean `{near}`?"));
                return Err(Diagnostic::error(format!("`{other}` is no order of hosts"), span).help(help));
            }
        })
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

/// A part's hosts, or what is wrong with it.
enum Bad {
    Unknown(Diagnostic),
    Malformed(Diagnostic),
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
            return Err(Unselected::Malformed(problem.help("name hosts or groups; every host is `all`")));
        }
        if let Some(bare) = terms.iter().find(|term| term.text.is_empty()) {
            let mark = if bare.effect == Effect::Keep { '&' } else { '!' };
            return Err(Unselected::Malformed(
                Diagnostic::error(format!("`{mark}` without a name in the host pattern `{shown}`"), span.cloned())
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
                Err(Bad::Unknown(problem)) => unknown.push(problem),
                Err(Bad::Malformed(problem)) => return Err(Unselected::Malformed(problem)),
            }
        }
        if !unknown.is_empty() {
            return Err(Unselected::Unknown(unknown));
        }
        if chosen.is_empty() {
            return Err(Unselected::Empty(self.empty(&shown, &terms, span)));
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

    fn term_hosts(&self, text: &str, span: Option<&Span>) -> Result<Vec<HostId>, Bad> {
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
            Bad::Unknown(problem.help("positions count from 0, and from -1 at the end"))
        })
    }

    fn named(&self, name: &str, span: Option<&Span>) -> Result<Vec<HostId>, Bad> {
        if let Some(group) = self.group(name) {
            return Ok(self.hosts_of(group));
        }
        if name.contains(['*', '?', '[']) {
            return self.matched(name, &Glob(name.chars().collect()), span);
        }
        if let Some(host) = self.host(name) {
            return Ok(vec![host]);
        }
        let known = self.groups().map(|(name, _)| name).chain(self.hosts().map(|host| self.host_name(host)));
        let problem = Diagnostic::error(format!("no host or group is named `{name}`"), span.cloned());
        Err(Bad::Unknown(match did_you_mean(name, known) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None if self.hosts().next().is_none() => {
                problem.help("the inventory has no hosts; name one with `-i`")
            }
            None => problem.help("see what there is with `tunerun inventory graph`"),
        }))
    }

    /// All hosts of the groups that match, then the hosts that match themselves.
    fn matched(&self, shown: &str, wanted: &dyn Matches, span: Option<&Span>) -> Result<Vec<HostId>, Bad> {
        let mut found = Vec::new();
        let mut any = false;
        let failed = |why: String| {
            let problem = Diagnostic::error(format!("the pattern `{shown}` gave up: {why}"), span.cloned());
            Bad::Malformed(problem.help("write a simpler expression, without nested repetitions"))
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
            let problem =
                Diagnostic::error(format!("no host or group matches `{shown}`"), span.cloned());
            return Err(Bad::Unknown(problem.help("see what there is with `tunerun inventory graph`")));
        }
        let mut seen = HashSet::new();
        found.retain(|host| seen.insert(*host));
        Ok(found)
    }

    /// The patterns that a `--limit` stands for: `@FILE` is replaced by that file's lines.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn limit_patterns(text: &str, world: &dyn World) -> Result<Vec<String>, Diagnostic> {
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
                Diagnostic::error(format!("the limit file {path} cannot be read: {error}"), None)
                    .help("after `@` goes the path of a file with one pattern a line")
            })?;
            let lines = String::from_utf8_lossy(&bytes);
            patterns.extend(lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
        }
        Ok(patterns)
    }

    /// Brings hosts into the order that a play wants.
    pub fn order(&self, hosts: &mut [HostId], order: Order) {
        match order {
            Order::Inventory => {}
            Order::ReverseInventory => hosts.reverse(),
            Order::Sorted => hosts.sort_by(|a, b| self.host_name(*a).cmp(self.host_name(*b))),
            Order::ReverseSorted => hosts.sort_by(|a, b| self.host_name(*b).cmp(self.host_name(*a))),
            Order::Shuffle { seed } => {
                let mut state = seed;
                for at in (1..hosts.len()).rev() {
                    hosts.swap(at, (split_mix(&mut state) % (at as u64 + 1)) as usize);
                }
            }
        }
    }
}

/// The next number of the SplitMix64 sequence (Steele, Lea, Flood 2014): the same on every machine, for ever.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
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

/// Positions of a group's hosts.
enum Subscript {
    One(i64),
    /// Both ends counted in; no end is the last.
    Slice(usize, Option<usize>),
}

impl Subscript {
    fn of(&self, hosts: &[HostId]) -> Option<Vec<HostId>> {
        if hosts.is_empty() {
            return Some(Vec::new());
        }
        match *self {
            Self::One(at) => {
                let at = if at < 0 { at + hosts.len() as i64 } else { at };
                hosts.get(usize::try_from(at).ok()?).map(|host| vec![*host])
            }
            Self::Slice(start, end) => {
                let end = end.unwrap_or(usize::MAX).min(hosts.len() - 1);
                Some(hosts.get(start..=end).unwrap_or_default().to_vec())
            }
        }
    }
}

fn subscript<'p>(text: &'p str, span: Option<&Span>) -> Result<(&'p str, Option<Subscript>), Bad> {
    let whole = (text, None);
    let Some((name, inner)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) else {
        return Ok(whole);
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bad = |help: String| {
        let problem = Diagnostic::error(format!("`[{inner}]` in `{text}` is not a position"), span.cloned());
        Err(Bad::Malformed(problem.help(help)))
    };
    if name.is_empty() {
        return bad("write the group before it, such as `osds[0]`".to_owned());
    }
    if digits(inner.strip_prefix('-').unwrap_or(inner)) {
        return match inner.parse() {
            Ok(at) => Ok((name, Some(Subscript::One(at)))),
            Err(_) => bad("the number is too great".to_owned()),
        };
    }
    if let Some((start, end)) = inner.split_once(':') {
        let end_given = !end.is_empty();
        return match (start.parse(), end.parse()) {
            (Ok(start), Ok(end)) if digits(inner.replace(':', "").as_str()) => {
                Ok((name, Some(Subscript::Slice(start, Some(end)))))
            }
            (Ok(start), _) if !end_given => Ok((name, Some(Subscript::Slice(start, None)))),
            _ => bad("positions are `[0]`, `[-1]`, `[0:2]` (both ends counted in) or `[3:]`".to_owned()),
        };
    }
    match inner.split_once('-') {
        // Ansible takes this for positions, a shell for characters.
        Some((start, end)) if digits(start) && digits(end) => bad(format!(
            "for positions write `{name}[{start}:{end}]`, for characters the expression `~{name}[{start}-{end}]`"
        )),
        _ => Ok(whole),
    }
}

/// A name matches or not; an expression may give up.
trait Matches {
    fn matches(&self, name: &str) -> Result<bool, String>;
}

/// Steps that an expression may take on one name.
const REGEX_STEPS: usize = 100_000;

impl Matches for Regex {
    fn matches(&self, name: &str) -> Result<bool, String> {
        self.is_match(name).map_err(|error| error.to_string())
    }
}

fn regex(text: &str, expression: &str, span: Option<&Span>) -> Result<Regex, Bad> {
    // As Python's `match`: anchored at the start only.
    RegexBuilder::new(&format!("^(?:{expression})")).backtrack_limit(REGEX_STEPS).build().map_err(|error| {
        let problem = Diagnostic::error(format!("`{text}` is not a regular expression: {error}"), span.cloned());
        Bad::Malformed(problem.help("after `~` goes an expression such as `~osd\\d+`"))
    })
}

/// A shell pattern: `*`, `?`, `[abc]`, `[a-c]`, `[!abc]`.
struct Glob(Vec<char>);

impl Matches for Glob {
    fn matches(&self, name: &str) -> Result<bool, String> {
        let name: Vec<char> = name.chars().collect();
        Ok(glob(&self.0, &name))
    }
}

/// Linear in the name for each star: on a mismatch only the last star takes one character more.
fn glob(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => one_of(&pattern[p..], name[n]),
            Some(c) if *c == name[n] => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(width), _) => {
                p += width;
                n += 1;
            }
            (None, Some((star_p, star_n))) => {
                star = Some((star_p, star_n + 1));
                p = star_p + 1;
                n = star_n + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The width of a `[…]` that holds the character; a `[` that nothing closes is itself.
fn one_of(pattern: &[char], c: char) -> Option<usize> {
    let negated = pattern.get(1) == Some(&'!');
    let first = if negated { 2 } else { 1 };
    let close = pattern.iter().skip(first + 1).position(|c| *c == ']').map(|at| at + first + 1);
    let Some(close) = close else { return (c == '[').then_some(1) };
    let set = &pattern[first..close];
    let mut at = 0;
    let mut found = false;
    while at < set.len() {
        if at + 2 < set.len() && set[at + 1] == '-' {
            found |= (set[at]..=set[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= set[at] == c;
            at += 1;
        }
    }
    (found != negated).then_some(close + 1)
}
