/* tune_ledger - the states of recommendations and what moves them on; see the header. */
#include "agent/tuning/tune_ledger.h"

#include <strings.h>

#include "agent/tuning/tune_json.h"
#include "analyzers/tune/tune_gate.h"
#include "base/log.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define RECORDS_MAX 4096 /* years of proposals; more means that a client misbehaves */

#define AHEAD_NS (60 * NS_PER_S) /* that the clock of who made a sheet may be ahead of ours */
static const char expired_by_age[] = "72 h have gone by";

struct tune_ledger {
	struct tune_record **records;
	size_t n, cap;
	tune_ledger_fn *changed;
	void *arg;
	bool doubt; /* the clock may be ahead: nothing expires by age */
};

struct tune_ledger *tune_ledger_new(tune_ledger_fn *changed, void *arg)
{
	struct tune_ledger *ledger = rw_calloc(1, sizeof(*ledger));
	ledger->changed = changed;
	ledger->arg = arg;
	return ledger;
}

void tune_ledger_free(struct tune_ledger *ledger)
{
	if (!ledger)
		return;
	for (size_t i = 0; i < ledger->n; i++)
		tune_record_free(ledger->records[i]);
	free(ledger->records);
	free(ledger);
}

/* ---- records ------------------------------------------------------------- */

static void tune_ledger_add(struct tune_ledger *ledger, struct tune_record *record)
{
	rw_grow(ledger->records, ledger->n, ledger->cap);
	ledger->records[ledger->n++] = record;
}

static struct tune_record *tune_ledger_lookup(const struct tune_ledger *ledger, const char *id)
{
	for (size_t i = 0; id && i < ledger->n; i++)
		if (strcasecmp(ledger->records[i]->sheet.id, id) == 0)
			return ledger->records[i];
	return NULL;
}

int tune_ledger_restore(struct tune_ledger *ledger, struct tune_record *record)
{
	int rc = 0;
	if (!record || record->state == TUNE_UNRECORDED || !tune_record_complete(record))
		rc = -EINVAL;
	else if (tune_ledger_lookup(ledger, record->sheet.id))
		rc = -EEXIST;
	if (rc == 0)
		tune_ledger_add(ledger, record);
	else
		tune_record_free(record);
	return rc;
}

const struct tune_record *tune_ledger_find(const struct tune_ledger *ledger, const char *id)
{
	return tune_ledger_lookup(ledger, id);
}

size_t tune_ledger_records(const struct tune_ledger *ledger, const struct tune_record *const **ret)
{
	*ret = (const struct tune_record *const *)ledger->records;
	return ledger->n;
}

/* ---- one function changes the state -------------------------------------- */

static void history_add(struct tune_record *record, const char *event, const char *who,
	const char *text, int64_t t_ns)
{
	const size_t n = record->n_history;
	if (!record->history)
		record->history = arena_array(record->arena, struct tune_event, TUNE_HISTORY_MAX);
	if (n >= TUNE_HISTORY_MAX) { /* one of the middle goes: the beginning and the newest stay */
		const size_t middle = TUNE_HISTORY_MAX / 2;
		memmove(&record->history[middle], &record->history[middle + 1],
			(n - middle - 1) * sizeof(*record->history));
		record->n_history--;
	}
	record->history[record->n_history++] = (struct tune_event){.t_ns = t_ns,
		.event = arena_strdup(record->arena, event),
		.who = arena_strdup(record->arena, str_or(who, "")),
		.text = arena_strdup(record->arena, str_or(text, ""))};
}

/* Who brought the record to a state, and when. */
static void tune_ledger_stamp(
	struct tune_record *record, enum tune_state to, const char *who, int64_t t_ns)
{
	const char *by = NULL;
	if (who)
		by = arena_strdup(record->arena, who);
	switch (to) {
	case TUNE_ACCEPTED:
		record->accepted_ns = t_ns;
		record->accepted_by = by;
		break;
	case TUNE_REJECTED:
		record->rejected_ns = t_ns;
		record->rejected_by = by;
		break;
	case TUNE_APPLIED: record->applied_by = by; break; /* the time is that of the switch */
	case TUNE_VERIFIED:
		record->verified_ns = t_ns;
		record->verified_by = by;
		break;
	default: break;
	}
}

