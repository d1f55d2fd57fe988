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

struct ledger *ledger_new(const struct fabric *fabric, ledger_fn *changed, void *arg)
{
	struct ledger *l = rw_calloc(1, sizeof(*l));
	l->fabric = fabric;
	l->changed = changed;
	l->arg = arg;
	l->keys = smap_new();
	return l;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	for (size_t k = 0; k < ledger->n_slots; k++) {
		if (ledger->slots[k].story && ledger->slots[k].story->i.state == INCIDENT_PENDING)
			story_free(ledger->slots[k].story);
	}
	for (size_t k = 0; k < ledger->n_told; k++)
		story_free(ledger->told[k]);
	for (size_t k = 0; k < ledger->n_watched; k++)
		free(ledger->watched[k].analyzer);
	free(ledger->watched);
	free(ledger->slots);
	free(ledger->told);
	free(ledger->sorted);
	smap_free(ledger->keys);
	free(ledger);
}

/* ---- finding the story --------------------------------------------------- */

static struct slot *ledger_slot_of(struct ledger *ledger, const char *analyzer, const char *device,
	const char *port, int priority, const char *host, const char *group)
{
	const char *parts[] = {analyzer, device, port, host, group};
	rw_cleanup(str_done) struct str key = {0};
	for (size_t k = 0; k < rw_countof(parts); k++) {
		const char *text = "";
		if (parts[k])
			text = parts[k];
		str_addn(&key, text, strlen(text) + 1);
	}
	str_addf(&key, "%d", priority);

	uint64_t index;
	if (!smap_get(ledger->keys, key.s, key.n, &index)) {
		index = ledger->n_slots;
		rw_grow(ledger->slots, ledger->n_slots, ledger->cap_slots);
		ledger->slots[ledger->n_slots++] = (struct slot){.seen_ns = INT64_MIN};
		smap_put(ledger->keys, key.s, key.n, index);
	}
	return &ledger->slots[index];
}

static struct watched *watched_of(const struct ledger *ledger, const char *analyzer)
{
	for (size_t k = 0; k < ledger->n_watched; k++)
		if (strcmp(ledger->watched[k].analyzer, analyzer) == 0)
			return &ledger->watched[k];
	return NULL;
}

/* The only places where a story comes into a slot and leaves it. */
static void slot_begin(struct ledger *ledger, struct slot *slot, struct story *story)
{
	struct watched *w = watched_of(ledger, story->i.analyzer);
	if (!w) {
		rw_grow(ledger->watched, ledger->n_watched, ledger->cap_watched);
		w = &ledger->watched[ledger->n_watched++];
		*w = (struct watched){.analyzer = rw_strdup(story->i.analyzer)};
	}
	w->n++;
	slot->story = story;
}

static void slot_end(struct ledger *ledger, struct slot *slot)
{
	watched_of(ledger, slot->story->i.analyzer)->n--;
	slot->story = NULL;
}

static void add_told(struct ledger *ledger, struct story *story)
{
	rw_grow(ledger->told, ledger->n_told, ledger->cap_told);
	ledger->told[ledger->n_told++] = story;
}

/* ---- telling ------------------------------------------------------------- */

static void ledger_tell(struct ledger *ledger, struct story *story, enum incident_state from)
{
	story_refresh(story);
	if (ledger->changed)
		ledger->changed(ledger->arg, &story->i, from);
	story_set(&story->i.note, NULL);
}

/* What was changed, or happened to a device, in the half hour before a story began: a person asks
 * for that first. */
static void gather_changes(struct ledger *ledger, struct story *story)
{
	json_t *changes = json_array();
	for (size_t k = 0; k < ledger->n_told; k++) {
		const struct incident *i = &ledger->told[k]->i;
		if (i == &story->i || !cause_has(i->cause, CAUSE_IS_CHANGE) ||
			i->first_ns > story->i.first_ns ||
			i->first_ns < story->i.first_ns - CHANGE_NS)
			continue;
		char t[WALL_TEXT_MAX];
		json_array_append_new(changes,
			json_sprintf("%s %s: %s", wall_format(t, (wall_t){i->first_ns}, 0), i->id,
				i->summary ? i->summary : cause_name(i->cause)));
	}
	json_object_set_new(story->i.json, "changed_before", changes);
}

