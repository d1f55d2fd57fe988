/* import_print - what was imported as YAML: devices, links, what is lossless, thresholds. Stands
 * alone, so that `config check` takes it as it is. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/import/import_internal.h"

/* ---- roles --------------------------------------------------------------- */

/* import_print_rank - the tier that a device's type names, from below; -1 unknown. */
static int import_print_rank(const char *type)
{
	static const char *const tiers[] = {"ToRRouter", "LeafRouter", "SpineRouter"};
	for (size_t i = 0; i < rw_countof(tiers); i++)
		if (strstr(type, tiers[i]))
			return (int)i;
	return -1;
}

static const struct import_device *import_print_peer_of(
	const struct import_set *set, const struct import_port *port)
{
	for (size_t i = 0; port->peer && i < set->n_devices; i++)
		if (strcmp(set->devices[i]->name, port->peer) == 0)
			return set->devices[i];
	return NULL;
}

static bool has_hosts(const struct import_set *set, const struct import_device *device)
{
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct import_device *peer = import_print_peer_of(set, &device->ports[i]);
		if (peer && peer->host)
			return true;
	}
	return false;
}

static bool above_leaf(const struct import_set *set, const struct import_device *device)
{
	for (size_t i = 0; i < set->n_devices; i++)
		for (size_t k = 0; k < set->devices[i]->n_ports; k++)
			if (import_print_peer_of(set, &set->devices[i]->ports[k]) == device &&
				has_hosts(set, set->devices[i]))
				return true;
	return false;
}

/* import_print_role - hosts make a leaf; else the types, counted from the lowest there is: their
 * names for tiers begin with ToR, ours with leaf. */
static const char *import_print_role(
	const struct import_set *set, const struct import_device *device)
{
	static const char *const roles[] = {"leaf", "spine", "superspine"};
	int lowest = 9, own = import_print_rank(device->type);
	for (size_t i = 0; i < set->n_devices; i++)
		if (!set->devices[i]->host && import_print_rank(set->devices[i]->type) >= 0 &&
			import_print_rank(set->devices[i]->type) < lowest)
			lowest = import_print_rank(set->devices[i]->type);
	if (has_hosts(set, device))
		return "leaf";
	if (own >= 0)
		return roles[own - lowest];
	if (above_leaf(set, device))
		return "spine";
	return "other";
}

/* ---- devices and links --------------------------------------------------- */

static void devices_print(const struct import_set *set, FILE *out)
{
	bool any = false;
	for (size_t i = 0; i < set->n_devices; i++)
		any = any || !set->devices[i]->host;
	fprintf(out, "devices:%s\n", str_if(!any, " []"));
	for (size_t i = 0; i < set->n_devices; i++) {
		const struct import_device *d = set->devices[i];
		if (d->host)
			continue;
		fprintf(out,
			"  - { name: \"%s\", role: %s, snmp: { address: \"%s\", credentials: "
			"imported }%s }",
			d->name, import_print_role(set, d), *d->address ? d->address : d->name,
			str_if(d->own, ", profile: sonic"));
		fprintf(out, "%s%s\n",
			d->own ? str_if(*d->sku, "  # ")
			       : "  # a neighbour; its own file was not read",
			d->own && strpbrk(d->sku, "\r\n") == NULL ? d->sku : "");
	}
}

/* import_print_resolve - the other end's own name for its port: neighbours are often told by alias.
 */
static const char *import_print_resolve(const struct import_device *device, const char *port)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (strcmp(device->ports[i].name, port) == 0)
			return port;
	for (size_t i = 0; i < device->n_ports; i++)
		if (*port && strcmp(device->ports[i].alias, port) == 0)
			return device->ports[i].name;
	return port;
}

struct link {
	const char *a, *a_port, *b, *b_port;
	bool host;
	unsigned cable_m;
	uint64_t speed_bps;
};

static bool same_end(const char *left, const char *a_port, const char *right, const char *b_port)
{
	return strcmp(left, right) == 0 && strcmp(a_port, b_port) == 0;
}

