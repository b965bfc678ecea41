//! Plays, and the playbooks that they stand in.
use std::sync::Arc;

use super::fields::{self, flag, grab, templated, unfit};
use super::files;
use super::keywords;
use super::loader::Reader;
use super::rollout::{Gate, Guard, Rollout, written};
use super::settings::{Owner, Settings};
use super::tree::{Batch, Order, Place, Play, Prompt, Setting, VarsFile};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::Span;
use crate::yaml::{Data, Node};

impl Reader<'_> {
    /// All plays of a file; `around` is what an import hands down.
    pub(super) fn playbook(&mut self, path: &str, around: Option<(&Span, &Settings)>) -> Vec<Play> {
        let from = around.map(|(span, _)| span.clone());
        let settings = around.map(|(_, settings)| settings.clone()).unwrap_or_default();
        let outer = std::mem::replace(&mut self.playbook_folder, Arc::from(files::folder(path)));
        let outermost = from.is_none() && self.open.is_empty();
        if outermost {
            self.open.push(path.to_owned());
        }
        let nodes = self.listed(path, from.as_ref(), "plays");
        if nodes.is_empty() && self.problems.is_empty() && from.is_none() {
            let end = self.sources.last().map(|source| Span::new(source, 0, 0));
            self.tell(Diagnostic::error("this playbook holds no play", end).help("start with `- hosts: …`"));
        }
        let mut plays = Vec::new();
        for node in nodes {
            self.member(node, &settings, &mut plays);
        }
        self.playbook_folder = outer;
        if outermost {
            self.open.pop();
        }
        plays
    }

    fn member(&mut self, node: Node, settings: &Settings, plays: &mut Vec<Play>) {
        let span = node.span.clone();
        let kind = node.kind();
        let Data::Map(pairs) = node.data else {
            self.tell(Diagnostic::error(format!("a play should be a mapping; this is {kind}"), span));
            return;
        };
        let import = pairs.iter().position(|(key, _)| {
            let word = key.key_text();
            word == "import_playbook" || word == "ansible.builtin.import_playbook"
        });
        match import {
            Some(at) => self.import(pairs, at, settings, plays),
            None => plays.extend(self.play(pairs, span, settings)),
        }
    }

    fn import(&mut self, mut pairs: Vec<(Node, Node)>, at: usize, around: &Settings, plays: &mut Vec<Play>) {
        let (key, value) = pairs.remove(at);
        let mut settings = around.clone();
        for (key, mut value) in pairs {
            let word = key.key_text().into_owned();
            if !matches!(word.as_str(), "name" | "when" | "tags" | "vars") {
                self.tell(keywords::unknown(&key, "import_playbook", &["name", "when", "tags", "vars"]));
            } else if word != "name" {
                settings.take(Owner::Block, &key, &mut value, &mut self.problems);
            }
        }
        let Some(name) = fields::word(&key, &value, &mut self.problems) else { return };
        let path = files::join(&self.playbook_folder, name.trim());
        plays.extend(
            self.inside(&path, &value.span, |reader| reader.playbook(&path, Some((&value.span, &settings)))),
        );
    }

    fn play(&mut self, pairs: Vec<(Node, Node)>, span: Span, around: &Settings) -> Option<Play> {
        let keys: Vec<String> = pairs.iter().map(|(key, _)| key.key_text().into_owned()).collect();
        if !keys.iter().any(|key| key == "hosts") && !self.looks_like_play(&keys, &span) {
            return None;
        }
        let mut draft = Draft { settings: around.clone(), ..Draft::default() };
        for (key, value) in pairs {
            self.keyword(&mut draft, key, value);
        }
        let name = draft.name.take().unwrap_or_else(|| {
            let names: Vec<&str> = draft.hosts.iter().filter_map(|host| host.as_str()).collect();
            names.join(",")
        });
        Some(self.sections(draft, name, span))
    }

    /// Says what is wrong with a play without hosts; most often it is a task that stands too far left.
    fn looks_like_play(&mut self, keys: &[String], span: &Span) -> bool {
        let playish = ["tasks", "roles", "pre_tasks", "post_tasks", "handlers", "gather_facts", "vars_files"];
        let is_task = keys.iter().any(|key| {
            matches!(self.loader.vocabulary.meaning(key), super::vocabulary::Meaning::Module(_))
                || matches!(key.as_str(), "block" | "action" | "register")
        });
        let place = Span::new(&span.source, span.start, span.start);
        if is_task && !keys.iter().any(|key| playish.contains(&key.as_str())) {
            self.tell(
                Diagnostic::error("this is a task where a play should be", place)
                    .help("put it under `tasks:` of a play, which starts with `- hosts: …`"),
            );
            return false;
        }
        // A misspelt `hosts` is told as an unknown keyword.
        if !keys.iter().any(|key| did_you_mean(key, ["hosts"]).is_some()) {
            let problem = Diagnostic::error("this play has no `hosts:`", place);
            self.tell(problem.help("add `hosts: all` or a narrower pattern"));
        }
        true
    }

    fn keyword(&mut self, draft: &mut Draft, key: Node, mut value: Node) {
        let problems = &mut self.problems;
        if keywords::refused(&key.key_text()).is_some() {
            problems.push(keywords::unknown(&key, "a play", &keywords::PLAY));
            return;
        }
        match key.key_text().as_ref() {
            "name" => draft.name = fields::text(&key, &value, problems).map(|_| text_of(&value)),
            "hosts" => draft.hosts = hosts(&key, &mut value, problems),
            "vars" => draft.vars = fields::variables(&key, &mut value, problems),
            "vars_files" => draft.vars_files = fields::list(&key, &mut value, "file names", problems),
            "vars_prompt" => {
                draft.vars_prompt = prompts(fields::list(&key, &mut value, "prompts", problems), problems)
            }
            "gather_facts" => draft.gather_facts = flag(&key, &value, problems),
            "serial" => draft.serial = batches(&key, &mut value, problems),
            "max_fail_percentage" => draft.max_fail = fields::number(&key, &value, problems),
            "max_unreachable" => draft.max_unreachable = batch(&key, &value, problems),
            "strategy" => draft.strategy = strategy(&key, &value, problems),
            "order" => draft.order = order(&key, &value, problems),
            "force_handlers" => draft.force_handlers = flag(&key, &value, problems),
            "rollout" => draft.rollout = Some(written::<Rollout>(&key, value, problems)),
            "guard" => draft.guard = Some(written::<Guard>(&key, value, problems)),
            "gate" => draft.gate = Some(written::<Gate>(&key, value, problems)),
            "roles" => draft.roles = fields::list(&key, &mut value, "roles", problems),
            "pre_tasks" => draft.pre_tasks = fields::list(&key, &mut value, "tasks", problems),
            "tasks" => draft.tasks = fields::list(&key, &mut value, "tasks", problems),
            "post_tasks" => draft.post_tasks = fields::list(&key, &mut value, "tasks", problems),
            "handlers" => draft.handlers = fields::list(&key, &mut value, "handlers", problems),
            // Facts are read where they are named, and modules have one name each: neither changes anything here.
            "collections" | "gather_subset" => {}
            "when" | "notify" | "delegate_to" | "delegate_facts" => {
                problems.push(keywords::unknown(&key, "a play", &keywords::PLAY));
            }
            _ if draft.settings.take(Owner::Play, &key, &mut value, problems) => {}
            _ => problems.push(keywords::unknown(&key, "a play", &keywords::PLAY)),
        }
    }

    fn sections(&mut self, mut draft: Draft, name: String, span: Span) -> Play {
        let settings = Arc::new(std::mem::take(&mut draft.settings));
        let place = Arc::new(Place {
            folder: self.playbook_folder.to_string(),
            playbook_folder: Arc::clone(&self.playbook_folder),
            role: None,
        });
        if let (false, Some(rollout)) = (draft.serial.is_empty(), &draft.rollout) {
            let message = "`serial:` and a rollout both say who goes together";
            let problem = Diagnostic::error(message, rollout.span.clone());
            self.tell(problem.help("write the numbers of `serial:` as `waves:`, cumulative"));
        }
        self.roles.clear();
        self.handlers.clear();
        let pre_tasks = self.items(draft.pre_tasks, &settings, &place);
        let role_tasks = self.roles(draft.roles, &settings);
        let tasks = self.items(draft.tasks, &settings, &place);
        let post_tasks = self.items(draft.post_tasks, &settings, &place);
        let own = self.items(draft.handlers, &settings, &place);
        let mut handlers = std::mem::take(&mut self.handlers);
        handlers.extend(own);
        let vars_files = draft.vars_files.into_iter().filter_map(|node| self.vars_file(node)).collect();
        let play = Play {
            name,
            hosts: draft.hosts,
            settings,
            vars: draft.vars,
            vars_files,
            vars_prompt: draft.vars_prompt,
            gather_facts: draft.gather_facts,
            serial: draft.serial,
            max_fail_percentage: draft.max_fail,
            max_unreachable: draft.max_unreachable,
            strategy: draft.strategy,
            order: draft.order,
            force_handlers: draft.force_handlers,
            rollout: draft.rollout,
            guard: draft.guard,
            gate: draft.gate,
            roles: std::mem::take(&mut self.roles),
            pre_tasks,
            role_tasks,
            tasks,
            post_tasks,
            handlers,
            folder: Arc::clone(&self.playbook_folder),
            span,
        };
        super::handlers::check(&play, &mut self.problems);
        play
    }

    fn vars_file(&mut self, mut node: Node) -> Option<VarsFile> {
        let span = node.span.clone();
        let choices: Vec<Arc<Node>> = match grab(&mut node).data {
            Data::Seq(members) => members.into_iter().map(Arc::new).collect(),
            data => vec![Arc::new(Node { data, ..node })],
        };
        if let Some(bad) = choices.iter().find(|choice| choice.as_str().is_none()) {
            let message = format!("`vars_files` wants file names; this is {}", bad.kind());
            self.tell(Diagnostic::error(message, bad.span.clone()));
            return None;
        }
        if choices.iter().any(|choice| templated(choice)) {
            return Some(VarsFile { choices, loaded: None });
        }
        let folder = [self.playbook_folder.to_string()];
        let names: Vec<&str> = choices.iter().filter_map(|choice| choice.as_str()).collect();
        let there = names.iter().map(|name| files::join(&folder[0], name));
        let path = match there.clone().find(|path| self.loader.files.is_file(path)) {
            Some(path) => path,
            None => self.find(&folder, names.first().copied().unwrap_or_default(), &span)?,
        };
        let vars = self.variables_file(&path, Some(&span));
        Some(VarsFile { choices, loaded: vars.map(|vars| (path, vars)) })
    }
}

