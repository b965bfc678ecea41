//! Benchmarks on hosts: their calls and servers as processes of the hosts, each ended with its time or with us, and
//! what they printed as the figures of one run.
mod combine;
mod devices;
mod host;
mod script;
mod servers;
mod surroundings;

use crate::bench::{Benchmark, Call, Output, Reading, Span};
use crate::engine::links::Links;
use crate::engine::target::Target;
use crate::engine::walk::Scene;
use crate::gate::steady::SteadyRule;
use crate::gate::{Direction, Fault, Figure};
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
    /// Which way each is better, where its tool knows.
    pub better: BTreeMap<String, Direction>,
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

/// Why a run does not count, with what the tools printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// Why.
    pub fault: Fault,
    /// The outputs so far.
    pub raw: Vec<Raw>,
}

/// Runs all benchmarks once: those that load one after another, each on all of its hosts at once; those that only look
/// one second before the last load is over, or before it would be.
///
/// # Errors
/// Why the run does not count.
pub async fn measure(ground: Ground<'_>, loads: &[Load], terms: Terms) -> Result<Measured, Failed> {
    let (mut measured, mut beside) = (Measured::default(), Measured::default());
    let came = loads_and_looks(ground, loads, terms, &mut measured, &mut beside).await;
    combine::merge(&mut measured, beside);
    match came {
        Ok(()) => Ok(measured),
        Err(fault) => Err(Failed { fault, raw: measured.raw }),
    }
}

async fn loads_and_looks(
    ground: Ground<'_>,
    loads: &[Load],
    terms: Terms,
    measured: &mut Measured,
    beside: &mut Measured,
) -> Result<(), Fault> {
    let (loading, looking): (Vec<&Load>, Vec<&Load>) =
        loads.iter().partition(|load| load.tool.driver().loads());
    let (last, first) = match loading.split_last() {
        Some((last, first)) => (Some(*last), first),
        None => (None, &[][..]),
    };
    for load in first {
        one(ground, load, terms, measured).await?;
    }
    let before_its_end = terms.span.ramp + terms.span.measure.saturating_sub(Duration::from_secs(1));
    let watched = async {
        if !looking.is_empty() {
            tokio::time::sleep(before_its_end).await;
        }
        for load in looking {
            one(ground, load, terms, beside).await?;
        }
        Ok::<(), Fault>(())
    };
    let loaded = async {
        match last {
            Some(load) => one(ground, load, terms, measured).await,
            None => Ok(()),
        }
    };
    let (loaded, watched) = tokio::join!(loaded, watched);
    loaded.and(watched)
}

/// One benchmark on all of its hosts.
async fn one(ground: Ground<'_>, load: &Load, terms: Terms, into: &mut Measured) -> Result<(), Fault> {
    let driver = load.tool.driver();
    let calls = driver.calls(terms.span);
    let mut hosts = Vec::new();
    for target in &load.on {
        hosts.push(Host::reach(ground, target).await?);
    }
    for host in &hosts {
        host.may_lose(&driver.overwrites()).await?;
    }
    let source = driver.source();
    let mut before = Vec::new();
    for host in hosts.iter().filter(|_| driver.loads()) {
        before.push(host.looked(&source).await?);
    }
    let servers = servers::start(ground, load, &calls, &hosts).await?;
    let readings = loaded(load, &hosts, &calls, terms, into).await;
    // Whatever came of it: a server that stays would meet the next run.
    servers::end(servers).await;
    let readings = readings?;
    for (host, before) in hosts.iter().zip(before) {
        into.notes.extend(host.met(&before, &source, terms.steal_max).await?);
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
    // What the tools printed is kept of runs that do not count, too.
    for (host, of_host) in hosts.iter().zip(&ended) {
        let printed =
            calls.iter().zip(of_host).filter_map(|(call, output)| Some((call, output.as_ref().ok()?)));
        into.raw.extend(printed.map(|(call, output)| Raw {
            load: load.id.clone(),
            host: host.name().to_owned(),
            argv: call.argv.clone(),
            output: output.clone(),
        }));
    }
    let driver = load.tool.driver();
    let read = |of_host: Vec<Result<Output, Fault>>| {
        driver.read(terms.span, &of_host.into_iter().collect::<Result<Vec<Output>, Fault>>()?)
    };
    ended.into_iter().map(read).collect()
}
