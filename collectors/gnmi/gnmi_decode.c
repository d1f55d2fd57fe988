/* gnmi_decode - finds out what each path of a stream means by the profile, and takes its values. */
#include "collectors/gnmi/gnmi_decode.h"

#include "collectors/gnmi/gnmi_series.h"

/* Paths of one stream that come spelled out, because the walker has no number left for them. */
#define GNMI_SPELLED_PATHS_MAX (1u << 18)
#define GNMI_QUEUE_NAMES_MAX 1024u /* of one device whose numbers are kept */

/* ---- the decoder --------------------------------------------------------- */

struct gnmi_decoder *gnmi_decoder_new(struct entities *entities, const char *device,
	const struct profile *profile, struct gnmi_compiled_set *compiled, uint64_t cell_bytes)
{
	struct gnmi_decoder *decoder = rw_calloc(1, sizeof(*decoder));
	*decoder = (struct gnmi_decoder){.entities = entities,
		.device = rw_strdup(device),
		.profile = profile,
		.compiled = compiled,
		.cell_bytes = profile->cell_bytes,
		.sysname = rw_strdup(""),
		.queue_numbers = smap_new(),
		.group_numbers = smap_new()};
	if (cell_bytes) {
		decoder->cell_bytes = cell_bytes;
		decoder->cell_assumed = true;
	}
	gnmi_ports_init(&decoder->ports, profile->gnmi);
	return decoder;
}

void gnmi_decoder_free(struct gnmi_decoder *decoder)
{
	if (!decoder)
		return;
	gnmi_ports_done(&decoder->ports);
	free(decoder->checks);
	gnmi_lldp_free(decoder->lldp);
	smap_free(decoder->queue_numbers);
	smap_free(decoder->group_numbers);
	gnmi_effective_free(decoder->effective);
	free(decoder->sysname);
	free(decoder->device);
	free(decoder);
}

struct gnmi_ports *gnmi_decode_ports(struct gnmi_decoder *decoder)
{
	return &decoder->ports;
}

const char *gnmi_decode_sysname(const struct gnmi_decoder *decoder)
{
	return decoder->sysname;
}

const struct gnmi_decode_stats *gnmi_decode_stats(const struct gnmi_decoder *decoder)
{
	return &decoder->stats;
}

static uint32_t port_add(struct gnmi_decoder *decoder, struct gnmi_text text, bool alias)
{
	const uint32_t port = gnmi_ports_add(&decoder->ports, text, alias);
	if (port == GNMI_PORT_NONE && decoder->ports.n == GNMI_PORTS_MAX)
		gnmi_refuse(decoder);
	return port;
}

/* ---- LLDP neighbours ----------------------------------------------------- */

static bool is_lldp(enum profile_gnmi_attribute attribute)
{
	return attribute >= GNMI_ATTRIBUTE_CHASSIS;
}

bool gnmi_decode_has_lldp(const struct gnmi_decoder *decoder)
{
	return decoder->lldp != NULL;
}

bool gnmi_feed_has_lldp(const struct gnmi_feed *feed)
{
	return feed->compiled->has_lldp;
}

size_t gnmi_decode_neighbors(const struct gnmi_decoder *decoder, struct arena *a,
	const struct profiles *profiles, struct topology_device *ret_self,
	struct topology_neighbor **ret_neighbors)
{
	const struct gnmi_ports *known = &decoder->ports;
	struct topology_port *ports = arena_array(a, struct topology_port, known->n + 1);
	for (size_t i = 0; i < known->n; i++)
		ports[i] = (struct topology_port){.name = arena_strdup(a, known->v[i].name),
			.alias = arena_strdup(a, known->v[i].alias),
			.descr = "",
			.mac = "",
			.speed_bps = known->v[i].speed_bps,
			.outside = known->v[i].management ||
				profile_is_management(decoder->profile, known->v[i].name)};
	*ret_self = (struct topology_device){.name = decoder->device,
		.sysname = decoder->sysname,
		.ports = ports,
		.n_ports = known->n};
	return gnmi_lldp_result(decoder->lldp, a, profiles, ret_self, ret_neighbors);
}

/* ---- feeds --------------------------------------------------------------- */

