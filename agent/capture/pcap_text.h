/*
 * pcap_text - the document of "rocewatch pcap" as a text report, and its table of queue pairs for
 * the other formats.
 */
#ifndef RW_CAPTURE_PCAP_TEXT_H
#define RW_CAPTURE_PCAP_TEXT_H

#include "agent/document/writer.h"

extern const struct view pcap_view;

#endif
