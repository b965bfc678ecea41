//! From the command line to a scene: the playbook, its hosts, its prompts.
use super::exit::Exit;
use super::load::{Hosts, limited, templates};
use super::noted::NOTED;
use super::term;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tunerun::diagnostic::{Diagnostic, Problems, Severity};
use tunerun::engine::vocabulary::vocabulary;
use tunerun::engine::walk::{Asked, Scene, Select};
use tunerun::inventory::{HostId, Inventory, Unselection};
use tunerun::playbook::{Loader, Play, Playbook, Selection};
use tunerun::template::{Templates, Var};

/// A loader of playbooks with all modules.
pub fn loader() -> Loader<'static> {
    loader_of(&*NOTED)
}

/// A loader of playbooks that come from somewhere else than the disk.
pub fn loader_of(files: &'static dyn tunerun::playbook::Files) -> Loader<'static> {
    let roles = std::env::var("TUNERUN_ROLES_PATH").unwrap_or_default();
    let roles = roles.split(':').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    Loader::new(files, vocabulary(), roles)
}

/// Loads a playbook; tells its problems.
pub fn playbook(loader: &Loader<'static>, path: &Path) -> Result<Playbook, Exit> {
    match loader.load(&path.display().to_string()) {
        Ok(playbook) => {
            term::problems(&playbook.warnings);
            Ok(playbook)
        }
        Err(problems) => {
            term::problems(&problems);
            Err(Exit::Wrong)
        }
    }
}

/// The folder of a playbook.
pub fn folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    folder.to_owned()
}

/// What steers a run besides playbook and hosts.
#[derive(Default)]
pub struct Steering {
    /// `--tags`.
    pub tags: Vec<String>,
    /// `--skip-tags`.
    pub skip_tags: Vec<String>,
    /// `--start-at-task`.
    pub start: Option<String>,
    /// `--limit`.
    pub limit: Option<String>,
    /// `--check`.
    pub check: bool,
    /// `--diff`.
    pub diff: bool,
    /// `--no-probes`.
    pub no_probes: bool,
    /// Whether commands run while planning only where they are declared as reads.
    pub declared_only: bool,
    /// `--step`.
    pub step: bool,
}

