#include "db/series/series.h"
#include "db/sqlite/read/blocks.h"

/*
 * blocks_gather - the samples of one metric of one device, put together from blocks and tail rows.
 *
 * First the pieces that reach into the range, series by series. Then, where the newest samples
 * before the range are wanted, older pieces, newest first, until every series that ever had the
 * metric has one and no older piece can have a newer one.
 *
 * Nearly always the pieces are rows of the tail of the same series, one sample each: then their
 * values are laid side by side without looking at each series of each row (gathering_grid()).
 */

struct piece {
	struct block_reader reader;
	int64_t from_ns, to_ns;
	uint32_t at; /* the series it is at */
};

/* One series under construction. */
struct builder {
	uint32_t n, cap;
	int64_t *t_ns;
	uint64_t *value;
	uint16_t *flags, *source;
	uint32_t *window_ms;
	bool sorted;
};

struct builder_order {
	int64_t t_ns;
	uint32_t i;
};

struct prepended { /* .made of .n elements at .column and an anchor before them; NULL: none yet */
	const void *column, *made;
	uint32_t n;
};

struct gathering {
	struct arena *scratch; /* of one gathering */
	struct piece *pieces;
	size_t n_pieces, cap_pieces, n_blocks;
	struct builder builder, other;
	struct builder_order *order;
	uint32_t cap_order;
	struct gathered *series, *merged;
	size_t n_series, cap_series, cap_merged;
	/* columns of the series before: equal ones are lent again */
	const int64_t *last_t;
	const uint64_t *last_value; /* of lanes at rest */
	const uint16_t *last_flags, *last_source;
	const uint32_t *last_window;
	uint32_t last_n;
	struct prepended prepended[5]; /* that gathered_prepend() made last */
	struct tail_grid grid;
};

static struct gathering *gathering_new(void)
{
	struct gathering *gathering = rw_calloc(1, sizeof(*gathering));

	gathering->scratch = arena_new();
	return gathering;
}

static void builder_done(struct builder *builder)
{
	free(builder->t_ns);
	free(builder->value);
	free(builder->flags);
	free(builder->source);
	free(builder->window_ms);
}

static void gathering_free(struct gathering *gathering)
{
	if (!gathering)
		return;
	arena_free(gathering->scratch);
	builder_done(&gathering->builder);
	builder_done(&gathering->other);
	tail_grid_done(&gathering->grid);
	free(gathering->pieces);
	free(gathering->order);
	free(gathering->series);
	free(gathering->merged);
	free(gathering);
}

/* ---- one series ------------------------------------------------------------- */

static void builder_room(struct builder *builder, uint32_t more)
{
	if (builder->cap - builder->n >= more)
		return;
	uint32_t cap = builder->cap * 2;
	if (cap < builder->n + more)
		cap = builder->n + more + 64;
	builder->cap = cap;
	builder->t_ns = rw_realloc(builder->t_ns, cap * sizeof(*builder->t_ns));
	builder->value = rw_realloc(builder->value, cap * sizeof(*builder->value));
	builder->flags = rw_realloc(builder->flags, cap * sizeof(*builder->flags));
	builder->source = rw_realloc(builder->source, cap * sizeof(*builder->source));
	builder->window_ms = rw_realloc(builder->window_ms, cap * sizeof(*builder->window_ms));
}

/* A column that may be missing: then it is all zeros. */
#define builder_column(to, from, n)                                                                \
	do {                                                                                       \
		if (from)                                                                          \
			memcpy((to), (from), (n) * sizeof(*(to)));                                 \
		else                                                                               \
			memset((to), 0, (n) * sizeof(*(to)));                                      \
	} while (0)

static void builder_add(struct builder *builder, const struct block_columns *columns)
{
	const uint32_t n = columns->n, at = builder->n;

	if (n == 0)
		return;
	builder_room(builder, n);
	builder->sorted &= at == 0 || builder->t_ns[at - 1] < columns->t_ns[0];
	memcpy(builder->t_ns + at, columns->t_ns, n * sizeof(*builder->t_ns));
	memcpy(builder->value + at, columns->value, n * sizeof(*builder->value));
	builder_column(builder->flags + at, columns->flags, n);
	builder_column(builder->source + at, columns->source, n);
	builder_column(builder->window_ms + at, columns->window_ms, n);
	builder->n += n;
}

static void builder_take(struct builder *to, const struct builder *from, uint32_t i)
{
	builder_room(to, 1);
	to->t_ns[to->n] = from->t_ns[i];
	to->value[to->n] = from->value[i];
	to->flags[to->n] = from->flags[i];
	to->source[to->n] = from->source[i];
	to->window_ms[to->n++] = from->window_ms[i];
}

