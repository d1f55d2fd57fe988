/* gnmi_decode - see the header. Cells are in gnmi_cells.c, the conversion of values in
 * gnmi_convert.c. */
#include "collectors/gnmi/gnmi_series.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/model/metric.h"

/* ---- the decoder --------------------------------------------------------- */

struct gnmi_decoder *gnmi_decoder_new(struct entities *entities, const char *device,
	const struct profile *profile, struct gnmi_compiled_set *compiled, uint64_t cell_bytes)
{
	struct gnmi_decoder *d = rw_calloc(1, sizeof(*d));
	*d = (struct gnmi_decoder){.entities = entities,
		.device = rw_strdup(device),
		.profile = profile,
		.compiled = compiled,
		.cell_bytes = cell_bytes ? cell_bytes : profile->cell_bytes,
		.cell_assumed = cell_bytes != 0,
		.by_name = smap_new(),
		.by_alias = smap_new(),
		.sysname = rw_strdup("")};
	return d;
}

void gnmi_decoder_free(struct gnmi_decoder *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_ports; i++) {
		free(d->ports[i].name);
		free(d->ports[i].alias);
	}
	free(d->ports);
	smap_free(d->by_name);
	smap_free(d->by_alias);
	free(d->gates);
	gnmi_lldp_free(d->lldp);
	free(d->sysname);
	free(d->device);
	free(d);
}

size_t gnmi_decode_port_count(const struct gnmi_decoder *d)
{
	return d->n_ports;
}
const char *gnmi_decode_sysname(const struct gnmi_decoder *d)
{
	return d->sysname;
}
const struct gnmi_decode_stats *gnmi_decode_stats(const struct gnmi_decoder *d)
{
	return &d->stats;
}

const struct gnmi_port *gnmi_decode_port(const struct gnmi_decoder *d, size_t i)
{
	assert(i < d->n_ports);
	return &d->ports[i].seen;
}

void gnmi_decode_ports_told(struct gnmi_decoder *d)
{
	for (size_t i = 0; i < d->n_ports; i++)
		d->ports[i].seen.changed = false;
	d->ports_changed = false;
}

bool gnmi_decode_ports_changed(const struct gnmi_decoder *d)
{
	return d->ports_changed;
}

void gnmi_port_changed(struct gnmi_decoder *d, struct port *p)
{
	p->seen.changed = true;
	d->ports_changed = true;
}

/* port_name - as the fabric has it. */
static const char *port_name(
	const struct gnmi_decoder *d, struct gnmi_text text, char name[NAME_MAX_BYTES])
{
	const struct profile_gnmi *g = d->profile->gnmi;
	snprintf(name, NAME_MAX_BYTES, "%.*s", (int)text.n, text.p);
	for (size_t i = 0; i < g->n_port_prefix; i++) {
		size_t k = strlen(g->port_prefix[i].there);
		if (text.n > k && memcmp(text.p, g->port_prefix[i].there, k) == 0 &&
			text.p[k] >= '0' && text.p[k] <= '9') {
			snprintf(name, NAME_MAX_BYTES, "%s%.*s", g->port_prefix[i].here,
				(int)(text.n - k), text.p + k);
			break;
		}
	}
	return name;
}

/* port_known - NO_CELL: it is not. */
static uint32_t port_known(const struct gnmi_decoder *d, struct gnmi_text text, bool alias)
{
	char buf[NAME_MAX_BYTES];
	uint64_t at;
	if (alias && smap_get(d->by_alias, text.p, text.n, &at) && at)
		return (uint32_t)at - 1;
	const char *name = port_name(d, text, buf);
	return smap_get(d->by_name, name, strlen(name), &at) ? (uint32_t)at : NO_CELL;
}

/* port_of - made when it is new; NO_CELL when there are too many. */
static uint32_t port_of(struct gnmi_decoder *d, struct gnmi_text text, bool alias)
{
	char buf[NAME_MAX_BYTES];
	const uint32_t known = port_known(d, text, alias);
	if (known != NO_CELL)
		return known;
	if (d->n_ports == GNMI_PORTS_MAX) {
		d->stats.over_limit++;
		return NO_CELL;
	}
	const char *name = port_name(d, text, buf);
	rw_grow(d->ports, d->n_ports, d->cap_ports);
	struct port *p = &d->ports[d->n_ports];
	*p = (struct port){.name = rw_strdup(name), .alias = rw_strdup("")};
	p->seen = (struct gnmi_port){.name = p->name, .alias = p->alias};
	gnmi_port_changed(d, p);
	smap_put(d->by_name, name, strlen(name), d->n_ports);
	return (uint32_t)d->n_ports++;
}

