/*
 * doctor_coverage - which causes each device can show by the counters that it delivered lately, and
 * for which it is blind, because a counter is absent (db/model/need.def). A counter that a device
 * delivers and that stays 0 is delivered. What came longer ago than three intervals counts no more:
 * those in which the device tells this counter, which may be a minute where others come each
 * second.
 */
#include "agent/answers/doctor/doctor_coverage.h"

#include "agent/answers/doctor/doctor.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"
#include "config/profile/profile_coverage.h"
#include "db/model/cause.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define INTERVALS 3
#define STORED_LAG_NS (2 * NS_PER_S) /* from a poll to its commit */
#define RECORDED_MOST_NS (3600 * NS_PER_S) /* of a recorded case, from its end */

/* What one device delivered lately. */
struct coverage_device {
	const char *name;
	int64_t fast_ns, slow_ns; /* how often a counter is asked for, a state; 0: not polled */
	const struct profile *profile; /* while values are read; NULL: not known */
	bool profiled; /* it was known */
	int64_t age_ns[METRIC_COUNT]; /* how long a value counts */
	bool delivered[METRIC_COUNT];
	bool any;
	bool asked[METRIC_COUNT]; /* the profile has a column or leaf for it */
};

struct coverage {
	struct doctor *doctor;
	struct coverage_device *devices;
	size_t n;
	struct smap *by_name;
	struct profiles *profiles; /* NULL: they cannot be read */
};

/* ---- what was delivered -------------------------------------------------- */

static const struct config_device *coverage_config(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_devices; i++)
		if (str_eq(config->devices[i].name, name))
			return &config->devices[i];
	return NULL;
}

/* The interval that is used, which a profile may have raised, else the configured one. */
static int64_t coverage_interval_ns(const struct doctor *doctor, const struct config_device *device)
{
	static const char *const protocols[] = {"snmp", "gnmi"};
	int64_t longest_ns = 0;
	for (size_t i = 0; i < rw_countof(protocols); i++) {
		const double used_s = doctor_health(
			doctor, "target/%s/%s/interval_s", device->name, protocols[i]);
		int64_t ns = config_device_interval(device, protocols[i]);
		if (used_s > 0)
			ns = (int64_t)(used_s * (double)NS_PER_S);
		if (ns > longest_ns)
			longest_ns = ns;
	}
	return longest_ns;
}

/* How often @name is asked. */
static void coverage_ages(const struct coverage *coverage, struct coverage_device *ret)
{
	const struct config_device *device =
		coverage_config(coverage->doctor->client->config, ret->name);
	if (!device || !config_device_polled(device))
		return;
	ret->fast_ns = coverage_interval_ns(coverage->doctor, device);
	ret->slow_ns = config_device_slow_interval(device);
	if (ret->slow_ns < ret->fast_ns)
		ret->slow_ns = ret->fast_ns;
}

static void coverage_devices(struct coverage *coverage, struct arena *a)
{
	const struct fabric *fabric = coverage->doctor->client->config->fabric;
	coverage->devices = arena_array(a, struct coverage_device, fabric->n_devices + 1);
	for (size_t i = 0; i < fabric->n_devices; i++) {
		struct coverage_device *device = &coverage->devices[coverage->n];
		*device = (struct coverage_device){.name = fabric->devices[i]->name};
		coverage_ages(coverage, device);
		smap_put(coverage->by_name, device->name, strlen(device->name), coverage->n++);
	}
}

/* ---- what the profiles ask for ------------------------------------------- */

struct coverage_profiles {
	struct coverage *coverage;
	struct profiles *profiles;
};

static int coverage_take_profile(void *arg, int n, char *const *words, char *const *names)
{
	const struct coverage_profiles *with = arg;
	const struct profile *profile = NULL;
	uint64_t at;
	if (n < 2 || !words[0] || !words[1] ||
		!smap_get(with->coverage->by_name, words[0], strlen(words[0]), &at))
		return 0;
	profile = profiles_get(with->profiles, words[1]);
	if (!profile)
		return 0;
	struct coverage_device *device = &with->coverage->devices[at];
	device->profile = profile;
	device->profiled = true;
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		device->asked[m] = device->asked[m] || profile_tells(profile, m);
	return 0;
}

/* Profiles that cannot be read leave it open who is to blame for what is absent. */
static int coverage_profiles_read(struct coverage *coverage, struct err *e)
{
	struct client *client = coverage->doctor->client;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct coverage_profiles with = {.coverage = coverage};
	if (profiles_load(client->config->profile_dir, &coverage->profiles, &errors) < 0)
		return 0;
	with.profiles = coverage->profiles;
	return history_sql(client->history,
		"SELECT DISTINCT device, profile FROM devices WHERE profile IS NOT NULL",
		coverage_take_profile, &with, e);
}

