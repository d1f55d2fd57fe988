/*
 * pcap_file - reads capture files, pcap and pcapng, record by record. Our own reader and not
 * libpcap's: it takes pcapng with interfaces of different link types, keeps everything readable
 * before a damage, is fuzzed without a file, and takes half the time. Bounded: a record larger than
 * PCAP_RECORD_MAX or a block larger than PCAP_BLOCK_MAX is damage. Formats: draft-ietf-opsawg-pcap,
 * draft-ietf-opsawg-pcapng.
 */
#pragma once

#include "base/base.h"

#include "collectors/packet/frame/roce_parse.h"

struct pcap_reader;

#define PCAP_INTERFACES_MAX 4096u

/* Owner of the last record's bytes is the reader, until the next call. */
struct pcap_record {
	int64_t t_ns; /* UTC; 0 where the file has none */
	const uint8_t *p;
	/* captured; on the wire, without FCS where the file says there is one */
	uint32_t n, wire;
	enum roce_link link;
	uint32_t dlt; /* number of the link type as the file has it */
	/* .interface: of the file, in the order of description; below PCAP_INTERFACES_MAX. A later
	 * section that describes the same interface again keeps its number. Captures on "any" with
	 * SLL2: the index that the system gives the interface. .direction: as the file says it. */
	struct packet_origin origin;
};

/*
 * pcap_reader_open - "-" is standard input. 0; -ENOENT, -EACCES, -EISDIR, -ENODATA (empty),
 * -EBADMSG (ends within its header), -EINVAL (not a capture), @e says it in words.
 */
int pcap_reader_open(const char *path, struct pcap_reader **ret, struct err *e);
/* pcap_reader_memory - over bytes that stay the caller's; for tests and fuzzing, without a file. */
int pcap_reader_memory(const void *data, size_t n, struct pcap_reader **ret, struct err *e);
void pcap_reader_free(struct pcap_reader *reader); /* NULL is fine */

/*
 * pcap_reader_next - 1: *ret is the next record; 0: the end.
 * -ENODATA: the file ends within a record (truncated). -EBADMSG: damaged from here on. -ENOTSUP:
 * the end, and some records were of a link type that is not read; they came with LINK_UNSUPPORTED.
 * Negative errno of a failed read. After a negative answer there is nothing more; what came before
 * stands.
 * @e says it in words, with the byte offset.
 */
int pcap_reader_next(struct pcap_reader *reader, struct pcap_record *ret, struct err *e);

/* pcap_reader_offset - bytes of the file up to the end of the last record. */
uint64_t pcap_reader_offset(const struct pcap_reader *reader);

/*
 * pcap_reader_drops - packets that whoever captured says were lost before they reached the file, up
 * to here: pcapng interface statistics (isb_ifdrop, isb_osdrop), or epb_dropcount, whichever says
 * more. *known false: the file says nothing about it, which is not "none".
 */
uint64_t pcap_reader_drops(const struct pcap_reader *reader, bool *known);
