#!/bin/bash
# The tests that need no root, run by the user nobody: plan, lint, documentation, units.
# What is built is taken along as a nextest archive. Tests find their data where the clone was when they were built, a
# place that nobody may not enter: so a copy of the clone is mounted there, in a mount namespace that ends with this.
set -euo pipefail
cd "$(dirname "$0")/../.."
clone=$PWD
[ "$(id -u)" = 0 ] || { echo "this stage changes the user, so it needs root" >&2; exit 1; }
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }

# The second half, in the namespace: $1 is the folder made by the first.
if [ -n "${1-}" ]; then
  home=$1 closed=
  # The first folder on the way to the clone that nobody may not pass is covered by one with the way alone.
  for ((at = 1; at <= $(tr -cd / <<<"$clone" | wc -c); at++)); do
    folder=$(cut -d/ -f"1-$((at + 1))" <<<"$clone")
    as_nobody test -x "$folder" || { closed=$folder; break; }
  done
  if [ -n "$closed" ]; then
    mount -t tmpfs -o mode=755 tunerun-ci "$closed"
    mkdir -p "$clone"
  fi
  mount --bind "$home/clone" "$clone"
  cd "$clone"
  as_nobody env -i PATH="$home/bin:/usr/bin:/bin" HOME="$home" CI=true LC_ALL=C.UTF-8 NEXTEST_HIDE_PROGRESS_BAR=1 \
    cargo-nextest nextest run --color never --profile ci --no-tests=fail --archive-file "$home/tests.tar.zst" \
    --extract-to "$home/extracted" --workspace-remap "$clone"
  exit
fi

home=$(mktemp -d /var/tmp/tunerun-nobody.XXXXXX)
trap 'rm -rf "$home"' EXIT
mkdir "$home/clone" "$home/extracted" "$home/bin"
git ls-files -z -co --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - | tar -xf - -C "$home/clone"
cp "$(readlink -f "$(command -v cargo-nextest)")" "$home/bin/"
cargo nextest archive --locked --workspace --lib --bins --archive-file "$home/tests.tar.zst" 2>&1 | tail -n 2
chmod 755 "$home"
chown -R nobody "$home"
unshare --mount --propagation private bash "$clone/.ci/lib/nobody.sh" "$home"