#[derive(Default)]
struct Draft {
    settings: Settings,
    name: Option<String>,
    hosts: Vec<Arc<Node>>,
    vars: Option<Arc<Node>>,
    vars_files: Vec<Node>,
    vars_prompt: Vec<Prompt>,
    gather_facts: Option<Setting<bool>>,
    serial: Vec<Batch>,
    max_fail: Option<Setting<f64>>,
    max_unreachable: Option<Batch>,
    strategy: Option<String>,
    order: Order,
    force_handlers: Option<Setting<bool>>,
    rollout: Option<Arc<Node>>,
    guard: Option<Arc<Node>>,
    gate: Option<Arc<Node>>,
    roles: Vec<Node>,
    pre_tasks: Vec<Node>,
    tasks: Vec<Node>,
    post_tasks: Vec<Node>,
    handlers: Vec<Node>,
}

fn text_of(value: &Node) -> String {
    value.as_str().map_or_else(|| value.raw().to_owned(), str::to_owned)
}

fn hosts(key: &Node, value: &mut Node, problems: &mut Problems) -> Vec<Arc<Node>> {
    if value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty()) {
        problems.push(unfit(key, value, "a host pattern").help("write `hosts: all` or a narrower pattern"));
        return Vec::new();
    }
    fields::texts(key, value, problems)
}

