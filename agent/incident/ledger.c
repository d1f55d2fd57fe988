/*
 * ledger - the incidents' state machine (drawn in ledger.h). Owns every story: those still pending,
 * those open, and those closed that were not forgotten yet. Findings come in, told changes go out;
 * nothing here reads a clock or a disk.
 *
 * A story is found by its key, (analyzer, device, port, priority, host, group). The map keeps one
 * slot per key for ever (keys are bounded by the fabric); the slot says which of the stories, if
 * any, is under way.
 */
#include "agent/incident/ledger.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/incident/correlate.h"
#include "agent/incident/incident.h"

#define RECENT_MAX 62 /* windows remembered as bits */
#define FAR_LESS_SURE 0.3 /* of confidence: such a story does not explain another */
#define CHANGE_NS (30 * 60 * NS_PER_S)
#define LESS_SURE                                                                                  \
	0.1 /* of confidence: a larger difference means that evidence is missing which was there   \
	       before */

struct slot {
	struct story *story; /* under way, NULL when none is */
	/* end of the newest window that counted: after a restart windows are seen again */
	int64_t seen_ns;
};

struct ledger {
	const struct fabric *fabric;
	ledger_fn *changed;
	void *arg;
	struct smap *keys; /* key -> index into slots */
	struct slot *slots;
	size_t n_slots, cap_slots;
	/* stories under way of each analyzer that ever had one */
	struct watched {
		char *analyzer;
		uint32_t n;
	} * watched;
	size_t n_watched, cap_watched;
	struct story **told; /* all that reached OPEN, in order of opening; owned */
	size_t n_told, cap_told;
	const struct incident **sorted;
	size_t cap_sorted;
};

struct ledger *ledger_new(const struct fabric *f, ledger_fn *changed, void *arg)
{
	struct ledger *l = rw_calloc(1, sizeof(*l));
	l->fabric = f;
	l->changed = changed;
	l->arg = arg;
	l->keys = smap_new();
	return l;
}

void ledger_free(struct ledger *l)
{
	if (!l)
		return;
	for (size_t k = 0; k < l->n_slots; k++) {
		if (l->slots[k].story && l->slots[k].story->i.state == INCIDENT_PENDING)
			story_free(l->slots[k].story);
	}
	for (size_t k = 0; k < l->n_told; k++)
		story_free(l->told[k]);
	for (size_t k = 0; k < l->n_watched; k++)
		free(l->watched[k].analyzer);
	free(l->watched);
	free(l->slots);
	free(l->told);
	free(l->sorted);
	smap_free(l->keys);
	free(l);
}

/* ---- finding the story --------------------------------------------------- */

static struct slot *slot_of(struct ledger *l, const char *analyzer, const char *device,
	const char *port, int priority, const char *host, const char *group)
{
	const char *parts[] = {analyzer, device, port, host, group};
	rw_cleanup(str_done) struct str key = {0};
	for (size_t k = 0; k < rw_countof(parts); k++) {
		const char *text = parts[k] ? parts[k] : "";
		str_addn(&key, text, strlen(text) + 1);
	}
	str_addf(&key, "%d", priority);

	uint64_t index;
	if (!smap_get(l->keys, key.s, key.n, &index)) {
		index = l->n_slots;
		rw_grow(l->slots, l->n_slots, l->cap_slots);
		l->slots[l->n_slots++] = (struct slot){.seen_ns = INT64_MIN};
		smap_put(l->keys, key.s, key.n, index);
	}
	return &l->slots[index];
}

static struct watched *watched_of(const struct ledger *l, const char *analyzer)
{
	for (size_t k = 0; k < l->n_watched; k++)
		if (strcmp(l->watched[k].analyzer, analyzer) == 0)
			return &l->watched[k];
	return NULL;
}

/* The only places where a story comes into a slot and leaves it. */
static void slot_begin(struct ledger *l, struct slot *slot, struct story *s)
{
	struct watched *w = watched_of(l, s->i.analyzer);
	if (!w) {
		rw_grow(l->watched, l->n_watched, l->cap_watched);
		w = &l->watched[l->n_watched++];
		*w = (struct watched){.analyzer = rw_strdup(s->i.analyzer)};
	}
	w->n++;
	slot->story = s;
}

