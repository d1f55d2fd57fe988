/*
 * snmp_rows - see the header. Rows are a sorted array of (key, slot); the usual answer walks all
 * columns in step, so the row a column needs next is nearly always the one after its last: a hint
 * per column makes the join one comparison.
 */
#include "collectors/snmp/snmp_rows.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"

struct column {
	uint32_t *root;
	size_t n_root;
	uint32_t last[SNMP_OID_MAX]; /* the OID answered last, or the root */
	size_t n_last;
	uint32_t hint; /* position of the row touched last */
	uint32_t count; /* rows that have this column */
	bool over;
};

struct row {
	uint32_t key; /* offset into keys */
	uint16_t n_key;
	uint32_t slot; /* which line of cells */
};

struct snmp_rows {
	struct column *columns;
	size_t n_columns;
	struct row *rows;
	size_t n_rows, cap_rows;
	uint32_t *keys;
	size_t n_keys, cap_keys;
	struct snmp_cell *cells;
	size_t cap_slots;
	uint8_t *bytes;
	size_t n_bytes, cap_bytes;
	uint32_t *asked; /* columns of the last request */
	size_t n_asked;
	struct snmp_rows_stats stats;
};

static const char *const type_names[] = {
	[SNMP_NONE] = "absent",
	[SNMP_INTEGER] = "INTEGER",
	[SNMP_GAUGE32] = "Gauge32",
	[SNMP_COUNTER32] = "Counter32",
	[SNMP_COUNTER64] = "Counter64",
	[SNMP_TICKS] = "TimeTicks",
	[SNMP_STRING] = "OCTET STRING",
	[SNMP_OBJECT_ID] = "OBJECT IDENTIFIER",
	[SNMP_ADDRESS] = "IpAddress",
	[SNMP_NULL_VALUE] = "NULL",
	[SNMP_NO_SUCH_OBJECT] = "noSuchObject",
	[SNMP_NO_SUCH_INSTANCE] = "noSuchInstance",
	[SNMP_END_OF_MIB] = "endOfMibView",
	[SNMP_OTHER] = "other",
};

const char *snmp_type_name(enum snmp_type t)
{
	return (size_t)t < rw_countof(type_names) ? type_names[t] : "other";
}

bool snmp_type_is_number(enum snmp_type t)
{
	return t >= SNMP_INTEGER && t <= SNMP_TICKS;
}

int snmp_oid_order(struct snmp_oid a, struct snmp_oid b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	for (size_t i = 0; i < n; i++)
		if (a.v[i] != b.v[i])
			return a.v[i] < b.v[i] ? -1 : 1;
	return (a.n > b.n) - (a.n < b.n);
}

bool snmp_oid_under(struct snmp_oid oid, struct snmp_oid root)
{
	return oid.n >= root.n &&
		(root.n == 0 || memcmp(oid.v, root.v, root.n * sizeof(*root.v)) == 0);
}

int snmp_oid_parse(const char *text, uint32_t *ret, size_t max)
{
	size_t n = 0;
	if (*text == '.')
		text++;
	for (;;) {
		uint64_t arc = 0;
		if (*text < '0' || *text > '9' || n == max)
			return -EINVAL;
		for (; *text >= '0' && *text <= '9'; text++)
			if ((arc = arc * 10 + (uint64_t)(*text - '0')) > UINT32_MAX)
				return -EINVAL;
		ret[n++] = (uint32_t)arc;
		if (*text == '\0')
			return (int)n;
		if (*text++ != '.')
			return -EINVAL;
	}
}

char *snmp_oid_text(char *buf, size_t size, struct snmp_oid o)
{
	size_t at = 0;
	buf[0] = '\0';
	for (size_t i = 0; i < o.n && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, i ? ".%u" : "%u", o.v[i]);
	return buf;
}

struct snmp_rows *snmp_rows_new(const struct snmp_oid *columns, size_t n)
{
	struct snmp_rows *r = rw_calloc(1, sizeof(*r));
	r->columns = rw_calloc(n ? n : 1, sizeof(*r->columns));
	r->asked = rw_calloc(n ? n : 1, sizeof(*r->asked));
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

void snmp_rows_free(struct snmp_rows *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_columns; i++)
		free(r->columns[i].root);
	free(r->columns);
	free(r->asked);
	free(r->rows);
	free(r->keys);
	free(r->cells);
	free(r->bytes);
	free(r);
}

