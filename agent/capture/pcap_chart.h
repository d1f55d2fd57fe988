/*
 * pcap_chart - the rate of a capture over its time as an SVG drawing, with a mark above each time
 * slice in which pause frames were seen. From "rates" and "pause" of the document.
 */
#ifndef RW_CAPTURE_PCAP_CHART_H
#define RW_CAPTURE_PCAP_CHART_H

#include <jansson.h>
#include <stdio.h>

/* pcap_chart - draws nothing when the document has fewer than two slices. */
void pcap_chart(FILE *out, const json_t *document);

#endif
