/* config - loads a configuration, checks the files it names, and changes single settings. schema.c
 * says what may be in the file, config_build.c what becomes of it. */
#include "config/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/process.h"
#include "config/config_build.h"

enum { MAX_MISTAKES = 50 };

static struct config *config_new(
	const char *name, const struct option_table *const *tables, size_t n_tables)
{
	struct arena *a = arena_new();
	struct config *c = arena_new_of(a, struct config);
	c->arena = a;
	c->path = arena_strdup(a, name);
	c->tables = tables;
	c->n_tables = n_tables;
	c->options = arena_array(a, void *, n_tables);
	for (size_t i = 0; i < n_tables; i++) {
		c->options[i] = arena_alloc(a, tables[i]->size);
		options_defaults(tables[i], a, c->options[i]);
	}
	return c;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	err_list_done(&config->warnings);
	arena_free(config->arena); /* @config itself is in it */
}

static bool config_stands_after(const struct err *one, const struct err *other)
{
	if (one->line != other->line)
		return one->line > other->line;
	return one->col > other->col;
}

/* Mistakes are found section by section, but people mend a file from top to bottom. An insertion
 * sort, since qsort() does not keep the order of equals. */
void config_mistakes_sort(struct err_list *errors)
{
	for (size_t i = 1; i < errors->n; i++) {
		const struct err moved = errors->v[i];
		size_t at = i;
		for (; at > 0 && config_stands_after(&errors->v[at - 1], &moved); at--)
			errors->v[at] = errors->v[at - 1];
		errors->v[at] = moved;
	}
}

static void config_hand_over(struct err_list *from, struct err_list *to)
{
	for (size_t i = 0; i < from->n && i < MAX_MISTAKES; i++)
		err_list_add(to, &from->v[i]);
	to->more += from->more;
	if (from->n > MAX_MISTAKES)
		to->more += from->n - MAX_MISTAKES;
}

int config_parse(const char *text, size_t n, const char *name, enum config_mode mode,
	const struct option_table *const *tables, size_t n_tables, struct config **ret,
	struct err_list *errors)
{
	rw_cleanup(err_list_done) struct err_list mistakes = {0};
	struct config *c = config_new(name, tables, n_tables);
	struct build b = {.c = c, .name = c->path, .mode = mode, .errors = &mistakes};

	yaml_read(text, n, c->path, c->arena, &b.root, &mistakes);
	if (b.root && b.root->kind == YAML_NULL) {
		const struct yaml_node start = {.line = 1, .col = 1};
		build_error(&b, &start,
			"is empty; expected at least 'devices:' (rocewatch config explain lists "
			"the keys)");
	} else if (b.root && b.root->kind != YAML_MAP) {
		char what[100];
		build_error(&b, b.root,
			"the file is %s; expected 'key: value' lines such as 'fabric: pod-a'",
			yaml_what(b.root, what, sizeof(what)));
	} else if (b.root) {
		c->tree = arena_new_of(c->arena, struct config_tree);
		schema_read(&b, &schema_root, b.root, c->tree);
		build_fabric(&b);
		build_config(&b);
	}
	if (mistakes.n > 0) {
		config_mistakes_sort(&mistakes);
		config_hand_over(&mistakes, errors);
		config_free(c);
		return -EINVAL;
	}
	config_mistakes_sort(&c->warnings);
	*ret = c;
	return 0;
}

int config_load(const char *path, enum config_mode mode, const struct option_table *const *tables,
	size_t n_tables, struct config **ret, struct err_list *errors)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	struct err e = {0};
	int r = str_read_file(path, YAML_MAX_BYTES, &text, &n, &e);
	if (r < 0) {
		err_list_add(errors, &e);
		return r;
	}
	return config_parse(text, n, path, mode, tables, n_tables, ret, errors);
}

