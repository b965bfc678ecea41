//! Whether what a benchmark writes over is free: devices of the host, however they are spelled, that nothing uses and
//! that hold nothing.
use crate::bench::Output;
use serde_json::Value;
use std::fmt::Write as _;

/// Looks at each path given, by its number: what it is in the end, what lies on it or is mounted from it, what is signed
/// (file systems, volume groups, OSDs, partition tables) and who has it open. Nothing is written. What is no device is
/// the user's own choice of a file. Needs lsblk and wipefs of util-linux; busybox has neither.
const LOOK: &str = r#"n=0
for p; do
  d=$(readlink -f "$p") || d=$p
  if [ -c "$d" ] && [ "$d" != /dev/null ]; then echo "fails $n it is a character device, and what lies behind cannot be told"
  elif [ -b "$d" ]; then
    echo "device $n $d"
    if out=$(lsblk --pairs --paths --output NAME,MOUNTPOINT "$d" 2>&1); then printf '%s\n' "$out" | sed "s/^/lies $n /"
    else printf '%s\n' "$out" | sed "s/^/fails $n /"; fi
    if out=$(wipefs --parsable "$d" 2>&1); then printf '%s\n' "$out" | sed -n "/^[^#]/s/^/signed $n /p"
    else printf '%s\n' "$out" | sed "s/^/fails $n /"; fi
    for f in /proc/[0-9]*/fd; do ls -l "$f" 2>/dev/null | grep -qF -- "-> $d" || continue
      ls -l "$f" 2>/dev/null | sed 's/.* -> //' | grep -qxF -- "$d" || continue
      f=${f%/fd}; echo "open $n ${f#/proc/} $(cat "$f/comm" 2>/dev/null)"
    done
  fi
  n=$((n+1))
done
echo looked"#;

/// The command that looks.
pub(super) fn look(paths: &[String]) -> Vec<String> {
    // A name that begins with a dash would be an option of what looks.
    let plain = |path: &String| if path.starts_with('-') { format!("./{path}") } else { path.clone() };
    let head = ["sh", "-c", LOOK, "tunerun"].map(str::to_owned);
    head.into_iter().chain(paths.iter().map(plain)).collect()
}

/// Why one of them may not be written over, by what was printed.
pub(super) fn in_use(paths: &[String], printed: &str) -> Option<String> {
    let mut lines: Vec<&str> = printed.lines().collect();
    if lines.pop() != Some("looked") {
        return Some("the check of the devices was cut short".to_owned());
    }
    (0..paths.len()).find_map(|number| {
        let of = |kind: &str| -> Vec<&str> {
            let head = format!("{kind} {number} ");
            lines.iter().filter_map(|line| line.strip_prefix(head.as_str())).collect()
        };
        let why = why(&of("fails"), &of("lies"), &of("signed"), &of("open"))?;
        let mut said = paths[number].clone();
        if let Some(device) = of("device").first().filter(|device| **device != said) {
            let _ = write!(said, " ({device})");
        }
        Some(format!("{said} is not written over: {why}"))
    })
}

fn why(fails: &[&str], lies: &[&str], signed: &[&str], open: &[&str]) -> Option<String> {
    if let Some(why) = fails.first() {
        return Some(format!("it cannot be looked at: {why}"));
    }
    let value = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned()).filter(|value| !value.is_empty())
    };
    for line in lies {
        if let Some(place) = value(line, "MOUNTPOINT") {
            let name = value(line, "NAME").unwrap_or_default();
            return Some(match place.as_str() {
                "[SWAP]" => format!("{name} is used for swap"),
                place => format!("{name} is mounted at {place}"),
            });
        }
    }
    if let Some(name) = lies.get(1).and_then(|line| value(line, "NAME")) {
        return Some(format!("{name} lies on it"));
    }
    // Offset, UUID, label, type: the type is last.
    if let Some(line) = signed.first() {
        let kind = line.rsplit(',').next().unwrap_or_default();
        return Some(format!("it holds {kind}; `wipefs -a` takes the signature away if nobody needs it"));
    }
    let user = open.first()?;
    let (pid, name) = user.split_once(' ').unwrap_or((user, ""));
    Some(format!("process {pid} ({name}) has it open"))
}

/// The command that tells who has an image open (`rbd(8)`).
pub(super) fn image(spec: &str, user: Option<&str>) -> Vec<String> {
    let mut argv = ["rbd", "--format", "json"].map(str::to_owned).to_vec();
    argv.extend(user.iter().flat_map(|user| ["--name".to_owned(), (*user).to_owned()]));
    argv.extend(["status".to_owned(), spec.to_owned()]);
    argv
}

/// Why an image may not be written over: somebody has it open, or nobody can tell.
pub(super) fn image_in_use(spec: &str, output: &Output) -> Option<String> {
    let told: Option<Value> =
        (output.status == Some(0)).then(|| serde_json::from_str(&output.stdout).ok()).flatten();
    let Some(watchers) = told.as_ref().and_then(|told| told.get("watchers")).and_then(Value::as_array) else {
        let said = output.stderr.trim();
        return Some(format!("who uses the image {spec} cannot be told, so it is not written over: {said}"));
    };
    let address = watchers.first()?.get("address").and_then(Value::as_str).unwrap_or("somebody");
    Some(format!("the image {spec} is not written over: {address} has it open"))
}

