#!/bin/sh
# check_mistakes.sh COMPILER SOURCE INCLUDES... - a table of fields that does not fit its struct is refused by the compiler: SOURCE compiles with
# MISTAKE=0, and with no other number that it asks for. The error must come from a table, not from what the mistake left undone elsewhere.
set -eu
compiler=$1 source=$2
shift 2
flags=
for folder in "$@"; do
	flags="$flags -I$folder"
done
try() { # number
	# shellcheck disable=SC2086 # several words
	"$compiler" -std=gnu11 -D_GNU_SOURCE -fsyntax-only $flags -DMISTAKE="$1" "$source" 2>&1
}
try 0 || {
	echo "check_mistakes: the file without a mistake does not compile" >&2
	exit 1
}
numbers=$(grep -oE 'MISTAKE (==|!=) [0-9]+' "$source" | grep -oE '[0-9]+' | sort -nu)
[ "$(echo "$numbers" | wc -l)" -ge 12 ] || {
	echo "check_mistakes: $source asks for fewer mistakes than it had" >&2
	exit 1
}
bad=0
for number in $numbers; do
	if said=$(try "$number"); then
		echo "mistake $number compiles"
		bad=1
	elif ! echo "$said" | grep -q 'error:'; then
		echo "mistake $number: the compiler failed without an error: $said"
		bad=1
	fi
done
exit $bad
