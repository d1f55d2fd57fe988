/* profile_read - reads one profile: its own settings, and its parts through the files that know
 * them. Every mistake is reported with its place; unknown keys come with the nearest known one. */

#include "config/profile/profile_reader.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

/* profile_table - one table of a profile: its index, its columns and what they mean. */

/* ---- profile_trap - the notifications that only one kind of switch sends. */

static void trap_index_read(
	struct reader *reader, const struct yaml_node *node, struct profile_trap *trap)
{
	const struct yaml_node *index = reader_value(node, "index");
	if (!index)
		return;
	if (index->kind != YAML_LIST || index->n == 0 || index->n > PROFILE_PARTS_MAX ||
		trap->at.n == 0) {
		reader_wrong_node(reader, index,
			"a list of at most 8 parts such as [port, priority], of the instance of "
			"'at'");
		return;
	}
	for (size_t i = 0; i < index->n; i++) {
		const struct yaml_node *part = index->items[i].value;
		if (part->kind == YAML_TEXT)
			trap->parts[i] = reader_part(part->text);
		else
			trap->parts[i] = PART_OTHER;
		trap->about_port = trap->about_port || trap->parts[i] == PART_PORT;
	}
	trap->n_parts = index->n;
}

static void trap_states_read(
	struct reader *reader, const struct yaml_node *node, struct profile_trap *trap)
{
	const struct yaml_node *states = reader_value(node, "states");
	if (!states)
		return;
	if (states->kind != YAML_MAP || states->n > PROFILE_TRAP_STATES || trap->at.n == 0) {
		reader_wrong_node(reader, states,
			"at most 8 values of 'at' and their words, such as { 1: enabled, 2: "
			"disabled }");
		return;
	}
	for (size_t i = 0; i < states->n; i++) {
		const struct yaml_item *item = &states->items[i];
		const struct yaml_node key = {
			.kind = YAML_TEXT, .line = item->line, .col = item->col, .text = item->key};
		if (item->value->kind != YAML_TEXT || !*item->value->text)
			reader_wrong_node(reader, item->value, "a word");
		else if (reader_number_at(
				 reader, &key, UINT32_MAX, &trap->states[trap->n_states].value))
			trap->states[trap->n_states++].word =
				arena_strdup(reader->a, item->value->text);
	}
}

static bool trap_read(
	struct reader *reader, const struct yaml_node *node, struct profile_trap *trap)
{
	static const char *const kinds[] = {"pfc_storm", "pfc_restore", "pfc_state"};
	if (!KEYS(reader, node, "a trap", "oid", "kind", "doc", "at", "index", "states",
		    "evidence"))
		return false;
	const char *kind = reader_text(reader, node, "kind", true),
		   *doc = reader_text(reader, node, "doc", true);
	const char *evidence = NULL;
	if (reader_value(node, "evidence"))
		evidence = reader_text(reader, node, "evidence", true);
	else
		reader_wrong(reader, node->line, node->col,
			"a trap without 'evidence': say where this was read or seen (MIB and "
			"revision, device and release)");
	if (!reader_value(node, "oid"))
		reader_wrong(reader, node->line, node->col, "'oid' is missing here");
	if (!kind || !doc || !evidence || !reader_value(node, "oid") ||
		!reader_oid(reader, reader_value(node, "oid"), &trap->oid))
		return false;
	for (size_t i = 0; i < rw_countof(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			trap->kind = kinds[i];
	if (!trap->kind) {
		reader_wrong_node(reader, reader_value(node, "kind"),
			"one of pfc_storm pfc_restore pfc_state");
		return false;
	}
	if (reader_value(node, "at") && !reader_oid(reader, reader_value(node, "at"), &trap->at))
		return false;
	trap->doc = arena_strdup(reader->a, doc);
	trap->evidence = arena_strdup(reader->a, evidence);
	trap_index_read(reader, node, trap);
	trap_states_read(reader, node, trap);
	return true;
}

static void profile_traps_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of traps");
		return;
	}
	reader->p->traps = arena_array(reader->a, struct profile_trap, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		struct profile_trap t = {0};
		if (trap_read(reader, node->items[i].value, &t))
			reader->p->traps[reader->p->n_traps++] = t;
	}
}

/* ---- the columns of a table ---------------------------------------------- */

