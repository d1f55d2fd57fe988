#!/bin/sh
# check_layers.sh [ROOT [BUILD]] - who includes whom, held against the two tables in docs/architecture.md, so that the drawing and
# the check cannot differ; and, where BUILD is named, that no object files need each other in a circle. First proves on planted
# mistakes that it can fail.
#
#   rooms: | room | `files` | may include |     the first row whose files match is a file's room; `all` means every room
#   doors: | library | `header` | `files` |     a foreign header is included by these files only
# Includes with quotes are written from the root and exist (or are generated); those with <> are not ours. A folder of the product is
# one room, and holds at most 40 files.
set -eu

FOLDER_MOST=40

check_folders() { # ROOT: prints folders that hold too many files, and fails when there is one
	cd "$1"
	find agent analyzers base collectors config db proto -name '*.[ch]' -o -name '*.def' 2>/dev/null | sed 's|/[^/]*$||' | LC_ALL=C sort | uniq -c |
		awk -v most=$FOLDER_MOST '$1 > most { print $2 ": holds " $1 " files, at most " most ": name its rooms by what they answer"; n++ } END { exit n > 0 }'
}

check() { # ROOT: prints mistakes as file:line: text, and fails when there is one
	cd "$1"
	[ -f docs/architecture.md ] || { echo "docs/architecture.md: is missing, and with it the table to check against"; return 1; }
	find agent analyzers base collectors config db proto tests -name '*.[ch]' 2>/dev/null | LC_ALL=C sort |
		xargs grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null |
		awk '
		function trim(s) { gsub(/^[ \t`]+|[ \t`]+$/, "", s); return s }
		function match_any(globs, file,   n, v, i, re) { # * matches within and across folders
			n = split(globs, v, " ")
			for (i = 1; i <= n; i++) {
				re = v[i]
				gsub(/[.+]/, "\\\\&", re)
				gsub(/\*/, ".*", re)
				if (file ~ ("^" re "$")) return 1
			}
			return 0
		}
		function room_of(file,   i) {
			for (i = 1; i <= rooms; i++) if (match_any(files[i], file)) return name[i]
			return ""
		}
		function may(room, other,   n, v, i) {
			if (room == other) return 1
			n = split(allowed[room], v, " ")
			for (i = 1; i <= n; i++) if (v[i] == other || v[i] == "all") return 1
			return 0
		}
		function bad(text) { print where ": " text; mistakes++ }
		FILENAME == "docs/architecture.md" {
			if ($0 ~ /^<!-- table: /) { table = $3; next }
			if ($0 !~ /^\|/) { if (NF) table = ""; next }
			if ($0 ~ /^\| *(room|library) *\|/ || $0 ~ /^\|[-|: ]+$/) next
			split($0, c, "|")
			if (table == "rooms") { rooms++; name[rooms] = trim(c[2]); files[rooms] = trim(c[3]); allowed[name[rooms]] = trim(c[4]) }
			if (table == "doors") { doors++; header[doors] = trim(c[3]); users[doors] = trim(c[4]) }
			next
		}
		{
			split($0, p, ":")
			file = p[1]; where = p[1] ":" p[2]
			line = substr($0, length(where) + 2)
			room = room_of(file)
			if (room == "") { if (!(file in homeless)) bad("belongs to no room of docs/architecture.md"); homeless[file] = 1; next }
			if (match(line, /<[^>]*>/)) {
				h = substr(line, RSTART + 1, RLENGTH - 2)
				for (i = 1; i <= doors; i++)
					if (match_any(header[i], h)) { if (!match_any(users[i], file)) bad("<" h "> comes in by " users[i] " only"); break }
				if (room_of(h) != "") bad("<" h "> is ours: write it with quotes")
			} else if (match(line, /"[^"]*"/)) {
				h = substr(line, RSTART + 1, RLENGTH - 2)
				beside = file; sub(/[^\/]*$/, "", beside)
				if (room_of(h) == "") {
					if (room == "tests" && (getline ignored < (beside h)) >= 0) { close(beside h); next }
					bad("\"" h "\" is not written from the root")
					next
				}
				if ((getline ignored < h) < 0) { bad("\"" h "\" does not exist"); next }
				close(h)
				if (!may(room, room_of(h))) bad(room " may not include " room_of(h) " (\"" h "\")")
			} else bad("an include that is neither <> nor quotes cannot be checked")
		}
		END {
			if (!rooms || !doors) { print "docs/architecture.md: a table is missing (rooms " rooms + 0 ", doors " doors + 0 ")"; exit 1 }
			exit mistakes > 0
		}' docs/architecture.md -
}

