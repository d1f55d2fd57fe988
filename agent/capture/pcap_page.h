/*
 * pcap_page - the report of a capture as a page for a mail or a ticket: html in one file with a
 * chart of the rate and the pauses, or markdown. The same verdicts, lines and tables as the text.
 */
#ifndef RW_CAPTURE_PCAP_PAGE_H
#define RW_CAPTURE_PCAP_PAGE_H

#include <jansson.h>

#include "agent/capture/pcap_report.h"

/* pcap_page - adds the report of one capture to @page. */
void pcap_page(json_t *page, const struct pcap_report *report);

#endif
