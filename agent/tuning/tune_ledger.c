/* tune_ledger - see tune_ledger.h. */
#include "agent/tuning/tune_ledger.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/writer.h"

#define HISTORY_MAX 64
#define RECORDS_MAX 4096 /* proposals of years; more is a client gone wrong */

static const char *const state_names[TUNE_STATES] = {
	[TUNE_PROPOSED] = "proposed",
	[TUNE_ACCEPTED] = "accepted",
	[TUNE_REJECTED] = "rejected",
	[TUNE_APPLIED] = "applied",
	[TUNE_VERIFIED] = "verified",
	[TUNE_EXPIRED] = "expired",
	[TUNE_UNDONE] = "undone",
};
const char *tune_state_name(enum tune_state s)
{
	return (unsigned)s < TUNE_STATES ? state_names[s] : "unknown";
}

struct tune_ledger {
	struct tune_record **v;
	size_t n, cap;
	tune_ledger_fn *changed;
	void *arg;
};

struct tune_ledger *tune_ledger_new(tune_ledger_fn *changed, void *arg)
{
	struct tune_ledger *l = rw_calloc(1, sizeof(*l));
	l->changed = changed;
	l->arg = arg;
	return l;
}

static void record_free(struct tune_record *r)
{
	if (!r)
		return;
	json_decref(r->json);
	free(r->ports);
	free(r->rest);
	free(r->steps);
	free(r);
}

void tune_ledger_free(struct tune_ledger *l)
{
	if (!l)
		return;
	for (size_t k = 0; k < l->n; k++)
		record_free(l->v[k]);
	free(l->v);
	free(l);
}

/* ---- from and to JSON ---------------------------------------------------- */

static json_t *progress_of(const struct tune_record *r)
{
	return json_object_get(r->json, "progress");
}
static int64_t progress_get(const struct tune_record *r, const char *key)
{
	return json_integer_value(json_object_get(progress_of(r), key));
}

static size_t names_of(const json_t *array, const char ***ret)
{
	const size_t n = json_array_size(array);
	const char **v = rw_calloc(n + 1, sizeof(*v));
	size_t m = 0, k;
	const json_t *o;
	json_array_foreach (array, k, o)
		if (json_is_string(o))
			v[m++] = json_string_value(o);
	*ret = v;
	return m;
}

static int take_steps(struct tune_record *r)
{
	const json_t *changes = json_object_get(r->json, "changes"), *o;
	size_t k;
	r->steps = rw_calloc(json_array_size(changes) + 1, sizeof(*r->steps));
	json_array_foreach (changes, k, o) {
		struct tune_step *s = &r->steps[r->n_steps];
		if (tune_knob_parse(doc_word(o, "knob"), &s->knob) != 0)
			return -EINVAL;
		s->metric = tune_knob_metric(s->knob);
		s->current = doc_number(o, "current");
		s->proposed = doc_number(o, "proposed");
		s->programmed = doc_number(o, "programmed");
		if (!isfinite(s->proposed))
			return -EINVAL;
		r->n_steps++;
	}
	return r->n_steps ? 0 : -EINVAL;
}

static void take_life(struct tune_record *r)
{
	r->made_ns = progress_get(r, "made_ns");
	r->expires_ns = progress_get(r, "expires_ns");
	r->from_ns = progress_get(r, "from_ns");
	r->to_ns = progress_get(r, "to_ns");
	r->accepted_ns = progress_get(r, "accepted_ns");
	r->applied_ns = progress_get(r, "applied_ns");
	r->verified_ns = progress_get(r, "verified_ns");
	r->updated_ns = progress_get(r, "updated_ns");
	r->verdict = json_string_value(json_object_get(r->json, "verdict"));
}

