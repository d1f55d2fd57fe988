#!/bin/sh
# bench_gnmi_codec.sh BUILDDIR - cost of decoding a gNMI update: CPU time, and instructions where valgrind is installed. Instructions are
# the difference of two runs, so that start-up and the first sight of a path do not count; machines of one kind give the same number.
set -eu
. "$(dirname "$0")/need.sh"
need_built "$1" bench_gnmi_codec
bench=$1/tests/bench/bench_gnmi_codec
"$bench"
command -v valgrind >/dev/null || { echo "no valgrind: instructions are not counted"; exit 0; }
instructions() { # ARGS...: of one run
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" "$@" 2>&1 | sed -n 's/.*Collected : //p'
}
for shape in single hundred table; do
	for decoder in codec walk; do
		few=$(instructions $shape $decoder 20)
		many=$(instructions $shape $decoder 60)
		updates=$("$bench" $shape $decoder 40 | sed -n 's/^\([0-9]*\) updates.*/\1/p')
		echo "$shape $decoder: $(((many - few) / updates)) instructions per update"
	done
done
