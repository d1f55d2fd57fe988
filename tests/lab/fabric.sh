#!/bin/bash
# fabric.sh - a leaf-spine fabric in Linux network namespaces: 2 spines, 4 leaves, 2 hosts per leaf.
#
#   fabric.sh [--prefix NAME] up [--owner PID] | down | status | ns NODE | address NODE | dir | wires | probe LEAF HOST DST FROM TO
#
# Everything carries one name prefix and lives in one directory (/run/rocewatch-lab/PREFIX), so several labs stand side by side
# and "down" finds what "up" made even after a crash. "up" first removes an old lab of the same name. With --owner the lab
# removes itself when that process ends, however it ends. No packet leaves the namespaces made here.
#
# Ports as a network engineer would name them: on a leaf swp1, swp2 go to its hosts and swp51, swp52 to spine1, spine2; on a
# spine swpN goes to leafN. Uplinks are shaped to UPLINK_MBIT with tbf, so that utilisation means something on a small machine,
# and snmpd reports that speed. Each switch runs a real snmpd (v2c) and a real lldpd as its AgentX subagent, under its own
# host name, reachable only over the management network of the namespace PREFIX-noc.
set -u -o pipefail

SPINES=2 LEAVES=4 HOSTS_PER_LEAF=2
UPLINK_MBIT=${RW_LAB_UPLINK_MBIT:-100}
MTU=4500              # a RoCE MTU of 4096 and its headers
BURST=5kb             # of the shapers: little more than a packet, so that a millisecond's rate is near the line's
DEADLINE_S=${RW_LAB_DEADLINE_S:-30}
IF_TABLE_CACHE=1.3.6.1.4.1.8072.1.5.3.1.2.1.3.6.1.2.1.2.2 # nsCacheTimeout of IF-MIB::ifTable; ifXTable shares that cache

prefix=rwlab
die() { echo "fabric: $*" >&2; exit 1; }
usage() { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# wait_for WHAT COMMAND... - until the command succeeds; gives up with one line after DEADLINE_S.
wait_for() {
	local what=$1 end=$((SECONDS + DEADLINE_S))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || die "$what: not after $DEADLINE_S s (see $dir)"
		sleep 0.05
	done
}

nodes_switches() {
	local i
	for ((i = 1; i <= SPINES; i++)); do echo spine$i; done
	for ((i = 1; i <= LEAVES; i++)); do echo leaf$i; done
}
nodes() {
	local i
	nodes_switches
	for ((i = 1; i <= LEAVES * HOSTS_PER_LEAF; i++)); do echo host$i; done
	echo noc
}

ns() { echo "$prefix-$1"; }
number() { echo "${1//[!0-9]/}"; }
# Management addresses: the NOC is .1, spines .11 up, leaves .21 up. Host N is 10.1.N.2, its leaf port 10.1.N.1.
mgmt_address() {
	case $1 in
	noc) echo 10.255.0.1 ;;
	spine*) echo 10.255.0.$((10 + $(number "$1"))) ;;
	leaf*) echo 10.255.0.$((20 + $(number "$1"))) ;;
	host*) echo "10.1.$(number "$1").2" ;;
	*) die "$1: no such node" ;;
	esac
}

require_rights() {
	local probe=$prefix-probe$$
	[ "$(id -u)" = 0 ] || { echo "fabric: needs root (network namespaces, snmpd, packet capture)" >&2; exit 77; }
	if ! ip netns add "$probe" 2>/dev/null; then
		echo "fabric: network namespaces are not permitted here (container without CAP_SYS_ADMIN?)" >&2
		exit 77
	fi
	local said
	if ! said=$(ip -n "$probe" link add v0 type veth peer name v1 2>&1); then
		ip netns del "$probe"
		echo "fabric: veth links are not permitted or not in this kernel: $said" >&2
		exit 77
	fi
	ip netns del "$probe"
	local tool
	for tool in snmpd lldpd snmpget snmpset tc unshare; do
		command -v $tool >/dev/null || die "$tool is not installed"
	done
}

# --- links ---------------------------------------------------------------------------------------------------------------

# link NODE_A PORT_A ADDR_A NODE_B PORT_B ADDR_B: one veth pair, both ends addressed and up.
link() {
	local a b
	a=$(ns "$1") b=$(ns "$4")
	ip -n "$a" link add "$2" mtu $MTU type veth peer name "$5" mtu $MTU netns "$b" || return 1
	ip -n "$a" -batch - <<-END || return 1
		link set $2 up
		addr add $3 dev $2
	END
	ip -n "$b" -batch - <<-END
		link set $5 up
		addr add $6 dev $5
	END
}

