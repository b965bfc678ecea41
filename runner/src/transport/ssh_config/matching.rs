//! `Match` lines, as far as they can be judged without running programs.
use super::Settings;
use crate::transport::known_hosts::pattern;

/// The words of a `Match` line.
#[derive(Clone, Debug)]
pub(super) struct Criteria(Vec<(bool, Kind)>);

#[derive(Clone, Debug)]
enum Kind {
    All,
    Final,
    Host(String),
    OriginalHost(String),
    User(String),
    LocalUser(String),
}

/// What a host is judged by.
pub(super) struct Subject<'a> {
    /// As the user names it.
    pub host: &'a str,
    /// The user's name here.
    pub local_user: &'a str,
    /// Whether the files are read a second time, for `Match final`.
    pub last: bool,
}

impl Criteria {
    /// Nothing if there are words that only ssh can judge.
    pub fn parse(arguments: &[String]) -> Option<Self> {
        let mut words = arguments.iter();
        let mut kinds = Vec::new();
        while let Some(word) = words.next() {
            let word = word.to_ascii_lowercase();
            let (negated, word) = match word.strip_prefix('!') {
                Some(rest) => (true, rest),
                None => (false, word.as_str()),
            };
            let kind = match word {
                "all" => Kind::All,
                "final" => Kind::Final,
                "host" => Kind::Host(words.next()?.clone()),
                "originalhost" => Kind::OriginalHost(words.next()?.clone()),
                "user" => Kind::User(words.next()?.clone()),
                "localuser" => Kind::LocalUser(words.next()?.clone()),
                _ => return None,
            };
            kinds.push((negated, kind));
        }
        (!kinds.is_empty()).then_some(Self(kinds))
    }

    /// Whether the files must be read a second time.
    pub fn is_final(&self) -> bool {
        self.0.iter().any(|(_, kind)| matches!(kind, Kind::Final))
    }

    /// Whether all of the words hold, by what is set so far.
    pub fn hold(&self, subject: &Subject<'_>, settings: &Settings) -> bool {
        let list = |patterns: &str, text: &str| pattern::list_matches(patterns.split(','), text);
        self.0.iter().all(|(negated, kind)| {
            let holds = match kind {
                Kind::All => true,
                Kind::Final => subject.last,
                Kind::Host(patterns) => {
                    let real = settings.get("hostname").map(|name| name.replace("%h", subject.host));
                    list(patterns, real.as_deref().unwrap_or(subject.host))
                }
                Kind::OriginalHost(patterns) => list(patterns, subject.host),
                Kind::User(patterns) => list(patterns, settings.get("user").unwrap_or(subject.local_user)),
                Kind::LocalUser(patterns) => list(patterns, subject.local_user),
            };
            holds != *negated
        })
    }
}
