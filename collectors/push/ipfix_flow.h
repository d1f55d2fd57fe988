/*
 * ipfix_flow - the records of one template: what came in the interval under way, and what the
 * fields mean. Of each field there is at most one sample an interval: the last number of a counter
 * or a level, the greatest one of a peak; each single number goes to the ring (burst). Loop thread.
 */
#ifndef RW_COLLECTORS_IPFIX_FLOW_H
#define RW_COLLECTORS_IPFIX_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/push/burst.h"
#include "collectors/push/ipfix.h"

struct entities;
struct push_objects;
struct ipfix_unknown;
struct push_map;
struct sample;

struct ipfix_flow;

/* What the fields are looked up in. All are lent for the call. */
struct ipfix_meaning {
	const struct push_map *map;
	const struct push_objects *objects; /* NULL: none is known */
	struct entities *entities;
	const char *device;
};

/* ipfix_flow_new - @burst is lent for the life of the flow; NULL: nothing is kept. */
struct ipfix_flow *ipfix_flow_new(const struct ipfix_template *template, struct burst *burst);
void ipfix_flow_free(struct ipfix_flow *flow); /* NULL is fine */

/* Whom the caller knows by it. Lent. */
void ipfix_flow_belongs(struct ipfix_flow *flow, void *owner);
void *ipfix_flow_owner(const struct ipfix_flow *flow);

/* ipfix_flow_means - look the fields up, again after a reload. */
void ipfix_flow_means(struct ipfix_flow *flow, const struct ipfix_meaning *meaning);

/* ipfix_flow_add - @n records as struct ipfix_options .records has them. @now_ns: what the clock
 * says; a record whose time is more than @off_ns away from it gets that time instead. Returns how
 * many did. */
size_t ipfix_flow_add(struct ipfix_flow *flow, const struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s, int64_t now_ns, int64_t off_ns);

/* ipfix_flow_end - the interval ends: its samples into @ret, which has room for
 * ipfix_flow_fields(). Numbers without a meaning are counted in @unknown. Returns how many. */
size_t ipfix_flow_end(struct ipfix_flow *flow, int64_t interval_ns, struct ipfix_unknown *unknown,
	struct sample *ret);
size_t ipfix_flow_fields(const struct ipfix_flow *flow);

/* ---- what has no meaning ---------------------------------------------------- */

enum { IPFIX_UNKNOWN_NAMES = 24, IPFIX_UNKNOWN_KEY = 64 };

struct ipfix_unknown { /* since the start */
	uint64_t values; /* of statistics that no profile maps */
	uint64_t objects; /* values of objects whose name nobody said */
	uint64_t impossible; /* values that the metric cannot have */
	struct {
		char key[IPFIX_UNKNOWN_KEY]; /* "port_if_in_ucast_pkts", "e33049_7" */
		uint64_t values;
	} names[IPFIX_UNKNOWN_NAMES];
	size_t n_names;
	uint64_t more; /* values of names beyond those */
};

#endif
