/* alert_internal - what the files alert*.c share. Nothing else includes it. Loop thread. */
#ifndef RW_ALERT_ALERT_INTERNAL_H
#define RW_ALERT_ALERT_INTERNAL_H

#include "agent/alert/alert_message.h"
#include "agent/alert/alert_wish.h"
#include "agent/alert/receiver.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/silence.h"

struct history;
struct mailbox;
struct store;

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

struct alert_subject *alert_subject_find(const struct alert *alert, const char *id);
struct alert_subject *alert_subject_get(struct alert *alert, const char *id); /* or a new one */
struct alert_receiver *alert_receiver_find(const struct alert *alert, const char *name);
struct alert_delivery *alert_delivery_find(
	const struct alert_receiver *receiver, const struct alert_subject *subject);
struct alert_delivery *alert_delivery_get(
	struct alert_receiver *receiver, struct alert_subject *subject);

/* alert_rows_load - the rows of table alert into deliveries; those of receivers that are gone are
 * deleted. alert_rows.c. 0 or negative errno with @e. */
int alert_rows_load(struct alert *alert, struct history *history, struct err *e);
/* alert_rows_save - one delivery as it now stands. */
void alert_rows_save(struct alert *alert, const struct alert_receiver *receiver,
	struct alert_delivery *delivery, int64_t now_ns);

#endif
