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
#ifndef RW_ALERT_ALERT_WISH_H
#define RW_ALERT_ALERT_WISH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/alert/alert_message.h"

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

#endif
