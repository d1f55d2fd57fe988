#!/usr/bin/env bash
# bench_store_peers.sh BUILD [POLLS [DEVICES [PORTS]]] - CPU and bytes per sample of rocewatch's store, of victoria-metrics and of Prometheus,
# on the same stream in the same run (bench_store.c). CPU of the peers is that of their whole process; bytes are those of their data
# directory after a flush. RUNS=N repeats all in turn. Peers that are not installed are left out. Listens on loopback only.
set -euo pipefail
build=${1:?the build folder}
polls=${2:-720} devices=${3:-4} ports=${4:-64}
bench=$build/tests/bench/bench_store
[ -x "$bench" ] || { echo "bench_store_peers.sh: $bench is missing: cmake --build $build --target bench_store" >&2; exit 2; }
folder=$(mktemp -d)
peer=
finish() {
	[ -z "$peer" ] || { kill "$peer" 2>/dev/null || true; wait "$peer" 2>/dev/null || true; }
	rm -rf "$folder"
}
trap finish EXIT
hz=$(getconf CLK_TCK)

ready() { # URL
	for _ in $(seq 300); do curl -sf "$1" >/dev/null && return; sleep 0.1; done
	echo "bench_store_peers.sh: $1 does not answer: $(tail -n 3 "$folder/log")" >&2
	exit 1
}
ticks() { awk '{print $14 + $15}' "/proc/$peer/stat"; }
told() { # NAME TICKS BYTES
	awk -v name="$1" -v t="$2" -v b="$3" -v n="$(awk '{print $1}' "$folder/told")" -v hz="$hz" \
		'BEGIN {printf "%s: %.1f M samples, %.4f CPU s per 1 M, %.3f B/sample on disk\n", name, n / 1e6, t / hz / n * 1e6, b / n}'
}
stop() { kill "$peer"; wait "$peer" 2>/dev/null || true; peer=; }

for _ in $(seq "${RUNS:-1}"); do
	rm -rf "$folder"/*
	"$bench" "$folder/own.db" "$polls" "$devices" "$ports"
	if command -v victoria-metrics >/dev/null; then
		victoria-metrics -storageDataPath="$folder/vm" -httpListenAddr=127.0.0.1:18428 -retentionPeriod=10y >"$folder/log" 2>&1 &
		peer=$!
		ready http://127.0.0.1:18428/health
		before=$(ticks)
		"$bench" --remote 127.0.0.1 18428 "$polls" "$devices" "$ports" >"$folder/told"
		curl -sf http://127.0.0.1:18428/internal/force_flush
		used=$(($(ticks) - before))
		curl -sf http://127.0.0.1:18428/internal/force_merge
		sleep 5 # its merges go on by themselves
		told victoria-metrics "$used" "$(du -sb "$folder/vm/data" "$folder/vm/indexdb" | awk '{n += $1} END {print n}')"
		stop
	fi
	if command -v prometheus >/dev/null; then
		echo 'global: {}' >"$folder/prometheus.yml"
		prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/prometheus" --web.listen-address=127.0.0.1:19090 \
			--web.enable-remote-write-receiver --storage.tsdb.retention.time=100y >"$folder/log" 2>&1 &
		peer=$!
		ready http://127.0.0.1:19090/-/ready
		before=$(ticks)
		"$bench" --remote 127.0.0.1 19090 "$polls" "$devices" "$ports" >"$folder/told"
		told "prometheus (write-ahead log and head)" "$(($(ticks) - before))" "$(du -sb "$folder/prometheus" | awk '{print $1}')"
		stop
	fi
done
