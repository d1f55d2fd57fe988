/* profile_push - reads what a kind of device pushes. Names are compiled in
 * collectors/push/push_map.c. */
#include "config/profile/profile_push.h"

#include "config/profile/profile_reader.h"
#include "db/model/metric.h"

static const struct reader_unit push_units[] = {
	{"ns", 1, false},
	{"us", 1000, false},
	{"ms", 1000000, false},
	{"s", 1000000000, false},
	{"Mbps", 1000000, false},
	{"kB", 1000, false},
	{"KiB", 1024, false},
	{"mw", 1, false},
};
static const char *const number_words[] = {
	[PUSH_PRIORITY] = "priority", [PUSH_QUEUE] = "queue", [PUSH_GROUP] = "group"};

/* ---- values -------------------------------------------------------------- */

/* Every {word} in @name is one of those that stand for a number; at most one. */
static void push_name_check(
	struct reader *reader, const struct yaml_node *at, const struct profile_push_value *value)
{
	static const char *const words[] = {"{priority}", "{queue}", "{group}", "{lane}"};
	const char *open = strchr(value->name, '{');
	bool known = false;
	if (!open)
		return;
	for (size_t i = 0; i < rw_countof(words); i++)
		known |= strncmp(open, words[i], strlen(words[i])) == 0;
	if (!known || strchr(open + 1, '{'))
		reader_wrong(reader, at->line, at->col,
			"read name '%.80s', expected at most one of {priority} {queue} {group} "
			"{lane}",
			value->name);
}

static void push_where_read(
	struct reader *reader, const struct yaml_node *node, struct profile_push_value *value)
{
	const struct yaml_node *where = reader_value(node, "where");
	if (!where)
		return;
	if (where->kind != YAML_MAP || where->n != 1 || where->items[0].value->kind != YAML_TEXT) {
		reader_wrong_node(
			reader, where, "one label and its text, such as { marking: ecn }");
		return;
	}
	value->where_label = arena_strdup(reader->a, where->items[0].key);
	value->where_text = arena_strdup(reader->a, where->items[0].value->text);
}

static void push_scale_read(
	struct reader *reader, const struct yaml_node *node, struct profile_push_value *value)
{
	struct reader_scale scale;
	const struct yaml_node *unit = reader_value(node, "unit");
	reader_scale(reader, node, push_units, rw_countof(push_units),
		"one of ns us ms s Mbps kB KiB mw", &scale);
	value->mul = scale.mul;
	value->div = scale.div;
	value->milliwatts = unit && unit->kind == YAML_TEXT && str_eq(unit->text, "mw");
	if (value->milliwatts && value->metric >= 0 &&
		metric_info((unsigned)value->metric)->type != TYPE_F64)
		reader_wrong_node(reader, unit, "another unit: this metric holds whole numbers");
}

static void push_ignore_read(
	struct reader *reader, const struct yaml_node *node, struct profile_push_value *value)
{
	const struct yaml_node *list = reader_list(
		reader, node, "ignore", PROFILE_PUSH_IGNORE_MAX, "a list of at most 4 numbers");
	for (size_t i = 0; i < reader_n(list); i++)
		if (reader_number_at(reader, list->items[i].value, UINT64_MAX,
			    &value->ignore[value->n_ignore]))
			value->n_ignore++;
}

/* A metric of a priority needs a number from a label or from the name; another one none. */
static void push_scope_check(struct reader *reader, const struct yaml_node *node,
	const struct profile_push_group *group, const struct profile_push_value *value)
{
	const char *open = strchr(value->name, '{');
	const bool named = open && strncmp(open, "{lane}", 6) != 0;
	const bool numbered = group->kind || named;
	if (value->metric < 0)
		return;
	if ((metric_info((unsigned)value->metric)->scope == SCOPE_PRIO) != numbered)
		reader_wrong(reader, node->line, node->col,
			"'%s': a metric of a priority needs a label or a {word} that holds its "
			"number, and only such a metric has one",
			value->name);
}

