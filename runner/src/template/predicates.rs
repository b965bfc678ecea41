//! Tests: what stands after `is`.
use super::calls::{self, Bound, Callee, lenient, row};
use super::eval::Eval;
use super::fault::Fault;
use super::filters::pattern;
use super::tree::{Op, Place};
use super::value::{Key, Val};
use super::{missing, versions};
use modules::regex::Part;

static TABLE: [Callee; 69] = [
    lenient("defined", &["value"], |eval, bound| defined(eval, bound, true)),
    lenient("undefined", &["value"], |eval, bound| defined(eval, bound, false)),
    row("none", &["value"], |_, bound| is(matches!(bound.input(), Val::None))),
    row("boolean", &["value"], |_, bound| is(matches!(bound.input(), Val::Bool(_)))),
    row("true", &["value"], |_, bound| is(matches!(bound.input(), Val::Bool(true)))),
    row("false", &["value"], |_, bound| is(matches!(bound.input(), Val::Bool(false)))),
    row("integer", &["value"], |_, bound| is(matches!(bound.input(), Val::Int(_)))),
    row("float", &["value"], |_, bound| is(matches!(bound.input(), Val::Float(_)))),
    row("number", &["value"], |_, bound| is(bound.input().as_float().is_some())),
    row("string", &["value"], |_, bound| is(bound.input().as_str().is_some())),
    row("mapping", &["value"], |_, bound| is(bound.input().is_mapping())),
    row("sequence", &["value"], |_, bound| is(walkable(bound.input()))),
    row("iterable", &["value"], |_, bound| is(walkable(bound.input()))),
    row("callable", &["value"], |_, bound| is(matches!(bound.input(), Val::Macro(_) | Val::Joiner(_)))),
    row("sameas", &["value", "other"], sameas),
    row("even", &["value"], |_, bound| divisible(bound, 2, 0)),
    row("odd", &["value"], |_, bound| divisible(bound, 2, 1)),
    row("divisibleby", &["value", "num"], |_, bound| match bound.int(1)? {
        Some(n) if n != 0 => divisible(bound, n, 0),
        _ => Err(bound.fail("`divisibleby` needs a number that is not zero")),
    }),
    row("lower", &["value"], |eval, bound| cased(eval, bound, char::is_uppercase, char::is_lowercase)),
    row("upper", &["value"], |eval, bound| cased(eval, bound, char::is_lowercase, char::is_uppercase)),
    row("in", &["value", "seq"], |eval, bound| compare(eval, bound, Op::In)),
    row("eq", &["value", "other"], |eval, bound| compare(eval, bound, Op::Eq)),
    row("equalto", &["value", "other"], |eval, bound| compare(eval, bound, Op::Eq)),
    row("==", &["value", "other"], |eval, bound| compare(eval, bound, Op::Eq)),
    row("ne", &["value", "other"], |eval, bound| compare(eval, bound, Op::Ne)),
    row("!=", &["value", "other"], |eval, bound| compare(eval, bound, Op::Ne)),
    row("lt", &["value", "other"], |eval, bound| compare(eval, bound, Op::Lt)),
    row("lessthan", &["value", "other"], |eval, bound| compare(eval, bound, Op::Lt)),
    row("<", &["value", "other"], |eval, bound| compare(eval, bound, Op::Lt)),
    row("le", &["value", "other"], |eval, bound| compare(eval, bound, Op::Lte)),
    row("<=", &["value", "other"], |eval, bound| compare(eval, bound, Op::Lte)),
    row("gt", &["value", "other"], |eval, bound| compare(eval, bound, Op::Gt)),
    row("greaterthan", &["value", "other"], |eval, bound| compare(eval, bound, Op::Gt)),
    row(">", &["value", "other"], |eval, bound| compare(eval, bound, Op::Gt)),
    row("ge", &["value", "other"], |eval, bound| compare(eval, bound, Op::Gte)),
    row(">=", &["value", "other"], |eval, bound| compare(eval, bound, Op::Gte)),
    row("filter", &["value"], |eval, bound| {
        let name = bound.str(eval, 0, "a name")?;
        is(super::filters::find(&name, bound.place).is_ok())
    }),
    row("test", &["value"], |eval, bound| {
        let name = bound.str(eval, 0, "a name")?;
        is(find(&name, bound.place).is_ok())
    }),
    row("match", &["value", "pattern", "ignorecase", "multiline"], |eval, bound| {
        matching(eval, bound, Part::Start)
    }),
    row("search", &["value", "pattern", "ignorecase", "multiline"], |eval, bound| {
        matching(eval, bound, Part::Any)
    }),
    row("regex", &["value", "pattern", "ignorecase", "multiline", "match_type"], |eval, bound| {
        let kind = bound.some(4).and_then(Val::as_str).unwrap_or("search");
        let part = match kind {
            "match" => Part::Start,
            "fullmatch" => Part::Whole,
            _ => Part::Any,
        };
        matching(eval, bound, part)
    }),
    row("version", VERSION, version),
    row("version_compare", VERSION, version),
    row("failed", &["value"], |eval, bound| result(eval, bound, "failed")),
    row("failure", &["value"], |eval, bound| result(eval, bound, "failed")),
    row("succeeded", &["value"], |eval, bound| not(result(eval, bound, "failed"))),
    row("success", &["value"], |eval, bound| not(result(eval, bound, "failed"))),
    row("successful", &["value"], |eval, bound| not(result(eval, bound, "failed"))),
    row("changed", &["value"], |eval, bound| result(eval, bound, "changed")),
    row("change", &["value"], |eval, bound| result(eval, bound, "changed")),
    row("skipped", &["value"], |eval, bound| result(eval, bound, "skipped")),
    row("skip", &["value"], |eval, bound| result(eval, bound, "skipped")),
    row("reachable", &["value"], |eval, bound| not(result(eval, bound, "unreachable"))),
    row("unreachable", &["value"], |eval, bound| result(eval, bound, "unreachable")),
    row("timedout", &["value"], |eval, bound| result(eval, bound, "timedout")),
    row("finished", &["value"], |eval, bound| result(eval, bound, "finished")),
    row("started", &["value"], |eval, bound| result(eval, bound, "started")),
    row("contains", &["value", "item"], |eval, bound| {
        let item = bound.need(1, "an item")?;
        is(eval.contains(bound.input(), item, bound.place)?)
    }),
    row("subset", &["value", "other"], |eval, bound| subset(eval, bound, 0, 1)),
    row("issubset", &["value", "other"], |eval, bound| subset(eval, bound, 0, 1)),
    row("superset", &["value", "other"], |eval, bound| subset(eval, bound, 1, 0)),
    row("issuperset", &["value", "other"], |eval, bound| subset(eval, bound, 1, 0)),
    row("any", &["value"], |eval, bound| some(eval, bound, true)),
    row("all", &["value"], |eval, bound| not(some(eval, bound, false))),
    row("truthy", &["value", "convert_bool"], truthy),
    row("falsy", &["value", "convert_bool"], |eval, bound| not(truthy(eval, bound))),
    row("nan", &["value"], |_, bound| is(matches!(bound.input(), Val::Float(f) if f.is_nan()))),
    row("abs", &["value"], |eval, bound| is(bound.str(eval, 0, "a path")?.starts_with('/'))),
    row("omitted", &["value"], |_, bound| is(matches!(bound.input(), Val::Omit))),
];

