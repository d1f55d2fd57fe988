/*
 * nic_cnps - the CNPs of a window as NICs count them: who sends them, who slows down for them, and
 * whether they add up. Numbers only; detect/congestion_nic.c judges them. Pure.
 *
 * DCQCN has two halves (Zhu et al., SIGCOMM 2015, section 3). The receiver's NIC (notification
 * point) answers packets with CE by CNPs; the sender's NIC (reaction point) slows down for each
 * CNP. So every CNP that one NIC sends, another handles, ignores, or never gets.
 */
#ifndef RW_MEASURE_NIC_CNPS_H
#define RW_MEASURE_NIC_CNPS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyzers/measure/nic.h"

struct nic_cnps {
	size_t n; /* NICs of hosts of the fabric, each once */
	size_t sent_known, handled_known, ignored_known,
		received_known; /* of them: those that tell */
	size_t handlers; /* that handled some in the window */
	/* packets in the window, of those that tell */
	double sent, handled, ignored, received, ce;
	/* the counter has moved on some NIC, so this kind of NIC has it */
	bool sent_alive, handled_alive, ignored_alive;
	/* each port that faces a host has a NIC that tells what it sent, and what it handled or
	 * received */
	bool complete;
	/* share of the CNPs sent that no NIC handled or ignored, by rates; NAN: not complete, or
	 * too few */
	double missing_ratio;
	double median_bps; /* that the median NIC sends; 0 unknown */
	/* hosts with a NIC that sends and handles none */
	size_t silent_hosts;
};

void nic_cnps_of(const struct analyzer_in *in, const struct nics *nics, struct nic_cnps *ret);

/* nic_sends_bps - what the NIC sends, by the octets of its switch port, else by its own, else by
 * all ports of its host; NAN unknown. */
double nic_sends_bps(const struct nic_seen *nic);

/* nic_is_silent - it sends (a tenth of what the median NIC does), tells its counter, had no restart
 * in the window, and handled no CNP. */
bool nic_is_silent(const struct nic_cnps *cnps, const struct nic_seen *nic);

#endif
