//! Whether the target runs as it is asked for, and everything is exported.
use super::SpdkVhost;
use super::live::{Live, is_as_wanted};
use super::wishes::Wishes;
use crate::vocabulary::{Change, Effect, Evidence, Stop};
use serde_json::Value as Json;

impl SpdkVhost {
    /// Tells the evidence.
    pub(super) fn told(&self, live: Option<&Live>, wishes: &Wishes, change: &mut Change) -> Result<(), Stop> {
        if let Some(target) = &self.target {
            let wanted = target.reactors()?;
            let (is_live, seen) = match live {
                Some(live) => (live.cores == wanted, format!("it runs on {}", live.cores)),
                None => (false, "no target runs".to_owned()),
            };
            change.evidence.push(Evidence::told(
                format!("the target runs on the cores {wanted}"),
                "framework_get_reactors",
                (is_live, live.is_some()),
                seen,
                Effect::DaemonRestart,
            ));
        }
        for export in &wishes.exports {
            let found = live.and_then(|live| {
                live.controllers
                    .iter()
                    .find(|one| one.get("name").and_then(Json::as_str) == Some(&export.name))
            });
            let missing: Vec<String> = export
                .slots
                .iter()
                .filter(|(number, bdev, _)| {
                    let slot = found.and_then(|one| one.get("slots")?.get(number.to_string())?.as_str());
                    slot != Some(bdev.as_str())
                })
                .map(|(number, bdev, _)| format!("slot {number} without {bdev}"))
                .collect();
            let is_it = found.is_some_and(|one| is_as_wanted(&one.to_string(), &export.object));
            let seen = match (found, missing.is_empty()) {
                (None, _) => "there is no such controller".to_owned(),
                (Some(one), true) => one.to_string(),
                (Some(_), false) => missing.join(", "),
            };
            change.evidence.push(Evidence::told(
                format!("guests can connect to {}", export.name),
                "vhost_get_controllers",
                (is_it && missing.is_empty(), false),
                seen,
                Effect::Now,
            ));
        }
        Ok(())
    }
}
