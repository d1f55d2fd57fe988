/*
 * every_nth - one hour of an agent's life (hour.h), again and again, with the N-th call of one of
 * SQLite's operations on files, or the N-th of its allocations, failing: once, or all of them from
 * there on for six minutes. After each run the file is whole, nothing that was committed is
 * missing, nothing is there twice, all that waited is written, and the fault was told, unless the
 * file is the same as without it.
 *
 *   every_nth [--seed S]             a sample: some ten single failures in each hour, spread over
 *                                    it, and some that last
 *   every_nth --all [OPERATION]      each N; with --first F --most M: the first F, and M more
 *   every_nth --list                 the operations
 *   every_nth OPERATION N [lasts|K]  one run, with the log of the store; K: each K-th from N on
 *
 * One line per operation; exit status 1 when any of the last six columns is not 0.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "tests/faults/fault_vfs.h"
#include "tests/faults/hour.h"
#include "tests/faults/sim.h"

#define LASTS_NS (6 * 60 * NS_PER_S)
#define SAMPLE_FAILURES 10
#define HANG_S 120 /* real seconds for one run */

static const struct nth_row {
	const char *name;
	unsigned ops;
	int rc;
	bool torn;
	bool rare; /* not in the sample: others there go the same way */
} nth_rows[] = {
	{"xOpen", FAULT_BIT(FAULT_OPEN), SQLITE_CANTOPEN, false, false},
	{"xDelete", FAULT_BIT(FAULT_DELETE), SQLITE_IOERR_DELETE, false, false},
	{"xAccess", FAULT_BIT(FAULT_ACCESS), SQLITE_IOERR_ACCESS, false, true},
	{"xRead", FAULT_BIT(FAULT_READ), SQLITE_IOERR_READ, false, false},
	{"xRead.corrupt", FAULT_BIT(FAULT_READ), SQLITE_IOERR_CORRUPTFS, false, true},
	{"xWrite", FAULT_BIT(FAULT_WRITE), SQLITE_IOERR_WRITE, false, false},
	{"xWrite.full", FAULT_BIT(FAULT_WRITE), SQLITE_FULL, false, true},
	{"xWrite.short", FAULT_BIT(FAULT_WRITE), SQLITE_FULL, true, false},
	{"xTruncate", FAULT_BIT(FAULT_TRUNCATE), SQLITE_IOERR_TRUNCATE, false, false},
	{"xSync", FAULT_BIT(FAULT_SYNC), SQLITE_IOERR_FSYNC, false, false},
	{"xFileSize", FAULT_BIT(FAULT_SIZE), SQLITE_IOERR_FSTAT, false, true},
	{"xLock", FAULT_BIT(FAULT_LOCK), SQLITE_IOERR_LOCK, false, true},
	{"xLock.busy", FAULT_BIT(FAULT_LOCK), SQLITE_BUSY, false, false},
	{"xUnlock", FAULT_BIT(FAULT_UNLOCK), SQLITE_IOERR_UNLOCK, false, true},
	{"xShmMap", FAULT_BIT(FAULT_SHM_MAP), SQLITE_IOERR_SHMMAP, false, false},
	{"xShmLock", FAULT_BIT(FAULT_SHM_LOCK), SQLITE_IOERR_SHMLOCK, false, false},
	{"xShmLock.busy", FAULT_BIT(FAULT_SHM_LOCK), SQLITE_BUSY, false, true},
	{"xShmUnlock", FAULT_BIT(FAULT_SHM_UNLOCK), SQLITE_IOERR_SHMLOCK, false, false},
	{"locks", /* as when fcntl() fails */
		FAULT_BIT(FAULT_LOCK) | FAULT_BIT(FAULT_UNLOCK) | FAULT_BIT(FAULT_SHM_LOCK) |
			FAULT_BIT(FAULT_SHM_UNLOCK),
		SQLITE_IOERR_LOCK, false, false},
	{"readonly", FAULT_BIT(FAULT_WRITE) | FAULT_BIT(FAULT_TRUNCATE), SQLITE_READONLY, false,
		true},
	{"disk", FAULT_DISK, SQLITE_IOERR, true, false},
	{"malloc", FAULT_BIT(FAULT_MALLOC), SQLITE_NOMEM, false, false},
};

static struct { /* the hour without a fault */
	int64_t calls[FAULT_OPS];
	uint64_t content, log_bytes;
	size_t log_lines;
} nth_normal;

struct nth_run {
	const struct nth_row *row;
	int64_t n;
	bool lasts;
	int64_t every; /* not once, but each so many calls; 0 = once */
	int64_t began_ns; /* the first failure was seen; 0 = not yet */
	int64_t failed;
	bool healed;
	struct hour_seen seen;
	struct hour_check check;
	bool settled, told, same;
};

struct nth_sum {
	int64_t runs, calls, told, absorbed, lost, twice, wrong, damaged, silent, stuck;
};

