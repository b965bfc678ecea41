//! Expressions and templates over variables, with Ansible's meaning.
//!
//! The parser is minijinja's; the evaluation is our own, because three things must be noticed where they happen: a
//! name that is not known yet, a name that is undefined, a name that is secret.
mod calls;
mod changing;
mod clock;
mod eval;
mod fault;
mod filters;
mod frame;
mod functions;
mod lookups;
mod lower;
mod marks;
mod methods;
mod missing;
mod names;
mod ops;
mod percent;
mod predicates;
mod reach;
mod scope;
mod show;
mod statements;
mod texts;
mod tree;
mod value;
mod versions;
mod world;
mod write;

#[cfg(test)]
mod changing_tests;
#[cfg(test)]
mod meaning_tests;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use minijinja::syntax::SyntaxConfig;

pub use fault::{Fault, Kind, Via};
pub use missing::{Missing, find_missing, is_omit, late, missing, omit, unread_fact};
pub use scope::{Held, Var, Vars};
pub use world::{FileOptions, Files, NoFiles, TemplateWorld};

use eval::Eval;
use frame::Frame;
use marks::Delimiters;
use tree::Compiled;
use value::Val;

/// The values of variables and results.
pub type Json = serde_json::Value;

/// A rendered value.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The value.
    pub value: Json,
    /// Whether a secret was read on the way.
    pub secret: bool,
}

/// Texts that are kept after reading; more than this many are dropped at once.
const KEPT: usize = 65_536;

/// The words that turn a text into something to evaluate.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Mode {
    Value,
    Condition,
}

/// Expressions and templates, read once and kept.
pub struct Templates {
    world: TemplateWorld,
    read: [RwLock<HashMap<Box<str>, Arc<Compiled>>>; 2],
}

impl Templates {
    /// Templates that see files, the environment and the time only through `world`.
    pub fn new(world: TemplateWorld) -> Self {
        Self { world, read: Default::default() }
    }

    pub(crate) fn world(&self) -> &TemplateWorld {
        &self.world
    }

    /// Whether the text holds `{{`, `{%` or `{#`.
    pub fn is_template(text: &str) -> bool {
        let mut bytes = text.as_bytes();
        while let Some(at) = bytes.iter().position(|byte| *byte == b'{') {
            if matches!(bytes.get(at + 1), Some(b'{' | b'%' | b'#')) {
                return true;
            }
            bytes = &bytes[at + 1..];
        }
        false
    }

    fn compiled(&self, text: &str, mode: Mode) -> Arc<Compiled> {
        let kept = &self.read[mode as usize];
        if let Some(found) = kept.read().unwrap_or_else(PoisonError::into_inner).get(text) {
            return Arc::clone(found);
        }
        let compiled = Arc::new(match mode {
            Mode::Value => {
                let masked = marks::mask_template(text, &Delimiters::default(), true);
                // Like Ansible, a value's last line break is kept.
                let mut syntax = SyntaxConfig::builder();
                syntax.keep_trailing_newline(true);
                lower::template(masked.as_deref(), syntax.build().unwrap_or_default())
            }
            Mode::Condition => lower::expression(marks::mask_expression(text).as_deref()),
        });
        let mut kept = kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(text.into(), Arc::clone(&compiled));
        compiled
    }

    fn compiled_value(&self, text: &str) -> Arc<Compiled> {
        self.compiled(text, Mode::Value)
    }

    /// Renders one text: the native value where it is exactly one `{{ … }}`, else text.
    ///
    /// # Errors
    /// Whatever [`Kind`] names; a result that holds something late or undefined anywhere is an error too.
    pub fn value(&self, text: &str, vars: &dyn Vars) -> Result<Rendered, Fault> {
        if !Self::is_template(text) {
            return Ok(Rendered { value: Json::String(text.to_owned()), secret: false });
        }
        self.evaluated(text, vars, |eval| {
            let val = eval.render(&self.compiled_value(text), Frame::new(0))?;
            eval.json(&val, whole(text))
        })
    }

    /// Renders all texts inside a value, keys of mappings too; entries that come out as `omit` are left out.
    ///
    /// # Errors
    /// As [`Templates::value`]; a mark of [`late`] or [`unread_fact`] inside the value itself is one.
    pub fn json(&self, value: &Json, vars: &dyn Vars) -> Result<Rendered, Fault> {
        Ok(match value {
            Json::String(text) => self.value(text, vars)?,
            Json::Array(items) => {
                let (mut out, mut secret) = (Vec::with_capacity(items.len()), false);
                for item in items {
                    let item = self.json(item, vars)?;
                    secret |= item.secret;
                    if !is_omit(&item.value) {
                        out.push(item.value);
                    }
                }
                Rendered { value: Json::Array(out), secret }
            }
            Json::Object(_) if is_omit(value) => Rendered { value: omit(), secret: false },
            Json::Object(map) => {
                if let Some(missing) = missing(value) {
                    return Err(Fault::missing(missing, 0..0));
                }
                let (mut out, mut secret) = (serde_json::Map::new(), false);
                for (key, item) in map {
                    let key = self.key(key, vars, &mut secret)?;
                    let item = self.json(item, vars)?;
                    secret |= item.secret;
                    if !is_omit(&item.value) {
                        out.insert(key, item.value);
                    }
                }
                Rendered { value: Json::Object(out), secret }
            }
            other => Rendered { value: other.clone(), secret: false },
        })
    }

    fn key(&self, key: &str, vars: &dyn Vars, secret: &mut bool) -> Result<String, Fault> {
        if !Self::is_template(key) {
            return Ok(key.to_owned());
        }
        let rendered = self.value(key, vars)?;
        *secret |= rendered.secret;
        match rendered.value {
            Json::String(key) => Ok(key),
            Json::Number(n) => Ok(n.to_string()),
            _ => Err(Fault::failed("the key of a mapping must come out as text", 0..key.len())),
        }
    }

