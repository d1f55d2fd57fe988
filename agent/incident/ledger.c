/*
 * ledger - the state machine of incidents (drawn in ledger.h). It owns every record: those pending,
 * those open, and those closed that were not forgotten yet.
 *
 * A subject that was raised once keeps a slot: a restart analyses old windows again, and the slot
 * knows the newest one that counted. Slots are bounded by what the fabric holds. `active` lists the
 * slots with an incident under way, so that looking for an explanation does not scan all of them.
 */
#include "agent/incident/ledger.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/incident/explain.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "analyzers/measure/job_limits.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "db/model/entity.h"

/* Of confidence: a larger difference means that evidence is missing which was there before. */
#define LESS_SURE 0.1
#define CHANGE_NS (30 * 60 * NS_PER_S)
/* A subject that nobody spoke of for so many windows more than it takes to close, and for so long,
 * is judged no more. Counters that are refreshed seldom are passed over in some windows. */
#define UNHEARD_MORE 2.0
#define UNHEARD_NS (2 * 60 * NS_PER_S)
/* So it is when nothing of its device was spoken of, although its counters come. */
#define UNHEARD_ALONE_NS (10 * 60 * NS_PER_S)
#define CHANGES_TOLD 32 /* in one incident */

struct ledger_slot {
	struct incident_record *record; /* under way, NULL when none is */
	struct incident_record *closed; /* the one before, while it may open again; NULL */
	/* end of the newest window that counted: after a restart windows are seen again */
	int64_t seen_ns;
};

struct ledger_analyzer {
	char *name;
	uint32_t n_active; /* incidents of it under way */
};

struct ledger {
	const struct fabric *fabric;
	ledger_fn *changed;
	void *arg;
	struct explain *explain; /* who explains whom, of those under way */
	struct smap *keys; /* subject -> index into slots */
	/* analyzer and device of all slots -> end of the newest window in which it judged there */
	struct smap *followed;
	struct ledger_slot *slots;
	size_t n_slots, cap_slots;
	size_t *active; /* indexes of slots with a record, ascending */
	size_t n_active, cap_active;
	struct ledger_analyzer *analyzers; /* those that ever had an incident */
	size_t n_analyzers, cap_analyzers;
	struct incident_record **opened; /* all that reached OPEN, in that order; owned */
	size_t n_opened, cap_opened;
	struct map *ids; /* ledger_id_key() -> its record among .opened */
	struct incident_record **changes; /* of .opened, those that were a change, in that order */
	size_t n_changes, cap_changes;
	const struct incident **sorted; /* cache of ledger_incidents() */
	size_t cap_sorted;
};

