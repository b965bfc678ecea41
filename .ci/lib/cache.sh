# Where builds are kept between runs, outside the clone. Sourced; $root is the clone.
: "${root:?}"

# What a cache was made from: the stages with their packages, the scripts, the lock file, the compiler.
cache_key() {
  { find "$root/.ci" "$root/Cargo.lock" -type f -print0 | sort -z | xargs -0 cat; rustc --version; } |
    sha256sum | cut -c1-16
}

# Prints the folder to build in, and forgets caches that nobody has used for two weeks.
cache_open() {
  local base=${XDG_CACHE_HOME:-$HOME/.cache}/tunerun-ci key
  if [ -n "$1" ]; then
    mktemp -d "${TMPDIR:-/tmp}/tunerun-ci-cold.XXXXXX"
    return
  fi
  key=$(cache_key)
  mkdir -p "$base/$key" && touch "$base/$key" || return 1
  find "$base" -mindepth 1 -maxdepth 1 -type d -mtime +14 -exec rm -rf {} +
  echo "$base/$key"
}