struct gnmi_feed *gnmi_feed_new(
	struct gnmi_decoder *decoder, const struct profile_gnmi_stream *stream, struct err *e)
{
	const struct gnmi_compiled *compiled = gnmi_compiled_get(decoder->compiled, stream, e);
	if (!compiled)
		return NULL;
	struct gnmi_feed *feed = rw_calloc(1, sizeof(*feed));
	*feed = (struct gnmi_feed){.decoder = decoder,
		.stream = stream,
		.compiled = compiled,
		.by_path = smap_new(),
		.by_entity = map_new(),
		.n_rows = stream->n_values};
	feed->rows = rw_calloc(feed->n_rows + 1, sizeof(*feed->rows));
	for (size_t i = 0; i < feed->n_rows; i++)
		feed->rows[i] = (struct gnmi_row){
			.spec = &stream->values[i], .shared = compiled->shared[i], .type = ""};
	if (compiled->has_lldp && !decoder->lldp)
		decoder->lldp = gnmi_lldp_new();
	if (stream->effective && !decoder->effective)
		decoder->effective = gnmi_effective_new();
	feed->decode = (struct gnmi_decode){.plain_names = stream->plain_names,
		.lists = compiled->lists,
		.n_lists = compiled->n_lists};
	return feed;
}

static void objects_clear(struct gnmi_feed *feed)
{
	for (size_t i = 0; i < feed->n_references; i++)
		free(feed->references[i].name);
	for (size_t i = 0; i < feed->n_properties; i++)
		free(feed->properties[i].name);
	feed->n_references = feed->n_properties = 0;
}

void gnmi_feed_free(struct gnmi_feed *feed)
{
	if (!feed)
		return;
	objects_clear(feed);
	for (size_t i = 0; i < feed->n_series; i++)
		entities_drop(feed->decoder->entities, feed->series[i].entity);
	free(feed->references);
	free(feed->properties);
	free(feed->slots);
	free(feed->bindings);
	free(feed->parts);
	free(feed->series);
	free(feed->pending);
	smap_free(feed->by_path);
	map_free(feed->by_entity);
	free(feed->rows);
	free(feed);
}

const struct gnmi_decode *gnmi_feed_decode(const struct gnmi_feed *feed)
{
	return &feed->decode;
}

/* slots_clear - forgets what paths mean: path_ids begin anew, or aliases of ports changed. Series
 * stay, because a counter goes on. */
static void slots_clear(struct gnmi_feed *feed)
{
	if (feed->n_slots)
		memset(feed->slots, 0, feed->n_slots * sizeof(*feed->slots));
	smap_free(feed->by_path);
	feed->by_path = smap_new();
	feed->n_bindings = feed->n_parts = feed->n_pending = 0;
	objects_clear(feed);
	for (size_t i = 0; i < feed->n_series; i++) {
		feed->series[i].first_part = GNMI_SERIES_NONE;
		feed->series[i].pending = false;
		feed->series[i].held = 0;
	}
	for (size_t i = 0; i < feed->n_rows; i++)
		feed->rows[i].paths = 0;
	feed->alias_changes = feed->decoder->ports.alias_changes;
}

void gnmi_feed_begin(struct gnmi_feed *feed)
{
	slots_clear(feed);
	feed->n_unknown = 0;
	feed->unknown[0] = '\0';
	gnmi_effective_asked(feed);
	feed->complete = false;
	feed->adds_ports = feed->decoder->ports.n == 0;
	if (feed->compiled->has_lldp)
		gnmi_lldp_clear(feed->decoder->lldp);
	for (size_t i = 0; feed->compiled->has_lanes && i < feed->decoder->ports.n; i++)
		feed->decoder->ports.v[i].lanes = 0;
}

/* ---- what a path means --------------------------------------------------- */

static void part_add(
	struct gnmi_feed *feed, const struct gnmi_row *row, const struct gnmi_series_key *key)
{
	const uint32_t index = gnmi_series_at(feed, key);
	if (index == GNMI_SERIES_NONE)
		return;
	struct gnmi_series *series = &feed->series[index];
	rw_grow(feed->parts, feed->n_parts, feed->cap_parts);
	feed->parts[feed->n_parts] =
		(struct gnmi_part){.series = index, .next = series->first_part, .row = row};
	series->several = series->first_part != GNMI_SERIES_NONE;
	series->first_part = (uint32_t)feed->n_parts++;
}