static int check_file(const struct config *config, const struct config_file *file, struct err *e,
	bool *ret_warning)
{
	struct stat st;
	struct err kind;
	*ret_warning = false;
	const int late = path_answers(file->path, &kind);
	if (late < 0)
		return err_at(e, late, config->path, file->line, file->col, "%s: '%s' %s",
			file->key, file->path, kind.text);
	if (stat(file->path, &st) < 0) {
		int code = errno;
		*ret_warning = code == EACCES;
		if (code == EACCES)
			return err_at(e, -code, config->path, file->line, file->col,
				"%s: this user may not see whether '%s' exists", file->key,
				file->path);
		if (file->secret && !strchr(file->path, '/'))
			return err_at(e, -code, config->path, file->line, file->col,
				"%s: no such file; expected a path, such as ./NAME. What stands "
				"here is "
				"not repeated, in case it is the secret itself",
				file->key);
		return err_at(e, -code, config->path, file->line, file->col,
			"%s: '%s' does not exist; create it%s or correct the path", file->key,
			file->path,
			str_if(file->secret, " (mode 0600, owned by the agent's user)"));
	}
	const int rc = str_file_kind(file->path, &st, &kind);
	if (rc < 0)
		return err_at(e, rc, config->path, file->line, file->col, "%s: '%s' %s", file->key,
			file->path, kind.text);
	if (file->secret && st.st_size == 0)
		return err_at(e, -ENODATA, config->path, file->line, file->col,
			"%s: '%s' is empty; expected the secret in it", file->key, file->path);
	*ret_warning = true;
	if (access(file->path, R_OK) < 0)
		return err_at(e, -EACCES, config->path, file->line, file->col,
			"%s: '%s' cannot be read by this user; the agent's user must be able to",
			file->key, file->path);
	if (outside_is(file->path))
		return err_at(e, -EACCES, config->path, file->line, file->col,
			"%s: '%s' cannot be opened%s", file->key, file->path,
			outside_hint(file->path));
	if (file->secret && (st.st_mode & S_IROTH))
		return err_at(e, -EPERM, config->path, file->line, file->col,
			"%s: '%s' can be read by everyone on this machine; chmod 0600", file->key,
			file->path);
	return 0;
}

int config_check_files(
	const struct config *config, struct err_list *errors, struct err_list *warnings)
{
	int ret = 0;
	for (size_t i = 0; i < config->n_files; i++) {
		struct err e = {0};
		bool warning;
		if (check_file(config, &config->files[i], &e, &warning) == 0)
			continue;
		if (warning) {
			err_list_add(warnings, &e);
			continue;
		}
		err_list_add(errors, &e);
		ret = -ENOENT;
	}
	return ret;
}

/* A key that is valid, but that this version does not act on: say so, or people wait for it. */
static void config_unserved(const struct config *config, const struct yaml_node *at,
	const char *key, const char *what, struct err_list *errors)
{
	static const struct yaml_node nowhere;
	struct err e = {0};
	if (!at)
		at = &nowhere;
	err_at(&e, -ENOTSUP, config->path, at->line, at->col, "%s: %s", key, what);
	err_list_add(errors, &e);
}

int config_check_served(
	const struct config *config, struct err_list *errors, struct err_list *warnings)
{
	const struct config_tree *t = config->tree;
	int ret = 0;
	if (config->store.path && strstr(config->store.path, "://")) {
		const struct yaml_node *at = NULL;
		if (t->store)
			at = build_at(t->store->node, "path");
		config_unserved(config, at, "path",
			"an agent writes a file on a local disk, whatever it ships elsewhere; "
			"expected the "
			"path of a file. Reading commands take such an address (--db)",
			errors);
		ret = -ENOTSUP;
	}
	return ret;
}

const void *config_options(const struct config *config, const char *section, const char *name)
{
	for (size_t i = 0; i < config->n_tables; i++)
		if (strcmp(config->tables[i]->section, section) == 0 &&
			strcmp(config->tables[i]->name, name) == 0)
			return config->options[i];
	return NULL;
}

/* ---- config_set ---------------------------------------------------------- */

/* Sections besides the modules' that may change after loading: they decide verdicts (defaults: how
 * long windows are and what counts as a gap) or advice. */
static const char *const changeable[] = {"policy", "cost", "lossless", "defaults", "tuning"};

