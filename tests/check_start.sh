#!/usr/bin/env bash
# check_start PROGRAM - a command begins without the libraries that only some commands use (base/lazy_library.h): the dynamic linker
# maps none of them for `--version`, nor what they bring along.
set -euo pipefail
program=$1
mapped=$(ldd "$program" | awk '{print $1}')
for library in libgrpc libgpr libcurl libmicrohttpd libpcap libdbus libsystemd libabsl; do
	if grep -q "^$library" <<<"$mapped"; then
		echo "check_start: every command loads $library: it has to be loaded by those that use it (scripts/lazy.cmake)" >&2
		exit 1
	fi
done
echo "$(wc -l <<<"$mapped") shared objects"
