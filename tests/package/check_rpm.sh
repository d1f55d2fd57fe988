#!/usr/bin/env bash
# check_rpm.sh - the rpm, as far as a system can show it that is not one of rpm: made of the release build, read back by rpm, and put into an
# empty place, where the program starts. Exit 77 where there is no rpmbuild or no cpio.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v rpmbuild >/dev/null && command -v cpio >/dev/null || { echo "check_rpm: needs the packages rpm and cpio: the rpm was not made"; exit 77; }
rpm=$(realpath "$(scripts/package --rpm)")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fail() {
	echo "check_rpm: $*" >&2
	exit 1
}

files=$(rpm -qpl "$rpm" 2>/dev/null)
for file in /usr/bin/rocewatch /usr/libexec/rocewatch/rocewatch-lab /usr/lib/rocewatch/rocewatch_sqlite.so /usr/lib/systemd/system/rocewatch.service \
	/usr/lib/sysusers.d/rocewatch.conf /usr/lib/tmpfiles.d/rocewatch.conf /usr/share/man/man1/rocewatch.1.gz \
	/usr/share/doc/rocewatch/LICENSE /usr/share/doc/rocewatch/LICENSE.dygraphs /usr/share/doc/rocewatch/examples/rocewatch.yaml; do
	grep -qx "$file" <<<"$files" || fail "$file is not in it"
done
# directories are those of rocewatch only: two packages that own /usr/share/man differ in its rights some day
odd=$(grep -vE '/_?rocewatch|/(nagios|icinga)/' <<<"$files" || true)
[ -z "$odd" ] || fail "it owns what is not its own: $odd"
! grep -q '^/etc' <<<"$files" || fail "it brings a configuration: /etc is the site's"

# What is loaded when it is used is asked for by name; so is what the program is linked with.
wants=$(rpm -qp --requires "$rpm" 2>/dev/null)
for library in libgrpc libcurl libmicrohttpd libuv libsqlite3; do
	grep -q "^$library\.so\." <<<"$wants" || fail "it does not ask for $library"
done
for part in postinstall preuninstall postuninstall; do
	grep -q "^$part scriptlet" < <(rpm -qp --scripts "$rpm" 2>/dev/null) || fail "it has no $part script"
done

(cd "$root" && rpm2cpio "$rpm" | cpio -idm --quiet) || fail "it cannot be unpacked"
said=$("$root/usr/bin/rocewatch" --version) || fail "the program does not start"
[ "$said" = "rocewatch $(rpm -qp --queryformat '%{VERSION}' "$rpm" 2>/dev/null)" ] || fail "the program is '$said'"
"$root/usr/bin/rocewatch" config show "$root/usr/share/doc/rocewatch/examples/rocewatch.yaml" >/dev/null || fail "the example is wrong"
echo "check_rpm: $(basename "$rpm"): $(wc -l <<<"$files") files and directories"
