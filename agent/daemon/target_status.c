/* target_status - one row per (device, protocol), written to the store when it changes. The row of
 * a removed target stays unused: there are as many as targets ever configured. */
#include "agent/daemon/target_status.h"

#include <math.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/base/map.h"
#include "db/store/store.h"

struct status_row {
	char *device, *protocol, *address;
	char reason[200];
	enum target_state state;
	bool written, dirty;
	int64_t written_ns;
	struct store_target t; /* pointers are set when it is written */
};

struct target_table {
	struct smap *index;
	struct status_row **rows;
	size_t n, cap;
	size_t n_dirty;
};

struct target_table *target_table_new(void)
{
	struct target_table *t = rw_calloc(1, sizeof(*t));
	t->index = smap_new();
	return t;
}

void target_table_free(struct target_table *table)
{
	if (!table)
		return;
	for (size_t k = 0; k < table->n; k++) {
		free(table->rows[k]->device);
		free(table->rows[k]->protocol);
		free(table->rows[k]->address);
		free(table->rows[k]);
	}
	free(table->rows);
	smap_free(table->index);
	free(table);
}

static struct status_row *target_status_row(
	struct target_table *table, const char *device, const char *protocol)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, protocol);
	if (smap_get(table->index, key.s, key.n, &at))
		return table->rows[at];
	struct status_row *r = rw_calloc(1, sizeof(*r));
	r->device = rw_strdup(device);
	r->protocol = rw_strdup(protocol);
	rw_grow(table->rows, table->n, table->cap);
	smap_put(table->index, key.s, key.n, table->n);
	table->rows[table->n++] = r;
	return r;
}

static void target_status_write(
	struct target_table *table, struct status_row *row, struct store *store, int64_t now_ns)
{
	row->t.device = row->device;
	row->t.protocol = row->protocol;
	row->t.address = str_or(row->address, "");
	row->t.state = target_state_name(row->state);
	row->t.reason = row->reason;
	row->t.up = row->state == TARGET_UP;
	row->t.now_ns = now_ns;
	store_target(store, &row->t);
	if (row->dirty)
		table->n_dirty--;
	row->dirty = false;
	row->written = true;
	row->written_ns = now_ns;
}

void target_table_take(struct target_table *table, struct store *store, const struct target *target,
	int64_t now_ns)
{
	struct status_row *r = target_status_row(table, target->device, target->protocol);
	const bool other_state =
		r->state != target->state || strcmp(r->reason, target->reason) != 0;
	const bool changed = !r->written || other_state;
	if (!str_eq(r->address, target->address)) {
		free(r->address);
		r->address = NULL;
		if (target->address)
			r->address = rw_strdup(target->address);
	}
	r->state = target->state;
	snprintf(r->reason, sizeof(r->reason), "%s", target->reason);
	r->t.since_ns = target->since.ns;
	r->t.last_success_ns = target->last_success.ns;
	r->t.polls = target->polls;
	r->t.timeouts = target->timeouts;
	r->t.errors = target->errors;
	r->t.values = target->values;
	target_poll_quantiles(target, &r->t.poll_p50_s, &r->t.poll_p95_s);
	if (changed) {
		target_status_write(table, r, store, now_ns);
	} else if (!r->dirty) {
		r->dirty = true;
		table->n_dirty++;
	}
}

void target_table_flush(struct target_table *table, struct store *store, int64_t now_ns)
{
	if (table->n_dirty == 0)
		return;
	for (size_t k = 0; k < table->n; k++) {
		struct status_row *r = table->rows[k];
		const int64_t age_ns = now_ns - r->written_ns;
		/* age below 0: the wall clock was set back, which must not silence a target */
		if (r->dirty && (age_ns >= NS_PER_S || age_ns < 0))
			target_status_write(table, r, store, now_ns);
	}
}
