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
    ground: &Ground<'_>,
    loads: &[Load],
    span: Span,
    _steady: Option<SteadyRule>,
) -> Result<Measured, Fault> {
    use crate::engine::carrier::Carrier;
    let mut m = Measured { figures: BTreeMap::new(), versions: BTreeMap::new(), flags: vec![], within: None, raw: vec![] };
    let tool = |what: String| Fault::Tool { what };
    for load in loads {
        let driver = load.tool.driver();
        let mut outs = Vec::new();
        for call in driver.calls(span) {
            let q = |w: &[String]| w.iter().map(|w| crate::transport::shell::word::quote(w)).collect::<Vec<_>>().join(" ");
            let mut server = None;
            if let (Some(s), Some(peer)) = (&call.server, &load.peer) {
                let Carrier::Shell { connection, who, .. } = ground.links.carrier(ground.scene, peer).await.map_err(|e| tool(e.diagnostic("x").message))? else { continue };
                let prog = q(&s.argv);
                server = Some(tokio::spawn(async move { let _ = connection.link().run(&who, &prog, vec![], 1 << 20).await; }));
                tokio::time::sleep(std::time::Duration::from_millis(400)).await;
            }
            let Carrier::Shell { connection, who, .. } = ground.links.carrier(ground.scene, &load.on[0]).await.map_err(|e| tool(e.diagnostic("x").message))? else { continue };
            let out = connection.link().run(&who, &q(&call.argv), vec![], 1 << 24).await.map_err(|e| tool(e.to_string()))?;
            if let Some(s) = server { s.abort(); }
            outs.push(crate::bench::Output { status: out.exit.status, stdout: out.stdout.text(), stderr: out.stderr.text() });
        }
        for o in &outs { m.raw.push(Raw { load: load.id.clone(), host: load.on[0].host.clone(), stdout: o.stdout.clone() }); }
        let r = driver.read(span, &outs)?;
        for (k, v) in r.figures { m.figures.insert(format!("{}.{k}", load.id), v.figure); }
        m.versions.extend(r.versions);
    }
    Ok(m)
}
