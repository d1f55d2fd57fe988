/*
 * store_retain - deletes what is older than retention allows, and more of it when the file is over
 * its quota (store_quota.c). One chunk in one short transaction at a time, so that writing never
 * waits long; a pass goes on where the last chunk stopped.
 *
 * Kept however old: the newest of each configuration state, and what open recommendations and
 * incidents rest on ("pins"); see retain_lists.c for what else is.
 */
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define CHUNK_ROWS 4000 /* deleted in one transaction: some 20 ms */

#define CHUNK_LOOKS 1000 /* ranges looked at in one transaction */

/* ---- pins ---------------------------------------------------------------- */

/* Beyond RETAIN_PINS ranges the last one spans the rest. */
static void add_pin(struct retain *retain, struct retain_pin pin)
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

/* The evidence of open recommendations, and a quarter of an hour on each side of the beginning of
 * an open incident. */
static int load_pins(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	static const char sql[] =
		"SELECT from_ns, to_ns FROM recommendation "
		"WHERE state IN ('proposed','accepted','applied') AND from_ns<=to_ns "
		"UNION ALL SELECT opened_ns-900000000000, opened_ns+900000000000 FROM incident "
		"WHERE state<>'closed' AND opened_ns>0 ORDER BY 1";
	int rc = sqlite3_prepare_v2(writer->db, sql, -1, &st, NULL);

	writer->retain.n_pins = 0;
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		add_pin(&writer->retain,
			(struct retain_pin){
				sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)});
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* The first range without a pin that begins at @from or later and ends at @until or earlier:
 * [*ret_from, *ret_until). False: there is none. */
static bool free_range(const struct retain *retain, int64_t from, int64_t until, int64_t *ret_from,
	int64_t *ret_until)
{
	for (size_t i = 0; i < retain->n_pins; i++) {
		const struct retain_pin *pin = &retain->pins[i];
		if (from < pin->from_ns) {
			if (until > pin->from_ns)
				until = pin->from_ns;
			break;
		}
		if (from <= pin->to_ns)
			from = pin->to_ns + 1;
	}
	*ret_from = from;
	*ret_until = until;
	return from < until;
}

/* ---- one step ------------------------------------------------------------ */

static int step_statements(
	struct store_writer *writer, unsigned step, sqlite3_stmt **edge, sqlite3_stmt **rows)
{
	struct retain *retain = &writer->retain;
	int rc = retain_list_edge(writer, step - RETAIN_STEP_LISTS, &retain->edge[step]);
	if (rc == SQLITE_OK)
		rc = retain_list_rows(writer, step - RETAIN_STEP_LISTS, &retain->rows[step]);
	*edge = retain->edge[step];
	*rows = retain->rows[step];
	return rc;
}

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

/* One chunk of a table. */
static int delete_rows(struct store_writer *writer, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	struct retain_range range = {.chunk = CHUNK_ROWS};
	enum retain_span span = RETAIN_RAW;
	bool pinned = true;
	sqlite3_stmt *edge, *rows;
	int64_t end;

	const struct retain_list *list = &retain_lists[retain->step - RETAIN_STEP_LISTS];
	span = list->span;
	range.chunk = list->chunk;
	pinned = list->pinned;
	range.from = retain->from_ns;
	range.until = range.cutoff = retain->cutoff_ns[span];
	*ret_more = false;
	if (pinned && !free_range(retain, range.from, range.cutoff, &range.from, &range.until))
		return SQLITE_OK;
	if (range.from >= range.until)
		return SQLITE_OK;
	int rc = step_statements(writer, retain->step, &edge, &rows);
	if (rc == SQLITE_OK)
		rc = chunk_end(edge, &range, &end, ret_more);
	if (rc != SQLITE_OK)
		return rc;
	bind_range(rows, range.from, end, range.cutoff);
	retain->from_ns = end;
	return sqlite_run(rows);
}

/* ---- blocks -------------------------------------------------------------- */

static int delete_all_instants(struct store_writer *writer, bool *ret_more)
{
	*ret_more = false;
	const int64_t cutoff_ns = writer->retain.cutoff_ns[RETAIN_RAW];
	return sqlite_execf(writer->db, "DELETE FROM block WHERE to_ns<%lld", (long long)cutoff_ns);
}

/* ---- a pass -------------------------------------------------------------- */

/* Goes on where the last chunk stopped. */
static int retain_chunk(struct store_writer *writer, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	int looked = 0;

	for (*ret_more = true; retain->step < RETAIN_STEP_END;) {
		const int before = sqlite3_total_changes(writer->db);
		bool more;
		int rc;
		if (retain->step == RETAIN_STEP_INSTANTS)
			rc = delete_all_instants(writer, &more);
		else if (retain->step == RETAIN_STEP_NAMES)
			rc = writer_retain_names(writer, retain->cutoff_ns[RETAIN_RAW], &more);
		else
			rc = delete_rows(writer, &more);
		if (rc != SQLITE_OK)
			return rc;
		if (!more) {
			retain->step++;
			retain->from_ns = INT64_MIN;
		}
		/* ranges between pins that hold nothing are no piece of their own */
		if (sqlite3_total_changes(writer->db) != before || ++looked >= CHUNK_LOOKS)
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

/* The cutoffs of a new pass. */
static int retain_begin(struct store_writer *writer, int64_t now_ns)
{
	struct retain *retain = &writer->retain;
	int64_t *cutoff_ns = retain->cutoff_ns;
	bool over, found = false;
	int rc = writer_over_quota(writer, &over);

	cutoff_ns[RETAIN_RAW] = retain_age(now_ns, writer->o.raw_ns);
	cutoff_ns[RETAIN_EVENTS] = retain_age(now_ns, writer->o.events_ns);
	cutoff_ns[RETAIN_INCIDENTS] = retain_age(now_ns, writer->o.incidents_ns);
	if (!over || retain->stuck)
		for (unsigned group = 0; group < RETAIN_GROUPS; group++)
			retain->taken_ns[group] = INT64_MIN;
	if (rc == SQLITE_OK && over)
		rc = writer_quota_cut(writer, now_ns, &found);
	retain->stuck = over && !found;
	cutoff_ns[RETAIN_CONFIG] = cutoff_ns[RETAIN_EVENTS];
	if (cutoff_ns[RETAIN_RAW] < cutoff_ns[RETAIN_EVENTS])
		cutoff_ns[RETAIN_CONFIG] = cutoff_ns[RETAIN_RAW];
	retain->from_ns = INT64_MIN;
	retain->device = INT64_MIN;
	retain->step = 0;
	retain->running = rc == SQLITE_OK;
	return rc;
}

int writer_retain(struct store_writer *writer, int64_t now_ns, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	bool more = false;
	int rc = load_pins(writer); /* without them it would delete what must stay */

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
		return rc;
	}
	retain->running = more;
	*ret_more = more;
	if (!more && !retain->stuck)
		rc = writer_over_quota(writer, ret_more); /* the next tenth at once */
	return rc;
}
