/*
 * month - a month of a small fabric in its store, in simulated time, under a reader that never
 * ends: samples are stored, sealed, rolled up, deleted by age and by quota as an agent would do it.
 * What was given is kept in a book of the test's own, by which everything that is read is judged.
 *
 *   month [--days N] [--step S] [--raw D] [--minute D] [--hour D] [--quota MB] [--nth N]
 *         [--commit N] [--say]
 *
 * --nth: before each deletion one is cut off by the 1st, 2nd, ... N-th call of a kind that fails.
 * --commit: polls in one transaction, 4; after each, retention may go on.
 *
 * Lengths are in days, the step in seconds. Without arguments it takes seconds; two years at ages
 * as configured: month --days 800 --step 600 --raw 7 --minute 90 --hour 730 --say.
 *
 * Promised: what retention keeps is there, once and as it was given; nothing else is; what an open
 * incident rests on, the states in force then, and those in force now stay; file and write-ahead
 * log stay flat; a long range is served from minutes, a longer one from hours, with the right
 * numbers.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/series/rollup.h"
#include "db/sqlite/sqlite.h"
#include "db/store/retain_watch.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "tests/faults/fault_vfs.h"

#define T0 INT64_C(1700006400000000000) /* midnight */
#define HOUR_NS (3600 * NS_PER_S)
#define DAY_NS (24 * HOUR_NS)
#define LOG_PAGES 200
#define LOG_MOST_BYTES (16 << 20)
#define EVIDENCE_NS (900 * NS_PER_S)

enum { DEVICES = 2, PORTS = 3, KINDS = 6, SERIES = DEVICES * PORTS * KINDS };
enum { IN_OCTETS, IN_ERRORS, PFC_FRAMES, RX_POWER, CABLE, TRUST };

static struct month {
	int days, step_s, raw_days, minute_days, hour_days, commit_steps;
	int nth; /* 0: nothing fails */
	int64_t struck, failed; /* deletions cut off; calls that failed */
	uint64_t quota_bytes;
	bool say;

	char dir[64], path[96];
	struct entities *entities;
	struct store *store;
	void *state; /* of the backend: the store has it open */
	struct quota_watch watch;
	struct store_usage usage;
	uint32_t entity[DEVICES * PORTS * 2];

	uint64_t *value[SERIES]; /* by step; the book */
	bool *given[SERIES];
	uint8_t *seen[SERIES];
	int64_t n_steps, at; /* steps of the month; given so far */
	int64_t now_ns;
	int64_t incident_ns; /* open since; 0: none */
	uint64_t log_most, file_most, read, walks;
	int lines; /* of the log, and when it first spoke of the quota */
	int64_t soon_ns, cut_ns;
	int64_t flat_bytes;
	int faults;
} month = {.days = 30,
	.step_s = 300,
	.raw_days = 3,
	.minute_days = 9,
	.hour_days = 20,
	.commit_steps = 4};

/* ---- time ---------------------------------------------------------------- */

mono_t __wrap_mono_now(void);
wall_t __wrap_wall_now(void);

mono_t __wrap_mono_now(void)
{
	return (mono_t){month.now_ns - T0 + HOUR_NS};
}

wall_t __wrap_wall_now(void)
{
	return (wall_t){month.now_ns};
}

