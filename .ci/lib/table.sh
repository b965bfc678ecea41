# Reads the table of stages. Sourced; $root is the clone.
: "${root:?}"

# The rows without comments.
stage_rows() { grep -vE '^(#|$)' "$root/.ci/stages"; }

stage_names() { stage_rows | awk '{ print $1 }'; }

# The budget of a stage in seconds; fails if there is no such stage.
stage_budget() { stage_rows | awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }'; }

# The packages of all stages, one a line.
packages() { stage_rows | awk '{ for (n = 3; n <= NF; n++) print $n }' | sort -u; }

# Whether a stage runs what the stage `build` built.
stage_needs_build() {
  case $1 in packages | fmt | style | clippy | build | vm_image) return 1 ;; *) return 0 ;; esac
}
