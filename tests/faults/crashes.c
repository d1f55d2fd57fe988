/*
 * crashes - the hour (hour.h) cut off at any call of SQLite's: by a power cut, which leaves any
 * part of what was not synced; by kill -9; and by the abort that follows when an allocation of our
 * own fails. Then the agent starts again with the real code.
 *
 *   crashes [--seed S] [--runs N]       N of each kind, at moments that follow from the seed
 *
 * Promised: the file is whole; what is there is all that was committed up to some moment and
 * nothing of what came later. That moment is the last commit for kill -9 and abort. For a power cut
 * it is not before the last sync of the write-ahead log.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "tests/faults/fault_vfs.h"
#include "tests/faults/hour.h"
#include "tests/faults/power_cut.h"
#include "tests/faults/sim.h"

#define HANG_S 120

enum crash_kind { CRASH_POWER, CRASH_KILL, CRASH_ABORT, CRASH_KINDS };
static const char *const crash_names[CRASH_KINDS] = {"power", "kill -9", "abort"};

/* Of the process that is ended, seen by the one that looks after it. */
static struct crash_shared {
	uint64_t committed; /* the store said so */
	uint64_t durable; /* committed when the write-ahead log was synced last */
	int64_t calls, allocations;
	int64_t now_ns;
	/* Somebody had just deleted the file, and its copy was not yet whole: with the process goes
	 * what only the process had. */
	bool gone;
	char path[96];
} * shared;
static struct hour *crash_hour; /* under way, in the process that is ended */
static uint64_t crash_seed;
static int64_t crash_abort_at; /* 0: allocations work */

/* ---- our own allocations ------------------------------------------------- */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool crash_no_memory(void)
{
	return shared && crash_hour && ++shared->allocations == crash_abort_at;
}

void *__wrap_calloc(size_t n, size_t size)
{
	if (crash_no_memory())
		return NULL;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	if (crash_no_memory())
		return NULL;
	return __real_realloc(memory, size);
}

/* ---- the process that is ended ------------------------------------------- */

static void crash_tick(struct hour *hour, void *arg)
{
	shared->committed = hour_committed(hour);
	shared->now_ns = sim_wall_ns();
	shared->calls++;
}

static void crash_synced(void *arg)
{
	if (crash_hour)
		shared->durable = hour_committed(crash_hour);
}

/* The script deletes the file once, in the middle of the hour; it is back, or saved beside, soon.
 */
static bool crash_file_gone(void)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%s.rescue", shared->path);
	return shared->calls > 0 && access(shared->path, F_OK) < 0 && access(copy, F_OK) < 0;
}

static void crash_kill(void)
{
	shared->gone = crash_file_gone();
	if (crash_hour)
		crash_tick(crash_hour, NULL);
	kill(getpid(), SIGKILL);
}

static void crash_power(void)
{
	power_cut_freeze();
	shared->now_ns = sim_wall_ns();
	power_cut_apply(crash_seed);
	kill(getpid(), SIGKILL);
}

static void (*const crash_strike[CRASH_KINDS])(void) = {
	[CRASH_POWER] = crash_power, [CRASH_KILL] = crash_kill};

/* The hour, until call or allocation @at. */
static void crash_run(enum crash_kind kind, int64_t at)
{
	/* SQLite's directory operations are remembered, those of a rescue are not. */
	const struct hour_options options = {.tick = crash_tick, .no_rescue = kind == CRASH_POWER};
	const struct fault_plan plan = {
		.ops = FAULT_DISK, .first = at, .times = 1, .strike = crash_strike[kind]};

	alarm(HANG_S);
	freopen("/dev/null", "w", stderr); /* the last words of an abort */
	struct hour *hour = hour_new(&options);
	snprintf(shared->path, sizeof(shared->path), "%s", hour_path(hour));
	shared->now_ns = HOUR_T0;
	crash_hour = hour;
	if (kind == CRASH_POWER)
		power_cut_begin(crash_synced, NULL);
	if (kind == CRASH_ABORT)
		crash_abort_at = at;
	else
		fault_vfs_plan(&plan);
	hour_live(hour);
	shared->calls = 0;
	for (unsigned i = 0; i < FAULT_MALLOC; i++)
		shared->calls += fault_vfs_calls(i);
	_exit(0); /* it was not struck */
}

/* ---- the one that looks after it ----------------------------------------- */

struct crash_sum {
	int64_t runs, lost, torn, damaged, refused, behind, gone;
	bool bad;
};

