/*
 * congestion_packets - what captures at a host's port say of its part in DCQCN: does it send ECT,
 * is it told to slow down (CNP), does it tell others? From the rows of totals alone, per direction:
 * a capture that cannot tell its directions apart says nothing here. Counts are as sampled. Pure.
 */
#ifndef RW_ANALYZERS_CONGESTION_PACKETS_H
#define RW_ANALYZERS_CONGESTION_PACKETS_H

#include <stdbool.h>

#include "analyzers/measure/observe.h"

struct host_packets {
	bool from_known, to_known; /* the port was captured in that direction */
	/* sent by the host; ect: ECT or already CE */
	double from_packets, from_octets, from_ect, from_cnp;
	double to_packets, to_ce, to_cnp; /* delivered to it */
	bool sampled; /* some of it was */
};

/* false: nothing was captured there. */
bool host_packets(
	const struct window *window, const struct port_seen *port, struct host_packets *ret);

/* Enough data packets to say that the host does (not) send ECT: 1 and 0; -1 when they are too few.
 */
int packets_lack_ect(const struct host_packets *packets);
/*
 * CE was delivered to the host and no CNP came back: 1, 0, -1. A receiver answers the first CE of a
 * flow at once and then one in some 50 us: so a hundred CE without a CNP prove it where every
 * packet is seen; a sample has to hold as many CE as fit ten CNPs at 400G with 4 KB packets.
 */
int packets_lack_cnp(const struct host_packets *packets);
/* CNPs do reach the host: 1, 0 (none among enough packets), -1. */
int packets_cnp_reaches(const struct host_packets *packets);

#endif
