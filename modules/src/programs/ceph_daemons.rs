//! The rows that tell which daemons of Ceph a host runs, and which are about to stop by somebody else's hand.
use super::Program;
use super::ceph_script::script;

/// The daemons of Ceph that run on the host: first `boot` and the boot's id, then for each `daemon`, its kind, its name,
/// the fsid of its cluster (`-` where that cannot be told), its process and when that began. Processes are told by what
/// they are, not by their units: packages, cephadm, rook and daemons that were started by hand look alike. The fsid stands
/// in the words, else in the ceph.conf that the process sees, which a container has for itself.
const DAEMONS: &str = r#"IFS= read -r b </proc/sys/kernel/random/boot_id; echo "boot $b"
of() { sed -n 's/^[[:space:]]*fsid[[:space:]]*=[[:space:]]*\([0-9a-fA-F-]*\).*/\1/p' "$1" 2>/dev/null | head -n 1; }
for p in /proc/[0-9]*; do { IFS= read -r k <"$p/comm"; } 2>/dev/null || continue
case $k in ceph-osd) k=osd;; ceph-mon) k=mon;; ceph-mgr) k=mgr;; ceph-mds) k=mds;; radosgw) k=rgw;; *) continue;; esac
{ IFS= read -r s <"$p/stat"; } 2>/dev/null || continue
i= f= c= l=ceph w= m=; while IFS= read -r a; do
case $w in -i|--id) i=$a;; -n|--name) i=${a#*.};; --fsid) f=$a;; -c|--conf) c=$a;; --cluster) l=$a;; esac
case $a in --id=*) i=${a#*=};; --name=*) i=${a#*.};; --fsid=*) f=${a#*=};; --conf=*) c=${a#*=};; --cluster=*) l=${a#*=};; --mkfs) m=1;; esac
w=$a; done <<W
$(tr '\0' '\n' <"$p/cmdline" 2>/dev/null)
W
[ -n "$i" ] && [ -z "$m" ] || continue
[ -n "$c" ] || c=$(tr '\0' '\n' 2>/dev/null <"$p/environ" | sed -n 's/^CEPH_CONF=//p')
c=${c:-/etc/ceph/$l.conf}
[ -n "$f" ] || f=$(of "$p/root$c"); [ -n "$f" ] || f=$(of "$c")
set -- ${s##*) }; [ "$1" != Z ] || continue
echo "daemon $k $i ${f:--} ${p#/proc/} ${20}"; done 2>/dev/null; :"#;

/// The OSDs of which it is said that they are about to stop, by whatever host or controller.
const STOPPING: &str = script!(
    "o=$(c ceph config-key dump tunerun/stopping/ -f json) || exit; \
     printf %s \"$o\" | j 'print(*sorted(int(k.rsplit(\".\",1)[1]) for k,v in d.items() if int(v)>int(a[0])))' \"$(date +%s)\""
);

/// How new the reports of placement groups are: for each OSD a line with its number, the map in which it came up (0 for
/// one that is down), and the oldest map that a report of its placement groups was made in.
const REPORTED: &str = script!(
    "for id do o=$(c ceph osd info \"$id\" -f json) || exit; \
       e=$(printf %s \"$o\" | j 'd=d[0] if isinstance(d,list) else d; print(d[\"up_from\"] if d[\"up\"] else 0)') || exit; \
       o=$(c ceph pg ls-by-osd \"$id\" -f json) || exit; \
       printf %s \"$o\" | j 'p=d if isinstance(d,list) else d.get(\"pg_stats\"); p is None and sys.exit(\"the manager tells of no placement groups yet\"); print(a[0],a[1],min([int(x[\"reported_epoch\"]) for x in p] or [int(a[1])]))' \"$id\" \"$e\" || exit; done"
);

/// Rows that look and never change anything.
pub const READING: &[Program] = &[
    Program::new(
        "ceph-daemons",
        &["sh", "-c", DAEMONS, "ceph-daemons"],
        "which daemons of Ceph the host runs",
    ),
    Program::new(
        "ceph-stopping",
        &["sh", "-c", STOPPING, "stopping"],
        "which OSDs are about to stop, by whatever host or controller",
    ),
    Program::new(
        "ceph-osd-reported",
        &["sh", "-c", REPORTED, "osd"],
        "how new the reports of the OSDs' placement groups are",
    ),
];