shape() { # NODE PORT: what leaves this port goes at most at the declared speed
	ip netns exec "$(ns "$1")" tc qdisc add dev "$2" root tbf rate ${UPLINK_MBIT}mbit burst $BURST latency 20ms
}

build_namespaces() {
	local n
	for n in $(nodes); do
		ip netns add "$(ns "$n")" || return 1
		# IPv6 off: no router solicitations or MLD in the counters, so that a paused fabric is a silent one.
		ip netns exec "$(ns "$n")" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 \
			net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 net.ipv4.ip_forward=1 \
			net.ipv4.fib_multipath_hash_policy=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.icmp_ratelimit=0 || return 1
		ip -n "$(ns "$n")" link set lo up || return 1
	done
}

build_links() {
	local l s h port paths
	for ((l = 1; l <= LEAVES; l++)); do
		for ((port = 1; port <= HOSTS_PER_LEAF; port++)); do
			h=$(((l - 1) * HOSTS_PER_LEAF + port))
			link leaf$l swp$port 10.1.$h.1/24 host$h eth0 10.1.$h.2/24 || return 1
			ip -n "$(ns host$h)" route add default via 10.1.$h.1 || return 1
		done
		paths=""
		for ((s = 1; s <= SPINES; s++)); do
			link leaf$l swp$((50 + s)) 10.2.$((l * 10 + s)).0/31 spine$s swp$l 10.2.$((l * 10 + s)).1/31 || return 1
			shape leaf$l swp$((50 + s)) && shape spine$s swp$l || return 1
			paths="$paths nexthop via 10.2.$((l * 10 + s)).1 dev swp$((50 + s))"
			for ((port = 1; port <= HOSTS_PER_LEAF; port++)); do
				h=$(((l - 1) * HOSTS_PER_LEAF + port))
				ip -n "$(ns spine$s)" route add 10.1.$h.0/24 via 10.2.$((l * 10 + s)).0 || return 1
			done
		done
		# shellcheck disable=SC2086
		ip -n "$(ns leaf$l)" route add 10.1.0.0/16 $paths || return 1
	done
}

build_management() {
	local n noc
	noc=$(ns noc)
	ip -n "$noc" link add mgmt type bridge && ip -n "$noc" addr add 10.255.0.1/24 dev mgmt && ip -n "$noc" link set mgmt up || return 1
	for n in $(nodes_switches); do
		ip -n "$noc" link add "$n" type veth peer name mgmt0 netns "$(ns "$n")" &&
			ip -n "$noc" link set "$n" master mgmt up &&
			ip -n "$(ns "$n")" addr add "$(mgmt_address "$n")/24" dev mgmt0 &&
			ip -n "$(ns "$n")" link set mgmt0 up || return 1
	done
}

# Neighbours are pinned, so that no ARP is counted while traffic is paused.
pin_neighbours() {
	local n ports port peer_ns peer_port mac
	while read -r n port peer_ns peer_port; do
		mac=$(ip netns exec "$(ns "$peer_ns")" cat "/sys/class/net/$peer_port/address") || return 1
		ports=$(ip -n "$(ns "$peer_ns")" -4 -o addr show dev "$peer_port" | awk '{ sub("/.*", "", $4); print $4 }')
		ip -n "$(ns "$n")" neigh replace "$ports" lladdr "$mac" dev "$port" nud permanent || return 1
	done < <(wires_both_ways)
}
wires() { # NODE PORT NODE PORT of every fabric link
	local l s h port
	for ((l = 1; l <= LEAVES; l++)); do
		for ((s = 1; s <= SPINES; s++)); do echo leaf$l swp$((50 + s)) spine$s swp$l; done
		for ((port = 1; port <= HOSTS_PER_LEAF; port++)); do
			h=$(((l - 1) * HOSTS_PER_LEAF + port))
			echo leaf$l swp$port host$h eth0
		done
	done
}
wires_both_ways() { wires | awk '{ print $1, $2, $3, $4; print $3, $4, $1, $2 }'; }

# --- daemons -------------------------------------------------------------------------------------------------------------

