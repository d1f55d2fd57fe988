/* profile_gnmi - reads the gNMI half of a profile: streams, subscriptions and what their leaves
 * mean. Patterns are checked here and compiled in collectors/gnmi/gnmi_match.c. */
#include "config/profile/profile_gnmi.h"

#include "config/profile/profile_reader.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

static const char *const hows[] = {"stream", "once", "poll", "get"};
static const char *const attributes[] = {"", "port_alias", "port_management", "port_lanes",
	"queue_number", "boot_time", "sysname", "chassis", "neighbor_sysname", "neighbor_chassis",
	"neighbor_chassis_kind", "neighbor_port", "neighbor_port_kind", "neighbor_descr",
	"neighbor_sysdesc", "neighbor_capabilities", "neighbor_bridge", "neighbor_router",
	"neighbor_station"};
static const char *const encoding_names[] = {"json", "proto", "ascii", "json_ietf"};
static const unsigned encoding_numbers[] = {0, 2, 3, 4}; /* gNMI specification, enum Encoding */
static const struct reader_unit units[] = {
	{"ns", 1, false},
	{"us", 1000, false},
	{"ms", 1000000, false},
	{"s", 1000000000, false},
	{"Mbps", 1000000, false},
	{"kB", 1000, false},
	{"KiB", 1024, false},
	{"cells", 1, true},
};
static const char *const parts[] = {
	"port", "alias", "priority", "queue", "group", "pool", "name", "lane", "dscp"};

const char *profile_gnmi_how_name(enum profile_gnmi_how how)
{
	if ((size_t)how < rw_countof(hows))
		return hows[how];
	return "?";
}

const char *profile_gnmi_attribute_name(enum profile_gnmi_attribute attribute)
{
	if ((size_t)attribute < rw_countof(attributes))
		return attributes[attribute];
	return "?";
}

static const char **texts_read(struct reader *reader, const struct yaml_node *map, const char *key,
	size_t max, size_t *ret_n)
{
	const struct yaml_node *list = reader_list(reader, map, key, max, "a list of names");
	return reader_texts(reader, list, "a name", ret_n);
}

/* ---- leaves -------------------------------------------------------------- */

/* pattern_check - every {word} is one we know and closed. */
static void pattern_check(struct reader *reader, const struct yaml_node *at, const char *path)
{
	if (*path != '/')
		reader_wrong(reader, at->line, at->col,
			"read path '%.80s', expected one that begins with '/'", path);
	for (const char *p = path; (p = strchr(p, '{')); p++) {
		bool known = false;
		for (size_t i = 0; i < rw_countof(parts) && !known; i++)
			known = strncmp(p + 1, parts[i], strlen(parts[i])) == 0 &&
				p[1 + strlen(parts[i])] == '}';
		if (!known)
			reader_wrong(reader, at->line, at->col,
				"unknown placeholder '%.20s' in a path; expected one of {port} "
				"{alias} {priority} "
				"{queue} {group} {pool} {name} {lane} {dscp}",
				p);
	}
}

static void words_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_value *value)
{
	const struct yaml_node *words = reader_value(node, "words");
	const bool texts =
		value->metric >= 0 && metric_info((unsigned)value->metric)->type == TYPE_TEXT;
	if (texts)
		value->otherwise_text = reader_copy(reader, node, "otherwise", false);
	else
		value->has_otherwise =
			reader_number(reader, node, "otherwise", UINT64_MAX, &value->otherwise);
	if (!words)
		return;
	if (words->kind != YAML_MAP || words->n > PROFILE_GNMI_WORDS_MAX) {
		reader_wrong_node(reader, words,
			"at most 16 words and their numbers, such as { UP: 1, DOWN: 0 }");
		return;
	}
	for (size_t i = 0; i < words->n; i++) {
		value->words[i].word = arena_strdup(reader->a, words->items[i].key);
		if (texts)
			value->words[i].text =
				reader_copy(reader, words, words->items[i].key, true);
		else
			reader_number_at(
				reader, words->items[i].value, UINT64_MAX, &value->words[i].value);
	}
	value->n_words = words->n;
}

