/* discovery - compares the neighbors that devices report, decides which links to believe, and
 * publishes peers and contradictions. Owns the last report of each device. */
#include "agent/sources/discovery.h"

#include "config/address.h"

#define QUIET_NS (2 * NS_PER_S)
/* Neighbors that come and go all the time must not put an evaluation off for ever. */
#define PATIENCE_NS (15 * NS_PER_S)
#define SLOW_POLLS 3 /* after so many a silent device is not waited for any longer */
#define REPORTS_TO_REPLACE 2 /* of one device, for a link that the other end does not confirm */

struct lldp_report { /* the newest of one device */
	char *name;
	struct arena *arena; /* of what follows */
	struct topology_device self;
	struct topology_neighbor *neighbors;
	size_t n;
	uint64_t digest; /* 0 = none came yet */
	uint32_t count;
};

struct believed {
	char *a, *b;
};

struct candidate { /* a link that only one end reports and that would replace another */
	char *key;
	char *device; /* the one that reports it */
	uint32_t since; /* report count of .device when it began */
	bool seen; /* in this evaluation */
};

struct dispute {
	char *device, *text;
	bool seen;
};

struct discovery {
	struct discovery_events events;
	struct lldp_report *reports;
	size_t n_reports, cap_reports;
	struct smap *by_name;
	struct believed *links;
	size_t n_links, cap_links;
	struct config_link *lent;
	struct candidate *candidates;
	size_t n_candidates, cap_candidates;
	struct dispute *disputes;
	size_t n_disputes, cap_disputes;
	struct smap *peers; /* "device\0port" -> hash of the peer published */
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

/* ---- reports ------------------------------------------------------------- */

static uint64_t discovery_mix(uint64_t hash, const char *text)
{
	text = str_or(text, "");
	return hash_bytes(text, strlen(text) + 1, hash);
}

/* Everything that decides which links follow; speeds and counters of ports do not. Never 0. */
static uint64_t discovery_digest(
	const struct topology_device *self, const struct topology_neighbor *neighbors, size_t n)
{
	uint64_t hash = discovery_mix(0, self->sysname);
	hash = discovery_mix(hash, self->chassis);
	for (size_t i = 0; i < self->n_ports; i++) {
		const struct topology_port *port = &self->ports[i];
		hash = discovery_mix(hash, port->name);
		hash = discovery_mix(hash, port->alias);
		hash = discovery_mix(hash, port->descr);
		hash = discovery_mix(hash, port->mac) + port->ifindex + port->outside;
	}
	for (size_t i = 0; i < n; i++) {
		const struct topology_neighbor *neighbor = &neighbors[i];
		hash = discovery_mix(hash, neighbor->port);
		hash = discovery_mix(hash, neighbor->sysname);
		hash = discovery_mix(hash, neighbor->chassis);
		hash = discovery_mix(hash, neighbor->port_id);
		hash = discovery_mix(hash, neighbor->port_descr) + (uint64_t)neighbor->port_subtype;
		hash += (uint64_t)neighbor->kind << 8;
	}
	if (hash == 0)
		return 1;
	return hash;
}

static struct lldp_report *discovery_report_of(struct discovery *discovery, const char *name)
{
	uint64_t at;
	if (smap_get(discovery->by_name, name, strlen(name), &at))
		return &discovery->reports[at];
	smap_put(discovery->by_name, name, strlen(name), discovery->n_reports);
	rw_grow(discovery->reports, discovery->n_reports, discovery->cap_reports);
	discovery->reports[discovery->n_reports] =
		(struct lldp_report){.name = rw_strdup(name), .arena = arena_new()};
	return &discovery->reports[discovery->n_reports++];
}

static const char *discovery_text(struct arena *a, const char *text)
{
	return arena_strdup(a, str_or(text, ""));
}

static void discovery_fill(struct lldp_report *report, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n)
{
	struct arena *a = report->arena;
	arena_reset(a);
	report->self = (struct topology_device){.name = report->name,
		.sysname = discovery_text(a, self->sysname),
		.chassis = discovery_text(a, self->chassis),
		.n_ports = self->n_ports};
	report->self.ports = arena_array(a, struct topology_port, self->n_ports + 1);
	for (size_t i = 0; i < self->n_ports; i++) {
		struct topology_port *port = &report->self.ports[i];
		*port = self->ports[i];
		port->name = discovery_text(a, port->name);
		port->alias = discovery_text(a, port->alias);
		port->descr = discovery_text(a, port->descr);
		port->mac = discovery_text(a, port->mac);
	}
	report->neighbors = arena_array(a, struct topology_neighbor, n + 1);
	report->n = n;
	for (size_t i = 0; i < n; i++)
		report->neighbors[i] = (struct topology_neighbor){.device = report->name,
			.port = discovery_text(a, neighbors[i].port),
			.sysname = discovery_text(a, neighbors[i].sysname),
			.chassis_subtype = neighbors[i].chassis_subtype,
			.port_subtype = neighbors[i].port_subtype,
			.chassis = discovery_text(a, neighbors[i].chassis),
			.port_id = discovery_text(a, neighbors[i].port_id),
			.port_descr = discovery_text(a, neighbors[i].port_descr),
			.kind = neighbors[i].kind};
}

void discovery_reconsider(struct discovery *discovery)
{
	discovery->dirty = true;
	discovery->changed = discovery->first_changed = (mono_t){0};
}

/* Does a candidate link wait for the next report of @device? */
static bool discovery_awaited(const struct discovery *discovery, const char *device)
{
	for (size_t i = 0; i < discovery->n_candidates; i++)
		if (str_eq(discovery->candidates[i].device, device))
			return true;
	return false;
}

void discovery_report(struct discovery *discovery, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n, mono_t now)
{
	struct lldp_report *report = discovery_report_of(discovery, self->name);
	const uint64_t digest = discovery_digest(self, neighbors, n);
	const bool changed = digest != report->digest;
	report->count++;
	if (changed)
		discovery_fill(report, self, neighbors, n);
	report->digest = digest;
	if (!changed && !discovery_awaited(discovery, report->name))
		return;
	if (!discovery->dirty)
		discovery->first_changed = now;
	discovery->dirty = true;
	discovery->changed = now;
}

/* ---- believed links ------------------------------------------------------ */

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

/* believed_index - every port of a believed link -> the link. */
static struct smap *believed_index(const struct discovery *discovery)
{
	struct smap *m = smap_new();
	for (size_t i = 0; i < discovery->n_links; i++) {
		smap_put(m, discovery->links[i].a, strlen(discovery->links[i].a), i);
		if (!endpoint_kind(discovery->links[i].b, NULL))
			smap_put(m, discovery->links[i].b, strlen(discovery->links[i].b), i);
	}
	return m;
}

/* A link that only @device reports: is this at least its second report of it? */
static bool discovery_repeated(struct discovery *discovery, const char *key, const char *device)
{
	const struct lldp_report *r = discovery_report_of(discovery, device);
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

struct link_text { /* the ends of a link, as in a configuration */
	const char *a, *b;
};

static struct link_text discovery_link_text(struct arena *a, const struct topology_link *link)
{
	struct link_text e = {.a = arena_printf(a, "%s:%s", link->a_device, link->a_port)};
	if (link->b_device)
		e.b = arena_printf(a, "%s:%s", link->b_device, link->b_port);
	else
		e.b = arena_printf(a, "%s%s%s", topology_link_peer(a, link),
			str_if(*link->nic, ":"), link->nic);
	return e;
}

/* One evaluation of the reported links against the believed ones. */
struct merge {
	struct discovery *discovery;
	struct arena *a;
	struct smap *ports; /* every port of a believed link -> the link */
	bool *gone; /* by believed link: another one takes its place */
	struct link_text *added;
	size_t n_added;
};

/*
 * 1. Both ends free: believe the link.
 * 2. It is believed already: nothing to do.
 * 3. It would replace another link: only if its neighbor has a name, and both ends report it or one
 *    end reported it twice.
 */
static void discovery_merge_link(struct merge *merge, const struct topology_link *link)
{
	const struct discovery *discovery = merge->discovery;
	const struct link_text text = discovery_link_text(merge->a, link);
	uint64_t at_a, at_b = 0;
	const bool has_a = smap_get(merge->ports, text.a, strlen(text.a), &at_a);
	const bool has_b = link->b_device && smap_get(merge->ports, text.b, strlen(text.b), &at_b);
	if (has_a && discovery_same_link(&discovery->links[at_a], text.a, text.b))
		return;
	if (has_a || has_b) {
		if (link->anonymous)
			return;
		const char *reporter = link->b_device;
		if (link->a_said)
			reporter = link->a_device;
		const bool both = link->b_device && link->confirmed;
		const char *key = arena_printf(merge->a, "%s %s", text.a, text.b);
		if (!both && !discovery_repeated(merge->discovery, key, reporter))
			return;
	}
	if (has_a)
		merge->gone[at_a] = true;
	if (has_b)
		merge->gone[at_b] = true;
	merge->added[merge->n_added++] = text;
}

/* It was believed before the configuration or the profile left its port out. */
static void discovery_merge_outside(struct merge *merge, const struct topology_link *link)
{
	const struct link_text text = discovery_link_text(merge->a, link);
	uint64_t at;
	if (smap_get(merge->ports, text.a, strlen(text.a), &at) &&
		discovery_same_link(&merge->discovery->links[at], text.a, text.b))
		merge->gone[at] = true;
}

/* True when other links are believed than before. */
static bool discovery_merge(
	struct discovery *discovery, struct arena *a, const struct topology_link *links, size_t n)
{
	const size_t n_before = discovery->n_links;
	struct merge merge = {.discovery = discovery,
		.a = a,
		.ports = believed_index(discovery),
		.gone = arena_array(a, bool, n_before + 1),
		.added = arena_array(a, struct link_text, n + 1)};
	for (size_t i = 0; i < n; i++) {
		if (links[i].outside)
			discovery_merge_outside(&merge, &links[i]);
		else if (!links[i].problem)
			discovery_merge_link(&merge, &links[i]);
	}
	bool changed = merge.n_added > 0;
	/* From the end: the link that takes the place of a forgotten one has been looked at. */
	for (size_t i = n_before; i-- > 0;) {
		if (!merge.gone[i])
			continue;
		discovery_forget(discovery, i);
		changed = true;
	}
	for (size_t i = 0; i < merge.n_added; i++)
		discovery_believe(discovery, merge.added[i].a, merge.added[i].b);
	links_sort(discovery);
	candidates_sweep(discovery);
	smap_free(merge.ports);
	return changed;
}

/* ---- peers and contradictions -------------------------------------------- */

static void discovery_publish_peer(struct discovery *discovery, struct smap *round,
	const char *device, const char *port, const char *peer_device, const char *peer_port)
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

static void discovery_publish_link(struct discovery *discovery, struct arena *a, struct smap *round,
	const struct topology_link *link)
{
	if (link->a_said && link->b_device)
		discovery_publish_peer(discovery, round, link->a_device, link->a_port,
			link->b_device, link->b_port);
	else if (link->a_said)
		discovery_publish_peer(discovery, round, link->a_device, link->a_port,
			topology_link_peer(a, link), link->nic);
	if (link->b_said)
		discovery_publish_peer(discovery, round, link->b_device, link->b_port,
			link->a_device, link->a_port);
}

/* Links without a problem first: an old neighbor may be remembered for minutes beside the new one,
 * and only the first peer of a port counts. A MAC address says less than any name of the port. */
static void discovery_publish_peers(
	struct discovery *discovery, struct arena *a, const struct topology_link *links, size_t n)
{
	struct smap *round = smap_new();
	for (int disputed = 0; disputed < 2; disputed++)
		for (size_t i = 0; i < n; i++) {
			const bool has_problem = links[i].problem != NULL;
			const bool hidden = links[i].anonymous || links[i].outside;
			if (!hidden && has_problem == (disputed == 1))
				discovery_publish_link(discovery, a, round, &links[i]);
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
 * not compared: NIC names in the configuration are labels such as rails, not what LLDP says. */
static const char *declared_end(struct arena *a, const struct fabric_port *port)
{
	if (!port || port->discovered)
		return NULL;
	if (port->peer)
		return arena_printf(a, "%s:%s", port->peer->device->name, port->peer->name);
	if (port->host)
		return arena_printf(a, "host:%s", port->host);
	if (port->outsider)
		return arena_printf(
			a, "%s:%s", neighbor_kind_word(port->outsider_kind), port->outsider);
	return NULL;
}

/* Two ends outside the configuration: what is declared to be a host need not look like one. */
static bool same_outside(const char *declared, const char *reported)
{
	return endpoint_kind(declared, NULL) && endpoint_kind(reported, NULL) &&
		str_eq(strchr(declared, ':'), strchr(reported, ':'));
}

/* @reported is what the port's LLDP neighbor says; a host without its NIC. */
static void discovery_compare_declared(struct discovery *discovery, struct arena *a,
	const struct config *config, const char *device, const char *port, const char *reported)
{
	const struct fabric_device *known = fabric_device(config->fabric, device);
	if (!known)
		return;
	const char *declared = declared_end(a, fabric_port(known, port));
	if (declared && strcmp(declared, reported) != 0 && !same_outside(declared, reported))
		discovery_object(discovery, device,
			arena_printf(a, "%s:%s is declared to lead to %s, but hears %s", device,
				port, declared, reported));
}

static void discovery_check_link(struct discovery *discovery, struct arena *a,
	const struct config *config, const struct topology_link *link)
{
	const char *other = topology_link_peer(a, link);
	if (link->b_device)
		other = arena_printf(a, "%s:%s", link->b_device, link->b_port);
	if (link->outside)
		return;
	if (link->problem)
		discovery_object(discovery, link->a_device,
			arena_printf(a, "%s:%s to %s: %s", link->a_device, link->a_port, other,
				link->problem));
	if (link->anonymous)
		return; /* a MAC address does not contradict a declared name */
	if (link->a_said)
		discovery_compare_declared(
			discovery, a, config, link->a_device, link->a_port, other);
	if (link->b_said)
		discovery_compare_declared(discovery, a, config, link->b_device, link->b_port,
			arena_printf(a, "%s:%s", link->a_device, link->a_port));
}

/* ---- evaluation ---------------------------------------------------------- */

static int64_t discovery_slow_interval(const struct config *config)
{
	int64_t slow_ns = 0;
	for (size_t i = 0; i < config->n_devices; i++) {
		const int64_t own_ns = config_device_slow_interval(&config->devices[i]);
		if (own_ns > slow_ns)
			slow_ns = own_ns;
	}
	return slow_ns;
}

/* Every polled device has reported, is down, or was waited for long enough. */
static bool discovery_complete(
	const struct discovery *discovery, const struct config *config, mono_t now)
{
	const int64_t patience_ns = SLOW_POLLS * discovery_slow_interval(config);
	if (now.ns - discovery->began.ns >= patience_ns)
		return true;
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		uint64_t at;
		if (!config_device_polled(device))
			continue;
		if (smap_get(discovery->by_name, device->name, strlen(device->name), &at))
			continue;
		if (discovery->events.waits(discovery->events.arg, device->name))
			return false;
	}
	return true;
}

static bool discovery_evaluate(struct discovery *discovery, const struct config *config)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n_neighbors = 0;
	for (size_t i = 0; i < discovery->n_reports; i++)
		n_neighbors += discovery->reports[i].n;
	struct topology_neighbor *neighbors =
		arena_array(a, struct topology_neighbor, n_neighbors + 1);
	struct topology_device *devices =
		arena_array(a, struct topology_device, config->n_devices + 1);
	n_neighbors = 0;
	for (size_t i = 0; i < config->n_devices; i++) {
		const char *name = config->devices[i].name;
		uint64_t at;
		devices[i] = (struct topology_device){.name = name, .sysname = "", .chassis = ""};
		if (!smap_get(discovery->by_name, name, strlen(name), &at))
			continue;
		const struct lldp_report *report = &discovery->reports[at];
		devices[i] = config_fabric_ports(a, &config->devices[i], &report->self);
		memcpy(neighbors + n_neighbors, report->neighbors, report->n * sizeof(*neighbors));
		n_neighbors += report->n;
	}
	struct topology_link *links;
	const size_t n =
		topology_links(a, devices, config->n_devices, neighbors, n_neighbors, &links);
	discovery_publish_peers(discovery, a, links, n);
	for (size_t i = 0; i < n; i++)
		discovery_check_link(discovery, a, config, &links[i]);
	disputes_sweep(discovery);
	return discovery_merge(discovery, a, links, n);
}

bool discovery_settle(struct discovery *discovery, const struct config *config, mono_t now)
{
	if (!discovery->ready)
		discovery->ready = discovery_complete(discovery, config, now);
	if (!discovery->ready || !discovery->dirty)
		return false;
	const bool quiet = now.ns - discovery->changed.ns >= QUIET_NS;
	const bool waited = now.ns - discovery->first_changed.ns >= PATIENCE_NS;
	if (!quiet && !waited)
		return false;
	discovery->dirty = false;
	return discovery_evaluate(discovery, config);
}
