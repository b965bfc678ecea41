//! Mounting, remounting and unmounting, each with its look and its way back.
use super::{Mount, What, row};
use crate::files::place;
use crate::filesystems::options as sets;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Facts, HostPath, Match, Output, Read, Row, Seen, Spoil, Step,
    Stop,
};

/// What is mounted at a path.
pub(super) fn mounted(path: &HostPath) -> Row {
    row("mounted", &[path.as_str()])
}

/// Whether a source is mounted at a path.
pub(super) fn from(source: &str, path: &HostPath) -> Row {
    row("mounted-from", &[source, "--mountpoint", path.as_str()])
}

/// The options of a mount, one a line.
pub(super) fn options(path: &HostPath) -> Row {
    row("mount-options", &[path.as_str()])
}

/// Whether findmnt found something.
pub(super) fn found(output: &Output) -> Result<bool, Stop> {
    match output.status {
        0 => Ok(true),
        1 => Ok(false),
        127 => Err(Stop::failed("this host has no `findmnt`").way_out("install the package `util-linux`")),
        status => {
            Err(Stop::failed(format!("findmnt ended with status {status}: {}", output.error_text().trim())))
        }
    }
}

fn claim(path: &HostPath) -> Claim {
    Claim::new("mount", path.as_str())
}

/// What a mount or an unmount makes unknown.
fn spoils(source: &str, path: &HostPath, then: Option<&str>) -> Vec<Spoil> {
    let output =
        |status, text: String| Seen::Output(Output { status, stdout: text.into(), stderr: "".into() });
    let seen = match then {
        Some(fstype) => output(0, format!("{fstype}\n")),
        None => output(1, String::new()),
    };
    let mut spoils = vec![
        Spoil::Becomes(Read::Ask(from(source, path)), seen),
        Spoil::Answers("mounted-from".to_owned()),
        Spoil::Below(path.clone()),
    ];
    spoils.push(match then {
        None => Spoil::Becomes(Read::Ask(mounted(path)), output(1, String::new())),
        Some(_) => Spoil::Read(Read::Ask(mounted(path))),
    });
    let others = ["mounted", "mount-options", "mounts", "findmnt", "lsblk", "block-device", "stat-fs"];
    spoils.extend(others.map(|name| Spoil::Answers(name.to_owned())));
    spoils
}

/// The call that mounts.
fn call(source: &str, path: &HostPath, fstype: &str, options: &str) -> Row {
    row("mount", &["-t", fstype, "-o", options, "--", source, path.as_str()])
}

impl Mount {
    /// Mounts what is not mounted; brings options to what is.
    pub(super) fn mount(
        &self,
        facts: &Facts,
        path: &HostPath,
        what: &What,
        change: &mut Change,
    ) -> Result<(), Stop> {
        let look = from(&what.source, path);
        if found(&facts.output(&look)?)? {
            return self.options(facts, path, what, change);
        }
        let there = facts.output(&mounted(path))?;
        let bind = what.options.iter().any(|option| option == "bind" || option == "rbind");
        if found(&there)? {
            if bind {
                // A bind mount shows the device below it: that it is mounted is all that can be told.
                return Ok(());
            }
            let text = there.text();
            let other = text.split_whitespace().next().unwrap_or("something else").to_owned();
            return Err(Stop::refused("path", format!("{other} is mounted at {path}, not {}", what.source))
                .way_out("unmount it by an earlier task with `state: unmounted`, or name another folder"));
        }
        let inside = path.join("inside").map_err(Stop::failed)?;
        change.steps.extend(place::folders(facts, &inside, &Default::default())?);
        let read = Read::Ask(if bind { mounted(path) } else { look });
        let step = Step::call_seen(
            claim(path),
            call(&what.source, path, &what.fstype, &sets::text(&what.options)),
            spoils(&what.source, path, Some(&what.fstype)),
            (read.clone(), facts.get(&read)?, Match::Status(0)),
            Back::Exactly(Act::Call {
                row: row("umount", &[path.as_str()]),
                spoils: spoils(&what.source, path, None),
            }),
        );
        change.steps.push(step);
        let after = format!("{} ({}, {})", what.source, what.fstype, sets::text(&what.options));
        change.diff.push(Diff::Value {
            name: path.to_string(),
            before: Some("not mounted".to_owned()),
            after: Some(after),
        });
        Ok(())
    }

