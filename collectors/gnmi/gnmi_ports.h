/*
 * gnmi_ports - the ports of one device: names as the fabric writes them, aliases, line speeds. An
 * index is valid for the life of the list. No clock, no I/O, no log; one thread.
 */
#ifndef RW_COLLECTORS_GNMI_PORTS_H
#define RW_COLLECTORS_GNMI_PORTS_H

#include "collectors/gnmi/gnmi_match.h"
#include "config/profile/profile_gnmi.h"

#define GNMI_PORTS_MAX 4096u /* of one device */
#define GNMI_PORT_NONE UINT32_MAX
#define GNMI_NAME_MAX 256 /* bytes of a name that are kept, with the final NUL */

struct gnmi_port {
	char *name, *alias; /* alias "" = none */
	uint64_t speed_bps; /* 0 = unknown */
	uint64_t lanes; /* of its transceiver that are its own, bit n: lane n; 0 = not told */
	bool management; /* the device says that it is no part of the data plane */
	bool changed; /* since gnmi_ports_reported() */
};

struct gnmi_ports {
	const struct profile_gnmi *profile; /* lent: how the device writes names of ports */
	struct gnmi_port *v;
	size_t n, cap;
	struct smap *by_name; /* index */
	struct smap *by_alias; /* index + 1; 0 = the alias is not used any more */
	uint32_t alias_changes; /* counts up; 32 bits may wrap */
	bool changed; /* .changed is set in at least one port */
};

void gnmi_ports_init(struct gnmi_ports *ports, const struct profile_gnmi *profile);
void gnmi_ports_done(struct gnmi_ports *ports);

/* gnmi_ports_find - the index of a port. @text is its alias or, when no port has that alias, its
 * name. GNMI_PORT_NONE when it is not known. */
uint32_t gnmi_ports_find(const struct gnmi_ports *ports, struct gnmi_text text, bool alias);
/* gnmi_ports_add - gnmi_ports_find(), or a new port. GNMI_PORT_NONE when GNMI_PORTS_MAX is reached.
 */
uint32_t gnmi_ports_add(struct gnmi_ports *ports, struct gnmi_text text, bool alias);

void gnmi_ports_set_alias(struct gnmi_ports *ports, uint32_t index, const char *alias); /* copied */
void gnmi_ports_set_speed(struct gnmi_ports *ports, uint32_t index, uint64_t bps);
void gnmi_ports_reported(struct gnmi_ports *ports); /* clears .changed everywhere */

#endif
