/*
 * incident_json - the one codec of incidents: struct to document and back. The store keeps this
 * text, the agent's socket sends it, the views read it. All fields but "progress" are a contract
 * with other programs; "progress" holds what the ledger needs to go on after a restart.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/incident/incident.h"

struct incident_record;
struct history;

/* incident_json - the document of an incident that a ledger lent. The caller owns it. */
json_t *incident_json(const struct incident *incident);
/* incident_json_text - the same as compact text; free(). */
char *incident_json_text(const struct incident *incident);
/* incident_json_parse - a record from that text, or NULL when it is not an incident that was open
 * or is closed. The caller owns it. */
struct incident_record *incident_json_parse(const char *text);
/* incident_json_read - the same from a document; it may be freed afterwards. */
struct incident_record *incident_json_read(const json_t *document);

/*
 * accused - whom the incidents of a time range hold responsible: one answer for the pause tree and
 * for whoever else names a culprit, so that no two surfaces accuse different parties.
 */

struct accused { /* texts in the arena */
	char id[9]; /* of the incident */
	enum cause cause;
	/* the host, or the port; a port of a group is its hot member. NULL where there is none */
	const char *host, *device, *port;
	int priority; /* PRIO_NONE: none in particular */
	double confidence_ratio; /* NAN unknown */
	const char *headline;
};

/* accused_read - of the incidents that overlap [@from_ns, @to_ns], those about @id first (NULL:
 * none is preferred), then the worst first; info is left out unless it is @id. 0, or a negative
 * errno with @e filled. Main thread. */
int accused_read(struct history *history, int64_t from_ns, int64_t to_ns, const char *id,
	struct arena *a, struct accused **ret, size_t *ret_n, struct err *e);

/* incident_store - a ledger_fn (agent/incident/ledger.h): the incident that changed, and the event
 * that says how, into the store. @store is a struct store, NULL keeps nothing. Any thread that may
 * write to the store. */
void incident_store(void *store, const struct incident *incident, enum incident_state from);
