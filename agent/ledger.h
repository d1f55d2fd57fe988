/*
 * ledger - one story from many findings: an incident's life.
 *
 *      PENDING --held (hold OVER windows)--> OPEN --UNDER--> CLEARING --clear_hold UNDER windows--> CLOSED
 *         |UNDER                               ^---OVER---------'
 *         v forgotten                     IDLE changes nothing; UNKNOWN freezes
 *
 * An incident is identified by (analyzer, device, port, priority, host, group); its id by a hash over (fabric, cause, root subject,
 * opened window), so live and replay agree. Pure of clock and I/O: time comes with the findings; what changed is told to @changed.
 */
#ifndef RW_AGENT_LEDGER_H
#define RW_AGENT_LEDGER_H

#include <jansson.h>
#include <stdint.h>
#include "config/fabric.h"
#include "db/finding.h"

enum incident_state { INCIDENT_PENDING, INCIDENT_OPEN, INCIDENT_CLEARING, INCIDENT_CLOSED };
const char *incident_state_name(enum incident_state s);

struct incident {
	char id[9];
	enum incident_state state;
	const char *analyzer, *cause, *device, *port, *host, *group, *member, *summary;
	int priority;
	enum severity severity;
	int64_t first_ns, opened_ns, closed_ns, updated_ns; /* first: start of the first OVER window; opened: end of the window that opened it */
	uint32_t over, under, windows; /* in a row; windows: OVER ones since first */
	double usd_per_hour, usd_total, confidence_ratio, explained_ratio, coverage_ratio, value, warn;
	uint64_t gpus_affected;
	const char *acked_by;
	json_t *json; /* contract form (metrics.md), kept current; owned */
};

struct ledger;
typedef void ledger_fn(void *arg, const struct incident *i, enum incident_state from);
struct ledger *ledger_new(const struct fabric *f, ledger_fn *changed, void *arg);
void ledger_free(struct ledger *l);
void ledger_reload(struct ledger *l, const struct fabric *f);
void ledger_take(struct ledger *l, const struct finding *f); /* findings of one window, in order */
size_t ledger_incidents(const struct ledger *l, const struct incident ***ret); /* worst first; all that reached OPEN; lent until the next take */
int ledger_ack(struct ledger *l, const char *id, const char *who, const char *note, int64_t t_ns); /* -ENOENT */
/* ledger_restore - at start: incidents that were open when the agent stopped go on, from their stored JSON. */
int ledger_restore(struct ledger *l, const char *json);

#endif
