//! Lookups: what `lookup('NAME', …)` and `query` find; files and the environment only through what was given.
use super::calls::{self, Bound, short_name};
use super::eval::Eval;
use super::fault::Fault;
use super::filters;
use super::tree::Place;
use super::value::{Key, Map, Val, range};
use crate::diagnostic::did_you_mean;

/// What a lookup is asked.
pub(super) struct Asked<'a> {
    pub terms: &'a [Val],
    pub options: &'a Map,
    pub bound: &'a Bound,
}

/// One lookup.
pub(super) struct Lookup {
    pub name: &'static str,
    pub run: fn(&Eval<'_>, &Asked<'_>) -> Result<Vec<Val>, Fault>,
}

static TABLE: [Lookup; 15] = [
    Lookup { name: "dict", run: dict },
    Lookup { name: "env", run: env },
    Lookup { name: "file", run: file },
    Lookup { name: "template", run: template },
    Lookup { name: "first_found", run: first_found },
    Lookup { name: "fileglob", run: fileglob },
    Lookup { name: "sequence", run: sequence },
    Lookup { name: "subelements", run: subelements },
    Lookup { name: "items", run: items },
    Lookup { name: "flattened", run: flattened },
    Lookup { name: "list", run: |_, asked| Ok(asked.terms.to_vec()) },
    Lookup { name: "together", run: together },
    Lookup { name: "nested", run: nested },
    Lookup { name: "indexed_items", run: indexed_items },
    Lookup { name: "vars", run: vars },
];

const NOT_PURE: &str =
    "planning runs no programs: register the result of a task with `delegate_to: localhost`";
const RANDOM: &str = "two runs would differ: set it in a variable, or keep it in the vault";

const REFUSED: [(&str, &str); 13] = [
    ("pipe", NOT_PURE),
    ("lines", NOT_PURE),
    ("url", NOT_PURE),
    ("password", RANDOM),
    ("random_choice", RANDOM),
    ("community.general.random_string", RANDOM),
    ("random_string", RANDOM),
    ("varnames", "name the variables, or keep them in one mapping"),
    ("unvault", "vault files are opened when they are named in `vars_files`"),
    ("config", "there is no ansible.cfg here"),
    ("csvfile", "keep the table as YAML in `vars_files`"),
    ("ini", "keep the values as YAML in `vars_files`"),
    ("inventory_hostnames", "use `groups`"),
];

/// The lookup of that name.
pub(super) fn find(name: &str, place: Place) -> Result<&'static Lookup, Box<Fault>> {
    let short = short_name(name);
    if let Some(found) = TABLE.iter().find(|lookup| lookup.name == short) {
        return Ok(found);
    }
    let why = match REFUSED.iter().find(|(refused, _)| *refused == short) {
        Some((_, why)) => (*why).to_owned(),
        None => match did_you_mean(short, TABLE.iter().map(|lookup| lookup.name)) {
            Some(near) => format!("there is no such lookup; did you mean `{near}`?"),
            None => "there is no such lookup".to_owned(),
        },
    };
    Err(Box::new(Fault::unsupported(format!("lookup `{short}`"), why, range(place))))
}

impl Asked<'_> {
    fn option(&self, name: &str) -> Option<&Val> {
        self.options.get(&Key::from(name)).filter(|val| !matches!(val, Val::None))
    }

    fn fail(&self, why: impl Into<String>) -> Fault {
        self.bound.fail(why)
    }

    fn text<'t>(&self, term: &'t Val) -> Result<&'t str, Fault> {
        term.as_str().ok_or_else(|| self.fail(format!("this lookup takes text, not {}", term.kind())))
    }
}

fn dict(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let mut out = Vec::new();
    for term in asked.terms {
        if !term.is_mapping() {
            return Err(asked.fail(format!("`dict` takes mappings, not {}", term.kind())));
        }
        for (key, val) in eval.entries(term, asked.bound.place)? {
            let pair = [(Key::from("key"), key.into()), (Key::from("value"), val)];
            out.push(Val::map(pair.into_iter().collect()));
        }
    }
    Ok(out)
}

fn env(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let one = |term: &Val| {
        let found = eval.templates.world().files.env(asked.text(term)?);
        Ok(match (found, asked.option("default")) {
            (Some(text), _) => Val::text(text),
            (None, Some(default)) => default.clone(),
            (None, None) => Val::text(""),
        })
    };
    asked.terms.iter().map(one).collect()
}

