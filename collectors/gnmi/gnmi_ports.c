/* gnmi_ports - finds the ports of a device by name and alias, and notes which of them changed. */
#include "collectors/gnmi/gnmi_ports.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/text_clean.h"
#include "agent/base/map.h"

void gnmi_ports_init(struct gnmi_ports *ports, const struct profile_gnmi *profile)
{
	*ports = (struct gnmi_ports){
		.profile = profile, .by_name = smap_new(), .by_alias = smap_new()};
}

void gnmi_ports_done(struct gnmi_ports *ports)
{
	for (size_t i = 0; i < ports->n; i++) {
		free(ports->v[i].name);
		free(ports->v[i].alias);
	}
	free(ports->v);
	smap_free(ports->by_name);
	smap_free(ports->by_alias);
}

/* ports_prefixed - @text with the prefix that the fabric uses instead of the device's. */
static void ports_prefixed(
	const struct gnmi_ports *ports, struct gnmi_text text, char name[GNMI_NAME_MAX])
{
	const struct profile_gnmi *profile = ports->profile;
	snprintf(name, GNMI_NAME_MAX, "%.*s", (int)text.n, text.p);
	for (size_t i = 0; i < profile->n_port_prefix; i++) {
		const char *there = profile->port_prefix[i].there;
		const size_t n = strlen(there);
		if (text.n <= n || memcmp(text.p, there, n) != 0)
			continue;
		if (!isdigit((unsigned char)text.p[n]))
			continue;
		snprintf(name, GNMI_NAME_MAX, "%s%.*s", profile->port_prefix[i].here,
			(int)(text.n - n), text.p + n);
		return;
	}
}

/* ports_name - the name of a port as everybody prints it. */
static void ports_name(
	const struct gnmi_ports *ports, struct gnmi_text text, char name[GNMI_NAME_MAX])
{
	ports_prefixed(ports, text, name);
	text_clean(name, GNMI_NAME_MAX, name, strlen(name));
}

uint32_t gnmi_ports_find(const struct gnmi_ports *ports, struct gnmi_text text, bool alias)
{
	char name[GNMI_NAME_MAX];
	uint64_t at;
	if (alias && smap_get(ports->by_alias, text.p, text.n, &at) && at)
		return (uint32_t)at - 1;
	ports_name(ports, text, name);
	if (smap_get(ports->by_name, name, strlen(name), &at))
		return (uint32_t)at;
	return GNMI_PORT_NONE;
}

static void port_changed(struct gnmi_ports *ports, struct gnmi_port *port)
{
	port->changed = true;
	ports->changed = true;
}

uint32_t gnmi_ports_add(struct gnmi_ports *ports, struct gnmi_text text, bool alias)
{
	char name[GNMI_NAME_MAX];
	const uint32_t known = gnmi_ports_find(ports, text, alias);
	if (known != GNMI_PORT_NONE)
		return known;
	if (ports->n == GNMI_PORTS_MAX)
		return GNMI_PORT_NONE;
	ports_name(ports, text, name);
	rw_grow(ports->v, ports->n, ports->cap);
	struct gnmi_port *port = &ports->v[ports->n];
	*port = (struct gnmi_port){.name = rw_strdup(name), .alias = rw_strdup("")};
	port_changed(ports, port);
	smap_put(ports->by_name, name, strlen(name), ports->n);
	return (uint32_t)ports->n++;
}

void gnmi_ports_set_alias(struct gnmi_ports *ports, uint32_t index, const char *alias)
{
	struct gnmi_port *port = &ports->v[index];
	rw_cleanup(freep) char *clean = text_clean_copy(alias);
	alias = clean;
	if (strcmp(port->alias, alias) == 0)
		return;
	if (*port->alias)
		smap_put(ports->by_alias, port->alias, strlen(port->alias), 0);
	free(port->alias);
	port->alias = rw_strdup(alias);
	port_changed(ports, port);
	if (*alias)
		smap_put(ports->by_alias, alias, strlen(alias), index + 1);
	ports->alias_changes++;
}

void gnmi_ports_set_speed(struct gnmi_ports *ports, uint32_t index, uint64_t bps)
{
	struct gnmi_port *port = &ports->v[index];
	if (port->speed_bps == bps)
		return;
	port->speed_bps = bps;
	port_changed(ports, port);
}

void gnmi_ports_reported(struct gnmi_ports *ports)
{
	for (size_t i = 0; i < ports->n; i++)
		ports->v[i].changed = false;
	ports->changed = false;
}