static void slot_end(struct ledger *l, struct slot *slot)
{
	watched_of(l, slot->story->i.analyzer)->n--;
	slot->story = NULL;
}

static void add_told(struct ledger *l, struct story *s)
{
	rw_grow(l->told, l->n_told, l->cap_told);
	l->told[l->n_told++] = s;
}

/* ---- telling ------------------------------------------------------------- */

static void tell(struct ledger *l, struct story *s, enum incident_state from)
{
	story_refresh(s);
	if (l->changed)
		l->changed(l->arg, &s->i, from);
	story_set(&s->i.note, NULL);
}

/* What was changed, or happened to a device, in the half hour before a story began: a person asks
 * for that first. */
static void gather_changes(struct ledger *l, struct story *s)
{
	static const char *const causes[] = {"config_drift", "device_down", "link_flap"};
	json_t *changes = json_array();
	for (size_t k = 0; k < l->n_told; k++) {
		const struct incident *i = &l->told[k]->i;
		bool is_change = false;
		for (size_t c = 0; c < rw_countof(causes); c++)
			is_change |= str_eq(i->cause, causes[c]);
		if (i == &s->i || !is_change || i->first_ns > s->i.first_ns ||
			i->first_ns < s->i.first_ns - CHANGE_NS)
			continue;
		char t[WALL_TEXT_MAX];
		json_array_append_new(changes,
			json_sprintf("%s %s: %s", wall_format(t, (wall_t){i->first_ns}, 0), i->id,
				i->summary ? i->summary : i->cause));
	}
	json_object_set_new(s->i.json, "changed_before", changes);
}

/* The only place that changes .state. @note says why, for the timeline. */
static void change(
	struct ledger *l, struct story *s, enum incident_state to, int64_t t_ns, const char *note)
{
	enum incident_state from = s->i.state;
	assert(from != to && from != INCIDENT_CLOSED);
	s->i.state = to;
	switch (to) {
	case INCIDENT_OPEN:
		s->i.under = 0;
		if (from == INCIDENT_PENDING) {
			s->i.opened_ns = t_ns;
			story_name(s, l->fabric);
			gather_changes(l, s);
			add_told(l, s);
		}
		break;
	case INCIDENT_CLEARING: s->i.over = 0; break;
	case INCIDENT_CLOSED: s->i.closed_ns = t_ns; break;
	case INCIDENT_PENDING: break;
	}
	story_note(s, t_ns, "%s: %s", incident_state_name(to), note);
	tell(l, s, from);
}

/* ---- one finding --------------------------------------------------------- */

static double strength_of(const struct finding *f)
{
	double s = isfinite(f->warn) && f->warn > 0 ? f->value / f->warn : f->value;
	return isnan(s) ? 0 : s;
}

/*
 * Should the story now say what this finding says? The rule for another cause is in ledger.h. Fills
 * the note when the cause changed.
 */
static bool judge_cause(struct story *s, const struct finding *f)
{
	if (str_eq(s->i.cause, f->cause)) {
		free(s->candidate);
		s->candidate = NULL;
		s->candidate_windows = 0;
		return strength_of(f) >= s->strength &&
			!(f->confidence_ratio < s->i.confidence_ratio - LESS_SURE);
	}
	if (!str_eq(s->candidate, f->cause)) {
		free(s->candidate);
		s->candidate = rw_strdup(f->cause);
		s->candidate_windows = 0;
	}
	s->candidate_windows++;
	/* an unknown confidence on either side does not hold it up */
	bool as_sure = !(f->confidence_ratio < s->i.confidence_ratio),
	     clearly_less = f->confidence_ratio < s->i.confidence_ratio - LESS_SURE;
	if (clearly_less || (!as_sure && s->candidate_windows < s->hold))
		return false;
	if (s->i.state != INCIDENT_PENDING)
		story_note(s, f->to_ns, "cause: %s, was %s", f->cause, s->i.cause);
	story_set(&s->i.cause, f->cause);
	free(s->candidate);
	s->candidate = NULL;
	s->candidate_windows = 0;
	return true;
}

