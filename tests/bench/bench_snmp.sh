#!/bin/bash
# bench_snmp.sh BUILDDIR [SWITCHES] - CPU per million SNMP values, ours and peers', on the same simulated switches in one run.
#
# fast_agent answers for all switches, so that the poller is what is measured; all its counters move (-g). Every side asks for the same columns: 13 of IF-MIB,
# PFC per priority (2 x 8) and queue statistics (8 queues x 8 types) of each of 64 ports. What counts is CPU of the whole process
# tree (user + system, all threads), without its start unless said, and the counters each side itself holds at its end:
#   rocewatch            complete polls in its database (rows of all ports, committed) x counters of a switch. It adds the eight
#                        queue statistics up to three metrics; the check is on what a complete poll must leave.
#   snmp_exporter        lines of its exposition, fetched over HTTP
#   collectd             values in its cache times the rounds it made
#   snmpbulkwalk         lines printed, one process per switch and column
# A peer that is not installed is named and skipped. Everything is on loopback (127.1.x.y).
#   FOR=36 INTERVAL=5s  rocewatch's run; the sonic profile polls no faster than 5 s
#   DEAD=K               the last K switches are silent; ONLY=1: no peers
set -u
. "$(dirname "$0")/need.sh"
need_built "$1" rocewatch fast_agent
need_program sqlite3
build=$(cd "$1" && pwd)
switches=${2:-64}
rounds=${ROUNDS:-6}
port=${PORT:-21161}
ports_per_switch=64
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
if_columns="1.3.6.1.2.1.2.2.1.8 1.3.6.1.2.1.2.2.1.13 1.3.6.1.2.1.2.2.1.14 1.3.6.1.2.1.2.2.1.19 1.3.6.1.2.1.2.2.1.20
1.3.6.1.2.1.31.1.1.1.6 1.3.6.1.2.1.31.1.1.1.7 1.3.6.1.2.1.31.1.1.1.8 1.3.6.1.2.1.31.1.1.1.9
1.3.6.1.2.1.31.1.1.1.10 1.3.6.1.2.1.31.1.1.1.11 1.3.6.1.2.1.31.1.1.1.12 1.3.6.1.2.1.31.1.1.1.13"
prio_columns="1.3.6.1.4.1.9.9.813.1.2.1.2 1.3.6.1.4.1.9.9.813.1.2.1.3"
queue_column="1.3.6.1.4.1.9.9.580.1.5.5.1.4"
per_switch=$((ports_per_switch * (13 + 16 + 64)))

addr() { echo "127.1.$((($1) / 250)).$((($1) % 250 + 1))"; }
cpu_of() { awk '{print ($14+$15)/100}' "/proc/$1/stat"; } # with USER_HZ 100: the tree is one process here
row() { awk -v n="$1" -v c="$2" -v v="$3" -v note="$4" 'BEGIN { printf "%-22s %10.2f %14d %16.3f   %s\n", n, c, v, c / v * 1e6, note }'; }

"$build/tests/bench/fast_agent" -g -d "${DEAD:-0}" "$switches" $ports_per_switch "$port" > "$dir/agent.log" &
sleep 0.5
echo "$switches switches x $ports_per_switch ports, $per_switch varbinds of counters per poll each; $(nproc) cores"
printf '%-22s %10s %14s %16s\n' poller "CPU s" values "CPU s/1M values"

