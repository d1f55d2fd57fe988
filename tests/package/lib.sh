# lib.sh - a bare Debian 12 root, and a real systemd in it. Source it after `set -euo pipefail`, from bash, in the root of the source tree.
#
# Mirror and keyring are those of this machine's apt; nothing about them stands here. What is fetched is kept in $ROCEWATCH_ROOTS
# (/var/cache/rocewatch-roots) for a week.

boot_pid=
boot_nspawn=
roots=${ROCEWATCH_ROOTS:-/var/cache/rocewatch-roots}
. scripts/lib.sh

# What a person has on the machine beside a bare Debian: man, completion, a lab of SNMP switches, tools that the documents use.
extras='openssl man-db bash-completion snmpd sqlite3 iproute2'

# apt_lines - Debian's sources of this machine, one "URI SUITE COMPONENT KEYRING" a line.
apt_lines() {
	local uri suite component file keyring
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(SOURCESENTRY)' 'Identifier: Packages' 'Origin: Debian' |
		while read -r uri suite component file; do
			keyring=$(sed -nE 's/^Signed-By: *(.*)/\1/p; s/.*signed-by=([^] ]*).*/\1/p' "${file%:*}" 2>/dev/null | head -n 1)
			[ -r "$keyring" ] || keyring=/usr/share/keyrings/debian-archive-keyring.gpg
			echo "$uri $suite $component $keyring"
		done | sort -u
}

# in_root ROOT COMMAND... - without systemd, with the network of this machine.
in_root() {
	local root=$1
	shift
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive \
		unshare --mount --propagation private sh -c '
		root=$1
		shift
		mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/run"
		exec chroot "$root" "$@"' sh "$root" "$@"
}

# debs_lend ROOT, debs_take ROOT - packages that were fetched before go to apt's archive in the root; what is there goes to the cache.
debs_lend() {
	find "$roots/debs" -name '*.deb' -exec cp -t "$1/var/cache/apt/archives" {} +
}
debs_take() {
	find "$1/var/cache/apt/archives" -name '*.deb' -exec mv -t "$roots/debs" {} +
}

# root_bare FILE - writes a tar of a bare root: Debian's minimal system with systemd.
root_bare() {
	local uri suite component keyring root
	read -r uri suite component keyring < <(apt_lines | awk '$2 !~ /-/')
	[ -n "${uri:-}" ] || die "apt on this machine has no source of Debian"
	root=$(mktemp -d "$roots/bare.XXXXXX")
	chmod 755 "$root" # apt reads as a user of its own
	debootstrap --variant=minbase --keyring="$keyring" --cache-dir="$roots/debs" "$suite" "$root" "$uri" >"$root.log" 2>&1 ||
		{ tail -n 20 "$root.log" >&2; die "debootstrap failed"; }
	rm -f "$root.log"
	apt_lines | awk '{ printf "deb [signed-by=%s] %s %s %s\n", "/usr/share/keyrings/debian-archive-keyring.gpg", $1, $2, $3 }' >"$root/etc/apt/sources.list"
	apt-config dump | grep -iE '^Acquire::.*proxy' >"$root/etc/apt/apt.conf.d/90proxy" || true
	printf 'force-unsafe-io\n' >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
	# what apt fetches stays in the cache
	printf 'APT::Keep-Downloaded-Packages "true";\n' >"$root/etc/apt/apt.conf.d/91keep"
	: >"$root/etc/machine-id"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
	mkdir -p "$roots/debs"
	debs_lend "$root"
	in_root "$root" sh -ec 'apt-get -qq update; apt-get -qq -y --no-install-recommends install systemd-sysv' >"$root.log" 2>&1 ||
		{ tail -n 20 "$root.log" >&2; die "apt failed in the bare root"; }
	rm -f "$root.log"
	debs_take "$root"
	tar -C "$root" -cf "$1.part" .
	mv "$1.part" "$1"
	rm -rf "$root"
}

# root_make DIRECTORY DEB - a bare root with everything that DEB depends on, and the extras, but without DEB itself.
root_make() {
	local dir=$1 deb=$2 tar
	mkdir -p "$roots/debs"
	tar=$roots/bare.tar
	find "$tar" -mtime +7 -delete 2>/dev/null || true
	[ -s "$tar" ] || root_bare "$tar"
	rm -rf "$dir"
	mkdir -p "$dir"
	tar -C "$dir" -xf "$tar"
	debs_lend "$dir"
	printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
	chmod 755 "$dir/usr/sbin/policy-rc.d"
	# shellcheck disable=SC2086 # a list of words
	in_root "$dir" apt-get -qq -y --no-install-recommends install $extras >"$dir.log" 2>&1 || { tail -n 20 "$dir.log" >&2; die "apt failed in the root"; }
	in_root "$dir" apt-get -qq -y --no-install-recommends satisfy "$(dpkg-deb -f "$deb" Depends)" >"$dir.log" 2>&1 ||
		{ tail -n 20 "$dir.log" >&2; die "the dependencies are not to be had in Debian"; }
	rm -f "$dir.log" "$dir/usr/sbin/policy-rc.d"
	debs_take "$dir"
	rm -f "$dir/etc/systemd/system/multi-user.target.wants/snmpd.service"
}

# ---- a real systemd ------------------------------------------------------------------------------------------------------------

# root_boot ROOT [OPTION...] - starts systemd in it, in a network of its own with loopback only; sets boot_pid, that of systemd, seen from
# here. Not zero where this machine cannot: $boot_log says why.
root_boot() {
	local root=$1 i
	shift
	boot_log=$root.boot
	boot_pid=
	command -v systemd-nspawn >/dev/null || { echo "no systemd-nspawn here" >"$boot_log"; return 1; }
	systemd-nspawn -q -D "$root" --boot --register=no --keep-unit --private-network --resolv-conf=off --timezone=off --console=pipe \
		--system-call-filter='mlock mlock2 munlock landlock_create_ruleset landlock_add_rule landlock_restrict_self' \
		--machine="rocewatch-$$-$RANDOM" "$@" </dev/null >"$boot_log" 2>&1 &
	boot_nspawn=$!
	for ((i = 0; i < 300; i++)); do
		boot_pid=$(pgrep -P $boot_nspawn | head -n 1) || true # at first a helper of its own
		if [ -n "$boot_pid" ] && booted systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; then
			return 0
		fi
		kill -0 $boot_nspawn 2>/dev/null || break
		sleep 0.1
	done
	root_halt
	return 1
}

# booted COMMAND... - in the booted root.
booted() {
	nsenter -t "$boot_pid" -m -p -u -i -n -C env -i PATH="${ROOT_PATH:-}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
		LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive "$@"
}

root_halt() {
	local i
	[ -n "${boot_nspawn:-}" ] || return 0
	[ -z "$boot_pid" ] || kill -s RTMIN+4 "$boot_pid" 2>/dev/null || true # poweroff
	for ((i = 0; i < 100; i++)); do
		kill -0 $boot_nspawn 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL $boot_nspawn 2>/dev/null || true
	wait $boot_nspawn 2>/dev/null || true
	boot_nspawn= boot_pid=
}
