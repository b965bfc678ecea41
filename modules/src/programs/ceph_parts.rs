//! The rows that ask and change parts of a Ceph cluster by more than one verb: flags, pools, keys, images.
//! Each is a script of the host's shell, so that one call is one round trip; a look prints no more than it is about.
use super::Program;
use super::ceph_script::script;

/// Whether a flag is set, of the whole cluster (`.`), of an OSD, of a CRUSH node or of a device class: the map keeps
/// each of these in a place of its own, and shows `pause` as two other words. Answers `unset`, `ours` where this program
/// has said that the flag is its own (see [`FLAG_SET`]), or `set` where it is somebody else's.
const FLAGS: &str = script!(
    "o=$(c ceph osd dump -f json) || exit; o=$(printf %s \"$o\" | j '\
     f,n=a; o={\"osd.%s\"%x[\"osd\"]:x.get(\"state\",[]) for x in d[\"osds\"]}; \
     s=(d.get(\"flags_set\") or d[\"flags\"].split(\",\")) if n==\".\" else \
     o.get(n,[])+d.get(\"crush_node_flags\",{}).get(n,[])+d.get(\"device_class_flags\",{}).get(n,[]); \
     print(\"set\" if set({\"pause\":[\"pauserd\",\"pausewr\"]}.get(f,[f]))<=set(s) else \"unset\")' \"$1\" \"$2\") || exit; \
     if [ \"$o\" = set ]; then k=$(c ceph config-key get \"tunerun/flag/$1/$2\" 2>&1); r=$?; \
       case $r in 0) o=ours;; 2) ;; *) printf '%s\\n' \"$k\" >&2; exit \"$r\";; esac; fi; echo \"$o\""
);

/// Where the end of a flag is kept on the host, and how it is forgotten. The operands are the flag and the node, `.` for the
/// whole cluster.
macro_rules! lease {
    () => {
        "name() { l=$(printf %s \"$1.$2.\" | tr -c A-Za-z0-9_.- _)$(printf %s \"$conf\" | cksum | cut -d' ' -f1); \
           k=tunerun/flag/$1/$2 d=${TUNERUN_LEASES:-/var/lib/tunerun/leases} u=tunerun-flag-$l.service; }; \
         forget() { c ceph config-key rm \"$k\" >/dev/null 2>&1 || return; rm -f -- \"$d/$l\"; \
           [ ! -e \"/etc/systemd/system/$u\" ] || { systemctl --quiet disable \"$u\"; \
           rm -f -- \"/etc/systemd/system/$u\"; systemctl stop --no-block \"$u\"; systemctl daemon-reload; }; }; "
    };
}

/// Sets a flag. First the cluster is told whose it is (`tunerun/flag/FLAG/NODE`, with the time of its end), then the end is
/// armed on this host, so that a flag never stays for good. Where systemd runs the host, a unit keeps watch that a boot
/// does not end; else a process of its own session. It takes the flag away at that time, unless its file is gone or
/// another one has been armed since. The operands: seconds, 0 for no end, `-` for a flag that is not this program's; the
/// flag, the node.
const FLAG_SET: &str = concat!(
    script!(""),
    lease!(),
    "s=$1; shift; name \"$@\"; w=$(od -An -N6 -tx1 /dev/urandom | tr -d ' \\n'); \
     t=0; [ \"$s\" = 0 ] || [ \"$s\" = - ] || t=$(($(date +%s) + s)); \
     put() { if [ \"$2\" = . ]; then c ceph osd set \"$1\"; else c ceph osd set-group \"$1\" \"$2\"; fi; }; \
     q() { printf %s \"$1\" | sed \"s/'/'\\\\\\\\''/g; 1s/^/'/; \\$s/\\$/'/\"; }; \
     watch() { echo '#!/bin/sh'; printf 'l=%s t=%s w=%s k=%s u=%s f=%s n=%s how=%s wait=%s conf=%s key=%s as=%s\\n' \
       \"$(q \"$d/$l\")\" \"$t\" \"$w\" \"$(q \"$k\")\" \"$u\" \"$(q \"$1\")\" \"$(q \"$2\")\" \
       \"$how\" \"$wait\" \"$(q \"$conf\")\" \"$(q \"$key\")\" \"$(q \"$as\")\"; cat <<'E'\n\
     ours() { grep -qsF \" w=$w \" \"$l\"; }\n\
     c() { if [ \"$how\" = cephadm ]; then set -- cephadm shell ${conf:+--config \"$conf\"} ${key:+--keyring \"$key\"} -- ceph ${as:+--name \"$as\"} \"$@\"\n\
     else set -- ceph ${conf:+--conf \"$conf\"} ${key:+--keyring \"$key\"} ${as:+--name \"$as\"} \"$@\"; fi; timeout -k 5 \"$wait\" \"$@\"; }\n\
     while [ \"$(date +%s)\" -lt \"$t\" ]; do ours || exit 0; sleep 1; done\n\
     while ours; do\n\
     v=$(c config-key get \"$k\"); r=$?\n\
     case $r,$v in\n\
     0,\"$t $w\") if [ \"$n\" = . ]; then c osd unset \"$f\"; else c osd unset-group \"$f\" \"$n\"; fi && c config-key rm \"$k\" && r=over ;;\n\
     0,* | 2,*) r=over ;;\n\
     esac\n\
     [ \"$r\" != over ] || break; sleep 5\n\
     done\n\
     ! ours || rm -f -- \"$l\"\n\
     [ ! -e \"/etc/systemd/system/$u\" ] || [ -e \"$l\" ] || { systemctl --quiet disable \"$u\"; rm -f -- \"/etc/systemd/system/$u\"; systemctl daemon-reload; }\n\
E\n\
     }; \
     arm() { c ceph config-key set \"$k\" \"$t $w\" >/dev/null || return; [ \"$s\" != 0 ] || return 0; \
       (umask 077; mkdir -p -- \"$d\" && watch \"$@\" >\"$d/$l.new\") && mv -f -- \"$d/$l.new\" \"$d/$l\" || return; \
       sync -- \"$d/$l\" 2>/dev/null || sync; \
       if [ -d /run/systemd/system ]; then \
         printf '[Unit]\\nDescription=Takes %s of %s away in time\\n[Service]\\nExecStart=/bin/sh \"%s\"\\nRestart=on-failure\\nRestartSec=5\\n[Install]\\nWantedBy=basic.target\\n' \
           \"$1\" \"$2\" \"$d/$l\" >\"/etc/systemd/system/$u\" && systemctl daemon-reload && systemctl --quiet enable \"$u\" && systemctl restart \"$u\"; \
       else setsid sh \"$d/$l\" </dev/null >/dev/null 2>&1 9>&- & fi; }; \
     if [ \"$s\" = - ]; then put \"$@\"; exit; fi; \
     arm \"$@\" && put \"$@\" || { r=$?; forget; exit \"$r\"; }"
);