static const char *const attribute_names[] = {
	[ATTRIBUTE_NONE] = "",
	[ATTRIBUTE_PORT_NAME] = "port_name",
	[ATTRIBUTE_PORT_DESCR] = "port_descr",
	[ATTRIBUTE_PORT_ALIAS] = "port_alias",
	[ATTRIBUTE_DISCONTINUITY] = "discontinuity",
};

const char *profile_attribute_name(enum profile_attribute attribute)
{
	if ((size_t)attribute < rw_countof(attribute_names))
		return attribute_names[attribute];
	return "";
}

static const struct reader_unit units[] = {
	{"ns", 1, false},
	{"us", 1000, false},
	{"ms", 1000000, false},
	{"ticks", 10000000, false},
	{"s", 1000000000, false},
	{"Mbps", 1000000, false},
	{"kB", 1000, false},
	{"KiB", 1024, false},
	{"cells", 1, true},
	{"mw", 1, false},
};

/* table_column - position of an OID among the table's columns, added if new. */
static bool table_column(struct reader *reader, struct profile_table *table, struct profile_oid oid,
	const struct yaml_node *at, size_t *ret)
{
	for (size_t i = 0; i < table->n_columns; i++)
		if (table->columns[i].n == oid.n &&
			memcmp(table->columns[i].v, oid.v, oid.n * sizeof(*oid.v)) == 0) {
			*ret = i;
			return true;
		}
	if (table->n_columns == PROFILE_COLUMNS_MAX) {
		reader_wrong(reader, at->line, at->col,
			"more than %d columns in table '%s': split it", PROFILE_COLUMNS_MAX,
			table->name);
		return false;
	}
	table->columns[table->n_columns] = oid;
	*ret = table->n_columns++;
	return true;
}

/* column_oid - "column: 6" below the table's oid, or "oid: 1.3..." */
static bool column_oid(struct reader *reader, struct profile_table *table, struct profile_oid base,
	const struct yaml_node *node, size_t *ret)
{
	const struct yaml_node *relative = reader_value(node, "column"),
			       *absolute = reader_value(node, "oid");
	struct profile_oid oid;
	uint64_t arc;
	if (!relative == !absolute) {
		reader_wrong(reader, node->line, node->col,
			"expected either 'column' (below the table's oid) or 'oid'");
		return false;
	}
	if (absolute)
		return reader_oid(reader, absolute, &oid) &&
			table_column(reader, table, oid, node, ret);
	if (!reader_number_at(reader, relative, UINT32_MAX, &arc))
		return false;
	if (base.n == 0 || base.n + 1 > PROFILE_OID_MAX) {
		reader_wrong(reader, relative->line, relative->col,
			"'column' needs the 'oid' of the table");
		return false;
	}
	uint32_t *v = arena_array(reader->a, uint32_t, base.n + 1);
	memcpy(v, base.v, base.n * sizeof(*v));
	v[base.n] = (uint32_t)arc;
	return table_column(reader, table, (struct profile_oid){v, base.n + 1}, node, ret);
}

static void column_where(struct reader *reader, const struct profile_table *table,
	const struct yaml_node *node, struct profile_value *value)
{
	const struct yaml_node *where = reader_value(node, "where");
	for (size_t i = 0; i < PROFILE_PARTS_MAX; i++)
		value->where[i] = PROFILE_ANY;
	if (!where)
		return;
	if (where->kind != YAML_MAP) {
		reader_wrong_node(reader, where,
			"parts of the index and their values, such as { direction: 2 }");
		return;
	}
	for (size_t i = 0; i < where->n; i++) {
		size_t part = 0;
		uint64_t u;
		while (part < table->n_parts &&
			strcmp(table->part_names[part], where->items[i].key) != 0)
			part++;
		if (part == table->n_parts)
			reader_wrong(reader, where->items[i].line, where->items[i].col,
				"'%s' is not a part of this table's index", where->items[i].key);
		else if (reader_number_at(reader, where->items[i].value, UINT32_MAX, &u))
			value->where[part] = (int64_t)u;
	}
}

static void column_unit(
	struct reader *reader, const struct yaml_node *node, struct profile_value *value)
{
	struct reader_scale scale;
	reader_scale(reader, node, units, rw_countof(units),
		"one of ns us ms ticks s Mbps kB KiB cells mw", &scale);
	value->mul = scale.mul;
	value->div = scale.div;
	value->cells = scale.cells;
}

