/* pause_log - pauses in force, and their times. */
#include "collectors/packet/pause_log.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/map.h"

struct pause_log {
	struct pause_row *rows;
	size_t n, cap;
	struct map *index; /* MAC and priority -> position */
	uint64_t fast_bps, slow_bps;
	uint64_t refused;
	/* the newest stretch in which anybody paused, over all rows */
	int64_t any_from_ns, any_until_ns;
	uint32_t n_paused; /* rows whose newest frame is an XOFF */
};

struct pause_log *pause_log_new(uint64_t speed_bps)
{
	struct pause_log *log = rw_calloc(1, sizeof(*log));
	log->index = map_new();
	log->fast_bps = PAUSE_FAST_BPS;
	log->slow_bps = PAUSE_SLOW_BPS;
	if (speed_bps)
		log->fast_bps = log->slow_bps = speed_bps;
	return log;
}

void pause_log_free(struct pause_log *log)
{
	if (!log)
		return;
	map_free(log->index);
	free(log->rows);
	free(log);
}

void pause_log_next(struct pause_log *log)
{
	map_clear(log->index);
	log->n = 0;
	log->refused = 0;
	log->n_paused = 0;
}

static int64_t pause_ns(uint32_t quanta, uint64_t bps)
{
	return (int64_t)((double)quanta * PAUSE_QUANTUM_BITS * 1e9 / (double)bps);
}

static struct pause_row *pause_row_get(
	struct pause_log *log, const uint8_t mac[6], uint8_t priority)
{
	uint64_t at, key = priority;
	for (int i = 0; i < 6; i++)
		key = key << 8 | mac[i];
	if (map_get(log->index, key, &at))
		return &log->rows[at];
	if (log->n >= PAUSE_ROWS_MAX)
		return NULL;
	rw_grow(log->rows, log->n, log->cap);
	map_put(log->index, key, log->n);
	struct pause_row *row = &log->rows[log->n++];
	*row = (struct pause_row){.priority = priority};
	memcpy(row->mac, mac, sizeof(row->mac));
	return row;
}

static int64_t pause_min(int64_t left, int64_t right)
{
	if (left < right)
		return left;
	return right;
}

/* What the newest XOFF of @row paused up to @t_ns goes into its sums. Returns whether that pause
 * may still be in force then. */
static bool pause_row_settle(const struct pause_log *log, struct pause_row *row, int64_t t_ns)
{
	const int64_t passed_ns = t_ns - row->last_ns;
	if (row->quanta == 0 || passed_ns < 0)
		return false;
	row->low_ns += pause_min(passed_ns, pause_ns(row->quanta, log->fast_bps));
	row->high_ns += pause_min(passed_ns, pause_ns(row->quanta, log->slow_bps));
	return passed_ns <= pause_ns(row->quanta, log->slow_bps);
}

static void pause_row_longest(struct pause_row *row, int64_t until_ns)
{
	const int64_t lasted_ns = until_ns - row->since_ns;
	if (lasted_ns > row->longest_ns)
		row->longest_ns = lasted_ns;
}

/* The stretch that the newest XOFF belongs to, up to @t_ns, when a frame that does not release it
 * in time ends it: at the fastest speed. */
static void pause_row_expired(const struct pause_log *log, struct pause_row *row, int64_t t_ns)
{
	const int64_t lasts_ns = pause_ns(row->quanta, log->fast_bps);
	pause_row_longest(row, pause_min(t_ns, row->last_ns + lasts_ns));
}

static void pause_any_on(struct pause_log *log, int64_t t_ns, uint32_t quanta)
{
	const int64_t until_ns = t_ns + pause_ns(quanta, log->slow_bps);
	if (log->any_until_ns < t_ns)
		log->any_from_ns = t_ns;
	if (until_ns > log->any_until_ns)
		log->any_until_ns = until_ns;
}

static void pause_row_frame(
	struct pause_log *log, struct pause_row *row, uint32_t quanta, int64_t t_ns)
{
	const bool was_on = row->quanta > 0;
	const bool in_force = pause_row_settle(log, row, t_ns);
	if (was_on && quanta == 0 && in_force)
		pause_row_longest(row, t_ns);
	else if (was_on && !in_force)
		pause_row_expired(log, row, t_ns);
	if (quanta > 0 && !in_force)
		row->since_ns = t_ns;
	if (row->frames++ == 0)
		row->first_ns = t_ns;
	row->xoff += quanta > 0;
	row->xon += quanta == 0;
	row->last_ns = t_ns;
	row->quanta = quanta;
	log->n_paused += quanta > 0;
	log->n_paused -= was_on;
	if (quanta > 0)
		pause_any_on(log, t_ns, quanta);
	else if (was_on && log->n_paused == 0 && log->any_until_ns > t_ns)
		log->any_until_ns = t_ns;
}

static void pause_log_frame(struct pause_log *log, const struct roce_packet *packet,
	uint8_t priority, uint16_t quanta, int64_t t_ns)
{
	struct pause_row *row = pause_row_get(log, packet->src_mac, priority);
	if (row)
		pause_row_frame(log, row, quanta, t_ns);
	else
		log->refused++;
}

void pause_log_add(struct pause_log *log, const struct roce_packet *packet, int64_t t_ns)
{
	if (packet->kind == PACKET_PAUSE) {
		pause_log_frame(log, packet, PAUSE_ALL_TRAFFIC, packet->time[0], t_ns);
		return;
	}
	for (uint8_t i = 0; i < 8; i++)
		if (packet->classes >> i & 1)
			pause_log_frame(log, packet, i, packet->time[i], t_ns);
}

static int pause_row_order(const void *left, const void *right)
{
	const struct pause_row *a = left, *b = right;
	const int order = memcmp(a->mac, b->mac, sizeof(a->mac));
	if (order)
		return order;
	return (int)a->priority - (int)b->priority;
}

struct pause_row *pause_log_rows(
	const struct pause_log *log, int64_t end_ns, size_t *ret_n, uint64_t *ret_refused)
{
	struct pause_row *rows = rw_calloc(log->n + 1, sizeof(*rows));
	for (size_t i = 0; i < log->n; i++) {
		rows[i] = log->rows[i];
		const uint32_t quanta = rows[i].quanta;
		pause_row_settle(log, &rows[i], end_ns);
		if (quanta > 0)
			pause_row_expired(log, &rows[i], end_ns);
	}
	qsort(rows, log->n, sizeof(*rows), pause_row_order);
	*ret_n = log->n;
	*ret_refused = log->refused;
	return rows;
}

int64_t pause_log_until(const struct pause_log *log, int64_t now_ns)
{
	return pause_min(now_ns, log->any_until_ns);
}

int64_t pause_log_overlap(const struct pause_log *log, int64_t from_ns, int64_t to_ns)
{
	int64_t from = log->any_from_ns;
	if (from < from_ns)
		from = from_ns;
	const int64_t until = pause_min(to_ns, log->any_until_ns);
	if (until <= from)
		return 0;
	return until - from;
}
