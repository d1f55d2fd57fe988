/* profile_gnmi - reads the gNMI half of a profile (see the header). Patterns are compiled by who
 * matches them: collectors/gnmi/gnmi_match.c. */
#include "config/profile/profile_gnmi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/str.h"
#include "config/profile/profile_reader.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

static const char *const hows[] = {"stream", "once", "poll", "get"};
static const char *const attributes[] = {"", "port_alias", "boot_time", "sysname", "chassis",
	"neighbor_sysname", "neighbor_chassis", "neighbor_chassis_kind", "neighbor_port",
	"neighbor_port_kind", "neighbor_descr"};
static const struct {
	const char *name;
	unsigned number;
} encodings[] = {{"json", 0}, {"proto", 2}, {"ascii", 3}, {"json_ietf", 4}};
static const struct {
	const char *name;
	uint64_t mul;
	bool cells;
} units[] = {
	{"ns", 1, false},
	{"us", 1000, false},
	{"ms", 1000000, false},
	{"s", 1000000000, false},
	{"Mbps", 1000000, false},
	{"kB", 1000, false},
	{"KiB", 1024, false},
	{"cells", 1, true},
};
static const char *const parts[] = {"port", "alias", "priority", "queue", "group", "pool", "name"};

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

/* profile_gnmi_index_of - of @node's text in @names, or -1 with a mistake reported. */
static int profile_gnmi_index_of(struct reader *reader, const struct yaml_node *node,
	const char *const *names, size_t n_names, const char *expected)
{
	for (size_t i = 0; i < n_names; i++)
		if (node->kind == YAML_TEXT && *node->text && strcmp(node->text, names[i]) == 0)
			return (int)i;
	reader_wrong_node(reader, node, expected);
	return -1;
}

static const char *profile_gnmi_copy(
	struct reader *reader, const struct yaml_node *map, const char *key, bool required)
{
	const char *s = reader_text(reader, map, key, required);
	if (s)
		return arena_strdup(reader->a, s);
	return NULL;
}

static int64_t profile_gnmi_duration_of(
	struct reader *reader, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = reader_value(map, key);
	int64_t ns = 0;
	struct err e = {0};
	if (v && (v->kind != YAML_TEXT || unit_duration(v->text, &ns, &e) < 0))
		reader_wrong_node(reader, v, "a duration such as 10s");
	return ns;
}

/* profile_gnmi_list_of - a list of at most @max texts, or NULL. */
static const struct yaml_node *profile_gnmi_list_of(struct reader *reader,
	const struct yaml_node *map, const char *key, size_t max, const char *expected)
{
	const struct yaml_node *l = reader_value(map, key);
	if (l && (l->kind != YAML_LIST || l->n > max)) {
		reader_wrong_node(reader, l, expected);
		return NULL;
	}
	return l;
}

static const char **texts_read(struct reader *reader, const struct yaml_node *map, const char *key,
	size_t max, size_t *ret_n)
{
	const struct yaml_node *l = profile_gnmi_list_of(reader, map, key, max, "a list of names");
	const char **v = arena_array(reader->a, const char *, l ? l->n + 1 : 1);
	for (size_t i = 0; l && i < l->n; i++) {
		if (l->items[i].value->kind != YAML_TEXT)
			reader_wrong_node(reader, l->items[i].value, "a name");
		else
			v[(*ret_n)++] = arena_strdup(reader->a, l->items[i].value->text);
	}
	return v;
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
				"read '%.20s' in a path, expected one of {port} {alias} {priority} "
				"{queue} {group} {pool} {name}",
				p);
	}
}

static void words_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_value *value)
{
	const struct yaml_node *words = reader_value(node, "words");
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
		reader_number_at(reader, words->items[i].value, UINT64_MAX, &value->words[i].value);
	}
	value->n_words = words->n;
}

static void scale_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi_value *value)
{
	const struct yaml_node *unit = reader_value(node, "unit");
	uint64_t u;
	value->mul = value->div = 1;
	for (size_t i = 0; unit && i <= rw_countof(units); i++) {
		if (i == rw_countof(units)) {
			reader_wrong_node(reader, unit, "one of ns us ms s Mbps kB KiB cells");
		} else if (unit->kind == YAML_TEXT && strcmp(units[i].name, unit->text) == 0) {
			value->mul = units[i].mul;
			value->cells = units[i].cells;
			break;
		}
	}
	if (reader_number(reader, node, "divide", UINT32_MAX, &u)) {
		if (u)
			value->div = u;
		else
			value->div = 1;
		if (u == 0)
			reader_wrong_node(
				reader, reader_value(node, "divide"), "a whole number from 1");
	}
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
	value->refers = profile_gnmi_copy(reader, node, "refers", false);
	if (attribute) {
		int i = profile_gnmi_index_of(reader, attribute, attributes, rw_countof(attributes),
			"port_alias, boot_time, sysname, chassis or one of neighbor_...");
		if (i > 0)
			value->attribute = (enum profile_gnmi_attribute)i;
		else
			value->attribute = GNMI_ATTRIBUTE_NONE;
	}
	if (metric && metric->kind == YAML_TEXT)
		value->metric = metric_by_name(metric->text);
	if (metric && value->metric < 0)
		reader_wrong_node(
			reader, metric, "the name of a metric; docs/metrics.md lists them");
}

