//! The rows that ask and change parts of a Ceph cluster by more than one verb: flags, pools, keys, images, connections.
//! Each is a script of the host's shell, so that one call is one round trip; a look prints no more than it is about.
use super::Program;

/// A script with the function `c`, which calls a program of Ceph by the host or by cephadm's container under a time
/// limit that ends in SIGKILL. Its arguments: `host` or `cephadm`, seconds, ceph.conf, keyring and client (each may be
/// empty), then the operands.
macro_rules! script {
    ($text:literal) => {
        concat!(
            "how=$1 wait=$2 conf=$3 key=$4 as=$5; shift 5; ",
            "c() { p=$1; shift; ",
            "set -- \"$p\" ${as:+--name \"$as\"} \"$@\"; ",
            "if [ \"$how\" = cephadm ]; then ",
            "set -- cephadm shell ${conf:+--config \"$conf\"} ${key:+--keyring \"$key\"} -- \"$@\"; ",
            "else shift; set -- \"$p\" ${conf:+--conf \"$conf\"} ${key:+--keyring \"$key\"} \"$@\"; fi; ",
            "timeout -k 5 \"$wait\" \"$@\"; }; ",
            $text
        )
    };
}

/// The flags of the whole cluster and of CRUSH nodes, as words: `cluster noout`, `h0 noout`.
const FLAGS: &str = script!(
    "f=$1 n=$2; o=$(c ceph osd dump -f json) || exit; \
     if [ \"$n\" = . ]; then \
       case ,$(printf %s \"$o\" | sed -n 's/.*\"flags\":\"\\([^\"]*\\)\".*/\\1/p'), in *,\"$f\",*) echo set;; *) echo unset;; esac; \
     else \
       m=$(printf %s \"$o\" | sed -n 's/.*\"crush_node_flags\":{\\([^}]*\\)}.*/\\1/p' | tr -d ' ' | sed 's/\\],/]\\n/g' | grep -F \"\\\"$n\\\":[\"); \
       case $m in *\"\\\"$f\\\"\"*) echo set;; *) echo unset;; esac; \
     fi"
);

/// Arms the end of a flag on this host: a process of its own session unsets it after so many seconds, unless its file
/// is gone by then. Armed before the flag is set, so that a flag never stays for good.
const LEASE: &str = script!(
    "s=$1 f=$2 n=$3; d=${TUNERUN_LEASES:-/run/tunerun/leases}; umask 077; mkdir -p \"$d\" || exit; \
     l=$d/$(printf %s \"$f.$n\" | tr / _); export how wait conf key as; \
     echo \"$(date +%s) $s\" >\"$l\" || exit; t=$(cat \"$l\"); \
     u='unset-group'; [ \"$n\" != . ] || u=unset; \
     if [ \"$how\" = cephadm ]; then set -- cephadm shell ${conf:+--config \"$conf\"} ${key:+--keyring \"$key\"} -- ceph ${as:+--name \"$as\"}; \
     else set -- ceph ${conf:+--conf \"$conf\"} ${key:+--keyring \"$key\"} ${as:+--name \"$as\"}; fi; \
     set -- \"$@\" osd \"$u\" \"$f\"; [ \"$n\" = . ] || set -- \"$@\" \"$n\"; \
     setsid sh -c 'l=$1 t=$2 s=$3; shift 3; while [ \"$s\" -gt 0 ]; do sleep 1; s=$((s - 1)); \
       [ \"$(cat \"$l\" 2>/dev/null)\" = \"$t\" ] || exit 0; done; \
       while [ \"$(cat \"$l\" 2>/dev/null)\" = \"$t\" ]; do timeout -k 5 30 \"$@\" && rm -f -- \"$l\" && exit 0; sleep 5; done' \
       lease \"$l\" \"$t\" \"$s\" \"$@\" </dev/null >/dev/null 2>&1 9>&- &"
);

