/*
 * gnmi_lldp - whom a device heard on which port, as it comes over gNMI leaf by leaf, and what it
 * says of itself. Pure; hands the structs of config/topology.h over, as snmp_lldp does. Ids arrive
 * as text; the kinds of them as the numbers of IEEE 802.1AB (a profile turns words into these).
 */
#ifndef RW_COLLECTORS_GNMI_LLDP_H
#define RW_COLLECTORS_GNMI_LLDP_H

#include <stddef.h>
#include <stdint.h>
#include "config/profile/profile_gnmi.h"
#include "config/topology.h"

#define GNMI_LLDP_NEIGHBORS_MAX 4096u /* of one device; what comes beyond is not taken */
#define GNMI_LLDP_NONE UINT32_MAX

struct arena;
struct gnmi_lldp;

struct gnmi_lldp *gnmi_lldp_new(void);
void gnmi_lldp_free(struct gnmi_lldp *lldp); /* NULL is fine */
void gnmi_lldp_clear(struct gnmi_lldp *lldp); /* a new round: what does not come again is gone */

/* gnmi_lldp_of - the neighbour called @id on the port with this index; made when it is new.
 * GNMI_LLDP_NONE when there are too many. */
uint32_t gnmi_lldp_of(struct gnmi_lldp *lldp, uint32_t port, const char *id, size_t n);
/* gnmi_lldp_take - one leaf of it; @number is that of an id's kind. GNMI_ATTRIBUTE_CHASSIS is of
 * the device itself, @at does not matter. */
void gnmi_lldp_take(struct gnmi_lldp *lldp, uint32_t at, enum profile_gnmi_attribute which,
	const char *text, uint64_t number);

/*
 * gnmi_lldp_result - @ports: as the device names them, by the indexes given above. Fills @ret_self
 * and @ret_heard, in @a, with copies of all text. Neighbours that said neither who they are nor
 * which port is theirs are left out. Returns the number of neighbours.
 */
size_t gnmi_lldp_result(const struct gnmi_lldp *lldp, struct arena *a, const char *device,
	const char *sysname, struct topology_port *ports, size_t n_ports,
	struct topology_device *ret_self, struct topology_neighbor **ret_heard);

#endif
