//! The items of a loop.
use super::scope::Scope;
use super::setting::{Unknown, text_of};
use crate::playbook::{Loop, LoopKind, Task};
use crate::template::{Json, Var};
use serde_json::json;

/// One turn of a loop: the variables that it brings, and what people call it.
pub(super) struct Turn {
    /// The item itself.
    pub item: Json,
    /// Its number, from 0.
    pub index: usize,
    /// How many there are.
    pub length: usize,
    /// Whether a secret was read to make it.
    pub secret: bool,
}

impl Scope<'_> {
    /// The items of a task's loop, in order.
    pub(super) fn turns(&self, repeat: &Loop, task: &Task) -> Result<Vec<Turn>, Unknown> {
        let (over, secret) = self.looped(repeat)?;
        let items = self.items(repeat, task, over)?;
        let length = items.len();
        Ok(items.into_iter().enumerate().map(|(index, item)| Turn { item, index, length, secret }).collect())
    }

    /// What is looped over; a bare name is a variable with the older `with_…`.
    fn looped(&self, repeat: &Loop) -> Result<(Json, bool), Unknown> {
        let node = &repeat.over;
        if let (false, Some(text)) = (repeat.kind == LoopKind::Loop, node.as_str())
            && !crate::template::Templates::is_template(text)
            && matches!(
                repeat.kind,
                LoopKind::Items | LoopKind::Dict | LoopKind::Flattened | LoopKind::IndexedItems
            )
            && crate::template::Vars::get(self, text).is_some()
        {
            let found =
                self.templates().expression(text, self).map_err(|fault| Unknown::of(&fault, &node.span))?;
            return Ok((found.value, found.secret));
        }
        self.evaluated(node)
    }

    fn items(&self, repeat: &Loop, task: &Task, over: Json) -> Result<Vec<Json>, Unknown> {
        let node = &repeat.over;
        let wrong = |message: &str| Unknown::wrong(message, &node.span);
        match repeat.kind {
            LoopKind::Loop => match over {
                Json::Array(items) => Ok(items),
                Json::Null => Ok(Vec::new()),
                _ => Err(Unknown::Wrong(Box::new(
                    crate::diagnostic::Diagnostic::error("`loop` wants a list", node.span.clone())
                        .help("write `loop: [\"{{ x }}\"]` for one item, or `| dict2items` for a mapping"),
                ))),
            },
            LoopKind::Items => Ok(list(over)
                .into_iter()
                .flat_map(|item| match item {
                    Json::Array(inner) => inner,
                    other => vec![other],
                })
                .collect()),
            LoopKind::Flattened => Ok(flat(list(over))),
            LoopKind::IndexedItems => {
                let items = list(over).into_iter().flat_map(|item| match item {
                    Json::Array(inner) => inner,
                    other => vec![other],
                });
                Ok(items.enumerate().map(|(index, item)| json!([index, item])).collect())
            }
            LoopKind::Dict => match over {
                Json::Object(map) => {
                    Ok(map.into_iter().map(|(key, value)| json!({"key": key, "value": value})).collect())
                }
                Json::Array(maps) => Ok(maps
                    .into_iter()
                    .filter_map(|map| map.as_object().cloned())
                    .flat_map(|map| map.into_iter().map(|(key, value)| json!({"key": key, "value": value})))
                    .collect()),
                _ => Err(wrong("`with_dict` wants a mapping")),
            },
            LoopKind::Sequence => sequence(&over).map_err(|why| wrong(&why)),
            LoopKind::Together => Ok(together(list(over))),
            LoopKind::Nested => Ok(nested(list(over))),
            LoopKind::Subelements => subelements(list(over)).map_err(|why| wrong(&why)),
            LoopKind::Fileglob => Ok(self.scene.globbed(&task.place, &texts(list(over)))),
            LoopKind::FirstFound => self.first_found(task, over).map_err(|why| wrong(&why)),
            LoopKind::InventoryHostnames => {
                let inventory = self.scene.inventory();
                let patterns = texts(list(over)).join(":");
                let hosts = inventory.select(&patterns, Some(&node.span)).map_err(|none| {
                    Unknown::Wrong(Box::new(none.problems.into_iter().next().unwrap_or_else(|| {
                        crate::diagnostic::Diagnostic::error("no host matches", node.span.clone())
                    })))
                })?;
                Ok(hosts.into_iter().map(|host| json!(inventory.host_name(host))).collect())
            }
        }
    }

    fn first_found(&self, task: &Task, over: Json) -> Result<Vec<Json>, String> {
        let skip = skips(&over);
        let names = first_found_names(over);
        let folders = ["files", "templates", "tasks", "vars"];
        match names.iter().find_map(|name| self.scene.found(&task.place, &folders, name)) {
            Some(path) => Ok(vec![json!(path)]),
            None if skip => Ok(Vec::new()),
            None => Err(format!("none of these files was found: {}", names.join(", "))),
        }
    }

    /// The variables that a turn brings.
    pub(super) fn turn_vars(
        repeat: &Loop,
        turn: &Turn,
        items: &[Json],
        extended: bool,
    ) -> Vec<(String, Var)> {
        let control = &repeat.control;
        let var = |value: Json| if turn.secret { Var::seen(value).secret() } else { Var::seen(value) };
        let mut vars =
            vec![(control.loop_var.clone().unwrap_or_else(|| "item".to_owned()), var(turn.item.clone()))];
        if let Some(index) = &control.index_var {
            vars.push((index.clone(), Var::seen(json!(turn.index))));
        }
        if extended {
            let (index, length) = (turn.index, turn.length);
            let value = json!({
                "index": index + 1, "index0": index, "first": index == 0, "last": index + 1 == length,
                "length": length, "revindex": length - index, "revindex0": length - index - 1,
                "previtem": index.checked_sub(1).and_then(|at| items.get(at)), "nextitem": items.get(index + 1),
                "allitems": items,
            });
            vars.push(("ansible_loop".to_owned(), var(value)));
        }
        vars.push((
            "ansible_loop_var".to_owned(),
            Var::seen(json!(control.loop_var.as_deref().unwrap_or("item"))),
        ));
        vars
    }
}

