//! The lab of a run: the one that is up, or one for the length of the run.
use super::exit::Exit;
use super::term;
use std::path::PathBuf;
use std::sync::Arc;
use tunerun::engine::walk::Scene;
use tunerun::inventory::HostId;
use tunerun::lab::{Lab, LabSpec};

/// The folder of labs.
pub fn labs() -> PathBuf {
    std::env::var_os("TUNERUN_LABS").map_or_else(|| PathBuf::from("/run/tunerun-lab"), PathBuf::from)
}

/// The lab that the hosts of a run need, if they need one.
pub async fn lab(scene: &Scene, hosts: &[HostId]) -> Result<Option<Arc<Lab>>, Exit> {
    let names: Vec<String> = hosts
        .iter()
        .filter(|id| is_of_lab(scene, **id))
        .map(|id| scene.inventory().host_name(*id).to_owned())
        .collect();
    if names.is_empty() {
        return Ok(None);
    }
    let started = tokio::task::spawn_blocking(move || {
        if let Ok(lab) = Lab::attach(&labs(), "lab") {
            return Ok(lab);
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut spec = LabSpec::new("lab", &names, labs(), std::env::current_exe().unwrap_or_default());
        spec.command = std::env::args().collect::<Vec<_>>().join(" ");
        spec.hidden = std::env::current_dir().into_iter().collect();
        Lab::up(&spec)
    });
    match started.await {
        Ok(Ok(lab)) => Ok(Some(Arc::new(lab))),
        Ok(Err(problems)) => {
            term::problems(&problems);
            Err(Exit::Unreachable)
        }
        Err(why) => {
            term::wrong(format!("the lab broke off: {why}"), None);
            Err(Exit::Unreachable)
        }
    }
}

fn is_of_lab(scene: &Scene, id: HostId) -> bool {
    let var = scene.inventory_var(id, "ansible_connection");
    matches!(var.map(|var| var.held), Some(tunerun::template::Held::Data(value)) if value.as_str() == Some("lab"))
}
