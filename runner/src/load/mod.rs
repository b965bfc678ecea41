//! Benchmarks on hosts.
use crate::bench::{Benchmark, Span};
use crate::engine::links::Links;
use crate::engine::target::Target;
use crate::engine::walk::Scene;
use crate::gate::steady::SteadyRule;
use crate::gate::{Fault, Figure};
use std::collections::BTreeMap;

/// One benchmark, and whom it runs on.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// id
    pub id: String,
    /// tool
    pub tool: Benchmark,
    /// on
    pub on: Vec<Target>,
    /// peer
    pub peer: Option<Target>,
}

/// Ground.
pub struct Ground<'a> {
    /// scene
    pub scene: &'a Scene,
    /// links
    pub links: &'a Links,
}

/// raw
#[derive(Clone, Debug)]
pub struct Raw {
    /// load
    pub load: String,
    /// host
    pub host: String,
    /// out
    pub stdout: String,
}

/// Measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// figures
    pub figures: BTreeMap<String, Figure>,
    /// versions
    pub versions: BTreeMap<String, String>,
    /// flags
    pub flags: Vec<String>,
    /// within
    pub within: Option<f64>,
    /// raw
    pub raw: Vec<Raw>,
}

/// measure
///
/// # Errors
/// Fault
pub async fn measure(
    _ground: &Ground<'_>,
    _loads: &[Load],
    _span: Span,
    _steady: Option<SteadyRule>,
) -> Result<Measured, Fault> {
    Err(Fault::Unfit { what: "stub".into() })
}
