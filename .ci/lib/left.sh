# Finds and ends what a stage left running, in whatever session or group it hid. Sourced.

# The processes that carry the mark of a stage in their environment.
left_by() { grep -lzsxF "TUNERUN_CI_STAGE=$1" /proc/[0-9]*/environ | cut -d/ -f3; }

# Ends them, and prints what they were. True if there were some.
end_left_by() {
  local pid found=1
  for pid in $(left_by "$1"); do
    echo "left running: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
    kill -KILL "$pid" 2>/dev/null
    found=0
  done
  return $found
}
