/*
 * pcap_select - which packets of a capture are read, and which rows of its report are shown. Pure.
 *
 * Times, hosts and the priority choose packets: what they leave out is counted nowhere. A queue
 * pair, the sort and the number of rows choose rows only: what an acknowledgement is about can be
 * known from all packets alone, so those of other queue pairs are read too.
 */
#pragma once

#include "base/base.h"

#include <jansson.h>

#include "collectors/packet/frame/roce_parse.h"

enum { PCAP_SELECT_MAX = 16 };

struct pcap_host { /* an address, or all that begin with the same bits */
	uint8_t family, address[16];
	unsigned bits;
};

/* Zeroed: all packets, all rows. */
struct pcap_select {
	bool since_given, until_given, priority_given;
	int64_t since_ns, until_ns; /* both included */
	struct pcap_host hosts[PCAP_SELECT_MAX];
	size_t n_hosts;
	uint32_t qps[PCAP_SELECT_MAX]; /* destination queue pairs */
	size_t n_qps;
	uint8_t priority;
};

/* pcap_select_add_host - "10.0.0.3", "fd00::3" or "10.0.3.0/24". -EINVAL with @e. */
int pcap_select_add_host(struct pcap_select *select, const char *text, struct err *e);
/* pcap_select_add_qp - "69" or "0x45". -EINVAL with @e. */
int pcap_select_add_qp(struct pcap_select *select, const char *text, struct err *e);

/* pcap_select_time - is a frame of this time read? */
bool pcap_select_time(const struct pcap_select *select, int64_t t_ns);
/*
 * pcap_select_packet - is it counted?
 *   hosts     RoCE from or to one of them; a frame without an IP header is left out
 *   priority  the PCP of the outer tag; without a tag DSCP / 8, as switches map it by default.
 *             CNPs of any priority, because they travel in one of their own; of pause frames those
 *             that name the priority, and 802.3x, which stops all
 */
bool pcap_select_chosen(const struct pcap_select *select, const struct roce_packet *packet);
static inline bool pcap_select_packet(
	const struct pcap_select *select, const struct roce_packet *packet)
{
	if (select->n_hosts == 0 && !select->priority_given)
		return true;
	return pcap_select_chosen(select, packet);
}
/* pcap_select_qp - is the row of this destination queue pair shown? */
bool pcap_select_qp(const struct pcap_select *select, uint32_t dst_qp);

/* pcap_select_verdicts - drops the sentences about other queue pairs. */
void pcap_select_verdicts(const struct pcap_select *select, json_t *document);
/* pcap_select_put - what was chosen, as "selected" of @document; nothing without a choice. */
void pcap_select_put(const struct pcap_select *select, json_t *document);
