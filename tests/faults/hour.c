/* hour - see hour.h. Things are numbered from 1 in the order they are handed over. */
#include "tests/faults/hour.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"
#include "tests/faults/hour_book.h"
#include "tests/faults/sim.h"

#define HOUR_LOG_PAGES 60
#define HOUR_RAW_NS (20 * 60 * NS_PER_S)
#define HOUR_TICK_NS (10 * NS_PER_S)
#define HOUR_REOPEN_TRIES 60 /* ten minutes */

enum { STEP_READER = 8, STEP_READER_ENDS = 13, STEP_DELETED = 18, STEP_REOPEN = 24 };
enum { HOUR_DEVICES = 3, HOUR_PORTS = 4 };

struct hour {
	struct hour_options o;
	char dir[64], path[96];
	struct entities *entities;
	struct store *store;
	struct book *book;
	sqlite3 *reader;
	uint64_t before; /* things of stores that were closed */
	uint64_t committed;
	/* By the schedule. The clock may be later: waiting for a lock takes time. */
	int64_t now_ns;
	struct hour_seen seen;
};

/* ---- handing over -------------------------------------------------------- */

/* The newest thing in the book is what was just handed over. */
static void hour_gave(struct hour *hour)
{
	book_number(hour->book, store_handed(hour->store));
}

static void hour_give_port(struct hour *hour, const char *device, int port, int step)
{
	char name[16], state[16];
	struct sample v[16];
	size_t n = 0;
	const int64_t t_ns = hour->now_ns;
	snprintf(name, sizeof(name), "swp%d", port);
	snprintf(state, sizeof(state), "trust%d", step / 10);
	const uint32_t id = entities_intern(hour->entities, device, name, PRIO_NONE);
	const uint64_t value = (uint64_t)step << 40 | (uint64_t)port;
	v[n++] = (struct sample){.entity = id, .metric = M_PORT_IN_OCTETS, .value = value};
	v[n++] = (struct sample){.entity = id, .metric = M_PORT_OUT_OCTETS, .value = ~value};
	v[n++] = (struct sample){.entity = id,
		.metric = M_OPTIC_RX_POWER,
		.value = sample_of_f64(-step / 4.0),
		.flags = SF_SUSPECT};
	if (step % 10 == 0)
		v[n++] = (struct sample){.entity = id,
			.metric = M_CFG_TRUST,
			.value = entities_text(hour->entities, state)};
	for (int prio = 0; prio < 3; prio++)
		v[n++] = (struct sample){
			.entity = entities_intern(hour->entities, device, name, prio),
			.metric = M_PFC_RX_FRAMES,
			.value = value + (uint64_t)prio,
			.flags = prio == 1 ? SF_RESTART : 0};
	for (size_t i = 0; i < n; i++) {
		v[i].t_ns = t_ns;
		v[i].source = SOURCE_SNMP;
	}
	book_samples(hour->book, hour->entities, v, n);
	store_samples(hour->store, v, n);
	hour_gave(hour);
}

static void hour_give_samples(struct hour *hour, int step)
{
	char device[16];

	for (int d = 0; d < HOUR_DEVICES; d++) {
		snprintf(device, sizeof(device), "leaf%d", d);
		for (int p = 0; p < HOUR_PORTS; p++)
			hour_give_port(hour, device, p, step);
	}
	if (step % 6 == 3) { /* a name that nobody has seen before */
		snprintf(device, sizeof(device), "new%d", step);
		hour_give_port(hour, device, 0, step);
	}
}

static void hour_give_flows(struct hour *hour, int step)
{
	struct flow_sample flow = {.from_ns = hour->now_ns - 10 * NS_PER_S,
		.to_ns = hour->now_ns,
		.entity = entities_intern(hour->entities, "leaf0", "swp0", PRIO_NONE),
		.sampling = 1,
		.key = {.family = 4, .src = {10, 0, 0, 1}, .dst = {10, 0, 0, 2}, .dst_qp = 77},
		.octets = 1000000 + (uint64_t)step,
		.packets = 1000};

	book_row(hour->book, BOOK_FLOW, flow.to_ns, "%llu", (unsigned long long)flow.octets);
	store_flows(hour->store, &flow, 1);
	hour_gave(hour);
}