/* ---- one fault, one story ------------------------------------------------ */

/* How many of the latest judged windows decide about opening. */
static uint32_t span_of(const struct story *s)
{
	const uint32_t hold = s->hold;
	return hold < 3 ? 2 * hold - 1 : hold + 2;
}

static uint32_t recently(const struct story *s)
{
	const uint32_t span = span_of(s);
	if (span > RECENT_MAX)
		return s->i.over;
	return (uint32_t)__builtin_popcountll(s->recent & ((UINT64_C(1) << span) - 1));
}

/* Two of the same cause: the older speaks for both, else the one that comes first by name. */
static bool speaks_first(const struct incident *a, const struct incident *b)
{
	if (!str_eq(a->cause, b->cause))
		return true;
	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns;
	/* of one device: the table alone decides */
	return name_compare(a->device ? a->device : "", b->device ? b->device : "") <= 0;
}

static bool could_explain(const struct ledger *l, const struct story *by, const struct story *s)
{
	return by && by != s && !str_eq(by->i.parent, s->i.id) && speaks_first(&by->i, &s->i) &&
		!(by->i.confidence_ratio < s->i.confidence_ratio - FAR_LESS_SURE) &&
		explains(l->fabric, &by->i, &s->i);
}

/* The story that explains this one: an open one before a pending one, the older before the younger.
 * NULL: it stands for itself. */
static struct story *explanation(const struct ledger *l, const struct story *s)
{
	struct story *best = NULL;
	for (size_t k = 0; k < l->n_slots; k++) {
		struct story *by = l->slots[k].story;
		if (!could_explain(l, by, s) ||
			(by->i.state == INCIDENT_PENDING && recently(by) == 0))
			continue;
		const bool open = by->i.state != INCIDENT_PENDING,
			   best_open = best && best->i.state != INCIDENT_PENDING;
		if (!best || open > best_open ||
			(open == best_open && by->i.first_ns < best->i.first_ns))
			best = by;
	}
	return best;
}

/* May it open now? No while something open explains it (that one tells of it) or something pending
 * may yet do so. */
static bool stands_alone(struct ledger *l, struct story *s, int64_t t_ns)
{
	struct story *by = explanation(l, s);
	if (!by)
		return true;
	if (by->i.state == INCIDENT_PENDING)
		return s->waited++ > by->hold + 1;
	if (!str_eq(s->folded, by->i.id)) {
		memcpy(s->folded, by->i.id, sizeof(s->folded));
		if (story_also(by, s)) {
			story_note(by, t_ns, "also: %s", s->i.summary ? s->i.summary : s->i.cause);
			tell(l, by, by->i.state);
		}
	}
	return false;
}

/* An open story learns what explains it. */
static void adopt(struct ledger *l, struct story *s, int64_t t_ns)
{
	struct story *by = s->i.parent ? NULL : explanation(l, s);
	if (!by || by->i.state == INCIDENT_PENDING)
		return;
	story_set(&s->i.parent, by->i.parent ? by->i.parent : by->i.id);
	story_note(s, t_ns, "explained by %s: %s", by->i.id,
		by->i.summary ? by->i.summary : by->i.cause);
	if (story_also(by, s)) {
		story_note(by, t_ns, "explains %s: %s", s->i.id,
			s->i.summary ? s->i.summary : s->i.cause);
		tell(l, by, by->i.state);
	}
}

