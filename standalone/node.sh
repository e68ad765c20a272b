#!/bin/sh
# Runs a program with the Node 26 of node_modules: `sh standalone/node.sh FILE ARGUMENT...`. That one needs libatomic, which
# a minimal Debian or Ubuntu lacks: there it is unpacked beside the modules, once, without root.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
beside=$here/node_modules/.cache/libatomic

runs() { node --version >/dev/null 2>&1; }
with() { LD_LIBRARY_PATH=$(echo "$beside"/usr/lib/*-linux-gnu)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} && export LD_LIBRARY_PATH; }

if ! runs; then
  said=$(node --version 2>&1 || true)
  case $said in
    *libatomic*)
      if [ ! -d "$beside/usr" ]; then
        echo 'This system has no libatomic, which Node 26 needs: unpacking it beside the modules, once' >&2
        sh "$here/standalone/servers/unpack-debian.sh" "$beside" libatomic1 || rm -rf "$beside"
      fi
      with
      ;;
  esac
  if ! runs; then
    echo "Cannot start: Node 26 does not run here: $said" >&2
    echo 'Debian and Ubuntu: apt-get install libatomic1. Fedora: dnf install libatomic. Alpine has no glibc, which it needs.' >&2
    exit 1
  fi
fi
case $(node --version) in
v2[6-9].* | v[3-9][0-9].*) ;;
*)
  echo "Cannot start: this is Node $(node --version), and Node 26 is not in node_modules. Run npm ci first, with optional dependencies." >&2
  exit 1
  ;;
esac
exec node "$@"
