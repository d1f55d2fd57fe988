#!/usr/bin/env bash
# bench_block_peer.sh BUILD [PORTS [INSTANTS]] - bytes and CPU per sample of the block codec and of victoria-metrics, on the same
# stream (tests/bench/bench_block.c). Needs the Debian package victoria-metrics; listens on loopback only.
set -euo pipefail
build=${1:?the build folder}
ports=${2:-16}
instants=${3:-8640}
bench=$build/tests/bench/bench_block
[ -x "$bench" ] || { echo "bench_block_peer.sh: $bench is missing: cmake --build $build --target bench_block" >&2; exit 2; }
command -v victoria-metrics >/dev/null || { echo "bench_block_peer.sh: the Debian package victoria-metrics is missing" >&2; exit 77; }
"$bench" "$ports" "$instants"

folder=$(mktemp -d)
listen=127.0.0.1:18428
victoria-metrics -storageDataPath="$folder/data" -httpListenAddr="$listen" -retentionPeriod=10y >"$folder/log" 2>&1 &
peer=$!
trap 'kill "$peer" 2>/dev/null || true; wait "$peer" 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do curl -sf "http://$listen/health" >/dev/null && break; sleep 0.1; done
"$bench" write "${listen%:*}" "${listen#*:}" "$ports" "$instants" | tee "$folder/told"
curl -sf "http://$listen/internal/force_flush" || true
ticks=$(awk '{print $14 + $15}' "/proc/$peer/stat")
curl -sf "http://$listen/internal/force_merge" || true
sleep 5
samples=$(awk '{print $3}' "$folder/told")
bytes=$(du -sb "$folder/data/data" "$folder/data/indexdb" | awk '{n += $1} END {print n}')
only=$(du -sb "$folder/data/data" | awk '{print $1}')
awk -v n="$samples" -v b="$bytes" -v o="$only" -v t="$ticks" -v hz="$(getconf CLK_TCK)" \
	'BEGIN {printf "victoria-metrics: %.3f B/sample (%.3f without its index), %.2f CPU s per million samples\n", b / n, o / n, t / hz / n * 1e6}'
