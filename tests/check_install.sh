#!/usr/bin/env bash
# check_install - `cmake --install` into an empty place: everything is there, the program runs, the example is a right configuration, and
# systemd finds nothing to say about the unit (where there is a systemd-analyze).
set -euo pipefail
build=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cmake --install "$build" --prefix "$root/usr" >/dev/null
for file in bin/rocewatch lib/rocewatch/rocewatch_sqlite.so lib/systemd/system/rocewatch.service lib/sysusers.d/rocewatch.conf lib/tmpfiles.d/rocewatch.conf share/doc/rocewatch/examples/rocewatch.yaml \
	share/doc/rocewatch/README.md share/doc/rocewatch/docs/architecture.md; do
	[ -s "$root/usr/$file" ] || { echo "$file was not installed" >&2; exit 1; }
done
"$root/usr/bin/rocewatch" --version
# the lab must find what was installed with it, not the source tree
if [ -x "$build/rocewatch-lab" ]; then
	[ -x "$root/usr/libexec/rocewatch/rocewatch-lab" ] || { echo "rocewatch-lab was not installed" >&2; exit 1; }
	listed=$("$root/usr/bin/rocewatch" lab list --scenarios "$root/usr/share/rocewatch/scenarios")
	[[ $listed == *"dcqcn-off "* ]] || { echo "scenarios were not installed" >&2; exit 1; }
	rm "$root/usr/share/rocewatch/scenarios/dcqcn-off.yaml"
	listed=$("$root/usr/bin/rocewatch" lab list)
	[[ $listed != *"dcqcn-off "* ]] || { echo "the installed lab looks for scenarios elsewhere" >&2; exit 1; }
fi
# show reads all of it, and does not ask for the secrets, which are not on this machine
"$root/usr/bin/rocewatch" config show "$root/usr/share/doc/rocewatch/examples/rocewatch.yaml" >/dev/null

if command -v systemd-analyze >/dev/null; then
	# the program is not where the unit will find it; nothing else is changed
	sed "s|^ExecStart=[^ ]*|ExecStart=$root/usr/bin/rocewatch|" "$root/usr/lib/systemd/system/rocewatch.service" >"$root/rocewatch.service"
	said=$(systemd-analyze verify --man=no "$root/rocewatch.service" 2>&1 | grep rocewatch || true)
	[ -z "$said" ] || { echo "$said" >&2; exit 1; }
fi
echo installed
