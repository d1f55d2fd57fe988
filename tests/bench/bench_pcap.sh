#!/bin/sh
# bench_pcap.sh BUILDDIR - CPU per packet of reading, decoding and keeping flows; beside it libpcap with the same decoding.
exec "$1/tests/bench/bench_pcap"
