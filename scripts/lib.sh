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

# packages_known - the archive's lists are here: what they do not name is not to be had.
APT_LISTS=/var/lib/apt/lists
packages_known() { compgen -G "$APT_LISTS/*_Packages*" >/dev/null; }

# packages_missing FILE... - what has to be installed of the lists, on one line; "?NAME" for what the archive has not, and need not have.
#
# A line of a list is one thing that is needed: a package, or several that serve in its place, the best first, between '|'; '?' behind them:
# left out where the archive has none of them. '#' begins a comment.
packages_missing() {
	local line name installed=' ' offered=' ' chosen optional
	local -a lines names
	mapfile -t lines < <(sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$@")
	mapfile -t names < <(printf '%s\n' "${lines[@]}" | tr -d '?' | tr '|' '\n' | tr -d ' \t')
	installed+=$(dpkg-query -W -f='${Package} ${db:Status-Abbrev}\n' "${names[@]}" 2>/dev/null | awk '$2 == "ii" { printf "%s ", $1 }') || true
	packages_known && offered+=$(apt-cache policy "${names[@]}" 2>/dev/null |
		awk '/^[^ ]/ { sub(/:$/, "", $1); name = $1 } $1 == "Candidate:" && $2 != "(none)" { printf "%s ", name }')
	for line in "${lines[@]}"; do
		optional= chosen=
		case $line in *'?') optional=1 line=${line%'?'} ;; esac
		for name in ${line//'|'/ }; do
			[[ $installed != *" $name "* ]] || continue 2
			if [[ $offered == *" $name "* ]]; then
				chosen=$name
				break
			fi
		done
		read -r name _ <<<"$line"
		if [ -n "$chosen" ]; then
			printf '%s ' "$chosen"
		elif [ -n "$optional" ] && packages_known; then
			printf '?%s ' "$name"
		else
			printf '%s ' "$name" # apt-get says what is wrong with it
		fi
	done
}

# The packages of need_packages that this archive does not have, on one line; for the last words of a script.
packages_left_out=

# packages_split WORD... - the words of packages_missing: sets packages_wanted and packages_left_out.
packages_split() {
	local word
	packages_wanted= packages_left_out=
	for word; do
		case $word in
		'?'*) packages_left_out+=" ${word#?}" ;;
		*) packages_wanted+=" $word" ;;
		esac
	done
}

# need_packages FILE... - install what is missing of the lists from the archive of this Debian or Ubuntu; nothing at all when nothing is
# missing. What the archive need not have and has not is told, and is in packages_left_out afterwards. Elsewhere nothing is installed.
# Daemons that come with it (snmpd, Prometheus, ClickHouse ...) are neither started nor enabled: the lab runs its own in namespaces.
need_packages() {
	local policy=/usr/sbin/policy-rc.d made='' log status=0
	if ! command -v dpkg-query >/dev/null; then
		say "no Debian and no Ubuntu: nothing is installed here; docs/platforms.md names the packages for Rocky Linux, cmake says what is missing"
		return 0
	fi
	# shellcheck disable=SC2046 # a list of words
	packages_split $(packages_missing "$@")
	if [ -n "$packages_wanted" ]; then
		as_root true || die "needs root or sudo to install packages:$packages_wanted"
		log=$(mktemp)
		as_root apt-get -qq update >"$log" 2>&1 || true # an archive that is not reached may still have left its lists here
		# shellcheck disable=SC2046 # a list of words
		packages_split $(packages_missing "$@")
		say "installing from the archive:$packages_wanted"
		if [ ! -e $policy ]; then
			printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
			as_root chmod 755 $policy
			made=1
		fi
		# shellcheck disable=SC2086 # a list of words
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $packages_wanted >>"$log" 2>&1 || status=$?
		[ -z "$made" ] || as_root rm -f $policy
		[ $status = 0 ] || tail -n 5 "$log" >&2
		rm -f "$log"
		[ $status = 0 ] || die "apt-get could not install:$packages_wanted"
	fi
	[ -z "$packages_left_out" ] || say "not in the archive of $(system_name), left out:$packages_left_out"
	local daemon
	for daemon in snmpd lldpd prometheus prometheus-alertmanager prometheus-snmp-exporter clickhouse-server victoria-metrics; do
		case "$packages_wanted " in
		*" $daemon "*) [ ! -d /run/systemd/system ] || as_root systemctl -q disable $daemon 2>/dev/null || true ;;
		esac
	done
}

# system_name - as people call it: "Debian GNU/Linux 12 (bookworm)".
system_name() { sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' /etc/os-release 2>/dev/null || uname -s; }

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
		# gold says the second for each program that a newer clang's AddressSanitizer is in
		grep -vE '^\[[0-9]+/[0-9]+\]|ld\.gold: warning: Cannot export local symbol' "$log" >&2 || cat "$log" >&2
		rm -f "$log"
		die "the $preset build failed"
	fi
	rm -f "$log"
}