static void leaf_read(struct reader *reader, struct profile_gnmi_stream *stream, const char *at,
	const struct yaml_node *node)
{
	struct profile_gnmi_value *v = &stream->values[stream->n_values];
	const struct yaml_node *list, *ignore;
	const char *path;
	uint64_t u;
	if (!KEYS(reader, node, "a leaf", "path", "metric", "attribute", "refers", "of", "unit",
		    "divide", "words", "otherwise", "suffix", "list", "ignore", "fallback", "fold",
		    "unread", "window", "priority", "doc") ||
		!(path = reader_text(reader, node, "path", true)))
		return;
	*v = (struct profile_gnmi_value){.priority = PRIO_NONE, .line = node->line};
	if (*at)
		v->path = arena_printf(reader->a, "%s/%s", at, path);
	else
		v->path = arena_strdup(reader->a, path);
	pattern_check(reader, node, v->path);
	if ((path = profile_gnmi_copy(reader, node, "doc", false)))
		v->doc = path;
	else
		v->doc = "";
	meaning_read(reader, node, v);
	scale_read(reader, node, v);
	words_read(reader, node, v);
	v->of = profile_gnmi_copy(reader, node, "of", false);
	if ((v->of || v->refers) && !strstr(v->path, v->of ? "{name}" : "{"))
		reader_wrong(reader, node->line, node->col, "a leaf with '%s' needs %s in its path",
			v->of ? "of" : "refers", v->of ? "{name}" : "a place, such as {port}");
	v->suffix = profile_gnmi_copy(reader, node, "suffix", false);
	v->fallback = reader_bool(reader, node, "fallback");
	v->fold = reader_fold(reader, node, v->metric);
	v->window_ms = (uint32_t)(profile_gnmi_duration_of(reader, node, "window") / 1000000);
	if ((list = reader_value(node, "list"))) {
		static const char *const lists[] = {"priorities"};
		v->priorities = profile_gnmi_index_of(reader, list, lists, 1, "priorities") == 0;
	}
	if (reader_number(reader, node, "priority", 7, &u))
		v->priority = (int)u;
	ignore = profile_gnmi_list_of(
		reader, node, "ignore", PROFILE_GNMI_IGNORE_MAX, "a list of at most 4 numbers");
	for (size_t i = 0; ignore && i < ignore->n; i++)
		if (reader_number_at(
			    reader, ignore->items[i].value, UINT64_MAX, &v->ignore[v->n_ignore]))
			v->n_ignore++;
	v->unread = texts_read(reader, node, "unread", 8, &v->n_unread);
	stream->n_values++;
}

