/*
 * frame_census - what an interface shows while a capture waits in vain for RoCE: frames by kind, so
 * that "no mirror", "the wrong traffic" and "the CPU port of a switch" can be told apart. Pure.
 */
#ifndef RW_COLLECTORS_FRAME_CENSUS_H
#define RW_COLLECTORS_FRAME_CENSUS_H

#include <stddef.h>
#include <stdint.h>

enum census_kind {
	/* protocols of the switch itself: all that its CPU port ever gets */
	CENSUS_ARP,
	CENSUS_LLDP,
	CENSUS_LACP,
	CENSUS_STP,
	CENSUS_BGP,
	CENSUS_OSPF,
	CENSUS_NEIGHBOR, /* ICMPv6, with neighbour discovery, and ICMP */
	CENSUS_DHCP,
	CENSUS_LAST_CONTROL = CENSUS_DHCP,
	/* traffic of others */
	CENSUS_MIRROR, /* GRE, VXLAN or Geneve: may be a mirror that is not opened */
	CENSUS_TCP,
	CENSUS_UDP,
	CENSUS_IP,
	CENSUS_OTHER,
	CENSUS_KINDS
};

struct frame_census { /* zeroed to start */
	uint64_t frames[CENSUS_KINDS];
};

/* frame_census_add - counts one Ethernet frame. @n: captured bytes; 60 are enough. */
void frame_census_add(struct frame_census *census, const uint8_t *bytes, size_t n);
const char *frame_census_name(enum census_kind kind); /* "arp": part of a health key */

#endif
