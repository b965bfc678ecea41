//! Folds the parts of both streams into an answer.
use super::answer::{Answer, Script, Section, Stream, Watch};
use super::capture::Captured;
use std::collections::BTreeMap;

/// One stream's sections so far.
struct Side {
    done: Vec<(String, Option<i32>, Captured)>,
    now: Captured,
    end: Option<i32>,
}

/// The answer of one frame while it comes in.
pub(crate) struct Collector {
    out: Side,
    err: Side,
    cap: usize,
    caps: BTreeMap<String, usize>,
    watch: Option<Watch>,
}

impl Collector {
    pub(crate) fn new(script: &Script) -> Self {
        let side = || Side { done: Vec::new(), now: Captured::new(script.cap), end: None };
        Self {
            out: side(),
            err: side(),
            cap: script.cap,
            caps: script.caps.clone(),
            watch: script.watch.clone(),
        }
    }

    fn side(&mut self, stream: Stream) -> &mut Side {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    pub(crate) fn data(&mut self, stream: Stream, bytes: &[u8]) {
        self.side(stream).now.push(bytes);
        if let Some(watch) = &self.watch {
            watch(stream, bytes);
        }
    }

    /// Takes a mark in. An error says how the host broke the protocol.
    pub(crate) fn mark(&mut self, stream: Stream, words: &[String]) -> Result<(), String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let cap = self.cap;
        match words.as_slice() {
            ["s", tag, rc] => {
                let rc = match *rc {
                    "-" => None,
                    rc => Some(rc.parse().map_err(|_| format!("section `{tag}` has the status `{rc}`"))?),
                };
                let side = self.side(stream);
                let captured = std::mem::replace(&mut side.now, Captured::new(cap));
                side.done.push(((*tag).to_owned(), rc, captured));
            }
            // What came before belongs to no section of the script's; it is kept with the section that begins.
            ["b", tag] => {
                let cap = self.caps.get(*tag).copied().unwrap_or(cap);
                let side = self.side(stream);
                let before = std::mem::replace(&mut side.now, Captured::new(cap));
                side.now.push(&before.bytes());
            }
            ["e", rc] => {
                let rc = rc.parse().map_err(|_| format!("a frame ended with the status `{rc}`"))?;
                self.side(stream).end = Some(rc);
            }
            other => return Err(format!("unknown mark `{}`", other.join(" "))),
        }
        Ok(())
    }

    /// Whether both streams have ended.
    pub(crate) fn is_complete(&self) -> bool {
        self.out.end.is_some() && self.err.end.is_some()
    }

    /// The answer so far; of streams that did not end, what there is.
    pub(crate) fn into_answer(self) -> Answer {
        let rc = self.out.end.unwrap_or(-1);
        let mut errs = self.err.done.into_iter();
        let sections = self.out.done.into_iter().map(|(tag, rc, stdout)| {
            let stderr = errs.next().map(|(_, _, stderr)| stderr).unwrap_or_default();
            Section { tag, rc, stdout, stderr }
        });
        let sections = sections.collect();
        let rest = Section { tag: String::new(), rc: None, stdout: self.out.now, stderr: self.err.now };
        Answer { sections, rest, rc }
    }
}
