/*
 * readers - what reads a database, with the N-th call of SQLite's failing, once or from there on:
 * it gives the right answer, or fails and names the file. Never a wrong answer, never a crash,
 * never without an end.
 *
 *   readers [--seed S] [--runs R]   R numbers N for each reader, state of the file and every other
 *                                   operation
 *   readers --all [READER]          each N; with --first F --most M: the first F, and M more
 *   readers READER STATE OPERATION N [lasts]   one, with what it says; STATE: closed, live
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "agent/command/command.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/sqlite/admin.h"
#include "tests/faults/fault_vfs.h"
#include "tests/faults/hour.h"
#include "tests/faults/sim.h"

#define HANG_S 60
#define READ_AT_NS (HOUR_T0 + HOUR_STEPS * HOUR_STEP_NS + 5 * 60 * NS_PER_S)

/* ---- readers through the interface of history.h -------------------------- */

static int read_sample(void *arg, const struct sample *sample)
{
	FILE *out = arg;

	fprintf(out, "%" PRId64 " %u %u %" PRIu64 " %u\n", sample->t_ns, sample->entity,
		sample->metric, sample->value, sample->flags);
	return 0;
}

static int read_flow(void *arg, const struct flow_sample *flow)
{
	FILE *out = arg;

	fprintf(out, "%" PRId64 " %" PRIu64 " %u.%u\n", flow->to_ns, flow->octets, flow->key.src[0],
		flow->key.dst[3]);
	return 0;
}

static int read_row(void *arg, int n, char *const *values, char *const *names)
{
	FILE *out = arg;

	for (int i = 0; i < n; i++)
		fprintf(out, "%s=%s ", names[i], values[i] ? values[i] : "NULL");
	fprintf(out, "\n");
	return 0;
}

static int read_samples(struct history *history, FILE *out, struct err *e)
{
	int64_t first_ns = 0, last_ns = 0;
	const struct entities *entities = history_entities(history);
	int r = history_range(history, &first_ns, &last_ns, e);

	fprintf(out, "%" PRId64 " %" PRId64 "\n", first_ns, last_ns);
	for (uint32_t id = 1; id <= entities_count(entities); id++)
		if (entity_get(entities, id))
			fprintf(out, "%s %s\n", entity_get(entities, id)->device,
				entity_get(entities, id)->port);
	if (r == 0)
		r = history_each_sample(history, NULL, read_sample, out, e);
	return r;
}

static int read_window(struct history *history, FILE *out, struct err *e)
{
	const struct history_filter filter = {
		.device = "leaf*", .port = "text*", .priority = HISTORY_ANY_PRIORITY};
	const uint16_t metrics[] = {
		M_PORT_IN_OCTETS, M_PFC_RX_FRAMES, M_CFG_TRUST, M_OPTIC_RX_POWER};
	const struct window_spec spec = {
		.metrics = metrics, .n_metrics = rw_countof(metrics), .flows = true};
	struct arena *a = arena_new();
	struct window window = {0};
	uint32_t *ids = NULL;
	size_t n = 0;
	int r = history_match(history, &filter, &ids, &n, e);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%u\n", ids[i]);
	free(ids);
	if (r == 0)
		r = history_window(history, a, &spec, HOUR_T0 + 50 * 60 * NS_PER_S,
			HOUR_T0 + 58 * 60 * NS_PER_S, &window, e);
	for (size_t i = 0; r == 0 && i < window.n_series; i++)
		for (uint32_t k = 0; k < window.series[i].n; k++)
			fprintf(out, "%u %u %" PRId64 " %" PRIu64 " %u\n", window.series[i].entity,
				window.series[i].metric, window.series[i].t_ns[k],
				window.series[i].value[k], window.series[i].flags[k]);
	arena_free(a);
	return r;
}

static int read_records(struct history *history, FILE *out, struct err *e)
{
	static const char *const statements[] = {
		"SELECT id, state, length(json), usd_total/3 FROM incidents ORDER BY id",
		"SELECT * FROM events WHERE kind='probe'", "SELECT * FROM findings",
		"SELECT * FROM devices", "SELECT key, value FROM health",
		"SELECT metric, value, flags FROM samples WHERE metric='cfg.trust'"};
	char *yaml = NULL;
	int r = history_each_flow(history, 0, 0, read_flow, out, e);

	if (r == 0)
		r = history_fabric_at(history, READ_AT_NS, &yaml, e);
	if (yaml)
		fprintf(out, "%s", yaml);
	free(yaml);
	for (size_t i = 0; r == 0 && i < rw_countof(statements); i++)
		r = history_sql(history, statements[i], read_row, out, e);
	return r;
}