static void hour_give_event(struct hour *hour, const char *what, int step)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %d", what, step);
	book_row(hour->book, BOOK_EVENT, hour->now_ns, "%s", text);
	store_event(hour->store, hour->now_ns, "probe", NULL, "tester", text);
	hour_gave(hour);
}

static void hour_give_finding(struct hour *hour, int step)
{
	char summary[64];
	const struct store_finding finding = {.from_ns = hour->now_ns - 10 * NS_PER_S,
		.to_ns = hour->now_ns,
		.analyzer = "probe",
		.cause = "ecn_late",
		.verdict = "over",
		.severity = "warning",
		.device = "leaf0",
		.port = "swp0",
		.summary = summary,
		.priority = 3,
		.value = step,
		.warn = 1,
		.confidence = 0.5};

	snprintf(summary, sizeof(summary), "finding %d", step);
	book_row(hour->book, BOOK_FINDING, finding.to_ns, "%s", summary);
	store_finding(hour->store, &finding);
	hour_gave(hour);
}

/* A long text, so that a transaction has many pages. */
static void hour_give_incident(struct hour *hour, const char *id, const char *state, int step)
{
	static char json[40000];
	char summary[64];
	const int64_t now_ns = hour->now_ns;
	const struct store_incident incident = {.id = id,
		.cause = "ecn_late",
		.severity = "warning",
		.state = state,
		.device = "leaf0",
		.summary = summary,
		.json = json,
		.priority = PRIO_NONE,
		.opened_ns = HOUR_T0 + 10 * 60 * NS_PER_S,
		.closed_ns = strcmp(state, "closed") == 0 ? now_ns : 0,
		.updated_ns = now_ns,
		.usd_per_hour = 1,
		.usd_total = step,
		.confidence = 1};

	memset(json, 'j', sizeof(json) - 1);
	snprintf(summary, sizeof(summary), "incident %lld", (long long)now_ns);
	book_state(hour->book, BOOK_INCIDENT, now_ns, "%s", id);
	store_incident(hour->store, &incident);
	hour_gave(hour);
}

static void hour_give_states(struct hour *hour, int step)
{
	const int64_t now_ns = hour->now_ns;
	const struct store_health health[] = {
		{"process/rss_bytes", "bytes", step}, {"process/cpu", "", 1}, {"probe", "", NAN}};
	const struct store_target target = {.device = "leaf0",
		.protocol = "snmp",
		.address = "192.0.2.1",
		.state = "up",
		.reason = "",
		.up = true,
		.now_ns = now_ns,
		.polls = (uint64_t)step};
	const struct store_alert alert = {.receiver = "mail",
		.incident_id = "INCIDENT",
		.state = "open",
		.severity = "warning",
		.cause = "ecn_late",
		.pending = "",
		.updated_ns = now_ns};

	book_state(hour->book, BOOK_HEALTH, now_ns, "all");
	store_health(hour->store, now_ns, health, rw_countof(health));
	hour_gave(hour);
	book_state(hour->book, BOOK_TARGET, now_ns, "leaf0");
	store_target(hour->store, &target);
	hour_gave(hour);
	book_state(hour->book, BOOK_ALERT, now_ns, "mail");
	store_alert(hour->store, &alert);
	hour_gave(hour);
}

static void hour_give_documents(struct hour *hour, int step)
{
	const int64_t now_ns = hour->now_ns;
	char text[64];
	const struct store_device device = {.name = "leaf0", .descr = text, .t_ns = now_ns};
	const struct store_port port = {.device = "leaf0",
		.port = "swp0",
		.alias = text,
		.speed_bps = 1000,
		.t_ns = now_ns};

	snprintf(text, sizeof(text), "fabric: p%d\ndevices: [{ name: leaf0, role: leaf }]\n", step);
	book_row(hour->book, BOOK_FABRIC, now_ns, "%s", text);
	store_fabric(hour->store, now_ns, text);
	hour_gave(hour);
	snprintf(text, sizeof(text), "text %d", step);
	book_row(hour->book, BOOK_DEVICE, now_ns, "%s", text);
	store_device(hour->store, &device);
	hour_gave(hour);
	book_row(hour->book, BOOK_PORT, now_ns, "%s", text);
	store_port(hour->store, &port);
	hour_gave(hour);
}