/* Is this a setting of the file at all? "store.path", "devices[3].name". */
static bool known_setting(const char *key)
{
	const struct section *section = &schema_root;
	const struct field *field = NULL;
	while (*key) {
		char name[64];
		const size_t n = strcspn(key, ".[");
		if (!section || n == 0 || n >= sizeof(name))
			return false;
		memcpy(name, key, n);
		name[n] = '\0';
		field = schema_find(section, name);
		if (!field)
			return false;
		section = field->section;
		key += n;
		if (*key == '[')
			key += strcspn(key, ".");
		if (*key == '.')
			key++;
	}
	return field != NULL;
}

static int unknown_setting(const struct config *config, const char *key, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n = 0, max = 0;
	for (size_t i = 0; i < config->n_tables; i++)
		max += config->tables[i]->n_rows;
	const char **names = arena_array(a, const char *, max + 64);
	for (size_t i = 0; i < config->n_tables; i++)
		for (size_t k = 0; k < config->tables[i]->n_rows; k++)
			names[n++] = arena_printf(a, "%s.%s.%s", config->tables[i]->section,
				config->tables[i]->name, config->tables[i]->rows[k].name);
	for (size_t i = 0; i < rw_countof(changeable); i++) {
		const struct section *s = schema_find(&schema_root, changeable[i])->section;
		for (size_t k = 0; k < s->n_fields; k++)
			if ((s->fields[k].kind == FIELD_VALUE ||
				    s->fields[k].kind == FIELD_VALUES) &&
				n < max + 64)
				names[n++] = arena_printf(
					a, "%s.%s", changeable[i], s->fields[k].option.name);
	}
	const char *near = str_nearest(key, names, n);
	if (near)
		return err_set(
			e, -ENOENT, "unknown setting '%.100s'; did you mean '%s'?", key, near);
	if (known_setting(key))
		return err_set(e, -ENOENT,
			"unknown setting '%.100s' here: it says what is polled, kept or served, "
			"and "
			"has no part in judging recorded samples; change it in the file (--fabric "
			"FILE)",
			key);
	const char *example = "(none)";
	if (n)
		example = names[0];
	return err_set(
		e, -ENOENT, "unknown setting '%.100s'; expected one such as %s", key, example);
}

/* "3,4": a list of texts. */
static int config_set_values(struct config *config, const struct field *field, void *base,
	const char *key, const char *text, struct err *e)
{
	rw_cleanup(freep) char *words = rw_strdup(text);
	const char **v = arena_array(config->arena, const char *, strlen(text) + 1);
	size_t n = 0;
	char *save = NULL;
	for (char *word = strtok_r(words, ", []", &save); word;
		word = strtok_r(NULL, ", []", &save)) {
		struct err why = {0};
		if (field->check && field->check(word, &why) < 0)
			return err_set(e, -EINVAL, "%s is %s", key, why.text);
		v[n++] = arena_strdup(config->arena, word);
	}
	if (n == 0)
		return err_set(
			e, -EINVAL, "%s is '%.100s'; expected a list such as 3,4", key, text);
	*(const char ***)(void *)((char *)base + field->option.offset) = v;
	*(size_t *)(void *)((char *)base + field->count) = n;
	return 0;
}

static int config_set_value(struct config *config, const struct field *field, void *base,
	const char *key, const char *value, struct err *e)
{
	int r = 0;
	if (field->check)
		r = field->check(value, e);
	if (r == 0)
		r = option_set(&field->option, config->arena, base, value, e);
	if (r < 0 && e) {
		struct err inner = *e;
		err_set(e, r, "%s is %s", key, inner.text);
	}
	return r;
}

/* "policy.congestion": the section is made when the file has none, so that printing shows it. */
static int set_in_tree(struct config *config, const char *key, const char *value, struct err *e)
{
	for (size_t i = 0; i < rw_countof(changeable); i++) {
		size_t n = strlen(changeable[i]);
		if (strncmp(key, changeable[i], n) != 0 || key[n] != '.')
			continue;
		const struct field *outer = schema_find(&schema_root, changeable[i]);
		const struct field *f = schema_find(outer->section, key + n + 1);
		void **slot = (void *)((char *)config->tree + outer->option.offset);
		if (!f || (f->kind != FIELD_VALUE && f->kind != FIELD_VALUES))
			break;
		if (!*slot) {
			struct build b = {.c = config, .name = config->path};
			*slot = arena_alloc(config->arena, outer->section->size);
			schema_read(&b, outer->section, NULL, *slot);
		}
		int r;
		if (f->kind == FIELD_VALUES)
			r = config_set_values(config, f, *slot, key, value, e);
		else
			r = config_set_value(config, f, *slot, key, value, e);
		if (r == 0)
			build_scalars(config);
		return r;
	}
	return unknown_setting(config, key, e);
}

