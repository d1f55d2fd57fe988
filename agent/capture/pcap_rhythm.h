/*
 * pcap_rhythm - the training step in the times of captured packets, and who finishes last in it.
 * Pure; for rocewatch pcap.
 *
 * Exchanges are bursts of packets with pauses between them, also in a capture of one packet in
 * many. The step is the autocorrelation of octets in slices (rhythm.h), the finest slices that show
 * it; its mean is then that of the distances between bursts over the whole capture, so that slices
 * do not round it. Distances that differ by a third (a checkpoint, a start) are left out.
 *
 * Last finisher: the source whose last packet of a burst comes later than that of the source after
 * it, on average over the bursts and by more than LAST_SURE standard errors. Of one burst alone
 * sampling decides, of many it does not. A source without a packet in a burst has no time in it.
 */
#pragma once

#include "base/base.h"

struct pcap_rhythm;

struct pcap_rhythm *pcap_rhythm_new(void);
void pcap_rhythm_free(struct pcap_rhythm *rhythm); /* NULL is fine */

/* pcap_rhythm_add - a data packet; @src is kept by value. Packets beyond a million, and sources
 * beyond a thousand, are left out. */
void pcap_rhythm_add(struct pcap_rhythm *rhythm, int64_t t_ns, uint8_t family,
	const uint8_t src[16], uint32_t octets);

struct pcap_rhythm_found {
	bool found;
	double step_s, exchange_s, confidence_ratio;
	size_t steps; /* distances that count */
	size_t sources;
	bool last_known; /* one source finishes last */
	uint8_t last_family, last_src[16];
	double last_by_s; /* later than the next one, on average */
	double last_share; /* of the bursts it was the last in */
};
void pcap_rhythm_find(struct pcap_rhythm *rhythm, struct pcap_rhythm_found *ret);
