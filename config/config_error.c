/* config_error - collects mistakes and warnings with their places. */
#include "config/config_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"

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