static void nth_heal(struct nth_run *run)
{
	if (run->healed)
		return;
	run->failed = fault_vfs_failed();
	run->healed = true;
	fault_vfs_plan(NULL);
}

static void nth_tick(struct hour *hour, void *arg)
{
	struct nth_run *run = arg;

	if (run->healed || fault_vfs_failed() == 0 || run->every > 0)
		return;
	if (run->began_ns == 0)
		run->began_ns = sim_wall_ns();
	if (sim_wall_ns() - run->began_ns >= LASTS_NS)
		nth_heal(run);
}

static size_t nth_log_lines(void)
{
	size_t n, lines = 0;
	const char *log = sim_log(&n);

	for (size_t i = 0; i < n; i++)
		lines += log[i] == '\n';
	return lines;
}

/* The hour with the fault of @run, or without one. */
static void nth_hour(struct nth_run *run)
{
	const struct hour_options options = {.tick = nth_tick, .arg = run};
	const struct fault_plan plan = {.ops = run->row ? run->row->ops : 0,
		.rc = run->row ? run->row->rc : 0,
		.torn = run->row && run->row->torn,
		.first = run->n,
		.every = run->every,
		.times = run->lasts || run->every > 0 ? INT64_MAX : 1};
	struct hour *hour = hour_new(&options);

	alarm(HANG_S);
	fault_vfs_plan(&plan);
	hour_live(hour);
	for (unsigned i = 0; !run->row && i < FAULT_OPS; i++)
		nth_normal.calls[i] = fault_vfs_calls(i);
	nth_heal(run);
	run->settled = hour_settle(hour);
	run->told = nth_log_lines() > nth_normal.log_lines;
	hour_close(hour);
	run->seen = hour_seen(hour);
	hour_compare(hour, hour_handed(hour), &run->check);
	const uint64_t content = hour_content(hour);
	/* A lock that is not released, although SQLite takes it for released, keeps the log from
	 * beginning anew: then it grows, and is told when it is long. */
	run->same = content == nth_normal.content &&
		(run->seen.log_bytes <= nth_normal.log_bytes + nth_normal.log_bytes / 4 ||
			(run->row && run->row->ops & FAULT_BIT(FAULT_SHM_UNLOCK)));
	if (!run->row) {
		nth_normal.content = content;
		nth_normal.log_bytes = run->seen.log_bytes;
		nth_normal.log_lines = nth_log_lines();
	}
	run->told |= run->seen.refused > 0 && run->seen.unnamed == 0;
	hour_free(hour);
	alarm(0);
}

static bool nth_is_good(const struct nth_run *run)
{
	return run->settled && run->check.lost == 0 && run->check.twice == 0 &&
		run->check.wrong == 0 && !run->check.damaged && run->seen.unnamed == 0 &&
		(run->told || run->same || run->failed == 0);
}

static void nth_count(struct nth_sum *sum, const struct nth_run *run)
{
	const bool failed = run->failed > 0;

	sum->runs++;
	sum->calls += run->failed;
	sum->told += failed && run->told;
	sum->absorbed += failed && !run->told && run->same;
	sum->lost += (int64_t)run->check.lost;
	sum->twice += (int64_t)run->check.twice;
	sum->wrong += (int64_t)run->check.wrong;
	sum->damaged += run->check.damaged;
	sum->silent += (failed && !run->told && !run->same) || run->seen.unnamed > 0;
	sum->stuck += !run->settled;
}

static struct nth_run nth_once(const struct nth_row *row, int64_t n, bool lasts, int64_t every)
{
	struct nth_run run = {.row = row, .n = n, .lasts = lasts, .every = every};

	nth_hour(&run);
	if (!nth_is_good(&run))
		printf("every_nth %s %" PRId64 " %s%" PRId64 ": %s%s%s%s%s\n", row->name, n,
			lasts ? "lasts " : "", every, run.settled ? "" : "not written in the end; ",
			run.told || run.same ? "" : "not told; ",
			run.check.damaged ? "damaged; " : "",
			run.seen.unnamed > 0 ? "a message without the file's name; " : "",
			run.check.words);
	fflush(stdout);
	return run;
}

static void nth_head(void)
{
	printf("%-14s %8s %8s %9s %8s %8s | %5s %6s %6s %8s %9s %13s\n", "operation", "calls",
		"runs", "failed", "told", "absorbed", "lost", "twice", "wrong", "damaged",
		"not told", "not recovered");
}

static bool nth_line(const char *name, int64_t calls, const struct nth_sum *sum)
{
	printf("%-14s %8" PRId64 " %8" PRId64 " %9" PRId64 " %8" PRId64 " %8" PRId64 " | %5" PRId64
	       " %6" PRId64 " %6" PRId64 " %8" PRId64 " %9" PRId64 " %13" PRId64 "\n",
		name, calls, sum->runs, sum->calls, sum->told, sum->absorbed, sum->lost, sum->twice,
		sum->wrong, sum->damaged, sum->silent, sum->stuck);
	fflush(stdout);
	return sum->lost + sum->twice + sum->wrong + sum->damaged + sum->silent + sum->stuck == 0;
}

