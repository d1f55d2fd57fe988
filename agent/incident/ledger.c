/*
 * ledger - the state machine of incidents (drawn in ledger.h): how findings of one subject become
 * an incident, what that says, and how it ends.
 */
#include "agent/incident/ledger.h"

#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/ledger_inside.h"
#include "analyzers/measure/job_limits.h"
#include "db/model/entity.h"

/* Of confidence: a larger difference means that evidence is missing which was there before. */
#define LESS_SURE 0.1
/* A subject that nobody spoke of for so many windows more than it takes to close, and for so long,
 * is judged no more. Counters that are refreshed seldom are passed over in some windows. */
#define UNHEARD_MORE 2.0
#define UNHEARD_NS (2 * 60 * NS_PER_S)
/* So it is when nothing of its device was spoken of, although its counters come. */
#define UNHEARD_ALONE_NS (10 * 60 * NS_PER_S)

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

/* ---- a raised window ----------------------------------------------------- */

static struct incident_record *ledger_begin(
	struct ledger *ledger, struct ledger_slot *slot, const struct finding *finding)
{
	struct incident_record *record = incident_record_new(finding);
	ledger_slot_begin(ledger, slot, record);
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
	ledger_slot_end(ledger, slot);
	ledger_slot_begin(ledger, slot, old);
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

static bool ledger_may_open(
	struct ledger *ledger, struct incident_record *record, const struct finding *finding)
{
	if (finding->to_ns <= ledger->known_ns || record->owes > 0 || record->falls)
		return false;
	return weight_sum(&record->weight) >= record->hold &&
		ledger_stands_alone(ledger, record, finding);
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
		if (ledger_may_open(ledger, record, finding))
			ledger_begin_open(ledger, slot, finding);
		return;
	case INCIDENT_CLEARING:
		ledger_change(ledger, record, INCIDENT_OPEN, finding->to_ns, "it is back");
		return;
	case INCIDENT_OPEN:
		if (worse)
			incident_record_note(record, finding->to_ns, "severity: %s",
				severity_name(record->i.severity));
		if (record->i.cause != cause_before)
			ledger_part_again(ledger, record, finding->to_ns);
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
			ledger_slot_end(ledger, slot);
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
	ledger_slot_end(ledger, slot);
	slot->closed = record;
	ledger_weigh_anew(ledger, record);
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
	ledger_subject(&key, finding->analyzer, finding->device, finding->port, finding->priority,
		finding->host, finding->group);
	struct ledger_slot *slot = ledger_slot_of(ledger, &key, raised);
	/* The analyzer spoke of the device, and of the slot's subject (NULL: none). */
	const size_t n = ledger_subject_followed(key.s);
	const bool judged = finding->verdict == FINDING_OVER || finding->verdict == FINDING_UNDER;
	if (judged && smap_get(ledger->followed, key.s, n, NULL))
		smap_put(ledger->followed, key.s, n, (uint64_t)finding->to_ns);
	if (slot && slot->record) {
		slot->record->spoken_ns = finding->to_ns;
		slot->record->unheard = 0;
		slot->record->alone_ns = 0;
	}
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

/* Ends the @k-th of those under way. */
static void ledger_end_unjudged(struct ledger *ledger, size_t k, int64_t t_ns, const char *why)
{
	struct ledger_slot *slot = &ledger->slots[ledger->active[k]];
	struct incident_record *record = slot->record;
	ledger_slot_end(ledger, slot);
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
	ledger_subject(&key, i->analyzer, i->device, NULL, PRIO_NONE, NULL, NULL);
	return smap_get(ledger->followed, key.s, ledger_subject_followed(key.s), &judged_ns) &&
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
	if (record->i.state != INCIDENT_OPEN || record->part)
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

/* Publishes at once that the incident lost its price: another incident has it now. */
static void ledger_tell_yielded(struct ledger *ledger, struct incident_record *record)
{
	if (!record->yielded)
		return;
	record->yielded = false;
	incident_record_impact(record, ledger->fabric);
	if (record->i.state != INCIDENT_PENDING)
		ledger_publish(ledger, record, record->i.state);
}

/* A job loses no more than all of itself, whatever its incidents claim together. @records: all that
 * are under way. */
static void ledger_share_claims(struct ledger *ledger, struct incident_record *const *records)
{
	const size_t n_active = ledger->n_active;
	struct incident_record **changed =
		rw_calloc(n_active + 1, sizeof(struct incident_record *));
	const size_t n = claims_limit(records, n_active, ledger->fabric, changed);
	for (size_t k = 0; k < n; k++) {
		incident_record_impact(changed[k], ledger->fabric);
		if (changed[k]->i.state != INCIDENT_PENDING)
			ledger_publish(ledger, changed[k], changed[k]->i.state);
	}
	free(changed);
}

void ledger_rates(struct ledger *ledger, const struct job_rate *rates, size_t n)
{
	struct incident_record **records = rw_calloc(ledger->n_active + 1, sizeof(*records));
	for (size_t k = 0; k < ledger->n_active; k++) {
		records[k] = ledger_active(ledger, k);
		records[k]->part = ledger_is_part(ledger, records[k]);
	}
	for (size_t k = 0; k < n; k++)
		claims_count(records, ledger->n_active, ledger->fabric, &rates[k]);
	for (size_t k = 0; k < ledger->n_active; k++)
		ledger_tell_yielded(ledger, records[k]);
	ledger_share_claims(ledger, records);
	if (n == 0) {
		free(records);
		return;
	}
	const int64_t to_ns = rates[0].from_ns + (int64_t)rates[0].n * rates[0].block_ns;
	for (size_t k = 0; k < ledger->n_active; k++)
		if (cost_due(&records[k]->cost, &rates[0]))
			records[k]->cost.to_ns = to_ns;
	for (size_t k = 0; k < ledger->n_active; k++)
		ledger_weigh_loss(ledger, records[k], to_ns);
	free(records);
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

void ledger_known(struct ledger *ledger, int64_t known_ns)
{
	ledger->known_ns = known_ns;
}

void ledger_rewind(struct ledger *ledger, int64_t t_ns)
{
	time_limit(&ledger->known_ns, t_ns);
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
	ledger_slot_begin(ledger, slot, record);
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
	ledger_subject(&key, i->analyzer, i->device, i->port, i->priority, i->host, i->group);
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