/* The agent starts again, and writes. */
static bool crash_restart(void)
{
	const struct hour_options options = {.path = shared->path, .now_ns = shared->now_ns};
	struct hour *hour = hour_new(&options);
	const bool writes = hour_settle(hour);

	hour_close(hour);
	shared->now_ns = sim_wall_ns();
	if (!writes || hour_seen(hour).refused > 0) {
		size_t n;
		const char *log = sim_log(&n);
		printf("%.*s", (int)n, log);
	}
	const bool good = writes && hour_seen(hour).refused == 0;
	hour_keep(hour);
	return good;
}

static void crash_judge(
	struct crash_sum *sum, const struct hour *whole, enum crash_kind kind, uint64_t seed)
{
	const uint64_t promised = kind == CRASH_POWER ? shared->durable : shared->committed;
	struct hour_check check;
	const bool restarts = crash_restart();

	hour_compare_file(whole, shared->path, shared->now_ns, promised, &check);
	const bool torn = check.first_missing > 0 && check.first_missing < check.last_present;
	sum->runs++;
	sum->lost += (int64_t)check.lost;
	sum->torn += torn;
	sum->damaged += check.damaged || check.wrong > 0 || check.twice > 0;
	sum->refused += !restarts;
	sum->behind += kind == CRASH_POWER && check.last_present < shared->committed;
	if (restarts && check.lost == 0 && !torn && !check.words[0])
		return;
	sum->bad = true;
	printf("crashes '%s' %" PRIu64 ": promised %" PRIu64 ", there up to %" PRIu64
	       ", first missing %" PRIu64 "%s; %s\n",
		crash_names[kind], seed, promised, check.last_present, check.first_missing,
		restarts ? "" : "; the agent does not start", check.words);
}

static void crash_clean(void)
{
	const struct hour_options options = {.path = shared->path};

	hour_free(hour_new(&options));
}

/* 0 = to the end. */
static int crash_fork(enum crash_kind kind, int64_t at)
{
	int status = 0;

	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	const pid_t pid = fork();
	if (pid == 0)
		crash_run(kind, at);
	waitpid(pid, &status, 0);
	return status;
}

static void crash_once(struct crash_sum *sum, const struct hour *whole, enum crash_kind kind,
	uint64_t seed, int64_t calls)
{
	crash_seed = seed;
	const int64_t at = 1 + (int64_t)((seed * 0x9E3779B97F4A7C15 >> 20) % (uint64_t)calls);
	const int status = crash_fork(kind, at);
	const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (kind == CRASH_ABORT && signal == SIGABRT)
		shared->gone = crash_file_gone();
	if (signal == (kind == CRASH_ABORT ? SIGABRT : SIGKILL) || status == 0) {
		if (shared->gone)
			sum->gone++;
		else
			crash_judge(sum, whole, kind, seed);
	} else {
		printf("crashes '%s' %" PRIu64 ": the process ended by itself, status %d\n",
			crash_names[kind], seed, status);
		sum->bad = true;
	}
	crash_clean();
}

static bool crash_kind_runs(
	const struct hour *whole, enum crash_kind kind, uint64_t seed, int64_t runs)
{
	struct crash_sum sum = {0};

	crash_fork(kind, INT64_MAX);
	const int64_t calls = kind == CRASH_ABORT ? shared->allocations : shared->calls;
	crash_clean();
	for (int64_t i = 0; i < runs; i++)
		crash_once(&sum, whole, kind, seed + (uint64_t)i, calls);
	printf("%-8s %9" PRId64 " %6" PRId64 " %12" PRId64 " %7" PRId64 " | %5" PRId64 " %5" PRId64
	       " %8" PRId64 " %8" PRId64 "\n",
		crash_names[kind], calls, sum.runs, sum.behind, sum.gone, sum.lost, sum.torn,
		sum.damaged, sum.refused);
	fflush(stdout);
	return !sum.bad;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;
	int64_t runs = 5;
	bool good = true;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 10);
		if (strcmp(argv[i], "--runs") == 0)
			runs = atoll(argv[i + 1]);
	}
	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	log_set_plain(false);
	fault_vfs_register();
	fault_vfs_simulate(sim_sleep_us);
	const struct hour_options options = {.no_rescue = false};
	struct hour *whole = hour_new(&options);
	hour_live(whole);
	hour_settle(whole);
	hour_close(whole);
	printf("crashes --seed %" PRIu64 " --runs %" PRId64 "\n", seed, runs);
	printf("%-8s %9s %6s %12s %7s | %5s %5s %8s %8s\n", "end by", "moments", "runs",
		"unsynced end", "deleted", "lost", "torn", "damaged", "no start");
	for (unsigned kind = 0; kind < CRASH_KINDS; kind++)
		good &= crash_kind_runs(whole, kind, seed, runs);
	hour_free(whole);
	return good ? 0 : 1;
}
