//! What a play says of its rollout, with its hosts in order.
use super::waves::{Ground, Order, order};
use super::window::Window;
use crate::diagnostic::{Diagnostic, Problems};
use crate::engine::walk::Scene;
use crate::inventory::HostId;
use crate::playbook::rollout::{Activate, Canary, Guard, Hosts, Rollout, Wave, read};
use crate::playbook::{Item, Play};
use crate::source::Span;
use crate::template::Held;
use crate::yaml::Node;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One play with `rollout:` or `gate:`.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The play's number, from 0.
    pub play: usize,
    /// Where it says so.
    pub span: Span,
    /// What it says; a gate without a rollout has one canary, then all.
    pub rollout: Rollout,
    /// What must hold around hosts.
    pub guard: Option<Guard>,
    /// `gate:` as written: it is evaluated for each host.
    pub gate: Option<Arc<Node>>,
    /// The gates of its tasks and blocks.
    pub parts: Vec<Arc<Node>>,
    /// The hosts in order.
    pub order: Order<HostId>,
    /// When it may go forward.
    pub window: Option<Window>,
}

/// The stages of a playbook by the number of their play.
pub type Stages = BTreeMap<usize, Stage>;

/// Reads what the plays say, and orders their hosts.
///
/// # Errors
/// Everything that is wrong.
pub fn stages(scene: &Scene) -> Result<Stages, Problems> {
    let mut problems = Problems::new();
    let mut stages = Stages::new();
    for (number, play) in scene.playbook.plays.iter().enumerate() {
        match stage(scene, number, play) {
            Ok(Some(stage)) => {
                let waves = stage.order.waves.iter().map(|wave| wave.hosts.clone()).collect();
                scene.set_waves(number, waves);
                stages.insert(number, stage);
            }
            Ok(None) => {}
            Err(mut wrong) => problems.append(&mut wrong),
        }
    }
    if problems.is_empty() { Ok(stages) } else { Err(problems) }
}

fn stage(scene: &Scene, number: usize, play: &Play) -> Result<Option<Stage>, Problems> {
    let gates = gates(play);
    let said = play.rollout.as_ref().or(play.gate.as_ref()).or(gates.first());
    let Some(span) = said.map(|node| node.span.clone()) else {
        return match &play.guard {
            Some(guard) => Err(vec![
                Diagnostic::error("`guard:` stands around the hosts of a rollout", guard.span.clone())
                    .help("say `rollout: {waves: [1, 100%]}` beside it"),
            ]),
            None => Ok(None),
        };
    };
    let rollout = match &play.rollout {
        Some(node) => of_play::<Rollout>(scene, number, node)?,
        None => whole(),
    };
    let guard = play.guard.as_ref().map(|node| of_play::<Guard>(scene, number, node)).transpose()?;
    let mut problems = unfit(play, &rollout, &gates, &span);
    let window = rollout.window.as_ref().map(Window::of).transpose();
    let chosen = scene.chosen();
    let hosts = chosen.get(number).map_or(&[][..], Vec::as_slice);
    let order = order(&rollout, hosts, &Inventory(scene));
    let wrong = |why: String| Diagnostic::error(why, span.clone());
    match (window, order) {
        (Ok(window), Ok(order)) if problems.is_empty() => {
            let gate = play.gate.clone();
            Ok(Some(Stage { play: number, span, rollout, guard, gate, parts: gates, order, window }))
        }
        (window, order) => {
            problems.extend(window.err().map(wrong));
            problems.extend(order.err().unwrap_or_default().into_iter().map(wrong));
            Err(problems)
        }
    }
}

/// A gate without a rollout: one canary, then all hosts.
fn whole() -> Rollout {
    Rollout {
        canary: Canary::default(),
        controls: None,
        waves: vec![Wave::Plain(Hosts::Count(1)), Wave::Plain(Hosts::Share(1.0))],
        max_down: Hosts::Count(1),
        by: crate::playbook::rollout::By::default(),
        soak: None,
        max_failures: None,
        max_unreachable: None,
        window: None,
        activate: Activate::default(),
        on_regress: crate::playbook::rollout::OnRegress::default(),
        on_inconclusive: None,
        on_error: crate::playbook::rollout::OnError::default(),
        on_event: Vec::new(),
    }
}

