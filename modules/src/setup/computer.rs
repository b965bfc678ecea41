//! Facts of the machine and its kernel.
use crate::files::place::known;
use crate::files::text::TextFile;
use crate::vocabulary::{Facts, HostPath, Read, Row, Stop, missing};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

fn values(paths: &[&str]) -> Vec<Read> {
    paths.iter().filter_map(|path| HostPath::new(path).ok()).map(|path| Read::text(&path)).collect()
}

fn value(facts: &Facts, path: &str) -> Result<Option<String>, Stop> {
    facts.value(&known(path)?)
}

fn text(facts: &Facts, path: &str) -> Result<String, Stop> {
    Ok(value(facts, path)?.unwrap_or_default())
}

pub(super) fn machine_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Ask(Row::new("uname", ["-m"]))]
}

/// `architecture` and `machine`; of 32-bit Intel Ansible says i386.
pub(super) fn machine(facts: &Facts) -> Result<Json, Stop> {
    let machine = facts.output(&Row::new("uname", ["-m"]))?.text().trim().to_owned();
    Ok(Json::from(if machine == "i686" { "i386".to_owned() } else { machine }))
}

const NAME: &str = "/proc/sys/kernel/hostname";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const VERSION: &str = "/proc/sys/kernel/version";

pub(super) fn name_reads(_: &Facts) -> Vec<Read> {
    values(&[NAME, RELEASE, VERSION])
}

pub(super) fn nodename(facts: &Facts) -> Result<Json, Stop> {
    Ok(Json::from(text(facts, NAME)?.trim()))
}

pub(super) fn hostname(facts: &Facts) -> Result<Json, Stop> {
    Ok(Json::from(text(facts, NAME)?.trim().split('.').next().unwrap_or_default()))
}

pub(super) fn kernel(facts: &Facts) -> Result<Json, Stop> {
    Ok(Json::from(text(facts, RELEASE)?.trim()))
}

pub(super) fn kernel_version(facts: &Facts) -> Result<Json, Stop> {
    Ok(Json::from(text(facts, VERSION)?.trim()))
}

fn full_name() -> Row {
    Row::new("hostname", ["-f"])
}

pub(super) fn fqdn_reads(facts: &Facts) -> Vec<Read> {
    let mut reads = name_reads(facts);
    reads.push(Read::Ask(full_name()));
    reads
}

fn fqdn_text(facts: &Facts) -> Result<String, Stop> {
    let output = facts.output(&full_name())?;
    let name = output.text().trim().to_owned();
    // A host without any domain is its own name.
    if output.status == 0 && !name.is_empty() { Ok(name) } else { Ok(text(facts, NAME)?.trim().to_owned()) }
}

pub(super) fn fqdn(facts: &Facts) -> Result<Json, Stop> {
    fqdn_text(facts).map(Json::from)
}

pub(super) fn domain(facts: &Facts) -> Result<Json, Stop> {
    let name = fqdn_text(facts)?;
    Ok(Json::from(name.split_once('.').map_or("", |(_, domain)| domain)))
}

pub(super) fn cmdline_reads(_: &Facts) -> Vec<Read> {
    values(&["/proc/cmdline"])
}

fn arguments(facts: &Facts) -> Result<Vec<(String, Json)>, Stop> {
    Ok(text(facts, "/proc/cmdline")?
        .split_whitespace()
        .map(|word| match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), json!(value)),
            None => (word.to_owned(), json!(true)),
        })
        .collect())
}

/// `cmdline`: of repeated arguments the last.
pub(super) fn cmdline(facts: &Facts) -> Result<Json, Stop> {
    Ok(Json::Object(arguments(facts)?.into_iter().collect()))
}

/// `proc_cmdline`: of repeated arguments a list.
pub(super) fn proc_cmdline(facts: &Facts) -> Result<Json, Stop> {
    let mut all: Map<String, Json> = Map::new();
    for (name, value) in arguments(facts)? {
        let many = match all.get(&name) {
            None => value,
            Some(Json::Array(list)) => json!([list.clone(), vec![value]].concat()),
            Some(first) => json!([first, value]),
        };
        all.insert(name, many);
    }
    Ok(Json::Object(all))
}

pub(super) fn memory_reads(_: &Facts) -> Vec<Read> {
    values(&["/proc/meminfo"])
}