/* The event comes last: whoever finds it knows that the step is whole. */
static void hour_give(struct hour *hour, int step)
{
	hour_give_samples(hour, step);
	hour_give_states(hour, step);
	if (step % 10 == 0)
		hour_give_documents(hour, step);
	if (step % 3 == 1)
		hour_give_flows(hour, step);
	if (step % 4 == 1)
		hour_give_finding(hour, step);
	if (step == 5)
		hour_give_incident(hour, "INCIDENT", "open", step);
	if (step == 9)
		hour_give_incident(hour, "CLOSING1", "open", step);
	if (step == 15)
		hour_give_incident(hour, "CLOSING1", "closed", step);
	if (step == 20)
		hour_give_incident(hour, "INCIDENT", "clearing", step);
	if (step == 16) /* the clock was set back a little */
		store_rewind(hour->store, hour->now_ns - 1);
	hour_give_event(hour, "step", step);
}

/* ---- the agent's life ---------------------------------------------------- */

static void hour_look(struct hour *hour)
{
	struct store_stats stats;

	if (!hour->store)
		return;
	while (hour->committed < book_count(hour->book) &&
		store_committed(hour->store, book_get_number(hour->book, hour->committed)))
		hour->committed++;
	store_stats(hour->store, &stats);
	if (stats.wal_bytes > hour->seen.log_bytes)
		hour->seen.log_bytes = stats.wal_bytes;
}

static void hour_pass(struct hour *hour, int64_t ns)
{
	for (; ns > 0; ns -= HOUR_TICK_NS) {
		hour->now_ns += HOUR_TICK_NS;
		if (hour->now_ns > sim_wall_ns())
			sim_advance(hour->now_ns - sim_wall_ns());
		hour_look(hour);
		if (hour->o.tick)
			hour->o.tick(hour, hour->o.arg);
	}
}

static bool hour_open(struct hour *hour, uint64_t quota_bytes)
{
	const struct store_options options = {.path = hour->path,
		.raw_ns = HOUR_RAW_NS,
		.quota_bytes = quota_bytes,
		.log_pages = HOUR_LOG_PAGES};

	for (int i = 0; i < HOUR_REOPEN_TRIES; i++) {
		struct err e = {0};
		hour->entities = entities_new();
		if (db_store_open(&options, hour->entities, &hour->store, &e) == 0)
			return true;
		hour->store = NULL;
		entities_free(hour->entities);
		hour->entities = NULL;
		hour->seen.refused++;
		hour->seen.unnamed += !strstr(e.text, hour->path);
		hour_pass(hour, HOUR_TICK_NS);
	}
	return false;
}

void hour_close(struct hour *hour)
{
	struct store_stats stats;

	if (!hour->store)
		return;
	hour_look(hour);
	store_stats(hour->store, &stats);
	hour->seen.errors += stats.errors + stats.log_errors;
	hour->seen.misplaced = stats.misplaced;
	store_close(hour->store);
	entities_free(hour->entities);
	hour->store = NULL;
	hour->entities = NULL;
}

/* What waits when the agent is stopped is written if that works, and told otherwise. */
static bool hour_restart(struct hour *hour)
{
	struct err e = {0};

	if (store_flush(hour->store, &e) < 0)
		hour->seen.unsaved += book_count(hour->book) - hour->committed;
	hour_close(hour);
	book_forgive(hour->book, hour->committed);
	hour->committed = book_count(hour->book);
	return hour_open(hour, UINT64_C(1150) << 10);
}

static void hour_reader(struct hour *hour, bool begin)
{
	if (begin) {
		sqlite3_open_v2(hour->path, &hour->reader, SQLITE_OPEN_READONLY, "unix");
		sqlite3_exec(hour->reader, "BEGIN; SELECT count(*) FROM event", NULL, NULL, NULL);
		return;
	}
	sqlite3_close(hour->reader);
	hour->reader = NULL;
}

static bool hour_step(struct hour *hour, int step)
{
	if (step == STEP_READER || step == STEP_READER_ENDS)
		hour_reader(hour, step == STEP_READER);
	/* Not while the store has closed the file because it failed: then nobody has its content.
	 */
	if (step == STEP_DELETED && !hour->o.no_rescue && hour->committed == book_count(hour->book))
		unlink(hour->path);
	if (step == STEP_REOPEN && !hour_restart(hour))
		return false;
	hour_give(hour, step);
	hour_pass(hour, HOUR_STEP_NS);
	return true;
}