/// Takes a flag away, then its end and the word that says whose it is.
const FLAG_UNSET: &str = concat!(
    script!(""),
    lease!(),
    "name \"$@\"; if [ \"$2\" = . ]; then c ceph osd unset \"$1\"; else c ceph osd unset-group \"$1\" \"$2\"; fi || exit; forget"
);

/// One setting of a pool, as a word; `(unset)` for one that the pool may have and has not.
const POOL_SETTING: &str = script!(
    "o=$(c ceph osd pool get \"$1\" \"$2\" -f json 2>&1) || { r=$?; \
     case $o in *'is not set on pool'*) echo '(unset)'; exit 0;; esac; printf '%s\\n' \"$o\" >&2; exit \"$r\"; }; \
     printf '%s\\n' \"$o\" | sed -n '/^{/,$p' | j 'v=d[a[0]]; print(str(v).lower() if isinstance(v,bool) else v)' \"$2\""
);

/// Lets a pool have no value of its own for a setting: a word where it is text, 0 where it is a number.
const POOL_UNSET: &str =
    script!("c ceph osd pool set \"$1\" \"$2\" unset 2>/dev/null || c ceph osd pool set \"$1\" \"$2\" 0");

/// Whether a pool is there, as a word.
const POOL_STATE: &str = script!(
    "o=$(c ceph osd pool ls) || exit; if printf '%s\\n' \"$o\" | grep -Fqx -- \"$1\"; then echo there; else echo gone; fi"
);

/// Removes a pool that holds nothing but what is left where there are no images, in whatever namespace: an image in the
/// trash has its header still. Any other is refused.
const POOL_REMOVE: &str = script!(
    "o=$(c rados -p \"$1\" ls --all --format json) || exit; \
     r=$(printf '%s\\n' \"$o\" | j 'print(*[x[\"name\"] for x in d if x.get(\"namespace\") or x[\"name\"] not in \
     (\"rbd_directory\",\"rbd_info\",\"rbd_children\",\"rbd_trash\")][:3],sep=\", \")') || exit; \
     [ -z \"$r\" ] || { echo \"the pool $1 is not empty, so it stays: $r\" >&2; exit 3; }; \
     c ceph osd pool rm \"$1\" \"$1\" --yes-i-really-really-mean-it"
);

const POOL_APPLICATION: &str = script!("c ceph osd pool application enable \"$1\" \"$2\"");
const POOL_APPLICATION_GONE: &str =
    script!("c ceph osd pool application disable \"$1\" \"$2\" --yes-i-really-mean-it");

/// Which applications a pool is for, as words.
const POOL_APPLICATIONS: &str = script!(
    "o=$(c ceph osd pool application get \"$1\" -f json) || exit; printf %s \"$o\" | j 'print(*sorted(d),sep=\"\\n\")'"
);