static void alias_take(struct gnmi_decoder *d, uint32_t port, const struct gnmi_value *v)
{
	char alias[NAME_MAX_BYTES];
	struct port *p = &d->ports[port];
	gnmi_value_text(v, alias, sizeof(alias));
	if (strcmp(p->alias, alias) == 0)
		return;
	if (*p->alias)
		smap_put(d->by_alias, p->alias, strlen(p->alias), 0);
	free(p->alias);
	p->alias = rw_strdup(alias);
	p->seen.alias = p->alias;
	gnmi_port_changed(d, p);
	if (*alias)
		smap_put(d->by_alias, alias, strlen(alias), port + 1);
	d->names_epoch++;
}

/* ---- neighbours ---------------------------------------------------------- */

static bool is_lldp(enum profile_gnmi_attribute a)
{
	return a >= GNMI_ATTRIBUTE_CHASSIS;
}
bool gnmi_decode_hears(const struct gnmi_decoder *d)
{
	return d->lldp != NULL;
}
bool gnmi_feed_hears(const struct gnmi_feed *f)
{
	return f->compiled->hears;
}

size_t gnmi_decode_neighbors(const struct gnmi_decoder *d, struct arena *a,
	struct topology_device *ret_self, struct topology_neighbor **ret_heard)
{
	struct topology_port *ports = arena_array(a, struct topology_port, d->n_ports + 1);
	for (size_t i = 0; i < d->n_ports; i++)
		ports[i] = (struct topology_port){.name = arena_strdup(a, d->ports[i].name),
			.alias = arena_strdup(a, d->ports[i].alias),
			.descr = "",
			.mac = "",
			.speed_bps = d->ports[i].seen.speed_bps};
	return gnmi_lldp_result(
		d->lldp, a, d->device, d->sysname, ports, d->n_ports, ret_self, ret_heard);
}

/* ---- feeds --------------------------------------------------------------- */

struct gnmi_feed *gnmi_feed_new(
	struct gnmi_decoder *d, const struct profile_gnmi_stream *stream, struct err *e)
{
	const struct gnmi_compiled *c = gnmi_compiled_get(d->compiled, stream, e);
	if (!c)
		return NULL;
	struct gnmi_feed *f = rw_calloc(1, sizeof(*f));
	*f = (struct gnmi_feed){.d = d,
		.stream = stream,
		.compiled = c,
		.by_path = smap_new(),
		.cells = map_new(),
		.n_leaves = stream->n_values};
	f->leaves = rw_calloc(f->n_leaves + 1, sizeof(*f->leaves));
	for (size_t i = 0; i < f->n_leaves; i++)
		f->leaves[i] =
			(struct leaf){.v = &stream->values[i], .shared = c->shared[i], .type = ""};
	if (c->hears && !d->lldp)
		d->lldp = gnmi_lldp_new();
	f->decode = (struct gnmi_decode){
		.plain_names = stream->plain_names, .lists = c->lists, .n_lists = c->n_lists};
	return f;
}

static void objects_clear(struct gnmi_feed *f)
{
	for (size_t i = 0; i < f->n_refs; i++)
		free(f->refs[i].name);
	for (size_t i = 0; i < f->n_properties; i++)
		free(f->properties[i].name);
	f->n_refs = f->n_properties = 0;
}

void gnmi_feed_free(struct gnmi_feed *f)
{
	if (!f)
		return;
	objects_clear(f);
	free(f->refs);
	free(f->properties);
	free(f->slots);
	free(f->bindings);
	free(f->parts);
	free(f->v);
	free(f->pending);
	smap_free(f->by_path);
	map_free(f->cells);
	free(f->leaves);
	free(f);
}

const struct gnmi_decode *gnmi_feed_decode(const struct gnmi_feed *f)
{
	return &f->decode;
}

/* What paths mean is found anew: numbers of paths begin anew, or names of ports changed. Cells
 * stay: a counter goes on. */
static void slots_clear(struct gnmi_feed *f)
{
	if (f->n_slots)
		memset(f->slots, 0, f->n_slots * sizeof(*f->slots));
	smap_free(f->by_path);
	f->by_path = smap_new();
	f->n_bindings = f->n_parts = f->n_pending = 0;
	objects_clear(f);
	for (size_t i = 0; i < f->n_cells; i++) {
		f->v[i].first_part = NO_CELL;
		f->v[i].pending = false;
	}
	for (size_t i = 0; i < f->n_leaves; i++)
		f->leaves[i].paths = 0;
	f->names_epoch = f->d->names_epoch;
}