/* Takes over @json. NULL: it is no record. */
static struct tune_record *record_new(json_t *json)
{
	struct tune_record *r = rw_calloc(1, sizeof(*r));
	const char *id = doc_word(json, "id"), *state = doc_word(json, "state");
	bool known = false;
	r->json = json;
	for (int k = 0; k < TUNE_STATES; k++) {
		if (str_eq(state_names[k], state)) {
			r->state = (enum tune_state)k;
			known = true;
		}
	}
	r->device = json_string_value(json_object_get(json, "device"));
	r->diagnosis = doc_word(json, "diagnosis");
	r->summary = doc_word(json, "summary");
	r->priority = (int)json_integer_value(json_object_get(json, "priority"));
	r->n_ports = names_of(json_object_get(json, "ports"), &r->ports);
	r->n_rest = names_of(json_object_get(json, "rest"), &r->rest);
	if (!known || strlen(id) != sizeof(r->id) - 1 || !r->device ||
		!json_is_object(progress_of(r)) || take_steps(r) != 0) {
		record_free(r);
		return NULL;
	}
	memcpy(r->id, id, sizeof(r->id));
	take_life(r);
	return r;
}

static void add(struct tune_ledger *l, struct tune_record *r)
{
	rw_grow(l->v, l->n, l->cap);
	l->v[l->n++] = r;
}

int tune_ledger_restore(struct tune_ledger *l, const char *json)
{
	json_t *o = json_loads(json, 0, NULL);
	if (!json_is_object(o)) {
		json_decref(o);
		return -EINVAL;
	}
	if (tune_ledger_find(l, doc_word(o, "id"))) {
		json_decref(o);
		return -EEXIST;
	}
	struct tune_record *r = record_new(o);
	if (!r)
		return -EINVAL;
	add(l, r);
	return 0;
}

static struct tune_record *find(const struct tune_ledger *l, const char *id)
{
	for (size_t k = 0; id && k < l->n; k++)
		if (strcasecmp(l->v[k]->id, id) == 0)
			return l->v[k];
	return NULL;
}

const struct tune_record *tune_ledger_find(const struct tune_ledger *l, const char *id)
{
	return find(l, id);
}

size_t tune_ledger_records(const struct tune_ledger *l, const struct tune_record *const **ret)
{
	*ret = (const struct tune_record *const *)l->v;
	return l->n;
}

/* ---- one function changes a record --------------------------------------- */

static void add_history(
	struct tune_record *r, const char *event, const char *who, const char *text, int64_t t_ns)
{
	json_t *history = json_object_get(r->json, "history");
	if (!json_is_array(history)) {
		history = json_array();
		json_object_set_new(r->json, "history", history);
	}
	if (json_array_size(history) >= HISTORY_MAX)
		json_array_remove(history, HISTORY_MAX / 2); /* the beginning and the newest stay */
	json_array_append_new(history,
		json_pack("{s:o, s:s, s:s, s:s}", "time", json_time(t_ns), "event", event, "who",
			who ? who : "", "text", text ? text : ""));
}

/* @event is the word in the history; @who NULL: rocewatch saw it by itself. */
static void move(struct tune_ledger *l, struct tune_record *r, enum tune_state to,
	const char *event, const char *who, const char *text, int64_t t_ns)
{
	static const struct {
		const char *time, *progress, *by;
	} stamps[TUNE_STATES] = {
		[TUNE_ACCEPTED] = {"accepted", "accepted_ns", "accepted_by"},
		[TUNE_REJECTED] = {"rejected", "rejected_ns", "rejected_by"},
		[TUNE_APPLIED] = {"applied", NULL, "applied_by"},
		[TUNE_VERIFIED] = {"verified", "verified_ns", "verified_by"},
	};
	const enum tune_state from = r->state;
	json_object_set_new(r->json, "state", json_string(tune_state_name(to)));
	if (to != from && stamps[to].time) {
		if (stamps[to].progress) {
			json_object_set_new(r->json, stamps[to].time, json_time(t_ns));
			json_object_set_new(
				progress_of(r), stamps[to].progress, json_integer(t_ns));
		}
		json_object_set_new(r->json, stamps[to].by, json_string_or_null(who));
	}
	json_object_set_new(progress_of(r), "updated_ns", json_integer(t_ns));
	r->state = to;
	take_life(r);
	add_history(r, event, who, text, t_ns);
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s: %s%s%s", r->id, event, text && *text ? ": " : "", text ? text : "");
	r->note = line.s;
	r->note_ns = t_ns;
	r->who = who ? who : "";
	if (l->changed)
		l->changed(l->arg, r, from);
	r->note = r->who = NULL;
}

