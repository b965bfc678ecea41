//! The rows that act on the OSDs of a Ceph cluster and look at their connections: connecting anew, restarts, what the
//! messenger really does.
use super::Program;
use super::ceph_script::script;

/// When an OSD came up last, as the epoch of the map; empty for one that is down. Status 22 or 2 for one that the map
/// has not.
const OSD_UP_FROM: &str = script!(
    "o=$(c ceph osd info \"$1\" -f json) || exit; printf %s \"$o\" | j 'd=d[0] if isinstance(d,list) else d; print(d[\"up_from\"] if d[\"up\"] else \"\")'"
);

/// What acts on OSDs one after another shares: `$id` is the OSD, `$most` the seconds for each wait.
///
/// `may` says in the cluster that the OSD is about to stop (`tunerun/stopping/osd.N`), and asks whether it may stop
/// together with all others of which that is said, by whatever host or controller, and with those that are down: the manager
/// answers by reports of placement groups, which lag behind the map. Of two that may not stop together the
/// one with the lower number goes first. What a killed process said is over after a time.
///
/// `settled E` tells whether the OSD is up since a map after E, its placement groups have reported since, no fewer OSDs
/// are up than at the beginning, and no more placement groups are not clean. The order counts: the reports of placement
/// groups lag behind the map, and one that is looked at first is never newer than what is looked at after it.
macro_rules! one_by_one {
    () => {
        "late() { [ \"$(date +%s)\" -ge \"$until\" ]; }; begin() { until=$(($(date +%s) + most)); }; \
         say() { c ceph config-key set \"tunerun/stopping/osd.$id\" $(($(date +%s) + 2 * most + 60)) >/dev/null 2>&1; }; \
         unsay() { [ -z \"$id\" ] || c ceph config-key rm \"tunerun/stopping/osd.$id\" >/dev/null 2>&1; }; \
         id=; trap unsay EXIT; trap 'exit 143' TERM INT HUP; \
         from() { o=$(c ceph osd info \"$id\" -f json) || return; printf %s \"$o\" | j 'd=d[0] if isinstance(d,list) else d; print(d[\"up_from\"] if d[\"up\"] else \"\")'; }; \
         now() { o=$(c ceph status -f json) || return; printf %s \"$o\" | j 'm=d[\"osdmap\"]; m=m.get(\"osdmap\",m); p=d[\"pgmap\"]; \
           ok=lambda s: {\"active\",\"clean\"}<=s and s<={\"active\",\"clean\",\"scrubbing\",\"deep\",\"snaptrim\",\"snaptrim_wait\"}; \
           print(m[\"num_up_osds\"],p[\"num_pgs\"]-sum(x[\"count\"] for x in p.get(\"pgs_by_state\",[]) if ok(set(x[\"state_name\"].split(\"+\")))))'; }; \
         may() { begin; while :; do say || { echo \"osd.$id: the cluster does not take the word that it is about to stop\" >&2; exit 4; }; \
           o=$(c ceph config-key dump tunerun/stopping/ -f json) && o=$(printf %s \"$o\" | j 'print(*sorted(int(k.rsplit(\".\",1)[1]) for k,v in d.items() if int(v)>int(a[1]) and k.rsplit(\".\",1)[1]!=a[0]))' \"$id\" \"$(date +%s)\") || exit; \
           w=$(c ceph osd dump -f json) && w=$(printf %s \"$w\" | j 'print(*[x[\"osd\"] for x in d[\"osds\"] if not x[\"up\"] and str(x[\"osd\"]) not in a])' \"$id\" $o) || exit; \
           c ceph osd ok-to-stop \"$id\" $o $w >/dev/null 2>&1 && return; w=\"$o${o:+${w:+ }}$w\"; \
           late && { echo \"osd.$id may not stop${w:+ together with $w}: placement groups would lose service; it was left alone. 'ceph osd ok-to-stop $id' and 'ceph health detail' say which: play again when they are clean\" >&2; exit 3; }; \
           [ -z \"$o\" ] || [ \"${o%% *}\" -gt \"$id\" ] || unsay; sleep 1; done; }; \
         settled() { e=$(from) && [ -n \"$e\" ] && [ \"$e\" != \"$1\" ] || return 1; \
           o=$(c ceph pg ls-by-osd \"$id\" -f json) || return 1; \
           printf %s \"$o\" | j 'p=d if isinstance(d,list) else d.get(\"pg_stats\"); sys.exit(p is None or any(int(x[\"reported_epoch\"])<int(a[0]) for x in p))' \"$e\" || return 1; \
           n=$(now) && [ \"${n% *}\" -ge \"${base% *}\" ] && [ \"${n#* }\" -le \"${base#* }\" ]; }; \
         wait_settled() { begin; until settled \"$1\"; do ! late || { \
           echo \"osd.$id is not up with clean placement groups after $most s; no other OSD was touched after it. 'ceph health detail' and the log of osd.$id say why; play again when they are clean\" >&2; exit 3; }; sleep 1; done; }; \
         base=$(now) || exit; "
    };
}

