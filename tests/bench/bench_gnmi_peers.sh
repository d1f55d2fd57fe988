#!/bin/sh
# bench_gnmi_peers.sh BUILDDIR [TARGETS...] - gNMI beside gnmic and telegraf; gnmi_peers.py says what is measured
set -eu
. "$(dirname "$0")/need.sh"
need_built "$1" rocewatch gnmi_server
exec "$(dirname "$0")/gnmi_peers.py" "$@"
