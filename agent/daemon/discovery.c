/* discovery - see discovery.h. Owns what each device said last, the links believed, and the
 * disputes told. */
#include "agent/daemon/discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"

#define QUIET_NS (2 * NS_PER_S)
#define PATIENCE_NS                                                                                \
	(15 * NS_PER_S) /* neighbours that come and go all the time must not put it off for ever   \
			 */
#define SLOW_POLLS 3
#define REPORTS_TO_REPLACE 2

struct report { /* of one device */
	char *name;
	struct arena *arena;
	struct topology_device self;
	struct topology_neighbor *heard;
	size_t n;
	uint64_t digest;
	uint32_t count;
};

struct believed {
	char *a, *b;
};

struct candidate { /* a link that would replace another on one voice */
	char *key;
	char *device; /* whose voice */
	uint32_t since; /* its report count when it was heard first */
	bool seen; /* in this evaluation */
};

struct dispute {
	char *device, *text;
	bool seen;
};

struct discovery {
	struct discovery_events events;
	struct report *reports;
	size_t n_reports, cap_reports;
	struct smap *by_name;
	struct believed *links;
	size_t n_links, cap_links;
	struct config_link *lent;
	struct candidate *candidates;
	size_t n_candidates, cap_candidates;
	struct dispute *disputes;
	size_t n_disputes, cap_disputes;
	struct smap *peers; /* "device\0port" -> hash of the peer told */
	mono_t began, changed, first_changed;
	bool ready, dirty;
};

struct discovery *discovery_new(const struct discovery_events *events, mono_t now)
{
	struct discovery *d = rw_calloc(1, sizeof(*d));
	*d = (struct discovery){
		.events = *events, .began = now, .by_name = smap_new(), .peers = smap_new()};
	return d;
}

static void links_clear(struct discovery *d)
{
	for (size_t i = 0; i < d->n_links; i++) {
		free(d->links[i].a);
		free(d->links[i].b);
	}
	d->n_links = 0;
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_reports; i++) {
		free(d->reports[i].name);
		arena_free(d->reports[i].arena);
	}
	for (size_t i = 0; i < d->n_candidates; i++) {
		free(d->candidates[i].key);
		free(d->candidates[i].device);
	}
	for (size_t i = 0; i < d->n_disputes; i++) {
		free(d->disputes[i].device);
		free(d->disputes[i].text);
	}
	links_clear(d);
	free(d->reports);
	free(d->links);
	free(d->lent);
	free(d->candidates);
	free(d->disputes);
	smap_free(d->by_name);
	smap_free(d->peers);
	free(d);
}

/* ---- what is heard ------------------------------------------------------- */

static uint64_t mix(uint64_t h, const char *s)
{
	return hash_bytes(s ? s : "", s ? strlen(s) + 1 : 1, h);
}

/* Everything that decides which links follow; speeds and counters of ports do not. */
static uint64_t digest_of(
	const struct topology_device *self, const struct topology_neighbor *heard, size_t n)
{
	uint64_t h = mix(mix(0, self->sysname), self->chassis);
	for (size_t i = 0; i < self->n_ports; i++) {
		const struct topology_port *p = &self->ports[i];
		h = mix(mix(mix(mix(h, p->name), p->alias), p->descr), p->mac) + p->ifindex;
	}
	for (size_t i = 0; i < n; i++) {
		const struct topology_neighbor *x = &heard[i];
		h = mix(mix(mix(mix(mix(h, x->port), x->sysname), x->chassis), x->port_id),
			    x->port_descr) +
			(uint64_t)x->port_subtype;
	}
	return h ? h : 1; /* 0 = nothing said yet */
}

static struct report *report_of(struct discovery *d, const char *name)
{
	uint64_t at;
	if (smap_get(d->by_name, name, strlen(name), &at))
		return &d->reports[at];
	smap_put(d->by_name, name, strlen(name), d->n_reports);
	rw_grow(d->reports, d->n_reports, d->cap_reports);
	d->reports[d->n_reports] = (struct report){.name = rw_strdup(name), .arena = arena_new()};
	return &d->reports[d->n_reports++];
}

static const char *text(struct arena *a, const char *s)
{
	return arena_strdup(a, s ? s : "");
}

