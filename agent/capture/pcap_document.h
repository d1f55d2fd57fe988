/*
 * pcap_document - what a capture shows, as a JSON document ("pcap" in the contract of documents).
 * Every surface prints this document and computes nothing of its own.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/capture/pcap_rhythm.h"
#include "agent/capture/pcap_select.h"
#include "collectors/packet/capture/capture_analysis.h"
#include "collectors/packet/capture/pcap_file.h"
#include "collectors/packet/sflow/sflow_summary.h"
#include "collectors/packet/frame/roce_parse.h"

/* What a capture holds beside RoCE: ethertypes, IP protocols and ports, so that a capture without
 * RoCE says what it shows instead. Bounded: one counter per number on the wire. */
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

/* What a person says about a capture. Zeroed: nothing. */
struct pcap_options {
	uint32_t sampling; /* one packet in N was captured; 0: not said */
	int64_t bin_ns; /* of the rates; 0: not said */
	uint64_t speed_bps; /* of the link, for the time that a pause frame asks for; 0: not said */
};

/* What was read, filled by who reads. Zeroed: nothing said. */
struct pcap_input {
	const char *name; /* of a file, a directory or an interface; NULL: several */
	const char *const *files; /* lent, in the order of time */
	size_t n_files;
	uint64_t truncated, damaged, failed; /* files that could not be read to their end */
	bool interrupted; /* by a signal */
	uint64_t read_bytes, all_bytes; /* of files; all_bytes 0: not known */
	/* packets that files say were lost while they were captured; not known is not none */
	uint64_t capture_drops;
	bool capture_drops_known;
	bool live;
	uint64_t kernel_drops; /* of a live capture */
};

/* One report under way: what the packets say, and the training step in their times. */
struct pcap_reading {
	struct pcap_options options;
	const struct pcap_select *select; /* lent; NULL: all packets */
	struct pcap_input input;
	struct pcap_other other;
	uint32_t unread_dlt; /* a link type that is not read was seen; 0 = none */
	struct capture_analysis analysis;
	struct pcap_rhythm *rhythm;
	struct sflow_summary *sflow; /* NULL until the first datagram of sFlow */
	uint64_t seed;
	struct { /* the same for all rows: set before the first is made */
		uint32_t sampling; /* pcap_sampling() */
		bool psn_known;
	} rows;
};

struct pcap_reading *pcap_reading_new(const struct pcap_options *options); /* copied */
void pcap_reading_free(struct pcap_reading *reading); /* NULL is fine */

/* pcap_reading_record - decode one frame of a file and add it, if it is selected. */
void pcap_reading_record(struct pcap_reading *reading, const struct pcap_record *record);
/* pcap_reading_packet - add one frame, if it is selected, whatever its time; @origin: where it was
 * seen, or NULL. */
void pcap_reading_packet(struct pcap_reading *reading, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns);

/* pcap_document - the report of what was read so far, without its rows (pcap_report.h). The caller
 * owns the result. */
json_t *pcap_document(struct pcap_reading *reading);
