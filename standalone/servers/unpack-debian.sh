#!/bin/sh
# unpack-debian.sh DIRECTORY PACKAGE...: fetches Debian packages, and what they need that is not installed, and unpacks
# them into DIRECTORY. Needs no root and installs nothing. Where the system has no package lists (a fresh container),
# private ones are fetched first.
set -eu
directory=$1
shift
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
work=$directory/fetch.$$
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/archives/partial" "$work/state/lists/partial"

fetch() {
  apt-get -q -y -o Acquire::Retries=0 -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o APT::Sandbox::User=root -o Debug::NoLocking=1 -o Dir::State::status=/var/lib/dpkg/status \
    -o "Dir::Cache::archives=$work/archives" -o "Dir::Cache::pkgcache=$work/pkgcache.bin" \
    -o "Dir::Cache::srcpkgcache=$work/srcpkgcache.bin" "$@"
}

if ! fetch install --download-only --no-install-recommends "$@" >"$work/said" 2>&1; then
  fetch -o "Dir::State=$work/state" update >"$work/said" 2>&1 &&
    fetch -o "Dir::State=$work/state" install --download-only --no-install-recommends "$@" >>"$work/said" 2>&1 || {
    tail -n 3 "$work/said" >&2
    exit 1
  }
fi
for archive in "$work"/archives/*.deb; do dpkg-deb -x "$archive" "$directory"; done
