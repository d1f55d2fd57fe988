/*
 * pcap_verdict - the sentences with which the report of a capture begins: what was found, the worst
 * first, each with its numbers. Every part of the document adds those about its own facts.
 */
#pragma once

#include <jansson.h>

/* The kinds, in the order in which those of one severity are printed: pcap_verdict.def. */
enum pcap_verdict {
#define VERDICT(symbol, ...) PCAP_VERDICT_##symbol,
#include "agent/capture/pcap_verdict.def"
	PCAP_VERDICT_COUNT
};

enum pcap_severity { PCAP_OK, PCAP_INFO, PCAP_WARNING, PCAP_CRITICAL };

struct pcap_verdict_info {
	const char *word; /* "kind" in the document */
	enum pcap_severity severity;
	const char *says, *help; /* for the manual: what it means, what to do */
};
const struct pcap_verdict_info *pcap_verdict_info(enum pcap_verdict kind);
const struct pcap_verdict_info *pcap_verdict_named(const char *word); /* NULL: no such kind */
const char *pcap_severity_name(enum pcap_severity severity); /* for docs/packets.md */

/* Of one kind at most so many stand in a document; the last one counts the others in "more". */
enum { PCAP_VERDICTS_PER_KIND = 8 };

/*
 * pcap_verdict_add - one sentence into the "verdicts" of @document, with the severity of its kind.
 * The sentence names its numbers with their units and ends without a full stop. Add the worst of a
 * kind first: those beyond PCAP_VERDICTS_PER_KIND are only counted.
 *
 * Returns the new row, lent, for its numbers: json_object_set_new(row, "dst_qp", ...). NULL when it
 * was only counted; jansson's setters accept that.
 */
json_t *pcap_verdict_add(json_t *document, enum pcap_verdict kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* pcap_verdict_add_as - the same with another severity than the usual one. */
json_t *pcap_verdict_add_as(json_t *document, enum pcap_verdict kind, enum pcap_severity severity,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* pcap_verdict_worst - of all that @document has so far; PCAP_OK without any. */
enum pcap_severity pcap_verdict_worst(const json_t *document);

/* pcap_verdict_sort - the worst first, then by the order of kinds, then as they were added. */
void pcap_verdict_sort(json_t *document);
