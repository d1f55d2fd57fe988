/* inventory - writes devices, ports, their peers, target states and events to the store as dated
 * attributes. */
#include "agent/judge/inventory.h"

#include "agent/judge/pipeline_state.h"
#include "base/bytes.h"
#include "db/store/store.h"

/* target_status - one row per (device, protocol), written to the store when it changes. The row of
 * a removed target stays unused: there are as many as targets ever configured. */

struct status_row {
	char *device, *protocol, *address;
	char reason[200];
	enum target_state state;
	bool written, dirty;
	int64_t written_ns;
	struct store_target t; /* pointers are set when it is written */
};

struct target_table {
	struct smap *index;
	struct status_row **rows;
	size_t n, cap;
	size_t n_dirty;
};

struct target_table *target_table_new(void)
{
	struct target_table *t = rw_calloc(1, sizeof(*t));
	t->index = smap_new();
	return t;
}

void target_table_free(struct target_table *table)
{
	if (!table)
		return;
	for (size_t k = 0; k < table->n; k++) {
		free(table->rows[k]->device);
		free(table->rows[k]->protocol);
		free(table->rows[k]->address);
		free(table->rows[k]);
	}
	free(table->rows);
	smap_free(table->index);
	free(table);
}

static struct status_row *target_status_row(
	struct target_table *table, const char *device, const char *protocol)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, protocol);
	if (smap_get(table->index, key.s, key.n, &at))
		return table->rows[at];
	struct status_row *r = rw_calloc(1, sizeof(*r));
	r->device = rw_strdup(device);
	r->protocol = rw_strdup(protocol);
	rw_grow(table->rows, table->n, table->cap);
	smap_put(table->index, key.s, key.n, table->n);
	table->rows[table->n++] = r;
	return r;
}

static void target_status_write(
	struct target_table *table, struct status_row *row, struct store *store, int64_t now_ns)
{
	row->t.device = row->device;
	row->t.protocol = row->protocol;
	row->t.address = str_or(row->address, "");
	row->t.state = target_state_name(row->state);
	row->t.reason = row->reason;
	row->t.up = row->state == TARGET_UP;
	row->t.now_ns = now_ns;
	store_target(store, &row->t);
	if (row->dirty)
		table->n_dirty--;
	row->dirty = false;
	row->written = true;
	row->written_ns = now_ns;
}

/* @target is copied. */
static void target_table_take(struct target_table *table, struct store *store,
	const struct target *target, int64_t now_ns)
{
	struct status_row *r = target_status_row(table, target->device, target->protocol);
	const bool other_state =
		r->state != target->state || strcmp(r->reason, target->reason) != 0;
	const bool changed = !r->written || other_state;
	if (!str_eq(r->address, target->address)) {
		free(r->address);
		r->address = NULL;
		if (target->address)
			r->address = rw_strdup(target->address);
	}
	r->state = target->state;
	snprintf(r->reason, sizeof(r->reason), "%s", target->reason);
	r->t.since_ns = target->since.ns;
	r->t.last_success_ns = target->last_success.ns;
	r->t.polls = target->polls;
	r->t.timeouts = target->timeouts;
	r->t.errors = target->errors;
	r->t.values = target->values;
	target_poll_quantiles(target, &r->t.poll_p50_s, &r->t.poll_p95_s);
	if (changed) {
		target_status_write(table, r, store, now_ns);
	} else if (!r->dirty) {
		r->dirty = true;
		table->n_dirty++;
	}
}

void target_table_flush(struct target_table *table, struct store *store, int64_t now_ns)
{
	if (table->n_dirty == 0)
		return;
	for (size_t k = 0; k < table->n; k++) {
		struct status_row *r = table->rows[k];
		const int64_t age_ns = now_ns - r->written_ns;
		/* age below 0: the wall clock was set back, which must not silence a target */
		if (r->dirty && (age_ns >= NS_PER_S || age_ns < 0))
			target_status_write(table, r, store, now_ns);
	}
}

void inventory_target(void *arg, const struct target *target)
{
	struct pipeline *p = arg;
	if (p->store)
		target_table_take(p->targets, p->store, target, p->now_ns);
}

void inventory_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct pipeline *p = arg;
	if (!p->store)
		return;
	struct store_device row = {.name = device,
		.profile = profile,
		.sysname = sysname,
		.descr = descr,
		.t_ns = p->now_ns};
	const struct fabric_device *known = fabric_device(p->config->fabric, device);
	if (known)
		row.role = device_role_name(known->role);
	store_device(p->store, &row);
}

static void inventory_peer_key(struct str *out, const char *device, const char *port)
{
	str_addn(out, device, strlen(device) + 1);
	str_add(out, port);
}

static struct port_peer *inventory_peer_of(
	struct pipeline *pipeline, const char *device, const char *port, bool make)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	inventory_peer_key(&key, device, port);
	if (smap_get(pipeline->peer_index, key.s, key.n, &at))
		return &pipeline->peers[at];
	if (!make)
		return NULL;
	smap_put(pipeline->peer_index, key.s, key.n, pipeline->n_peers);
	rw_grow(pipeline->peers, pipeline->n_peers, pipeline->cap_peers);
	pipeline->peers[pipeline->n_peers] =
		(struct port_peer){.of_device = rw_strdup(device), .of_port = rw_strdup(port)};
	return &pipeline->peers[pipeline->n_peers++];
}

static bool inventory_peer_known(const struct pipeline *pipeline, const struct port_peer *peer)
{
	const struct fabric_device *device =
		fabric_device(pipeline->config->fabric, peer->of_device);
	if (device && fabric_port(device, peer->of_port))
		return true;
	return entities_find(pipeline->entities, peer->of_device, peer->of_port, PRIO_NONE) !=
		ENTITY_NONE;
}

