#!/bin/bash
# Checks of style that no compiler makes. Prints what breaks a rule, then one closing line.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
. "$root/.ci/lib/table.sh"
told=$(mktemp)
trap 'rm -f "$told"' EXIT

# rule NAME: reads what breaks the rule, one a line; nothing means that it holds.
rule() {
  local found
  found=$(cat)
  if [ -z "$found" ]; then
    echo good >>"$told"
  else
    echo bad >>"$told"
    printf 'broken: %s\n%s\n' "$1" "${found}" | sed '2,$s/^/  /'
  fi
}

sources() { git ls-files -co --exclude-standard -- "$@" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }
rust() { sources 'modules/*.rs' 'runner/*.rs' 'tests/*.rs'; }
texts() { sources . | grep -vE '^tests/data/|\.(png|bin)$|^Cargo.lock$'; }
# Folders of integration tests: tests/tests/NAME.rs or tests/tests/NAME/main.rs.
binaries() {
  sources 'tests/tests/*.rs' | sed -nE 's#^tests/tests/([^/]+)\.rs$#\1#p; s#^tests/tests/([^/]+)/main\.rs$#\1#p' | sort -u
}

rust | while read -r f; do
  n=$(wc -l <"$f")
  [ "$n" -le 500 ] || echo "$f: $n lines"
done | rule 'a source file has at most 500 lines'

rust | while read -r f; do
  head -n 1 "$f" | grep -q '^//!' || echo "$f"
done | rule 'a source file begins with one //! line that says what it is for'

rust | xargs grep -nE '\b(todo|unimplemented|dbg)!' | rule 'nothing is left to be done in the code'

# A public repository names nothing of the machine that it was written on.
texts | grep -v '^\.ci/lib/style\.sh$' | xargs grep -nE '\.\./shared|/work/(shared|main)\b|/root/(brief|w|t)/' |
  rule 'no file names a place outside the repository'

# Planning holds nothing to act with: no files, programs, sockets, environment, clock, or crates that have them.
sources 'modules/src/*.rs' |
  xargs grep -nE '\bstd::(fs|process|net|env|thread|os)\b|\bstd::time::(SystemTime|Instant)\b|std::\{[^}]*\b(fs|process|net|env|thread)\b|\b(tokio|russh|clap|minijinja|nix|libc|rand)::' |
  grep -vE 'use std::net::(\{(Ip(v[46])?Addr(, )?)+\}|Ip(v[46])?Addr);$' | # addresses are only values
  rule 'modules/ is pure'
grep -nE '^(tokio|russh|clap|minijinja|nix|libc|rand)\b' modules/Cargo.toml | rule 'modules/ depends on nothing that acts'
grep -nE 'path *= *"\.\./(runner|tests)"|^(tunerun|tests)\b' modules/Cargo.toml | rule 'modules/ points at no other crate'
grep -nE '^tests\b' runner/Cargo.toml | rule 'runner/ does not point at tests/'

sources 'runner/src/*.rs' | grep -vE '^runner/src/(main|cli/.*|.*tests?(/.*)?)\.rs$|/tests/' |
  xargs grep -nE '\b(print|println|eprint|eprintln)!|\bprocess::exit\b' | rule 'the runner'"'"'s library never prints and never exits'

{
  comm -23 <(binaries) <(stage_names | sed -n 's/^tests://p' | sort -u) | sed 's/$/: has no row in .ci\/stages/'
  comm -13 <(binaries) <(stage_names | sed -n 's/^tests://p' | sort -u) | sed 's/$/: is a stage without a test binary/'
} | rule 'every test binary is a stage of .ci/stages'

sources '*.md' | while read -r f; do
  grep -oE '\]\([^)#:]+\)' "$f" | sed 's/^](//; s/)$//' | while read -r link; do
    [ -e "$(dirname "$f")/$link" ] || echo "$f: $link"
  done
done | rule 'links in documents lead to files that are there'

sed -n "/TABLE: &'static str/,/\";\$/p" runner/src/cli/exit.rs | sed '1d; s/";$//' | while IFS= read -r line; do
  grep -qxF -- "$line" README.md || echo "not in README.md: $line"
done | rule 'the README has the exit codes of --help'

if command -v shellcheck >/dev/null; then
  { sources '*.sh' '.ci/run' '.ci/stage' '.ci/lib' 'tests/packages'; } | sort -u | while read -r f; do
    head -n 1 "$f" | grep -q '^#!.*sh' || [ "${f%.sh}" != "$f" ] || continue
    shellcheck -x -s bash -P SCRIPTDIR -e SC1090,SC1091,SC2283 -f gcc "$f"
  done | rule 'shell scripts pass shellcheck'
else
  echo 'shellcheck is not installed' | rule 'shell scripts pass shellcheck'
fi

bad=$(grep -c bad "$told")
echo "$(grep -c good "$told") passed, $bad failed, 0 skipped"
[ "$bad" -eq 0 ]
