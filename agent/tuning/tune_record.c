/* tune_record - names of the states, and the life of the struct. */
#include "agent/tuning/tune_record.h"

#include "db/model/entity.h"
#include "db/model/metric.h"

const char *const tune_state_names[TUNE_STATES] = {
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
		return tune_state_names[state];
	return "unknown";
}

int tune_state_parse(const char *word, enum tune_state *ret)
{
	for (int i = 0; i < TUNE_STATES; i++) {
		if (str_eq(tune_state_names[i], word)) {
			*ret = (enum tune_state)i;
			return 0;
		}
	}
	return -EINVAL;
}

struct tune_record *tune_record_new(void)
{
	struct tune_record *record = rw_calloc(1, sizeof(*record));
	record->arena = arena_new();
	record->state = TUNE_UNRECORDED;
	return record;
}

void tune_record_free(struct tune_record *record)
{
	if (!record)
		return;
	json_decref(record->vendor.apply);
	json_decref(record->vendor.undo);
	json_decref(record->vendor.notes);
	arena_free(record->arena);
	free(record);
}

void tune_record_freep(struct tune_record **record)
{
	tune_record_free(*record);
}

bool tune_record_complete(const struct tune_record *record)
{
	const struct tune_sheet *sheet = &record->sheet;
	if (strlen(sheet->id) != sizeof(sheet->id) - 1 || !sheet->device || !sheet->n_changes)
		return false;
	for (size_t i = 0; i < sheet->n_changes; i++)
		if (!isfinite(sheet->changes[i].proposed))
			return false;
	return true;
}

/* tune_readback - compares the settings that were read with those of a sheet. */

#define ROUNDING 0.02 /* of the value: switches round to cells and steps */

/* One row a knob: the metric that its read-back is stored as. */
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
	const double value = sample_number(tune_knob_metric(knob), stored);
	if (knob == KNOB_ALPHA)
		return exp2(value);
	return value;
}

bool tune_same(double value, double wanted, double other)
{
	if (!isfinite(value) || !isfinite(wanted))
		return false;
	double within = ROUNDING * fabs(wanted);
	if (isfinite(other) && fabs(wanted - other) / 2 < within)
		within = fabs(wanted - other) / 2;
	return fabs(value - wanted) <= within;
}

static bool is_proposed(const struct tune_change *change, double value)
{
	return tune_same(value, change->proposed, change->current) ||
		tune_same(value, change->programmed, change->current);
}

static bool is_current(const struct tune_change *change, double value)
{
	return tune_same(value, change->current, change->proposed);
}

static bool readback_for_port(const struct tune_change *change, const char *port)
{
	for (size_t i = 0; i < change->n_ports; i++)
		if (str_eq(port, change->ports[i]))
			return true;
	return change->n_ports == 0;
}

/* Is the setting of @entity one that the sheet changes? */
static bool readback_concerns(const struct tune_sheet *sheet, const struct entity *entity)
{
	if (!entity || entity->priority != sheet->priority)
		return false;
	if (!str_eq(entity->device, sheet->device))
		return false;
	for (size_t i = 0; i < sheet->n_ports; i++)
		if (str_eq(entity->port, sheet->ports[i]))
			return true;
	return sheet->n_ports == 0;
}

static bool is_reading(const struct series *series, uint32_t i, int64_t to_ns)
{
	return series->t_ns[i] <= to_ns &&
		!(series->flags[i] & (SF_DECLARED | SF_LATE | SF_SUSPECT));
}

struct readback_run { /* since when all values were so */
	int64_t since_ns, before_ns;
};
struct readback_tally {
	unsigned n_proposed, n_current, n_other; /* settings */
	struct readback_run proposed, current;
};

/* When the newest run of values that @is_so began, and the last reading before it. */
static void readback_run_of(const struct tune_change *change, const struct series *series,
	int64_t to_ns, bool (*is_so)(const struct tune_change *change, double value),
	struct readback_run *run)
{
	int64_t began = INT64_MIN, last_other = INT64_MIN;
	for (uint32_t i = 0; i < series->n; i++) {
		if (!is_reading(series, i, to_ns))
			continue;
		if (!is_so(change, tune_value(change->knob, series->value[i]))) {
			last_other = series->t_ns[i];
			began = INT64_MIN;
		} else if (began == INT64_MIN) {
			began = series->t_ns[i];
		}
	}
	if (began > run->since_ns)
		run->since_ns = began;
	if (last_other > run->before_ns)
		run->before_ns = last_other;
}

/* One setting of one port: what it is now, and since when. */
static void readback_setting(const struct tune_change *change, const struct series *series,
	const struct entity *entity, int64_t to_ns, struct arena *a, struct readback_tally *tally,
	struct tune_readback *ret)
{
	double now = NAN;
	for (uint32_t i = 0; i < series->n; i++)
		if (is_reading(series, i, to_ns))
			now = tune_value(change->knob, series->value[i]);
	if (isnan(now))
		return;
	const bool proposed = is_proposed(change, now), current = is_current(change, now);
	if (proposed)
		tally->n_proposed++;
	else if (current)
		tally->n_current++;
	else if (tally->n_other++ == 0)
		ret->text = arena_printf(a,
			"%s of %s %s is %.10g %s, neither the %.10g it was nor the %.10g proposed",
			tune_knob_name(change->knob), entity->device, entity->port, now,
			tune_knob_unit(change->knob), change->current, change->proposed);
	readback_run_of(change, series, to_ns, is_proposed, &tally->proposed);
	readback_run_of(change, series, to_ns, is_current, &tally->current);
}

static void readback_conclude(const struct readback_tally *tally, struct tune_readback *ret)
{
	const struct readback_run *run = NULL;
	if (tally->n_other) {
		ret->reading = TUNE_READ_OTHER;
	} else if (tally->n_proposed && tally->n_current) {
		ret->reading = TUNE_READ_MIXED;
	} else if (tally->n_proposed) {
		ret->reading = TUNE_READ_PROPOSED;
		run = &tally->proposed;
	} else if (tally->n_current) {
		ret->reading = TUNE_READ_CURRENT;
		run = &tally->current;
	}
	if (run) {
		ret->since_ns = run->since_ns;
		ret->before_ns = run->before_ns;
	}
}

void tune_readback(const struct tune_record *record, const struct window *window, struct arena *a,
	struct tune_readback *ret)
{
	const struct tune_sheet *sheet = &record->sheet;
	const struct readback_run never = {INT64_MIN, INT64_MIN};
	struct readback_tally tally = {.proposed = never, .current = never};
	*ret = (struct tune_readback){.since_ns = INT64_MIN, .before_ns = INT64_MIN};
	for (size_t i = 0; i < window->n_series; i++) {
		const struct series *series = &window->series[i];
		for (size_t k = 0; k < sheet->n_changes; k++) {
			if (series->metric != tune_knob_metric(sheet->changes[k].knob))
				continue;
			const struct entity *entity = entity_get(window->entities, series->entity);
			if (readback_concerns(sheet, entity) &&
				readback_for_port(&sheet->changes[k], entity->port))
				readback_setting(&sheet->changes[k], series, entity, window->to_ns,
					a, &tally, ret);
		}
	}
	readback_conclude(&tally, ret);
}
