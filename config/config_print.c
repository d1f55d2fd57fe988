/*
 * config_print - what the rows of the schema and of all modules say: the configuration back as
 * YAML, and type, range, default and meaning of every key. Text, JSON, the manual page and
 * docs/configuration.md are made of that walk.
 */

#include "config/schema.h"

/* ---- the configuration as YAML -------------------------------------------- */

/* Is it the same text for every YAML reader without quotes? Stricter than our own needs. */
static bool config_print_plain(const char *text)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/%-";
	if (!*text || text[strspn(text, allowed)] || strchr("-%.", *text))
		return false;
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	return true;
}

static void add_text(struct str *out, const char *text, bool quote)
{
	if (!quote && config_print_plain(text)) {
		str_add(out, text);
		return;
	}
	str_add(out, "\"");
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '"' || *p == '\\')
			str_addf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			str_addf(out, "\\x%02x", *p);
		else
			str_addn(out, (const char *)p, 1);
	}
	str_add(out, "\"");
}

static void add_indent(struct str *out, int indent)
{
	str_addf(out, "%*s", indent, "");
}

static void add_option(struct str *out, const struct option *option, const void *base)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const char *text = option_text(option, a, base);
	/* Numbers and choices are plain by construction, true and false must stay so. */
	if (option->type == OPT_STRING)
		add_text(out, text, false);
	else
		str_add(out, text);
}

static void add_section(struct str *out, const struct config *config, const struct section *section,
	const void *base, int indent, bool after_dash);

static void add_values(struct str *out, const char *const *texts, size_t n)
{
	str_add(out, "[");
	for (size_t i = 0; i < n; i++) {
		str_add(out, str_if(i, ", "));
		add_text(out, texts[i], false);
	}
	str_add(out, "]\n");
}

static void add_modules(
	struct str *out, const struct config *config, const char *section, int indent)
{
	bool first = true;
	for (size_t i = 0; i < config->n_tables; i++) {
		const struct option_table *table = config->tables[i];
		if (strcmp(table->section, section) != 0 || table->n_rows == 0)
			continue;
		if (first)
			str_addf(out, "%s:\n", section);
		first = false;
		add_indent(out, indent + 2);
		str_addf(out, "%s:\n", table->name);
		for (size_t k = 0; k < table->n_rows; k++) {
			const struct option *option = &table->rows[k];
			if (option_unset(option, config->options[i]))
				continue;
			add_indent(out, indent + 4);
			str_addf(out, "%s: ", option->name);
			add_option(out, option, config->options[i]);
			str_add(out, "\n");
		}
	}
}

/* The name of a FIELD_NAMED entry: the first member after .node. */
static const char *entry_name(const void *entry)
{
	const char *place = (const char *)entry + sizeof(const struct yaml_node *);
	return *(const char *const *)(const void *)place;
}

static void add_list(struct str *out, const struct config *config, const struct field *field,
	const void *entries, size_t n, int indent)
{
	str_addf(out, "%s:\n", field->option.name);
	for (size_t i = 0; i < n; i++) {
		const char *entry = (const char *)entries + i * field->section->size;
		add_indent(out, indent + 2);
		if (field->kind == FIELD_NAMED) {
			add_text(out, entry_name(entry), false);
			str_add(out, ":\n");
			add_section(out, config, field->section, entry, indent + 4, false);
		} else {
			str_add(out, "- ");
			add_section(out, config, field->section, entry, indent + 4, true);
		}
	}
}

/* How many entries the list of @field has. */
static size_t field_count(const struct field *field, const void *base)
{
	return *(const size_t *)(const void *)((const char *)base + field->count);
}

