/* gnmi_table - see the header. */
#include "tests/fake/gnmi_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "proto/gnmi_path.h"

struct row {
	const char *target, *path, *sent, *text;
	enum speak_kind kind;
	struct gnmi_elem *elems;
	size_t n;
};

struct gnmi_table {
	struct arena *arena;
	struct row *v;
	size_t n, cap;
};

static bool row_read(struct gnmi_table *t, char *line)
{
	char *field[4];
	struct row r = {0};
	for (size_t i = 0; i < 4; i++) {
		field[i] = line;
		char *tab = i < 3 ? strchr(line, '\t') : NULL;
		if (i < 3 && !tab)
			return false;
		if (tab)
			*tab = '\0';
		line = tab ? tab + 1 : line;
	}
	while (r.kind < SPEAK_KINDS && strcmp(speak_kind_names[r.kind], field[2]) != 0)
		r.kind++;
	if (r.kind == SPEAK_KINDS)
		return false;
	r.target = strcmp(field[0], "-") == 0 ? "" : field[0];
	r.path = r.sent = field[1];
	char *as = strchr(field[1], '>');
	if (as) {
		*as = '\0';
		r.sent = as + 1;
	}
	r.text = field[3];
	if (gnmi_path_parse(r.path, strlen(r.path), t->arena, &r.elems, &r.n, NULL) < 0)
		return false;
	rw_grow(t->v, t->n, t->cap);
	t->v[t->n++] = r;
	return true;
}

struct gnmi_table *gnmi_table_parse(const char *text, const char *name)
{
	struct gnmi_table *t = rw_calloc(1, sizeof(*t));
	t->arena = arena_new();
	char *copy = arena_strdup(t->arena, text), *save = NULL;
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (*line == '#' || row_read(t, line))
			continue;
		fprintf(stderr, "%s: read '%.60s', expected target, path, kind, value\n", name,
			line);
		gnmi_table_free(t);
		return NULL;
	}
	return t;
}

struct gnmi_table *gnmi_table_load(const char *file)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	struct err e = {0};
	if (str_read_file(file, 64u << 20, &text, &n, &e) < 0) {
		err_print(stderr, &e);
		return NULL;
	}
	return gnmi_table_parse(text, file);
}

void gnmi_table_free(struct gnmi_table *t)
{
	if (!t)
		return;
	arena_free(t->arena);
	free(t->v);
	free(t);
}

static bool glob(struct arena *a, const char *p, size_t pn, const char *s, size_t sn)
{
	return str_glob(arena_strndup(a, p, pn), arena_strndup(a, s, sn));
}

static bool elem_fits(struct arena *a, const struct gnmi_elem *want, const struct gnmi_elem *have)
{
	if (!glob(a, want->name, want->name_n, have->name, have->name_n))
		return false;
	for (size_t i = 0; i < want->n_keys; i++) {
		bool found = false;
		for (size_t k = 0; k < have->n_keys && !found; k++)
			found = want->keys[i].name_n == have->keys[k].name_n &&
				memcmp(want->keys[i].name, have->keys[k].name,
					want->keys[i].name_n) == 0 &&
				glob(a, want->keys[i].value, want->keys[i].value_n,
					have->keys[k].value, have->keys[k].value_n);
		if (!found)
			return false;
	}
	return true;
}

/* with_round - $(BASE,STEP) replaced. */
static char *with_round(struct arena *a, const char *text, uint64_t round)
{
	rw_cleanup(str_done) struct str s = {0};
	str_add(&s, "");
	for (const char *p; (p = strstr(text, "$("));) {
		char *end;
		str_addn(&s, text, (size_t)(p - text));
		bool negative = p[2] == '-';
		uint64_t base = strtoull(p + 2, &end, 10),
			 step = *end == ',' ? strtoull(end + 1, &end, 10) : 0;
		str_addf(&s, negative ? "%" PRId64 : "%" PRIu64, base + step * round);
		text = *end == ')' ? end + 1 : end;
	}
	str_add(&s, text);
	return arena_strdup(a, s.s);
}

int gnmi_table_values(void *arg, const char *target, const char *origin, const char *path,
	uint64_t round, gnmi_server_emit_fn *emit, void *ctx)
{
	const struct gnmi_table *t = arg;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_elem *want;
	size_t n_want;
	int n = 0;
	if (gnmi_path_parse(path, strlen(path), a, &want, &n_want, NULL) < 0)
		return -EINVAL;
	bool as_written = false; /* is there a row just as the request is? Then only such */
	for (size_t i = 0; i < t->n; i++)
		as_written = as_written ||
			(strcmp(t->v[i].target, target) == 0 && strcmp(t->v[i].path, path) == 0);
	for (size_t i = 0; i < t->n; i++) {
		const struct row *r = &t->v[i];
		bool fits = strcmp(r->target, target) == 0 &&
			(as_written ? strcmp(r->path, path) == 0 : n_want <= r->n);
		for (size_t k = 0; k < n_want && fits && !as_written; k++)
			fits = elem_fits(a, &want[k], &r->elems[k]);
		if (!fits)
			continue;
		emit(ctx, &(struct speak_value){r->sent, r->kind, with_round(a, r->text, round)});
		n++;
	}
	return n ? n : -ENOENT;
}