static void column_ignore(
	struct reader *reader, const struct yaml_node *node, struct profile_value *value)
{
	const struct yaml_node *list = reader_value(node, "ignore");
	if (!list)
		return;
	if (list->kind != YAML_LIST || list->n > PROFILE_IGNORE_MAX) {
		reader_wrong_node(
			reader, list, "a list of at most 4 raw values that mean \"not there\"");
		return;
	}
	for (size_t i = 0; i < list->n; i++)
		if (reader_number_at(reader, list->items[i].value, UINT64_MAX,
			    &value->ignore[value->n_ignore]))
			value->n_ignore++;
}

static void column_when(struct reader *reader, struct profile_table *table, struct profile_oid base,
	const struct yaml_node *node, struct profile_value *value)
{
	const struct yaml_node *when = reader_value(node, "when");
	size_t column;
	value->when_column = -1;
	if (!when || !KEYS(reader, when, "'when'", "column", "oid", "equals") ||
		!column_oid(reader, table, base, when, &column))
		return;
	if (!reader_value(when, "equals"))
		reader_wrong(reader, when->line, when->col, "'equals' is missing here");
	else if (reader_number(reader, when, "equals", UINT64_MAX, &value->when_equals))
		value->when_column = (int)column;
}

/* column_meaning - metric or attribute. */
static bool column_meaning(
	struct reader *reader, const struct yaml_node *node, struct profile_value *value)
{
	const struct yaml_node *metric = reader_value(node, "metric"),
			       *attribute = reader_value(node, "attribute");
	value->metric = -1;
	if (!metric == !attribute) {
		reader_wrong(
			reader, node->line, node->col, "expected either 'metric' or 'attribute'");
		return false;
	}
	if (attribute) {
		int i = reader_word(reader, attribute, attribute_names, rw_countof(attribute_names),
			"one of port_name port_descr port_alias discontinuity");
		if (i > 0)
			value->attribute = (enum profile_attribute)i;
		return i > 0;
	}
	value->metric = reader_metric(reader, metric);
	if (value->metric < 0)
		return false;
	if (metric_info((unsigned)value->metric)->type == TYPE_TEXT) {
		reader_wrong_node(reader, metric, "a metric that is a number");
		return false;
	}
	return true;
}

/* RFC 3433: columns of entPhySensorTable. */
static void column_sensor(struct reader *reader, struct profile_table *table,
	struct profile_oid base, const struct yaml_node *node, struct profile_value *value)
{
	static const uint32_t arcs[] = {
		[SENSOR_TYPE] = 1, [SENSOR_SCALE] = 2, [SENSOR_PRECISION] = 3, [SENSOR_STATUS] = 5};
	const char *unit = "";
	if (value->metric >= 0)
		unit = metric_info((unsigned)value->metric)->unit;
	if (!reader_bool(reader, node, "sensor"))
		return;
	const bool measures = strcmp(unit, "dBm") == 0 || strcmp(unit, "C") == 0;
	if (base.n == 0 || base.n + 1 > PROFILE_OID_MAX || !measures) {
		reader_wrong_node(reader, reader_value(node, "sensor"),
			"a metric in dBm or C, in a table with an 'oid'");
		return;
	}
	for (size_t i = 0; i < PROFILE_SENSOR_COLUMNS; i++) {
		uint32_t *oid = arena_array(reader->a, uint32_t, base.n + 1);
		memcpy(oid, base.v, base.n * sizeof(*oid));
		oid[base.n] = arcs[i];
		if (!table_column(reader, table, (struct profile_oid){oid, base.n + 1}, node,
			    &value->sensor_columns[i]))
			return;
	}
	value->sensor = true;
}

