//! What each keyword is for, and what it may be: the text of `tunerun doc`, of the schema and of editors, written once.
use super::keywords::{BLOCK, LOOP_CONTROL, PLAY, ROLE, SHARED, TASK, refused};

/// A keyword with its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    /// As it is written.
    pub name: &'static str,
    /// What it may be.
    pub form: Form,
    /// What it is for, in sentences.
    pub about: &'static str,
}

/// What the value of a keyword may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Several shapes, checked while loading.
    Any,
    /// `true` or `false`.
    Flag,
    /// One text.
    Text,
    /// The name of a variable.
    Variable,
    /// One text, or a list of them.
    Texts,
    /// An expression, a boolean, or a list of them.
    Conditions,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A list.
    List,
    /// Names and values.
    Mapping,
    /// A list, or an expression that gives one.
    Loop,
    /// `loop_control`.
    LoopControl,
    /// A number of hosts or a percentage.
    Batch,
    /// Such, or a list of such.
    Batches,
    /// A list of tasks and blocks.
    Tasks,
    /// A list of roles.
    Roles,
    /// A list of prompts.
    Prompts,
    /// Names of risks with reasons.
    Risks,
    /// One of the ways to become another user.
    Method,
    /// One of the ways to reach a host.
    Connection,
    /// One of Ansible's strategies.
    Strategy,
    /// An order of hosts.
    Order,
    /// The grammar of rollouts.
    Rollout,
    /// The grammar of guards.
    Guard,
    /// The grammar of gates.
    Gate,
}

impl Form {
    /// The words of a closed list; empty where it is open.
    pub fn choices(self) -> &'static [&'static str] {
        match self {
            Self::Flag => &["true", "false"],
            Self::Method => &["sudo", "su", "doas"],
            Self::Connection => &["ssh", "local"],
            Self::Strategy => &["linear", "free", "host_pinned"],
            Self::Order => &["inventory", "reverse_inventory", "sorted", "reverse_sorted", "shuffle"],
            _ => &[],
        }
    }
}

const fn keyword(name: &'static str, form: Form, about: &'static str) -> Keyword {
    Keyword { name, form, about }
}

