#!/bin/sh
# Installs the dependencies when they are missing or older than the lockfile says, and builds the console and the client
# when a source of theirs is newer than the build; otherwise returns at once. Runs before anything else exists, so it
# needs only a POSIX shell and npm.
set -eu
cd "$(dirname "$0")/.."
stamp=node_modules/.setup-stamp

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
    echo "setup: installing dependencies, about 1 GB; this takes a minute or two" >&2
    npm ci --no-audit --no-fund --loglevel=error >&2 &
    installing=$!
    seconds=0
    while kill -0 "$installing" 2>/dev/null; do
      sleep 1
      seconds=$((seconds + 1))
      [ $((seconds % 5)) -ne 0 ] || echo "setup: $seconds s, $(du -sm node_modules 2>/dev/null | cut -f 1) MB" >&2
    done
    wait "$installing"
    cp package-lock.json "$stamp"
  fi
  rmdir "$lock"
  trap - EXIT INT TERM
}

# Whether none of the sources given is newer than the first file, which the build writes last. Folders count too: a file
# that was removed makes its folder newer.
is_built() {
  last=$1
  shift
  [ -f "$last" ] && [ -z "$(find "$@" package-lock.json -newer "$last" 2>/dev/null | head -n 1)" ]
}

is_installed || install
# Without these two the service is whole but for them; the console's page then says how to make it.
if ! is_built build/console/index.html src/console src/client/json.ts scripts/console.ts; then
  echo "setup: bundling the console" >&2
  node_modules/.bin/node scripts/console.ts >&2 || echo "setup: the console could not be bundled; see above" >&2
fi
if ! is_built build/client/index.js src/client src/live clients/langchain clients/react scripts/client.ts; then
  echo "setup: building the client" >&2
  node_modules/.bin/node scripts/client.ts >&2 || echo "setup: the client could not be built; see above" >&2
fi