static void report_fill(struct report *r, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct arena *a = r->arena;
	arena_reset(a);
	r->self = (struct topology_device){.name = r->name,
		.sysname = text(a, self->sysname),
		.chassis = text(a, self->chassis),
		.n_ports = self->n_ports};
	r->self.ports = arena_array(a, struct topology_port, self->n_ports + 1);
	for (size_t i = 0; i < self->n_ports; i++) {
		const struct topology_port *p = &self->ports[i];
		r->self.ports[i] = *p;
		r->self.ports[i].name = text(a, p->name);
		r->self.ports[i].alias = text(a, p->alias);
		r->self.ports[i].descr = text(a, p->descr);
		r->self.ports[i].mac = text(a, p->mac);
	}
	r->heard = arena_array(a, struct topology_neighbor, n + 1);
	r->n = n;
	for (size_t i = 0; i < n; i++)
		r->heard[i] = (struct topology_neighbor){.device = r->name,
			.port = text(a, heard[i].port),
			.sysname = text(a, heard[i].sysname),
			.chassis_subtype = heard[i].chassis_subtype,
			.port_subtype = heard[i].port_subtype,
			.chassis = text(a, heard[i].chassis),
			.port_id = text(a, heard[i].port_id),
			.port_descr = text(a, heard[i].port_descr)};
}

void discovery_reconsider(struct discovery *d)
{
	d->dirty = true;
	d->changed = d->first_changed = (mono_t){0};
}

void discovery_hear(struct discovery *d, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n, mono_t now)
{
	struct report *r = report_of(d, self->name);
	uint64_t digest = digest_of(self, heard, n);
	bool pending = false;
	r->count++;
	for (size_t i = 0; i < d->n_candidates; i++)
		pending = pending || str_eq(d->candidates[i].device, r->name);
	if (digest == r->digest && !pending)
		return;
	if (digest != r->digest)
		report_fill(r, self, heard, n);
	r->digest = digest;
	if (!d->dirty)
		d->first_changed = now;
	d->dirty = true;
	d->changed = now;
}

/* ---- what is believed ---------------------------------------------------- */

static void believe(struct discovery *d, const char *a, const char *b)
{
	rw_grow(d->links, d->n_links, d->cap_links);
	d->links[d->n_links++] = (struct believed){rw_strdup(a), rw_strdup(b)};
}

static void forget(struct discovery *d, size_t i)
{
	free(d->links[i].a);
	free(d->links[i].b);
	d->links[i] = d->links[--d->n_links];
}

static bool same_link(const struct believed *l, const char *a, const char *b)
{
	return (strcmp(l->a, a) == 0 && strcmp(l->b, b) == 0) ||
		(strcmp(l->a, b) == 0 && strcmp(l->b, a) == 0);
}

static int link_order(const void *a, const void *b)
{
	const struct believed *x = a, *y = b;
	int c = name_compare(x->a, y->a);
	return c ? c : name_compare(x->b, y->b);
}

static void links_sort(struct discovery *d)
{
	if (d->n_links > 1)
		qsort(d->links, d->n_links, sizeof(*d->links), link_order);
}

void discovery_know(struct discovery *d, const struct config_link *links, size_t n)
{
	links_clear(d);
	for (size_t i = 0; i < n; i++)
		believe(d, links[i].a, links[i].b);
	links_sort(d);
}

size_t discovery_links(const struct discovery *d, const struct config_link **ret)
{
	struct discovery *own = (struct discovery *)d; /* only the lent copy changes */
	own->lent = rw_realloc(own->lent, (d->n_links + 1) * sizeof(*own->lent));
	for (size_t i = 0; i < d->n_links; i++)
		own->lent[i] = (struct config_link){d->links[i].a, d->links[i].b};
	*ret = own->lent;
	return d->n_links;
}

static bool is_host(const char *end)
{
	return strncmp(end, "host:", 5) == 0;
}

/* believed_index - every port of a believed link -> the link. */
static struct smap *believed_index(const struct discovery *d)
{
	struct smap *m = smap_new();
	for (size_t i = 0; i < d->n_links; i++) {
		smap_put(m, d->links[i].a, strlen(d->links[i].a), i);
		if (!is_host(d->links[i].b))
			smap_put(m, d->links[i].b, strlen(d->links[i].b), i);
	}
	return m;
}

/* Heard on one voice: is this at least its second report? */
static bool heard_again(struct discovery *d, const char *key, const char *device)
{
	const struct report *r = report_of(d, device);
	for (size_t i = 0; i < d->n_candidates; i++) {
		struct candidate *c = &d->candidates[i];
		if (strcmp(c->key, key) != 0)
			continue;
		c->seen = true;
		return r->count - c->since + 1 >= REPORTS_TO_REPLACE;
	}
	rw_grow(d->candidates, d->n_candidates, d->cap_candidates);
	d->candidates[d->n_candidates++] = (struct candidate){.key = rw_strdup(key),
		.device = rw_strdup(device),
		.since = r->count,
		.seen = true};
	return false;
}