/// A line of meminfo, in MiB.
pub(super) fn memory(facts: &Facts, name: &str) -> Result<Json, Stop> {
    let text = text(facts, "/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| Json::from(kib / 1024))
        .ok_or_else(|| Stop::failed(format!("/proc/meminfo has no line {name}")))
}

pub(super) fn cpu_reads(_: &Facts) -> Vec<Read> {
    values(&["/proc/cpuinfo"])
}

/// One of `list`, `count`, `cores`, `threads`, `vcpus`, `nproc`; where the kernel tells no sockets each processor is
/// one, as Ansible counts.
pub(super) fn cpu(facts: &Facts, what: &str) -> Result<Json, Stop> {
    let text = text(facts, "/proc/cpuinfo")?;
    let lines: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let number = |wanted: &str| {
        lines.iter().find(|(name, _)| *name == wanted).and_then(|(_, value)| value.parse::<usize>().ok())
    };
    let processors = lines.iter().filter(|(name, _)| *name == "processor").count().max(1);
    let sockets: BTreeSet<&str> =
        lines.iter().filter(|(name, _)| *name == "physical id").map(|(_, id)| *id).collect();
    let count = if sockets.is_empty() { processors } else { sockets.len() };
    let cores = if sockets.is_empty() { 1 } else { number("cpu cores").unwrap_or(1).max(1) };
    let threads = if sockets.is_empty() { 1 } else { (number("siblings").unwrap_or(cores) / cores).max(1) };
    Ok(match what {
        "count" => json!(count),
        "cores" => json!(cores),
        "threads" => json!(threads),
        "vcpus" => json!(count * cores * threads),
        "nproc" => json!(processors),
        _ => {
            let told = ["processor", "vendor_id", "model name", "Processor", "cpu"];
            json!(
                lines
                    .iter()
                    .filter(|(name, _)| told.contains(name))
                    .map(|(_, value)| *value)
                    .collect::<Vec<_>>()
            )
        }
    })
}

pub(super) fn env_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Ask(env_row())]
}

fn env_row() -> Row {
    Row::new("environment", Vec::<String>::new())
}

/// `env`: variables of the host's shell, told by NUL bytes.
pub(super) fn env(facts: &Facts) -> Result<Json, Stop> {
    let text = facts.output(&env_row())?.text();
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    Ok(Json::Object(pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect()))
}

const MODES: &str = "/sys/fs/selinux/enforce";
const CONFIG: &str = "/etc/selinux/config";

pub(super) fn selinux_reads(facts: &Facts) -> Vec<Read> {
    let mut reads = values(&[MODES, "/sys/fs/selinux/policyvers"]);
    reads.extend(HostPath::new(CONFIG).iter().flat_map(|path| missing(TextFile::read(facts, path))));
    reads
}

pub(super) fn selinux(facts: &Facts) -> Result<Json, Stop> {
    let Some(mode) = value(facts, MODES)? else { return Ok(json!({ "status": "disabled" })) };
    let config = TextFile::read(facts, &known(CONFIG)?)?.text;
    let told = |name: &str| {
        let value = config.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='));
        value.map_or("unknown".to_owned(), |value| value.trim().to_owned())
    };
    let version = text(facts, "/sys/fs/selinux/policyvers")?.trim().parse::<u64>().ok();
    Ok(json!({
        "status": "enabled",
        "mode": if mode.trim() == "1" { "enforcing" } else { "permissive" },
        "config_mode": told("SELINUX"),
        "type": told("SELINUXTYPE"),
        "policyvers": version,
    }))
}

const SYSTEMD: &str = "/run/systemd/system";

pub(super) fn init_reads(_: &Facts) -> Vec<Read> {
    let mut reads = values(&["/proc/1/comm"]);
    reads.extend(HostPath::new(SYSTEMD).map(Read::Stat));
    reads
}

pub(super) fn init(facts: &Facts) -> Result<Json, Stop> {
    if facts.stat(&known(SYSTEMD)?)?.is_some() {
        return Ok(Json::from("systemd"));
    }
    match text(facts, "/proc/1/comm")?.trim() {
        "" | "init" => Ok(Json::from("service")),
        name => Ok(Json::from(name)),
    }
}

