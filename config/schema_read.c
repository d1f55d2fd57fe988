/* schema_read - a yaml tree into the structs of the sections, by their rows; every mistake has its
 * place and says what is expected. */

#include "config/schema.h"

enum { MAX_VALUES = 4096, MAX_FIELDS = 64 };

/* The names of all keys that @section may have. Returns how many. */
static size_t schema_key_names(
	const struct config *c, const struct section *section, const char **names)
{
	size_t n = 0;
	for (size_t k = 0; k < section->n_fields && n < MAX_FIELDS; k++) {
		const struct field *field = &section->fields[k];
		if (field->kind != FIELD_REFUSED && field->kind != FIELD_RECEIVERS)
			names[n++] = field->option.name;
		for (size_t i = 0; field->kind == FIELD_RECEIVERS && i < c->n_tables; i++)
			if (c->tables[i]->receiver && n < MAX_FIELDS)
				names[n++] = c->tables[i]->name;
	}
	return n;
}

static void schema_unknown_key(
	struct build *build, const struct section *section, const struct yaml_item *item)
{
	const char *names[MAX_FIELDS];
	assert(section->n_fields <= MAX_FIELDS);
	build_unknown(build, item, "key", names, schema_key_names(build->c, section, names));
}

/* "@key is a list; expected @expected". */
static void schema_unexpected(
	struct build *build, const struct yaml_node *node, const char *key, const char *expected)
{
	char what[100];
	build_error(build, node, "%s is %s; expected %s", key, yaml_what(node, what, sizeof(what)),
		expected);
}

static void schema_expect_section(struct build *build, const struct yaml_node *node,
	const char *key, const struct section *section)
{
	char expected[128];
	snprintf(expected, sizeof(expected), "a section such as { %s: ... }",
		section->fields[0].option.name);
	schema_unexpected(build, node, key, expected);
}

/* The text of a node; NULL, and an error, when it is none. */
static const char *schema_text(
	struct build *build, const struct field *field, const struct yaml_node *node)
{
	if (node->kind == YAML_TEXT)
		return node->text;
	char type[128], expected[160];
	schema_type_text(field, type, sizeof(type));
	const char *article = "";
	if (field->kind == FIELD_VALUES)
		snprintf(type, sizeof(type), "text");
	if (field->kind == FIELD_VALUES || field->option.type != OPT_ENUM)
		article = "a ";
	if (field->kind == FIELD_VALUE && field->option.type == OPT_BOOL)
		article = "";
	snprintf(expected, sizeof(expected), "%s%s", article, type);
	schema_unexpected(build, node, field->option.name, expected);
	return NULL;
}

/* "key:" with something behind it? Else an error. */
static bool schema_has_value(struct build *build, const struct yaml_item *item)
{
	if (item->value->kind != YAML_NULL)
		return true;
	build_error(build, item->value, "%s has no value; give one or remove the key", item->key);
	return false;
}

static void schema_put_list(const struct field *field, void *base, const void *v, size_t n)
{
	*(const void **)(void *)((char *)base + field->option.offset) = v;
	*(size_t *)(void *)((char *)base + field->count) = n;
}

static void schema_read_keys(struct build *build, const struct section *section,
	const struct yaml_node *node, void *base);

/* ---- values -------------------------------------------------------------- */

static void schema_read_value(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	const char *text = schema_text(build, field, node);
	if (!text)
		return;
	struct err e = {0};
	int rc = 0;
	if (field->check)
		rc = field->check(text, &e);
	if (rc == 0)
		rc = option_set(&field->option, build->c->arena, base, text, &e);
	if (rc < 0)
		build_error(build, node, "%s is %s", field->option.name, e.text);
}

/* One entry of a list; NULL, and an error, when it cannot be one. @given: what stands before it,
 * and where. */
