/*
 * trap_receiver - traps and informs of configured devices become events (sink.event), in the words
 * of snmp_trap. Off unless 'traps:' is configured. A trap reports a change, not a state: a linkDown
 * also makes the target poll again soon.
 *
 * A sender is known by its address: that of exactly one polled device (or the agent address in a v1
 * trap). Traps of other senders are dropped, counted and logged with growing gaps. Per sender at
 * most BURST at once and RATE a second are read, so that a storm costs neither the loop nor the
 * database. Senders that are no device have each as much, and all of them together STRANGERS_RATE:
 * a storm of one keeps no relay of v1 traps out, and many addresses cost no more than ten devices.
 * Loop thread.
 */
#pragma once

#include "base/base.h"
#include "collectors/target/collector.h"
#include "collectors/target/refused.h"
#include "config/config.h"

struct snmp_target;
struct trap_receiver;

/* The one target whose device has this address (numeric); NULL when none or several have: *ret_n
 * says how many. */
typedef struct snmp_target *trap_find_fn(void *arg, const char *host, size_t *ret_n);

struct trap_counters {
	/* datagrams; what became events; informs that were acknowledged */
	uint64_t received, events, informs;
	uint64_t repeated; /* informs sent again, whose acknowledgement was lost */
	uint64_t unknown_sender, wrong_credential, malformed, unknown_trap; /* not used, and why */
	uint64_t limited; /* dropped by the rate limit, unread */
	struct refused by_unknown, by_credential, by_malformed, by_limited; /* the same by sender */
};

/* Secrets are read now. 0, or negative errno with @e: the caller says so and tries again. @find and
 * the sink are lent. */
int trap_receiver_new(struct loop *loop, const struct config_traps *traps, const struct sink *sink,
	trap_find_fn *find, void *arg, struct trap_receiver **ret, struct err *e);
void trap_receiver_free(struct trap_receiver *receiver); /* NULL is fine */
const struct trap_counters *trap_receiver_counters(const struct trap_receiver *receiver);
/* config_traps_same - would a receiver of @right be the same as one of @left? Either may be NULL.
 */
bool config_traps_same(const struct config_traps *left, const struct config_traps *right);