/* Is there anything to print of this field? */
static bool field_given(const struct config *config, const struct field *field, const void *base)
{
	const void *slot = (const char *)base + field->option.offset;
	switch (field->kind) {
	case FIELD_REFUSED: return false;
	case FIELD_VALUE:
		if (field->flags & FIELD_REQUIRED)
			return true;
		return !option_unset(&field->option, base);
	case FIELD_INSIDE:
		if (field->flags & FIELD_ALWAYS)
			return true;
		return *(void *const *)slot;
	case FIELD_SECTION: return *(void *const *)slot;
	case FIELD_LINKS: return config->tree->discover || field_count(field, base) > 0;
	case FIELD_VALUES:
	case FIELD_SECTIONS:
	case FIELD_ONE_OR_MORE:
	case FIELD_RECEIVERS:
	case FIELD_NAMED: return field_count(field, base) > 0;
	case FIELD_MODULES: return true;
	}
	return false;
}

static void add_inner_section(struct str *out, const struct config *config,
	const struct field *field, const void *section, int indent)
{
	rw_cleanup(str_done) struct str inner = {0};
	add_section(&inner, config, field->section, section, indent + 2, false);
	if (inner.n)
		str_addf(out, "%s:\n%s", field->option.name, inner.s);
	else
		str_addf(out, "%s: {}\n", field->option.name);
}

/* A list of sections, or what may stand in its place. */
static void add_sections(struct str *out, const struct config *config, const struct field *field,
	const void *entries, size_t n, int indent)
{
	if (field->kind == FIELD_LINKS && config->tree->discover)
		str_addf(out, "%s: discover\n", field->option.name);
	else if (field->kind == FIELD_ONE_OR_MORE && n == 1)
		add_inner_section(out, config, field, entries, indent);
	else
		add_list(out, config, field, entries, n, indent);
}

/* The receivers of alerts, kind by kind: those of one kind stand behind each other. */
static void add_receivers(struct str *out, const struct config *config,
	const struct config_alerts *alerts, int indent)
{
	size_t n;
	for (size_t i = 0; i < alerts->n_receivers; i += n) {
		const struct config_receiver *first = &alerts->receivers[i];
		struct field row;
		for (n = 1; i + n < alerts->n_receivers && first[n].kind == first->kind;)
			n++;
		if (!schema_receiver(first->kind, &row))
			continue;
		add_indent(out, indent);
		add_sections(out, config, &row, first, n, indent);
	}
}

/* One field with its key; false, and nothing, when it is not given. */
static bool add_field(struct str *out, const struct config *config, const struct field *field,
	const void *base, int indent, bool after_dash)
{
	const void *slot = (const char *)base + field->option.offset;
	if (!field_given(config, field, base))
		return false;
	if (field->kind == FIELD_MODULES)
		add_modules(out, config, field->option.name, indent);
	if (field->kind == FIELD_RECEIVERS)
		add_receivers(out, config, base, indent);
	if (field->kind == FIELD_MODULES || field->kind == FIELD_RECEIVERS)
		return true;
	if (!after_dash)
		add_indent(out, indent);
	switch (field->kind) {
	case FIELD_VALUE:
		str_addf(out, "%s: ", field->option.name);
		add_option(out, &field->option, base);
		str_add(out, "\n");
		break;
	case FIELD_VALUES:
		str_addf(out, "%s: ", field->option.name);
		add_values(out, *(const char *const *const *)slot, field_count(field, base));
		break;
	case FIELD_INSIDE: add_inner_section(out, config, field, base, indent); break;
	case FIELD_SECTION:
		add_inner_section(out, config, field, *(void *const *)slot, indent);
		break;
	default:
		add_sections(
			out, config, field, *(void *const *)slot, field_count(field, base), indent);
	}
	return true;
}

static void add_section(struct str *out, const struct config *config, const struct section *section,
	const void *base, int indent, bool after_dash)
{
	bool first = after_dash;
	for (size_t i = 0; i < section->n_fields; i++)
		if (add_field(out, config, &section->fields[i], base, indent, first))
			first = false;
}

char *config_text(const struct config *config)
{
	struct str out = {0};
	str_add(&out, "");
	add_section(&out, config, &schema_root, config->tree, 0, false);
	return out.s;
}

void config_print(const struct config *config, FILE *out)
{
	rw_cleanup(freep) char *text = config_text(config);
	fputs(text, out);
}

/* ---- every key, explained: the walk ------------------------------------------ */