/* parts_add - one part for each series that the matched path feeds. */
static void parts_add(struct gnmi_feed *feed, const struct gnmi_row *row, uint32_t port,
	const struct gnmi_match *match)
{
	const struct profile_gnmi_value *spec = row->spec;
	struct gnmi_series_key key = {.metric = spec->metric, .port = port, .pool = match->pool};
	char queue[GNMI_NAME_MAX];
	/* 1. a set of priorities: one series each */
	if (spec->priorities) {
		for (key.priority = 0; key.priority < 8; key.priority++)
			part_add(feed, row, &key);
		return;
	}
	/* 2. of the port, or of the priority that the profile names */
	if (match->number == GNMI_NUMBER_NONE || spec->priority != PRIO_NONE) {
		key.priority = spec->priority;
		part_add(feed, row, &key);
		return;
	}
	/* 3. of a queue with a name instead of a number */
	key.queue = queue;
	if (match->queue_name.p) {
		snprintf(queue, sizeof(queue), "%.*s", (int)match->queue_name.n,
			match->queue_name.p);
		key.priority = PRIO_NONE;
		part_add(feed, row, &key);
		return;
	}
	/* 4. of numbered priorities, queues or groups: one series each */
	for (unsigned n = 0; n < 64; n++) {
		if (!(match->numbers >> n & 1))
			continue;
		snprintf(queue, sizeof(queue), "%u", n);
		key.priority = gnmi_series_priority_of(feed, match->number, n);
		part_add(feed, row, &key);
	}
}

static uint32_t reference_add(
	struct gnmi_feed *feed, const struct gnmi_binding *binding, const struct gnmi_match *match)
{
	rw_grow(feed->references, feed->n_references, feed->cap_references);
	feed->references[feed->n_references] =
		(struct gnmi_reference){.kind = binding->row->spec->refers,
			.port = binding->port,
			.number = match->number,
			.numbers = match->numbers};
	return (uint32_t)feed->n_references++;
}

static uint32_t property_add(struct gnmi_feed *feed, const struct gnmi_row *row,
	const struct gnmi_match *match, struct gnmi_text of)
{
	char name[GNMI_NAME_MAX];
	snprintf(name, sizeof(name), "%.*s", (int)of.n, str_or(of.p, ""));
	rw_grow(feed->properties, feed->n_properties, feed->cap_properties);
	feed->properties[feed->n_properties] = (struct gnmi_property){.row = row,
		.name = rw_strdup(name),
		.number = match->number,
		.numbers = match->numbers,
		.has_lane = match->has_lane,
		.lanes = match->lanes};
	return (uint32_t)feed->n_properties++;
}

/* port_of - the port that a path names. LLDP is also spoken on management ports, which are not part
 * of the fabric: a neighbour adds a port only when nothing else does. */
static uint32_t port_of(
	struct gnmi_feed *feed, const struct gnmi_row *row, const struct gnmi_match *match)
{
	if (!match->port.p)
		return GNMI_PORT_NONE;
	if (is_lldp(row->spec->attribute) && !feed->adds_ports)
		return gnmi_ports_find(&feed->decoder->ports, match->port, match->alias);
	return port_add(feed->decoder, match->port, match->alias);
}

static struct smap *numbers_of_names(const struct gnmi_decoder *decoder, enum gnmi_number kind)
{
	if (kind == GNMI_NUMBER_GROUP)
		return decoder->group_numbers;
	return decoder->queue_numbers;
}

/* match_numbered - @match with the number of the queue or group instead of its name, where the
 * device has told it. */
static struct gnmi_match match_numbered(
	const struct gnmi_decoder *decoder, const struct gnmi_match *match)
{
	struct gnmi_match ret = *match;
	uint64_t number = 0;
	if (!match->queue_name.p ||
		!smap_get(numbers_of_names(decoder, match->number), match->queue_name.p,
			match->queue_name.n, &number))
		return ret;
	ret.numbers = (uint64_t)1 << (number - 1);
	ret.queue_name = (struct gnmi_text){0};
	return ret;
}

/* A port that was not named yet may be named by another stream: the path is looked up again. */
static uint32_t binding_of_no_port(const struct gnmi_decoder *decoder)
{
	if (decoder->ports.n == GNMI_PORTS_MAX)
		return BINDING_NONE;
	return BINDING_NEW;
}

