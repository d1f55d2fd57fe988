/*
 * neighbor_kind - is an LLDP neighbour that is no configured device a switch or a host? Pure.
 *
 * No single sign is enough: servers that run containers announce "bridge" and "router" too, and
 * SONiC once announced itself as Debian. Rules, the first that fits:
 *
 *   1. its description names a network operating system                     switch
 *   2. it names a host's, or a NIC; and not both signs of 4 speak against   host
 *   3. it announces capabilities, and neither bridge nor router             host
 *   4. it announces bridge or router, and its port has the name of a
 *      switch port                                                          switch
 *   5. only one of these two signs                                          unknown
 *   6. no sign of a switch at all                                           host
 */
#pragma once

#include "base/base.h"

enum neighbor_kind { NEIGHBOR_HOST, NEIGHBOR_SWITCH, NEIGHBOR_UNKNOWN };

/* The first octet of LldpSystemCapabilitiesMap (LLDP-MIB, IEEE 802.1AB-2005 section 12): bit 0 of
 * the standard's numbering is the highest. */
enum {
	LLDP_CAP_OTHER = 0x80,
	LLDP_CAP_REPEATER = 0x40,
	LLDP_CAP_BRIDGE = 0x20,
	LLDP_CAP_WLAN = 0x10,
	LLDP_CAP_ROUTER = 0x08,
	LLDP_CAP_TELEPHONE = 0x04,
	LLDP_CAP_DOCSIS = 0x02,
	LLDP_CAP_STATION = 0x01
};

struct neighbor_signs {
	bool network_os, host_os; /* by its system description */
	bool switch_port; /* its port id, or the port's description, is named like a switch port */
	uint8_t capabilities; /* enabled ones; 0 = not told */
};

/* neighbor_capabilities_hex - the first octet of "28 00" (SONiC's LLDP_ENTRY_TABLE, sonic-dbsyncd
 * lldp_syncd/daemon.py), of "28:00", or of words such as "Bridge, Router"; 0 for anything else. */
uint8_t neighbor_capabilities_hex(const char *text);

enum neighbor_kind neighbor_kind_of(const struct neighbor_signs *signs);
/* neighbor_kind_word - "host", "switch", "unknown": the first word of an endpoint in links. */
const char *neighbor_kind_word(enum neighbor_kind kind);
