/*
 * snmp_lldp - pure: LLDP-MIB (IEEE 802.1AB) of one device: which OIDs to ask for, and from the rows
 * the device's own identity and its neighbours by port, as structs of config/topology.h. They are
 * matched into links when all devices have answered.
 *
 * A walk is four tables: the device itself, its interfaces (to match port ids with), its LLDP
 * ports, its neighbours. Interfaces are read here too, whatever the profile names ports after: the
 * ids of LLDP are compared with what IF-MIB says.
 *
 * Where agents differ:
 *   - lldpLocPortNum need not be the ifIndex: the local port's id decides, the number is the last
 *     resort;
 *   - lldpRemTimeMark is a TimeFilter (RFC 4502): rows may come again under other marks. (port,
 *     index) is the key, the largest mark wins, and a walk that brings only known rows is ended;
 *   - an agent without LLDP returns no rows: then the device has no neighbours.
 */
#pragma once

#include "base/base.h"
#include "collectors/snmp/snmp_rows.h"
#include "config/topology.h"

#define SNMP_LLDP_NEIGHBORS_MAX 4096 /* of one device: more is refused */

/* lldpStatsRemTablesLastChangeTime.0: moves when a neighbour comes or goes. */
extern const uint32_t snmp_lldp_last_change[];
extern const size_t snmp_lldp_last_change_n;

/* snmp_lldp_asked - column number @i (from 0) of those that a walk asks for; @ret_scalar: it is no
 * column but an object with one instance. False behind the last one. The arcs are static. For
 * docs/switches: what a switch is asked. */
bool snmp_lldp_asked(size_t i, struct snmp_oid *ret, bool *ret_scalar);

struct snmp_lldp;
struct snmp_lldp *snmp_lldp_new(void);
void snmp_lldp_free(struct snmp_lldp *lldp); /* NULL is fine */

/* A walk, as with snmp_rows: begin, then ask and take until _next() returns 0. OIDs are lent until
 * the next call. */
void snmp_lldp_begin(struct snmp_lldp *lldp);
size_t snmp_lldp_next(struct snmp_lldp *lldp, struct snmp_oid *ret, size_t max);
/* an answer without values ends its table */
void snmp_lldp_take(struct snmp_lldp *lldp, const struct snmp_varbind *varbinds, size_t n);
void snmp_lldp_refuse(
	struct snmp_lldp *lldp, size_t i); /* OID @i of the last request: noSuchName */
void snmp_lldp_skip(struct snmp_lldp *lldp); /* give up the table under way */

/*
 * snmp_lldp_result - of the finished walk.
 *
 * @profiles  whose words tell switches from hosts; NULL: every neighbour is a host
 * @device   configured name
 * @sysname  as the device reports it, "" unknown
 * @ports    the device's ports by their own names: .ifindex, .name, .alias, .speed_bps,
 *           .mtu_bytes, .outside are used
 *
 * Fills @ret_self (the ports given, with what IF-MIB adds) and @ret_neighbors, both in @a, which
 * also keeps copies of all text. Neighbours on a local port that is none of @ports are left out.
 * Returns the number of neighbours.
 */
struct profiles;
size_t snmp_lldp_result(const struct snmp_lldp *lldp, struct arena *a,
	const struct profiles *profiles, const char *device, const char *sysname,
	const struct topology_port *ports, size_t n_ports, struct topology_device *ret_self,
	struct topology_neighbor **ret_neighbors);