static uint32_t binding_add(
	struct gnmi_feed *feed, struct gnmi_row *row, const struct gnmi_match *match)
{
	const struct profile_gnmi_value *spec = row->spec;
	struct gnmi_binding binding = {
		.row = row, .port = port_of(feed, row, match), .also = BINDING_NONE};
	if (match->port.p && binding.port == GNMI_PORT_NONE)
		return binding_of_no_port(feed->decoder);
	row->paths++;
	if (is_lldp(spec->attribute) && binding.port != GNMI_PORT_NONE)
		binding.first = gnmi_lldp_of(feed->decoder->lldp, binding.port,
			str_or(match->name.p, ""), match->name.n);
	if (spec->attribute == GNMI_ATTRIBUTE_QUEUE_NUMBER) {
		binding.first = property_add(feed, row, match, match->queue_name);
	} else if (spec->refers) {
		binding.first = reference_add(feed, &binding, match);
	} else if (spec->of) {
		binding.first = property_add(feed, row, match, match->name);
	} else if (spec->metric >= 0) {
		binding.first = (uint32_t)feed->n_parts;
		parts_add(feed, row, binding.port, match);
		binding.n = (uint32_t)(feed->n_parts - binding.first);
	}
	rw_grow(feed->bindings, feed->n_bindings, feed->cap_bindings);
	feed->bindings[feed->n_bindings++] = binding;
	return BINDING_FIRST + (uint32_t)feed->n_bindings - 1;
}

/* bindings_add - what the path means by row @i, and by those after it that have the same path. */
static uint32_t bindings_add(struct gnmi_feed *feed, size_t i, const struct gnmi_match *found)
{
	struct gnmi_match numbered = *found;
	if (feed->rows[i].spec->attribute != GNMI_ATTRIBUTE_QUEUE_NUMBER)
		numbered = match_numbered(feed->decoder, found);
	const struct gnmi_match *match = &numbered;
	const uint32_t first = binding_add(feed, &feed->rows[i], match);
	uint32_t last = first;
	while (last >= BINDING_FIRST && feed->compiled->also[i]) {
		i = feed->compiled->also[i] - 1;
		const uint32_t next = binding_add(feed, &feed->rows[i], match);
		feed->bindings[last - BINDING_FIRST].also = next;
		last = next;
	}
	return first;
}

/* A path comes from outside: as one line, and cut where it is long. */
static void feed_unknown_keep(struct gnmi_feed *feed, const struct gnmi_update *update)
{
	char text[GNMI_EXAMPLE_MAX];
	snprintf(text, sizeof(text), "%.*s", (int)update->path_n, update->path);
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	snprintf(feed->unknown, sizeof(feed->unknown), "%s", clean);
}

uint64_t gnmi_feed_unknown(const struct gnmi_feed *feed, const char **ret_example)
{
	*ret_example = feed->unknown;
	return feed->n_unknown;
}

static uint32_t binding_new(struct gnmi_feed *feed, const struct gnmi_update *update)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_elem *elems;
	struct gnmi_match match;
	size_t n = 0;
	size_t row = feed->n_rows;
	if (gnmi_path_parse(update->path, update->path_n, a, &elems, &n, NULL) == 0)
		row = 0;
	for (; row < feed->n_rows; row++)
		if (gnmi_pattern_match(feed->compiled->patterns[row], elems, n, &match))
			return bindings_add(feed, row, &match);
	feed->decoder->stats.unknown_paths++;
	if (feed->n_unknown++ == 0)
		feed_unknown_keep(feed, update);
	return BINDING_NONE;
}

static uint32_t *slot_at(struct gnmi_feed *feed, uint32_t path_id)
{
	if (path_id < feed->n_slots)
		return &feed->slots[path_id];
	size_t n = 256;
	if (feed->n_slots)
		n = feed->n_slots;
	while (n <= path_id)
		n *= 2;
	feed->slots = rw_realloc(feed->slots, n * sizeof(*feed->slots));
	memset(feed->slots + feed->n_slots, 0, (n - feed->n_slots) * sizeof(*feed->slots));
	feed->n_slots = n;
	return &feed->slots[path_id];
}

static uint32_t binding_of(struct gnmi_feed *feed, const struct gnmi_update *update)
{
	if (update->path_id != GNMI_PATH_NONE) {
		uint32_t *slot = slot_at(feed, update->path_id);
		if (*slot == BINDING_NEW)
			*slot = binding_new(feed, update);
		return *slot;
	}
	uint64_t at;
	if (smap_get(feed->by_path, update->path, update->path_n, &at))
		return (uint32_t)at;
	if (smap_count(feed->by_path) >= GNMI_SPELLED_PATHS_MAX) {
		gnmi_refuse(feed->decoder);
		return BINDING_NONE;
	}
	uint32_t binding = binding_new(feed, update);
	if (binding != BINDING_NEW)
		smap_put(feed->by_path, update->path, update->path_n, binding);
	return binding;
}

