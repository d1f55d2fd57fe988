/*
 * report - one row of the report table: a document about a time range, for people, cron and mail.
 * One file per report (agent/reports/report_<word>.c), its struct last, its word in RW_REPORTS in
 * CMakeLists.txt. `rocewatch report` does the formats, --out and --check for every row; a report
 * that can be judged has a check beside it (agent/check/check.h).
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/document/example.h"
#include "agent/document/writer.h"

struct client;

/* What the user asks for beside the time range. Borrowed. */
struct report_ask {
	const char *device; /* glob of devices, NULL = all */
	const char *group; /* glob of ECMP groups or of "DEVICE/GROUP", NULL = all */
	double warn, critical; /* limits instead of the configured ones; 0: those */
};

/* What a report found. */
struct report_result {
	json_t *doc;
	const void
		*answer; /* the same as a struct, for the view and the check; NULL: they read doc */
	struct arena *arena; /* holds it; may be NULL */
	int64_t window_ns; /* length of the windows it was measured in */
};
/* report_result_done - drops it; also for rw_cleanup(). */
static inline void report_result_done(struct report_result *result)
{
	json_decref(result->doc);
	if (result->arena)
		arena_free(result->arena);
	*result = (struct report_result){0};
}

struct report {
	const char *name; /* the word on the command line */
	const char *summary; /* one line of help */
	const char *help; /* a paragraph, or NULL */
	/* which options of `rocewatch report` it takes beside those of all reports, with blanks:
	 * "device group"; NULL none */
	const char *options;
	struct example examples[2]; /* "report daily --since 24h" */
	int64_t span_ns; /* the time range when the user names none */
	/* 0, -EINVAL when the user asked for something that does not exist, or another negative
	 * errno; @e says why. @ret is filled on success only. */
	int (*collect)(struct client *client, const struct report_ask *ask,
		struct report_result *ret, struct err *e);
	const struct view *view;
};

extern const struct report *const reports[]; /* NULL-terminated */
/* Rows that other documents are made of. Those take them from here and not by name: the table holds
 * the reports that ask, too. */
extern const struct report report_spine_imbalance, report_pause, report_links;

/* report_by_name - the row, or NULL. */
const struct report *report_by_name(const char *name);
