#!/usr/bin/env bash
# check_unit.sh ROOT [BUILD] - what systemd says of the service as shipped, alone and with each drop-in: no mistakes, and how exposed it is
# (systemd-analyze security, lower is better). With BUILD also that the unit lets pass what the sandbox of the agent lets pass.
set -euo pipefail
command -v systemd-analyze >/dev/null || { echo "no systemd-analyze here"; exit 77; }
root=$1 build=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

exposed() { # MOST DROP-IN...: at most MOST tenths
	local most=$1 said level
	shift
	rm -rf "$work/rocewatch.service.d"
	mkdir "$work/rocewatch.service.d"
	cp "$root/config/system/rocewatch.service" "$work/"
	for drop in "$@"; do cp "$root/config/system/$drop" "$work/rocewatch.service.d/"; done
	# this version reads no drop-ins of a unit that is given as a file
	for drop in "$@"; do sed -n '/^\[Service\]/,$p' "$root/config/system/$drop" >>"$work/rocewatch.service"; done
	sed -i "s|^ExecStart=[^ ]*|ExecStart=/bin/true|" "$work/rocewatch.service"
	said=$(systemd-analyze verify --man=no "$work/rocewatch.service" 2>&1 | grep -i rocewatch || true)
	[ -z "$said" ] || { echo "rocewatch.service $*: $said"; exit 1; }
	level=$(systemd-analyze security --offline=true --no-pager "$work/rocewatch.service" | sed -nE 's/.*level for [^ ]*: ([0-9]+)\.([0-9]).*/\1\2/p')
	[ -n "$level" ] || { echo "systemd-analyze said no level"; exit 1; }
	echo "rocewatch.service $*: $((level / 10)).$((level % 10))"
	[ "$level" -le "$most" ] || { echo "more exposed than $((most / 10)).$((most % 10))"; exit 1; }
}

exposed 15
exposed 15 secrets.conf
exposed 14 addresses.conf
exposed 19 capture.conf
exposed 18 capture.conf addresses.conf
exposed 22 netns.conf

for directive in LimitCORE=0 MemoryHigh= MemoryMax= TasksMax= NoNewPrivileges=yes MemoryDenyWriteExecute=yes; do
	grep -q "^$directive" "$root/config/system/rocewatch.service" || { echo "rocewatch.service lacks $directive"; exit 1; }
done

# What the unit runs beside the program itself is there on a bare Debian: a package that is essential has it.
sed -nE 's/^Exec[A-Za-z]+=[-+!@:]*([^ ]+).*/\1/p' "$root/config/system/rocewatch.service" | grep -v '^/usr/bin/rocewatch$' | while read -r program; do
	package=$({ dpkg-query -S "$program" "/usr$program" 2> /dev/null || true; } | sed -n '/^diversion/!{s/:.*//p;q}')
	[ "$(dpkg-query -W -f='${Essential}' "$package")" = yes ] || { echo "rocewatch.service runs $program of $package, which a bare system may lack"; exit 1; }
done
