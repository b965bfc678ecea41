//! What plays, roles, blocks and tasks have in common and hand down.
use std::sync::Arc;

use super::fields::{self, flag, text, whole};
use super::tree::{Expression, Setting};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::Span;
use crate::yaml::{Data, Node};

/// The names that `accept_risk` knows.
pub const RISKS: [&str; 9] = [
    "security",
    "data_loss",
    "cannot_converge",
    "destroy_guest",
    "blast_radius_cluster",
    "no_guard",
    "no_try_boot",
    "memory",
    "irreversible",
];

/// The keywords that [`Settings::take`] takes.
pub const WORDS: [&str; 27] = [
    "become",
    "become_user",
    "become_method",
    "become_flags",
    "become_exe",
    "connection",
    "remote_user",
    "port",
    "no_log",
    "ignore_errors",
    "ignore_unreachable",
    "any_errors_fatal",
    "check_mode",
    "diff",
    "run_once",
    "delegate_to",
    "delegate_facts",
    "throttle",
    "timeout",
    "dead_man",
    "environment",
    "module_defaults",
    "when",
    "tags",
    "notify",
    "accept_risk",
    "vars",
];

/// Inheritable keywords. A nearer value replaces a farther one, save where the field says that they add up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// `become`.
    pub r#become: Option<Setting<bool>>,
    /// `become_user`.
    pub become_user: Option<Setting<String>>,
    /// `become_method`: sudo, su or doas.
    pub become_method: Option<Setting<String>>,
    /// `become_flags`.
    pub become_flags: Option<Setting<String>>,
    /// `become_exe`.
    pub become_exe: Option<Setting<String>>,
    /// `connection`.
    pub connection: Option<Setting<String>>,
    /// `remote_user`.
    pub remote_user: Option<Setting<String>>,
    /// `port`.
    pub port: Option<Setting<i64>>,
    /// `no_log`.
    pub no_log: Option<Setting<bool>>,
    /// `ignore_errors`.
    pub ignore_errors: Option<Setting<bool>>,
    /// `ignore_unreachable`.
    pub ignore_unreachable: Option<Setting<bool>>,
    /// `any_errors_fatal`.
    pub any_errors_fatal: Option<Setting<bool>>,
    /// `check_mode`: true only ever plans, false acts also under `--check`.
    pub check_mode: Option<Setting<bool>>,
    /// `diff`.
    pub diff: Option<Setting<bool>>,
    /// `run_once`.
    pub run_once: Option<Setting<bool>>,
    /// `delegate_to`.
    pub delegate_to: Option<Setting<String>>,
    /// `delegate_facts`.
    pub delegate_facts: Option<Setting<bool>>,
    /// `throttle`: at most so many hosts at once.
    pub throttle: Option<Setting<i64>>,
    /// `timeout` in seconds.
    pub timeout: Option<Setting<i64>>,
    /// `dead_man`: how many seconds a host waits for a new connection before it takes a change back by itself. A task
    /// that names it is taken for one that may cut the link.
    pub dead_man: Option<Setting<i64>>,
    /// `environment`: mappings or templates that give one; they add up, outer first.
    pub environment: Vec<Arc<Node>>,
    /// `module_defaults`: mappings from module to arguments; they add up, outer first.
    pub module_defaults: Vec<Arc<Node>>,
    /// `when`: all must hold; they add up, outer first.
    pub when: Vec<Expression>,
    /// `tags`, without doubles; they add up.
    pub tags: Vec<Arc<str>>,
    /// `vars`, outer first: of two with one name and kind the later counts.
    pub vars: Vec<Layer>,
    /// `notify`: names of handlers or topics, maybe templates; they add up.
    pub notify: Vec<Arc<Node>>,
    /// `accept_risk`; they add up, the nearer reason counts.
    pub accept_risk: Vec<Waiver>,
}

/// A mapping of variables, and what it ranks as.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Its rank.
    pub kind: LayerKind,
    /// The mapping.
    pub vars: Arc<Node>,
}

/// Ranks of variables that tasks carry, lowest first; the numbers are those of Ansible's list of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    /// `vars` of a block or an import around the task (16).
    Block,
    /// `vars` of the task itself (17).
    Task,
    /// Parameters of a role (20).
    RoleParams,
    /// `vars` of an include around the task (21).
    IncludeParams,
}

/// One accepted risk.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiver {
    /// One of [`RISKS`].
    pub risk: &'static str,
    /// Why it was accepted.
    pub reason: String,
    /// Where.
    pub span: Span,
}

/// Whose keywords are read: it decides the rank of `vars`, and whether they are kept here at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A play: its `vars` are kept by the play.
    Play,
    /// A role in `roles:`.
    Role,
    /// A block, or an import around tasks.
    Block,
    /// A task.
    Task,
}

