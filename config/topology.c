/* topology - see topology.h. Port matching order: counter-map.md 1.10, which follows the subtypes' meaning in IEEE 802.1AB. */
#include "config/topology.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "config/fabric.h"

static bool given(const char *s)
{
	return s && *s;
}

char *lldp_id_text(char buf[LLDP_ID_TEXT_MAX], bool chassis, int subtype, const uint8_t *id, size_t n)
{
	const bool mac = chassis ? subtype == LLDP_CHASSIS_MAC : subtype == LLDP_PORT_MAC;
	const bool address = chassis ? subtype == LLDP_CHASSIS_ADDRESS : subtype == LLDP_PORT_ADDRESS;
	if (mac && n == 6) {
		snprintf(buf, LLDP_ID_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", id[0], id[1], id[2], id[3], id[4], id[5]);
		return buf;
	}
	if (address && n == 5 && id[0] == 1 && inet_ntop(AF_INET, id + 1, buf, LLDP_ID_TEXT_MAX))
		return buf;
	if (address && n == 17 && id[0] == 2 && inet_ntop(AF_INET6, id + 1, buf, LLDP_ID_TEXT_MAX))
		return buf;
	size_t k = 0;
	for (size_t i = 0; i < n && k + 5 < LLDP_ID_TEXT_MAX; i++) {
		/* A quote or backslash would need escaping in YAML: shown like the other odd bytes. */
		if (isprint(id[i]) && id[i] != '"' && id[i] != '\\')
			buf[k++] = (char)id[i];
		else if (i + 1 < n || id[i] != 0) /* some agents send the C string's end */
			k += (size_t)snprintf(buf + k, LLDP_ID_TEXT_MAX - k, "%%%02x", id[i]);
	}
	buf[k] = '\0';
	return buf;
}

/* "leaf1.pod-a.example" is leaf1 for this purpose; case does not matter in system names. */
static bool same_system(const char *a, const char *b)
{
	if (!given(a) || !given(b))
		return false;
	const size_t na = strcspn(a, "."), nb = strcspn(b, ".");
	return na == nb && strncasecmp(a, b, na) == 0;
}

static const struct topology_device *device_heard(const struct topology_device *devices, size_t n, const struct topology_neighbor *h)
{
	for (size_t i = 0; i < n; i++)
		if (given(h->chassis) && str_eq(devices[i].chassis, h->chassis))
			return &devices[i];
	for (size_t i = 0; i < n; i++)
		if (same_system(devices[i].name, h->sysname) || same_system(devices[i].sysname, h->sysname))
			return &devices[i];
	for (size_t i = 0; i < n; i++)
		for (size_t p = 0; given(h->chassis) && p < devices[i].n_ports; p++)
			if (h->chassis_subtype == LLDP_CHASSIS_MAC && str_eq(devices[i].ports[p].mac, h->chassis))
				return &devices[i];
	return NULL;
}

enum port_key { BY_NAME, BY_ALIAS, BY_DESCR, BY_MAC, BY_IFINDEX, BY_END };

static bool port_is(const struct topology_port *p, enum port_key key, const char *id)
{
	switch (key) {
	case BY_NAME: return str_eq(p->name, id);
	case BY_ALIAS: return given(p->alias) && str_eq(p->alias, id);
	case BY_DESCR: return given(p->descr) && str_eq(p->descr, id);
	case BY_MAC: return given(p->mac) && strcasecmp(p->mac, id) == 0;
	case BY_IFINDEX: {
		char *end;
		const unsigned long v = strtoul(id, &end, 10);
		return isdigit((unsigned char)*id) && *end == '\0' && v == p->ifindex && v != 0;
	}
	case BY_END: break;
	}
	return false;
}

/* What to compare an id of each subtype with, best first. */
static const enum port_key keys_of[][6] = {
	[0] = {BY_NAME, BY_ALIAS, BY_DESCR, BY_MAC, BY_END},
	[LLDP_PORT_IFALIAS] = {BY_ALIAS, BY_NAME, BY_DESCR, BY_END},
	[LLDP_PORT_COMPONENT] = {BY_NAME, BY_DESCR, BY_ALIAS, BY_END},
	[LLDP_PORT_MAC] = {BY_MAC, BY_END},
	[LLDP_PORT_ADDRESS] = {BY_END},
	[LLDP_PORT_IFNAME] = {BY_NAME, BY_DESCR, BY_ALIAS, BY_END},
	[LLDP_PORT_CIRCUIT] = {BY_END},
	[LLDP_PORT_LOCAL] = {BY_NAME, BY_ALIAS, BY_DESCR, BY_IFINDEX, BY_END},
};

static const struct topology_port *port_by(const struct topology_device *d, const enum port_key *keys, const char *id)
{
	for (; given(id) && *keys != BY_END; keys++) {
		const struct topology_port *found = NULL;
		size_t n = 0;
		for (size_t p = 0; p < d->n_ports; p++) {
			if (port_is(&d->ports[p], *keys, id)) {
				found = &d->ports[p];
				n++;
			}
		}
		if (n == 1) /* several ports with one MAC or alias name none of them */
			return found;
	}
	return NULL;
}

static const struct topology_port *port_heard(const struct topology_device *d, const struct topology_neighbor *h)
{
	const int s = h->port_subtype;
	const struct topology_port *p = port_by(d, keys_of[s > 0 && s <= LLDP_PORT_LOCAL ? s : 0], h->port_id);
	return p ? p : port_by(d, keys_of[0], h->port_descr);
}

struct end {
	const char *device, *port;
};

static int end_compare(struct end x, struct end y)
{
	const int c = name_compare(x.device, y.device);
	return c ? c : name_compare(x.port, y.port);
}

static bool end_same(struct end x, const char *device, const char *port)
{
	return str_eq(x.device, device) && str_eq(x.port, port);
}

static int link_compare(const void *a, const void *b)
{
	const struct topology_link *x = a, *y = b;
	const int c = end_compare((struct end){x->a_device, x->a_port}, (struct end){y->a_device, y->a_port});
	if (c)
		return c;
	if (!x->b_device != !y->b_device)
		return x->b_device ? -1 : 1;
	return x->b_device ? end_compare((struct end){x->b_device, x->b_port}, (struct end){y->b_device, y->b_port}) : name_compare(x->host, y->host);
}

static struct topology_link *link_find(struct topology_link *links, size_t n, struct end x, struct end y)
{
	for (size_t i = 0; i < n; i++)
		if (links[i].b_device && end_same(x, links[i].a_device, links[i].a_port) && end_same(y, links[i].b_device, links[i].b_port))
			return &links[i];
	return NULL;
}

/* Two links that claim the same port cannot both be: an unconfirmed one yields to a confirmed one in words, not in silence. */
static void links_dispute(struct arena *a, struct topology_link *links, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < n; k++) {
			const struct topology_link *x = &links[k];
			if (i == k || links[i].problem || (links[i].confirmed && !x->confirmed))
				continue;
			const bool a_end = str_eq(links[i].a_device, x->a_device) && str_eq(links[i].a_port, x->a_port);
			const bool a_other = x->b_device && str_eq(links[i].a_device, x->b_device) && str_eq(links[i].a_port, x->b_port);
			const bool b_end = links[i].b_device && end_same((struct end){links[i].b_device, links[i].b_port}, x->a_device, x->a_port);
			const bool b_other = links[i].b_device && x->b_device && end_same((struct end){links[i].b_device, links[i].b_port}, x->b_device, x->b_port);
			if (a_end || a_other || b_end || b_other) {
				const bool left = a_end || a_other;
				links[i].problem = arena_printf(a, "%s:%s is also said to be linked to %s:%s", left ? links[i].a_device : links[i].b_device,
					left ? links[i].a_port : links[i].b_port, (a_end || b_end) ? (x->b_device ? x->b_device : "host") : x->a_device,
					(a_end || b_end) ? (x->b_device ? x->b_port : x->host) : x->a_port);
			}
		}
	}
}

