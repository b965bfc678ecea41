//! SMT, TuneD's profile, and drop-ins that pin units, as they are.
use super::Found;
use crate::draft::known;
use crate::files::place;
use crate::vocabulary::{Facts, Read, Row, Stop};
use serde_json::json;

const SMT: &str = "/sys/devices/system/cpu/smt/control";
const DROP_INS: &str = "/etc/systemd/system/*.d/*.conf";
/// Settings that pin.
const PINS: [&str; 5] = ["CPUAffinity=", "AllowedCPUs=", "AllowedMemoryNodes=", "NUMAPolicy=", "NUMAMask="];

/// Whether cores run more than one thread.
pub(super) fn smt(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let control = known(facts.value(&place::known(SMT)?))?.flatten().unwrap_or_default();
    // `on` is what the machine does unasked.
    Ok(match control.trim() {
        "off" | "forceoff" => {
            let found = Found::new(format!("SMT is {}", control.trim()), SMT);
            vec![found.kept_or_live("One thread a core", "smt", json!({ "enabled": false }))]
        }
        _ => Vec::new(),
    })
}

/// TuneD's profile.
pub(super) fn tuned(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let Some(output) = known(facts.output(&Row::new("tuned-adm-active", Vec::<String>::new())))? else {
        return Ok(Vec::new());
    };
    let text = output.text();
    let profile = text.lines().find_map(|line| line.trim().strip_prefix("Current active profile: "));
    let profile = profile.map(str::trim).filter(|profile| !profile.is_empty() && output.status == 0);
    let found = |profile: &str| {
        Found::new(format!("TuneD's profile {profile}"), "tuned-adm active").way(
            &format!("TuneD's profile {profile}"),
            "tuned_profile",
            json!({ "profile": profile }),
        )
    };
    Ok(profile.map(found).into_iter().collect())
}

/// Drop-ins that say where units run, as their bytes.
pub(super) fn pinned_units(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let paths = known(facts.names(DROP_INS))?.unwrap_or_default();
    facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
    let mut found = Vec::new();
    for path in paths {
        let node = known(facts.node(&path))?.flatten();
        let text =
            node.as_ref().and_then(|node| node.bytes()).and_then(|bytes| bytes.text().map(str::to_owned));
        let Some(text) =
            text.filter(|text| text.lines().any(|line| PINS.iter().any(|pin| line.trim().starts_with(pin))))
        else {
            continue;
        };
        let unit =
            path.parent().map(|folder| folder.name().trim_end_matches(".d").to_owned()).unwrap_or_default();
        let name = path.name().trim_end_matches(".conf");
        let mut one = Found::new(format!("{unit} is pinned by {name}"), path.as_str());
        let value = |key: &str| {
            text.lines()
                .rev()
                .find_map(|line| line.trim().strip_prefix(key))
                .filter(|value| !value.is_empty())
        };
        if let (Some(cpus), true) = (value("CPUAffinity="), name == "50-tunerun-cpus") {
            one = one.way(&format!("CPUs of {unit}"), "cpu_affinity", json!({ "unit": unit, "cpus": cpus }));
        }
        let args = json!({ "name": unit, "drop_in": { "name": name, "content": text } });
        found.push(one.way(&format!("Where {unit} runs"), "systemd_unit", args));
    }
    Ok(found)
}
