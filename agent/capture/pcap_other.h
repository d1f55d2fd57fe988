/*
 * pcap_other - what a capture holds beside RoCE: ethertypes, IP protocols and ports, so that a
 * capture without RoCE says what it shows instead. Bounded: one counter per number on the wire.
 */
#ifndef RW_CAPTURE_PCAP_OTHER_H
#define RW_CAPTURE_PCAP_OTHER_H

#include <jansson.h>
#include <stdint.h>

#include "collectors/packet/frame/roce_parse.h"

enum { OTHER_NUMBERS = 65536 };
struct pcap_other { /* zeroed to start */
	/* owned; by number; NULL until the first frame. Frames with IP count in .protocols and,
	 * UDP and TCP, in their destination port; others in .ethertypes */
	uint64_t *ethertypes, *udp_ports, *tcp_ports;
	uint64_t protocols[256];
	uint64_t frames;
};

void pcap_other_add(struct pcap_other *other, const struct roce_packet *packet);
void pcap_other_end(struct pcap_other *other);

/* pcap_other_json - the most frequent ones by name or number. The caller owns it; NULL when there
 * was no such frame. */
json_t *pcap_other_json(const struct pcap_other *other);

#endif
