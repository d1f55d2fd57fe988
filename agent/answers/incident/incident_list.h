/*
 * incident_list - incidents as a list, worst first:
 * `{incidents: [incident with age_s], open, closed, filtered}`. "open" and "closed" count what the
 * filter lets through. Without --state, --all or a time range the document holds all incidents that
 * were ever opened, and "filtered" is false; the text then shows the open ones.
 */
#ifndef RW_REPORTS_INCIDENT_LIST_H
#define RW_REPORTS_INCIDENT_LIST_H

#include <jansson.h>
#include <stdbool.h>

struct client;
struct err;

/* Borrowed; NULL: any. */
struct incident_filter {
	const char *state; /* open (clearing included), clearing, closed; several with commas */
	const char *severity; /* this one or worse */
	const char *cause; /* a glob of the word */
	/* globs. A device or host is meant when it is the subject or a culprit, not a victim */
	const char *device, *host, *job;
	bool all; /* closed ones too */
};

/* incident_list_document - 0 with a new reference in *@ret; -EINVAL when the filter names something
 * that does not exist; another negative errno; @e says why. */
int incident_list_document(
	struct client *client, const struct incident_filter *filter, json_t **ret, struct err *e);

#endif
