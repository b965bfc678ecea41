//! The table of programs that measure for a while, and of those that ask daemons on the host.
use super::Program;

/// What is measured.
pub(super) const READING: &[Program] = &[
    Program::new("samples", &["sh", "-c", SAMPLES, "samples"], "what a host did within some seconds"),
    Program::new(
        "ceph-osd-targets",
        &["sh", "-c", TARGETS, "ceph-osd-targets"],
        "osd_memory_target as the OSDs of this host hold it, by their sockets",
    ),
];

/// One interpreter for all sockets, by the protocol of Ceph's admin socket: a command as JSON and a NUL byte go in, four
/// bytes of length and the answer come out. So it needs no `ceph` on the host, which cephadm's hosts lack.
const TARGETS: &str = r#"y=/usr/bin/python3; [ -x $y ] || y=python3; exec $y -Ic '
import glob, json, socket, struct
def take(c, n):
    data = b""
    while len(data) < n:
        part = c.recv(n - len(data))
        if not part: raise OSError("cut off")
        data += part
    return data
for s in sorted(glob.glob("/run/ceph/*osd.*.asok") + glob.glob("/run/ceph/*/*osd.*.asok")):
    try:
        with socket.socket(socket.AF_UNIX) as c:
            c.settimeout(5)
            c.connect(s)
            c.sendall(json.dumps({"prefix": "config get", "var": "osd_memory_target"}).encode() + b"\0")
            print(s, json.dumps(json.loads(take(c, struct.unpack(">I", take(c, 4))[0]))), flush=True)
    except (OSError, ValueError): pass
'"#;