void snmp_rows_begin(struct snmp_rows *r, const bool *want)
{
	for (size_t i = 0; i < r->n_columns; i++) {
		struct column *c = &r->columns[i];
		memcpy(c->last, c->root, c->n_root * sizeof(*c->root));
		c->n_last = c->n_root;
		c->hint = 0;
		c->count = 0;
		c->over = want && !want[i];
	}
	r->n_rows = r->n_keys = r->n_bytes = r->n_asked = 0;
	r->stats = (struct snmp_rows_stats){0};
}

size_t snmp_rows_next(struct snmp_rows *r, struct snmp_oid *ret, size_t max)
{
	r->n_asked = 0;
	for (size_t i = 0; i < r->n_columns && r->n_asked < max; i++) {
		if (r->columns[i].over)
			continue;
		ret[r->n_asked] = (struct snmp_oid){r->columns[i].last, r->columns[i].n_last};
		r->asked[r->n_asked++] = (uint32_t)i;
	}
	return r->n_asked;
}

static struct snmp_oid row_key(const struct snmp_rows *r, size_t row)
{
	return (struct snmp_oid){r->keys + r->rows[row].key, r->rows[row].n_key};
}

/* row_place - where @key is or would be: first position whose key is not below it. */
static size_t row_place(const struct snmp_rows *r, struct snmp_oid key, size_t hint)
{
	/* in step: this row or the next */
	for (size_t i = hint; i < hint + 2 && i < r->n_rows; i++) {
		int c = snmp_oid_order(row_key(r, i), key);
		if (c == 0 || (c > 0 && i > hint))
			return i;
		if (c > 0)
			break; /* rows were put in before the hint: it says nothing any more */
	}
	if (r->n_rows == 0 || snmp_oid_order(row_key(r, r->n_rows - 1), key) < 0)
		return r->n_rows;
	size_t lo = 0, hi = r->n_rows;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (snmp_oid_order(row_key(r, mid), key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* row_at - position of the row with this index, added if new. False at a limit. */
static bool row_at(struct snmp_rows *r, struct snmp_oid key, size_t hint, size_t *ret)
{
	size_t at = row_place(r, key, hint);
	*ret = at;
	if (at < r->n_rows && snmp_oid_order(row_key(r, at), key) == 0)
		return true;
	if (r->n_rows >= SNMP_ROWS_MAX)
		return false;
	rw_grow(r->rows, r->n_rows, r->cap_rows);
	if (r->n_rows >= r->cap_slots) {
		r->cap_slots = r->cap_slots ? r->cap_slots * 2 : 64;
		r->cells = rw_realloc(r->cells, r->cap_slots * r->n_columns * sizeof(*r->cells));
	}
	if (r->n_keys + key.n > r->cap_keys) {
		r->cap_keys = (r->n_keys + key.n) * 2;
		r->keys = rw_realloc(r->keys, r->cap_keys * sizeof(*r->keys));
	}
	memmove(r->rows + at + 1, r->rows + at, (r->n_rows - at) * sizeof(*r->rows));
	r->rows[at] = (struct row){
		.key = (uint32_t)r->n_keys, .n_key = (uint16_t)key.n, .slot = (uint32_t)r->n_rows};
	memcpy(r->keys + r->n_keys, key.v, key.n * sizeof(*key.v));
	memset(r->cells + r->n_rows * r->n_columns, 0, r->n_columns * sizeof(*r->cells));
	r->n_keys += key.n;
	r->n_rows++;
	return true;
}

/* cell_of - the value of @v, strings copied into the table. SNMP_NONE when a limit refused it. */
static struct snmp_cell cell_of(struct snmp_rows *r, const struct snmp_varbind *v)
{
	if (v->type != SNMP_STRING && v->type != SNMP_ADDRESS)
		return (struct snmp_cell){.type = (uint8_t)v->type, .u = v->number};
	if (v->n_bytes > SNMP_BYTES_MAX - r->n_bytes) {
		r->stats.overflow++;
		return (struct snmp_cell){.type = SNMP_NONE};
	}
	if (r->n_bytes + v->n_bytes > r->cap_bytes) {
		r->cap_bytes = (r->n_bytes + v->n_bytes) * 2;
		r->bytes = rw_realloc(r->bytes, r->cap_bytes);
	}
	if (v->n_bytes)
		memcpy(r->bytes + r->n_bytes, v->bytes, v->n_bytes);
	struct snmp_cell c = {
		.type = (uint8_t)v->type, .u = (uint64_t)r->n_bytes << 32 | v->n_bytes};
	r->n_bytes += v->n_bytes;
	return c;
}

/* column_take - one varbind for one column. True when the column got on (a step or its end). */
static bool column_take(struct snmp_rows *r, size_t i, const struct snmp_varbind *v)
{
	struct column *c = &r->columns[i];
	struct snmp_oid root = {c->root, c->n_root}, last = {c->last, c->n_last};
	/* 1. the end: endOfMibView, or the agent went on to the next column or table */
	if (v->type == SNMP_END_OF_MIB || v->oid.n > SNMP_OID_MAX || v->oid.n <= c->n_root ||
		!snmp_oid_under(v->oid, root)) {
		if (v->type != SNMP_END_OF_MIB && snmp_oid_order(v->oid, last) <= 0)
			r->stats.non_increasing++;
		c->over = true;
		return true;
	}
	/* 2. an agent that does not move on would keep us for ever */
	if (snmp_oid_order(v->oid, last) <= 0) {
		r->stats.non_increasing++;
		c->over = true;
		return true;
	}
	memcpy(c->last, v->oid.v, v->oid.n * sizeof(*c->last));
	c->n_last = v->oid.n;
	/* 3. a hole: the row went away between two requests, or this value is missing on this
	 * platform */
	if (v->type == SNMP_NO_SUCH_OBJECT || v->type == SNMP_NO_SUCH_INSTANCE ||
		v->type == SNMP_NULL_VALUE || v->type == SNMP_NONE) {
		r->stats.no_value++;
		return true;
	}
	size_t row;
	struct snmp_oid key = {v->oid.v + c->n_root, v->oid.n - c->n_root};
	if (!row_at(r, key, c->hint, &row)) {
		r->stats.overflow++;
		c->over = true;
		return true;
	}
	c->hint = (uint32_t)row;
	struct snmp_cell cell = cell_of(r, v);
	if (cell.type != SNMP_NONE) {
		r->cells[(size_t)r->rows[row].slot * r->n_columns + i] = cell;
		c->count++;
	}
	return true;
}

bool snmp_rows_take(struct snmp_rows *r, const struct snmp_varbind *v, size_t n)
{
	bool moved = false;
	r->stats.requests++;
	r->stats.varbinds += (uint32_t)n;
	for (size_t k = 0; k < n && r->n_asked; k++) {
		size_t i = r->asked[k % r->n_asked];
		if (!r->columns[i].over && column_take(r, i, &v[k]))
			moved = true;
	}
	if (!moved)
		r->stats.stalled++;
	return moved;
}

bool snmp_rows_refuse(struct snmp_rows *r, size_t i)
{
	if (i >= r->n_asked)
		return false;
	r->columns[r->asked[i]].over = true;
	return true;
}

size_t snmp_rows_count(const struct snmp_rows *r)
{
	return r->n_rows;
}

struct snmp_oid snmp_rows_index(const struct snmp_rows *r, size_t row)
{
	assert(row < r->n_rows);
	return row_key(r, row);
}

const struct snmp_cell *snmp_rows_cell(const struct snmp_rows *r, size_t row, size_t column)
{
	assert(row < r->n_rows && column < r->n_columns);
	const struct snmp_cell *c = &r->cells[(size_t)r->rows[row].slot * r->n_columns + column];
	return c->type == SNMP_NONE ? NULL : c;
}

const uint8_t *snmp_rows_bytes(const struct snmp_rows *r, const struct snmp_cell *c, size_t *ret_n)
{
	if (c->type != SNMP_STRING && c->type != SNMP_ADDRESS) {
		*ret_n = 0;
		return NULL;
	}
	*ret_n = (uint32_t)c->u;
	return *ret_n ? r->bytes + (c->u >> 32) : (const uint8_t *)"";
}

size_t snmp_rows_column_count(const struct snmp_rows *r, size_t column)
{
	assert(column < r->n_columns);
	return r->columns[column].count;
}

uint64_t snmp_rows_digest(const struct snmp_rows *r)
{
	uint64_t h = r->n_rows;
	for (size_t i = 0; i < r->n_rows; i++) {
		const struct snmp_cell *c = r->cells + (size_t)r->rows[i].slot * r->n_columns;
		for (size_t k = 0; k < r->n_columns; k++)
			if (snmp_type_is_number(c[k].type) && c[k].type != SNMP_TICKS)
				h = hash_u64(h ^ c[k].u) + k;
	}
	return h;
}

const struct snmp_rows_stats *snmp_rows_stats(const struct snmp_rows *r)
{
	return &r->stats;
}