void gnmi_feed_begin(struct gnmi_feed *f)
{
	slots_clear(f);
	f->complete = false;
	f->makes_ports = f->d->n_ports == 0;
	if (f->compiled->hears)
		gnmi_lldp_clear(f->d->lldp);
}

/* ---- what a path means --------------------------------------------------- */

static void part_add(struct gnmi_feed *f, const struct leaf *leaf, uint32_t cell)
{
	if (cell == NO_CELL)
		return;
	rw_grow(f->parts, f->n_parts, f->cap_parts);
	f->parts[f->n_parts] =
		(struct part){.cell = cell, .next = f->v[cell].first_part, .leaf = leaf};
	f->v[cell].several = f->v[cell].first_part != NO_CELL;
	f->v[cell].first_part = (uint32_t)f->n_parts++;
}

/* parts_at - a part for every thing the place stands for. */
static void parts_at(
	struct gnmi_feed *f, const struct leaf *leaf, uint32_t port, const struct gnmi_place *at)
{
	const struct profile_gnmi_value *v = leaf->v;
	char queue[NAME_MAX_BYTES];
	if (v->priorities) {
		for (int i = 0; i < 8; i++)
			part_add(f, leaf,
				gnmi_cell_of(f,
					gnmi_cell_entity(f, port, v->metric, i, NULL, at->pool),
					v->metric, port));
		return;
	}
	if (at->number == GNMI_NUMBER_NONE || v->priority != PRIO_NONE) {
		part_add(f, leaf,
			gnmi_cell_of(f,
				gnmi_cell_entity(f, port, v->metric, v->priority, NULL, at->pool),
				v->metric, port));
		return;
	}
	if (at->queue_name.p) {
		snprintf(queue, sizeof(queue), "%.*s", (int)at->queue_name.n, at->queue_name.p);
		part_add(f, leaf,
			gnmi_cell_of(f,
				gnmi_cell_entity(f, port, v->metric, PRIO_NONE, queue, at->pool),
				v->metric, port));
		return;
	}
	for (unsigned n = 0; n < 64; n++) {
		if (!(at->numbers >> n & 1))
			continue;
		snprintf(queue, sizeof(queue), "%u", n);
		int priority = at->number == GNMI_NUMBER_PRIORITY
			? (int)n
			: profile_priority(f->d->profile, n);
		part_add(f, leaf,
			gnmi_cell_of(f,
				gnmi_cell_entity(f, port, v->metric, priority, queue, at->pool),
				v->metric, port));
	}
}

static uint32_t bind(struct gnmi_feed *f, struct leaf *leaf, const struct gnmi_place *at)
{
	struct binding b = {.leaf = leaf, .port = NO_CELL};
	/* also on ports for management, which are none of the fabric */
	const bool heard = is_lldp(leaf->v->attribute);
	if (at->port.p)
		b.port = heard && !f->makes_ports ? port_known(f->d, at->port, at->alias)
						  : port_of(f->d, at->port, at->alias);
	if (at->port.p && b.port == NO_CELL)
		return BINDING_NONE;
	leaf->paths++;
	if (heard && b.port != NO_CELL)
		b.first =
			gnmi_lldp_of(f->d->lldp, b.port, at->name.p ? at->name.p : "", at->name.n);
	if (leaf->v->refers) { /* the value will be its object's name */
		rw_grow(f->refs, f->n_refs, f->cap_refs);
		f->refs[f->n_refs] = (struct ref){.kind = leaf->v->refers,
			.port = b.port,
			.number = at->number,
			.numbers = at->numbers};
		b.first = (uint32_t)f->n_refs++;
	} else if (leaf->v->of) {
		rw_grow(f->properties, f->n_properties, f->cap_properties);
		char name[NAME_MAX_BYTES];
		snprintf(name, sizeof(name), "%.*s", (int)at->name.n, at->name.p);
		f->properties[f->n_properties] =
			(struct property){.leaf = leaf, .name = rw_strdup(name)};
		b.first = (uint32_t)f->n_properties++;
	} else if (leaf->v->metric >= 0) {
		b.first = (uint32_t)f->n_parts;
		parts_at(f, leaf, b.port, at);
		b.n = (uint32_t)(f->n_parts - b.first);
	}
	rw_grow(f->bindings, f->n_bindings, f->cap_bindings);
	f->bindings[f->n_bindings++] = b;
	return BINDING_FIRST + (uint32_t)f->n_bindings - 1;
}

