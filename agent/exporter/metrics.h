/*
 * metrics - what the monitoring system scrapes: the watch frame, the health of the agent and of its
 * targets, and port counters, as Prometheus text. One table of families (name, type, unit, labels,
 * help); docs/metrics-exported.md is printed from it.
 *
 * States are gauges of 0 and 1 that are always present, so that an alert can ask for them. A number
 * that is not known is left out: absent is never 0. Families with one series per subject print at
 * most metrics_options.top of them; how many were left out is a metric too.
 */
#pragma once

#include "base/base.h"

struct client;

#define METRICS_OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define METRICS_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum { METRICS_TOP = 20 };

struct metrics_options {
	bool openmetrics; /* OpenMetrics 1.0; else Prometheus text format 0.0.4 */
	size_t top; /* subjects per family; 0 = METRICS_TOP */
	bool all_ports; /* port counters of every port, not only of those that stand out */
};

/*
 * metrics_print - the page. Everything is read before the first byte is written.
 *
 * 0; -EIO when @out refuses; or the negative errno of a read, with @e filled and nothing written.
 */
int metrics_print(
	FILE *out, struct client *client, const struct metrics_options *options, struct err *e);

/* metrics_print_unreadable - the page when no database can be read: build and
 * rocewatch_database_readable 0, so that the scrape itself does not fail. 0 or -EIO. */
int metrics_print_unreadable(FILE *out, const struct metrics_options *options);

/* metrics_wants_openmetrics - does the value of an HTTP Accept header ask for OpenMetrics? NULL
 * does not. */
bool metrics_wants_openmetrics(const char *accept);

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_INFO };

struct metrics_page;

struct metrics_family {
	const char *name; /* without the suffixes _total and _info */
	enum metrics_type type;
	const char *unit; /* the end of the name: "seconds", "bytes", "ratio"; "" none */
	const char *labels; /* for the manual: "device, port" */
	const char *help;
	const char *source; /* for the manual: where the number comes from */
	void (*emit)(struct metrics_page *page);
	const char *key; /* for @emit, which serves several families; NULL: it needs none */
	size_t at; /* the same, as the byte of a member: offsetof() */
	const void *from; /* the same, as a table of its own file */
};

/* metrics_each_family - in the order of the page; for the manual and the tests. */
typedef void metrics_family_fn(void *arg, const struct metrics_family *family);
void metrics_each_family(metrics_family_fn *fn, void *arg);
