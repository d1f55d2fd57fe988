/* sql_spool - see sql_spool.h. A value is its length (NULL_LENGTH: NULL) and its bytes with a NUL.
 */
#include "db/sqlite/sql_spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

#define MEMORY_BYTES 4194304
#define NULL_LENGTH UINT32_MAX

static int spool_move(struct sql_spool *spool)
{
	if (spool->memory.n == 0)
		return 0;
	if (!spool->file)
		spool->file = tmpfile();
	if (!spool->file)
		return -errno;
	if (fwrite(spool->memory.s, 1, spool->memory.n, spool->file) != spool->memory.n)
		return -EIO;
	spool->memory.n = 0;
	return 0;
}

int sql_spool_put(struct sql_spool *spool, char *const *values)
{
	for (int i = 0; i < spool->n_columns; i++) {
		uint32_t length = NULL_LENGTH;
		if (values[i])
			length = (uint32_t)strlen(values[i]);
		str_addn(&spool->memory, (const char *)&length, sizeof(length));
		if (values[i])
			str_addn(&spool->memory, values[i], (size_t)length + 1);
	}
	spool->rows++;
	if (spool->memory.n < MEMORY_BYTES)
		return 0;
	return spool_move(spool);
}

/* ---- back ---------------------------------------------------------------- */

struct spool_reader {
	struct sql_spool *spool;
	size_t at; /* in memory */
};

static bool spool_take(struct spool_reader *reader, void *to, size_t n)
{
	struct sql_spool *spool = reader->spool;

	if (spool->file)
		return fread(to, 1, n, spool->file) == n;
	if (n > spool->memory.n - reader->at)
		return false;
	memcpy(to, spool->memory.s + reader->at, n);
	reader->at += n;
	return true;
}

/* One row into @row, whose texts begin at @places. */
static int spool_take_row(struct spool_reader *reader, struct str *row, size_t *places)
{
	row->n = 0;
	for (int i = 0; i < reader->spool->n_columns; i++) {
		uint32_t length;
		places[i] = SIZE_MAX;
		if (!spool_take(reader, &length, sizeof(length)))
			return -EIO;
		if (length == NULL_LENGTH)
			continue;
		places[i] = row->n;
		rw_cleanup(freep) char *text = rw_calloc(1, (size_t)length + 1);
		if (!spool_take(reader, text, (size_t)length + 1))
			return -EIO;
		str_addn(row, text, (size_t)length + 1);
	}
	return 0;
}

static int spool_hand_over(struct spool_reader *reader, char *const *names, row_fn *fn, void *arg)
{
	const int n = reader->spool->n_columns;
	rw_cleanup(str_done) struct str row = {0};
	rw_cleanup(freep) size_t *places = rw_calloc((size_t)n, sizeof(*places));
	rw_cleanup(freep) char **values = rw_calloc((size_t)n, sizeof(*values));
	int r = 0;

	for (uint64_t k = 0; r == 0 && k < reader->spool->rows; k++) {
		r = spool_take_row(reader, &row, places);
		for (int i = 0; i < n; i++) {
			values[i] = NULL;
			if (places[i] != SIZE_MAX)
				values[i] = row.s + places[i];
		}
		if (r == 0)
			r = fn(arg, n, values, names);
	}
	return r;
}

int sql_spool_each(struct sql_spool *spool, char *const *names, row_fn *fn, void *arg)
{
	struct spool_reader reader = {.spool = spool};
	int r = 0;

	if (spool->file) {
		r = spool_move(spool);
		if (r == 0 && (fflush(spool->file) != 0 || fseek(spool->file, 0, SEEK_SET) != 0))
			r = -EIO;
	}
	if (r == 0)
		r = spool_hand_over(&reader, names, fn, arg);
	sql_spool_done(spool);
	return r;
}

void sql_spool_done(struct sql_spool *spool)
{
	if (spool->file)
		fclose(spool->file);
	spool->file = NULL;
	str_done(&spool->memory);
	spool->memory = (struct str){0};
	spool->rows = 0;
}
