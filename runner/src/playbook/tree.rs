//! The static tree of a playbook: what was written, typed, with everything inherited already resolved.
use std::sync::Arc;

use super::expect::Expectation;
use super::role::Role;
use super::settings::Settings;
use crate::diagnostic::Problems;
use crate::source::Span;
use crate::yaml::Node;

/// An expression without braces (`when`, `until` …): a node of text, or a boolean.
pub type Expression = Arc<Node>;

/// A keyword's value: known now, or a template that is evaluated for each host.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting<T> {
    /// Known.
    Fixed(T),
    /// Text with `{{ … }}`.
    Template(Arc<Node>),
}

impl<T> Setting<T> {
    /// The value, if it is known without evaluating anything.
    pub fn fixed(&self) -> Option<&T> {
        match self {
            Setting::Fixed(value) => Some(value),
            Setting::Template(_) => None,
        }
    }
}

/// A whole playbook with all that it imports.
#[derive(Debug)]
pub struct Playbook {
    /// In the order they run.
    pub plays: Vec<Play>,
    /// What is worth a look but stops nothing.
    pub warnings: Problems,
    /// All files that were read, in order, with their text: what a plan is made from.
    pub sources: Vec<Arc<crate::source::Source>>,
}

/// One play.
#[derive(Debug)]
pub struct Play {
    /// The name, or the host pattern where none was given.
    pub name: String,
    /// Host patterns, to be joined by `:`; each may be a template.
    pub hosts: Vec<Arc<Node>>,
    /// Play-wide settings, already inherited by every task.
    pub settings: Arc<Settings>,
    /// `vars:`; one mapping at most, precedence 12 in Ansible's list.
    pub vars: Option<Arc<Node>>,
    /// `vars_files:` in order.
    pub vars_files: Vec<VarsFile>,
    /// `vars_prompt:` in order.
    pub vars_prompt: Vec<Prompt>,
    /// `gather_facts:`; absent means yes.
    pub gather_facts: Option<Setting<bool>>,
    /// `serial:`: sizes of the first, second, … batch; the last one repeats. Empty: all hosts at once.
    pub serial: Vec<Batch>,
    /// `max_fail_percentage:`, 0 to 100.
    pub max_fail_percentage: Option<Setting<f64>>,
    /// `max_unreachable:`: a number of hosts or a percentage that may be left out without `--allow-partial`.
    pub max_unreachable: Option<Batch>,
    /// `strategy:`; `linear` where absent. Hosts run independently under both.
    pub strategy: Option<String>,
    /// `order:` of hosts.
    pub order: Order,
    /// `force_handlers:`: handlers run also on hosts that failed.
    pub force_handlers: Option<Setting<bool>>,
    /// `rollout:` as written.
    pub rollout: Option<Arc<Node>>,
    /// `guard:` as written.
    pub guard: Option<Arc<Node>>,
    /// `gate:` as written.
    pub gate: Option<Arc<Node>>,
    /// Roles that are statically part of the play (`roles:`, dependencies, `import_role`), for their variables.
    pub roles: Vec<Arc<Role>>,
    /// `pre_tasks:`.
    pub pre_tasks: Vec<Item>,
    /// What `roles:` bring, dependencies first.
    pub role_tasks: Vec<Item>,
    /// `tasks:`.
    pub tasks: Vec<Item>,
    /// `post_tasks:`.
    pub post_tasks: Vec<Item>,
    /// Handlers of roles, then of the play: of two with one name the later counts.
    pub handlers: Vec<Item>,
    /// The folder that relative names start from.
    pub folder: Arc<str>,
    /// The whole play.
    pub span: Span,
}

impl Play {
    /// The sections in the order they run; handlers are flushed after each section but the second.
    pub fn sections(&self) -> [(&'static str, &[Item]); 4] {
        [
            ("pre_tasks", &self.pre_tasks),
            ("roles", &self.role_tasks),
            ("tasks", &self.tasks),
            ("post_tasks", &self.post_tasks),
        ]
    }
}

/// The order in which hosts of a play are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As in the inventory.
    #[default]
    Inventory,
    /// The inventory's, from its end.
    ReverseInventory,
    /// By name.
    Sorted,
    /// By name, from the end.
    ReverseSorted,
    /// At random.
    Shuffle,
}

/// A number of hosts.
#[derive(Clone, Debug, PartialEq)]
pub enum Batch {
    /// So many.
    Hosts(u32),
    /// A share of all hosts of the play, 0 to 100.
    Percent(f64),
    /// A template that gives one of both.
    Template(Arc<Node>),
}