# plant WHAT FILE LINE EXPECTED: a tree with just that line must be refused with those words.
plant() {
	tree=$(mktemp -d)
	mkdir -p "$tree/docs" "$tree/$(dirname "$2")" "$tree/base"
	cp "$root/docs/architecture.md" "$tree/docs/"
	: >"$tree/base/str.h"
	for h in db/model/metric.h db/series/series.h db/store/store.h config/config.h analyzers/analyzer.h agent/command/command.h \
		collectors/target/collector.h collectors/gnmi/gnmi.h agent/document/writer.h; do
		mkdir -p "$tree/$(dirname "$h")"
		: >"$tree/$h"
	done
	printf '#include <stdio.h>\n#include "base/str.h"\n%s\n' "$3" >"$tree/$2"
	said=$(check "$tree") && failed=0 || failed=1
	rm -rf "$tree"
	case $4 in
	'') [ $failed = 0 ] || { echo "self-test: $1 was refused: $said"; exit 1; } ;;
	*)
		case $failed$said in
		1"$2:3: "*"$4"*) ;;
		*) echo "self-test: $1 was not refused as expected, but: ${said:-accepted}"; exit 1 ;;
		esac
		;;
	esac
}

root=$(cd "${1:-.}" && pwd)
circles=$root/tests/check_circles.py
build=${2:+$(cd "$2" && pwd)}
plant 'a healthy file' agent/command/cmd_x.c '#include "db/store/store.h"' ''
plant 'a lawful step down' analyzers/detect/x.c '#include "db/model/metric.h"' ''
plant 'the floor reaching up' base/x.c '#include "db/model/metric.h"' 'base may not include model'
plant 'a noun reaching up' db/model/entity.c '#include "config/config.h"' 'model may not include config'
plant 'a detector at the store' analyzers/detect/x.c '#include "db/store/store.h"' 'detect may not include store'
plant 'a detector asking a collector' analyzers/detect/x.c '#include "collectors/target/collector.h"' 'detect may not include target'
plant 'a document asking a detector' agent/document/x.c '#include "analyzers/analyzer.h"' 'document may not include detect'
plant 'a protocol asking another' collectors/snmp/x.c '#include "collectors/gnmi/gnmi.h"' 'snmp may not include gnmi'
plant 'a collector calling a command' collectors/snmp/x.c '#include "agent/command/command.h"' 'snmp may not include command'
plant 'the store reading the configuration' db/store/store.c '#include "config/config.h"' 'store may not include config'
plant 'a second door to SQLite' collectors/snmp/x.c '#include <sqlite3.h>' '<sqlite3.h> comes in by'
plant 'a second door to libuv' agent/daemon/x.c '#include <uv.h>' '<uv.h> comes in by'
plant 'a second door to net-snmp' collectors/snmp/snmp.c '#include <net-snmp/net-snmp-includes.h>' 'comes in by'
plant 'a second door to libpcap' collectors/packet/flow/flow_table.c '# include <pcap/pcap.h>' 'comes in by'
plant 'a second door to YAML' config/config.c '#include <yaml.h>' 'comes in by'
plant 'a path from beside' agent/command/x.c '#include "command.h"' 'not written from the root'
plant 'a path with dots' agent/command/x.c '#include "../db/model/metric.h"' 'not written from the root'
plant 'ours as a system header' agent/command/x.c '#include <db/model/metric.h>' 'is ours'
plant 'a header that is not there' agent/command/x.c '#include "db/nothing.h"' 'does not exist'
plant 'an include by macro' agent/command/x.c '#include HEADER' 'cannot be checked'

