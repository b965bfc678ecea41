//! Tasks that act on a cluster: by the first host of `ceph_via` that can be reached, and once for all hosts.
//!
//! Each host of a play walks over such a task. Whose change it is follows from what it changes, not from where it is
//! written: the first host, in the order of the plays, holds a claim of a cluster; the same change of another host is
//! that very change, another one of the same claim is an error that names both places.
use super::instance::{Frame, Inst};
use super::items::Walker;
use super::outcome::{Ran, What};
use super::scene::Scene;
use super::setting::{Unknown, text_of};
use crate::diagnostic::Diagnostic;
use crate::engine::target::Target;
use crate::source::Span;
use crate::template::Json;
use modules::vocabulary::{Act, Change, Claim, Match, Step};
use serde_json::{Map, json};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

/// By which hosts a cluster is reached where nothing is said: the group of its mons.
const MONS: &str = "mons";

/// Variables that say how a cluster is reached, with the fields of the argument `cluster` that they stand for.
const VARIABLES: [(&str, &str); 6] = [
    ("ceph_fsid", "fsid"),
    ("ceph_conf", "conf"),
    ("ceph_client", "client"),
    ("ceph_keyring", "keyring"),
    ("ceph_timeout", "timeout"),
    ("ceph_by", "by"),
];

/// A thing of a cluster: its fsid, and the claim.
type Thing = (String, Claim);

/// What hosts know of the clusters that a run acts on.
#[derive(Default)]
pub(super) struct Clusters {
    /// Hosts that clusters would have been reached by, and that could not be reached.
    unreached: HashSet<String>,
    holders: HashMap<Thing, Holder>,
    /// Who asks for another value than the holder: then both are wrong.
    fights: HashMap<Thing, Holder>,
}

/// Whose change of a thing counts.
#[derive(Clone)]
struct Holder {
    host: String,
    /// Play and place in it: the first one holds.
    rank: (usize, usize),
    key: String,
    title: String,
    span: Span,
    row: Option<String>,
    after: Match,
    result: Json,
    done: bool,
}

impl Holder {
    /// Whether a step asks for the same. By which host and with which options it is asked for does not count.
    fn asks_as(&self, step: &Step) -> bool {
        self.after == step.after && self.row == row_name(step)
    }
}

fn row_name(step: &Step) -> Option<String> {
    match &step.act {
        Act::Call { row, .. } => Some(row.name.clone()),
        _ => None,
    }
}

impl Scene {
    fn clusters(&self) -> MutexGuard<'_, Clusters> {
        self.shared.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host by which a cluster would have been reached cannot be reached itself: the next one counts.
    pub fn pass_over(&self, host: &str) {
        self.clusters().unreached.insert(host.to_owned());
    }

    /// From now on things are done, not only planned: whoever shares another host's change waits for it.
    pub fn begin_acting(&self) {
        self.shared.acts_now.store(true, Ordering::Relaxed);
    }

    fn acts_now(&self) -> bool {
        self.shared.acts_now.load(Ordering::Relaxed)
    }
}

impl super::scope::Scope<'_> {
    /// A variable's value; none where nobody set it.
    fn named(&self, name: &str) -> Result<Option<Json>, Unknown> {
        let written = format!("{{{{ {name} | default(none) }}}}");
        match self.templates().value(&written, self) {
            Ok(rendered) => Ok(Some(rendered.value).filter(|value| !value.is_null())),
            Err(fault) => match fault.kind {
                crate::template::Kind::Late { on } => Err(Unknown::Late(on)),
                crate::template::Kind::NeedFact { name } => Err(Unknown::Fact(name)),
                _ => Ok(None),
            },
        }
    }

    /// What variables say of how the cluster is reached, below what the task says itself.
    pub(super) fn reach_cluster(&self, given: &mut Map<String, Json>) -> Result<(), Unknown> {
        let mut cluster = Map::new();
        for (variable, field) in VARIABLES {
            if let Some(value) = self.named(variable)? {
                cluster.insert(field.to_owned(), value);
            }
        }
        match given.get_mut("cluster") {
            Some(Json::Object(own)) => {
                for (field, value) in cluster {
                    own.entry(field).or_insert(value);
                }
            }
            None if !cluster.is_empty() => drop(given.insert("cluster".to_owned(), Json::Object(cluster))),
            _ => {}
        }
        Ok(())
    }
}

