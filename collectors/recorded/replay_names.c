/* replay_names - a hash map from the text of the names to their row, and for each row the one that
 * followed it last time. */
#include "collectors/recorded/replay_names.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"

#define NO_ROW SIZE_MAX

struct names_row {
	char *text;
	size_t n;
	size_t follow; /* the row of the line that came after this one last time */
	uint32_t entity;
	uint16_t metric;
};

struct replay_names {
	struct smap *index;
	struct names_row *v;
	size_t n, cap;
	size_t last; /* the row of the previous line */
};

struct replay_names *replay_names_new(void)
{
	struct replay_names *names = rw_calloc(1, sizeof(*names));
	names->index = smap_new();
	names->last = NO_ROW;
	return names;
}

void replay_names_free(struct replay_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i].text);
	free(names->v);
	smap_free(names->index);
	free(names);
}

static void names_follow(struct replay_names *names, size_t row)
{
	if (names->last != NO_ROW)
		names->v[names->last].follow = row;
	names->last = row;
}

static bool names_row_is(const struct replay_names *names, size_t row, const char *text, size_t n)
{
	return row != NO_ROW && names->v[row].n == n && memcmp(names->v[row].text, text, n) == 0;
}

bool replay_names_find(struct replay_names *names, const char *text, size_t n, uint32_t *ret_entity,
	uint16_t *ret_metric)
{
	size_t row = NO_ROW;
	if (names->last != NO_ROW)
		row = names->v[names->last].follow;
	if (names_row_is(names, row, text, n)) {
		names->last = row;
	} else {
		uint64_t found;
		if (!smap_get(names->index, text, n, &found))
			return false;
		row = (size_t)found;
		names_follow(names, row);
	}
	*ret_entity = names->v[row].entity;
	*ret_metric = names->v[row].metric;
	return true;
}

void replay_names_add(
	struct replay_names *names, const char *text, size_t n, uint32_t entity, uint16_t metric)
{
	rw_grow(names->v, names->n, names->cap);
	char *copy = rw_calloc(n + 1, 1);
	memcpy(copy, text, n);
	names->v[names->n] = (struct names_row){
		.text = copy, .n = n, .follow = NO_ROW, .entity = entity, .metric = metric};
	smap_put(names->index, text, n, names->n);
	names_follow(names, names->n++);
}
