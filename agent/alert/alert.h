/*
 * alert - which receiver has to get which incident, and what it got already. It listens to the
 * ledger after the store does. Every second it compares how each incident stands with what each
 * receiver got (receiver.h), and hands what is missing to the receiver's thread
 * (receiver.h). Nothing here waits for a receiver.
 *
 *      one root cause, one alert   an incident with .parent is not sent while the parent is
 *      tried until it is there     after 1, 2, 4, ... s, at most `retry` apart; while a receiver
 *                                  does not answer, one message at a time is tried
 *      known after a restart       table alert: what was sent, what waits. A message that was on
 *                                  its way when the process died is sent again under the same
 *                                  delivery id
 *      bounded                     `spool` messages wait per receiver; beyond, the oldest openings
 *                                  are dropped, counted, logged, and an event
 *      refused for good            tried three times, then given up: logged, and an event
 *
 * A failing receiver is logged with growing gaps, and once when it answers again. Events:
 * alert_sent for what a receiver took (not for repetitions to an Alertmanager), alert_failed
 * when the first attempt fails and when something is given up.
 *
 * Loop thread, all of it.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/alert/alert_message.h"
#include "agent/alert/receiver.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/ledger.h"
#include "agent/incident/silence.h"
#include "base/log.h"

struct alert;
struct loop;

/* alert_new - for the receivers of @config, which is copied. No thread begins before the first
 * alert_tick(). @store and @ledger are lent until alert_free(). */
struct alert *alert_new(struct loop *loop, struct store *store, const struct config *config);
/* alert_free - waits a moment for what is on its way. NULL is fine. */
void alert_free(struct alert *alert);

/* alert_load_silences - the silences alone, when the database could be read only later. 0 or
 * negative errno with @e. */
int alert_load_silences(struct alert *alert, struct history *history, struct err *e);
/* alert_load - at start, before the ledger restores incidents: what receivers know, what waits, and
 * the silences. A database without them is fine. 0 or negative errno with @e. */
int alert_load(
	struct alert *alert, struct history *history, wall_t now, mono_t mono, struct err *e);

/* alert_take - a ledger_fn: the incident changed. */
void alert_take(void *alert, const struct incident *incident, enum incident_state from);

/* alert_sync - after the ledger has restored incidents: takes all of them. */
void alert_sync(struct alert *alert, const struct ledger *ledger, wall_t now);

/* alert_tick - once a second. @ledger: where incidents are found. */
void alert_tick(struct alert *alert, const struct ledger *ledger, wall_t now, mono_t mono);

/* alert_clock_set_back - by @step_ns (below 0). Silences that were made before and now lie ahead
 * keep their distance from the present: one that begins at once holds on. */
void alert_clock_set_back(struct alert *alert, int64_t now_ns, int64_t step_ns);

/* alert_reload - another configuration: receivers that did not change go on; what is known of a
 * removed one is forgotten. */
void alert_reload(
	struct alert *alert, const struct config *config, const struct ledger *ledger, wall_t now);

/*
 * alert_request - a command of the agent's socket; NULL when @cmd is none of these:
 *
 *      silence_add     {device, port, host, job, cause, from_ns, until_ns, why}
 *      silence_expire  {id}
 *      event_add       {text, device, port, job, ticket, t_ns}
 *      alert_test      {receiver}: answers {ticket}; receiver null: the only one
 *      alert_result    {ticket}: {done, delivered, text, took_s}
 */
json_t *alert_request(
	struct alert *alert, const char *cmd, const char *who, const json_t *request, wall_t now);

/* What the agent says of a receiver in its health. */
struct alert_view {
	const char *name;
	uint64_t sent, failed, dropped, queued;
	int64_t last_success_ns; /* wall; 0: never */
	bool failing; /* the newest attempt failed */
};
size_t alert_count(const struct alert *alert);
struct alert_view alert_at(const struct alert *alert, size_t i);

/* alert_internal - what the files alert*.c share. Nothing else includes it. Loop thread. */

/* An incident, as far as alerts are about it. */
struct alert_subject {
	char id[9], parent[9]; /* parent "": none */
	bool known; /* the ledger spoke of it since the start */
	bool closed, acked, silenced;
	enum severity severity;
	enum cause cause;
	int64_t closed_ns;
	/* a copy for what is still to be sent when the ledger has forgotten it; NULL */
	struct incident_record *kept;
};

/* What one receiver knows of one incident, and what it has to be told. */
struct alert_delivery {
	struct alert_subject *subject;
	struct alert_known known; /* .age_ns and .waiting are set when it is compared */
	bool fits;
	int sent; /* messages */
	int64_t sent_ns; /* wall, of the last one; 0: never */
	mono_t sent_at;
	char *labels; /* owned; NULL */
	enum alert_event pending; /* waits, or is on its way */
	int64_t pending_ns; /* wall: since when */
	mono_t not_before;
	int attempts;
	char *error; /* of the last attempt; owned; NULL */
	bool in_flight;
	/* it was dropped, or refused for good, and is not tried again */
	enum alert_event given_up;
	bool stored;
};

struct alert_receiver {
	struct receiver *thread;
	const struct config_receiver *config; /* of .thread */
	const struct sender *sender;
	char *name; /* owned */
	struct alert_delivery **v; /* owned */
	size_t n, cap, in_flight;
	int64_t gap_ns; /* between attempts; 0: it answers */
	mono_t next_try;
	struct complaint failing, giving_up;
	uint64_t sent, failed, dropped, queued;
	int64_t last_success_ns;
};

struct alert_test_run {
	uint64_t ticket; /* 0: none was asked for yet */
	bool done;
	int rc;
	int64_t took_ns;
	char text[300];
};

struct alert {
	struct store *store;
	struct mailbox *results;
	char *fabric, *web_url, *runbook_url; /* owned; both URLs may be NULL */
	struct alert_receiver *receivers;
	size_t n_receivers;
	struct alert_subject **subjects; /* owned */
	size_t n_subjects, cap_subjects;
	struct silences silences;
	/* of the last tick, 0: none yet. Results count from it: a second is near enough */
	wall_t now;
	mono_t mono;
	struct alert_test_run test;
};