static int64_t nth_calls(const struct nth_row *row)
{
	int64_t n = 0;

	for (unsigned i = 0; i < FAULT_OPS; i++)
		if (row->ops & FAULT_BIT(i))
			n += nth_normal.calls[i];
	return n;
}

static bool nth_all(const struct nth_row *row, int64_t first, int64_t most)
{
	struct nth_sum sum = {0};
	const int64_t calls = nth_calls(row);
	int64_t stride = 1;

	if (most > 0 && calls - first > most)
		stride = (calls - first) / most;
	for (int64_t n = 1; n <= calls; n += n < first ? 1 : stride)
		for (int lasts = 0; lasts < 2; lasts++) {
			const struct nth_run run = nth_once(row, n, lasts, 0);
			nth_count(&sum, &run);
		}
	return nth_line(row->name, calls, &sum);
}

static uint64_t nth_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Single failures, SAMPLE_FAILURES in the hour; every third time one that lasts. */
static bool nth_sample(const struct nth_row *row, int runs, uint64_t seed)
{
	struct nth_sum sum = {0};
	const int64_t calls = nth_calls(row), every = calls / SAMPLE_FAILURES + 2;
	uint64_t state = seed * 0x9E3779B97F4A7C15 + (uint64_t)(row - nth_rows) + 1;

	for (int i = 0; i < runs; i++) {
		/* once: an attempt makes more of these calls than lie between two failures */
		const bool slow =
			row->ops == FAULT_BIT(FAULT_MALLOC) || row->ops == FAULT_BIT(FAULT_DELETE);
		const bool lasts = !slow && (i + (row - nth_rows)) % 3 == 2;
		const int64_t room = lasts ? calls + 1 : every;
		const int64_t n = 1 + (int64_t)(nth_random(&state) >> 16) % room;
		const struct nth_run run = nth_once(row, n, lasts, lasts || slow ? 0 : every);
		nth_count(&sum, &run);
	}
	return nth_line(row->name, calls, &sum);
}

static const struct nth_row *nth_find(const char *name)
{
	for (size_t i = 0; i < rw_countof(nth_rows); i++)
		if (strcmp(nth_rows[i].name, name) == 0)
			return &nth_rows[i];
	fprintf(stderr, "every_nth: no operation '%s'; one of:\n", name);
	for (size_t i = 0; i < rw_countof(nth_rows); i++)
		fprintf(stderr, "  %s\n", nth_rows[i].name);
	exit(2);
}

static int nth_list(void)
{
	for (size_t i = 0; i < rw_countof(nth_rows); i++)
		printf("%s\n", nth_rows[i].name);
	return 0;
}

static int nth_one(const char *name, const char *number, bool lasts, int64_t every)
{
	size_t n;
	const struct nth_run run = nth_once(nth_find(name), atoll(number), lasts, every);
	const char *log = sim_log(&n);

	printf("%.*sfailed %" PRId64 ", told %d, same %d, settled %d\n", (int)n, log, run.failed,
		run.told, run.same, run.settled);
	return nth_is_good(&run) ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *only = NULL, *number = NULL;
	int64_t first = 0, most = 0, runs = 1, every = 0;
	uint64_t seed = 1;
	bool all = false, lasts = false, good = true;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0)
			return nth_list();
		if (strcmp(argv[i], "--all") == 0)
			all = true;
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
			first = atoll(argv[++i]);
		else if (strcmp(argv[i], "--most") == 0 && i + 1 < argc)
			most = atoll(argv[++i]);
		else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = atoll(argv[++i]);
		else if (strcmp(argv[i], "lasts") == 0)
			lasts = true;
		else if (!only)
			only = argv[i];
		else if (!number)
			number = argv[i];
		else
			every = atoll(argv[i]);
	}
	log_set_plain(false);
	fault_vfs_register_malloc();
	fault_vfs_register();
	fault_vfs_simulate(sim_sleep_us);
	struct nth_run normal = {.healed = false};
	nth_hour(&normal);
	if (!normal.settled || normal.check.words[0]) {
		printf("every_nth: the hour without a fault fails: %s\n", normal.check.words);
		return 1;
	}
	if (number)
		return nth_one(only, number, lasts, every);
	if (!all)
		printf("every_nth --seed %" PRIu64 " --runs %" PRId64 "\n", seed, runs);
	nth_head();
	for (size_t i = 0; i < rw_countof(nth_rows); i++) {
		if (only && &nth_rows[i] != nth_find(only))
			continue;
		if (!all && !only && nth_rows[i].rare)
			continue;
		if (all)
			good &= nth_all(&nth_rows[i], first, most);
		else
			good &= nth_sample(&nth_rows[i], (int)runs, seed);
	}
	return good ? 0 : 1;
}
