//! The keywords of plays, roles, blocks and tasks: what is taken, and what is refused by name with the way to say it here.
use super::fields::nearest;
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::yaml::Node;

/// Taken everywhere that settings are inherited: plays, roles, blocks, tasks.
pub const SHARED: [&str; 23] = [
    "name",
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
    "throttle",
    "timeout",
    "dead_man",
    "environment",
    "module_defaults",
    "vars",
    "accept_risk",
];

/// Taken by plays besides [`SHARED`].
pub const PLAY: [&str; 22] = [
    "hosts",
    "tags",
    "vars_files",
    "vars_prompt",
    "gather_facts",
    "gather_subset",
    "serial",
    "max_fail_percentage",
    "max_unreachable",
    "strategy",
    "order",
    "force_handlers",
    "roles",
    "pre_tasks",
    "tasks",
    "post_tasks",
    "handlers",
    "rollout",
    "guard",
    "gate",
    "collections",
    "import_playbook",
];

/// Taken by roles in `roles:` besides [`SHARED`]; every other key is a parameter of the role.
pub const ROLE: [&str; 8] =
    ["role", "when", "tags", "delegate_to", "delegate_facts", "notify", "collections", "tasks_from"];

/// Taken by blocks besides [`SHARED`].
pub const BLOCK: [&str; 10] = [
    "block",
    "rescue",
    "always",
    "when",
    "tags",
    "delegate_to",
    "delegate_facts",
    "notify",
    "collections",
    "gate",
];

/// Taken by tasks besides [`SHARED`]; `with_…` has its own table.
pub const TASK: [&str; 25] = [
    "action",
    "local_action",
    "args",
    "when",
    "tags",
    "loop",
    "loop_control",
    "register",
    "until",
    "retries",
    "delay",
    "changed_when",
    "failed_when",
    "notify",
    "listen",
    "delegate_to",
    "delegate_facts",
    "collections",
    "expect",
    "gate",
    "probe",
    "spoils",
    "undo",
    "async",
    "poll",
];

/// Taken by `loop_control`.
pub const LOOP_CONTROL: [&str; 5] = ["loop_var", "index_var", "label", "pause", "extended"];

/// A keyword of Ansible that is refused, with the reason and what to write here.
pub struct Refusal {
    /// The keyword.
    pub name: &'static str,
    /// Why it is refused, as the end of "`x` is not supported: …".
    pub why: &'static str,
    /// The way to say it here.
    pub instead: &'static str,
}

/// All keywords that are known and refused.
pub const REFUSED: [Refusal; 20] = [
    refuse(
        "async",
        "a change that outlives its connection could not be proven or undone",
        "take it out: commands may take as long as `timeout:` says, and hosts run at the same time",
    ),
    refuse(
        "poll",
        "it belongs to `async`, and tasks are always waited for",
        "take it out; to wait for something use `until:` with `retries:` and `delay:`",
    ),
    refuse(
        "debugger",
        "there is no interactive debugger",
        "look at the plan with `--check --diff`, or go task by task with `--step`",
    ),
    refuse("fact_path", "local fact folders are not read", "read what is needed with `slurp` or `command`"),
    refuse("gather_timeout", "facts are read only where they are named", "use `timeout:`"),
    refuse("sudo", "Ansible itself dropped it", "write `become: true`"),
    refuse("sudo_user", "Ansible itself dropped it", "write `become_user:`"),
    refuse("su", "Ansible itself dropped it", "write `become: true` with `become_method: su`"),
    refuse("su_user", "Ansible itself dropped it", "write `become_user:` with `become_method: su`"),
    refuse("user", "Ansible itself renamed it", "write `remote_user:`"),
    refuse(
        "include",
        "Ansible itself dropped it",
        "use `import_playbook`, `import_tasks` or `include_tasks`",
    ),
    refuse("accelerate", "Ansible itself dropped it", "take it out"),
    refuse("first_available_file", "Ansible itself dropped it", "use `with_first_found:`"),
    refuse("always_run", "Ansible itself dropped it", "write `check_mode: false`"),
    refuse("loop_with", "no such keyword was ever kept", "use `loop:`"),
    refuse("rescue_when", "a rescue takes no condition", "put `when:` on the tasks inside `rescue:`"),
    refuse("with_password", "it writes files on the controller", "keep secrets in a vault file"),
    refuse("with_pipe", "it runs programs on the controller", "use a task with `delegate_to: localhost`"),
    refuse("with_filetree", "it is a plugin of a collection", "name the files, or use `with_fileglob:`"),
    refuse(
        "break_when",
        "it makes the number of changes unknown to the plan",
        "filter the list that is looped over",
    ),
];

const fn refuse(name: &'static str, why: &'static str, instead: &'static str) -> Refusal {
    Refusal { name, why, instead }
}

/// The refusal of a keyword, if it is a known one.
pub fn refused(word: &str) -> Option<&'static Refusal> {
    REFUSED.iter().find(|refusal| refusal.name == word)
}

/// The problem of a refused keyword.
pub fn refusal(refusal: &Refusal, key: &Node) -> Diagnostic {
    Diagnostic::error(format!("`{}` is not supported: {}", refusal.name, refusal.why), key.span.clone())
        .help(refusal.instead)
}

/// The problem of a key that `owner` ("a play", "a block") does not take.
pub fn unknown(key: &Node, owner: &str, own: &[&'static str]) -> Diagnostic {
    let word = key.key_text();
    if let Some(known) = refused(&word) {
        return refusal(known, key);
    }
    let problem = Diagnostic::error(format!("{owner} takes no `{word}`"), key.span.clone());
    if let Some(near) = did_you_mean(&word, own.iter().chain(&SHARED).copied()) {
        return problem.help(format!("did you mean `{near}`?"));
    }
    for (other, words) in [("a play", &PLAY[..]), ("a task", &TASK[..]), ("a block", &BLOCK[..])] {
        if other != owner && words.contains(&word.as_ref()) {
            return problem.help(format!("`{word}` belongs to {other}; check the indentation"));
        }
    }
    nearest(problem, None).help(format!("{owner} takes: {}", listed(own)))
}

fn listed(own: &[&str]) -> String {
    let mut words: Vec<&str> =
        own.iter().chain(&SHARED).copied().filter(|word| refused(word).is_none()).collect();
    words.sort_unstable();
    words.join(", ")
}