/* By time; of equal times the first that was added, which was stored first. */
static int order_by_time(const void *left, const void *right)
{
	const struct builder_order *x = left, *y = right;

	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

static void builder_sort(struct gathering *gathering)
{
	struct builder *from = &gathering->builder, *to = &gathering->other;
	const uint32_t n = from->n;

	if (n > gathering->cap_order) {
		gathering->cap_order = n;
		gathering->order = rw_realloc(gathering->order, n * sizeof(*gathering->order));
	}
	for (uint32_t i = 0; i < n; i++)
		gathering->order[i] = (struct builder_order){.t_ns = from->t_ns[i], .i = i};
	qsort(gathering->order, n, sizeof(*gathering->order), order_by_time);
	to->n = 0;
	to->sorted = true;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t k = gathering->order[i].i;
		if (to->n == 0 || to->t_ns[to->n - 1] != from->t_ns[k])
			builder_take(to, from, k);
	}
	const struct builder swap = *from;
	*from = *to;
	*to = swap;
}

static void builder_drop_late(struct builder *builder)
{
	uint32_t kept = 0, any = 0;

	for (uint32_t i = 0; i < builder->n; i++)
		any |= builder->flags[i];
	if (!(any & SF_LATE))
		return;
	for (uint32_t i = 0; i < builder->n; i++) {
		if (builder->flags[i] & SF_LATE)
			continue;
		builder->t_ns[kept] = builder->t_ns[i];
		builder->value[kept] = builder->value[i];
		builder->flags[kept] = builder->flags[i];
		builder->source[kept] = builder->source[i];
		builder->window_ms[kept++] = builder->window_ms[i];
	}
	builder->n = kept;
}

