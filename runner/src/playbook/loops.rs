//! `loop`, `with_…` and `loop_control`.
use std::sync::Arc;

use super::fields::{self, flag, number, templated, unfit};
use super::keywords::{self, LOOP_CONTROL};
use super::tree::{LoopControl, LoopKind};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::yaml::{Data, Node};

/// The loop keywords.
pub const KINDS: [(&str, LoopKind); 14] = [
    ("loop", LoopKind::Loop),
    ("with_list", LoopKind::Loop),
    ("with_items", LoopKind::Items),
    ("with_flattened", LoopKind::Flattened),
    ("with_indexed_items", LoopKind::IndexedItems),
    ("with_dict", LoopKind::Dict),
    ("with_sequence", LoopKind::Sequence),
    ("with_fileglob", LoopKind::Fileglob),
    ("with_together", LoopKind::Together),
    ("with_first_found", LoopKind::FirstFound),
    ("with_subelements", LoopKind::Subelements),
    ("with_nested", LoopKind::Nested),
    ("with_cartesian", LoopKind::Nested),
    ("with_inventory_hostnames", LoopKind::InventoryHostnames),
];

/// What a loop keyword means; a long lookup name (`with_ansible.builtin.items`) is taken too.
pub fn kind(word: &str) -> Option<LoopKind> {
    let short = word.strip_prefix("with_ansible.builtin.").map(|name| format!("with_{name}"));
    let word = short.as_deref().unwrap_or(word);
    KINDS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind)
}

/// Tells a value that cannot be looped over.
pub fn checked(key: &Node, kind: LoopKind, value: &Node, problems: &mut Problems) {
    let fits = match (&value.data, kind) {
        (Data::Seq(_), kind) => kind != LoopKind::Dict,
        (Data::Map(_), LoopKind::Dict | LoopKind::FirstFound) => true,
        (Data::Str(_), LoopKind::Loop | LoopKind::Dict) => templated(value),
        (Data::Str(_), _) => true,
        (Data::Int(_), LoopKind::Items) => true,
        _ => false,
    };
    if fits {
        return;
    }
    let problem = match (&value.data, kind) {
        (Data::Map(_), LoopKind::Loop | LoopKind::Items) => {
            unfit(key, value, "a list").help("to go over a mapping use `loop: \"{{ name | dict2items }}\"`")
        }
        (Data::Str(text), LoopKind::Loop | LoopKind::Dict) => {
            unfit(key, value, "a list").help(format!("to name a variable write \"{{{{ {text} }}}}\""))
        }
        (_, LoopKind::Dict) => unfit(key, value, "a mapping"),
        _ => unfit(key, value, "a list"),
    };
    problems.push(problem);
}

/// `loop_control:`.
pub fn control(key: &Node, value: Node, problems: &mut Problems) -> LoopControl {
    let mut control = LoopControl::default();
    if value.as_map().is_none() {
        problems
            .push(unfit(key, &value, "a mapping").help("write `loop_control: {label: \"{{ item.name }}\"}`"));
        return control;
    }
    let Data::Map(pairs) = value.data else { return control };
    for (key, value) in pairs {
        match key.key_text().as_ref() {
            "loop_var" => control.loop_var = fields::variable(&key, &value, problems),
            "index_var" => control.index_var = fields::variable(&key, &value, problems),
            "label" => control.label = Some(Arc::new(value)),
            "pause" => control.pause = number(&key, &value, problems),
            "extended" => control.extended = flag(&key, &value, problems),
            "extended_allitems" => {}
            word => match keywords::refused(word) {
                Some(refusal) => problems.push(keywords::refusal(refusal, &key)),
                None => {
                    let problem =
                        Diagnostic::error(format!("loop_control takes no `{word}`"), key.span.clone())
                            .note(format!("it takes: {}", LOOP_CONTROL.join(", ")));
                    problems.push(fields::nearest(problem, did_you_mean(word, LOOP_CONTROL)));
                }
            },
        }
    }
    control
}
