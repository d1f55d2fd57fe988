/*
 * pcap_text - the report of a capture for people: the verdicts, the worst first; what was captured;
 * tables of senders, pause frames and queue pairs; what happened to the queue pairs shown.
 */
#ifndef RW_CAPTURE_PCAP_TEXT_H
#define RW_CAPTURE_PCAP_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "agent/capture/pcap_report.h"

struct pcap_text_style {
	size_t width; /* columns */
	bool color, header;
};

void pcap_text(FILE *out, const struct pcap_report *report, const struct pcap_text_style *style);

#endif