static const char *schema_read_entry(struct build *build, const struct field *field,
	const char *const *given, const struct yaml_node *const *at, size_t n,
	const struct yaml_node *node)
{
	const char *text = schema_text(build, field, node);
	struct err e = {0};
	if (!text)
		return NULL;
	if (field->check && field->check(text, &e) < 0) {
		build_error(build, node, "%s: an entry is %s", field->option.name, e.text);
		return NULL;
	}
	for (size_t k = 0; k < n; k++) {
		if (strcmp(given[k], text) != 0)
			continue;
		build_error(build, node,
			"%s: '%.64s' is already in this list (line %d); remove one of them",
			field->option.name, text, at[k]->line);
		return NULL;
	}
	return text;
}

static void schema_read_values(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	if (node->kind != YAML_LIST) {
		schema_unexpected(build, node, field->option.name, "a list such as [A, B]");
		return;
	}
	if (node->n > MAX_VALUES) {
		build_error(build, node, "%s has %zu entries; expected at most %d",
			field->option.name, node->n, MAX_VALUES);
		return;
	}
	rw_cleanup(freep) const struct yaml_node **at = rw_calloc(node->n + 1, sizeof(*at));
	const char **v = arena_array(build->c->arena, const char *, node->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < node->n; i++) {
		at[n] = node->items[i].value;
		v[n] = schema_read_entry(build, field, v, at, n, at[n]);
		n += v[n] != NULL;
	}
	schema_put_list(field, base, v, n); /* the default goes */
	if (node->n == 0)
		build_error(build, node, "%s is an empty list; expected at least one entry",
			field->option.name);
}

/* ---- sections ------------------------------------------------------------ */

static void schema_read_section(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	void **slot = (void *)((char *)base + field->option.offset);
	if (node->kind != YAML_MAP) {
		schema_expect_section(build, node, field->option.name, field->section);
		return;
	}
	*slot = arena_alloc(build->c->arena, field->section->size);
	schema_read(build, field->section, node, *slot);
}

static void schema_read_inside(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	if (node->kind != YAML_MAP) {
		schema_expect_section(build, node, field->option.name, field->section);
		return;
	}
	schema_read_keys(build, field->section, node, base);
	*(const struct yaml_node **)(void *)((char *)base + field->option.offset) = node;
}

/* A list of sections (FIELD_SECTIONS, FIELD_LINKS): "- { a: ..., b: ... }". */
static void schema_read_list(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	const size_t size = field->section->size;
	if (node->kind != YAML_LIST) {
		const char *expected = "a list of sections ('- { ... }' lines)";
		if (field->kind == FIELD_ONE_OR_MORE)
			expected = "a section, or a list of sections ('- { ... }' lines)";
		if (field->kind == FIELD_LINKS)
			expected = "a list of sections ('- { a: ..., b: ... }') or the word "
				   "discover";
		schema_unexpected(build, node, field->option.name, expected);
		return;
	}
	char *entries = arena_alloc(build->c->arena, size * (node->n + 1));
	size_t n = 0;
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *item = node->items[i].value;
		if (item->kind == YAML_MAP)
			schema_read(build, field->section, item, entries + size * n++);
		else
			schema_expect_section(build, item, field->option.name, field->section);
	}
	schema_put_list(field, base, entries, n);
}

/* One section, or a list of them (FIELD_ONE_OR_MORE). */
static void schema_read_one_or_more(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	if (node->kind != YAML_MAP) {
		schema_read_list(build, field, node, base);
		return;
	}
	void *entry = arena_alloc(build->c->arena, field->section->size);
	schema_read(build, field->section, node, entry);
	schema_put_list(field, base, entry, 1);
}

static void schema_read_links(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	if (node->kind == YAML_TEXT && strcmp(node->text, "discover") == 0)
		((struct config_tree *)base)->discover = true;
	else
		schema_read_list(build, field, node, base);
}