static void scale_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_value *value)
{
	struct reader_scale scale;
	reader_scale(reader, node, units, rw_countof(units), "one of ns us ms s Mbps kB KiB cells",
		&scale);
	value->mul = scale.mul;
	value->div = scale.div;
	value->cells = scale.cells;
}

static void meaning_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_value *value)
{
	const struct yaml_node *metric = reader_value(node, "metric"),
			       *attribute = reader_value(node, "attribute"),
			       *refers = reader_value(node, "refers");
	value->metric = -1;
	if (!!metric + !!attribute + !!refers != 1) {
		reader_wrong(reader, node->line, node->col,
			"expected one of 'metric', 'attribute' and 'refers'");
		return;
	}
	value->refers = reader_copy(reader, node, "refers", false);
	if (attribute) {
		int i = reader_word(reader, attribute, attributes, rw_countof(attributes),
			"port_alias, port_lanes, queue_number, boot_time, sysname, chassis or one "
			"of "
			"neighbor_...");
		if (i > 0)
			value->attribute = (enum profile_gnmi_attribute)i;
	}
	if (metric)
		value->metric = reader_metric(reader, metric);
}

/* A leaf about a named object, or one that names it, needs the place in its path. */
static void object_check(
	struct reader *reader, const struct yaml_node *node, const struct profile_gnmi_value *value)
{
	if (value->of && !strstr(value->path, "{name}"))
		reader_wrong(
			reader, node->line, node->col, "a leaf with 'of' needs {name} in its path");
	if (value->map &&
		(!value->of || value->metric < 0 ||
			metric_info((unsigned)value->metric)->type != TYPE_TEXT))
		reader_wrong(reader, node->line, node->col,
			"a leaf with {dscp} needs 'of' and a 'metric' that is a text");
}

/* difference_check - only counts can be taken away and given back. */
static void difference_check(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_value *value)
{
	value->subtract = reader_bool(reader, node, "subtract");
	value->restores = reader_bool(reader, node, "restores");
	if (!value->subtract && !value->restores)
		return;
	if (value->metric < 0 || value->of ||
		metric_info((unsigned)value->metric)->type != TYPE_U64)
		reader_wrong(reader, node->line, node->col,
			"'subtract' and 'restores' need a 'metric' that is a whole number");
}

static void ignore_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_value *value)
{
	const struct yaml_node *list = reader_list(
		reader, node, "ignore", PROFILE_GNMI_IGNORE_MAX, "a list of at most 4 numbers");
	for (size_t i = 0; i < reader_n(list); i++)
		if (reader_number_at(reader, list->items[i].value, UINT64_MAX,
			    &value->ignore[value->n_ignore]))
			value->n_ignore++;
}

static void leaf_read(struct reader *reader, struct profile_gnmi_stream *stream, const char *at,
	const struct yaml_node *node)
{
	static const char *const lists[] = {"priorities", "bits"};
	struct profile_gnmi_value *v = &stream->values[stream->n_values];
	uint64_t priority;
	if (!KEYS(reader, node, "a leaf", "path", "metric", "attribute", "refers", "of", "unit",
		    "divide", "words", "otherwise", "suffix", "list", "ignore", "fallback", "fold",
		    "unread", "window", "priority", "alone", "doc", "evidence", "estimated",
		    "subtract", "restores"))
		return;
	*v = (struct profile_gnmi_value){.priority = PRIO_NONE, .line = node->line};
	v->path = reader_copy(reader, node, "path", true);
	if (!v->path)
		return;
	if (*at)
		v->path = arena_printf(reader->a, "%s/%s", at, v->path);
	pattern_check(reader, node, v->path);
	v->doc = str_or(reader_copy(reader, node, "doc", false), "");
	meaning_read(reader, node, v);
	scale_read(reader, node, v);
	words_read(reader, node, v);
	v->of = reader_copy(reader, node, "of", false);
	v->map = strstr(v->path, "{dscp}") != NULL;
	object_check(reader, node, v);
	v->suffix = reader_copy(reader, node, "suffix", false);
	v->fallback = reader_bool(reader, node, "fallback");
	v->estimated = reader_bool(reader, node, "estimated");
	difference_check(reader, node, v);
	v->alone = reader_bool(reader, node, "alone");
	v->fold = reader_fold_whole(reader, node, v->metric);
	v->window_ms = (uint32_t)(reader_duration(reader, node, "window") / NS_PER_MS);
	const struct yaml_node *list = reader_value(node, "list");
	v->priorities = list != NULL;
	if (list)
		v->bits = reader_word(reader, list, lists, 2, "priorities or bits") == 1;
	if (reader_number(reader, node, "priority", 7, &priority))
		v->priority = (int)priority;
	ignore_read(reader, node, v);
	v->unread = texts_read(reader, node, "unread", 8, &v->n_unread);
	v->evidence = reader_evidence(reader, node, stream->evidence);
	stream->n_values++;
}

