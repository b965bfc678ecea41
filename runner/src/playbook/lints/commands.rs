//! Commands whose plan says less than it could.
use crate::diagnostic::Diagnostic;
use crate::playbook::tree::{Setting, Task};

/// Programs whose answers a typed module gives too, known while planning.
const TYPED: [(&str, &str); 8] = [
    ("sysctl", "`sysctl`, or `slurp` of a file below /proc/sys"),
    ("cat", "`slurp`"),
    ("stat", "`stat`"),
    ("ls", "`find`"),
    ("find", "`find`"),
    ("modprobe", "`modprobe`"),
    ("systemctl", "`systemd_unit`, or `service_facts` to read"),
    ("grubby", "`kernel_args`"),
];

/// What a command could say of itself.
pub(super) fn command(task: &Task) -> Option<Diagnostic> {
    if !matches!(task.action.module.as_str(), "command" | "shell") {
        return None;
    }
    let written = |name: &str| task.action.args.get(name).is_some();
    let text = ["cmd", "argv"].iter().find_map(|name| task.action.args.get(name))?;
    let program = text.as_str().unwrap_or_default().split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let typed = TYPED.iter().find(|(name, _)| *name == program).map(|(_, instead)| *instead);
    let never = matches!(task.changed_when.as_slice(), [only] if only.as_bool() == Some(false));
    let off = |setting: &Option<Setting<bool>>| setting.as_ref().and_then(|setting| setting.fixed().copied());
    let read = off(&task.probe) == Some(true) || (never && off(&task.settings.check_mode) == Some(false));
    let span = task.action.span.clone();
    if read {
        return None;
    }
    if never {
        let help = typed.map_or_else(
            || {
                "add `probe: true`: then it runs while planning, and what depends on it is planned too"
                    .to_owned()
            },
            |typed| format!("use {typed}; or add `probe: true`, then it runs while planning"),
        );
        return Some(
            Diagnostic::warning("this command only reads, and a plan does not know its answer", span)
                .label("decided late")
                .help(help),
        );
    }
    let bounded = ["creates", "removes"].into_iter().any(written) || task.undo.is_some() || written("undo");
    if bounded {
        return None;
    }
    let help = typed.map_or_else(
        || "say `creates:` or `removes:`, an `undo:`, or `changed_when: false` if it only reads".to_owned(),
        |typed| format!("use {typed}; or say `creates:` or `removes:`, and an `undo:`"),
    );
    Some(
        Diagnostic::warning("this command runs each time, and there is no way back from it", span)
            .label("no `creates`, `removes` or `undo`")
            .help(help),
    )
}