/* ---- updates ------------------------------------------------------------- */

/* take_boot_time - counters of a device that has restarted begin anew. */
static void take_boot_time(struct gnmi_decoder *decoder, const struct gnmi_value *value)
{
	uint64_t boot;
	if (gnmi_value_u64(value, &boot) < 0)
		return;
	if (decoder->has_boot && boot != decoder->boot) {
		decoder->epoch++;
		decoder->stats.restarts++;
	}
	decoder->boot = boot;
	decoder->has_boot = true;
}

/* take_lane - one lane of the port; a list of them comes one by one. */
static void take_lane(struct gnmi_decoder *decoder, uint32_t port, const struct gnmi_value *value)
{
	uint64_t lane;
	if (port != GNMI_PORT_NONE && gnmi_value_u64(value, &lane) == 0 && lane < 64)
		decoder->ports.v[port].lanes |= (uint64_t)1 << lane;
}

/* take_queue_number - which queue or group a name stands for. What paths mean changes with it. */
static void take_queue_number(struct gnmi_decoder *decoder, const struct gnmi_property *of,
	const struct gnmi_value *value)
{
	struct smap *numbers = numbers_of_names(decoder, of->number);
	uint64_t number, known = 0;
	if (!*of->name || gnmi_value_u64(value, &number) < 0 || number > 63)
		return;
	smap_get(numbers, of->name, strlen(of->name), &known);
	if (known == number + 1 || (!known && smap_count(numbers) == GNMI_QUEUE_NAMES_MAX))
		return;
	smap_put(numbers, of->name, strlen(of->name), number + 1);
	decoder->ports.alias_changes++;
}

static void take_attribute(
	struct gnmi_feed *feed, const struct gnmi_binding *binding, const struct gnmi_value *value)
{
	struct gnmi_decoder *decoder = feed->decoder;
	const struct profile_gnmi_value *spec = binding->row->spec;
	char text[GNMI_NAME_MAX];
	if (is_lldp(spec->attribute)) {
		uint64_t number = 0;
		/* fails for a word the profile does not know; 0 is "unknown kind" */
		gnmi_convert_number(spec, value, &number);
		gnmi_lldp_take(decoder->lldp, binding->first, spec->attribute,
			gnmi_value_text(value, text, sizeof(text)), number);
		return;
	}
	switch (spec->attribute) {
	case GNMI_ATTRIBUTE_PORT_ALIAS:
		if (binding->port != GNMI_PORT_NONE)
			gnmi_ports_set_alias(&decoder->ports, binding->port,
				gnmi_value_text(value, text, sizeof(text)));
		break;
	case GNMI_ATTRIBUTE_QUEUE_NUMBER:
		take_queue_number(decoder, &feed->properties[binding->first], value);
		break;
	case GNMI_ATTRIBUTE_PORT_LANES: take_lane(decoder, binding->port, value); break;
	case GNMI_ATTRIBUTE_PORT_MANAGEMENT:
		if (binding->port != GNMI_PORT_NONE)
			decoder->ports.v[binding->port].management =
				str_eq(gnmi_value_text(value, text, sizeof(text)), "true");
		break;
	case GNMI_ATTRIBUTE_SYSNAME:
		free(decoder->sysname);
		decoder->sysname = text_clean_copy(gnmi_value_text(value, text, sizeof(text)));
		break;
	case GNMI_ATTRIBUTE_BOOT_TIME: take_boot_time(decoder, value); break;
	default: break;
	}
}

static void take_parts(struct gnmi_feed *feed, const struct gnmi_binding *binding,
	const struct gnmi_converted *value, int64_t t_ns, struct sample_list *out)
{
	const struct gnmi_row *row = binding->row;
	const struct gnmi_sample_info info = {.t_ns = t_ns, .window_ms = row->spec->window_ms};
	for (uint32_t i = 0; i < binding->n; i++) {
		const uint32_t part = binding->first + i;
		struct gnmi_series *series = &feed->series[feed->parts[part].series];
		struct gnmi_converted one = *value;
		if (row->spec->priorities)
			one.u = value->u >> i & 1;
		if (row->shared || series->several) {
			gnmi_series_take_part(feed, part, &one, t_ns, out);
			continue;
		}
		series->emitted_parts = 1;
		gnmi_series_emit(feed, series, &one, info, out);
	}
}

