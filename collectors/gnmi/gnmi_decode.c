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

void gnmi_decoder_free(struct gnmi_decoder *decoder)
{
	if (!decoder)
		return;
	for (size_t i = 0; i < decoder->n_ports; i++) {
		free(decoder->ports[i].name);
		free(decoder->ports[i].alias);
	}
	free(decoder->ports);
	smap_free(decoder->by_name);
	smap_free(decoder->by_alias);
	free(decoder->gates);
	gnmi_lldp_free(decoder->lldp);
	free(decoder->sysname);
	free(decoder->device);
	free(decoder);
}

size_t gnmi_decode_port_count(const struct gnmi_decoder *decoder)
{
	return decoder->n_ports;
}
const char *gnmi_decode_sysname(const struct gnmi_decoder *decoder)
{
	return decoder->sysname;
}
const struct gnmi_decode_stats *gnmi_decode_stats(const struct gnmi_decoder *decoder)
{
	return &decoder->stats;
}

const struct gnmi_port *gnmi_decode_port(const struct gnmi_decoder *decoder, size_t i)
{
	assert(i < decoder->n_ports);
	return &decoder->ports[i].seen;
}

void gnmi_decode_ports_told(struct gnmi_decoder *decoder)
{
	for (size_t i = 0; i < decoder->n_ports; i++)
		decoder->ports[i].seen.changed = false;
	decoder->ports_changed = false;
}

bool gnmi_decode_ports_changed(const struct gnmi_decoder *decoder)
{
	return decoder->ports_changed;
}

void gnmi_port_changed(struct gnmi_decoder *decoder, struct port *port)
{
	port->seen.changed = true;
	decoder->ports_changed = true;
}

