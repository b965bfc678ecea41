//! What was learnt of the noise of benchmarks where nothing changed: kept beside the runs, read by plans.
use super::bed::Seen;
use crate::bench::Span;
use crate::gate::noise::Noise;
use crate::gate::{Direction, Figure, Metric};
use crate::load::{Load, Measured};
use modules::vocabulary::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The noise of one benchmark as one set of hosts loads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The benchmark, its hosts and the length of a run: what it is the noise of.
    pub of: String,
    /// When it was learnt.
    pub learnt: String,
    /// From so many runs.
    pub runs: u32,
    /// By the figure's path behind the benchmark's name.
    pub noise: BTreeMap<String, Noise>,
}

/// The folder of all profiles.
#[derive(Clone, Debug)]
pub struct Profiles(PathBuf);

/// What a benchmark's noise depends on: another tool's argument, another host or another length is another noise.
fn subject(load: &Load, span: Span) -> String {
    let on: Vec<&str> = load.on.iter().map(|target| target.host.as_str()).collect();
    let peer = load.peer.as_ref().map(|target| target.host.as_str());
    serde_json::json!({
        "tool": load.tool, "on": on, "peer": peer,
        "ramp": span.ramp.as_secs_f64(), "measure": span.measure.as_secs_f64(),
    })
    .to_string()
}

impl Profiles {
    /// The profiles beside the runs in this folder.
    pub fn beside(runs: &Path) -> Self {
        Self(runs.join("noise"))
    }

    fn path(&self, subject: &str) -> PathBuf {
        self.0.join(format!("{}.json", Digest::of(subject.as_bytes())))
    }

    /// What is known of a benchmark.
    pub(super) fn of(&self, load: &Load, span: Span) -> Option<Profile> {
        let subject = subject(load, span);
        let profile: Profile = serde_json::from_slice(&std::fs::read(self.path(&subject)).ok()?).ok()?;
        (profile.of == subject).then_some(profile)
    }

    /// The noise of a metric as a host's gate measures it, with when and from how many runs it was learnt.
    pub(super) fn noise(&self, seen: &Seen, metric: &Metric) -> Option<(Noise, String, u32)> {
        let (id, path) = metric.from.split_once('.')?;
        let load = seen.loads.iter().find(|load| load.id == id)?;
        let span = super::measuring::terms(&seen.gate).span;
        let profile = self.of(load, span)?;
        Some((*profile.noise.get(path)?, profile.learnt, profile.runs))
    }

    /// Keeps what runs of unchanged hosts tell. Nothing where they are too few. Gives whether something was kept.
    pub(super) fn learn(&self, seen: &Seen, runs: &[Measured], now: &str) -> std::io::Result<bool> {
        let span = super::measuring::terms(&seen.gate).span;
        let mut kept = false;
        for load in &seen.loads {
            let noise = noise_of(&load.id, runs);
            if noise.is_empty() {
                continue;
            }
            let of = subject(load, span);
            let (path, runs) = (self.path(&of), u32::try_from(runs.len()).unwrap_or(u32::MAX));
            let profile = Profile { of, learnt: now.to_owned(), runs, noise };
            std::fs::create_dir_all(&self.0)?;
            // Whoever reads it meanwhile sees the old one or the new one.
            let draft = path.with_extension(format!("{}.new", std::process::id()));
            std::fs::write(&draft, serde_json::to_vec_pretty(&profile).map_err(std::io::Error::other)?)?;
            std::fs::rename(&draft, &path)?;
            kept = true;
        }
        Ok(kept)
    }
}

fn noise_of(id: &str, runs: &[Measured]) -> BTreeMap<String, Noise> {
    let Some(last) = runs.last() else { return BTreeMap::new() };
    let paths =
        last.figures.keys().filter_map(|path| Some((path, path.strip_prefix(id)?.strip_prefix('.')?)));
    let one = |(whole, path): (&String, &str)| {
        let better = last.better.get(whole).copied().unwrap_or(Direction::Higher);
        let goodness: Option<Vec<f64>> = runs
            .iter()
            .map(|run| match run.figures.get(whole) {
                Some(Figure::Number(figure)) => better.goodness(*figure),
                _ => None,
            })
            .collect();
        Some((path.to_owned(), Noise::of(&goodness?)?))
    };
    paths.filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_every_run_has_get_a_noise() {
        let run = |figure: f64, odd: bool| {
            let mut measured = Measured::default();
            measured.figures.insert("net.rate".into(), Figure::Number(figure));
            measured.figures.insert("network.rate".into(), Figure::Number(figure));
            let loss = if odd { Figure::NotAvailable { why: "x".into() } } else { Figure::Number(1.0) };
            measured.figures.insert("net.loss".into(), loss);
            measured
        };
        let runs: Vec<Measured> = (0..8).map(|at| run(100.0 + f64::from(at % 3), at == 2)).collect();
        let noise = noise_of("net", &runs);
        assert_eq!(noise.keys().map(String::as_str).collect::<Vec<_>>(), ["rate"]);
        assert!(noise["rate"].pair_sd > 0.0 && noise["rate"].pairs == 4);
        assert!(noise_of("net", &runs[..4]).is_empty() && noise_of("net", &[]).is_empty());
    }
}