static void column_read(struct reader *reader, struct profile_table *table, struct profile_oid base,
	const struct yaml_node *node)
{
	struct profile_value *v = &table->values[table->n_values];
	uint64_t number;
	*v = (struct profile_value){.priority = PRIO_NONE};
	if (!KEYS(reader, node, "a column", "column", "oid", "metric", "attribute", "where",
		    "priority", "unit", "divide", "equals", "ignore", "when", "subtract",
		    "fallback", "width", "fold", "sensor", "text", "named", "doc", "evidence") ||
		!column_oid(reader, table, base, node, &v->column) ||
		!column_meaning(reader, node, v))
		return;
	column_where(reader, table, node, v);
	column_unit(reader, node, v);
	column_ignore(reader, node, v);
	column_when(reader, table, base, node, v);
	v->fold = reader_fold(reader, node, v->metric);
	column_sensor(reader, table, base, node, v);
	if (reader_number(reader, node, "priority", 7, &number))
		v->priority = (int)number;
	v->has_equals = reader_number(reader, node, "equals", UINT64_MAX, &v->equals);
	v->subtract = reader_bool(reader, node, "subtract");
	v->fallback = reader_bool(reader, node, "fallback");
	v->width = reader_width(reader, node);
	v->text = reader_bool(reader, node, "text");
	if (v->text && (v->metric < 0 || metric_info((unsigned)v->metric)->type != TYPE_F64))
		reader_wrong_node(reader, reader_value(node, "text"),
			"no 'text' of a metric that is a whole number");
	const struct yaml_node *unit = reader_value(node, "unit");
	v->milliwatts = unit && unit->kind == YAML_TEXT && str_eq(unit->text, "mw");
	if (v->milliwatts && (!v->text || strcmp(metric_info((unsigned)v->metric)->unit, "dBm")))
		reader_wrong_node(reader, unit, "mw of a 'text' that is a power in dBm");
	v->named = reader_copy(reader, node, "named", false);
	if (v->named && table->port_column < 0)
		reader_wrong_node(reader, reader_value(node, "named"),
			"no 'named' in a table without 'port'");
	v->doc = str_or(reader_copy(reader, node, "doc", false), "");
	v->evidence = reader_evidence(reader, node, table->evidence);
	table->n_values++;
}

/* ---- a table ------------------------------------------------------------- */

static void table_index(
	struct reader *reader, struct profile_table *table, const struct yaml_node *node)
{
	const struct yaml_node *index = reader_value(node, "index");
	if (!index)
		index = node;
	if (index->kind != YAML_LIST || index->n == 0 || index->n > PROFILE_PARTS_MAX) {
		reader_wrong_node(
			reader, index, "an 'index' such as [port, priority], of at most 8 parts");
		return;
	}
	for (size_t i = 0; i < index->n; i++) {
		const struct yaml_node *part = index->items[i].value;
		if (part->kind != YAML_TEXT || !*part->text) {
			reader_wrong_node(reader, part,
				"port, priority, queue, group, pool, or a word of your own");
			return;
		}
		for (size_t k = 0; k < i; k++)
			if (strcmp(table->part_names[k], part->text) == 0)
				reader_wrong(reader, part->line, part->col,
					"'%s' twice in one index", part->text);
		table->part_names[i] = arena_strdup(reader->a, part->text);
		table->parts[i] = reader_part(part->text);
		table->n_parts = i + 1;
	}
}

/* table_decimal - several parts of the index in one number: each part is what the parts before it
 * left, divided. */
static void table_decimal(
	struct reader *reader, struct profile_table *table, const struct yaml_node *node)
{
	const struct yaml_node *decimal = reader_value(node, "decimal"), *by;
	uint64_t number = 0, last = UINT32_MAX;
	if (!decimal || !KEYS(reader, decimal, "'decimal'", "base", "by"))
		return;
	if (reader_number(reader, decimal, "base", UINT32_MAX, &number))
		table->decimal_base = (uint32_t)number;
	by = reader_value(decimal, "by");
	if (!by)
		by = decimal;
	if (by->kind != YAML_LIST || by->n == 0 || by->n != table->n_parts) {
		reader_wrong_node(reader, by,
			"'by': one divisor for each part of the index, such as [100, 10, 1]");
		return;
	}
	for (size_t i = 0; i < by->n; i++) {
		if (!reader_number_at(reader, by->items[i].value, UINT32_MAX, &number))
			return;
		if (number == 0 || number >= last) {
			reader_wrong_node(reader, by->items[i].value,
				"a divisor from 1, smaller than the one before it");
			table->decimal_by[0] = 0;
			return;
		}
		table->decimal_by[i] = (uint32_t)number;
		last = number;
	}
}

/* Fallbacks last, else as they were (.bit). */
static int fallback_order(const void *left, const void *right)
{
	const struct profile_value *x = left, *y = right;
	if (x->fallback != y->fallback)
		return x->fallback ? 1 : -1;
	return (x->bit > y->bit) - (x->bit < y->bit);
}