/* gnmi_decode_port_name - as the fabric has it. */
static const char *gnmi_decode_port_name(
	const struct gnmi_decoder *decoder, struct gnmi_text text, char name[NAME_MAX_BYTES])
{
	const struct profile_gnmi *g = decoder->profile->gnmi;
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
static uint32_t port_known(const struct gnmi_decoder *decoder, struct gnmi_text text, bool alias)
{
	char buf[NAME_MAX_BYTES];
	uint64_t at;
	if (alias && smap_get(decoder->by_alias, text.p, text.n, &at) && at)
		return (uint32_t)at - 1;
	const char *name = gnmi_decode_port_name(decoder, text, buf);
	if (smap_get(decoder->by_name, name, strlen(name), &at))
		return (uint32_t)at;
	return NO_CELL;
}

/* gnmi_decode_port_of - made when it is new; NO_CELL when there are too many. */
static uint32_t gnmi_decode_port_of(struct gnmi_decoder *decoder, struct gnmi_text text, bool alias)
{
	char buf[NAME_MAX_BYTES];
	const uint32_t known = port_known(decoder, text, alias);
	if (known != NO_CELL)
		return known;
	if (decoder->n_ports == GNMI_PORTS_MAX) {
		decoder->stats.over_limit++;
		return NO_CELL;
	}
	const char *name = gnmi_decode_port_name(decoder, text, buf);
	rw_grow(decoder->ports, decoder->n_ports, decoder->cap_ports);
	struct port *p = &decoder->ports[decoder->n_ports];
	*p = (struct port){.name = rw_strdup(name), .alias = rw_strdup("")};
	p->seen = (struct gnmi_port){.name = p->name, .alias = p->alias};
	gnmi_port_changed(decoder, p);
	smap_put(decoder->by_name, name, strlen(name), decoder->n_ports);
	return (uint32_t)decoder->n_ports++;
}

static void alias_take(struct gnmi_decoder *decoder, uint32_t port, const struct gnmi_value *value)
{
	char alias[NAME_MAX_BYTES];
	struct port *p = &decoder->ports[port];
	gnmi_value_text(value, alias, sizeof(alias));
	if (strcmp(p->alias, alias) == 0)
		return;
	if (*p->alias)
		smap_put(decoder->by_alias, p->alias, strlen(p->alias), 0);
	free(p->alias);
	p->alias = rw_strdup(alias);
	p->seen.alias = p->alias;
	gnmi_port_changed(decoder, p);
	if (*alias)
		smap_put(decoder->by_alias, alias, strlen(alias), port + 1);
	decoder->names_epoch++;
}

/* ---- neighbours ---------------------------------------------------------- */

static bool is_lldp(enum profile_gnmi_attribute attribute)
{
	return attribute >= GNMI_ATTRIBUTE_CHASSIS;
}
bool gnmi_decode_hears(const struct gnmi_decoder *decoder)
{
	return decoder->lldp != NULL;
}
bool gnmi_feed_hears(const struct gnmi_feed *feed)
{
	return feed->compiled->hears;
}

size_t gnmi_decode_neighbors(const struct gnmi_decoder *decoder, struct arena *a,
	struct topology_device *ret_self, struct topology_neighbor **ret_heard)
{
	struct topology_port *ports = arena_array(a, struct topology_port, decoder->n_ports + 1);
	for (size_t i = 0; i < decoder->n_ports; i++)
		ports[i] = (struct topology_port){.name = arena_strdup(a, decoder->ports[i].name),
			.alias = arena_strdup(a, decoder->ports[i].alias),
			.descr = "",
			.mac = "",
			.speed_bps = decoder->ports[i].seen.speed_bps};
	return gnmi_lldp_result(decoder->lldp, a, decoder->device, decoder->sysname, ports,
		decoder->n_ports, ret_self, ret_heard);
}

/* ---- feeds --------------------------------------------------------------- */

struct gnmi_feed *gnmi_feed_new(
	struct gnmi_decoder *decoder, const struct profile_gnmi_stream *stream, struct err *e)
{
	const struct gnmi_compiled *c = gnmi_compiled_get(decoder->compiled, stream, e);
	if (!c)
		return NULL;
	struct gnmi_feed *f = rw_calloc(1, sizeof(*f));
	*f = (struct gnmi_feed){.d = decoder,
		.stream = stream,
		.compiled = c,
		.by_path = smap_new(),
		.cells = map_new(),
		.n_leaves = stream->n_values};
	f->leaves = rw_calloc(f->n_leaves + 1, sizeof(*f->leaves));
	for (size_t i = 0; i < f->n_leaves; i++)
		f->leaves[i] =
			(struct leaf){.v = &stream->values[i], .shared = c->shared[i], .type = ""};
	if (c->hears && !decoder->lldp)
		decoder->lldp = gnmi_lldp_new();
	f->decode = (struct gnmi_decode){
		.plain_names = stream->plain_names, .lists = c->lists, .n_lists = c->n_lists};
	return f;
}

static void objects_clear(struct gnmi_feed *feed)
{
	for (size_t i = 0; i < feed->n_refs; i++)
		free(feed->refs[i].name);
	for (size_t i = 0; i < feed->n_properties; i++)
		free(feed->properties[i].name);
	feed->n_refs = feed->n_properties = 0;
}

void gnmi_feed_free(struct gnmi_feed *feed)
{
	if (!feed)
		return;
	objects_clear(feed);
	free(feed->refs);
	free(feed->properties);
	free(feed->slots);
	free(feed->bindings);
	free(feed->parts);
	free(feed->v);
	free(feed->pending);
	smap_free(feed->by_path);
	map_free(feed->cells);
	free(feed->leaves);
	free(feed);
}

const struct gnmi_decode *gnmi_feed_decode(const struct gnmi_feed *feed)
{
	return &feed->decode;
}

/* What paths mean is found anew: numbers of paths begin anew, or names of ports changed. Cells
 * stay: a counter goes on. */
static void slots_clear(struct gnmi_feed *feed)
{
	if (feed->n_slots)
		memset(feed->slots, 0, feed->n_slots * sizeof(*feed->slots));
	smap_free(feed->by_path);
	feed->by_path = smap_new();
	feed->n_bindings = feed->n_parts = feed->n_pending = 0;
	objects_clear(feed);
	for (size_t i = 0; i < feed->n_cells; i++) {
		feed->v[i].first_part = NO_CELL;
		feed->v[i].pending = false;
	}
	for (size_t i = 0; i < feed->n_leaves; i++)
		feed->leaves[i].paths = 0;
	feed->names_epoch = feed->d->names_epoch;
}

void gnmi_feed_begin(struct gnmi_feed *feed)
{
	slots_clear(feed);
	feed->complete = false;
	feed->makes_ports = feed->d->n_ports == 0;
	if (feed->compiled->hears)
		gnmi_lldp_clear(feed->d->lldp);
}

/* ---- what a path means --------------------------------------------------- */

static void part_add(struct gnmi_feed *feed, const struct leaf *leaf, uint32_t cell)
{
	if (cell == NO_CELL)
		return;
	rw_grow(feed->parts, feed->n_parts, feed->cap_parts);
	feed->parts[feed->n_parts] =
		(struct part){.cell = cell, .next = feed->v[cell].first_part, .leaf = leaf};
	feed->v[cell].several = feed->v[cell].first_part != NO_CELL;
	feed->v[cell].first_part = (uint32_t)feed->n_parts++;
}

/* parts_at - a part for every thing the place stands for. */
static void parts_at(
	struct gnmi_feed *feed, const struct leaf *leaf, uint32_t port, const struct gnmi_place *at)
{
	const struct profile_gnmi_value *v = leaf->v;
	char queue[NAME_MAX_BYTES];
	if (v->priorities) {
		for (int i = 0; i < 8; i++)
			part_add(feed, leaf,
				gnmi_cell_of(feed,
					gnmi_cell_entity(feed, port, v->metric, i, NULL, at->pool),
					v->metric, port));
		return;
	}
	if (at->number == GNMI_NUMBER_NONE || v->priority != PRIO_NONE) {
		part_add(feed, leaf,
			gnmi_cell_of(feed,
				gnmi_cell_entity(
					feed, port, v->metric, v->priority, NULL, at->pool),
				v->metric, port));
		return;
	}
	if (at->queue_name.p) {
		snprintf(queue, sizeof(queue), "%.*s", (int)at->queue_name.n, at->queue_name.p);
		part_add(feed, leaf,
			gnmi_cell_of(feed,
				gnmi_cell_entity(feed, port, v->metric, PRIO_NONE, queue, at->pool),
				v->metric, port));
		return;
	}
	for (unsigned n = 0; n < 64; n++) {
		if (!(at->numbers >> n & 1))
			continue;
		snprintf(queue, sizeof(queue), "%u", n);
		int priority;
		if (at->number == GNMI_NUMBER_PRIORITY)
			priority = (int)n;
		else
			priority = profile_priority(feed->d->profile, n);
		part_add(feed, leaf,
			gnmi_cell_of(feed,
				gnmi_cell_entity(feed, port, v->metric, priority, queue, at->pool),
				v->metric, port));
	}
}

static uint32_t gnmi_decode_bind(
	struct gnmi_feed *feed, struct leaf *leaf, const struct gnmi_place *at)
{
	struct binding b = {.leaf = leaf, .port = NO_CELL};
	/* also on ports for management, which are none of the fabric */
	const bool heard = is_lldp(leaf->v->attribute);
	if (at->port.p) {
		if (heard && !feed->makes_ports)
			b.port = port_known(feed->d, at->port, at->alias);
		else
			b.port = gnmi_decode_port_of(feed->d, at->port, at->alias);
	}
	if (at->port.p && b.port == NO_CELL)
		return BINDING_NONE;
	leaf->paths++;
	if (heard && b.port != NO_CELL)
		b.first = gnmi_lldp_of(feed->d->lldp, b.port, str_or(at->name.p, ""), at->name.n);
	if (leaf->v->refers) { /* the value will be its object's name */
		rw_grow(feed->refs, feed->n_refs, feed->cap_refs);
		feed->refs[feed->n_refs] = (struct ref){.kind = leaf->v->refers,
			.port = b.port,
			.number = at->number,
			.numbers = at->numbers};
		b.first = (uint32_t)feed->n_refs++;
	} else if (leaf->v->of) {
		rw_grow(feed->properties, feed->n_properties, feed->cap_properties);
		char name[NAME_MAX_BYTES];
		snprintf(name, sizeof(name), "%.*s", (int)at->name.n, at->name.p);
		feed->properties[feed->n_properties] =
			(struct property){.leaf = leaf, .name = rw_strdup(name)};
		b.first = (uint32_t)feed->n_properties++;
	} else if (leaf->v->metric >= 0) {
		b.first = (uint32_t)feed->n_parts;
		parts_at(feed, leaf, b.port, at);
		b.n = (uint32_t)(feed->n_parts - b.first);
	}
	rw_grow(feed->bindings, feed->n_bindings, feed->cap_bindings);
	feed->bindings[feed->n_bindings++] = b;
	return BINDING_FIRST + (uint32_t)feed->n_bindings - 1;
}

static uint32_t binding_new(struct gnmi_feed *feed, const struct gnmi_update *update)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_elem *elems;
	size_t n;
	struct gnmi_place at;
	if (gnmi_path_parse(update->path, update->path_n, a, &elems, &n, NULL) == 0)
		for (size_t i = 0; i < feed->n_leaves; i++)
			if (gnmi_pattern_match(feed->compiled->patterns[i], elems, n, &at))
				return gnmi_decode_bind(feed, &feed->leaves[i], &at);
	feed->d->stats.unknown_paths++;
	return BINDING_NONE;
}