const LEASE_END: &str =
    script!("rm -f -- \"${TUNERUN_LEASES:-/run/tunerun/leases}/$(printf %s \"$1.$2\" | tr / _)\"");

/// Whether the end of a flag is armed on this host.
const LEASE_STATE: &str = script!(
    "if [ -f \"${TUNERUN_LEASES:-/run/tunerun/leases}/$(printf %s \"$1.$2\" | tr / _)\" ]; then echo armed; else echo none; fi"
);

const FLAG_SET: &str =
    script!("if [ \"$2\" = . ]; then c ceph osd set \"$1\"; else c ceph osd set-group \"$1\" \"$2\"; fi");
const FLAG_UNSET: &str =
    script!("if [ \"$2\" = . ]; then c ceph osd unset \"$1\"; else c ceph osd unset-group \"$1\" \"$2\"; fi");

/// The settings of a pool; status 2 where there is none.
const POOL: &str =
    script!("c ceph osd pool get \"$1\" all -f json && c ceph osd pool application get \"$1\" -f json");

/// One setting of a pool, as a word.
const POOL_SETTING: &str = script!(
    "o=$(c ceph osd pool get \"$1\" \"$2\" -f json) || exit; \
     printf '%s\\n' \"$o\" | sed -n 's/.*\"'\"$2\"'\": *\"\\{0,1\\}\\([^\",}]*\\).*/\\1/p'"
);

/// Whether a pool is there, as a word.
const POOL_STATE: &str = script!(
    "o=$(c ceph osd pool ls) || exit; if printf '%s\\n' \"$o\" | grep -Fqx -- \"$1\"; then echo there; else echo gone; fi"
);

/// Removes a pool that holds nothing but what `rbd pool init` leaves; any other is refused.
const POOL_REMOVE: &str = script!(
    "o=$(c rados -p \"$1\" ls --all) || exit; \
     r=$(printf '%s\\n' \"$o\" | sed 's/^.*\\t//' | grep -Evx 'rbd_(directory|info|trash|children|mirroring|header\\..*)|' | head -n 3); \
     [ -z \"$r\" ] || { echo \"the pool $1 is not empty: $r\" >&2; exit 3; }; \
     c ceph osd pool rm \"$1\" \"$1\" --yes-i-really-really-mean-it"
);

const POOL_APPLICATION: &str = script!("c ceph osd pool application enable \"$1\" \"$2\"");

/// Which application a pool is for, as words.
const POOL_APPLICATIONS: &str = script!(
    "o=$(c ceph osd pool application get \"$1\" -f json) || exit; printf %s \"$o\" | tr ',{' '\\n\\n' | sed -n 's/^\"\\([^\"]*\\)\":.*/\\1/p'"
);

/// The caps of a client, without its key: one line for each kind of daemon; status 2 where there is no such client.
const AUTH: &str = script!(
    "o=$(c ceph auth get \"$1\") || exit; printf '%s\\n' \"$o\" | sed -n 's/^[[:space:]]*caps //p' | sort"
);

/// Makes a client; its key goes to no output.
const AUTH_MAKE: &str = script!("c ceph auth get-or-create \"$@\" >/dev/null");

/// Puts a client's keyring into a file of this host that only its owner reads.
const AUTH_KEYRING: &str = script!(
    "umask 077; t=$2.tunerun; c ceph auth get \"$1\" >\"$t\" && mv -f -- \"$t\" \"$2\" || { rm -f -- \"$t\"; exit 1; }"
);

/// The size of an image in bytes; status 2 where there is none.
const IMAGE_SIZE: &str = script!(
    "o=$(c rbd info \"$1\" --format json) || exit; printf '%s\\n' \"$o\" | sed -n 's/.*\"size\": *\\([0-9]*\\).*/\\1/p'"
);

