//! Which module a task names, and what it is given.
use std::sync::Arc;

use super::arguments;
use super::fields::{self, nearest, unfit};
use super::freeform;
use super::keywords;
use super::loader::Reader;
use super::loops;
use super::settings::{self, Settings};
use super::task::Draft;
use super::tree::{Action, Args, Setting};
use super::vocabulary::{Known, Meaning, takes_text};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::source::Span;
use crate::yaml::{Data, Node};

/// What `meta` can be told.
const META: [&str; 10] = [
    "flush_handlers",
    "refresh_inventory",
    "noop",
    "clear_facts",
    "clear_host_errors",
    "end_host",
    "end_play",
    "end_batch",
    "end_role",
    "reset_connection",
];

impl Reader<'_> {
    /// The action of a task; all that is wrong with it is told.
    pub(super) fn action(
        &mut self,
        draft: &mut Draft,
        settings: &mut Arc<Settings>,
        span: &Span,
    ) -> Option<Action> {
        let before = self.problems.len();
        let (key, value) = self.named(draft, settings, span)?;
        let written = key.key_text().into_owned();
        let args = draft.args.take();
        let vocabulary = self.loader.vocabulary;
        let Meaning::Module(known) = vocabulary.meaning(&written) else { return None };
        let module = known.name;
        let mut given = self.given(known, &key, value, args);
        for defaults in settings.module_defaults.iter().rev() {
            self.defaults(known, defaults, &mut given);
        }
        match module {
            "meta" => self.meta(&given, &key),
            "set_fact" => {
                for (name, _) in given.given.iter().filter(|(name, _)| !fields::templated(name)) {
                    fields::variable(name, name, &mut self.problems);
                }
            }
            _ => {}
        }
        // What is missing is told only where everything that is there was understood.
        let free = given.free.is_some() || self.problems.len() > before;
        arguments::check(known, &given, &key.span, free, &mut self.problems);
        if self.problems.len() > before && module.ends_with("_role") {
            return None;
        }
        Some(Action { module: module.to_owned(), written, args: given, span: key.span })
    }

    /// The key that names the module, with its value.
    fn named(
        &mut self,
        draft: &mut Draft,
        settings: &mut Arc<Settings>,
        span: &Span,
    ) -> Option<(Node, Node)> {
        let mut modules = Vec::new();
        let mut strange = Vec::new();
        for (key, value) in std::mem::take(&mut draft.others) {
            match self.loader.vocabulary.meaning(&key.key_text()) {
                Meaning::Module(_) => modules.push((key, value)),
                meaning => strange.push((key, meaning)),
            }
        }
        let lone = modules.is_empty() && draft.action.is_none();
        let told = !strange.is_empty();
        for (key, meaning) in strange {
            let owner = modules.first().and_then(|(module, _)| {
                match self.loader.vocabulary.meaning(&module.key_text()) {
                    Meaning::Module(known) if arguments::names(known, &key.key_text()) => Some(known.name),
                    _ => None,
                }
            });
            let problem = match owner {
                Some(module) => {
                    Diagnostic::error(format!("a task takes no `{}`", key.key_text()), key.span.clone())
                        .help(format!("it is an argument of `{module}`: indent it below the module's name"))
                }
                None => stranger(&key, &meaning, lone),
            };
            self.problems.push(problem);
        }
        let action = draft.action.take().and_then(|(key, value)| self.spelt_out(&key, value, settings));
        let mut found = modules.into_iter().chain(action);
        let first = found.next();
        if first.is_none() && !told && lone {
            let place = Span::new(&span.source, span.start, span.start);
            let problem = Diagnostic::error("this task names no module", place);
            self.tell(problem.help("add one, such as `ansible.builtin.copy:` with its arguments below"));
        }
        if let (Some((first, _)), Some((second, _))) = (&first, found.next()) {
            let (one, two) = (first.key_text(), second.key_text());
            let message = format!("a task has one module; this one names `{one}` and `{two}`");
            self.tell(
                Diagnostic::error(message, second.span).help("make two tasks of it, each with its own `- `"),
            );
        }
        first
    }

    /// `action: module k=v`, `action: {module: name, …}`, `local_action: …`.
    fn spelt_out(&mut self, key: &Node, value: Node, settings: &mut Arc<Settings>) -> Option<(Node, Node)> {
        if key.key_text() == "local_action" {
            Arc::make_mut(settings).delegate_to = Some(Setting::Fixed("localhost".to_owned()));
        }
        let (name, args) = match value.data {
            Data::Str(ref text) => {
                let words = freeform::split(text).unwrap_or_default();
                let end = words.first().map_or(text.len(), |word| word.end);
                let rest = text[end..].len() - text[end..].trim_start().len() + end;
                let name =
                    Node { data: Data::Str(text[..end].to_owned()), span: value.part(0..end), tag: None };
                let data = if rest < text.len() { Data::Str(text[rest..].to_owned()) } else { Data::Null };
                (name, Node { data, span: value.part(rest..text.len()), tag: None })
            }
            Data::Map(mut pairs) => {
                let at = pairs.iter().position(|(key, _)| key.key_text() == "module");
                let Some(at) = at else {
                    let problem =
                        Diagnostic::error(format!("`{}` names no module", key.key_text()), key.span.clone());
                    self.tell(problem.help("add `module: name` to it"));
                    return None;
                };
                let (_, name) = pairs.remove(at);
                (name, Node { data: Data::Map(pairs), span: value.span, tag: None })
            }
            _ => {
                self.tell(unfit(key, &value, "a module's name and its arguments"));
                return None;
            }
        };
        let word = name.key_text().into_owned();
        if fields::is_template(&word) {
            let problem = Diagnostic::error("a module's name cannot be a template", name.span.clone());
            self.tell(
                problem
                    .help("use `package`, which fits every host, or one task a module, each with a `when:`"),
            );
            return None;
        }
        match self.loader.vocabulary.meaning(&word) {
            Meaning::Module(_) => Some((name, args)),
            meaning => {
                let problem = stranger(&name, &meaning, true);
                self.problems.push(problem);
                None
            }
        }
    }

    /// The arguments from the module's own value and from `args:`.
    fn given(&mut self, known: &Known, key: &Node, value: Node, args: Option<(Node, Node)>) -> Args {
        let module = known.name;
        let kind = value.kind();
        let raw = matches!(module, "command" | "shell" | "script");
        let span = value.span.clone();
        let mut given = match value.data {
            Data::Map(pairs) => Args { given: pairs, free: None },
            Data::Null => Args::default(),
            Data::Str(_) => freeform::arguments(&value, raw, &mut self.problems),
            Data::Seq(ref members) if raw && members.iter().all(|member| member.as_seq().is_none()) => {
                let argv = Node { data: Data::Str("argv".to_owned()), span: key.span.clone(), tag: None };
                Args { given: vec![(argv, value)], free: None }
            }
            _ => {
                let message = format!("`{module}` wants its arguments as a mapping; this is {kind}");
                self.tell(Diagnostic::error(message, span.clone()));
                Args::default()
            }
        };
        if let Some(argument) = known.free_form
            && let Some(free) = given.free.take()
        {
            let name = Node { data: Data::Str(argument.to_owned()), span: free.span.clone(), tag: None };
            given.given.push((name, free));
        }
        if let Some(free) = given.free.take_if(|_| !takes_text(module)) {
            let message = format!("`{module}` takes named arguments; this text belongs to none of them");
            let help = match module {
                "import_role" | "include_role" => format!("write `name: {}` below it", free.raw()),
                _ => format!("write the arguments as a mapping, one a line, under `{module}:`"),
            };
            self.tell(Diagnostic::error(message, free.span).help(help));
        }
        match args {
            Some((_, Node { data: Data::Map(pairs), .. })) => {
                for (key, value) in pairs {
                    if given.get(&key.key_text()).is_none() {
                        given.given.push((key, value));
                    }
                }
            }
            Some((_, Node { data: Data::Null, .. })) | None => {}
            Some((key, value)) => {
                let problem = unfit(&key, &value, "a mapping");
                self.tell(problem.help("name each argument; a template may stand in each value"));
            }
        }
        given
    }

    /// Adds what `module_defaults` gives to the module; what is given already counts.
    fn defaults(&mut self, known: &Known, defaults: &Node, given: &mut Args) {
        for (key, values) in defaults.entries() {
            let word = key.key_text();
            match self.loader.vocabulary.meaning(&word) {
                Meaning::Module(other) if other.name == known.name => {
                    for (name, value) in values.entries() {
                        let canonical = arguments::canonical(known, name.as_str().unwrap_or_default());
                        let there = given.given.iter().any(|(key, _)| {
                            arguments::canonical(known, key.as_str().unwrap_or_default()) == canonical
                        });
                        if !there {
                            given.given.push((name.clone(), value.clone()));
                        }
                    }
                }
                Meaning::Module(_) => {}
                // Every task that inherits the mapping comes by here: told once.
                _ if self.problems.iter().any(|problem| problem.span.as_ref() == Some(&key.span)) => {}
                _ if word.starts_with("group/") => {
                    let message = "groups of modules belong to collections, which are not loaded";
                    self.tell(Diagnostic::error(message, key.span.clone()).help("name each module"));
                }
                meaning => {
                    let problem = stranger(key, &meaning, true);
                    self.problems.push(problem);
                }
            }
        }
    }

    fn meta(&mut self, args: &Args, key: &Node) {
        let Some(free) = &args.free else {
            let problem = Diagnostic::error("`meta` wants one word", key.span.clone());
            self.tell(problem.help(format!("one of: {}", META.join(", "))));
            return;
        };
        let word = free.as_str().unwrap_or_default();
        if !META.contains(&word) {
            let problem = Diagnostic::error(format!("`meta` does not know `{word}`"), free.span.clone());
            let problem = problem.note(format!("it knows: {}", META.join(", ")));
            self.tell(nearest(problem, did_you_mean(word, META)));
        }
    }
}

