/*
 * steps_document - the training rhythm of each job as a document (its shape stands in
 * steps_views.h).
 */
#ifndef RW_REPORTS_STEPS_DOCUMENT_H
#define RW_REPORTS_STEPS_DOCUMENT_H

#include <jansson.h>

struct client;
struct err;

/* steps_document - over the client's time range; @job is a glob of jobs, NULL for all. 0 with a new
 * reference, or negative errno with @e. */
int steps_document(struct client *client, const char *job, json_t **ret, struct err *e);

#endif
