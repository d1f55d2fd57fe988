#!/bin/sh
# bench_pcap.sh BUILDDIR [PACKETS FLOWS]... - CPU of "rocewatch pcap FILE" beside other programs that read the same capture; in units of a
# loop that reads it with libpcap and does nothing else. Without sizes: 2 million packets of 100, 20,000 and 400,000 flows, 10 million of 20,000.
# RUNS=n: runs of each, 5 without. LIMIT=s: a run that takes longer is left out, 60 s without. PEERS=0: only rocewatch and the loop. TMPDIR: where the captures go (up to 1.3 GB).
set -eu
. "$(dirname "$0")/need.sh"
need_built "$1" rocewatch make_capture pcap_loop
exec python3 "$(dirname "$0")/bench_pcap.py" "$@"
