//! Whether a block device is free to be taken: nothing holds it, nothing is mounted from it, nothing is written on it.
use crate::argument::nearest;
use crate::vocabulary::{Facts, HostPath, Output, Read, Row, Seen, Stop};
use serde_json::Value as Json;

/// The row that shows a device with what holds it.
pub(crate) fn tree(device: &str) -> Row {
    Row::new("block-device", [device])
}

/// The row that lists the signatures on a device.
pub(crate) fn signatures(device: &str) -> Row {
    Row::new("signatures", [device])
}

/// The row that says what a device holds.
pub(crate) fn content(device: &str) -> Row {
    Row::new("device-content", [device])
}

/// Refuses what is no path below /dev.
pub(crate) fn check(argument: &'static str, device: &str) -> Result<(), Stop> {
    let path = HostPath::new(device).map_err(|why| Stop::refused(argument, why))?;
    match path.as_str().starts_with("/dev/") {
        true => Ok(()),
        false => Err(Stop::refused(argument, format!("`{device}` is not a device below /dev"))),
    }
}

/// The reads that [`free`] needs.
pub(crate) fn reads(device: &str) -> Vec<Read> {
    [tree(device), signatures(device), content(device)].map(Read::Ask).into()
}

/// What a device holds: a file system's type, `LVM2_member`, `gpt`; none where nothing is found.
pub(crate) fn held(facts: &Facts, argument: &'static str, device: &str) -> Result<Option<String>, Stop> {
    let output = facts.output(&content(device))?;
    let text = output.text().split_whitespace().collect::<Vec<_>>().join(" and ");
    match output.status {
        0 if !text.is_empty() => Ok(Some(text)),
        0 | 2 if output.error_text().trim().is_empty() => Ok(None),
        8 => Err(Stop::refused(
            argument,
            format!("{device} holds more than one signature, which contradict each other"),
        )
        .way_out(format!("look at it by `wipefs {device}`"))),
        _ => Err(unreadable(facts, argument, device, &output)),
    }
}

/// Refuses a device that something uses or that something is written on.
///
/// # Errors
/// [`Stop`]: unread, late, or refused with what is there.
pub(crate) fn free(facts: &Facts, argument: &'static str, device: &str) -> Result<(), Stop> {
    unused(facts, argument, device)?;
    let held = held(facts, argument, device)?;
    let output = facts.output(&signatures(device))?;
    if output.status != 0 {
        return Err(unreadable(facts, argument, device, &output));
    }
    let text = output.text();
    let mut found: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(',').nth(3))
        .filter(|kind| !kind.is_empty())
        .collect();
    found.dedup();
    match (found.is_empty(), held) {
        (true, None) => Ok(()),
        (_, held) => {
            let what = if found.is_empty() { held.unwrap_or_default() } else { found.join(", ") };
            Err(Stop::refused(argument, format!("{device} is not empty: it holds {what}")).way_out(format!(
                "if nothing of it is needed any more, take the signature away by hand: wipefs -a {device}"
            )))
        }
    }
}

/// Refuses a device that is mounted, swapped to, or held by another one.
pub(crate) fn unused(facts: &Facts, argument: &'static str, device: &str) -> Result<(), Stop> {
    let output = facts.output(&tree(device))?;
    if output.status != 0 {
        return Err(unreadable(facts, argument, device, &output));
    }
    let json: Json = serde_json::from_str(&output.text())
        .map_err(|why| Stop::failed(format!("lsblk's answer on {device} is not understood: {why}")))?;
    let Some(top) = json["blockdevices"].as_array().and_then(|devices| devices.first()) else {
        return Err(unreadable(facts, argument, device, &output));
    };
    let mut mounts = Vec::new();
    mounted(top, &mut mounts);
    if let Some((name, at)) = mounts.first() {
        let words = match *at {
            "[SWAP]" => format!("{name} is swapped to"),
            at => format!("{name} is mounted at {at}"),
        };
        return Err(Stop::refused(argument, format!("{device} is in use: {words}"))
            .way_out("name another device, or take this one out of use by hand first"));
    }
    let holders: Vec<String> = top["children"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|child| {
            let word = |name: &str| child[name].as_str().unwrap_or("?").to_owned();
            format!("{} ({})", word("name"), word("type"))
        })
        .collect();
    match holders.is_empty() {
        true => Ok(()),
        false => Err(Stop::refused(argument, format!("{device} is in use by {}", holders.join(", ")))
            .way_out("name another device, or one of its partitions")),
    }
}

fn mounted<'a>(device: &'a Json, found: &mut Vec<(&'a str, &'a str)>) {
    if let Some(at) = device["mountpoint"].as_str().filter(|at| !at.is_empty()) {
        found.push((device["name"].as_str().unwrap_or("it"), at));
    }
    for child in device["children"].as_array().into_iter().flatten() {
        mounted(child, found);
    }
}