/* @event is the word in the history; @who NULL: rocewatch saw it by itself. */
static void tune_ledger_move(struct tune_ledger *ledger, struct tune_record *record,
	enum tune_state to, const char *event, const char *who, const char *text, int64_t t_ns)
{
	const enum tune_state from = record->state;
	if (to != from)
		tune_ledger_stamp(record, to, who, t_ns);
	record->state = to;
	record->updated_ns = t_ns;
	history_add(record, event, who, text, t_ns);
	if (!ledger->changed)
		return;
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s: %s", record->sheet.id, event);
	if (text && *text)
		str_addf(&line, ": %s", text);
	record->note = line.s;
	record->note_ns = t_ns;
	record->who = str_or(who, "");
	ledger->changed(ledger->arg, record, from);
	record->note = record->who = NULL;
}

static void tune_ledger_expire(
	struct tune_ledger *ledger, struct tune_record *record, const char *why, int64_t t_ns)
{
	tune_ledger_move(ledger, record, TUNE_EXPIRED, "expired", NULL, why, t_ns);
}

/* ---- proposing ----------------------------------------------------------- */

static bool same_subject(const struct tune_record *left, const struct tune_record *right)
{
	return left->sheet.priority == right->sheet.priority &&
		str_eq(left->sheet.device, right->sheet.device) &&
		str_eq(left->sheet.diagnosis, right->sheet.diagnosis);
}

void tune_ledger_doubt(struct tune_ledger *ledger, bool doubt)
{
	ledger->doubt = doubt;
}

/* An open sheet that is too old, or that a clock made which was ahead: it would stay for years. */
static void tune_ledger_age(struct tune_ledger *ledger, struct tune_record *record, int64_t t_ns)
{
	if (record->sheet.expires_ns - t_ns > TUNE_LIFE_NS + AHEAD_NS)
		tune_ledger_expire(ledger, record, "it was made by a clock that was ahead", t_ns);
	else if (t_ns > record->sheet.expires_ns && !ledger->doubt)
		tune_ledger_expire(ledger, record, expired_by_age, t_ns);
}

/* A sheet that expired or was undone is proposed anew: its history goes on. */
static void tune_ledger_renew(
	struct tune_ledger *ledger, struct tune_record *old, struct tune_record *record)
{
	for (size_t i = 0; i < old->n_history; i++) {
		const struct tune_event *event = &old->history[i];
		history_add(record, event->event, event->who, event->text, event->t_ns);
	}
	for (size_t i = 0; i < ledger->n; i++)
		if (ledger->records[i] == old)
			ledger->records[i] = record;
	tune_record_free(old);
}

/* Times that a client names. Evidence is kept as long as its sheet is open, so a sheet without an
 * end would keep the database from ever forgetting. */
#define MADE_BEFORE_NS (366LL * 24 * 3600 * NS_PER_S)
#define MADE_AFTER_NS (3600 * NS_PER_S) /* the clock of another host */

static bool tune_sheet_times_fit(const struct tune_sheet *sheet, int64_t now_ns)
{
	const int64_t latest_ns = now_ns + MADE_AFTER_NS;
	if (sheet->made_ns < now_ns - MADE_BEFORE_NS || sheet->made_ns > latest_ns)
		return false;
	if (sheet->expires_ns > latest_ns + TUNE_LIFE_NS)
		return false;
	return sheet->from_ns >= 0 && sheet->from_ns <= sheet->to_ns && sheet->to_ns <= latest_ns;
}

/* A proposal has no past: who accepted, applied or verified it is only ever what the kernel said of
 * a client, never what a client says. */
