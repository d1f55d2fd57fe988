#!/bin/sh
# bench_pcap.sh BUILDDIR - CPU per packet of reading, decoding and keeping flows.
set -eu
. "$(dirname "$0")/need.sh"
need_built "$1" bench_pcap
exec "$1/tests/bench/bench_pcap"
