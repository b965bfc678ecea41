//! What came of a batch: by its answer alone, without a guess.
use super::prepared::Batch;
use super::text::{LOCKED, STALE, UNSTAGED};
use crate::engine::probe::{Reads, output};
use crate::transport::shell::{Answer, Section};
use modules::vocabulary::{Act, Body, Bytes, Match, Node, Output, Read, Seen, touches};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One act that was done, well or badly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActDone {
    /// Status and output of the act.
    pub output: Output,
}

/// What came of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchReport {
    /// Nothing was written since another run holds the host: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
    /// Nothing was written since something is not as it was when it was planned: what, and what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
    /// Nothing was written since the new contents could not be staged: the host's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstaged: Option<String>,
    /// The step whose new content could not be staged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unstaged_step: Option<usize>,
    /// The boot loader fell back to the old kernel line: in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<String>,
    /// The acts by step; none for those that were not reached.
    #[serde(default)]
    pub acts: Vec<Option<ActDone>>,
    /// What was seen right before the acts, where an act must change it.
    #[serde(default, with = "pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub evidence: BTreeMap<Read, Seen>,
    /// What was seen afterwards.
    #[serde(default, with = "pairs")]
    pub seen: BTreeMap<Read, Seen>,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Done and seen.
    Proven,
    /// The batch ended before it.
    NotReached,
    /// It failed, in words.
    Failed(String),
}

/// Why a content could not be staged: the words of its `validate:`, or the host's.
fn unstaged_words(answer: &Answer, failed: &Section, step: Option<usize>) -> String {
    let said = |section: &Section| {
        let words = [section.stderr.text(), section.stdout.text()].map(|text| text.trim().to_owned());
        words.into_iter().find(|words| !words.is_empty())
    };
    let validated = step.and_then(|step| answer.section(&format!("validate.{step}")));
    match validated.filter(|section| section.rc != Some(0)) {
        Some(section) => {
            let status = section.rc.map_or_else(|| "?".to_owned(), |rc| rc.to_string());
            let words = said(section).map(|words| format!(": {words}")).unwrap_or_default();
            format!("`validate` does not accept the new content (status {status}){words}")
        }
        None => said(failed).unwrap_or_else(|| format!("{} failed", failed.tag)),
    }
}

impl BatchReport {
    /// Takes the answer of a batch's script.
    ///
    /// # Errors
    /// Says what in the answer is not as the script makes it.
    pub fn of(batch: &Batch, looks: &Reads, answer: &Answer) -> Result<Self, String> {
        if let Some(section) = answer.section("locked") {
            return Ok(Self { locked: Some(section.stdout.text().trim().to_owned()), ..Self::default() });
        }
        if answer.section("stale").is_some_and(|section| section.rc == Some(STALE)) {
            let found: Vec<String> = answer
                .sections
                .iter()
                .filter(|section| section.tag.starts_with("found."))
                .map(|section| section.stdout.text())
                .collect();
            let what = answer.section("stale").map(|section| section.stdout.text()).unwrap_or_default();
            return Ok(Self { stale: Some(stale_words(batch, &what, &found.concat())), ..Self::default() });
        }
        if let Some(section) = answer.sections.iter().find(|section| section.rc == Some(UNSTAGED)) {
            let step = section.tag.rsplit('.').next().and_then(|number| number.parse().ok());
            let words = unstaged_words(answer, section, step);
            return Ok(Self { unstaged: Some(words), unstaged_step: step, ..Self::default() });
        }
        if answer.rc == LOCKED && answer.sections.is_empty() {
            return Err("the script did not begin".to_owned());
        }
        let acts = (0..batch.steps.len())
            .map(|index| {
                answer.section(&format!("a.{index}")).map(|section| ActDone { output: output(section) })
            })
            .collect();
        let round = looks.answers("p.", answer)?;
        let mut seen = round.seen;
        for read in round.again {
            seen.insert(read, Seen::Failed("it changed while it was looked at".to_owned()));
        }
        for read in &batch.verify {
            if let (Some(path), Some(bytes)) = (read.path(), super::text::content_put(batch, read)) {
                let there = seen.get(&Read::digest(path)).and_then(|seen| with_content(seen, bytes));
                seen.extend(there.map(|there| (read.clone(), there)));
            }
        }
        let evidence = super::text::evidence(batch).answers("b.", answer)?.seen;
        Ok(Self { acts, seen, evidence, ..Self::default() })
    }

