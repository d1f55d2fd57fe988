/* topology_document - what the database knows of the ports, for the fabric graph and its audit. */
#include "agent/answers/topology/topology_document.h"

#include "agent/client/client.h"
#include "agent/history/window_walk.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"

struct topology_lldp_link_row {
	const char *device, *port;
	size_t at; /* its facts */
};

struct topology_known {
	struct arena *arena;
	struct smap *ports; /* "device\0port" -> index */
	struct smap *sysnames; /* device -> pointer */
	struct port_facts *v;
	size_t n, cap;
	struct topology_lldp_link_row *lldp; /* in the order of the database: by name */
	size_t n_lldp, cap_lldp;
};

static struct port_facts *topology_known_of(
	struct topology_known *known, const char *device, const char *port, bool make)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, port);
	if (smap_get(known->ports, key.s, key.n, &at))
		return &known->v[at];
	if (!make)
		return NULL;
	smap_put(known->ports, key.s, key.n, known->n);
	rw_grow(known->v, known->n, known->cap);
	known->v[known->n] = (struct port_facts){.up = -1};
	return &known->v[known->n++];
}

static struct port_facts topology_port_get(void *arg, const char *device, const char *port)
{
	const struct port_facts *p = topology_known_of(arg, device, port, false);
	if (p)
		return *p;
	return (struct port_facts){.up = -1};
}

static void topology_each_lldp(void *arg,
	void (*fn)(void *to, const char *device, const char *port, const struct port_facts *facts),
	void *to)
{
	const struct topology_known *k = arg;
	for (size_t i = 0; i < k->n_lldp; i++)
		fn(to, k->lldp[i].device, k->lldp[i].port, &k->v[k->lldp[i].at]);
}

static const char *topology_sysname_get(void *arg, const char *device)
{
	const struct topology_known *k = arg;
	uint64_t at;
	if (smap_get(k->sysnames, device, strlen(device), &at))
		return (const char *)(uintptr_t)at;
	return NULL;
}

static int topology_take_link(void *arg, int n, char *const *values, char *const *names)
{
	struct topology_known *k = arg;
	if (n < 4 || !values[0] || !values[1] || !values[2])
		return 0;
	struct port_facts *p = topology_known_of(k, values[0], values[1], true);
	p->lldp_device = arena_strdup(k->arena, values[2]);
	p->lldp_port = arena_strdup(k->arena, str_or(values[3], ""));
	rw_grow(k->lldp, k->n_lldp, k->cap_lldp);
	k->lldp[k->n_lldp++] = (struct topology_lldp_link_row){arena_strdup(k->arena, values[0]),
		arena_strdup(k->arena, values[1]), (size_t)(p - k->v)};
	return 0;
}

static int topology_take_sysname(void *arg, int n, char *const *values, char *const *names)
{
	struct topology_known *k = arg;
	if (n >= 2 && values[0] && values[1])
		smap_put(k->sysnames, values[0], strlen(values[0]),
			(uint64_t)(uintptr_t)arena_strdup(k->arena, values[1]));
	return 0;
}

static void topology_take_state(struct topology_known *known, const struct entity *entity,
	const struct series *series, uint64_t value, const struct entities *entities)
{
	struct port_facts *p = topology_known_of(known, entity->device, entity->port, true);
	switch (series->metric) {
	case M_PORT_OPER_UP: p->up = value != 0; break;
	case M_PORT_SPEED_BPS: p->speed_bps = value; break;
	case M_PORT_MTU_BYTES: p->mtu_bytes = value; break;
	case M_CFG_TRUST:
		p->trust = arena_strdup(known->arena, entities_text_get(entities, value));
		break;
	case M_CFG_DSCP_TO_PRIO:
		p->dscp_known = class_map_read(entities_text_get(entities, value), CLASS_DSCPS,
					p->dscp, NULL) == 0;
		break;
	case M_CFG_PRIO_TO_PG:
		if (!p->groups_known)
			memset(p->groups, CLASS_NO_ROW, sizeof(p->groups));
		p->groups_known = true;
		if (entity->priority >= 0 && entity->priority < FABRIC_CLASSES &&
			value < FABRIC_CLASSES)
			p->groups[entity->priority] = (uint8_t)value;
		break;
	case M_CFG_PFC_ENABLED:
		if (entity->priority >= 0 && entity->priority < 8) {
			p->pfc_known |= (uint8_t)(1u << entity->priority);
			p->pfc_on |= (uint8_t)((value != 0) << entity->priority);
		}
		break;
	}
}

/* States as of the end of the stretch asked for. */
static int topology_states_read(struct topology_known *known, struct client *client,
	const struct window_spec *spec, int64_t age_ns, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window w;
	const int r = history_window(
		client->history, a, spec, client->to_ns - age_ns, client->to_ns, &w, e);
	for (size_t i = 0; r == 0 && i < w.n_series; i++) {
		const struct series *s = &w.series[i];
		const struct entity *entity = entity_get(w.entities, s->entity);
		uint64_t value;
		if (entity && *entity->port && series_state(s, client->to_ns, age_ns, &value) == 0)
			topology_take_state(known, entity, s, value, w.entities);
	}
	return r;
}

/* Older than a few slow polls, states say nothing about now. */
static int topology_known_read(struct topology_known *known, struct client *client, struct err *e)
{
	static const uint16_t of_ports[] = {M_PORT_OPER_UP, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES};
	static const uint16_t of_queues[] = {
		M_CFG_PFC_ENABLED, M_CFG_TRUST, M_CFG_DSCP_TO_PRIO, M_CFG_PRIO_TO_PG};
	/* few devices tell the latter, and names of queues are most of a fabric */
	const struct window_spec ports = {
		.metrics = of_ports, .n_metrics = rw_countof(of_ports), .lanes = WINDOW_LANES};
	const struct window_spec queues = {
		.metrics = of_queues, .n_metrics = rw_countof(of_queues), .bare = true};
	const int64_t age_ns = state_age(client);
	int r = topology_states_read(known, client, &ports, age_ns, e);
	if (r == 0)
		r = topology_states_read(known, client, &queues, age_ns, e);
	if (r == 0)
		r = history_sql(client->history,
			"SELECT device, port, peer_device, peer_port FROM links ORDER BY device, "
			"port",
			topology_take_link, known, e);
	if (r == 0)
		r = history_sql(client->history,
			"SELECT DISTINCT device, sysname FROM devices WHERE sysname IS NOT NULL",
			topology_take_sysname, known, e);
	return r;
}

static void topology_known_done(struct topology_known *known)
{
	smap_free(known->ports);
	smap_free(known->sysnames);
	free(known->v);
	free(known->lldp);
	arena_free(known->arena);
}

int topology_document(struct client *client, topology_make *make, json_t **ret, struct err *e)
{
	struct topology_known known = {
		.arena = arena_new(), .ports = smap_new(), .sysnames = smap_new()};
	const struct topology_facts facts = {.arg = &known,
		.port = topology_port_get,
		.sysname = topology_sysname_get,
		.each_lldp = topology_each_lldp};
	int rc = 0;
	if (client->history)
		rc = topology_known_read(&known, client, e);
	if (rc == 0)
		*ret = make(client->config->fabric, &facts);
	topology_known_done(&known);
	return rc;
}

int topology_audit_read(
	struct client *client, struct arena *a, struct topology_audit *ret, struct err *e)
{
	json_t *doc = NULL;
	const int rc = topology_document(client, topology_check_json, &doc, e);
	shape_read(&topology_audit_shape, doc, a, ret);
	json_decref(doc);
	return rc;
}
