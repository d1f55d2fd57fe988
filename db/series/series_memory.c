/*
 * series_memory - recent samples kept per (entity, metric), for the live pipeline. Loop thread
 * only.
 *
 * A port of a device has a row there; the samples of one metric of a device at one priority are a
 * column (series_column.h) with a lane for each row. Where a series is takes no hashing: polls
 * bring the same columns in the same order, so each column remembers which one came after it, and
 * that one is tried first.
 */
#include "db/series/series_memory.h"

#include "db/model/metric.h"
#include "db/series/series.h"
#include "db/series/series_column.h"
#include "db/series/window_columns.h"

#define NONE UINT32_MAX

enum { SLOTS = PRIO_MOST + 2 /* of no priority, and of each */, SAME_COLUMNS = 256 };

struct device_column {
	uint16_t metric, slot;
	uint32_t column;
};

struct memory_device {
	uint32_t name; /* entity of the device; ENTITY_NONE: the place is free */
	uint32_t *entity; /* [slot * cap_rows + row]; ENTITY_NONE: no series */
	uint32_t n_rows, cap_rows, n_free;
	struct device_column *columns; /* by metric, then slot */
	uint32_t n_columns, cap_columns;
};

/* Where the series of an entity are. */
struct memory_home {
	uint32_t device; /* its number + 1; 0: it has none yet */
	uint32_t row;
};

struct series_memory {
	struct history history; /* first */
	const struct entities *entities;
	int64_t keep_ns, longer_ns[METRIC_COUNT]; /* of one metric, where it is kept longer */
	struct memory_home *homes; /* by entity */
	uint32_t n_homes;
	struct memory_device *devices;
	uint32_t n_devices, cap_devices, n_free_devices;
	struct column *columns;
	uint32_t n_columns, cap_columns, free_column; /* .free_column: by .follow; NONE */
	uint32_t last; /* the column that was asked for last */
	struct column_pool *pool;
	size_t n_series;
	void (*pause)(void *arg);
	void *pause_arg;
	struct flow_sample *flows; /* in order of arrival */
	size_t flow_head, n_flows, cap_flows;
};

static const struct history_ops memory_history_ops;

struct series_memory *series_memory_new(const struct entities *entities, int64_t keep_ns)
{
	struct series_memory *m = rw_calloc(1, sizeof(*m));

	m->history.ops = &memory_history_ops;
	m->entities = entities;
	m->keep_ns = keep_ns;
	m->pool = column_pool_new();
	m->last = m->free_column = NONE;
	return m;
}

void series_memory_free(struct series_memory *memory)
{
	if (!memory)
		return;
	for (uint32_t i = 0; i < memory->n_columns; i++)
		column_done(memory->pool, &memory->columns[i]);
	for (uint32_t i = 0; i < memory->n_devices; i++) {
		free(memory->devices[i].entity);
		free(memory->devices[i].columns);
	}
	free(memory->columns);
	free(memory->devices);
	free(memory->homes);
	free(memory->flows);
	column_pool_free(memory->pool);
	free(memory);
}

void series_memory_keep(struct series_memory *memory, int64_t keep_ns)
{
	memory->keep_ns = keep_ns;
}

void series_memory_pausing(struct series_memory *memory, void (*pause)(void *arg), void *pause_arg)
{
	memory->pause = pause;
	memory->pause_arg = pause_arg;
}

/* Before column @i of a long row of them. */
static inline void memory_pause(const struct series_memory *memory, size_t i)
{
	enum { EACH = 8 };
	if (memory->pause && i % EACH == 0)
		memory->pause(memory->pause_arg);
}

void series_memory_keep_metric(struct series_memory *memory, unsigned metric, int64_t keep_ns)
{
	memory->longer_ns[metric] = keep_ns;
}

/* ---- where a series is ----------------------------------------------------- */

static struct memory_home *home_of(struct series_memory *memory, uint32_t entity)
{
	if (entity < memory->n_homes)
		return &memory->homes[entity];
	const uint32_t old = memory->n_homes, n = entity + entity / 4 + 64;
	memory->homes = rw_realloc(memory->homes, (size_t)n * sizeof(*memory->homes));
	memset(memory->homes + old, 0, (size_t)(n - old) * sizeof(*memory->homes));
	memory->n_homes = n;
	return &memory->homes[entity];
}

/* Number of the device whose entity is @name; a new one if there is none. */
static uint32_t device_number(struct series_memory *memory, uint32_t name)
{
	const struct memory_home *home = home_of(memory, name);
	uint32_t at = 0;
	if (home->device)
		return home->device - 1;
	if (memory->n_free_devices > 0) {
		while (memory->devices[at].name != ENTITY_NONE)
			at++;
		memory->n_free_devices--;
	} else {
		rw_grow(memory->devices, memory->n_devices, memory->cap_devices);
		at = memory->n_devices++;
	}
	memory->devices[at] = (struct memory_device){.name = name};
	memory->homes[name] = (struct memory_home){.device = at + 1, .row = NONE};
	return at;
}