/* How many columns a value needs: all of a difference, since half of one would be a wrong value; 0
 * = any number of them adds up. */
static unsigned columns_needed(const struct profile_table *table, int metric)
{
	unsigned n = 0;
	bool difference = false;
	for (size_t i = 0; metric >= 0 && i < table->n_values; i++) {
		const struct profile_value *value = &table->values[i];
		if (value->metric != metric || value->fallback)
			continue;
		n++;
		difference |= value->subtract;
	}
	if (difference)
		return n;
	return 0;
}

/* Do several rows speak of one thing, so that they are added up? */
static bool rows_add_up(const struct profile_table *table)
{
	for (size_t i = 0; i < table->n_values; i++)
		for (size_t p = 0; p < table->n_parts; p++) {
			/* 1. Rows that differ only in a part that nothing fixes. Two queues may
			 *    share a priority, too. */
			const bool own = table->parts[p] == PART_OTHER;
			const bool queue = table->parts[p] == PART_QUEUE;
			if (table->values[i].where[p] == PROFILE_ANY && (own || queue))
				return true;
			/* 2. One thing spread over rows: queue drops of type 5 and of type 7. */
			if (table->values[i].where[p] != table->values[0].where[p])
				return true;
		}
	return false;
}

/* table_finish - what follows from the columns: their order, which of them make one value, and
 * whether rows are added. */
static void table_finish(struct profile_table *table)
{
	for (size_t i = 0; i < table->n_values; i++)
		table->values[i].bit = i;
	qsort(table->values, table->n_values, sizeof(*table->values), fallback_order);
	for (size_t i = 0; i < table->n_values; i++)
		table->values[i].bit = i;
	for (size_t i = 0; i < table->n_values; i++)
		table->values[i].needed = columns_needed(table, table->values[i].metric);
	table->sums_rows = rows_add_up(table);
}

static void table_columns(struct reader *reader, struct profile_table *table,
	struct profile_oid base, const struct yaml_node *columns)
{
	table->values = arena_array(reader->a, struct profile_value, columns->n);
	for (size_t i = 0; i < columns->n; i++)
		column_read(reader, table, base, columns->items[i].value);
	table_finish(table);
}

static const char *const cadences[] = {
	[CADENCE_FAST] = "fast", [CADENCE_SLOW] = "slow", [CADENCE_BACKGROUND] = "background"};

const char *profile_cadence_name(enum profile_cadence cadence)
{
	if ((size_t)cadence < rw_countof(cadences))
		return cadences[cadence];
	return "?";
}

static enum profile_cadence table_cadence(struct reader *reader, const struct yaml_node *node)
{
	const int cadence = reader_word(
		reader, node, cadences, rw_countof(cadences), "fast, slow or background");
	if (cadence < 0)
		return CADENCE_FAST;
	return (enum profile_cadence)cadence;
}

/* table_port - the column whose text names the port, and that of the row around. */
static void table_port(struct reader *reader, struct profile_table *table, struct profile_oid base,
	const struct yaml_node *node)
{
	const struct yaml_node *port = reader_value(node, "port"), *parent;
	struct profile_oid oid;
	size_t column;
	table->port_column = table->parent_column = -1;
	if (!port || !KEYS(reader, port, "'port'", "column", "oid", "text", "parent") ||
		!column_oid(reader, table, base, port, &column))
		return;
	table->port_column = (int)column;
	table->port_text = str_or(reader_copy(reader, port, "text", false), PROFILE_PORT_WORD);
	if (!strstr(table->port_text, PROFILE_PORT_WORD))
		reader_wrong_node(reader, reader_value(port, "text"), "a text with {port}");
	parent = reader_value(port, "parent");
	if (parent && reader_oid(reader, parent, &oid) &&
		table_column(reader, table, oid, parent, &column))
		table->parent_column = (int)column;
	for (size_t i = 0; i < table->n_parts; i++)
		if (table->parts[i] == PART_PORT)
			reader_wrong(reader, port->line, port->col,
				"'port' is a part of the index already");
}

