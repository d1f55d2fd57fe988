/*
 * ledger_slots - which incidents are under way, which ended, and how each is found: by subject, by
 * id, by analyzer. Nothing here decides anything.
 *
 * A subject that was raised once keeps a slot: a restart analyses old windows again, and the slot
 * knows the newest one that counted. Slots are bounded by what the fabric holds. `active` lists the
 * slots with an incident under way, so that looking for an explanation does not scan all of them.
 */
#include "agent/incident/ledger_inside.h"

#include "agent/incident/explain.h"

struct ledger *ledger_new(const struct fabric *fabric, ledger_fn *changed, void *arg)
{
	struct ledger *l = rw_calloc(1, sizeof(*l));
	l->fabric = fabric;
	l->changed = changed;
	l->arg = arg;
	l->known_ns = INT64_MIN;
	l->explain = explain_new();
	l->keys = smap_new();
	l->ids = map_new();
	l->followed = smap_new();
	return l;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	for (size_t k = 0; k < ledger->n_active; k++) {
		struct incident_record *r = ledger->slots[ledger->active[k]].record;
		if (r->i.state == INCIDENT_PENDING)
			incident_record_free(r);
	}
	for (size_t k = 0; k < ledger->n_opened; k++)
		incident_record_free(ledger->opened[k]);
	for (size_t k = 0; k < ledger->n_analyzers; k++)
		free(ledger->analyzers[k].name);
	free(ledger->analyzers);
	explain_free(ledger->explain);
	free(ledger->active);
	free(ledger->slots);
	free(ledger->opened);
	free(ledger->changes);
	free(ledger->sorted);
	map_free(ledger->ids);
	smap_free(ledger->keys);
	smap_free(ledger->followed);
	free(ledger);
}

/* ---- slots --------------------------------------------------------------- */

void ledger_subject(struct str *key, const char *analyzer, const char *device, const char *port,
	int priority, const char *host, const char *group)
{
	const char *parts[] = {analyzer, device, port, host, group};
	for (size_t k = 0; k < rw_countof(parts); k++) {
		const char *text = str_or(parts[k], "");
		str_addn(key, text, strlen(text) + 1);
	}
	str_addf(key, "%d", priority);
}

size_t ledger_subject_followed(const char *key)
{
	const size_t analyzer = strlen(key) + 1;
	return analyzer + strlen(key + analyzer) + 1;
}

struct ledger_slot *ledger_slot_of(struct ledger *ledger, const struct str *key, bool create)
{
	uint64_t index;
	if (smap_get(ledger->keys, key->s, key->n, &index))
		return &ledger->slots[index];
	if (!create)
		return NULL;
	index = ledger->n_slots;
	rw_grow(ledger->slots, ledger->n_slots, ledger->cap_slots);
	ledger->slots[ledger->n_slots++] = (struct ledger_slot){.seen_ns = INT64_MIN};
	smap_put(ledger->keys, key->s, key->n, index);
	const size_t n = ledger_subject_followed(key->s);
	if (!smap_get(ledger->followed, key->s, n, NULL))
		smap_put(ledger->followed, key->s, n, 0);
	return &ledger->slots[index];
}

struct incident_record *ledger_active(const struct ledger *ledger, size_t k)
{
	return ledger->slots[ledger->active[k]].record;
}

struct ledger_analyzer *ledger_analyzer_of(const struct ledger *ledger, const char *name)
{
	for (size_t k = 0; k < ledger->n_analyzers; k++)
		if (strcmp(ledger->analyzers[k].name, name) == 0)
			return &ledger->analyzers[k];
	return NULL;
}