    /// Whether nothing was written.
    pub fn nothing_was_written(&self) -> bool {
        self.locked.is_some() || self.stale.is_some() || self.unstaged.is_some()
    }

    /// What came of a step.
    pub fn verdict(&self, batch: &Batch, index: usize) -> Verdict {
        let Some(folded) = batch.steps.get(index) else { return Verdict::NotReached };
        let step = &folded.step;
        let Some(Some(act)) = self.acts.get(index) else { return Verdict::NotReached };
        if act.output.status != 0 {
            return Verdict::Failed(words_of(&step.act, &act.output));
        }
        match (&self.fell_back, &step.act) {
            (Some(words), Act::Call { row, .. }) if row.name == "reboot" => Verdict::Failed(words.clone()),
            // What armed the trial is gone with it: it did not last, and the boot alone is what failed.
            (Some(_), _) => match self.compared(batch, index) {
                Verdict::Failed(_) => Verdict::NotReached,
                verdict => verdict,
            },
            (None, _) => self.compared(batch, index),
        }
    }

    /// Whether what is seen after an act that ended well is what the step wants.
    fn compared(&self, batch: &Batch, index: usize) -> Verdict {
        let Some(folded) = batch.steps.get(index) else { return Verdict::NotReached };
        let step = &folded.step;
        if step.after == Match::Any || self.is_superseded(batch, index) {
            return Verdict::Proven;
        }
        let seen = step.look.as_ref().and_then(|look| self.look(look));
        match (&step.look, seen) {
            (None, _) => Verdict::Proven,
            (Some(look), Some(seen))
                if step.after.proves(self.evidence.get(look).unwrap_or(&step.before), seen) =>
            {
                Verdict::Proven
            }
            (Some(_), Some(seen)) => Verdict::Failed(match step.after.fault(seen) {
                Some(fault) => format!("{} was set, and not all of it was kept: {fault}", step.claim),
                None => format!(
                    "{} was acted on, but what is seen afterwards is not what was asked for: {}",
                    step.claim,
                    shown(seen)
                ),
            }),
            (Some(_), None) => {
                Verdict::Failed(format!("{} was acted on, but not seen afterwards", step.claim))
            }
        }
    }

    /// Whether a later act of the batch touched what a step is looked at by: what was seen at the end is not what this
    /// step left, and its act is proven by its own status.
    pub fn is_superseded(&self, batch: &Batch, index: usize) -> bool {
        let Some(look) = batch.steps.get(index).and_then(|folded| folded.step.look.as_ref()) else {
            return false;
        };
        let later = batch.steps.iter().zip(&self.acts).skip(index + 1);
        later.filter(|(_, done)| done.is_some()).any(|(folded, _)| touches(&folded.step.act, look))
    }

    /// What was seen of a read; a fuller look answers a lesser one.
    pub fn look(&self, read: &Read) -> Option<&Seen> {
        self.seen.get(read).or_else(|| match read {
            Read::File { path, .. } | Read::Stat(path) => {
                self.seen.get(&Read::text(path)).or_else(|| self.seen.get(&Read::digest(path)))
            }
            _ => None,
        })
    }
}

/// A file with its content, where its digest says that it is this one. Else it must be read.
fn with_content(seen: &Seen, bytes: &Bytes) -> Option<Seen> {
    match seen {
        Seen::Node(node) if node.digest() == Some(bytes.digest()) => {
            Some(Seen::Node(Node { body: Some(Body::Bytes(bytes.clone())), ..node.clone() }))
        }
        _ => None,
    }
}