struct ledger *ledger_new(const struct fabric *fabric, ledger_fn *changed, void *arg)
{
	struct ledger *l = rw_calloc(1, sizeof(*l));
	l->fabric = fabric;
	l->changed = changed;
	l->arg = arg;
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

static void subject_key(struct str *key, const char *analyzer, const char *device, const char *port,
	int priority, const char *host, const char *group)
{
	const char *parts[] = {analyzer, device, port, host, group};
	for (size_t k = 0; k < rw_countof(parts); k++) {
		const char *text = str_or(parts[k], "");
		str_addn(key, text, strlen(text) + 1);
	}
	str_addf(key, "%d", priority);
}

/* How much of a subject's key is analyzer and device. */
static size_t subject_followed(const char *key)
{
	const size_t analyzer = strlen(key) + 1;
	return analyzer + strlen(key + analyzer) + 1;
}

/* NULL when the subject has none and @create is false. */
static struct ledger_slot *ledger_slot_of(struct ledger *ledger, const struct str *key, bool create)
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
	const size_t n = subject_followed(key->s);
	if (!smap_get(ledger->followed, key->s, n, NULL))
		smap_put(ledger->followed, key->s, n, 0);
	return &ledger->slots[index];
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

static struct incident_record *ledger_active(const struct ledger *ledger, size_t k)
{
	return ledger->slots[ledger->active[k]].record;
}

static struct ledger_analyzer *ledger_analyzer_of(const struct ledger *ledger, const char *name)
{
	for (size_t k = 0; k < ledger->n_analyzers; k++)
		if (strcmp(ledger->analyzers[k].name, name) == 0)
			return &ledger->analyzers[k];
	return NULL;
}

/* Where the slot @index stands among the active ones, or would. */
static size_t ledger_active_place(const struct ledger *ledger, size_t index)
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

/* After each change of what it is found by: see explain_put(). */
static void ledger_place(struct ledger *ledger, struct incident_record *record)
{
	explain_put(ledger->explain, ledger->fabric, record);
}

/* The only places where a record comes into a slot and leaves it. */
static void slot_begin(
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

static void slot_end(struct ledger *ledger, struct ledger_slot *slot)
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

static struct incident_record *ledger_record(const struct ledger *ledger, const char *id)
{
	uint64_t at;
	const uint64_t key = ledger_id_key(id);
	if (!key || !map_get(ledger->ids, key, &at))
		return NULL;
	return (struct incident_record *)(uintptr_t)at;
}

/* It reached OPEN, or has another cause: is it one that later incidents should name? */
static void ledger_add_change(struct ledger *ledger, struct incident_record *record)
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

static void ledger_add_opened(struct ledger *ledger, struct incident_record *record)
{
	rw_grow(ledger->opened, ledger->n_opened, ledger->cap_opened);
	ledger->opened[ledger->n_opened++] = record;
	ledger_add_id(ledger, record);
	ledger_add_change(ledger, record);
}

/* ---- publishing ---------------------------------------------------------- */

static void ledger_publish(
	struct ledger *ledger, struct incident_record *record, enum incident_state from)
{
	if (ledger->changed)
		ledger->changed(ledger->arg, &record->i, from);
	incident_record_set(&record->i.note, NULL);
}

/* What the incident is about, in one line. */
static const char *ledger_headline(const struct incident *incident)
{
	return str_or(incident->summary, cause_name(incident->cause));
}

static bool shortly_before(const struct incident *change, const struct incident *incident)
{
	const int64_t before_ns = incident->first_ns - change->first_ns;
	return change != incident && cause_has(change->cause, CAUSE_IS_CHANGE) && before_ns >= 0 &&
		before_ns <= CHANGE_NS;
}

/* List what was changed, or happened to a device, in the half hour before the incident began: that
 * is the first thing a person asks for. Of very many, the newest. */
static void gather_changes(struct ledger *ledger, struct incident_record *record)
{
	const struct incident *found[CHANGES_TOLD];
	size_t n = 0, k = ledger->n_changes;
	for (; k > 0 && n < CHANGES_TOLD; k--)
		if (shortly_before(&ledger->changes[k - 1]->i, &record->i))
			found[n++] = &ledger->changes[k - 1]->i;
	if (n == CHANGES_TOLD && k > 0)
		incident_record_changed(
			record, "the latest changes; 'rocewatch incident list' has earlier ones");
	while (n-- > 0) {
		char t[WALL_TEXT_MAX];
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s %s: %s", wall_text(t, (wall_t){found[n]->first_ns}, 0),
			found[n]->id, ledger_headline(found[n]));
		incident_record_changed(record, text.s);
	}
}

/* The only place that changes .state. @note says why, for the timeline. */
static void ledger_change(struct ledger *ledger, struct incident_record *record,
	enum incident_state to, int64_t t_ns, const char *note)
{
	enum incident_state from = record->i.state;
	assert(from != to && (from != INCIDENT_CLOSED || to == INCIDENT_OPEN));
	record->i.state = to;
	switch (to) {
	case INCIDENT_OPEN:
		record->i.clear = 0;
		record->quiet = 0;
		record->i.closed_ns = 0;
		if (from == INCIDENT_PENDING) {
			record->i.opened_ns = t_ns;
			record->folded[0] = '\0';
			incident_record_name(record, ledger->fabric);
			gather_changes(ledger, record);
			ledger_add_opened(ledger, record);
		}
		break;
	case INCIDENT_CLEARING: record->i.raised = 0; break;
	case INCIDENT_CLOSED: record->i.closed_ns = t_ns; break;
	case INCIDENT_PENDING: break;
	}
	if (to == INCIDENT_OPEN)
		ledger_place(ledger, record);
	const char *word = incident_state_name(to);
	if (from == INCIDENT_CLOSED)
		word = "opened again";
	incident_record_note(record, t_ns, "%s: %s", word, note);
	ledger_publish(ledger, record, from);
}

/* ---- one finding --------------------------------------------------------- */

static double strength_of(const struct finding *finding)
{
	double strength = finding->value;
	if (isfinite(finding->warn) && finding->warn > 0)
		strength = finding->value / finding->warn;
	if (isnan(strength))
		return 0;
	return strength;
}

static void ledger_set_candidate(struct incident_record *record, enum cause cause)
{
	record->candidate = cause;
	record->candidate_windows = 0;
}

/* The windows that straddle the end of a fault are one whole window together. */
static bool ledger_candidate_holds(const struct incident_record *record)
{
	return record->candidate_windows > 1 + WEIGHT_SHARE_ERROR;
}

/* Is it worse, and is what it says more than a window old? */
static bool ledger_grows_worse(const struct incident_record *record, const struct finding *finding)
{
	if (finding->severity <= record->i.severity)
		return false;
	return record->i.cause == finding->cause || ledger_candidate_holds(record);
}

/* Windows overlap, and this one is weaker than the one before by more than half of what was new in
 * it: the fault may have ended before its newest part. */
static bool ledger_falls(const struct incident_record *record, const struct finding *finding)
{
	const double share = weight_share(finding);
	return share < 1 - WEIGHT_SHARE_ERROR && record->latest_cause == finding->cause &&
		strength_of(finding) < record->latest * (1 - share / 2);
}

/*
 * Should the incident now say what this finding says? The rule for another cause is in ledger.h.
 * Adds a note when the cause changes.
 */
static bool ledger_judge_cause(struct incident_record *record, const struct finding *finding)
{
	/* NAN, an unknown confidence on either side, holds nothing up */
	const double known = record->i.confidence_ratio, given = finding->confidence_ratio;
	const bool clearly_less = given < known - LESS_SURE;
	const bool weaker = strength_of(finding) < record->strength;
	/* "The network is silent" is true in the window after a repair, too. */
	const bool by_silence = cause_has(finding->cause, CAUSE_IS_SYMPTOM);

	/* 1. the same cause: the strongest window speaks */
	if (record->i.cause == finding->cause) {
		ledger_set_candidate(record, CAUSE_NONE);
		return !weaker && !clearly_less;
	}

	/* 2. another cause: for how many windows in a row? The window in which a fault ends holds
	 * a part of it, and looks like something milder. */
	if (record->candidate != finding->cause)
		ledger_set_candidate(record, finding->cause);
	record->candidate_windows += weight_share(finding);
	if (clearly_less)
		return false;
	const bool waits = given < known || (weaker && !(given > known + LESS_SURE));
	if (waits && record->candidate_windows < record->hold - WEIGHT_SHARE_ERROR)
		return false;
	const bool published = record->i.state != INCIDENT_PENDING;
	if ((waits || by_silence) && published && !ledger_candidate_holds(record))
		return false;

	/* 3. it is taken */
	if (published)
		incident_record_note(record, finding->to_ns, "cause: %s, was %s",
			cause_name(finding->cause), cause_name(record->i.cause));
	record->i.cause = finding->cause;
	ledger_set_candidate(record, CAUSE_NONE);
	return true;
}

/* ---- one fault, one incident --------------------------------------------- */

/* List @other under @by's "also"; true when it was not listed yet. */
static bool ledger_list_also(struct incident_record *by, const struct incident_record *other)
{
	const bool fresh = incident_record_also(by,
		&(struct incident_also){
			.cause = other->i.cause,
			.device = other->i.device,
			.port = other->i.port,
			.host = other->i.host,
			.group = other->i.group,
			.summary = other->i.summary,
		});
	if (fresh)
		incident_record_spread(by);
	return fresh;
}

/* Does another subject that this incident speaks for still show the same? */
static bool ledger_goes_on(const struct ledger *ledger, const struct incident_record *record)
{
	struct incident_record *const *others;
	const size_t n = explain_pending(ledger->explain, record->i.cause, &others);
	for (size_t k = 0; k < n; k++)
		if (str_eq(others[k]->folded, record->i.id) && incident_record_recent(others[k]))
			return true;
	return false;
}

/* An incident is as bad as its worst part. True when it became worse. */
static bool ledger_worsen(
	struct incident_record *record, const struct incident_record *part, int64_t t_ns)
{
	if (part->i.severity <= record->i.severity)
		return false;
	record->i.severity = part->i.severity;
	incident_record_note(record, t_ns, "severity: %s", severity_name(record->i.severity));
	return true;
}

/* It became worse: so is what it is part of, unless that does no harm. */
static void ledger_outgrow(struct ledger *ledger, struct incident_record *record, int64_t t_ns)
{
	struct incident_record *parent = NULL;
	if (record->i.parent)
		parent = ledger_record(ledger, record->i.parent);
	if (!parent || parent->i.severity >= record->i.severity)
		return;
	if (parent->i.severity > SEV_INFO) {
		ledger_worsen(parent, record, t_ns);
		ledger_publish(ledger, parent, parent->i.state);
		return;
	}
	incident_record_set(&record->i.parent, NULL);
	ledger_place(ledger, record);
	incident_record_note(record, t_ns, "no part of %s any more: it is worse", parent->i.id);
}

/* May it open now? Not while an open incident explains it (that one lists it), nor while a pending
 * one may still do so. */
static bool stands_alone(
	struct ledger *ledger, struct incident_record *record, const struct finding *finding)
{
	struct incident_record *by = explain_find(ledger->explain, ledger->fabric, record);
	if (!by)
		return true;
	if (by->i.state == INCIDENT_PENDING) {
		const double waited = record->waited;
		record->waited += weight_share(finding);
		return waited > by->hold + 1;
	}
	bool told = ledger_worsen(by, record, finding->to_ns);
	if (str_eq(record->folded, by->i.id)) {
		if (told)
			ledger_publish(ledger, by, by->i.state);
		return false;
	}
	memcpy(record->folded, by->i.id, sizeof(record->folded));
	if (ledger_list_also(by, record)) {
		incident_record_note(
			by, finding->to_ns, "related finding: %s", ledger_headline(&record->i));
		told = true;
	}
	if (told)
		ledger_publish(ledger, by, by->i.state);
	return false;
}

/* Give an open incident the one that explains it as its parent. True when it got one. */
static bool ledger_adopt(struct ledger *ledger, struct incident_record *record, int64_t t_ns)
{
	if (record->i.parent)
		return false;
	struct incident_record *by = explain_find(ledger->explain, ledger->fabric, record);
	if (!by || by->i.state == INCIDENT_PENDING)
		return false;
	incident_record_set(&record->i.parent, str_or(by->i.parent, by->i.id));
	ledger_place(ledger, record);
	incident_record_note(
		record, t_ns, "explained by %s: %s", by->i.id, ledger_headline(&by->i));
	bool told = ledger_worsen(by, record, t_ns);
	if (ledger_list_also(by, record)) {
		incident_record_note(
			by, t_ns, "explains %s: %s", record->i.id, ledger_headline(&record->i));
		told = true;
	}
	if (told)
		ledger_publish(ledger, by, by->i.state);
	return true;
}

/* An incident opened, or has another cause: those that were open before and that it explains are
 * part of it from now on. */
static void ledger_absorb(struct ledger *ledger, const struct incident_record *by, int64_t t_ns)
{
	struct incident_record *const *orphans;
	const size_t n = explain_orphans(ledger->explain, ledger->fabric, by, &orphans);
	for (size_t k = 0; k < n; k++)
		if (ledger_adopt(ledger, orphans[k], t_ns))
			ledger_publish(ledger, orphans[k], orphans[k]->i.state);
}

/* ---- a raised window ----------------------------------------------------- */

static struct incident_record *ledger_begin(
	struct ledger *ledger, struct ledger_slot *slot, const struct finding *finding)
{
	struct incident_record *record = incident_record_new(finding);
	slot_begin(ledger, slot, record);
	record->i.first_ns = finding->from_ns;
	if (finding->new_ns > 0)
		record->i.first_ns = finding->to_ns - finding->new_ns;
	record->i.severity = finding->severity;
	record->spoken_ns = finding->to_ns;
	return record;
}

/* Take what the finding says into the record. */
static void ledger_count_raised(
	struct ledger *ledger, struct incident_record *record, const struct finding *finding)
{
	record->hold = 1;
	if (finding->hold > 0)
		record->hold = finding->hold;
	record->i.raised++;
	record->i.windows++;
	record->i.clear = 0;
	record->quiet = 0;
	record->falls = ledger_falls(record, finding);
	record->latest = strength_of(finding);
	record->latest_cause = finding->cause;
	struct finding counted = *finding;
	if (record->falls)
		counted.verdict = FINDING_UNDER;
	weight_judged(&record->weight, &counted, record->hold);
	record->i.updated_ns = finding->to_ns;

