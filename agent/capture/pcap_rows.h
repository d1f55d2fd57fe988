/*
 * pcap_rows - the rows of a report: the directions of queue pairs that a person asked for, in the
 * order asked for. A row becomes JSON when it is printed, and not before.
 */
#ifndef RW_CAPTURE_PCAP_ROWS_H
#define RW_CAPTURE_PCAP_ROWS_H

#include <jansson.h>

#include "agent/capture/pcap_document.h"
#include "agent/capture/pcap_select.h"

struct str;

/* What rows can be sorted by: --sort. The largest comes first, equal ones by octets. */
struct pcap_sort {
	const char *word, *help;
	double (*weight)(const void *reading, const struct flow *flow); /* NULL: octets */
};
/* pcap_sort_named - NULL: there is none of that name. */
const struct pcap_sort *pcap_sort_named(const char *word);
extern const struct pcap_sort pcap_sorts[]; /* ends with word NULL; the first is the usual one */

struct pcap_rows {
	uint32_t *ids; /* owned; of the flow table */
	size_t n; /* to be printed */
	size_t all; /* there would be without a limit */
};

/* pcap_rows_choose - the rows of @reading that @select lets through, by @sort, at most @top (0: all
 * of them). */
void pcap_rows_choose(struct pcap_rows *rows, struct pcap_reading *reading,
	const struct pcap_select *select, const struct pcap_sort *sort, size_t top);
void pcap_rows_done(struct pcap_rows *rows);

#endif