start_snmpd() { # NODE
	local n=$1 d=$dir/$1 port
	mkdir -p "$d/persist"
	{
		echo "rocommunity $(cat "$dir/community") 10.255.0.0/24"
		echo "rwcommunity $(cat "$dir/community-rw") 10.255.0.1/32"
		echo "sysName $n"
		echo "sysDescr rocewatch lab $n (Linux, net-snmp)"
		echo "master agentx"
		echo "agentXSocket $d/agentx.sock"
		echo "agentXTimeout 5"
		for port in $(ports_of "$n"); do echo "interface $port 6 $((UPLINK_MBIT * 1000000))"; done
	} >"$d/snmpd.conf"
	MIBS="" SNMP_PERSISTENT_DIR=$d/persist SNMPCONFPATH=$d setsid ip netns exec "$(ns "$n")" \
		snmpd -f -C -c "$d/snmpd.conf" -p "$d/snmpd.pid" -Lf "$d/snmpd.log" -r "udp:$(mgmt_address "$n"):161" </dev/null >>"$d/snmpd.log" 2>&1 &
}
ports_of() { # shaped ports of a switch
	local i
	case $1 in
	leaf*) for ((i = 1; i <= SPINES; i++)); do echo swp$((50 + i)); done ;;
	spine*) for ((i = 1; i <= LEAVES; i++)); do echo swp$i; done ;;
	esac
}

start_lldpd() { # NODE
	local n=$1 d=$dir/$1
	# lldpd keeps its sockets and its chroot in /run/lldpd; "ip netns exec" gives each its own mount namespace, where that is private.
	setsid ip netns exec "$(ns "$n")" unshare -u sh -c '
		hostname "$1" && mkdir -p /run/lldpd && mount -t tmpfs lab /run/lldpd &&
		printf "configure system hostname %s\\nconfigure lldp tx-interval 1\\n" "$1" >/run/lldpd/fast && chmod 755 /run/lldpd &&
		exec lldpd -d -x -X "$2/agentx.sock" -u /run/lldpd/control -O /run/lldpd/fast -I "swp*" -S "rocewatch lab $1"
	' sh "$n" "$d" </dev/null >>"$d/lldpd.log" 2>&1 &
	echo $! >"$d/lldpd.pid"
}
lldpd_slow() { # back to the standard's 30 s once all have met: a paused fabric should be quiet
	nsenter -t "$(cat "$dir/$1/lldpd.pid")" -m -n -r lldpcli -u /run/lldpd/control configure lldp tx-interval 30
}

snmp_noc() { # TOOL COMMUNITY_FILE NODE ARGS...
	local tool=$1 community n=$3
	community=$(cat "$dir/$2")
	shift 3
	MIBS="" ip netns exec "$(ns noc)" "$tool" -v2c -c "$community" -t 1 -r 0 -On -Oq "$(mgmt_address "$n")" "$@"
}
snmpd_answers() { snmp_noc snmpget community "$1" 1.3.6.1.2.1.1.5.0 | grep -q "$1"; }
cache_short() { # as short as snmpd allows: see README.md
	snmp_noc snmpset community-rw "$1" $IF_TABLE_CACHE i 0 && snmp_noc snmpget community "$1" $IF_TABLE_CACHE | grep -q ' 0$'
}
lldp_complete() { # every switch neighbour of this switch is in its LLDP-MIB
	local n=$1 want
	want=$(wires_both_ways | awk -v n="$n" '$1 == n && $3 !~ /^host/' | wc -l)
	[ "$(snmp_noc snmpbulkwalk community "$n" 1.0.8802.1.1.2.1.4.1.1.9 | grep -c -E 'leaf|spine')" -ge "$want" ]
}

# --- verbs ---------------------------------------------------------------------------------------------------------------

# Kills what runs in the lab's namespaces (by id) and removes them. Safe to call at any time, any number of times.
# With --owner it does so only if the lab is still that process's: a later one of the same name stays.
down() {
	local n pids left end
	if [ "${1:-}" = --owner ] && [ "$(cat "$dir/owner" 2>/dev/null)" != "${2:-}" ]; then
		return 0
	fi
	for n in $(nodes); do
		[ -e "/run/netns/$(ns "$n")" ] || continue
		pids=$(ip netns pids "$(ns "$n")" 2>/dev/null)
		# shellcheck disable=SC2086
		[ -z "$pids" ] || kill -TERM $pids 2>/dev/null
	done
	end=$((SECONDS + 3))
	while :; do
		left=""
		for n in $(nodes); do
			[ -e "/run/netns/$(ns "$n")" ] && left="$left $(ip netns pids "$(ns "$n")" 2>/dev/null)"
		done
		[ -n "${left// /}" ] || break
		# shellcheck disable=SC2086
		[ $SECONDS -lt $end ] || { kill -KILL $left 2>/dev/null; break; }
		sleep 0.05
	done
	for n in $(nodes); do
		[ -e "/run/netns/$(ns "$n")" ] && ip netns del "$(ns "$n")"
	done
	rm -rf -- "$dir"
	return 0
}

