//! What a play says of itself rather than of a task, evaluated for a host: its gate, and as whom its benchmarks run.
use super::items::empty;
use super::scene::Scene;
use super::scope::{Live, Scope};
use super::setting::Unknown;
use crate::diagnostic::Diagnostic;
use crate::engine::target::{Acting, HostState, Target};
use crate::template::{Json, find_missing};
use crate::yaml::Node;
use modules::vocabulary::Facts;
use std::collections::BTreeMap;

/// A play as one host sees it.
pub struct Gauge<'s> {
    scene: &'s Scene,
    state: &'s HostState,
    play: usize,
    live: Live,
    facts: BTreeMap<Target, Facts>,
}

impl<'s> Gauge<'s> {
    /// Of play number `play`, as far as the host has come.
    pub fn new(scene: &'s Scene, state: &'s HostState, play: usize) -> Self {
        let facts = state.known.iter().map(|(target, known)| (target.clone(), known.facts())).collect();
        let live = Live { made: scene.made_by(&state.name), ..Live::default() };
        Self { scene, state, play, live, facts }
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            scene: self.scene,
            play: &self.scene.playbook.plays[self.play],
            play_number: self.play,
            host: self.state,
            task: None,
            locals: Vec::new(),
            live: &self.live,
            facts: self.facts.get(&self.state.login).unwrap_or_else(|| empty()),
            all_facts: &self.facts,
        }
    }

    /// A value with its templates evaluated.
    ///
    /// # Errors
    /// What is wrong with it, or not known.
    pub fn value(&self, node: &Node) -> Result<Json, Diagnostic> {
        let (value, _) = self.scope().evaluated(node).map_err(|unknown| told(unknown, node))?;
        match find_missing(&value) {
            None => Ok(value),
            Some(_) => Err(told(Unknown::Late("something that no task has made yet".to_owned()), node)),
        }
    }

    /// As whom benchmarks of the play run on a host.
    ///
    /// # Errors
    /// What is wrong with the play's `become`.
    pub fn acting(&self, host: &str) -> Result<Target, Diagnostic> {
        let scope = self.scope();
        let settings = &scope.play.settings;
        let target = |user| Target { host: host.to_owned(), user };
        let wrong = |unknown| match unknown {
            Unknown::Wrong(problem) | Unknown::Undefined(problem) => *problem,
            Unknown::Late(on) | Unknown::Fact(on) => {
                Diagnostic::error(format!("`become` of the play waits for {on}"), None)
            }
        };
        if !scope.flag(settings.r#become.as_ref(), false).map_err(wrong)? {
            return Ok(target(Acting::Login));
        }
        let user = scope.text(settings.become_user.as_ref()).map_err(wrong)?;
        let method = scope.text(settings.become_method.as_ref()).map_err(wrong)?;
        let flags = scope.text(settings.become_flags.as_ref()).map_err(wrong)?;
        let exe = scope.text(settings.become_exe.as_ref()).map_err(wrong)?;
        Acting::becoming(
            method.as_deref().unwrap_or("sudo"),
            user.unwrap_or_else(|| "root".to_owned()),
            flags.as_deref(),
            exe,
        )
        .map(target)
        .map_err(|why| Diagnostic::error(why, None))
    }
}

fn told(unknown: Unknown, node: &Node) -> Diagnostic {
    match unknown {
        Unknown::Wrong(problem) | Unknown::Undefined(problem) => *problem,
        Unknown::Late(on) | Unknown::Fact(on) => {
            Diagnostic::error(format!("this is not known here: it waits for {on}"), node.span.clone())
                .help("use variables of the inventory or of the play, which are known from the beginning")
        }
    }
}