static void values_read(
	struct reader *reader, struct profile_gnmi_stream *stream, const struct yaml_node *node)
{
	const struct yaml_node *groups = reader_list(reader, node, "values",
		PROFILE_GNMI_VALUES_MAX, "a list of { at: PATH, leaves: [...] }");
	stream->values =
		arena_array(reader->a, struct profile_gnmi_value, PROFILE_GNMI_VALUES_MAX + 1);
	if (!groups) {
		reader_wrong(reader, node->line, node->col, "'values' is missing here");
		return;
	}
	for (size_t i = 0; i < groups->n; i++) {
		const struct yaml_node *g = groups->items[i].value;
		if (!KEYS(reader, g, "a group of values", "at", "leaves"))
			continue;
		const char *at = reader_text(reader, g, "at", true);
		const struct yaml_node *leaves = reader_list(
			reader, g, "leaves", PROFILE_GNMI_VALUES_MAX, "a list of leaves");
		for (size_t k = 0; at && leaves && k < leaves->n; k++) {
			if (stream->n_values == PROFILE_GNMI_VALUES_MAX) {
				reader_wrong(reader, leaves->line, leaves->col,
					"more than %d leaves in stream '%s'",
					PROFILE_GNMI_VALUES_MAX, stream->name);
				return;
			}
			leaf_read(reader, stream, at, leaves->items[k].value);
		}
	}
}

/* ---- streams ------------------------------------------------------------- */

static void subscriptions_read(
	struct reader *reader, struct profile_gnmi_stream *stream, const struct yaml_node *node)
{
	static const char *const modes[] = {"sample", "on_change"};
	const struct yaml_node *l = reader_list(reader, node, "subscribe",
		PROFILE_GNMI_SUBSCRIPTIONS_MAX, "a list of at most 32 subscriptions");
	if (reader_n(l) == 0) {
		reader_wrong(reader, node->line, node->col, "'subscribe' is missing here");
		return;
	}
	stream->subscriptions = arena_array(reader->a, struct profile_gnmi_subscription, l->n);
	for (size_t i = 0; i < l->n; i++) {
		const struct yaml_node *m = l->items[i].value;
		struct profile_gnmi_subscription *to =
			&stream->subscriptions[stream->n_subscriptions];
		if (!KEYS(reader, m, "a subscription", "path", "mode", "min_interval", "optional"))
			continue;
		to->path = reader_copy(reader, m, "path", true);
		if (!to->path)
			continue;
		pattern_check(reader, m, to->path);
		const struct yaml_node *mode = reader_value(m, "mode");
		if (mode)
			to->on_change =
				reader_word(reader, mode, modes, 2, "sample or on_change") == 1;
		to->min_interval_ns = reader_duration(reader, m, "min_interval");
		to->optional = reader_bool(reader, m, "optional");
		stream->n_subscriptions++;
	}
}

static const char how_expected[] = "one of stream once poll get";

/* hows_add - the ways of @list, after those that are there. */
static void hows_add(
	struct reader *reader, const struct yaml_node *list, struct profile_gnmi_stream *stream)
{
	for (size_t i = 0; i < reader_n(list) && stream->n_hows < PROFILE_GNMI_HOWS_MAX; i++) {
		int next = reader_word(
			reader, list->items[i].value, hows, rw_countof(hows), how_expected);
		if (next >= 0)
			stream->hows[stream->n_hows++] = (enum profile_gnmi_how)next;
	}
}

