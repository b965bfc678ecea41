//! What a task's conditions say of its result.
use super::outcome::{Ran, Verdict};
use super::scope::Scope;
use super::setting::Unknown;
use crate::playbook::Task;
use crate::template::{Json, Var};
use modules::vocabulary::Output;
use serde_json::{Map, json};

/// The parts of a result that a program's answer makes.
pub(super) fn answered(result: &mut Map<String, Json>, output: &Output) {
    let text = |text: String| text.trim_end_matches(['\n', '\r']).to_owned();
    let (stdout, stderr) = (text(output.text()), text(output.error_text()));
    let lines = |text: &str| {
        if text.is_empty() { Vec::new() } else { text.lines().map(str::to_owned).collect::<Vec<_>>() }
    };
    result.insert("rc".into(), json!(output.status));
    result.insert("stdout_lines".into(), json!(lines(&stdout)));
    result.insert("stderr_lines".into(), json!(lines(&stderr)));
    result.insert("stdout".into(), json!(stdout));
    result.insert("stderr".into(), json!(stderr));
}

/// A result as `register` holds it.
pub(super) fn result_of(own: &Json, changed: bool, failed: bool) -> Map<String, Json> {
    let mut result = match own {
        Json::Object(map) => map.clone(),
        Json::Null => Map::new(),
        other => Map::from_iter([("value".to_owned(), other.clone())]),
    };
    result.insert("changed".into(), json!(changed));
    result.insert("failed".into(), json!(failed));
    result
}

impl Scope<'_> {
    /// The verdict on what was done: `failed_when` and `changed_when` see the result under its registered name, and
    /// its parts as names of their own.
    pub(super) fn verdict(&mut self, task: &Task, ran: &Ran) -> Result<Verdict, Unknown> {
        let mut failed = ran.error.is_some();
        let mut result = result_of(&ran.result, ran.changed, failed);
        if let Some(output) = &ran.answer {
            answered(&mut result, output);
            failed |= output.status != 0;
            result.insert("failed".into(), json!(failed));
        }
        if let Some(error) = &ran.error {
            result.entry("msg").or_insert_with(|| json!(error));
        }
        if ran.tries > 0 {
            result.insert("attempts".into(), json!(ran.tries));
        }
        let locals = self.locals.len();
        if let Some((name, _)) = &task.register {
            self.locals.push((name.clone(), Var::seen(Json::Object(result.clone()))));
        }
        let decided = self.conditions(task, ran, &mut result, failed);
        self.locals.truncate(locals);
        decided?;
        let truth = |name: &str| result.get(name).and_then(Json::as_bool).unwrap_or(false);
        Ok(Verdict { changed: truth("changed"), failed: truth("failed"), result: Json::Object(result) })
    }

    fn conditions(
        &self,
        task: &Task,
        ran: &Ran,
        result: &mut Map<String, Json>,
        failed: bool,
    ) -> Result<(), Unknown> {
        // An act that could not be done at all is no matter of taste; a program's status is.
        let open = ran.answer.is_some() || !failed;
        if !task.failed_when.is_empty() && open {
            let holds = self.all(&task.failed_when)?.is_none();
            result.insert("failed".into(), json!(holds));
            if holds {
                result.insert("failed_when_result".into(), json!(true));
            }
        }
        if !task.changed_when.is_empty() {
            let holds = self.all(&task.changed_when)?.is_none();
            result.insert("changed".into(), json!(holds));
        }
        Ok(())
    }
}
