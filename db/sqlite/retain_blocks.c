/*
 * retain_blocks - which blocks of samples may go: of each tier those that ended before its cutoff,
 * from the front of each (device, metric), whole blocks only. What a pin touches stays, and so does
 * the newest of each configuration state (retain_carry.c).
 *
 * Nothing is read but keys: one seek finds the next device, the next metric, the next block. The
 * blocks of a device end at about the same time, so that a pass skips devices whose oldest block is
 * not due.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "db/sqlite/retain_carry.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

/* One transaction: some 20 ms. */
#define CHUNK_SEEKS 4000
#define CHUNK_BLOCKS 500
#define CHUNK_BYTES 4194304

/* All devices are looked at again after so long: a late value may have made an older block, and a
 * pin may have been released. */
#define LOOK_AGAIN_NS (3600 * NS_PER_S)
#define LOOK_STUCK_NS (600 * NS_PER_S) /* while the quota finds nothing to take */

/* Minutes and hours are made of raw samples: these wait for it, with the hour before, from whose
 * end increases count. Not longer than a day: what cannot be made must not fill the disk. */
#define DUE_BEFORE_NS (2 * 3600 * NS_PER_S)
#define DUE_WAIT_NS (24 * 3600 * NS_PER_S)

struct blocks_chunk {
	struct store_writer *writer;
	enum store_tier tier;
	int64_t cutoff_ns;
	int seeks, blocks;
	int64_t bytes;
	bool state; /* the metric at the place is a configuration state */
};

static bool blocks_spent(const struct blocks_chunk *chunk)
{
	return chunk->seeks >= CHUNK_SEEKS || chunk->blocks >= CHUNK_BLOCKS ||
		chunk->bytes >= CHUNK_BYTES;
}

static const char *const block_table[STORE_TIERS] = {
	[STORE_RAW] = "block", [STORE_MINUTE] = "block_minute", [STORE_HOUR] = "block_hour"};

/* ---- statements ---------------------------------------------------------- */

static int blocks_prepare(struct store_writer *writer, enum store_tier tier)
{
	static const struct {
		const char *what, *which;
	} sql[] = {
		{"SELECT min(device)", "device>=?1"},
		{"SELECT min(metric)", "device=?1 AND metric>=?2"},
		{"SELECT from_ns, to_ns, length(data)",
			"device=?1 AND metric=?2 AND from_ns>=?3 ORDER BY from_ns"},
		{"DELETE", "device=?1 AND metric=?2 AND from_ns=?3"},
	};
	struct retain_tier *to = &writer->retain.tiers[tier];
	sqlite3_stmt **const st[] = {&to->device, &to->metric, &to->blocks, &to->erase};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(sql); i++) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(
			&text, "%s FROM %s WHERE %s", sql[i].what, block_table[tier], sql[i].which);
		if (!*st[i])
			rc = sqlite_prepare(writer->db, text.s, st[i]);
	}
	return rc;
}

void retain_blocks_forget(struct retain *retain)
{
	for (unsigned t = 0; t < STORE_TIERS; t++) {
		retain->tiers[t].n_fronts = 0;
		retain->tiers[t].known = false;
	}
	retain->place = (struct retain_place){.device = INT64_MIN};
}

void retain_blocks_close(struct retain *retain)
{
	for (unsigned t = 0; t < STORE_TIERS; t++) {
		struct retain_tier *tier = &retain->tiers[t];
		sqlite3_finalize(tier->device);
		sqlite3_finalize(tier->metric);
		sqlite3_finalize(tier->blocks);
		sqlite3_finalize(tier->erase);
		tier->device = tier->metric = tier->blocks = tier->erase = NULL;
	}
	retain_blocks_forget(retain);
	retain_carry_close(retain);
	sqlite3_finalize(retain->due);
	retain->due = NULL;
}

