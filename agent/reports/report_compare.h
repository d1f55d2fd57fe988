/*
 * report_compare - a report beside the same report of earlier times, computed from the database:
 * nothing is kept between two runs. Adds to the document of report_frame.h
 *
 *   compare: [{with: "previous|yesterday|last_week", since, until, state: "OK|..."|null,
 *              figures: [{key, value|null, change|null}], new: [key], gone: [key],
 *              changed: [key]}]                    changed: there then, in another state
 *
 * "previous" is the range of the same length just before, "yesterday" 24 h and "last_week" 7 d
 * earlier; one that is the same range as an entry before stands once. Where the database holds
 * nothing of that time, state and values are null, and every problem is new.
 */
#pragma once

#include "agent/reports/report.h"

/* report_compare - collects @report again for each earlier range. 0, or negative errno with @e. */
int report_compare(const struct report *report, struct client *client, const struct report_ask *ask,
	json_t *doc, struct err *e);