struct key_walk {
	config_key_fn *visit;
	void *arg;
	struct arena *arena;
	const struct option_table *const *tables;
	size_t n_tables;
};

/* The meaning of a default of zero, which the rows write as "0 = off" within their sentence; NULL
 * when 0 means 0. */
static const char *key_zero_means(struct arena *a, const struct option *option)
{
	const char *def = option->def;
	if (!def || *def != '0' || strpbrk(def, "123456789."))
		return NULL;
	const char *at = strstr(option->doc, "0 = ");
	if (!at)
		at = strstr(option->doc, "0s = ");
	if (!at)
		return NULL;
	at = strchr(at, '=') + 2;
	return arena_strndup(a, at, strcspn(at, ".;:"));
}

static void key_visit_option(
	const struct key_walk *walk, const char *path, const struct field *field)
{
	const struct option *o = &field->option;
	char type[200];
	struct config_key key = {.path = path,
		.type = schema_type_text(field, type, sizeof(type)),
		.min = o->min,
		.max = o->max,
		.required = field->flags & FIELD_REQUIRED,
		.doc = o->doc};
	if (!key.required)
		key.def = o->def;
	if (key.def && field->kind == FIELD_VALUES)
		key.def = arena_printf(walk->arena, "[%s]", o->def);
	if (key.def)
		key.def_means = key_zero_means(walk->arena, o);
	walk->visit(&key, walk->arg);
}

static void key_visit_head(
	const struct key_walk *walk, const char *path, const struct field *field, const char *doc)
{
	char type[200];
	const struct config_key key = {.path = path,
		.type = schema_type_text(field, type, sizeof(type)),
		.doc = doc,
		.section = true};
	walk->visit(&key, walk->arg);
}

static void key_walk_modules(const struct key_walk *walk, const struct field *field)
{
	key_visit_head(walk, field->option.name, field, field->option.doc);
	for (size_t i = 0; i < walk->n_tables; i++) {
		const struct option_table *t = walk->tables[i];
		if (strcmp(t->section, field->option.name) != 0)
			continue;
		const char *path = arena_printf(walk->arena, "%s.%s", t->section, t->name);
		const struct field section = {.kind = FIELD_SECTION};
		key_visit_head(walk, path, &section, str_or(t->doc, ""));
		for (size_t k = 0; k < t->n_rows; k++) {
			const struct field row = {.kind = FIELD_VALUE, .option = t->rows[k]};
			key_visit_option(walk,
				arena_printf(walk->arena, "%s.%s", path, t->rows[k].name), &row);
		}
	}
}

static void key_walk_section(
	const struct key_walk *walk, const struct section *section, const char *prefix);

/* The kinds of receivers, as the modules bring them. */
static void key_walk_receivers(const struct key_walk *walk, const char *prefix)
{
	for (size_t i = 0; i < walk->n_tables; i++) {
		struct field row;
		if (!schema_receiver(walk->tables[i], &row))
			continue;
		const char *path = arena_printf(walk->arena, "%s.%s", prefix, row.option.name);
		key_visit_head(walk, path, &row, row.section->doc);
		key_walk_section(walk, row.section, path);
	}
}

static void key_walk_section(
	const struct key_walk *walk, const struct section *section, const char *prefix)
{
	for (size_t i = 0; i < section->n_fields; i++) {
		const struct field *f = &section->fields[i];
		const char *path = f->option.name;
		const char *inner = "";
		if (*prefix)
			path = arena_printf(walk->arena, "%s.%s", prefix, path);
		switch (f->kind) {
		case FIELD_REFUSED: continue;
		case FIELD_VALUE:
		case FIELD_VALUES: key_visit_option(walk, path, f); continue;
		case FIELD_MODULES: key_walk_modules(walk, f); continue;
		case FIELD_RECEIVERS: key_walk_receivers(walk, prefix); continue;
		case FIELD_INSIDE:
		case FIELD_SECTION:
		case FIELD_ONE_OR_MORE: break;
		case FIELD_NAMED: inner = ".<name>"; break;
		case FIELD_SECTIONS:
		case FIELD_LINKS: inner = "[]"; break;
		}
		key_visit_head(walk, path, f, f->section->doc);
		key_walk_section(walk, f->section, arena_printf(walk->arena, "%s%s", path, inner));
	}
}

