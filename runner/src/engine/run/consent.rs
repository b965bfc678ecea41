//! What a person is asked before a host goes on: each host with `--step`, and what was not decided yet when the plan was
//! shown.
use super::HostRun;
use crate::diagnostic::Diagnostic;
use crate::engine::walk::{Planned, What};
use crate::journal::HostEnd;
use crate::report::paint::Paint;
use crate::report::plan::task_text;
use std::collections::HashSet;
use std::sync::Arc;

/// What a person has agreed to.
#[derive(Clone, Debug, Default)]
pub struct Consent {
    /// The tasks that were shown with what they do; none: whatever is decided later is agreed to as well.
    pub shown: Option<HashSet<String>>,
    /// Whether somebody is asked before the host is changed first.
    pub each_host: bool,
}

impl Consent {
    /// That what is shown in a plan is agreed to, and nothing else.
    pub fn to(planned: &[Planned]) -> Self {
        let decided = planned.iter().filter(|task| matches!(task.what, What::Change(_)));
        Self { shown: Some(decided.map(|task| task.key.clone()).collect()), each_host: false }
    }
}

impl HostRun {
    /// Why a batch is not sent: it was not reviewed like this, its turn is over, or nobody consents.
    pub(super) async fn held_back(&mut self, planned: &[Planned], members: &[usize]) -> Option<HostEnd> {
        if let Some((at, problem)) = self.unreviewed(planned, members) {
            self.tell_rest(planned, at);
            self.trouble(Some(&planned[at]), problem);
            return Some(HostEnd::Stale);
        }
        let first = members[0];
        let end = if self.scene.stopping().stops().await {
            HostEnd::Stopped
        } else if !self.in_step(&planned[first]).await {
            HostEnd::Skipped
        } else if !self.consents(planned, members).await {
            HostEnd::Declined
        } else {
            return None;
        };
        self.tell_rest(planned, first);
        Some(end)
    }

    /// The first task of a batch that was not reviewed like this.
    fn unreviewed(&self, planned: &[Planned], members: &[usize]) -> Option<(usize, Diagnostic)> {
        let review = self.review.as_ref()?;
        members.iter().find_map(|member| review(&planned[*member]).map(|problem| (*member, problem)))
    }

    /// Asks where that is to be asked. False: a person said no.
    pub(super) async fn consents(&mut self, planned: &[Planned], members: &[usize]) -> bool {
        let late: Vec<&Planned> = match &self.consent.shown {
            Some(shown) => {
                let members = members.iter().map(|member| &planned[*member]);
                members.filter(|task| !shown.contains(&task.key)).collect()
            }
            None => Vec::new(),
        };
        let first = std::mem::take(&mut self.consent.each_host);
        if late.is_empty() && !first {
            return true;
        }
        let host = &self.state.name;
        let mut question = String::new();
        for task in &late {
            if let What::Change(change) = &task.what {
                question.push_str(&task_text(task, change, Paint(false)));
            }
        }
        if late.is_empty() {
            question.push_str(&format!("Go on with {host}?"));
        } else {
            question = format!("{host}: decided just now:\n{question}Apply this on {host}?");
        }
        let keys: Vec<String> = late.iter().map(|task| task.key.clone()).collect();
        let ask = Arc::clone(&self.ask);
        let yes = tokio::task::spawn_blocking(move || ask(&question)).await.unwrap_or(false);
        if let (true, Some(shown)) = (yes, &mut self.consent.shown) {
            shown.extend(keys);
        }
        yes
    }
}