static uint32_t *gnmi_decode_slot_of(struct gnmi_feed *feed, const struct gnmi_update *update)
{
	if (update->path_id >= feed->n_slots) {
		size_t n = 256;
		if (feed->n_slots)
			n = feed->n_slots;
		while (n <= update->path_id)
			n *= 2;
		feed->slots = rw_realloc(feed->slots, n * sizeof(*feed->slots));
		memset(feed->slots + feed->n_slots, 0, (n - feed->n_slots) * sizeof(*feed->slots));
		feed->n_slots = n;
	}
	return &feed->slots[update->path_id];
}

static uint32_t binding_of(struct gnmi_feed *feed, const struct gnmi_update *update)
{
	if (update->path_id != GNMI_PATH_NONE) {
		uint32_t *slot = gnmi_decode_slot_of(feed, update);
		if (*slot == BINDING_NEW)
			*slot = binding_new(feed, update);
		return *slot;
	}
	uint64_t at;
	if (smap_get(feed->by_path, update->path, update->path_n, &at))
		return (uint32_t)at;
	uint32_t b = binding_new(feed, update);
	smap_put(feed->by_path, update->path, update->path_n, b);
	return b;
}

/* ---- updates ------------------------------------------------------------- */

static void gnmi_decode_attribute_take(
	struct gnmi_feed *feed, const struct binding *binding, const struct gnmi_value *value)
{
	struct gnmi_decoder *d = feed->d;
	char text[NAME_MAX_BYTES];
	uint64_t boot, number = 0;
	if (is_lldp(binding->leaf->v->attribute)) {
		/* 0, no kind that is known, is as good as none */
		gnmi_convert_number(binding->leaf->v, value, &number);
		gnmi_lldp_take(d->lldp, binding->first, binding->leaf->v->attribute,
			gnmi_value_text(value, text, sizeof(text)), number);
		return;
	}
	switch (binding->leaf->v->attribute) {
	case GNMI_ATTRIBUTE_PORT_ALIAS:
		if (binding->port != NO_CELL)
			alias_take(d, binding->port, value);
		break;
	case GNMI_ATTRIBUTE_SYSNAME:
		free(d->sysname);
		d->sysname = rw_strdup(gnmi_value_text(value, text, sizeof(text)));
		break;
	case GNMI_ATTRIBUTE_BOOT_TIME:
		if (gnmi_value_u64(value, &boot) < 0)
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

static void metric_take(struct gnmi_feed *feed, struct binding *binding,
	const struct gnmi_update *update, int64_t t_ns, struct sample_list *out)
{
	struct gnmi_converted value;
	enum gnmi_convert rc = gnmi_convert(
		binding->leaf->v, &update->value, feed->d->entities, feed->d->cell_bytes, &value);
	value.estimated = binding->leaf->v->cells && feed->d->cell_assumed;
	binding->wrong = rc == GNMI_CONVERT_WRONG;
	if (rc != GNMI_CONVERT_OK) {
		feed->d->stats.wrong_types += binding->wrong;
		return;
	}
	if (metric_info((unsigned)binding->leaf->v->metric)->type == TYPE_F64)
		binding->zero = value.d == 0;
	else
		binding->zero = value.u == 0;
	if (binding->leaf->v->of) {
		feed->properties[binding->first].value = value;
		feed->properties[binding->first].has = true;
		return;
	}
	for (uint32_t i = 0; i < binding->n; i++) {
		struct part *p = &feed->parts[binding->first + i];
		struct gnmi_converted one = value;
		if (binding->leaf->v->priorities)
			one.u = value.u >> i & 1;
		if (binding->leaf->shared || feed->v[p->cell].several) {
			gnmi_part_take(feed, binding->first + i, &one, t_ns, out);
			continue;
		}
		feed->v[p->cell].emitted_parts = 1;
		gnmi_emit(feed, &feed->v[p->cell], &one, binding->leaf->v->window_ms, t_ns, false,
			out);
	}
}

void gnmi_feed_update(struct gnmi_feed *feed, const struct gnmi_update *update, int64_t t_ns,
	struct sample_list *out)
{
	/* a slow stream brings the names itself */
	if (feed->names_epoch != feed->d->names_epoch && !feed->stream->slow)
		slots_clear(feed);
	uint32_t at = binding_of(feed, update);
	if (at == BINDING_NONE)
		return;
	struct binding *b = &feed->bindings[at - BINDING_FIRST];
	if (!*b->leaf->type)
		b->leaf->type = gnmi_convert_kind_name(update->value.kind);
	if (b->leaf->v->refers) {
		char name[NAME_MAX_BYTES];
		free(feed->refs[b->first].name);
		feed->refs[b->first].name =
			rw_strdup(gnmi_value_text(&update->value, name, sizeof(name)));
	} else if (b->leaf->v->attribute != GNMI_ATTRIBUTE_NONE) {
		gnmi_decode_attribute_take(feed, b, &update->value);
	} else {
		metric_take(feed, b, update, t_ns, out);
	}
}

/* property_wanted - not one that stands in for another that is there. */
static bool property_wanted(const struct gnmi_feed *feed, const struct property *property)
{
	if (!property->has)
		return false;
	for (size_t i = 0; property->leaf->v->fallback && i < feed->n_properties; i++) {
		const struct property *o = &feed->properties[i];
		if (o->has && !o->leaf->v->fallback &&
			o->leaf->v->metric == property->leaf->v->metric &&
			strcmp(o->name, property->name) == 0)
			return false;
	}
	return true;
}

static void object_emit(struct gnmi_feed *feed, const struct ref *ref,
	const struct property *property, int64_t t_ns, struct sample_list *out)
{
	const struct gnmi_text none = {0};
	for (unsigned n = 0; n < 64; n++) {
		char queue[16];
		if (ref->number != GNMI_NUMBER_NONE ? !(ref->numbers >> n & 1) : n > 0)
			continue;
		snprintf(queue, sizeof(queue), "%u", n);
		int priority;
		if (ref->number == GNMI_NUMBER_NONE)
			priority = PRIO_NONE;
		else if (ref->number == GNMI_NUMBER_PRIORITY)
			priority = (int)n;
		else
			priority = profile_priority(feed->d->profile, n);
		uint32_t entity = gnmi_cell_entity(feed, ref->port, property->leaf->v->metric,
			priority, ref->number == GNMI_NUMBER_NONE ? NULL : queue, none);
		uint32_t cell = gnmi_cell_of(feed, entity, property->leaf->v->metric, ref->port);
		if (cell != NO_CELL)
			gnmi_emit(feed, &feed->v[cell], &property->value, 0, t_ns, false, out);
	}
}

void gnmi_feed_round(struct gnmi_feed *feed, int64_t t_ns, struct sample_list *out)
{
	feed->complete = true;
	for (size_t i = 0; i < feed->n_pending; i++) {
		struct cell *c = &feed->v[feed->pending[i]];
		c->pending = false;
		gnmi_cell_emit(feed, c, t_ns, out);
	}
	feed->n_pending = 0;
	for (size_t i = 0; i < feed->n_refs; i++)
		for (size_t k = 0; feed->refs[i].name && k < feed->n_properties; k++)
			if (str_eq(feed->refs[i].kind, feed->properties[k].leaf->v->of) &&
				strcmp(feed->refs[i].name, feed->properties[k].name) == 0 &&
				property_wanted(feed, &feed->properties[k]))
				object_emit(feed, &feed->refs[i], &feed->properties[k], t_ns, out);
}

void gnmi_feed_leaves(const struct gnmi_feed *feed, gnmi_leaf_view_fn *fn, void *arg)
{
	for (size_t i = 0; i < feed->n_leaves; i++) {
		const struct leaf *l = &feed->leaves[i];
		struct gnmi_leaf_view v = {.path = l->v->path,
			.doc = l->v->doc,
			.type = l->type,
			.metric = l->v->metric,
			.fallback = l->v->fallback,
			.paths = l->paths,
			.what = l->v->refers ? l->v->refers
					     : profile_gnmi_attribute_name(l->v->attribute)};
		for (size_t k = 0; k < feed->n_bindings; k++) {
			if (feed->bindings[k].leaf != l)
				continue;
			v.zero += feed->bindings[k].zero;
			v.wrong_type += feed->bindings[k].wrong;
		}
		fn(arg, &v);
	}
}
