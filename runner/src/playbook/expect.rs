//! `expect:`: what a source says that a task is worth. It is a claim: shown in the plan, never taken as proof.
use super::fields;
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::yaml::{Data, Node};
use std::fmt;

/// One figure of a source: what was measured, by how much it changed, and where that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What was measured, and how: "4 KiB random writes, queue depth 128".
    pub metric: String,
    /// By how much it became better (`gain`) or worse (`cost`), as the source says it: `86%`, `2.1x`.
    pub change: Worth,
    /// The figure before, with its unit.
    pub from: Option<String>,
    /// The figure after, with its unit.
    pub to: Option<String>,
    /// Where that is written.
    pub source: String,
}

/// Better or worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worth {
    /// Better by so much.
    Gain(String),
    /// Worse by so much: the price of the change.
    Cost(String),
}

impl fmt::Display for Expectation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.change {
            Worth::Gain(much) => write!(out, "expected gain {much}: {}", self.metric)?,
            Worth::Cost(much) => write!(out, "expected cost {much}: {}", self.metric)?,
        }
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => write!(out, ", {from} to {to}")?,
            (Some(figure), None) | (None, Some(figure)) => write!(out, ", {figure}")?,
            (None, None) => {}
        }
        write!(out, "; by {}, not measured here", self.source)
    }
}

const KEYS: [&str; 6] = ["metric", "gain", "cost", "from", "to", "source"];

/// The value of `expect:`: one mapping, or a list of them.
pub fn expectations(value: Node, problems: &mut Problems) -> Vec<Expectation> {
    let members = match value.data {
        Data::Seq(members) => members,
        data => vec![Node { data, ..value }],
    };
    members.iter().filter_map(|member| expectation(member, problems)).collect()
}

fn expectation(node: &Node, problems: &mut Problems) -> Option<Expectation> {
    let wrong = |message: String, at: &Node| Diagnostic::error(message, at.span.clone()).help(EXAMPLE);
    if node.as_map().is_none() {
        problems.push(wrong(format!("`expect` wants mappings; this is {}", node.kind()), node));
        return None;
    }
    let before = problems.len();
    let mut found: [Option<String>; KEYS.len()] = Default::default();
    for (key, value) in node.entries() {
        let word = key.key_text();
        match KEYS.iter().position(|known| *known == word) {
            Some(at) => found[at] = fields::word(key, value, problems),
            None => {
                let problem = Diagnostic::error(format!("an expectation has no `{word}`"), key.span.clone());
                problems.push(fields::nearest(problem, did_you_mean(&word, KEYS)));
            }
        }
    }
    let [metric, gain, cost, from, to, source] = found;
    if problems.len() > before {
        return None;
    }
    for much in [&gain, &cost].into_iter().flatten().filter(|much| !is_ratio(much)) {
        problems.push(wrong(format!("`{much}` is neither a percentage nor a factor"), node));
    }
    let change = match (gain, cost) {
        (Some(gain), None) => Worth::Gain(gain),
        (None, Some(cost)) => Worth::Cost(cost),
        _ => {
            problems.push(wrong("an expectation has either a `gain` or a `cost`".to_owned(), node));
            return None;
        }
    };
    let (Some(metric), Some(source)) = (metric, source) else {
        let words = "an expectation needs its `metric` and its `source`: a figure of nobody is no figure";
        problems.push(wrong(words.to_owned(), node));
        return None;
    };
    Some(Expectation { metric, change, from, to, source })
}

const EXAMPLE: &str =
    "write `expect: {metric: \"1 MiB reads, rados bench\", gain: 86%, source: \"who measured it, where\"}`";

/// `86%`, `-2.5 %`, `2.1x`.
fn is_ratio(text: &str) -> bool {
    let text = text.trim();
    let number = text.strip_suffix('%').or_else(|| text.strip_suffix('x'));
    number.is_some_and(|number| number.trim().parse::<f64>().is_ok_and(f64::is_finite))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use crate::yaml::parse_one;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut problems = Problems::new();
        let node = parse_one(&Source::new("t", text)).unwrap();
        let found = expectations(node, &mut problems);
        let said = problems.iter().map(|problem| problem.message.clone()).collect();
        (found.iter().map(ToString::to_string).collect(), said)
    }

    #[test]
    fn a_figure_has_its_source() {
        let (found, said) = read(
            "- {metric: 1 MiB reads, gain: 86%, from: 30490 MB/s, to: 56785 MB/s, source: a provider}\n\
             - {metric: writes, cost: 35 %, source: the makers}",
        );
        assert!(said.is_empty(), "{said:?}");
        assert_eq!(
            found,
            [
                "expected gain 86%: 1 MiB reads, 30490 MB/s to 56785 MB/s; by a provider, not measured here",
                "expected cost 35 %: writes; by the makers, not measured here"
            ]
        );
        for (text, words) in [
            ("fast", "`expect` wants mappings"),
            ("{metric: a, gain: 2x}", "its `source`"),
            ("{metric: a, gain: much, source: b}", "neither a percentage nor a factor"),
            ("{metric: a, source: b}", "either a `gain` or a `cost`"),
            ("{metric: a, gain: 2x, cost: 3x, source: b}", "either a `gain` or a `cost`"),
            ("{metrics: a, gain: 2x, source: b}", "has no `metrics`"),
        ] {
            assert!(read(text).1[0].contains(words), "{text}: {:?}", read(text).1);
        }
    }
}
