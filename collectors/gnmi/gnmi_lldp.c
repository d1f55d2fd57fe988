/* gnmi_lldp - collects the leaves of LLDP neighbours until a round is complete. */
#include "collectors/gnmi/gnmi_lldp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/text_clean.h"
#include "agent/base/str.h"
#include "config/profile/profile.h"

struct gnmi_neighbor {
	uint32_t port; /* index */
	const char *id; /* of the neighbour in the device's table */
	const char *sysname, *chassis, *port_id, *port_descr; /* NULL: not sent */
	const char *sysdesc;
	int chassis_kind, port_kind;
	uint8_t capabilities;
};

struct gnmi_lldp {
	struct arena *arena; /* texts of one round */
	struct gnmi_neighbor *v;
	size_t n, cap;
	const char *chassis; /* the device's own */
};

struct gnmi_lldp *gnmi_lldp_new(void)
{
	struct gnmi_lldp *lldp = rw_calloc(1, sizeof(*lldp));
	*lldp = (struct gnmi_lldp){.arena = arena_new(), .chassis = ""};
	return lldp;
}

void gnmi_lldp_free(struct gnmi_lldp *lldp)
{
	if (!lldp)
		return;
	arena_free(lldp->arena);
	free(lldp->v);
	free(lldp);
}

void gnmi_lldp_clear(struct gnmi_lldp *lldp)
{
	arena_reset(lldp->arena);
	lldp->n = 0;
	lldp->chassis = "";
}

static bool neighbor_is(
	const struct gnmi_neighbor *neighbor, uint32_t port, const char *id, size_t n)
{
	return neighbor->port == port && strlen(neighbor->id) == n &&
		memcmp(neighbor->id, id, n) == 0;
}

uint32_t gnmi_lldp_of(struct gnmi_lldp *lldp, uint32_t port, const char *id, size_t n)
{
	/* from the newest: the leaves of one neighbour come together */
	for (size_t i = lldp->n; i-- > 0;)
		if (neighbor_is(&lldp->v[i], port, id, n))
			return (uint32_t)i;
	if (lldp->n == GNMI_LLDP_NEIGHBORS_MAX)
		return GNMI_LLDP_NONE;
	rw_grow(lldp->v, lldp->n, lldp->cap);
	lldp->v[lldp->n] =
		(struct gnmi_neighbor){.port = port, .id = arena_strndup(lldp->arena, id, n)};
	return (uint32_t)lldp->n++;
}

/* What a neighbour says of itself, as everybody prints it. */
static char *gnmi_lldp_text(struct arena *a, const char *text)
{
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	return arena_strdup(a, clean);
}

/* is_mac - "00:11:22:33:44:55", also with dashes. */
static bool is_mac(const char *text)
{
	size_t i = 0;
	for (; text[i] && i < 17; i++) {
		const bool separator = text[i] == ':' || text[i] == '-';
		const bool digit = isxdigit((unsigned char)text[i]) != 0;
		if (i % 3 == 2 ? !separator : !digit)
			return false;
	}
	return i == 17 && !text[i];
}

/* id_text - a MAC address as lldp_id_text() writes it: lower case, with colons. Any other id as it
 * is. */
static const char *id_text(struct arena *a, const char *text)
{
	char *copy = gnmi_lldp_text(a, text);
	if (!is_mac(text))
		return copy;
	for (char *p = copy; *p; p++) {
		if (*p == '-')
			*p = ':';
		*p = (char)tolower((unsigned char)*p);
	}
	return copy;
}

/* gnmi_lldp_kind_of - 0, "not known", for a number that the standard does not have. */
static int gnmi_lldp_kind_of(uint64_t number, int last)
{
	if (number <= (uint64_t)last)
		return (int)number;
	return 0;
}

static uint8_t capability_if(const char *text, uint8_t bit)
{
	if (str_eq(text, "true") || str_eq(text, "1"))
		return bit;
	return 0;
}

void gnmi_lldp_take(struct gnmi_lldp *lldp, uint32_t at, enum profile_gnmi_attribute which,
	const char *text, uint64_t number)
{
	struct arena *a = lldp->arena;
	if (which == GNMI_ATTRIBUTE_CHASSIS) {
		lldp->chassis = id_text(a, text);
		return;
	}
	if (at >= lldp->n)
		return;
	struct gnmi_neighbor *neighbor = &lldp->v[at];
	switch (which) {
	case GNMI_ATTRIBUTE_NEIGHBOR_SYSNAME: neighbor->sysname = gnmi_lldp_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS: neighbor->chassis = id_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_PORT: neighbor->port_id = id_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_DESCR: neighbor->port_descr = gnmi_lldp_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS_KIND:
		neighbor->chassis_kind = gnmi_lldp_kind_of(number, LLDP_CHASSIS_LOCAL);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_PORT_KIND:
		neighbor->port_kind = gnmi_lldp_kind_of(number, LLDP_PORT_LOCAL);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_SYSDESC: neighbor->sysdesc = gnmi_lldp_text(a, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CAPABILITIES:
		neighbor->capabilities |= neighbor_capabilities_hex(text);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_BRIDGE:
		neighbor->capabilities |= capability_if(text, LLDP_CAP_BRIDGE);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_ROUTER:
		neighbor->capabilities |= capability_if(text, LLDP_CAP_ROUTER);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_STATION:
		neighbor->capabilities |= capability_if(text, LLDP_CAP_STATION);
		break;
	default: break;
	}
}

static const char *text_copy(struct arena *a, const char *text)
{
	return arena_strdup(a, str_or(text, ""));
}

static enum neighbor_kind gnmi_lldp_neighbor_kind(
	const struct profiles *profiles, const struct gnmi_neighbor *neighbor)
{
	struct neighbor_signs signs = {.capabilities = neighbor->capabilities};
	if (profiles)
		profiles_neighbor_signs(profiles, str_or(neighbor->sysdesc, ""),
			str_or(neighbor->port_id, ""), str_or(neighbor->port_descr, ""), &signs);
	return neighbor_kind_of(&signs);
}

size_t gnmi_lldp_result(const struct gnmi_lldp *lldp, struct arena *a,
	const struct profiles *profiles, struct topology_device *self,
	struct topology_neighbor **ret_neighbors)
{
	size_t n = 0;
	self->name = arena_strdup(a, self->name);
	self->sysname = arena_strdup(a, self->sysname);
	self->chassis = arena_strdup(a, lldp->chassis);
	*ret_neighbors = arena_array(a, struct topology_neighbor, lldp->n + 1);
	for (size_t i = 0; i < lldp->n; i++) {
		const struct gnmi_neighbor *neighbor = &lldp->v[i];
		if (neighbor->port >= self->n_ports)
			continue;
		if (!neighbor->sysname && !neighbor->chassis && !neighbor->port_id)
			continue;
		(*ret_neighbors)[n++] = (struct topology_neighbor){.device = self->name,
			.port = self->ports[neighbor->port].name,
			.sysname = text_copy(a, neighbor->sysname),
			.chassis_subtype = neighbor->chassis_kind,
			.port_subtype = neighbor->port_kind,
			.chassis = text_copy(a, neighbor->chassis),
			.port_id = text_copy(a, neighbor->port_id),
			.port_descr = text_copy(a, neighbor->port_descr),
			.kind = gnmi_lldp_neighbor_kind(profiles, neighbor)};
	}
	return n;
}