void retain_blocks_free(struct retain *retain)
{
	for (unsigned t = 0; t < STORE_TIERS; t++)
		free(retain->tiers[t].fronts);
	free(retain->states);
}

/* The first number that a statement gives; *ret_found false: NULL or no row. */
static int blocks_seek(struct blocks_chunk *chunk, sqlite3_stmt *st, int64_t *ret, bool *ret_found)
{
	chunk->seeks++;
	*ret_found = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL;
	if (*ret_found)
		*ret = sqlite3_column_int64(st, 0);
	return sqlite3_reset(st);
}

/* ---- fronts -------------------------------------------------------------- */

/* Fronts before .front of the place are those of this pass. */
static void front_note(struct retain_tier *tier, struct retain_place *place)
{
	const struct retain_front front = {place->device, place->due_ns, place->oldest_ns};

	while (place->front < tier->n_fronts && tier->fronts[place->front].device < front.device) {
		memmove(&tier->fronts[place->front], &tier->fronts[place->front + 1],
			(tier->n_fronts - place->front - 1) * sizeof(front)); /* it is gone */
		tier->n_fronts--;
	}
	if (place->front == tier->n_fronts || tier->fronts[place->front].device != front.device) {
		rw_grow(tier->fronts, tier->n_fronts, tier->cap_fronts);
		memmove(&tier->fronts[place->front + 1], &tier->fronts[place->front],
			(tier->n_fronts - place->front) * sizeof(front));
		tier->n_fronts++;
	}
	tier->fronts[place->front++] = front;
}

/* What is known of the device at the place; NULL: nothing. */
static const struct retain_front *front_find(
	const struct retain_tier *tier, const struct retain_place *place)
{
	size_t i = place->front;

	while (i < tier->n_fronts && tier->fronts[i].device < place->device)
		i++;
	if (i < tier->n_fronts && tier->fronts[i].device == place->device)
		return &tier->fronts[i];
	return NULL;
}

bool retain_blocks_oldest(const struct retain *retain, enum store_tier tier, int64_t *ret_ns)
{
	const struct retain_tier *of = &retain->tiers[tier];

	*ret_ns = INT64_MAX;
	for (size_t i = 0; i < of->n_fronts; i++)
		if (of->fronts[i].oldest_ns < *ret_ns)
			*ret_ns = of->fronts[i].oldest_ns;
	return of->known;
}

/* ---- the blocks of one device -------------------------------------------- */

