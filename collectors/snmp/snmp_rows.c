/*
 * snmp_rows - joins the answers of a walk into rows. Rows are a sorted array of (key, slot). The
 * usual answer walks all columns in step, so the row that a column needs next is nearly always the
 * one after its last: a hint for each column makes the join one comparison.
 */
#include "collectors/snmp/snmp_rows.h"

/* snmp_text - cleans the octets that agents send as text. */

char *snmp_text_clean(char *buf, size_t size, const uint8_t *data, size_t n)
{
	while (n > 0 && data[n - 1] == 0)
		n--;
	size_t at = text_clean(buf, size, data, n);
	while (at > 0 && buf[at - 1] == ' ')
		at--;
	buf[at] = '\0';
	size_t lead = strspn(buf, " ");
	if (lead)
		memmove(buf, buf + lead, at - lead + 1);
	return buf;
}

/* ---- snmp_rows ------------------------------------------------------------- */

struct walk_column {
	uint32_t *root;
	size_t n_root;
	size_t n_last; /* arcs of the OID answered last, or of the root: rows_last() */
	uint32_t hint; /* position of the row touched last */
	uint32_t count; /* rows that have this column */
	bool done; /* nothing more to ask */
	bool unordered; /* an OID was below the one before: growing proves nothing any more */
};

struct walk_row {
	uint32_t key; /* offset into keys */
	uint16_t n_key;
	uint32_t slot; /* which line of values */
};

/* The memory of a walk. */
struct rows_room {
	struct walk_row *rows;
	size_t cap_rows;
	uint32_t *keys;
	size_t cap_keys;
	struct snmp_value *values;
	size_t cap_values;
	uint8_t *bytes;
	size_t cap_bytes;
	uint32_t *last; /* SNMP_OID_MAX arcs for each column: the OID answered last, or the root */
	size_t cap_last;
};

/* What the last walks left, for the next ones: of a thousand switches few are polled at the same
 * instant. Loop thread only. */
#define ROOMS_LEFT 24
static struct rows_room rooms_left[ROOMS_LEFT];
static size_t n_rooms_left;

struct snmp_rows {
	struct walk_column *columns;
	size_t n_columns;
	struct rows_room room;
	size_t n_rows, n_keys, n_bytes;
	size_t n_left; /* rows of the walk that snmp_rows_leave() ended */
	uint32_t *asked; /* columns of the last request */
	size_t n_asked;
	struct snmp_rows_stats stats;
};

static void room_free(struct rows_room *room)
{
	free(room->rows);
	free(room->keys);
	free(room->values);
	free(room->bytes);
	free(room->last);
	*room = (struct rows_room){0};
}

struct snmp_rows *snmp_rows_new(const struct snmp_oid *columns, size_t n)
{
	struct snmp_rows *r = rw_calloc(1, sizeof(*r));
	r->columns = rw_calloc(n + 1, sizeof(*r->columns));
	r->asked = rw_calloc(n + 1, sizeof(*r->asked));
	r->n_columns = n;
	for (size_t i = 0; i < n; i++) {
		assert(columns[i].n > 0 && columns[i].n < SNMP_OID_MAX);
		r->columns[i].root = rw_calloc(columns[i].n, sizeof(uint32_t));
		memcpy(r->columns[i].root, columns[i].v, columns[i].n * sizeof(uint32_t));
		r->columns[i].n_root = columns[i].n;
	}
	snmp_rows_begin(r, NULL);
	return r;
}

void snmp_rows_free(struct snmp_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->n_columns; i++)
		free(rows->columns[i].root);
	free(rows->columns);
	free(rows->asked);
	room_free(&rows->room);
	free(rows);
}

static uint32_t *rows_last(const struct snmp_rows *rows, size_t column)
{
	return rows->room.last + column * SNMP_OID_MAX;
}

static void rows_take_room(struct snmp_rows *rows)
{
	struct rows_room *room = &rows->room;
	if (!room->last && n_rooms_left > 0)
		*room = rooms_left[--n_rooms_left];
	const size_t n = (rows->n_columns + 1) * SNMP_OID_MAX;
	if (n > room->cap_last) {
		room->last = rw_realloc(room->last, n * sizeof(*room->last));
		room->cap_last = n;
	}
}

