//! What the word under the caret is: a module, an argument, a keyword, a variable.
use super::complete::{Asked, MAGIC, argument};
use super::context::{Context, Step};
use super::names::Around;
use super::place::{Place, module, reserved};
use crate::playbook::meanings::owners;
use crate::report::reference;
use modules::vocabulary::RiskName;

/// The words of an answer, as Markdown.
pub fn hover(asked: &Asked<'_>, context: &Context) -> Option<String> {
    if context.expression.is_some() {
        return variable(asked, context.word.split('.').next().unwrap_or_default());
    }
    let place = Place::of(asked.kind, &context.path);
    // On a value, the key tells; on a key, the key itself.
    let key = context.value_of.as_deref().unwrap_or(&context.word);
    let key = key.trim_end_matches(':');
    match &place {
        Place::Play | Place::Task | Place::Role | Place::LoopControl => {
            if let Place::Task = place
                && let Some(known) = module(key)
            {
                return Some(reference::module(known.name).unwrap_or_else(|| {
                    format!(
                        "## {}\n\nIt steers a run and changes nothing on a host, as in Ansible.",
                        known.name
                    )
                }));
            }
            let keyword = place.keywords().into_iter().find(|keyword| keyword.name == key)?;
            let choices = match keyword.form.choices() {
                [] => String::new(),
                words => format!("\n\nOne of: `{}`", words.join("`, `")),
            };
            Some(format!("**{key}**\n\n{}{choices}\n\nTaken by {}.", keyword.about, owners(key).join(", ")))
        }
        Place::Arguments(known, shape) => {
            let inside: Vec<&str> = context
                .path
                .iter()
                .rev()
                .filter_map(|step| match step {
                    Step::Key(key) => Some(key.as_str()),
                    Step::Member => None,
                })
                .take_while(|key| module(key).is_none())
                .collect();
            let mut path: Vec<&str> = inside.into_iter().rev().collect();
            path.push(key);
            if let Some(row) = argument(known.name, &path.join(".")) {
                let default = row.default.map(|default| format!(", default {default}")).unwrap_or_default();
                let needed = if row.needed { ", needed" } else { "" };
                return Some(format!(
                    "**{}** of `{}` ({}{default}{needed})\n\n{}",
                    row.name, known.name, row.value, row.words
                ));
            }
            word(shape, key)
        }
        Place::Grammar(shape) => word(shape, key),
        Place::Risks => {
            let risk = RiskName::ALL.iter().find(|risk| risk.as_str() == key)?;
            Some(format!("**{key}**\n\n{}", risk.meaning()))
        }
        Place::Reserved => reserved(key).map(|found| format!("**{key}**\n\n{}", found.about)),
        Place::Value(keyword) => Some(format!("**{}**\n\n{}", keyword.name, keyword.about)),
        _ => None,
    }
}

fn word(shape: &super::place::Shape, key: &str) -> Option<String> {
    let found = shape.words().into_iter().find(|word| word.name == key)?;
    let choices: Vec<String> = found
        .shape
        .choices()
        .into_iter()
        .map(
            |(word, about)| {
                if about.is_empty() { format!("- `{word}`") } else { format!("- `{word}`: {about}") }
            },
        )
        .collect();
    let mut text = format!("**{key}**\n\n{}", found.about);
    if !choices.is_empty() {
        text.push_str("\n\n");
        text.push_str(&choices.join("\n"));
    }
    Some(text)
}

fn variable(asked: &Asked<'_>, name: &str) -> Option<String> {
    if let Some((_, about)) = MAGIC.iter().find(|(magic, _)| *magic == name) {
        return Some(format!("**{name}**\n\n{about}"));
    }
    let fact = modules::FACTS.iter().find(|fact| name.strip_prefix("ansible_") == Some(fact.name));
    if let Some(fact) = fact {
        let about = if fact.about.is_empty() { "A fact, as in Ansible." } else { fact.about };
        return Some(format!("**{name}**\n\n{about} It is read only because it is named."));
    }
    let around = Around::of(asked.files, asked.path, asked.text);
    let sets: Vec<String> = around
        .variables()
        .into_iter()
        .filter(|set| set.name == name)
        .map(|set| format!("- by `{}` in {}", set.by, set.path))
        .collect();
    (!sets.is_empty()).then(|| format!("**{name}** is set\n\n{}", sets.join("\n")))
}
