//! The rows that ask and change a Ceph cluster: one verb each, by the host's `ceph` or by cephadm's container.
use super::Program;

/// Runs the verb that comes as the script's name, under a time limit that ends in SIGKILL: a client of a cluster
/// that does not answer waits for ever. Its arguments: `host` or `cephadm`, seconds, ceph.conf, keyring and client
/// (each may be empty), then the operands.
const RUN: &str = "how=$1 wait=$2 conf=$3 key=$4 as=$5; shift 5; \
    set -- ceph --connect-timeout 10 ${as:+--name \"$as\"} $0 \"$@\"; \
    if [ \"$how\" = cephadm ]; then \
    set -- cephadm shell ${conf:+--config \"$conf\"} ${key:+--keyring \"$key\"} -- \"$@\"; \
    else shift; set -- ceph ${conf:+--conf \"$conf\"} ${key:+--keyring \"$key\"} \"$@\"; fi; \
    exec timeout -k 5 \"$wait\" \"$@\"";

/// The same for `ceph tell DAEMON VERB`: the daemon is the first operand.
const TELL: &str = "how=$1 wait=$2 conf=$3 key=$4 as=$5 whom=$6; shift 6; \
    set -- ceph --connect-timeout 10 ${as:+--name \"$as\"} tell \"$whom\" $0 \"$@\"; \
    if [ \"$how\" = cephadm ]; then \
    set -- cephadm shell ${conf:+--config \"$conf\"} ${key:+--keyring \"$key\"} -- \"$@\"; \
    else shift; set -- ceph ${conf:+--conf \"$conf\"} ${key:+--keyring \"$key\"} \"$@\"; fi; \
    exec timeout -k 5 \"$wait\" \"$@\"";

/// Verbs that look and never change anything.
pub const READING: &[Program] = &[
    Program::new("ceph-fsid", &["sh", "-c", RUN, "fsid"], "the cluster's fsid"),
    Program::new("ceph-status", &["sh", "-c", RUN, "status -f json"], "the cluster's state in short"),
    Program::new("ceph-osd-perf", &["sh", "-c", RUN, "osd perf -f json"], "the latencies that OSDs report"),
    Program::new("ceph-health", &["sh", "-c", RUN, "health detail -f json"], "the cluster's health codes"),
    Program::new("ceph-versions", &["sh", "-c", RUN, "versions -f json"], "which versions the daemons run"),
    Program::new("ceph-features", &["sh", "-c", RUN, "features -f json"], "which features clients have"),
    Program::new(
        "ceph-config-dump",
        &["sh", "-c", RUN, "config dump -f json"],
        "the mons' database of options",
    ),
    Program::new(
        "ceph-config-key-get",
        &["sh", "-c", RUN, "config-key get"],
        "one key of the mons' store: `config/WHO/NAME` is one option as it is stored",
    ),
    Program::new("ceph-config-help", &["sh", "-c", RUN, "config help -f json"], "what an option is"),
    Program::new("ceph-config-ls", &["sh", "-c", RUN, "config ls -f json"], "the names of all options"),
    Program::new(
        "ceph-config-show",
        &["sh", "-c", RUN, "config show -f json"],
        "options that a daemon has reported, with where they come from",
    ),
    Program::new(
        "ceph-tell-config-get",
        &["sh", "-c", TELL, "config get -f json"],
        "an option as daemons hold it right now",
    ),
    Program::new(
        "ceph-orch-status",
        &["sh", "-c", RUN, "orch status -f json"],
        "who orchestrates the cluster",
    ),
    Program::new(
        "ceph-orch-upgrade-status",
        &["sh", "-c", RUN, "orch upgrade status -f json"],
        "whether an upgrade runs",
    ),
    Program::new("ceph-osd-tree", &["sh", "-c", RUN, "osd tree -f json"], "the CRUSH tree with its OSDs"),
    Program::new(
        "ceph-osd-dump",
        &["sh", "-c", RUN, "osd dump -f json"],
        "the OSD map: flags, pools, addresses",
    ),
    Program::new(
        "ceph-osd-metadata",
        &["sh", "-c", RUN, "osd metadata -f json"],
        "what OSDs say of themselves",
    ),
    Program::new(
        "ceph-osd-ok-to-stop",
        &["sh", "-c", RUN, "osd ok-to-stop -f json"],
        "whether OSDs may stop together without loss of service",
    ),
    Program::new(
        "ceph-mon-ok-to-stop",
        &["sh", "-c", RUN, "mon ok-to-stop"],
        "whether mons may stop together",
    ),
    Program::new("ceph-mon-dump", &["sh", "-c", RUN, "mon dump -f json"], "the mons and their addresses"),
    Program::new("ceph-mgr-dump", &["sh", "-c", RUN, "mgr dump -f json"], "the managers"),
    Program::new("ceph-pg-stat", &["sh", "-c", RUN, "pg stat -f json"], "placement groups by state"),
];

/// Verbs that change a cluster.
pub const MUTATING: &[Program] = &[
    Program::new("ceph-config-set", &["sh", "-c", RUN, "config set"], "sets an option in the mons' database"),
    Program::new(
        "ceph-config-rm",
        &["sh", "-c", RUN, "config rm"],
        "removes an option from the mons' database",
    ),
];
