/*
 * pcap_parts - the parts of the document of a capture. Each stands in a file of its own,
 * pcap_put_NAME.c (the shortest in pcap_document.c, that of the rhythm in pcap_rhythm.c), puts the
 * keys of one subject into the document and adds the verdicts about them (pcap_verdict.h).
 * pcap_document() calls them in the order of this header.
 *
 * To add one: declare it here, call it there.
 */
#pragma once

#include <jansson.h>

#include "agent/capture/pcap_document.h"
#include "agent/capture/pcap_row.h"

/* tunnels, mirrors, what could not be opened, other transports */
void pcap_put_encapsulation(json_t *document, struct pcap_reading *reading);
/* five-tuples, source ports, and how evenly they spread the load */
void pcap_put_entropy(json_t *document, struct pcap_reading *reading);
/* sampling, gaps, retransmissions and what became of them */
void pcap_put_loss(json_t *document, struct pcap_reading *reading);
/* pcap_put_loss_groups - where more than a few queue pairs lost something: all of it, the host that
 * they share, and pairs of hosts; verdicts only. False: there are few, to be told one by one. For
 * pcap_put_loss() and tests. */
bool pcap_put_loss_groups(json_t *document, const struct flow_table *flows);
/* the rate over time; queue pairs that stood still */
void pcap_put_time(json_t *document, struct pcap_reading *reading);
/* senders after CNPs, receivers after marks */
void pcap_put_reaction(json_t *document, struct pcap_reading *reading);
/* pause frames */
void pcap_put_pause(json_t *document, struct pcap_reading *reading);
/* the training step */
void pcap_put_rhythm(json_t *document, struct pcap_reading *reading);

/* what sFlow datagrams in the capture say; nothing where there are none */
void pcap_put_sflow(json_t *document, struct pcap_reading *reading);
/* what follows from the counts of several parts, and what could not be read: verdicts only, and
 * "errors" of reading. Comes last. */
void pcap_put_findings(json_t *document, struct pcap_reading *reading);

/* what of a row only a complete, uncut capture shows: order, loss, NAKs, events */
void pcap_put_qp_loss(struct pcap_row *row, struct pcap_reading *reading, const struct flow *flow);
/* pcap_put_qp_time - its times, rate, messages, stalls and credits. */
void pcap_put_qp_time(struct pcap_row *row, struct pcap_reading *reading, const struct flow *flow);
/* pcap_stall_s - its longest stall; 0: none. */
double pcap_stall_s(const struct pcap_reading *reading, const struct flow *flow);
