//! The values that expressions work on: Python's kinds, with variables' containers left untouched until used.
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::Json;
use super::fault::Via;
use super::missing::Missing;
use super::tree::{Macro, Place};

/// A key of a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    None,
    Bool(bool),
    Int(i128),
    Str(Arc<str>),
}

pub(super) type Map = IndexMap<Key, Val>;

impl Key {
    /// The key under which the mapping holds it; true is 1 and false is 0 there, as in Python.
    pub fn held_by(&self, map: &Map) -> Option<Self> {
        let twin = match self {
            Self::Bool(b) => Some(Self::Int(i128::from(*b))),
            Self::Int(0) => Some(Self::Bool(false)),
            Self::Int(1) => Some(Self::Bool(true)),
            _ => None,
        };
        if map.contains_key(self) { Some(self.clone()) } else { twin.filter(|twin| map.contains_key(twin)) }
    }
}

/// Something that was read and does not exist.
pub(super) struct Lack {
    /// As written: `a.b`.
    pub name: String,
    /// Where it was looked for: a scope, or the value that lacks it.
    pub within: Within,
    /// The words of `undef(hint=…)` or `mandatory`, in the place of the usual message.
    pub hint: Option<String>,
    /// Where it was read.
    pub place: Place,
    /// The variables that were rendered on the way.
    pub via: Vec<Via>,
}

/// Where something was looked for and not found.
pub(super) enum Within {
    Scope(usize),
    Value(Val),
    /// An `if` without `else`: nothing as a piece of text, a fault elsewhere.
    Blank,
    Nothing,
}

/// One step into a variable's data.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Key(Arc<str>),
    Index(usize),
}

/// A list or mapping inside a variable, not converted yet.
#[derive(Clone)]
pub(super) struct View {
    /// The variable's whole data.
    pub root: Arc<Json>,
    /// The way from there.
    pub path: Vec<Step>,
    /// What all views of one variable share.
    pub origin: Rc<Origin>,
}

/// Where a view comes from.
pub(super) struct Origin {
    /// The variable's name.
    pub name: String,
    /// The scope in which templates in it are rendered: an index into the evaluation's scopes.
    pub scope: usize,
    pub trusted: bool,
    pub span: Option<crate::source::Span>,
}

impl View {
    /// The data that it shows.
    pub fn data(&self) -> &Json {
        let mut at: &Json = &self.root;
        for step in &self.path {
            let next = match step {
                Step::Key(key) => at.get(&**key),
                Step::Index(index) => at.get(index),
            };
            match next {
                Some(next) => at = next,
                None => return &Json::Null,
            }
        }
        at
    }

    /// The view of one child.
    pub fn step(&self, step: Step) -> Self {
        let mut path = Vec::with_capacity(self.path.len() + 1);
        path.extend_from_slice(&self.path);
        path.push(step);
        Self { root: Arc::clone(&self.root), path, origin: Rc::clone(&self.origin) }
    }

    /// Whether it shows the same part of the same variable.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.root, &other.root) && self.path == other.path
    }

    /// Its name as a person would write it.
    pub fn name(&self) -> String {
        let mut name = self.origin.name.clone();
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    name.push('.');
                    name.push_str(key);
                }
                Step::Index(index) => name.push_str(&format!("[{index}]")),
            }
        }
        name
    }
}

/// A value.
#[derive(Clone)]
pub(super) enum Val {
    Undef(Rc<Lack>),
    Late(Missing),
    Omit,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Arc<str>),
    List(Rc<Vec<Val>>),
    Tuple(Rc<Vec<Val>>),
    Map(Rc<Map>),
    View(View),
    /// An index into the evaluation's scopes, and the name under which it was read.
    Scope(usize, Rc<str>),
    Namespace(Rc<RefCell<Map>>),
    Macro(Rc<MacroValue>),
    Loop(Rc<LoopState>),
    Cycler(Rc<(Vec<Val>, Cell<usize>)>),
    Joiner(Rc<(Arc<str>, Cell<bool>)>),
}

/// A macro, or the `caller` of a call block, with the names that it sees.
pub(super) struct MacroValue {
    pub decl: Arc<Macro>,
    pub scope: usize,
    pub locals: RefCell<super::frame::Locals>,
}

/// The `loop` of a for statement.
pub(super) struct LoopState {
    pub items: Rc<Vec<Val>>,
    pub index: usize,
    pub depth: usize,
    pub last_changed: RefCell<Option<Vec<Val>>>,
}

impl Val {
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Str(text.into())
    }

    pub fn list(items: Vec<Val>) -> Self {
        Self::List(Rc::new(items))
    }

    pub fn tuple(items: Vec<Val>) -> Self {
        Self::Tuple(Rc::new(items))
    }

    pub fn map(map: Map) -> Self {
        Self::Map(Rc::new(map))
    }

    /// The kind as Python names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Undef(_) => "undefined",
            Self::Late(_) => "not known yet",
            Self::Omit => "omit",
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Map(_) | Self::Scope(..) => "dict",
            Self::View(view) if view.data().is_array() => "list",
            Self::View(_) => "dict",
            Self::Namespace(_) => "Namespace",
            Self::Macro(_) => "Macro",
            Self::Loop(_) => "LoopContext",
            Self::Cycler(_) => "Cycler",
            Self::Joiner(_) => "Joiner",
        }
    }

    pub fn is_mapping(&self) -> bool {
        match self {
            Self::Map(_) | Self::Scope(..) => true,
            Self::View(view) => view.data().is_object(),
            _ => false,
        }
    }

    pub fn is_list(&self) -> bool {
        match self {
            Self::List(_) | Self::Tuple(_) => true,
            Self::View(view) => view.data().is_array(),
            _ => false,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Whole numbers and booleans as a whole number.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(n) => Some(*n),
            Self::Bool(b) => Some(i128::from(*b)),
            _ => None,
        }
    }

    /// Any number as a float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(f) => Some(*f),
            other => other.as_int().map(|n| n as f64),
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::Str(text.into())
    }
}

impl From<Key> for Val {
    fn from(key: Key) -> Self {
        match key {
            Key::None => Self::None,
            Key::Bool(b) => Self::Bool(b),
            Key::Int(n) => Self::Int(n),
            Key::Str(text) => Self::Str(text),
        }
    }
}

/// A place in the text as a range.
pub(super) fn range(place: Place) -> Range<usize> {
    place.0 as usize..place.1 as usize
}