static void tune_record_unlived(struct tune_record *record)
{
	record->state = TUNE_PROPOSED;
	record->n_history = 0;
	record->accepted_ns = record->rejected_ns = record->applied_ns = record->verified_ns = 0;
	record->accepted_by = record->rejected_by = record->applied_by = NULL;
	record->verified_by = record->rejected_why = record->roll_back_why = NULL;
	record->verified = NULL;
	record->roll_back_ns = 0;
	record->roll_back_open = false;
	record->watched_ns = record->updated_ns = 0;
	record->rates = NULL;
	record->n_rates = 0;
}

int tune_ledger_propose(
	struct tune_ledger *ledger, struct tune_record *record, const char *who, int64_t t_ns)
{
	struct tune_record *known = NULL;
	int rc = 0;
	if (record)
		known = tune_ledger_lookup(ledger, record->sheet.id);
	if (!record || record->sheet.advice != ADVICE_CHANGE)
		rc = -EINVAL;
	else if (known && known->state != TUNE_EXPIRED && known->state != TUNE_UNDONE)
		rc = -EALREADY;
	else if (!known && ledger->n >= RECORDS_MAX)
		rc = -ENOSPC;
	else if (!tune_record_complete(record) || !tune_sheet_times_fit(&record->sheet, t_ns))
		rc = -EINVAL;
	if (rc != 0) {
		tune_record_free(record);
		return rc;
	}
	tune_record_unlived(record);
	if (known)
		tune_ledger_renew(ledger, known, record);
	else
		tune_ledger_add(ledger, record);
	tune_ledger_move(
		ledger, record, TUNE_PROPOSED, "proposed", who, record->sheet.summary, t_ns);
	for (size_t i = 0; i < ledger->n; i++) {
		struct tune_record *old = ledger->records[i];
		if (old == record || old->state != TUNE_PROPOSED || !same_subject(old, record))
			continue;
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s takes its place", record->sheet.id);
		tune_ledger_expire(ledger, old, text.s, t_ns);
	}
	return 0;
}

/* ---- decisions ----------------------------------------------------------- */

#define APPLIED_BEFORE_NS (366LL * 24 * 3600 * NS_PER_S)

static const char *const decision_words[] = {[TUNE_ACCEPT] = "tune_accept",
	[TUNE_REJECT] = "tune_reject",
	[TUNE_APPLY] = "tune_applied",
	[TUNE_VERIFY] = "tune_verified"};

const char *tune_decision_word(enum tune_decision decision)
{
	return decision_words[decision];
}

