#!/bin/sh
# Installs the dependencies when they are missing or older than the lockfile says; otherwise returns at once.
# Runs before anything else exists, so it needs only a POSIX shell and npm.
set -eu
cd "$(dirname "$0")/.."
stamp=node_modules/.setup-stamp
if [ -f "$stamp" ] && cmp -s package-lock.json "$stamp"; then exit 0; fi
# Two commands started at once on a fresh clone must not install into each other's folder.
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
if [ -f "$stamp" ] && cmp -s package-lock.json "$stamp"; then exit 0; fi
echo "setup: installing dependencies" >&2
npm ci --no-audit --no-fund --loglevel=error >&2
cp package-lock.json "$stamp"