static void fault(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void fault(const char *fmt, ...)
{
	va_list ap;

	if (month.faults++ > 20)
		return;
	va_start(ap, fmt);
	printf("day %.2f: ", (double)(month.now_ns - T0) / (double)DAY_NS);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
}

/* ---- what the agent would log -------------------------------------------- */

static void month_log(enum log_level level, const char *where, const char *text)
{
	if (level == LOG_DEBUG_)
		return;
	month.lines++;
	if (month.soon_ns == 0 && strstr(text, "the quota is reached about"))
		month.soon_ns = month.now_ns;
	if (month.cut_ns == 0 && strstr(text, "holds less than store.retention asks for"))
		month.cut_ns = month.now_ns;
	if (month.say)
		printf("  log: %s\n", text);
}

/* The quota is foreseen before it takes anything, where it takes anything; and nobody is told the
 * same thing all day. */
static void check_log(void)
{
	const bool cut = month.cut_ns != 0, soon = month.soon_ns != 0;

	if ((cut && month.quota_bytes == 0) || (cut && !soon))
		fault("the quota was %ssaid to be near, and %ssaid to be reached",
			soon ? "" : "not ", cut ? "" : "not ");
	if (cut && month.cut_ns - month.soon_ns < 6 * HOUR_NS)
		fault("the quota was said to be near only when it was reached");
	if (month.lines > 2 * month.days)
		fault("%d lines were logged in %d days", month.lines, month.days);
}

/* ---- the book ------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
	x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
	return x ^ x >> 33;
}

static const uint16_t metric_of[KINDS] = {[IN_OCTETS] = M_PORT_IN_OCTETS,
	[IN_ERRORS] = M_PORT_IN_ERRORS,
	[PFC_FRAMES] = M_PFC_RX_FRAMES,
	[RX_POWER] = M_OPTIC_RX_POWER,
	[CABLE] = M_CFG_CABLE,
	[TRUST] = M_CFG_TRUST};

static uint32_t entity_of(int series)
{
	const int port = series / KINDS;

	return month.entity[port * 2 + (series % KINDS == PFC_FRAMES)];
}

static int64_t step_ns(int64_t step)
{
	return T0 + (step + 1) * month.step_s * NS_PER_S;
}

/* Cables were looked at on the first day only, and what is trusted once a day; the rest always. */
static bool is_given(int kind, int64_t step)
{
	const int64_t in_day = step % (86400 / month.step_s);

	if (kind == CABLE)
		return step == 3;
	return kind != TRUST || in_day == 5;
}

static uint64_t next_value(int series, int64_t step)
{
	const int kind = series % KINDS;
	const uint64_t noise = mix((uint64_t)series << 40 | (uint64_t)step);
	uint64_t before = UINT64_C(1) << 62;

	if (step > 0)
		before = month.value[series][step - 1];
	switch (kind) {
	case IN_OCTETS: return before + noise % 1000000000;
	case IN_ERRORS: return before + (noise % 500 == 0);
	case PFC_FRAMES: return before + (noise % 7 == 0) * (noise % 1000);
	case RX_POWER: return sample_of_f64(-2.0 - (double)(noise % 300) / 100);
	default: return 0;
	}
}

/* A step of all series into the book and the store. */
static void month_give(void)
{
	struct sample v[SERIES];
	size_t n = 0;
	char trust[16];

	snprintf(trust, sizeof(trust), "trust%d", (int)((month.now_ns - T0) / DAY_NS) % 3);
	for (int s = 0; s < SERIES; s++) {
		const int kind = s % KINDS;
		uint64_t value = next_value(s, month.at);
		if (kind == CABLE)
			value = sample_of_f64(s);
		if (kind == TRUST)
			value = entities_text(month.entities, trust);
		month.value[s][month.at] = value;
		month.given[s][month.at] = is_given(kind, month.at);
		if (month.given[s][month.at])
			v[n++] = (struct sample){.t_ns = step_ns(month.at),
				.entity = entity_of(s),
				.metric = metric_of[kind],
				.value = value,
				.source = SOURCE_SNMP};
	}
	store_samples(month.store, v, n);
	month.at++;
}

/* ---- reading it back ----------------------------------------------------- */

static int series_of(const struct entities *entities, const struct sample *sample)
{
	const struct entity *e = entity_get(entities, sample->entity);
	int device, port;

	if (sscanf(e->device, "leaf%d", &device) != 1 || sscanf(e->port, "swp%d", &port) != 1)
		return -1;
	for (int kind = 0; kind < KINDS; kind++)
		if (metric_of[kind] == sample->metric)
			return (device * PORTS + port) * KINDS + kind;
	return -1;
}

static bool same_value(
	const struct entities *entities, const struct sample *sample, int series, int64_t step)
{
	const uint64_t value = month.value[series][step];

	if (series % KINDS != TRUST)
		return sample->value == value;
	return strcmp(entities_text_get(entities, sample->value),
		       entities_text_get(month.entities, value)) == 0;
}

static int meet(void *arg, const struct sample *sample)
{
	const struct entities *entities = arg;
	const int s = series_of(entities, sample);
	const int64_t into_ns = sample->t_ns - T0, each_ns = month.step_s * NS_PER_S;
	const int64_t step = into_ns / each_ns - 1;

	if (s < 0 || into_ns % each_ns != 0 || step < 0 || step >= month.at ||
		!month.given[s][step]) {
		fault("a sample that nobody gave");
		return 0;
	}
	if (!same_value(entities, sample, s, step))
		fault("series %d, step %" PRId64 ": not as it was given", s, step);
	if (month.seen[s][step]++ != 0)
		fault("series %d, step %" PRId64 " is there twice", s, step);
	return 0;
}

/* The newest state before what is kept stays. */
static bool in_force(int series, int64_t step, int64_t from_ns)
{
	if (series % KINDS < CABLE)
		return false;
	for (int64_t later = step + 1; later < month.at && step_ns(later) < from_ns; later++)
		if (month.given[series][later])
			return false;
	return true;
}

/* What was configured when the evidence of the open incident begins is a part of it. */
static bool in_force_then(int series, int64_t step)
{
	const int64_t then_ns = month.incident_ns - EVIDENCE_NS;

	return month.incident_ns && month.given[series][step] && step_ns(step) < then_ns &&
		in_force(series, step, then_ns);
}

static void check_samples(struct history *history)
{
	const int64_t kept_ns = month.now_ns - month.raw_days * DAY_NS;
	int64_t from_ns = kept_ns;
	struct err e = {0};

	for (int s = 0; s < SERIES; s++)
		memset(month.seen[s], 0, (size_t)month.n_steps);
	if (history_each_sample(history, NULL, meet, (void *)history_entities(history), &e) < 0)
		fault("%s", e.text);
	if (month.quota_bytes && month.usage.oldest_ns[STORE_RAW] > kept_ns)
		from_ns = month.usage.oldest_ns[STORE_RAW];
	for (int s = 0; s < SERIES; s++)
		for (int64_t step = 0; step < month.at; step++) {
			const int64_t t_ns = step_ns(step);
			const bool seen = month.seen[s][step], given = month.given[s][step];
			const bool pinned = in_force_then(s, step) ||
				(month.incident_ns &&
					llabs(t_ns - month.incident_ns) <= EVIDENCE_NS);
			const bool state =
				given && (in_force(s, step, from_ns) || in_force(s, step, kept_ns));
			if (given && !seen &&
				(t_ns >= from_ns || pinned ||
					(state && in_force(s, step, from_ns))))
				fault("series %d, step %" PRId64 " is not there", s, step);
			if (seen && t_ns < kept_ns - 3 * HOUR_NS && !state && !pinned &&
				!(month.incident_ns &&
					llabs(t_ns - month.incident_ns) <= EVIDENCE_NS + HOUR_NS))
				fault("series %d, step %" PRId64 " is still there", s, step);
		}
}

/* ---- minutes and hours --------------------------------------------------- */

struct rollup_check {
	const struct entities *entities;
	int64_t step_ns;
	uint64_t rows, of_tier[3];
	int64_t first_ns;
};

/* Steps of the book in (from, to]. */
static int64_t first_step_after(int64_t t_ns)
{
	int64_t step = (t_ns - T0) / (month.step_s * NS_PER_S) - 1;

	while (step < 0 || step_ns(step) <= t_ns)
		step++;
	return step;
}

static int meet_rollup(void *arg, const struct rollup *row)
{
	struct rollup_check *check = arg;
	const struct sample sample = {.entity = row->entity, .metric = row->metric};
	const int s = series_of(check->entities, &sample);
	const int64_t first = first_step_after(row->from_ns);
	const int64_t last = first_step_after(row->to_ns) - 1;

	check->rows++;
	check->of_tier[row->tier]++;
	if (check->first_ns == 0)
		check->first_ns = row->from_ns;
	if (s < 0 || s % KINDS > RX_POWER || last < first || last >= month.at)
		return 0;
	if ((int64_t)row->count != last - first + 1)
		fault("series %d: %u samples, given were %" PRId64, s, row->count,
			last - first + 1);
	if (row->first != month.value[s][first] || row->last != month.value[s][last])
		fault("series %d: first or last of a step is not what was given", s);
	if (s % KINDS == RX_POWER)
		return 0;
	/* the first of a series counts from what is there before it, maybe long before */
	int64_t usual_ns = month.step_s * NS_PER_S;
	if (usual_ns < HOUR_NS)
		usual_ns = HOUR_NS;
	if (row->from_ns == check->first_ns || row->longest_ns > usual_ns || first == 0)
		return 0;
	const uint64_t increase = month.value[s][last] - month.value[s][first - 1];
	if (row->increase != increase)
		fault("series %d: increase %" PRIu64 ", given was %" PRIu64, s, row->increase,
			increase);
	return 0;
}

static void check_rollups(struct history *history, int days, int64_t each_ns, uint64_t of_tier[3])
{
	struct rollup_check check = {.entities = history_entities(history), .step_ns = each_ns};
	const struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.from_ns = month.now_ns - days * DAY_NS,
		.to_ns = month.now_ns - 2 * HOUR_NS};
	struct err e = {0};
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	if (history_each_rollup(history, &filter, each_ns, meet_rollup, &check, &e) < 0)
		fault("%s", e.text);
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (month.say)
		printf("  %d days by %" PRId64 " s: %" PRIu64 " rows, of which %" PRIu64
		       " from single values, %" PRIu64 " from minutes, %" PRIu64
		       " from hours; %.0f ms\n",
			days, (int64_t)(each_ns / NS_PER_S), check.rows, check.of_tier[ROLLUP_RAW],
			check.of_tier[ROLLUP_MINUTE], check.of_tier[ROLLUP_HOUR],
			(double)(to.tv_sec - from.tv_sec) * 1e3 +
				(double)(to.tv_nsec - from.tv_nsec) / 1e6);
	memcpy(of_tier, check.of_tier, sizeof(check.of_tier));
}