const VERSION: &[&str] = &["value", "version", "operator", "strict", "version_type"];

const ON_THE_CONTROLLER: &str = "it would look at this machine, not at the host: use the `stat` module";

const REFUSED: [(&str, &str); 14] = [
    ("exists", ON_THE_CONTROLLER),
    ("file", ON_THE_CONTROLLER),
    ("directory", ON_THE_CONTROLLER),
    ("link", ON_THE_CONTROLLER),
    ("link_exists", ON_THE_CONTROLLER),
    ("mount", ON_THE_CONTROLLER),
    ("is_file", ON_THE_CONTROLLER),
    ("is_dir", ON_THE_CONTROLLER),
    ("is_link", ON_THE_CONTROLLER),
    ("same_file", ON_THE_CONTROLLER),
    ("samefile", ON_THE_CONTROLLER),
    ("vault_encrypted", "vault values are opened before templates see them"),
    ("vaulted_file", ON_THE_CONTROLLER),
    ("escaped", "nothing is escaped for HTML here"),
];

/// The test of that name.
pub(super) fn find(name: &str, place: Place) -> Result<&'static Callee, Box<Fault>> {
    calls::find("test", name, place, &[&TABLE], &REFUSED)
}

fn is(held: bool) -> Result<Val, Fault> {
    Ok(Val::Bool(held))
}

fn not(held: Result<Val, Fault>) -> Result<Val, Fault> {
    Ok(match held? {
        Val::Bool(held) => Val::Bool(!held),
        other => other,
    })
}

fn walkable(val: &Val) -> bool {
    val.is_list() || val.is_mapping() || val.as_str().is_some()
}

fn defined(_: &Eval<'_>, bound: &Bound, wanted: bool) -> Result<Val, Fault> {
    match bound.input() {
        Val::Late(missing) => Err(Fault::missing(missing::Missing::clone(missing), bound.range())),
        Val::Undef(_) => is(!wanted),
        _ => is(wanted),
    }
}

fn sameas(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let (a, b) = (bound.input(), bound.need(1, "a value")?);
    match (a, b) {
        (Val::None, Val::None) => is(true),
        (Val::Bool(a), Val::Bool(b)) => is(a == b),
        (Val::None | Val::Bool(_), _) | (_, Val::None | Val::Bool(_)) => is(false),
        _ => {
            let why = "whether two values are one object is not known here: compare with `==`";
            let _ = eval;
            Err(Fault::unsupported("test `sameas` of other than true, false, none", why, bound.range()))
        }
    }
}