/* How many samples are before @from_ns. */
static uint32_t builder_before(const struct builder *builder, int64_t from_ns)
{
	uint32_t lo = 0, hi = builder->n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		if (builder->t_ns[mid] < from_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct block_sample builder_at(const struct builder *builder, int64_t entity, uint32_t i)
{
	return (struct block_sample){.entity = entity,
		.t_ns = builder->t_ns[i],
		.value = builder->value[i],
		.window_ms = builder->window_ms[i],
		.flags = builder->flags[i],
		.source = builder->source[i]};
}

/* A column in the caller's memory; the last one's again when it is the same. */
#define shared_column(a, last, column, n, same_n)                                                  \
	(((same_n) && memcmp((last), (column), (n) * sizeof(*(column))) == 0)                      \
			? (last)                                                                   \
			: arena_copy((a), (column), (n) * sizeof(*(column)),                       \
				  (n) * sizeof(*(column))))

/* The finished series from sample @first on. */
static void gathering_emit(struct gathering *gathering, int64_t entity, uint32_t first,
	struct arena *a, struct gathered *ret)
{
	const struct builder *builder = &gathering->builder;
	const uint32_t n = builder->n - first;
	const bool same_n = n > 0 && n == gathering->last_n;

	ret->entity = entity;
	ret->n = n;
	if (n == 0)
		return;
	ret->t_ns = shared_column(a, gathering->last_t, builder->t_ns + first, n, same_n);
	ret->value = shared_column(a, gathering->last_value, builder->value + first, n, same_n);
	ret->flags = shared_column(a, gathering->last_flags, builder->flags + first, n, same_n);
	ret->source = shared_column(a, gathering->last_source, builder->source + first, n, same_n);
	ret->window_ms =
		shared_column(a, gathering->last_window, builder->window_ms + first, n, same_n);
	gathering->last_t = ret->t_ns;
	gathering->last_value = ret->value;
	gathering->last_flags = ret->flags;
	gathering->last_source = ret->source;
	gathering->last_window = ret->window_ms;
	gathering->last_n = n;
}

/* ---- pieces of the range ------------------------------------------------------ */

static struct piece *gathering_piece(struct gathering *gathering)
{
	rw_grow(gathering->pieces, gathering->n_pieces, gathering->cap_pieces);
	struct piece *piece = &gathering->pieces[gathering->n_pieces];
	memset(piece, 0, sizeof(*piece));
	return piece;
}

/* The block at hand of BLOCKS_BEFORE, with its data in scratch memory. */
static int gathering_open_block(struct gathering *gathering, sqlite3_stmt *st, struct piece *piece)
{
	const void *data = sqlite3_column_blob(st, 3);
	const size_t size = (size_t)sqlite3_column_bytes(st, 3);

	piece->from_ns = sqlite3_column_int64(st, 0);
	piece->to_ns = sqlite3_column_int64(st, 1);
	if (!data)
		return SQLITE_CORRUPT;
	data = arena_copy(gathering->scratch, data, size, size);
	if (block_open(&piece->reader, data, size) < 0)
		return SQLITE_CORRUPT;
	block_share(&piece->reader, gathering->scratch);
	return SQLITE_OK;
}

/* What a walk back over blocks knows: the statement is at a row that was not used, or at its end.
 */
struct walk {
	sqlite3_stmt *st;
	int rc; /* SQLITE_ROW: there is a row at hand */
	bool stepped; /* false: the next row was not asked for yet */
	int64_t known;
};

static int walk_step(struct walk *walk)
{
	if (walk->stepped)
		return walk->rc;
	walk->rc = sqlite3_step(walk->st);
	walk->stepped = true;
	if (walk->rc == SQLITE_ROW && walk->known == 0)
		walk->known = sqlite3_column_int64(walk->st, 2);
	return walk->rc;
}

/* Blocks that reach into the range; the first one before it stays at hand. */
static int gathering_blocks(struct blocks *blocks, int64_t number, struct walk *walk)
{
	struct gathering *gathering = blocks->gathering;
	int rc = SQLITE_OK;

	walk->rc = SQLITE_DONE;
	walk->stepped = !blocks->has_blocks;
	if (blocks->has_blocks)
		rc = blocks_prepared(blocks, BLOCKS_BEFORE, &walk->st);
	if (rc != SQLITE_OK || !blocks->has_blocks)
		return rc;
	sqlite3_bind_int64(walk->st, 1, blocks->device);
	sqlite3_bind_int64(walk->st, 2, number);
	sqlite3_bind_int64(walk->st, 3, blocks->to_ns);
	while (walk_step(walk) == SQLITE_ROW) {
		if (sqlite3_column_int64(walk->st, 1) < blocks->from_ns)
			return SQLITE_OK;
		struct piece *piece = gathering_piece(gathering);
		rc = gathering_open_block(gathering, walk->st, piece);
		if (rc != SQLITE_OK)
			return rc;
		gathering->n_pieces++;
		walk->stepped = false;
		if (piece->from_ns <= blocks->from_ns)
			return SQLITE_OK; /* blocks do not overlap: those before end before */
	}
	return walk->rc == SQLITE_DONE ? SQLITE_OK : walk->rc;
}

static void gathering_reverse(struct gathering *gathering)
{
	for (size_t i = 0, n = gathering->n_pieces; i < n / 2; i++) {
		const struct piece swap = gathering->pieces[i];
		gathering->pieces[i] = gathering->pieces[n - 1 - i];
		gathering->pieces[n - 1 - i] = swap;
	}
}

static int gathering_tail(struct blocks *blocks, int64_t number)
{
	struct gathering *gathering = blocks->gathering;

	for (size_t i = 0; i < blocks->inside.n; i++) {
		struct piece *piece = gathering_piece(gathering);
		struct tail_row *row = &blocks->inside.v[i];
		bool has;
		if (row->to_ns < blocks->from_ns || row->from_ns > blocks->to_ns)
			continue;
		const struct block_reader *like = NULL;
		if (gathering->n_pieces > 0)
			like = &piece[-1].reader;
		int rc = blocks_tail_segment(blocks, row, number, like, &piece->reader, &has);
		if (rc != SQLITE_OK)
			return rc;
		if (!has)
			continue;
		block_share(&piece->reader, gathering->scratch);
		gathering->n_pieces++;
	}
	return SQLITE_OK;
}

/* The smallest entity that any piece is at and that is wanted; false: there is none. */
static bool gathering_next(struct gathering *gathering, const struct gather_want *want,
	size_t *at_wanted, int64_t *ret)
{
	if (want->entities) {
		if (*at_wanted >= want->n_entities)
			return false;
		*ret = want->entities[(*at_wanted)++];
		return true;
	}
	bool any = false;
	for (size_t i = 0; i < gathering->n_pieces; i++) {
		const struct piece *piece = &gathering->pieces[i];
		if (piece->at >= block_series(&piece->reader))
			continue;
		const int64_t entity = block_entity(&piece->reader, piece->at);
		if (!any || entity < *ret)
			*ret = entity;
		any = true;
	}
	return any;
}

/* The next one that is wanted is mostly so near; else it is searched for. */
enum { PIECE_STEPS = 16 };

/* Is the piece at @entity? Where only some are wanted it goes there first; they come ascending. */
static bool piece_at(struct piece *piece, const struct gather_want *want, int64_t entity)
{
	for (unsigned i = 0; want->entities && i < PIECE_STEPS; i++, piece->at++) {
		if (piece->at >= block_series(&piece->reader) ||
			block_entity(&piece->reader, piece->at) >= entity)
			break;
	}
	if (want->entities && piece->at < block_series(&piece->reader) &&
		block_entity(&piece->reader, piece->at) < entity)
		piece->at = block_from(&piece->reader, entity);
	return piece->at < block_series(&piece->reader) &&
		block_entity(&piece->reader, piece->at) == entity;
}

static int gathering_one(struct gathering *gathering, const struct gather_want *want,
	int64_t entity, int64_t from_ns, int64_t to_ns)
{
	struct builder *builder = &gathering->builder;

	builder->n = 0;
	builder->sorted = true;
	for (size_t i = 0; i < gathering->n_pieces; i++) {
		struct piece *piece = &gathering->pieces[i];
		struct block_columns columns;
		if (!piece_at(piece, want, entity))
			continue;
		if (block_read(&piece->reader, piece->at, from_ns, to_ns, gathering->scratch,
			    &columns) < 0)
			return SQLITE_CORRUPT;
		builder_add(builder, &columns);
		piece->at++;
	}
	if (!builder->sorted)
		builder_sort(gathering);
	if (!want->late)
		builder_drop_late(builder);
	return SQLITE_OK;
}

static struct gathered *gathering_add(struct gathering *gathering)
{
	rw_grow(gathering->series, gathering->n_series, gathering->cap_series);
	struct gathered *series = &gathering->series[gathering->n_series++];
	memset(series, 0, sizeof(*series));
	return series;
}

/* Do all pieces have the same series, and each its instants for all of them, later than the piece
 * before: blocks, then rows of the tail, as one device's polls nearly always lie? The grid has the
 * rows then. */
static bool gathering_is_grid(struct gathering *gathering, const struct gather_want *want)
{
	const struct piece *pieces = gathering->pieces;
	struct tail_grid *grid = &gathering->grid;

	tail_grid_clear(grid);
	if (gathering->n_pieces == 0)
		return false;
	const struct block_reader *first = &pieces[0].reader;
	for (size_t i = 0; i < gathering->n_pieces; i++) {
		const struct block_reader *reader = &pieces[i].reader;
		bool fits = first->is_f64 == reader->is_f64 && first->flags == reader->flags &&
			first->source == reader->source && first->window_ms == reader->window_ms;
		if (i < gathering->n_blocks)
			fits = fits && block_instants_max(reader) > 0;
		else
			fits = fits && tail_grid_take(grid, reader);
		if (fits && i > 0 && i <= gathering->n_blocks) /* rows are compared by the grid */
			fits = block_same_series(first, reader);
		if (!fits)
			return false;
	}
	return want->late || !(first->flags & SF_LATE);
}

/* The instants of the pieces, and their marks, as .builder's. *@ret_ascends false: they are not in
 * order. */
static int grid_instants(struct gathering *gathering, bool *ret_ascends)
{
	const struct block_reader *first = &gathering->pieces[0].reader;
	const struct tail_grid *grid = &gathering->grid;
	struct builder *builder = &gathering->builder;

	builder->n = 0;
	for (size_t i = 0; i < gathering->n_blocks; i++) {
		const struct block_reader *reader = &gathering->pieces[i].reader;
		const uint32_t n = block_instants_max(reader);
		builder_room(builder, n);
		if (block_read_instants(reader, builder->t_ns + builder->n) < 0)
			return SQLITE_CORRUPT;
		builder->n += n;
	}
	builder_room(builder, (uint32_t)grid->n);
	for (size_t i = 0; i < grid->n; i++)
		builder->t_ns[builder->n++] = grid->t_ns[i];
	*ret_ascends = true;
	for (uint32_t i = 0; i < builder->n; i++) {
		*ret_ascends &= i == 0 || builder->t_ns[i] > builder->t_ns[i - 1];
		builder->flags[i] = first->flags;
		builder->source[i] = first->source;
		builder->window_ms[i] = first->window_ms;
	}
	return SQLITE_OK;
}

/* The values of series @i of all pieces; @matrix has those of the rows. */
static int grid_values(struct gathering *gathering, const struct block_matrix *matrix, uint32_t i)
{
	uint64_t *value = gathering->builder.value;

	for (size_t k = 0; k < gathering->n_blocks; k++) {
		const struct block_reader *reader = &gathering->pieces[k].reader;
		if (block_read_values(reader, i, value) < 0)
			return SQLITE_CORRUPT;
		value += block_samples(reader) / block_series(reader);
	}
	if (matrix->n > 0)
		memcpy(value, matrix->value + i * matrix->stride, matrix->n * sizeof(*value));
	return SQLITE_OK;
}

/* All series of pieces that are a grid, whose instants are .builder's; of @moving ones alone. */
static int gathering_grid(
	struct blocks *blocks, const struct gather_want *want, bool moving, struct arena *a)
{
	struct gathering *gathering = blocks->gathering;
	const struct block_reader *reader = &gathering->pieces[0].reader;
	struct builder *builder = &gathering->builder;
	struct block_matrix matrix = {0};
	size_t at_wanted = 0;
	const uint32_t n_all = builder->n;
	uint32_t first = builder_before(builder, blocks->from_ns), end = first;
	const bool anchor = want->anchors && first > 0;

	while (end < n_all && builder->t_ns[end] <= blocks->to_ns)
		end++;
	first -= anchor;
	if (first == end)
		return SQLITE_OK;
	if (gathering->grid.n > 0 && !tail_grid_matrix(&gathering->grid, &matrix))
		return SQLITE_CORRUPT;
	for (uint32_t i = 0; i < block_series(reader); i++) {
		const int64_t entity = block_entity(reader, i);
		while (at_wanted < want->n_entities && want->entities[at_wanted] < entity)
			at_wanted++;
		if (want->entities &&
			(at_wanted == want->n_entities || want->entities[at_wanted] != entity))
			continue;
		if (grid_values(gathering, &matrix, i) != SQLITE_OK)
			return SQLITE_CORRUPT;
		if (moving && !series_moved(builder->value + first, end - first))
			continue;
		struct gathered *series = gathering_add(gathering);
		series->has_anchor = anchor;
		if (anchor)
			series->anchor = builder_at(builder, entity, first);
		builder->n = end;
		gathering_emit(gathering, entity, first, a, series);
	}
	return SQLITE_OK;
}

/* All series of the pieces. */
static int gathering_range(struct blocks *blocks, const struct gather_want *want, struct arena *a)
{
	struct gathering *gathering = blocks->gathering;
	const struct builder *builder = &gathering->builder;
	size_t at_wanted = 0;
	int64_t entity = 0, from_ns = blocks->from_ns;

	bool grid = gathering_is_grid(gathering, want);
	int rc = SQLITE_OK;
	if (grid)
		rc = grid_instants(gathering, &grid);
	if (rc != SQLITE_OK)
		return rc;
	if (grid)
		return gathering_grid(blocks, want, false, a);
	if (want->anchors)
		from_ns = INT64_MIN;
	while (gathering_next(gathering, want, &at_wanted, &entity)) {
		rc = gathering_one(gathering, want, entity, from_ns, blocks->to_ns);
		if (rc != SQLITE_OK)
			return rc;
		if (builder->n == 0)
			continue;
		struct gathered *series = gathering_add(gathering);
		uint32_t first = builder_before(builder, blocks->from_ns);
		if (first > 0) {
			first--;
			series->has_anchor = true;
			series->anchor = builder_at(builder, entity, first);
		}
		gathering_emit(gathering, entity, first, a, series);
	}
	return SQLITE_OK;
}

/* ---- anchors -------------------------------------------------------------------- */

/* @column of @n elements behind the one at @anchor: what was made last is mostly it. */
static const void *prepended_column(struct arena *a, struct prepended *last, const void *anchor,
	const void *column, uint32_t n, size_t width)
{
	if (last->made && last->column == column && last->n == n &&
		memcmp(last->made, anchor, width) == 0)
		return last->made;
	char *made = arena_alloc(a, (n + 1) * width);
	memcpy(made, anchor, width);
	if (n > 0)
		memcpy(made + width, column, n * width);
	*last = (struct prepended){column, made, n};
	return made;
}

#define prepend(k, column)                                                                         \
	series->column = prepended_column(a, &gathering->prepended[k], &series->anchor.column,     \
		series->column, n, sizeof(*series->column))

/* Puts an anchor before the samples of a series. */
static void gathered_prepend(struct gathering *gathering, struct arena *a, struct gathered *series)
{
	const uint32_t n = series->n++;

	prepend(0, t_ns);
	prepend(1, value);
	prepend(2, flags);
	prepend(3, source);
	prepend(4, window_ms);
}

/* An anchor that was found outside of the range replaces an older one. */
static void gathered_anchor(struct gathering *gathering, struct arena *a, struct gathered *series,
	const struct block_sample *sample)
{
	if (series->has_anchor) { /* it stands before the samples */
		series->t_ns++;
		series->value++;
		series->flags++;
		series->source++;
		series->window_ms++;
		series->n--;
	}
	series->has_anchor = true;
	series->anchor = *sample;
	gathered_prepend(gathering, a, series);
}

/* The newest sample of a series of an older piece, before the range. *@ret_has false: it has none.
 */
static int piece_newest(struct blocks *blocks, const struct gather_want *want, struct piece *piece,
	struct block_sample *ret, bool *ret_has)
{
	struct gathering *gathering = blocks->gathering;
	struct builder *builder = &gathering->builder;
	struct block_columns columns;

	*ret_has = false;
	if (block_read(&piece->reader, piece->at, INT64_MIN, blocks->from_ns - 1,
		    gathering->scratch, &columns) < 0)
		return SQLITE_CORRUPT;
	builder->n = 0;
	builder->sorted = true;
	builder_add(builder, &columns);
	if (!want->late)
		builder_drop_late(builder);
	if (builder->n == 0)
		return SQLITE_OK;
	*ret = builder_at(builder, block_entity(&piece->reader, piece->at), builder->n - 1);
	*ret_has = true;
	return SQLITE_OK;
}

static bool want_has(const struct gather_want *want, int64_t entity)
{
	size_t lo = 0, hi = want->n_entities;

	if (!want->entities)
		return true;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (want->entities[mid] < entity)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < want->n_entities && want->entities[lo] == entity;
}

static struct gathered *gathering_add_merged(struct gathering *gathering, size_t *n)
{
	rw_grow(gathering->merged, *n, gathering->cap_merged);
	struct gathered *series = &gathering->merged[(*n)++];
	memset(series, 0, sizeof(*series));
	return series;
}

/* One series of an older piece into @series, which is @entity's (new: all zeros). */
static int piece_into(struct blocks *blocks, const struct gather_want *want, struct piece *piece,
	struct arena *a, struct gathered *series)
{
	struct block_sample sample;
	bool has;

	if (series->has_anchor && series->anchor.t_ns >= piece->to_ns)
		return SQLITE_OK;
	int rc = piece_newest(blocks, want, piece, &sample, &has);
	if (rc == SQLITE_OK && has && (!series->has_anchor || sample.t_ns > series->anchor.t_ns))
		gathered_anchor(blocks->gathering, a, series, &sample);
	series->entity = block_entity(&piece->reader, piece->at);
	return rc;
}

/* Both lists are ascending: they are merged. */
static int gathering_older_piece(
	struct blocks *blocks, const struct gather_want *want, struct piece *piece, struct arena *a)
{
	struct gathering *gathering = blocks->gathering;
	size_t i = 0, n = 0;
	int rc = SQLITE_OK;

	for (piece->at = 0; rc == SQLITE_OK && piece->at < block_series(&piece->reader);
		piece->at++) {
		const int64_t entity = block_entity(&piece->reader, piece->at);
		if (!want_has(want, entity))
			continue;
		while (i < gathering->n_series && gathering->series[i].entity < entity)
			*gathering_add_merged(gathering, &n) = gathering->series[i++];
		struct gathered *series = gathering_add_merged(gathering, &n);
		if (i < gathering->n_series && gathering->series[i].entity == entity)
			*series = gathering->series[i++];
		rc = piece_into(blocks, want, piece, a, series);
		if (rc == SQLITE_OK && series->n == 0)
			n--; /* only late samples */
	}
	while (i < gathering->n_series)
		*gathering_add_merged(gathering, &n) = gathering->series[i++];
	struct gathered *swap = gathering->series;
	const size_t cap = gathering->cap_series;
	gathering->series = gathering->merged;
	gathering->cap_series = gathering->cap_merged;
	gathering->merged = swap;
	gathering->cap_merged = cap;
	gathering->n_series = n;
	return rc;
}

/* How many series have an anchor, and the oldest of these. */
static size_t gathering_found(
	const struct gathering *gathering, const struct gather_want *want, int64_t *ret_oldest_ns)
{
	size_t found = 0;

	*ret_oldest_ns = INT64_MAX;
	for (size_t i = 0; i < gathering->n_series; i++) {
		const struct gathered *series = &gathering->series[i];
		if (want->known && !want->known(want->arg, series->entity))
			continue;
		if (!series->has_anchor) {
			*ret_oldest_ns = INT64_MIN; /* any piece may have it */
			continue;
		}
		found++;
		if (series->anchor.t_ns < *ret_oldest_ns)
			*ret_oldest_ns = series->anchor.t_ns;
	}
	return found;
}

/* Table series_count of the device at hand, into .counts. */
static int blocks_counts(struct blocks *blocks)
{
	sqlite3_stmt *st;
	int rc = SQLITE_OK;

	if (blocks->counts_read)
		return SQLITE_OK;
	memset(blocks->counts, 0, sizeof(blocks->counts));
	rc = blocks_prepared(blocks, BLOCKS_COUNTS, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, blocks->device);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int64_t number = sqlite3_column_int64(st, 0);
		blocks->looked++;
		for (unsigned m = 0; m < METRIC_COUNT; m++)
			if (blocks->number[m] == number)
				blocks->counts[m] = sqlite3_column_int64(st, 1);
	}
	blocks->counts_read = rc == SQLITE_DONE;
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

/* How many series were known at the time: each name of the device is looked at. */
static int gathering_count(struct blocks *blocks, const struct gather_want *want, int64_t *ret)
{
	sqlite3_stmt *st;
	int rc = blocks_prepared(blocks, BLOCKS_HAVING, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, blocks->device);
	sqlite3_bind_text(st, 2, metric_info(want->metric)->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, blocks->from_ns);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	blocks->looked += (uint64_t)*ret;
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW)
		return SQLITE_OK;
	return reset;
}

/* How many anchors there can be, when no older piece had been read yet: blocks say it, else the
 * count that the writer keeps, which may be too large where names are gone. 0: not known. */
static int gathering_most(
	struct blocks *blocks, const struct gather_want *want, struct walk *walk, int64_t *ret)
{
	int rc = SQLITE_OK;

	*ret = walk->known;
	if (*ret == 0 && blocks->has_counts) {
		rc = blocks_counts(blocks);
		*ret = blocks->counts[want->metric];
	}
	return rc;
}

/* The next older piece, the newest first: a row of the tail or a block. */
static int gathering_older_next(struct blocks *blocks, int64_t number, struct walk *walk,
	size_t *at_tail, int64_t newer_than_ns, struct piece *ret, bool *ret_has)
{
	struct gathering *gathering = blocks->gathering;
	const struct block_reader *like = NULL;
	int64_t block_ns = INT64_MIN;
	int rc = walk_step(walk);

	if (gathering->n_pieces > 0)
		like = &gathering->pieces[0].reader;
	*ret_has = false;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (rc == SQLITE_ROW)
		block_ns = sqlite3_column_int64(walk->st, 1);
	for (; *at_tail < blocks->older.n; ++*at_tail) {
		struct tail_row *row = &blocks->older.v[*at_tail];
		if (row->to_ns <= newer_than_ns || row->to_ns < block_ns)
			break;
		rc = blocks_tail_segment(blocks, row, number, like, &ret->reader, ret_has);
		ret->to_ns = row->to_ns;
		if (rc != SQLITE_OK)
			return rc;
		if (*ret_has) {
			++*at_tail;
			return SQLITE_OK;
		}
	}
	if (walk->rc != SQLITE_ROW || block_ns <= newer_than_ns)
		return SQLITE_OK;
	*ret_has = true;
	walk->stepped = false;
	return gathering_open_block(gathering, walk->st, ret);
}

/* Where the kept count is not reached after so many pieces, names may be gone: they are counted. */
enum { PIECES_BEFORE_COUNT = 2 };

struct search { /* for the anchors of a metric, from piece to piece */
	size_t at_tail;
	int64_t most; /* anchors there can be; 0 = not known yet */
	unsigned pieces; /* that were read */
	bool begun; /* something was found: .most is known as far as it can be */
	bool counted, whole; /* .most is exact; a piece had every series that there is */
};

/* Up to when an older piece could still have an anchor, into @ret_ns; INT64_MIN: whenever. */
static int search_bound(struct blocks *blocks, const struct gather_want *want,
	struct search *search, int64_t *ret_ns)
{
	const size_t found = gathering_found(blocks->gathering, want, ret_ns);
	size_t most = (size_t)search->most;
	int rc = SQLITE_OK;

	if (search->whole)
		return SQLITE_OK;
	const bool vain = search->most == 0 || search->pieces >= PIECES_BEFORE_COUNT;
	if (!want->entities && !search->counted && vain && found != most) {
		rc = gathering_count(blocks, want, &search->most);
		search->counted = true;
		most = (size_t)search->most;
	}
	if (want->entities && (most == 0 || want->n_entities < most))
		most = want->n_entities;
	if (found < most)
		*ret_ns = INT64_MIN;
	return rc;
}

/* Has the piece all series that there are, and each of them that is wanted its anchor now? */
static bool search_is_whole(const struct gathering *gathering, const struct gather_want *want,
	const struct search *search, const struct piece *piece)
{
	size_t with = 0, of_piece = 0;

	if (search->most == 0 || block_series(&piece->reader) < search->most)
		return false;
	for (size_t i = 0; i < gathering->n_series; i++)
		with += gathering->series[i].has_anchor;
	if (!want->entities)
		return with >= block_series(&piece->reader);
	for (uint32_t i = 0; i < block_series(&piece->reader); i++)
		of_piece += want_has(want, block_entity(&piece->reader, i));
	return with >= of_piece;
}

/* The newest piece before the range is read with it: mostly it has the anchor of each series. Not
 * where it may have an instant of a piece that was stored before it. */
static int gathering_lead(
	struct blocks *blocks, int64_t number, struct walk *walk, struct search *search)
{
	struct gathering *gathering = blocks->gathering;
	struct piece lead = {0};
	bool has = false;
	int rc = blocks_older(blocks);

	if (rc != SQLITE_OK || gathering->n_pieces == 0 || gathering->n_blocks > 0)
		return rc;
	const struct tail_row *first = &blocks->inside.v[0];
	const bool later = blocks->older.n > 0 && blocks->older.v[0].id > first->id;
	if (later || first->from_ns < blocks->from_ns) /* it has them itself */
		return rc;
	rc = gathering_older_next(blocks, number, walk, &search->at_tail, INT64_MIN, &lead, &has);
	if (rc != SQLITE_OK || !has)
		return rc;
	block_share(&lead.reader, gathering->scratch);
	gathering_piece(gathering);
	memmove(gathering->pieces + 1, gathering->pieces, gathering->n_pieces * sizeof(lead));
	gathering->pieces[0] = lead;
	gathering->n_pieces++;
	search->pieces++;
	blocks->looked++;
	return SQLITE_OK;
}

static int gathering_anchors(struct blocks *blocks, const struct gather_want *want, int64_t number,
	struct walk *walk, struct search *search, struct arena *a)
{
	struct gathering *gathering = blocks->gathering;
	const struct piece *piece = gathering->pieces;
	int64_t after_ns = INT64_MIN;
	int rc = SQLITE_OK;

	/* a metric that the range does not have is not counted before an older piece has it */
	search->begun = gathering_found(gathering, want, &after_ns) > 0;
	if (rc == SQLITE_OK && search->begun) {
		walk_step(walk);
		rc = gathering_most(blocks, want, walk, &search->most);
	}
	for (size_t i = 0; i < gathering->n_pieces && !search->whole; i++)
		if (i == 0 || !block_same_series(&piece[i - 1].reader, &piece[i].reader))
			search->whole = search_is_whole(gathering, want, search, &piece[i]);
	while (rc == SQLITE_OK) {
		struct piece older = {0};
		bool has = false;
		if (walk_step(walk) != SQLITE_ROW && search->at_tail >= blocks->older.n)
			break; /* nothing is older */
		after_ns = INT64_MIN;
		if (search->begun)
			rc = search_bound(blocks, want, search, &after_ns);
		if (rc == SQLITE_OK)
			rc = gathering_older_next(
				blocks, number, walk, &search->at_tail, after_ns, &older, &has);
		if (rc != SQLITE_OK || !has)
			break;
		search->pieces++;
		blocks->looked++;
		if (!search->begun)
			rc = gathering_most(blocks, want, walk, &search->most);
		if (rc == SQLITE_OK)
			rc = gathering_older_piece(blocks, want, &older, a);
		search->begun = true;
		search->whole |= search_is_whole(gathering, want, search, &older);
	}
	return rc;
}

/* The pieces that reach into the range; @walk is behind them. */
static int gathering_begin(struct blocks *blocks, int64_t number, struct walk *walk)
{
	if (!blocks->gathering) {
		blocks->gathering = gathering_new();
		blocks->gathering_free = gathering_free;
	}
	struct gathering *gathering = blocks->gathering;
	arena_reset(gathering->scratch);
	gathering->n_pieces = gathering->n_series = 0;
	gathering->last_n = 0;
	memset(gathering->prepended, 0, sizeof(gathering->prepended));
	int rc = gathering_blocks(blocks, number, walk);
	gathering->n_blocks = gathering->n_pieces;
	gathering_reverse(gathering);
	if (rc == SQLITE_OK)
		rc = gathering_tail(blocks, number);
	return rc;
}

/* Where only what moves is wanted and rows of the tail show it: without looking for anchors of
 * series that have no sample in the range. False: they do not. */
static bool gathering_shows(struct blocks *blocks, const struct gather_want *want,
	struct walk *walk, const struct search *search)
{
	struct gathering *gathering = blocks->gathering;
	const struct tail_grid *grid = &gathering->grid;
	const struct tail_rows *older = &blocks->older;
	size_t anchor = 0;

	if (!want->moving || gathering->n_blocks > 0 || !gathering_is_grid(gathering, want) ||
		grid->t_ns[0] >= blocks->from_ns)
		return false;
	while (anchor + 1 < grid->n && grid->t_ns[anchor + 1] < blocks->from_ns)
		anchor++;
	/* may an older piece have a newer one? */
	if (search->at_tail < older->n && older->v[search->at_tail].to_ns > grid->t_ns[anchor])
		return false;
	if (walk_step(walk) == SQLITE_ROW)
		return sqlite3_column_int64(walk->st, 1) <= grid->t_ns[anchor];
	return walk->rc == SQLITE_DONE;
}

int blocks_gather(struct blocks *blocks, const struct gather_want *want, struct arena *a,
	struct gathered **ret, size_t *ret_n)
{
	const int64_t number = blocks->number[want->metric];
	struct walk walk = {0};

	*ret_n = 0;
	if (number == 0)
		return SQLITE_OK;
	struct search search = {0};
	int rc = gathering_begin(blocks, number, &walk);
	struct gathering *gathering = blocks->gathering;
	if (rc == SQLITE_OK && want->anchors)
		rc = gathering_lead(blocks, number, &walk, &search);
	const bool nothing = want->moving && gathering->n_pieces == 0;
	const bool shown = rc == SQLITE_OK && gathering_shows(blocks, want, &walk, &search);
	bool moves = shown && !tail_grid_stands(&gathering->grid);
	if (rc == SQLITE_OK && moves)
		rc = grid_instants(gathering, &moves);
	if (rc == SQLITE_OK && moves)
		rc = gathering_grid(blocks, want, shown, a);
	else if (rc == SQLITE_OK && !shown && !nothing)
		rc = gathering_range(blocks, want, a);
	if (rc == SQLITE_OK && want->anchors && !shown && !nothing)
		rc = gathering_anchors(blocks, want, number, &walk, &search, a);
	if (walk.st)
		sqlite3_reset(walk.st);
	*ret = gathering->series;
	*ret_n = gathering->n_series;
	return rc;
}
