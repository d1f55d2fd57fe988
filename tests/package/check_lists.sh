#!/usr/bin/env bash
# check_lists - what scripts/lib.sh makes of the lists of packages, on a system and an archive that are made up: alternatives, what may be
# missing, what nobody has. And the lists themselves: each line can be read.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib.sh
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

# stand-ins: $here/installed and $here/offered name packages, one a line
mkdir "$here/bin" "$here/lists"
cat >"$here/bin/dpkg-query" <<END
#!/bin/sh
for name; do grep -qx -- "\$name" "$here/installed" && echo "\$name ii "; done
exit 1
END
cat >"$here/bin/apt-cache" <<END
#!/bin/sh
for name; do
	grep -qx -- "\$name" "$here/offered" "$here/installed" || continue
	printf '%s:\n  Installed: (none)\n  Candidate: 1.0\n' "\$name"
done
printf 'virtual:\n  Installed: (none)\n  Candidate: (none)\n'
END
chmod 755 "$here/bin/"*
PATH=$here/bin:$PATH
APT_LISTS=$here/lists

# expect TEXT WANTED LEFT [INSTALLED [OFFERED]] - of a list with TEXT
expect() {
	printf '%b' "$1" >"$here/list"
	printf '%b' "${4:-}" >"$here/installed"
	printf '%b' "${5:-}" >"$here/offered"
	# shellcheck disable=SC2046 # a list of words
	packages_split $(packages_missing "$here/list")
	[ "$packages_wanted" = "${2:+ $2}" ] && [ "$packages_left_out" = "${3:+ $3}" ] ||
		{ echo "of '$1' with '${4:-}' installed and '${5:-}' offered: installs '$packages_wanted', leaves out '$packages_left_out'" >&2; exit 1; }
}

# no lists of the archive yet: the first of each is asked for, nothing is given up
expect 'a\nb | c\nd ? # why\n' 'a b d' ''
: >"$here/lists/archive_main_Packages"
expect '# only words\n\na # why\n' '' '' 'a\n' ''
expect 'a\n' a '' '' 'a\n'
expect 'a\n' a '' '' '' # nobody has it: apt-get says so
expect 'a | b | c\n' c '' '' 'c\n'
expect 'a | b\n' a '' '' 'a\nb\n'
expect 'a | b\n' '' '' 'b\n' ''
expect 'a | b\n' a '' 'b\n' 'a\n' # the better one is to be had
expect 'a | b\n' '' '' 'a\n' 'b\n'
expect 'a ?\nb ?\n' b a '' 'b\n'
expect 'a | b ? # why\n' '' a '' ''
expect 'a | b ?\n' b '' '' 'b\n'
expect 'virtual ?\n' '' virtual '' ''

lists=(scripts/packages*.txt)
odd=$(sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "${lists[@]}" | grep -vE '^[a-z0-9][a-z0-9.+-]+( \| [a-z0-9][a-z0-9.+-]+)*( \?)?$' || true)
[ -z "$odd" ] || { echo "scripts/packages*.txt: cannot be read: $odd" >&2; exit 1; }
# what docs/install.md gives to apt as it stands
odd=$(sed 's/#.*//' scripts/packages-build.txt | grep -E '[|?]' || true)
[ -z "$odd" ] || { echo "scripts/packages-build.txt: docs/install.md gives these lines to apt: $odd" >&2; exit 1; }
echo "lists read"
