//! Keywords whose values may be templates.
use super::scope::Scope;
use crate::diagnostic::Diagnostic;
use crate::playbook::Setting;
use crate::source::Span;
use crate::template::{Fault, Json, Templates};
use crate::yaml::Node;

/// Why something could not be evaluated.
#[derive(Clone, Debug)]
pub(super) enum Unknown {
    /// It is known later, after this.
    Late(String),
    /// A fact must be read first.
    Fact(String),
    /// It is wrong.
    Wrong(Box<Diagnostic>),
    /// It reads a name that nobody has set.
    Undefined(Box<Diagnostic>),
}

impl Unknown {
    /// A fault of a template in a YAML value.
    pub fn of(fault: &Fault, at: &Span) -> Self {
        match &fault.kind {
            crate::template::Kind::Late { on } => Self::Late(on.clone()),
            crate::template::Kind::NeedFact { name } => Self::Fact(name.clone()),
            crate::template::Kind::Undefined { .. } => Self::Undefined(Box::new(fault.diagnostic(at))),
            _ => Self::Wrong(Box::new(fault.diagnostic(at))),
        }
    }

    /// A mistake at a place.
    pub fn wrong(message: impl Into<String>, at: &Span) -> Self {
        Self::Wrong(Box::new(Diagnostic::error(message, at.clone())))
    }
}

impl Scope<'_> {
    pub(super) fn templates(&self) -> &Templates {
        &self.scene.templates
    }

    /// A YAML value with its templates evaluated, and whether a secret was read.
    pub(super) fn evaluated(&self, node: &Node) -> Result<(Json, bool), Unknown> {
        let var = self.scene.layers.var(node);
        let crate::template::Held::Data(value) = &var.held else { return Ok((Json::Null, false)) };
        if !var.trusted {
            return Ok(((**value).clone(), var.secret));
        }
        let rendered = self.templates().json(value, self).map_err(|fault| self.unknown_in(node, &fault))?;
        Ok((rendered.value, rendered.secret || var.secret))
    }

    /// A fault somewhere inside a value: the text that has it is found again for its place.
    fn unknown_in(&self, node: &Node, fault: &Fault) -> Unknown {
        if fault.is_missing() {
            return Unknown::of(fault, &node.span);
        }
        let mut inner = None;
        visit(node, &mut |text| {
            if inner.is_none()
                && let Some(words) = text.as_str()
                && let Err(found) = self.templates().value(words, self)
                && !found.is_missing()
            {
                inner = Some(Unknown::of(&found, &text.span));
            }
        });
        inner.unwrap_or_else(|| Unknown::of(fault, &node.span))
    }

    /// A boolean keyword.
    pub(super) fn flag(&self, setting: Option<&Setting<bool>>, absent: bool) -> Result<bool, Unknown> {
        match setting {
            None => Ok(absent),
            Some(Setting::Fixed(value)) => Ok(*value),
            Some(Setting::Template(node)) => match self.evaluated(node)?.0 {
                Json::Bool(value) => Ok(value),
                Json::String(text) => crate::playbook::boolean(&text)
                    .ok_or_else(|| Unknown::wrong(format!("`{text}` is neither true nor false"), &node.span)),
                Json::Number(number) => Ok(number.as_f64() != Some(0.0)),
                Json::Null => Ok(absent),
                _ => Err(Unknown::wrong("this must come out as true or false", &node.span)),
            },
        }
    }

    /// A keyword of text.
    pub(super) fn text(&self, setting: Option<&Setting<String>>) -> Result<Option<String>, Unknown> {
        match setting {
            None => Ok(None),
            Some(Setting::Fixed(value)) => Ok(Some(value.clone())),
            Some(Setting::Template(node)) => Ok(text_of(&self.evaluated(node)?.0)),
        }
    }

    /// A keyword that is a number.
    pub(super) fn number(
        &self,
        setting: Option<f64>,
        template: Option<&Node>,
    ) -> Result<Option<f64>, Unknown> {
        match (setting, template) {
            (Some(value), _) => Ok(Some(value)),
            (None, None) => Ok(None),
            (None, Some(node)) => match self.evaluated(node)?.0 {
                Json::Number(number) => Ok(number.as_f64()),
                Json::String(text) => text
                    .trim()
                    .parse()
                    .map(Some)
                    .map_err(|_| Unknown::wrong(format!("`{text}` is not a number"), &node.span)),
                Json::Null => Ok(None),
                _ => Err(Unknown::wrong("this must come out as a number", &node.span)),
            },
        }
    }

    /// A condition: text or a boolean. Gives its truth and whether a secret was read.
    pub(super) fn condition(&self, node: &Node) -> Result<(bool, bool), Unknown> {
        if let Some(value) = node.as_bool() {
            return Ok((value, false));
        }
        let text = node.as_str().map_or_else(|| node.raw().to_owned(), str::to_owned);
        self.templates().condition(&text, self).map_err(|fault| Unknown::of(&fault, &node.span))
    }

    /// The first condition that is false, if one is. All must hold.
    pub(super) fn all(&self, conditions: &[std::sync::Arc<Node>]) -> Result<Option<String>, Unknown> {
        for condition in conditions {
            if !self.condition(condition)?.0 {
                return Ok(Some(condition.raw().trim().to_owned()));
            }
        }
        Ok(None)
    }
}

/// A number keyword's fixed value and its template.
pub(super) fn parts<T: Copy + Into<f64>>(setting: Option<&Setting<T>>) -> (Option<f64>, Option<&Node>) {
    match setting {
        None => (None, None),
        Some(Setting::Fixed(value)) => (Some((*value).into()), None),
        Some(Setting::Template(node)) => (None, Some(node)),
    }
}

/// A value as the text that a template would print.
pub(super) fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn visit(node: &Node, found: &mut impl FnMut(&Node)) {
    match &node.data {
        crate::yaml::Data::Str(_) => found(node),
        crate::yaml::Data::Seq(members) => members.iter().for_each(|member| visit(member, found)),
        crate::yaml::Data::Map(pairs) => pairs.iter().for_each(|(key, value)| {
            visit(key, found);
            visit(value, found);
        }),
        _ => {}
    }
}
