#!/usr/bin/env bash
# Builds the rest of a Kubernetes node from source, beside the control plane of test/cluster, and prints the directory last.
set -euo pipefail

home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$("$home/../cluster/build.sh" | tail -1)
exec 9>"$dir/.built/node-lock"
flock 9
export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false ${GOFLAGS:-}"
version=$(awk '/k8s.io\/kubernetes v/ { sub(/.* v/, "v"); print $1 }' "$home/kubernetes/go.mod")
IFS=. read -r major minor _ <<<"${version#v}"
stamp=k8s.io/component-base/version
kubernetes="-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=$major -X $stamp.gitMinor=$minor -X $stamp.gitTreeState=clean"

build() { # module, name, package, linker flags
  local key mark="$dir/.built/$2"
  key=$({ cat "$home/$1"/go.{mod,sum} && echo "$4"; } | sha256sum)
  [ -x "$dir/$2" ] && [ "$(cat "$mark" 2>/dev/null)" = "$key" ] && return
  command -v go >/dev/null || { echo "build.sh: needs Go 1.26 or newer" >&2; exit 1; }
  echo "building $2" >&2
  (cd "$home/$1" && go build -ldflags "$4" -o "$dir/$2.partial" "$3")
  mv "$dir/$2.partial" "$dir/$2"
  echo "$key" >"$mark"
}

for name in kube-scheduler kubelet kube-proxy; do
  build kubernetes "$name" "k8s.io/kubernetes/cmd/$name" "$kubernetes"
done
build kubernetes pause ./pause "-s -w"
build coredns coredns . "-s -w"
echo "$dir"