fn batches(key: &Node, value: &mut Node, problems: &mut Problems) -> Vec<Batch> {
    let node = grab(value);
    match node.data {
        Data::Seq(members) => members.iter().filter_map(|member| batch(key, member, problems)).collect(),
        data => batch(key, &Node { data, ..node }, problems).into_iter().collect(),
    }
}

fn batch(key: &Node, value: &Node, problems: &mut Problems) -> Option<Batch> {
    let found = match &value.data {
        Data::Int(number) => u32::try_from(*number).ok().map(Batch::Hosts),
        Data::Str(text) if fields::is_template(text) => Some(Batch::Template(Arc::new(value.clone()))),
        Data::Str(text) => match text.trim().strip_suffix('%') {
            Some(share) => {
                share.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share)).map(Batch::Percent)
            }
            None => text.trim().parse().ok().map(Batch::Hosts),
        },
        _ => None,
    };
    if found.is_none() {
        problems.push(unfit(key, value, "a number of hosts or a percentage").help("write `2` or `\"30%\"`"));
    }
    found
}

fn strategy(key: &Node, value: &Node, problems: &mut Problems) -> Option<String> {
    let word = fields::word(key, value, problems)?;
    let short = word.rsplit('.').next().unwrap_or(&word).to_owned();
    match short.as_str() {
        "linear" | "free" | "host_pinned" => Some(short),
        "debug" => {
            let message = "the strategy `debug` is not supported: there is no interactive debugger";
            problems.push(Diagnostic::error(message, value.span.clone()).help("use `--step`"));
            None
        }
        _ => {
            let problem = Diagnostic::error(format!("no strategy is named `{word}`"), value.span.clone())
                .note("strategies: linear, free, host_pinned");
            problems.push(fields::nearest(problem, did_you_mean(&short, ["linear", "free", "host_pinned"])));
            None
        }
    }
}