static void push_value_read(
	struct reader *reader, struct profile_push_group *group, const struct yaml_node *node)
{
	struct profile_push_value *v = &group->values[group->n_values];
	*v = (struct profile_push_value){.metric = -1, .line = node->line};
	if (!KEYS(reader, node, "a pushed value", "name", "metric", "unit", "divide", "where",
		    "equals", "ignore", "fold", "window", "width", "fallback", "doc"))
		return;
	const struct yaml_node *metric = reader_value(node, "metric");
	v->name = reader_copy(reader, node, "name", true);
	if (!v->name)
		return;
	push_name_check(reader, node, v);
	if (metric)
		v->metric = reader_metric(reader, metric);
	else
		reader_wrong(reader, node->line, node->col, "'metric' is missing here");
	if (v->metric >= 0 && metric_info((unsigned)v->metric)->type == TYPE_TEXT)
		reader_wrong_node(reader, metric, "a metric that is a number");
	v->doc = str_or(reader_copy(reader, node, "doc", false), "");
	push_scale_read(reader, node, v);
	push_where_read(reader, node, v);
	v->has_equals = reader_number(reader, node, "equals", UINT64_MAX, &v->equals);
	push_ignore_read(reader, node, v);
	v->fold = reader_fold(reader, node, v->metric);
	v->window_ms = (uint32_t)(reader_duration(reader, node, "window") / NS_PER_MS);
	v->width = reader_width(reader, node);
	v->fallback = reader_bool(reader, node, "fallback");
	push_scope_check(reader, node, group, v);
	if (v->metric >= 0)
		group->n_values++;
}

/* ---- groups -------------------------------------------------------------- */

/* One label, or a list of them. */
static struct profile_push_labels push_labels_read(
	struct reader *reader, const struct yaml_node *node, const char *key)
{
	struct profile_push_labels labels = {0};
	const struct yaml_node *value = reader_value(node, key);
	if (!value)
		return labels;
	if (value->kind == YAML_LIST) {
		value = reader_list(reader, node, key, PROFILE_PUSH_LABELS_MAX, "a list of labels");
		labels.v = reader_texts(reader, value, "a label", &labels.n);
		return labels;
	}
	labels.v = arena_array(reader->a, const char *, 1);
	labels.v[0] = reader_copy(reader, node, key, true);
	labels.n = labels.v[0] != NULL;
	return labels;
}

static void push_number_read(
	struct reader *reader, const struct yaml_node *node, struct profile_push_group *group)
{
	for (size_t i = PUSH_PRIORITY; i < rw_countof(number_words); i++) {
		if (!reader_value(node, number_words[i]))
			continue;
		if (group->kind)
			reader_wrong(reader, node->line, node->col,
				"expected one of 'priority', 'queue' and 'group'");
		group->kind = (enum profile_push_number)i;
		group->number = push_labels_read(reader, node, number_words[i]);
	}
}

static struct profile_push_group *push_group_read(
	struct reader *reader, const struct yaml_node *node)
{
	struct profile_push_group *g = arena_new_of(reader->a, struct profile_push_group);
	if (!KEYS(reader, node, "a group of pushed values", "name", "doc", "evidence", "device",
		    "port", "split", "priority", "queue", "group", "sai", "values"))
		return NULL;
	g->line = node->line;
	g->name = str_or(reader_copy(reader, node, "name", true), "");
	g->doc = str_or(reader_copy(reader, node, "doc", false), "");
	g->evidence = reader_evidence(reader, node, (struct profile_evidence){0});
	g->device = push_labels_read(reader, node, "device");
	g->port = push_labels_read(reader, node, "port");
	g->split = reader_copy(reader, node, "split", false);
	push_number_read(reader, node, g);
	g->sai = reader_bool(reader, node, "sai");
	const struct yaml_node *values = reader_list(
		reader, node, "values", PROFILE_PUSH_VALUES_MAX, "a list of at most 256 values");
	if (reader_n(values) == 0)
		reader_wrong(reader, node->line, node->col, "'values' is missing here");
	g->values = arena_array(reader->a, struct profile_push_value, reader_n(values) + 1);
	for (size_t i = 0; i < reader_n(values); i++)
		push_value_read(reader, g, values->items[i].value);
	return g;
}

void profile_push_read(struct reader *reader, const struct yaml_node *node)
{
	struct profile *p = reader->p;
	const struct yaml_node *list;
	if (!node)
		return;
	if (node->kind != YAML_LIST || node->n > PROFILE_PUSH_GROUPS_MAX) {
		reader_wrong_node(reader, node, "a list of at most 16 groups of pushed values");
		return;
	}
	list = node;
	p->push = arena_array(reader->a, struct profile_push_group *, list->n + 1);
	for (size_t i = 0; i < list->n; i++) {
		struct profile_push_group *g = push_group_read(reader, list->items[i].value);
		if (g)
			p->push[p->n_push++] = g;
	}
}
