//! Lists of tasks: blocks, and tasks with their keywords.
use std::sync::Arc;

use super::expect::{Expectation, expectations};
use super::fields::{self, conditions, flag, text};
use super::include;
use super::keywords;
use super::loader::Reader;
use super::loops;
use super::rollout::{Gate, written};
use super::settings::{self, Owner, Settings};
use super::tree::{Block, Expression, Item, Loop, LoopControl, LoopKind, Place, Setting, Task};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::yaml::{Data, Node};

/// A task while its keywords are read.
#[derive(Default)]
pub(super) struct Draft {
    pub name: Option<Arc<Node>>,
    /// Keys that are no keywords: modules, or mistakes.
    pub others: Vec<(Node, Node)>,
    /// `action` or `local_action`.
    pub action: Option<(Node, Node)>,
    pub args: Option<(Node, Node)>,
    pub loops: Vec<(Node, LoopKind, Node)>,
    pub control: Option<LoopControl>,
    pub register: Option<(String, Span)>,
    pub until: Vec<Expression>,
    pub retries: Option<Setting<i64>>,
    pub delay: Option<Setting<f64>>,
    pub changed_when: Vec<Expression>,
    pub failed_when: Vec<Expression>,
    pub listen: Vec<String>,
    pub expect: Vec<Expectation>,
    pub gate: Option<Arc<Node>>,
    pub probe: Option<Setting<bool>>,
    pub spoils: Option<Arc<Node>>,
    pub undo: Option<Arc<Node>>,
}

