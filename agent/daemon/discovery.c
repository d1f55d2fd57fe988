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

static void links_clear(struct discovery *discovery)
{
	for (size_t i = 0; i < discovery->n_links; i++) {
		free(discovery->links[i].a);
		free(discovery->links[i].b);
	}
	discovery->n_links = 0;
}

void discovery_free(struct discovery *discovery)
{
	if (!discovery)
		return;
	for (size_t i = 0; i < discovery->n_reports; i++) {
		free(discovery->reports[i].name);
		arena_free(discovery->reports[i].arena);
	}
	for (size_t i = 0; i < discovery->n_candidates; i++) {
		free(discovery->candidates[i].key);
		free(discovery->candidates[i].device);
	}
	for (size_t i = 0; i < discovery->n_disputes; i++) {
		free(discovery->disputes[i].device);
		free(discovery->disputes[i].text);
	}
	links_clear(discovery);
	free(discovery->reports);
	free(discovery->links);
	free(discovery->lent);
	free(discovery->candidates);
	free(discovery->disputes);
	smap_free(discovery->by_name);
	smap_free(discovery->peers);
	free(discovery);
}

/* ---- what is heard ------------------------------------------------------- */

static uint64_t discovery_mix(uint64_t hash, const char *text)
{
	return hash_bytes(str_or(text, ""), text ? strlen(text) + 1 : 1, hash);
}

/* Everything that decides which links follow; speeds and counters of ports do not. */
static uint64_t digest_of(
	const struct topology_device *self, const struct topology_neighbor *heard, size_t n)
{
	uint64_t h = discovery_mix(discovery_mix(0, self->sysname), self->chassis);
	for (size_t i = 0; i < self->n_ports; i++) {
		const struct topology_port *p = &self->ports[i];
		h = discovery_mix(discovery_mix(discovery_mix(discovery_mix(h, p->name), p->alias),
					  p->descr),
			    p->mac) +
			p->ifindex;
	}
	for (size_t i = 0; i < n; i++) {
		const struct topology_neighbor *x = &heard[i];
		h = discovery_mix(
			    discovery_mix(discovery_mix(discovery_mix(discovery_mix(h, x->port),
								x->sysname),
						  x->chassis),
				    x->port_id),
			    x->port_descr) +
			(uint64_t)x->port_subtype;
	}
	/* 0 = nothing said yet */
	if (h)
		return h;
	return 1;
}

static struct report *discovery_report_of(struct discovery *discovery, const char *name)
{
	uint64_t at;
	if (smap_get(discovery->by_name, name, strlen(name), &at))
		return &discovery->reports[at];
	smap_put(discovery->by_name, name, strlen(name), discovery->n_reports);
	rw_grow(discovery->reports, discovery->n_reports, discovery->cap_reports);
	discovery->reports[discovery->n_reports] =
		(struct report){.name = rw_strdup(name), .arena = arena_new()};
	return &discovery->reports[discovery->n_reports++];
}

static const char *discovery_text(struct arena *a, const char *text)
{
	return arena_strdup(a, str_or(text, ""));
}

static void report_fill(struct report *report, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct arena *a = report->arena;
	arena_reset(a);
	report->self = (struct topology_device){.name = report->name,
		.sysname = discovery_text(a, self->sysname),
		.chassis = discovery_text(a, self->chassis),
		.n_ports = self->n_ports};
	report->self.ports = arena_array(a, struct topology_port, self->n_ports + 1);
	for (size_t i = 0; i < self->n_ports; i++) {
		const struct topology_port *p = &self->ports[i];
		report->self.ports[i] = *p;
		report->self.ports[i].name = discovery_text(a, p->name);
		report->self.ports[i].alias = discovery_text(a, p->alias);
		report->self.ports[i].descr = discovery_text(a, p->descr);
		report->self.ports[i].mac = discovery_text(a, p->mac);
	}
	report->heard = arena_array(a, struct topology_neighbor, n + 1);
	report->n = n;
	for (size_t i = 0; i < n; i++)
		report->heard[i] = (struct topology_neighbor){.device = report->name,
			.port = discovery_text(a, heard[i].port),
			.sysname = discovery_text(a, heard[i].sysname),
			.chassis_subtype = heard[i].chassis_subtype,
			.port_subtype = heard[i].port_subtype,
			.chassis = discovery_text(a, heard[i].chassis),
			.port_id = discovery_text(a, heard[i].port_id),
			.port_descr = discovery_text(a, heard[i].port_descr)};
}