static void take_over(struct ledger *l, struct slot *slot, const struct finding *f)
{
	struct story *s = slot->story;
	if (!s) {
		s = story_new(f);
		slot_begin(l, slot, s);
		s->i.first_ns = f->from_ns;
		s->i.severity = f->severity;
	}
	s->hold = f->hold > 0 ? f->hold : 1;
	s->i.over++;
	s->i.windows++;
	s->i.under = 0;
	s->recent = s->recent << 1 | 1;
	s->i.updated_ns = f->to_ns;
	if (judge_cause(s, f) || !s->described) {
		story_describe(s, f);
		s->strength = strength_of(f);
	}
	story_impact(s, l->fabric);
	cost_over(&s->cost, f);
	story_price(s, l->fabric);
	bool risen = f->severity > s->i.severity;
	if (risen)
		s->i.severity = f->severity;

	switch (s->i.state) {
	case INCIDENT_PENDING:
		if (recently(s) < s->hold || !stands_alone(l, s, f->to_ns))
			return;
		if (s->hold == 1) {
			change(l, s, INCIDENT_OPEN, f->to_ns,
				s->i.summary ? s->i.summary : s->i.cause);
		} else {
			char note[640];
			if (s->i.over >= s->hold)
				snprintf(note, sizeof(note), "%" PRIu32 " windows in a row: %s",
					s->i.over, s->i.summary ? s->i.summary : s->i.cause);
			else
				snprintf(note, sizeof(note),
					"%" PRIu32 " of the last %" PRIu32 " windows: %s",
					recently(s), span_of(s),
					s->i.summary ? s->i.summary : s->i.cause);
			change(l, s, INCIDENT_OPEN, f->to_ns, note);
		}
		return;
	case INCIDENT_CLEARING: change(l, s, INCIDENT_OPEN, f->to_ns, "it is back"); return;
	case INCIDENT_OPEN:
		if (risen)
			story_note(s, f->to_ns, "severity: %s", severity_name(s->i.severity));
		adopt(l, s, f->to_ns);
		tell(l, s, INCIDENT_OPEN);
		return;
	case INCIDENT_CLOSED: break;
	}
	assert(!"a closed story keeps no slot");
}

static void take_under(struct ledger *l, struct slot *slot, const struct finding *f)
{
	struct story *s = slot->story;
	if (!s)
		return;
	s->recent <<= 1;
	s->i.under++;
	s->i.updated_ns = f->to_ns;
	if (s->i.state == INCIDENT_PENDING) {
		s->i.over = 0;
		if (recently(s) == 0) {
			slot_end(l, slot);
			story_free(s);
		}
		return;
	}
	if (s->i.state == INCIDENT_OPEN)
		change(l, s, INCIDENT_CLEARING, f->to_ns, "looked for and not there");
	else if (s->i.under < s->hold)
		tell(l, s, INCIDENT_CLEARING);
	if (s->i.under >= s->hold) {
		change(l, s, INCIDENT_CLOSED, f->to_ns,
			"gone for as many windows as it took to open");
		slot_end(l, slot);
	}
}

void ledger_take(struct ledger *l, const struct finding *f)
{
	if (f->verdict != FINDING_OVER && f->verdict != FINDING_UNDER)
		return;
	/* Most of what is told is that nothing is there, of a subject that has no story: hundreds
	 * of thousands a window in a large fabric. */
	const struct watched *w = f->verdict == FINDING_UNDER ? watched_of(l, f->analyzer) : NULL;
	if (f->verdict == FINDING_UNDER && (!w || w->n == 0))
		return;
	struct slot *slot =
		slot_of(l, f->analyzer, f->device, f->port, f->priority, f->host, f->group);
	if (f->to_ns <= slot->seen_ns)
		return;
	slot->seen_ns = f->to_ns;
	if (f->verdict == FINDING_OVER)
		take_over(l, slot, f);
	else
		take_under(l, slot, f);
}

/* ---- what it costs ------------------------------------------------------- */

/* One that hurts a job now: its loss is shared among these. */
struct claimant {
	struct story *story;
	struct cost_job *job;
};

static bool claims(const struct story *s)
{
	return (s->i.state == INCIDENT_OPEN ||
		       (s->i.state == INCIDENT_PENDING && recently(s) > 0)) &&
		!s->i.parent && !s->folded[0] && cost_possible(s->i.cause) &&
		(s->i.severity > SEV_INFO || s->cost.claim_ratio > 0);
}

/* It says that something is slow, not why: what a story with a reason claims is not its own. */
static bool is_symptom(const struct story *s)
{
	return str_eq(s->i.cause, "unknown") || str_eq(s->i.cause, "straggler") ||
		str_eq(s->i.cause, "host_slow");
}

/* By what each claims itself when all do, else alike. Where throughput did not fall there is
 * nothing to share. */