	const bool speaks = ledger_judge_cause(record, finding);
	if (speaks || !record->described) {
		incident_record_describe(record, finding);
		record->strength = strength_of(finding);
		incident_record_spread(record);
	}
	ledger_place(ledger, record);
	cost_over(&record->cost, finding);
	incident_record_impact(record, ledger->fabric);
}

static void ledger_open(struct ledger *ledger, struct incident_record *record, int64_t t_ns)
{
	const char *headline = ledger_headline(&record->i);
	char note[640];
	if (record->i.windows == 1)
		snprintf(note, sizeof(note), "%s", headline);
	else if (record->i.raised == record->i.windows)
		snprintf(note, sizeof(note), "%" PRIu32 " windows in a row: %s", record->i.raised,
			headline);
	else
		snprintf(
			note, sizeof(note), "%" PRIu32 " windows: %s", record->i.windows, headline);
	ledger_change(ledger, record, INCIDENT_OPEN, t_ns, note);
}

/* The incident of this subject that ended a short while ago, when it was the same fault. */
static struct incident_record *ledger_returned(
	const struct ledger_slot *slot, const struct incident_record *record)
{
	struct incident_record *old = slot->closed;
	if (!old || old->i.cause != record->i.cause)
		return NULL;
	/* a setting that is set back has changed once more */
	if (cause_info(old->i.cause)->family == CAUSE_FAMILY_SETTINGS &&
		cause_has(old->i.cause, CAUSE_IS_CHANGE))
		return NULL;
	if (record->i.first_ns - old->i.closed_ns > LEDGER_REOPEN_NS)
		return NULL;
	return old;
}

/* @old, which was closed, goes on in the place of the pending one. */
static void ledger_reopen(struct ledger *ledger, struct ledger_slot *slot,
	struct incident_record *old, const struct finding *finding)
{
	struct incident_record *fresh = slot->record;
	char note[128], apart[32];
	/* closed by a person while it was raised: then it never ended */
	const bool went_on = old->i.clear == 0;
	int64_t since_ns = fresh->i.first_ns;
	if (went_on && old->i.closed_ns < since_ns)
		since_ns = old->i.closed_ns;
	snprintf(note, sizeof(note), "the fault goes on");
	if (!went_on)
		snprintf(note, sizeof(note), "the fault is back after %s",
			duration_format(
				apart, sizeof(apart), fresh->i.first_ns - old->i.closed_ns));
	slot_end(ledger, slot);
	slot_begin(ledger, slot, old);
	slot->closed = NULL;
	old->i.raised = fresh->i.raised;
	old->i.windows += fresh->i.windows - 1; /* this one is counted below */
	if (fresh->i.severity > old->i.severity)
		old->i.severity = fresh->i.severity;
	cost_resume(&old->cost, &fresh->cost, since_ns, went_on);
	old->i.raised--;
	weight_done(&old->weight);
	ledger_count_raised(ledger, old, finding);
	incident_record_free(fresh);
	ledger_change(ledger, old, INCIDENT_OPEN, finding->to_ns, note);
}

static void ledger_begin_open(
	struct ledger *ledger, struct ledger_slot *slot, const struct finding *finding)
{
	struct incident_record *old = ledger_returned(slot, slot->record);
	if (old)
		ledger_reopen(ledger, slot, old, finding);
	else
		ledger_open(ledger, slot->record, finding->to_ns);
	ledger_absorb(ledger, slot->record, finding->to_ns);
}

static void ledger_take_raised(
	struct ledger *ledger, struct ledger_slot *slot, const struct finding *finding)
{
	if (!slot->record)
		ledger_begin(ledger, slot, finding);
	struct incident_record *record = slot->record;
	const enum cause cause_before = record->i.cause;
	ledger_count_raised(ledger, record, finding);
	const bool worse = ledger_grows_worse(record, finding);
	if (worse) {
		record->i.severity = finding->severity;
		ledger_outgrow(ledger, record, finding->to_ns);
	}