/* The only place that changes .state. @note says why, for the timeline. */
static void ledger_change(struct ledger *ledger, struct story *story, enum incident_state to,
	int64_t t_ns, const char *note)
{
	enum incident_state from = story->i.state;
	assert(from != to && from != INCIDENT_CLOSED);
	story->i.state = to;
	switch (to) {
	case INCIDENT_OPEN:
		story->i.under = 0;
		if (from == INCIDENT_PENDING) {
			story->i.opened_ns = t_ns;
			story_name(story, ledger->fabric);
			gather_changes(ledger, story);
			add_told(ledger, story);
		}
		break;
	case INCIDENT_CLEARING: story->i.over = 0; break;
	case INCIDENT_CLOSED: story->i.closed_ns = t_ns; break;
	case INCIDENT_PENDING: break;
	}
	story_note(story, t_ns, "%s: %s", incident_state_name(to), note);
	ledger_tell(ledger, story, from);
}

/* ---- one finding --------------------------------------------------------- */

static double strength_of(const struct finding *finding)
{
	double s;
	if (isfinite(finding->warn) && finding->warn > 0)
		s = finding->value / finding->warn;
	else
		s = finding->value;
	if (isnan(s))
		return 0;
	return s;
}

/*
 * Should the story now say what this finding says? The rule for another cause is in ledger.h. Fills
 * the note when the cause changed.
 */
static bool judge_cause(struct story *story, const struct finding *finding)
{
	if (story->i.cause == finding->cause) {
		story->candidate = CAUSE_NONE;
		story->candidate_windows = 0;
		return strength_of(finding) >= story->strength &&
			!(finding->confidence_ratio < story->i.confidence_ratio - LESS_SURE);
	}
	if (story->candidate != finding->cause) {
		story->candidate = finding->cause;
		story->candidate_windows = 0;
	}
	story->candidate_windows++;
	/* an unknown confidence on either side does not hold it up */
	bool as_sure = !(finding->confidence_ratio < story->i.confidence_ratio),
	     clearly_less = finding->confidence_ratio < story->i.confidence_ratio - LESS_SURE;
	if (clearly_less || (!as_sure && story->candidate_windows < story->hold))
		return false;
	if (story->i.state != INCIDENT_PENDING)
		story_note(story, finding->to_ns, "cause: %s, was %s", cause_name(finding->cause),
			cause_name(story->i.cause));
	story->i.cause = finding->cause;
	story->candidate = CAUSE_NONE;
	story->candidate_windows = 0;
	return true;
}

/* ---- one fault, one story ------------------------------------------------ */

/* How many of the latest judged windows decide about opening. */
static uint32_t span_of(const struct story *story)
{
	const uint32_t hold = story->hold;
	if (hold < 3)
		return 2 * hold - 1;
	return hold + 2;
}

static uint32_t ledger_recently(const struct story *story)
{
	const uint32_t span = span_of(story);
	if (span > RECENT_MAX)
		return story->i.over;
	return (uint32_t)__builtin_popcountll(story->recent & ((UINT64_C(1) << span) - 1));
}

/* Two of the same cause: the older speaks for both, else the one that comes first by name. */
static bool speaks_first(const struct incident *left, const struct incident *right)
{
	if (left->cause != right->cause)
		return true;
	if (left->first_ns != right->first_ns)
		return left->first_ns < right->first_ns;
	/* of one device: the table alone decides */
	return name_compare(str_or(left->device, ""), str_or(right->device, "")) <= 0;
}

static bool could_explain(
	const struct ledger *ledger, const struct story *by, const struct story *story)
{
	return by && by != story && !str_eq(by->i.parent, story->i.id) &&
		speaks_first(&by->i, &story->i) &&
		!(by->i.confidence_ratio < story->i.confidence_ratio - FAR_LESS_SURE) &&
		explains(ledger->fabric, &by->i, &story->i);
}

