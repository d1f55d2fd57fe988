/*
 * pcap_report - one report of a capture, ready to be printed: the document without its rows, and
 * the rows that were asked for.
 */
#pragma once

#include <jansson.h>

#include "agent/capture/pcap_document.h"
#include "agent/capture/pcap_select.h"
#include "base/base.h"

/* ---- rows: the directions of queue pairs that a person asked for, in the order asked for. A row
 * becomes JSON when it is printed, and not before. */

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

/* ---- the report ---- */

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