static void candidates_sweep(struct discovery *d)
{
	size_t n = 0;
	for (size_t i = 0; i < d->n_candidates; i++) {
		struct candidate *c = &d->candidates[i];
		if (c->seen) {
			c->seen = false;
			d->candidates[n++] = *c;
			continue;
		}
		free(c->key);
		free(c->device);
	}
	d->n_candidates = n;
}

struct ends { /* of a heard link, as text */
	const char *a, *b;
};

static struct ends ends_of(struct arena *a, const struct topology_link *l)
{
	struct ends e = {.a = arena_printf(a, "%s:%s", l->a_device, l->a_port)};
	if (l->b_device)
		e.b = arena_printf(a, "%s:%s", l->b_device, l->b_port);
	else
		e.b = arena_printf(a, "host:%s%s%s", l->host, *l->nic ? ":" : "", l->nic);
	return e;
}

/* Takes in what is heard; true when the beliefs changed. */
static bool merge(struct discovery *d, struct arena *a, const struct topology_link *links, size_t n)
{
	struct smap *ports = believed_index(d);
	bool *gone = arena_array(a, bool, d->n_links + 1);
	struct ends *add = arena_array(a, struct ends, n + 1);
	size_t n_add = 0, n_before = d->n_links;
	bool changed = false;
	for (size_t i = 0; i < n; i++) {
		const struct topology_link *l = &links[i];
		if (l->problem)
			continue;
		struct ends e = ends_of(a, l);
		uint64_t at[2];
		bool has_a = smap_get(ports, e.a, strlen(e.a), &at[0]),
		     has_b = l->b_device && smap_get(ports, e.b, strlen(e.b), &at[1]);
		if (has_a && same_link(&d->links[at[0]], e.a, e.b))
			continue;
		if (has_a || has_b) {
			bool both = l->b_device && l->confirmed;
			if (l->anonymous)
				continue;
			if (!both &&
				!heard_again(d, arena_printf(a, "%s %s", e.a, e.b),
					l->a_said ? l->a_device : l->b_device))
				continue;
			if (has_a)
				gone[at[0]] = true;
			if (has_b)
				gone[at[1]] = true;
		}
		add[n_add++] = e;
	}
	for (size_t i = n_before; i-- > 0;) {
		if (gone[i]) {
			forget(d, i); /* the last one takes its place: it was looked at already */
			changed = true;
		}
	}
	for (size_t i = 0; i < n_add; i++)
		believe(d, add[i].a, add[i].b);
	links_sort(d);
	candidates_sweep(d);
	smap_free(ports);
	return changed || n_add > 0;
}

/* ---- what is told -------------------------------------------------------- */

static void tell_peer(struct discovery *d, struct smap *round, const char *device, const char *port,
	const char *peer_device, const char *peer_port)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t hash = mix(mix(0, peer_device), peer_port), known;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, port);
	/* two neighbours on one port: the first one counts */
	if (smap_get(round, key.s, key.n, &known))
		return;
	smap_put(round, key.s, key.n, 1);
	if (smap_get(d->peers, key.s, key.n, &known) && known == hash)
		return;
	smap_put(d->peers, key.s, key.n, hash);
	d->events.peer(d->events.arg, device, port, peer_device, peer_port);
}

static void tell_peers(
	struct discovery *d, struct arena *a, const struct topology_link *links, size_t n)
{
	struct smap *round = smap_new();
	for (size_t i = 0; i < 2 * n; i++) {
		const struct topology_link *l = &links[i % n];
		/* What stands undisputed first: an old neighbour may be remembered for minutes
		 * beside the new one. A MAC address says less than any name known for the port. */
		if (l->anonymous || !l->problem != (i < n))
			continue;
		if (l->a_said && l->b_device)
			tell_peer(d, round, l->a_device, l->a_port, l->b_device, l->b_port);
		if (l->a_said && !l->b_device)
			tell_peer(d, round, l->a_device, l->a_port,
				arena_printf(a, "host:%s", l->host), l->nic);
		if (l->b_said)
			tell_peer(d, round, l->b_device, l->b_port, l->a_device, l->a_port);
	}
	smap_free(round);
}

static void dispute(struct discovery *d, const char *device, const char *what)
{
	for (size_t i = 0; i < d->n_disputes; i++) {
		if (strcmp(d->disputes[i].text, what) == 0) {
			d->disputes[i].seen = true;
			return;
		}
	}
	rw_grow(d->disputes, d->n_disputes, d->cap_disputes);
	d->disputes[d->n_disputes++] = (struct dispute){
		.device = rw_strdup(device), .text = rw_strdup(what), .seen = true};
	d->events.dispute(d->events.arg, device, what, false);
}

