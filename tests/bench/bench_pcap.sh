#!/bin/sh
# bench_pcap.sh BUILDDIR - CPU per packet of reading, decoding and keeping flows.
exec "$1/tests/bench/bench_pcap"
