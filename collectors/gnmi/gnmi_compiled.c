/* gnmi_compiled - compiles the patterns of a stream when its first target needs them. */
#include "collectors/gnmi/gnmi_compiled.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"

struct gnmi_compiled_set {
	struct arena *arena;
	struct gnmi_compiled **v;
	size_t n, cap;
};

struct gnmi_compiled_set *gnmi_compiled_set_new(void)
{
	struct gnmi_compiled_set *s = rw_calloc(1, sizeof(*s));
	s->arena = arena_new();
	return s;
}

void gnmi_compiled_set_free(void *set)
{
	struct gnmi_compiled_set *s = set;
	if (!s)
		return;
	arena_free(s->arena);
	free(s->v);
	free(s);
}

static bool gnmi_compiled_shares(const struct profile_gnmi_stream *stream, size_t i)
{
	/* several paths of one row, such as the lanes of a transceiver */
	const char *path = stream->values[i].path;
	if (stream->values[i].metric >= 0 && (strchr(path, '*') || strstr(path, "{lane}")))
		return true;
	for (size_t k = 0; k < stream->n_values && stream->values[i].metric >= 0; k++)
		if (k != i && stream->values[k].metric == stream->values[i].metric)
			return true;
	return false;
}

/* gnmi_compiled_also - the next value with the path of value @i + 1; 0 = none. */
static size_t gnmi_compiled_also(const struct profile_gnmi_stream *stream, size_t i)
{
	for (size_t k = i + 1; k < stream->n_values; k++)
		if (strcmp(stream->values[k].path, stream->values[i].path) == 0)
			return k + 1;
	return 0;
}

const struct gnmi_compiled *gnmi_compiled_get(
	struct gnmi_compiled_set *set, const struct profile_gnmi_stream *stream, struct err *e)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i]->stream == stream)
			return set->v[i];
	struct gnmi_compiled *c = arena_new_of(set->arena, struct gnmi_compiled);
	c->stream = stream;
	c->patterns = arena_array(set->arena, struct gnmi_pattern *, stream->n_values + 1);
	c->shared = arena_array(set->arena, bool, stream->n_values + 1);
	c->also = arena_array(set->arena, size_t, stream->n_values + 1);
	for (size_t i = 0; i < stream->n_values; i++) {
		c->patterns[i] = gnmi_pattern_new(stream->values[i].path, set->arena, e);
		if (!c->patterns[i])
			return NULL;
		gnmi_pattern_lists(c->patterns[i], c->lists, &c->n_lists, GNMI_LISTS_MAX);
		c->shared[i] = gnmi_compiled_shares(stream, i);
		c->also[i] = gnmi_compiled_also(stream, i);
		c->has_lldp = c->has_lldp || stream->values[i].attribute >= GNMI_ATTRIBUTE_CHASSIS;
		c->has_lanes =
			c->has_lanes || stream->values[i].attribute == GNMI_ATTRIBUTE_PORT_LANES;
	}
	rw_grow(set->v, set->n, set->cap);
	set->v[set->n++] = c;
	return c;
}