/* Sections by name (FIELD_NAMED); the name is the first member after .node. */
static void schema_read_named(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	const size_t size = field->section->size;
	if (node->kind != YAML_MAP) {
		schema_unexpected(build, node, field->option.name, "names, each with a section");
		return;
	}
	char *entries = arena_alloc(build->c->arena, size * (node->n + 1));
	size_t n = 0;
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_item *item = &node->items[i];
		if (item->value->kind != YAML_MAP) {
			schema_expect_section(build, item->value, item->key, field->section);
			continue;
		}
		char *entry = entries + size * n++;
		schema_read(build, field->section, item->value, entry);
		*(const char **)(void *)(entry + sizeof(const struct yaml_node *)) = item->key;
	}
	schema_put_list(field, base, entries, n);
}

/* The keys of modules, each one receiver or a list of them: all go into one array, kind by kind. */
static void schema_read_receivers(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	struct config *c = build->c;
	struct config_receiver *all = NULL;
	size_t n = 0;
	for (size_t i = 0; i < c->n_tables; i++) {
		struct field row;
		const struct yaml_item *item = yaml_get(node, c->tables[i]->name);
		struct config_alerts of_kind = {0};
		if (!item || !schema_receiver(c->tables[i], &row))
			continue;
		if (!schema_has_value(build, item))
			continue;
		schema_read_one_or_more(build, &row, item->value, &of_kind);
		for (size_t k = 0; k < of_kind.n_receivers; k++) {
			of_kind.receivers[k].kind = c->tables[i];
			arena_grow_pow2(c->arena, all, n);
			all[n++] = of_kind.receivers[k];
		}
	}
	schema_put_list(field, base, all, n);
}

/* ---- options of modules -------------------------------------------------- */

static void schema_read_module(struct build *build, const struct option_table *table,
	const struct yaml_node *node, void *base)
{
	if (node->kind != YAML_MAP) {
		schema_unexpected(build, node, table->name, "a section of options");
		return;
	}
	for (size_t i = 0; i < node->n; i++) {
		const struct option *option = option_find(table, node->items[i].key);
		if (option) {
			const struct field field = {.kind = FIELD_VALUE, .option = *option};
			schema_read_value(build, &field, node->items[i].value, base);
			continue;
		}
		const char **names = arena_array(build->c->arena, const char *, table->n_rows + 1);
		for (size_t k = 0; k < table->n_rows; k++)
			names[k] = table->rows[k].name;
		char kind[128];
		snprintf(kind, sizeof(kind), "option of %.100s", table->name);
		build_unknown(build, &node->items[i], kind, names, table->n_rows);
	}
}

/* The options of the module that @item names; an error when there is no such module. */
static void schema_read_named_module(
	struct build *build, const char *section, const struct yaml_item *item)
{
	struct config *c = build->c;
	const char **names = arena_array(c->arena, const char *, c->n_tables + 1);
	size_t n_names = 0;
	for (size_t k = 0; k < c->n_tables; k++) {
		const struct option_table *table = c->tables[k];
		if (strcmp(table->section, section) != 0)
			continue;
		if (strcmp(table->name, item->key) == 0) {
			schema_read_module(build, table, item->value, c->options[k]);
			return;
		}
		names[n_names++] = table->name;
	}
	const char *what = "module";
	if (strcmp(section, "analyzers") == 0)
		what = "analyzer";
	build_unknown(build, item, what, names, n_names);
}

static void schema_read_modules(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	if (node->kind != YAML_MAP) {
		schema_unexpected(build, node, field->option.name, "names, each with a section");
		return;
	}
	for (size_t i = 0; i < node->n; i++)
		schema_read_named_module(build, field->option.name, &node->items[i]);
}

static void schema_read_refused(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	build_error(build, node, "%s: %s", field->option.name, field->option.doc);
}

/* ---- a section ----------------------------------------------------------- */

