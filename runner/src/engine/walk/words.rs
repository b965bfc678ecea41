//! Tasks that only steer: they set, say, check and choose, and never touch a host.
use super::instance::{Frame, Inst, hidden};
use super::items::{Flow, Walker};
use super::outcome::What;
use super::setting::{Unknown, text_of};
use crate::diagnostic::Diagnostic;
use crate::inventory::InventoryVar;
use crate::playbook::Files as _;
use crate::template::{Json, Var};
use serde_json::{Map, json};

/// The words of the language that are tasks.
pub(super) struct Word;

const WORDS: [&str; 12] = [
    "add_host",
    "assert",
    "debug",
    "fail",
    "group_by",
    "include_vars",
    "meta",
    "pause",
    "set_fact",
    "set_stats",
    "wait_for_connection",
    "validate_argument_spec",
];

/// What a word comes to.
enum Said {
    /// It set variables.
    Sets(Vec<(String, Json)>),
    /// It said something.
    Text(String),
    /// All is well.
    Fine(Json),
    /// It failed.
    Fails(Diagnostic),
    /// It waits.
    Waits(Option<f64>, Option<String>),
    /// The walk goes elsewhere.
    Goes(Flow),
}

impl Word {
    /// Whether a module's name is a word.
    pub fn is(module: &str) -> bool {
        WORDS.contains(&module)
    }
}

