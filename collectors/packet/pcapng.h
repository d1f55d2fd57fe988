/*
 * pcapng - what the blocks of a pcapng file say besides packets: interfaces, their statistics, and
 * the options of packets. A part of pcap_file. Pure; bounded: at most PCAP_INTERFACES_MAX
 * interfaces in a section. Format: draft-ietf-opsawg-pcapng, sections 3.5 (options), 4.2
 * (interface), 4.3 (enhanced packet) and 4.6 (interface statistics).
 */
#ifndef RW_COLLECTORS_PCAPNG_H
#define RW_COLLECTORS_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/packet/pcap_file.h"

enum { PCAP_NAME_MAX = 32 };

struct pcap_interface {
	enum roce_link link;
	uint32_t dlt;
	uint32_t snaplen; /* 0 = no limit */
	uint8_t resolution; /* as in the option: 10^-n, or 2^-n with bit 7 set */
	uint8_t fcs_bytes;
	bool drops_known;
	int64_t offset_s;
	uint32_t number; /* over all sections of the file */
	uint64_t drops; /* its newest statistics */
	char name[PCAP_NAME_MAX]; /* if_name, cut; "" = none */
};

struct pcap_interfaces { /* zeroed to start */
	struct pcap_interface *now; /* owned; of the section under way */
	size_t n, cap;
	struct pcap_interface *known; /* owned; by .number */
	size_t n_known, cap_known;
	/* statistics of the sections before */
	uint64_t drops;
	bool drops_known;
	/* said by packets themselves */
	uint64_t packet_drops;
	bool packet_drops_known;
};

void pcap_interfaces_done(struct pcap_interfaces *interfaces);

/* pcap_interfaces_section - a new section begins: interfaces are described anew. */
void pcap_interfaces_section(struct pcap_interfaces *interfaces);
struct pcap_interface *pcap_interfaces_add(
	struct pcap_interfaces *interfaces, uint32_t linktype, uint32_t snaplen);

/* pcapng_interface - options of the newest interface, @n bytes; gives it its number. */
void pcapng_interface(
	struct pcap_interfaces *interfaces, const uint8_t *options, size_t n, bool swapped);
/* pcapng_statistics - a block of interface statistics, without its head. What is damaged in it is
 * passed over. */
void pcapng_statistics(
	struct pcap_interfaces *interfaces, const uint8_t *body, size_t n, bool swapped);

/* pcapng_packet_options - direction and loss that the options of a packet say. Returns the bytes of
 * FCS that they say the packet ends with, 0 when they say nothing. */
unsigned pcapng_packet_options(struct pcap_interfaces *interfaces, const uint8_t *options, size_t n,
	bool swapped, struct packet_origin *origin);
/* pcapng_packet_drops - the counter of the obsolete packet block; 65535 = not known. */
void pcapng_packet_drops(struct pcap_interfaces *interfaces, unsigned drops);

#endif