/* ---- readers by their path ----------------------------------------------- */

static int read_stat(const char *path, FILE *out, struct err *e)
{
	struct db_stat stat;
	const int r = db_stat_read(path, &stat, e);

	if (r == 0 && strcmp(stat.check, "ok") != 0) /* as the command does */
		return err_set(e, -EBADMSG, "cannot trust %s: %s", path, stat.check);
	if (r == 0)
		fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 "\n",
			stat.check, stat.samples, stat.events, stat.flows, stat.incidents,
			stat.last_ns);
	return r;
}

static int read_backup(const char *path, FILE *out, struct err *e)
{
	char copy[160];

	snprintf(copy, sizeof(copy), "%s.copy", path);
	unlink(copy);
	int r = db_backup(path, copy, e);
	const int64_t failed = fault_vfs_failed();
	fault_vfs_plan(NULL); /* the copy is read as it is */
	if (r == 0)
		r = read_stat(copy, out, e);
	else if (access(copy, F_OK) == 0)
		fprintf(out, "a copy that is not whole, after %" PRId64 " failures\n", failed);
	unlink(copy);
	return r;
}

extern const struct command command_status, command_incident, command_query, command_doctor,
	command_report, command_topology, command_ecmp, command_pause, command_metrics;
static const struct command *const reader_commands[] = {&command_status, &command_incident,
	&command_query, &command_doctor, &command_report, &command_topology, &command_ecmp,
	&command_pause, &command_metrics, NULL};

static const struct reader {
	const char *name;
	int (*history)(struct history *history, FILE *out, struct err *e);
	int (*path)(const char *path, FILE *out, struct err *e);
	const char *command; /* words after "rocewatch --db FILE" */
} readers[] = {
	{.name = "samples", .history = read_samples},
	{.name = "window", .history = read_window},
	{.name = "records", .history = read_records},
	{.name = "stat", .path = read_stat},
	{.name = "backup", .path = read_backup},
	{.name = "status", .command = "status"},
	{.name = "incidents", .command = "incident list --all"},
	{.name = "query",
		.command = "query port.in_octets --format csv --since 2023-11-14T22:20:00Z"},
	{.name = "doctor", .command = "doctor"},
	{.name = "topology", .command = "topology show"},
	{.name = "ecmp", .command = "ecmp"},
	{.name = "pause", .command = "pause"},
	{.name = "metrics", .command = "metrics"},
};

static int reader_command(const char *path, const char *line)
{
	char *argv[24] = {(char *)"rocewatch", (char *)"--db", (char *)(uintptr_t)path},
	     *copy = rw_strdup(line), *save = NULL;
	int argc = 3;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	const int r = cli_run(argc, argv, reader_commands);
	free(copy);
	return r;
}

/* ---- one reading --------------------------------------------------------- */

struct reading {
	int r;
	int64_t failed, calls[FAULT_OPS];
	char *out, *words; /* what it printed; what it said went wrong */
};

static void reading_done(struct reading *reading)
{
	free(reading->out);
	free(reading->words);
}

static char *reading_take(int fd)
{
	const off_t n = lseek(fd, 0, SEEK_END);
	char *text = rw_calloc((size_t)n + 1, 1);

	if (pread(fd, text, (size_t)n, 0) != n)
		abort();
	close(fd);
	return text;
}

static int reader_run(const struct reader *reader, const char *path)
{
	struct err e = {0};
	struct history *history = NULL;
	int r = 0;

	if (reader->command) {
		r = reader_command(path, reader->command);
	} else if (reader->path) {
		r = reader->path(path, stdout, &e);
	} else {
		r = db_history_open(path, &history, &e);
		if (r == 0)
			r = reader->history(history, stdout, &e);
		history_close(history);
	}
	fprintf(stderr, "%s", e.text);
	return r;
}