/* ways_read - the ways of streams that are inherited. */
static void ways_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi *gnmi)
{
	const struct yaml_node *map = reader_value(node, "ways");
	if (!map)
		return;
	if (map->kind != YAML_MAP) {
		reader_wrong_node(
			reader, map, "streams and their ways, such as { lldp: [stream] }");
		return;
	}
	gnmi->ways = arena_array(reader->a, struct profile_gnmi_stream, map->n + 1);
	for (size_t i = 0; i < map->n; i++) {
		struct profile_gnmi_stream *to = &gnmi->ways[gnmi->n_ways++];
		const struct yaml_node *list = reader_list(reader, map, map->items[i].key,
			PROFILE_GNMI_HOWS_MAX, "a list of stream, once, poll or get");
		to->name = arena_strdup(reader->a, map->items[i].key);
		to->line = map->items[i].value->line;
		hows_add(reader, list, to);
		if (to->n_hows == 0)
			reader_wrong_node(reader, map->items[i].value, how_expected);
	}
}

/* "how" and "fallback": the first way to ask, and the next ones. */
static void hows_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_stream *stream)
{
	const struct yaml_node *how = reader_value(node, "how");
	enum profile_gnmi_how first = HOW_STREAM;
	if (stream->slow)
		first = HOW_ONCE;
	if (how) {
		int named = reader_word(reader, how, hows, rw_countof(hows), how_expected);
		if (named >= 0)
			first = (enum profile_gnmi_how)named;
	}
	stream->hows[stream->n_hows++] = first;
	const struct yaml_node *list = reader_list(reader, node, "fallback",
		PROFILE_GNMI_HOWS_MAX - 1, "a list of stream, once, poll or get");
	hows_add(reader, list, stream);
}

static struct profile_gnmi_stream *stream_read(
	struct reader *reader, const struct yaml_node *node, struct profile_evidence evidence)
{
	static const char *const cadences[] = {"fast", "slow"};
	struct profile_gnmi_stream *s = arena_new_of(reader->a, struct profile_gnmi_stream);
	if (!KEYS(reader, node, "a stream", "name", "doc", "target", "origin", "plain_names",
		    "cadence", "how", "fallback", "subscribe", "values", "evidence", "effective"))
		return NULL;
	s->name = reader_copy(reader, node, "name", true);
	if (!s->name)
		return NULL;
	s->line = node->line;
	s->evidence = reader_evidence(reader, node, evidence);
	s->doc = str_or(reader_copy(reader, node, "doc", false), "");
	s->target = str_or(reader_copy(reader, node, "target", false), "");
	s->origin = str_or(reader_copy(reader, node, "origin", false), "");
	s->plain_names = reader_bool(reader, node, "plain_names");
	s->effective = reader_bool(reader, node, "effective");
	const struct yaml_node *cadence = reader_value(node, "cadence");
	if (cadence)
		s->slow = reader_word(reader, cadence, cadences, 2, "fast or slow") == 1;
	hows_read(reader, node, s);
	subscriptions_read(reader, s, node);
	values_read(reader, s, node);
	return s;
}

static void encodings_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi *gnmi)
{
	const struct yaml_node *list = reader_list(reader, node, "encodings",
		rw_countof(gnmi->encodings), "a list of proto, json_ietf, json, ascii");
	for (size_t i = 0; i < reader_n(list); i++) {
		int k = reader_word(reader, list->items[i].value, encoding_names,
			rw_countof(encoding_names), "one of proto, json_ietf, json, ascii");
		if (k >= 0)
			gnmi->encodings[gnmi->n_encodings++] = encoding_numbers[k];
	}
}

