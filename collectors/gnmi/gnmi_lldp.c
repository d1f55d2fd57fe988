/* gnmi_lldp - see the header. */
#include "collectors/gnmi/gnmi_lldp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

enum text { TEXT_SYSNAME, TEXT_CHASSIS, TEXT_PORT, TEXT_DESCR, TEXTS };

struct heard {
	uint32_t port;
	const char *id, *text[TEXTS]; /* NULL: not said */
	int chassis_kind, port_kind;
};

struct gnmi_lldp {
	struct arena *arena;
	struct heard *v;
	size_t n, cap;
	const char *chassis;
};

struct gnmi_lldp *gnmi_lldp_new(void)
{
	struct gnmi_lldp *l = rw_calloc(1, sizeof(*l));
	*l = (struct gnmi_lldp){.arena = arena_new(), .chassis = ""};
	return l;
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

uint32_t gnmi_lldp_of(struct gnmi_lldp *lldp, uint32_t port, const char *id, size_t n)
{
	for (size_t i = lldp->n; i-- > 0;) /* leaves of one neighbour come together */
		if (lldp->v[i].port == port && strlen(lldp->v[i].id) == n &&
			memcmp(lldp->v[i].id, id, n) == 0)
			return (uint32_t)i;
	if (lldp->n == GNMI_LLDP_NEIGHBORS_MAX)
		return GNMI_LLDP_NONE;
	rw_grow(lldp->v, lldp->n, lldp->cap);
	lldp->v[lldp->n] =
		(struct heard){.port = port, .id = arena_strndup(lldp->arena, n ? id : "", n)};
	return (uint32_t)lldp->n++;
}

/* A MAC address in the form that lldp_id_text() gives: lower case, with colons; everything else as
 * it is. */
static const char *id_text(struct arena *a, const char *text)
{
	size_t n = strlen(text);
	bool mac = n == 17;
	for (size_t i = 0; i < n && mac; i++) {
		if (i % 3 == 2)
			mac = text[i] == ':' || text[i] == '-';
		else
			mac = isxdigit((unsigned char)text[i]) != 0;
	}
	char *copy = arena_strdup(a, text);
	for (size_t i = 0; i < n && mac; i++) {
		if (i % 3 == 2)
			copy[i] = ':';
		else
			copy[i] = (char)tolower((unsigned char)copy[i]);
	}
	return copy;
}

void gnmi_lldp_take(struct gnmi_lldp *lldp, uint32_t at, enum profile_gnmi_attribute which,
	const char *text, uint64_t number)
{
	if (which == GNMI_ATTRIBUTE_CHASSIS) {
		lldp->chassis = id_text(lldp->arena, text);
		return;
	}
	if (at >= lldp->n)
		return;
	struct heard *h = &lldp->v[at];
	switch (which) {
	case GNMI_ATTRIBUTE_NEIGHBOR_SYSNAME:
		h->text[TEXT_SYSNAME] = arena_strdup(lldp->arena, text);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS:
		h->text[TEXT_CHASSIS] = id_text(lldp->arena, text);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_PORT: h->text[TEXT_PORT] = id_text(lldp->arena, text); break;
	case GNMI_ATTRIBUTE_NEIGHBOR_DESCR:
		h->text[TEXT_DESCR] = arena_strdup(lldp->arena, text);
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS_KIND:
		if (number <= LLDP_CHASSIS_LOCAL)
			h->chassis_kind = (int)number;
		else
			h->chassis_kind = 0;
		break;
	case GNMI_ATTRIBUTE_NEIGHBOR_PORT_KIND:
		if (number <= LLDP_PORT_LOCAL)
			h->port_kind = (int)number;
		else
			h->port_kind = 0;
		break;
	default: break;
	}
}

static const char *gnmi_lldp_said(struct arena *a, const struct heard *heard, enum text which)
{
	if (heard->text[which])
		return arena_strdup(a, heard->text[which]);
	return "";
}

size_t gnmi_lldp_result(const struct gnmi_lldp *lldp, struct arena *a, const char *device,
	const char *sysname, struct topology_port *ports, size_t n_ports,
	struct topology_device *ret_self, struct topology_neighbor **ret_heard)
{
	size_t n = 0;
	*ret_self = (struct topology_device){.name = arena_strdup(a, device),
		.sysname = arena_strdup(a, sysname),
		.chassis = arena_strdup(a, lldp->chassis),
		.ports = ports,
		.n_ports = n_ports};
	*ret_heard = arena_array(a, struct topology_neighbor, lldp->n + 1);
	for (size_t i = 0; i < lldp->n; i++) {
		const struct heard *h = &lldp->v[i];
		if (h->port >= n_ports ||
			(!h->text[TEXT_SYSNAME] && !h->text[TEXT_CHASSIS] && !h->text[TEXT_PORT]))
			continue;
		(*ret_heard)[n++] = (struct topology_neighbor){.device = ret_self->name,
			.port = ports[h->port].name,
			.sysname = gnmi_lldp_said(a, h, TEXT_SYSNAME),
			.chassis_subtype = h->chassis_kind,
			.port_subtype = h->port_kind,
			.chassis = gnmi_lldp_said(a, h, TEXT_CHASSIS),
			.port_id = gnmi_lldp_said(a, h, TEXT_PORT),
			.port_descr = gnmi_lldp_said(a, h, TEXT_DESCR)};
	}
	return n;
}
