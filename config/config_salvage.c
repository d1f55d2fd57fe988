/* config_salvage - finds store.path in a configuration with mistakes. */
#include "config/config_salvage.h"

#include "config/yaml.h"

static char *salvage_tree(const struct yaml_node *root)
{
	if (root->kind != YAML_MAP)
		return NULL;
	const struct yaml_item *store = yaml_get(root, "store");
	if (!store || store->value->kind != YAML_MAP)
		return NULL;
	const struct yaml_item *path = yaml_get(store->value, "path");
	if (!path || path->value->kind != YAML_TEXT || !*path->value->text)
		return NULL;
	return rw_strdup(path->value->text);
}

/* ---- lines of text that is not YAML --------------------------------------- */

/* One line, without its end. */
struct salvage_line {
	const char *s;
	size_t n, indent;
};

static bool salvage_next(const char *text, size_t n, size_t *at, struct salvage_line *ret)
{
	if (*at >= n)
		return false;
	const char *begin = text + *at;
	const char *end = memchr(begin, '\n', n - *at);
	size_t length = n - *at;
	if (end)
		length = (size_t)(end - begin);
	*at += length + 1;
	*ret = (struct salvage_line){.s = begin, .n = length};
	while (ret->indent < length && begin[ret->indent] == ' ')
		ret->indent++;
	return true;
}

/* What follows "KEY:" at @from of the line; NULL when something else stands there. */
static const char *salvage_after(const struct salvage_line *line, size_t from, const char *key)
{
	size_t n = strlen(key);
	if (line->n - from <= n || memcmp(line->s + from, key, n) != 0 || line->s[from + n] != ':')
		return NULL;
	return line->s + from + n + 1;
}

/* The value between @begin and @end: quoted, or up to a comment, a comma or a bracket. */
static char *salvage_value(const char *begin, const char *end)
{
	while (begin < end && (*begin == ' ' || *begin == '\t'))
		begin++;
	const char *stop = begin;
	if (begin < end && (*begin == '"' || *begin == '\'')) {
		stop = memchr(begin + 1, *begin, (size_t)(end - begin - 1));
		begin++;
		if (!stop)
			return NULL;
	}
	while (stop < end && !strchr(",}#\r\t\"'", *stop) && *stop)
		stop++;
	while (stop > begin && stop[-1] == ' ')
		stop--;
	if (stop <= begin)
		return NULL;
	char *value = rw_calloc((size_t)(stop - begin) + 1, 1);
	memcpy(value, begin, (size_t)(stop - begin));
	return value;
}

/* "store: { path: X, ... }" in one line. */
static char *salvage_flow(const char *begin, const char *end)
{
	static const char key[] = "path:";
	for (const char *p = begin; p + strlen(key) < end; p++)
		if (memcmp(p, key, strlen(key)) == 0 && (p == begin || strchr(" {,", p[-1])))
			return salvage_value(p + strlen(key), end);
	return NULL;
}

static char *salvage_lines(const char *text, size_t n)
{
	struct salvage_line line;
	bool inside = false;
	for (size_t at = 0; salvage_next(text, n, &at, &line);) {
		if (line.indent == line.n || line.s[line.indent] == '#')
			continue;
		const char *end = line.s + line.n;
		const char *after = NULL;
		if (inside && line.indent > 0)
			after = salvage_after(&line, line.indent, "path");
		if (after)
			return salvage_value(after, end);
		if (line.indent > 0)
			continue;
		after = salvage_after(&line, 0, "store");
		inside = after != NULL;
		char *found = NULL;
		if (after)
			found = salvage_flow(after, end);
		if (found)
			return found;
	}
	return NULL;
}

char *config_salvage_store(const char *text, size_t n)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct yaml_node *root = NULL;
	yaml_read(text, n, "", a, &root, &errors);
	if (root)
		return salvage_tree(root);
	return salvage_lines(text, n);
}