static enum maybe coverage_asked(const struct coverage_device *device, const struct need *need)
{
	if (!device->profiled)
		return MAYBE_UNKNOWN;
	for (size_t i = 0; i < need->n_metrics; i++)
		if (device->asked[need->metrics[i]])
			return MAYBE_YES;
	return MAYBE_NO;
}

/* ---- what was delivered lately ------------------------------------------- */

/* How long a value counts. A recorded case, whose devices have no address, is taken whole. */
static int64_t coverage_age_ns(const struct coverage_device *device, unsigned metric)
{
	if (!device->fast_ns)
		return RECORDED_MOST_NS;
	int64_t ns = device->fast_ns;
	if (metric_info(metric)->kind == METRIC_STATE)
		ns = device->slow_ns;
	if (device->profile) {
		const int64_t told_ns =
			profile_interval(device->profile, metric, device->fast_ns, device->slow_ns);
		if (told_ns > ns)
			ns = told_ns;
	}
	return INTERVALS * ns + STORED_LAG_NS;
}

static void coverage_take(void *arg, const char *name, unsigned metric, int64_t newest_ns)
{
	const struct coverage *coverage = arg;
	uint64_t at;
	if (!smap_get(coverage->by_name, name, strlen(name), &at))
		return;
	struct coverage_device *device = &coverage->devices[at];
	if (coverage->doctor->client->at_ns - newest_ns > device->age_ns[metric])
		return;
	device->delivered[metric] = true;
	if (metric_info(metric)->kind != METRIC_STATE)
		device->any = true; /* states alone may be old */
}

static void coverage_fill_ages(struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->n; i++)
		for (unsigned m = 0; m < METRIC_COUNT; m++)
			coverage->devices[i].age_ns[m] = coverage_age_ns(&coverage->devices[i], m);
}

/* The counters, and the states: as far back as their values count. */
static int coverage_read(struct coverage *coverage, struct err *e)
{
	const struct client *client = coverage->doctor->client;
	bool wanted[METRIC_COUNT] = {0};
	int r = 0;
	need_wants(wanted);
	for (int states = 0; states < 2 && r == 0; states++) {
		uint16_t metrics[METRIC_COUNT];
		struct window_spec spec = {.metrics = metrics};
		int64_t age_ns = 0;
		for (unsigned m = 0; m < METRIC_COUNT; m++) {
			if (!wanted[m] || (metric_info(m)->kind == METRIC_STATE) != (states == 1))
				continue;
			metrics[spec.n_metrics++] = (uint16_t)m;
			for (size_t i = 0; i < coverage->n; i++)
				if (coverage->devices[i].age_ns[m] > age_ns)
					age_ns = coverage->devices[i].age_ns[m];
		}
		/* one of that age counts, and the time begins after its first instant */
		r = history_delivered(client->history, &spec, client->at_ns - age_ns - 1,
			client->at_ns, coverage_take, coverage, e);
	}
	return r;
}

/* Thresholds that the configuration declares stand where no protocol reads them back. */
static void coverage_declared(struct coverage *coverage)
{
	const struct fabric *fabric = coverage->doctor->client->config->fabric;
	for (size_t i = 0; i < coverage->n; i++)
		for (size_t k = 0; k < fabric->n_thresholds; k++) {
			const struct fabric_threshold *t = &fabric->thresholds[k];
			bool *delivered = coverage->devices[i].delivered;
			if (!str_glob(t->devices, coverage->devices[i].name))
				continue;
			delivered[M_CFG_ECN_KMIN] |= t->kmin_bytes > 0;
			delivered[M_CFG_PG_HEADROOM] |= t->headroom_bytes > 0;
			delivered[M_CFG_PG_XOFF_LEVEL] |= t->xoff_level_bytes > 0;
			delivered[M_CFG_PG_XON_LEVEL] |= t->xon_level_bytes > 0;
			delivered[M_CFG_PG_XON_OFFSET] |= t->xon_offset_bytes > 0;
			delivered[M_CFG_POOL] |= t->pool_bytes > 0;
		}
}

/* ---- rows ---------------------------------------------------------------- */

#define SHAPE struct coverage_missing
static const struct field coverage_missing_fields[] = {
	TEXT(what, "What it is.", .known = true),
	TEXTS(metrics, "Metrics of which one would do."),
	MAYBE(asked, "Does the profile ask for it? true: the switch does not deliver it."),
};
static SHAPE_OF(coverage_missing, "Missing", "A need that is not met.");
#undef SHAPE