static uint32_t *device_entity(const struct memory_device *device, uint32_t row, uint32_t slot)
{
	return &device->entity[slot * device->cap_rows + row];
}

static bool row_is_free(const struct memory_device *device, uint32_t row)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		if (*device_entity(device, row, slot) != ENTITY_NONE)
			return false;
	return true;
}

/* A row that no port has. */
static uint32_t row_new(struct memory_device *device)
{
	for (uint32_t row = 0; device->n_free > 0 && row < device->n_rows; row++) {
		if (row_is_free(device, row)) {
			device->n_free--;
			return row;
		}
	}
	if (device->n_rows == device->cap_rows) {
		const uint32_t old = device->cap_rows, cap = old + old / 4 + 8;
		uint32_t *entity = rw_calloc((size_t)cap * SLOTS, sizeof(*entity));
		for (uint32_t slot = 0; old > 0 && slot < SLOTS; slot++)
			memcpy(entity + (size_t)slot * cap, device->entity + (size_t)slot * old,
				old * sizeof(*entity));
		free(device->entity);
		device->entity = entity;
		device->cap_rows = cap;
	}
	return device->n_rows++;
}

/* Gives @id a home: priorities of a port share its row. */
static struct memory_home home_make(struct series_memory *memory, uint32_t id, uint32_t *ret_slot)
{
	const struct entity *entity = entity_get(memory->entities, id);
	uint32_t port = id;
	*ret_slot = 0;
	if (entity && entity->priority >= 0 && entity->priority <= PRIO_MOST) {
		port = entity->parent;
		*ret_slot = (uint32_t)entity->priority + 1;
	}
	const uint32_t number = device_number(memory, entity_device(memory->entities, id));
	struct memory_device *device = &memory->devices[number];
	struct memory_home home = *home_of(memory, port);
	if (!home.device || home.row == NONE) {
		home = (struct memory_home){.device = number + 1, .row = row_new(device)};
		*device_entity(device, home.row, 0) = port;
		*home_of(memory, port) = home;
	}
	*device_entity(device, home.row, *ret_slot) = id;
	*home_of(memory, id) = home;
	return home;
}