static uint32_t binding_new(struct gnmi_feed *f, const struct gnmi_update *u)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_elem *elems;
	size_t n;
	struct gnmi_place at;
	if (gnmi_path_parse(u->path, u->path_n, a, &elems, &n, NULL) == 0)
		for (size_t i = 0; i < f->n_leaves; i++)
			if (gnmi_pattern_match(f->compiled->patterns[i], elems, n, &at))
				return bind(f, &f->leaves[i], &at);
	f->d->stats.unknown_paths++;
	return BINDING_NONE;
}

static uint32_t *slot_of(struct gnmi_feed *f, const struct gnmi_update *u)
{
	if (u->path_id >= f->n_slots) {
		size_t n = f->n_slots ? f->n_slots : 256;
		while (n <= u->path_id)
			n *= 2;
		f->slots = rw_realloc(f->slots, n * sizeof(*f->slots));
		memset(f->slots + f->n_slots, 0, (n - f->n_slots) * sizeof(*f->slots));
		f->n_slots = n;
	}
	return &f->slots[u->path_id];
}

static uint32_t binding_of(struct gnmi_feed *f, const struct gnmi_update *u)
{
	if (u->path_id != GNMI_PATH_NONE) {
		uint32_t *slot = slot_of(f, u);
		if (*slot == BINDING_NEW)
			*slot = binding_new(f, u);
		return *slot;
	}
	uint64_t at;
	if (smap_get(f->by_path, u->path, u->path_n, &at))
		return (uint32_t)at;
	uint32_t b = binding_new(f, u);
	smap_put(f->by_path, u->path, u->path_n, b);
	return b;
}

/* ---- updates ------------------------------------------------------------- */

static void attribute_take(struct gnmi_feed *f, const struct binding *b, const struct gnmi_value *v)
{
	struct gnmi_decoder *d = f->d;
	char text[NAME_MAX_BYTES];
	uint64_t boot, number = 0;
	if (is_lldp(b->leaf->v->attribute)) {
		/* 0, no kind that is known, is as good as none */
		gnmi_convert_number(b->leaf->v, v, &number);
		gnmi_lldp_take(d->lldp, b->first, b->leaf->v->attribute,
			gnmi_value_text(v, text, sizeof(text)), number);
		return;
	}
	switch (b->leaf->v->attribute) {
	case GNMI_ATTRIBUTE_PORT_ALIAS:
		if (b->port != NO_CELL)
			alias_take(d, b->port, v);
		break;
	case GNMI_ATTRIBUTE_SYSNAME:
		free(d->sysname);
		d->sysname = rw_strdup(gnmi_value_text(v, text, sizeof(text)));
		break;
	case GNMI_ATTRIBUTE_BOOT_TIME:
		if (gnmi_value_u64(v, &boot) < 0)
			break;
		if (d->has_boot && boot != d->boot) {
			d->epoch++;
			d->stats.restarts++;
		}
		d->boot = boot;
		d->has_boot = true;
		break;
	default: break;
	}
}

static void metric_take(struct gnmi_feed *f, struct binding *b, const struct gnmi_update *u,
	int64_t t_ns, struct sample_list *out)
{
	struct gnmi_converted value;
	enum gnmi_convert rc =
		gnmi_convert(b->leaf->v, &u->value, f->d->entities, f->d->cell_bytes, &value);
	value.estimated = b->leaf->v->cells && f->d->cell_assumed;
	b->wrong = rc == GNMI_CONVERT_WRONG;
	if (rc != GNMI_CONVERT_OK) {
		f->d->stats.wrong_types += b->wrong;
		return;
	}
	b->zero = metric_info((unsigned)b->leaf->v->metric)->type == TYPE_F64 ? value.d == 0
									      : value.u == 0;
	if (b->leaf->v->of) {
		f->properties[b->first].value = value;
		f->properties[b->first].has = true;
		return;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		struct part *p = &f->parts[b->first + i];
		struct gnmi_converted one = value;
		if (b->leaf->v->priorities)
			one.u = value.u >> i & 1;
		if (b->leaf->shared || f->v[p->cell].several) {
			gnmi_part_take(f, b->first + i, &one, t_ns, out);
			continue;
		}
		f->v[p->cell].emitted_parts = 1;
		gnmi_emit(f, &f->v[p->cell], &one, b->leaf->v->window_ms, t_ns, false, out);
	}
}

