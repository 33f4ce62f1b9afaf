#!/bin/sh
# Installs the dependencies when they are missing or older than the lockfile says, and bundles the console when a source
# of it is newer than the bundle; otherwise returns at once. Runs before anything else exists, so it needs only a POSIX
# shell and npm.
set -eu
cd "$(dirname "$0")/.."
stamp=node_modules/.setup-stamp
page=build/console/index.html

is_installed() { [ -f "$stamp" ] && cmp -s package-lock.json "$stamp"; }

# Two commands started at once on a fresh clone must not install into each other's folder.
install() {
  lock=.setup-lock
  tries=0
  while ! mkdir "$lock" 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ]; then
      echo "setup: another set-up seems to be running; if none is, remove $lock and try again" >&2
      exit 1
    fi
    sleep 1
  done
  trap 'rmdir "$lock"' EXIT
  trap 'exit 1' INT TERM
  if ! is_installed; then
    echo "setup: installing dependencies" >&2
    npm ci --no-audit --no-fund --loglevel=error >&2
    cp package-lock.json "$stamp"
  fi
  rmdir "$lock"
  trap - EXIT INT TERM
}

# Folders count too: a file that was removed makes its folder newer.
is_bundled() {
  [ -f "$page" ] && [ -z "$(find src/console scripts/console.ts package-lock.json -newer "$page" 2>/dev/null | head -n 1)" ]
}

is_installed || install
if ! is_bundled; then
  echo "setup: bundling the console" >&2
  # Without its console the service is whole but for that page, which then says how to make it.
  node_modules/.bin/node scripts/console.ts >&2 || echo "setup: the console could not be bundled; see above" >&2
fi