/* Position in the device's list of the column of @metric and @slot, or where it would be. */
static uint32_t column_position(const struct memory_device *device, unsigned metric, unsigned slot)
{
	const uint32_t wanted = metric * SLOTS + slot;
	uint32_t lo = 0, hi = device->n_columns;
	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const struct device_column *at = &device->columns[mid];
		const uint32_t key = (uint32_t)at->metric * SLOTS + at->slot;
		if (key < wanted)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Tens of thousands of columns: twice the room would often be empty by half. */
static uint32_t column_new(struct series_memory *memory)
{
	uint32_t at = memory->free_column;
	if (at != NONE) {
		memory->free_column = memory->columns[at].follow;
		return at;
	}
	if (memory->n_columns == memory->cap_columns) {
		memory->cap_columns += memory->cap_columns / 8 + 64;
		memory->columns =
			rw_realloc(memory->columns, memory->cap_columns * sizeof(*memory->columns));
	}
	return memory->n_columns++;
}

static uint32_t column_find(
	struct series_memory *memory, uint32_t number, unsigned metric, unsigned slot)
{
	struct memory_device *device = &memory->devices[number];
	const uint32_t at = column_position(device, metric, slot);
	if (at < device->n_columns && device->columns[at].metric == metric &&
		device->columns[at].slot == slot)
		return device->columns[at].column;
	const struct device_column made = {(uint16_t)metric, (uint16_t)slot, column_new(memory)};
	memory->columns[made.column] = (struct column){.device = number,
		.device_name = device->name,
		.follow = NONE,
		.metric = made.metric,
		.slot = made.slot};
	rw_grow(device->columns, device->n_columns, device->cap_columns);
	memmove(device->columns + at + 1, device->columns + at,
		(device->n_columns - at) * sizeof(*device->columns));
	device->columns[at] = made;
	device->n_columns++;
	return made.column;
}

struct series_place series_memory_place(
	struct series_memory *memory, uint32_t entity, uint16_t metric)
{
	const struct memory_home home = *home_of(memory, entity);
	uint32_t at = NONE, slot = 0;
	if (memory->last != NONE)
		at = memory->columns[memory->last].follow;
	if (at != NONE && home.device && home.row != NONE) {
		const struct column *column = &memory->columns[at];
		const struct memory_device *device = &memory->devices[home.device - 1];
		if (column->device == home.device - 1 && column->metric == metric &&
			*device_entity(device, home.row, column->slot) == entity &&
			home.row < column->lanes && column->mark[home.row] != COLUMN_NO_LANE) {
			memory->last = at;
			return (struct series_place){at, home.row};
		}
	}
	const struct memory_home made = home_make(memory, entity, &slot);
	at = column_find(memory, made.device - 1, metric, slot);
	struct column *column = &memory->columns[at];
	column_widen(column, made.row);
	if (column->mark[made.row] == COLUMN_NO_LANE) {
		column->mark[made.row] = SOURCE_UNKNOWN;
		memory->n_series++;
	}
	if (memory->last != NONE)
		memory->columns[memory->last].follow = at;
	memory->last = at;
	return (struct series_place){at, made.row};
}

static void lane_forget(struct series_memory *memory, struct column *column, uint32_t lane)
{
	if (lane >= column->lanes)
		return;
	memory->n_series -= column->mark[lane] != COLUMN_NO_LANE;
	column_drop(memory->pool, column, lane);
}

static void device_forget(struct series_memory *memory, struct memory_device *device)
{
	for (uint32_t i = 0; i < device->n_columns; i++) {
		const uint32_t at = device->columns[i].column;
		column_done(memory->pool, &memory->columns[at]);
		memory->columns[at] =
			(struct column){.device = NONE, .follow = memory->free_column};
		memory->free_column = at;
	}
	free(device->columns);
	free(device->entity);
	*device = (struct memory_device){.name = ENTITY_NONE};
	memory->n_free_devices++;
	memory->last = NONE;
}

static void home_forget(struct series_memory *memory, const struct entity *entity)
{
	const uint32_t id = entity->id;
	struct memory_home *home = home_of(memory, id);
	if (!home->device)
		return;
	struct memory_device *device = &memory->devices[home->device - 1];
	const uint32_t row = home->row;
	*home = (struct memory_home){0};
	for (uint32_t slot = 0; row != NONE && slot < SLOTS; slot++) {
		if (*device_entity(device, row, slot) != id)
			continue;
		for (uint32_t i = 0; i < device->n_columns; i++)
			if (device->columns[i].slot == slot)
				lane_forget(
					memory, &memory->columns[device->columns[i].column], row);
		*device_entity(device, row, slot) = ENTITY_NONE;
		device->n_free += row_is_free(device, row);
	}
	if (device->name == id)
		device_forget(memory, device); /* it has nothing left */
}

void series_memory_forget(struct series_memory *memory, const struct entities *released)
{
	const struct entity *entity;
	for (size_t i = 0; (entity = entities_gone(released, i)); i++)
		home_forget(memory, entity);
}

size_t series_memory_tracks(const struct series_memory *memory)
{
	return memory->n_series;
}

/* ---- samples ---------------------------------------------------------------- */

int series_memory_add_at(
	struct series_memory *memory, struct series_place place, const struct sample *sample)
{
	return column_add(memory->pool, &memory->columns[place.column], place.lane, sample);
}

int series_memory_add(struct series_memory *memory, const struct sample *sample)
{
	if (sample->metric >= METRIC_COUNT || sample->entity == ENTITY_NONE)
		return -EINVAL;
	return series_memory_add_at(
		memory, series_memory_place(memory, sample->entity, sample->metric), sample);
}

uint64_t series_memory_value(const struct series_memory *memory, struct series_place place)
{
	return column_value(memory->pool, &memory->columns[place.column], place.lane);
}

/* ---- what was said of a series ----------------------------------------------- */

#define MARK_TORN 0x80u

static int64_t column_said(
	const struct series_memory *memory, const struct column *column, uint32_t lane)
{
	if (column->said)
		return column->said[lane];
	return column_newest(memory->pool, column, lane);
}

struct series_said series_memory_said(const struct series_memory *memory, struct series_place place)
{
	const struct column *column = &memory->columns[place.column];
	const uint8_t mark = column->mark[place.lane];
	return (struct series_said){.t_ns = column_said(memory, column, place.lane),
		.source = mark & ~MARK_TORN,
		.torn = mark & MARK_TORN};
}

/* What was said last is not what is kept last: it is written down for all lanes. */
static void column_write_said(const struct series_memory *memory, struct column *column)
{
	if (column->said || column->lanes == 0)
		return;
	int64_t *said = rw_calloc(column->lanes, sizeof(*said));
	for (uint32_t lane = 0; lane < column->lanes; lane++)
		said[lane] = column_newest(memory->pool, column, lane);
	column->said = said;
}

void series_memory_say(struct series_memory *memory, struct series_place place,
	const struct series_said *said, bool kept)
{
	struct column *column = &memory->columns[place.column];
	uint8_t mark = (uint8_t)said->source;
	if (said->torn)
		mark |= MARK_TORN;
	column->mark[place.lane] = mark;
	if (!column->said && kept)
		return; /* column_newest() says so */
	column_write_said(memory, column);
	column->said[place.lane] = said->t_ns;
}

void series_memory_tear(struct series_memory *memory)
{
	for (uint32_t i = 0; i < memory->n_columns; i++) {
		struct column *column = &memory->columns[i];
		for (uint32_t lane = 0; lane < column->lanes; lane++)
			if (column->mark[lane] != COLUMN_NO_LANE)
				column->mark[lane] |= MARK_TORN;
	}
}

void series_memory_unsay(struct series_memory *memory, int64_t since_ns)
{
	for (uint32_t i = 0; i < memory->n_columns; i++) {
		struct column *column = &memory->columns[i];
		column_write_said(memory, column);
		for (uint32_t lane = 0; lane < column->lanes; lane++)
			if (column->said[lane] >= since_ns)
				column->said[lane] = since_ns - 1;
	}
}

/* Nothing else was said than is kept: it need not be written down any more. */
static void column_trim_said(const struct series_memory *memory, struct column *column)
{
	for (uint32_t lane = 0; column->said && lane < column->lanes; lane++)
		if (column->said[lane] != column_newest(memory->pool, column, lane))
			return;
	free(column->said);
	column->said = NULL;
}

void series_memory_add_flow(struct series_memory *memory, const struct flow_sample *flow)
{
	if (memory->flow_head > memory->n_flows / 2) {
		memory->n_flows -= memory->flow_head;
		memmove(memory->flows, memory->flows + memory->flow_head,
			memory->n_flows * sizeof(*memory->flows));
		memory->flow_head = 0;
	}
	rw_grow(memory->flows, memory->n_flows, memory->cap_flows);
	memory->flows[memory->n_flows++] = *flow;
}

void series_memory_trim(struct series_memory *memory, int64_t now_ns)
{
	const int64_t old = now_ns - memory->keep_ns;
	int64_t oldest = old;

	for (uint32_t i = 0; i < memory->n_columns; i++) {
		struct column *column = &memory->columns[i];
		const int64_t longer = memory->longer_ns[column->metric];
		int64_t edge = old;
		memory_pause(memory, i);
		if (longer > memory->keep_ns)
			edge = now_ns - longer;
		if (edge < oldest)
			oldest = edge;
		column_trim(memory->pool, column, edge);
		column_trim_said(memory, column);
	}
	column_pool_trim(memory->pool, oldest);
	/* Arrival is nearly the order of time: a flow behind a younger one waits for it, no longer.
	 */
	while (memory->flow_head < memory->n_flows && memory->flows[memory->flow_head].to_ns <= old)
		memory->flow_head++;
}

void series_memory_rewind(struct series_memory *memory, int64_t t_ns)
{
	for (uint32_t i = 0; i < memory->n_columns; i++) {
		column_write_said(memory, &memory->columns[i]);
		column_rewind(memory->pool, &memory->columns[i], t_ns);
	}
	column_pool_rewind(memory->pool, t_ns);
	size_t n = memory->flow_head;
	for (size_t i = memory->flow_head; i < memory->n_flows; i++)
		if (memory->flows[i].to_ns <= t_ns)
			memory->flows[n++] = memory->flows[i];
	memory->n_flows = n;
}

/* First position with t > @at. */
static uint32_t run_after(const struct track_run *run, int64_t at)
{
	uint32_t lo = 0, hi = run->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (run->t_ns[mid] > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

int64_t series_memory_next(const struct series_memory *memory, int64_t t_ns)
{
	int64_t next_ns = INT64_MAX;
	for (uint32_t i = 0; i < memory->n_columns; i++) {
		const struct column *column = &memory->columns[i];
		for (uint32_t lane = 0; lane < column->lanes; lane++) {
			const struct track_run run = column_run(memory->pool, column, lane);
			const uint32_t at = run_after(&run, t_ns);
			if (at < run.n && run.t_ns[at] < next_ns)
				next_ns = run.t_ns[at];
		}
	}
	for (size_t i = memory->flow_head; i < memory->n_flows; i++) {
		const int64_t to_ns = memory->flows[i].to_ns;
		if (to_ns > t_ns && to_ns < next_ns)
			next_ns = to_ns;
	}
	return next_ns;
}

/* ---- windows --------------------------------------------------------------- */

/* A window that is made. Series of equal values have no values of their own: a few such rows are
 * made in the arena of the window, and series of the same value share one. */
struct memory_cut {
	struct window_columns columns; /* first: it is what a lent window has of this */
	struct series_memory *memory;
	struct arena *a;
	struct window_spec only; /* its entities; n_entities 0: all */
	uint32_t n_zeros;
	const struct window_column **by_metric; /* the columns by metric, device and slot */
	struct cut_metric {
		size_t first, n; /* of .by_metric */
		struct series *v; /* made when they are asked for */
		size_t n_series;
		bool made;
	} metrics[METRIC_COUNT];
	struct same_column {
		uint64_t *v;
		uint32_t n;
	} same[SAME_COLUMNS];
};

static const uint64_t *cut_same(struct memory_cut *cut, uint64_t value, uint32_t n)
{
	struct same_column *same = &cut->same[hash_u64(value) % SAME_COLUMNS];
	if (value == 0 && n <= cut->n_zeros)
		return cut->columns.zeros;
	if (same->n >= n && same->v[0] == value)
		return same->v;
	same->v = arena_array(cut->a, uint64_t, n);
	same->n = n;
	for (uint32_t i = 0; i < n; i++)
		same->v[i] = value;
	return same->v;
}

/* The part of an odd lane that the window has; .value NULL: all values are @ret_same. */
static bool cut_odd(const struct window_columns *columns, const struct column *column,
	uint32_t lane, struct series *ret, uint64_t *ret_same)
{
	const struct track_run run = column_run(columns->memory->pool, column, lane);
	uint32_t begin = run_after(&run, columns->from_ns), end = run.n;

	if (begin > 0)
		begin--; /* the anchor */
	if (end > 0 && run.t_ns[end - 1] > columns->to_ns)
		end = run_after(&run, columns->to_ns);
	if (begin >= end)
		return false;
	*ret = (struct series){.flat = run.flat,
		.n = end - begin,
		.t_ns = run.t_ns + begin,
		.window_ms = run.window_ms + begin,
		.flags = run.flags + begin};
	*ret_same = run.same;
	if (run.value)
		ret->value = run.value + begin;
	return true;
}

/* The part of a lane in step that the window has. */
static bool cut_step(
	const struct window_column *of, uint32_t lane, struct series *ret, uint64_t *ret_same)
{
	const struct column *column = of->column;
	const bool came = column_bit(column->came, lane);
	const uint64_t *values = column_values(column, lane);
	if (of->part[came].n == 0)
		return false;
	*ret = of->part[came];
	*ret_same = column->now[lane];
	if (!values)
		return true;
	ret->flat = false;
	ret->value = values + of->begin[came];
	return true;
}

static inline bool cut_part(const struct window_columns *columns, const struct window_column *of,
	uint32_t lane, struct series *ret, uint64_t *ret_same)
{
	const struct column *column = of->column;
	if (column_bit(column->in_step, lane)) {
		if (!cut_step(of, lane, ret, ret_same))
			return false;
	} else if (!column->odd || column->odd[lane] == 0 ||
		!cut_odd(columns, column, lane, ret, ret_same)) {
		return false;
	}
	ret->entity = of->entity[lane];
	ret->metric = column->metric;
	return true;
}

static void cut_lane(struct memory_cut *cut, struct cut_metric *of,
	const struct window_column *column, uint32_t lane)
{
	struct series *series = &of->v[of->n_series];
	uint64_t same;
	if (cut->only.n_entities && !window_wants_entity(&cut->only, column->entity[lane]))
		return;
	if (!cut_part(&cut->columns, column, lane, series, &same))
		return;
	if (!series->value)
		series->value = cut_same(cut, same, series->n);
	of->n_series++;
}

/* What the window has of @column. */
static void cut_column(
	const struct memory_cut *cut, const struct column *column, struct window_column *ret)
{
	const struct memory_device *device = &cut->memory->devices[column->device];
	*ret = (struct window_column){.column = column,
		.entity = device_entity(device, 0, column->slot),
		.lanes = column->lanes};
	if (ret->lanes > device->n_rows)
		ret->lanes = device->n_rows;
	for (unsigned came = column->n_came == column->n_in_step; came < 2; came++) {
		const struct column_cut part =
			column_cut(column, came, cut->columns.from_ns, cut->columns.to_ns);
		if (part.begin >= part.end)
			continue;
		ret->begin[came] = part.begin;
		ret->part[came] = (struct series){.flat = part.plain,
			.n = part.end - part.begin,
			.t_ns = column->t_ns + part.begin,
			.flags = column->flags + part.begin,
			.window_ms = (const uint32_t *)(const void *)cut->columns.zeros};
	}
}

/* The columns of a metric lie all over memory: what comes next is fetched while this one is cut. */
static void cut_fetch(const struct window_column *const *columns, size_t i, size_t n)
{
	enum { AHEAD = 16 };
	if (i + AHEAD >= n)
		return;
	const struct column *column = columns[i + AHEAD]->column;
	__builtin_prefetch(column->now);
	__builtin_prefetch(column->in_step);
	if (!column->row_of)
		return;
	__builtin_prefetch(column->row_of);
	__builtin_prefetch(column->values);
}

/* The columns of one device from @at on: row by row, as most ids are given. Returns how many they
 * were. */
static size_t cut_device(struct memory_cut *cut, struct cut_metric *of, size_t at)
{
	const struct window_column *const *columns = cut->by_metric + of->first;
	const uint32_t device = columns[at]->column->device;
	uint32_t lanes = 0;
	size_t n = 0;
	for (; at + n < of->n && columns[at + n]->column->device == device; n++) {
		memory_pause(cut->memory, at + n);
		cut_fetch(columns, at + n, of->n);
		if (columns[at + n]->lanes > lanes)
			lanes = columns[at + n]->lanes;
	}
	for (uint32_t lane = 0; lane < lanes; lane++)
		for (size_t k = 0; k < n; k++)
			if (lane < columns[at + k]->lanes)
				cut_lane(cut, of, columns[at + k], lane);
	return n;
}

/* Series of one metric are put in order of their entities. Mostly they are, since ids are given in
 * the order of the first samples; sorted without comparing else. */
static void cut_order(const struct memory_cut *cut, struct series *v, size_t n)
{
	size_t i = 1;
	while (i < n && v[i - 1].entity < v[i].entity)
		i++;
	if (i >= n)
		return;
	const uint32_t ids = cut->memory->n_homes;
	rw_cleanup(freep) uint32_t *at = rw_calloc(ids, sizeof(*at));
	rw_cleanup(freep) struct series *mixed = rw_calloc(n, sizeof(*mixed));
	memcpy(mixed, v, n * sizeof(*v));
	for (i = 0; i < n; i++)
		at[mixed[i].entity] = (uint32_t)i + 1;
	size_t kept = 0;
	for (uint32_t id = 0; id < ids; id++)
		if (at[id])
			v[kept++] = mixed[at[id] - 1];
}

/* The columns of the metrics that the spec asks for, by device. */
static void cut_columns(struct memory_cut *cut, const struct window_spec *spec)
{
	const struct series_memory *memory = cut->memory;
	struct window_columns *columns = &cut->columns;
	bool want[METRIC_COUNT];
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		want[m] = window_wants(spec, m);
	struct window_column *v = arena_array(cut->a, struct window_column, memory->n_columns + 1);
	uint32_t *first = arena_array(cut->a, uint32_t, memory->n_devices + 1);
	for (uint32_t d = 0; d < memory->n_devices; d++) {
		const struct memory_device *device = &memory->devices[d];
		first[d] = (uint32_t)columns->n;
		memory_pause(memory, d);
		for (uint32_t i = 0; i < device->n_columns; i++)
			if (want[device->columns[i].metric])
				cut_column(cut, &memory->columns[device->columns[i].column],
					&v[columns->n++]);
	}
	first[memory->n_devices] = (uint32_t)columns->n;
	columns->v = v;
	columns->first = first;
}

static void cut_by_metric(struct memory_cut *cut)
{
	const struct window_columns *columns = &cut->columns;
	size_t at = 0;
	cut->by_metric = arena_array(cut->a, const struct window_column *, columns->n + 1);
	for (size_t i = 0; i < columns->n; i++)
		cut->metrics[columns->v[i].column->metric].n++;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		cut->metrics[m].first = at;
		at += cut->metrics[m].n;
		cut->metrics[m].n = 0;
	}
	for (size_t i = 0; i < columns->n; i++) {
		struct cut_metric *of = &cut->metrics[columns->v[i].column->metric];
		cut->by_metric[of->first + of->n++] = &columns->v[i];
	}
}

/* The series of one metric. */
static void cut_series(struct memory_cut *cut, struct cut_metric *of)
{
	size_t max = 0;
	of->made = true;
	for (size_t i = 0; i < of->n; i++) {
		const struct column *column = cut->by_metric[of->first + i]->column;
		max += column->n_in_step + column->n_odd;
	}
	of->v = arena_array(cut->a, struct series, max + 1);
	for (size_t at = 0; at < of->n;)
		at += cut_device(cut, of, at);
	cut_order(cut, of->v, of->n_series);
}

static struct memory_cut *cut_new(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns)
{
	struct memory_cut *cut = arena_new_of(a, struct memory_cut);
	cut->memory = memory;
	cut->a = a;
	cut->only =
		(struct window_spec){.entities = spec->entities, .n_entities = spec->n_entities};
	cut->columns =
		(struct window_columns){.memory = memory, .from_ns = from_ns, .to_ns = to_ns};
	cut->columns.zeros = column_zeros(memory->pool, &cut->n_zeros);
	cut_columns(cut, spec);
	cut_by_metric(cut);
	return cut;
}

/* ---- a window's columns ------------------------------------------------------- */

const struct series *window_columns_of_metric(
	const struct window_columns *columns, unsigned metric, size_t *ret_n)
{
	struct memory_cut *cut = (struct memory_cut *)columns; /* see cut_new() */
	*ret_n = 0;
	if (metric >= METRIC_COUNT)
		return NULL;
	if (!cut->metrics[metric].made)
		cut_series(cut, &cut->metrics[metric]);
	*ret_n = cut->metrics[metric].n_series;
	return cut->metrics[metric].v;
}

bool window_columns_heard(const struct window_columns *columns)
{
	struct series series;
	uint64_t same;
	for (size_t i = 0; i < columns->n; i++) {
		const struct window_column *of = &columns->v[i];
		for (uint32_t lane = 0; lane < of->lanes; lane++)
			if (cut_part(columns, of, lane, &series, &same) &&
				series.t_ns[series.n - 1] > columns->from_ns)
				return true;
	}
	return false;
}

size_t window_device_columns(
	const struct window_columns *columns, uint32_t device, const struct window_column **ret)
{
	const struct series_memory *memory = columns->memory;
	*ret = NULL;
	if (device >= memory->n_homes || memory->homes[device].device == 0)
		return 0;
	const uint32_t at = memory->homes[device].device - 1;
	*ret = &columns->v[columns->first[at]];
	return columns->first[at + 1] - columns->first[at];
}

bool window_home(const struct window_columns *columns, uint32_t entity, uint32_t *ret_device,
	uint32_t *ret_lane)
{
	const struct series_memory *memory = columns->memory;
	if (entity >= memory->n_homes)
		return false;
	const struct memory_home *home = &memory->homes[entity];
	if (home->device == 0 || home->row == NONE)
		return false;
	*ret_device = memory->devices[home->device - 1].name;
	*ret_lane = home->row;
	return true;
}

const struct window_column *window_device_column(
	const struct window_columns *columns, uint32_t device, unsigned metric)
{
	const struct window_column *v;
	const size_t n = window_device_columns(columns, device, &v);
	for (size_t i = 0; i < n; i++)
		if (v[i].column->metric == metric && v[i].column->slot == 0)
			return &v[i];
	return NULL;
}

bool window_lane(const struct window_columns *columns, const struct window_column *of,
	uint32_t lane, struct lane_values *values, struct series *ret)
{
	uint64_t same = 0;
	if (lane >= of->lanes || !cut_part(columns, of, lane, ret, &same))
		return false;
	if (ret->value)
		return true;
	if (ret->n > values->cap) {
		values->cap = 2 * ret->n + 8;
		values->v = arena_array(values->a, uint64_t, values->cap);
	}
	for (uint32_t i = 0; i < ret->n; i++)
		values->v[i] = same;
	ret->value = values->v;
	return true;
}

/* The window must not change when samples are added later, so the columns are copied. */
static void series_copy(struct arena *a, struct series *series)
{
	const size_t n = series->n;
	const size_t point = sizeof(*series->t_ns) + sizeof(*series->value) +
		sizeof(*series->window_ms) + sizeof(*series->flags);
	/* one piece for all columns, the widest first */
	int64_t *t_ns = arena_alloc(a, n * point);
	uint64_t *value = (uint64_t *)(t_ns + n);
	uint32_t *window_ms = (uint32_t *)(value + n);
	uint16_t *flags = (uint16_t *)(window_ms + n);
	memcpy(t_ns, series->t_ns, n * sizeof(*t_ns));
	memcpy(value, series->value, n * sizeof(*value));
	memcpy(window_ms, series->window_ms, n * sizeof(*window_ms));
	memcpy(flags, series->flags, n * sizeof(*flags));
	series->t_ns = t_ns;
	series->value = value;
	series->window_ms = window_ms;
	series->flags = flags;
}

static void memory_flows(const struct series_memory *memory, struct arena *a, struct window *ret)
{
	size_t n_flows = 0;
	struct flow_sample *flows =
		arena_array(a, struct flow_sample, memory->n_flows - memory->flow_head);
	for (size_t i = memory->flow_head; i < memory->n_flows; i++) {
		const struct flow_sample *flow = &memory->flows[i];
		if (flow->to_ns > ret->from_ns && flow->to_ns <= ret->to_ns)
			flows[n_flows++] = *flow;
	}
	window_give_flows(ret, flows, n_flows);
}

int window_lent_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret)
{
	*ret = (struct window){.from_ns = from_ns,
		.to_ns = to_ns,
		.entities = memory->entities,
		.columns = &cut_new(memory, a, spec, from_ns, to_ns)->columns};
	if (spec->flows)
		memory_flows(memory, a, ret);
	return 0;
}

int window_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret)
{
	struct memory_cut *cut = cut_new(memory, a, spec, from_ns, to_ns);
	size_t n = 0;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		cut_series(cut, &cut->metrics[m]);
		n += cut->metrics[m].n_series;
	}
	struct series *series = arena_array(a, struct series, n + 1);
	n = 0;
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		for (size_t i = 0; i < cut->metrics[m].n_series; i++) {
			series[n] = cut->metrics[m].v[i];
			series_copy(a, &series[n++]);
		}
	*ret = (struct window){.from_ns = from_ns,
		.to_ns = to_ns,
		.entities = memory->entities,
		.series = series,
		.n_series = n};
	if (spec->flows)
		memory_flows(memory, a, ret);
	return 0;
}

