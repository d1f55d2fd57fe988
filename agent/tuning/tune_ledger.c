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
#include "agent/document/json_value.h"

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
const char *tune_state_name(enum tune_state state)
{
	if ((unsigned)state < TUNE_STATES)
		return state_names[state];
	return "unknown";
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

static void record_free(struct tune_record *record)
{
	if (!record)
		return;
	json_decref(record->json);
	free(record->ports);
	free(record->rest);
	free(record->steps);
	free(record);
}

void tune_ledger_free(struct tune_ledger *ledger)
{
	if (!ledger)
		return;
	for (size_t k = 0; k < ledger->n; k++)
		record_free(ledger->v[k]);
	free(ledger->v);
	free(ledger);
}

/* ---- from and to JSON ---------------------------------------------------- */

static json_t *progress_of(const struct tune_record *record)
{
	return json_object_get(record->json, "progress");
}
static int64_t progress_get(const struct tune_record *record, const char *key)
{
	return json_integer_value(json_object_get(progress_of(record), key));
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

static int take_steps(struct tune_record *record)
{
	const json_t *changes = json_object_get(record->json, "changes"), *o;
	size_t k;
	record->steps = rw_calloc(json_array_size(changes) + 1, sizeof(*record->steps));
	json_array_foreach (changes, k, o) {
		struct tune_step *s = &record->steps[record->n_steps];
		if (tune_knob_parse(doc_word(o, "knob"), &s->knob) != 0)
			return -EINVAL;
		s->metric = tune_knob_metric(s->knob);
		s->current = doc_number(o, "current");
		s->proposed = doc_number(o, "proposed");
		s->programmed = doc_number(o, "programmed");
		if (!isfinite(s->proposed))
			return -EINVAL;
		record->n_steps++;
	}
	if (record->n_steps)
		return 0;
	return -EINVAL;
}

static void take_life(struct tune_record *record)
{
	record->made_ns = progress_get(record, "made_ns");
	record->expires_ns = progress_get(record, "expires_ns");
	record->from_ns = progress_get(record, "from_ns");
	record->to_ns = progress_get(record, "to_ns");
	record->accepted_ns = progress_get(record, "accepted_ns");
	record->applied_ns = progress_get(record, "applied_ns");
	record->verified_ns = progress_get(record, "verified_ns");
	record->updated_ns = progress_get(record, "updated_ns");
	record->verdict = json_string_value(json_object_get(record->json, "verdict"));
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

static void tune_ledger_add(struct tune_ledger *ledger, struct tune_record *record)
{
	rw_grow(ledger->v, ledger->n, ledger->cap);
	ledger->v[ledger->n++] = record;
}

int tune_ledger_restore(struct tune_ledger *ledger, const char *json)
{
	json_t *o = json_loads(json, 0, NULL);
	if (!json_is_object(o)) {
		json_decref(o);
		return -EINVAL;
	}
	if (tune_ledger_find(ledger, doc_word(o, "id"))) {
		json_decref(o);
		return -EEXIST;
	}
	struct tune_record *r = record_new(o);
	if (!r)
		return -EINVAL;
	tune_ledger_add(ledger, r);
	return 0;
}

static struct tune_record *tune_ledger_lookup(const struct tune_ledger *ledger, const char *id)
{
	for (size_t k = 0; id && k < ledger->n; k++)
		if (strcasecmp(ledger->v[k]->id, id) == 0)
			return ledger->v[k];
	return NULL;
}

const struct tune_record *tune_ledger_find(const struct tune_ledger *ledger, const char *id)
{
	return tune_ledger_lookup(ledger, id);
}

size_t tune_ledger_records(const struct tune_ledger *ledger, const struct tune_record *const **ret)
{
	*ret = (const struct tune_record *const *)ledger->v;
	return ledger->n;
}

/* ---- one function changes a record --------------------------------------- */

static void add_history(struct tune_record *record, const char *event, const char *who,
	const char *text, int64_t t_ns)
{
	json_t *history = json_object_get(record->json, "history");
	if (!json_is_array(history)) {
		history = json_array();
		json_object_set_new(record->json, "history", history);
	}
	if (json_array_size(history) >= HISTORY_MAX)
		json_array_remove(history, HISTORY_MAX / 2); /* the beginning and the newest stay */
	json_array_append_new(history,
		json_pack("{s:o, s:s, s:s, s:s}", "time", json_time(t_ns), "event", event, "who",
			str_or(who, ""), "text", str_or(text, "")));
}

/* @event is the word in the history; @who NULL: rocewatch saw it by itself. */
static void tune_ledger_move(struct tune_ledger *ledger, struct tune_record *record,
	enum tune_state to, const char *event, const char *who, const char *text, int64_t t_ns)
{
	static const struct {
		const char *time, *progress, *by;
	} stamps[TUNE_STATES] = {
		[TUNE_ACCEPTED] = {"accepted", "accepted_ns", "accepted_by"},
		[TUNE_REJECTED] = {"rejected", "rejected_ns", "rejected_by"},
		[TUNE_APPLIED] = {"applied", NULL, "applied_by"},
		[TUNE_VERIFIED] = {"verified", "verified_ns", "verified_by"},
	};
	const enum tune_state from = record->state;
	json_object_set_new(record->json, "state", json_string(tune_state_name(to)));
	if (to != from && stamps[to].time) {
		if (stamps[to].progress) {
			json_object_set_new(record->json, stamps[to].time, json_time(t_ns));
			json_object_set_new(
				progress_of(record), stamps[to].progress, json_integer(t_ns));
		}
		json_object_set_new(record->json, stamps[to].by, json_string_or_null(who));
	}
	json_object_set_new(progress_of(record), "updated_ns", json_integer(t_ns));
	record->state = to;
	take_life(record);
	add_history(record, event, who, text, t_ns);
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s: %s%s%s", record->id, event, str_if(text && *text, ": "),
		str_or(text, ""));
	record->note = line.s;
	record->note_ns = t_ns;
	if (who)
		record->who = who;
	else
		record->who = "";
	if (ledger->changed)
		ledger->changed(ledger->arg, record, from);
	record->note = record->who = NULL;
}

void tune_ledger_note(struct tune_ledger *ledger, const char *id, const char *event,
	const char *text, int64_t t_ns, const char *key, json_t *value)
{
	struct tune_record *r = tune_ledger_lookup(ledger, id);
	if (!r) {
		json_decref(value);
		return;
	}
	if (key)
		json_object_set_new(progress_of(r), key, value);
	if (event)
		tune_ledger_move(ledger, r, r->state, event, NULL, text, t_ns);
	else if (ledger->changed)
		ledger->changed(ledger->arg, r, r->state);
}

/* ---- proposing ----------------------------------------------------------- */

static bool same_place(const struct tune_record *left, const struct tune_record *right)
{
	return left->priority == right->priority && str_eq(left->device, right->device) &&
		str_eq(left->diagnosis, right->diagnosis);
}

static void tune_ledger_supersede(
	struct tune_ledger *ledger, const struct tune_record *by, int64_t t_ns)
{
	for (size_t k = 0; k < ledger->n; k++) {
		struct tune_record *r = ledger->v[k];
		if (r == by || r->state != TUNE_PROPOSED || !same_place(r, by))
			continue;
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s takes its place", by->id);
		tune_ledger_move(ledger, r, TUNE_EXPIRED, "expired", NULL, text.s, t_ns);
	}
}

int tune_ledger_propose(
	struct tune_ledger *ledger, const json_t *sheet, const char *who, int64_t t_ns)
{
	struct tune_record *known = tune_ledger_lookup(ledger, doc_word(sheet, "id"));
	if (!str_eq(doc_word(sheet, "advice"), "change"))
		return -EINVAL;
	if (known && known->state != TUNE_EXPIRED && known->state != TUNE_UNDONE)
		return -EALREADY;
	if (!known && ledger->n >= RECORDS_MAX)
		return -ENOSPC;
	json_t *json = json_deep_copy(sheet);
	if (known) /* its history goes on */
		json_object_set(json, "history", json_object_get(known->json, "history"));
	json_object_set_new(json, "state", json_string(state_names[TUNE_PROPOSED]));
	struct tune_record *r = record_new(json);
	if (!r)
		return -EINVAL;
	if (known) {
		for (size_t k = 0; k < ledger->n; k++)
			if (ledger->v[k] == known)
				ledger->v[k] = r;
		record_free(known);
	} else {
		tune_ledger_add(ledger, r);
	}
	tune_ledger_move(ledger, r, TUNE_PROPOSED, "proposed", who, r->summary, t_ns);
	tune_ledger_supersede(ledger, r, t_ns);
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
	static const char *const is[TUNE_STATES] = {
		[TUNE_PROPOSED] = "it is only proposed: accept it first",
		[TUNE_ACCEPTED] = "it is accepted, but its values were not read back yet; if it is "
				  "in force, say so with 'tune applied'",
		[TUNE_REJECTED] = "it was rejected",
		[TUNE_APPLIED] = "it is in force already",
		[TUNE_VERIFIED] = "it is verified already",
		[TUNE_EXPIRED] = "it expired; make a new sheet with 'tune review'",
		[TUNE_UNDONE] = "it was undone; make a new sheet with 'tune review'",
	};
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
static int tune_ledger_allowed(const struct tune_record *record, enum tune_act act)
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
	if (from[act] & 1u << record->state)
		return 0;
	if (record->state == to[act])
		return -EALREADY;
	if (record->state == TUNE_EXPIRED)
		return -ESTALE;
	return -EPERM;
}

static void set_applied(struct tune_ledger *ledger, struct tune_record *record, const char *who,
	const char *text, int64_t at_ns, int64_t t_ns)
{
	json_object_set_new(record->json, "applied", json_time(at_ns));
	json_object_set_new(progress_of(record), "applied_ns", json_integer(at_ns));
	tune_ledger_move(ledger, record, TUNE_APPLIED, "applied", who, text, t_ns);
}

static void set_verified(
	struct tune_ledger *ledger, struct tune_record *record, const struct tune_act_in *in)
{
	rw_cleanup(str_done) struct str text = {0};
	const bool proven = !str_eq(doc_word(in->result, "verdict"), "inconclusive");
	str_addf(&text, "%s: %s", doc_word(in->result, "verdict"), doc_word(in->result, "why"));
	/* less data, asked later: what was proven stays so */
	if (!proven && record->state == TUNE_VERIFIED) {
		tune_ledger_move(
			ledger, record, TUNE_VERIFIED, "verified", in->who, text.s, in->t_ns);
		return;
	}
	json_object_set_new(record->json, "verdict", json_string(doc_word(in->result, "verdict")));
	json_object_set_new(record->json, "verification", json_deep_copy(in->result));
	tune_ledger_move(ledger, record, proven ? TUNE_VERIFIED : record->state, "verified",
		in->who, text.s, in->t_ns);
}

int tune_ledger_act(struct tune_ledger *ledger, const char *id, const struct tune_act_in *in)
{
	struct tune_record *r = tune_ledger_lookup(ledger, id);
	if (!r)
		return -ENOENT;
	if (r->state <= TUNE_ACCEPTED && in->t_ns > r->expires_ns)
		tune_ledger_move(
			ledger, r, TUNE_EXPIRED, "expired", NULL, "72 h have gone by", in->t_ns);
	const int rc = tune_ledger_allowed(r, in->act);
	if (rc != 0)
		return rc;
	switch (in->act) {
	case TUNE_ACCEPT:
		tune_ledger_move(ledger, r, TUNE_ACCEPTED, "accepted", in->who, in->text, in->t_ns);
		break;
	case TUNE_REJECT:
		if (!in->text || !*in->text)
			return -EINVAL;
		json_object_set_new(r->json, "rejected_why", json_string_or_null(in->text));
		tune_ledger_move(ledger, r, TUNE_REJECTED, "rejected", in->who, in->text, in->t_ns);
		break;
	case TUNE_APPLY:
		if (in->at_ns > in->t_ns)
			return -EINVAL;
		if (r->state == TUNE_PROPOSED)
			tune_ledger_move(ledger, r, TUNE_ACCEPTED, "accepted", in->who,
				"by applying it", in->t_ns);
		set_applied(ledger, r, in->who, "told", in->at_ns, in->t_ns);
		break;
	case TUNE_VERIFY:
		if (!*doc_word(in->result, "verdict"))
			return -EINVAL;
		set_verified(ledger, r, in);
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
unsigned tune_knob_metric(enum tune_knob knob)
{
	return knob_metrics[knob];
}
size_t tune_metrics(const uint16_t **ret)
{
	*ret = knob_metrics;
	return TUNE_KNOBS;
}

double tune_value(enum tune_knob knob, uint64_t stored)
{
	const double v = sample_number(knob_metrics[knob], stored);
	if (knob == KNOB_ALPHA)
		return exp2(v);
	return v;
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

static bool is_proposed(const struct tune_step *step, double value)
{
	return tune_same(value, step->proposed, step->current) ||
		tune_same(value, step->programmed, step->current);
}

static bool tune_ledger_concerns(const struct tune_record *record, const struct entity *entity)
{
	if (!entity || entity->priority != record->priority ||
		!str_eq(entity->device, record->device))
		return false;
	for (size_t k = 0; k < record->n_ports; k++)
		if (str_eq(entity->port, record->ports[k]))
			return true;
	return record->n_ports == 0;
}

static bool is_reading(const struct series *series, uint32_t i, int64_t to_ns)
{
	return series->t_ns[i] <= to_ns &&
		!(series->flags[i] & (SF_DECLARED | SF_LATE | SF_SUSPECT));
}

struct look {
	unsigned proposed, current, other;
	int64_t since_ns[2], before_ns[2]; /* of proposed, of current */
};

/* When the last run of values that are @want began, and the last reading before it. */
static void tune_ledger_run_of(const struct tune_step *step, const struct series *series,
	int64_t to_ns, bool proposed, int64_t *since, int64_t *before)
{
	int64_t began = INT64_MIN, last_other = INT64_MIN;
	for (uint32_t i = 0; i < series->n; i++) {
		if (!is_reading(series, i, to_ns))
			continue;
		const double v = tune_value(step->knob, series->value[i]);
		bool is;
		if (proposed)
			is = is_proposed(step, v);
		else
			is = tune_same(v, step->current, step->proposed);
		if (!is) {
			last_other = series->t_ns[i];
			began = INT64_MIN;
		} else if (began == INT64_MIN) {
			began = series->t_ns[i];
		}
	}
	if (began > *since)
		*since = began;
	if (last_other > *before)
		*before = last_other;
}

static void tune_ledger_look_at(const struct tune_step *step, const struct series *series,
	const struct entity *entity, int64_t to_ns, struct arena *a, struct look *look,
	struct tune_read *ret)
{
	double now = NAN;
	for (uint32_t i = 0; i < series->n; i++)
		if (is_reading(series, i, to_ns))
			now = tune_value(step->knob, series->value[i]);
	if (isnan(now))
		return;
	const bool proposed = is_proposed(step, now),
		   current = tune_same(now, step->current, step->proposed);
	look->proposed += proposed;
	look->current += current && !proposed;
	if (!proposed && !current && !look->other++)
		ret->text = arena_printf(a,
			"%s of %s %s is %.10g %s, neither the %.10g it was nor the %.10g proposed",
			tune_knob_name(step->knob), entity->device, entity->port, now,
			tune_knob_unit(step->knob), step->current, step->proposed);
	tune_ledger_run_of(step, series, to_ns, true, &look->since_ns[0], &look->before_ns[0]);
	tune_ledger_run_of(step, series, to_ns, false, &look->since_ns[1], &look->before_ns[1]);
}

void tune_read_back(const struct tune_record *record, const struct window *window, struct arena *a,
	struct tune_read *ret)
{
	struct look k = {.since_ns = {INT64_MIN, INT64_MIN}, .before_ns = {INT64_MIN, INT64_MIN}};
	*ret = (struct tune_read){.since_ns = INT64_MIN, .before_ns = INT64_MIN};
	for (size_t i = 0; i < window->n_series; i++) {
		const struct series *s = &window->series[i];
		for (size_t step = 0; step < record->n_steps; step++) {
			const struct entity *e = NULL;
			if (s->metric == record->steps[step].metric)
				e = entity_get(window->entities, s->entity);
			if (tune_ledger_concerns(record, e))
				tune_ledger_look_at(
					&record->steps[step], s, e, window->to_ns, a, &k, ret);
		}
	}
	if (k.other) {
		ret->reading = TUNE_READ_OTHER;
	} else if (k.proposed && k.current) {
		ret->reading = TUNE_READ_MIXED;
	} else if (k.proposed || k.current) {
		if (k.proposed)
			ret->reading = TUNE_READ_PROPOSED;
		else
			ret->reading = TUNE_READ_CURRENT;
	}
	if (ret->reading == TUNE_READ_PROPOSED || ret->reading == TUNE_READ_CURRENT) {
		ret->since_ns = k.since_ns[k.current > 0];
		ret->before_ns = k.before_ns[k.current > 0];
	}
}

static void look_open(struct tune_ledger *ledger, struct tune_record *record,
	const struct tune_read *read, int64_t t_ns)
{
	if (read->reading == TUNE_READ_PROPOSED && record->state == TUNE_ACCEPTED)
		set_applied(ledger, record, NULL, "the proposed values were read back",
			read->since_ns, t_ns);
	else if (read->reading == TUNE_READ_PROPOSED)
		tune_ledger_move(ledger, record, TUNE_EXPIRED, "expired", NULL,
			"its values were set without having been accepted", t_ns);
	else if (read->reading == TUNE_READ_OTHER)
		tune_ledger_move(ledger, record, TUNE_EXPIRED, "expired", NULL, read->text, t_ns);
	else if (t_ns > record->expires_ns)
		tune_ledger_move(
			ledger, record, TUNE_EXPIRED, "expired", NULL, "72 h have gone by", t_ns);
}

static void look_record(struct tune_ledger *ledger, struct tune_record *record,
	const struct window *window, int64_t t_ns)
{
	rw_cleanup(arena_freep) struct arena *a = NULL;
	struct tune_read read;
	if (record->state != TUNE_PROPOSED && record->state != TUNE_ACCEPTED &&
		record->state != TUNE_APPLIED && record->state != TUNE_VERIFIED)
		return;
	a = arena_new();
	tune_read_back(record, window, a, &read);
	if (record->state == TUNE_PROPOSED || record->state == TUNE_ACCEPTED)
		look_open(ledger, record, &read, t_ns);
	else if (read.reading == TUNE_READ_CURRENT && read.since_ns > record->applied_ns)
		tune_ledger_move(ledger, record, TUNE_UNDONE, "undone", NULL,
			"the values of before were read back", t_ns);
	else if (read.reading == TUNE_READ_OTHER &&
		record->state == TUNE_APPLIED) /* there is nothing left to verify */
		tune_ledger_move(ledger, record, TUNE_UNDONE, "undone", NULL, read.text, t_ns);
}

void tune_ledger_look(struct tune_ledger *ledger, const struct window *window, int64_t t_ns)
{
	for (size_t k = 0; k < ledger->n; k++)
		look_record(ledger, ledger->v[k], window, t_ns);
}

void tune_ledger_look_one(
	struct tune_ledger *ledger, const char *id, const struct window *window, int64_t t_ns)
{
	struct tune_record *r = tune_ledger_lookup(ledger, id);
	if (r)
		look_record(ledger, r, window, t_ns);
}

/* ---- what was agreed to -------------------------------------------------- */

static void tune_ledger_expect(struct expected_change *changes, size_t *n,
	const struct tune_record *record, const char *device, const struct tune_step *step,
	double value)
{
	if (!isfinite(value))
		return;
	changes[(*n)++] = (struct expected_change){.device = device,
		.priority = record->priority,
		.metric = (uint16_t)step->metric,
		.from_ns = record->accepted_ns,
		.until_ns = record->state == TUNE_UNDONE ? record->updated_ns : INT64_MAX,
		.value = step->knob == KNOB_ALPHA ? log2(value) : value};
}

size_t tune_ledger_expected(
	const struct tune_ledger *ledger, struct arena *a, struct expected_change **ret)
{
	size_t n = 0, room = 0;
	for (size_t k = 0; k < ledger->n; k++)
		room += ledger->v[k]->n_steps * 3 * (ledger->v[k]->n_rest + 1);
	*ret = arena_array(a, struct expected_change, room + 1);
	for (size_t k = 0; k < ledger->n; k++) {
		const struct tune_record *r = ledger->v[k];
		if (r->state != TUNE_ACCEPTED && r->state != TUNE_APPLIED &&
			r->state != TUNE_VERIFIED && r->state != TUNE_UNDONE)
			continue;
		for (size_t d = 0; d <= r->n_rest; d++) {
			for (size_t s = 0; s < r->n_steps; s++) {
				const char *device;
				if (d)
					device = r->rest[d - 1];
				else
					device = r->device;
				tune_ledger_expect(
					*ret, &n, r, device, &r->steps[s], r->steps[s].proposed);
				tune_ledger_expect(
					*ret, &n, r, device, &r->steps[s], r->steps[s].programmed);
				if (r->state != TUNE_ACCEPTED) /* and back again */
					tune_ledger_expect(*ret, &n, r, device, &r->steps[s],
						r->steps[s].current);
			}
		}
	}
	return n;
}
