/*
 * pcap_document - what a capture shows, as a JSON document ("pcap" in the contract of documents).
 * Every surface prints this document and computes nothing of its own.
 */
#ifndef RW_CAPTURE_PCAP_DOCUMENT_H
#define RW_CAPTURE_PCAP_DOCUMENT_H

#include <jansson.h>

#include "agent/capture/pcap_rhythm.h"
#include "collectors/packet/capture_analysis.h"

/* What a person says about a capture. Zeroed: nothing. */
struct pcap_options {
	uint32_t sampling; /* one packet in N was captured; 0: not said */
	int64_t bin_ns; /* of the rates; 0: not said */
	uint64_t speed_bps; /* of the link, for the time that a pause frame asks for; 0: not said */
};

/* One report under way: what the packets say, and the training step in their times. */
struct pcap_reading {
	struct pcap_options options;
	struct capture_analysis analysis;
	struct pcap_rhythm *rhythm;
};

struct pcap_reading *pcap_reading_new(const struct pcap_options *options); /* copied */
void pcap_reading_free(struct pcap_reading *reading); /* NULL is fine */

/* pcap_reading_packet - add one packet; @origin: where it was seen. */
void pcap_reading_packet(struct pcap_reading *reading, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns);

/* pcap_document - the report of what was read so far. @file: its name in the document. The caller
 * owns the result. */
json_t *pcap_document(struct pcap_reading *reading, const char *file);

#endif