size_t topology_links(struct arena *a, const struct topology_device *devices, size_t n_devices, const struct topology_neighbor *heard,
	size_t n_heard, struct topology_link **ret)
{
	struct topology_link *links = arena_array(a, struct topology_link, n_heard ? n_heard : 1);
	size_t n = 0;
	for (size_t i = 0; i < n_heard; i++) {
		const struct topology_neighbor *h = &heard[i];
		const struct topology_device *d = device_heard(devices, n_devices, h);
		if (!d) {
			const bool nic = h->port_subtype == LLDP_PORT_IFNAME || h->port_subtype == LLDP_PORT_LOCAL || h->port_subtype == LLDP_PORT_IFALIAS;
			char *host = arena_strdup(a, given(h->sysname) ? h->sysname : h->chassis);
			for (char *c = host; *c; c++) /* ':' separates the parts of an endpoint */
				*c = *c == ':' || isspace((unsigned char)*c) ? '-' : *c;
			if (!*host)
				continue; /* a neighbour without any name says nothing */
			links[n++] = (struct topology_link){.a_device = h->device, .a_port = h->port, .host = host,
				.nic = nic && given(h->port_id) && !strchr(h->port_id, ':') ? h->port_id : "", .confirmed = true};
			continue;
		}
		const struct topology_port *p = port_heard(d, h);
		struct end x = {h->device, h->port}, y = {d->name, p ? p->name : given(h->port_descr) ? h->port_descr : h->port_id};
		if (!given(y.port))
			continue;
		if (end_compare(x, y) > 0) {
			const struct end t = x;
			x = y;
			y = t;
		}
		struct topology_link *known = link_find(links, n, x, y);
		if (known) {
			known->confirmed = true;
			continue;
		}
		links[n++] = (struct topology_link){.a_device = x.device, .a_port = x.port, .b_device = y.device, .b_port = y.port,
			.problem = p ? NULL : arena_printf(a, "%s has no port that matches what %s:%s heard (id \"%s\", description \"%s\")", d->name,
				h->device, h->port, h->port_id, h->port_descr)};
	}
	links_dispute(a, links, n);
	qsort(links, n, sizeof(*links), link_compare);
	*ret = links;
	return n;
}

void topology_print(FILE *out, const struct topology_link *links, size_t n)
{
	fprintf(out, "links:%s\n", n ? "" : " []");
	for (size_t i = 0; i < n; i++) {
		const struct topology_link *l = &links[i];
		/* A disputed link would not pass the check that a port is used once: kept as a comment, for a person to settle. */
		fprintf(out, "%s  - { a: \"%s:%s\", b: \"", l->problem ? "#" : "", l->a_device, l->a_port);
		if (l->b_device)
			fprintf(out, "%s:%s", l->b_device, l->b_port);
		else
			fprintf(out, "host:%s%s%s", l->host, *l->nic ? ":" : "", l->nic);
		fprintf(out, "\" }%s%s%s\n", l->problem || !l->confirmed ? "  # " : "", l->problem ? l->problem : "", !l->problem && !l->confirmed ? "one end only has said so" : "");
	}
}
