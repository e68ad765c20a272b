#!/usr/bin/env bash
# Builds the binaries of a Kubernetes control plane from source, through the Go module proxy, and prints their directory
# last. It builds what is missing or was built from another go.mod, and keeps it outside the checkout.
#
#   build.sh [DIR]     DIR: ${XDG_CACHE_HOME:-~/.cache}/postern/cluster/<version>
#
# A machine that has them elsewhere names their directory in KUBEBUILDER_ASSETS, where nothing is written.
set -euo pipefail

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
  for name in kube-apiserver etcd kubectl; do
    [ -x "$KUBEBUILDER_ASSETS/$name" ] || { echo "build.sh: KUBEBUILDER_ASSETS has no $name" >&2; exit 1; }
  done
  echo "$KUBEBUILDER_ASSETS"
  exit
fi

home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(awk '/k8s.io\/kubernetes v/ { sub(/.* v/, "v"); print $1 }' "$home/kubernetes/go.mod")
dir=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/postern/cluster/$version}
mkdir -p "$dir/.built"
dir=$(cd "$dir" && pwd)

# Two runs at once build once.
exec 9>"$dir/.built/lock"
flock 9

export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false ${GOFLAGS:-}"

# These say which version it is: `kubectl version` and the API server's /version show them.
stamp=k8s.io/component-base/version
IFS=. read -r major minor _ <<<"${version#v}"
kubernetes="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor
  -X $stamp.gitTreeState=clean -X k8s.io/client-go/pkg/version.gitVersion=$version"

build() { # name, package, linker flags
  local key mark="$dir/.built/$1"
  key=$({ cat "$home"/kubernetes/go.{mod,sum} && echo "$3"; } | sha256sum)
  [ -x "$dir/$1" ] && [ "$(cat "$mark" 2>/dev/null)" = "$key" ] && return
  command -v go >/dev/null || { echo "build.sh: needs Go 1.25 or newer" >&2; exit 1; }
  echo "building $1" >&2
  (cd "$home/kubernetes" && go build -ldflags "$3" -o "$dir/$1.partial" "$2")
  mv "$dir/$1.partial" "$dir/$1" # A new file: the old one may be running.
  echo "$key" >"$mark"
}

build etcd go.etcd.io/etcd/server/v3 "-s -w"
for name in kube-apiserver kube-controller-manager kubectl; do
  build "$name" "k8s.io/kubernetes/cmd/$name" "$kubernetes"
done

echo "$dir"