static void (*const readers[])(struct build *build, const struct field *field,
	const struct yaml_node *node, void *base) = {
	[FIELD_VALUE] = schema_read_value,
	[FIELD_VALUES] = schema_read_values,
	[FIELD_SECTION] = schema_read_section,
	[FIELD_INSIDE] = schema_read_inside,
	[FIELD_SECTIONS] = schema_read_list,
	[FIELD_ONE_OR_MORE] = schema_read_one_or_more,
	[FIELD_NAMED] = schema_read_named,
	[FIELD_LINKS] = schema_read_links,
	[FIELD_MODULES] = schema_read_modules,
	[FIELD_REFUSED] = schema_read_refused,
};

static void schema_set_defaults(struct build *build, const struct section *section, void *base);

/* Before anything is read: the default, or what option_unset() knows as "not given". */
static void schema_set_default(struct build *build, const struct field *field, void *base)
{
	const struct option *option = &field->option;
	char *place = (char *)base + option->offset;
	if (field->kind == FIELD_INSIDE)
		schema_set_defaults(build, field->section, base);
	if (field->kind == FIELD_VALUES && option->def) {
		const char **v = arena_array(build->c->arena, const char *, 1);
		v[0] = option->def;
		schema_put_list(field, base, v, 1);
	}
	if (field->kind != FIELD_VALUE)
		return;
	if (option->def) {
		struct err e;
		const int rc = option_set(option, build->c->arena, base, option->def, &e);
		assert(rc == 0);
		(void)rc;
	} else if (option->type == OPT_ENUM) {
		*(int *)(void *)place = -1;
	} else if (option->type == OPT_RATIO || option->type == OPT_DOUBLE) {
		*(double *)(void *)place = NAN;
	}
}

static void schema_set_defaults(struct build *build, const struct section *section, void *base)
{
	for (size_t i = 0; i < section->n_fields; i++)
		schema_set_default(build, &section->fields[i], base);
}

static void schema_check_required(
	struct build *build, const struct section *section, const struct yaml_node *node)
{
	for (size_t i = 0; i < section->n_fields; i++) {
		const struct field *field = &section->fields[i];
		if (!(field->flags & FIELD_REQUIRED) || yaml_get(node, field->option.name))
			continue;
		build_error(build, node, "the key '%s' is missing here: %s", field->option.name,
			field->option.doc);
	}
}

/* Is @key that of a module, read by schema_read_receivers()? */
static bool schema_is_receiver(
	const struct config *c, const struct section *section, const char *key)
{
	const struct field *last = &section->fields[section->n_fields - 1];
	for (size_t i = 0; last->kind == FIELD_RECEIVERS && i < c->n_tables; i++)
		if (c->tables[i]->receiver && strcmp(c->tables[i]->name, key) == 0)
			return true;
	return false;
}

static void schema_read_keys(struct build *build, const struct section *section,
	const struct yaml_node *node, void *base)
{
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_item *item = &node->items[i];
		const struct field *field = schema_find(section, item->key);
		if (!field && schema_is_receiver(build->c, section, item->key))
			continue;
		if (!field)
			schema_unknown_key(build, section, item);
		else if (schema_has_value(build, item))
			readers[field->kind](build, field, item->value, base);
	}
	const struct field *last = &section->fields[section->n_fields - 1];
	if (last->kind == FIELD_RECEIVERS)
		schema_read_receivers(build, last, node, base);
	schema_check_required(build, section, node);
}

void schema_read(struct build *build, const struct section *section, const struct yaml_node *node,
	void *base)
{
	*(const struct yaml_node **)base = node;
	schema_set_defaults(build, section, base);
	if (node)
		schema_read_keys(build, section, node, base);
}

void *schema_read_or_defaults(struct build *build, const char *key)
{
	const struct field *field = schema_find(&schema_root, key);
	void **slot = (void *)((char *)build->c->tree + field->option.offset);
	if (!*slot) {
		*slot = arena_alloc(build->c->arena, field->section->size);
		schema_read(build, field->section, NULL, *slot);
	}
	return *slot;
}

