# Reads the closing lines of test runners, and sums them up. Sourced.
passed=0 failures=0 skipped=0

# The closing lines of all runners in a log: nextest, libtest, and our own `N passed, N failed, N skipped`.
closing_lines() {
  grep -E '^ *Summary \[|^test result: |^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1" | sed 's/^ *//'
}

# The sum of the numbers before a word in the closing lines of a log.
count_word() {
  closing_lines "$1" | grep -oE "[0-9]+ ($2)\b" | awk '{ sum += $1 } END { print sum + 0 }'
}

# Adds a stage: what its runners say, or itself as one check where none spoke or it failed beside them.
count_add() {
  local log=$1 rc=$2 bad
  bad=$(count_word "$log" 'failed|timed out|exec failed')
  passed=$((passed + $(count_word "$log" passed)))
  skipped=$((skipped + $(count_word "$log" 'skipped|ignored')))
  failures=$((failures + bad))
  if [ "$rc" -ne 0 ]; then
    [ "$bad" -gt 0 ] || failures=$((failures + 1))
  elif [ -z "$(closing_lines "$log")" ]; then
    passed=$((passed + 1))
  fi
}

# Adds a stage that could not begin.
count_skip() { skipped=$((skipped + 1)); }