	switch (record->i.state) {
	case INCIDENT_PENDING:
		record->owes -= weight_share(finding);
		if (record->owes <= 0 && weight_sum(&record->weight) >= record->hold &&
			!record->falls && stands_alone(ledger, record, finding))
			ledger_begin_open(ledger, slot, finding);
		return;
	case INCIDENT_CLEARING:
		ledger_change(ledger, record, INCIDENT_OPEN, finding->to_ns, "it is back");
		return;
	case INCIDENT_OPEN:
		if (worse)
			incident_record_note(record, finding->to_ns, "severity: %s",
				severity_name(record->i.severity));
		ledger_adopt(ledger, record, finding->to_ns);
		ledger_publish(ledger, record, INCIDENT_OPEN);
		/* another cause explains other things */
		if (record->i.cause != cause_before) {
			ledger_add_change(ledger, record);
			ledger_absorb(ledger, record, finding->to_ns);
		}
		return;
	case INCIDENT_CLOSED: break;
	}
	assert(!"a closed incident keeps no slot");
}

/* ---- a clear window ------------------------------------------------------ */

/* What was a part of @ended shows so far what that has done: from now on it counts for itself. */
static void ledger_weigh_anew(struct ledger *ledger, const struct incident_record *ended)
{
	for (size_t k = 0; k < ledger->n_active; k++) {
		struct incident_record *part = ledger_active(ledger, k);
		if (part->i.state != INCIDENT_PENDING || !str_eq(part->folded, ended->i.id))
			continue;
		weight_done(&part->weight);
		part->owes = part->hold + 2;
		part->folded[0] = '\0';
	}
}

static void ledger_take_clear(
	struct ledger *ledger, struct ledger_slot *slot, const struct finding *finding)
{
	struct incident_record *record = slot->record;
	if (!record)
		return;
	record->i.updated_ns = finding->to_ns;
	if (record->i.state == INCIDENT_OPEN && ledger_goes_on(ledger, record))
		return;
	weight_judged(&record->weight, finding, record->hold);
	record->i.clear++;
	record->quiet += weight_share(finding);
	if (record->i.state == INCIDENT_PENDING) {
		record->i.raised = 0;
		if (!incident_record_recent(record)) {
			slot_end(ledger, slot);
			incident_record_free(record);
		}
		return;
	}
	/* A whole window must be clear: one that overlaps the last raised one proves little. */
	if (record->quiet < 1 - WEIGHT_SHARE_ERROR)
		return;
	const bool closes = record->quiet >= record->hold - WEIGHT_SHARE_ERROR;
	if (record->i.state == INCIDENT_OPEN)
		ledger_change(ledger, record, INCIDENT_CLEARING, finding->to_ns,
			"not seen in this window");
	else if (!closes)
		ledger_publish(ledger, record, INCIDENT_CLEARING);
	if (!closes)
		return;
	char note[64];
	const unsigned windows = (unsigned)lround(record->quiet);
	snprintf(
		note, sizeof(note), "not seen for %u window%s", windows, str_if(windows != 1, "s"));
	ledger_change(ledger, record, INCIDENT_CLOSED, finding->to_ns, note);
	slot_end(ledger, slot);
	slot->closed = record;
	ledger_weigh_anew(ledger, record);
}

/* The analyzer spoke of the device, and of the slot's subject (NULL: none). */
static void ledger_heard(struct ledger *ledger, const struct finding *finding,
	const struct str *key, struct ledger_slot *slot)
{
	const size_t n = subject_followed(key->s);
	const bool judged = finding->verdict == FINDING_OVER || finding->verdict == FINDING_UNDER;
	if (judged && smap_get(ledger->followed, key->s, n, NULL))
		smap_put(ledger->followed, key->s, n, (uint64_t)finding->to_ns);
	if (slot && slot->record) {
		slot->record->spoken_ns = finding->to_ns;
		slot->record->unheard = 0;
		slot->record->alone_ns = 0;
	}
}

void ledger_take(struct ledger *ledger, const struct finding *finding)
{
	const bool raised = finding->verdict == FINDING_OVER;
	if (!raised) {
		/* Most findings say that a subject without an incident is well: hundreds of
		 * thousands a window in a large fabric. */
		const struct ledger_analyzer *a = ledger_analyzer_of(ledger, finding->analyzer);
		if (!a || a->n_active == 0)
			return;
	}
	rw_cleanup(str_done) struct str key = {0};
	subject_key(&key, finding->analyzer, finding->device, finding->port, finding->priority,
		finding->host, finding->group);
	struct ledger_slot *slot = ledger_slot_of(ledger, &key, raised);
	ledger_heard(ledger, finding, &key, slot);
	if (!raised && finding->verdict != FINDING_UNDER)
		return;
	if (!slot || finding->to_ns <= slot->seen_ns)
		return;
	slot->seen_ns = finding->to_ns;
	if (raised)
		ledger_take_raised(ledger, slot, finding);
	else
		ledger_take_clear(ledger, slot, finding);
}

/* ---- subjects that nobody judges any more -------------------------------- */

/* What it explained is no part of it: nobody knows whether it is still there. */
static void ledger_release_parts(
	struct ledger *ledger, const struct incident_record *gone, int64_t t_ns)
{
	for (size_t k = 0; k < ledger->n_active; k++) {
		struct incident_record *part = ledger_active(ledger, k);
		if (!str_eq(part->i.parent, gone->i.id))
			continue;
		incident_record_set(&part->i.parent, NULL);
		ledger_place(ledger, part);
		incident_record_note(part, t_ns,
			"no part of %s any more: nobody judges that any more", gone->i.id);
		ledger_adopt(ledger, part, t_ns);
		ledger_publish(ledger, part, part->i.state);
	}
}

/* Ends the @k-th of those under way. */
static void ledger_end_unjudged(struct ledger *ledger, size_t k, int64_t t_ns, const char *why)
{
	struct ledger_slot *slot = &ledger->slots[ledger->active[k]];
	struct incident_record *record = slot->record;
	slot_end(ledger, slot);
	if (record->i.state == INCIDENT_PENDING) {
		incident_record_free(record);
		return;
	}
	slot->closed = record;
	record->gone = true;
	ledger_change(ledger, record, INCIDENT_CLOSED, t_ns, why);
	ledger_release_parts(ledger, record, t_ns);
}

/* Did the analyzer judge something on the device of @record in the window that ended at @to_ns? */
static bool ledger_judged_beside(
	const struct ledger *ledger, const struct incident_record *record, int64_t to_ns)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t judged_ns;
	const struct incident *i = &record->i;
	subject_key(&key, i->analyzer, i->device, NULL, PRIO_NONE, NULL, NULL);
	return smap_get(ledger->followed, key.s, subject_followed(key.s), &judged_ns) &&
		(int64_t)judged_ns >= to_ns;
}