# --- rocewatch
printf public > "$dir/community"
{
	echo "fabric: bench"
	echo "store: { path: $dir/bench.db }"
	echo "credentials: { v2: { snmp: { version: 2c, community_file: $dir/community } } }"
	echo "defaults: { interval: ${INTERVAL:-5s}, slow_interval: 1h, timeout: 2s, profile: sonic }"
	echo "devices:"
	for i in $(seq 0 $((switches - 1))); do
		echo "  - { name: sw$i, role: leaf, snmp: { address: \"$(addr "$i"):$port\", credentials: v2 } }"
	done
	echo "links: []"
} > "$dir/rocewatch.yaml"
"$build/rocewatch" -c "$dir/rocewatch.yaml" agent --for "${FOR:-36}s" > "$dir/rw.log" 2>&1 &
pid=$!
sql() { sqlite3 -readonly "$dir/bench.db" "$1" 2> /dev/null || echo 0; }
# What a poll leaves: 13 values of a port, 2 of PFC and 3 of queues for each of its 8 priorities.
per_poll=$((ports_per_switch * (13 + 8 * (2 + 3))))
# Samples of the switches that are committed, in the open tail and in sealed blocks.
samples() { sql "SELECT sum(t.n) FROM (SELECT device, n FROM tail UNION ALL SELECT device, n FROM block) t JOIN entity e ON e.id = t.device WHERE e.device LIKE 'sw%'"; }
committed() { local n; n=$(samples); echo $((${n:-0} / per_poll)); }
# the first round names every series and fills the process's tables: it is counted apart
live=$((switches - ${DEAD:-0}))
for _ in $(seq 100); do [ "$(committed)" -lt $live ] || break; sleep 0.5; done
sleep 1
began=$(date +%s.%N); first_cpu=$(cpu_of $pid); first=$(committed)
sleep $((${FOR:-36} - $(ps -o etimes= $pid) - 2))
cpu=$(cpu_of $pid); polls=$(committed); ended=$(date +%s.%N)
rss=$(awk '/VmHWM/ { print $2 }' /proc/$pid/status)
wait $pid || tail -3 "$dir/rw.log"
# all that the switches' polls brought is in the file once the agent has ended, but for those under way then; before, a round was on its way
polled=$(sql 'SELECT sum(polls) FROM target') stored=$(committed)
[ "$stored" -gt 0 ] && [ "$stored" -ge $((polled - switches)) ] || echo "!! rocewatch: $stored polls' worth of samples, $polled polls"
size=$(stat -c %s "$dir/bench.db") count=$(samples)
row "rocewatch" "$(echo "$cpu $first_cpu" | awk '{print $1 - $2}')" $(((polls - first) * per_switch)) "$((polls - first)) polls committed after the first round, RSS $((rss / 1024)) MiB, $(echo "$cpu $first_cpu $ended $began" | awk '{printf "%.1f", ($1 - $2) / ($3 - $4) * 100}') % of a core"
row "rocewatch, with start" "$cpu" $((polls * per_switch)) "$polls polls"
echo "                       poll time, live switches: $(sql 'SELECT printf("median %.1f ms; each one'"'"'s p95: median %.1f, 99th percentile %.1f ms", (SELECT poll_p50_s FROM target WHERE up ORDER BY poll_p50_s LIMIT 1 OFFSET (SELECT count(*) / 2 FROM target WHERE up)) * 1e3, (SELECT poll_p95_s FROM target WHERE up ORDER BY poll_p95_s LIMIT 1 OFFSET (SELECT count(*) / 2 FROM target WHERE up)) * 1e3, (SELECT poll_p95_s FROM target WHERE up ORDER BY poll_p95_s LIMIT 1 OFFSET (SELECT count(*) * 99 / 100 FROM target WHERE up)) * 1e3)')"
echo "                       database: $(awk -v b="$size" -v n="$count" -v i="${INTERVAL:-5s}" -v s="$switches" -v p="$per_poll" 'BEGIN { sub("s", "", i); printf "%.0f MiB, %.2f bytes per sample; at that rate %.1f GB a day", b / 1048576, b / n, b / n * s * p * 86400 / i / 1e9 }')"
[ -z "${ONLY:-}" ] || exit 0

