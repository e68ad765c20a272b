#!/usr/bin/env bash
# Makes a Docker archive of one layer from a directory: archive.sh NAME DIRECTORY OUT.tar [CONFIG]
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stable=(--owner=0 --group=0 --numeric-owner --sort=name --mtime=@0)

tar "${stable[@]}" -C "$2" -cf "$work/layer.tar" .
layer=$(sha256sum <"$work/layer.tar" | cut -d' ' -f1)
none='{}'
cat >"$work/config.json" <<END
{"architecture":"$(dpkg --print-architecture)","os":"linux","config":${4:-$none},
 "rootfs":{"type":"layers","diff_ids":["sha256:$layer"]}}
END
echo "[{\"Config\":\"config.json\",\"RepoTags\":[\"$1\"],\"Layers\":[\"layer.tar\"]}]" >"$work/manifest.json"
tar "${stable[@]}" -C "$work" -cf "$3.partial" manifest.json config.json layer.tar
mv "$3.partial" "$3"