fn order(key: &Node, value: &Node, problems: &mut Problems) -> Order {
    const ORDERS: [(&str, Order); 5] = [
        ("inventory", Order::Inventory),
        ("reverse_inventory", Order::ReverseInventory),
        ("sorted", Order::Sorted),
        ("reverse_sorted", Order::ReverseSorted),
        ("shuffle", Order::Shuffle),
    ];
    let Some(word) = fields::word(key, value, problems) else { return Order::default() };
    if let Some((_, order)) = ORDERS.iter().find(|(name, _)| *name == word) {
        return *order;
    }
    let names = ORDERS.map(|(name, _)| name);
    let problem = Diagnostic::error(format!("no order is named `{word}`"), value.span.clone())
        .note(format!("orders: {}", names.join(", ")));
    problems.push(fields::nearest(problem, did_you_mean(&word, names)));
    Order::default()
}

fn prompts(nodes: Vec<Node>, problems: &mut Problems) -> Vec<Prompt> {
    nodes.into_iter().filter_map(|node| prompt(node, problems)).collect()
}

fn prompt(node: Node, problems: &mut Problems) -> Option<Prompt> {
    const KEYS: [&str; 9] =
        ["name", "prompt", "default", "private", "confirm", "encrypt", "salt", "salt_size", "unsafe"];
    let span = node.span.clone();
    let kind = node.kind();
    let Data::Map(pairs) = node.data else {
        problems.push(Diagnostic::error(format!("a prompt should be a mapping; this is {kind}"), span));
        return None;
    };
    let mut prompt = Prompt {
        name: String::new(),
        prompt: None,
        default: None,
        private: true,
        confirm: false,
        span: span.clone(),
    };
    for (key, value) in pairs {
        let known = |setting: Option<Setting<bool>>| setting.as_ref().and_then(Setting::fixed).copied();
        match key.key_text().as_ref() {
            "name" => {
                prompt.name = fields::variable(&key, &value, problems).unwrap_or_else(|| "?".to_owned())
            }
            "prompt" => prompt.prompt = Some(text_of(&value)),
            "default" => prompt.default = Some(Arc::new(value)),
            "private" => prompt.private = known(flag(&key, &value, problems)).unwrap_or(true),
            "confirm" => prompt.confirm = known(flag(&key, &value, problems)).unwrap_or(false),
            "unsafe" => {}
            "encrypt" | "salt" | "salt_size" => {
                let message = format!("`{}` is not supported: answers are not hashed here", key.key_text());
                problems.push(Diagnostic::error(message, key.span).help("ask for the hash itself"));
            }
            word => {
                let problem = Diagnostic::error(format!("a prompt takes no `{word}`"), key.span.clone());
                problems.push(fields::nearest(problem, did_you_mean(word, KEYS)));
            }
        }
    }
    if prompt.name.is_empty() {
        problems
            .push(Diagnostic::error("a prompt without the name of its variable", span).help("add `name:`"));
        return None;
    }
    Some(prompt)
}
