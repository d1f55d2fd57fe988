/* roce_count - plain counts over a stream of decoded frames. Pure; embedded, zeroed to start. */
#ifndef RW_COLLECTORS_ROCE_COUNT_H
#define RW_COLLECTORS_ROCE_COUNT_H

#include "collectors/packet/roce_parse.h"

struct roce_count {
	uint64_t packets, octets; /* every frame */
	uint64_t roce_packets, roce_octets; /* RoCEv2 */
	uint64_t sampled_packets; /* RoCEv2 of sFlow samples; they are no frames of their own */
	uint64_t rocev1_packets, pfc_frames, pause_frames;
	uint64_t aeth_cut; /* answers of which ACK or NAK is not known, because they were cut */
	uint64_t by_opcode[256];
	uint64_t ecn[4]; /* RoCEv2, by the ECN field */
	uint64_t data_packets, data_not_ect; /* with payload; of these not ECN-capable */
	uint64_t cnp, nak, rnr_nak;
	uint64_t nak_code[32];
	uint64_t icrc[3]; /* by enum icrc_verdict */
	uint64_t errors[ROCE_ERROR_COUNT];
	uint64_t pfc_xoff[8], pfc_xon[8]; /* frames that stop / release the class */
	/* requested, summed; an upper bound of the time, since a later frame replaces an earlier */
	uint64_t pfc_quanta[8];
	/* wall time of the earliest and latest frame; valid when packets > 0 */
	int64_t first_ns, last_ns;
	uint8_t udp_port_seen[65536 / 8]; /* source ports of RoCEv2 */
	uint32_t udp_source_ports; /* distinct ones */
};

/* roce_count_bad - frames that could not be understood, whatever the error. */
uint64_t roce_count_bad(const struct roce_count *count);
/* Of reliable connections: packets that an answer is due for, and answers (ACKs, NAKs, responses).
 * One without the other: the capture sees one direction. */
uint64_t roce_count_requests(const struct roce_count *count);
uint64_t roce_count_answers(const struct roce_count *count);
void roce_count_add(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns);

/* roce_count_copy - a packet that was captured before: a frame, and nothing else. */
void roce_count_copy(struct roce_count *count, const struct roce_packet *packet, int64_t t_ns);

#endif