static double share_of(const struct claimant *v, size_t n, const struct claimant *one)
{
	double sum = 0;
	size_t others = 0;
	bool all = true, reason = false;
	for (size_t k = 0; k < n; k++)
		reason =
			reason || (v[k].job->fell && claims(v[k].story) && !is_symptom(v[k].story));
	if (reason && is_symptom(one->story))
		return 0;
	for (size_t k = 0; k < n; k++) {
		if (!v[k].job->fell || !claims(v[k].story) || (reason && is_symptom(v[k].story)))
			continue;
		others += v[k].story != one->story;
		all = all && v[k].story->cost.claim_ratio > 0;
		sum += v[k].story->cost.claim_ratio;
	}
	if (!claims(one->story))
		return one->story->i.state == INCIDENT_CLEARING && !isnan(one->job->share_ratio)
			? one->job->share_ratio
			: 0;
	if (!one->job->fell || others == 0)
		return 1;
	return all ? one->story->cost.claim_ratio / sum : 1.0 / (double)(others + 1);
}

static void take_rate(struct ledger *l, const struct job_rate *r)
{
	struct claimant *v = rw_calloc(l->n_slots + 1, sizeof(*v));
	size_t n = 0;
	for (size_t k = 0; k < l->n_slots; k++) {
		struct story *s = l->slots[k].story;
		if (!s || s->folded[0] || !cost_possible(s->i.cause) ||
			!story_concerns(s, l->fabric, r->job))
			continue;
		v[n] = (struct claimant){s, cost_measure(&s->cost, r, s->i.first_ns)};
		n += v[n].job != NULL;
	}
	for (size_t k = 0; k < n; k++)
		cost_count(
			v[k].job, r, share_of(v, n, &v[k]), v[k].story->i.severity == SEV_CRITICAL);
	free(v);
}

void ledger_rates(struct ledger *l, const struct job_rate *v, size_t n)
{
	for (size_t k = 0; k < n; k++)
		take_rate(l, &v[k]);
	for (size_t k = 0; n > 0 && k < l->n_slots; k++) {
		struct story *s = l->slots[k].story;
		const int64_t to_ns = v[0].from_ns + (int64_t)v[0].n * v[0].block_ns;
		if (s && to_ns > s->cost.to_ns)
			s->cost.to_ns = to_ns;
	}
}

/* ---- asking -------------------------------------------------------------- */

static int sorted_compare(const void *a, const void *b)
{
	return incident_compare(
		*(const struct incident *const *)a, *(const struct incident *const *)b);
}

size_t ledger_incidents(const struct ledger *l, const struct incident ***ret)
{
	struct ledger *m = (struct ledger *)l; /* the sorted view is a cache, not state */
	if (m->cap_sorted < l->n_told) {
		m->cap_sorted = l->cap_told;
		m->sorted = rw_realloc(m->sorted, m->cap_sorted * sizeof(*m->sorted));
	}
	for (size_t k = 0; k < l->n_told; k++)
		m->sorted[k] = &l->told[k]->i;
	if (l->n_told)
		qsort(m->sorted, l->n_told, sizeof(*m->sorted), sorted_compare);
	*ret = m->sorted;
	return l->n_told;
}

static struct story *find(const struct ledger *l, const char *id)
{
	for (size_t k = l->n_told; k-- > 0;) {
		if (strcasecmp(l->told[k]->i.id, id) == 0)
			return l->told[k];
	}
	return NULL;
}

const struct incident *ledger_find(const struct ledger *l, const char *id)
{
	const struct story *s = find(l, id);
	return s ? &s->i : NULL;
}

/* ---- what people do ------------------------------------------------------ */

static int act_ack(
	struct ledger *l, struct story *s, const char *who, const char *text, int64_t t_ns)
{
	story_set(&s->i.acked_by, who);
	json_object_set_new(s->i.json, "ack_note", text && *text ? json_string(text) : json_null());
	story_note(s, t_ns, text && *text ? "acknowledged by %s: %s" : "acknowledged by %s", who,
		text);
	return 0;
}

static int act_assign(
	struct ledger *l, struct story *s, const char *who, const char *text, int64_t t_ns)
{
	json_object_set_new(s->i.json, "assigned_to", json_string(text));
	story_note(s, t_ns, "assigned to %s by %s", text, who);
	return 0;
}