    /// Evaluates a bare expression, such as that of `when`; gives its truth and whether a secret was read. As in
    /// Ansible 2.19 the result must be a boolean.
    ///
    /// # Errors
    /// As [`Templates::value`], and a result that is no boolean.
    pub fn condition(&self, text: &str, vars: &dyn Vars) -> Result<(bool, bool), Fault> {
        if text.trim().is_empty() {
            return Err(Fault::failed("a condition cannot be empty", 0..text.len()));
        }
        let done = self.evaluated(text, vars, |eval| self.truth_of(text, eval).map(Json::Bool))?;
        Ok((done.value == Json::Bool(true), done.secret))
    }

    /// One evaluation; its faults do not tell secrets.
    fn evaluated(
        &self,
        text: &str,
        vars: &dyn Vars,
        run: impl FnOnce(&Eval<'_>) -> Result<Json, Fault>,
    ) -> Result<Rendered, Fault> {
        let eval = Eval::new(self, vars);
        match run(&eval) {
            Ok(value) => Ok(Rendered { value, secret: eval.secret.get() }),
            Err(fault) if eval.secret.get() => Err(fault.hush(text)),
            Err(fault) => Err(fault),
        }
    }

    fn truth_of(&self, text: &str, eval: &Eval<'_>) -> Result<bool, Fault> {
        let trimmed = text.trim();
        let all_template = trimmed.starts_with("{{") && trimmed.ends_with("}}");
        let compiled =
            if all_template { self.compiled_value(text) } else { self.compiled(text, Mode::Condition) };
        let mut val = eval.render(&compiled, Frame::new(0))?;
        // A template in the place of a condition may give the condition's text.
        if let (true, Val::Str(inner)) = (all_template, &val) {
            val = eval.render(&self.compiled(&inner.clone(), Mode::Condition), Frame::new(0)).map_err(
                |mut fault| {
                    fault.range = 0..text.len();
                    fault
                },
            )?;
        }
        match eval.known(val, whole(text))? {
            Val::Bool(held) => Ok(held),
            other => {
                let why = format!("a condition must be true or false; this is {}", other.kind());
                let hint = match &other {
                    Val::Str(_) | Val::Int(_) => "add `| bool`, or compare it with something",
                    other if other.is_list() || other.is_mapping() => "add `| length > 0`",
                    _ => "compare it with something, or test it with `is defined`",
                };
                Err(Fault::failed(why, 0..text.len()).hint(hint))
            }
        }
    }

    /// Evaluates a bare expression to its native value, such as that of `until` parts or `debug: var=`.
    ///
    /// # Errors
    /// As [`Templates::value`].
    pub fn expression(&self, text: &str, vars: &dyn Vars) -> Result<Rendered, Fault> {
        self.evaluated(text, vars, |eval| {
            let val = eval.render(&self.compiled(text, Mode::Condition), Frame::new(0))?;
            eval.json(&val, whole(text))
        })
    }

    /// Renders the text of a template file; the result is always text. A first line `#jinja2: key: value, …` sets
    /// options, as in Ansible.
    ///
    /// # Errors
    /// As [`Templates::value`].
    pub fn file(&self, text: &str, vars: &dyn Vars, options: &FileOptions) -> Result<Rendered, Fault> {
        self.evaluated(text, vars, |eval| eval.file_text(text, options, 0).map(Json::String))
    }

    /// What is wrong with a template as far as can be said without variables: syntax, unknown or refused names.
    pub fn check(&self, text: &str) -> Vec<Fault> {
        if Self::is_template(text) { self.compiled_value(text).faults.clone() } else { Vec::new() }
    }

    /// The same for a bare expression.
    pub fn check_condition(&self, text: &str) -> Vec<Fault> {
        let trimmed = text.trim();
        if trimmed.starts_with("{{") && trimmed.ends_with("}}") {
            return self.check(text);
        }
        self.compiled(text, Mode::Condition).faults.clone()
    }

    /// The names that a template reads, dotted as far as they are written out: `ansible_facts.os_family`.
    pub fn names_used(&self, text: &str) -> Vec<String> {
        if Self::is_template(text) { names::used(&self.compiled_value(text)) } else { Vec::new() }
    }

    /// The same for a bare expression.
    pub fn names_used_in_condition(&self, text: &str) -> Vec<String> {
        let trimmed = text.trim();
        if trimmed.starts_with("{{") && trimmed.ends_with("}}") {
            return self.names_used(text);
        }
        names::used(&self.compiled(text, Mode::Condition))
    }
}

/// The place of a whole text.
fn whole(text: &str) -> tree::Place {
    (0, u32::try_from(text.len()).unwrap_or(u32::MAX))
}

impl Eval<'_> {
    /// A template file's text, rendered within that scope.
    fn file_text(&self, text: &str, options: &FileOptions, scope: usize) -> Result<String, Fault> {
        let (options, start) = options.with_header(text)?;
        let body = &text[start..];
        let shift = |mut fault: Fault| {
            if fault.range.end <= body.len() {
                fault.range = fault.range.start + start..fault.range.end + start;
            }
            fault
        };
        let masked = marks::mask_template(body, &options.delimiters(), false);
        let compiled = lower::template(masked.as_deref(), options.syntax().map_err(&shift)?);
        let val = self.render(&compiled, Frame::new(scope)).map_err(&shift)?;
        let out = match val {
            Val::None => String::new(),
            val => self.show(&val, whole(body)).map_err(&shift)?,
        };
        let lines = options.newline_sequence.as_str();
        Ok(if lines == "\n" { out } else { out.replace('\n', lines) })
    }
}