/// Takes `SECONDS`. Two looks with a sleep between; only what moved is printed, a line each, parted by tabs. Nothing is
/// written: one awk holds the first look, and perf's samples go through a pipe. Each part that waits has a time limit.
const SAMPLES: &str = r#"export LC_ALL=C; n=$1
case $n in ''|*[!0-9]*) echo 'seconds are a number' >&2; exit 64;; esac
awk -v n="$n" -v hz="$(getconf CLK_TCK 2>/dev/null || echo 100)" '
function num(x) { return sprintf("%.0f", x) }
function since(  line, f) { getline line < "/proc/uptime"; close("/proc/uptime"); split(line, f, " "); return f[1] }
function table(file, tag, late,   line, head, f, ncpu, m, i, j, id, d, total, list, name, D) {
  if ((getline line < file) <= 0) { if (late) print "none\t" file "\tit cannot be read"; close(file); return }
  ncpu = split(line, head, " ")
  while ((getline line < file) > 0) {
    m = split(line, f, " "); id = f[1]; sub(/:$/, "", id); total = 0
    for (i = 1; i <= ncpu && i < m; i++) {
      if (f[i+1] !~ /^[0-9]+$/) break
      if (late) { D[i] = f[i+1] - V[tag,id,i]; if (D[i] < 0) D[i] = 0; total += D[i] } else V[tag,id,i] = f[i+1]
    }
    if (!late || total == 0 || (tag == "irq" && total < 2 * n)) continue
    list = ""; name = ""
    for (j = 1; j < i; j++) if (D[j] * 200 >= total) list = list "," substr(head[j], 4) ":" num(D[j])
    for (j = i + 1; j <= m; j++) name = name " " f[j]
    if (rows[tag]++ < 2000) print tag "\t" id "\t" num(total) "\t" substr(list, 2) "\t" substr(name, 2)
  }
  close(file)
}
function cpus(late,   line, f, k, out) {
  while ((getline line < "/proc/stat") > 0) {
    if (line !~ /^cpu[0-9]/) continue
    split(line, f, " "); out = ""
    for (k = 2; k <= 9; k++) { if (late) out = out "\t" num(f[k] - S[f[1],k]); else S[f[1],k] = f[k] }
    if (late) print "cpu\t" substr(f[1], 4) out
  }
  close("/proc/stat")
}
function tasks(late,   cmd, line, p, q, f, b, e, id, u, s, w) {
  cmd = "printf \"%s\\0\" /proc/[0-9]*/task/[0-9]*/schedstat /proc/[0-9]*/task/[0-9]*/stat | xargs -0 grep -sH \"\""
  while ((cmd | getline line) > 0) {
    split(line, p, "/")
    if (p[6] ~ /^schedstat/) { split(p[6], q, /[: ]/); id = p[3] "/" p[5]; if (late) L[id] = q[3] - W[id]; else W[id] = q[3]; continue }
    b = index(line, "("); e = match(line, /\) [A-Za-z] -?[0-9]+ /)
    if (!b || !e) continue
    id = p[3] "/" p[5]; split(substr(line, e + 2), f, " "); u = f[12]; s = f[13]
    if (!late) { U[id] = u; K[id] = s; continue }
    comm = substr(line, b + 1, e - b - 1); gsub(/\t/, " ", comm)
    if (p[3] == p[5]) C[p[3]] = comm
    u -= U[id]; s -= K[id]; w = L[id] / 1e9 * hz
    if ((u + s + w) * 20 < n * hz) continue
    T[++many] = num(u) "\t" num(s) "\t" num(w) "\t" p[3] "\t" p[5] "\t" f[37] "\t" (int(f[7] / 2097152) % 2 ? "kernel" : "user"); P[many] = p[3]; M[many] = comm
  }
  close(cmd)
  for (k = 1; k <= many && k <= 400; k++) print "task\t" T[k] "\t" C[P[k]] "\t" M[k]
}
function pairs(cmd, tag, late,   line, at, f, k, w) {
  while ((cmd | getline line) > 0) {
    at = index(line, ":"); k = substr(line, 1, at - 1); split(substr(line, at + 1), f, " ")
    if (tag == "pressure") { w = k "\t" f[1]; sub(/^.*total=/, "", line); f[2] = line } else w = k "\t" f[1]
    if (late) { if (f[2] - N[tag,w] > 0) print tag "\t" w "\t" num(f[2] - N[tag,w]) } else N[tag,w] = f[2]
  }
  close(cmd)
}
function cards(late,   line, f, d) {
  while ((getline line < "/proc/net/dev") > 0) {
    if (line !~ /:/) continue
    d = line; sub(/:.*/, "", d); gsub(/ /, "", d); sub(/^[^:]*:/, "", line); split(line, f, " ")
    if (late) { if (f[2] + f[10] > R[d,2] + R[d,10]) print "card\t" d "\t" num(f[1] - R[d,1]) "\t" num(f[2] - R[d,2]) "\t" num(f[9] - R[d,9]) "\t" num(f[10] - R[d,10]) }
    else { R[d,1] = f[1]; R[d,2] = f[2]; R[d,9] = f[9]; R[d,10] = f[10] }
  }
  close("/proc/net/dev")
}
function look(late) {
  table("/proc/interrupts", "irq", late); table("/proc/softirqs", "softirq", late); cpus(late); tasks(late)
  pairs("grep -sH . /sys/devices/system/node/node*/numastat", "numa", late)
  pairs("grep -sH . /proc/pressure/cpu /proc/pressure/io /proc/pressure/memory", "pressure", late); cards(late)
}
BEGIN { look(0); t = since(); system("sleep " n); t = since() - t; print "took\t" t "\t" hz; look(1) }' & a=$!
p=$(
  if ! command -v perf >/dev/null 2>&1; then printf 'none\tperf\tit is not installed\n'; exit; fi
  why=$(timeout -k 2 10 perf record -q -a -B -N -F 199 -o - -- true 2>&1 >/dev/null) ||
    { printf 'none\tperf\t%s\n' "$(printf %s "${why:-it does not run}" | tr '\n\t' '  ' | cut -c1-300)"; exit; }
  timeout -k 2 $((n + 10)) perf record -q -a -B -N -F 199 -o - -- sleep "$n" 2>/dev/null |
    timeout -k 2 60 perf report -i - --stdio -q --no-children --percent-limit 0.3 --sort comm,dso,sym -t ';' 2>/dev/null |
    grep '^ *[0-9.]*% *;' | head -n 400 | cut -c1-240 | sed 's/^ */perf	/'
)
wait "$a"; s=$?
printf '%s\n' "${p:-$(printf 'none\tperf\tit gave no samples')}"
exit "$s""#;