static void port_prefix_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi *gnmi)
{
	const struct yaml_node *m = reader_value(node, "port_prefix");
	if (!m)
		return;
	if (m->kind != YAML_MAP || m->n > rw_countof(gnmi->port_prefix)) {
		reader_wrong_node(reader, m, "at most 4 prefixes, such as { eth: Ethernet }");
		return;
	}
	for (size_t i = 0; i < m->n; i++) {
		if (m->items[i].value->kind != YAML_TEXT) {
			reader_wrong_node(reader, m->items[i].value, "text");
			continue;
		}
		gnmi->port_prefix[gnmi->n_port_prefix].there =
			arena_strdup(reader->a, m->items[i].key);
		gnmi->port_prefix[gnmi->n_port_prefix++].here =
			arena_strdup(reader->a, m->items[i].value->text);
	}
}

static void prefer_snmp_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi *gnmi)
{
	const struct yaml_node *l =
		reader_list(reader, node, "prefer_snmp", METRIC_COUNT, "a list of metrics");
	gnmi->prefer_snmp = arena_array(reader->a, uint16_t, reader_n(l) + 1);
	for (size_t i = 0; i < reader_n(l); i++) {
		int metric = reader_metric(reader, l->items[i].value);
		if (metric >= 0)
			gnmi->prefer_snmp[gnmi->n_prefer_snmp++] = (uint16_t)metric;
	}
}

void profile_gnmi_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node ||
		!KEYS(reader, node, "'gnmi'", "models", "encodings", "extends", "without",
			"unserved", "ways", "port_prefix", "prefer_snmp", "streams", "evidence",
			"inherited"))
		return;
	struct profile_gnmi *g = arena_new_of(reader->a, struct profile_gnmi);
	const struct profile_evidence evidence =
		reader_evidence(reader, node, (struct profile_evidence){0});
	reader_inherited(reader, node, &g->inherited);
	g->models = texts_read(reader, node, "models", 64, &g->n_models);
	g->without = texts_read(reader, node, "without", 64, &g->n_without);
	g->unserved = texts_read(reader, node, "unserved", 64, &g->n_unserved);
	encodings_read(reader, node, g);
	ways_read(reader, node, g);
	port_prefix_read(reader, node, g);
	prefer_snmp_read(reader, node, g);
	g->extends = reader_copy(reader, node, "extends", false);
	if (g->extends)
		g->extends_line = reader_value(node, "extends")->line;
	const struct yaml_node *streams =
		reader_list(reader, node, "streams", 64, "a list of streams");
	g->streams = arena_array(reader->a, struct profile_gnmi_stream *, reader_n(streams) + 1);
	for (size_t i = 0; i < reader_n(streams); i++) {
		struct profile_gnmi_stream *s =
			stream_read(reader, streams->items[i].value, evidence);
		for (size_t k = 0; s && k < g->n_streams; k++)
			if (strcmp(g->streams[k]->name, s->name) == 0)
				reader_wrong(reader, s->line, 0,
					"stream '%s' twice; the first is in line %d", s->name,
					g->streams[k]->line);
		if (s)
			g->streams[g->n_streams++] = s;
	}
	reader->p->gnmi = g;
}

static bool profile_gnmi_left_out(const struct profile_gnmi *gnmi, const char *name)
{
	for (size_t i = 0; i < gnmi->n_without; i++)
		if (strcmp(gnmi->without[i], name) == 0)
			return true;
	for (size_t i = 0; i < gnmi->n_streams; i++)
		if (strcmp(gnmi->streams[i]->name, name) == 0)
			return true;
	return false;
}

static bool streams_have(struct profile_gnmi_stream *const *streams, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(streams[i]->name, name) == 0)
			return true;
	return false;
}

/* ways_take - the stream of that name is asked in the ways of @ways here; false without it. */
static bool ways_take(struct profile_gnmi_stream **streams, size_t n,
	const struct profile_gnmi_stream *ways, struct arena *a)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(streams[i]->name, ways->name) != 0)
			continue;
		struct profile_gnmi_stream *copy = arena_new_of(a, struct profile_gnmi_stream);
		*copy = *streams[i];
		memcpy(copy->hows, ways->hows, sizeof(copy->hows));
		copy->n_hows = ways->n_hows;
		streams[i] = copy;
		return true;
	}
	return false;
}

