/*
 * retain_blocks - which blocks of samples may go: of each tier those that ended before its cutoff,
 * from the front of each (device, metric), whole blocks only. What a pin touches stays, and so does
 * the newest of each configuration state (below).
 *
 * Nothing is read but keys: one seek finds the next device, the next metric, the next block. The
 * blocks of a device end at about the same time, so that a pass skips devices whose oldest block is
 * not due.
 */

#include "base/log.h"
#include "db/block/block_codec.h"
#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

struct retain_block { /* the key of a block, and how large it is */
	int64_t device, metric, from_ns, to_ns, bytes;
};

/* retain_pins - the ranges of time whose samples stay, however old they are and whatever the quota
 * says: what is open rests on them. One list for every tier and for flows and findings. */

/* Beyond RETAIN_PINS ranges the last one spans the rest. */
static void retain_pins_add(struct retain *retain, struct retain_pin pin)
{
	struct retain_pin *last = NULL;

	if (!retain->pins)
		retain->pins = rw_calloc(RETAIN_PINS, sizeof(*retain->pins));
	if (retain->n_pins > 0)
		last = &retain->pins[retain->n_pins - 1];
	bool joins = last && (pin.from_ns <= last->to_ns || retain->n_pins == RETAIN_PINS);
	if (!joins)
		retain->pins[retain->n_pins++] = pin;
	else if (pin.to_ns > last->to_ns)
		last->to_ns = pin.to_ns;
}

/* The evidence of open recommendations; of an open incident a quarter of an hour on each side of
 * its beginning, the last quarter of an hour that it speaks of, and what was pinned of the values
 * that switches pushed. */
int retain_pins_load(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	static const char sql[] =
		"SELECT from_ns, to_ns FROM recommendation "
		"WHERE state IN ('proposed','accepted','applied') AND from_ns<=to_ns "
		"UNION ALL SELECT opened_ns-900000000000, opened_ns+900000000000 FROM incident "
		"WHERE state<>'closed' AND opened_ns>0 "
		"UNION ALL SELECT updated_ns-900000000000, updated_ns FROM incident "
		"WHERE state<>'closed' AND updated_ns>opened_ns "
		"UNION ALL SELECT b.from_ns, b.to_ns FROM incident i JOIN burst b ON "
		"b.incident_id=i.id WHERE i.state<>'closed' AND b.from_ns<=b.to_ns ORDER BY 1";
	int rc = sqlite3_prepare_v2(writer->db, sql, -1, &st, NULL);

	writer->retain.n_pins = 0;
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		retain_pins_add(&writer->retain,
			(struct retain_pin){
				sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)});
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