void inventory_peer_free(struct port_peer *peer)
{
	free(peer->of_device);
	free(peer->of_port);
	free(peer->device);
	free(peer->port);
}

void inventory_forget(struct pipeline *pipeline)
{
	const size_t n = pipeline->n_peers;
	smap_free(pipeline->peer_index);
	pipeline->peer_index = smap_new();
	pipeline->n_peers = 0;
	for (size_t k = 0; k < n; k++) {
		struct port_peer peer = pipeline->peers[k];
		if (!inventory_peer_known(pipeline, &peer)) {
			inventory_peer_free(&peer);
			continue;
		}
		rw_cleanup(str_done) struct str key = {0};
		inventory_peer_key(&key, peer.of_device, peer.of_port);
		smap_put(pipeline->peer_index, key.s, key.n, pipeline->n_peers);
		pipeline->peers[pipeline->n_peers++] = peer;
	}
}

static void inventory_store_port(struct pipeline *pipeline, const char *device, const char *port,
	const char *alias, uint64_t speed_bps, int64_t t_ns)
{
	const struct fabric_device *d = fabric_device(pipeline->config->fabric, device);
	const struct fabric_port *known = NULL;
	if (d)
		known = fabric_port(d, port);
	struct store_port row = {.device = device,
		.port = port,
		.alias = alias,
		.speed_bps = speed_bps,
		.t_ns = t_ns};
	char host[256];
	const struct port_peer *peer = inventory_peer_of(pipeline, device, port, false);
	if (peer) {
		row.peer_device = peer->device;
		row.peer_port = peer->port;
	} else if (known && known->peer) {
		row.peer_device = known->peer->device->name;
		row.peer_port = known->peer->name;
	} else if (known && known->host) {
		snprintf(host, sizeof(host), "host:%s", known->host);
		row.peer_device = host;
		row.peer_port = known->host_nic;
	} else if (known && known->outsider) {
		snprintf(host, sizeof(host), "%s:%s", neighbor_kind_word(known->outsider_kind),
			known->outsider);
		row.peer_device = host;
		row.peer_port = known->outsider_port;
	}
	store_port(pipeline->store, &row);
}

void inventory_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	struct pipeline *p = arg;
	if (p->store)
		inventory_store_port(p, device, port, alias, speed_bps, p->now_ns);
}

void pipeline_peer(struct pipeline *pipeline, const char *device, const char *port,
	const char *peer_device, const char *peer_port, int64_t t_ns)
{
	struct port_peer *peer = inventory_peer_of(pipeline, device, port, true);
	free(peer->device);
	free(peer->port);
	peer->device = rw_strdup(peer_device);
	peer->port = rw_strdup(peer_port);
	if (pipeline->store)
		inventory_store_port(pipeline, device, port, NULL, 0, t_ns);
}

static void pipeline_on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n)
{
	struct pipeline *p = arg;
	p->neighbors(p->neighbors_arg, self, neighbors, n);
}

void pipeline_listen(struct pipeline *pipeline,
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *neighbors, size_t n),
	void *arg)
{
	pipeline->neighbors = neighbors;
	pipeline->neighbors_arg = arg;
	if (neighbors)
		pipeline->sink.neighbors = pipeline_on_neighbors;
	else
		pipeline->sink.neighbors = NULL;
}

void inventory_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct pipeline *p = arg;
	if (port && !*port)
		port = NULL;
	if (p->store)
		store_device_event(p->store, t_ns, kind, device, port, str_or(text, ""));
}

/* The last part says in the incident's timeline what is there. */
static void inventory_burst_told(struct store *store, const struct collector_burst *burst)
{
	char text[256];
	snprintf(text, sizeof(text),
		"the single values of %s are kept, %.1f s of them (about %.1f MB): rocewatch "
		"incident burst %s",
		burst->device, (double)(burst->to_ns - burst->from_ns) / 1e9,
		(double)burst->parts * (double)burst->n / 1e6, burst->incident);
	store_event(store, burst->t_ns, "burst_kept", burst->incident, NULL, text);
}

void inventory_burst(void *arg, const struct collector_burst *burst)
{
	struct pipeline *p = arg;
	if (!p->store)
		return;
	rw_cleanup(freep) char *data = base64_text(burst->data, burst->n);
	const struct store_burst part = {.t_ns = burst->t_ns,
		.incident_id = burst->incident,
		.device = burst->device,
		.from_ns = burst->from_ns,
		.to_ns = burst->to_ns,
		.part = (int)burst->part,
		.parts = (int)burst->parts,
		.objects = burst->objects,
		.data = data};
	store_burst(p->store, &part);
	if (burst->part == 0)
		inventory_burst_told(p->store, burst);
}

/* NULL, which leaves the stored one as it is, where the configuration has none: links say nothing
 * of what a port is called. */
static const char *inventory_alias(const struct fabric_port *port)
{
	if (*port->alias)
		return port->alias;
	return NULL;
}

void pipeline_announce(struct pipeline *pipeline, int64_t t_ns)
{
	const struct fabric *f = pipeline->config->fabric;
	if (t_ns > pipeline->now_ns)
		pipeline->now_ns = t_ns; /* reports before the first advance are not older */
	if (!pipeline->store)
		return;
	for (size_t k = 0; k < f->n_devices; k++) {
		const struct fabric_device *d = f->devices[k];
		if (d->foreign) /* its agent says it */
			continue;
		store_device(pipeline->store,
			&(struct store_device){
				.name = d->name, .role = device_role_name(d->role), .t_ns = t_ns});
		for (size_t n = 0; n < d->n_ports; n++)
			inventory_store_port(pipeline, d->name, d->ports[n]->name,
				inventory_alias(d->ports[n]), d->ports[n]->speed_bps, t_ns);
	}
}