/// What people call an item: a scalar itself, of a mapping its telling part.
pub(super) fn label(item: &Json) -> String {
    const LONGEST: usize = 60;
    let text = match item {
        Json::Object(map) => ["name", "key", "path", "dest"]
            .iter()
            .find_map(|key| map.get(*key))
            .and_then(text_of)
            .unwrap_or_else(|| item.to_string()),
        other => text_of(other).unwrap_or_else(|| "null".to_owned()),
    };
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

fn list(value: Json) -> Vec<Json> {
    match value {
        Json::Array(items) => items,
        Json::Null => Vec::new(),
        other => vec![other],
    }
}

fn flat(items: Vec<Json>) -> Vec<Json> {
    items
        .into_iter()
        .flat_map(|item| match item {
            Json::Array(inner) => flat(inner),
            other => vec![other],
        })
        .collect()
}

fn texts(items: Vec<Json>) -> Vec<String> {
    items.iter().filter_map(text_of).collect()
}

fn together(lists: Vec<Json>) -> Vec<Json> {
    let lists: Vec<Vec<Json>> = lists.into_iter().map(list).collect();
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .map(|index| {
            Json::Array(lists.iter().map(|list| list.get(index).cloned().unwrap_or(Json::Null)).collect())
        })
        .collect()
}

fn nested(lists: Vec<Json>) -> Vec<Json> {
    lists
        .into_iter()
        .map(list)
        .fold(vec![Vec::new()], |rows: Vec<Vec<Json>>, list| {
            rows.iter()
                .flat_map(|row| {
                    list.iter().map(move |item| row.iter().cloned().chain([item.clone()]).collect())
                })
                .collect()
        })
        .into_iter()
        .map(Json::Array)
        .collect()
}

fn subelements(parts: Vec<Json>) -> Result<Vec<Json>, String> {
    let mut parts = parts.into_iter();
    let (Some(over), Some(Json::String(path))) = (parts.next(), parts.next()) else {
        return Err("`with_subelements` wants a list and the name of its part".to_owned());
    };
    let skip =
        parts.next().is_some_and(|flags| flags.get("skip_missing").and_then(Json::as_bool) == Some(true));
    let members = match over {
        Json::Object(map) => map.into_iter().map(|(_, value)| value).collect(),
        other => list(other),
    };
    let mut pairs = Vec::new();
    for member in members {
        let part = path.split('.').try_fold(&member, |at, name| at.get(name));
        match part {
            Some(Json::Array(inner)) => {
                pairs.extend(inner.iter().map(|inner| json!([member.clone(), inner])))
            }
            Some(_) => return Err(format!("`{path}` of a member is not a list")),
            None if skip => {}
            None => {
                return Err(format!("a member has no `{path}`: add `skip_missing: true`, or give it one"));
            }
        }
    }
    Ok(pairs)
}

/// Whether finding nothing is fine: `skip: true`.
fn skips(over: &Json) -> bool {
    match over {
        Json::Object(map) => match map.get("skip") {
            Some(Json::Bool(skip)) => *skip,
            Some(Json::String(text)) => crate::playbook::boolean(text) == Some(true),
            _ => false,
        },
        Json::Array(items) => items.iter().any(skips),
        _ => false,
    }
}

fn first_found_names(over: Json) -> Vec<String> {
    match over {
        Json::Object(map) => {
            let files = map.get("files").cloned().map(list).unwrap_or_default();
            let paths = map.get("paths").cloned().map(list).unwrap_or_default();
            let (files, paths) = (texts(files), texts(paths));
            if paths.is_empty() {
                return files;
            }
            paths.iter().flat_map(|path| files.iter().map(move |file| format!("{path}/{file}"))).collect()
        }
        other => list(other)
            .into_iter()
            .flat_map(|item| match item {
                Json::Object(_) => first_found_names(item),
                other => text_of(&other).into_iter().collect(),
            })
            .collect(),
    }
}

/// `start=1 end=3 stride=1 count=2 format=x%02d`, or `1-3/2:x%02d`, or a mapping.
fn sequence(over: &Json) -> Result<Vec<Json>, String> {
    let words: Vec<(String, String)> = match over {
        Json::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), text_of(value).unwrap_or_default())).collect()
        }
        Json::Array(items) => {
            return items.iter().map(sequence).collect::<Result<Vec<_>, _>>().map(|all| all.concat());
        }
        other => {
            let text = text_of(other).unwrap_or_default();
            match shortcut(&text) {
                Some(words) => words,
                None => text
                    .split_whitespace()
                    .map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
                    .collect::<Option<Vec<_>>>()
                    .ok_or_else(|| format!("`{text}` is not a sequence: write `start=1 end=3`"))?,
            }
        }
    };
    let number = |name: &str| -> Result<Option<i64>, String> {
        let Some((_, text)) = words.iter().find(|(key, _)| key == name) else { return Ok(None) };
        let (digits, radix) = match text.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (text.as_str(), 10),
        };
        i64::from_str_radix(digits, radix)
            .map(Some)
            .map_err(|_| format!("`{name}={text}` is not a whole number"))
    };
    let (start, stride) = (number("start")?.unwrap_or(1), number("stride")?.unwrap_or(1));
    let end = match (number("end")?, number("count")?) {
        (Some(end), None) => end,
        (None, Some(count)) => start + (count - 1) * stride,
        _ => return Err("a sequence wants either `end` or `count`".to_owned()),
    };
    if stride == 0 || (end - start) / stride > 100_000 {
        return Err("a sequence of more than 100,000 numbers, or without an end".to_owned());
    }
    let format = words.iter().find(|(key, _)| key == "format").map(|(_, format)| format.as_str());
    let mut numbers = Vec::new();
    let mut at = start;
    while (stride > 0 && at <= end) || (stride < 0 && at >= end) {
        numbers.push(json!(formatted(format, at)?));
        at += stride;
    }
    Ok(numbers)
}