impl Reader<'_> {
    /// A list of tasks, blocks and includes.
    pub(super) fn items(
        &mut self,
        nodes: Vec<Node>,
        settings: &Arc<Settings>,
        place: &Arc<Place>,
    ) -> Vec<Item> {
        nodes.into_iter().filter_map(|node| self.item(node, settings, place)).collect()
    }

    fn item(&mut self, node: Node, settings: &Arc<Settings>, place: &Arc<Place>) -> Option<Item> {
        let span = node.span.clone();
        let kind = node.kind();
        let Data::Map(pairs) = node.data else {
            let problem =
                Diagnostic::error(format!("a task should be a mapping; this is {kind}"), span.clone());
            let word = node.as_str().filter(|word| self.loader.vocabulary.get(word).is_some());
            self.tell(match word {
                Some(module) => problem.help(format!("write `- {module}:` and its arguments below it")),
                None => problem.help("write `- name: …` and the module below it"),
            });
            return None;
        };
        let has = |word: &str| pairs.iter().any(|(key, _)| key.key_text() == word);
        if has("block") || ((has("rescue") || has("always")) && !has("action")) {
            return Some(Item::Block(self.block(pairs, span, settings, place)));
        }
        if has("hosts") && (has("tasks") || has("roles")) {
            let problem = Diagnostic::error(
                "this is a play where a task should be",
                Span::new(&span.source, span.start, span.start),
            );
            self.tell(problem.help("move it to the left margin, or import its file by `import_playbook`"));
            return None;
        }
        self.task(pairs, span, settings, place)
    }

    fn block(
        &mut self,
        pairs: Vec<(Node, Node)>,
        span: Span,
        parent: &Arc<Settings>,
        place: &Arc<Place>,
    ) -> Block {
        let mut settings = Settings::clone(parent);
        let (mut name, mut gate) = (None, None);
        let mut lists: [Option<Vec<Node>>; 3] = [None, None, None];
        for (key, mut value) in pairs {
            let word = key.key_text();
            let section = ["block", "rescue", "always"].iter().position(|name| *name == word);
            if let Some(section) = section {
                lists[section] = Some(fields::list(&key, &mut value, "tasks", &mut self.problems));
                continue;
            }
            match word.as_ref() {
                "name" => name = Some(Arc::new(value)),
                "gate" => gate = Some(written::<Gate>(&key, value, &mut self.problems)),
                "collections" => {}
                "loop" | "register" | "until" | "listen" => {
                    let problem = Diagnostic::error(format!("a block takes no `{word}`"), key.span.clone());
                    self.tell(
                        problem.help("put the tasks into a file and use `include_tasks`, which takes it"),
                    );
                }
                _ if settings.take(Owner::Block, &key, &mut value, &mut self.problems) => {}
                _ => self.problems.push(keywords::unknown(&key, "a block", &keywords::BLOCK)),
            }
        }
        if lists[0].is_none() {
            let place = Span::new(&span.source, span.start, span.start);
            let problem = Diagnostic::error("`rescue` and `always` need a `block` beside them", place);
            self.tell(problem.help("add `block:` with the tasks that are tried"));
        }
        let settings = Arc::new(settings);
        let [block, rescue, always] =
            lists.map(|nodes| self.items(nodes.unwrap_or_default(), &settings, place));
        Block { name, block, rescue, always, once: None, gate, span }
    }

    fn task(
        &mut self,
        pairs: Vec<(Node, Node)>,
        span: Span,
        parent: &Arc<Settings>,
        place: &Arc<Place>,
    ) -> Option<Item> {
        let mut settings = Arc::clone(parent);
        let mut draft = Draft::default();
        let mut private = Vec::new();
        for (key, mut value) in pairs {
            let shared = key.as_str().is_some_and(|word| settings::WORDS.contains(&word));
            if shared {
                if !include::TAKEN.contains(&key.key_text().as_ref()) {
                    private.push(key.clone());
                }
                // Only a task with keywords of its own pays for a copy of what it inherits.
                let own = Arc::make_mut(&mut settings);
                own.take(Owner::Task, &key, &mut value, &mut self.problems);
            } else {
                self.task_keyword(&mut draft, key, value);
            }
        }
        let action = self.action(&mut draft, &mut settings, &span)?;
        let repeat = self.repeat(&mut draft);
        self.retries(&draft, &span);
        let task = Task {
            id: self.number(),
            name: draft.name,
            action,
            settings,
            repeat,
            register: draft.register,
            until: draft.until,
            retries: draft.retries,
            delay: draft.delay,
            changed_when: draft.changed_when,
            failed_when: draft.failed_when,
            listen: draft.listen,
            expect: draft.expect,
            gate: draft.gate,
            probe: draft.probe,
            spoils: draft.spoils,
            undo: draft.undo,
            place: Arc::clone(place),
            span,
        };
        self.steered(task, parent, &private)
    }

    fn task_keyword(&mut self, draft: &mut Draft, key: Node, mut value: Node) {
        let word = key.key_text().into_owned();
        let problems = &mut self.problems;
        match word.as_str() {
            "name" => draft.name = text(&key, &value, problems).map(|_| Arc::new(value)),
            "action" => draft.action = Some((key, value)),
            "local_action" => draft.action = Some((key, value)),
            "args" => draft.args = Some((key, value)),
            "loop_control" => draft.control = Some(loops::control(&key, value, problems)),
            "register" => {
                let span = value.span.clone();
                draft.register = fields::variable(&key, &value, problems).map(|name| (name, span));
            }
            "until" => draft.until = conditions(&key, &mut value, problems),
            "retries" => draft.retries = fields::whole(&key, &value, 0, problems),
            "delay" => draft.delay = fields::number(&key, &value, problems),
            "changed_when" => draft.changed_when = conditions(&key, &mut value, problems),
            "failed_when" => draft.failed_when = conditions(&key, &mut value, problems),
            "listen" => {
                let topics = fields::texts(&key, &mut value, problems);
                draft.listen = topics.iter().filter_map(|topic| topic.as_str().map(str::to_owned)).collect();
            }
            "gate" => draft.gate = Some(written::<Gate>(&key, value, problems)),
            "expect" => draft.expect = expectations(value, problems),
            "probe" => draft.probe = flag(&key, &value, problems),
            "spoils" => draft.spoils = Some(Arc::new(value)),
            "undo" => draft.undo = Some(Arc::new(value)),
            "collections" => {}
            _ => match loops::kind(&word) {
                Some(kind) => draft.loops.push((key, kind, value)),
                None => draft.others.push((key, value)),
            },
        }
    }

    fn repeat(&mut self, draft: &mut Draft) -> Option<Loop> {
        let mut loops = std::mem::take(&mut draft.loops).into_iter();
        let control = draft.control.take();
        let (key, kind, value) = loops.next()?;
        for (again, ..) in loops {
            let message = format!(
                "a task loops once: `{}` and `{}` exclude each other",
                key.key_text(),
                again.key_text()
            );
            self.tell(Diagnostic::error(message, again.span).help("join the lists in one expression"));
        }
        loops::checked(&key, kind, &value, &mut self.problems);
        Some(Loop { kind, over: Arc::new(value), control: control.unwrap_or_default() })
    }

    /// `retries` without `until` repeats nothing in older versions of Ansible; here it means "until it succeeds".
    fn retries(&mut self, draft: &Draft, span: &Span) {
        if draft.delay.is_some() && draft.until.is_empty() && draft.retries.is_none() {
            let place = Span::new(&span.source, span.start, span.start);
            let problem = Diagnostic::warning("`delay` without `until` or `retries` does nothing", place);
            self.tell(problem.help("add `until:`, or use `pause:`"));
        }
    }
}