static struct reading reader_read(
	const struct reader *reader, const char *path, const struct fault_plan *plan)
{
	struct reading reading = {0};
	const int64_t mark = sim_mark(); /* ages are the same each time */
	const int fds[2] = {memfd_create("out", 0), memfd_create("err", 0)};
	int saved[2];

	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		saved[i] = dup(i + 1);
		dup2(fds[i], i + 1);
	}
	alarm(HANG_S);
	fault_vfs_plan(plan);
	reading.r = reader_run(reader, path);
	reading.failed = fault_vfs_failed();
	for (unsigned i = 0; i < FAULT_OPS; i++)
		reading.calls[i] = fault_vfs_calls(i);
	fault_vfs_plan(NULL);
	alarm(0);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
	sim_go_back(mark);
	reading.out = reading_take(fds[0]);
	reading.words = reading_take(fds[1]);
	return reading;
}

/* ---- faults -------------------------------------------------------------- */

static const struct read_row {
	const char *name;
	enum fault_op op;
	int rc;
} read_rows[] = {
	{"xOpen", FAULT_OPEN, SQLITE_CANTOPEN},
	{"xAccess", FAULT_ACCESS, SQLITE_IOERR_ACCESS},
	{"xRead", FAULT_READ, SQLITE_IOERR_READ},
	{"xFileSize", FAULT_SIZE, SQLITE_IOERR_FSTAT},
	{"xLock", FAULT_LOCK, SQLITE_IOERR_LOCK},
	{"xLock.busy", FAULT_LOCK, SQLITE_BUSY},
	{"xShmMap", FAULT_SHM_MAP, SQLITE_IOERR_SHMMAP},
	{"xShmLock", FAULT_SHM_LOCK, SQLITE_IOERR_SHMLOCK},
	{"xShmLock.busy", FAULT_SHM_LOCK, SQLITE_BUSY},
	{"malloc", FAULT_MALLOC, SQLITE_NOMEM},
};

struct read_sum {
	int64_t runs, right, named, wrong;
};

static const struct reader *read_now; /* for the message of a crash */
static const struct read_row *read_row_now;
static int64_t read_n_now;
static int read_stdout; /* not redirected */

static void read_died(int signal)
{
	char text[160];
	const int n = snprintf(text, sizeof(text), "readers %s %s %" PRId64 ": %s\n",
		read_now->name, read_row_now->name, read_n_now, strsignal(signal));

	if (write(read_stdout, text, (size_t)n) < 0)
		_exit(2);
	_exit(1);
}

static bool read_same(const struct reading *left, const struct reading *right)
{
	return left->r == right->r && strcmp(left->out, right->out) == 0;
}

/* Says that it failed, and with which file. */
static bool read_named(const struct reading *reading, const char *path)
{
	return reading->r != 0 && (strstr(reading->words, path) || strstr(reading->out, path)) &&
		(strstr(reading->words, "cannot") || strstr(reading->out, "cannot"));
}

static void read_once(struct read_sum *sum, const struct reader *reader, const char *path,
	const struct reading *normal, const struct read_row *row, int64_t n, bool lasts, bool say)
{
	const struct fault_plan plan = {.ops = FAULT_BIT(row->op),
		.rc = row->rc,
		.first = n,
		.times = lasts ? INT64_MAX : 1};

	read_now = reader;
	read_row_now = row;
	read_n_now = n;
	struct reading reading = reader_read(reader, path, &plan);
	const bool same = read_same(&reading, normal), named = read_named(&reading, path);
	sum->runs++;
	sum->right += same;
	sum->named += !same && named;
	sum->wrong += !same && !named;
	if (say || (!same && !named))
		printf("readers %s %s %" PRId64 "%s: %s answer, exit %d instead of %d, %" PRId64
		       " failed: %.300s\n",
			reader->name, row->name, n, lasts ? " lasts" : "", same ? "right" : "wrong",
			reading.r, normal->r, reading.failed, reading.words);
	if (say)
		printf("%s\n---- instead of\n%s\n%s\n", reading.out, normal->out, normal->words);
	reading_done(&reading);
}

/* ---- all of them --------------------------------------------------------- */

struct read_options {
	const char *reader, *state, *row;
	int64_t n, first, most, runs;
	uint64_t seed;
	bool lasts, all;
};

