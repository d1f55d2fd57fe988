/*
 * snmp_join - pure: which port a row is about, in a table whose index does not say it. A column
 * names the port, or the row that contains this row does (profile.h: "port").
 */
#ifndef RW_COLLECTORS_SNMP_JOIN_H
#define RW_COLLECTORS_SNMP_JOIN_H

#include <stddef.h>
#include "collectors/snmp/snmp_ports.h"
#include "collectors/snmp/snmp_rows.h"
#include "config/profile/profile.h"

/* snmp_join_text - the text of row @row that may name a port, cleaned; "" when it has none. */
const char *snmp_join_text(const struct profile_table *table, const struct snmp_rows *rows,
	size_t row, char buf[SNMP_NAME_MAX]);

/* snmp_join_named - the port that @text names after @pattern, such as "DOM * Sensor for {port}":
 * the longest name that fits; NULL when there is none. */
struct snmp_port_entry *snmp_join_named(
	const struct snmp_ports *ports, const char *pattern, const char *text);

/* snmp_join_port - the port of row @row by its text, or by that of a row around it; NULL when none
 * of them names a port of this device. */
struct snmp_port_entry *snmp_join_port(const struct snmp_ports *ports,
	const struct profile_table *table, const struct snmp_rows *rows, size_t row);

#endif