/* A range that only minutes have, and one that only hours have. */
static void check_long_ranges(struct history *history)
{
	uint64_t minutes[3], hours[3];

	if (month.quota_bytes || !history->ops->each_rollup)
		return;
	check_rollups(history, month.minute_days - 1, 600 * NS_PER_S, minutes);
	check_rollups(history, month.hour_days - 2, 6 * HOUR_NS, hours);
	if (minutes[ROLLUP_MINUTE] == 0)
		fault("a range beyond the single values is not served from minutes");
	if (hours[ROLLUP_HOUR] == 0)
		fault("a range beyond the minutes is not served from hours");
}

/* ---- a day --------------------------------------------------------------- */

static void check_sizes(int64_t day)
{
	struct stat st = {0};

	stat(month.path, &st);
	if ((uint64_t)st.st_size > month.file_most)
		month.file_most = (uint64_t)st.st_size;
	if (month.say)
		printf("day %" PRId64 ": file %.2f MB, in use %.2f MB, log at most %.1f MB, raw "
		       "reaches back %.1f days, growth %.2f MB a day\n",
			day, (double)st.st_size / 1e6, (double)month.usage.used_bytes / 1e6,
			(double)month.log_most / 1e6,
			(double)(month.now_ns - month.usage.oldest_ns[STORE_RAW]) / (double)DAY_NS,
			month.usage.growth_bytes_day / 1e6);
	if (month.log_most > LOG_MOST_BYTES)
		fault("the write-ahead log has %" PRIu64 " bytes", month.log_most);
	if (month.quota_bytes && month.usage.used_bytes > month.quota_bytes)
		fault("%" PRIu64 " bytes are in use, the quota is %" PRIu64, month.usage.used_bytes,
			month.quota_bytes);
	/* all tiers are full */
	if (day >= month.hour_days + 5 && month.flat_bytes == 0)
		month.flat_bytes = st.st_size;
	if (day > month.hour_days + 5 && (double)st.st_size > 1.04 * (double)month.flat_bytes)
		fault("the file grows: %" PRId64 " bytes, it had %" PRId64, (int64_t)st.st_size,
			month.flat_bytes);
}