/// Bytes of a device as lsblk shows it.
pub(crate) fn unreadable(facts: &Facts, argument: &'static str, device: &str, output: &Output) -> Stop {
    if output.status == 127 {
        return Stop::failed(format!("this host lacks a program: {}", output.error_text().trim()))
            .way_out("install the package `util-linux`");
    }
    let names = match facts.names("/sys/class/block/*") {
        Err(unread @ Stop::Unread(_)) => return unread,
        names => names.unwrap_or_default(),
    };
    let wanted = device.strip_prefix("/dev/").unwrap_or(device);
    let near = nearest(wanted, names.iter().map(HostPath::name));
    let hint = near.map(|near| format!("did you mean /dev/{near}? ")).unwrap_or_default();
    let said = output.error_text();
    Stop::refused(argument, format!("{device} cannot be looked at: {}", said.trim()))
        .way_out(format!("{hint}`lsblk` shows the devices of the host"))
}

/// What a device that was just made answers: nothing holds it, nothing is on it.
pub(crate) fn made(device: &str, size: u64) -> [(Read, Seen); 3] {
    let name = device.rsplit('/').next().unwrap_or_default();
    let json = serde_json::json!({ "blockdevices": [
        { "name": name, "kname": name, "type": "lvm", "size": size, "mountpoint": null, "fstype": null }
    ] });
    let none = Output { status: 2, stdout: "".into(), stderr: "".into() };
    [
        (Read::Ask(tree(device)), Seen::Output(Output::ok(json.to_string()))),
        (Read::Ask(signatures(device)), Seen::Output(Output::ok(""))),
        (Read::Ask(content(device)), Seen::Output(none)),
    ]
}

#[cfg(test)]
mod tests {
    use super::{content, free, made, reads, signatures, tree};
    use crate::host::Host;
    use crate::vocabulary::{Output, Seen, Stop};

    fn empty(device: &str) -> Host {
        made(device, 1 << 30).into_iter().fold(Host::new(), |mut host, (read, seen)| {
            host.set(&read, seen);
            host
        })
    }

    fn told(host: &Host, device: &str) -> String {
        let mut all = reads(device);
        all.push(crate::vocabulary::Read::Glob("/sys/class/block/*".to_owned()));
        match free(&host.facts(all), "devices", device) {
            Ok(()) => String::new(),
            Err(Stop::Refused(refusal)) => {
                format!("{}: {}", refusal.why, refusal.way_out.unwrap_or_default())
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn shown(json: &str) -> Seen {
        Seen::Output(Output::ok(format!(r#"{{"blockdevices":[{json}]}}"#)))
    }

    #[test]
    fn an_empty_device_is_free() {
        assert_eq!(told(&empty("/dev/sdb"), "/dev/sdb"), "");
    }

    #[test]
    fn what_is_signed_mounted_held_or_swapped_to_is_refused() {
        let host = empty("/dev/sdb");
        let signed = host.clone().answer(
            signatures("/dev/sdb"),
            Seen::Output(Output::ok("# offset,uuid,label,type\n0x200,,,gpt\n0x1fe,,,PMBR\n")),
        );
        assert!(told(&signed, "/dev/sdb").contains("it holds gpt, PMBR"), "{}", told(&signed, "/dev/sdb"));
        let formatted = host.clone().answer(content("/dev/sdb"), Seen::Output(Output::ok("xfs\n")));
        assert!(told(&formatted, "/dev/sdb").contains("it holds xfs: if nothing of it is needed"));
        for (json, words) in [
            (r#"{"name":"sdb","mountpoint":"/srv"}"#, "sdb is mounted at /srv"),
            (r#"{"name":"sdb","mountpoint":"[SWAP]"}"#, "swapped to"),
            (
                r#"{"name":"sdb","mountpoint":null,"children":[{"name":"ceph--1-osd","type":"lvm","mountpoint":null}]}"#,
                "in use by ceph--1-osd (lvm)",
            ),
            (
                r#"{"name":"sdb","mountpoint":null,"children":[{"name":"sdb1","type":"part","children":[{"name":"md0","mountpoint":"/"}]}]}"#,
                "md0 is mounted at /",
            ),
        ] {
            let used = host.clone().answer(tree("/dev/sdb"), shown(json));
            assert!(told(&used, "/dev/sdb").contains(words), "{}", told(&used, "/dev/sdb"));
        }
    }

    #[test]
    fn a_missing_device_is_told_with_the_nearest() {
        let none =
            |status, words: &str| Seen::Output(Output { status, stdout: "".into(), stderr: words.into() });
        let host = Host::new()
            .value("/sys/class/block/nvme0n1/size", "1")
            .answer(tree("/dev/nvme0n2"), none(32, "lsblk: /dev/nvme0n2: not a block device\n"));
        assert!(
            told(&host, "/dev/nvme0n2").contains("did you mean /dev/nvme0n1"),
            "{}",
            told(&host, "/dev/nvme0n2")
        );
    }
}
