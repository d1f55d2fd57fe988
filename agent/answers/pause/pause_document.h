/*
 * pause_document - the documents behind `pause tree|ports`; pause_views.h has their shape.
 */
#ifndef RW_REPORTS_PAUSE_DOCUMENT_H
#define RW_REPORTS_PAUSE_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>

struct client;
struct err;

struct pause_ask {
	int priority; /* PRIO_NONE: all */
	const char *incident; /* its id: its window and priority are taken; NULL */
	const char *device, *port; /* globs, NULL = all; for the ports */
	bool all; /* ports: those without pause too */
};

/*
 * pause_tree_document, pause_ports_document - over the client's time range, or the window of the
 * incident. 0 with a new reference in *@ret; -EINVAL when no port matches, -ENOENT when there is no
 * such incident, -ENODATA when its window is not known, or another negative errno; @e says why.
 */
int pause_tree_document(
	struct client *client, const struct pause_ask *ask, json_t **ret, struct err *e);
int pause_ports_document(
	struct client *client, const struct pause_ask *ask, json_t **ret, struct err *e);

#endif