static void check_day(int64_t day)
{
	struct history *history;
	struct err e = {0};

	check_sizes(day);
	if (day % 5 != 0 && day != month.days)
		return;
	if (db_history_open(month.path, &history, &e) < 0) {
		fault("%s", e.text);
		return;
	}
	check_samples(history);
	if (day > month.hour_days)
		check_long_ranges(history);
	history_close(history);
}

static void give_incident(const char *state)
{
	const struct store_incident incident = {.id = "OPEN",
		.cause = "ecn_late",
		.severity = "warning",
		.state = state,
		.device = "leaf0",
		.summary = "s",
		.json = "{}",
		.priority = PRIO_NONE,
		.opened_ns = month.incident_ns,
		.updated_ns = month.incident_ns};

	store_incident(month.store, &incident);
}

static void keep_house_failing(void)
{
	static const struct fault_plan faults[] = {
		{.ops = FAULT_BIT(FAULT_WRITE), .rc = SQLITE_FULL},
		{.ops = FAULT_BIT(FAULT_WRITE), .rc = SQLITE_IOERR_WRITE, .torn = true},
		{.ops = FAULT_BIT(FAULT_READ), .rc = SQLITE_IOERR_READ},
		{.ops = FAULT_BIT(FAULT_SYNC), .rc = SQLITE_IOERR_FSYNC},
		{.ops = FAULT_BIT(FAULT_SHM_LOCK), .rc = SQLITE_BUSY},
		{.ops = FAULT_BIT(FAULT_MALLOC), .rc = SQLITE_NOMEM},
	};
	struct fault_plan plan = faults[month.struck % rw_countof(faults)];
	struct err e = {0};
	bool more = true;

	plan.first = 1 + month.struck++ / (int64_t)rw_countof(faults) % month.nth;
	plan.times = 1;
	fault_vfs_plan(&plan);
	while (more && sqlite_backend.maintain(month.state, month.now_ns, &more, &e) == 0)
		;
	month.failed += fault_vfs_failed();
	fault_vfs_plan(NULL);
}

