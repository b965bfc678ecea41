//! The texts of a task that tell what it does: a command's line, a file's content, a line of a file.
use crate::playbook::tree::Task;
use crate::yaml::{Data, Node};

/// A text of a task, with the argument that holds it.
pub(super) struct Said<'a> {
    /// The argument's value.
    pub node: &'a Node,
    /// The text.
    pub text: String,
}

/// Modules whose arguments are texts of their author's own making.
const FREE: [&str; 7] = ["command", "shell", "copy", "lineinfile", "blockinfile", "replace", "ini_file"];

/// All texts of a task; none of modules whose arguments are typed.
pub(super) fn said(task: &Task) -> Vec<Said<'_>> {
    if !FREE.contains(&task.action.module.as_str()) {
        return Vec::new();
    }
    let names = ["cmd", "argv", "content", "line", "block", "replace", "value", "option"];
    let mut texts: Vec<Said<'_>> = names
        .iter()
        .filter_map(|name| task.action.args.get(name))
        .map(|node| Said { node, text: words(node) })
        .collect();
    // An option with its value is one text.
    if task.action.module == "ini_file"
        && let [value, option] = texts.as_slice()
    {
        let text = format!("{} = {}", option.text, value.text);
        texts = vec![Said { node: value.node, text }];
    }
    texts
}

fn words(node: &Node) -> String {
    match &node.data {
        Data::Seq(items) => items.iter().map(words).collect::<Vec<_>>().join(" "),
        _ => node.key_text().into_owned(),
    }
}

/// Whether a task is a command.
pub(super) fn is_command(task: &Task) -> bool {
    matches!(task.action.module.as_str(), "command" | "shell")
}