impl Settings {
    /// Takes a keyword if it is one of these, and says whether it was.
    pub fn take(&mut self, owner: Owner, key: &Node, value: &mut Node, problems: &mut Problems) -> bool {
        let Some(word) = key.as_str() else { return false };
        match word {
            "become" => set(&mut self.r#become, flag(key, value, problems)),
            "become_user" => set(&mut self.become_user, text(key, value, problems)),
            "become_method" => set(&mut self.become_method, method(key, value, problems)),
            "become_flags" => set(&mut self.become_flags, text(key, value, problems)),
            "become_exe" => set(&mut self.become_exe, text(key, value, problems)),
            "connection" => set(&mut self.connection, text(key, value, problems)),
            "remote_user" => set(&mut self.remote_user, text(key, value, problems)),
            "port" => set(&mut self.port, whole(key, value, 1, problems)),
            "no_log" => set(&mut self.no_log, flag(key, value, problems)),
            "ignore_errors" => set(&mut self.ignore_errors, flag(key, value, problems)),
            "ignore_unreachable" => set(&mut self.ignore_unreachable, flag(key, value, problems)),
            "any_errors_fatal" => set(&mut self.any_errors_fatal, flag(key, value, problems)),
            "check_mode" => set(&mut self.check_mode, flag(key, value, problems)),
            "diff" => set(&mut self.diff, flag(key, value, problems)),
            "run_once" => set(&mut self.run_once, flag(key, value, problems)),
            "delegate_to" => set(&mut self.delegate_to, text(key, value, problems)),
            "delegate_facts" => set(&mut self.delegate_facts, flag(key, value, problems)),
            "throttle" => set(&mut self.throttle, whole(key, value, 0, problems)),
            "timeout" => set(&mut self.timeout, whole(key, value, 0, problems)),
            "dead_man" => set(&mut self.dead_man, whole(key, value, 5, problems)),
            "environment" => self.environment.extend(fields::mappings(key, value, problems)),
            "module_defaults" => self.module_defaults.extend(fields::mappings(key, value, problems)),
            "when" => self.when.extend(fields::conditions(key, value, problems)),
            "tags" => self.add_tags(key, value, problems),
            "notify" => self.notify.extend(fields::texts(key, value, problems)),
            "accept_risk" => self.accept_risk.extend(waivers(value, problems)),
            "vars" if owner != Owner::Play => self.add_vars(owner, key, value, problems),
            _ => return false,
        }
        true
    }

    fn add_tags(&mut self, key: &Node, value: &mut Node, problems: &mut Problems) {
        for node in fields::texts(key, value, problems) {
            let words = node.as_str().unwrap_or_default();
            for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                if !self.tags.iter().any(|tag| &**tag == word) {
                    self.tags.push(Arc::from(word));
                }
            }
        }
    }

    fn add_vars(&mut self, owner: Owner, key: &Node, value: &mut Node, problems: &mut Problems) {
        let kind = match owner {
            Owner::Task => LayerKind::Task,
            Owner::Role => LayerKind::RoleParams,
            Owner::Play | Owner::Block => LayerKind::Block,
        };
        if let Some(vars) = fields::variables(key, value, problems) {
            self.vars.push(Layer { kind, vars });
        }
    }
}

/// A value that was wrong has been told already: what is inherited stays.
fn set<T>(slot: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *slot = value;
    }
}

fn method(key: &Node, value: &Node, problems: &mut Problems) -> Option<Setting<String>> {
    const METHODS: [&str; 3] = ["sudo", "su", "doas"];
    let setting = text(key, value, problems)?;
    if let Some(word) = setting.fixed().filter(|word| !METHODS.contains(&word.as_str())) {
        let short = word.rsplit('.').next().unwrap_or(word);
        if METHODS.contains(&short) {
            return Some(Setting::Fixed(short.to_owned()));
        }
        problems.push(
            Diagnostic::error(format!("`{word}` is no way to become another user here"), value.span.clone())
                .help("use sudo, su or doas"),
        );
        return None;
    }
    Some(setting)
}

fn waivers(value: &Node, problems: &mut Problems) -> Vec<Waiver> {
    let list = format!("known risks: {}", RISKS.join(", "));
    if value.as_map().is_none() {
        let message = format!("`accept_risk` wants a mapping of risk and reason; this is {}", value.kind());
        problems.push(
            Diagnostic::error(message, value.span.clone())
                .help("write `accept_risk: {security: \"why it is accepted\"}`")
                .note(list),
        );
        return Vec::new();
    }
    let mut waivers = Vec::new();
    for (key, reason) in value.entries() {
        let word = key.key_text();
        let Some(risk) = RISKS.into_iter().find(|risk| *risk == word) else {
            let problem = Diagnostic::error(format!("no risk is named `{word}`"), key.span.clone());
            problems.push(fields::nearest(problem, did_you_mean(&word, RISKS)).note(list.clone()));
            continue;
        };
        match &reason.data {
            Data::Str(text) if !text.trim().is_empty() => {
                waivers.push(Waiver { risk, reason: text.clone(), span: key.span.clone() });
            }
            _ => problems.push(
                Diagnostic::error(format!("accepting `{risk}` needs a reason in words"), reason.span.clone())
                    .help("say why: it is shown in the plan and the report"),
            ),
        }
    }
    waivers
}
