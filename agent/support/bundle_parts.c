/* bundle_parts - rows that are always there, then one for each device that is to be asked. */
#include "agent/support/bundle_parts.h"

#include <stdio.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

#define JOURNAL_LINES "5000"

static const struct {
	const char *name, *what;
	const char *words[BUNDLE_WORDS];
	int seconds;
} rows[] = {
	{"version.txt", "version of rocewatch", {NULL, "--version"}, 5},
	{"config-check.txt", "what 'config check' says of the file", {NULL, "config", "check"}, 15},
	{"config-effective.yaml", "the configuration with all defaults, secrets masked",
		{NULL, "config", "show"}, 15},
	{"status.txt", "who answers, how old the data is", {NULL, "status"}, 20},
	{"doctor.txt", "health of the collection, and what to do about it", {NULL, "doctor"}, 20},
	{"doctor.json", "the same as a document", {NULL, "doctor", "--format", "json"}, 20},
	{"db-stat.txt", "the database: what it holds, how it grows", {NULL, "db", "stat"}, 20},
	{"db-stat.json", "the same as a document", {NULL, "db", "stat", "--format", "json"}, 20},
	{"incidents.json", "incidents, also closed ones",
		{NULL, "incident", "list", "--all", "--format", "json"}, 20},
	{"incidents-open.txt", "open incidents, one line each", {NULL, "incident", "list"}, 20},
	{"events.json", "starts, stops, reloads, clock steps and notes",
		{NULL, "event", "list", "--since", "7d", "--format", "json"}, 20},
	{"silences.txt", "maintenance windows", {NULL, "silence", "list"}, 15},
	{"tune.txt", "threshold changes and their states", {NULL, "tune", "list"}, 20},
	{"topology.txt", "the fabric graph", {NULL, "topology", "show"}, 20},
	{"topology-check.txt", "what 'topology check' says of it", {NULL, "topology", "check"}, 20},
	{"alerts.txt", "the receivers of alerts and whether they answer", {NULL, "alert", "list"},
		15},
	{"profiles.txt", "profiles in use and what they collect", {NULL, "profile", "list"}, 15},
	{"unit.txt", "the unit as systemd has it",
		{"systemctl", "show", "--no-pager", "-p",
			"Id,LoadState,ActiveState,SubState,Result,NRestarts,ExecMainStatus,"
			"MainPID,MemoryCurrent,ActiveEnterTimestamp,DropInPaths,FragmentPath"},
		10},
	{"log.txt", "the agent's log: the last " JOURNAL_LINES " lines of the journal",
		{"journalctl", "--no-pager", "--quiet", "-o", "short-iso-precise", "-n",
			JOURNAL_LINES, "-u"},
		20},
	{"timesync.txt", "synchronization of the clock", {"timedatectl", "show", "--no-pager"}, 5},
};

static void part_add_word(struct bundle_part *part, const char *word)
{
	size_t n = 1;
	while (part->words[n])
		n++;
	if (n + 1 < BUNDLE_WORDS)
		part->words[n] = word;
}

bool bundle_part_at(const struct bundle_ask *ask, size_t i, struct bundle_part *ret)
{
	*ret = (struct bundle_part){0};
	if (i < rw_countof(rows)) {
		snprintf(ret->name, sizeof(ret->name), "%s", rows[i].name);
		ret->what = rows[i].what;
		ret->seconds = rows[i].seconds;
		for (size_t k = 0; k < BUNDLE_WORDS; k++)
			ret->words[k] = rows[i].words[k];
		if (str_eq(rows[i].name, "log.txt") || str_eq(rows[i].name, "unit.txt"))
			part_add_word(ret, ask->unit);
		return true;
	}
	i -= rw_countof(rows);
	for (size_t k = 0; k <= i; k++)
		if (!ask->devices || !ask->devices[k])
			return false;
	snprintf(ret->name, sizeof(ret->name), "profile-test-%zu.txt", i + 1);
	ret->what = "what a device answers, counter by counter";
	ret->seconds = 60;
	part_add_word(ret, "profile");
	part_add_word(ret, "test");
	part_add_word(ret, ask->devices[i]);
	return true;
}
