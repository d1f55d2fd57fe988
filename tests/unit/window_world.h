/*
 * window_world - samples that a test makes, and windows cut from them: a configuration, entities,
 * the live memory and an arena. Embed it and call _init and _done.
 */
#ifndef RW_TESTS_WINDOW_WORLD_H
#define RW_TESTS_WINDOW_WORLD_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/series_memory.h"

struct window_world {
	struct config *config; /* NULL without a YAML */
	struct entities *entities;
	struct series_memory *memory;
	struct arena *arena;
	struct window window; /* the one cut last */
};

/* One value of one series; what is left out is 0. */
struct made_sample {
	const char *device, *port;
	int priority;
	unsigned metric, flags;
	uint32_t window_ms;
};

/* @yaml: the fabric, NULL for a test that needs none. */
static inline void window_world_init(struct window_world *world, const char *yaml)
{
	*world = (struct window_world){0};
	if (yaml) {
		rw_cleanup(err_list_done) struct err_list errors = {0};
		assert_int_equal(config_parse(yaml, strlen(yaml), "test", CONFIG_CASE, NULL, 0,
					 &world->config, &errors),
			0);
	}
	world->entities = entities_new();
	world->memory = series_memory_new(world->entities, INT64_MAX / 4);
	world->arena = arena_new();
}

static inline void window_world_done(struct window_world *world)
{
	series_memory_free(world->memory);
	entities_free(world->entities);
	arena_free(world->arena);
	config_free(world->config);
}

/* @raw as it is stored: an integer, or the bits of a double. */
static inline int window_world_add_raw(
	struct window_world *world, int t_s, struct made_sample made, uint64_t raw)
{
	const struct sample sample = {.t_ns = t_s * NS_PER_S,
		.entity = entities_intern(world->entities, made.device, made.port, made.priority),
		.metric = (uint16_t)made.metric,
		.value = raw,
		.flags = (uint16_t)made.flags,
		.window_ms = made.window_ms,
		.source = SOURCE_REPLAY};
	return series_memory_add(world->memory, &sample);
}

static inline void window_world_add(
	struct window_world *world, int t_s, struct made_sample made, double value)
{
	uint64_t raw = (uint64_t)(int64_t)value; /* negative ones wrap */
	if (metric_info(made.metric)->type == TYPE_F64)
		memcpy(&raw, &value, sizeof(raw));
	assert_int_equal(window_world_add_raw(world, t_s, made, raw), 0);
}

/* Cuts the window (@from_s, @to_s] into @window; its memory is @arena's. */
static inline void window_world_cut(struct window_world *world, const uint16_t *metrics, size_t n,
	int from_s, int to_s, struct arena *arena, struct window *window)
{
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n};
	assert_int_equal(window_from_memory(world->memory, arena, &spec, from_s * NS_PER_S,
				 to_s * NS_PER_S, window),
		0);
}

#endif
