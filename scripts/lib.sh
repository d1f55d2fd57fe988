# lib.sh - shared by the scripts beside it. Source it after `set -euo pipefail`, from bash, in the root of the source tree.

say() { printf '\n== %s\n' "$*"; }
die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

is_root() { [ "$(id -u)" = 0 ]; }

# as_root COMMAND... - run it as root: at once, or through sudo.
as_root() {
	if is_root; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -- "$@"
	else
		die "needs root for '$1', and there is no sudo: run this as root"
	fi
}

# packages_missing FILE... - those of the lists that are not installed, on one line.
packages_missing() {
	local package
	# The subject of each line is its first word; '#' begins a comment.
	while read -r package _; do
		case $package in '' | '#'*) continue ;; esac
		[ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = 'install ok installed' ] || printf '%s ' "$package"
	done < <(cat "$@")
}

# need_packages FILE... - install what is missing of the lists from the Debian archive; nothing at all when nothing is missing.
# Daemons that come with it (snmpd, Prometheus, ClickHouse ...) are neither started nor enabled: the lab runs its own in namespaces.
need_packages() {
	local missing policy=/usr/sbin/policy-rc.d made=
	command -v dpkg-query >/dev/null || die "this is not a Debian system: install by hand what $* lists, then build with cmake"
	missing=$(packages_missing "$@")
	[ -n "$missing" ] || return 0
	say "installing from the Debian archive: $missing"
	as_root true || die "needs root or sudo to install packages: $missing"
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
		as_root chmod 755 $policy
		made=1
	fi
	local ok=1
	# shellcheck disable=SC2086 # a list of words
	as_root env DEBIAN_FRONTEND=noninteractive sh -c \
		'apt-get -qq update && apt-get -qq -y --no-install-recommends install "$@"' apt $missing >"${TMPDIR:-/tmp}/rocewatch-apt.$$" 2>&1 || ok=
	[ -z "$made" ] || as_root rm -f $policy
	if [ -z "$ok" ]; then
		tail -n 5 "${TMPDIR:-/tmp}/rocewatch-apt.$$" >&2
		rm -f "${TMPDIR:-/tmp}/rocewatch-apt.$$"
		die "apt-get could not install: $missing"
	fi
	rm -f "${TMPDIR:-/tmp}/rocewatch-apt.$$"
	local daemon
	for daemon in snmpd lldpd prometheus prometheus-alertmanager clickhouse-server victoria-metrics; do
		case " $missing" in
		*" $daemon "*) [ ! -d /run/systemd/system ] || as_root systemctl -q disable $daemon 2>/dev/null || true ;;
		esac
	done
}

# use_compiler_cache - what was compiled once, in this or another checkout, is not compiled again: ccache, where it is installed. Paths
# below the root of the tree do not count, so that a clone beside this one finds everything.
use_compiler_cache() {
	command -v ccache >/dev/null || return 0
	export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$PWD
	: "${CCACHE_MAXSIZE:=4G}"
	export CCACHE_MAXSIZE
}

# build_preset NAME [TARGET...] - configure (with $CONFIGURE) and build; quiet unless it fails.
build_preset() {
	local preset=$1 log
	shift
	use_compiler_cache
	log=$(mktemp)
	# shellcheck disable=SC2086 # a list of words
	if ! cmake --preset "$preset" ${CONFIGURE:-} >"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		die "cmake --preset $preset failed"
	fi
	if ! cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"} >"$log" 2>&1; then
		grep -vE '^\[[0-9]+/[0-9]+\]' "$log" >&2 || cat "$log" >&2
		rm -f "$log"
		die "the $preset build failed"
	fi
	rm -f "$log"
}
