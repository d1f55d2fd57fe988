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

/* rank - the tier that a device's type names, from below; -1 unknown. */
static int rank(const char *type)
{
	static const char *const tiers[] = {"ToRRouter", "LeafRouter", "SpineRouter"};
	for (size_t i = 0; i < rw_countof(tiers); i++)
		if (strstr(type, tiers[i]))
			return (int)i;
	return -1;
}

static const struct import_device *peer_of(const struct import_set *s, const struct import_port *p)
{
	for (size_t i = 0; p->peer && i < s->n_devices; i++)
		if (strcmp(s->devices[i]->name, p->peer) == 0)
			return s->devices[i];
	return NULL;
}

static bool has_hosts(const struct import_set *s, const struct import_device *d)
{
	for (size_t i = 0; i < d->n_ports; i++) {
		const struct import_device *peer = peer_of(s, &d->ports[i]);
		if (peer && peer->host)
			return true;
	}
	return false;
}

static bool above_leaf(const struct import_set *s, const struct import_device *d)
{
	for (size_t i = 0; i < s->n_devices; i++)
		for (size_t k = 0; k < s->devices[i]->n_ports; k++)
			if (peer_of(s, &s->devices[i]->ports[k]) == d &&
				has_hosts(s, s->devices[i]))
				return true;
	return false;
}

/* role - hosts make a leaf; else the types, counted from the lowest there is: their names for tiers
 * begin with ToR, ours with leaf. */
static const char *role(const struct import_set *s, const struct import_device *d)
{
	static const char *const roles[] = {"leaf", "spine", "superspine"};
	int lowest = 9, own = rank(d->type);
	for (size_t i = 0; i < s->n_devices; i++)
		if (!s->devices[i]->host && rank(s->devices[i]->type) >= 0 &&
			rank(s->devices[i]->type) < lowest)
			lowest = rank(s->devices[i]->type);
	if (has_hosts(s, d))
		return "leaf";
	return own >= 0 ? roles[own - lowest] : above_leaf(s, d) ? "spine" : "other";
}

/* ---- devices and links --------------------------------------------------- */

static void devices_print(const struct import_set *s, FILE *out)
{
	bool any = false;
	for (size_t i = 0; i < s->n_devices; i++)
		any = any || !s->devices[i]->host;
	fprintf(out, "devices:%s\n", any ? "" : " []");
	for (size_t i = 0; i < s->n_devices; i++) {
		const struct import_device *d = s->devices[i];
		if (d->host)
			continue;
		fprintf(out,
			"  - { name: \"%s\", role: %s, snmp: { address: \"%s\", credentials: "
			"imported }%s }",
			d->name, role(s, d), *d->address ? d->address : d->name,
			d->own ? ", profile: sonic" : "");
		fprintf(out, "%s%s\n",
			d->own ? *d->sku ? "  # " : ""
			       : "  # a neighbour; its own file was not read",
			d->own && strpbrk(d->sku, "\r\n") == NULL ? d->sku : "");
	}
}

/* resolve - the other end's own name for its port: neighbours are often told by alias. */
static const char *resolve(const struct import_device *d, const char *port)
{
	for (size_t i = 0; i < d->n_ports; i++)
		if (strcmp(d->ports[i].name, port) == 0)
			return port;
	for (size_t i = 0; i < d->n_ports; i++)
		if (*port && strcmp(d->ports[i].alias, port) == 0)
			return d->ports[i].name;
	return port;
}

struct link {
	const char *a, *a_port, *b, *b_port;
	bool host;
	unsigned cable_m;
	uint64_t speed_bps;
};

static bool same_end(const char *a, const char *a_port, const char *b, const char *b_port)
{
	return strcmp(a, b) == 0 && strcmp(a_port, b_port) == 0;
}

/* clash - why a link cannot stand beside the others: it is one of them told from the other end, or
 * a port would have two cables. */
static const char *clash(const struct link *v, size_t n, const struct link *l)
{
	for (size_t i = 0; i < n; i++) {
		if (same_end(v[i].a, v[i].a_port, l->b, l->b_port) &&
			same_end(v[i].b, v[i].b_port, l->a, l->a_port))
			return "";
		if (same_end(v[i].a, v[i].a_port, l->a, l->a_port) ||
			same_end(v[i].a, v[i].a_port, l->b, l->b_port) ||
			(!v[i].host &&
				(same_end(v[i].b, v[i].b_port, l->a, l->a_port) ||
					same_end(v[i].b, v[i].b_port, l->b, l->b_port))))
			return "a port of it is used by a link above; one of the two is wrong";
	}
	return NULL;
}

static void link_print(const struct link *l, const char *why, FILE *out)
{
	char text[32];
	fprintf(out, "%s  - { a: \"%s:%s\", b: \"%s%s%s%s\"", why ? "#" : "", l->a, l->a_port,
		l->host ? "host:" : "", l->b, *l->b_port ? ":" : "", l->b_port);
	if (l->speed_bps)
		fprintf(out, ", speed: %s", unit_bitrate_text(text, sizeof(text), l->speed_bps));
	if (l->cable_m)
		fprintf(out, ", cable: %um", l->cable_m);
	fprintf(out, " }%s%s\n", why ? "  # " : "", why ? why : "");
}

