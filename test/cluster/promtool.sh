#!/usr/bin/env bash
# Prints the path of promtool: the one on the PATH, else Debian's, unpacked and not installed.
set -euo pipefail

if found=$(command -v promtool); then
  echo "$found"
  exit
fi
dir=${XDG_CACHE_HOME:-$HOME/.cache}/postern/promtool
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9
if [ ! -x "$dir/usr/bin/promtool" ]; then
  command -v apt-get >/dev/null || { echo 'promtool.sh: needs promtool on the PATH, or Debian' >&2; exit 1; }
  cd "$dir"
  apt-get download -q prometheus >&2
  dpkg-deb -x prometheus_*.deb "$dir"
  rm prometheus_*.deb
fi
echo "$dir/usr/bin/promtool"
