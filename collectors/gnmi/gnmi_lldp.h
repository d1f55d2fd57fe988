/*
 * gnmi_lldp - the LLDP neighbours of a device, from leaves that arrive one by one. Pure. Makes the
 * structs of config/topology.h, as snmp_lldp does. Ids arrive as text, their kinds (subtypes) as
 * the numbers of IEEE 802.1AB-2016, 8.5.2.2 and 8.5.3.2: a profile turns words into these.
 */
#ifndef RW_COLLECTORS_GNMI_LLDP_H
#define RW_COLLECTORS_GNMI_LLDP_H

#include <stddef.h>
#include <stdint.h>
#include "config/profile/profile_gnmi.h"
#include "config/topology.h"

struct profiles;

#define GNMI_LLDP_NEIGHBORS_MAX 4096u /* of one device; more are not taken */
#define GNMI_LLDP_NONE UINT32_MAX

struct arena;
struct gnmi_lldp;

struct gnmi_lldp *gnmi_lldp_new(void);
void gnmi_lldp_free(struct gnmi_lldp *lldp); /* NULL is fine */
/* gnmi_lldp_clear - a new round: a neighbour that does not come again is gone. */
void gnmi_lldp_clear(struct gnmi_lldp *lldp);

/* gnmi_lldp_of - index of the neighbour @id on the port with this index; made when it is new.
 * GNMI_LLDP_NONE when there are too many. */
uint32_t gnmi_lldp_of(struct gnmi_lldp *lldp, uint32_t port, const char *id, size_t n);
/* gnmi_lldp_take - one leaf of neighbour @at. @number is the kind of an id, for the leaves that are
 * one. GNMI_ATTRIBUTE_CHASSIS is the device's own chassis id: @at is then ignored. */
void gnmi_lldp_take(struct gnmi_lldp *lldp, uint32_t at, enum profile_gnmi_attribute which,
	const char *text, uint64_t number);

/*
 * gnmi_lldp_result - fills @self->chassis and @ret_neighbors, and returns the number of neighbours.
 * The caller has filled the rest of @self: its ports are indexed as in gnmi_lldp_of(). All text of
 * @self and of the neighbours is copied into @a. A neighbour that sent none of system name, chassis
 * id and port id is left out. @profiles tell switches from hosts; NULL: every neighbour is a host.
 */
size_t gnmi_lldp_result(const struct gnmi_lldp *lldp, struct arena *a,
	const struct profiles *profiles, struct topology_device *self,
	struct topology_neighbor **ret_neighbors);

#endif