/* ---- rows, for whoever walks them ----------------------------------------- */

const struct field *schema_find(const struct section *section, const char *name)
{
	for (size_t i = 0; i < section->n_fields; i++)
		if (strcmp(section->fields[i].option.name, name) == 0)
			return &section->fields[i];
	return NULL;
}

bool schema_receiver(const struct option_table *table, struct field *ret)
{
	if (!table->receiver)
		return false;
	*ret = (struct field)SECTIONS(FIELD_ONE_OR_MORE, config_alerts, receivers, n_receivers,
		table->name, *table->receiver);
	return true;
}

char *schema_type_text(const struct field *field, char *buf, size_t size)
{
	static const char *const names[] = {
		[OPT_BOOL] = "true or false",
		[OPT_INT] = "whole number",
		[OPT_DOUBLE] = "number",
		[OPT_RATIO] = "ratio such as 20% or 1/8",
		[OPT_DURATION] = "duration such as 10s",
		[OPT_SIZE] = "size such as 88064B",
		[OPT_BITRATE] = "bit rate such as 400G",
		[OPT_LENGTH] = "length such as 30m",
		[OPT_STRING] = "text",
		[OPT_ENUM] = "one of",
	};
	switch (field->kind) {
	case FIELD_VALUE:
		if (field->option.type == OPT_ENUM) {
			rw_cleanup(str_done) struct str b = {0};
			for (const char *const *c = field->option.choices; *c; c++)
				str_addf(&b, "%s%s", str_if(b.n, " | "), *c);
			snprintf(buf, size, "%s", b.s);
		} else {
			snprintf(buf, size, "%s", names[field->option.type]);
		}
		break;
	case FIELD_VALUES: snprintf(buf, size, "list such as [a, b]"); break;
	case FIELD_INSIDE:
	case FIELD_SECTION: snprintf(buf, size, "section"); break;
	case FIELD_SECTIONS: snprintf(buf, size, "list of sections"); break;
	case FIELD_ONE_OR_MORE: snprintf(buf, size, "section, or list of sections"); break;
	case FIELD_NAMED: snprintf(buf, size, "sections, each under a name that you choose"); break;
	case FIELD_LINKS: snprintf(buf, size, "list of sections, or 'discover'"); break;
	case FIELD_MODULES: snprintf(buf, size, "sections, each under the name of a module"); break;
	case FIELD_RECEIVERS:
	case FIELD_REFUSED: snprintf(buf, size, "not allowed"); break;
	}
	return buf;
}

/* ---- structs that are kept ------------------------------------------------ */

static struct config_texts schema_texts(const struct field *field, const void *base)
{
	struct config_texts texts;
	memcpy(&texts.v, (const char *)base + field->option.offset, sizeof(texts.v));
	memcpy(&texts.n, (const char *)base + field->count, sizeof(texts.n));
	return texts;
}

static bool schema_field_same(const struct field *field, const void *left, const void *right)
{
	if (field->kind == FIELD_INSIDE)
		return schema_same(field->section, left, right);
	if (field->kind == FIELD_VALUE)
		return option_same(&field->option, left, right);
	if (field->kind != FIELD_VALUES)
		return true;
	const struct config_texts one = schema_texts(field, left);
	const struct config_texts other = schema_texts(field, right);
	for (size_t i = 0; i < one.n && i < other.n; i++)
		if (!str_eq(one.v[i], other.v[i]))
			return false;
	return one.n == other.n;
}

bool schema_same(const struct section *section, const void *left, const void *right)
{
	for (size_t i = 0; i < section->n_fields; i++)
		if (!schema_field_same(&section->fields[i], left, right))
			return false;
	return true;
}