#define SHAPE struct coverage_cause
static const struct field coverage_cause_fields[] = {
	TEXT(cause, "Cause.", .known = true),
	TEXT(reported_by, "Detector that would report it.", .known = true),
	ROWS(missing, coverage_missing, "What is missing."),
};
static SHAPE_OF(coverage_cause, "Blind", "A cause and what it lacks.");
#undef SHAPE

#define SHAPE struct coverage_row
static const struct field coverage_row_fields[] = {
	TEXTS(devices, "Switches of which all of this is the same."),
	FLAG(delivers, "Do they deliver any sample?"),
	TEXTS(sees, "Causes that they show."),
	ROWS(weak, coverage_cause, "Causes that they show later or less surely."),
	ROWS(blind, coverage_cause, "Causes that they cannot show."),
};
static SHAPE_OF(coverage_row, "Coverage", "Which causes devices of a kind can show.");
#undef SHAPE

/* ---- what that shows ----------------------------------------------------- */

static struct coverage_missing coverage_missing_of(
	struct arena *a, const struct coverage_device *device, const struct need *need)
{
	struct coverage_missing missing = {.what = need->words,
		.metrics = arena_array(a, const char *, need->n_metrics),
		.n_metrics = need->n_metrics,
		.asked = coverage_asked(device, need)};
	for (size_t i = 0; i < need->n_metrics; i++)
		missing.metrics[i] = metric_info(need->metrics[i])->name;
	return missing;
}

static struct coverage_cause coverage_cause_of(struct arena *a,
	const struct coverage_device *device, enum cause cause, const struct need *const *needs,
	size_t n)
{
	struct coverage_cause row = {.cause = cause_name(cause),
		.reported_by = cause_info(cause)->reported_by,
		.missing = arena_array(a, struct coverage_missing, n),
		.n_missing = n};
	for (size_t i = 0; i < n; i++)
		row.missing[i] = coverage_missing_of(a, device, needs[i]);
	return row;
}

static void coverage_take_cause(struct arena *a, const struct coverage_device *device,
	enum cause cause, struct coverage_row *row)
{
	const struct need *missing[NEED_MISSING_MAX];
	size_t n;
	const enum need_sight sight = need_judge(cause, device->delivered, missing, &n);
	if (sight == NEED_OTHER || cause_has(cause, CAUSE_IS_PLANNED))
		return;
	if (sight == NEED_SEES) {
		row->sees[row->n_sees++] = cause_name(cause);
		return;
	}
	const struct coverage_cause told = coverage_cause_of(a, device, cause, missing, n);
	if (sight == NEED_BLIND)
		row->blind[row->n_blind++] = told;
	else
		row->weak[row->n_weak++] = told;
}

static struct coverage_row coverage_row_of(struct arena *a, const struct coverage_device *device)
{
	struct coverage_row row = {.delivers = device->any,
		.sees = arena_array(a, const char *, CAUSE_COUNT),
		.weak = arena_array(a, struct coverage_cause, CAUSE_COUNT),
		.blind = arena_array(a, struct coverage_cause, CAUSE_COUNT)};
	for (int c = CAUSE_NONE + 1; device->any && c < CAUSE_COUNT; c++)
		coverage_take_cause(a, device, (enum cause)c, &row);
	return row;
}

/* The cause says what it needs; what is missing of that is named by its words. */
static bool coverage_same_cause(
	const struct coverage_cause *left, const struct coverage_cause *right)
{
	bool same = str_eq(left->cause, right->cause) && left->n_missing == right->n_missing;
	for (size_t i = 0; same && i < left->n_missing; i++)
		same = str_eq(left->missing[i].what, right->missing[i].what) &&
			left->missing[i].asked == right->missing[i].asked;
	return same;
}

static bool coverage_same_causes(const struct coverage_cause *left, size_t n_left,
	const struct coverage_cause *right, size_t n_right)
{
	bool same = n_left == n_right;
	for (size_t i = 0; same && i < n_left; i++)
		same = coverage_same_cause(&left[i], &right[i]);
	return same;
}

static bool coverage_same(const struct coverage_row *left, const struct coverage_row *right)
{
	return left->delivers == right->delivers &&
		coverage_same_causes(left->blind, left->n_blind, right->blind, right->n_blind) &&
		coverage_same_causes(left->weak, left->n_weak, right->weak, right->n_weak);
}