static int64_t blocks_earlier(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static int block_erase(struct blocks_chunk *chunk, int64_t from_ns, int64_t bytes)
{
	struct retain *retain = &chunk->writer->retain;
	sqlite3_stmt *st = retain->tiers[chunk->tier].erase;

	chunk->blocks++;
	chunk->bytes += bytes;
	sqlite3_bind_int64(st, 1, retain->place.device);
	sqlite3_bind_int64(st, 2, retain->place.metric);
	sqlite3_bind_int64(st, 3, from_ns);
	return sqlite_run(st);
}

static bool is_state(const struct retain *retain, int64_t metric)
{
	for (size_t i = 0; i < retain->n_states; i++)
		if (retain->states[i] == metric)
			return true;
	return false;
}

/* The next block at the place. *ret_end: it stays, as all after it do; or there is none. */
static int block_next(
	struct blocks_chunk *chunk, struct retain_block *ret, bool *ret_pinned, bool *ret_end)
{
	struct retain *retain = &chunk->writer->retain;
	struct retain_place *place = &retain->place;
	sqlite3_stmt *st = retain->tiers[chunk->tier].blocks;

	sqlite3_bind_int64(st, 1, place->device);
	sqlite3_bind_int64(st, 2, place->metric);
	sqlite3_bind_int64(st, 3, place->from_ns);
	chunk->seeks++;
	*ret_pinned = false;
	*ret_end = sqlite3_step(st) != SQLITE_ROW;
	if (*ret_end)
		return sqlite3_reset(st);
	*ret = (struct retain_block){.device = place->device,
		.metric = place->metric,
		.from_ns = sqlite3_column_int64(st, 0),
		.to_ns = sqlite3_column_int64(st, 1),
		.bytes = sqlite3_column_int64(st, 2)};
	*ret_pinned = retain_pinned(retain, ret->from_ns, ret->to_ns);
	*ret_end = ret->to_ns >= place->cutoff_ns;
	if (*ret_end)
		place->due_ns = blocks_earlier(place->due_ns, ret->to_ns);
	/* one that waits for its minutes may not go: the quota must not try it for ever */
	int64_t may_go_ns = ret->to_ns;
	if (may_go_ns < chunk->cutoff_ns)
		may_go_ns = chunk->cutoff_ns;
	if (*ret_end && !chunk->state)
		place->oldest_ns = blocks_earlier(place->oldest_ns, may_go_ns);
	return sqlite3_reset(st);
}

/* Of one metric at the place, as far as the chunk goes; *ret_done: it is through. */
static int blocks_of_metric(struct blocks_chunk *chunk, bool *ret_done)
{
	struct retain *retain = &chunk->writer->retain;
	struct retain_place *place = &retain->place;
	struct retain_block block;
	bool pinned;

	*ret_done = false;
	chunk->state = chunk->tier == STORE_RAW && is_state(retain, place->metric);
	while (!blocks_spent(chunk)) {
		int rc = block_next(chunk, &block, &pinned, ret_done);
		if (rc != SQLITE_OK || *ret_done)
			return rc;
		place->from_ns = block.from_ns + 1;
		if (pinned)
			continue;
		if (chunk->state) {
			rc = retain_carry(chunk->writer, &block, place->cutoff_ns, &place->from_ns);
			chunk->bytes += block.bytes;
			chunk->blocks++;
		} else {
			rc = block_erase(chunk, block.from_ns, block.bytes);
		}
		if (rc != SQLITE_OK)
			return rc;
	}
	return SQLITE_OK;
}

static int blocks_of_device(struct blocks_chunk *chunk)
{
	struct retain *retain = &chunk->writer->retain;
	struct retain_tier *tier = &retain->tiers[chunk->tier];
	struct retain_place *place = &retain->place;
	bool found = true, done;

	while (found && !blocks_spent(chunk)) {
		sqlite3_bind_int64(tier->metric, 1, place->device);
		sqlite3_bind_int64(tier->metric, 2, place->metric);
		const int64_t metric = place->metric;
		int rc = blocks_seek(chunk, tier->metric, &place->metric, &found);
		if (rc != SQLITE_OK)
			return rc;
		if (!found)
			break;
		if (place->metric != metric)
			place->from_ns = INT64_MIN;
		rc = blocks_of_metric(chunk, &done);
		if (rc != SQLITE_OK || !done)
			return rc;
		place->metric++;
		place->from_ns = INT64_MIN;
	}
	if (!found) {
		front_note(tier, place);
		place->in_device = false;
		place->device++;
	}
	return SQLITE_OK;
}

/* ---- a tier -------------------------------------------------------------- */

/* What of the device at the place may go: raw samples only when their minutes are made. */
static int blocks_cutoff(struct blocks_chunk *chunk)
{
	struct retain *retain = &chunk->writer->retain;
	int64_t due_ns = INT64_MAX;
	bool found;
	int rc = SQLITE_OK;

	retain->place.cutoff_ns = chunk->cutoff_ns;
	if (chunk->tier != STORE_RAW || chunk->cutoff_ns < INT64_MIN + DUE_WAIT_NS)
		return SQLITE_OK;
	if (!retain->due)
		rc = sqlite_prepare(chunk->writer->db,
			"SELECT min(hour_ns) FROM rollup_due WHERE device=?1 AND hour_ns>=?2",
			&retain->due);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(retain->due, 1, retain->place.device);
	sqlite3_bind_int64(retain->due, 2, chunk->cutoff_ns - DUE_WAIT_NS);
	rc = blocks_seek(chunk, retain->due, &due_ns, &found);
	if (rc == SQLITE_OK && found)
		retain->place.cutoff_ns = blocks_earlier(chunk->cutoff_ns, due_ns - DUE_BEFORE_NS);
	return rc;
}

/* The next device with blocks; *ret_found false: there is none. */
static int blocks_enter_device(struct blocks_chunk *chunk, bool *ret_found)
{
	struct retain *retain = &chunk->writer->retain;
	struct retain_tier *tier = &retain->tiers[chunk->tier];
	struct retain_place *place = &retain->place;

	sqlite3_bind_int64(tier->device, 1, place->device);
	int rc = blocks_seek(chunk, tier->device, &place->device, ret_found);
	if (rc != SQLITE_OK || !*ret_found)
		return rc;
	const struct retain_front *front = front_find(tier, place);
	if (tier->known && front && front->due_ns >= chunk->cutoff_ns) {
		place->due_ns = front->due_ns;
		place->oldest_ns = front->oldest_ns;
		front_note(tier, place);
		place->device++;
		return SQLITE_OK;
	}
	rc = blocks_cutoff(chunk);
	if (rc != SQLITE_OK)
		return rc;
	place->in_device = true;
	place->metric = place->from_ns = INT64_MIN;
	place->due_ns = place->oldest_ns = INT64_MAX;
	return SQLITE_OK;
}

static void blocks_leave_tier(struct retain *retain, enum store_tier tier)
{
	struct retain_tier *of = &retain->tiers[tier];

	of->n_fronts = retain->place.front; /* those behind are gone */
	if (!of->known)
		of->known_at_ns = mono_now().ns;
	of->known = true;
	retain->place = (struct retain_place){.device = INT64_MIN};
}

int retain_blocks(struct store_writer *writer, enum store_tier tier, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	struct blocks_chunk chunk = {
		.writer = writer, .tier = tier, .cutoff_ns = retain->cutoff_ns[tier]};
	bool found = true;
	int rc = blocks_prepare(writer, tier);

	*ret_more = true;
	while (rc == SQLITE_OK && !blocks_spent(&chunk)) {
		if (!retain->place.in_device)
			rc = blocks_enter_device(&chunk, &found);
		if (rc == SQLITE_OK && !found) {
			blocks_leave_tier(retain, tier);
			*ret_more = false;
			return SQLITE_OK;
		}
		if (rc == SQLITE_OK && retain->place.in_device)
			rc = blocks_of_device(&chunk);
	}
	return rc;
}

/* ---- a pass -------------------------------------------------------------- */

static int blocks_load_states(struct store_writer *writer)
{
	struct retain *retain = &writer->retain;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(
		writer->db, "SELECT id FROM metric_name WHERE name GLOB 'cfg.*'", &st);

	retain->n_states = 0;
	if (rc != SQLITE_OK)
		return rc;
	while (sqlite3_step(st) == SQLITE_ROW) {
		rw_grow(retain->states, retain->n_states, retain->cap_states);
		retain->states[retain->n_states++] = sqlite3_column_int64(st, 0);
	}
	return sqlite3_reset(st);
}

int retain_blocks_begin(struct store_writer *writer)
{
	struct retain *retain = &writer->retain;
	const int64_t now_ns = mono_now().ns;
	int64_t again_ns = LOOK_AGAIN_NS;

	if (retain->stuck)
		again_ns = LOOK_STUCK_NS;
	for (unsigned t = 0; t < STORE_TIERS; t++)
		if (now_ns - retain->tiers[t].known_at_ns >= again_ns) {
			retain->tiers[t].known = false;
			retain->tiers[t].n_fronts = 0;
		}
	retain->place = (struct retain_place){.device = INT64_MIN};
	return blocks_load_states(writer);
}