static void links_print(const struct import_set *s, FILE *out)
{
	size_t n = 0, cap = 0;
	rw_cleanup(freep) struct link *v = NULL;
	bool cables = false;
	for (size_t i = 0; i < s->n_devices; i++)
		for (size_t k = 0; k < s->devices[i]->n_ports; k++)
			cables = cables ||
				(s->devices[i]->ports[k].peer && s->devices[i]->ports[k].cable_m);
	if (cables)
		fputs("# Cables are as long as the switch is told they are (CABLE_LENGTH): correct "
		      "them where that is not so.\n",
			out);
	for (size_t i = 0; i < s->n_devices; i++)
		for (size_t k = 0; k < s->devices[i]->n_ports; k++) {
			const struct import_port *p = &s->devices[i]->ports[k];
			const struct import_device *peer = peer_of(s, p);
			if (!peer)
				continue;
			struct link l = {.a = s->devices[i]->name,
				.a_port = p->name,
				.b = peer->name,
				.b_port = resolve(peer, p->peer_port),
				.host = peer->host,
				.cable_m = p->cable_m,
				.speed_bps = p->speed_bps};
			const char *why = clash(v, n, &l);
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

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool row_same(const struct import_row *a, const struct import_row *b)
{
	return a->lossless == b->lossless && a->kmin == b->kmin && a->kmax == b->kmax &&
		a->headroom == b->headroom && a->xon_level == b->xon_level &&
		a->xon_offset == b->xon_offset && a->pool == b->pool && same(a->pmax, b->pmax) &&
		same(a->alpha, b->alpha);
}

static bool row_empty(const struct import_row *r)
{
	return !r->lossless ||
		(!r->kmin && !r->kmax && !r->headroom && !r->xon_level && !r->xon_offset &&
			!r->pool && isnan(r->pmax) && isnan(r->alpha));
}

static void size_print(FILE *out, const char *key, uint64_t bytes)
{
	if (bytes)
		fprintf(out, ", %s: %" PRIu64 "B", key, bytes);
}

static void row_print(const struct import_device *d, const char *port, unsigned priority,
	const struct import_row *r, FILE *out)
{
	fprintf(out, "  - { devices: \"%s\", ports: \"%s\", priority: %u", d->name, port, priority);
	size_print(out, "kmin", r->kmin);
	size_print(out, "kmax", r->kmax);
	if (!isnan(r->pmax))
		fprintf(out, ", pmax: %.0f%%", r->pmax * 100);
	if (!isnan(r->alpha))
		fprintf(out, r->alpha < 1 ? ", alpha: 1/%.0f" : ", alpha: %.0f",
			r->alpha < 1 ? 1 / r->alpha : r->alpha);
	size_print(out, "headroom", r->headroom);
	size_print(out, "xon_level", r->xon_level);
	size_print(out, "xon_offset", r->xon_offset);
	size_print(out, "cell", d->cell_bytes);
	size_print(out, "pool", r->pool);
	fputs(" }\n", out);
}

/* priority_rows - one row for all ports where all have the same, else one per port. Returns how
 * many. */
static size_t priority_rows(
	const struct import_device *d, unsigned priority, size_t before, FILE *out)
{
	bool alike = d->n_ports > 0;
	size_t n = 0;
	for (size_t i = 1; i < d->n_ports && alike; i++)
		alike = row_same(&d->ports[0].rows[priority], &d->ports[i].rows[priority]);
	for (size_t i = 0; i < (alike ? 1 : d->n_ports); i++) {
		const struct import_row *r = &d->ports[i].rows[priority];
		if (row_empty(r))
			continue;
		if (before + n == 0)
			fputs("thresholds:\n", out);
		row_print(d, alike ? "*" : d->ports[i].name, priority, r, out);
		n++;
	}
	return n;
}

static void lossless_print(const struct import_set *s, FILE *out)
{
	if (!s->lossless)
		return;
	fputs("lossless: { priorities: [", out);
	for (unsigned i = 0, n = 0; i < IMPORT_PRIORITIES; i++)
		if (s->lossless & 1u << i)
			fprintf(out, "%s%u", n++ ? ", " : "", i);
	fputc(']', out);
	if (s->lossless_mtu)
		fprintf(out, ", mtu: %" PRIu64 "B", s->lossless_mtu);
	fputs(" }\n", out);
}

static int by_name(const void *a, const void *b)
{
	return name_compare((*(const struct import_device *const *)a)->name,
		(*(const struct import_device *const *)b)->name);
}

static int by_port(const void *a, const void *b)
{
	return name_compare(
		((const struct import_port *)a)->name, ((const struct import_port *)b)->name);
}

void import_print(struct import_set *s, FILE *out)
{
	size_t n = 0;
	if (s->n_devices)
		qsort(s->devices, s->n_devices, sizeof(*s->devices), by_name);
	for (size_t i = 0; i < s->n_devices; i++)
		if (s->devices[i]->n_ports)
			qsort(s->devices[i]->ports, s->devices[i]->n_ports,
				sizeof(*s->devices[i]->ports), by_port);
	fputs("# Addresses, roles and credentials are a beginning: look through them.\n"
	      "credentials:\n  imported: { snmp: { version: 2c, community_env: ROCEWATCH_COMMUNITY "
	      "} }\n",
		out);
	devices_print(s, out);
	links_print(s, out);
	lossless_print(s, out);
	fputs("# What is read from a switch wins over these; a difference is reported.\n", out);
	for (size_t i = 0; i < s->n_devices; i++)
		for (unsigned p = 0; p < IMPORT_PRIORITIES; p++)
			n += priority_rows(s->devices[i], p, n, out);
	if (n == 0)
		fputs("thresholds: []\n", out);
}