/// Removes an image that nobody watches and that has no snapshots.
const IMAGE_REMOVE: &str = script!(
    "o=$(c rbd status \"$1\" --format json) || exit; \
     case $o in *'\"address\"'*) echo \"the image $1 is in use\" >&2; exit 3;; esac; \
     o=$(c rbd snap ls \"$1\" --format json) || exit; \
     case $o in '[]' | '') ;; *) echo \"the image $1 has snapshots\" >&2; exit 3;; esac; \
     c rbd rm --no-progress \"$1\""
);

/// When an OSD came up last, as the epoch of the map.
const OSD_UP_FROM: &str = script!(
    "o=$(c ceph osd info \"$1\") || exit; printf '%s\\n' \"$o\" | sed -n 's/.* up_from \\([0-9]*\\) .*/\\1/p'"
);

/// Waits until an OSD is up and all placement groups are clean: `$id`, and `$left` seconds.
macro_rules! until_clean {
    () => {
        "clean() { s=$(c ceph status -f json) || return 1; \
          u=$(printf %s \"$s\" | sed -n 's/.*\"num_osds\": *\\([0-9]*\\).*/\\1/p') v=$(printf %s \"$s\" | sed -n 's/.*\"num_up_osds\": *\\([0-9]*\\).*/\\1/p'); \
          [ -n \"$u\" ] && [ \"$u\" = \"$v\" ] || return 1; \
          g=$(c ceph pg stat -f json) || return 1; \
          printf %s \"$g\" | tr -d ' \\n' | sed 's/.*num_pg_by_state\":\\[\\([^]]*\\)\\].*/\\1/' | sed 's/},/}\\n/g' | \
          { k=0; while IFS= read -r line || [ -n \"$line\" ]; do case $line in \
          '' | *'\"name\":\"active+clean\"'* | *'\"name\":\"active+clean+scrubbing'*) ;; *) k=1;; esac; done; return $k; }; }; \
         up() { c ceph osd info \"$id\" | grep -q '^osd\\.[0-9]* up '; }; "
    };
}

/// Lets OSDs connect anew, one after another: each is marked down, comes back by itself within seconds, and the next
/// one follows once all placement groups are clean. The first operand is the seconds to wait for each.
const RECONNECT: &str = concat!(
    script!(""),
    until_clean!(),
    "most=$1; shift; for id do \
       left=$most; until c ceph osd ok-to-stop \"$id\" >/dev/null 2>&1; do left=$((left - 1)); \
         [ \"$left\" -gt 0 ] || { echo \"osd.$id may not stop: placement groups would lose service\" >&2; exit 3; }; sleep 1; done; \
       c ceph osd down \"$id\" || exit; left=$most; \
       until up && clean; do left=$((left - 1)); \
         [ \"$left\" -gt 0 ] || { echo \"after osd.$id the placement groups are not clean in $most s\" >&2; exit 3; }; sleep 1; done; \
     done"
);

/// Restarts OSDs of this host, one after another, each after it may stop, and waits for clean placement groups. The
/// operands: seconds to wait for each, the unit's name with `%` for the number, then the numbers.
const RESTART: &str = concat!(
    script!(""),
    until_clean!(),
    "most=$1 unit=$2; shift 2; for id do \
       left=$most; until c ceph osd ok-to-stop \"$id\" >/dev/null 2>&1; do left=$((left - 1)); \
         [ \"$left\" -gt 0 ] || { echo \"osd.$id may not stop: placement groups would lose service\" >&2; exit 3; }; sleep 1; done; \
       e=$(c ceph osd info \"$id\" | sed -n 's/.* up_from \\([0-9]*\\) .*/\\1/p'); \
       systemctl restart -- \"${unit%%%*}$id${unit#*%}\" || exit; left=$most; \
       until up && [ \"$(c ceph osd info \"$id\" | sed -n 's/.* up_from \\([0-9]*\\) .*/\\1/p')\" != \"$e\" ] && clean; do left=$((left - 1)); \
         [ \"$left\" -gt 0 ] || { echo \"osd.$id is not up with clean placement groups in $most s\" >&2; exit 3; }; sleep 1; done; \
     done"
);

