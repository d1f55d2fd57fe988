/* target_table - rows by (device, protocol); rows of removed targets stay, clean and unused: there
 * are as many as targets ever configured. */
#include "agent/daemon/target_status.h"

#include <math.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/base/map.h"
#include "db/store/store.h"

struct row {
	char *device, *protocol, *address;
	char reason[200];
	enum target_state state;
	bool written, dirty;
	int64_t written_ns;
	struct store_target t; /* pointers are set when it is written */
};

struct target_table {
	struct smap *index;
	struct row **rows;
	size_t n, cap;
	size_t n_dirty;
};

struct target_table *target_table_new(void)
{
	struct target_table *t = rw_calloc(1, sizeof(*t));
	t->index = smap_new();
	return t;
}

void target_table_free(struct target_table *t)
{
	if (!t)
		return;
	for (size_t k = 0; k < t->n; k++) {
		free(t->rows[k]->device);
		free(t->rows[k]->protocol);
		free(t->rows[k]->address);
		free(t->rows[k]);
	}
	free(t->rows);
	smap_free(t->index);
	free(t);
}

static struct row *row_of(struct target_table *t, const char *device, const char *protocol)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, protocol);
	if (smap_get(t->index, key.s, key.n, &at))
		return t->rows[at];
	struct row *r = rw_calloc(1, sizeof(*r));
	r->device = rw_strdup(device);
	r->protocol = rw_strdup(protocol);
	rw_grow(t->rows, t->n, t->cap);
	smap_put(t->index, key.s, key.n, t->n);
	t->rows[t->n++] = r;
	return r;
}

static void write_row(struct target_table *t, struct row *r, struct store *store, int64_t now_ns)
{
	r->t.device = r->device;
	r->t.protocol = r->protocol;
	r->t.address = r->address ? r->address : "";
	r->t.state = target_state_name(r->state);
	r->t.reason = r->reason;
	r->t.up = r->state == TARGET_UP;
	r->t.now_ns = now_ns;
	store_target(store, &r->t);
	if (r->dirty)
		t->n_dirty--;
	r->dirty = false;
	r->written = true;
	r->written_ns = now_ns;
}

void target_table_take(
	struct target_table *t, struct store *store, const struct target *target, int64_t now_ns)
{
	struct row *r = row_of(t, target->device, target->protocol);
	bool changed =
		!r->written || r->state != target->state || strcmp(r->reason, target->reason) != 0;
	if (!str_eq(r->address, target->address)) {
		free(r->address);
		r->address = target->address ? rw_strdup(target->address) : NULL;
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
		write_row(t, r, store, now_ns);
	} else if (!r->dirty) {
		r->dirty = true;
		t->n_dirty++;
	}
}

void target_table_flush(struct target_table *t, struct store *store, int64_t now_ns)
{
	if (t->n_dirty == 0)
		return;
	for (size_t k = 0; k < t->n; k++) {
		struct row *r = t->rows[k];
		/* a wall clock that was set back must not silence a target */
		if (r->dirty && (now_ns - r->written_ns >= NS_PER_S || now_ns < r->written_ns))
			write_row(t, r, store, now_ns);
	}
}
