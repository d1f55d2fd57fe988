/*
 * snmp_trap - pure: from a notification (trap or inform of SNMPv1, v2c or v3) to an event. What
 * every switch sends (link down and up, cold and warm start) is known here; what one kind of switch
 * sends is known by its profile (config/profile/profile.h, "traps"). The sender is not trusted with
 * names: a port is called what we call it, by its ifIndex; only where that is unknown, what the
 * trap calls it.
 */
#pragma once

#include "base/base.h"
#include "collectors/snmp/snmp_oid.h"

struct profile;

struct snmp_trap_pdu { /* as it came; everything lent */
	int version; /* 1, 2 (= 2c) or 3 */
	bool inform;
	struct snmp_oid enterprise; /* this and the next three: v1 only (RFC 1157 section 4.1.6) */
	int64_t generic, specific;
	uint8_t agent_addr[4];
	/* of v2c and v3 with sysUpTime.0 and snmpTrapOID.0 before them */
	const struct snmp_varbind *v;
	size_t n;
};

struct snmp_trap_sender {
	/* NULL = unknown: then only what every switch sends is understood */
	const struct profile *profile;
	const char *(*port_name)(void *arg, uint32_t ifindex); /* NULL = not known */
	void *arg;
};

struct snmp_trap_event {
	char kind[32]; /* "link_down", "link_up", "cold_start", "warm_start", or the profile's */
	/* "" = the device itself, or a port without a known name (then .text has its ifIndex) */
	char port[64];
	char text[256];
	bool poll_soon; /* states or names there may have changed */
};

/* snmp_trap_read - 0, -EBADMSG (no notification in it), or -ENOENT (one that we have no meaning
 * for). */
int snmp_trap_read(const struct snmp_trap_pdu *pdu, const struct snmp_trap_sender *sender,
	struct snmp_trap_event *ret);
