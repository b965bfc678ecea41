//! What guards stand on: hosts and the ways to them, and whom they tell what they wait for.
use super::daemons::{Daemons, by_cluster, only};
use super::stopped::Stopped;
use crate::engine::carrier::{Carrier, CarrierError};
use crate::engine::links::Links;
use crate::engine::target::Target;
use crate::engine::walk::Scene;
use crate::template::Json;
use modules::vocabulary::{Facts, Identity, Read, Row, Seen, Stop};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How long one look may take before the link counts as broken.
const LOOK: Duration = Duration::from_secs(240);

/// How often a plan may ask for more before it must be complete.
const ROUNDS: usize = 8;

/// What a run gives its guards.
#[derive(Clone)]
pub struct Ground {
    /// Playbook, inventory and variables.
    pub scene: Arc<Scene>,
    /// The ways to the hosts.
    pub links: Arc<Links>,
    /// The number of the play whose variables count.
    pub play: usize,
    /// What guards of a run that this one goes on with have left set (see [`super::left_by`]): it is taken over.
    pub left: BTreeSet<String>,
}

/// What guards wait for, to be told to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The hosts that wait.
    pub hosts: Vec<String>,
    /// Whether they wait to go down; else to be up again.
    pub before: bool,
    /// What does not hold yet; empty once all holds.
    pub why: Vec<String>,
    /// How long they have waited.
    pub waited: Duration,
    /// How long they wait at most.
    pub most: Duration,
}

/// Takes what guards wait for.
pub type Tell = Arc<dyn Fn(Waiting) + Send + Sync>;

/// A way to a host, as somebody.
#[derive(Clone)]
pub(super) struct Way {
    pub target: Target,
    pub carrier: Carrier,
    pub who: Identity,
}

impl Ground {
    /// A variable of a host, as words: a list, or one text.
    pub(super) fn words(&self, host: &str, name: &str) -> Option<Vec<String>> {
        let text = |value: &Json| match value {
            Json::String(text) => Some(text.clone()),
            Json::Number(number) => Some(number.to_string()),
            _ => None,
        };
        match self.value(host, name)? {
            Json::Array(items) => Some(items.iter().filter_map(text).collect()),
            other => text(&other).map(|text| vec![text]),
        }
    }

    /// A variable of a host.
    pub(super) fn value(&self, host: &str, name: &str) -> Option<Json> {
        let id = self.scene.inventory().host(host)?;
        self.scene.said(self.play, id, name)
    }

    /// A way to a host; `who` is asked where it is not known.
    pub(super) async fn way(&self, target: &Target, who: Option<Identity>) -> Result<Way, Stopped> {
        let unreachable = |why| Stopped::Unreachable { host: target.host.clone(), why };
        let carrier = self.links.carrier(&self.scene, target).await.map_err(unreachable)?;
        let who = match who {
            Some(who) => who,
            None => {
                let greeted = tokio::time::timeout(LOOK, carrier.greet(&[])).await;
                self.answered(target, greeted).await?.0.who
            }
        };
        Ok(Way { target: target.clone(), carrier, who })
    }

    /// Looks; a link that breaks or does not answer is made anew the next time.
    pub(super) async fn look(&self, way: &Way, reads: &[Read]) -> Result<BTreeMap<Read, Seen>, Stopped> {
        let seen = tokio::time::timeout(LOOK, way.carrier.look(reads)).await;
        self.answered(&way.target, seen).await
    }

    async fn answered<T>(
        &self,
        target: &Target,
        answer: Result<Result<T, CarrierError>, tokio::time::error::Elapsed>,
    ) -> Result<T, Stopped> {
        let error = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error,
            Err(_) => CarrierError::Answer(format!("nothing came within {} s", LOOK.as_secs())),
        };
        self.links.forget(&target.host).await;
        Err(Stopped::Broken { host: target.host.clone(), error })
    }

    /// Plans on what is seen, and looks at what that misses.
    pub(super) async fn planned<T>(
        &self,
        way: &Way,
        plan: impl Fn(&Facts) -> Result<T, Stop> + Send,
    ) -> Result<T, Stopped> {
        self.planned_on(way, &mut BTreeMap::new(), plan).await
    }

    /// The same, where something was seen already.
    pub(super) async fn planned_on<T>(
        &self,
        way: &Way,
        seen: &mut BTreeMap<Read, Seen>,
        plan: impl Fn(&Facts) -> Result<T, Stop> + Send,
    ) -> Result<T, Stopped> {
        for _ in 0..ROUNDS {
            let facts = Facts::new(Arc::new(seen.clone()), way.who.clone());
            match plan(&facts) {
                Ok(planned) => return Ok(planned),
                Err(Stop::Unread(reads)) => seen.extend(self.look(way, &reads).await?),
                Err(Stop::Refused(refusal)) => {
                    let (host, why, way_out) = (way.target.host.clone(), refusal.why, refusal.way_out);
                    return Err(Stopped::Refused { host, why, way_out });
                }
                Err(Stop::Late(_)) => break,
            }
        }
        let error = CarrierError::Answer("it is asked for ever new things".to_owned());
        Err(Stopped::Broken { host: way.target.host.clone(), error })
    }

    /// The daemons of Ceph that a host runs, by cluster.
    pub(super) async fn daemons(&self, target: &Target) -> Result<BTreeMap<String, Daemons>, Stopped> {
        let way = self.way(target, None).await?;
        let row = Row::new("ceph-daemons", Vec::<String>::new());
        let output = self.planned(&way, |facts| facts.output(&row)).await?;
        let mut clusters = by_cluster(&output.text());
        if let Some(named) = self.words(&target.host, "ceph_daemons") {
            let fsid = self.words(&target.host, "ceph_fsid").and_then(|words| words.into_iter().next());
            only(&mut clusters, &named, fsid.as_deref());
        }
        Ok(clusters)
    }
}
