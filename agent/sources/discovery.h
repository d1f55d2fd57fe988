/*
 * discovery - which links are believed, from the LLDP neighbors that devices report. No clock and
 * no I/O: time is an argument, results leave by events.
 *
 *      WAITING --every device answered or is down, or three slow polls passed--> SETTLED
 *      SETTLED --a device reports something new--> CHANGED --2 s quiet, at most 15 s--> SETTLED
 *
 * On each arrival in SETTLED the links are published.
 *
 * A believed link stays while no device reports anything else of its ports. A cable that is down, a
 * device that is silent or an agent without LLDP must not change an ECMP group: the group is there
 * to show that a member is missing. The link goes only when one of its ports has another neighbor:
 * at once when both ends of the new link report it, else (a host, or a device without LLDP) when
 * two reports of the same device say so. A neighbor without a name never replaces one with a name.
 *
 * Links are believed whether or not the configuration asks for discovery. Where it declares links,
 * the neighbors are only compared with them.
 */
#pragma once

#include "base/base.h"
#include "config/config.h"
#include "config/topology.h"

struct discovery_events {
	void *arg;
	/* may this device still answer? False: it is down, or nobody polls it */
	bool (*waits)(void *arg, const char *device);
	/* The neighbor of a port, once and after each change. @peer_device is "host:NAME" for
	 * hosts. */
	void (*peer)(void *arg, const char *device, const char *port, const char *peer_device,
		const char *peer_port);
	/* Neighbors contradict each other or the declared links: once when that begins, once when
	 * it is @over. */
	void (*dispute)(void *arg, const char *device, const char *text, bool over);
};

struct discovery;
struct discovery *discovery_new(const struct discovery_events *events, mono_t now);
void discovery_free(struct discovery *discovery); /* NULL is fine */

/* discovery_know - links that were believed before this process began. Copied. */
void discovery_know(struct discovery *discovery, const struct config_link *links, size_t n);
/* discovery_report - the neighbors that a device reports now, in place of those before. Copied. */
void discovery_report(struct discovery *discovery, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n, mono_t now);
/* discovery_settle - once a second, and after a reload. True when other links are believed than
 * before. */
bool discovery_settle(struct discovery *discovery, const struct config *config, mono_t now);
/* discovery_reconsider - the configuration changed: evaluate again at the next settle. */
void discovery_reconsider(struct discovery *discovery);
/* discovery_links - those believed, in natural order; lent until the next call of another function.
 */
size_t discovery_links(const struct discovery *discovery, const struct config_link **ret);