/* NULL when it was wrong. */
static struct profile_table *profile_table_read(
	struct reader *reader, const struct yaml_node *node, struct profile_evidence evidence)
{
	struct profile_table *t = arena_new_of(reader->a, struct profile_table);
	struct profile_oid base = {0};
	uint64_t queue;
	if (!KEYS(reader, node, "a table", "name", "doc", "cadence", "oid", "index", "decimal",
		    "first_queue", "port", "unless", "behind", "columns", "evidence"))
		return NULL;
	t->line = node->line;
	t->name = reader_copy(reader, node, "name", true);
	if (!t->name)
		return NULL;
	t->doc = str_or(reader_copy(reader, node, "doc", false), "");
	t->evidence = reader_evidence(reader, node, evidence);
	if (reader_text(reader, node, "cadence", true))
		t->cadence = table_cadence(reader, reader_value(node, "cadence"));
	t->unless = reader_copy(reader, node, "unless", false);
	t->behind = reader_copy(reader, node, "behind", false);
	if (reader_value(node, "oid"))
		reader_oid(reader, reader_value(node, "oid"), &base);
	if (reader_number(reader, node, "first_queue", 64, &queue))
		t->first_queue = (unsigned)queue;
	table_index(reader, t, node);
	table_decimal(reader, t, node);
	t->columns = arena_array(reader->a, struct profile_oid, PROFILE_COLUMNS_MAX);
	table_port(reader, t, base, node);
	const struct yaml_node *columns = reader_value(node, "columns");
	if (!columns)
		columns = node;
	if (columns->kind != YAML_LIST || columns->n == 0 || columns->n > PROFILE_COLUMNS_MAX) {
		reader_wrong_node(reader, columns, "'columns': a list of 1 to 64 columns");
		return NULL;
	}
	table_columns(reader, t, base, columns);
	return t;
}

/* ---- profile_read -------------------------------------------------------- */

static void matches_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list such as [{ object_id: 1.3.6.1.4.1.9 }]");
		return;
	}
	reader->p->matches = arena_array(reader->a, struct profile_match, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *m = node->items[i].value;
		struct profile_match *to = &reader->p->matches[reader->p->n_matches];
		struct profile_oid oid = {0};
		if (!KEYS(reader, m, "a match", "object_id", "descr"))
			continue;
		if (m->n == 0)
			reader_wrong(
				reader, m->line, m->col, "expected 'object_id', 'descr' or both");
		if (reader_value(m, "object_id") &&
			reader_oid(reader, reader_value(m, "object_id"), &oid)) {
			to->object_id = arena_array(reader->a, uint32_t, oid.n);
			memcpy(to->object_id, oid.v, oid.n * sizeof(uint32_t));
			to->n_object_id = oid.n;
		}
		to->descr = reader_copy(reader, m, "descr", false);
		reader->p->n_matches++;
	}
}

static void quirks_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of quirks");
		return;
	}
	reader->p->quirks = arena_array(reader->a, struct profile_quirk, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *q = node->items[i].value;
		if (!KEYS(reader, q, "a quirk", "name", "doc", "evidence"))
			continue;
		const char *name = reader_text(reader, q, "name", true),
			   *doc = reader_text(reader, q, "doc", true);
		const char *evidence = NULL;
		if (reader_value(q, "evidence"))
			evidence = reader_text(reader, q, "evidence", true);
		else
			reader_wrong(reader, q->line, q->col,
				"a quirk without 'evidence': say where this was read or seen "
				"(source file, document, device and release)");
		if (name && doc && evidence)
			reader->p->quirks[reader->p->n_quirks++] = (struct profile_quirk){
				arena_strdup(reader->a, name), arena_strdup(reader->a, doc),
				arena_strdup(reader->a, evidence)};
	}
}

static void command_read(struct reader *reader, const struct yaml_node *node)
{
	static const char *const topics[] = {
		"pause", "watchdog", "queues", "ecn", "errors", "optic"};
	struct profile *p = reader->p;
	int topic;
	if (!KEYS(reader, node, "a command", "topic", "run", "evidence"))
		return;
	const char *word = reader_text(reader, node, "topic", true),
		   *run = reader_text(reader, node, "run", true),
		   *evidence = reader_text(reader, node, "evidence", true);
	if (!word || !run || !evidence)
		return;
	topic = reader_word(
		reader, reader_value(node, "topic"), topics, rw_countof(topics), "a topic");
	if (topic < 0)
		return;
	if (profile_command_of(p, word)) {
		reader_wrong(reader, node->line, node->col, "topic '%s' twice", word);
		return;
	}
	p->commands[p->n_commands++] = (struct profile_command){
		topics[topic], arena_strdup(reader->a, run), arena_strdup(reader->a, evidence)};
}

