//! The texts of rows that look at guests and power them off and on.

/// Lists a QEMU's arguments, the linker's variables, the mapped libraries, the KiB of huge pages that are mapped and
/// the CPUs that its threads may run on. The argument is its number or the file that holds it. One that systemd has just
/// forked is waited for: it is QEMU a moment later.
pub(super) const PROCESS: &[&str] = &[
    "sh",
    "-c",
    r#"p=$1; case $p in */*) p=$(cat -- "$p" 2>/dev/null) || exit 3;; esac
[ -n "$p" ] && [ -r "/proc/$p/cmdline" ] || exit 3
i=0; while [ $i -lt 30 ] && e=$(readlink "/proc/$p/exe"); do
  case ${e##*/} in systemd*) ;; *) ! grep -q '/libc[.-]' "/proc/$p/maps" || break ;; esac
  i=$((i + 1)); sleep 0.1
done
tr '\000' '\n' < "/proc/$p/cmdline" | sed 's/^/arg /'
tr '\000' '\n' < "/proc/$p/environ" 2>/dev/null | sed -n 's/^LD_/env LD_/p'
sed -n 's,^[^/]* \(/.*\.so[^ ]*\).*,lib \1,p' "/proc/$p/maps" 2>/dev/null | sort -u
sed -n 's/^[A-Z][a-z]*_Hugetlb: *\([0-9]*\) kB$/huge \1/p' "/proc/$p/smaps_rollup" 2>/dev/null
for t in "/proc/$p/task"/*; do
  sed -n -e 's/^Name:[[:space:]]*//p' -e 's/^Cpus_allowed_list:[[:space:]]*//p' "$t/status" 2>/dev/null |
    { read -r n; read -r c && echo "cpus ${t##*/} $c $n"; }
done
exit 0"#,
    "qemu-process",
];

/// Powers a guest off and on: UUID SECONDS destroy|'' FROM TO. One that is off stays off. 75: it is not the time, and
/// nothing was done. 3: it did not shut down in time and runs on. 4: it is off and does not start. It is asked again
/// every 10 s: a guest that is still booting does not hear it.
pub(super) const CYCLE: &[&str] = &[
    "sh",
    "-c",
    r#"v() { timeout -k 5 60 virsh -q "$@"; }
state() { v domstate --domain "$u"; }
u=$1; n=$(date +1%H%M)
if [ -n "$4" ]; then
  f=1$4; t=1$5
  if [ "$f" -le "$t" ]; then [ "$n" -ge "$f" ] && [ "$n" -lt "$t" ]; else [ "$n" -ge "$f" ] || [ "$n" -lt "$t" ]; fi ||
    { echo "it is ${n#1} by the host's clock, not between $4 and $5: nothing was done" >&2; exit 75; }
fi
s=$(state) || exit 1
case $s in
  'shut off' | crashed) echo "it is off and stays off"; exit 0 ;;
  pmsuspended | paused) echo "it is $s: it cannot shut down by itself; resume it, or set after_timeout: destroy" >&2; [ -n "$3" ] || exit 3 ;;
  *) v shutdown --domain "$u" || [ -n "$3" ] || exit 3 ;;
esac
now=$(date +%s); end=$((now + $2)); again=$((now + 10))
while s=$(state) && [ "$s" != 'shut off' ]; do
  now=$(date +%s)
  if [ "$now" -lt "$end" ] && [ "$now" -ge "$again" ]; then v shutdown --domain "$u" >/dev/null 2>&1; again=$((now + 10)); fi
  if [ "$now" -ge "$end" ]; then
    [ -n "$3" ] || { echo "it is not down after $2 s ($s) and may still go down: it was asked to" >&2; exit 3; }
    v destroy --domain "$u" || exit 3
  fi
  sleep 1
done
[ "$s" = 'shut off' ] || { echo "libvirt does not say how it stands" >&2; exit 3; }
v start --domain "$u" || { echo "it is off and does not start" >&2; exit 4; }"#,
    "guest-power-cycle",
];

/// Starts a guest that is off.
pub(super) const START: &[&str] = &[
    "sh",
    "-c",
    r#"[ "$(timeout -k 5 60 virsh -q domstate --domain "$1")" != 'shut off' ] || timeout -k 5 60 virsh -q start --domain "$1""#,
    "guest-start",
];