/* The option's name in "SECTION.NAME.option"; NULL when @key is not of this table. */
static const char *option_in_key(const struct option_table *table, const char *key)
{
	const size_t n_section = strlen(table->section), n_name = strlen(table->name);
	if (strncmp(key, table->section, n_section) != 0 || key[n_section] != '.')
		return NULL;
	key += n_section + 1;
	if (strncmp(key, table->name, n_name) != 0 || key[n_name] != '.')
		return NULL;
	return key + n_name + 1;
}

int config_set(struct config *config, const char *key, const char *value, struct err *e)
{
	for (size_t i = 0; i < config->n_tables; i++) {
		const char *name = option_in_key(config->tables[i], key);
		if (!name)
			continue;
		const struct option *option = option_find(config->tables[i], name);
		if (!option)
			return unknown_setting(config, key, e);
		const struct field field = {.kind = FIELD_VALUE, .option = *option};
		return config_set_value(config, &field, config->options[i], key, value, e);
	}
	return set_in_tree(config, key, value, e);
}

#define INTERVAL_UNKNOWN_NS (10 * NS_PER_S) /* the built-in defaults.interval */

int64_t config_device_interval(const struct config_device *device, const char *protocol)
{
	const bool streamed = str_eq(protocol, "gnmi");
	if (streamed && device->gnmi && device->gnmi->interval_ns > 0)
		return device->gnmi->interval_ns;
	if (device->snmp)
		return device->snmp->interval_ns;
	return 0;
}

int64_t config_device_slow_interval(const struct config_device *device)
{
	if (device->snmp)
		return device->snmp->slow_interval_ns;
	if (device->gnmi)
		return device->gnmi->slow_interval_ns;
	return 0;
}

int64_t config_usual_window(int64_t interval_ns)
{
	if (3 * interval_ns > 5 * NS_PER_S)
		return 3 * interval_ns;
	return 5 * NS_PER_S;
}

/* A number or a duration of an analyzer; 0: it has none of that name. */
static int64_t config_of_analyzer(
	const struct config *config, const char *analyzer, const char *name, enum option_type type)
{
	int64_t value = 0;
	for (size_t i = 0; i < config->n_tables; i++) {
		const struct option_table *table = config->tables[i];
		if (strcmp(table->section, "analyzers") != 0 || strcmp(table->name, analyzer) != 0)
			continue;
		const struct option *option = option_find(table, name);
		if (option && option->type == type)
			memcpy(&value, (const char *)config->options[i] + option->offset,
				sizeof(value));
	}
	return value;
}

int64_t config_hold(const struct config *config, const char *analyzer)
{
	const int64_t hold = config_of_analyzer(config, analyzer, "hold", OPT_INT);
	return hold > 0 ? hold : 1;
}

int64_t config_window(const struct config *config, const char *analyzer)
{
	const int64_t window_ns = config_of_analyzer(config, analyzer, "window", OPT_DURATION);
	if (window_ns > 0)
		return window_ns;
	return config_usual_window(config_interval(config));
}

int64_t config_interval(const struct config *config)
{
	int64_t longest_ns = config->whole_interval_ns;
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		if (device->snmp && device->snmp->interval_ns > longest_ns)
			longest_ns = device->snmp->interval_ns;
		if (device->gnmi && device->gnmi->interval_ns > longest_ns)
			longest_ns = device->gnmi->interval_ns;
	}
	if (longest_ns > 0)
		return longest_ns;
	if (config->defaults.interval_ns > 0)
		return config->defaults.interval_ns;
	return INTERVAL_UNKNOWN_NS;
}