void ledger_judged(struct ledger *ledger, const char *analyzer, int64_t to_ns, double share,
	ledger_delivers_fn *delivers, const void *arg)
{
	const struct ledger_analyzer *a = ledger_analyzer_of(ledger, analyzer);
	if (!a || a->n_active == 0)
		return;
	for (size_t k = ledger->n_active; k-- > 0;) {
		struct incident_record *record = ledger_active(ledger, k);
		const struct incident *i = &record->i;
		bool over;
		if (record->spoken_ns >= to_ns || !str_eq(i->analyzer, analyzer))
			continue;
		if (ledger_judged_beside(ledger, record, to_ns)) {
			record->unheard += share;
			over = record->unheard >=
					record->hold + UNHEARD_MORE - WEIGHT_SHARE_ERROR &&
				to_ns - record->spoken_ns >= UNHEARD_NS;
		} else {
			const bool comes = delivers && i->device &&
				delivers(arg, analyzer, i->device, i->port);
			if (!comes || !record->alone_ns)
				record->alone_ns = comes ? to_ns : 0;
			over = comes && to_ns - record->alone_ns >= UNHEARD_ALONE_NS;
		}
		if (over)
			ledger_end_unjudged(ledger, k, to_ns,
				"nobody judges its subject any more: renamed, linked otherwise or "
				"taken out");
	}
}