void discovery_reconsider(struct discovery *discovery)
{
	discovery->dirty = true;
	discovery->changed = discovery->first_changed = (mono_t){0};
}

void discovery_hear(struct discovery *discovery, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n, mono_t now)
{
	struct report *r = discovery_report_of(discovery, self->name);
	uint64_t digest = digest_of(self, heard, n);
	bool pending = false;
	r->count++;
	for (size_t i = 0; i < discovery->n_candidates; i++)
		pending = pending || str_eq(discovery->candidates[i].device, r->name);
	if (digest == r->digest && !pending)
		return;
	if (digest != r->digest)
		report_fill(r, self, heard, n);
	r->digest = digest;
	if (!discovery->dirty)
		discovery->first_changed = now;
	discovery->dirty = true;
	discovery->changed = now;
}

/* ---- what is believed ---------------------------------------------------- */

static void discovery_believe(struct discovery *discovery, const char *left, const char *right)
{
	rw_grow(discovery->links, discovery->n_links, discovery->cap_links);
	discovery->links[discovery->n_links++] =
		(struct believed){rw_strdup(left), rw_strdup(right)};
}

static void discovery_forget(struct discovery *discovery, size_t i)
{
	free(discovery->links[i].a);
	free(discovery->links[i].b);
	discovery->links[i] = discovery->links[--discovery->n_links];
}

static bool discovery_same_link(
	const struct believed *believed, const char *left, const char *right)
{
	return (strcmp(believed->a, left) == 0 && strcmp(believed->b, right) == 0) ||
		(strcmp(believed->a, right) == 0 && strcmp(believed->b, left) == 0);
}

static int link_order(const void *left, const void *right)
{
	const struct believed *x = left, *y = right;
	int c = name_compare(x->a, y->a);
	if (c)
		return c;
	return name_compare(x->b, y->b);
}

static void links_sort(struct discovery *discovery)
{
	if (discovery->n_links > 1)
		qsort(discovery->links, discovery->n_links, sizeof(*discovery->links), link_order);
}

void discovery_know(struct discovery *discovery, const struct config_link *links, size_t n)
{
	links_clear(discovery);
	for (size_t i = 0; i < n; i++)
		discovery_believe(discovery, links[i].a, links[i].b);
	links_sort(discovery);
}

size_t discovery_links(const struct discovery *discovery, const struct config_link **ret)
{
	struct discovery *own = (struct discovery *)discovery; /* only the lent copy changes */
	own->lent = rw_realloc(own->lent, (discovery->n_links + 1) * sizeof(*own->lent));
	for (size_t i = 0; i < discovery->n_links; i++)
		own->lent[i] = (struct config_link){discovery->links[i].a, discovery->links[i].b};
	*ret = own->lent;
	return discovery->n_links;
}

static bool is_host(const char *end)
{
	return strncmp(end, "host:", 5) == 0;
}

/* believed_index - every port of a believed link -> the link. */
static struct smap *believed_index(const struct discovery *discovery)
{
	struct smap *m = smap_new();
	for (size_t i = 0; i < discovery->n_links; i++) {
		smap_put(m, discovery->links[i].a, strlen(discovery->links[i].a), i);
		if (!is_host(discovery->links[i].b))
			smap_put(m, discovery->links[i].b, strlen(discovery->links[i].b), i);
	}
	return m;
}

/* Heard on one voice: is this at least its second report? */
static bool heard_again(struct discovery *discovery, const char *key, const char *device)
{
	const struct report *r = discovery_report_of(discovery, device);
	for (size_t i = 0; i < discovery->n_candidates; i++) {
		struct candidate *c = &discovery->candidates[i];
		if (strcmp(c->key, key) != 0)
			continue;
		c->seen = true;
		return r->count - c->since + 1 >= REPORTS_TO_REPLACE;
	}
	rw_grow(discovery->candidates, discovery->n_candidates, discovery->cap_candidates);
	discovery->candidates[discovery->n_candidates++] = (struct candidate){.key = rw_strdup(key),
		.device = rw_strdup(device),
		.since = r->count,
		.seen = true};
	return false;
}

static void candidates_sweep(struct discovery *discovery)
{
	size_t n = 0;
	for (size_t i = 0; i < discovery->n_candidates; i++) {
		struct candidate *c = &discovery->candidates[i];
		if (c->seen) {
			c->seen = false;
			discovery->candidates[n++] = *c;
			continue;
		}
		free(c->key);
		free(c->device);
	}
	discovery->n_candidates = n;
}

struct ends { /* of a heard link, as text */
	const char *a, *b;
};