void hour_live(struct hour *hour)
{
	if (!hour_open(hour, 0))
		return;
	for (int step = 0; step < HOUR_STEPS; step++)
		if (!hour_step(hour, step))
			return;
}

bool hour_settle(struct hour *hour)
{
	struct err e = {0};
	struct store_stats stats;

	hour_reader(hour, false);
	if (!hour->store && !hour_open(hour, 0))
		return false;
	for (int i = 0; i < 2; i++) { /* two commits: the second one finds the log at rest */
		hour_give_event(hour, "after", i);
		if (store_flush(hour->store, &e) < 0)
			hour_pass(hour, 60 * NS_PER_S); /* an attempt begun before the end of it */
		hour_pass(hour, 120 * NS_PER_S);
	}
	store_stats(hour->store, &stats);
	return hour->committed == book_count(hour->book) && stats.pending == 0 &&
		!stats.log_stuck && !stats.misplaced;
}

/* ---- a run --------------------------------------------------------------- */

struct hour *hour_new(const struct hour_options *options)
{
	struct hour *hour = rw_calloc(1, sizeof(*hour));

	hour->o = *options;
	snprintf(hour->dir, sizeof(hour->dir), "/tmp/rw-hour-XXXXXX");
	if (options->path) {
		snprintf(hour->dir, sizeof(hour->dir), "%.*s",
			(int)(strrchr(options->path, '/') - options->path), options->path);
	} else if (!mkdtemp(hour->dir)) {
		perror(hour->dir);
		exit(1);
	}
	snprintf(hour->path, sizeof(hour->path), "%s/t.db", hour->dir);
	hour->book = book_new();
	hour->now_ns = HOUR_T0;
	if (options->path)
		hour->now_ns = options->now_ns;
	sim_start(hour->now_ns);
	return hour;
}

void hour_keep(struct hour *hour)
{
	hour_reader(hour, false);
	hour_close(hour);
	sim_stop();
	book_free(hour->book);
	free(hour);
}

static void hour_remove(const char *directory)
{
	DIR *listing = opendir(directory);

	for (struct dirent *at = readdir(listing); at; at = readdir(listing))
		unlinkat(dirfd(listing), at->d_name, 0);
	closedir(listing);
	rmdir(directory);
}

void hour_free(struct hour *hour)
{
	char directory[sizeof(hour->dir)];

	memcpy(directory, hour->dir, sizeof(directory));
	hour_keep(hour);
	hour_remove(directory);
}

const char *hour_path(const struct hour *hour)
{
	return hour->path;
}

uint64_t hour_committed(struct hour *hour)
{
	hour_look(hour);
	return hour->committed;
}

uint64_t hour_handed(const struct hour *hour)
{
	return book_count(hour->book);
}

struct hour_seen hour_seen(const struct hour *hour)
{
	return hour->seen;
}

/* What is older may be gone: by retention, or by the quota after the restart. */
static int64_t hour_floor(int64_t now_ns)
{
	const bool quota = now_ns >= HOUR_T0 + STEP_REOPEN * HOUR_STEP_NS;
	int64_t floor_ns = now_ns - HOUR_RAW_NS;

	if (quota && floor_ns < HOUR_T0 + (STEP_REOPEN + 1) * HOUR_STEP_NS)
		floor_ns = HOUR_T0 + (STEP_REOPEN + 1) * HOUR_STEP_NS;
	return floor_ns;
}

void hour_compare_file(const struct hour *whole, const char *path, int64_t now_ns,
	uint64_t committed, struct hour_check *ret)
{
	const struct book_bounds bounds = {.committed = committed,
		.floor_ns = hour_floor(now_ns),
		/* the incident that stays open keeps 15 minutes on each side of its beginning */
		.pin_from_ns = HOUR_T0 - 5 * 60 * NS_PER_S,
		.pin_to_ns = HOUR_T0 + 25 * 60 * NS_PER_S};

	book_compare(whole->book, path, &bounds, ret);
}

void hour_compare(struct hour *hour, uint64_t committed, struct hour_check *ret)
{
	hour_compare_file(hour, hour->path, hour->now_ns, committed, ret);
}

uint64_t hour_content(struct hour *hour)
{
	return book_content(hour->path);
}