/* import_print_clash - why a link cannot stand beside the others: it is one of them told from the
 * other end, or a port would have two cables. */
static const char *import_print_clash(const struct link *links, size_t n, const struct link *link)
{
	for (size_t i = 0; i < n; i++) {
		if (same_end(links[i].a, links[i].a_port, link->b, link->b_port) &&
			same_end(links[i].b, links[i].b_port, link->a, link->a_port))
			return "";
		if (same_end(links[i].a, links[i].a_port, link->a, link->a_port) ||
			same_end(links[i].a, links[i].a_port, link->b, link->b_port) ||
			(!links[i].host &&
				(same_end(links[i].b, links[i].b_port, link->a, link->a_port) ||
					same_end(links[i].b, links[i].b_port, link->b,
						link->b_port))))
			return "a port of it is used by a link above; one of the two is wrong";
	}
	return NULL;
}

static void link_print(const struct link *link, const char *why, FILE *out)
{
	char text[32];
	fprintf(out, "%s  - { a: \"%s:%s\", b: \"%s%s%s%s\"", str_if(why, "#"), link->a,
		link->a_port, str_if(link->host, "host:"), link->b, str_if(*link->b_port, ":"),
		link->b_port);
	if (link->speed_bps)
		fprintf(out, ", speed: %s", unit_bitrate_text(text, sizeof(text), link->speed_bps));
	if (link->cable_m)
		fprintf(out, ", cable: %um", link->cable_m);
	fprintf(out, " }%s%s\n", str_if(why, "  # "), str_or(why, ""));
}

static void links_print(const struct import_set *set, FILE *out)
{
	size_t n = 0, cap = 0;
	rw_cleanup(freep) struct link *v = NULL;
	bool cables = false;
	for (size_t i = 0; i < set->n_devices; i++)
		for (size_t k = 0; k < set->devices[i]->n_ports; k++)
			cables = cables ||
				(set->devices[i]->ports[k].peer &&
					set->devices[i]->ports[k].cable_m);
	if (cables)
		fputs("# Cables are as long as the switch is told they are (CABLE_LENGTH): correct "
		      "them where that is not so.\n",
			out);
	for (size_t i = 0; i < set->n_devices; i++)
		for (size_t k = 0; k < set->devices[i]->n_ports; k++) {
			const struct import_port *p = &set->devices[i]->ports[k];
			const struct import_device *peer = import_print_peer_of(set, p);
			if (!peer)
				continue;
			struct link l = {.a = set->devices[i]->name,
				.a_port = p->name,
				.b = peer->name,
				.b_port = import_print_resolve(peer, p->peer_port),
				.host = peer->host,
				.cable_m = p->cable_m,
				.speed_bps = p->speed_bps};
			const char *why = import_print_clash(v, n, &l);
			if (!why && !l.host && !*l.b_port)
				why = "the port at the other end is not known";
			if (!why && same_end(l.a, l.a_port, l.b, l.b_port))
				why = "both ends are one port";
			if (why && !*why)
				continue; /* told from the other end */
			if (n == 0 && !why)
				fputs("links:\n", out);
			link_print(&l, why, out);
			if (why)
				continue;
			rw_grow(v, n, cap);
			v[n++] = l;
		}
	if (n == 0)
		fputs("links: []\n", out);
}

/* ---- thresholds ---------------------------------------------------------- */

static bool import_print_same(double left, double right)
{
	return left == right || (isnan(left) && isnan(right));
}

static bool row_same(const struct import_row *left, const struct import_row *right)
{
	return left->lossless == right->lossless && left->kmin == right->kmin &&
		left->kmax == right->kmax && left->headroom == right->headroom &&
		left->xon_level == right->xon_level && left->xon_offset == right->xon_offset &&
		left->pool == right->pool && import_print_same(left->pmax, right->pmax) &&
		import_print_same(left->alpha, right->alpha);
}

static bool import_print_row_empty(const struct import_row *row)
{
	return !row->lossless ||
		(!row->kmin && !row->kmax && !row->headroom && !row->xon_level &&
			!row->xon_offset && !row->pool && isnan(row->pmax) && isnan(row->alpha));
}