/* ---- as a reader of the past --------------------------------------------- */

static struct series_memory *memory_of(struct history *history)
{
	return (struct series_memory *)history;
}

struct history *series_memory_history(struct series_memory *memory)
{
	return &memory->history;
}

static void memory_close(struct history *history)
{
	/* lent: series_memory_free() ends it */
}

static const struct entities *memory_entities(struct history *history)
{
	return memory_of(history)->entities;
}

static int memory_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	return window_from_memory(memory_of(history), a, spec, from_ns, to_ns, ret);
}

static int memory_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	*ret_ns = series_memory_next(memory_of(history), t_ns);
	if (*ret_ns == INT64_MAX)
		return -ENODATA;
	return 0;
}

/* All series that have samples, one after another. */
struct lane_walk {
	uint32_t column, lane; /* the next one */
	uint32_t entity;
	uint16_t metric;
	struct track_run run;
};

static bool lane_next(const struct series_memory *memory, struct lane_walk *walk)
{
	for (; walk->column < memory->n_columns; walk->column++, walk->lane = 0) {
		const struct column *column = &memory->columns[walk->column];
		while (walk->lane < column->lanes) {
			const uint32_t lane = walk->lane++;
			walk->run = column_run(memory->pool, column, lane);
			if (walk->run.n == 0)
				continue;
			walk->metric = column->metric;
			walk->entity = *device_entity(
				&memory->devices[column->device], lane, column->slot);
			return true;
		}
	}
	return false;
}

