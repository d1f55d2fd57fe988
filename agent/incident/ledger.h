/*
 * ledger - one story from many findings: an incident's life.
 *
 *      PENDING --`hold` OVER windows--> OPEN --UNDER--> CLEARING --`clear_hold` UNDER--> CLOSED
 *         | UNDER                         ^-----OVER-------'
 *         v forgotten              IDLE changes nothing; UNKNOWN freezes
 *
 * An incident is identified by (analyzer, device, port, priority, host, group); its id by a hash
 * over (fabric, cause, root subject, opened window), so live and replay agree. Pure of clock and
 * I/O: time comes with the findings; what changed is told to @changed.
 *
 * What an open incident says (summary, evidence, flows, roles, next steps, confidence, value) comes
 * from its strongest OVER window: the one furthest above its threshold, the later one when equal. A
 * window that is clearly less sure (by more than 0.1: packets or counters are missing that were
 * there before) does not replace it. Severity only rises while it is open.
 *
 * A cause may change while the incident is open, as better evidence arrives. The id stays (it names
 * the story, not our opinion of it) and the timeline says when and from what. The new cause is
 * taken at once when it is held with at least the confidence of the old one, after `hold` OVER
 * windows in a row when it is a little less sure, and not at all when it is clearly less sure: that
 * a capture ended does not unsay what its packets showed.
 *
 * Held means: `hold` OVER windows among the last hold + 2 judged ones (hold itself when that is 1,
 * one more when it is 2). Agents that refresh their counters more slowly than they are asked show
 * nothing in some windows; tuning facts, section d: 3 of the last 5.
 *
 * One fault, one story: what another story explains (agent/incident/correlate.h) does not open. It
 * waits, no longer than that one's own hold, while the other is still pending, and is told in the
 * other's "also" and timeline when that is open. A story that was open before its explanation gets
 * it as .parent and stays. An explanation that is clearly less sure (by more than 0.3) than what it
 * would explain does not count.
 *
 * clear_hold is the hold of the finding: as many quiet windows close an incident as loud ones
 * opened it.
 */
#ifndef RW_AGENT_LEDGER_H
#define RW_AGENT_LEDGER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "config/fabric.h"
#include "db/model/finding.h"

enum incident_state { INCIDENT_PENDING, INCIDENT_OPEN, INCIDENT_CLEARING, INCIDENT_CLOSED };
const char *incident_state_name(enum incident_state state);

struct incident {
	char id[9];
	enum incident_state state;
	enum cause cause;
	const char *analyzer, *device, *port, *host, *group, *member, *summary;
	int priority;
	enum severity severity;
	/* first: start of the first OVER window; opened: end of the window that opened it */
	int64_t first_ns, opened_ns, closed_ns, updated_ns;
	uint32_t over, under, windows; /* in a row; windows: OVER ones since first */
	double usd_per_hour, usd_total, confidence_ratio, explained_ratio, coverage_ratio, value,
		warn;
	uint64_t gpus_affected;
	const char *acked_by;
	const char *parent; /* id of the incident that explains this one, NULL */
	json_t *json; /* contract form (metrics.md), kept current; owned */
	/* during @changed: the line added to the timeline, NULL when only numbers moved */
	const char *note;
	int64_t note_ns; /* and its time */
};

struct ledger;
/* @from equals the incident's state when it did not change. Only incidents that reached OPEN are
 * told. */
typedef void ledger_fn(void *arg, const struct incident *incident, enum incident_state from);
struct ledger *ledger_new(const struct fabric *fabric, ledger_fn *changed, void *arg);
void ledger_free(struct ledger *ledger);
/* ledger_reload - judge by another fabric from now on. Incidents whose device it does not have are
 * closed: nobody will speak of them again. */
void ledger_reload(struct ledger *ledger, const struct fabric *fabric);
/* ledger_take - findings of one window, in order. A window an incident has already counted (after a
 * restart) is not counted twice. */
void ledger_take(struct ledger *ledger, const struct finding *finding);
/* ledger_rates - what the jobs moved up to now, after the findings of a window: what incidents
 * under way cost is measured by it. */
void ledger_rates(struct ledger *ledger, const struct job_rate *rates, size_t n);
/* worst first; all that reached OPEN; lent until the next take */
size_t ledger_incidents(const struct ledger *ledger, const struct incident ***ret);
/* any case; NULL; lent until the next take */
const struct incident *ledger_find(const struct ledger *ledger, const char *id);
/*
 * ledger_act - what people do to an incident; it stands in the timeline with @who and @t_ns.
 *
 *   ACT_ACK     somebody has seen it; @text why, NULL
 *   ACT_ASSIGN  @text: whose it is from now on
 *   ACT_NOTE    @text
 *   ACT_CLOSE   closed by hand; what goes on opens another. @text why, NULL
 *   ACT_MERGE   @text: id of the incident that tells the whole story; this one becomes part of it
 *
 * 0, -ENOENT (no such incident, or none to merge into), -EINVAL (no text where one is needed, or
 * merged into itself), -EALREADY (closed already).
 */
enum incident_act { ACT_ACK, ACT_ASSIGN, ACT_NOTE, ACT_CLOSE, ACT_MERGE };
int ledger_act(struct ledger *ledger, const char *id, enum incident_act act, const char *who,
	const char *text, int64_t t_ns);
/* The word of an act (-EINVAL: no such act), and what is wrong when ledger_act() refused. */
int incident_act_parse(const char *word, enum incident_act *ret);
const char *incident_act_error(int error);
/*
 * ledger_restore - at start: incidents that were open when the agent stopped go on, from their
 * stored JSON; closed ones keep windows that are analysed again from being counted again. -EINVAL,
 * -EEXIST.
 */
int ledger_restore(struct ledger *ledger, const char *json);
/* ledger_forget - drop incidents closed before @t_ns from memory (the database keeps them). */
void ledger_forget(struct ledger *ledger, int64_t t_ns);

/* incident_compare - worst first: severity, then money per hour, then confidence, then the older
 * one, then id. For qsort of pointers. */
int incident_compare(const struct incident *left, const struct incident *right);

#endif