static void commands_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of commands");
		return;
	}
	reader->p->commands = arena_array(reader->a, struct profile_command, node->n + 1);
	for (size_t i = 0; i < node->n; i++)
		command_read(reader, node->items[i].value);
}

static void tc_map_read(struct reader *reader, const struct yaml_node *node)
{
	for (size_t i = 0; i < PROFILE_TC_MAX; i++)
		reader->p->tc_map[i] = PRIO_NONE;
	if (!node)
		return;
	if (node->kind != YAML_MAP) {
		reader_wrong_node(reader, node, "queue to priority, such as { 0: 0, 5: 3 }");
		return;
	}
	reader->p->has_tc_map = true;
	for (size_t i = 0; i < node->n; i++) {
		uint64_t queue, priority;
		struct yaml_node key = {.kind = YAML_TEXT,
			.line = node->items[i].line,
			.col = node->items[i].col,
			.text = node->items[i].key};
		if (reader_number_at(reader, &key, PROFILE_TC_MAX - 1, &queue) &&
			reader_number_at(reader, node->items[i].value, 7, &priority))
			reader->p->tc_map[queue] = (int8_t)priority;
	}
}

static void port_names_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node,
			"a list such as [{ first: 1, last: 999, subtract: 1, name: \"Ethernet{n}\" "
			"}]");
		return;
	}
	reader->p->port_names = arena_array(reader->a, struct profile_port_name, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *m = node->items[i].value;
		uint64_t first = 0, last = 0, subtract = 0;
		if (!KEYS(reader, m, "a port name rule", "first", "last", "subtract", "name"))
			continue;
		const char *name = reader_text(reader, m, "name", true);
		reader_number(reader, m, "subtract", UINT32_MAX, &subtract);
		if (!reader_number(reader, m, "first", UINT32_MAX, &first) ||
			!reader_number(reader, m, "last", UINT32_MAX, &last) || !name)
			reader_wrong(reader, m->line, m->col,
				"expected first, last and name (with {n} for the number)");
		else if (first > last || subtract > first || !strstr(name, "{n}"))
			reader_wrong(reader, m->line, m->col,
				"expected first <= last, subtract <= first, and {n} in the name");
		else
			reader->p->port_names[reader->p->n_port_names++] =
				(struct profile_port_name){(uint32_t)first, (uint32_t)last,
					(uint32_t)subtract, arena_strdup(reader->a, name)};
	}
}

/* A list of globs; one that fits everything is a mistake. */
static struct profile_globs globs_read(
	struct reader *reader, const struct yaml_node *node, const char *expected)
{
	struct profile_globs globs = {0};
	if (!node)
		return globs;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, expected);
		return globs;
	}
	globs.v = arena_array(reader->a, const char *, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *glob = node->items[i].value;
		if (glob->kind != YAML_TEXT || !*glob->text || str_eq(glob->text, "*")) {
			reader_wrong_node(reader, glob, "a name, with * and ?");
			continue;
		}
		globs.v[globs.n++] = arena_strdup(reader->a, glob->text);
	}
	return globs;
}

static void management_ports_read(struct reader *reader, const struct yaml_node *node)
{
	const struct profile_globs globs =
		globs_read(reader, node, "a list of port names, such as [\"mgmt*\"]");
	reader->p->management_ports = globs.v;
	reader->p->n_management_ports = globs.n;
}

static void neighbors_read(struct reader *reader, const struct yaml_node *node)
{
	static const char expected[] = "a list such as [\"*Ubuntu*\"]";
	if (!node || !KEYS(reader, node, "'neighbors'", "network_os", "host_os", "switch_ports"))
		return;
	reader->p->network_os = globs_read(reader, reader_value(node, "network_os"), expected);
	reader->p->host_os = globs_read(reader, reader_value(node, "host_os"), expected);
	reader->p->switch_ports = globs_read(reader, reader_value(node, "switch_ports"), expected);
}