size_t ledger_active_place(const struct ledger *ledger, size_t index)
{
	size_t lo = 0, hi = ledger->n_active;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (ledger->active[mid] < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void ledger_place(struct ledger *ledger, struct incident_record *record)
{
	explain_put(ledger->explain, ledger->fabric, record);
}

void ledger_slot_begin(
	struct ledger *ledger, struct ledger_slot *slot, struct incident_record *record)
{
	struct ledger_analyzer *a = ledger_analyzer_of(ledger, record->i.analyzer);
	if (!a) {
		rw_grow(ledger->analyzers, ledger->n_analyzers, ledger->cap_analyzers);
		a = &ledger->analyzers[ledger->n_analyzers++];
		*a = (struct ledger_analyzer){.name = rw_strdup(record->i.analyzer)};
	}
	a->n_active++;
	slot->record = record;

	const size_t index = (size_t)(slot - ledger->slots);
	const size_t at = ledger_active_place(ledger, index);
	rw_grow(ledger->active, ledger->n_active, ledger->cap_active);
	memmove(ledger->active + at + 1, ledger->active + at,
		(ledger->n_active - at) * sizeof(*ledger->active));
	ledger->active[at] = index;
	ledger->n_active++;
	record->place.order = index;
	ledger_place(ledger, record);
}

void ledger_slot_end(struct ledger *ledger, struct ledger_slot *slot)
{
	ledger_analyzer_of(ledger, slot->record->i.analyzer)->n_active--;
	explain_drop(ledger->explain, slot->record);
	slot->record = NULL;

	const size_t at = ledger_active_place(ledger, (size_t)(slot - ledger->slots));
	ledger->n_active--;
	memmove(ledger->active + at, ledger->active + at + 1,
		(ledger->n_active - at) * sizeof(*ledger->active));
}

/* An id has eight letters, and is read in any case. 0: it is none. */
static uint64_t ledger_id_key(const char *id)
{
	uint64_t key = 0;
	if (strlen(id) != sizeof(key))
		return 0;
	for (size_t k = 0; k < sizeof(key); k++)
		key = key << 8 | (uint8_t)tolower((unsigned char)id[k]);
	return key;
}

struct incident_record *ledger_record(const struct ledger *ledger, const char *id)
{
	uint64_t at;
	const uint64_t key = ledger_id_key(id);
	if (!key || !map_get(ledger->ids, key, &at))
		return NULL;
	return (struct incident_record *)(uintptr_t)at;
}

void ledger_add_change(struct ledger *ledger, struct incident_record *record)
{
	if (!cause_has(record->i.cause, CAUSE_IS_CHANGE))
		return;
	for (size_t k = ledger->n_changes; k-- > 0;)
		if (ledger->changes[k] == record)
			return;
	rw_grow(ledger->changes, ledger->n_changes, ledger->cap_changes);
	ledger->changes[ledger->n_changes++] = record;
}

static void ledger_add_id(struct ledger *ledger, struct incident_record *record)
{
	map_put(ledger->ids, ledger_id_key(record->i.id), (uint64_t)(uintptr_t)record);
}

void ledger_add_opened(struct ledger *ledger, struct incident_record *record)
{
	rw_grow(ledger->opened, ledger->n_opened, ledger->cap_opened);
	ledger->opened[ledger->n_opened++] = record;
	ledger_add_id(ledger, record);
	ledger_add_change(ledger, record);
}

/* ---- reading ------------------------------------------------------------- */

uint64_t ledger_compared(const struct ledger *ledger)
{
	return explain_compared(ledger->explain);
}

static int sorted_compare(const void *left, const void *right)
{
	return incident_compare(
		*(const struct incident *const *)left, *(const struct incident *const *)right);
}

size_t ledger_incidents(const struct ledger *ledger, const struct incident ***ret)
{
	struct ledger *m = (struct ledger *)ledger; /* the sorted list is a cache, not state */
	if (m->cap_sorted < ledger->n_opened) {
		m->cap_sorted = ledger->cap_opened;
		m->sorted = rw_realloc(m->sorted, m->cap_sorted * sizeof(*m->sorted));
	}
	for (size_t k = 0; k < ledger->n_opened; k++)
		m->sorted[k] = &ledger->opened[k]->i;
	if (ledger->n_opened)
		qsort(m->sorted, ledger->n_opened, sizeof(*m->sorted), sorted_compare);
	*ret = m->sorted;
	return ledger->n_opened;
}

const struct incident *ledger_find(const struct ledger *ledger, const char *id)
{
	const struct incident_record *record = ledger_record(ledger, id);
	if (record)
		return &record->i;
	return NULL;
}

bool ledger_follows(const struct ledger *ledger, const char *analyzer, const char *device)
{
	char key[256];
	if (smap_count(ledger->followed) == 0)
		return false;
	const int n = snprintf(key, sizeof(key), "%s%c%s", analyzer, 0, device);
	if (n < 0 || (size_t)n >= sizeof(key))
		return true;
	return smap_get(ledger->followed, key, (size_t)n + 1, NULL);
}

/* ---- forgetting ---------------------------------------------------------- */

static bool ledger_forgets(const struct incident_record *record, int64_t t_ns)
{
	return record->i.state == INCIDENT_CLOSED && record->i.closed_ns < t_ns;
}

void ledger_forget(struct ledger *ledger, int64_t t_ns)
{
	for (size_t k = 0; k < ledger->n_slots; k++) {
		struct ledger_slot *slot = &ledger->slots[k];
		if (slot->closed && slot->closed->i.closed_ns < t_ns)
			slot->closed = NULL;
	}
	size_t n = 0;
	for (size_t k = 0; k < ledger->n_changes; k++)
		if (!ledger_forgets(ledger->changes[k], t_ns))
			ledger->changes[n++] = ledger->changes[k];
	ledger->n_changes = n;
	n = 0;
	for (size_t k = 0; k < ledger->n_opened; k++) {
		if (ledger_forgets(ledger->opened[k], t_ns))
			incident_record_free(ledger->opened[k]);
		else
			ledger->opened[n++] = ledger->opened[k];
	}
	if (n == ledger->n_opened)
		return;
	ledger->n_opened = n;
	map_free(ledger->ids);
	ledger->ids = map_new();
	for (size_t k = 0; k < n; k++)
		ledger_add_id(ledger, ledger->opened[k]);
}
