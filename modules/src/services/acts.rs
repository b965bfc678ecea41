//! The calls of `systemctl` with their looks and their ways back.
use super::unit::{Unit, active_look, answer, file_look, start_look};
use crate::vocabulary::{Act, Back, Claim, HostPath, Match, Output, Read, Row, Seen, Spoil, Step, Stop};

/// Units whose start or stop writes the kernel's own values.
const TUNERS: [&str; 6] =
    ["tuned", "irqbalance", "systemd-sysctl", "systemd-modules-load", "systemd-tmpfiles", "systemd-udev"];
/// Units without which libvirt does not answer.
const LIBVIRT: [&str; 2] = ["libvirtd", "virtqemud"];

/// `systemctl daemon-reload`: an act without a state of its own.
pub(crate) fn daemon_reload() -> Step {
    bare("daemon-reload", Row::new("systemctl-daemon-reload", Vec::<String>::new()))
}

/// `systemctl daemon-reexec`.
pub(crate) fn daemon_reexec() -> Step {
    bare("daemon-reexec", Row::new("systemctl-daemon-reexec", Vec::<String>::new()))
}

fn bare(name: &str, row: Row) -> Step {
    let spoils =
        vec![Spoil::Answers("systemctl-units".to_owned()), Spoil::Answers("systemctl-unit-files".to_owned())];
    Step::call(Claim::new("systemd", name), row, spoils, Back::Nothing)
}

fn call(name: &str, unit: &Unit) -> Row {
    Row::new(name, [unit.name.as_str()])
}

fn claim(unit: &Unit, what: &str) -> Claim {
    Claim::new("unit", &format!("{}/{what}", unit.name))
}

fn spoils(unit: &Unit) -> Vec<Spoil> {
    let mut spoils = vec![Spoil::Read(active_look(&unit.name)), Spoil::Read(start_look(&unit.name))];
    spoils.push(Spoil::Rpc);
    for name in ["systemctl-units", "port", "probe", "probe-shell"] {
        spoils.push(Spoil::Answers(name.to_owned()));
    }
    if TUNERS.iter().any(|tuner| unit.name.starts_with(tuner)) {
        spoils.push(Spoil::Below(proc_and_sys("/proc")));
        spoils.push(Spoil::Below(proc_and_sys("/sys")));
    }
    if LIBVIRT.iter().any(|daemon| unit.name.starts_with(daemon)) {
        for name in ["virsh-list", "virsh-list-active", "virsh-version"] {
            spoils.push(Spoil::Answers(name.to_owned()));
        }
    }
    spoils
}

fn proc_and_sys(path: &str) -> HostPath {
    #[expect(clippy::expect_used, reason = "both callers give an absolute path without `..`")]
    HostPath::new(path).expect("an absolute path")
}

fn act(row: Row, spoils: Vec<Spoil>) -> Act {
    Act::Call { row, spoils }
}

/// Starts a unit that does not run.
pub(crate) fn start(unit: &Unit) -> Result<Step, Stop> {
    if unit.is_masked() {
        return Err(Stop::refused("state", format!("{} is masked and cannot be started", unit.name))
            .way_out("set `masked: false` in the same task"));
    }
    if unit.runs_once() {
        let why = format!("{} runs to its end: what it did stays", unit.name);
        return Ok(Step::call(
            claim(unit, "run"),
            call("systemctl-start", unit),
            spoils(unit),
            Back::None { why },
        ));
    }
    let stop = act(call("systemctl-stop", unit), spoils(unit));
    let before = unit.get("ActiveState");
    let back = match before {
        "failed" => {
            Back::Approximately { act: stop, stays: "that the unit had failed is forgotten".to_owned() }
        }
        _ => Back::Exactly(stop),
    };
    Ok(Step::call_seen(
        claim(unit, "active"),
        call("systemctl-start", unit),
        spoils(unit),
        (
            active_look(&unit.name),
            answer("ActiveState", before),
            Match::Exactly(answer("ActiveState", "active")),
        ),
        back,
    ))
}

/// Stops a unit that runs. One that ends as failed is stopped too.
pub(crate) fn stop(unit: &Unit) -> Step {
    let running = ["active", "activating", "deactivating", "reloading", "refreshing"];
    let after = Match::Lacks(running.iter().map(|state| format!("ActiveState={state}")).collect());
    Step::call_seen(
        claim(unit, "active"),
        call("systemctl-stop", unit),
        spoils(unit),
        (active_look(&unit.name), answer("ActiveState", unit.get("ActiveState")), after),
        Back::Exactly(act(call("systemctl-start", unit), spoils(unit))),
    )
}