void tune_ledger_note(struct tune_ledger *l, const char *id, const char *event, const char *text,
	int64_t t_ns, const char *key, json_t *value)
{
	struct tune_record *r = find(l, id);
	if (!r) {
		json_decref(value);
		return;
	}
	if (key)
		json_object_set_new(progress_of(r), key, value);
	if (event)
		move(l, r, r->state, event, NULL, text, t_ns);
	else if (l->changed)
		l->changed(l->arg, r, r->state);
}

/* ---- proposing ----------------------------------------------------------- */

static bool same_place(const struct tune_record *a, const struct tune_record *b)
{
	return a->priority == b->priority && str_eq(a->device, b->device) &&
		str_eq(a->diagnosis, b->diagnosis);
}

static void supersede(struct tune_ledger *l, const struct tune_record *by, int64_t t_ns)
{
	for (size_t k = 0; k < l->n; k++) {
		struct tune_record *r = l->v[k];
		if (r == by || r->state != TUNE_PROPOSED || !same_place(r, by))
			continue;
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s takes its place", by->id);
		move(l, r, TUNE_EXPIRED, "expired", NULL, text.s, t_ns);
	}
}

int tune_ledger_propose(struct tune_ledger *l, const json_t *sheet, const char *who, int64_t t_ns)
{
	struct tune_record *known = find(l, doc_word(sheet, "id"));
	if (!str_eq(doc_word(sheet, "advice"), "change"))
		return -EINVAL;
	if (known && known->state != TUNE_EXPIRED && known->state != TUNE_UNDONE)
		return -EALREADY;
	if (!known && l->n >= RECORDS_MAX)
		return -ENOSPC;
	json_t *json = json_deep_copy(sheet);
	if (known) /* its history goes on */
		json_object_set(json, "history", json_object_get(known->json, "history"));
	json_object_set_new(json, "state", json_string(state_names[TUNE_PROPOSED]));
	struct tune_record *r = record_new(json);
	if (!r)
		return -EINVAL;
	if (known) {
		for (size_t k = 0; k < l->n; k++)
			if (l->v[k] == known)
				l->v[k] = r;
		record_free(known);
	} else {
		add(l, r);
	}
	move(l, r, TUNE_PROPOSED, "proposed", who, r->summary, t_ns);
	supersede(l, r, t_ns);
	return 0;
}

/* ---- acts ---------------------------------------------------------------- */

static const char *const act_words[] = {[TUNE_ACCEPT] = "tune_accept",
	[TUNE_REJECT] = "tune_reject",
	[TUNE_APPLY] = "tune_applied",
	[TUNE_VERIFY] = "tune_verified"};

int tune_act_parse(const char *word, enum tune_act *ret)
{
	for (size_t k = 0; word && k < rw_countof(act_words); k++) {
		if (str_eq(act_words[k], word)) {
			*ret = (enum tune_act)k;
			return 0;
		}
	}
	return -EINVAL;
}

const char *tune_act_error(int error, enum tune_state state)
{
	static const char *const is[TUNE_STATES] = {"it is only proposed: accept it first",
		"it is accepted, and its values were not read back yet; 'tune applied' tells that "
		"it is in force",
		"it was rejected", "it is in force already", "it is verified already",
		"it expired; 'tune review' looks anew", "it was undone; 'tune review' looks anew"};
	switch (-error) {
	case ENOENT: return "there is no such sheet; 'rocewatch tune list' names them";
	case EINVAL:
		return "expected a reason (--why), a result, or a time that is not in the future";
	case ESTALE:
	case EPERM:
	case EALREADY: return is[state];
	}
	return strerror(-error);
}

/* Which states an act may start from. */
static int allowed(const struct tune_record *r, enum tune_act act)
{
	static const unsigned from[] = {
		[TUNE_ACCEPT] = 1u << TUNE_PROPOSED,
		[TUNE_REJECT] = 1u << TUNE_PROPOSED | 1u << TUNE_ACCEPTED,
		[TUNE_APPLY] = 1u << TUNE_PROPOSED | 1u << TUNE_ACCEPTED,
		[TUNE_VERIFY] = 1u << TUNE_APPLIED | 1u << TUNE_VERIFIED,
	};
	static const enum tune_state to[] = {[TUNE_ACCEPT] = TUNE_ACCEPTED,
		[TUNE_REJECT] = TUNE_REJECTED,
		[TUNE_APPLY] = TUNE_APPLIED,
		[TUNE_VERIFY] = TUNE_VERIFIED};
	if (from[act] & 1u << r->state)
		return 0;
	return r->state == to[act] ? -EALREADY : r->state == TUNE_EXPIRED ? -ESTALE : -EPERM;
}