static void take_metric(struct gnmi_feed *feed, struct gnmi_binding *binding,
	const struct gnmi_update *update, int64_t t_ns, struct sample_list *out)
{
	struct gnmi_decoder *decoder = feed->decoder;
	const struct profile_gnmi_value *spec = binding->row->spec;
	struct gnmi_converted value;
	const enum gnmi_convert rc = gnmi_convert(spec, &update->value,
		(struct gnmi_texts){decoder->entities, decoder->device}, decoder->cell_bytes,
		&value);
	value.estimated = spec->estimated || (spec->cells && decoder->cell_assumed);
	binding->wrong = rc == GNMI_CONVERT_WRONG;
	if (rc != GNMI_CONVERT_OK) {
		decoder->stats.wrong_types += binding->wrong;
		return;
	}
	if (metric_info((unsigned)spec->metric)->type == TYPE_F64)
		binding->zero = value.d == 0;
	else
		binding->zero = value.u == 0;
	if (spec->of) {
		feed->properties[binding->first].value = value;
		feed->properties[binding->first].has_value = true;
	} else {
		take_parts(feed, binding, &value, t_ns, out);
	}
}

static void take_reference(struct gnmi_reference *reference, const struct gnmi_value *value)
{
	char name[GNMI_NAME_MAX];
	gnmi_value_text(value, name, sizeof(name));
	gnmi_bare_name(name);
	free(reference->name);
	reference->name = rw_strdup(name);
}

/* take_update - by one meaning of its path. */
static void take_update(struct gnmi_feed *feed, struct gnmi_binding *binding,
	const struct gnmi_update *update, int64_t t_ns, struct sample_list *out)
{
	struct gnmi_row *row = binding->row;
	if (!*row->type)
		row->type = gnmi_convert_kind_name(update->value.kind);
	if (row->spec->refers)
		take_reference(&feed->references[binding->first], &update->value);
	else if (row->spec->attribute != GNMI_ATTRIBUTE_NONE)
		take_attribute(feed, binding, &update->value);
	else
		take_metric(feed, binding, update, t_ns, out);
}

void gnmi_feed_update(struct gnmi_feed *feed, const struct gnmi_update *update, int64_t t_ns,
	struct sample_list *out)
{
	/* A slow stream brings the aliases itself: what its paths mean is still valid. */
	if (feed->alias_changes != feed->decoder->ports.alias_changes && !feed->stream->slow)
		slots_clear(feed);
	uint32_t at = binding_of(feed, update);
	while (at >= BINDING_FIRST) {
		struct gnmi_binding *binding = &feed->bindings[at - BINDING_FIRST];
		take_update(feed, binding, update, t_ns, out);
		at = binding->also;
	}
}

void gnmi_feed_pace(struct gnmi_feed *feed, int64_t least_ns)
{
	feed->least_ns = least_ns;
}

void gnmi_feed_round(struct gnmi_feed *feed, int64_t t_ns, struct sample_list *out)
{
	feed->complete = true;
	gnmi_effective_round(feed);
	for (size_t i = 0; i < feed->n_pending; i++) {
		struct gnmi_series *series = &feed->series[feed->pending[i]];
		series->pending = false;
		gnmi_series_emit_parts(feed, series, t_ns, out);
	}
	feed->n_pending = 0;
	gnmi_objects_emit(feed, t_ns, out);
}

void gnmi_feed_leaves(const struct gnmi_feed *feed, gnmi_leaf_view_fn *fn, void *arg)
{
	for (size_t i = 0; i < feed->n_rows; i++) {
		const struct gnmi_row *row = &feed->rows[i];
		const struct profile_gnmi_value *spec = row->spec;
		struct gnmi_leaf_view view = {.path = spec->path,
			.doc = spec->doc,
			.type = row->type,
			.metric = spec->metric,
			.fallback = spec->fallback,
			.paths = row->paths};
		view.what = str_or(spec->refers, profile_gnmi_attribute_name(spec->attribute));
		for (size_t k = 0; k < feed->n_bindings; k++) {
			if (feed->bindings[k].row != row)
				continue;
			view.zero += feed->bindings[k].zero;
			view.wrong_type += feed->bindings[k].wrong;
		}
		fn(arg, &view);
	}
}
