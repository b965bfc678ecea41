//! Which tuning of the measured sources is said by what, as a table of Markdown.
use modules::coverage::{Saying, Tuning, coverage};
use modules::vocabulary::Effect;

/// The table, with a heading.
pub fn table() -> String {
    let mut text = "\n# Coverage\n\n\
         Every tuning of the five sources, with what says it. A test fails where a row has no module, argument, proof or \
         test.\n\n\
         | row | tuning | said by | felt | way back | proof of being live | test |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for tuning in coverage() {
        text.push_str(&line(&tuning));
    }
    text
}

fn line(tuning: &Tuning) -> String {
    let said = match tuning.said_by {
        Saying::Argument(module, argument) => format!("[`{module}`](#{module}) `{argument}`"),
        Saying::Fact(name) => format!("fact `{name}`"),
        Saying::Task(playbook, title) => {
            format!("[`{playbook}`](../playbooks/{playbook}): {title}")
        }
    };
    let test = tuning.test.rsplit("::").next().unwrap_or_default();
    format!(
        "| {} | {} | {said} | {} | {} | {} | `{test}` |\n",
        tuning.row,
        tuning.what,
        tuning.effect.map_or("–", felt),
        tuning.inverse,
        tuning.proof
    )
}

/// When a change is felt, in two or three words.
fn felt(effect: Effect) -> &'static str {
    match effect {
        Effect::Now => "at once",
        Effect::DaemonRestart => "daemon restart",
        Effect::GuestPowerCycle => "guest power cycle",
        Effect::HostReboot => "host reboot",
        Effect::CreationOnly => "creation",
    }
}