/// The files and devices that an SPDK configuration opens: every `filename` in it.
pub(super) fn named_by_spdk(text: &str) -> Result<Vec<String>, String> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("filename").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| walk(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, found)),
            _ => {}
        }
    }
    let value: Value =
        serde_json::from_str(text).map_err(|why| format!("the configuration of SPDK is no JSON: {why}"))?;
    let mut found = Vec::new();
    walk(&value, &mut found);
    Ok(found)
}

/// The `lun=`s of a Vdbench parameter file that writes; `rdpct` is 100 where nothing else is said.
pub(super) fn named_by_vdbench(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '*', '/']));
    let words: Vec<(&str, &str)> = lines
        .flat_map(|line| line.split([',', ' ', '\t']))
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let writes = words.iter().any(|(name, value)| match *name {
        "rdpct" | "forrdpct" => *value != "100",
        "seekpct" | "operation" | "operations" => value.contains("write"),
        _ => false,
    });
    let luns = words.iter().filter(|(name, _)| writes && *name == "lun");
    luns.map(|(_, value)| (*value).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_with_anything_on_it_is_in_use() {
        let told = |lines: &str| {
            let path = "/dev/disk/by-id/x".to_owned();
            in_use(&["/a/file".to_owned(), path], &format!("device 1 /dev/vdb\n{lines}looked\n"))
        };
        let line = |name: &str, place: &str| format!("lies 1 NAME=\"{name}\" MOUNTPOINT=\"{place}\"\n");
        let whole = line("/dev/vdb", "");
        assert_eq!(told(&whole), None);
        for (more, why) in [
            (line("/dev/vdb1", ""), "/dev/vdb1 lies on it"),
            (line("/dev/vdb1", "/mnt"), "/dev/vdb1 is mounted at /mnt"),
            (line("/dev/vdb2", "[SWAP]"), "/dev/vdb2 is used for swap"),
            ("signed 1 0x200,,,gpt\nsigned 1 0x1fe,,,PMBR\n".to_owned(), "it holds gpt; "),
            ("signed 1 0x218,a,b,LVM2_member\n".to_owned(), "it holds LVM2_member; "),
            ("open 1 417 qemu-system-x86\n".to_owned(), "process 417 (qemu-system-x86) has it open"),
            ("fails 1 sh: wipefs: not found\n".to_owned(), "it cannot be looked at: sh: wipefs: not found"),
        ] {
            let said = told(&(whole.clone() + &more)).unwrap();
            let head = "/dev/disk/by-id/x (/dev/vdb) is not written over: ";
            assert!(said.strip_prefix(head).is_some_and(|said| said.starts_with(why)), "{said}");
        }
    }

    #[test]
    fn a_check_that_was_cut_short_frees_nothing() {
        let paths = ["/dev/vdb".to_owned()];
        for printed in ["", "device 0 /dev/vdb\nlies 0 NAME=\"/dev/vdb\" MOUNTPOINT=\"\"\n"] {
            assert_eq!(in_use(&paths, printed).as_deref(), Some("the check of the devices was cut short"));
        }
    }

    #[test]
    fn an_image_that_somebody_has_open_is_in_use() {
        let told = |status, stdout: &str| {
            image_in_use(
                "p/i",
                &Output { status: Some(status), stdout: stdout.into(), stderr: "no pool\n".into() },
            )
        };
        assert_eq!(told(0, r#"{"watchers":[]}"#), None);
        let open = told(0, r#"{"watchers":[{"address":"10.0.0.7:0/34","client":4123,"cookie":18}]}"#);
        assert_eq!(open.as_deref(), Some("the image p/i is not written over: 10.0.0.7:0/34 has it open"));
        assert!(told(2, "").unwrap().ends_with("no pool"));
        assert_eq!(image("p/i", Some("client.b")).join(" "), "rbd --format json --name client.b status p/i");
    }

    #[test]
    fn files_of_other_tools_name_their_devices() {
        let spdk = r#"{"subsystems":[{"subsystem":"bdev","config":[
            {"method":"bdev_aio_create","params":{"name":"a","filename":"/dev/vdb"}},
            {"method":"bdev_nvme_attach_controller","params":{"traddr":"0000:01:00.0"}}]}]}"#;
        assert_eq!(named_by_spdk(spdk).unwrap(), ["/dev/vdb"]);
        assert!(named_by_spdk("sd=").is_err());
        let disks = "* a comment lun=/dev/no\nsd=sd1,lun=/dev/vdb,openflags=o_direct\nsd=sd2,lun=/dev/vdc\n";
        assert_eq!(named_by_vdbench(&format!("{disks}wd=w,sd=*,rdpct=70\n")), ["/dev/vdb", "/dev/vdc"]);
        assert_eq!(named_by_vdbench(&format!("{disks}wd=w,sd=*,rdpct=100\n")), Vec::<String>::new());
    }
}
