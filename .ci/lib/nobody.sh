#!/bin/bash
# The tests that need no root, run by the user nobody from a folder of its own: plan, lint, documentation, units.
# What is built is taken along as a nextest archive, since nobody may not read the caches of root.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "this stage changes the user, so it needs root" >&2; exit 1; }

home=$(mktemp -d /var/tmp/tunerun-nobody.XXXXXX)
trap 'rm -rf "$home"' EXIT
chmod 755 "$home"
git ls-files -z -co --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - | tar -xf - -C "$home"
mkdir "$home/extracted" "$home/bin"
cp "$(readlink -f "$(command -v cargo-nextest)")" "$home/bin/"
cargo nextest archive --locked --workspace --lib --bins --archive-file "$home/tests.tar.zst" 2>&1 | tail -n 2
chown -R nobody "$home"

cd "$home"
env -i PATH="$home/bin:/usr/bin:/bin" HOME="$home" CI=true LC_ALL=C.UTF-8 NEXTEST_HIDE_PROGRESS_BAR=1 \
  setpriv --reuid=nobody --regid=nogroup --clear-groups \
  cargo-nextest nextest run --color never --profile ci --no-tests=fail --archive-file "$home/tests.tar.zst" \
  --extract-to "$home/extracted" --workspace-remap "$home"
