#!/bin/sh
# bench_gnmi_peers.sh BUILDDIR [TARGETS...] - gNMI beside gnmic and telegraf; what it measures is told in gnmi_peers.py
exec "$(dirname "$0")/gnmi_peers.py" "$@"