/// The caps of a client, without its key: one line for each kind of daemon; status 2 where there is no such client.
const AUTH: &str = script!(
    "o=$(c ceph auth get \"$1\" -f json) || exit; printf %s \"$o\" | \
     j 'print(*[\"%s = \\\"%s\\\"\"%x for x in sorted(d[0][\"caps\"].items())],sep=\"\\n\")'"
);

/// Makes a client; its key goes to no output.
const AUTH_MAKE: &str = script!("c ceph auth get-or-create \"$@\" >/dev/null");

/// Puts a client's keyring into a file of this host that only its owner reads.
const AUTH_KEYRING: &str = script!(
    "umask 077; t=$2.tunerun; c ceph auth get \"$1\" >\"$t\" && mv -f -- \"$t\" \"$2\" || { rm -f -- \"$t\"; exit 1; }"
);

/// Whether a file of this host holds the key of a client: `same` or `other`. The key is in no command's words.
const AUTH_HELD: &str = script!(
    "k=$(c ceph auth get-key \"$1\" 2>/dev/null) || k=; f=$(cat -- \"$2\") || exit; \
     case ${k:+$f} in *\"${k:-.}\"*) echo same;; *) echo other;; esac"
);

/// The size of an image in bytes; status 2 where there is none.
const IMAGE_SIZE: &str =
    script!("o=$(c rbd info \"$1\" --format json) || exit; printf %s \"$o\" | j 'print(d[\"size\"])'");

/// What an image was made with: the size of its objects in bytes, then its features.
const IMAGE_MADE: &str = script!(
    "o=$(c rbd info \"$1\" --format json) || exit; printf %s \"$o\" | j 'print(d[\"object_size\"],*sorted(d[\"features\"]))'"
);

/// Removes an image that holds no data, that nobody watches, and that has no snapshots.
const IMAGE_REMOVE: &str = script!(
    "no() { echo \"the image $1 $2, so it stays\" >&2; exit 3; }; \
     o=$(c rbd status \"$1\" --format json) || exit; \
     w=$(printf %s \"$o\" | j 'w=d[\"watchers\"]; print(*[x[\"address\"] for x in (w.values() if isinstance(w,dict) else w)])') || exit; \
     [ -z \"$w\" ] || no \"$1\" \"is in use by $w\"; \
     o=$(c rbd snap ls \"$1\" --format json) || exit; \
     w=$(printf %s \"$o\" | j 'print(len(d))') || exit; [ \"$w\" = 0 ] || no \"$1\" 'has snapshots'; \
     o=$(c rbd diff --whole-object \"$1\" --format json) || exit; \
     w=$(printf %s \"$o\" | j 'print(len(d))') || exit; [ \"$w\" = 0 ] || no \"$1\" 'holds data'; \
     c rbd rm --no-progress \"$1\""
);

/// Rows that look and never change anything.
pub const READING: &[Program] = &[
    Program::new("ceph-flag", &["sh", "-c", FLAGS, "flag"], "whether a flag of the OSD map is set"),
    Program::new("ceph-pool-setting", &["sh", "-c", POOL_SETTING, "pool"], "one setting of a pool"),
    Program::new("ceph-pool-state", &["sh", "-c", POOL_STATE, "pool"], "whether a pool is there"),
    Program::new("ceph-pool-applications", &["sh", "-c", POOL_APPLICATIONS, "pool"], "what a pool is for"),
    Program::new("ceph-auth-caps", &["sh", "-c", AUTH, "auth"], "the caps of a client, without its key"),
    Program::new(
        "ceph-auth-keyring-held",
        &["sh", "-c", AUTH_HELD, "auth"],
        "whether a file holds the key of a client",
    ),
    Program::new("rbd-size", &["sh", "-c", IMAGE_SIZE, "rbd"], "the size of an image in bytes"),
    Program::new("rbd-made", &["sh", "-c", IMAGE_MADE, "rbd"], "what an image was made with"),
];

/// Rows that change a cluster.
pub const MUTATING: &[Program] = &[
    Program::new(
        "ceph-flag-set",
        &["sh", "-c", FLAG_SET, "flag"],
        "sets a flag of the OSD map, with its end armed on the host",
    ),
    Program::new(
        "ceph-flag-unset",
        &["sh", "-c", FLAG_UNSET, "flag"],
        "takes a flag of the OSD map away, and its end",
    ),
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
    Program::new(
        "ceph-pool-setting-unset",
        &["sh", "-c", POOL_UNSET, "pool"],
        "lets a pool have no value of its own for a setting",
    ),
    Program::new("ceph-pool-application", &["sh", "-c", POOL_APPLICATION, "pool"], "says what a pool is for"),
    Program::new(
        "ceph-pool-application-gone",
        &["sh", "-c", POOL_APPLICATION_GONE, "pool"],
        "takes back what a pool is for",
    ),
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
];