/// Puts a scene together; tells every problem.
pub fn scene(
    path: &Path,
    loader: Loader<'static>,
    playbook: Playbook,
    hosts: Hosts,
    steering: Steering,
) -> Result<Scene, Exit> {
    let dir = folder(path);
    let mut folders = vec![dir.clone()];
    folders.extend(playbook.plays.iter().flat_map(|play| &play.roles).map(|role| PathBuf::from(&role.path)));
    let templates = templates(folders);
    check_templates(&templates, &playbook)?;
    let limit = limited(&hosts, steering.limit.as_deref())?;
    let (plays, select) = plays(&playbook, &hosts, limit, &templates)?;
    let selection = Selection::new(&steering.tags, &steering.skip_tags);
    for tag in selection.unused(&playbook) {
        term::problems(&[Diagnostic::warning(format!("no task has the tag `{tag}`"), None)]);
    }
    let start = match &steering.start {
        None => None,
        Some(wanted) => match tunerun::playbook::tags::start(&playbook, wanted) {
            Some(id) => Some(id),
            None => {
                let names: Vec<&str> = playbook
                    .plays
                    .iter()
                    .flat_map(tunerun::playbook::tags::tasks)
                    .filter_map(|task| task.name.as_ref()?.as_str())
                    .collect();
                let near = tunerun::diagnostic::did_you_mean(wanted, names);
                let help = near.map_or_else(
                    || "`tunerun play PLAYBOOK --list-tasks` lists them".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                term::wrong(format!("no task is named `{wanted}`"), Some(&help));
                return Err(Exit::Wrong);
            }
        },
    };
    let prompts = prompts(&playbook, &hosts.extra)?;
    let mut extra = hosts.extra;
    for prompt in playbook.plays.iter().flat_map(|play| &play.vars_prompt).filter(|prompt| prompt.private) {
        // An answer that is hidden when it is typed is hidden when `-e` gives it.
        if let Some(given) = extra.get_mut(&prompt.name) {
            given.secret = true;
        }
    }
    let asked = Asked {
        extra,
        select,
        prompts,
        selection,
        start,
        check: steering.check,
        diff: steering.diff,
        no_probes: steering.no_probes,
        declared_only: steering.declared_only,
        step: steering.step,
        passwords: hosts.passwords,
    };
    let dir = dir.canonicalize().unwrap_or(dir).display().to_string();
    Ok(Scene::new(playbook, dir, loader, templates, hosts.inventory, plays, asked))
}

/// A play's hosts as they are chosen: the patterns, and in which order.
struct Wanted {
    patterns: String,
    order: tunerun::playbook::Order,
}

/// The hosts of each play, and how to choose them again where tasks add hosts or groups. A pattern that matches
/// nothing is an error, never "all", save where an earlier play may still add what it names.
fn plays(
    playbook: &Playbook,
    hosts: &Hosts,
    limit: Option<Vec<HostId>>,
    templates: &Templates,
) -> Result<(Vec<Vec<HostId>>, Option<Select>), Exit> {
    let mut problems = Problems::new();
    let mut exit = Exit::NoHosts;
    let mut wanted = Vec::new();
    let mut grows = false;
    for play in &playbook.plays {
        match of_play(play, &hosts.inventory, templates, &hosts.extra) {
            Ok(patterns) => wanted.push(Wanted { patterns, order: play.order }),
            Err((Some(patterns), _)) if grows => wanted.push(Wanted { patterns, order: play.order }),
            Err((patterns, mut wrong)) => {
                exit = if patterns.is_none() { Exit::Wrong } else { exit };
                problems.append(&mut wrong);
            }
        }
        grows |= tunerun::playbook::tags::tasks(play)
            .iter()
            .any(|task| matches!(task.action.module.as_str(), "add_host" | "group_by"));
    }
    if !problems.is_empty() {
        term::problems(&problems);
        return Err(exit);
    }
    let select: Select = Arc::new(move |inventory: &Inventory| {
        let choose = |wanted: &Wanted| {
            let mut ids = inventory.select(&wanted.patterns, None).unwrap_or_default();
            if let Some(limit) = &limit {
                ids.retain(|id| limit.contains(id));
            }
            order(inventory, wanted.order, &mut ids);
            ids
        };
        wanted.iter().map(choose).collect()
    });
    let all = select(&hosts.inventory);
    if all.iter().all(Vec::is_empty) {
        term::wrong("no host is left: the limit matches no host of any play", Some("check --limit"));
        return Err(Exit::NoHosts);
    }
    Ok((all, grows.then_some(select)))
}

fn of_play(
    play: &Play,
    inventory: &Inventory,
    templates: &Templates,
    extra: &HashMap<String, Var>,
) -> Result<String, (Option<String>, Problems)> {
    let mut patterns = Vec::new();
    for node in &play.hosts {
        let text = node.as_str().unwrap_or_default();
        match templates.value(text, extra) {
            Ok(rendered) => match rendered.value {
                Json::Array(names) => {
                    patterns.extend(names.iter().filter_map(|name| name.as_str().map(str::to_owned)))
                }
                value => patterns.push(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            },
            Err(fault) => return Err((None, vec![fault.in_node(node)])),
        }
    }
    let span = play.hosts.first().map(|node| &node.span);
    let patterns = patterns.join(":");
    match inventory.select(&patterns, span) {
        Ok(_) => Ok(patterns),
        Err(none) => Err(((none.kind != Unselection::Malformed).then_some(patterns), none.problems)),
    }
}

fn order(inventory: &Inventory, written: tunerun::playbook::Order, ids: &mut [HostId]) {
    use tunerun::playbook::Order as Written;
    let order = match written {
        Written::Inventory => tunerun::inventory::Order::Inventory,
        Written::ReverseInventory => tunerun::inventory::Order::ReverseInventory,
        Written::Sorted => tunerun::inventory::Order::Sorted,
        Written::ReverseSorted => tunerun::inventory::Order::ReverseSorted,
        Written::Shuffle => return,
    };
    inventory.order(ids, order);
}

/// Templates and conditions that cannot be read are told before any host is contacted.
fn check_templates(templates: &Templates, playbook: &Playbook) -> Result<(), Exit> {
    let problems = tunerun::playbook::lints::template_problems(templates, playbook);
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        term::problems(&problems);
        return Err(Exit::Wrong);
    }
    Ok(())
}

/// Answers to `vars_prompt`: what `-e` sets is not asked.
fn prompts(playbook: &Playbook, extra: &HashMap<String, Var>) -> Result<HashMap<String, Var>, Exit> {
    let mut answers = HashMap::new();
    for prompt in playbook.plays.iter().flat_map(|play| &play.vars_prompt) {
        if extra.contains_key(&prompt.name) {
            continue;
        }
        let question = prompt.prompt.clone().unwrap_or_else(|| prompt.name.clone());
        let default = prompt
            .default
            .as_ref()
            .map(|node| node.as_str().map_or_else(|| node.raw().to_owned(), str::to_owned));
        let answer = loop {
            let once = if prompt.private {
                term::ask_secret(&question)
            } else {
                term::ask_text(&question, default.as_deref())
            };
            if !prompt.confirm || once.is_none() || term::ask_secret("once more") == once {
                break once;
            }
            term::say("the two answers differ");
        };
        let answer = answer.filter(|answer| !answer.is_empty()).or(default);
        let Some(answer) = answer else {
            let problem =
                Diagnostic::error(format!("nobody can be asked for `{}`", prompt.name), prompt.span.clone());
            term::problems(&[problem.help(format!("give it by `-e {}=…`", prompt.name))]);
            return Err(Exit::Declined);
        };
        let var = Var::seen(Json::String(answer)).at(prompt.span.clone());
        answers.insert(prompt.name.clone(), if prompt.private { var.secret() } else { var });
    }
    Ok(answers)
}
