//! Benchmarks on hosts: their calls and servers as processes of the hosts, each ended with its time or with us, and
//! what they printed as the figures of one run.
mod combine;
mod host;
mod script;

use crate::bench::{Benchmark, Call, Output, Reading, Span};
use crate::engine::links::Links;
use crate::engine::target::Target;
use crate::engine::walk::Scene;
use crate::gate::steady::SteadyRule;
use crate::gate::{Fault, Figure};
use host::Host;
use std::collections::BTreeMap;
use std::time::Duration;

/// One benchmark, and whom it runs on. Already evaluated for one changed host.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Its name in the paths of figures.
    pub id: String,
    /// What is run.
    pub tool: Benchmark,
    /// The hosts that load.
    pub on: Vec<Target>,
    /// The other end, where a server is started.
    pub peer: Option<Target>,
}

/// The way to the hosts.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// What all hosts of the run share.
    pub scene: &'a Scene,
    /// The connections.
    pub links: &'a Links,
}

/// What makes a run count.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// How long the load is.
    pub span: Span,
    /// How steady it must be; none where every run counts.
    pub steady: Option<SteadyRule>,
    /// The largest share of processor time that a hypervisor may keep on a loader.
    pub steal_max: f64,
}

/// What a tool printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// The benchmark's name.
    pub load: String,
    /// The host that loaded.
    pub host: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its output.
    pub output: Output,
}

/// What one run of all benchmarks gave.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Figures by the benchmark's name and their path.
    pub figures: BTreeMap<String, Figure>,
    /// The versions of the tools.
    pub versions: BTreeMap<String, String>,
    /// Things to know when reading the figures: `stalls`, `loose`, `short`.
    pub flags: Vec<String>,
    /// The share of the variance between runs that comes from within them, where it is known.
    pub within: Option<f64>,
    /// What a reader should see beside the figures.
    pub seen: BTreeMap<String, String>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What the tools printed.
    pub raw: Vec<Raw>,
}

/// Runs all benchmarks once: those that load one after another, each on all of its hosts at once; those that only look
/// one second before the last load is over.
///
/// # Errors
/// Why the run does not count.
pub async fn measure(ground: Ground<'_>, loads: &[Load], terms: Terms) -> Result<Measured, Fault> {
    let (loading, looking): (Vec<&Load>, Vec<&Load>) =
        loads.iter().partition(|load| load.tool.driver().loads());
    let mut measured = Measured::default();
    let Some((last, first)) = loading.split_last() else {
        for load in looking {
            one(ground, load, terms, &mut measured).await?;
        }
        return Ok(measured);
    };
    for load in first {
        one(ground, load, terms, &mut measured).await?;
    }
    let before_its_end = terms.span.ramp + terms.span.measure.saturating_sub(Duration::from_secs(1));
    let mut beside = Measured::default();
    let watched = async {
        if !looking.is_empty() {
            tokio::time::sleep(before_its_end).await;
        }
        for load in looking {
            one(ground, load, terms, &mut beside).await?;
        }
        Ok::<(), Fault>(())
    };
    let (loaded, watched) = tokio::join!(one(ground, last, terms, &mut measured), watched);
    loaded?;
    watched?;
    combine::merge(&mut measured, beside);
    Ok(measured)
}

/// One benchmark on all of its hosts.
async fn one(ground: Ground<'_>, load: &Load, terms: Terms, into: &mut Measured) -> Result<(), Fault> {
    let calls = load.tool.driver().calls(terms.span);
    let mut hosts = Vec::new();
    for target in &load.on {
        hosts.push(Host::reach(ground, target).await?);
    }
    if let Some(device) = load.tool.driver().destroys().filter(|target| target.starts_with("/dev/")) {
        for host in &hosts {
            host.is_free(&device).await?;
        }
    }
    let loads = load.tool.driver().loads();
    let mut before = Vec::new();
    for host in hosts.iter().filter(|_| loads) {
        before.push(host.times().await?);
    }
    let servers = servers(ground, load, &calls).await?;
    let readings = loaded(load, &hosts, &calls, terms, into).await;
    // Whatever came of it: a server that stays would meet the next run.
    for server in servers {
        server.let_go().await;
    }
    let readings = readings?;
    for (host, before) in hosts.iter().zip(before) {
        host.undisturbed(before, terms.steal_max).await?;
    }
    combine::take(&load.id, readings, terms.steady, into)
}

/// The calls of a benchmark on its hosts, all at once.
async fn loaded(
    load: &Load,
    hosts: &[Host],
    calls: &[Call],
    terms: Terms,
    into: &mut Measured,
) -> Result<Vec<Reading>, Fault> {
    let running: Vec<Vec<_>> =
        hosts.iter().map(|host| calls.iter().map(|call| host.run(call)).collect()).collect();
    // All of them are over before anything is judged: none may run into the next run.
    let mut ended = Vec::new();
    for of_host in running {
        let mut outputs = Vec::new();
        for task in of_host {
            outputs.push(
                task.await.unwrap_or_else(|why| Err(Fault::Unfit { what: format!("it broke off: {why}") })),
            );
        }
        ended.push(outputs);
    }
    let mut readings = Vec::new();
    for (host, of_host) in hosts.iter().zip(ended) {
        let outputs = of_host.into_iter().collect::<Result<Vec<Output>, Fault>>()?;
        into.raw.extend(calls.iter().zip(&outputs).map(|(call, output)| Raw {
            load: load.id.clone(),
            host: host.name().to_owned(),
            argv: call.argv.clone(),
            output: output.clone(),
        }));
        readings.push(load.tool.driver().read(terms.span, &outputs)?);
    }
    Ok(readings)
}

/// The servers that the calls talk to: each answers once this is over.
async fn servers(ground: Ground<'_>, load: &Load, calls: &[Call]) -> Result<Vec<host::Serving>, Fault> {
    let mut serving = Vec::new();
    for call in calls {
        let Some(server) = &call.server else { continue };
        let Some(peer) = &load.peer else {
            let what =
                format!("benchmark {} talks to a server: `peer:` names the host it is started on", load.id);
            return Err(Fault::Unfit { what });
        };
        if load.on.len() > 1 {
            let what = format!(
                "benchmark {} has one server, and {} hosts load it: name one",
                load.id,
                load.on.len()
            );
            return Err(Fault::Unfit { what });
        }
        let started = match Host::reach(ground, peer).await {
            Ok(host) => host.serve(server, call.limit).await,
            Err(fault) => Err(fault),
        };
        match started {
            Ok(started) => serving.push(started),
            Err(fault) => {
                for server in serving {
                    server.let_go().await;
                }
                return Err(fault);
            }
        }
    }
    Ok(serving)
}