/// The problem of a key in a task that is neither keyword nor module. `lone`: the task has no module besides.
fn stranger(key: &Node, meaning: &Meaning<'_>, lone: bool) -> Diagnostic {
    let word = key.key_text();
    if let Some(refusal) = keywords::refused(&word).filter(|refusal| refusal.name != "user" || !lone) {
        return keywords::refusal(refusal, key);
    }
    let keyword = did_you_mean(&word, words());
    let near = match meaning {
        Meaning::Refused(why, instead) => {
            return Diagnostic::error(
                format!("the module `{word}` is not supported: {why}"),
                key.span.clone(),
            )
            .help(*instead);
        }
        Meaning::Unknown(near) => near.as_deref(),
        Meaning::Module(_) => None,
    };
    if let Some(plugin) = word.strip_prefix("with_") {
        let known: Vec<&str> = loops::KINDS.iter().map(|(name, _)| *name).collect();
        let problem =
            Diagnostic::error(format!("the lookup `{plugin}` cannot be looped over"), key.span.clone());
        return match did_you_mean(&word, known.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help(format!("write `loop:` with an expression; known: {}", known.join(", "))),
        };
    }
    if keyword.is_none()
        && (keywords::PLAY.contains(&word.as_ref()) || keywords::BLOCK.contains(&word.as_ref()))
    {
        return keywords::unknown(key, "a task", &keywords::TASK);
    }
    let message = if lone {
        format!("no module or keyword is named `{word}`")
    } else {
        format!("a task takes no `{word}`")
    };
    let problem = Diagnostic::error(message, key.span.clone());
    match (lone, near, keyword) {
        (true, Some(near), _) | (_, Some(near), None) if lone || !word.contains('.') => {
            problem.help(format!("did you mean `{near}`?"))
        }
        (_, _, Some(near)) => problem.help(format!("did you mean `{near}`?")),
        (true, ..) if word.contains('.') => {
            problem.help("modules of collections are not loaded; `tunerun doc` lists the modules there are")
        }
        (true, ..) => problem.help("`tunerun doc` lists the modules there are"),
        _ => problem.help("if it is an argument of the module, indent it below the module's name"),
    }
}

/// All keywords of a task.
fn words() -> impl Iterator<Item = &'static str> {
    let kept = keywords::TASK.into_iter().filter(|word| keywords::refused(word).is_none());
    kept.chain(settings::WORDS).chain(loops::KINDS.into_iter().map(|(name, _)| name))
}