static void keep_house(void)
{
	struct err e = {0};
	bool more = true;
	const struct store_options o = {.path = month.path,
		.raw_ns = month.raw_days * DAY_NS,
		.minute_ns = month.minute_days * DAY_NS,
		.hour_ns = month.hour_days * DAY_NS,
		.quota_bytes = month.quota_bytes};

	sqlite_backend.keep(month.state, &o);
	if (month.nth)
		keep_house_failing();
	for (int i = 0; more && i < 1000; i++)
		if (sqlite_backend.maintain(month.state, month.now_ns, &more, &e) < 0) {
			fault("%s", e.text);
			return;
		}
	if (sqlite_backend.usage(month.state, &month.usage, &e) < 0)
		fault("%s", e.text);
	quota_watch(&month.watch, &sqlite_backend, month.state, &o, month.now_ns, &month.usage);
}

static void month_step(void)
{
	const int64_t before_ns = month.now_ns;
	struct err e = {0};

	month_give();
	month.now_ns = step_ns(month.at - 1) + 5 * NS_PER_S;
	if (month.at % month.commit_steps != 0)
		return;
	if (store_flush(month.store, &e) < 0)
		fault("%s", e.text);
	if (sqlite_backend.settle(month.state, &e) < 0)
		fault("%s", e.text);
	const uint64_t log_bytes = sqlite_backend.log_bytes(month.state);
	if (log_bytes > month.log_most)
		month.log_most = log_bytes;
	const int64_t day = (month.now_ns - T0) / DAY_NS;
	if ((month.now_ns - T0) / HOUR_NS != (before_ns - T0) / HOUR_NS ||
		month.at % (month.commit_steps * 3) == 0)
		keep_house();
	if (month.incident_ns == 0 && day == 4) {
		month.incident_ns = month.now_ns;
		give_incident("open");
	}
	static int64_t checked;
	if (day == checked)
		return;
	checked = day;
	check_day(day);
}

/* ---- the reader that never ends ------------------------------------------ */

static int read_on(void *arg, const struct sample *sample)
{
	month.read++;
	if (month.at < month.n_steps)
		month_step();
	return month.at >= month.n_steps;
}

static void month_live(void)
{
	struct history *history;
	struct err e = {0};

	for (int i = 0; i < 2 * month.commit_steps; i++)
		month_step();
	if (db_history_open(month.path, &history, &e) < 0) {
		fault("%s", e.text);
		return;
	}
	while (month.at < month.n_steps) {
		month.walks++;
		if (history_each_sample(history, NULL, read_on, NULL, &e) < 0) {
			fault("%s", e.text);
			break;
		}
	}
	history_close(history);
}