/* Most devices have exactly what another one has: the same row follows from it. */
static bool coverage_alike(const struct coverage_device *left, const struct coverage_device *right)
{
	return left->any == right->any && left->profiled == right->profiled &&
		memcmp(left->delivered, right->delivered, sizeof(left->delivered)) == 0 &&
		memcmp(left->asked, right->asked, sizeof(left->asked)) == 0;
}

/* The row of the device at @at, among those of the devices before it. */
static size_t coverage_kind_of(
	const struct coverage *coverage, size_t at, const size_t *kinds, struct doctor *doctor)
{
	struct doctor_answer *answer = doctor->answer;
	for (size_t i = at; i-- > 0;)
		if (coverage_alike(&coverage->devices[i], &coverage->devices[at]))
			return kinds[i];
	const struct coverage_row row = coverage_row_of(doctor->arena, &coverage->devices[at]);
	for (size_t i = 0; i < answer->n_coverage; i++)
		if (coverage_same(&answer->coverage[i], &row))
			return i;
	answer->coverage[answer->n_coverage] = row;
	return answer->n_coverage++;
}

/* A row for each kind of device, in the order of its first one. */
static void coverage_rows(const struct coverage *coverage, struct doctor *doctor)
{
	struct doctor_answer *answer = doctor->answer;
	rw_cleanup(freep) size_t *kinds = rw_calloc(coverage->n, sizeof(*kinds));
	answer->coverage = arena_array(doctor->arena, struct coverage_row, coverage->n);
	for (size_t i = 0; i < coverage->n; i++) {
		kinds[i] = coverage_kind_of(coverage, i, kinds, doctor);
		struct coverage_row *row = &answer->coverage[kinds[i]];
		arena_grow_pow2(doctor->arena, row->devices, row->n_devices);
		row->devices[row->n_devices++] =
			arena_strdup(doctor->arena, coverage->devices[i].name);
	}
}

int doctor_coverage(struct doctor *doctor, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct coverage coverage = {.doctor = doctor, .by_name = smap_new()};
	coverage_devices(&coverage, a);
	int r = coverage_profiles_read(&coverage, e);
	coverage_fill_ages(&coverage);
	if (r == 0)
		r = coverage_read(&coverage, e);
	profiles_free(coverage.profiles);
	smap_free(coverage.by_name);
	if (r < 0)
		return r;
	coverage_declared(&coverage);
	coverage_rows(&coverage, doctor);
	json_object_set_new(doctor->doc, "coverage",
		shape_rows_json(
			&coverage_row_shape, doctor->answer->coverage, doctor->answer->n_coverage));
	return 0;
}

/* coverage_text - the coverage as a table. */

#define COVERAGE_WIDTH 100

/* "cause (no what, no what), " with line breaks before column @width. */
static void coverage_put(FILE *out, const char *head, const struct coverage_cause *rows, size_t n)
{
	size_t column = 0;
	if (n == 0)
		return;
	fprintf(out, "  %-7s", head);
	for (size_t i = 0; i < n; i++) {
		rw_cleanup(str_done) struct str item = {0};
		str_addf(&item, "%s", rows[i].cause);
		for (size_t k = 0; k < rows[i].n_missing; k++)
			str_addf(&item, "%s%s%s", k ? "; no " : " (no ", rows[i].missing[k].what,
				str_if(rows[i].missing[k].asked == MAYBE_YES, " *"));
		str_addf(&item, ")%s", str_if(i + 1 < n, ","));
		if (column > 0 && column + item.n + 10 > COVERAGE_WIDTH) {
			fprintf(out, "\n%9s", "");
			column = 0;
		}
		fprintf(out, " %s", item.s);
		column += item.n + 1;
	}
	fputc('\n', out);
}

static void coverage_put_kind(FILE *out, const struct coverage_row *row)
{
	for (size_t i = 0; i < row->n_devices; i++)
		fprintf(out, "%s%s", i ? ", " : "COVERAGE     ", row->devices[i]);
	if (!row->delivers) {
		fputs(": unknown, nothing was delivered lately\n", out);
		return;
	}
	const size_t seen = row->n_sees + row->n_weak;
	fprintf(out, ": shows %zu of %zu causes\n", seen, seen + row->n_blind);
	coverage_put(out, "blind:", row->blind, row->n_blind);
	coverage_put(out, "unsure:", row->weak, row->n_weak);
}

void coverage_print(FILE *out, const struct doctor_answer *doctor)
{
	for (size_t i = 0; i < doctor->n_coverage; i++)
		coverage_put_kind(out, &doctor->coverage[i]);
	if (doctor->n_coverage > 0)
		fputc('\n', out);
}