/// One entry of `vars_files:`.
#[derive(Clone, Debug)]
pub struct VarsFile {
    /// The name, or several of which the first that exists is taken.
    pub choices: Vec<Arc<Node>>,
    /// The path and mapping, where the name needs no template and the file is not encrypted as a whole.
    pub loaded: Option<(String, Arc<Node>)>,
}

/// One entry of `vars_prompt:`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The variable.
    pub name: String,
    /// The question; the variable's name where absent.
    pub prompt: Option<String>,
    /// What an empty answer means.
    pub default: Option<Arc<Node>>,
    /// Whether the answer is hidden (the default).
    pub private: bool,
    /// Whether it is asked twice.
    pub confirm: bool,
    /// Where it stands.
    pub span: Span,
}

/// A member of a list of tasks.
#[derive(Debug)]
pub enum Item {
    /// One task.
    Task(Arc<Task>),
    /// Tasks with `rescue` and `always`.
    Block(Block),
    /// A dynamic `include_tasks` or `include_role`.
    Include(Include),
}

/// Tasks that share settings (already inherited by them), with what runs on failure and at the end.
#[derive(Debug)]
pub struct Block {
    /// Its name.
    pub name: Option<Arc<Node>>,
    /// What is tried.
    pub block: Vec<Item>,
    /// What runs where a task of `block` failed.
    pub rescue: Vec<Item>,
    /// What runs in any case.
    pub always: Vec<Item>,
    /// A role in `roles:`: on a host where a block with the same key ran a task already, this one is skipped.
    pub once: Option<Arc<str>>,
    /// `gate:` as written.
    pub gate: Option<Arc<Node>>,
    /// The whole block.
    pub span: Span,
}

impl Block {
    /// A block of nothing.
    pub(super) fn empty(span: Span) -> Self {
        Self {
            name: None,
            block: Vec::new(),
            rescue: Vec::new(),
            always: Vec::new(),
            once: None,
            gate: None,
            span,
        }
    }
}

/// A dynamic include: decided by `when`, repeated by `loop`, its children do not inherit its own keywords.
#[derive(Debug)]
pub struct Include {
    /// The include as a task: its `when`, `loop`, tags, vars.
    pub task: Arc<Task>,
    /// What is included.
    pub what: Included,
    /// The children, where the name needs no template: loaded and checked already.
    pub body: Option<Arc<Body>>,
    /// What children inherit: the settings around the include, its `vars`, and `apply:`.
    pub children: Arc<Settings>,
}

/// The tasks and handlers that an include brings.
#[derive(Debug, Default)]
pub struct Body {
    /// Tasks, in order.
    pub tasks: Vec<Item>,
    /// Handlers that a role brings.
    pub handlers: Vec<Item>,
    /// Roles with their variables: the included one and its dependencies.
    pub roles: Vec<Arc<Role>>,
    /// The files that were read for it, where it was loaded after the playbook.
    pub sources: Vec<Arc<crate::source::Source>>,
}

/// What an include names.
#[derive(Clone, Debug)]
pub enum Included {
    /// `include_tasks`: a file name, maybe a template.
    Tasks(Arc<Node>),
    /// `include_role`.
    Role(RoleCall),
}

/// The arguments of `include_role` and `import_role`.
#[derive(Clone, Debug)]
pub struct RoleCall {
    /// The role's name, maybe a template.
    pub name: Arc<Node>,
    /// Another file than `main` in `tasks/`.
    pub tasks_from: Option<Arc<Node>>,
    /// Another file than `main` in `vars/`.
    pub vars_from: Option<Arc<Node>>,
    /// Another file than `main` in `defaults/`.
    pub defaults_from: Option<Arc<Node>>,
    /// Another file than `main` in `handlers/`.
    pub handlers_from: Option<Arc<Node>>,
    /// Whether the role's variables stay visible for the rest of the play.
    pub public: bool,
}

/// The number of a task in load order, the same each time the same files are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// One task.
#[derive(Debug)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// Its name, maybe a template.
    pub name: Option<Arc<Node>>,
    /// The module and its arguments.
    pub action: Action,
    /// Everything inheritable, own and inherited.
    pub settings: Arc<Settings>,
    /// `loop` or `with_…`.
    pub repeat: Option<Loop>,
    /// The variable that takes the result.
    pub register: Option<(String, Span)>,
    /// `until:` conditions, all of which must hold.
    pub until: Vec<Expression>,
    /// `retries:`; 3 where absent and `until` stands.
    pub retries: Option<Setting<i64>>,
    /// `delay:` in seconds; 5 where absent.
    pub delay: Option<Setting<f64>>,
    /// `changed_when:` conditions, all of which must hold; empty: the module says.
    pub changed_when: Vec<Expression>,
    /// `failed_when:` conditions, all of which must hold; empty: the module says.
    pub failed_when: Vec<Expression>,
    /// Topics this handler listens to.
    pub listen: Vec<String>,
    /// `expect:`: what sources say that the task is worth.
    pub expect: Vec<Expectation>,
    /// `gate:` as written.
    pub gate: Option<Arc<Node>>,
    /// `probe:`: the command only reads and may run while planning.
    pub probe: Option<Setting<bool>>,
    /// `spoils:` as written: what a command may change.
    pub spoils: Option<Arc<Node>>,
    /// `undo:` as written: the way back of a command.
    pub undo: Option<Arc<Node>>,
    /// Where it stands: file, folder, role.
    pub place: Arc<Place>,
    /// The whole task.
    pub span: Span,
}

