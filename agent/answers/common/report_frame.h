/*
 * report_frame - what the document of every report begins with, so that formats, comparison and
 * --check treat all reports alike:
 *
 *   {report, fabric, since, until,
 *    state: "OK|WARNING|CRITICAL|UNKNOWN", verdict: the result in one sentence,
 *    problems: [{key, state, subject, text, runbook}],   worst first
 *    missing: [text],                                    data that was not there
 *    figures: [{key, title, value|null, unit}]}          what is worth comparing
 *
 * A problem's key is the same in every run as long as the problem is: cause and subject, without a
 * time and without a number. Missing data is null or a line of "missing", never 0.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct client;
struct config;

enum report_state { REPORT_OK, REPORT_UNKNOWN, REPORT_WARNING, REPORT_CRITICAL }; /* worse last */

/* report_state_name - "OK", "UNKNOWN", "WARNING", "CRITICAL". */
const char *report_state_name(enum report_state state);

/* report_frame - the frame of a report over the client's time range, without a verdict. The caller
 * owns it. */
json_t *report_frame(const char *name, const struct client *client);

/*
 * report_problem - adds one. @cause is a word of cause.def, or another word of the report's own;
 * @subject is the device, port, host or group that it is about, "" for the fabric. A second problem
 * with both the same is not added.
 */
void report_problem(json_t *doc, enum report_state state, const char *cause, const char *subject,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* report_is_told - is there a problem of @cause about @subject, a port as "leaf1:Ethernet2"? That
 * of an incident names the host before it. */
bool report_is_told(const json_t *doc, const char *cause, const char *subject);

/* report_missing - says which data was not there; the same text twice stands once. */
void report_missing(json_t *doc, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* report_figure - @value NAN: not known. @unit is one of those in db/model/metric.def, or "USD". */
void report_figure(json_t *doc, const char *key, const char *title, double value, const char *unit);

/*
 * report_verdict - sorts the problems, worst first, and sets the verdict: the state of the worst
 * one, and its text with the number of others; each problem of a cause gets its runbook. Without a
 * problem it is @fine, and the state is
 * @empty: REPORT_UNKNOWN where nothing could be judged, else REPORT_OK.
 */
void report_verdict(
	const struct config *config, json_t *doc, enum report_state empty, const char *fine);

/* report_doc_state - the state of a finished document. */
enum report_state report_doc_state(const json_t *doc);