    /// The options that a mount lacks.
    fn options(&self, facts: &Facts, path: &HostPath, what: &What, change: &mut Change) -> Result<(), Stop> {
        let look = options(path);
        let output = match facts.output(&look) {
            // It is mounted by a planned task, with what that one says.
            Err(Stop::Late(_)) => return Ok(()),
            other => other?,
        };
        let live: Vec<String> =
            output.text().lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let (now, later) = sets::lacking(&what.options, &live);
        if !later.is_empty() {
            change.effect = Effect::HostReboot;
            change.notes.push(format!(
                "{} counts when {path} is mounted again, at the latest by a boot",
                later.join(",")
            ));
        }
        if now.is_empty() {
            return Ok(());
        }
        let remount = |options: &[String]| {
            row("mount", &["-o", &format!("remount,{}", options.join(",")), path.as_str()])
        };
        let spoils = || vec![Spoil::Read(Read::Ask(look.clone())), Spoil::Read(Read::Ask(mounted(path)))];
        let back = sets::opposite(&now, &live);
        let back = Back::Exactly(Act::Call { row: remount(&back), spoils: spoils() });
        let seen = (Read::Ask(look.clone()), facts.get(&Read::Ask(look.clone()))?, Match::Has(now.clone()));
        let claim = Claim::new("mount", &format!("{path}/options"));
        change.steps.push(Step::call_seen(claim, remount(&sets::told(&now)), spoils(), seen, back));
        change.diff.push(Diff::Value {
            name: format!("options of {path}"),
            before: Some(live.join(",")),
            after: Some(now.join(",")),
        });
        Ok(())
    }

    /// Unmounts what is mounted.
    pub(super) fn unmount(&self, facts: &Facts, path: &HostPath, change: &mut Change) -> Result<(), Stop> {
        let look = mounted(path);
        let output = facts.output(&look)?;
        if !found(&output)? {
            return Ok(());
        }
        let text = output.text();
        let mounts: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let [one] = &mounts[..] else {
            return Err(Stop::refused(
                "path",
                format!("{} file systems are mounted over each other at {path}", mounts.len()),
            )
            .way_out("unmount them by hand"));
        };
        let [source, fstype, options] = one[..] else {
            return Err(Stop::failed(format!("findmnt's answer on {path} is not understood: {text}")));
        };
        let (source, options) = (source.replace("\\x20", " "), options.to_owned());
        let back = Back::Exactly(Act::Call {
            row: call(&source, path, fstype, &options),
            spoils: spoils(&source, path, Some(fstype)),
        });
        let after = Match::Exactly(Seen::Output(Output { status: 1, stdout: "".into(), stderr: "".into() }));
        let seen = (Read::Ask(look.clone()), facts.get(&Read::Ask(look.clone()))?, after);
        let call = row("umount", &[path.as_str()]);
        change.steps.push(Step::call_seen(claim(path), call, spoils(&source, path, None), seen, back));
        change.diff.push(Diff::Value {
            name: path.to_string(),
            before: Some(format!("{source} ({fstype})")),
            after: Some("not mounted".to_owned()),
        });
        Ok(())
    }

    /// Mounts it again with the options of fstab.
    pub(super) fn remount(&self, facts: &Facts, path: &HostPath, change: &mut Change) -> Result<(), Stop> {
        if !found(&facts.output(&mounted(path))?)? {
            return Err(Stop::refused("state", format!("nothing is mounted at {path}"))
                .way_out("use `state: mounted`"));
        }
        let spoils = vec![Spoil::Read(Read::Ask(options(path))), Spoil::Read(Read::Ask(mounted(path)))];
        let call = row("mount", &["-o", "remount", path.as_str()]);
        change.steps.push(Step::call(
            Claim::new("mount", &format!("{path}/remount")),
            call,
            spoils,
            Back::Nothing,
        ));
        Ok(())
    }
}
