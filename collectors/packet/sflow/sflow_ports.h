/*
 * sflow_ports - the sampled RoCEv2 flows of each port and direction over one interval, for history.
 * Loop thread; bounded: SFLOW_PORTS_MAX ports and directions, SFLOW_TAKEN_MAX packets an interval.
 *
 * A packet that was sampled where it came in says that it came in there, and where it went out.
 * Ports that sample what they send count their own samples only: a packet taken at both its ports
 * would else be there twice. History has one rate for each row: where the inputs of an output
 * sample at different rates, those with the finer rate are thinned out by chance to the coarsest
 * one, which keeps every estimate unbiased. In an interval in which the rate or the place of the
 * sampling changes there are no rows of this port: nothing is known, and nothing is not 0.
 */
#pragma once

#include "collectors/packet/sflow/sflow_decode.h"
#include "db/model/flow.h"

enum { SFLOW_PORTS_MAX = 8192, SFLOW_TAKEN_MAX = 262144, SFLOW_PORT_FLOWS = 4096 };
/* Rows of flows that history gets of an interval: of one port, and of all ports the largest. */
enum { SFLOW_ROWS_PORT = 16, SFLOW_ROWS_ALL = 2048 };

struct sflow_ports;
struct sflow_ports *sflow_ports_new(uint64_t seed); /* of the hashes and of chance */
void sflow_ports_free(struct sflow_ports *ports); /* NULL is fine */

/* sflow_ports_add - a flow sample of @agent, a dense number; @packet NULL: no header was read. One
 * that names neither the port it came in at nor the one it went out by is of ifIndex 0, the device
 * itself. */
void sflow_ports_add(struct sflow_ports *ports, uint32_t agent, const struct sflow_sample *sample,
	const struct roce_packet *packet, int64_t t_ns);

/* sflow_ports_end - the interval is over. For each port that sampled lately @entity is asked what
 * it is in the fabric, and its rows go to @rows; then the next interval begins. A port without
 * packets has a row of totals with 0: it was looked at. */
struct sflow_ports_out {
	void *arg;
	uint32_t (*entity)(void *arg, uint32_t agent, uint32_t ifindex);
	bool (*heard)(void *arg, uint32_t agent); /* did it send anything in this interval? */
	void (*rows)(void *arg, const struct flow_sample *rows, size_t n);
};
void sflow_ports_end(struct sflow_ports *ports, int64_t from_ns, int64_t to_ns,
	const struct sflow_ports_out *out);

struct sflow_ports_counts {
	uint64_t beyond; /* samples left out because of the two bounds */
	uint64_t withheld; /* intervals of a port without rows, because its sampling changed */
	uint64_t portless; /* samples that name no port: they stand under ifIndex 0 */
	uint32_t ports; /* ports and directions */
};
const struct sflow_ports_counts *sflow_ports_counts(const struct sflow_ports *ports);