/// What does not go together.
fn unfit(play: &Play, rollout: &Rollout, gates: &[Arc<Node>], span: &Span) -> Problems {
    let mut problems = Problems::new();
    let mut wrong = |unfit: bool, words: &str, help: &str| {
        if unfit {
            problems.push(Diagnostic::error(words, span.clone()).help(help));
        }
    };
    wrong(
        !play.serial.is_empty(),
        "`serial:` and a rollout both say who goes together",
        "write the numbers of `serial:` as `waves:`, cumulative",
    );
    wrong(
        rollout.activate == Activate::Window && rollout.window.is_none(),
        "`activate: window` needs to know when that is",
        "say `window: {from: \"22:00\", to: \"05:00\"}`",
    );
    wrong(
        rollout.activate != Activate::Now && (play.gate.is_some() || !gates.is_empty()),
        "what is felt later cannot be judged now: `gate:` and `activate: later` or `window` exclude each other",
        "judge it on a canary with `activate: now` first",
    );
    wrong(
        play.gate.is_some() && !gates.is_empty(),
        "a gate stands over this play, and another over a part of it",
        "leave one of them away",
    );
    for (_, items) in play.sections() {
        let problem =
            |at| Diagnostic::error("a gate stands inside of another one", at).help("leave one of them away");
        problems.extend(nested(items, false).map(problem));
    }
    problems
}

/// The gates of a play over its tasks and blocks, as far as includes are known.
fn gates(play: &Play) -> Vec<Arc<Node>> {
    let mut found = Vec::new();
    for (_, items) in play.sections() {
        within(items, &mut found);
    }
    found
}

/// A gate inside of another one.
fn nested(items: &[Item], inside: bool) -> Option<Span> {
    items.iter().find_map(|item| match item {
        Item::Task(task) => task.gate.as_ref().filter(|_| inside).map(|gate| gate.span.clone()),
        Item::Block(block) => {
            let own = block.gate.as_ref().filter(|_| inside).map(|gate| gate.span.clone());
            let inside = inside || block.gate.is_some();
            let deeper = || {
                [&block.block, &block.rescue, &block.always]
                    .into_iter()
                    .find_map(|items| nested(items, inside))
            };
            own.or_else(deeper)
        }
        Item::Include(include) => include.body.as_ref().and_then(|body| nested(&body.tasks, inside)),
    })
}

fn within(items: &[Item], found: &mut Vec<Arc<Node>>) {
    for item in items {
        match item {
            Item::Task(task) => found.extend(task.gate.clone()),
            Item::Block(block) => {
                found.extend(block.gate.clone());
                [&block.block, &block.rescue, &block.always]
                    .into_iter()
                    .for_each(|items| within(items, found));
            }
            Item::Include(include) => {
                if let Some(body) = &include.body {
                    within(&body.tasks, found);
                }
            }
        }
    }
}

fn of_play<T: serde::de::DeserializeOwned>(scene: &Scene, play: usize, node: &Node) -> Result<T, Problems> {
    let value = scene.for_play(play, node).map_err(|problem| vec![*problem])?;
    read(&value).map_err(|why| vec![Diagnostic::error(why, node.span.clone())])
}

/// The inventory of a scene, as waves ask it.
struct Inventory<'s>(&'s Scene);

impl Ground<HostId> for Inventory<'_> {
    fn name(&self, host: HostId) -> String {
        self.0.inventory().host_name(host).to_owned()
    }

    fn class(&self, host: HostId, variable: &str) -> Option<String> {
        class(self.0, host, variable)
    }

    fn select(&self, pattern: &str) -> Result<Vec<HostId>, String> {
        let found = self.0.inventory().select(pattern, None);
        found.map_err(|none| {
            none.problems
                .first()
                .map_or_else(|| format!("{pattern} names no host"), |problem| problem.message.clone())
        })
    }
}

/// A variable of the inventory as text: what hosts are told apart by.
pub(super) fn class(scene: &Scene, host: HostId, variable: &str) -> Option<String> {
    if variable == "host" || variable == "inventory_hostname" {
        return Some(scene.inventory().host_name(host).to_owned());
    }
    let var = scene.inventory_var(host, variable)?;
    let Held::Data(value) = &var.held else { return None };
    match &**value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

impl Stage {
    /// What must not be mixed among the hosts that are down.
    pub(super) fn domain(&self, scene: &Scene, host: HostId) -> Option<String> {
        self.rollout.by.0.as_ref().and_then(|variable| class(scene, host, variable))
    }

    /// The names of hosts.
    pub(super) fn names(scene: &Scene, hosts: &[HostId]) -> Vec<String> {
        let inventory = scene.inventory();
        hosts.iter().map(|host| inventory.host_name(*host).to_owned()).collect()
    }
}