impl Walker<'_> {
    /// A word.
    pub(super) fn word(&mut self, frame: &Frame<'_>) -> Result<Inst, Flow> {
        let module = frame.task.action.module.as_str();
        let free = match module {
            "meta" => Some("action"),
            "include_vars" => Some("file"),
            "pause" => Some("prompt"),
            "fail" | "debug" => Some("msg"),
            _ => None,
        };
        let given = match module {
            // What is asserted is a condition, not a value.
            "assert" => Ok((Map::new(), false)),
            _ => self.scope(Some(frame.task), frame.locals.clone()).given(frame.task, free),
        };
        let (given, mut secret) = match given {
            Ok(given) => given,
            Err(unknown) => return Ok(self.unknown_in(frame, unknown)),
        };
        let said = match module {
            "set_fact" => Ok(Said::Sets(given.into_iter().filter(|(name, _)| name != "cacheable").collect())),
            "debug" => self.debug(frame, &given),
            "assert" => self.assert(frame, &mut secret),
            "fail" => {
                let words =
                    given.get("msg").and_then(text_of).unwrap_or_else(|| "the playbook says so".to_owned());
                Ok(Said::Fails(Diagnostic::error(words, frame.task.action.span.clone())))
            }
            "include_vars" => self.include_vars(frame, &given),
            "add_host" => self.add_host(frame, &given),
            "group_by" => self.group_by(frame, &given),
            "meta" => self.meta(frame, &given),
            "pause" => Ok(pause(&given)),
            _ => Ok(Said::Fine(json!({}))),
        };
        match said {
            Err(unknown) => Ok(self.unknown_in(frame, unknown)),
            Ok(said) => self.settle(frame, said, secret || frame.secret),
        }
    }

    fn settle(&mut self, frame: &Frame<'_>, said: Said, secret: bool) -> Result<Inst, Flow> {
        match said {
            Said::Goes(flow) => match flow {
                Flow::Go => Ok(self.fine(frame, json!({}), Vec::new(), None)),
                other => Err(other),
            },
            Said::Fails(problem) => {
                let problem = if secret { hidden(&problem) } else { problem };
                let inst = self.failed(frame, problem);
                Ok(Inst { secret: inst.secret || secret, ..inst })
            }
            Said::Fine(result) => Ok(self.fine(frame, result, Vec::new(), None)),
            Said::Text(text) => {
                let shown = if secret { "(hidden: a secret is in it)".to_owned() } else { text.clone() };
                Ok(self.fine(frame, json!({ "msg": text }), Vec::new(), Some(shown)))
            }
            Said::Sets(pairs) => {
                let facts: Map<String, Json> = pairs.iter().cloned().collect();
                let sets: Vec<_> = pairs.into_iter().map(|(name, value)| (name, value, secret)).collect();
                self.take(frame.task, &sets);
                let mut inst = self.fine(frame, json!({ "ansible_facts": facts }), sets, None);
                inst.secret |= secret;
                if let Some(planned) = self.out.planned.last_mut() {
                    planned.secret |= secret;
                }
                Ok(inst)
            }
            Said::Waits(seconds, prompt) => {
                self.planned_in(frame, What::Pause { seconds, prompt });
                if let Some(planned) = self.out.planned.last_mut() {
                    planned.ends_batch = true;
                }
                Ok(self.known_inst(json!({"changed": false, "failed": false}), Vec::new()))
            }
        }
    }

    fn fine(
        &mut self,
        frame: &Frame<'_>,
        result: Json,
        sets: Vec<(String, Json, bool)>,
        said: Option<String>,
    ) -> Inst {
        let mut result = super::decide::result_of(&result, false, false);
        let mut locals = frame.locals.clone();
        if let Some((name, _)) = &frame.task.register {
            locals.push((name.clone(), Var::seen(Json::Object(result.clone()))));
        }
        let changed = match self.scope(Some(frame.task), locals).all(&frame.task.changed_when) {
            _ if frame.task.changed_when.is_empty() => false,
            Ok(first_false) => first_false.is_none(),
            Err(unknown) => return self.unknown_in(frame, unknown),
        };
        result.insert("changed".into(), json!(changed));
        let result = Json::Object(result);
        let what = match said {
            Some(text) => What::Said { text, result: result.clone() },
            None => What::Same { result: result.clone(), notes: Vec::new() },
        };
        self.planned_in(frame, what);
        let mut inst = self.known_inst(result, sets);
        inst.changed = Some(changed);
        inst
    }

    fn known_inst(&self, result: Json, sets: Vec<(String, Json, bool)>) -> Inst {
        Inst {
            result,
            changed: Some(false),
            failed: None,
            mistake: false,
            ignored: false,
            skipped: false,
            secret: false,
            item: None,
            sets,
        }
    }

    fn debug(&self, frame: &Frame<'_>, given: &Map<String, Json>) -> Result<Said, Unknown> {
        let text = |value: &Json| match value {
            Json::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        let verbosity = given.get("verbosity").and_then(text_of).and_then(|text| text.parse::<u32>().ok());
        if verbosity.is_some_and(|verbosity| verbosity > 0) {
            return Ok(Said::Fine(json!({"skipped": true})));
        }
        if let Some(msg) = given.get("msg") {
            return Ok(Said::Text(text(msg)));
        }
        let Some(node) = frame.task.action.args.get("var") else {
            return Ok(Said::Text("Hello world!".to_owned()));
        };
        let scope = self.scope(Some(frame.task), frame.locals.clone());
        let name = given.get("var").and_then(text_of).unwrap_or_default();
        let found = match scope.templates().expression(&name, &scope) {
            Ok(found) => found,
            Err(fault) if matches!(fault.kind, crate::template::Kind::Undefined { .. }) => {
                return Ok(Said::Text(format!("{name}: VARIABLE IS NOT DEFINED!")));
            }
            Err(fault) => return Err(Unknown::of(&fault, &node.span)),
        };
        if found.secret {
            return Ok(Said::Text(format!("{name}: (hidden: a secret is in it)")));
        }
        Ok(Said::Text(format!("{name}: {}", text(&found.value))))
    }

    fn assert(&self, frame: &Frame<'_>, secret: &mut bool) -> Result<Said, Unknown> {
        let args = &frame.task.action.args;
        let scope = self.scope(Some(frame.task), frame.locals.clone());
        let Some(that) = args.get("that") else {
            return Err(Unknown::Wrong(Box::new(Diagnostic::error(
                "`assert` needs `that`, a condition or a list of them",
                frame.task.action.span.clone(),
            ))));
        };
        let conditions: Vec<&crate::yaml::Node> = match that.as_seq() {
            Some(members) => members.iter().collect(),
            None => vec![that],
        };
        for condition in conditions {
            if scope.condition(condition)?.0 {
                continue;
            }
            let words = ["fail_msg", "msg"].iter().find_map(|name| args.get(name));
            let words = match words {
                Some(node) => {
                    let (words, tainted) = scope.evaluated(node)?;
                    *secret |= tainted;
                    text_of(&words)
                }
                None => None,
            };
            let held = condition.raw().trim().to_owned();
            let mut problem = match &words {
                Some(words) => Diagnostic::error(words.clone(), condition.span.clone()),
                None => Diagnostic::error(format!("this does not hold: {held}"), condition.span.clone()),
            };
            problem.label = words.map(|_| "this does not hold".to_owned());
            return Ok(Said::Fails(problem));
        }
        Ok(Said::Fine(json!({"msg": "All assertions passed"})))
    }

    fn include_vars(&mut self, frame: &Frame<'_>, given: &Map<String, Json>) -> Result<Said, Unknown> {
        let place = &frame.task.place;
        let at = frame.task.action.span.clone();
        let wrong = |message: String| Unknown::Wrong(Box::new(Diagnostic::error(message, at.clone())));
        let files = match (given.get("file").and_then(text_of), given.get("dir").and_then(text_of)) {
            (Some(name), _) => vec![
                self.scene
                    .found(place, &["vars"], &name)
                    .ok_or_else(|| wrong(format!("the variables file `{name}` is not found")))?,
            ],
            (None, Some(name)) => {
                let folder = self
                    .scene
                    .found(place, &["vars"], &name)
                    .ok_or_else(|| wrong(format!("the folder of variables `{name}` is not found")))?;
                let names =
                    crate::playbook::Disk.list(&folder).map_err(|why| wrong(format!("{folder}: {why}")))?;
                let wanted = |name: &String| [".yml", ".yaml", ".json"].iter().any(|end| name.ends_with(end));
                names.into_iter().filter(wanted).map(|name| format!("{folder}/{name}")).collect()
            }
            (None, None) => return Err(wrong("`include_vars` needs `file` or `dir`".to_owned())),
        };
        let under = given.get("name").and_then(text_of);
        let mut all = Map::new();
        let mut hidden = false;
        for file in files {
            let layer = self.scene.variables_of(&file).map_err(|problem| match problem.span {
                Some(_) => Unknown::Wrong(problem),
                None => wrong(problem.message),
            })?;
            for (name, var) in layer.iter() {
                hidden |= var.secret;
                if let crate::template::Held::Data(value) = &var.held {
                    all.insert(name.clone(), (**value).clone());
                }
                if under.is_none() {
                    self.live.included.insert(name.clone(), var.clone());
                }
            }
        }
        if let Some(name) = under {
            let var = Var::written(Json::Object(all.clone()));
            self.live.included.insert(name, if hidden { var.secret() } else { var });
        }
        Ok(Said::Fine(json!({ "ansible_facts": all })))
    }

    fn add_host(&mut self, frame: &Frame<'_>, given: &Map<String, Json>) -> Result<Said, Unknown> {
        let at = &frame.task.action.span;
        let name = ["name", "hostname", "host"].iter().find_map(|key| given.get(*key)).and_then(text_of);
        let Some(name) = name else {
            return Err(Unknown::Wrong(Box::new(Diagnostic::error("`add_host` needs `name`", at.clone()))));
        };
        let groups = ["groups", "group", "groupname"].iter().find_map(|key| given.get(*key));
        let groups: Vec<String> = match groups {
            Some(Json::Array(names)) => names.iter().filter_map(text_of).collect(),
            Some(value) => {
                let text = text_of(value).unwrap_or_default();
                text.split(',')
                    .map(|group| group.trim().to_owned())
                    .filter(|group| !group.is_empty())
                    .collect()
            }
            None => Vec::new(),
        };
        const OWN: [&str; 6] = ["name", "hostname", "host", "groups", "group", "groupname"];
        let vars = given.iter().filter(|(key, _)| !OWN.contains(&key.as_str()));
        let vars: Vec<(String, InventoryVar)> = vars
            .map(|(key, value)| {
                (key.clone(), InventoryVar { value: value.clone(), origin: at.clone(), trusted: false })
            })
            .collect();
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        self.scene
            .with_inventory(|inventory| {
                inventory.add_host(&name, &groups, vars, at, &crate::inventory::Disk).map(|_| ())
            })
            .map_err(|mut problems| Unknown::Wrong(Box::new(problems.swap_remove(0))))?;
        Ok(Said::Fine(json!({ "add_host": { "host_name": name } })))
    }

    fn group_by(&mut self, frame: &Frame<'_>, given: &Map<String, Json>) -> Result<Said, Unknown> {
        let at = &frame.task.action.span;
        let Some(key) = given.get("key").and_then(text_of) else {
            return Err(Unknown::Wrong(Box::new(Diagnostic::error("`group_by` needs `key`", at.clone()))));
        };
        let key = key.replace([' ', '-'], "_");
        let parents: Vec<String> = match given.get("parents") {
            Some(Json::Array(names)) => names.iter().filter_map(text_of).collect(),
            Some(value) => text_of(value).into_iter().collect(),
            None => vec!["all".to_owned()],
        };
        let (id, parents): (_, Vec<&str>) = (self.state.id, parents.iter().map(String::as_str).collect());
        self.scene
            .with_inventory(|inventory| {
                inventory.add_group(&key, &parents, &[id], at, &crate::inventory::Disk).map(|_| ())
            })
            .map_err(|mut problems| Unknown::Wrong(Box::new(problems.swap_remove(0))))?;
        Ok(Said::Fine(json!({ "add_group": key })))
    }

    fn meta(&mut self, frame: &Frame<'_>, given: &Map<String, Json>) -> Result<Said, Unknown> {
        let action =
            given.get("action").or_else(|| given.get("_raw_params")).and_then(text_of).unwrap_or_default();
        Ok(match action.trim() {
            "flush_handlers" => {
                let play = self.current();
                Said::Goes(self.flush(play))
            }
            "end_play" | "end_batch" | "end_host" => Said::Goes(Flow::EndPlay),
            "noop" | "clear_facts" | "clear_host_errors" | "refresh_inventory" | "reset_connection" => {
                Said::Goes(Flow::Go)
            }
            other => {
                const KNOWN: [&str; 8] = [
                    "flush_handlers",
                    "end_play",
                    "end_batch",
                    "end_host",
                    "noop",
                    "clear_facts",
                    "clear_host_errors",
                    "reset_connection",
                ];
                let mut problem = Diagnostic::error(
                    format!("`meta: {other}` is not known"),
                    frame.task.action.span.clone(),
                );
                problem.help = Some(match crate::diagnostic::did_you_mean(other, KNOWN) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("known are {}", KNOWN.join(", ")),
                });
                Said::Fails(problem)
            }
        })
    }
}

fn pause(given: &Map<String, Json>) -> Said {
    let number = |name: &str| match given.get(name) {
        Some(Json::Number(number)) => number.as_f64(),
        Some(Json::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    let seconds = number("seconds").or_else(|| number("minutes").map(|minutes| minutes * 60.0));
    Said::Waits(seconds, given.get("prompt").and_then(text_of))
}
