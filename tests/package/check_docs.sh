#!/usr/bin/env bash
# check_docs.sh - the command blocks of README and the docs that need an installed rocewatch and systemd ('sh installed'), each page on a
# bare Debian 12 with the package. Exit 77 where no systemd can be booted.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0
script=$(mktemp)
trap 'rm -f "$script"' EXIT
for page in $(tests/docs/check_blocks.py build/strict . --list | sed -nE 's/^([^:]*):[0-9]+ sh installed$/\1/p' | sort -u); do
	tests/docs/check_blocks.py build/strict . --installed "$page" >"$script"
	[ -s "$script" ] || { echo "$page: no commands in its blocks" >&2; exit 1; }
	code=0
	tests/package/run_in_root "$script" >"$script.log" 2>&1 || code=$?
	[ $code != 77 ] || { tail -n 1 "$script.log" >&2; rm -f "$script.log"; exit 77; }
	if [ $code = 0 ]; then
		echo "$page: its blocks for an installed rocewatch run"
	else
		echo "$page: exit $code" >&2
		tail -n 30 "$script.log" >&2
		status=1
	fi
	rm -f "$script.log"
done
exit $status