pub(super) fn uptime_reads(_: &Facts) -> Vec<Read> {
    values(&["/proc/uptime"])
}

pub(super) fn uptime(facts: &Facts) -> Result<Json, Stop> {
    let text = text(facts, "/proc/uptime")?;
    let seconds = text.split('.').next().and_then(|seconds| seconds.trim().parse::<u64>().ok());
    seconds.map(Json::from).ok_or_else(|| Stop::failed("/proc/uptime tells no seconds"))
}

const BOARD: &str = "/sys/class/dmi/id";

pub(super) fn board_reads(_: &Facts) -> Vec<Read> {
    values(&["/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor"])
}

/// A line of the board's own description, or `NA`.
pub(super) fn board(facts: &Facts, name: &str) -> Result<Json, Stop> {
    let value = value(facts, &format!("{BOARD}/{name}"))?;
    Ok(Json::from(value.map_or("NA".to_owned(), |value| value.trim().to_owned())))
}

const CONTAINER: &str = "/run/systemd/container";

pub(super) fn virtual_reads(facts: &Facts) -> Vec<Read> {
    let mut reads = board_reads(facts);
    reads.extend(values(&["/proc/cpuinfo", "/sys/hypervisor/type", "/proc/modules", CONTAINER]));
    reads
}

/// Words in the board's description, and the hypervisor that they tell.
const HYPERVISORS: [(&str, &str); 11] = [
    ("KVM", "kvm"),
    ("QEMU", "kvm"),
    ("Bochs", "kvm"),
    ("RHEV", "RHEV"),
    ("oVirt", "oVirt"),
    ("OpenStack", "openstack"),
    ("Amazon EC2", "kvm"),
    ("Google", "kvm"),
    ("VMware", "VMware"),
    ("VirtualBox", "virtualbox"),
    ("Virtual Machine", "VirtualPC"),
];

/// `role` (guest, host, NA) and `type`.
pub(super) fn virtualization(facts: &Facts, what: &str) -> Result<Json, Stop> {
    let container = TextFile::read(facts, &known(CONTAINER)?)?.text.trim().to_owned();
    let board = format!(
        "{} {}",
        text(facts, "/sys/class/dmi/id/product_name")?,
        text(facts, "/sys/class/dmi/id/sys_vendor")?
    );
    let told = HYPERVISORS.iter().find(|(word, _)| board.contains(word)).map(|(_, name)| *name);
    let flagged = text(facts, "/proc/cpuinfo")?
        .lines()
        .any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    let xen = text(facts, "/sys/hypervisor/type")?.trim() == "xen";
    let hosts = text(facts, "/proc/modules")?.lines().any(|line| line.split(' ').next() == Some("kvm"));
    let (role, kind) = if !container.is_empty() {
        ("guest", container.as_str())
    } else if let Some(kind) = told {
        ("guest", kind)
    } else if xen {
        ("guest", "xen")
    } else if flagged {
        ("guest", "kvm")
    } else if hosts {
        ("host", "kvm")
    } else {
        ("NA", "NA")
    };
    Ok(Json::from(if what == "role" { role } else { kind }))
}

fn date_row() -> Row {
    Row::new("date", ["+%Y %m %d %H %M %S %A %w %V %s %Z %z"])
}

pub(super) fn date_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Ask(date_row())]
}

/// `date_time`, in the host's own time zone.
pub(super) fn date(facts: &Facts) -> Result<Json, Stop> {
    let text = facts.output(&date_row())?.text();
    let words: Vec<&str> = text.split_whitespace().collect();
    let [year, month, day, hour, minute, second, weekday, number, week, epoch, zone, offset] = words[..]
    else {
        return Err(Stop::failed(format!("the host tells its date as `{}`", text.trim())));
    };
    Ok(json!({
        "year": year, "month": month, "day": day, "hour": hour, "minute": minute, "second": second,
        "weekday": weekday, "weekday_number": number, "weeknumber": week, "epoch": epoch, "epoch_int": epoch,
        "date": format!("{year}-{month}-{day}"), "time": format!("{hour}:{minute}:{second}"),
        "tz": zone, "tz_offset": offset,
        "iso8601_basic_short": format!("{year}{month}{day}T{hour}{minute}{second}"),
    }))
}