static void values_read(
	struct reader *reader, struct profile_gnmi_stream *stream, const struct yaml_node *node)
{
	const struct yaml_node *groups = profile_gnmi_list_of(reader, node, "values",
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
		const struct yaml_node *leaves = profile_gnmi_list_of(
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
	const struct yaml_node *l = profile_gnmi_list_of(reader, node, "subscribe",
				       PROFILE_GNMI_SUBSCRIPTIONS_MAX,
				       "a list of at most 32 subscriptions"),
			       *mode;
	if (!l || l->n == 0) {
		reader_wrong(reader, node->line, node->col, "'subscribe' is missing here");
		return;
	}
	stream->subscriptions = arena_array(reader->a, struct profile_gnmi_subscription, l->n);
	for (size_t i = 0; i < l->n; i++) {
		const struct yaml_node *m = l->items[i].value;
		struct profile_gnmi_subscription *to =
			&stream->subscriptions[stream->n_subscriptions];
		if (!KEYS(reader, m, "a subscription", "path", "mode", "min_interval",
			    "optional") ||
			!(to->path = profile_gnmi_copy(reader, m, "path", true)))
			continue;
		pattern_check(reader, m, to->path);
		to->on_change = (mode = reader_value(m, "mode")) &&
			profile_gnmi_index_of(reader, mode, modes, 2, "sample or on_change") == 1;
		to->min_interval_ns = profile_gnmi_duration_of(reader, m, "min_interval");
		to->optional = reader_bool(reader, m, "optional");
		stream->n_subscriptions++;
	}
}

static struct profile_gnmi_stream *stream_read(struct reader *reader, const struct yaml_node *node)
{
	static const char *const cadences[] = {"fast", "slow"};
	struct profile_gnmi_stream *s = arena_new_of(reader->a, struct profile_gnmi_stream);
	const struct yaml_node *v, *l;
	const char *text;
	if (!KEYS(reader, node, "a stream", "name", "doc", "target", "origin", "plain_names",
		    "cadence", "how", "fallback", "subscribe", "values") ||
		!(s->name = profile_gnmi_copy(reader, node, "name", true)))
		return NULL;
	s->line = node->line;
	if ((text = profile_gnmi_copy(reader, node, "doc", false)))
		s->doc = text;
	else
		s->doc = "";
	if ((text = profile_gnmi_copy(reader, node, "target", false)))
		s->target = text;
	else
		s->target = "";
	if ((text = profile_gnmi_copy(reader, node, "origin", false)))
		s->origin = text;
	else
		s->origin = "";
	s->plain_names = reader_bool(reader, node, "plain_names");
	s->slow = (v = reader_value(node, "cadence")) &&
		profile_gnmi_index_of(reader, v, cadences, 2, "fast or slow") == 1;
	int how = 0;
	if ((v = reader_value(node, "how")))
		how = profile_gnmi_index_of(
			reader, v, hows, rw_countof(hows), "one of stream once poll get");
	s->hows[s->n_hows++] = how >= 0 && v ? (enum profile_gnmi_how)how
		: s->slow                    ? HOW_ONCE
					     : HOW_STREAM;
	if (s->slow && s->hows[0] == HOW_STREAM)
		reader_wrong_node(
			reader, v, "once, poll or get: a slow stream is asked every slow_interval");
	l = profile_gnmi_list_of(
		reader, node, "fallback", PROFILE_GNMI_HOWS_MAX - 1, "a list of once, poll or get");
	for (size_t i = 0; l && i < l->n; i++)
		if ((how = profile_gnmi_index_of(reader, l->items[i].value, hows, rw_countof(hows),
			     "one of stream once poll get")) >= 0)
			s->hows[s->n_hows++] = (enum profile_gnmi_how)how;
	subscriptions_read(reader, s, node);
	values_read(reader, s, node);
	return s;
}

static void encodings_read(
	struct reader *reader, const struct yaml_node *node, struct profile_gnmi *gnmi)
{
	const struct yaml_node *l = profile_gnmi_list_of(reader, node, "encodings",
		rw_countof(gnmi->encodings), "a list of proto, json_ietf, json, ascii");
	for (size_t i = 0; l && i < l->n; i++) {
		size_t k = 0;
		while (k < rw_countof(encodings) &&
			!(l->items[i].value->kind == YAML_TEXT &&
				strcmp(l->items[i].value->text, encodings[k].name) == 0))
			k++;
		if (k == rw_countof(encodings))
			reader_wrong_node(
				reader, l->items[i].value, "one of proto, json_ietf, json, ascii");
		else
			gnmi->encodings[gnmi->n_encodings++] = encodings[k].number;
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
	const struct yaml_node *l = profile_gnmi_list_of(
		reader, node, "prefer_snmp", METRIC_COUNT, "a list of metrics");
	gnmi->prefer_snmp = arena_array(reader->a, uint16_t, l ? l->n + 1 : 1);
	for (size_t i = 0; l && i < l->n; i++) {
		const struct yaml_node *m = l->items[i].value;
		int metric = -1;
		if (m->kind == YAML_TEXT)
			metric = metric_by_name(m->text);
		if (metric < 0)
			reader_wrong_node(
				reader, m, "the name of a metric; docs/metrics.md lists them");
		else
			gnmi->prefer_snmp[gnmi->n_prefer_snmp++] = (uint16_t)metric;
	}
}

void profile_gnmi_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node ||
		!KEYS(reader, node, "'gnmi'", "models", "encodings", "extends", "without",
			"port_prefix", "prefer_snmp", "streams"))
		return;
	struct profile_gnmi *g = arena_new_of(reader->a, struct profile_gnmi);
	g->models = texts_read(reader, node, "models", 64, &g->n_models);
	g->without = texts_read(reader, node, "without", 64, &g->n_without);
	encodings_read(reader, node, g);
	port_prefix_read(reader, node, g);
	prefer_snmp_read(reader, node, g);
	if ((g->extends = profile_gnmi_copy(reader, node, "extends", false)))
		g->extends_line = reader_value(node, "extends")->line;
	const struct yaml_node *streams =
		profile_gnmi_list_of(reader, node, "streams", 64, "a list of streams");
	g->streams =
		arena_array(reader->a, struct profile_gnmi_stream *, streams ? streams->n + 1 : 1);
	for (size_t i = 0; streams && i < streams->n; i++) {
		struct profile_gnmi_stream *s = stream_read(reader, streams->items[i].value);
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

int profile_gnmi_extend(
	struct profile *profile, const struct profile *base, struct arena *a, struct err *e)
{
	struct profile_gnmi *g = profile->gnmi;
	if (!base || !base->gnmi || base->gnmi->extends)
		return err_at(e, -EINVAL, profile->file, g->extends_line, 0,
			"read '%s', expected the name of a profile with a gnmi section that does "
			"not itself extend another",
			g->extends);
	struct profile_gnmi_stream **streams = arena_array(
		a, struct profile_gnmi_stream *, g->n_streams + base->gnmi->n_streams + 1);
	size_t n = 0;
	for (size_t i = 0; i < base->gnmi->n_streams; i++)
		if (!profile_gnmi_left_out(g, base->gnmi->streams[i]->name))
			streams[n++] = base->gnmi->streams[i];
	for (size_t i = 0; i < g->n_streams; i++)
		streams[n++] = g->streams[i];
	g->streams = streams;
	g->n_streams = n;
	return 0;
}
