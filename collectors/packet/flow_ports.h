/*
 * flow_ports - the UDP source ports of one direction of a queue pair that uses several: what each
 * carried. The first FLOW_PORTS_MAX are kept one by one; of the others the sums, and how many they
 * are (HyperLogLog, precision FLOW_PORTS_PRECISION). Pure.
 */
#ifndef RW_COLLECTORS_FLOW_PORTS_H
#define RW_COLLECTORS_FLOW_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/packet/hyperloglog.h"

enum { FLOW_PORTS_MAX = 64, FLOW_PORTS_PRECISION = 10 };

struct flow_port {
	uint64_t octets, payload_bytes;
	uint32_t packets, ce, not_ect;
	uint16_t port;
};

struct flow_ports {
	struct flow_port *v;
	uint32_t n, cap;
	uint32_t changes; /* data packets on another port than the one before */
	struct flow_port beyond; /* the sums of all others */
	struct hyperloglog *others; /* which ones; NULL: none */
	uint16_t key[FLOW_PORTS_MAX];
};

/* flow_ports_new - @first: what the direction carried on its first port. */
struct flow_ports *flow_ports_new(const struct flow_port *first);
void flow_ports_free(struct flow_ports *ports); /* NULL is fine */

/* flow_ports_at - the record to which a packet on @port adds. *ret_new: the port is new here (of
 * those beyond FLOW_PORTS_MAX: may be new). */
struct flow_port *flow_ports_at(struct flow_ports *ports, uint16_t port, bool *ret_new);

/* flow_ports_beyond - how many ports are in .beyond; an estimate. */
uint32_t flow_ports_beyond(const struct flow_ports *ports);

/* flow_ports_data - how many ports carried payload. */
uint32_t flow_ports_data(const struct flow_ports *ports);

size_t flow_ports_bytes(const struct flow_ports *ports);

#endif
