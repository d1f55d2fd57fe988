/*
 * receiver - a thread that sends messages to one receiver, one batch after the other. It knows
 * nothing of incidents and keeps nothing: what was sent and what has to be tried again is the
 * loop's business (agent/alert/alert.h).
 */
#pragma once

#include "base/base.h"

#include "agent/alert/alert_message.h"
#include "agent/alert/sender.h"

struct mailbox;
struct receiver;

/* One message on its way there and back. */
struct receiver_job {
	struct receiver_job *next;
	struct alert_message *message; /* owned */
	const char *receiver; /* its name; lives in the message's arena */
	uint64_t ticket; /* of a test; 0: none */
	int rc; /* result of the sender */
	int64_t took_ns;
	char error[300]; /* "" when .rc is 0 */
};
struct receiver_job *receiver_job_new(struct alert_message *message, const char *receiver);
void receiver_job_free(struct receiver_job *job); /* NULL is fine */

/* receiver_new - @config is copied. The thread begins with the first job. Finished jobs are posted
 * to @results, which must have room for all that are under way at a time. */
struct receiver *receiver_new(const struct config_receiver *config, struct mailbox *results);
/* receiver_same - is this the receiver that @config describes? */
bool receiver_same(const struct receiver *receiver, const struct config_receiver *config);
/* receiver_config - the copy. */
const struct config_receiver *receiver_config(const struct receiver *receiver);

/* receiver_give - takes over @job. False, and nothing taken, when no thread can be made. Loop
 * thread. */
bool receiver_give(struct receiver *receiver, struct receiver_job *job);

/* receiver_stop - drops waiting messages, gives the one under way @grace_ns to end and post its
 * results, then stops it; afterwards nothing is posted. A thread that still waits for a name server
 * ends by itself later. Waits at most @grace_ns and 0.1 s. Loop thread; NULL is fine. */
void receiver_stop(struct receiver *receiver, int64_t grace_ns);
/* receiver_free - stops it at once, unless it was stopped before. The configuration is gone
 * afterwards. */
void receiver_free(struct receiver *receiver);

/*
 * alert_wish - what a receiver should be told next of one incident: a pure comparison of how the
 * incident stands with what the receiver knows. Nothing is queued that a later state overtakes: a
 * receiver that was away gets the state of now.
 *
 *      knows nothing   open                                -> opened
 *                      over, while its opening waited      -> resolved (with both times)
 *      knows it open   over, or explained by another one   -> resolved, always
 *                      its severity rose                   -> escalated
 *                      still open after `resend`           -> reminder, unless acknowledged
 *                      a silence of it is over             -> reminder
 *      knows its end   open again                          -> opened
 *
 * While a silence fits, nothing is sent but the end of what the receiver knows as open.
 */

/* How the incident stands, for this receiver. */
struct alert_fact {
	bool closed;
	bool covered; /* explained by another incident that the receiver gets */
	bool silenced, acked;
	bool fits; /* its severity, cause, device and jobs are what the receiver asked for */
	enum severity severity;
	enum cause cause;
};

enum alert_told { TOLD_NOTHING, TOLD_OPEN, TOLD_RESOLVED };

/* What the receiver knows. */
struct alert_known {
	enum alert_told told;
	enum severity severity; /* as it was sent last */
	enum cause cause;
	bool acked; /* the acknowledgement was sent */
	bool waiting; /* an opening waits to be told */
	bool muted; /* a silence kept something back */
	int64_t age_ns; /* since it was sent last */
};

enum alert_event alert_wish(const struct alert_fact *fact, const struct alert_known *known,
	int64_t resend_ns, bool heartbeat);