static void read_row_all(const struct read_options *o, struct read_sum *sum,
	const struct reader *reader, const char *path, const struct reading *normal,
	const struct read_row *row)
{
	const int64_t calls = normal->calls[row->op];
	int64_t stride = 1;
	uint64_t state = o->seed * 0x9E3779B97F4A7C15 ^ hash_bytes(reader->name, 4, 7) ^
		(uint64_t)(row - read_rows + 1) << 32;

	if (o->most > 0 && calls - o->first > o->most)
		stride = (calls - o->first) / o->most;
	for (int64_t n = 1; o->all && n <= calls; n += n < o->first ? 1 : stride)
		for (int lasts = 0; lasts < 2; lasts++)
			read_once(sum, reader, path, normal, row, n, lasts, false);
	const bool turn = ((size_t)(row - read_rows) + (size_t)(reader - readers) + o->seed) % 2;
	for (int64_t i = 0; !o->all && turn && calls > 0 && i < o->runs; i++) {
		state = hash_u64(state + 1);
		read_once(sum, reader, path, normal, row, 1 + (int64_t)(state >> 8) % calls,
			state & 1, false);
	}
}

static bool read_state(const struct read_options *o, const char *state, const char *path)
{
	bool good = true;

	for (size_t i = 0; i < rw_countof(readers); i++) {
		struct read_sum sum = {0};
		if (o->reader && strcmp(o->reader, readers[i].name) != 0)
			continue;
		struct reading normal = reader_read(&readers[i], path, NULL);
		for (size_t k = 0; k < rw_countof(read_rows); k++) {
			if (o->row && strcmp(o->row, read_rows[k].name) != 0)
				continue;
			if (o->n > 0)
				read_once(&sum, &readers[i], path, &normal, &read_rows[k], o->n,
					o->lasts, true);
			else
				read_row_all(o, &sum, &readers[i], path, &normal, &read_rows[k]);
		}
		printf("%-10s %-8s %7" PRId64 " %7" PRId64 " %7" PRId64 " | %5" PRId64 "\n",
			readers[i].name, state, sum.runs, sum.right, sum.named, sum.wrong);
		fflush(stdout);
		good &= sum.wrong == 0;
		reading_done(&normal);
	}
	return good;
}

static struct read_options read_arguments(int argc, char **argv)
{
	struct read_options o = {.runs = 1, .seed = 1};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--all") == 0)
			o.all = true;
		else if (strcmp(argv[i], "lasts") == 0)
			o.lasts = true;
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			o.seed = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			o.runs = atoll(argv[++i]);
		else if (strcmp(argv[i], "--first") == 0 && i + 1 < argc)
			o.first = atoll(argv[++i]);
		else if (strcmp(argv[i], "--most") == 0 && i + 1 < argc)
			o.most = atoll(argv[++i]);
		else if (!o.reader)
			o.reader = argv[i];
		else if (!o.state)
			o.state = argv[i];
		else if (!o.row)
			o.row = argv[i];
		else
			o.n = atoll(argv[i]);
	}
	return o;
}

int main(int argc, char **argv)
{
	const struct read_options o = read_arguments(argc, argv);
	const struct hour_options options = {.no_rescue = true};
	bool good = true;

	read_stdout = dup(STDOUT_FILENO);
	signal(SIGALRM, read_died);
	log_set_plain(false);
	fault_vfs_register_malloc();
	fault_vfs_register();
	fault_vfs_simulate(sim_sleep_us);
	struct hour *hour = hour_new(&options);
	hour_live(hour);
	hour_settle(hour);
	printf("readers --seed %" PRIu64 " --runs %" PRId64 "\n", o.seed, o.runs);
	printf("%-10s %-8s %7s %7s %7s | %5s\n", "reader", "file", "runs", "right", "named",
		"wrong");
	if (!o.state || strcmp(o.state, "live") == 0)
		good &= read_state(&o, "live", hour_path(hour)); /* its agent runs */
	hour_close(hour);
	if (!o.state || strcmp(o.state, "closed") == 0)
		good &= read_state(&o, "closed", hour_path(hour));
	hour_free(hour);
	return good ? 0 : 1;
}