void snmp_rows_leave(struct snmp_rows *rows)
{
	if (!rows->room.last)
		return;
	if (n_rooms_left < ROOMS_LEFT)
		rooms_left[n_rooms_left++] = rows->room;
	else
		room_free(&rows->room);
	rows->room = (struct rows_room){0};
	rows->n_left = rows->n_rows;
	rows->n_rows = rows->n_keys = rows->n_bytes = rows->n_asked = 0;
}

size_t snmp_rows_had(const struct snmp_rows *rows)
{
	if (rows->n_rows)
		return rows->n_rows;
	return rows->n_left;
}

void snmp_rows_begin(struct snmp_rows *rows, const bool *want)
{
	rows_take_room(rows);
	rows->n_left = 0;
	for (size_t i = 0; i < rows->n_columns; i++) {
		struct walk_column *c = &rows->columns[i];
		memcpy(rows_last(rows, i), c->root, c->n_root * sizeof(*c->root));
		c->n_last = c->n_root;
		c->hint = 0;
		c->count = 0;
		c->done = want && !want[i];
		c->unordered = false;
	}
	rows->n_rows = rows->n_keys = rows->n_bytes = rows->n_asked = 0;
	rows->stats = (struct snmp_rows_stats){0};
}

void snmp_rows_drop(struct snmp_rows *rows)
{
	snmp_rows_begin(rows, NULL);
	snmp_rows_leave(rows);
	rows->n_left = 0;
}

size_t snmp_rows_next(struct snmp_rows *rows, struct snmp_oid *ret, size_t max)
{
	rows->n_asked = 0;
	for (size_t i = 0; i < rows->n_columns && rows->n_asked < max; i++) {
		if (rows->columns[i].done)
			continue;
		ret[rows->n_asked] = (struct snmp_oid){rows_last(rows, i), rows->columns[i].n_last};
		rows->asked[rows->n_asked++] = (uint32_t)i;
	}
	return rows->n_asked;
}

static struct snmp_oid row_key(const struct snmp_rows *rows, size_t row)
{
	return (struct snmp_oid){
		rows->room.keys + rows->room.rows[row].key, rows->room.rows[row].n_key};
}

