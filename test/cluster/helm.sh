#!/usr/bin/env bash
# Builds Helm from source, through the Go module proxy, and prints the path of its binary last.
set -euo pipefail

home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(awk '/helm.sh\/helm\/v4 v/ { print $2 }' "$home/helm/go.mod")
dir=${XDG_CACHE_HOME:-$HOME/.cache}/postern/helm/$version
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9
if [ ! -x "$dir/helm" ]; then
  command -v go >/dev/null || { echo "helm.sh: needs Go 1.26 or newer" >&2; exit 1; }
  (cd "$home/helm" && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$dir/helm.partial" helm.sh/helm/v4/cmd/helm)
  mv "$dir/helm.partial" "$dir/helm"
fi
echo "$dir/helm"
