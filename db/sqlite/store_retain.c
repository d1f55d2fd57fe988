/*
 * store_retain - deletes what is older than retention allows, and more of it when the file is over
 * its quota (store_quota.c). One chunk in one short transaction at a time, so that writing never
 * waits long; a pass goes on where the last chunk stopped.
 *
 * A pass: the tiers of samples (retain_blocks.c), the other tables (retain_lists.c), names that are
 * over (store_names_retain.c). Kept however old: what open recommendations and incidents rest on
 * (retain_pins.c), the newest of each configuration state, and what retain_lists.c says.
 */
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define CHUNK_LOOKS 1000 /* ranges looked at in one transaction */

/* ---- one list ------------------------------------------------------------ */

static void bind_range(sqlite3_stmt *st, int64_t from, int64_t until, int64_t cutoff)
{
	sqlite3_bind_int64(st, 1, from);
	sqlite3_bind_int64(st, 2, until);
	sqlite3_bind_int64(st, 3, cutoff); /* not every statement has it */
}

/* One chunk of a table: from @from, before @until and @cutoff. */
struct retain_range {
	int64_t from, until, cutoff;
	int chunk;
};

/* Where the chunk ends; *ret_more: it is not the last one. */
static int chunk_end(
	sqlite3_stmt *edge, const struct retain_range *range, int64_t *ret_end, bool *ret_more)
{
	*ret_end = range->until;
	*ret_more = range->until < range->cutoff; /* behind a pin it goes on */
	bind_range(edge, range->from, range->until, range->cutoff);
	sqlite3_bind_int(edge, 4, range->chunk);
	if (sqlite3_step(edge) == SQLITE_ROW) {
		*ret_end = sqlite3_column_int64(edge, 0);
		if (*ret_end <= range->from) /* an instant with more rows goes whole */
			*ret_end = range->from + 1;
		*ret_more = true;
	}
	return sqlite3_reset(edge);
}

/* One chunk of the table of a list. */
static int delete_rows(struct store_writer *writer, unsigned number, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	const struct retain_list *list = &retain_lists[number];
	struct retain_range range = {.chunk = list->chunk, .from = retain->from_ns};
	int64_t end;

	range.until = range.cutoff = retain->cutoff_ns[list->span];
	*ret_more = false;
	if (list->pinned &&
		!retain_free_range(retain, range.from, range.cutoff, &range.from, &range.until))
		return SQLITE_OK;
	if (range.from >= range.until)
		return SQLITE_OK;
	int rc = retain_list_edge(writer, number, &retain->edge[number]);
	if (rc == SQLITE_OK)
		rc = retain_list_rows(writer, number, &retain->rows[number]);
	if (rc == SQLITE_OK)
		rc = chunk_end(retain->edge[number], &range, &end, ret_more);
	if (rc != SQLITE_OK)
		return rc;
	bind_range(retain->rows[number], range.from, end, range.cutoff);
	retain->from_ns = end;
	return sqlite_run(retain->rows[number]);
}

/* ---- a pass -------------------------------------------------------------- */

static int retain_step(struct store_writer *writer, bool *ret_more)
{
	const unsigned step = writer->retain.step;

	if (step < STORE_TIERS)
		return retain_blocks(writer, (enum store_tier)step, ret_more);
	if (step == RETAIN_STEP_NAMES)
		return writer_retain_names(
			writer, writer->retain.cutoff_ns[RETAIN_NAMES], ret_more);
	return delete_rows(writer, step - RETAIN_STEP_LISTS, ret_more);
}

/* Goes on where the last chunk stopped. */
static int retain_chunk(struct store_writer *writer, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	int looked = 0;

	for (*ret_more = true; retain->step < RETAIN_STEP_END;) {
		const int before = sqlite3_total_changes(writer->db);
		const bool tier = retain->step < STORE_TIERS;
		bool more;
		const int rc = retain_step(writer, &more);
		if (rc != SQLITE_OK)
			return rc;
		if (!more) {
			retain->step++;
			retain->from_ns = INT64_MIN;
		}
		/* ranges between pins that hold nothing are no piece of their own */
		const bool changed = sqlite3_total_changes(writer->db) != before;
		if (changed || (tier && more) || ++looked >= CHUNK_LOOKS)
			return SQLITE_OK;
	}
	*ret_more = false;
	return SQLITE_OK;
}

static int64_t retain_age(int64_t now_ns, int64_t age_ns)
{
	if (age_ns <= 0)
		return INT64_MIN; /* for ever */
	return now_ns - age_ns;
}

static int64_t earlier_ns(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static void retain_cutoffs(struct store_writer *writer, int64_t now_ns)
{
	int64_t *cutoff_ns = writer->retain.cutoff_ns;

	cutoff_ns[RETAIN_RAW] = retain_age(now_ns, writer->o.raw_ns);
	cutoff_ns[RETAIN_MINUTES] = retain_age(now_ns, writer->o.minute_ns);
	cutoff_ns[RETAIN_HOURS] = retain_age(now_ns, writer->o.hour_ns);
	cutoff_ns[RETAIN_EVENTS] = retain_age(now_ns, writer->o.events_ns);
	cutoff_ns[RETAIN_INCIDENTS] = retain_age(now_ns, writer->o.incidents_ns);
}

/* Where the quota takes what may go. */
static int retain_quota(struct store_writer *writer, int64_t now_ns)
{
	struct retain *retain = &writer->retain;
	bool over, found = false, known;
	int rc = writer_over_quota(writer, &over);

	if (!over || retain->stuck)
		for (unsigned group = 0; group < RETAIN_GROUPS; group++)
			retain->taken_ns[group] = INT64_MIN;
	if (rc == SQLITE_OK && over)
		rc = writer_quota_cut(writer, now_ns, &found, &known);
	retain->stuck = over && known && !found;
	return rc;
}

/* The cutoffs of a new pass. */
static int retain_begin(struct store_writer *writer, int64_t now_ns)
{
	struct retain *retain = &writer->retain;
	int64_t *cutoff_ns = retain->cutoff_ns;

	retain_cutoffs(writer, now_ns);
	int rc = retain_quota(writer, now_ns);
	cutoff_ns[RETAIN_CONFIG] = earlier_ns(cutoff_ns[RETAIN_RAW], cutoff_ns[RETAIN_EVENTS]);
	cutoff_ns[RETAIN_NAMES] = cutoff_ns[RETAIN_RAW];
	for (unsigned tier = 0; tier < STORE_TIERS; tier++)
		cutoff_ns[RETAIN_NAMES] = earlier_ns(cutoff_ns[RETAIN_NAMES], cutoff_ns[tier]);
	if (rc == SQLITE_OK)
		rc = retain_blocks_begin(writer);
	retain->from_ns = INT64_MIN;
	retain->step = 0;
	retain->running = rc == SQLITE_OK;
	return rc;
}

int writer_retain(struct store_writer *writer, int64_t now_ns, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	bool more = false;
	int rc = retain_pins_load(writer); /* without them it would delete what must stay */

	*ret_more = false;
	if (rc == SQLITE_OK && !retain->running)
		rc = retain_begin(writer, now_ns);
	if (rc != SQLITE_OK)
		return rc;
	rc = writer_begin(writer);
	if (rc == SQLITE_OK)
		rc = retain_chunk(writer, &more);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK) {
		retain->running = false;
		retain_blocks_forget(
			retain); /* the notes name blocks that the rollback brought back */
		return rc;
	}
	retain->running = more;
	*ret_more = more;
	if (!more && !retain->stuck)
		rc = writer_over_quota(writer, ret_more); /* the next tenth at once */
	return rc;
}