fn shortcut(text: &str) -> Option<Vec<(String, String)>> {
    let (range, format) = text.split_once(':').map_or((text, None), |(range, format)| (range, Some(format)));
    let (range, stride) =
        range.split_once('/').map_or((range, None), |(range, stride)| (range, Some(stride)));
    let (start, end) = range.split_once('-').map_or((None, range), |(start, end)| (Some(start), end));
    end.parse::<i64>().ok()?;
    let pairs = [("start", start), ("end", Some(end)), ("stride", stride), ("format", format)];
    Some(pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect())
}

/// `%d`, `%02d`, `%x`, `%03x` within other text.
fn formatted(format: Option<&str>, number: i64) -> Result<String, String> {
    let Some(format) = format else { return Ok(number.to_string()) };
    let fault = || format!("`{format}` is not a format for numbers: write for example `disk%02d`");
    let at = format.find('%').ok_or_else(fault)?;
    let rest = &format[at + 1..];
    let end = rest.find(['d', 'x', 'i', 'u', 'X']).ok_or_else(fault)?;
    let width = &rest[..end];
    let zeros = width.starts_with('0');
    let width: usize = if width.is_empty() { 0 } else { width.parse().map_err(|_| fault())? };
    let digits = match &rest[end..=end] {
        "x" => format!("{number:x}"),
        "X" => format!("{number:X}"),
        _ => number.to_string(),
    };
    let padded = if zeros { format!("{digits:0>width$}") } else { format!("{digits:>width$}") };
    Ok(format!("{}{padded}{}", &format[..at], &rest[end + 1..]))
}