static int memory_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	int64_t first = INT64_MAX, last = INT64_MIN;

	struct lane_walk walk = {0};
	while (lane_next(memory, &walk)) {
		const struct track_run run = walk.run;
		if (run.t_ns[0] < first)
			first = run.t_ns[0];
		if (run.t_ns[run.n - 1] > last)
			last = run.t_ns[run.n - 1];
	}
	if (first > last)
		return -ENODATA;
	*ret_first_ns = first;
	*ret_last_ns = last;
	return 0;
}

static bool memory_wants(const struct series_memory *memory, const struct history_filter *filter,
	const struct lane_walk *walk)
{
	const struct entity *entity = entity_get(memory->entities, walk->entity);

	if (!entity)
		return false;
	if (!filter)
		return true;
	bool metric = filter->n_metrics == 0;
	for (size_t i = 0; i < filter->n_metrics && !metric; i++)
		metric = filter->metrics[i] == walk->metric;
	bool priority =
		filter->priority == HISTORY_ANY_PRIORITY || filter->priority == entity->priority;
	return metric && priority && history_wants(filter, walk->entity) &&
		str_glob(filter->device, entity->device) && str_glob(filter->port, entity->port);
}

static int memory_match(struct history *history, const struct history_filter *filter,
	uint32_t **ret, size_t *ret_n, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	uint32_t max = entities_count(memory->entities);
	rw_cleanup(freep) bool *matches = rw_calloc((size_t)max + 1, sizeof(*matches));
	uint32_t *ids = rw_calloc((size_t)max + 1, sizeof(*ids));
	size_t n = 0;

	struct lane_walk walk = {0};
	while (lane_next(memory, &walk))
		if (memory_wants(memory, filter, &walk))
			matches[walk.entity] = true;
	for (uint32_t id = 1; id <= max; id++)
		if (matches[id])
			ids[n++] = id;
	*ret = ids;
	*ret_n = n;
	return 0;
}