static struct ends ends_of(struct arena *a, const struct topology_link *link)
{
	struct ends e = {.a = arena_printf(a, "%s:%s", link->a_device, link->a_port)};
	if (link->b_device)
		e.b = arena_printf(a, "%s:%s", link->b_device, link->b_port);
	else
		e.b = arena_printf(
			a, "host:%s%s%s", link->host, str_if(*link->nic, ":"), link->nic);
	return e;
}

/* Takes in what is heard; true when the beliefs changed. */
static bool discovery_merge(
	struct discovery *discovery, struct arena *a, const struct topology_link *links, size_t n)
{
	struct smap *ports = believed_index(discovery);
	bool *gone = arena_array(a, bool, discovery->n_links + 1);
	struct ends *add = arena_array(a, struct ends, n + 1);
	size_t n_add = 0, n_before = discovery->n_links;
	bool changed = false;
	for (size_t i = 0; i < n; i++) {
		const struct topology_link *l = &links[i];
		if (l->problem)
			continue;
		struct ends e = ends_of(a, l);
		uint64_t at[2];
		bool has_a = smap_get(ports, e.a, strlen(e.a), &at[0]),
		     has_b = l->b_device && smap_get(ports, e.b, strlen(e.b), &at[1]);
		if (has_a && discovery_same_link(&discovery->links[at[0]], e.a, e.b))
			continue;
		if (has_a || has_b) {
			bool both = l->b_device && l->confirmed;
			if (l->anonymous)
				continue;
			if (!both &&
				!heard_again(discovery, arena_printf(a, "%s %s", e.a, e.b),
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
			discovery_forget(discovery,
				i); /* the last one takes its place: it was looked at already */
			changed = true;
		}
	}
	for (size_t i = 0; i < n_add; i++)
		discovery_believe(discovery, add[i].a, add[i].b);
	links_sort(discovery);
	candidates_sweep(discovery);
	smap_free(ports);
	return changed || n_add > 0;
}

/* ---- what is told -------------------------------------------------------- */

static void tell_peer(struct discovery *discovery, struct smap *round, const char *device,
	const char *port, const char *peer_device, const char *peer_port)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t hash = discovery_mix(discovery_mix(0, peer_device), peer_port), known;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, port);
	/* two neighbours on one port: the first one counts */
	if (smap_get(round, key.s, key.n, &known))
		return;
	smap_put(round, key.s, key.n, 1);
	if (smap_get(discovery->peers, key.s, key.n, &known) && known == hash)
		return;
	smap_put(discovery->peers, key.s, key.n, hash);
	discovery->events.peer(discovery->events.arg, device, port, peer_device, peer_port);
}

static void tell_peers(
	struct discovery *discovery, struct arena *a, const struct topology_link *links, size_t n)
{
	struct smap *round = smap_new();
	for (size_t i = 0; i < 2 * n; i++) {
		const struct topology_link *l = &links[i % n];
		/* What stands undisputed first: an old neighbour may be remembered for minutes
		 * beside the new one. A MAC address says less than any name known for the port. */
		if (l->anonymous || !l->problem != (i < n))
			continue;
		if (l->a_said && l->b_device)
			tell_peer(discovery, round, l->a_device, l->a_port, l->b_device, l->b_port);
		if (l->a_said && !l->b_device)
			tell_peer(discovery, round, l->a_device, l->a_port,
				arena_printf(a, "host:%s", l->host), l->nic);
		if (l->b_said)
			tell_peer(discovery, round, l->b_device, l->b_port, l->a_device, l->a_port);
	}
	smap_free(round);
}

static void discovery_object(struct discovery *discovery, const char *device, const char *what)
{
	for (size_t i = 0; i < discovery->n_disputes; i++) {
		if (strcmp(discovery->disputes[i].text, what) == 0) {
			discovery->disputes[i].seen = true;
			return;
		}
	}
	rw_grow(discovery->disputes, discovery->n_disputes, discovery->cap_disputes);
	discovery->disputes[discovery->n_disputes++] = (struct dispute){
		.device = rw_strdup(device), .text = rw_strdup(what), .seen = true};
	discovery->events.dispute(discovery->events.arg, device, what, false);
}

static void disputes_sweep(struct discovery *discovery)
{
	size_t n = 0;
	for (size_t i = 0; i < discovery->n_disputes; i++) {
		struct dispute *x = &discovery->disputes[i];
		if (x->seen) {
			x->seen = false;
			discovery->disputes[n++] = *x;
			continue;
		}
		discovery->events.dispute(discovery->events.arg, x->device, x->text, true);
		free(x->device);
		free(x->text);
	}
	discovery->n_disputes = n;
}

