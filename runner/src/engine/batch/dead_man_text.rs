//! The dead man of a batch: a timer on the host that takes the batch back unless somebody confirms it, as shell text.
use super::prepared::Batch;
use crate::transport::shell::word::{emit, quote};
use std::fmt::Write as _;

/// The timer. Its arguments: seconds, and the process group of whoever works here now. Who makes the folder `decided`
/// first decides; nobody takes a batch back without the host's lock.
const TIMER: &str = r#"#!/bin/sh
# Takes this batch back unless somebody confirms in time that the host can still be reached.
trap '' HUP; LC_ALL=C; export LC_ALL
B=$(cd "$(dirname "$0")" && pwd) || exit 1; D=${B%/*}; _s=${D%/*}
now() { read -r _u _x < /proc/uptime; _u=${_u%.*}; }
now; _end=$((_u + $1)); echo $$ > "$B/armed"
while now; [ "$_u" -lt "$_end" ]; do [ ! -d "$B/decided" ] || exit 0; sleep 1; done
# Whoever worked here is cut off, and holds the lock on.
exec 9>>"$_s/lock" || exit 1; _w=0
until flock -n 9; do
[ ! -d "$B/decided" ] || exit 0
case $_w in 0) _k=TERM;; 5) _k=KILL;; 60) break;; *) _k=;; esac
[ -z "$_k" ] || [ "${2:-0}" -lt 2 ] || kill -$_k -"$2" 2>/dev/null
_w=$((_w+1)); sleep 1
done
mkdir "$B/decided" 2>/dev/null || exit 0
echo fired > "$B/decided/by"; echo "${D##*/} dead-man" > "$_s/lock.run"
D="$D" sh "$B/undo.sh" > "$B/decided/said" 2>&1 9>&-; _rc=$?
if [ -f "$D/went" ]; then [ ! -f "$B/after.sh" ] || sh "$B/after.sh" >> "$B/decided/said" 2>&1 9>&- || _rc=1; [ $_rc != 0 ] || rm -f "$D/went"; fi
sync; echo $_rc > "$B/decided/ended"
"#;

/// Writes the commands that arm the timer, outside the session: by systemd where it runs the host, else by setsid. The
/// batch goes on only when the timer says that it runs.
pub(super) fn arm(batch: &Batch, run: &str, seconds: u32, out: &mut String) {
    let unit = quote(&format!("tunerun-dead-man-{run}-{}", batch.number));
    let _ = writeln!(
        out,
        "{} > \"$B/dead-man\" || f dead-man \"$B/dead-man\"
sync -- \"$B/dead-man\" 2>/dev/null || sync; _dm=; _dw=0
[ ! -d /run/systemd/system ] || ! command -v systemd-run >/dev/null || ! systemd-run --quiet --collect --unit={unit} -- sh \"$B/dead-man\" {seconds} \"$_g\" </dev/null >/dev/null 2>&1 9>&- || _dm=1
if [ -z \"$_dm\" ]; then setsid sh \"$B/dead-man\" {seconds} \"$_g\" </dev/null >/dev/null 2>&1 9>&- & fi
until [ -s \"$B/armed\" ]; do _dw=$((_dw+1)); if [ $_dw -gt 100 ]; then mkdir \"$B/decided\"; echo 'the timer that takes the change back by itself does not start: are setsid and flock there?' >&2; f dead-man; fi; sleep 0.1 9>&- 2>/dev/null || sleep 1 9>&-; done",
        emit(TIMER.as_bytes())
    );
}

/// Confirms a batch, unless its timer has decided otherwise. Section `dead-man` holds who decided, and once a taking
/// back has ended its status and words.
pub(crate) fn confirm(base: &str, run: &str, number: u32) -> String {
    format!(
        "_b={base}; B=$_b/{}/{number}; if mkdir \"$B/decided\" 2>/dev/null; then echo confirmed > \"$B/decided/by\"; fi
cat \"$B/decided/by\" 2>/dev/null || echo fired; [ ! -f \"$B/decided/ended\" ] || {{ cat \"$B/decided/ended\"; head -c 4096 \"$B/decided/said\"; }}; s dead-man 0\n",
        quote(run)
    )
}