# --- snmp_exporter
if command -v prometheus-snmp-exporter > /dev/null; then
	{
		echo "bench:"
		echo "  walk: [$(echo $if_columns $prio_columns $queue_column | tr ' ' ',')]"
		echo "  max_repetitions: 25"
		echo "  version: 2"
		echo "  auth: { community: public }"
		echo "  metrics:"
		n=0
		for c in $if_columns; do n=$((n + 1)); echo "  - { name: if$n, oid: $c, type: counter, indexes: [{ labelname: i, type: gauge }] }"; done
		for c in $prio_columns; do n=$((n + 1)); echo "  - { name: pfc$n, oid: $c, type: counter, indexes: [{ labelname: i, type: gauge }, { labelname: p, type: gauge }] }"; done
		echo "  - { name: queue, oid: $queue_column, type: counter, indexes: [{ labelname: i, type: gauge }, { labelname: d, type: gauge }, { labelname: q, type: gauge }, { labelname: t, type: gauge }] }"
	} > "$dir/snmp.yml"
	prometheus-snmp-exporter --config.file="$dir/snmp.yml" --web.listen-address=127.0.0.1:19116 > "$dir/exp.log" 2>&1 &
	pid=$!
	for _ in $(seq 50); do curl -s -o /dev/null 127.0.0.1:19116/ && break; sleep 0.1; done
	before=$(cpu_of $pid)
	scrapes=$((switches < 32 ? switches : 32))
	for i in $(seq 0 $((scrapes - 1))); do
		curl -s "127.0.0.1:19116/snmp?module=bench&target=$(addr "$i"):$port" | grep -c '^\(if\|pfc\|queue\)' >> "$dir/lines"
	done
	after=$(cpu_of $pid)
	lines=$(awk '{s+=$1} END {print s+0}' "$dir/lines")
	[ "$lines" = $((scrapes * per_switch)) ] || echo "!! snmp_exporter gave $lines values, expected $((scrapes * per_switch))"
	row snmp_exporter "$(echo "$after $before" | awk '{print $1-$2}')" "$lines" "$scrapes scrapes"
	kill $pid
else
	echo "snmp_exporter: not installed (scripts/packages-bench.txt), skipped"
fi

# --- collectd
if command -v collectd > /dev/null; then
	{
		echo "BaseDir \"$dir\""
		echo "PIDFile \"$dir/collectd.pid\""
		echo "Interval 2"
		echo "ReadThreads 2"
		echo "TypesDB \"/usr/share/collectd/types.db\""
		echo "LoadPlugin logfile"
		echo "<Plugin logfile>"; echo "File \"$dir/collectd.log\""; echo "</Plugin>"
		echo "LoadPlugin unixsock"
		echo "<Plugin unixsock>"; echo "SocketFile \"$dir/collectd.sock\""; echo "DeleteSocket true"; echo "</Plugin>"
		echo "LoadPlugin snmp"
		echo "<Plugin snmp>"
		names=""
		n=0
		for c in $if_columns $prio_columns $queue_column; do
			n=$((n + 1))
			names="$names \"c$n\""
			printf '<Data "c%d">\nTable true\nType "counter"\nTypeInstancePrefix "c%d-"\nValues "%s"\n</Data>\n' $n $n "$c"
		done
		for i in $(seq 0 $((switches - 1))); do
			printf '<Host "sw%d">\nAddress "%s:%s"\nVersion 2\nCommunity "public"\nCollect %s\nBulkSize 25\n</Host>\n' "$i" "$(addr "$i")" "$port" "$names"
		done
		echo "</Plugin>"
	} > "$dir/collectd.conf"
	collectd -f -C "$dir/collectd.conf" > "$dir/collectd.out" 2>&1 &
	pid=$!
	sleep $((2 * rounds + 1))
	after=$(cpu_of $pid)
	values=$(python3 - "$dir/collectd.sock" <<'P'
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"LISTVAL\n")
f = s.makefile(); print(int(f.readline().split()[0]))
P
	)
	[ "$values" = $((switches * per_switch)) ] || echo "!! collectd holds $values values, expected $((switches * per_switch))"
	row collectd "$after" $((values * rounds)) "about $rounds rounds of $values values, start included, no write plugin"
	kill $pid
	wait $pid 2> /dev/null
else
	echo "collectd: not installed (scripts/packages-bench.txt), skipped"
fi

# --- snmpbulkwalk
walks=$((switches < 8 ? switches : 8))
: > "$dir/walk"
/usr/bin/time -f '%U %S' -o "$dir/time" sh -c "for i in \$(seq 1 $walks); do for c in $(echo $if_columns $prio_columns $queue_column); do snmpbulkwalk -v2c -c public -On -m '' -Cr25 127.1.0.\$i:$port .\$c; done; done | wc -l > $dir/walk"
read -r u s < "$dir/time"
row snmpbulkwalk "$(echo "$u $s" | awk '{print $1+$2}')" "$(cat "$dir/walk")" "$walks switches, a process per column"
