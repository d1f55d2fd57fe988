/* cli_topics - what holds for many commands and is explained once: "rocewatch help TOPIC". */
#include "agent/command/cli_help.h"

const struct help_topic help_topics[] = {
	{"exit-codes", "what each exit code means",
		"Commands:\n"
		"  0  done\n"
		"  1  failed at run time: no such incident, the database cannot be read, a\n"
		"     device does not answer. Also: doctor has something to do, topology check\n"
		"     found something\n"
		"  2  wrong usage, or a configuration with mistakes\n"
		"\n"
		"Checks, and reports with --check (monitoring plugins):\n"
		"  0  OK\n"
		"  1  WARNING\n"
		"  2  CRITICAL\n"
		"  3  UNKNOWN: stale or missing data, a configuration or database that cannot\n"
		"     be used, wrong usage. Never 0\n"
		"\n"
		"A full disk or a closed pipe makes 1 of a 0.\n"},
	{"time", "how times and time ranges are written",
		"A time is one of:\n"
		"  2026-11-21T03:14:00Z        RFC 3339; with +01:00 for another offset\n"
		"  '2026-11-21 03:14'          with or without seconds, UTC\n"
		"  2026-11-21                  midnight UTC\n"
		"  15m, 24h, 7d                that long ago\n"
		"\n"
		"A time range is one of:\n"
		"  --since TIME                from then to now\n"
		"  --since TIME --until TIME   from one time to another\n"
		"  --until TIME                up to then, as long as is usual for the command\n"
		"  --around TIME               15 minutes before and after\n"
		"  --around TIME --span 2m     2 minutes before and after\n"
		"\n"
		"\"Now\" is the clock while an agent writes the database, else its newest sample.\n"
		"status, doctor and watch show a state: they take --until and --around only.\n"},
	{"ranges", "how --warn and --crit are written",
		"A range says which values are fine (monitoring-plugins guidelines):\n"
		"  0.2 or 20%     alert below 0 and above 0.2\n"
		"  10:            alert below 10\n"
		"  ~:0.2          alert above 0.2 only\n"
		"  0.1:0.2        alert outside of 0.1 to 0.2\n"
		"  @0.1:0.2       alert inside of 0.1 to 0.2\n"
		"\n"
		"'rocewatch check NAME --help' says what is compared, and in which unit.\n"},
	{"units", "how sizes, rates, lengths and durations are written",
		"  sizes        9216B 400KB 1.5MB 2GB, and KiB MiB GiB\n"
		"  rates        100G 400G 1.6T 25Gbit/s\n"
		"  lengths      40m 3km\n"
		"  durations    500ms 10s 15m 24h 7d\n"
		"  shares       5% or 0.05\n"
		"  globs        leaf* matches leaf1 and leaf12; ? is one character\n"
		"\n"
		"In JSON the unit is in the name of the key: _ns _s _bytes _bps _ratio.\n"},
	{"formats", "what --format writes",
		"  table   for people, the default\n"
		"  csv     rows with a header line (--no-header leaves it out)\n"
		"  json    one document; docs/json.md and its schemas describe it\n"
		"  jsonl   one object a line, for streams\n"
		"  html    one page that needs no other file\n"
		"  md      Markdown, for a ticket\n"
		"\n"
		"Not every command writes all of them; its help lists those it writes, and\n"
		"others are refused. Unknown is null in JSON, empty in csv, - in tables: never "
		"0.\n"},
	{"environment", "variables and files",
		"  ROCEWATCH_CONFIG   the configuration, when -c is not given\n"
		"  NO_COLOR           no color, unless --color always\n"
		"  TERM               'dumb': no color\n"
		"\n"
		"  /etc/rocewatch/rocewatch.yaml       the configuration when neither is given\n"
		"  /var/lib/rocewatch/rocewatch.db     the database, if the configuration says "
		"so\n"},
	{0},
};