impl Walker<'_> {
    /// The host by which the task's cluster is reached.
    pub(super) fn via(&mut self, frame: &Frame<'_>) -> Result<Target, Unknown> {
        let span = &frame.task.action.span;
        let wrong = |words: String, help: &str| {
            Unknown::Wrong(Box::new(Diagnostic::error(words, span.clone()).help(help.to_owned())))
        };
        let scope = self.scope(Some(frame.task), frame.locals.clone());
        let named = scope.named("ceph_via")?;
        let patterns: Vec<String> = match &named {
            None => vec![MONS.to_owned()],
            Some(Json::Array(names)) => names.iter().filter_map(text_of).collect(),
            Some(other) => text_of(other).into_iter().collect(),
        };
        let inventory = self.scene.inventory();
        if named.is_none() && inventory.group(MONS).is_none() {
            return Err(wrong(
                format!(
                    "this task acts on a cluster, and nothing says by which host: `ceph_via` is not set, and the inventory has no group `{MONS}`"
                ),
                "set `ceph_via` to hosts or a group that have the cluster's admin keyring: in the inventory, on the play or on the task",
            ));
        }
        let words: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let chosen = match inventory.select_all_of(&words, Some(span)) {
            Ok(chosen) => chosen,
            Err(unselected) => {
                let why =
                    unselected.problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
                return Err(wrong(
                    format!("`ceph_via` chooses no host: {why}"),
                    "name hosts or groups of the inventory that have the cluster's admin keyring",
                ));
            }
        };
        let names: Vec<String> = chosen.iter().map(|host| inventory.host_name(*host).to_owned()).collect();
        drop(inventory);
        let first = {
            let clusters = self.scene.clusters();
            let gone = |name: &String| clusters.unreached.contains(name) || self.scene.has_left(name);
            // Where all are gone, the first one's trouble is told.
            names.iter().find(|name| !gone(name)).cloned()
        };
        let Some(host) = first else {
            return Err(wrong(
                format!(
                    "none of the hosts by which the cluster is reached can be reached: {}",
                    names.join(", ")
                ),
                "bring one of them back, or name others by `ceph_via`",
            ));
        };
        self.state.vias.insert(host.clone());
        self.acting(frame, host)
    }

    /// A task whose change another host holds: what became of it. None where this host must ask itself.
    pub(super) fn followed(&mut self, frame: &Frame<'_>) -> Option<Inst> {
        let things = self.state.shares.get(&frame.key)?.clone();
        let holders: Option<Vec<Holder>> = {
            let clusters = self.scene.clusters();
            things.iter().map(|thing| clusters.holders.get(thing).cloned()).collect()
        };
        let gone = |holder: &Holder| !holder.done && self.scene.is_through(&holder.host, holder.rank.0);
        let holders = holders.filter(|holders| !holders.iter().any(gone));
        let Some(holders) = holders else {
            self.state.shares.remove(&frame.key);
            return None;
        };
        match holders.iter().find(|holder| !holder.done) {
            Some(holder) if self.scene.acts_now() => {
                Some(self.late(frame, &format!("`{}` on {}", holder.title, holder.host)))
            }
            _ => {
                let (fsid, _) = things.first()?;
                Some(self.shared(frame, holders.first()?, fsid))
            }
        }
    }

    /// The same change, made by another host: told as such, and as changed for whoever is notified.
    fn shared(&mut self, frame: &Frame<'_>, holder: &Holder, fsid: &str) -> Inst {
        let note = format!("the same change of cluster {fsid} as on {}", holder.host);
        let mut result = match &holder.result {
            Json::Object(result) => result.clone(),
            _ => Map::new(),
        };
        result.insert("changed".to_owned(), json!(true));
        result.insert("failed".to_owned(), json!(false));
        let result = Json::Object(result);
        // A command that only reads may not look before the change is made.
        self.changes = true;
        self.planned_in(frame, What::Same { result: result.clone(), notes: vec![note] });
        Inst { secret: frame.secret, ..Inst::known(result, true) }
    }

    /// A change of a cluster: this host's own, or that of another one. None where it is its own.
    pub(super) fn divided(&mut self, frame: &Frame<'_>, change: &Change) -> Option<Inst> {
        let fsid = change.cluster.clone()?;
        if change.steps.is_empty() {
            // All is so already: whoever shares the change sees that as well.
            let own = |holder: &Holder| holder.host == self.state.name && holder.key == frame.key;
            self.scene.clusters().holders.retain(|_, holder| holder.done || !own(holder));
            return None;
        }
        let own = self.holders(frame, change);
        let things: Vec<Thing> = own.iter().map(|(claim, _)| (fsid.clone(), claim.clone())).collect();
        let (fight, others) = self.weighed(frame, change, &things, own);
        if let Some((held, thing)) = fight {
            return Some(self.unequal(frame, &held, &thing));
        }
        let holder = others.first()?;
        if others.len() == things.len() {
            self.state.shares.insert(frame.key.clone(), things);
        }
        if self.scene.acts_now() {
            return Some(self.late(frame, &format!("`{}` on {}", holder.title, holder.host)));
        }
        // Where only parts are shared, each of the two plans shows what it asks for.
        (others.len() == change.steps.len()).then(|| self.shared(frame, &holder.clone(), &fsid))
    }

    /// Who holds the things of a change: another host that asks for another value, and those that ask for the same
    /// before this one. Where there are none of either, this host holds them.
    fn weighed(
        &self,
        frame: &Frame<'_>,
        change: &Change,
        things: &[Thing],
        own: Vec<(Claim, Holder)>,
    ) -> (Option<(Holder, Thing)>, Vec<Holder>) {
        let (mut fight, mut others, mut crosses) = (None, Vec::new(), false);
        let mut clusters = self.scene.clusters();
        let mine = |other: &Holder| other.host == self.state.name && other.key == frame.key;
        clusters.fights.retain(|thing, other| !(mine(other) && things.contains(thing)));
        for ((thing, (_, holder)), step) in things.iter().zip(&own).zip(&change.steps) {
            let held = clusters.holders.get(thing);
            let held = held.filter(|held| held.host != holder.host);
            let held = held.filter(|held| held.done || !self.scene.is_through(&held.host, held.rank.0));
            match held.cloned() {
                Some(held) if !held.asks_as(step) => {
                    fight = Some((held, thing.clone()));
                    clusters.fights.insert(thing.clone(), holder.clone());
                    crosses = true;
                }
                Some(held) if held.done => {}
                Some(held) if held.rank < holder.rank || self.scene.acts_now() => others.push(held),
                Some(_) => crosses = true,
                None => {}
            }
            let other = clusters.fights.get(thing).filter(|other| other.host != holder.host);
            if let Some(other) = other.filter(|other| !other.asks_as(step)) {
                fight = fight.or_else(|| Some((other.clone(), thing.clone())));
            }
        }
        if fight.is_none() && others.is_empty() {
            let own = own.into_iter().map(|(_, holder)| holder);
            clusters.holders.extend(things.iter().cloned().zip(own));
        }
        if crosses {
            // The other host may be planned already and must hear of it.
            self.scene.shared.roll.cross();
        }
        (fight, others)
    }

    fn holders(&self, frame: &Frame<'_>, change: &Change) -> Vec<(Claim, Holder)> {
        let chosen = self.scene.chosen();
        let hosts = chosen.get(self.play).map_or(&[][..], Vec::as_slice);
        let place = hosts.iter().position(|host| *host == self.state.id).unwrap_or(usize::MAX);
        let holder = |step: &Step| Holder {
            host: self.state.name.clone(),
            rank: (self.play, place),
            key: frame.key.clone(),
            title: frame.task.title(),
            span: frame.task.action.span.clone(),
            row: row_name(step),
            after: step.after.clone(),
            result: change.result.clone(),
            done: false,
        };
        change.steps.iter().map(|step| (step.claim.clone(), holder(step))).collect()
    }

    fn unequal(&mut self, frame: &Frame<'_>, held: &Holder, (fsid, claim): &Thing) -> Inst {
        let thing = claim.as_str();
        let thing = thing.strip_prefix(&format!("ceph/{fsid}/")).unwrap_or(thing);
        let words = format!(
            "{} and {} ask for different values of {thing} of cluster {fsid}: this task, and `{}` at {}",
            self.state.name, held.host, held.title, held.span
        );
        let problem = Diagnostic::error(words, frame.task.action.span.clone()).help(
            "a cluster has one value for all hosts: say it once, with a value that does not follow from the host",
        );
        self.mistaken(frame, problem)
    }

    /// A task of this host is done, or has failed: whoever shares its change goes on, or asks itself.
    pub(super) fn settled(&self, key: &str, ran: &Ran, failed: bool) {
        if ran.claims.is_empty() {
            return;
        }
        let mut clusters = self.scene.clusters();
        let own = |holder: &Holder| holder.host == self.state.name && holder.key == key;
        if failed || ran.undone {
            clusters.holders.retain(|_, holder| !own(holder));
            return;
        }
        clusters.holders.values_mut().filter(|holder| own(holder)).for_each(|holder| holder.done = true);
    }
}
