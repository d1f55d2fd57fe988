/* pcap_view - the columns of the rows of a capture: for csv all, for people those that fit. */
#ifndef RW_CAPTURE_PCAP_VIEW_H
#define RW_CAPTURE_PCAP_VIEW_H

#include "agent/document/writer.h"

extern const struct view pcap_view; /* csv */
extern const struct view pcap_view_short; /* table, html, md */

/* pcap_view_row - adds to a row what only its columns need: "stall_s", the longest stall, 0 where
 * none was seen; "refused", NAKs and RNR NAKs about it. */
void pcap_view_row(json_t *row);

#endif