static void without_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of table names");
		return;
	}
	reader->draft->without = arena_array(reader->a, const char *, node->n + 1);
	reader->draft->without_lines = arena_array(reader->a, int, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		if (node->items[i].value->kind != YAML_TEXT) {
			reader_wrong_node(reader, node->items[i].value, "a table name");
			continue;
		}
		reader->draft->without_lines[reader->draft->n_without] = node->items[i].value->line;
		reader->draft->without[reader->draft->n_without++] =
			arena_strdup(reader->a, node->items[i].value->text);
	}
}

static void snmp_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node ||
		!KEYS(reader, node, "'snmp'", "min_interval", "refresh", "without", "port_names",
			"tables", "traps", "evidence", "inherited"))
		return;
	const struct profile_evidence evidence =
		reader_evidence(reader, node, (struct profile_evidence){0});
	reader_inherited(reader, node, &reader->p->inherited);
	profile_traps_read(reader, reader_value(node, "traps"));
	reader->p->snmp = true;
	reader->p->min_interval_ns = reader_duration(reader, node, "min_interval");
	reader->p->refresh_ns = reader_duration(reader, node, "refresh");
	port_names_read(reader, reader_value(node, "port_names"));
	without_read(reader, reader_value(node, "without"));
	const struct yaml_node *tables = reader_value(node, "tables");
	if (!tables)
		return;
	if (tables->kind != YAML_LIST) {
		reader_wrong_node(reader, tables, "a list of tables");
		return;
	}
	reader->p->tables = arena_array(reader->a, struct profile_table *, tables->n + 1);
	for (size_t i = 0; i < tables->n; i++) {
		struct profile_table *t =
			profile_table_read(reader, tables->items[i].value, evidence);
		for (size_t k = 0; t && k < reader->p->n_tables; k++)
			if (strcmp(reader->p->tables[k]->name, t->name) == 0)
				reader_wrong(reader, t->line, 0,
					"table '%s' twice; the first is in line %d", t->name,
					reader->p->tables[k]->line);
		if (t)
			reader->p->tables[reader->p->n_tables++] = t;
	}
}

int profile_read(const char *text, size_t n, const char *file, struct arena *a,
	struct profile_draft *ret, struct err_list *errors)
{
	const struct yaml_node *root;
	struct profile *p = arena_new_of(a, struct profile);
	struct reader r = {.a = a,
		.file = arena_strdup(a, file),
		.errors = errors,
		.n_before = errors->n,
		.p = p,
		.draft = ret};
	*ret = (struct profile_draft){.profile = p};
	p->file = r.file;
	p->text = arena_strndup(a, text, n);
	if (yaml_read(text, n, file, a, &root, errors) < 0)
		return -EINVAL;
	if (!KEYS(&r, root, "a profile", "name", "doc", "match", "extends", "tc_map", "cell_bytes",
		    "cell_oid", "quirks", "commands", "management_ports", "neighbors", "snmp",
		    "gnmi", "push", "tuning"))
		return -EINVAL;
	p->name = str_or(reader_copy(&r, root, "name", true), "");
	p->doc = str_or(reader_copy(&r, root, "doc", true), "");
	ret->extends = reader_copy(&r, root, "extends", false);
	if (ret->extends) {
		ret->extends_line = reader_value(root, "extends")->line;
		ret->extends_col = reader_value(root, "extends")->col;
		p->extends = ret->extends;
	}
	matches_read(&r, reader_value(root, "match"));
	tc_map_read(&r, reader_value(root, "tc_map"));
	reader_number(&r, root, "cell_bytes", 65536, &p->cell_bytes);
	if (reader_value(root, "cell_oid"))
		reader_oid(&r, reader_value(root, "cell_oid"), &p->cell_oid);
	quirks_read(&r, reader_value(root, "quirks"));
	commands_read(&r, reader_value(root, "commands"));
	management_ports_read(&r, reader_value(root, "management_ports"));
	neighbors_read(&r, reader_value(root, "neighbors"));
	snmp_read(&r, reader_value(root, "snmp"));
	profile_gnmi_read(&r, reader_value(root, "gnmi"));
	profile_push_read(&r, reader_value(root, "push"));
	profile_tune_read(&r, reader_value(root, "tuning"));
	if (errors->n > r.n_before)
		return -EINVAL;
	return 0;
}

const char *profile_command_of(const struct profile *profile, const char *topic)
{
	for (size_t i = 0; i < profile->n_commands; i++)
		if (strcmp(profile->commands[i].topic, topic) == 0)
			return profile->commands[i].run;
	return NULL;
}