up() {
	local owner="" n end
	while [ $# -gt 0 ]; do
		case $1 in
		--owner) owner=${2:?--owner needs a process id}; shift 2 ;;
		*) usage ;;
		esac
	done
	require_rights
	down
	(umask 077 && mkdir -p "$dir") || die "cannot make $dir"
	# Anything that goes wrong from here on takes the half-built lab away again.
	trap 'down' EXIT
	trap 'exit 130' INT TERM HUP
	(umask 077; head -c 12 /dev/urandom | base64 | tr -d '+/=\n' >"$dir/community"; head -c 12 /dev/urandom | base64 | tr -d '+/=\n' >"$dir/community-rw")
	build_namespaces && build_links && build_management && pin_neighbours || die "the links could not be built"
	for n in $(nodes_switches); do start_snmpd "$n"; done
	for n in $(nodes_switches); do wait_for "snmpd of $n" snmpd_answers "$n"; done
	for n in $(nodes_switches); do
		start_lldpd "$n"
		wait_for "cache of $n" cache_short "$n"
	done
	for n in $(nodes_switches); do wait_for "LLDP neighbours of $n" lldp_complete "$n"; done
	for n in $(nodes_switches); do wait_for "lldpd of $n" lldpd_slow "$n"; done
	wires >"$dir/wires"
	if [ -n "$owner" ]; then
		echo "$owner" >"$dir/owner"
		setsid bash -c 'tail --pid="$1" -f /dev/null; exec "$2" --prefix "$3" down --owner "$1"' bash "$owner" "$self" "$prefix" </dev/null >/dev/null 2>&1 &
	fi
	trap - EXIT INT TERM HUP
}

status() {
	local n bad=0
	for n in $(nodes); do
		if [ ! -e "/run/netns/$(ns "$n")" ]; then
			echo "$n: no namespace"; bad=1; continue
		fi
		case $n in
		leaf* | spine*)
			snmpd_answers "$n" && lldp_complete "$n" && echo "$n: up, snmpd and lldpd answer at $(mgmt_address "$n")" || { echo "$n: up, but snmpd or lldpd is silent"; bad=1; } ;;
		*) echo "$n: up" ;;
		esac
	done
	return $bad
}

# Which of the leaf's ports does the kernel choose for UDP source ports FROM..TO towards 4791? Lines "SPORT PORT".
# The hash is seeded anew in each namespace, so this has to be asked, not known.
probe() { # LEAF HOST DST FROM TO
	local leaf=$1 host=$2 dst=$3 from=$4 to=$5 in
	in=swp$((($(number "$host") - 1) % HOSTS_PER_LEAF + 1))
	seq "$from" "$to" | sed "s/.*/route get $(mgmt_address "$dst") from $(mgmt_address "$host") iif $in ipproto 17 sport & dport 4791/" |
		ip netns exec "$(ns "$leaf")" ip -oneline -batch - | grep -o ' dev swp[0-9]*' | awk -v p="$from" '{ print p++, $2 }'
}

self=$(readlink -f "$0")
verb=""
while [ $# -gt 0 ]; do
	case $1 in
	--prefix) prefix=${2:?--prefix needs a name}; shift 2 ;;
	-h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) verb=$1; shift; break ;;
	esac
done
[[ $prefix =~ ^[a-z][a-z0-9]{0,15}$ ]] || die "prefix $prefix: up to 16 lower-case letters and digits"
dir=/run/rocewatch-lab/$prefix
case $verb in
up) up "$@" ;;
down) down "$@" ;;
status) status ;;
ns) ns "${1:?node}" ;;
address) mgmt_address "${1:?node}" ;;
dir) echo "$dir" ;;
wires) wires ;;
probe) [ $# = 5 ] || usage; probe "$@" ;;
*) usage ;;
esac