fn divisible(bound: &Bound, by: i128, rest: i128) -> Result<Val, Fault> {
    match bound.input().as_int() {
        Some(n) => is(n.rem_euclid(by) == rest),
        None => {
            Err(bound.fail(format!("`{}` needs a whole number, not {}", bound.name, bound.input().kind())))
        }
    }
}

fn cased(
    eval: &Eval<'_>,
    bound: &Bound,
    never: fn(char) -> bool,
    some: fn(char) -> bool,
) -> Result<Val, Fault> {
    let text = bound.str(eval, 0, "text")?;
    is(!text.chars().any(never) && text.chars().any(some))
}

fn compare(eval: &Eval<'_>, bound: &Bound, op: Op) -> Result<Val, Fault> {
    eval.apply(op, bound.input(), bound.need(1, "a value to compare with")?, bound.place)
}

fn matching(eval: &Eval<'_>, bound: &Bound, part: Part) -> Result<Val, Fault> {
    if !matches!(bound.input(), Val::Str(_) | Val::Int(_) | Val::Float(_) | Val::Bool(_)) {
        let kind = bound.input().kind();
        return Err(bound.fail(format!("`{}` looks at text, not at {kind}", bound.name)));
    }
    let text = bound.str(eval, 0, "text")?;
    let pattern = pattern(eval, bound, 2, 3)?;
    is(pattern.holds(&text, part).map_err(|why| bound.fail(why.to_string()))?)
}

fn version(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let value = bound.str(eval, 0, "a version")?;
    let other = bound.str(eval, 1, "a version to compare with")?;
    let operator = bound.some(2).map_or(Ok("==".into()), |_| bound.str(eval, 2, "an operator"))?;
    let strict = bound.flag(eval, 3)?;
    let kind = bound.some(4).map(|_| bound.str(eval, 4, "a kind of version")).transpose()?;
    if value.is_empty() || other.is_empty() {
        return Err(bound.fail("a version is empty"));
    }
    let kind = kind.as_deref().unwrap_or(if strict { "strict" } else { "loose" });
    let order = versions::compare(&value, &other, kind).map_err(|why| bound.fail(why))?;
    is(match &*operator {
        "==" | "=" | "eq" => order.is_eq(),
        "!=" | "<>" | "ne" => order.is_ne(),
        "<" | "lt" => order.is_lt(),
        "<=" | "le" => order.is_le(),
        ">" | "gt" => order.is_gt(),
        ">=" | "ge" => order.is_ge(),
        _ => return Err(bound.fail("the operator is one of == != < <= > >=, or eq ne lt le gt ge")),
    })
}

/// A flag of what `register` holds.
fn result(eval: &Eval<'_>, bound: &Bound, name: &str) -> Result<Val, Fault> {
    let held = bound.input();
    if !held.is_mapping() {
        let why = format!("`{}` looks at what a task registered, not at {}", bound.name, held.kind());
        return Err(bound.fail(why));
    }
    let flag = |name: &str| match eval.child(held, &Key::from(name), bound.place)? {
        Some(val) => eval.truth(&val, bound.place).map(Some),
        None => Ok(None),
    };
    if let Some(held) = flag(name)? {
        return is(held);
    }
    // As Ansible: a loop's result has changed where one of its items has.
    if name == "changed"
        && let Some(results) = eval.child(held, &Key::from("results"), bound.place)?
        && results.is_list()
    {
        for item in eval.items(&results, bound.place)?.iter() {
            let changed = eval.child(item, &Key::from("changed"), bound.place)?;
            if changed.map_or(Ok(false), |val| eval.truth(&val, bound.place))? {
                return is(true);
            }
        }
    }
    is(matches!(name, "finished" | "started"))
}

fn subset(eval: &Eval<'_>, bound: &Bound, small: usize, large: usize) -> Result<Val, Fault> {
    let (small, large) = (bound.need(small, "a list")?, bound.need(large, "a list")?);
    let large = Val::List(eval.items(large, bound.place)?);
    for item in eval.items(small, bound.place)?.iter() {
        if !eval.contains(&large, item, bound.place)? {
            return is(false);
        }
    }
    is(true)
}

/// Whether an item's truth is `wanted`.
fn some(eval: &Eval<'_>, bound: &Bound, wanted: bool) -> Result<Val, Fault> {
    for item in eval.items(bound.input(), bound.place)?.iter() {
        if eval.truth(item, bound.place)? == wanted {
            return is(true);
        }
    }
    is(false)
}

fn truthy(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let mut val = bound.input().clone();
    if bound.flag(eval, 1)?
        && let Some(held) = super::filters::as_bool(&val)
    {
        val = Val::Bool(held);
    }
    is(eval.truth(&val, bound.place)?)
}
