/* Any bytes as a server's answer, and as a row of the spool: nothing read beyond them, ends in
 * bounded time, and what is taken fits its tables. The first byte says as what. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "db/clickhouse/ch_rows.h"
#include "db/ship/ship_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_rows(enum spool_table table, const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct bytes in = bytes_of(data, size);
	while (bytes_left(&in) > 0) {
		struct ch_row_head head;
		struct spool_row row;
		struct store_record record;
		struct flow_sample flow;
		const char *device, *port;
		ch_read_row(&in, a, table, &head, &row);
		if (!bytes_ok(&in))
			break;
		if (table == SPOOL_FLOWS)
			spool_flow_of_row(&row, &flow, &device, &port);
		else
			(void)spool_record_of_row(&row, &record);
		arena_reset(a);
	}
	arena_free(a);
}

static void as_samples(unsigned scope, const uint8_t *data, size_t size)
{
	static struct ch_sample_row row;
	uint16_t metrics[METRIC_COUNT];
	size_t n = 0;
	for (uint16_t m = 0; m < METRIC_COUNT && n < 12; m++)
		if ((unsigned)metric_info(m)->scope == scope)
			metrics[n++] = m;
	struct arena *a = arena_new();
	struct bytes in = bytes_of(data, size);
	while (bytes_left(&in) > 0) {
		ch_read_sample_row(&in, a, metrics, n, &row);
		arena_reset(a);
	}
	arena_free(a);
}

/* What can be read can be sent. */
static void as_spool(const uint8_t *data, size_t size)
{
	const struct str bytes = {.s = (char *)(uintptr_t)data, .n = size};
	struct str packed = {0}, request = {0};
	struct arena *a = arena_new();
	struct spool_batch batch = {0};
	struct ch_insertions *insertions = rw_calloc(1, sizeof(*insertions));
	spool_pack(&bytes, &packed);
	if (spool_batch_add(&batch, a, 1, packed.s, packed.n) == 0) {
		ch_insertions_of(&batch, "agent", insertions);
		(void)remote_write_request(&batch, "agent", &request);
	}
	ch_insertions_done(insertions);
	free(insertions);
	str_done(&packed);
	str_done(&request);
	arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	const unsigned as = data[0] % (CH_SAMPLE_TABLES + SPOOL_TABLES + 1);
	if (as < CH_SAMPLE_TABLES)
		as_samples(as, data + 1, size - 1);
	else if (as < CH_SAMPLE_TABLES + SPOOL_TABLES)
		as_rows((enum spool_table)(as - CH_SAMPLE_TABLES), data + 1, size - 1);
	else
		as_spool(data + 1, size - 1);
	return 0;
}