fn stale_words(batch: &Batch, what: &str, found: &str) -> String {
    let mut parts: Vec<String> = what
        .split_whitespace()
        .filter_map(|word| word.parse::<usize>().ok())
        .filter_map(|index| batch.steps.get(index))
        .map(|folded| format!("{} is not as it was when this was planned", folded.step.claim))
        .collect();
    // Of the lines that were found, those that no step expects are the news.
    for folded in &batch.steps {
        let Some(path) = folded.step.path() else { continue };
        for line in found
            .lines()
            .filter(|line| line.ends_with(path.as_str()) || line.starts_with(&format!("{path}:")))
        {
            if !expected(&folded.step.before, line, path.as_str()) {
                parts.push(format!("{path} is not as it was when this was planned; found: {line}"));
            }
        }
    }
    parts.sort();
    parts.dedup();
    if parts.is_empty() {
        parts.push(format!("something is not as it was when this was planned; found: {}", found.trim()));
    }
    parts.join("\n")
}

fn expected(before: &Seen, line: &str, path: &str) -> bool {
    match before {
        Seen::Node(node) => {
            let mode = format!(
                "{:x}|{}|{}|{path}",
                node.mode | super::compare_text::bits(&node.kind),
                node.uid,
                node.gid
            );
            line == mode || node.digest().is_some_and(|digest| line == format!("{digest}  {path}"))
        }
        Seen::Value(value) => value.lines().any(|value| line == format!("{path}:{value}")),
        _ => false,
    }
}

fn words_of(act: &Act, output: &Output) -> String {
    let said = output.error_text();
    let said = said.trim();
    let tail: Vec<&str> = said.lines().rev().take(5).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    let what = match act {
        Act::Put { path, .. } => format!("putting {path} in place failed"),
        Act::Write { path, value } => format!("the kernel refused `{value}` for {path}"),
        Act::Call { row, .. } => format!("`{}` ended with status {}", shown_call(row), output.status),
        Act::Rpc { method, .. } => format!("{method} failed"),
    };
    if tail.is_empty() { what } else { format!("{what}: {}", tail.join("\n")) }
}

/// A call as a person would type it.
pub(crate) fn shown_call(row: &modules::vocabulary::Row) -> String {
    // A script of the table is called by the name of its row.
    let is_script = modules::programs::program(&row.name).is_some_and(|row| {
        matches!(row.words, ["sh", "-c", _, ..]) || row.words.iter().any(|word| word.contains('\n'))
    });
    if is_script && row.stdin.is_none() {
        let words = std::iter::once(row.name.clone());
        let quoted = row.args.iter().map(|word| crate::transport::shell::word::quote(word));
        return words.chain(quoted).collect::<Vec<_>>().join(" ");
    }
    modules::programs::command(row).map_or_else(
        |_| row.name.clone(),
        |words| {
            let words: Vec<String> =
                words.iter().map(|word| crate::transport::shell::word::quote(word)).collect();
            words.join(" ")
        },
    )
}

fn shown(seen: &Seen) -> String {
    match seen {
        Seen::Value(value) => format!("`{value}`"),
        Seen::Absent => "nothing is there".to_owned(),
        Seen::Denied => "it cannot be looked at".to_owned(),
        Seen::Failed(why) => why.clone(),
        Seen::Node(node) => {
            format!("{:?}, mode {:04o}, owner {}:{}", node.kind, node.mode, node.user, node.group)
        }
        Seen::Names(names) => format!("{} names", names.len()),
        Seen::Output(output) => format!("status {}, {}", output.status, output.text().trim()),
    }
}

/// Maps with structured keys as lists of pairs: JSON's keys are texts.
mod pairs {
    use super::{BTreeMap, Deserialize, Read, Seen};
    use serde::{Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(map: &BTreeMap<Read, Seen>, serializer: S) -> Result<S::Ok, S::Error> {
        map.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Read, Seen>, D::Error> {
        Ok(Vec::<(Read, Seen)>::deserialize(deserializer)?.into_iter().collect())
    }
}
