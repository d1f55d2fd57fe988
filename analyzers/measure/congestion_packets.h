/*
 * congestion_packets - the part of a host in DCQCN, from captures at its port: does it send ECT, do
 * CNPs reach it, does it send CNPs, does it slow down after them? From the rows of totals per
 * direction, and from the rows of the host itself, which also a capture has that cannot tell its
 * directions apart. Counts are as sampled. Pure.
 */
#ifndef RW_MEASURE_CONGESTION_PACKETS_H
#define RW_MEASURE_CONGESTION_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/measure/observe.h"
#include "analyzers/measure/packets_host.h"

struct host_packets {
	bool from_known, to_known; /* the port was captured in that direction */
	/* sent by the host; ect: ECT or already CE */
	double from_packets, from_octets, from_ect, from_cnp;
	double to_packets, to_ce, to_cnp; /* delivered to it */
	double from_v1, to_v1; /* frames of RoCE version 1 */
	/* of captures that cannot tell directions apart */
	double other_packets, other_v1;
	/* data that the host sent, no ACK and no CNP: packets, and those with ECT or CE; 0: not
	 * known */
	double data, data_ect;
	/* to the host, in flows of captures that cannot tell directions apart */
	double to_host;
	const uint8_t *address; /* of the host, 16 bytes; NULL not known. Lent by the window */
	struct host_part part; /* .known false without the address */
	bool sampled; /* some of it was */
};

/* false: nothing was captured there. */
bool host_packets(
	const struct window *window, const struct port_seen *port, struct host_packets *ret);

/* The host sends data without ECT: 1, 0; -1 when there are too few packets to say. */
int packets_lack_ect(const struct host_packets *packets);
/*
 * CE was delivered to the host and no CNP came back: 1, 0; -1 when there are too few packets to
 * say. A receiver answers the first CE of a flow at once and then at most once in some 50 us (Zhu
 * et al., SIGCOMM 2015, section 3). So a hundred CE without a CNP prove it where every packet is
 * captured; a sample must hold as many CE as belong to ten CNPs at 400 Gbit/s with 4 KB packets.
 */
int packets_lack_cnp(const struct host_packets *packets);
/* CNPs reach the host: 1; 0 when there is none among enough packets; -1 too few packets. */
int packets_cnp_reaches(const struct host_packets *packets);
/*
 * Does the host slow down after CNPs (reaction.h)? @line_bps: of its link, 0 not known. 1 it does,
 * 0 it does not, -1 not known. @judged may be NULL.
 */
int packets_slow_down(
	const struct host_packets *packets, double line_bps, struct reaction_judged *judged);

#endif