static void set_applied(struct tune_ledger *l, struct tune_record *r, const char *who,
	const char *text, int64_t at_ns, int64_t t_ns)
{
	json_object_set_new(r->json, "applied", json_time(at_ns));
	json_object_set_new(progress_of(r), "applied_ns", json_integer(at_ns));
	move(l, r, TUNE_APPLIED, "applied", who, text, t_ns);
}

static void set_verified(struct tune_ledger *l, struct tune_record *r, const struct tune_act_in *in)
{
	rw_cleanup(str_done) struct str text = {0};
	const bool proven = !str_eq(doc_word(in->result, "verdict"), "inconclusive");
	str_addf(&text, "%s: %s", doc_word(in->result, "verdict"), doc_word(in->result, "why"));
	/* less data, asked later: what was proven stays so */
	if (!proven && r->state == TUNE_VERIFIED) {
		move(l, r, TUNE_VERIFIED, "verified", in->who, text.s, in->t_ns);
		return;
	}
	json_object_set_new(r->json, "verdict", json_string(doc_word(in->result, "verdict")));
	json_object_set_new(r->json, "verification", json_deep_copy(in->result));
	move(l, r, proven ? TUNE_VERIFIED : r->state, "verified", in->who, text.s, in->t_ns);
}

int tune_ledger_act(struct tune_ledger *l, const char *id, const struct tune_act_in *in)
{
	struct tune_record *r = find(l, id);
	if (!r)
		return -ENOENT;
	if (r->state <= TUNE_ACCEPTED && in->t_ns > r->expires_ns)
		move(l, r, TUNE_EXPIRED, "expired", NULL, "72 h have gone by", in->t_ns);
	const int rc = allowed(r, in->act);
	if (rc != 0)
		return rc;
	switch (in->act) {
	case TUNE_ACCEPT: move(l, r, TUNE_ACCEPTED, "accepted", in->who, in->text, in->t_ns); break;
	case TUNE_REJECT:
		if (!in->text || !*in->text)
			return -EINVAL;
		json_object_set_new(r->json, "rejected_why", json_string_or_null(in->text));
		move(l, r, TUNE_REJECTED, "rejected", in->who, in->text, in->t_ns);
		break;
	case TUNE_APPLY:
		if (in->at_ns > in->t_ns)
			return -EINVAL;
		if (r->state == TUNE_PROPOSED)
			move(l, r, TUNE_ACCEPTED, "accepted", in->who, "by applying it", in->t_ns);
		set_applied(l, r, in->who, "told", in->at_ns, in->t_ns);
		break;
	case TUNE_VERIFY:
		if (!*doc_word(in->result, "verdict"))
			return -EINVAL;
		set_verified(l, r, in);
		break;
	}
	return 0;
}

/* ---- what switches say --------------------------------------------------- */

static const uint16_t knob_metrics[TUNE_KNOBS] = {
	[KNOB_HEADROOM] = M_CFG_PG_HEADROOM,
	[KNOB_XOFF_LEVEL] = M_CFG_PG_XOFF_LEVEL,
	[KNOB_XON_LEVEL] = M_CFG_PG_XON_LEVEL,
	[KNOB_XON_OFFSET] = M_CFG_PG_XON_OFFSET,
	[KNOB_ALPHA] = M_CFG_PG_ALPHA_EXP,
	[KNOB_KMIN] = M_CFG_ECN_KMIN,
	[KNOB_KMAX] = M_CFG_ECN_KMAX,
	[KNOB_PMAX] = M_CFG_ECN_PMAX,
	[KNOB_WEIGHT] = M_CFG_ECN_WEIGHT,
};
unsigned tune_knob_metric(enum tune_knob k)
{
	return knob_metrics[k];
}
size_t tune_metrics(const uint16_t **ret)
{
	*ret = knob_metrics;
	return TUNE_KNOBS;
}

double tune_value(enum tune_knob k, uint64_t stored)
{
	const double v = sample_number(knob_metrics[k], stored);
	return k == KNOB_ALPHA ? exp2(v) : v;
}