/// Starts a unit again; the evidence is another start time.
pub(crate) fn restart(unit: &Unit) -> Step {
    evidence(unit, "restart", call("systemctl-restart", unit), start_look(&unit.name), Match::Changed)
}

/// Lets a unit read its settings again; the evidence is the exit status.
pub(crate) fn reload(unit: &Unit) -> Result<Step, Stop> {
    if unit.get("CanReload") == "no" {
        return Err(Stop::refused("state", format!("{} cannot reload its settings", unit.name))
            .way_out("use `state: restarted`"));
    }
    Ok(Step::call(claim(unit, "reload"), call("systemctl-reload", unit), spoils(unit), Back::Nothing))
}

fn evidence(unit: &Unit, what: &str, row: Row, look: Read, after: Match) -> Step {
    let text: String = ["ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic"]
        .iter()
        .map(|name| format!("{name}={}\n", unit.get(name)))
        .collect();
    let before = Seen::Output(Output::ok(text));
    Step::call_seen(claim(unit, what), row, spoils(unit), (look, before, after), Back::Nothing)
}

/// Makes a unit start at boot, or not; nothing where it is so already.
pub(crate) fn enable(unit: &Unit, wanted: bool) -> Result<Option<Step>, Stop> {
    let state = unit.get("UnitFileState");
    let is = matches!(state, "enabled" | "enabled-runtime" | "alias");
    match (wanted, state) {
        (true, "static" | "indirect" | "generated" | "transient") => return Ok(None),
        (_, "masked" | "masked-runtime") if !wanted => return Ok(None),
        (true, "masked" | "masked-runtime") => {
            return Err(Stop::refused("enabled", format!("{} is masked and cannot be enabled", unit.name))
                .way_out("set `masked: false` in the same task"));
        }
        (false, "static" | "generated") => {
            return Err(Stop::refused(
                "enabled",
                format!(
                    "{} is {state}: it has no [Install] section, so that nothing can be disabled",
                    unit.name
                ),
            )
            .way_out("set `masked: true` where it must never start, or leave `enabled` out"));
        }
        (false, "indirect" | "transient" | "linked" | "linked-runtime") => return Ok(None),
        _ if is == wanted => return Ok(None),
        _ => {}
    }
    let spoils =
        || vec![Spoil::Read(file_look(&unit.name)), Spoil::Answers("systemctl-unit-files".to_owned())];
    let (row, inverse, after) = match wanted {
        true => ("systemctl-enable", "systemctl-disable", "enabled"),
        false => ("systemctl-disable", "systemctl-enable", "disabled"),
    };
    let inverse = act(call(inverse, unit), spoils());
    let back = match wanted {
        true => Back::Exactly(inverse),
        false => Back::Approximately {
            act: inverse,
            stays: "links to the unit that its [Install] section does not name are gone".to_owned(),
        },
    };
    Ok(Some(Step::call_seen(
        claim(unit, "enabled"),
        call(row, unit),
        spoils(),
        (
            file_look(&unit.name),
            answer("UnitFileState", state),
            Match::Exactly(answer("UnitFileState", after)),
        ),
        back,
    )))
}

/// Makes a unit impossible to start, or possible again; nothing where it is so already.
pub(crate) fn mask(unit: &Unit, wanted: bool) -> Result<Option<Step>, Stop> {
    if unit.is_masked() == wanted {
        return Ok(None);
    }
    let own = unit.get("FragmentPath");
    if wanted && own.starts_with("/etc/systemd/system/") {
        return Err(Stop::refused("masked", format!("{own} is a file, so that no mask fits in its place"))
            .way_out("take the file away by a `file` task with `state: absent` first"));
    }
    let (row, inverse) = match wanted {
        true => ("systemctl-mask", "systemctl-unmask"),
        false => ("systemctl-unmask", "systemctl-mask"),
    };
    let after = match wanted {
        true => Match::Exactly(answer("UnitFileState", "masked")),
        false => Match::Lacks(vec!["UnitFileState=masked".to_owned()]),
    };
    let spoils =
        || vec![Spoil::Read(file_look(&unit.name)), Spoil::Answers("systemctl-unit-files".to_owned())];
    Ok(Some(Step::call_seen(
        claim(unit, "masked"),
        call(row, unit),
        spoils(),
        (file_look(&unit.name), answer("UnitFileState", unit.get("UnitFileState")), after),
        Back::Exactly(act(call(inverse, unit), spoils())),
    )))
}
