/*
 * snmp_ports - pure: the ports of a device, from ifIndex to name and entity. A new map is made each
 * time the names were read; a port whose index was given to another name starts anew, so that no
 * delta is taken across two ports.
 */
#pragma once

#include "base/base.h"
#include "collectors/snmp/snmp_rows.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"

#define SNMP_PRIORITIES 8
#define SNMP_NAME_MAX 96 /* bytes of a port's name */

struct snmp_port {
	uint32_t ifindex;
	const char *name, *alias; /* as UTF-8 without control characters; alias "" */
	uint64_t speed_bps; /* 0 = unknown */
	bool changed; /* since snmp_ports_reported() */
};

struct snmp_port_entry { /* what the decoder keeps of a port */
	struct snmp_port seen; /* name and alias point to the two below */
	char *name, *alias;
	char *told, *descr; /* ifName and ifDescr, "" */
	uint32_t entity;
	uint32_t priority[SNMP_PRIORITIES]; /* entities, 0 = not yet interned */
	uint64_t discontinuity; /* ifCounterDiscontinuityTime */
	bool has_discontinuity;
	bool discontinued; /* in this poll */
	bool fresh; /* new in this poll: its first counters have no predecessor */
};

struct snmp_ports;

/* @entities and @profile are lent for its life; @device is copied. */
struct snmp_ports *snmp_ports_new(
	struct entities *entities, const char *device, const struct profile *profile);
void snmp_ports_free(struct snmp_ports *ports); /* NULL is fine */

/* snmp_ports_names - what one complete slow table says of ports; for the next snmp_ports_make(). */
void snmp_ports_names(
	struct snmp_ports *ports, const struct profile_table *table, const struct snmp_rows *rows);
/* snmp_ports_make - the new map of all names since the last one. True when a port came, went or
 * changed. */
bool snmp_ports_make(struct snmp_ports *ports);
/* snmp_ports_begin - a new poll: no port is fresh or discontinued. */
void snmp_ports_begin(struct snmp_ports *ports);
void snmp_ports_reported(struct snmp_ports *ports); /* none is .changed from now on */

/* Lent until the next snmp_ports_make(). */
size_t snmp_ports_count(const struct snmp_ports *ports);
const struct snmp_port *snmp_ports_at(const struct snmp_ports *ports, size_t i);
struct snmp_port_entry *snmp_ports_find(const struct snmp_ports *ports, uint32_t ifindex);

/* snmp_ports_named - the port that the device calls @text: by its name here, its ifName or its
 * ifDescr; NULL when none or more than one is called so. Lent as by snmp_ports_find(). */
struct snmp_port_entry *snmp_ports_named(const struct snmp_ports *ports, const char *text);

/* snmp_value_usable - not one of the values that the profile says mean "not there". */
bool snmp_value_usable(const struct profile_value *value, uint64_t raw);