/* row_position - where @key is or would be: first position whose key is not below it. */
static size_t row_position(const struct snmp_rows *rows, struct snmp_oid key, size_t hint)
{
	/* in step: this row or the next */
	for (size_t i = hint; i < hint + 2 && i < rows->n_rows; i++) {
		int c = snmp_oid_order(row_key(rows, i), key);
		if (c == 0 || (c > 0 && i > hint))
			return i;
		if (c > 0)
			break; /* rows were put in before the hint: it says nothing any more */
	}
	if (rows->n_rows == 0 || snmp_oid_order(row_key(rows, rows->n_rows - 1), key) < 0)
		return rows->n_rows;
	size_t lo = 0, hi = rows->n_rows;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (snmp_oid_order(row_key(rows, mid), key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* snmp_rows_row_at - position of the row with this index, added if new. False at a limit. */
static bool snmp_rows_row_at(struct snmp_rows *rows, struct snmp_oid key, size_t hint, size_t *ret)
{
	size_t at = row_position(rows, key, hint);
	*ret = at;
	if (at < rows->n_rows && snmp_oid_order(row_key(rows, at), key) == 0)
		return true;
	if (rows->n_rows >= SNMP_ROWS_MAX)
		return false;
	rw_grow(rows->room.rows, rows->n_rows, rows->room.cap_rows);
	const size_t n_values = (rows->n_rows + 1) * rows->n_columns;
	if (n_values > rows->room.cap_values) {
		rows->room.cap_values = n_values * 2 + 64;
		rows->room.values = rw_realloc(
			rows->room.values, rows->room.cap_values * sizeof(*rows->room.values));
	}
	if (rows->n_keys + key.n > rows->room.cap_keys) {
		rows->room.cap_keys = (rows->n_keys + key.n) * 2;
		rows->room.keys =
			rw_realloc(rows->room.keys, rows->room.cap_keys * sizeof(*rows->room.keys));
	}
	memmove(rows->room.rows + at + 1, rows->room.rows + at,
		(rows->n_rows - at) * sizeof(*rows->room.rows));
	rows->room.rows[at] = (struct walk_row){.key = (uint32_t)rows->n_keys,
		.n_key = (uint16_t)key.n,
		.slot = (uint32_t)rows->n_rows};
	memcpy(rows->room.keys + rows->n_keys, key.v, key.n * sizeof(*key.v));
	memset(rows->room.values + rows->n_rows * rows->n_columns, 0,
		rows->n_columns * sizeof(*rows->room.values));
	rows->n_keys += key.n;
	rows->n_rows++;
	return true;
}

/* rows_value_of - the value of @varbind, strings copied into the table. SNMP_NONE when a limit
 * refused it. */
static struct snmp_value rows_value_of(struct snmp_rows *rows, const struct snmp_varbind *varbind)
{
	if (varbind->type != SNMP_STRING && varbind->type != SNMP_ADDRESS)
		return (struct snmp_value){.type = (uint8_t)varbind->type, .u = varbind->number};
	if (varbind->n_bytes > SNMP_BYTES_MAX - rows->n_bytes) {
		rows->stats.overflow++;
		return (struct snmp_value){.type = SNMP_NONE};
	}
	if (rows->n_bytes + varbind->n_bytes > rows->room.cap_bytes) {
		rows->room.cap_bytes = (rows->n_bytes + varbind->n_bytes) * 2;
		rows->room.bytes = rw_realloc(rows->room.bytes, rows->room.cap_bytes);
	}
	if (varbind->n_bytes)
		memcpy(rows->room.bytes + rows->n_bytes, varbind->bytes, varbind->n_bytes);
	struct snmp_value c = {.type = (uint8_t)varbind->type,
		.u = (uint64_t)rows->n_bytes << 32 | varbind->n_bytes};
	rows->n_bytes += varbind->n_bytes;
	return c;
}

/* value_absent - a hole: the row went away between two requests, or this platform has no such
 * value. */
static bool value_absent(const struct snmp_varbind *varbind)
{
	return varbind->type == SNMP_NO_SUCH_OBJECT || varbind->type == SNMP_NO_SUCH_INSTANCE ||
		varbind->type == SNMP_NULL_VALUE || varbind->type == SNMP_NONE;
}

/* column_is_news - an OID below the one before: is it a value that this column has not got yet?
 * Then the table is only in another order. What has no value leaves no trace, so it is no step. */
static bool column_is_news(
	const struct snmp_rows *rows, size_t i, const struct snmp_varbind *varbind)
{
	const struct walk_column *column = &rows->columns[i];
	const struct snmp_oid key = {
		varbind->oid.v + column->n_root, varbind->oid.n - column->n_root};
	if (value_absent(varbind) || rows->n_rows >= SNMP_UNORDERED_MAX)
		return false;
	const size_t at = row_position(rows, key, column->hint);
	if (at >= rows->n_rows || snmp_oid_order(row_key(rows, at), key) != 0)
		return true;
	return rows->room.values[(size_t)rows->room.rows[at].slot * rows->n_columns + i].type ==
		SNMP_NONE;
}

/* column_take - one varbind for column @i, which takes a step or ends. */
static void column_take(struct snmp_rows *rows, size_t i, const struct snmp_varbind *varbind)
{
	struct walk_column *c = &rows->columns[i];
	const struct snmp_oid oid = varbind->oid, root = {c->root, c->n_root};
	const bool grows =
		snmp_oid_order(oid, (struct snmp_oid){rows_last(rows, i), c->n_last}) > 0;
	const bool inside = oid.n <= SNMP_OID_MAX && oid.n > c->n_root && snmp_oid_under(oid, root);
	/* 1. the end: endOfMibView, or the agent went on to the next column or table */
	if (varbind->type == SNMP_END_OF_MIB) {
		c->done = true;
		return;
	}
	/* 2. an agent that does not move on would be asked without end */
	c->unordered = c->unordered || !grows;
	const bool moves = !c->unordered || (inside && column_is_news(rows, i, varbind));
	if (!moves && (inside || !grows))
		rows->stats.non_increasing++;
	if (!inside || !moves) {
		c->done = true;
		return;
	}
	rows->stats.out_of_order += !grows;
	memcpy(rows_last(rows, i), oid.v, oid.n * sizeof(*oid.v));
	c->n_last = oid.n;
	/* 3. a hole */
	if (value_absent(varbind)) {
		rows->stats.no_value++;
		return;
	}
	/* 4. a value */
	size_t row;
	struct snmp_oid key = {oid.v + c->n_root, oid.n - c->n_root};
	if (!snmp_rows_row_at(rows, key, c->hint, &row)) {
		rows->stats.overflow++;
		c->done = true;
		return;
	}
	c->hint = (uint32_t)row;
	struct snmp_value value = rows_value_of(rows, varbind);
	if (value.type == SNMP_NONE)
		return;
	rows->room.values[(size_t)rows->room.rows[row].slot * rows->n_columns + i] = value;
	c->count++;
}

bool snmp_rows_take(struct snmp_rows *rows, const struct snmp_varbind *varbinds, size_t n)
{
	bool moved = false;
	rows->stats.requests++;
	rows->stats.varbinds += (uint32_t)n;
	for (size_t k = 0; k < n && rows->n_asked; k++) {
		size_t i = rows->asked[k % rows->n_asked];
		if (rows->columns[i].done)
			continue;
		column_take(rows, i, &varbinds[k]);
		moved = true;
	}
	if (!moved)
		rows->stats.stalled++;
	return moved;
}

bool snmp_rows_refuse(struct snmp_rows *rows, size_t i)
{
	if (i >= rows->n_asked)
		return false;
	rows->columns[rows->asked[i]].done = true;
	return true;
}

size_t snmp_rows_count(const struct snmp_rows *rows)
{
	return rows->n_rows;
}

struct snmp_oid snmp_rows_index(const struct snmp_rows *rows, size_t row)
{
	assert(row < rows->n_rows);
	return row_key(rows, row);
}

bool snmp_rows_find(const struct snmp_rows *rows, struct snmp_oid index, size_t *ret)
{
	const size_t at = row_position(rows, index, rows->n_rows);
	if (at >= rows->n_rows || snmp_oid_order(row_key(rows, at), index) != 0)
		return false;
	*ret = at;
	return true;
}

const struct snmp_value *snmp_rows_value(const struct snmp_rows *rows, size_t row, size_t column)
{
	assert(row < rows->n_rows && column < rows->n_columns);
	const struct snmp_value *c =
		&rows->room.values[(size_t)rows->room.rows[row].slot * rows->n_columns + column];
	if (c->type == SNMP_NONE)
		return NULL;
	return c;
}

const uint8_t *snmp_rows_bytes(
	const struct snmp_rows *rows, const struct snmp_value *cell, size_t *ret_n)
{
	if (cell->type != SNMP_STRING && cell->type != SNMP_ADDRESS) {
		*ret_n = 0;
		return NULL;
	}
	*ret_n = (uint32_t)cell->u;
	if (*ret_n)
		return rows->room.bytes + (cell->u >> 32);
	return (const uint8_t *)"";
}

size_t snmp_rows_column_count(const struct snmp_rows *rows, size_t column)
{
	assert(column < rows->n_columns);
	return rows->columns[column].count;
}

uint64_t snmp_rows_digest(const struct snmp_rows *rows)
{
	uint64_t h = rows->n_rows;
	for (size_t i = 0; i < rows->n_rows; i++) {
		const struct snmp_value *c =
			rows->room.values + (size_t)rows->room.rows[i].slot * rows->n_columns;
		for (size_t k = 0; k < rows->n_columns; k++)
			if (snmp_type_is_number(c[k].type) && c[k].type != SNMP_TICKS)
				h = hash_u64(h ^ c[k].u) + k;
	}
	return h;
}

const struct snmp_rows_stats *snmp_rows_stats(const struct snmp_rows *rows)
{
	return &rows->stats;
}
