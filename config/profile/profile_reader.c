/*
 * profile_reader - the values that every part of a profile consists of: sections with known keys,
 * text, numbers, durations, object identifiers. A wrong one is added to the list of mistakes with
 * its line and column, and reading goes on.
 */
#include "config/profile/profile_reader.h"

#include "db/model/metric.h"

void reader_wrong(struct reader *reader, int line, int col, const char *fmt, ...)
{
	struct err e = {0};
	char text[sizeof(e.text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_at(&e, -EINVAL, reader->file, line, col, "%s", text);
	err_list_add(reader->errors, &e);
}

void reader_wrong_node(struct reader *reader, const struct yaml_node *node, const char *expected)
{
	char what[128];
	reader_wrong(reader, node->line, node->col, "read %s, expected %s",
		yaml_what(node, what, sizeof(what)), expected);
}

bool reader_keys(struct reader *reader, const struct yaml_node *node, const char *const *known,
	size_t n_known, const char *what)
{
	if (node->kind != YAML_MAP) {
		reader_wrong_node(reader, node, what);
		return false;
	}
	bool ok = true;
	for (size_t i = 0; i < node->n; i++) {
		bool found = false;
		for (size_t k = 0; k < n_known && !found; k++)
			found = strcmp(known[k], node->items[i].key) == 0;
		if (found)
			continue;
		const struct yaml_item *item = &node->items[i];
		const char *near = str_nearest(item->key, known, n_known);
		if (near)
			reader_wrong(reader, item->line, item->col,
				"unknown key '%s' in %s, did you mean '%s'?", item->key, what,
				near);
		else
			reader_wrong(reader, item->line, item->col, "unknown key '%s' in %s",
				item->key, what);
		ok = false;
	}
	return ok;
}

const struct yaml_node *reader_value(const struct yaml_node *map, const char *key)
{
	const struct yaml_item *i = yaml_get(map, key);
	if (i)
		return i->value;
	return NULL;
}

const char *reader_text(
	struct reader *reader, const struct yaml_node *map, const char *key, bool required)
{
	const struct yaml_node *v = reader_value(map, key);
	if (!v) {
		if (required)
			reader_wrong(reader, map->line, map->col, "'%s' is missing here", key);
		return NULL;
	}
	if (v->kind != YAML_TEXT || !*v->text) {
		reader_wrong_node(reader, v, "text");
		return NULL;
	}
	return v->text;
}

/* Decimal digits, without a sign and without leading zeros. */
static bool whole_number(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;
	if (*text == '\0' || (text[0] == '0' && text[1] != '\0'))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		const uint64_t digit = (uint64_t)(*text - '0');
		if (digit > max || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret = number;
	return true;
}

bool reader_number_at(
	struct reader *reader, const struct yaml_node *node, uint64_t max, uint64_t *ret)
{
	if (node->kind == YAML_TEXT && whole_number(node->text, max, ret))
		return true;
	char expected[64];
	snprintf(expected, sizeof(expected), "a whole number from 0 to %" PRIu64, max);
	reader_wrong_node(reader, node, expected);
	return false;
}

bool reader_number(struct reader *reader, const struct yaml_node *map, const char *key,
	uint64_t max, uint64_t *ret)
{
	const struct yaml_node *v = reader_value(map, key);
	return v && reader_number_at(reader, v, max, ret);
}

bool reader_bool(struct reader *reader, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = reader_value(map, key);
	if (!v)
		return false;
	if (v->kind != YAML_TEXT ||
		(strcmp(v->text, "true") != 0 && strcmp(v->text, "false") != 0)) {
		reader_wrong_node(reader, v, "true or false");
		return false;
	}
	return v->text[0] == 't';
}

unsigned reader_width(struct reader *reader, const struct yaml_node *map)
{
	uint64_t bits;
	if (!reader_number(reader, map, "width", 64, &bits))
		return 0;
	if (bits != 32 && bits != 64)
		reader_wrong_node(reader, reader_value(map, "width"), "32 or 64");
	return (unsigned)bits;
}

int64_t reader_duration(struct reader *reader, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = reader_value(map, key);
	int64_t ns = 0;
	struct err e = {0};
	if (!v)
		return 0;
	if (v->kind != YAML_TEXT)
		reader_wrong_node(reader, v, "a duration such as 5s");
	else if (unit_duration(v->text, &ns, &e) < 0)
		reader_wrong(reader, v->line, v->col, "%s is %s", key, e.text);
	return ns;
}

/* "1.3.6.1": numbers of 32 bits with dots between them. Returns how many; 0 = something else. */
static size_t oid_arcs(const char *text, uint32_t arcs[PROFILE_OID_MAX])
{
	size_t n = 0;
	for (;; text++) {
		uint64_t arc = 0;
		if (*text < '0' || *text > '9' || n == PROFILE_OID_MAX)
			return 0;
		for (; *text >= '0' && *text <= '9'; text++) {
			arc = arc * 10 + (uint64_t)(*text - '0');
			if (arc > UINT32_MAX)
				return 0;
		}
		arcs[n++] = (uint32_t)arc;
		if (*text == '\0')
			return n;
		if (*text != '.')
			return 0;
	}
}

bool reader_oid(struct reader *reader, const struct yaml_node *node, struct profile_oid *ret)
{
	uint32_t arcs[PROFILE_OID_MAX];
	size_t n = 0;
	if (node->kind == YAML_TEXT)
		n = oid_arcs(node->text, arcs);
	if (n < 2) {
		reader_wrong_node(
			reader, node, "an object identifier such as 1.3.6.1.2.1.31.1.1.1");
		return false;
	}
	uint32_t *copy = arena_array(reader->a, uint32_t, n);
	memcpy(copy, arcs, n * sizeof(*copy));
	*ret = (struct profile_oid){copy, n};
	return true;
}

const char *reader_copy(
	struct reader *reader, const struct yaml_node *map, const char *key, bool required)
{
	const char *text = reader_text(reader, map, key, required);
	if (text)
		return arena_strdup(reader->a, text);
	return NULL;
}

const struct yaml_node *reader_list(struct reader *reader, const struct yaml_node *map,
	const char *key, size_t max, const char *expected)
{
	const struct yaml_node *list = reader_value(map, key);
	if (!list || (list->kind == YAML_LIST && list->n <= max))
		return list;
	reader_wrong_node(reader, list, expected);
	return NULL;
}

const char **reader_texts(
	struct reader *reader, const struct yaml_node *list, const char *expected, size_t *ret_n)
{
	const char **texts = arena_array(reader->a, const char *, reader_n(list) + 1);
	for (size_t i = 0; i < reader_n(list); i++) {
		if (list->items[i].value->kind == YAML_TEXT)
			texts[(*ret_n)++] = arena_strdup(reader->a, list->items[i].value->text);
		else
			reader_wrong_node(reader, list->items[i].value, expected);
	}
	return texts;
}

int reader_word(struct reader *reader, const struct yaml_node *node, const char *const *words,
	size_t n_words, const char *expected)
{
	for (size_t i = 0; i < n_words; i++)
		if (node->kind == YAML_TEXT && *node->text && strcmp(node->text, words[i]) == 0)
			return (int)i;
	reader_wrong_node(reader, node, expected);
	return -1;
}

int reader_metric(struct reader *reader, const struct yaml_node *node)
{
	const char *names[METRIC_COUNT], *near = NULL;
	char expected[128] = "the name of a metric; docs/metrics.md lists them";
	if (node->kind == YAML_TEXT) {
		int metric = metric_by_name(node->text);
		if (metric >= 0)
			return metric;
		for (unsigned i = 0; i < METRIC_COUNT; i++)
			names[i] = metric_info(i)->name;
		near = str_nearest(node->text, names, METRIC_COUNT);
	}
	if (near)
		snprintf(expected, sizeof(expected), "a metric: did you mean '%s'?", near);
	reader_wrong_node(reader, node, expected);
	return -1;
}

void reader_scale(struct reader *reader, const struct yaml_node *map,
	const struct reader_unit *units, size_t n_units, const char *expected,
	struct reader_scale *ret)
{
	const struct yaml_node *unit = reader_value(map, "unit"),
			       *divide = reader_value(map, "divide");
	uint64_t divisor;
	*ret = (struct reader_scale){.mul = 1, .div = 1};
	if (unit) {
		size_t i = 0;
		while (i < n_units &&
			!(unit->kind == YAML_TEXT && strcmp(units[i].name, unit->text) == 0))
			i++;
		if (i == n_units) {
			reader_wrong_node(reader, unit, expected);
		} else {
			ret->mul = units[i].mul;
			ret->cells = units[i].cells;
		}
	}
	if (!divide || !reader_number_at(reader, divide, UINT32_MAX, &divisor))
		return;
	if (divisor == 0)
		reader_wrong_node(reader, divide, "a whole number from 1");
	else
		ret->div = divisor;
}

enum profile_part reader_part(const char *word)
{
	static const char *const words[] = {"port", "priority", "queue", "group", "pool"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strcmp(word, words[i]) == 0)
			return (enum profile_part)i;
	return PART_OTHER;
}

static enum profile_fold fold_read(
	struct reader *reader, const struct yaml_node *node, bool is_allowed)
{
	static const char *const words[] = {[FOLD_MIN] = "min", [FOLD_MAX] = "max"};
	const struct yaml_node *fold = reader_value(node, "fold");
	enum profile_fold ret = FOLD_SUM;
	if (!fold)
		return ret;
	for (size_t i = FOLD_MIN; i < rw_countof(words); i++)
		if (fold->kind == YAML_TEXT && strcmp(fold->text, words[i]) == 0)
			ret = (enum profile_fold)i;
	if (ret == FOLD_SUM || !is_allowed)
		reader_wrong_node(reader, fold,
			"min or max, of a metric that is no counter and no whole number");
	return ret;
}

enum profile_fold reader_fold(struct reader *reader, const struct yaml_node *node, int metric)
{
	return fold_read(
		reader, node, metric >= 0 && metric_info((unsigned)metric)->type == TYPE_F64);
}

enum profile_fold reader_fold_whole(struct reader *reader, const struct yaml_node *node, int metric)
{
	return fold_read(
		reader, node, metric >= 0 && metric_info((unsigned)metric)->kind != METRIC_COUNTER);
}

/* column_sensor - the columns beside the value (RFC 3433 section 2): entPhySensorType 1, Scale 2,
 * Precision 3, OperStatus 5. */