fn file(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let flag = |name: &str, usual: bool| match asked.option(name) {
        Some(val) => eval.truth(val, asked.bound.place),
        None => Ok(usual),
    };
    let (right, left) = (flag("rstrip", true)?, flag("lstrip", false)?);
    let one = |term: &Val| {
        let text = eval.templates.world().files.file(asked.text(term)?).map_err(|why| asked.fail(why))?;
        let text = if right { text.trim_end() } else { &text };
        Ok(Val::text(if left { text.trim_start() } else { text }))
    };
    asked.terms.iter().map(one).collect()
}

fn template(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    if let Some(Key::Str(name)) = asked.options.keys().next() {
        let why = "set the variables on the task instead";
        return Err(Fault::unsupported(format!("`{name}` of lookup `template`"), why, asked.bound.range()));
    }
    let one = |term: &Val| {
        let text = eval.templates.world().files.template(asked.text(term)?).map_err(|why| asked.fail(why))?;
        eval.deeper(asked.bound.place, || {
            let text = eval.file_text(&text, &super::FileOptions::default(), asked.bound.scope);
            text.map(Val::text).map_err(|mut fault| {
                fault.range = asked.bound.range();
                fault
            })
        })
    };
    asked.terms.iter().map(one).collect()
}

fn first_found(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let place = asked.bound.place;
    let (mut names, mut folders, mut skip) = (Vec::new(), Vec::new(), false);
    let texts = |val: &Val| -> Result<Vec<String>, Fault> {
        match val {
            Val::Str(text) => Ok(vec![text.to_string()]),
            list => eval.items(list, place)?.iter().map(|item| asked.text(item).map(str::to_owned)).collect(),
        }
    };
    let mut options = |map: &Map, names: &mut Vec<String>| -> Result<(), Fault> {
        for (key, val) in map {
            match key {
                Key::Str(key) if &**key == "files" => names.extend(texts(val)?),
                Key::Str(key) if &**key == "paths" => folders.extend(texts(val)?),
                Key::Str(key) if &**key == "skip" => skip = eval.truth(val, place)?,
                _ => return Err(asked.fail("`first_found` knows `files`, `paths` and `skip`")),
            }
        }
        Ok(())
    };
    for term in asked.terms {
        if term.is_mapping() {
            options(&eval.mapping(term, place)?, &mut names)?;
        } else if term.is_list() {
            for item in eval.items(term, place)?.iter() {
                if item.is_mapping() {
                    options(&eval.mapping(item, place)?, &mut names)?;
                } else {
                    names.extend(texts(item)?);
                }
            }
        } else {
            names.extend(texts(term)?);
        }
    }
    options(asked.options, &mut names)?;
    if folders.is_empty() {
        folders.push(String::new());
    }
    for folder in &folders {
        for name in &names {
            let path = if folder.is_empty() {
                name.clone()
            } else {
                format!("{}/{name}", folder.trim_end_matches('/'))
            };
            if let Some(found) = eval.templates.world().files.find(&path) {
                return Ok(vec![Val::text(found)]);
            }
        }
    }
    if skip {
        Ok(Vec::new())
    } else {
        Err(asked.fail("none of these files exists").hint("`skip=True` allows that"))
    }
}

fn fileglob(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let mut out = Vec::new();
    for term in asked.terms {
        let found = eval.templates.world().files.glob(asked.text(term)?).map_err(|why| asked.fail(why))?;
        out.extend(found.into_iter().map(Val::text));
    }
    Ok(out)
}

/// `start-end/stride:format`, or the same by name.
fn sequence(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let mut given = asked.options.clone();
    for term in asked.terms {
        sequence_term(asked.text(term)?, &mut given).ok_or_else(|| {
            asked.fail("a sequence is `start=1 end=5 stride=1 format=%02d`, or `1-5/1:%02d`")
        })?;
    }
    let number = |name: &str| -> Result<Option<i128>, Fault> {
        let Some(val) = given.get(&Key::from(name)) else { return Ok(None) };
        let text = eval.show(val, asked.bound.place)?;
        let parsed = match text.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        parsed.map(Some).ok_or_else(|| asked.fail(format!("`{name}` of a sequence is a whole number")))
    };
    let start = number("start")?.unwrap_or(1);
    let end = match (number("end")?, number("count")?) {
        (Some(end), None) => end,
        (None, Some(0)) => return Ok(Vec::new()),
        (None, Some(count)) => start + (count - 1) * number("stride")?.unwrap_or(1),
        _ => return Err(asked.fail("a sequence needs `end` or `count`, and not both")),
    };
    let stride = number("stride")?.unwrap_or(if end < start { -1 } else { 1 });
    if stride == 0 {
        return Ok(Vec::new());
    }
    if (end < start) != (stride < 0) && end != start {
        return Err(asked.fail("the stride leads away from the end"));
    }
    if (end - start) / stride > 100_000 {
        return Err(asked.fail("a sequence of more than 100,000 numbers"));
    }
    let format = given.get(&Key::from("format")).and_then(|val| val.as_str()).unwrap_or("%d").to_owned();
    let count = (end - start) / stride;
    let one = |at: i128| {
        let n = Val::Int(start + at * stride);
        eval.percent(&format, std::slice::from_ref(&n), &Val::None, asked.bound.place).map(Val::text)
    };
    (0..=count).map(one).collect()
}