tree=$(mktemp -d)
mkdir -p "$tree/agent/crowded"
for i in $(seq $FOLDER_MOST); do : >"$tree/agent/crowded/x$i.c"; done
said=$(check_folders "$tree") || { echo "self-test: $FOLDER_MOST files in a folder were refused: $said"; exit 1; }
: >"$tree/agent/crowded/x.def"
if said=$(check_folders "$tree"); then echo "self-test: $((FOLDER_MOST + 1)) files in a folder were accepted"; exit 1; fi
rm -rf "$tree"
check_folders "$root"

check "$root" || { echo "the rule is the table in docs/architecture.md"; exit 1; }
[ -n "$build" ] || exit 0

# Object files: two that call each other are refused with the symbols that tie them, a chain of two is not.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
echo 'int b(void); int a(void); int a(void) { return b(); }' >"$tree/a.c"
echo 'int a(void); int b(void); int b(void) { return a(); }' >"$tree/b.c"
echo 'int b(void); int b(void) { return 1; }' >"$tree/chain.c"
for pair in 'a b circle' 'a chain chain'; do
	# shellcheck disable=SC2086 # three words
	set -- $pair
	(cd "$tree" && "${CC:-cc}" -c "$1.c" "$2.c" && mkdir -p "$3" && ar rcs "$3/librw_planted.a" "$1.o" "$2.o" && rm ./*.o)
done
if said=$("$circles" "$tree/circle"); then
	echo "self-test: a circle of two object files was accepted"
	exit 1
fi
case $said in
*'rw_planted/a.o needs b of rw_planted/b.o'*) ;;
*) echo "self-test: a circle was not told with the symbol that ties it, but: $said"; exit 1 ;;
esac
said=$("$circles" "$tree/chain") || { echo "self-test: a chain of object files was refused: $said"; exit 1; }
"$circles" "$build"

# Functions: one that nobody calls is refused, one that only tests call says so; a function that its own file calls has a caller.
tree=$tree/callers
mkdir -p "$tree/db" "$tree/tests" "$tree/build/db/CMakeFiles/x.dir" "$tree/build/tests/CMakeFiles/t.dir"
printf '%s\n' '#include "x.h" /* alone() */' 'int used(void) { return own(); } int own(void) { return 1; }' \
	'int alone(void) { return 2; } int seam(void) { return 3; } int loose(void) { return 4; }' >"$tree/db/x.c"
printf '%s\n' 'int used(void); int own(void); int alone(void);' '/* seam - 3; 4 at noon. For' ' * tests. */' 'int seam(void); int loose(void);' >"$tree/db/x.h"
echo 'int used(void); int main(void); int main(void) { return used(); }' >"$tree/db/main.c"
echo 'int seam(void); int loose(void); int main(void); int main(void) { return seam() + loose(); }' >"$tree/tests/t.c"
for file in db/x db/main; do
	"${CC:-cc}" -c "$tree/$file.c" -o "$tree/build/db/CMakeFiles/x.dir/${file#db/}.c.o"
done
"${CC:-cc}" -c "$tree/tests/t.c" -o "$tree/build/tests/CMakeFiles/t.dir/t.c.o"
said=$("$root/tests/check_callers.py" "$tree" "$tree/build") && said="nothing, and accepted it"
expected='db/x.c: nobody calls alone(): delete it
db/x.c: only tests call loose(): test what the program calls, or say "for tests" where it is declared'
[ "$said" = "$expected" ] || { echo "self-test: of functions without callers it said: $said"; exit 1; }
"$root/tests/check_callers.py" "$root" "$build"
