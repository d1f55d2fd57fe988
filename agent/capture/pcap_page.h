/*
 * pcap_page - the report of a capture as a page for a mail or a ticket: html in one file with a
 * chart of the rate and the pauses, or markdown. The same verdicts, lines and tables as the text.
 */
#ifndef RW_CAPTURE_PCAP_PAGE_H
#define RW_CAPTURE_PCAP_PAGE_H

#include <stdio.h>

#include "agent/capture/pcap_report.h"
#include "agent/document/format.h"

void pcap_page_begin(FILE *out, enum report_format format);
void pcap_page(FILE *out, const struct pcap_report *report, enum report_format format);
void pcap_page_end(FILE *out, enum report_format format);

#endif