/// What connections the daemons of this host really have: for a window of seconds the OSDs' messages are logged, then
/// the level is what it was. A line for each connection: the OSD, its own address, the peer's, `crc` or `secure`.
/// The operands: seconds, the mode that every connection must have (or `any`), then numbers of OSDs.
const CONNECTIONS: &str = script!(
    "window=$1 must=$2; shift 2; d=$(mktemp -d) || exit; \
     back() { for id in $asked; do c ceph tell \"osd.$id\" config set debug_ms \"$(cat \"$d/$id.level\")\" >/dev/null 2>&1; done; rm -rf -- \"$d\"; }; \
     asked=; trap back EXIT; trap 'exit 143' TERM INT HUP; \
     for id do \
       f=$(c ceph tell \"osd.$id\" config get log_file -f json | sed -n 's/.*\"log_file\": *\"\\([^\"]*\\)\".*/\\1/p'); \
       [ -n \"$f\" ] && [ -f \"$f\" ] || { echo \"the log of osd.$id is not on this host: ${f:-it has none}\" >&2; exit 4; }; \
       v=$(c ceph tell \"osd.$id\" config get debug_ms -f json | sed -n 's/.*\"debug_ms\": *\"\\([^\"]*\\)\".*/\\1/p'); \
       printf %s \"${v:-0/0}\" >\"$d/$id.level\"; printf %s \"$f\" >\"$d/$id.log\"; wc -c <\"$f\" >\"$d/$id.from\"; \
     done; \
     for id do asked=\"$asked $id\"; c ceph tell \"osd.$id\" config set debug_ms 5/5 >/dev/null || exit; done; \
     sleep \"$window\"; \
     for id do tail -c +$(($(cat \"$d/$id.from\") + 1)) -- \"$(cat \"$d/$id.log\")\" >\"$d/$id.seen\"; done; \
     bad=0; for id do \
       grep -aoE -- '--[12]- [^ ]+ >> [^ ]+ conn\\([^)]*\\)' \"$d/$id.seen\" | awk -v id=\"$id\" ' \
         $1 == \"--1-\" && /s=OPENED/ { print \"osd.\" id, $2, $4, \"v1\"; next } \
         $1 == \"--2-\" && /s=READY/ { m = (/ rx=0 / && / tx=0[) ]/) ? \"crc\" : \"secure\"; print \"osd.\" id, $2, $4, m }' | sort -u >\"$d/$id.lines\"; \
       cat \"$d/$id.lines\"; \
       [ -s \"$d/$id.lines\" ] || { echo \"osd.$id had no traffic in $window s: look longer\" >&2; bad=5; }; \
       [ \"$must\" = any ] || ! grep -vq \" $must\\$\" \"$d/$id.lines\" || bad=6; \
     done; \
     [ \"$bad\" != 6 ] || { echo \"connections that are not $must:\" >&2; cat \"$d\"/*.lines | grep -v \" $must\\$\" >&2; }; exit \"$bad\""
);

/// Whether the mons still answer a client that offers both modes: what mends a wrong mode of the mons.
const RESCUE: &str = script!("c ceph --ms_mon_client_mode='secure crc' --ms_client_mode='secure crc' fsid");