static int act_note(
	struct ledger *l, struct story *s, const char *who, const char *text, int64_t t_ns)
{
	story_note(s, t_ns, "%s: %s", who, text);
	return 0;
}

static int act_close(
	struct ledger *l, struct story *s, const char *who, const char *text, int64_t t_ns)
{
	char note[640];
	if (s->i.state == INCIDENT_CLOSED)
		return -EALREADY;
	for (size_t k = 0; k < l->n_slots; k++)
		if (l->slots[k].story == s)
			slot_end(l, &l->slots[k]);
	snprintf(note, sizeof(note), "by %s%s%s", who, text && *text ? ": " : "", text ? text : "");
	change(l, s, INCIDENT_CLOSED, t_ns, note);
	return 0;
}

static int act_merge(
	struct ledger *l, struct story *s, const char *who, const char *text, int64_t t_ns)
{
	struct story *into = find(l, text);
	if (!into)
		return -ENOENT;
	if (into == s || str_eq(into->i.parent, s->i.id))
		return -EINVAL;
	story_set(&s->i.parent, into->i.id);
	story_note(s, t_ns, "part of %s, says %s", into->i.id, who);
	story_also(into, s);
	story_note(into, t_ns, "%s is part of it, says %s", s->i.id, who);
	tell(l, into, into->i.state);
	return 0;
}

int ledger_act(struct ledger *l, const char *id, enum incident_act act, const char *who,
	const char *text, int64_t t_ns)
{
	static const struct {
		int (*fn)(struct ledger *l, struct story *s, const char *who, const char *text,
			int64_t t_ns);
		bool needs_text;
	} acts[] = {
		[ACT_ACK] = {act_ack, false},
		[ACT_ASSIGN] = {act_assign, true},
		[ACT_NOTE] = {act_note, true},
		[ACT_CLOSE] = {act_close, false},
		[ACT_MERGE] = {act_merge, true},
	};
	struct story *s = find(l, id);
	if (!s)
		return -ENOENT;
	if (acts[act].needs_text && (!text || !*text))
		return -EINVAL;
	const enum incident_state from = s->i.state;
	const int r = acts[act].fn(l, s, who, text, t_ns);
	if (r == 0 && s->i.state == from)
		tell(l, s, from);
	return r;
}

/* ---- starting, reloading, forgetting ------------------------------------- */

static void drop_orphans(struct ledger *l)
{
	for (size_t k = 0; k < l->n_slots; k++) {
		struct story *s = l->slots[k].story;
		if (!s || !s->i.device || fabric_device(l->fabric, s->i.device))
			continue;
		slot_end(l, &l->slots[k]);
		if (s->i.state == INCIDENT_PENDING)
			story_free(s);
		else
			change(l, s, INCIDENT_CLOSED, s->i.updated_ns,
				"its device is no longer configured");
	}
}

void ledger_reload(struct ledger *l, const struct fabric *f)
{
	l->fabric = f;
	drop_orphans(l);
}

int ledger_restore(struct ledger *l, const char *json)
{
	struct story *s = story_parse(json);
	if (!s)
		return -EINVAL;
	struct slot *slot = slot_of(
		l, s->i.analyzer, s->i.device, s->i.port, s->i.priority, s->i.host, s->i.group);
	if (find(l, s->i.id) || (s->i.state != INCIDENT_CLOSED && slot->story)) {
		story_free(s);
		return -EEXIST;
	}
	add_told(l, s);
	if (s->i.updated_ns > slot->seen_ns)
		slot->seen_ns = s->i.updated_ns;
	if (s->i.state != INCIDENT_CLOSED) {
		slot_begin(l, slot, s);
		drop_orphans(l);
	}
	return 0;
}

void ledger_forget(struct ledger *l, int64_t t_ns)
{
	size_t n = 0;
	for (size_t k = 0; k < l->n_told; k++) {
		if (l->told[k]->i.state == INCIDENT_CLOSED && l->told[k]->i.closed_ns < t_ns)
			story_free(l->told[k]);
		else
			l->told[n++] = l->told[k];
	}
	l->n_told = n;
}
