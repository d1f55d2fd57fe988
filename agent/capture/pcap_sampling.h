/* pcap_sampling - of how many packets a capture holds one: what a person said, else what its
 * packets say. */
#pragma once

#include "agent/capture/pcap_document.h"

/* pcap_sampling - 1: every packet; N: one in N; 0: one in many, and how many is not known. */
uint32_t pcap_sampling(const struct pcap_reading *reading);

/* pcap_psn_known - do sequence numbers mean anything here? Not in a sample, not where many packets
 * end before their PSN, and not where next to no packet has the PSN after that of another. */
bool pcap_psn_known(const struct pcap_reading *reading);

/* pcap_psn_cut - do many packets end before their PSN, and others do not? Tags and IP versions move
 * it. Then what is missing may be among those, and copies cannot be told from packets. */
bool pcap_psn_cut(const struct pcap_reading *reading);

/* pcap_put_sampling - "sampling": the rate, how it is known, and what follows from it. */
void pcap_put_sampling(json_t *document, struct pcap_reading *reading);
