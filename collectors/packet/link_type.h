/*
 * link_type - how the frames of a capture begin: the link types that are read, and the names of
 * others with the way to convert them. Pure. Numbers and layouts: tcpdump.org, list of link types.
 */
#ifndef RW_COLLECTORS_LINK_TYPE_H
#define RW_COLLECTORS_LINK_TYPE_H

#include <stdint.h>

/* Values are our own; link_of_dlt() translates the numbers of capture files. */
enum roce_link { LINK_UNSUPPORTED, LINK_ETHERNET, LINK_RAW_IP, LINK_SLL, LINK_SLL2, LINK_NULL };
enum roce_link link_of_dlt(uint32_t linktype);

/* link_name - of a number in a capture file: "IEEE 802.11", or "link type 233". */
#define LINK_NAME_MAX 64
const char *link_name(char buf[LINK_NAME_MAX], uint32_t linktype);

/* link_hint - what to do about a link type that is not read, as one phrase; where a tool converts
 * it, with its command line. */
const char *link_hint(uint32_t linktype);

#endif