/* Where @port of the declared fabric leads, as text; NULL when nothing is declared. A host's NIC is
 * not compared: people name rails. */
static const char *declared_end(struct arena *a, const struct fabric_port *port)
{
	if (!port || port->discovered || (!port->peer && !port->host))
		return NULL;
	if (port->peer)
		return arena_printf(a, "%s:%s", port->peer->device->name, port->peer->name);
	return arena_printf(a, "host:%s", port->host);
}

static void hold_against(struct discovery *discovery, struct arena *a, const struct config *config,
	const char *device, const char *port, const char *heard)
{
	const struct fabric_device *dev = fabric_device(config->fabric, device);
	const char *declared = declared_end(a, dev ? fabric_port(dev, port) : NULL);
	if (declared && strcmp(declared, heard) != 0)
		discovery_object(discovery, device,
			arena_printf(a, "%s:%s is declared to lead to %s, but hears %s", device,
				port, declared, heard));
}

static void tell_disputes(struct discovery *discovery, struct arena *a, const struct config *config,
	const struct topology_link *links, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct topology_link *l = &links[i];
		if (l->problem)
			discovery_object(discovery, l->a_device,
				arena_printf(a, "%s:%s to %s%s%s: %s", l->a_device, l->a_port,
					str_or(l->b_device, "host:"), str_if(l->b_device, ":"),
					l->b_device ? l->b_port : l->host, l->problem));
		if (l->anonymous)
			continue; /* a MAC address is no contradiction to a declared name */
		if (l->a_said)
			hold_against(discovery, a, config, l->a_device, l->a_port,
				l->b_device ? arena_printf(a, "%s:%s", l->b_device, l->b_port)
					    : arena_printf(a, "host:%s", l->host));
		if (l->b_said)
			hold_against(discovery, a, config, l->b_device, l->b_port,
				arena_printf(a, "%s:%s", l->a_device, l->a_port));
	}
	disputes_sweep(discovery);
}

/* ---- evaluation ---------------------------------------------------------- */

static bool all_answered(const struct discovery *discovery, const struct config *config, mono_t now)
{
	int64_t slow_ns = 0;
	bool all = true;
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *x = &config->devices[i];
		uint64_t at;
		if (!x->snmp && !x->gnmi)
			continue;
		int64_t ns;
		if (x->snmp)
			ns = x->snmp->slow_interval_ns;
		else
			ns = x->gnmi->slow_interval_ns;
		if (ns > slow_ns)
			slow_ns = ns;
		bool answered = smap_get(discovery->by_name, x->name, strlen(x->name), &at);
		all = all && (answered || !discovery->events.waits(discovery->events.arg, x->name));
	}
	return all || now.ns - discovery->began.ns >= SLOW_POLLS * slow_ns;
}

static bool discovery_evaluate(struct discovery *discovery, const struct config *config)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topology_device *devices =
		arena_array(a, struct topology_device, config->n_devices + 1);
	struct topology_link *links;
	size_t n_heard = 0, n = 0;
	for (size_t i = 0; i < discovery->n_reports; i++)
		n_heard += discovery->reports[i].n;
	struct topology_neighbor *heard = arena_array(a, struct topology_neighbor, n_heard + 1);
	n_heard = 0;
	for (size_t i = 0; i < config->n_devices; i++) {
		const char *name = config->devices[i].name;
		uint64_t at;
		devices[i] = (struct topology_device){.name = name, .sysname = "", .chassis = ""};
		if (!smap_get(discovery->by_name, name, strlen(name), &at))
			continue;
		const struct report *r = &discovery->reports[at];
		devices[i] = r->self;
		memcpy(heard + n_heard, r->heard, r->n * sizeof(*heard));
		n_heard += r->n;
	}
	n = topology_links(a, devices, config->n_devices, heard, n_heard, &links);
	tell_peers(discovery, a, links, n);
	tell_disputes(discovery, a, config, links, n);
	return discovery_merge(discovery, a, links, n);
}

bool discovery_settle(struct discovery *discovery, const struct config *config, mono_t now)
{
	discovery->ready = discovery->ready || all_answered(discovery, config, now);
	if (!discovery->ready || !discovery->dirty)
		return false;
	if (now.ns - discovery->changed.ns < QUIET_NS &&
		now.ns - discovery->first_changed.ns < PATIENCE_NS)
		return false;
	discovery->dirty = false;
	return discovery_evaluate(discovery, config);
}
