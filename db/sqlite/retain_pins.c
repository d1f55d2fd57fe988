/*
 * retain_pins - the ranges of time whose samples stay, however old they are and whatever the quota
 * says: what is open rests on them. One list for every tier and for flows and findings.
 */
#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

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