/* The story that explains this one: an open one before a pending one, the older before the younger.
 * NULL: it stands for itself. */
static struct story *ledger_explanation(const struct ledger *ledger, const struct story *story)
{
	struct story *best = NULL;
	for (size_t k = 0; k < ledger->n_slots; k++) {
		struct story *by = ledger->slots[k].story;
		if (!could_explain(ledger, by, story) ||
			(by->i.state == INCIDENT_PENDING && ledger_recently(by) == 0))
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
static bool stands_alone(struct ledger *ledger, struct story *story, int64_t t_ns)
{
	struct story *by = ledger_explanation(ledger, story);
	if (!by)
		return true;
	if (by->i.state == INCIDENT_PENDING)
		return story->waited++ > by->hold + 1;
	if (!str_eq(story->folded, by->i.id)) {
		memcpy(story->folded, by->i.id, sizeof(story->folded));
		if (story_also(by, story)) {
			story_note(by, t_ns, "also: %s",
				story->i.summary ? story->i.summary : cause_name(story->i.cause));
			ledger_tell(ledger, by, by->i.state);
		}
	}
	return false;
}

/* An open story learns what explains it. */
static void ledger_adopt(struct ledger *ledger, struct story *story, int64_t t_ns)
{
	struct story *by = NULL;
	if (!story->i.parent)
		by = ledger_explanation(ledger, story);
	if (!by || by->i.state == INCIDENT_PENDING)
		return;
	story_set(&story->i.parent, by->i.parent ? by->i.parent : by->i.id);
	story_note(story, t_ns, "explained by %s: %s", by->i.id,
		by->i.summary ? by->i.summary : cause_name(by->i.cause));
	if (story_also(by, story)) {
		story_note(by, t_ns, "explains %s: %s", story->i.id,
			story->i.summary ? story->i.summary : cause_name(story->i.cause));
		ledger_tell(ledger, by, by->i.state);
	}
}

static void take_over(struct ledger *ledger, struct slot *slot, const struct finding *finding)
{
	struct story *s = slot->story;
	if (!s) {
		s = story_new(finding);
		slot_begin(ledger, slot, s);
		s->i.first_ns = finding->from_ns;
		s->i.severity = finding->severity;
	}
	if (finding->hold > 0)
		s->hold = finding->hold;
	else
		s->hold = 1;
	s->i.over++;
	s->i.windows++;
	s->i.under = 0;
	s->recent = s->recent << 1 | 1;
	s->i.updated_ns = finding->to_ns;
	if (judge_cause(s, finding) || !s->described) {
		story_describe(s, finding);
		s->strength = strength_of(finding);
	}
	story_impact(s, ledger->fabric);
	cost_over(&s->cost, finding);
	story_price(s, ledger->fabric);
	bool risen = finding->severity > s->i.severity;
	if (risen)
		s->i.severity = finding->severity;

	switch (s->i.state) {
	case INCIDENT_PENDING:
		if (ledger_recently(s) < s->hold || !stands_alone(ledger, s, finding->to_ns))
			return;
		if (s->hold == 1) {
			ledger_change(ledger, s, INCIDENT_OPEN, finding->to_ns,
				s->i.summary ? s->i.summary : cause_name(s->i.cause));
		} else {
			char note[640];
			if (s->i.over >= s->hold)
				snprintf(note, sizeof(note), "%" PRIu32 " windows in a row: %s",
					s->i.over,
					s->i.summary ? s->i.summary : cause_name(s->i.cause));
			else
				snprintf(note, sizeof(note),
					"%" PRIu32 " of the last %" PRIu32 " windows: %s",
					ledger_recently(s), span_of(s),
					s->i.summary ? s->i.summary : cause_name(s->i.cause));
			ledger_change(ledger, s, INCIDENT_OPEN, finding->to_ns, note);
		}
		return;
	case INCIDENT_CLEARING:
		ledger_change(ledger, s, INCIDENT_OPEN, finding->to_ns, "it is back");
		return;
	case INCIDENT_OPEN:
		if (risen)
			story_note(s, finding->to_ns, "severity: %s", severity_name(s->i.severity));
		ledger_adopt(ledger, s, finding->to_ns);
		ledger_tell(ledger, s, INCIDENT_OPEN);
		return;
	case INCIDENT_CLOSED: break;
	}
	assert(!"a closed story keeps no slot");
}

static void take_under(struct ledger *ledger, struct slot *slot, const struct finding *finding)
{
	struct story *s = slot->story;
	if (!s)
		return;
	s->recent <<= 1;
	s->i.under++;
	s->i.updated_ns = finding->to_ns;
	if (s->i.state == INCIDENT_PENDING) {
		s->i.over = 0;
		if (ledger_recently(s) == 0) {
			slot_end(ledger, slot);
			story_free(s);
		}
		return;
	}
	if (s->i.state == INCIDENT_OPEN)
		ledger_change(
			ledger, s, INCIDENT_CLEARING, finding->to_ns, "looked for and not there");
	else if (s->i.under < s->hold)
		ledger_tell(ledger, s, INCIDENT_CLEARING);
	if (s->i.under >= s->hold) {
		ledger_change(ledger, s, INCIDENT_CLOSED, finding->to_ns,
			"gone for as many windows as it took to open");
		slot_end(ledger, slot);
	}
}

void ledger_take(struct ledger *ledger, const struct finding *finding)
{
	if (finding->verdict != FINDING_OVER && finding->verdict != FINDING_UNDER)
		return;
	/* Most of what is told is that nothing is there, of a subject that has no story: hundreds
	 * of thousands a window in a large fabric. */
	const struct watched *w = NULL;
	if (finding->verdict == FINDING_UNDER)
		w = watched_of(ledger, finding->analyzer);
	if (finding->verdict == FINDING_UNDER && (!w || w->n == 0))
		return;
	struct slot *slot = ledger_slot_of(ledger, finding->analyzer, finding->device,
		finding->port, finding->priority, finding->host, finding->group);
	if (finding->to_ns <= slot->seen_ns)
		return;
	slot->seen_ns = finding->to_ns;
	if (finding->verdict == FINDING_OVER)
		take_over(ledger, slot, finding);
	else
		take_under(ledger, slot, finding);
}

/* ---- what it costs ------------------------------------------------------- */

/* One that hurts a job now: its loss is shared among these. */
struct claimant {
	struct story *story;
	struct cost_job *job;
};

static bool ledger_claims(const struct story *story)
{
	return (story->i.state == INCIDENT_OPEN ||
		       (story->i.state == INCIDENT_PENDING && ledger_recently(story) > 0)) &&
		!story->i.parent && !story->folded[0] &&
		cause_has(story->i.cause, CAUSE_MAY_COST) &&
		(story->i.severity > SEV_INFO || story->cost.claim_ratio > 0);
}

/* It says that something is slow, not why: what a story with a reason claims is not its own. */
static bool is_symptom(const struct story *story)
{
	return cause_has(story->i.cause, CAUSE_IS_SYMPTOM);
}

/* By what each claims itself when all do, else alike. Where throughput did not fall there is
 * nothing to share. */
static double ledger_share_of(
	const struct claimant *claimants, size_t n, const struct claimant *one)
{
	double sum = 0;
	size_t others = 0;
	bool all = true, reason = false;
	for (size_t k = 0; k < n; k++)
		reason = reason ||
			(claimants[k].job->fell && ledger_claims(claimants[k].story) &&
				!is_symptom(claimants[k].story));
	if (reason && is_symptom(one->story))
		return 0;
	for (size_t k = 0; k < n; k++) {
		if (!claimants[k].job->fell || !ledger_claims(claimants[k].story) ||
			(reason && is_symptom(claimants[k].story)))
			continue;
		others += claimants[k].story != one->story;
		all = all && claimants[k].story->cost.claim_ratio > 0;
		sum += claimants[k].story->cost.claim_ratio;
	}
	if (!ledger_claims(one->story)) {
		if (one->story->i.state == INCIDENT_CLEARING && !isnan(one->job->share_ratio))
			return one->job->share_ratio;
		return 0;
	}
	if (!one->job->fell || others == 0)
		return 1;
	if (all)
		return one->story->cost.claim_ratio / sum;
	return 1.0 / (double)(others + 1);
}

static void take_rate(struct ledger *ledger, const struct job_rate *rate)
{
	struct claimant *v = rw_calloc(ledger->n_slots + 1, sizeof(*v));
	size_t n = 0;
	for (size_t k = 0; k < ledger->n_slots; k++) {
		struct story *s = ledger->slots[k].story;
		if (!s || s->folded[0] || !cause_has(s->i.cause, CAUSE_MAY_COST) ||
			!story_concerns(s, ledger->fabric, rate->job))
			continue;
		v[n] = (struct claimant){s, cost_measure(&s->cost, rate, s->i.first_ns)};
		n += v[n].job != NULL;
	}
	for (size_t k = 0; k < n; k++)
		cost_count(v[k].job, rate, ledger_share_of(v, n, &v[k]),
			v[k].story->i.severity == SEV_CRITICAL);
	free(v);
}

void ledger_rates(struct ledger *ledger, const struct job_rate *rates, size_t n)
{
	for (size_t k = 0; k < n; k++)
		take_rate(ledger, &rates[k]);
	for (size_t k = 0; n > 0 && k < ledger->n_slots; k++) {
		struct story *s = ledger->slots[k].story;
		const int64_t to_ns = rates[0].from_ns + (int64_t)rates[0].n * rates[0].block_ns;
		if (s && to_ns > s->cost.to_ns)
			s->cost.to_ns = to_ns;
	}
}

/* ---- asking -------------------------------------------------------------- */

static int sorted_compare(const void *left, const void *right)
{
	return incident_compare(
		*(const struct incident *const *)left, *(const struct incident *const *)right);
}

size_t ledger_incidents(const struct ledger *ledger, const struct incident ***ret)
{
	struct ledger *m = (struct ledger *)ledger; /* the sorted view is a cache, not state */
	if (m->cap_sorted < ledger->n_told) {
		m->cap_sorted = ledger->cap_told;
		m->sorted = rw_realloc(m->sorted, m->cap_sorted * sizeof(*m->sorted));
	}
	for (size_t k = 0; k < ledger->n_told; k++)
		m->sorted[k] = &ledger->told[k]->i;
	if (ledger->n_told)
		qsort(m->sorted, ledger->n_told, sizeof(*m->sorted), sorted_compare);
	*ret = m->sorted;
	return ledger->n_told;
}

static struct story *ledger_story(const struct ledger *ledger, const char *id)
{
	for (size_t k = ledger->n_told; k-- > 0;) {
		if (strcasecmp(ledger->told[k]->i.id, id) == 0)
			return ledger->told[k];
	}
	return NULL;
}

const struct incident *ledger_find(const struct ledger *ledger, const char *id)
{
	const struct story *s = ledger_story(ledger, id);
	if (s)
		return &s->i;
	return NULL;
}

/* ---- what people do ------------------------------------------------------ */

static int act_ack(
	struct ledger *ledger, struct story *story, const char *who, const char *text, int64_t t_ns)
{
	story_set(&story->i.acked_by, who);
	json_object_set_new(
		story->i.json, "ack_note", text && *text ? json_string(text) : json_null());
	story_note(story, t_ns, text && *text ? "acknowledged by %s: %s" : "acknowledged by %s",
		who, text);
	return 0;
}

static int act_assign(
	struct ledger *ledger, struct story *story, const char *who, const char *text, int64_t t_ns)
{
	json_object_set_new(story->i.json, "assigned_to", json_string(text));
	story_note(story, t_ns, "assigned to %s by %s", text, who);
	return 0;
}

static int act_note(
	struct ledger *ledger, struct story *story, const char *who, const char *text, int64_t t_ns)
{
	story_note(story, t_ns, "%s: %s", who, text);
	return 0;
}

static int act_close(
	struct ledger *ledger, struct story *story, const char *who, const char *text, int64_t t_ns)
{
	char note[640];
	if (story->i.state == INCIDENT_CLOSED)
		return -EALREADY;
	for (size_t k = 0; k < ledger->n_slots; k++)
		if (ledger->slots[k].story == story)
			slot_end(ledger, &ledger->slots[k]);
	snprintf(note, sizeof(note), "by %s%s%s", who, str_if(text && *text, ": "),
		str_or(text, ""));
	ledger_change(ledger, story, INCIDENT_CLOSED, t_ns, note);
	return 0;
}

static int act_merge(
	struct ledger *ledger, struct story *story, const char *who, const char *text, int64_t t_ns)
{
	struct story *into = ledger_story(ledger, text);
	if (!into)
		return -ENOENT;
	if (into == story || str_eq(into->i.parent, story->i.id))
		return -EINVAL;
	story_set(&story->i.parent, into->i.id);
	story_note(story, t_ns, "part of %s, says %s", into->i.id, who);
	story_also(into, story);
	story_note(into, t_ns, "%s is part of it, says %s", story->i.id, who);
	ledger_tell(ledger, into, into->i.state);
	return 0;
}

int ledger_act(struct ledger *ledger, const char *id, enum incident_act act, const char *who,
	const char *text, int64_t t_ns)
{
	static const struct {
		int (*fn)(struct ledger *ledger, struct story *story, const char *who,
			const char *text, int64_t t_ns);
		bool needs_text;
	} acts[] = {
		[ACT_ACK] = {act_ack, false},
		[ACT_ASSIGN] = {act_assign, true},
		[ACT_NOTE] = {act_note, true},
		[ACT_CLOSE] = {act_close, false},
		[ACT_MERGE] = {act_merge, true},
	};
	struct story *s = ledger_story(ledger, id);
	if (!s)
		return -ENOENT;
	if (acts[act].needs_text && (!text || !*text))
		return -EINVAL;
	const enum incident_state from = s->i.state;
	const int r = acts[act].fn(ledger, s, who, text, t_ns);
	if (r == 0 && s->i.state == from)
		ledger_tell(ledger, s, from);
	return r;
}

/* ---- starting, reloading, forgetting ------------------------------------- */

static void drop_orphans(struct ledger *ledger)
{
	for (size_t k = 0; k < ledger->n_slots; k++) {
		struct story *s = ledger->slots[k].story;
		if (!s || !s->i.device || fabric_device(ledger->fabric, s->i.device))
			continue;
		slot_end(ledger, &ledger->slots[k]);
		if (s->i.state == INCIDENT_PENDING)
			story_free(s);
		else
			ledger_change(ledger, s, INCIDENT_CLOSED, s->i.updated_ns,
				"its device is no longer configured");
	}
}

void ledger_reload(struct ledger *ledger, const struct fabric *fabric)
{
	ledger->fabric = fabric;
	drop_orphans(ledger);
}

int ledger_restore(struct ledger *ledger, const char *json)
{
	struct story *s = story_parse(json);
	if (!s)
		return -EINVAL;
	struct slot *slot = ledger_slot_of(ledger, s->i.analyzer, s->i.device, s->i.port,
		s->i.priority, s->i.host, s->i.group);
	if (ledger_story(ledger, s->i.id) || (s->i.state != INCIDENT_CLOSED && slot->story)) {
		story_free(s);
		return -EEXIST;
	}
	add_told(ledger, s);
	if (s->i.updated_ns > slot->seen_ns)
		slot->seen_ns = s->i.updated_ns;
	if (s->i.state != INCIDENT_CLOSED) {
		slot_begin(ledger, slot, s);
		drop_orphans(ledger);
	}
	return 0;
}

void ledger_forget(struct ledger *ledger, int64_t t_ns)
{
	size_t n = 0;
	for (size_t k = 0; k < ledger->n_told; k++) {
		if (ledger->told[k]->i.state == INCIDENT_CLOSED &&
			ledger->told[k]->i.closed_ns < t_ns)
			story_free(ledger->told[k]);
		else
			ledger->told[n++] = ledger->told[k];
	}
	ledger->n_told = n;
}
