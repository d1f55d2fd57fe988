/*
 * discovery - which links are believed, from what the devices hear (LLDP). Pure of clock and I/O:
 * time is an argument, everything else is told by events.
 *
 *      WAITING --every device answered or is down, or three slow polls passed--> SETTLED
 *      SETTLED --something new was heard--> CHANGED --2 s quiet, at most 15 s--> SETTLED
 *
 * On each arrival in SETTLED the links are published.
 *
 * A link that was believed stays believed while nobody speaks of its ports: a cable that is down, a
 * device that is silent or an agent without LLDP must not change an ECMP group, for that a member
 * is missing is what the group is there to show. It goes only when one of its ports has another
 * neighbour: at once when both ends of the new link say so, else (a host, or a device that does not
 * speak) when the same was heard in two reports. A neighbour without a name never replaces one.
 *
 * Links are believed whether or not the configuration wants them; where it declares links, what is
 * heard is only held against them.
 */
#ifndef RW_AGENT_DISCOVERY_H
#define RW_AGENT_DISCOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include "agent/base/clock.h"
#include "config/config.h"
#include "config/topology.h"

struct discovery_events {
	void *arg;
	/* may this device still answer? False: it is down, or nobody polls it */
	bool (*waits)(void *arg, const char *device);
	/* What a port heard, told again only when it changes. @peer_device "host:NAME" for hosts.
	 */
	void (*peer)(void *arg, const char *device, const char *port, const char *peer_device,
		const char *peer_port);
	/* What is heard contradicts itself or the declared links: once when it begins, once when it
	 * is @over. */
	void (*dispute)(void *arg, const char *device, const char *text, bool over);
};

struct discovery;
struct discovery *discovery_new(const struct discovery_events *events, mono_t now);
void discovery_free(struct discovery *discovery); /* NULL is fine */

/* discovery_know - links that were believed before this process began. Copied. */
void discovery_know(struct discovery *discovery, const struct config_link *links, size_t n);
/* discovery_hear - the newest word of a device, replacing the one before. Copied. */
void discovery_hear(struct discovery *discovery, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n, mono_t now);
/* discovery_settle - once a second, and after a reload. True when other links are believed than
 * before. */
bool discovery_settle(struct discovery *discovery, const struct config *config, mono_t now);
/* discovery_reconsider - the configuration changed: judge again at the next settle. */
void discovery_reconsider(struct discovery *discovery);
/* discovery_links - those believed, in natural order; lent until the next call of another function.
 */
size_t discovery_links(const struct discovery *discovery, const struct config_link **ret);

#endif