void schema_copy(const struct section *section, struct arena *a, void *base)
{
	for (size_t i = 0; i < section->n_fields; i++) {
		const struct field *field = &section->fields[i];
		const char **text = (void *)((char *)base + field->option.offset);
		if (field->kind == FIELD_INSIDE)
			schema_copy(field->section, a, base);
		if (field->kind == FIELD_VALUE && field->option.type == OPT_STRING && *text)
			*text = arena_strdup(a, *text);
		if (field->kind != FIELD_VALUES)
			continue;
		const struct config_texts was = schema_texts(field, base);
		const char **v = arena_array(a, const char *, was.n + 1);
		for (size_t k = 0; k < was.n; k++)
			v[k] = arena_strdup(a, was.v[k]);
		schema_put_list(field, base, v, was.n);
	}
}

/* ---- mistakes and warnings ------------------------------------------------ */

/* Mistakes are sorted by place before the first ones are printed, so more are kept than are shown;
 * a hostile file has a million. */
enum { MAX_COLLECTED = 1000 };

__attribute__((format(printf, 4, 0))) static void build_add(struct build *build,
	struct err_list *errors, const struct yaml_node *at, const char *fmt, va_list ap)
{
	struct err e = {0};
	char text[sizeof(e.text)];
	int line = 0, col = 0;
	if (errors->n >= MAX_COLLECTED) {
		errors->more++;
		return;
	}
	if (at) {
		line = at->line;
		col = at->col;
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	err_at(&e, -EINVAL, build->name, line, col, "%s", text);
	err_list_add(errors, &e);
}

void build_error(struct build *build, const struct yaml_node *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	build_add(build, build->errors, at, fmt, ap);
	va_end(ap);
}

void build_warn(struct build *build, const struct yaml_node *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	build_add(build, &build->c->warnings, at, fmt, ap);
	va_end(ap);
}

const struct yaml_node *build_at(const struct yaml_node *section, const char *key)
{
	const struct yaml_item *i = yaml_get(section, key);
	if (i)
		return i->value;
	return section;
}

const struct yaml_node *build_entry_at(
	const struct yaml_node *section, const char *key, const char *text)
{
	const struct yaml_node *list = build_at(section, key);
	for (size_t i = 0; list->kind == YAML_LIST && i < list->n; i++)
		if (str_eq(list->items[i].value->text, text))
			return list->items[i].value;
	return list;
}

void build_unknown(struct build *build, const struct yaml_item *item, const char *what,
	const char *const *names, size_t n)
{
	const struct yaml_node at = {.line = item->line, .col = item->col};
	const char *near = str_nearest(item->key, names, n);
	if (near) {
		build_error(build, &at, "unknown %s '%.64s'; did you mean '%s'?", what, item->key,
			near);
		return;
	}
	rw_cleanup(str_done) struct str all = {0};
	for (size_t k = 0; k < n; k++)
		str_addf(&all, "%s%s", str_if(k != 0, ", "), names[k]);
	build_error(build, &at, "unknown %s '%.64s'; expected one of %.500s", what, item->key,
		str_or(all.s, "(none here)"));
}

void build_unknown_name(struct build *build, const struct yaml_node *at, const char *key,
	const char *what, const char *name, const char *const *names, size_t n,
	const char *otherwise)
{
	const char *near = str_nearest(name, names, n);
	if (near)
		build_error(build, at, "%s: unknown %s '%.64s'; did you mean '%s'?", key, what,
			name, near);
	else
		build_error(build, at, "%s: unknown %s '%.64s'; %s", key, what, name, otherwise);
}

bool build_already_given(struct build *build, struct smap *seen, const struct yaml_node *section,
	const char *kind, const char *name)
{
	if (!name)
		return false; /* reported as missing by the schema */
	const struct yaml_node *at = build_at(section, "name");
	uint64_t line;
	if (smap_get(seen, name, strlen(name), &line)) {
		build_error(build, at,
			"name: %s '%s' is already given in line %d; remove one of them or choose "
			"another name",
			kind, name, (int)line);
		return true;
	}
	smap_put(seen, name, strlen(name), (uint64_t)at->line);
	return false;
}
