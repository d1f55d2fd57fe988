/*
 * ipfix_sequence - what the sequence numbers of a source say of messages that did not arrive. RFC
 * 7011 3.1: the number of data records sent before this message, modulo 2^32. Two habits differ:
 * the number counts messages, or it stays the same. Which one it is follows from the first
 * messages; until then nothing is called lost. Pure.
 */
#ifndef RW_COLLECTORS_IPFIX_SEQUENCE_H
#define RW_COLLECTORS_IPFIX_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

enum ipfix_habit { IPFIX_COUNTS_RECORDS, IPFIX_COUNTS_MESSAGES, IPFIX_COUNTS_NOTHING };

struct ipfix_sequence { /* all 0 at first */
	bool begun;
	uint32_t last; /* number of the newest message */
	uint64_t records; /* in it */
	bool unknown; /* its records could not be counted */
	unsigned votes[3]; /* in a row, by enum ipfix_habit */
	enum ipfix_habit habit;
};

struct ipfix_gap {
	uint64_t lost; /* records, or messages where those are counted */
	bool reordered; /* it came late, or twice */
	bool uncounted; /* the source does not count */
};

/* ipfix_sequence - a message with this number came, with @records data records. @unknown: it has
 * some that could not be counted. */
void ipfix_sequence(struct ipfix_sequence *sequence, uint32_t number, uint64_t records,
	bool unknown, struct ipfix_gap *ret);

#endif
