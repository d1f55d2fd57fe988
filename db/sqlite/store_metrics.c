/* store_metrics - which numbers the metrics have in the file, and sets of those numbers. */
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

static int tail_order_metrics(const void *left, const void *right, void *arg)
{
	const struct tail_state *tail = arg;
	const int64_t x = tail->number[*(const uint16_t *)left];
	const int64_t y = tail->number[*(const uint16_t *)right];

	return (x > y) - (x < y);
}

int writer_metric_numbers(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	struct tail_state *tail = &writer->tail;
	int rc = sqlite_prepare(writer->db, "SELECT id FROM metric_name WHERE name=?1", &st);

	for (uint16_t m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
		sqlite3_bind_text(st, 1, metric_info(m)->name, -1, SQLITE_STATIC);
		rc = sqlite3_step(st);
		tail->number[m] = sqlite3_column_int64(st, 0);
		tail->by_number[m] = m;
		const int reset = sqlite3_reset(st);
		if (rc == SQLITE_ROW)
			rc = reset;
	}
	if (rc == SQLITE_DONE) /* schema_migrate() adds each that is missing */
		rc = SQLITE_CORRUPT;
	qsort_r(tail->by_number, METRIC_COUNT, sizeof(*tail->by_number), tail_order_metrics, tail);
	for (uint16_t i = 0; i < METRIC_COUNT; i++)
		tail->place[tail->by_number[i]] = i;
	return rc;
}

int writer_metric_of(const struct store_writer *writer, int64_t number)
{
	const struct tail_state *tail = &writer->tail;
	size_t from = 0, to = METRIC_COUNT;

	while (from < to) {
		const size_t middle = (from + to) / 2;
		if (tail->number[tail->by_number[middle]] < number)
			from = middle + 1;
		else
			to = middle;
	}
	if (from < METRIC_COUNT && tail->number[tail->by_number[from]] == number)
		return tail->by_number[from];
	return -1;
}

void writer_tail_bits(const struct tail_segment *parts, size_t n, struct str *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t number = (uint64_t)parts[i].metric;
		while (ret->n <= number / 8)
			str_addn(ret, "\0", 1);
		ret->s[number / 8] = (char)(ret->s[number / 8] | 1 << (number % 8));
	}
}
