/*
 * sflow_decode - datagrams of sFlow version 5 to their samples. Pure: bytes in, values out; nothing
 * is kept or allocated. Every length comes from the wire and none is believed: a record is read
 * within its own length, a sample within its own, and both within the datagram.
 *
 * Read: flow samples and counter samples, compact and expanded; drop notifications; raw packet
 * headers; egress queue, transit delay, queue depth, switch (VLAN, priority); interface and
 * Ethernet counters. All else is skipped by its length and counted.
 *
 * Sources: sflow.org "sFlow Version 5" (2004), "sFlow Dropped Packet Notification Structures"
 * (2020), "sFlow Egress Queue Structures" (egress queue), "sFlow Transit Delay Structures"
 * (transit delay, queue depth).
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"
#include "collectors/packet/frame/roce_parse.h"

#define SFLOW_SAMPLES_MAX 1024u /* of one datagram: 64 KiB hold no more */

struct sflow_address {
	uint8_t family; /* 4 or 6; 0 = the agent does not say */
	uint8_t bytes[16]; /* IPv4 in the first four, the rest 0 */
};

struct sflow_datagram {
	struct sflow_address agent;
	uint32_t sub_agent, sequence, uptime_ms, samples;
};

enum sflow_kind { SFLOW_FLOW, SFLOW_COUNTERS, SFLOW_DROP, SFLOW_KINDS };

/* Where a packet came in or went out. */
enum sflow_port_kind {
	SFLOW_PORT_UNKNOWN,
	SFLOW_PORT_INDEX, /* .index is an ifIndex */
	SFLOW_PORT_DISCARDED, /* it did not go out; .index is the reason */
	SFLOW_PORT_MANY, /* multicast: .index ports, 0 = not counted */
	SFLOW_PORT_INTERNAL /* the device itself */
};
struct sflow_port {
	enum sflow_port_kind kind;
	uint32_t index;
};

/* Interface counters (0:1). A value that the agent does not know is all ones. */
struct sflow_if_counters {
	uint32_t ifindex, type;
	uint64_t speed_bps;
	uint32_t direction, status; /* status: bit 0 administratively up, bit 1 operationally up */
	uint64_t in_octets, out_octets;
	uint32_t in_unicast, in_multicast, in_broadcast, in_discards, in_errors;
	uint32_t out_unicast, out_multicast, out_broadcast, out_discards, out_errors;
};

struct sflow_sample {
	enum sflow_kind kind;
	uint32_t sequence; /* of the samples of this kind and source */
	uint32_t source_class, source_index; /* class 0: the index is an ifIndex */
	/* flow samples: one packet in .sampling; .pool packets could have been taken, modulo 2^32
	 */
	uint32_t sampling, pool;
	/* flow samples: lost in the agent for lack of resources; drop notifications: notifications
	 * that the agent left out. Modulo 2^32. */
	uint32_t drops;
	struct sflow_port input, output;
	uint32_t reason; /* drop notifications: sflow_reason_text() */

	/* The packet. .header NULL: no raw header, or of a protocol that is not read. */
	const uint8_t *header; /* lent by the datagram */
	uint32_t header_bytes;
	uint32_t frame_bytes; /* on the wire; Ethernet: with FCS */
	uint32_t stripped; /* bytes of the frame that the agent took away: FCS, tags */
	enum roce_link link;

	bool has_switch, has_queue, has_delay, has_depth;
	uint32_t in_vlan, in_priority, out_vlan, out_priority;
	uint32_t queue; /* egress queue of .output */
	uint32_t delay_ns, depth_bytes; /* of this packet in the device; of its queue */

	bool has_if, has_ethernet;
	struct sflow_if_counters interface;
	uint32_t fcs_errors, symbol_errors;

	uint32_t skipped; /* records of kinds that are not read */
};

/* One pass over the samples of a datagram. */
struct sflow_reader {
	struct bytes b;
	uint32_t left; /* samples still announced */
	uint32_t skipped; /* samples of kinds that are not read */
};

/* sflow_open - 0; -ENOTSUP when it is another version of sFlow; -EBADMSG when it is none. */
int sflow_open(struct sflow_reader *reader, const void *data, size_t n, struct sflow_datagram *ret);

/* sflow_next - 1: *ret is the next sample; 0: the end; -EBADMSG: a sample or one of its records is
 * longer than what holds it: nothing of it and nothing after it is believed. */
int sflow_next(struct sflow_reader *reader, struct sflow_sample *ret);

/* sflow_packet - the packet of a flow sample or a drop notification. False when there is no header
 * that is read. ret->octets is the length of the whole frame without FCS, ret->sampled is set. */
bool sflow_packet(const struct sflow_sample *sample, struct roce_packet *ret);

/* sflow_reason_text - the word of a drop reason: "no_buffer_space"; "reason_999" for one that has
 * none. */
#define SFLOW_REASON_MAX 48
char *sflow_reason_text(char buf[SFLOW_REASON_MAX], uint32_t reason);

/* sflow_known - a counter that the agent did not fill in is all ones. */
static inline bool sflow_known(uint32_t counter)
{
	return counter != UINT32_MAX;
}