static void disputes_sweep(struct discovery *d)
{
	size_t n = 0;
	for (size_t i = 0; i < d->n_disputes; i++) {
		struct dispute *x = &d->disputes[i];
		if (x->seen) {
			x->seen = false;
			d->disputes[n++] = *x;
			continue;
		}
		d->events.dispute(d->events.arg, x->device, x->text, true);
		free(x->device);
		free(x->text);
	}
	d->n_disputes = n;
}

/* Where @port of the declared fabric leads, as text; NULL when nothing is declared. A host's NIC is
 * not compared: people name rails. */
static const char *declared_end(struct arena *a, const struct fabric_port *p)
{
	if (!p || p->discovered || (!p->peer && !p->host))
		return NULL;
	return p->peer ? arena_printf(a, "%s:%s", p->peer->device->name, p->peer->name)
		       : arena_printf(a, "host:%s", p->host);
}

static void hold_against(struct discovery *d, struct arena *a, const struct config *c,
	const char *device, const char *port, const char *heard)
{
	const struct fabric_device *dev = fabric_device(c->fabric, device);
	const char *declared = declared_end(a, dev ? fabric_port(dev, port) : NULL);
	if (declared && strcmp(declared, heard) != 0)
		dispute(d, device,
			arena_printf(a, "%s:%s is declared to lead to %s, but hears %s", device,
				port, declared, heard));
}

static void tell_disputes(struct discovery *d, struct arena *a, const struct config *c,
	const struct topology_link *links, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct topology_link *l = &links[i];
		if (l->problem)
			dispute(d, l->a_device,
				arena_printf(a, "%s:%s to %s%s%s: %s", l->a_device, l->a_port,
					l->b_device ? l->b_device : "host:", l->b_device ? ":" : "",
					l->b_device ? l->b_port : l->host, l->problem));
		if (l->anonymous)
			continue; /* a MAC address is no contradiction to a declared name */
		if (l->a_said)
			hold_against(d, a, c, l->a_device, l->a_port,
				l->b_device ? arena_printf(a, "%s:%s", l->b_device, l->b_port)
					    : arena_printf(a, "host:%s", l->host));
		if (l->b_said)
			hold_against(d, a, c, l->b_device, l->b_port,
				arena_printf(a, "%s:%s", l->a_device, l->a_port));
	}
	disputes_sweep(d);
}

/* ---- evaluation ---------------------------------------------------------- */

static bool all_answered(const struct discovery *d, const struct config *c, mono_t now)
{
	int64_t slow_ns = 0;
	bool all = true;
	for (size_t i = 0; i < c->n_devices; i++) {
		const struct config_device *x = &c->devices[i];
		uint64_t at;
		if (!x->snmp && !x->gnmi)
			continue;
		const int64_t ns = x->snmp ? x->snmp->slow_interval_ns : x->gnmi->slow_interval_ns;
		slow_ns = ns > slow_ns ? ns : slow_ns;
		bool answered = smap_get(d->by_name, x->name, strlen(x->name), &at);
		all = all && (answered || !d->events.waits(d->events.arg, x->name));
	}
	return all || now.ns - d->began.ns >= SLOW_POLLS * slow_ns;
}

static bool evaluate(struct discovery *d, const struct config *c)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topology_device *devices = arena_array(a, struct topology_device, c->n_devices + 1);
	struct topology_link *links;
	size_t n_heard = 0, n = 0;
	for (size_t i = 0; i < d->n_reports; i++)
		n_heard += d->reports[i].n;
	struct topology_neighbor *heard = arena_array(a, struct topology_neighbor, n_heard + 1);
	n_heard = 0;
	for (size_t i = 0; i < c->n_devices; i++) {
		const char *name = c->devices[i].name;
		uint64_t at;
		devices[i] = (struct topology_device){.name = name, .sysname = "", .chassis = ""};
		if (!smap_get(d->by_name, name, strlen(name), &at))
			continue;
		const struct report *r = &d->reports[at];
		devices[i] = r->self;
		memcpy(heard + n_heard, r->heard, r->n * sizeof(*heard));
		n_heard += r->n;
	}
	n = topology_links(a, devices, c->n_devices, heard, n_heard, &links);
	tell_peers(d, a, links, n);
	tell_disputes(d, a, c, links, n);
	return merge(d, a, links, n);
}

bool discovery_settle(struct discovery *d, const struct config *c, mono_t now)
{
	d->ready = d->ready || all_answered(d, c, now);
	if (!d->ready || !d->dirty)
		return false;
	if (now.ns - d->changed.ns < QUIET_NS && now.ns - d->first_changed.ns < PATIENCE_NS)
		return false;
	d->dirty = false;
	return evaluate(d, c);
}
