/*
 * pcap_report - one report of a capture, ready to be printed: the document without its rows, and
 * the rows that were asked for.
 */
#ifndef RW_CAPTURE_PCAP_REPORT_H
#define RW_CAPTURE_PCAP_REPORT_H

#include "agent/capture/pcap_rows.h"

struct str;

/* What a person wants to see. */
struct pcap_ask {
	struct pcap_options options;
	struct pcap_select select;
	const struct pcap_sort *sort; /* static */
	size_t top; /* rows at most; 0 = all */
};

struct pcap_report {
	json_t *document; /* owned */
	struct pcap_reading *reading; /* lent */
	struct pcap_rows rows;
};

void pcap_report_make(
	struct pcap_report *report, struct pcap_reading *reading, const struct pcap_ask *ask);
void pcap_report_done(struct pcap_report *report);

/* pcap_report_row - row @i as it is printed. The caller owns it. */
json_t *pcap_report_row(const struct pcap_report *report, size_t i);
/* pcap_report_row_text - the same as JSON text at the end of @out. @file: of a line that stands for
 * itself and begins with "type" and "file"; NULL: an object in a list. */
void pcap_report_row_text(
	const struct pcap_report *report, size_t i, json_t *file, struct str *out);

#endif
