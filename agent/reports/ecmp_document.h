/*
 * ecmp_document - how even the ECMP groups are, in the three forms of `rocewatch ecmp`, and over
 * time.
 */
#ifndef RW_REPORTS_ECMP_DOCUMENT_H
#define RW_REPORTS_ECMP_DOCUMENT_H

#include <jansson.h>

#include "agent/reports/report.h"

struct client;
struct err;
struct view;

struct ecmp_form {
	const char *name; /* "groups" */
	json_t *(*make)(const json_t *doc); /* of the report; NULL: the report as it is */
	const struct view *view;
};
#define ECMP_FORMS 3
extern const struct ecmp_form ecmp_forms[ECMP_FORMS]; /* groups, heatmap, collisions */
const struct ecmp_form *ecmp_form_by_name(const char *name); /* or NULL */

/* ecmp_document - over the client's time range. 0 with a new reference, -EINVAL when nothing
 * matches @ask, or another negative errno; @e says why. */
int ecmp_document(struct client *client, const struct ecmp_form *form, const struct report_ask *ask,
	json_t **ret, struct err *e);

#endif