/* ---- a run --------------------------------------------------------------- */

static int month_open(const struct store_options *options, void **ret, struct err *e)
{
	const int r = sqlite_backend.open(options, ret, e);

	month.state = *ret;
	return r;
}

static void month_names(void)
{
	char device[16], port[16];

	for (int i = 0; i < DEVICES * PORTS; i++) {
		snprintf(device, sizeof(device), "leaf%d", i / PORTS);
		snprintf(port, sizeof(port), "swp%d", i % PORTS);
		month.entity[i * 2] = entities_intern(month.entities, device, port, PRIO_NONE);
		month.entity[i * 2 + 1] = entities_intern(month.entities, device, port, 3);
	}
}

static int month_begin(void)
{
	static struct store_backend backend;
	struct err e = {0};

	month.now_ns = T0;
	month.n_steps = (int64_t)month.days * 86400 / month.step_s + month.commit_steps;
	for (int s = 0; s < SERIES; s++) {
		month.value[s] = rw_calloc((size_t)month.n_steps, sizeof(uint64_t));
		month.given[s] = rw_calloc((size_t)month.n_steps, sizeof(bool));
		month.seen[s] = rw_calloc((size_t)month.n_steps, 1);
	}
	snprintf(month.dir, sizeof(month.dir), "/tmp/rw-month-XXXXXX");
	if (!mkdtemp(month.dir))
		return -errno;
	snprintf(month.path, sizeof(month.path), "%s/t.db", month.dir);
	month.entities = entities_new();
	month_names();
	backend = sqlite_backend;
	backend.open = month_open;
	const struct store_options o = {.path = month.path, .replay = true, .log_pages = LOG_PAGES};
	const int r = store_open(&backend, &o, month.entities, &month.store, &e);
	if (r < 0)
		fault("%s", e.text);
	return r;
}

static void month_end(void)
{
	static const char *const files[] = {
		"t.db", "t.db-wal", "t.db-shm", "t.db.lock", "t.db.state"};

	store_close(month.store);
	entities_free(month.entities);
	for (size_t i = 0; i < rw_countof(files); i++) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%s", month.dir, files[i]);
		unlink(path);
	}
	rmdir(month.dir);
	for (int s = 0; s < SERIES; s++) {
		free(month.value[s]);
		free(month.given[s]);
		free(month.seen[s]);
	}
}

static void month_options(int argc, char **argv)
{
	const struct {
		const char *name;
		int *to;
	} options[] = {{"--days", &month.days}, {"--step", &month.step_s},
		{"--raw", &month.raw_days}, {"--minute", &month.minute_days},
		{"--hour", &month.hour_days}, {"--nth", &month.nth},
		{"--commit", &month.commit_steps}};

	for (int i = 1; i < argc; i++) {
		month.say |= strcmp(argv[i], "--say") == 0;
		if (i + 1 < argc && strcmp(argv[i], "--quota") == 0)
			month.quota_bytes = (uint64_t)(atof(argv[i + 1]) * 1e6);
		for (size_t k = 0; i + 1 < argc && k < rw_countof(options); k++)
			if (strcmp(argv[i], options[k].name) == 0)
				*options[k].to = atoi(argv[i + 1]);
	}
}

int main(int argc, char **argv)
{
	month_options(argc, argv);
	if (month.nth) {
		fault_vfs_register_malloc();
		fault_vfs_register();
	}
	if (month_begin() < 0)
		return 1;
	log_set_level(LOG_INFO_);
	log_set_writer(month_log);
	month_live();
	check_log();
	month_end();
	printf("%d days, %" PRId64
	       " steps of %d s, %d series: the log had at most %.1f MB, the file "
	       "%.2f MB; %" PRIu64 " samples were read meanwhile in %" PRIu64
	       " walks; %d faults, %" PRId64 " calls failed\n",
		month.days, month.at, month.step_s, SERIES, (double)month.log_most / 1e6,
		(double)month.file_most / 1e6, month.read, month.walks, month.faults, month.failed);
	return month.faults > 0 || (month.nth && month.failed == 0);
}
