/* file_samples - what a database file holds, as rules say it is to be read: blocks before the tail,
 * tail rows by their numbers, and of two values of one entity, metric and instant the first. Not by
 * the program's reader: the tests hold both against it. */
#ifndef RW_TESTS_FILE_SAMPLES_H
#define RW_TESTS_FILE_SAMPLES_H

#include "db/block/block_codec.h"
#include "tests/unit/db/db_world.h"

struct file_sample {
	int64_t metric; /* number in the file */
	struct block_sample s;
	size_t rank; /* in the order of reading */
};
struct file_samples {
	struct file_sample *v;
	size_t n, cap;
	size_t blocks, rows, twice; /* twice: values that another one hides */
};

static inline int file_sample_order(const void *left, const void *right)
{
	const struct file_sample *x = left, *y = right;

	if (x->s.entity != y->s.entity)
		return x->s.entity < y->s.entity ? -1 : 1;
	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	if (x->s.t_ns != y->s.t_ns)
		return x->s.t_ns < y->s.t_ns ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Adds what @reader holds; checks that it lies in [@from_ns, @to_ns] and touches both. */
static inline size_t file_samples_add(struct file_samples *to, int64_t metric,
	struct block_reader *reader, int64_t *least, int64_t *most)
{
	struct block_sample *v = NULL;
	size_t n = 0, cap = 0;

	assert_int_equal(block_decode(reader, &v, &n, &cap), 0);
	for (size_t i = 0; i < n; i++) {
		if (to->n == to->cap) {
			to->cap = to->cap ? 2 * to->cap : 1024;
			to->v = realloc(to->v, to->cap * sizeof(*to->v));
			assert_non_null(to->v);
		}
		to->v[to->n] = (struct file_sample){.metric = metric, .s = v[i], .rank = to->n};
		to->n++;
		*least = v[i].t_ns < *least ? v[i].t_ns : *least;
		*most = v[i].t_ns > *most ? v[i].t_ns : *most;
	}
	free(v);
	return n;
}

/* All blocks; no two of a (device, metric) may overlap, and their columns tell the truth. */
static inline void file_samples_blocks(struct file_samples *to, sqlite3 *db)
{
	int64_t device = -1, metric = -1, end_ns = INT64_MIN;
	struct block_reader reader;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT device, metric, from_ns, to_ns, n, data FROM block ORDER "
				 "BY device, metric, from_ns",
				 -1, &st, NULL),
		SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		int64_t least = INT64_MAX, most = INT64_MIN;
		if (sqlite3_column_int64(st, 0) != device || sqlite3_column_int64(st, 1) != metric)
			end_ns = INT64_MIN;
		device = sqlite3_column_int64(st, 0);
		metric = sqlite3_column_int64(st, 1);
		assert_int_equal(block_open(&reader, sqlite3_column_blob(st, 5),
					 (size_t)sqlite3_column_bytes(st, 5)),
			0);
		const size_t n = file_samples_add(to, metric, &reader, &least, &most);
		assert_int_equal(n, sqlite3_column_int64(st, 4));
		assert_true(least == sqlite3_column_int64(st, 2));
		assert_true(most == sqlite3_column_int64(st, 3));
		assert_true(least > end_ns || end_ns == INT64_MIN);
		end_ns = most;
		to->blocks++;
	}
	sqlite3_finalize(st);
}

static inline void file_samples_tail(struct file_samples *to, sqlite3 *db)
{
	struct block_reader reader;
	struct tail_reader row;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT from_ns, to_ns, n, metrics, data FROM tail ORDER BY id",
				 -1, &st, NULL),
		SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		int64_t least = INT64_MAX, most = INT64_MIN, n = 0;
		const uint8_t *bits = sqlite3_column_blob(st, 3);
		assert_int_equal(tail_open(&row, sqlite3_column_blob(st, 4),
					 (size_t)sqlite3_column_bytes(st, 4)),
			0);
		for (uint32_t i = 0; i < tail_metrics(&row); i++) {
			const int64_t metric = tail_metric_number(&row, i);
			assert_true(metric / 8 < sqlite3_column_bytes(st, 3));
			assert_true(bits[metric / 8] >> metric % 8 & 1);
			assert_int_equal(tail_metric(&row, i, NULL, &reader), 0);
			n += (int64_t)file_samples_add(to, metric, &reader, &least, &most);
		}
		assert_true(n == sqlite3_column_int64(st, 2));
		assert_true(least == sqlite3_column_int64(st, 0));
		assert_true(most == sqlite3_column_int64(st, 1));
		to->rows++;
	}
	sqlite3_finalize(st);
}

/* By entity, metric, time; each once. The caller frees .v. */
static inline struct file_samples file_samples_read(const char *path)
{
	struct file_samples all = {0};
	sqlite3 *db;
	size_t n = 0;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
	file_samples_blocks(&all, db);
	file_samples_tail(&all, db);
	sqlite3_close(db);
	if (all.n > 0)
		qsort(all.v, all.n, sizeof(*all.v), file_sample_order);
	for (size_t i = 0; i < all.n; i++) {
		if (n > 0 && all.v[n - 1].metric == all.v[i].metric &&
			all.v[n - 1].s.entity == all.v[i].s.entity &&
			all.v[n - 1].s.t_ns == all.v[i].s.t_ns)
			all.twice++;
		else
			all.v[n++] = all.v[i];
	}
	all.n = n;
	return all;
}

#endif