#define ROUNDING 0.02
bool tune_same(double value, double wanted, double other)
{
	if (!isfinite(value) || !isfinite(wanted))
		return false;
	double within = ROUNDING * fabs(wanted);
	if (isfinite(other) && fabs(wanted - other) / 2 < within)
		within = fabs(wanted - other) / 2;
	return fabs(value - wanted) <= within;
}

static bool is_proposed(const struct tune_step *s, double v)
{
	return tune_same(v, s->proposed, s->current) || tune_same(v, s->programmed, s->current);
}

static bool concerns(const struct tune_record *r, const struct entity *e)
{
	if (!e || e->priority != r->priority || !str_eq(e->device, r->device))
		return false;
	for (size_t k = 0; k < r->n_ports; k++)
		if (str_eq(e->port, r->ports[k]))
			return true;
	return r->n_ports == 0;
}

static bool is_reading(const struct series *s, uint32_t i, int64_t to_ns)
{
	return s->t_ns[i] <= to_ns && !(s->flags[i] & (SF_DECLARED | SF_LATE | SF_SUSPECT));
}

struct look {
	unsigned proposed, current, other;
	int64_t since_ns[2], before_ns[2]; /* of proposed, of current */
};

/* When the last run of values that are @want began, and the last reading before it. */
static void run_of(const struct tune_step *step, const struct series *s, int64_t to_ns,
	bool proposed, int64_t *since, int64_t *before)
{
	int64_t began = INT64_MIN, last_other = INT64_MIN;
	for (uint32_t i = 0; i < s->n; i++) {
		if (!is_reading(s, i, to_ns))
			continue;
		const double v = tune_value(step->knob, s->value[i]);
		const bool is = proposed ? is_proposed(step, v)
					 : tune_same(v, step->current, step->proposed);
		if (!is) {
			last_other = s->t_ns[i];
			began = INT64_MIN;
		} else if (began == INT64_MIN) {
			began = s->t_ns[i];
		}
	}
	*since = began > *since ? began : *since;
	*before = last_other > *before ? last_other : *before;
}

static void look_at(const struct tune_step *step, const struct series *s, const struct entity *e,
	int64_t to_ns, struct arena *a, struct look *k, struct tune_read *ret)
{
	double now = NAN;
	for (uint32_t i = 0; i < s->n; i++)
		if (is_reading(s, i, to_ns))
			now = tune_value(step->knob, s->value[i]);
	if (isnan(now))
		return;
	const bool proposed = is_proposed(step, now),
		   current = tune_same(now, step->current, step->proposed);
	k->proposed += proposed;
	k->current += current && !proposed;
	if (!proposed && !current && !k->other++)
		ret->text = arena_printf(a,
			"%s of %s %s is %.10g %s, neither the %.10g it was nor the %.10g proposed",
			tune_knob_name(step->knob), e->device, e->port, now,
			tune_knob_unit(step->knob), step->current, step->proposed);
	run_of(step, s, to_ns, true, &k->since_ns[0], &k->before_ns[0]);
	run_of(step, s, to_ns, false, &k->since_ns[1], &k->before_ns[1]);
}

void tune_read_back(
	const struct tune_record *r, const struct window *w, struct arena *a, struct tune_read *ret)
{
	struct look k = {.since_ns = {INT64_MIN, INT64_MIN}, .before_ns = {INT64_MIN, INT64_MIN}};
	*ret = (struct tune_read){.since_ns = INT64_MIN, .before_ns = INT64_MIN};
	for (size_t i = 0; i < w->n_series; i++) {
		const struct series *s = &w->series[i];
		for (size_t step = 0; step < r->n_steps; step++) {
			const struct entity *e = s->metric == r->steps[step].metric
				? entity_get(w->entities, s->entity)
				: NULL;
			if (concerns(r, e))
				look_at(&r->steps[step], s, e, w->to_ns, a, &k, ret);
		}
	}
	if (k.other)
		ret->reading = TUNE_READ_OTHER;
	else if (k.proposed && k.current)
		ret->reading = TUNE_READ_MIXED;
	else if (k.proposed || k.current)
		ret->reading = k.proposed ? TUNE_READ_PROPOSED : TUNE_READ_CURRENT;
	if (ret->reading == TUNE_READ_PROPOSED || ret->reading == TUNE_READ_CURRENT) {
		ret->since_ns = k.since_ns[k.current > 0];
		ret->before_ns = k.before_ns[k.current > 0];
	}
}

