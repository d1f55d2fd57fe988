/*
 * pcap_chart - the rate of a capture over its time, and when pause frames were seen, for a page.
 * From "rates" and "pause" of the document.
 */
#ifndef RW_CAPTURE_PCAP_CHART_H
#define RW_CAPTURE_PCAP_CHART_H

#include <jansson.h>

/* pcap_chart - adds nothing when the document has fewer than two slices. */
void pcap_chart(json_t *page, const json_t *document);

#endif