impl Task {
    /// What lists and `--start-at-task` show: `role : name`, with the module's name where there is no own one.
    pub fn title(&self) -> String {
        let name = self.name.as_ref().and_then(|name| name.as_str()).unwrap_or(&self.action.module);
        match &self.place.role {
            Some(role) => format!("{} : {name}", role.name),
            None => name.to_owned(),
        }
    }
}

/// The file that a task stands in.
#[derive(Debug)]
pub struct Place {
    /// Folder of the file: names of further task files start here.
    pub folder: String,
    /// Folder of the playbook.
    pub playbook_folder: Arc<str>,
    /// The role, if it belongs to one.
    pub role: Option<Arc<Role>>,
}

impl Place {
    /// The folders in which a file of this kind (`files`, `templates`, `vars`, `tasks`) is looked for, first wins:
    /// as Ansible does, the role's own folders, then the task file's, then the playbook's.
    pub fn search(&self, kind: &str) -> Vec<String> {
        let mut folders = Vec::new();
        if let Some(role) = &self.role {
            folders.extend([format!("{}/{kind}", role.path), role.path.clone()]);
        }
        for folder in [self.folder.as_str(), &self.playbook_folder] {
            folders.extend([super::files::join(folder, kind), folder.to_owned()]);
        }
        let mut unique: Vec<String> = Vec::with_capacity(folders.len());
        for folder in folders {
            if !unique.contains(&folder) {
                unique.push(folder);
            }
        }
        unique
    }
}

/// A module and what it is given.
#[derive(Debug)]
pub struct Action {
    /// The canonical short name.
    pub module: String,
    /// The name as written, such as `ansible.builtin.copy`.
    pub written: String,
    /// Its arguments.
    pub args: Args,
    /// The module's name in the file.
    pub span: Span,
}

/// Arguments before any template is evaluated.
#[derive(Debug, Default)]
pub struct Args {
    /// Named arguments in written order.
    pub given: Vec<(Node, Node)>,
    /// Free-form text of a word that steers (`meta`, `include_vars`); for modules it is the named argument it stands for.
    pub free: Option<Node>,
}

impl Args {
    /// The value of a named argument.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.given.iter().find(|(key, _)| key.key_text() == name).map(|(_, value)| value)
    }
}

/// A repetition.
#[derive(Debug)]
pub struct Loop {
    /// How the expression is turned into items.
    pub kind: LoopKind,
    /// The list, or the template that gives it.
    pub over: Arc<Node>,
    /// `loop_control:`.
    pub control: LoopControl,
}

/// `loop` and the `with_…` that are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// `loop`, `with_list`: the list as it is.
    Loop,
    /// `with_items`: lists inside are flattened by one level.
    Items,
    /// `with_flattened`: lists inside are flattened wholly.
    Flattened,
    /// `with_indexed_items`: pairs of number and member.
    IndexedItems,
    /// `with_dict`: `{key, value}`.
    Dict,
    /// `with_sequence`: `start=1 end=3 format=x%d`.
    Sequence,
    /// `with_fileglob`: files of the controller.
    Fileglob,
    /// `with_together`: lists side by side.
    Together,
    /// `with_first_found`: the first file that exists.
    FirstFound,
    /// `with_subelements`: each member with each of its parts.
    Subelements,
    /// `with_nested`, `with_cartesian`: all combinations.
    Nested,
    /// `with_inventory_hostnames`: hosts that match patterns.
    InventoryHostnames,
}

/// How a loop runs and is shown.
#[derive(Debug, Default)]
pub struct LoopControl {
    /// The variable of the item; `item` where absent.
    pub loop_var: Option<String>,
    /// The variable of the item's number, from 0.
    pub index_var: Option<String>,
    /// What is shown for an item, a template.
    pub label: Option<Arc<Node>>,
    /// Seconds between two items.
    pub pause: Option<Setting<f64>>,
    /// Whether `ansible_loop` is set.
    pub extended: Option<Setting<bool>>,
}