/// Lets OSDs connect anew, one after another: each is marked down, comes back by itself within seconds, and the next
/// one follows once all placement groups are as clean as they were. The first operand is the seconds to wait for each.
const RECONNECT: &str = concat!(
    script!(""),
    one_by_one!(),
    "most=$1; shift; for id do e=$(from) || exit; [ -n \"$e\" ] || continue; may; \
       e=$(from) || exit; c ceph osd down \"$id\" || exit; wait_settled \"$e\"; unsay; done; id="
);

/// Restarts OSDs of this host, one after another, each after it may stop, and waits for clean placement groups. The
/// operands: seconds to wait for each, the unit's name with `%` for the number, then the numbers. Ceph's unit may start
/// three times in half an hour: what systemd has counted so far is forgotten first, or an OSD would stay stopped.
const RESTART: &str = concat!(
    script!(""),
    one_by_one!(),
    "most=$1 unit=$2; shift 2; for id do may; e=$(from) || exit; \
       n=${unit%%%*}$id${unit#*%}; systemctl reset-failed -- \"$n\" 2>/dev/null; systemctl restart -- \"$n\" || exit; wait_settled \"${e:-0}\"; unsay; done; id="
);

/// What connections the daemons of this host really have: for a window of seconds the OSDs' messages are logged, then
/// the level is what it was. A line for each connection: the daemon, its own address, the peer's, `crc` or `secure`.
/// The operands: seconds, the mode that every connection must have (or `any`), then daemons such as `osd.0`, `mon.a`. Of two ciphers that
/// a line names, the second is that of compression, which newer releases have.
const CONNECTIONS: &str = script!(
    "window=$1 must=$2; shift 2; d=$(mktemp -d) || exit; \
     back() { for id in $asked; do v=$(cat \"$d/$id.level\"); \
       if [ -n \"$v\" ]; then set -- set debug_ms \"$v\"; else set -- unset debug_ms; fi; \
       c ceph tell \"$id\" config \"$@\" >/dev/null 2>&1; done; rm -rf -- \"$d\"; }; \
     asked=; trap back EXIT; trap 'exit 143' TERM INT HUP; \
     for id do \
       f=$(c ceph tell \"$id\" config get log_file -f json) || exit; f=$(printf %s \"$f\" | j 'print(d[\"log_file\"])') || exit; \
       [ -n \"$f\" ] && [ -f \"$f\" ] || { echo \"the log of $id is not on this host: ${f:-it has none}. Where daemons log to the journal (cephadm), say it for the time of the look: ceph config set ${id%%.*} log_to_file true\" >&2; exit 4; }; \
       v=$(c ceph tell \"$id\" config diff -f json) || exit; \
       printf %s \"$v\" | j 'print(d[\"diff\"].get(\"debug_ms\",{}).get(\"override\",\"\"))' >\"$d/$id.level\" || exit; \
       printf %s \"$f\" >\"$d/$id.log\"; wc -c <\"$f\" >\"$d/$id.from\"; \
     done; \
     for id do asked=\"$asked $id\"; c ceph tell \"$id\" config set debug_ms 5/5 >/dev/null || exit; done; \
     sleep \"$window\"; \
     for id do tail -c +$(($(cat \"$d/$id.from\") + 1)) -- \"$(cat \"$d/$id.log\")\" >\"$d/$id.seen\"; done; \
     bad=0; for id do \
       grep -aoE -- '--[12]- [^ ]+ >> [^ ]+ conn\\([^)]*\\)' \"$d/$id.seen\" | awk -v id=\"$id\" ' \
         $1 == \"--1-\" && /s=OPENED/ { print id, $2, $4, \"v1\"; next } \
         $1 == \"--2-\" && /s=READY/ { a = $2; p = $4; sub(/ comp rx=.*/, \")\"); m = (/ rx=0 / && / tx=0[) ]/) ? \"crc\" : \"secure\"; \
           print id, a, p, m }' | sort -u >\"$d/$id.lines\"; \
       cat \"$d/$id.lines\"; \
       [ -s \"$d/$id.lines\" ] || { echo \"$id had no traffic in $window s: look longer\" >&2; bad=5; }; \
       [ \"$must\" = any ] || ! grep -vq \" $must\\$\" \"$d/$id.lines\" || bad=6; \
     done; \
     [ \"$bad\" != 6 ] || { echo \"connections that are not $must:\" >&2; cat \"$d\"/*.lines | grep -v \" $must\\$\" >&2; }; exit \"$bad\""
);

/// Whether the mons still answer a client that offers both modes: what mends a wrong mode of the mons.
const RESCUE: &str = script!("c ceph --ms_mon_client_mode='secure crc' --ms_client_mode='secure crc' fsid");

/// Rows that look and never change anything.
pub const READING: &[Program] = &[
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
