/*
 * ecmp_document - how even the ECMP groups are, in the three forms of `rocewatch ecmp`.
 */
#pragma once

#include "agent/reports/report.h"
#include "base/base.h"

struct ecmp_form {
	const char *name; /* "groups" */
	const struct view *view;
	/* puts its own answer in the place of that of the report; NULL: that one */
	void (*make)(struct report_result *result);
};
#define ECMP_FORMS 3
extern const struct ecmp_form ecmp_forms[ECMP_FORMS]; /* groups, heatmap, collisions */
const struct ecmp_form *ecmp_form_by_name(const char *name); /* or NULL */

/* ecmp_answer - over the client's time range. 0, -EINVAL when nothing matches @ask, or another
 * negative errno; @e says why. report_result_done() @ret after 0. */
int ecmp_answer(struct client *client, const struct ecmp_form *form, const struct report_ask *ask,
	struct report_result *ret, struct err *e);
