/*
 * profile_reader - the values that every part of a profile consists of: sections with known keys,
 * text, numbers, durations, object identifiers. A wrong one is added to the list of mistakes with
 * its line and column, and reading goes on.
 */
#include "config/profile/profile_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/str.h"
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

/* keys_check - @node must be a section whose keys are all in @known. */
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
		const char *near = str_nearest(node->items[i].key, known, n_known);
		reader_wrong(reader, node->items[i].line, node->items[i].col,
			near ? "unknown key '%s' in %s, did you mean '%s'?"
			     : "unknown key '%s' in %s%s",
			node->items[i].key, what, str_or(near, ""));
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

bool reader_number_at(
	struct reader *reader, const struct yaml_node *node, uint64_t max, uint64_t *ret)
{
	const char *t = "";
	if (node->kind == YAML_TEXT)
		t = node->text;
	uint64_t u = 0;
	bool ok = *t != '\0' && (t[0] != '0' || t[1] == '\0');
	for (; ok && *t; t++)
		ok = *t >= '0' && *t <= '9' && u <= (max - (uint64_t)(*t - '0')) / 10 &&
			((u = u * 10 + (uint64_t)(*t - '0')), true);
	if (!ok || u > max) {
		char expected[64];
		snprintf(expected, sizeof(expected), "a whole number from 0 to %" PRIu64, max);
		reader_wrong_node(reader, node, expected);
		return false;
	}
	*ret = u;
	return true;
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

bool reader_oid(struct reader *reader, const struct yaml_node *node, struct profile_oid *ret)
{
	uint32_t arcs[PROFILE_OID_MAX];
	size_t n = 0;
	const char *t = "";
	if (node->kind == YAML_TEXT)
		t = node->text;
	bool ok = *t != '\0';
	while (ok) {
		uint64_t arc = 0;
		ok = *t >= '0' && *t <= '9' && n < PROFILE_OID_MAX;
		for (; ok && *t >= '0' && *t <= '9'; t++)
			ok = (arc = arc * 10 + (uint64_t)(*t - '0')) <= UINT32_MAX;
		if (!ok)
			break;
		arcs[n++] = (uint32_t)arc;
		if (*t == '\0')
			break;
		ok = *t++ == '.';
	}
	if (!ok || n < 2) {
		reader_wrong_node(
			reader, node, "an object identifier such as 1.3.6.1.2.1.31.1.1.1");
		return false;
	}
	uint32_t *copy = arena_array(reader->a, uint32_t, n);
	memcpy(copy, arcs, n * sizeof(*copy));
	*ret = (struct profile_oid){copy, n};
	return true;
}

enum profile_part reader_part(const char *word)
{
	static const char *const words[] = {"port", "priority", "queue", "group", "pool"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strcmp(word, words[i]) == 0)
			return (enum profile_part)i;
	return PART_OTHER;
}

enum profile_fold reader_fold(struct reader *reader, const struct yaml_node *node, int metric)
{
	static const char *const words[] = {[FOLD_MIN] = "min", [FOLD_MAX] = "max"};
	const struct yaml_node *fold = reader_value(node, "fold");
	enum profile_fold ret = FOLD_SUM;
	if (!fold)
		return ret;
	for (size_t i = FOLD_MIN; i < rw_countof(words); i++)
		if (fold->kind == YAML_TEXT && strcmp(fold->text, words[i]) == 0)
			ret = (enum profile_fold)i;
	if (ret == FOLD_SUM || metric < 0 || metric_info((unsigned)metric)->type != TYPE_F64)
		reader_wrong_node(reader, fold,
			"min or max, of a metric that is no counter and no whole number");
	return ret;
}

/* column_sensor - the columns beside the value (RFC 3433 section 2): entPhySensorType 1, Scale 2,
 * Precision 3, OperStatus 5. */