char *profile_gnmi_plain(const char *path, char *buf, size_t size)
{
	size_t n = 0;
	bool in_key = false;
	for (; *path && n + 1 < size; path++) {
		in_key |= *path == '[';
		if (!in_key)
			buf[n++] = *path;
		in_key &= *path != ']';
	}
	buf[n] = '\0';
	return buf;
}

bool profile_gnmi_is_under(const char *path, const char *plain)
{
	char buf[PROFILE_GNMI_PLAIN_MAX];
	const size_t n = strlen(plain);
	profile_gnmi_plain(path, buf, sizeof(buf));
	return strncmp(buf, plain, n) == 0 && (buf[n] == '/' || buf[n] == '\0');
}

static bool is_unserved(const struct profile_gnmi *gnmi, const char *path, bool *used)
{
	for (size_t i = 0; i < gnmi->n_unserved; i++)
		if (profile_gnmi_is_under(path, gnmi->unserved[i])) {
			used[i] = true;
			return true;
		}
	return false;
}

/* stream_served - @base without what this kind of switch does not serve of it; @base itself when it
 * serves all. */
static struct profile_gnmi_stream *stream_served(const struct profile_gnmi *gnmi,
	struct profile_gnmi_stream *base, bool *used, struct arena *a)
{
	struct profile_gnmi_stream *s = arena_new_of(a, struct profile_gnmi_stream);
	*s = *base;
	s->n_values = s->n_subscriptions = 0;
	s->values = arena_array(a, struct profile_gnmi_value, base->n_values + 1);
	s->subscriptions =
		arena_array(a, struct profile_gnmi_subscription, base->n_subscriptions + 1);
	for (size_t i = 0; i < base->n_values; i++)
		if (!is_unserved(gnmi, base->values[i].path, used))
			s->values[s->n_values++] = base->values[i];
	for (size_t i = 0; i < base->n_subscriptions; i++)
		if (!is_unserved(gnmi, base->subscriptions[i].path, used))
			s->subscriptions[s->n_subscriptions++] = base->subscriptions[i];
	if (s->n_values == base->n_values && s->n_subscriptions == base->n_subscriptions)
		return base;
	return s;
}

int profile_gnmi_extend(
	struct profile *profile, const struct profile *base, struct arena *a, struct err *e)
{
	struct profile_gnmi *g = profile->gnmi;
	if (!base || !base->gnmi || base->gnmi->extends)
		return err_at(e, -EINVAL, profile->file, g->extends_line, 0,
			"'%s' cannot be extended; expected the name of a profile with a gnmi "
			"section that does "
			"not itself extend another",
			g->extends);
	struct profile_gnmi_stream **streams = arena_array(
		a, struct profile_gnmi_stream *, g->n_streams + base->gnmi->n_streams + 1);
	bool *used = arena_array(a, bool, g->n_unserved + 1);
	size_t n = 0;
	for (size_t i = 0; i < base->gnmi->n_streams; i++)
		if (!profile_gnmi_left_out(g, base->gnmi->streams[i]->name))
			streams[n++] = stream_served(g, base->gnmi->streams[i], used, a);
	g->n_streams_inherited = n;
	for (size_t i = 0; i < g->n_unserved; i++)
		if (!used[i])
			return err_at(e, -EINVAL, profile->file, g->extends_line, 0,
				"read '%s' in unserved, expected a path of the profile this one "
				"extends",
				g->unserved[i]);
	for (size_t i = 0; i < g->inherited.n; i++)
		if (!streams_have(streams, n, g->inherited.names[i]))
			return err_at(e, -EINVAL, profile->file, g->inherited.lines[i], 0,
				"read '%s', expected a stream of the profile this one extends",
				g->inherited.names[i]);
	for (size_t i = 0; i < g->n_ways; i++)
		if (!ways_take(streams, n, &g->ways[i], a))
			return err_at(e, -EINVAL, profile->file, g->ways[i].line, 0,
				"read '%s', expected a stream of the profile this one extends",
				g->ways[i].name);
	for (size_t i = 0; i < g->n_streams; i++)
		streams[n++] = g->streams[i];
	g->streams = streams;
	g->n_streams = n;
	return 0;
}
