//! Commands that only read, asked while planning.
use super::asking::never_changes;
use super::instance::{Frame, Inst};
use super::items::Walker;
use super::outcome::{Ran, What};
use crate::diagnostic::Diagnostic;
use modules::vocabulary::{Act, Change, Output, Read, Row, Seen};

impl Walker<'_> {
    /// The row of a command that only reads, if it may be asked now.
    pub(super) fn probe(&self, frame: &Frame<'_>, change: &Change) -> Option<Row> {
        let task = frame.task;
        let [step] = change.steps.as_slice() else { return None };
        let Act::Call { row, .. } = &step.act else { return None };
        if !matches!(task.action.module.as_str(), "command" | "shell")
            || self.scene.no_probes
            || !task.until.is_empty()
        {
            return None;
        }
        let never = never_changes(task);
        let fixed = |setting: &Option<crate::playbook::Setting<bool>>| {
            setting.as_ref().and_then(|setting| setting.fixed().copied())
        };
        let declared =
            fixed(&task.probe) == Some(true) || (never && fixed(&task.settings.check_mode) == Some(false));
        let harmless = never && !self.scene.check && !self.scene.declared_only && !self.changes;
        if !declared && !harmless {
            return None;
        }
        let name = if row.name == "shell" { "probe-shell" } else { "probe" };
        Some(Row { name: name.to_owned(), ..row.clone() })
    }

    /// A command that is asked while planning, and its answer once it is there.
    pub(super) fn probed(&mut self, frame: Frame<'_>, row: Row, change: &Change) -> Inst {
        let read = Read::Ask(row);
        let seen = self.facts.get(&frame.target).and_then(|facts| facts.seen(&read).cloned());
        match seen {
            None => {
                self.out.want(&frame.target.clone(), [read]);
                self.late(&frame, "it is asked")
            }
            Some(Seen::Output(output)) => self.answer(frame, change, output),
            Some(other) => {
                let problem = Diagnostic::error(
                    format!("it could not be asked: {other:?}"),
                    frame.task.action.span.clone(),
                );
                self.failed(&frame, problem)
            }
        }
    }

    pub(super) fn answer(&mut self, frame: Frame<'_>, change: &Change, output: Output) -> Inst {
        let ran =
            Ran { result: change.result.clone(), answer: Some(output), changed: true, ..Ran::default() };
        let verdict = {
            let mut scope = self.scope(Some(frame.task), frame.locals.clone());
            scope.verdict(frame.task, &ran)
        };
        match verdict {
            Err(unknown) => self.unknown_in(&frame, unknown),
            Ok(verdict) if verdict.failed => self.failed_by(&frame, verdict, None),
            Ok(verdict) => {
                let (result, changed) = (verdict.result.clone(), verdict.changed);
                self.state.ran.insert(
                    frame.key.clone(),
                    Ran { verdict: Some(verdict), probed: true, secret: frame.secret, ..ran },
                );
                self.planned_in(&frame, What::Probed { result: result.clone() });
                Inst { secret: frame.secret, ..Inst::known(result, changed) }
            }
        }
    }
}
