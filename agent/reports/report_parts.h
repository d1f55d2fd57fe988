/*
 * report_parts - what reports about a day or a shift take from other reports: their verdicts and
 * problems, and the first rows of their arrays. So a day's report says of pause what the report
 * about pause says.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct client;
struct report;
struct report_result;

/* One part of a report's document: reads over the client's time range and puts keys into @doc.
 * 0, or a negative errno with @e. */
typedef int report_put_fn(struct client *client, json_t *doc, struct err *e);

/* report_collect_whole - @ret is the document of the report @name: the frame, what each of @n
 * @steps puts into it, and the verdict, which is @fine where there is no problem and telemetry was
 * stored. 0, or the first failure of a step with @e; @ret is filled on success only. */
int report_collect_whole(struct client *client, const char *name, report_put_fn *const *steps,
	size_t n, const char *fine, struct report_result *ret, struct err *e);

/* report_part - the document of @report over the client's time range. 0 with a new reference, or a
 * negative errno with @e. */
int report_part(struct client *client, const struct report *report, json_t **ret, struct err *e);

/* report_part_verdict - adds {report, state, text} of the report @name to @parts. */
void report_part_verdict(json_t *parts, const char *name, const json_t *part);
/* report_part_problems - the problems of @part, the report @name, that @doc does not have yet, and
 * its first lines of missing data, each begun with the name. */
void report_part_problems(json_t *doc, const char *name, const json_t *part);
/* report_part_rows - the first @most rows of an array of @part; a new reference, never NULL. */
json_t *report_part_rows(const json_t *part, const char *key, size_t most);

/* report_served - a served document (agent/answers/common/served.h) over the client's time range,
 * without parameters. 0 with a new reference, -ENOENT when nothing serves it, or a negative errno.
 */
int report_served(struct client *client, const char *path, json_t **ret, struct err *e);
