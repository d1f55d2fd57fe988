/*
 * nic - what NICs tell of themselves in a window, joined with the switch ports they are linked to.
 *
 * A sample of a NIC belongs to the entity (host, NIC). It joins the port of a switch by the link of
 * the configuration or of LLDP: the host's name (short or fully qualified, in any case), and the
 * NIC's name, its network interface or its MAC address. Where the link names no NIC and the host
 * has one of each, these two belong together. Where neither says which NIC is on which port, the
 * NIC is known by its host only: .port is NULL, and nobody guesses.
 *
 * Values are the NIC's view: rx is what the switch sends. What was not told is unknown (.known
 * false, NAN), never 0. Pure; lives in the arena it was made in.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/amount.h"
#include "analyzers/measure/observe.h"

struct nic_prio {
	/* rx: the switch paused the NIC, as its port's tx */
	struct amount rx_frames, tx_frames, rx_pause_ns, tx_pause_ns;
};

struct nic_seen {
	const char *host, *name; /* as the NIC's source calls them */
	const struct port_seen *port; /* of the switch at the other end; NULL: not known which */
	/* the first port of its host in the fabric; NULL: the fabric has no such host */
	const struct port_seen *host_port;
	struct amount cnp_sent, cnp_handled, cnp_ignored, cnp_received, ce_received;
	struct amount out_of_sequence, seq_errors, adp_retrans, ack_timeouts, out_of_buffer,
		rx_discards, out_octets;
	struct amount pci_stall_rd_s, pci_stall_wr_s;
	double pci_stall_rd, pci_stall_wr; /* mean share of time; NAN unknown */
	double cable_m;
	const char *cable_type, *netdev, *mac; /* NULL unknown */
	struct nic_prio prios[OBSERVED_PRIORITIES];
	/* a second source tells of the same NIC: its values are in the first one's */
	bool folded;
};

struct nics {
	/* by host port, then natural order of names; those of unknown hosts last */
	struct nic_seen *v;
	size_t n;
	const struct nic_seen *const *of_port; /* [fabric_port.index], NULL: none */
	/* [fabric_port.index]: index of the first port of the same host; only of ports with a host
	 */
	const uint32_t *first_of_host;
};

/* nics_seen - the NICs of in->window; made at most once per window when the caller shares it. Never
 * NULL. */
const struct nics *nics_seen(const struct analyzer_in *in);

/* nic_at - the NIC at the other end of @port, NULL when none tells. */
const struct nic_seen *nic_at(const struct nics *nics, const struct port_seen *port);

/* nic_pci_stall - the share of time for which PCIe held the NIC's reads or writes back, whichever
 * is more; nic_pci_stalled_seconds - the share of seconds that were stalled for 30 % or more of
 * them. NAN unknown. */
double nic_pci_stall(const struct nic_seen *nic);
double nic_pci_stalled_seconds(const struct nic_seen *nic);

/* nics_join - finds the port of each (nic.c). @nics are complete except for .port, .host_port,
 * .folded and their order. */
void nics_join(struct nics *nics, const struct observed *observed, struct arena *a);

/* ---- nic_cnps -------------------------------------------------------------- */

/*
 * nic_cnps - the CNPs of a window as NICs count them: who sends them, who slows down for them, and
 * whether they add up. Numbers only; detect/congestion_nic.c judges them. Pure.
 *
 * DCQCN has two halves (Zhu et al., SIGCOMM 2015, section 3). The receiver's NIC (notification
 * point) answers packets with CE by CNPs; the sender's NIC (reaction point) slows down for each
 * CNP. So every CNP that one NIC sends, another handles, ignores, or never gets.
 */

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
