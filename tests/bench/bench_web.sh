#!/bin/sh
# bench_web.sh BUILDDIR - `rocewatch web` beside a database of 64 switches x 64 ports that is written every second.
exec python3 "$(dirname "$0")/bench_web.py" "$1"
