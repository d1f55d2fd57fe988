#!/usr/bin/env bash
# check_apt_repository - scripts/apt-repository, read by apt itself: a made-up package of two versions in two suites is found and fetched, unsigned only
# where that is allowed, signed by the key that lies beside it; what was changed afterwards is refused. Needs apt, dpkg-deb and gpg; else 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
for program in apt-get dpkg-deb gpg; do command -v $program >/dev/null || { echo "no $program: not run"; exit 77; }; done
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
die() { echo "check_apt_repository: $*" >&2; exit 1; }

# package VERSION - $here/rocewatch_VERSION.deb
package() {
	mkdir -p "$here/tree$1/DEBIAN"
	printf 'Package: rocewatch\nVersion: %s\nArchitecture: all\nMaintainer: nobody <nobody@example.invalid>\nDescription: made up\n several lines\n' "$1" \
		>"$here/tree$1/DEBIAN/control"
	dpkg-deb --root-owner-group --build "$here/tree$1" "$here/rocewatch_$1.deb" >/dev/null
}

# Its own lists and cache: nothing of this machine is read or written. apt gives up its rights for a user who cannot see a directory of ours.
apt_of() { # SUITE OPTIONS COMMAND...
	local suite=$1 options=$2
	shift 2
	rm -rf "$here/apt"
	mkdir -p "$here/apt/lists/partial" "$here/apt/cache/archives/partial"
	echo "deb [$options] file:$here/www $suite main" >"$here/apt/sources.list"
	: >"$here/apt/status"
	local -a own=(-o Dir::Etc::sourcelist="$here/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$here/apt/lists"
		-o Dir::Cache="$here/apt/cache" -o Dir::State::status="$here/apt/status" -o APT::Sandbox::User=root -o Acquire::Languages=none)
	apt-get -q "${own[@]}" update >"$here/log" 2>&1 || return 1
	(cd "$here/apt" && apt-get -q "${own[@]}" "$@") >>"$here/log" 2>&1
}

package 0.1.0-1
package 0.2.0-1
scripts/apt-repository "$here/www" bookworm="$here/rocewatch_0.1.0-1.deb" trixie="$here/rocewatch_0.1.0-1.deb" >/dev/null
scripts/apt-repository "$here/www" trixie="$here/rocewatch_0.2.0-1.deb" >/dev/null
apt_of bookworm trusted=yes download rocewatch || die "unsigned, trusted: $(tail -n 3 "$here/log")"
cmp "$here/apt"/rocewatch_*.deb "$here/rocewatch_0.1.0-1.deb" || die "bookworm: another package"
apt_of trixie trusted=yes download rocewatch=0.1.0-1 || die "the older version went: $(tail -n 3 "$here/log")"
apt_of trixie trusted=yes download rocewatch || die "trixie: $(tail -n 3 "$here/log")"
cmp "$here/apt"/rocewatch_*.deb "$here/rocewatch_0.2.0-1.deb" || die "trixie: not the newest"
! apt_of trixie "" download rocewatch || die "an unsigned repository is taken without [trusted=yes]"

export GNUPGHOME=$here/gnupg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'made up <nobody@example.invalid>' ed25519 sign never 2>"$here/log" || die "no key: $(cat "$here/log")"
RW_APT_KEY=nobody@example.invalid scripts/apt-repository "$here/www" trixie="$here/rocewatch_0.2.0-1.deb" >/dev/null 2>"$here/log" || die "signing: $(cat "$here/log")"
gpgconf --kill gpg-agent
apt_of trixie "signed-by=$here/www/rocewatch.asc" download rocewatch || die "signed: $(tail -n 3 "$here/log")"
printf '\n' >>"$here/www/dists/trixie/main/binary-all/Packages"
rm -f "$here/www/dists/trixie/main/binary-all/Packages.gz"
! apt_of trixie "signed-by=$here/www/rocewatch.asc" download rocewatch || die "a changed index is taken"

for wrong in noname= "Trixie=$here/rocewatch_0.1.0-1.deb" "trixie=$0"; do
	! scripts/apt-repository "$here/www" "$wrong" >/dev/null 2>&1 || die "'$wrong' is taken"
done
echo "two suites, two versions, unsigned and signed"