static void size_print(FILE *out, const char *key, uint64_t bytes)
{
	if (bytes)
		fprintf(out, ", %s: %" PRIu64 "B", key, bytes);
}

static void row_print(const struct import_device *device, const char *port, unsigned priority,
	const struct import_row *row, FILE *out)
{
	fprintf(out, "  - { devices: \"%s\", ports: \"%s\", priority: %u", device->name, port,
		priority);
	size_print(out, "kmin", row->kmin);
	size_print(out, "kmax", row->kmax);
	if (!isnan(row->pmax))
		fprintf(out, ", pmax: %.0f%%", row->pmax * 100);
	if (!isnan(row->alpha))
		fprintf(out, row->alpha < 1 ? ", alpha: 1/%.0f" : ", alpha: %.0f",
			row->alpha < 1 ? 1 / row->alpha : row->alpha);
	size_print(out, "headroom", row->headroom);
	size_print(out, "xon_level", row->xon_level);
	size_print(out, "xon_offset", row->xon_offset);
	size_print(out, "cell", device->cell_bytes);
	size_print(out, "pool", row->pool);
	fputs(" }\n", out);
}

/* priority_rows - one row for all ports where all have the same, else one per port. Returns how
 * many. */
static size_t priority_rows(
	const struct import_device *device, unsigned priority, size_t before, FILE *out)
{
	bool alike = device->n_ports > 0;
	size_t n = 0;
	for (size_t i = 1; i < device->n_ports && alike; i++)
		alike = row_same(
			&device->ports[0].rows[priority], &device->ports[i].rows[priority]);
	for (size_t i = 0; i < (alike ? 1 : device->n_ports); i++) {
		const struct import_row *r = &device->ports[i].rows[priority];
		if (import_print_row_empty(r))
			continue;
		if (before + n == 0)
			fputs("thresholds:\n", out);
		row_print(device, alike ? "*" : device->ports[i].name, priority, r, out);
		n++;
	}
	return n;
}

static void lossless_print(const struct import_set *set, FILE *out)
{
	if (!set->lossless)
		return;
	fputs("lossless: { priorities: [", out);
	for (unsigned i = 0, n = 0; i < IMPORT_PRIORITIES; i++)
		if (set->lossless & 1u << i)
			fprintf(out, "%s%u", str_if(n++, ", "), i);
	fputc(']', out);
	if (set->lossless_mtu)
		fprintf(out, ", mtu: %" PRIu64 "B", set->lossless_mtu);
	fputs(" }\n", out);
}

static int import_print_by_name(const void *left, const void *right)
{
	return name_compare((*(const struct import_device *const *)left)->name,
		(*(const struct import_device *const *)right)->name);
}

static int by_port(const void *left, const void *right)
{
	return name_compare(((const struct import_port *)left)->name,
		((const struct import_port *)right)->name);
}

void import_print(struct import_set *set, FILE *out)
{
	size_t n = 0;
	if (set->n_devices)
		qsort(set->devices, set->n_devices, sizeof(*set->devices), import_print_by_name);
	for (size_t i = 0; i < set->n_devices; i++)
		if (set->devices[i]->n_ports)
			qsort(set->devices[i]->ports, set->devices[i]->n_ports,
				sizeof(*set->devices[i]->ports), by_port);
	fputs("# Addresses, roles and credentials are a beginning: look through them.\n"
	      "credentials:\n  imported: { snmp: { version: 2c, community_env: ROCEWATCH_COMMUNITY "
	      "} }\n",
		out);
	devices_print(set, out);
	links_print(set, out);
	lossless_print(set, out);
	fputs("# What is read from a switch wins over these; a difference is reported.\n", out);
	for (size_t i = 0; i < set->n_devices; i++)
		for (unsigned p = 0; p < IMPORT_PRIORITIES; p++)
			n += priority_rows(set->devices[i], p, n, out);
	if (n == 0)
		fputs("thresholds: []\n", out);
}
