#!/usr/bin/env bash
# check_extension - the loadable extension in Debian's sqlite3 shell: all views of a database say there what "rocewatch query sql" says,
# and a plain shell still reads the views that need no extension.
# Usage: check_extension.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
command -v sqlite3 >/dev/null || { echo "check_extension: sqlite3 is missing: install the Debian package sqlite3" >&2; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

"$build/rocewatch" replay "$build/tests/golden/cases/replay/reset" --db "$work/a.db" >/dev/null 2>&1 || [ -s "$work/a.db" ]
views="samples rates ports links devices incidents findings recommendations config_history flows flow_hosts events silences alerts bursts"
for view in $views; do
	"$build/rocewatch" --db "$work/a.db" query sql "SELECT * FROM $view" --format csv >"$work/ours"
	sqlite3 -readonly -csv -header "$work/a.db" ".load $build/rocewatch_sqlite" "SELECT * FROM $view" | tr -d '\r' >"$work/shell"
	# an empty result has no header in the shell
	if [ ! -s "$work/shell" ]; then head -1 "$work/ours" >"$work/shell"; fi
	python3 - "$work/ours" "$work/shell" "$view" <<'PYTHON'
import csv, sys
ours, shell = (list(csv.reader(open(name, newline=""))) for name in sys.argv[1:3])
def number(text):
    try: return "%.9g" % float(text)
    except ValueError: return text
same = [[number(c) for c in row] for row in ours] == [[number(c) for c in row] for row in shell]
if not same: sys.exit("%s differs: %d rows by rocewatch, %d in the shell\n%s\n%s" % (sys.argv[3], len(ours), len(shell), ours[:3], shell[:3]))
PYTHON
	wc -l <"$work/shell" >"$work/rows.$view"
done
[ "$(cat "$work/rows.samples")" -gt 10 ] || { echo "check_extension: the database has no samples" >&2; exit 1; }
# without the extension: other views as ever, and a message that names the table
sqlite3 -readonly "$work/a.db" "SELECT count(*) FROM devices" >/dev/null
said=$(sqlite3 -readonly "$work/a.db" "SELECT count(*) FROM samples" 2>&1 || true)
[[ $said == *rocewatch_samples* ]] || { echo "check_extension: without the extension: $said" >&2; exit 1; }
echo "extension: all views"
