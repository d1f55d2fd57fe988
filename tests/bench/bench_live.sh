#!/bin/sh
# bench_live.sh BUILDDIR [SECONDS [ROUNDS]] - packets that the kernel drops in a live capture: `rocewatch pcap -i` beside tcpdump.
#
# A generator floods a veth pair in a network namespace; tcpdump (to /dev/null, the same snap length) and rocewatch read the other end one
# after the other, ROUNDS times each. Needs root. Prints for each: frames seen, frames dropped, frames a second.
set -eu
. "$(dirname "$0")/need.sh"
need_built "$1" rocewatch
need_program tcpdump ip
build=$1 seconds=${2:-5} rounds=${3:-3}
gen=$build/tests/lab/roce_gen
[ -x "$gen" ] || { echo "bench_live.sh: build roce_gen first" >&2; exit 1; }
ns=rwlive$$
work=$(mktemp -d)
ip netns add "$ns" || { echo "bench_live.sh: network namespaces are not permitted here" >&2; exit 77; }
gens=""
# shellcheck disable=SC2317 # run by the trap
clean() {
	for p in $gens; do kill "$p" 2>/dev/null || :; done
	ip netns del "$ns"
	rm -rf "$work"
}
trap clean EXIT
in_ns() { ip netns exec "$ns" "$@"; }
in_ns ip link add rw0 mtu 9000 type veth peer name rw1
in_ns ip link set rw0 up
in_ns ip link set rw1 mtu 9000 up
in_ns ip addr add 192.0.2.1/24 dev rw0
in_ns ip neigh add 192.0.2.2 dev rw0 lladdr 02:00:00:00:00:02
for i in 1 2; do
	in_ns "$gen" --src 192.0.2.1 --dst 192.0.2.2 --rate 40G --duty 100 --mtu 256 --message 16 --seed "$i" --qpn "$((i * 4096))" \
		--sports "$((49152 + 1000 * i))-$((49152 + 1000 * i + 63))" >/dev/null &
	gens="$gens $!"
done
echo "reader     round      frames    dropped  frames/s"
for round in $(seq "$rounds"); do
	in_ns timeout -s INT "$seconds" tcpdump -i rw1 -s 192 -w /dev/null 'udp port 4791' 2>"$work/tcpdump" || :
	awk -v r="$round" -v s="$seconds" '/received by filter/ { seen = $1 } /dropped by kernel/ { drop = $1 }
		END { printf "tcpdump    %5d %11d %10d %9d\n", r, seen, drop, seen / s }' "$work/tcpdump"
	in_ns "$build/rocewatch" pcap -i rw1 --for "${seconds}s" --format json >"$work/rocewatch" 2>/dev/null || :
	python3 - "$work/rocewatch" "$round" "$seconds" <<-END
		import json, sys
		d = json.load(open(sys.argv[1]))
		seen, drop = d["packets"], d.get("kernel_drops") or 0
		print("rocewatch  %5s %11d %10d %9d" % (sys.argv[2], seen + drop, drop, (seen + drop) / float(sys.argv[3])))
	END
done