static void look_open(
	struct tune_ledger *l, struct tune_record *r, const struct tune_read *read, int64_t t_ns)
{
	if (read->reading == TUNE_READ_PROPOSED && r->state == TUNE_ACCEPTED)
		set_applied(l, r, NULL, "the proposed values were read back", read->since_ns, t_ns);
	else if (read->reading == TUNE_READ_PROPOSED)
		move(l, r, TUNE_EXPIRED, "expired", NULL,
			"its values were set without having been accepted", t_ns);
	else if (read->reading == TUNE_READ_OTHER)
		move(l, r, TUNE_EXPIRED, "expired", NULL, read->text, t_ns);
	else if (t_ns > r->expires_ns)
		move(l, r, TUNE_EXPIRED, "expired", NULL, "72 h have gone by", t_ns);
}

static void look_record(
	struct tune_ledger *l, struct tune_record *r, const struct window *w, int64_t t_ns)
{
	rw_cleanup(arena_freep) struct arena *a = NULL;
	struct tune_read read;
	if (r->state != TUNE_PROPOSED && r->state != TUNE_ACCEPTED && r->state != TUNE_APPLIED &&
		r->state != TUNE_VERIFIED)
		return;
	a = arena_new();
	tune_read_back(r, w, a, &read);
	if (r->state == TUNE_PROPOSED || r->state == TUNE_ACCEPTED)
		look_open(l, r, &read, t_ns);
	else if (read.reading == TUNE_READ_CURRENT && read.since_ns > r->applied_ns)
		move(l, r, TUNE_UNDONE, "undone", NULL, "the values of before were read back",
			t_ns);
	else if (read.reading == TUNE_READ_OTHER &&
		r->state == TUNE_APPLIED) /* there is nothing left to verify */
		move(l, r, TUNE_UNDONE, "undone", NULL, read.text, t_ns);
}

void tune_ledger_look(struct tune_ledger *l, const struct window *w, int64_t t_ns)
{
	for (size_t k = 0; k < l->n; k++)
		look_record(l, l->v[k], w, t_ns);
}

void tune_ledger_look_one(
	struct tune_ledger *l, const char *id, const struct window *w, int64_t t_ns)
{
	struct tune_record *r = find(l, id);
	if (r)
		look_record(l, r, w, t_ns);
}

/* ---- what was agreed to -------------------------------------------------- */

static void expect(struct expected_change *v, size_t *n, const struct tune_record *r,
	const char *device, const struct tune_step *s, double value)
{
	if (!isfinite(value))
		return;
	v[(*n)++] = (struct expected_change){.device = device,
		.priority = r->priority,
		.metric = (uint16_t)s->metric,
		.from_ns = r->accepted_ns,
		.until_ns = r->state == TUNE_UNDONE ? r->updated_ns : INT64_MAX,
		.value = s->knob == KNOB_ALPHA ? log2(value) : value};
}

size_t tune_ledger_expected(
	const struct tune_ledger *l, struct arena *a, struct expected_change **ret)
{
	size_t n = 0, room = 0;
	for (size_t k = 0; k < l->n; k++)
		room += l->v[k]->n_steps * 3 * (l->v[k]->n_rest + 1);
	*ret = arena_array(a, struct expected_change, room + 1);
	for (size_t k = 0; k < l->n; k++) {
		const struct tune_record *r = l->v[k];
		if (r->state != TUNE_ACCEPTED && r->state != TUNE_APPLIED &&
			r->state != TUNE_VERIFIED && r->state != TUNE_UNDONE)
			continue;
		for (size_t d = 0; d <= r->n_rest; d++) {
			for (size_t s = 0; s < r->n_steps; s++) {
				const char *device = d ? r->rest[d - 1] : r->device;
				expect(*ret, &n, r, device, &r->steps[s], r->steps[s].proposed);
				expect(*ret, &n, r, device, &r->steps[s], r->steps[s].programmed);
				if (r->state != TUNE_ACCEPTED) /* and back again */
					expect(*ret, &n, r, device, &r->steps[s],
						r->steps[s].current);
			}
		}
	}
	return n;
}
