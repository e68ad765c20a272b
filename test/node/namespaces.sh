#!/usr/bin/env bash
# Runs a command, as root, in network, mount and pid namespaces of its own in which one Kubernetes node can run: nothing in
# them can be reached from outside or reach out, and all that was started ends with the command.
#
#   namespaces.sh COMMAND...
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ "${1:-}" != --inside ]; then
  [ $# -gt 0 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
  # The pods' share of every cgroup hierarchy: one in version 2, one for each controller in version 1.
  mapfile -t hierarchies < <(findmnt -nlo TARGET -t cgroup,cgroup2 | grep ^/sys/fs/cgroup)
  dir=$(mktemp -d "${TMPDIR:-/tmp}/postern-node-XXXXXX")
  group=$(basename "$dir")
  clean_up() {
    for root in "${hierarchies[@]}"; do
      # A cgroup stays busy for a moment after its last process.
      for _ in {1..20}; do
        [ -d "$root/$group" ] || break
        find "$root/$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
      done
    done
    rm -rf "$dir"
  }
  trap clean_up EXIT
  for root in "${hierarchies[@]}"; do
    mkdir "$root/$group"
    [ ! -e "$root/$group/cpuset.mems" ] || [ -e "$root/cgroup.controllers" ] ||
      for file in cpuset.cpus cpuset.mems; do cat "$root/$file" >"$root/$group/$file"; done
  done

  # Should this script be killed, unshare dies with it, and with unshare all that is inside.
  setpriv --pdeathsig KILL \
    unshare --net --mount --pid --ipc --uts --fork --kill-child --mount-proc \
    "$home/namespaces.sh" --inside "$dir" "$@" <&0 &
  child=$!
  trap 'kill -KILL $child' INT TERM
  status=0
  wait $child || status=$?
  exit $status
fi

dir=$2
shift 2
address=10.95.0.1 dns=10.95.0.10

ip link set lo up
# A cable that ends in the air: an address that is not loopback, and a route for everything.
ip link add node0 type veth peer name node1
ip addr add $address/32 dev node0
ip addr add $dns/32 dev node0
ip link set node0 up
ip link set node1 up
ip route add default dev node0 src $address
echo 1 >/proc/sys/net/ipv4/ip_forward
[ -e /proc/sys/net/bridge ] || modprobe br_netfilter
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables

mount --make-rshared /
for path in /run/{containerd,netns} /var/lib/{cni,containerd,kubelet} /var/log/{containers,pods}; do
  mkdir -p "$dir$path" "$path"
  mount --bind "$dir$path" "$path"
done
cover() { mkdir -p "$dir/cover" && cat >"$dir/cover/$1" && mount --bind "$dir/cover/$1" "$2"; }
cover resolv.conf /etc/resolv.conf <<END
nameserver $dns
search default.svc.cluster.local svc.cluster.local cluster.local
options ndots:5
END
# The kubelet would set these for the whole machine; it lets them be when they look right.
echo 1 | cover overcommit_memory /proc/sys/vm/overcommit_memory
echo 10 | cover panic /proc/sys/kernel/panic
echo 1 | cover panic_on_oops /proc/sys/kernel/panic_on_oops
echo 1000000 | cover root_maxkeys /proc/sys/kernel/keys/root_maxkeys
echo 25000000 | cover root_maxbytes /proc/sys/kernel/keys/root_maxbytes

NODE_DIR="$dir" TMPDIR="$dir" exec "$@"