int tune_decision_parse(const char *word, enum tune_decision *ret)
{
	for (size_t i = 0; word && i < rw_countof(decision_words); i++) {
		if (str_eq(decision_words[i], word)) {
			*ret = (enum tune_decision)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *tune_decision_error(int error, enum tune_state state)
{
	static const char *const is[TUNE_STATES] = {
		[TUNE_PROPOSED] = "it is only proposed: accept it first",
		[TUNE_ACCEPTED] = ("it is accepted, and its values were not read back yet; where "
				   "they cannot be read, 'tune applied' says that it is in force"),
		[TUNE_REJECTED] = "it was rejected",
		[TUNE_APPLIED] = "it is in force already",
		[TUNE_VERIFIED] = "it is verified already",
		[TUNE_EXPIRED] = "it expired; run 'tune review' again",
		[TUNE_UNDONE] = "it was undone; run 'tune review' again",
	};
	switch (-error) {
	case ENOENT: return "there is no such sheet; 'rocewatch tune list' shows them";
	case EINVAL: return "expected a reason (--why), a result, or a time of the last 366 days";
	case ESTALE:
	case EPERM:
	case EALREADY: return is[state];
	}
	return strerror(-error);
}

/* Which states a decision may start from. */
static int tune_ledger_allowed(const struct tune_record *record, enum tune_decision decision)
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
	if (from[decision] & 1u << record->state)
		return 0;
	if (record->state == to[decision])
		return -EALREADY;
	if (record->state == TUNE_EXPIRED)
		return -ESTALE;
	return -EPERM;
}

static void tune_ledger_apply(struct tune_ledger *ledger, struct tune_record *record,
	const char *who, const char *text, int64_t at_ns, int64_t t_ns)
{
	record->applied_ns = at_ns;
	tune_ledger_move(ledger, record, TUNE_APPLIED, "applied", who, text, t_ns);
}

static const char **names_copy(struct arena *a, const char *const *names, size_t n)
{
	const char **copy = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		copy[i] = arena_strdup(a, names[i]);
	return copy;
}

static const struct tune_verified *verified_copy(
	struct arena *a, const struct tune_verified *verified)
{
	struct tune_verified *copy = arena_new_of(a, struct tune_verified);
	*copy = *verified;
	copy->id = arena_strdup(a, str_or(verified->id, ""));
	copy->result.why = arena_strdup(a, str_or(verified->result.why, ""));
	for (size_t i = 0; i < VERIFY_EFFECTS; i++) {
		struct verify_effect *effect = &copy->result.effects[i];
		effect->metric = arena_strdup(a, str_or(effect->metric, ""));
		effect->unit = arena_strdup(a, str_or(effect->unit, ""));
		effect->judgement = arena_strdup(a, str_or(effect->judgement, ""));
	}
	copy->worse = names_copy(a, verified->worse, verified->n_worse);
	copy->better = names_copy(a, verified->better, verified->n_better);
	copy->result.ports_worse = copy->result.ports_better = NULL;
	return copy;
}

static void tune_ledger_verify(
	struct tune_ledger *ledger, struct tune_record *record, const struct tune_decision_in *in)
{
	const struct verify_result *result = &in->result->result;
	const bool proven = result->verdict != VERIFY_INCONCLUSIVE;
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "%s: %s", verify_verdict_name(result->verdict), str_or(result->why, ""));
	enum tune_state to = record->state;
	if (proven)
		to = TUNE_VERIFIED;
	/* less data, asked later: what was proven stays so */
	if (proven || record->state != TUNE_VERIFIED)
		record->verified = verified_copy(record->arena, in->result);
	tune_ledger_move(ledger, record, to, "verified", in->who, text.s, in->t_ns);
}

int tune_ledger_decide(
	struct tune_ledger *ledger, const char *id, const struct tune_decision_in *in)
{
	struct tune_record *record = tune_ledger_lookup(ledger, id);
	if (!record)
		return -ENOENT;
	const bool open = record->state == TUNE_PROPOSED || record->state == TUNE_ACCEPTED;
	if (open)
		tune_ledger_age(ledger, record, in->t_ns);
	const int rc = tune_ledger_allowed(record, in->decision);
	if (rc != 0)
		return rc;
	switch (in->decision) {
	case TUNE_ACCEPT:
		tune_ledger_move(
			ledger, record, TUNE_ACCEPTED, "accepted", in->who, in->text, in->t_ns);
		break;
	case TUNE_REJECT:
		if (!in->text || !*in->text)
			return -EINVAL;
		record->rejected_why = arena_strdup(record->arena, in->text);
		tune_ledger_move(
			ledger, record, TUNE_REJECTED, "rejected", in->who, in->text, in->t_ns);
		break;
	case TUNE_APPLY:
		if (in->at_ns > in->t_ns || in->at_ns < in->t_ns - APPLIED_BEFORE_NS)
			return -EINVAL;
		if (record->state == TUNE_PROPOSED)
			tune_ledger_move(ledger, record, TUNE_ACCEPTED, "accepted", in->who,
				"by applying it", in->t_ns);
		tune_ledger_apply(ledger, record, in->who, "reported by hand", in->at_ns, in->t_ns);
		break;
	case TUNE_VERIFY:
		if (!in->result)
			return -EINVAL;
		tune_ledger_verify(ledger, record, in);
		break;
	}
	return 0;
}

/* ---- what switches say --------------------------------------------------- */

/* A sheet that is proposed or accepted. */
static void read_open(struct tune_ledger *ledger, struct tune_record *record,
	const struct tune_readback *read, int64_t t_ns)
{
	if (read->reading == TUNE_READ_PROPOSED && record->state == TUNE_ACCEPTED)
		tune_ledger_apply(ledger, record, NULL, "the proposed values were read back",
			read->since_ns, t_ns);
	else if (read->reading == TUNE_READ_PROPOSED)
		tune_ledger_expire(
			ledger, record, "its values were set without having been accepted", t_ns);
	else if (read->reading == TUNE_READ_OTHER)
		tune_ledger_expire(ledger, record, read->text, t_ns);
	else
		tune_ledger_age(ledger, record, t_ns);
}

/* A sheet whose values are in force. */
static void read_applied(struct tune_ledger *ledger, struct tune_record *record,
	const struct tune_readback *read, int64_t t_ns)
{
	if (read->reading == TUNE_READ_CURRENT && read->since_ns > record->applied_ns)
		tune_ledger_move(ledger, record, TUNE_UNDONE, "undone", NULL,
			"the previous values were read back", t_ns);
	else if (read->reading == TUNE_READ_OTHER && record->state == TUNE_APPLIED)
		/* there is nothing left to verify */
		tune_ledger_move(ledger, record, TUNE_UNDONE, "undone", NULL, read->text, t_ns);
}

static void read_record(struct tune_ledger *ledger, struct tune_record *record,
	const struct window *window, int64_t t_ns)
{
	const bool open = record->state == TUNE_PROPOSED || record->state == TUNE_ACCEPTED,
		   applied = record->state == TUNE_APPLIED || record->state == TUNE_VERIFIED;
	if (!open && !applied)
		return;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct tune_readback read;
	tune_readback(record, window, a, &read);
	if (open)
		read_open(ledger, record, &read, t_ns);
	else
		read_applied(ledger, record, &read, t_ns);
}

void tune_ledger_read(struct tune_ledger *ledger, const struct window *window, int64_t t_ns)
{
	for (size_t i = 0; i < ledger->n; i++)
		read_record(ledger, ledger->records[i], window, t_ns);
}

void tune_ledger_read_one(
	struct tune_ledger *ledger, const char *id, const struct window *window, int64_t t_ns)
{
	struct tune_record *record = tune_ledger_lookup(ledger, id);
	if (record)
		read_record(ledger, record, window, t_ns);
}

/* ---- what the watch keeps ------------------------------------------------ */

void tune_ledger_watched(struct tune_ledger *ledger, const char *id, int64_t watched_ns)
{
	struct tune_record *record = tune_ledger_lookup(ledger, id);
	if (record)
		record->watched_ns = watched_ns;
}

void tune_ledger_rates(
	struct tune_ledger *ledger, const char *id, const struct tune_rate *rates, size_t n)
{
	struct tune_record *record = tune_ledger_lookup(ledger, id);
	if (!record)
		return;
	record->rates = arena_array(record->arena, struct tune_rate, n + 1);
	record->n_rates = n;
	for (size_t i = 0; i < n; i++) {
		record->rates[i] = rates[i];
		record->rates[i].job = arena_strdup(record->arena, rates[i].job);
	}
}

void tune_ledger_roll_back(
	struct tune_ledger *ledger, const char *id, const char *why, int64_t t_ns)
{
	struct tune_record *record = tune_ledger_lookup(ledger, id);
	if (!record)
		return;
	record->roll_back_ns = t_ns;
	record->roll_back_why = arena_strdup(record->arena, why);
	record->roll_back_open = true;
	tune_ledger_move(ledger, record, record->state, "rollback_due", NULL, why, t_ns);
}

void tune_ledger_settled(struct tune_ledger *ledger, const char *id)
{
	struct tune_record *record = tune_ledger_lookup(ledger, id);
	if (!record)
		return;
	record->roll_back_open = false;
	if (ledger->changed)
		ledger->changed(ledger->arg, record, record->state);
}

/* ---- what was agreed to -------------------------------------------------- */

static bool agreed_to(const struct tune_record *record)
{
	return record->state == TUNE_ACCEPTED || record->state == TUNE_APPLIED ||
		record->state == TUNE_VERIFIED || record->state == TUNE_UNDONE;
}

static void expect_value(const struct tune_record *record, const char *device, enum tune_knob knob,
	double value, struct expected_change *changes, size_t *n)
{
	if (!isfinite(value))
		return;
	if (knob == KNOB_ALPHA) /* stored as its exponent */
		value = log2(value);
	int64_t until_ns = INT64_MAX;
	if (record->state == TUNE_UNDONE)
		until_ns = record->updated_ns;
	changes[(*n)++] = (struct expected_change){.device = device,
		.priority = record->sheet.priority,
		.metric = (uint16_t)tune_knob_metric(knob),
		.from_ns = record->accepted_ns,
		.until_ns = until_ns,
		.value = value};
}

static void expect_device(const struct tune_record *record, const char *device,
	struct expected_change *changes, size_t *n)
{
	for (size_t i = 0; i < record->sheet.n_changes; i++) {
		const struct tune_change *change = &record->sheet.changes[i];
		expect_value(record, device, change->knob, change->proposed, changes, n);
		expect_value(record, device, change->knob, change->programmed, changes, n);
		if (record->state != TUNE_ACCEPTED) /* and back again */
			expect_value(record, device, change->knob, change->current, changes, n);
	}
}

size_t tune_ledger_expected(
	const struct tune_ledger *ledger, struct arena *a, struct expected_change **ret)
{
	size_t n = 0, room = 0;
	for (size_t i = 0; i < ledger->n; i++) {
		const struct tune_sheet *sheet = &ledger->records[i]->sheet;
		room += sheet->n_changes * 3 * (sheet->n_rest + 1);
	}
	*ret = arena_array(a, struct expected_change, room + 1);
	for (size_t i = 0; i < ledger->n; i++) {
		const struct tune_record *record = ledger->records[i];
		if (!agreed_to(record))
			continue;
		expect_device(record, record->sheet.device, *ret, &n);
		for (size_t k = 0; k < record->sheet.n_rest; k++)
			expect_device(record, record->sheet.rest[k], *ret, &n);
	}
	return n;
}

/* tune_store - one row of the table "recommendations" for each record. */

static char *record_text(const struct tune_record *record)
{
	json_t *document = tune_record_json(record, TUNE_DOCUMENT_WHOLE);
	char *text = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	return text;
}

void tune_store_record(void *store, const struct tune_record *record, enum tune_state from)
{
	const struct tune_sheet *sheet = &record->sheet;
	rw_cleanup(freep) char *json = record_text(record);
	struct store_recommendation row = {.id = sheet->id,
		.device = sheet->device,
		.state = tune_state_name(record->state),
		.advice = tune_advice_name(sheet->advice),
		.summary = str_or(sheet->summary, ""),
		.json = json,
		.diagnosis = str_or(sheet->diagnosis, ""),
		.priority = sheet->priority,
		.t_ns = sheet->made_ns,
		.from_ns = sheet->from_ns,
		.to_ns = sheet->to_ns,
		.updated_ns = record->updated_ns};
	if (sheet->n_ports == 1)
		row.port = sheet->ports[0];
	if (record->who && *record->who)
		row.who = record->who;
	store_recommendation(store, &row);
	if (record->note)
		store_event(store, record->note_ns, "tuning", NULL, record->who, record->note);
}

static int tune_store_take_row(void *arg, int n, char *const *values, char *const *names)
{
	if (n != 1 || !values[0])
		return 0;
	if (tune_ledger_restore(arg, tune_record_load(values[0])) == -EINVAL)
		log_warn("tuning",
			"a stored recommendation cannot be read; it stays in the database as it "
			"is");
	return 0;
}

int tune_store_load(struct history *history, struct tune_ledger *ledger, struct err *e)
{
	return history_sql(history,
		"SELECT json FROM recommendations WHERE json IS NOT NULL ORDER BY t_ns, id",
		tune_store_take_row, ledger, e);
}
