/*
 * pcap_print - reports of captures in the formats of --format. Reports are printed one after the
 * other as they are made; rows are made, written and dropped one by one.
 *
 *   json        one document; several reports: {"captures": [...]}
 *   jsonl       per report one object of "type": "capture" without rows, then one of "type": "qp"
 *               per row, with "file" in each
 *   csv         the rows, with "file" in each; an unknown value is empty
 *   table       for people: pcap_print.c
 *   html, md    a page for a ticket or a mail: pcap_print.c
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/capture/pcap_report.h"
#include "agent/document/writer.h"

struct pcap_printer {
	FILE *out;
	enum report_format format;
	bool header, color;
	bool many; /* reports of several captures follow */
	size_t width; /* columns of the terminal, for tables */
	size_t n; /* reports printed so far */
	struct page *page; /* of html and md; begins NULL, dropped at the end */
};

void pcap_print_report(struct pcap_printer *printer, const struct pcap_report *report);
/* pcap_print_end - after the last report; without any nothing is printed. 0, or -EIO when something
 * could not be written. */
int pcap_print_end(struct pcap_printer *printer);
