#!/usr/bin/env bash
# check_source.sh - the command blocks that build rocewatch from source ('sh source'), as they stand, in a bare Debian 12 root that holds the
# source tree and nothing else; then what was installed is asked. Exit 77 where there is no root user or no debootstrap.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/package/lib.sh

is_root || { echo "needs root"; exit 77; }
command -v debootstrap >/dev/null || { echo "needs the package debootstrap"; exit 77; }
mkdir -p "$roots/debs" build/package
find "$roots/bare.tar" -mtime +7 -delete 2>/dev/null || true
[ -s "$roots/bare.tar" ] || root_bare "$roots/bare.tar"
root=$(mktemp -d "$PWD/build/package/source.XXXXXX")
log=build/package/source.log
# What the compiler made is lent as fetched packages are: a second run compiles only what has changed.
finish() {
	debs_take "$root"
	[ ! -d "$root/root/.cache/ccache" ] || { rm -rf "$roots/ccache" && mv "$root/root/.cache/ccache" "$roots/ccache"; }
	rm -rf "$root"
}
trap finish EXIT

chmod 755 "$root"
tar -C "$root" -xf "$roots/bare.tar"
debs_lend "$root"
mkdir -p "$root/root/rocewatch" "$root/root/.cache"
# 1: a file changed meanwhile. Tests that run beside this leave what python compiled.
{ tar --exclude=./build --exclude=./rel --exclude=./clang --exclude=./.git --exclude=__pycache__ -cf - . || [ $? = 1 ]; } | tar -C "$root/root/rocewatch" -xf -
tests/docs/check_blocks.py build . --source >"$root/root/blocks.sh"
grep -q 'cmake --install' "$root/root/blocks.sh" || { echo "the pages have no block that builds from source" >&2; exit 1; }
# Nobody is there who could answer apt's question. A chroot has no systemd: what it is asked is written down instead.
printf 'APT::Get::Assume-Yes "true";\n' >"$root/etc/apt/apt.conf.d/92yes"
printf '#!/bin/sh\necho "$@" >>/root/systemctl.asked\n' >"$root/usr/local/sbin/systemctl"
chmod 755 "$root/usr/local/sbin/systemctl"
launcher=
if command -v ccache >/dev/null; then
	in_root "$root" apt-get -qq install --no-install-recommends ccache >$log 2>&1 || { tail -n 20 $log >&2; exit 1; }
	[ ! -d "$roots/ccache" ] || mv "$roots/ccache" "$root/root/.cache/ccache"
	launcher=ccache
fi

in_root "$root" env CMAKE_C_COMPILER_LAUNCHER="$launcher" sh -c 'cd /root/rocewatch && exec bash -euo pipefail /root/blocks.sh' </dev/null >$log 2>&1 ||
	{ tail -n 30 $log >&2; echo "check_source: the blocks do not build rocewatch on a bare Debian: see above" >&2; exit 1; }
for asked in 'rocewatch --version' 'rocewatch lab list' 'getent passwd rocewatch' 'test -d /var/lib/rocewatch' 'test -e /usr/lib/systemd/system/rocewatch.service' \
	'grep -qx daemon-reload /root/systemctl.asked'; do
	in_root "$root" sh -c "$asked" >>$log 2>&1 || { tail -n 5 $log >&2; echo "check_source: after the blocks '$asked' fails" >&2; exit 1; }
done
echo "from source: the blocks build and install rocewatch on a bare Debian"