fn sequence_term(term: &str, given: &mut Map) -> Option<()> {
    if term.contains('=') {
        for word in term.split_whitespace() {
            let (name, val) = word.split_once('=')?;
            if !["start", "end", "count", "stride", "format"].contains(&name) {
                return None;
            }
            given.insert(Key::from(name), Val::text(val));
        }
        return Some(());
    }
    let (numbers, format) = term.split_once(':').map_or((term, None), |(n, format)| (n, Some(format)));
    let (ends, stride) = numbers.split_once('/').map_or((numbers, None), |(n, stride)| (n, Some(stride)));
    let (start, end) = ends.split_once('-').map_or((None, ends), |(start, end)| (Some(start), end));
    for (name, val) in [("start", start), ("end", Some(end)), ("stride", stride), ("format", format)] {
        if let Some(val) = val {
            given.insert(Key::from(name), Val::text(val));
        }
    }
    Some(())
}

fn subelements(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let [list, path, rest @ ..] = asked.terms else {
        return Err(asked.fail("`subelements` takes a list, the name of the inner list and options"));
    };
    let mut skip =
        asked.option("skip_missing").map_or(Ok(false), |val| eval.truth(val, asked.bound.place))?;
    for options in rest {
        if let Some(flag) = eval.child(options, &Key::from("skip_missing"), asked.bound.place)? {
            skip = filters::as_bool(&flag).unwrap_or(false);
        }
    }
    let path: Vec<Val> = asked.text(path)?.split('.').map(Val::text).collect();
    filters::pairs_of(eval, list, &path, skip, asked.bound)
}

/// One level is flattened.
fn items(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let mut out = Vec::new();
    for term in asked.terms {
        if !term.is_list() {
            out.push(term.clone());
            continue;
        }
        for item in eval.items(term, asked.bound.place)?.iter() {
            // `with_items` hands over one list and flattens one level inside it.
            out.push(item.clone());
        }
    }
    Ok(out)
}

fn flattened(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let list = Val::list(asked.terms.to_vec());
    call(eval, asked, "flatten", vec![list])
}

fn together(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    call(eval, asked, "zip_longest", asked.terms.to_vec())
}

fn nested(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    call(eval, asked, "product", asked.terms.to_vec())
}

fn call(eval: &Eval<'_>, asked: &Asked<'_>, filter: &str, pos: Vec<Val>) -> Result<Vec<Val>, Fault> {
    let place = asked.bound.place;
    if pos.is_empty() {
        return Err(asked.fail("this lookup needs at least one list"));
    }
    let filter = filters::find(filter, place).map_err(|fault| *fault)?;
    let given = calls::Given { pos, kw: Vec::new() };
    let found = calls::run(eval, filter, given, place, asked.bound.scope)?;
    Ok(eval.items(&found, place)?.to_vec())
}

fn indexed_items(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let all = items(eval, asked)?;
    Ok(all.into_iter().enumerate().map(|(at, item)| Val::tuple(vec![Val::Int(at as i128), item])).collect())
}

fn vars(eval: &Eval<'_>, asked: &Asked<'_>) -> Result<Vec<Val>, Fault> {
    let one = |term: &Val| {
        let name = asked.text(term)?;
        match (eval.variable(asked.bound.scope, "", name, asked.bound.place)?, asked.option("default")) {
            (Some(val), _) => eval.known(val, asked.bound.place),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => Err(asked.fail(format!("there is no variable `{name}`"))),
        }
    };
    asked.terms.iter().map(one).collect()
}