/// Rows that look and never change anything.
pub const READING: &[Program] = &[
    Program::new("ceph-flag", &["sh", "-c", FLAGS, "flag"], "whether a flag of the OSD map is set"),
    Program::new(
        "ceph-lease",
        &["sh", "-c", LEASE_STATE, "lease"],
        "whether the end of a flag is armed on the host",
    ),
    Program::new("ceph-pool", &["sh", "-c", POOL, "pool"], "the settings and applications of a pool"),
    Program::new("ceph-pool-setting", &["sh", "-c", POOL_SETTING, "pool"], "one setting of a pool"),
    Program::new("ceph-pool-state", &["sh", "-c", POOL_STATE, "pool"], "whether a pool is there"),
    Program::new("ceph-pool-applications", &["sh", "-c", POOL_APPLICATIONS, "pool"], "what a pool is for"),
    Program::new("ceph-auth-caps", &["sh", "-c", AUTH, "auth"], "the caps of a client, without its key"),
    Program::new("rbd-size", &["sh", "-c", IMAGE_SIZE, "rbd"], "the size of an image in bytes"),
    Program::new("ceph-osd-up-from", &["sh", "-c", OSD_UP_FROM, "osd"], "since which map an OSD is up"),
    Program::new(
        "ceph-mon-sessions",
        &["sh", "-c", script!("c ceph tell 'mon.*' sessions -f json"), "sessions"],
        "who is connected to the mons, and by which protocol",
    ),
    Program::new(
        "ceph-rescue",
        &["sh", "-c", RESCUE, "rescue"],
        "whether the command that mends wrong modes of the mons would reach them",
    ),
];

/// Rows that change a cluster.
pub const MUTATING: &[Program] = &[
    Program::new("ceph-flag-set", &["sh", "-c", FLAG_SET, "flag"], "sets a flag of the OSD map"),
    Program::new("ceph-flag-unset", &["sh", "-c", FLAG_UNSET, "flag"], "takes a flag of the OSD map away"),
    Program::new("ceph-lease-arm", &["sh", "-c", LEASE, "lease"], "arms the end of a flag on the host"),
    Program::new("ceph-lease-end", &["sh", "-c", LEASE_END, "lease"], "disarms the end of a flag"),
    Program::new(
        "ceph-pool-create",
        &["sh", "-c", script!("c ceph osd pool create \"$@\""), "pool"],
        "makes a pool",
    ),
    Program::new(
        "ceph-pool-set",
        &["sh", "-c", script!("c ceph osd pool set \"$@\""), "pool"],
        "sets a setting of a pool",
    ),
    Program::new("ceph-pool-application", &["sh", "-c", POOL_APPLICATION, "pool"], "says what a pool is for"),
    Program::new(
        "rbd-pool-init",
        &["sh", "-c", script!("c rbd pool init \"$1\""), "rbd"],
        "makes a pool ready for images",
    ),
    Program::new(
        "ceph-pool-remove-empty",
        &["sh", "-c", POOL_REMOVE, "pool"],
        "removes a pool that is empty",
    ),
    Program::new("ceph-auth-make", &["sh", "-c", AUTH_MAKE, "auth"], "makes a client with caps"),
    Program::new(
        "ceph-auth-set-caps",
        &["sh", "-c", script!("c ceph auth caps \"$@\""), "auth"],
        "sets the caps of a client",
    ),
    Program::new(
        "ceph-auth-remove",
        &["sh", "-c", script!("c ceph auth rm \"$1\""), "auth"],
        "removes a client",
    ),
    Program::new(
        "ceph-auth-keyring",
        &["sh", "-c", AUTH_KEYRING, "auth"],
        "writes a client's keyring on the host",
    ),
    Program::new("rbd-create", &["sh", "-c", script!("c rbd create \"$@\""), "rbd"], "makes an image"),
    Program::new(
        "rbd-resize",
        &["sh", "-c", script!("c rbd resize --no-progress \"$@\""), "rbd"],
        "makes an image larger",
    ),
    Program::new(
        "rbd-remove-unused",
        &["sh", "-c", IMAGE_REMOVE, "rbd"],
        "removes an image that nobody uses",
    ),
    Program::new(
        "ceph-osd-reconnect",
        &["sh", "-c", RECONNECT, "osd"],
        "lets OSDs connect anew, one after another",
    ),
    Program::new(
        "ceph-osd-restart",
        &["sh", "-c", RESTART, "osd"],
        "restarts OSDs of the host, one after another",
    ),
    Program::new(
        "ceph-connections",
        &["sh", "-c", CONNECTIONS, "connections"],
        "logs messages for a while, to tell which connections are encrypted",
    ),
];