void gnmi_feed_update(
	struct gnmi_feed *f, const struct gnmi_update *u, int64_t t_ns, struct sample_list *out)
{
	/* a slow stream brings the names itself */
	if (f->names_epoch != f->d->names_epoch && !f->stream->slow)
		slots_clear(f);
	uint32_t at = binding_of(f, u);
	if (at == BINDING_NONE)
		return;
	struct binding *b = &f->bindings[at - BINDING_FIRST];
	if (!*b->leaf->type)
		b->leaf->type = gnmi_convert_kind_name(u->value.kind);
	if (b->leaf->v->refers) {
		char name[NAME_MAX_BYTES];
		free(f->refs[b->first].name);
		f->refs[b->first].name = rw_strdup(gnmi_value_text(&u->value, name, sizeof(name)));
	} else if (b->leaf->v->attribute != GNMI_ATTRIBUTE_NONE) {
		attribute_take(f, b, &u->value);
	} else {
		metric_take(f, b, u, t_ns, out);
	}
}

/* property_wanted - not one that stands in for another that is there. */
static bool property_wanted(const struct gnmi_feed *f, const struct property *p)
{
	if (!p->has)
		return false;
	for (size_t i = 0; p->leaf->v->fallback && i < f->n_properties; i++) {
		const struct property *o = &f->properties[i];
		if (o->has && !o->leaf->v->fallback && o->leaf->v->metric == p->leaf->v->metric &&
			strcmp(o->name, p->name) == 0)
			return false;
	}
	return true;
}

static void object_emit(struct gnmi_feed *f, const struct ref *r, const struct property *p,
	int64_t t_ns, struct sample_list *out)
{
	const struct gnmi_text none = {0};
	for (unsigned n = 0; n < 64; n++) {
		char queue[16];
		if (r->number != GNMI_NUMBER_NONE ? !(r->numbers >> n & 1) : n > 0)
			continue;
		snprintf(queue, sizeof(queue), "%u", n);
		int priority = r->number == GNMI_NUMBER_NONE ? PRIO_NONE
			: r->number == GNMI_NUMBER_PRIORITY  ? (int)n
							     : profile_priority(f->d->profile, n);
		uint32_t entity = gnmi_cell_entity(f, r->port, p->leaf->v->metric, priority,
			r->number == GNMI_NUMBER_NONE ? NULL : queue, none);
		uint32_t cell = gnmi_cell_of(f, entity, p->leaf->v->metric, r->port);
		if (cell != NO_CELL)
			gnmi_emit(f, &f->v[cell], &p->value, 0, t_ns, false, out);
	}
}

void gnmi_feed_round(struct gnmi_feed *f, int64_t t_ns, struct sample_list *out)
{
	f->complete = true;
	for (size_t i = 0; i < f->n_pending; i++) {
		struct cell *c = &f->v[f->pending[i]];
		c->pending = false;
		gnmi_cell_emit(f, c, t_ns, out);
	}
	f->n_pending = 0;
	for (size_t i = 0; i < f->n_refs; i++)
		for (size_t k = 0; f->refs[i].name && k < f->n_properties; k++)
			if (str_eq(f->refs[i].kind, f->properties[k].leaf->v->of) &&
				strcmp(f->refs[i].name, f->properties[k].name) == 0 &&
				property_wanted(f, &f->properties[k]))
				object_emit(f, &f->refs[i], &f->properties[k], t_ns, out);
}

void gnmi_feed_leaves(const struct gnmi_feed *f, gnmi_leaf_view_fn *fn, void *arg)
{
	for (size_t i = 0; i < f->n_leaves; i++) {
		const struct leaf *l = &f->leaves[i];
		struct gnmi_leaf_view v = {.path = l->v->path,
			.doc = l->v->doc,
			.type = l->type,
			.metric = l->v->metric,
			.fallback = l->v->fallback,
			.paths = l->paths,
			.what = l->v->refers ? l->v->refers
					     : profile_gnmi_attribute_name(l->v->attribute)};
		for (size_t k = 0; k < f->n_bindings; k++) {
			if (f->bindings[k].leaf != l)
				continue;
			v.zero += f->bindings[k].zero;
			v.wrong_type += f->bindings[k].wrong;
		}
		fn(arg, &v);
	}
}
