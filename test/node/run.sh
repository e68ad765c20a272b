#!/usr/bin/env bash
# npm run test:node: the tests on a real Kubernetes node with real pods. As root, on Debian.
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

[ "$(id -u)" = 0 ] || { echo 'test:node: must run as root' >&2; exit 1; }
for tool in containerd:containerd runc:runc nft:nftables ip:iproute2 buildah:buildah mmdebstrap:mmdebstrap; do
  command -v "${tool%:*}" >/dev/null || missing+=" ${tool#*:}"
done
[ -x /usr/lib/cni/bridge ] || missing+=" containernetworking-plugins"
[ -z "${missing:-}" ] || { echo "test:node: first apt-get install --no-install-recommends$missing" >&2; exit 1; }

IMAGES_DIR=$("$home/images.sh" | tail -1)
"$home/../cluster/helm.sh" >/dev/null
export IMAGES_DIR
# Each test goes on where the one before it ended.
exec "$home/namespaces.sh" npx --no-install vitest run --project node --bail 1 "$@"