void config_keys(
	const struct option_table *const *tables, size_t n_tables, config_key_fn *visit, void *arg)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct key_walk walk = {
		.visit = visit, .arg = arg, .arena = a, .tables = tables, .n_tables = n_tables};
	key_walk_section(&walk, &schema_root, "");
}

void config_key_about(const struct config_key *key, struct str *out)
{
	str_add(out, key->type);
	if (key->min && key->max)
		str_addf(out, ", %s to %s", key->min, key->max);
	else if (key->min)
		str_addf(out, ", at least %s", key->min);
	else if (key->max)
		str_addf(out, ", at most %s", key->max);
	if (key->required)
		str_add(out, ", required");
	if (key->def)
		str_addf(out, ", default %s", key->def);
	if (key->def_means)
		str_addf(out, ": %s", key->def_means);
}

/* ---- which keys are asked for -------------------------------------------- */

struct key_select {
	config_key_fn *visit;
	void *arg;
	struct arena *arena;
	const char *asked; /* normalised; NULL = all */
	bool found;
	const char **names; /* of all keys, for the hint */
	size_t n_names, cap_names;
};

/* "devices[].snmp.interval" -> "devices.snmp.interval"; "credentials.<name>.snmp.user" stays, see
 * key_matches(). */
static const char *key_normal(struct arena *a, const char *key)
{
	char *copy = arena_strdup(a, key), *to = copy;
	for (const char *p = key; *p; p++) {
		if (*p == '[') {
			const char *close = strchr(p, ']');
			if (close) {
				p = close;
				continue;
			}
		}
		*to++ = *p;
	}
	*to = '\0';
	return copy;
}

/* @pattern is a key of the schema, where "<name>" stands for any one word; @key may be a section
 * above it. */
static bool key_matches(const char *key, const char *pattern)
{
	while (*key) {
		if (*pattern == '<') {
			pattern = strchr(pattern, '>') + 1;
			key += strcspn(key, ".");
			continue;
		}
		if (*key != *pattern)
			return false;
		key++;
		pattern++;
	}
	return *pattern == '\0' || *pattern == '.' || *pattern == '[';
}

static void key_select_visit(const struct config_key *key, void *arg)
{
	struct key_select *select = arg;
	const char *normal = key_normal(select->arena, key->path);
	rw_grow(select->names, select->n_names, select->cap_names);
	select->names[select->n_names++] = normal;
	if (select->asked && !key_matches(select->asked, normal))
		return;
	select->found = true;
	select->visit(key, select->arg);
}

int config_keys_of(const char *asked, const struct option_table *const *tables, size_t n_tables,
	config_key_fn *visit, void *arg, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct key_select select = {.visit = visit, .arg = arg, .arena = a};
	int r = 0;
	if (asked)
		select.asked = key_normal(a, asked);
	config_keys(tables, n_tables, key_select_visit, &select);
	const char *near = NULL;
	if (!select.found)
		near = str_nearest(select.asked, select.names, select.n_names);
	if (near)
		r = err_set(e, -ENOENT, "unknown key '%.100s'; did you mean '%s'?", asked, near);
	else if (!select.found)
		r = err_set(e, -ENOENT,
			"unknown key '%.100s'; 'rocewatch config explain' without key lists all",
			asked);
	free(select.names);
	return r;
}

/* ---- as text ------------------------------------------------------------- */

static void explain_key(const struct config_key *key, void *arg)
{
	rw_cleanup(str_done) struct str about = {0};
	config_key_about(key, &about);
	fprintf(arg, "%s\n    %s\n    %s\n", key->path, about.s, key->doc);
}

int config_explain(const char *key, const struct option_table *const *tables, size_t n_tables,
	FILE *out, struct err *e)
{
	return config_keys_of(key, tables, n_tables, explain_key, out, e);
}
