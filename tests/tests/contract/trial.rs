//! Trials: a module's arguments, a host in memory, and what was read of it.
use modules::host::Host;
use modules::vocabulary::{Change, Facts, Identity, Match, Read, Row, Seen, Step, Stop};
use modules::{ALL, Entry, Planner};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;
use tunerun::source::Source;

/// The most rounds of reads that a plan may need.
pub const ROUNDS: usize = 4;

/// What calls of programs leave: after the row, these reads have these answers.
pub type Calls = Vec<(Row, Vec<(Read, Seen)>)>;

/// One module with arguments, on one host.
pub struct Trial {
    /// Module and what is tried.
    pub name: String,
    /// The module.
    pub module: &'static Entry,
    /// The arguments, ready.
    pub planner: Box<dyn Planner>,
    /// The host before.
    pub host: Host,
    /// What calls leave.
    pub calls: Calls,
}

/// The arguments of the example, by their own names.
pub fn example(entry: &Entry) -> Json {
    let source = Source::new(entry.name, entry.example);
    let node = tunerun::yaml::parse_one(&source)
        .unwrap_or_else(|_| panic!("{}: the example is no YAML", entry.name));
    let Json::Array(tasks) = node.to_json() else {
        panic!("{}: the example is no list of tasks", entry.name)
    };
    for task in &tasks {
        assert!(
            task.get("name").is_some_and(Json::is_string),
            "{}: a task of the example has no name",
            entry.name
        );
    }
    let args = tasks.iter().find_map(|task| task.get(entry.name)).cloned();
    let args = args.unwrap_or_else(|| panic!("{}: no task of the example uses it", entry.name));
    match args {
        Json::Object(given) => {
            let named = given.into_iter().map(|(name, value)| (own_name(entry, &name), value));
            Json::Object(named.collect())
        }
        Json::Null => Json::Object(Default::default()),
        free => {
            let argument = entry.free_form.unwrap_or_else(|| panic!("{}: takes no free text", entry.name));
            Json::Object([(argument.to_owned(), free)].into_iter().collect())
        }
    }
}

fn own_name(entry: &Entry, name: &str) -> String {
    entry.aliases.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| own).to_owned()
}

/// Every trial of every module.
pub fn all() -> Vec<Trial> {
    let mut trials = Vec::new();
    for module in ALL {
        let mut add = |about: &str, args: Json, host: Host, calls: Calls| {
            let planner =
                (module.parse)(args).unwrap_or_else(|why| panic!("{}, {about}: {why}", module.name));
            trials.push(Trial { name: format!("{}, {about}", module.name), module, planner, host, calls });
        };
        let bare = ["/etc", "/boot", "/srv", "/tmp", "/var/lib"]
            .iter()
            .fold(Host::new(), |host, path| host.dir(path));
        add("the example", example(module), bare, Vec::new());
        for sample in (module.samples)() {
            add(sample.about, sample.args, sample.host, sample.calls);
        }
    }
    trials
}

/// Facts of a host, and how many rounds it took to have them all.
pub fn settle(planner: &dyn Planner, host: &Host) -> (BTreeMap<Read, Seen>, usize) {
    settle_on(planner, host, &Facts::default())
}

/// As [`settle`], with the steps that some facts have planned.
pub fn settle_on(planner: &dyn Planner, host: &Host, planned: &Facts) -> (BTreeMap<Read, Seen>, usize) {
    let mut base = BTreeMap::new();
    for round in 0.. {
        let facts = on(&base, planned);
        let unread: Vec<Read> =
            planner.reads(&facts).into_iter().filter(|read| !base.contains_key(read)).collect();
        if unread.is_empty() || round > 2 * ROUNDS {
            return (base, round);
        }
        base.extend(unread.into_iter().map(|read| (read.clone(), host.see(&read))));
    }
    unreachable!("the loop ends by itself")
}

/// Facts of what was read, with the steps that other facts have planned.
pub fn on(base: &BTreeMap<Read, Seen>, planned: &Facts) -> Facts {
    let mut facts = facts(base.clone());
    for (task, step) in planned.planned() {
        facts.plan(*task, [step.clone()]);
    }
    facts
}

/// Facts of what was read.
pub fn facts(base: BTreeMap<Read, Seen>) -> Facts {
    Facts::new(Arc::new(base), Identity::default())
}

/// The change on a host, all reads answered.
pub fn plan(planner: &dyn Planner, host: &Host) -> Result<Change, Stop> {
    planner.plan(&facts(settle(planner, host).0))
}

/// Fails with everything that was found wrong.
pub fn none_wrong(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Whether a step reaches a state, rather than being an act that is proven by its own evidence and asked for each time.
pub fn is_state(step: &Step) -> bool {
    step.look.is_some() && !matches!(step.after, Match::Any | Match::Changed)
}