static int memory_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	rw_cleanup(freep) struct sample *v = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	struct lane_walk walk = {0};
	while (lane_next(memory, &walk)) {
		const struct track_run run = walk.run;
		if (!memory_wants(memory, filter, &walk))
			continue;
		for (uint32_t k = 0; k < run.n; k++) {
			const int64_t t_ns = run.t_ns[k];
			uint64_t value = run.same;
			if (run.value)
				value = run.value[k];
			if (filter &&
				(t_ns < filter->from_ns ||
					(filter->to_ns != 0 && t_ns > filter->to_ns)))
				continue;
			rw_grow(v, n, cap);
			v[n++] = (struct sample){.t_ns = t_ns,
				.entity = walk.entity,
				.metric = walk.metric,
				.value = value,
				.flags = run.flags[k],
				.window_ms = run.window_ms[k]};
		}
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), sample_order);
	for (size_t i = 0; i < n && r == 0; i++)
		r = fn(arg, &v[i]);
	return r;
}

static int memory_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	rw_cleanup(freep) struct flow_sample *v = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	for (size_t i = memory->flow_head; i < memory->n_flows; i++) {
		const struct flow_sample *flow = &memory->flows[i];
		if (flow->to_ns < from_ns || (to_ns != 0 && flow->to_ns > to_ns))
			continue;
		rw_grow(v, n, cap);
		v[n++] = *flow;
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), flow_end_order);
	for (size_t i = 0; i < n && r == 0; i++)
		r = fn(arg, &v[i]);
	return r;
}

static int memory_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e)
{
	return -ENODATA;
}

static int memory_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e)
{
	return err_set(e, -ENOTSUP, "memory holds samples only, no records");
}

static const struct history_ops memory_history_ops = {
	.close = memory_close,
	.entities = memory_entities,
	.window = memory_window,
	.range = memory_range,
	.next = memory_next,
	.match = memory_match,
	.each_sample = memory_each_sample,
	.each_flow = memory_each_flow,
	.fabric_at = memory_fabric_at,
	.sql = memory_sql,
};