bool retain_pinned(const struct retain *retain, int64_t from_ns, int64_t to_ns)
{
	size_t low = 0, high = retain->n_pins;

	while (low < high) { /* the first that ends at from_ns or later */
		const size_t middle = (low + high) / 2;
		if (retain->pins[middle].to_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < retain->n_pins && retain->pins[low].from_ns <= to_ns;
}

bool retain_free_range(const struct retain *retain, int64_t from_ns, int64_t until_ns,
	int64_t *ret_from_ns, int64_t *ret_until_ns)
{
	for (size_t i = 0; i < retain->n_pins; i++) {
		const struct retain_pin *pin = &retain->pins[i];
		if (from_ns < pin->from_ns) {
			if (until_ns > pin->from_ns)
				until_ns = pin->from_ns;
			break;
		}
		if (from_ns <= pin->to_ns)
			from_ns = pin->to_ns + 1;
	}
	*ret_from_ns = from_ns;
	*ret_until_ns = until_ns;
	return from_ns < until_ns;
}

/* retain_carry - of configuration states that are too old to be kept, the newest of each stays: it
 * was in force when what is kept began, and still answers what was configured then. */

/* What is made one at a time. */
#define CARRY_BLOCKS 64
#define CARRY_SAMPLES 200000

struct carried {
	struct block_sample *v;
	size_t n, cap;
	size_t n_read; /* samples of the blocks, before they were sorted out */
	unsigned blocks;
	int64_t last_from_ns; /* of the last of them */
	bool is_f64;
	bool damaged;
};

static void retain_carry_close(struct retain *retain)
{
	sqlite3_finalize(retain->carry);
	sqlite3_finalize(retain->named);
	retain->carry = retain->named = NULL;
}

static int carry_prepare(struct store_writer *writer)
{
	struct retain *retain = &writer->retain;
	int rc = SQLITE_OK;

	if (retain->named)
		return SQLITE_OK;
	if (!retain->carry)
		rc = sqlite_prepare(writer->db,
			"SELECT from_ns, to_ns, data FROM block WHERE device=?1 AND metric=?2 AND "
			"from_ns>=?3 ORDER BY from_ns",
			&retain->carry);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(writer->db, "SELECT 1 FROM entity WHERE id=?1", &retain->named);
	return rc;
}

/* ---- reading ------------------------------------------------------------- */

/* A block that cannot be read holds nothing that could be kept; it is too old to be kept as it is.
 */
static void carry_decode(const struct store_writer *writer, const struct retain_block *block,
	sqlite3_stmt *st, struct carried *carried)
{
	struct block_reader reader;
	const void *data = sqlite3_column_blob(st, 2);
	int r = block_open(&reader, data, (size_t)sqlite3_column_bytes(st, 2));

	if (r == 0)
		r = block_decode(&reader, &carried->v, &carried->n, &carried->cap);
	if (r == 0) {
		carried->is_f64 = block_is_f64(&reader);
		return;
	}
	carried->damaged = true;
	log_warn("store",
		"%s: a block of configuration states (device %lld, metric %lld) is damaged; it is "
		"older than retention keeps, and is deleted",
		writer->o.path, (long long)block->device, (long long)block->metric);
}

static int carry_read(struct store_writer *writer, const struct retain_block *first,
	int64_t cutoff_ns, struct carried *carried)
{
	const struct retain *retain = &writer->retain;
	sqlite3_stmt *st = retain->carry;

	sqlite3_bind_int64(st, 1, first->device);
	sqlite3_bind_int64(st, 2, first->metric);
	sqlite3_bind_int64(st, 3, first->from_ns);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const int64_t from_ns = sqlite3_column_int64(st, 0);
		const int64_t to_ns = sqlite3_column_int64(st, 1);
		const bool full = carried->blocks >= CARRY_BLOCKS || carried->n >= CARRY_SAMPLES;
		/* what was in force when a pin begins stays apart: it is a part of what it keeps */
		if (to_ns >= cutoff_ns || full || retain_pinned(retain, first->from_ns, to_ns))
			break;
		carry_decode(writer, first, st, carried);
		carried->blocks++;
		carried->last_from_ns = from_ns;
	}
	carried->n_read = carried->n;
	return sqlite3_reset(st);
}

/* ---- sorting out --------------------------------------------------------- */

static int carry_order(const void *left, const void *right)
{
	const struct block_sample *x = left, *y = right;

	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static int carry_named(struct store_writer *writer, int64_t entity, bool *ret)
{
	sqlite3_stmt *st = writer->retain.named;

	sqlite3_bind_int64(st, 1, entity);
	*ret = sqlite3_step(st) == SQLITE_ROW;
	return sqlite3_reset(st);
}

/* The newest of each entity that has a name remains. */
static int carry_sort_out(struct store_writer *writer, struct carried *carried)
{
	size_t n = 0;
	int rc = SQLITE_OK;

	if (carried->n > 0)
		qsort(carried->v, carried->n, sizeof(*carried->v), carry_order);
	for (size_t i = 0; rc == SQLITE_OK && i < carried->n; i++) {
		bool named;
		if (i + 1 < carried->n && carried->v[i + 1].entity == carried->v[i].entity)
			continue;
		rc = carry_named(writer, carried->v[i].entity, &named);
		if (rc == SQLITE_OK && named)
			carried->v[n++] = carried->v[i];
	}
	carried->n = n;
	return rc;
}

/* ---- writing ------------------------------------------------------------- */

static int carry_delete(struct store_writer *writer, const struct retain_block *first,
	const struct carried *carried)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const int rc = sqlite_prepare(writer->db,
		"DELETE FROM block WHERE device=?1 AND metric=?2 AND from_ns BETWEEN ?3 AND ?4",
		&st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, first->device);
	sqlite3_bind_int64(st, 2, first->metric);
	sqlite3_bind_int64(st, 3, first->from_ns);
	sqlite3_bind_int64(st, 4, carried->last_from_ns);
	return sqlite_run(st);
}

static int carry_insert(struct store_writer *writer, const struct retain_block *first,
	const struct carried *carried)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str data = {0};
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	for (size_t i = 0; i < carried->n; i++) {
		if (carried->v[i].t_ns < from_ns)
			from_ns = carried->v[i].t_ns;
		if (carried->v[i].t_ns > to_ns)
			to_ns = carried->v[i].t_ns;
	}
	if (block_encode(carried->v, carried->n, BLOCK_SMALL, carried->is_f64, &data) < 0)
		return SQLITE_TOOBIG;
	const int rc = sqlite_prepare(writer->db,
		"INSERT INTO block(device, metric, from_ns, to_ns, n, data) "
		"VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		&st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, first->device);
	sqlite3_bind_int64(st, 2, first->metric);
	sqlite3_bind_int64(st, 3, from_ns);
	sqlite3_bind_int64(st, 4, to_ns);
	sqlite3_bind_int64(st, 5, (int64_t)carried->n);
	sqlite3_bind_blob(st, 6, data.s, (int)data.n, SQLITE_STATIC);
	return sqlite_run(st);
}

/* retain_carry - makes one block of @first, a block of raw configuration states, and those behind
 * it up to the next pin that ended before @cutoff_ns too: the newest value of each
 * entity that still has its name. Nothing is written when that changes nothing. *ret_next_ns: where
 * to go on, above @first->from_ns. In the transaction of the chunk; SQLite's code. */
static int retain_carry(struct store_writer *writer, const struct retain_block *first,
	int64_t cutoff_ns, int64_t *ret_next_ns)
{
	struct carried carried = {.last_from_ns = first->from_ns};
	int rc = carry_prepare(writer);

	if (rc == SQLITE_OK)
		rc = carry_read(writer, first, cutoff_ns, &carried);
	if (rc == SQLITE_OK)
		rc = carry_sort_out(writer, &carried);
	const bool same = carried.blocks == 1 && carried.n == carried.n_read && !carried.damaged;
	if (rc == SQLITE_OK && !same)
		rc = carry_delete(writer, first, &carried);
	if (rc == SQLITE_OK && !same && carried.n > 0)
		rc = carry_insert(writer, first, &carried);
	*ret_next_ns = carried.last_from_ns + 1;
	free(carried.v);
	return rc;
}

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
