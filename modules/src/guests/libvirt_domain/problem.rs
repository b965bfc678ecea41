//! What stands against a change of a domain: all of it is told, not the first alone.

/// Whether somebody may have the rest all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What is asked for is wrong.
    Mistake,
    /// This domain cannot be brought there in place; others can.
    CannotConverge,
}

/// One thing that stands against a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Whether the rest may go on.
    pub(super) kind: Kind,
    /// The argument that asks for it.
    pub(super) argument: &'static str,
    /// The domain's name.
    pub(super) domain: String,
    /// Why not.
    pub(super) why: String,
    /// What to do instead; may be empty.
    pub(super) way_out: String,
}

/// The problems of one domain, and what is said besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Problems {
    domain: String,
    /// The problems.
    pub(super) all: Vec<Problem>,
    /// Notes, with the domain's name.
    pub(super) notes: Vec<String>,
}

impl Problems {
    /// None yet.
    pub(super) fn of(domain: &str) -> Self {
        Self { domain: domain.to_owned(), ..Self::default() }
    }

    /// One more.
    pub(super) fn add(&mut self, kind: Kind, argument: &'static str, why: &str, way_out: &str) {
        let (domain, why, way_out) = (self.domain.clone(), why.to_owned(), way_out.to_owned());
        self.all.push(Problem { kind, argument, domain, why, way_out });
    }

    /// Something to say besides.
    pub(super) fn note(&mut self, words: String) {
        self.notes.push(format!("{}: {words}", self.domain));
    }
}

/// Problems in words, each with its domain; those that are alike for many domains once.
pub(super) fn words(problems: &[Problem]) -> String {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for problem in problems {
        match told.iter_mut().find(|(why, _)| *why == problem.why) {
            Some((_, domains)) if domains.contains(&problem.domain.as_str()) => {}
            Some((_, domains)) => domains.push(&problem.domain),
            None => told.push((&problem.why, vec![&problem.domain])),
        }
    }
    let lines: Vec<String> =
        told.iter().map(|(why, domains)| format!("{}: {why}", domains.join(", "))).collect();
    lines.join("; ")
}

/// The ways out, each once.
pub(super) fn ways_out(problems: &[Problem]) -> String {
    let mut ways: Vec<&str> = Vec::new();
    for problem in problems.iter().filter(|problem| !problem.way_out.is_empty()) {
        if !ways.contains(&problem.way_out.as_str()) {
            ways.push(&problem.way_out);
        }
    }
    ways.join("; ")
}