/// All keywords that are taken.
pub const KEYWORDS: [Keyword; 75] = [
    keyword("name", Form::Text, "What people call it: shown in plans, reports and logs."),
    keyword("become", Form::Flag, "Act as another user, root unless `become_user` says which."),
    keyword("become_user", Form::Text, "The user to become."),
    keyword("become_method", Form::Method, "How to become that user: sudo, su or doas."),
    keyword("become_flags", Form::Text, "Flags for the program that makes one another user."),
    keyword("become_exe", Form::Text, "The program that makes one another user, where it has another path."),
    keyword("connection", Form::Connection, "How the host is reached: ssh, or local for this machine."),
    keyword("remote_user", Form::Text, "The user to log in as."),
    keyword("port", Form::Whole, "The port of the host's ssh."),
    keyword("no_log", Form::Flag, "Hide arguments, results and differences: in plans, reports and logs."),
    keyword(
        "ignore_errors",
        Form::Flag,
        "A failure is told and the host goes on; what the failed batch changed is taken back.",
    ),
    keyword(
        "ignore_unreachable",
        Form::Flag,
        "A host that cannot be reached is told and does not count as failed.",
    ),
    keyword("any_errors_fatal", Form::Flag, "A failure of one host ends the play for all of them."),
    keyword(
        "check_mode",
        Form::Flag,
        "`true`: only plan it, in every run. `false` on a command: it only reads, and runs while planning too.",
    ),
    keyword("diff", Form::Flag, "Show what changes line by line; `false` never shows it."),
    keyword("run_once", Form::Flag, "On the first host alone; its result counts for all."),
    keyword("throttle", Form::Whole, "At most so many hosts at the same time."),
    keyword("timeout", Form::Whole, "A task that takes longer has failed: a number of seconds."),
    keyword(
        "dead_man",
        Form::Whole,
        "Seconds, 5 or more: what may cut the link goes back by itself, on the host, where nobody confirms it over a new connection before.",
    ),
    keyword("environment", Form::Mapping, "Environment variables of the commands."),
    keyword("module_defaults", Form::Mapping, "Arguments that modules get where tasks do not say them."),
    keyword("vars", Form::Mapping, "Variables: names and values. `tunerun doc vars` tells which value wins."),
    keyword(
        "accept_risk",
        Form::Risks,
        "Risks that are accepted, each with the reason: {NAME: reason}. `tunerun doc risks` lists them.",
    ),
    keyword("hosts", Form::Texts, "The hosts of the play: names, groups and patterns."),
    keyword("tags", Form::Texts, "Words by which `--tags` and `--skip-tags` choose tasks."),
    keyword(
        "vars_files",
        Form::List,
        "Files of variables; of a list inside the list the first that there is.",
    ),
    keyword(
        "vars_prompt",
        Form::Prompts,
        "Variables that are asked for at the terminal, where `-e` does not give them.",
    ),
    keyword(
        "gather_facts",
        Form::Flag,
        "Taken as in Ansible; facts are read where they are named, whatever it says.",
    ),
    keyword(
        "gather_subset",
        Form::Any,
        "Taken as in Ansible, and without effect: facts are read where they are named.",
    ),
    keyword(
        "serial",
        Form::Batches,
        "How many hosts go together: a number, a percentage, or a list of them.",
    ),
    keyword("max_fail_percentage", Form::Number, "More failed hosts than this share end the play."),
    keyword("max_unreachable", Form::Batch, "Hosts that may be out of reach: a number or a percentage."),
    keyword("strategy", Form::Strategy, "Taken as in Ansible: hosts run independently under each."),
    keyword("order", Form::Order, "The order of the hosts."),
    keyword("force_handlers", Form::Flag, "Notified handlers run also on hosts that failed."),
    keyword("roles", Form::Roles, "Roles, in their order, between `pre_tasks` and `tasks`."),
    keyword("pre_tasks", Form::Tasks, "Tasks before the roles."),
    keyword("tasks", Form::Tasks, "The tasks of the play."),
    keyword("post_tasks", Form::Tasks, "Tasks behind all others."),
    keyword("handlers", Form::Tasks, "Tasks that run once where one that changed something notifies them."),
    keyword("rollout", Form::Rollout, "Who goes when, and what becomes of what goes wrong."),
    keyword("guard", Form::Guard, "What must hold before and after a host is touched."),
    keyword("gate", Form::Gate, "The experiment that decides whether the change stays."),
    keyword("collections", Form::Any, "Taken as in Ansible, and without effect: modules have one name each."),
    keyword("import_playbook", Form::Text, "The plays of another file, in this place."),
    keyword("role", Form::Text, "The name of the role."),
    keyword(
        "when",
        Form::Conditions,
        "It is done only where the expression is true; all of several must be.",
    ),
    keyword("delegate_to", Form::Text, "Done on this host instead, with the variables of the play's host."),
    keyword("delegate_facts", Form::Flag, "Facts belong to the host that it is delegated to."),
    keyword(
        "notify",
        Form::Texts,
        "The handlers to run at the end of the section if this changed something.",
    ),
    keyword("tasks_from", Form::Text, "Another file of the role's tasks than `main`."),
    keyword("block", Form::Tasks, "Tasks that share keywords, and are rescued together."),
    keyword(
        "rescue",
        Form::Tasks,
        "Tasks for hosts on which the block failed; what the failed batch changed was taken back before.",
    ),
    keyword("always", Form::Tasks, "Tasks behind block and rescue, whatever became of them."),
    keyword("action", Form::Any, "The module and its arguments, in Ansible's older form."),
    keyword("local_action", Form::Any, "As `action`, delegated to this machine."),
    keyword("args", Form::Mapping, "Arguments of the module, beside those that stand under its name."),
    keyword(
        "loop",
        Form::Loop,
        "A list, or an expression that gives one: the task is done once for each `item`.",
    ),
    keyword("loop_control", Form::LoopControl, "How a loop names and shows its items."),
    keyword("register", Form::Variable, "The variable that holds the result."),
    keyword("until", Form::Conditions, "It is repeated until the expression is true."),
    keyword("retries", Form::Whole, "How often it is repeated at most."),
    keyword("delay", Form::Number, "Seconds between repetitions."),
    keyword("changed_when", Form::Conditions, "Whether it counts as a change."),
    keyword("failed_when", Form::Conditions, "Whether it counts as failed."),
    keyword("listen", Form::Texts, "Other names by which the handler is notified."),
    keyword(
        "expect",
        Form::Any,
        "What a source says that the task is worth: {metric, gain or cost, from, to, source}. A claim, shown beside what is measured.",
    ),
    keyword(
        "probe",
        Form::Flag,
        "The command only reads: it runs while planning, and what depends on it is planned too.",
    ),
    keyword(
        "spoils",
        Form::Any,
        "What the command changes beside: paths and claims that are looked at again behind it.",
    ),
    keyword("undo", Form::Any, "The command that takes this one back."),
    keyword("loop_var", Form::Variable, "The variable that holds the item, instead of `item`."),
    keyword("index_var", Form::Variable, "The variable that counts the items, from 0 on."),
    keyword("label", Form::Text, "What is shown of an item."),
    keyword("pause", Form::Number, "Seconds between two items."),
    keyword("extended", Form::Flag, "Also set `ansible_loop`: index, first, last and more."),
];

/// The meaning of a keyword.
pub fn meaning(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.name == name)
}

/// Where keywords may stand, in the order in which they are explained.
pub const OWNERS: [(&str, &[&[&str]]); 5] = [
    ("a play", &[&PLAY, &SHARED]),
    ("a role in `roles:`", &[&ROLE, &SHARED]),
    ("a block", &[&BLOCK, &SHARED]),
    ("a task", &[&TASK, &SHARED]),
    ("`loop_control`", &[&LOOP_CONTROL]),
];

/// The keywords of an owner that are taken, sorted.
pub fn taken(lists: &[&'static [&'static str]]) -> Vec<&'static Keyword> {
    let names = lists.iter().flat_map(|list| list.iter()).filter(|name| refused(name).is_none());
    let mut found: Vec<&Keyword> = names.filter_map(|name| meaning(name)).collect();
    found.sort_by_key(|keyword| keyword.name);
    found.dedup_by_key(|keyword| keyword.name);
    found
}

/// The owners that take a keyword.
pub fn owners(name: &str) -> Vec<&'static str> {
    let takes = |lists: &[&[&str]]| lists.iter().any(|list| list.contains(&name));
    OWNERS.iter().filter(|(_, lists)| takes(lists)).map(|(owner, _)| *owner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_that_is_taken_has_a_meaning_and_no_other() {
        let mut all = Vec::new();
        for (owner, lists) in OWNERS {
            for name in lists.iter().flat_map(|list| list.iter()).filter(|name| refused(name).is_none()) {
                assert!(meaning(name).is_some(), "{owner} takes `{name}`, which has no meaning");
                all.push(*name);
            }
        }
        for keyword in &KEYWORDS {
            assert!(all.contains(&keyword.name), "nothing takes `{}`", keyword.name);
            assert!(keyword.about.ends_with('.') || keyword.about.contains(". "), "{}", keyword.name);
        }
    }

    #[test]
    fn owners_are_named() {
        assert_eq!(owners("serial"), ["a play"]);
        assert_eq!(owners("become").len(), 4);
    }
}