/* ---- what it costs ------------------------------------------------------- */

/* What a job loses by it counts for its severity. */
static void ledger_weigh_loss(struct ledger *ledger, struct incident_record *record, int64_t t_ns)
{
	if (record->i.state != INCIDENT_OPEN || record->i.parent)
		return;
	const double lost = incident_record_loss(record);
	const enum severity severity = job_loss_severity(lost);
	if (severity <= record->i.severity)
		return;
	/* its own analyzer knows that the network has no part in it */
	if (record->i.severity == SEV_INFO && cause_has(record->i.cause, CAUSE_IS_SYMPTOM))
		return;
	record->i.severity = severity;
	incident_record_note(record, t_ns, "severity: %s: a job loses %.0f %% by it",
		severity_name(severity), 100 * lost);
	ledger_publish(ledger, record, record->i.state);
}

void ledger_rates(struct ledger *ledger, const struct job_rate *rates, size_t n)
{
	if (n == 0)
		return;
	struct incident_record **records = rw_calloc(ledger->n_active + 1, sizeof(*records));
	for (size_t k = 0; k < ledger->n_active; k++)
		records[k] = ledger_active(ledger, k);
	for (size_t k = 0; k < n; k++)
		claims_count(records, ledger->n_active, ledger->fabric, &rates[k]);
	const int64_t to_ns = rates[0].from_ns + (int64_t)rates[0].n * rates[0].block_ns;
	for (size_t k = 0; k < ledger->n_active; k++)
		if (cost_due(&records[k]->cost, &rates[0]))
			records[k]->cost.to_ns = to_ns;
	for (size_t k = 0; k < ledger->n_active; k++)
		ledger_weigh_loss(ledger, records[k], to_ns);
	free(records);
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

/* ---- what people do ------------------------------------------------------ */

struct action {
	struct ledger *ledger;
	struct incident_record *record;
	const char *who, *text; /* text: "" when there is none */
	int64_t t_ns;
};

static int action_ack(const struct action *action)
{
	struct incident_record *record = action->record;
	incident_record_set(&record->i.acked_by, action->who);
	if (*action->text) {
		incident_record_set(&record->i.ack_note, action->text);
		incident_record_note(
			record, action->t_ns, "acknowledged by %s: %s", action->who, action->text);
	} else {
		incident_record_set(&record->i.ack_note, NULL);
		incident_record_note(record, action->t_ns, "acknowledged by %s", action->who);
	}
	return 0;
}

static int action_assign(const struct action *action)
{
	incident_record_set(&action->record->i.assigned_to, action->text);
	incident_record_note(
		action->record, action->t_ns, "assigned to %s by %s", action->text, action->who);
	return 0;
}

static int action_note(const struct action *action)
{
	incident_record_note(action->record, action->t_ns, "%s: %s", action->who, action->text);
	return 0;
}

static int action_close(const struct action *action)
{
	struct ledger *ledger = action->ledger;
	if (action->record->i.state == INCIDENT_CLOSED)
		return -EALREADY;
	for (size_t k = 0; k < ledger->n_active; k++) {
		if (ledger_active(ledger, k) == action->record) {
			struct ledger_slot *slot = &ledger->slots[ledger->active[k]];
			slot_end(ledger, slot);
			slot->closed = action->record;
			break;
		}
	}
	char note[640];
	snprintf(note, sizeof(note), "by %s%s%s", action->who, str_if(*action->text, ": "),
		action->text);
	ledger_change(ledger, action->record, INCIDENT_CLOSED, action->t_ns, note);
	return 0;
}

static int action_merge(const struct action *action)
{
	struct incident_record *record = action->record;
	struct incident_record *into = ledger_record(action->ledger, action->text);
	if (!into)
		return -ENOENT;
	if (into == record || str_eq(into->i.parent, record->i.id))
		return -EINVAL;
	incident_record_set(&record->i.parent, into->i.id);
	if (record->place.put)
		ledger_place(action->ledger, record);
	incident_record_note(record, action->t_ns, "part of %s, says %s", into->i.id, action->who);
	ledger_list_also(into, record);
	incident_record_note(
		into, action->t_ns, "%s is part of it, says %s", record->i.id, action->who);
	ledger_publish(action->ledger, into, into->i.state);
	return 0;
}

int ledger_action(struct ledger *ledger, const char *id, enum incident_action action,
	const char *who, const char *text, int64_t t_ns)
{
	static const struct {
		int (*fn)(const struct action *action);
		bool needs_text;
	} actions[] = {
		[ACTION_ACK] = {action_ack, false},
		[ACTION_ASSIGN] = {action_assign, true},
		[ACTION_NOTE] = {action_note, true},
		[ACTION_CLOSE] = {action_close, false},
		[ACTION_MERGE] = {action_merge, true},
	};
	struct incident_record *record = ledger_record(ledger, id);
	if (!record)
		return -ENOENT;
	const struct action asked = {ledger, record, who, str_or(text, ""), t_ns};
	if (actions[action].needs_text && !*asked.text)
		return -EINVAL;
	const enum incident_state from = record->i.state;
	const int rc = actions[action].fn(&asked);
	if (rc == 0 && record->i.state == from)
		ledger_publish(ledger, record, from);
	return rc;
}

/* ---- a clock that was set back ------------------------------------------- */

static void time_limit(int64_t *t_ns, int64_t latest_ns)
{
	if (*t_ns > latest_ns)
		*t_ns = latest_ns;
}

static void rewind_record(struct incident_record *record, int64_t t_ns)
{
	time_limit(&record->i.first_ns, t_ns);
	time_limit(&record->i.opened_ns, t_ns);
	time_limit(&record->i.updated_ns, t_ns);
	time_limit(&record->spoken_ns, t_ns);
	time_limit(&record->cost.to_ns, t_ns);
	for (size_t k = 0; k < record->cost.n; k++)
		time_limit(&record->cost.v[k].onset_ns, t_ns);
}

void ledger_rewind(struct ledger *ledger, int64_t t_ns)
{
	for (size_t k = 0; k < ledger->n_slots; k++)
		time_limit(&ledger->slots[k].seen_ns, t_ns);
	for (size_t k = 0; k < ledger->n_active; k++) {
		struct incident_record *record = ledger_active(ledger, k);
		const bool ahead = record->i.updated_ns > t_ns;
		rewind_record(record, t_ns);
		ledger_place(ledger, record);
		if (!ahead || record->i.state == INCIDENT_PENDING)
			continue;
		incident_record_note(record, t_ns,
			"the clock was set back: lines above with later times came before this "
			"one");
		ledger_publish(ledger, record, record->i.state);
	}
}

/* ---- starting, reloading, forgetting ------------------------------------- */

void ledger_reload(struct ledger *ledger, const struct fabric *fabric)
{
	ledger->fabric = fabric;
	for (size_t k = 0; k < ledger->n_active; k++)
		ledger_place(ledger, ledger_active(ledger, k));
	for (size_t k = ledger->n_active; k-- > 0;) {
		const struct incident *i = &ledger_active(ledger, k)->i;
		const char *why = subject_gone(fabric, i);
		if (!why)
			why = subject_job_gone(fabric, i);
		if (why)
			ledger_end_unjudged(ledger, k, i->updated_ns, why);
	}
}

/* As if it had been under way in this ledger all the time. */
static void ledger_resume(
	struct ledger *ledger, struct ledger_slot *slot, struct incident_record *record)
{
	record->spoken_ns = record->i.updated_ns;
	const struct incident_record *parent = NULL;
	if (record->i.parent)
		parent = ledger_record(ledger, record->i.parent);
	if (parent && parent->gone)
		incident_record_set(&record->i.parent, NULL);
	slot_begin(ledger, slot, record);
	const char *why = subject_gone(ledger->fabric, &record->i);
	if (why)
		ledger_end_unjudged(ledger,
			ledger_active_place(ledger, (size_t)(slot - ledger->slots)),
			record->i.updated_ns, why);
}

int ledger_restore(struct ledger *ledger, const char *json)
{
	struct incident_record *record = incident_json_parse(json);
	if (!record)
		return -EINVAL;
	const struct incident *i = &record->i;
	rw_cleanup(str_done) struct str key = {0};
	subject_key(&key, i->analyzer, i->device, i->port, i->priority, i->host, i->group);
	struct ledger_slot *slot = ledger_slot_of(ledger, &key, true);
	const bool closed = i->state == INCIDENT_CLOSED;
	if (ledger_record(ledger, i->id) || (!closed && slot->record)) {
		incident_record_free(record);
		return -EEXIST;
	}
	ledger_add_opened(ledger, record);
	if (i->updated_ns > slot->seen_ns)
		slot->seen_ns = i->updated_ns;
	if (closed && (!slot->closed || slot->closed->i.closed_ns <= i->closed_ns))
		slot->closed = record;
	if (!closed)
		ledger_resume(ledger, slot, record);
	return 0;
}

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
