/* health - gathers the figures of one snapshot and writes them to the store. */
#include "agent/judge/health.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/judge/pipeline.h"
#include "analyzers/measure/class_world.h"
#include "collectors/snmp/trap_receiver.h"
#include "db/store/store.h"

/* memory_watch - reads what the kernel counts about want of memory, and says what is new. */

#define FILE_MAX 2048
#define STALLED_RATIO 0.2 /* of the time: then the loop is late as well */
#define SAY_EVERY_NS (600 * NS_PER_S)

static const char *const memory_count_names[MEMORY_COUNTS] = {
	[MEMORY_HIGH] = "high",
	[MEMORY_MAX] = "max",
	[MEMORY_OOM] = "oom",
	[MEMORY_OOM_KILL] = "oom_kill",
};

static const char *const memory_words[MEMORY_COUNTS] = {
	[MEMORY_HIGH] = "held back at MemoryHigh",
	[MEMORY_MAX] = "at its limit, MemoryMax",
	[MEMORY_OOM] = "out of memory",
	[MEMORY_OOM_KILL] = "a process of it was ended by the kernel",
};

struct memory_watch {
	int events, pressure; /* descriptors; -1 = there is no such file */
	uint64_t first[MEMORY_COUNTS], said[MEMORY_COUNTS];
	bool begun;
	mono_t said_at;
	struct memory_counts counts;
};

/* ---- the files ----------------------------------------------------------- */

static int memory_open(const char *root, const char *group, const char *name)
{
	rw_cleanup(str_done) struct str path = {0};
	str_addf(&path, "%s%s/%s", root, group, name);
	return open(path.s, O_RDONLY | O_CLOEXEC);
}

/* Our control group is the line "0::/PATH" of /proc/self/cgroup, cgroups(7). */
static void memory_group(const char *proc, struct str *out)
{
	rw_cleanup(str_done) struct str path = {0};
	rw_cleanup(freep) char *text = NULL;
	struct err e;
	size_t n;
	str_addf(&path, "%s/self/cgroup", proc);
	if (str_read_file(path.s, FILE_MAX, &text, &n, &e) < 0)
		return;
	const char *line = strstr(text, "0::/");
	if (line && strcspn(line, "\n") > strlen("0::/"))
		str_addn(out, line + 3, strcspn(line + 3, "\n"));
}

static bool memory_read(int fd, char *buf, size_t size)
{
	if (fd < 0)
		return false;
	const ssize_t n = pread(fd, buf, size - 1, 0);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* The number behind "NAME " at the beginning of a line; 0 when there is none. */
static uint64_t memory_number(const char *text, const char *name)
{
	const size_t n = strlen(name);
	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, n) == 0 && at[n] == ' ')
			return strtoull(at + n + 1, NULL, 10);
	}
	return 0;
}

/* "some avg10=1.23 ..." in percent. */
static double memory_stalled(const char *text)
{
	const char *at = strstr(text, "some avg10=");
	char *end;
	if (!at)
		return NAN;
	at += strlen("some avg10=");
	const double percent = strtod(at, &end);
	if (end == at)
		return NAN;
	return percent / 100;
}

/* ---- the watch ----------------------------------------------------------- */

static void memory_count(struct memory_watch *watch)
{
	char text[FILE_MAX];
	watch->counts.stalled_ratio = NAN;
	if (memory_read(watch->pressure, text, sizeof(text)))
		watch->counts.stalled_ratio = memory_stalled(text);
	if (!memory_read(watch->events, text, sizeof(text)))
		return;
	for (unsigned i = 0; i < MEMORY_COUNTS; i++) {
		const uint64_t n = memory_number(text, memory_count_names[i]);
		if (!watch->begun)
			watch->first[i] = n;
		watch->counts.n[i] = n - watch->first[i];
	}
	watch->begun = true;
	watch->counts.counted = true;
}

struct memory_watch *memory_watch_new(const char *cgroup, const char *proc)
{
	struct memory_watch *watch = rw_calloc(1, sizeof(*watch));
	rw_cleanup(str_done) struct str group = {0};
	memory_group(proc, &group);
	watch->events = memory_open(cgroup, str_or(group.s, ""), "memory.events");
	watch->pressure = memory_open(cgroup, str_or(group.s, ""), "memory.pressure");
	if (watch->pressure < 0)
		watch->pressure = memory_open(proc, "/pressure", "memory");
	memory_count(watch);
	return watch;
}

void memory_watch_free(struct memory_watch *watch)
{
	if (!watch)
		return;
	if (watch->events >= 0)
		close(watch->events);
	if (watch->pressure >= 0)
		close(watch->pressure);
	free(watch);
}

bool memory_watch_look(struct memory_watch *watch, mono_t now, char *what, size_t size)
{
	rw_cleanup(str_done) struct str text = {0};
	if (!watch)
		return false;
	memory_count(watch);
	if (watch->said_at.ns != 0 && now.ns - watch->said_at.ns < SAY_EVERY_NS)
		return false;
	const struct memory_counts *counts = &watch->counts;
	for (unsigned i = 0; i < MEMORY_COUNTS; i++)
		if (counts->n[i] > watch->said[i])
			str_addf(&text, "%s%s (%llu times)", str_if(text.n > 0, ", "),
				memory_words[i],
				(unsigned long long)(counts->n[i] - watch->said[i]));
	if (counts->stalled_ratio >= STALLED_RATIO)
		str_addf(&text, "%s%.0f %% of the last 10 s were spent waiting for memory",
			str_if(text.n > 0, ", "), 100 * counts->stalled_ratio);
	if (text.n == 0)
		return false;
	memcpy(watch->said, counts->n, sizeof(watch->said));
	watch->said_at = now;
	snprintf(what, size, "memory is short: %s", text.s);
	return true;
}

const struct memory_counts *memory_watch_counts(const struct memory_watch *watch)
{
	if (!watch || (watch->events < 0 && watch->pressure < 0))
		return NULL;
	return &watch->counts;
}

/* Devices that are near their bound of names: the worst few, from this share on. */
#define CROWD_MOST 5
#define CROWD_SHARE 0.8
#define RATE_SPAN_NS (60 * NS_PER_S)
#define RATE_LEAST_NS (5 * NS_PER_S) /* over less, one poll more or less is the whole rate */

struct health {
	struct arena *texts;
	struct store_health *v;
	size_t n, cap;
	wall_t started;
	mono_t now;
};

double health_rate(struct health_rate *rate, mono_t now, uint64_t count)
{
	if (rate->before.t_ns == 0 || count < rate->now.count) {
		rate->before.t_ns = rate->now.t_ns = now.ns;
		rate->before.count = rate->now.count = count;
		return NAN;
	}
	if (now.ns - rate->now.t_ns >= RATE_SPAN_NS) {
		rate->before = rate->now;
		rate->now.t_ns = now.ns;
		rate->now.count = count;
	}
	int64_t span = now.ns - rate->before.t_ns;
	if (span >= RATE_LEAST_NS)
		return (double)(count - rate->before.count) * 1e9 / (double)span;
	return NAN;
}

struct health *health_new(wall_t started)
{
	struct health *h = rw_calloc(1, sizeof(*h));
	h->texts = arena_new();
	h->started = started;
	return h;
}

void health_free(struct health *health)
{
	if (!health)
		return;
	arena_free(health->texts);
	free(health->v);
	free(health);
}

__attribute__((format(printf, 4, 5))) static void health_add(
	struct health *health, const char *unit, double value, const char *fmt, ...)
{
	char key[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(key, sizeof(key), fmt, ap);
	va_end(ap);
	rw_grow(health->v, health->n, health->cap);
	health->v[health->n++] = (struct store_health){
		.key = arena_strdup(health->texts, key), .unit = unit, .value = value};
}

/* Resident memory: field 2 of /proc/self/statm, proc(5). NAN where it cannot be read. */
static double rss_bytes(void)
{
	rw_cleanup(fclosep) FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long size, resident;
	if (!f || fscanf(f, "%llu %llu", &size, &resident) != 2)
		return NAN;
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void health_begin(struct health *health, mono_t now)
{
	arena_reset(health->texts);
	health->n = 0;
	health->now = now;
	health_add(health, "bytes", rss_bytes(), "process/rss_bytes");
	health_add(health, "s", (double)health->started.ns / 1e9, "process/started_s");
}

void health_memory(struct health *health, const struct memory_counts *counts)
{
	if (!counts)
		return;
	for (unsigned i = 0; counts->counted && i < MEMORY_COUNTS; i++)
		health_add(health, "", (double)counts->n[i], "process/memory_%s",
			memory_count_names[i]);
	health_add(health, "", counts->stalled_ratio, "process/memory_stalled_ratio");
}

void health_boot(struct health *health, const char *boot, int64_t booted_ns)
{
	if (*boot)
		health_add(health, "", 1, "process/boot/%s", boot);
	health_add(health, "s", (double)booted_ns / 1e9, "process/booted_s");
}

void health_config(struct health *health, wall_t refused)
{
	double refused_s = NAN;
	if (refused.ns)
		refused_s = (double)refused.ns / 1e9;
	health_add(health, "", refused.ns != 0, "process/config_refused");
	health_add(health, "s", refused_s, "process/config_refused_s");
}

void health_pipeline(struct health *health, const struct pipeline_counters *counters)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"samples", counters->samples},
		{"late", counters->late},
		{"duplicates", counters->duplicates},
		{"refused", counters->refused},
		{"restarts", counters->restarts},
		{"suspects", counters->suspects},
		{"flows", counters->flows},
		{"late_flows", counters->late_flows},
		{"windows", counters->windows},
		{"findings", counters->findings},
		{"failed", counters->failed},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		health_add(health, "", (double)rows[i].value, "pipeline/%s", rows[i].name);
}

struct health_class_facts {
	struct health *health;
	int priority;
};

static void health_take_fact(void *arg, const char *name, double value)
{
	const struct health_class_facts *of = arg;
	health_add(of->health, "", value, "class/%d/%s", of->priority, name);
}

void health_class(struct health *health, const struct world_facts *facts)
{
	if (!facts)
		return;
	struct health_class_facts of = {health, facts->priority};
	class_world_tell(facts, health_take_fact, &of);
}

void health_target(struct health *health, struct health_source *past, const char *name,
	const struct target *target)
{
	health_add(health, "1/s", health_rate(&past->values, health->now, target->values),
		"target/%s/%s/values_per_s", name, target->protocol);
	health_add(health, "1/s", health_rate(&past->varbinds, health->now, target->varbinds),
		"target/%s/%s/varbinds_per_s", name, target->protocol);
	health_add(
		health, "", (double)target->missed, "target/%s/%s/missed", name, target->protocol);
	health_add(health, "", (double)target->suspects, "target/%s/%s/suspects", name,
		target->protocol);
	if (target->out_of_order > 0)
		health_add(health, "", target->out_of_order, "target/%s/%s/out_of_order", name,
			target->protocol);
	if (target->no_cell > 0)
		health_add(health, "", target->no_cell, "target/%s/%s/no_cell", name,
			target->protocol);
	if (target->cut_columns > 0)
		health_add(health, "", target->cut_columns, "target/%s/%s/cut_columns", name,
			target->protocol);
	if (target->uptime_stands_ns > 0)
		health_add(health, "s", (double)target->uptime_stands_ns / 1e9,
			"target/%s/%s/uptime_stands_s", name, target->protocol);
	if (target->interval_ns > 0)
		health_add(health, "s", (double)target->interval_ns / 1e9,
			"target/%s/%s/interval_s", name, target->protocol);
	if (target->max_repetitions)
		health_add(health, "", target->max_repetitions, "target/%s/%s/max_repetitions",
			name, target->protocol);
}

void health_names(struct health *health, const struct entities *entities, uint64_t released)
{
	const char *device;
	const uint64_t refused = entities_refused(entities, &device);
	const struct entity_limits *limits = entities_limits(entities);
	struct entity_crowd crowd[CROWD_MOST];
	health_add(health, "", entities_known(entities), "names/known");
	health_add(health, "", limits->total, "names/limit");
	health_add(health, "", limits->per_device, "names/limit_per_device");
	health_add(health, "", (double)refused, "names/refused");
	health_add(health, "", (double)released, "names/released");
	const size_t n = entities_crowded(entities, CROWD_SHARE, crowd, CROWD_MOST);
	for (size_t i = 0; i < n; i++)
		health_add(health, "", crowd[i].names, "names/crowded/%s", crowd[i].device);
	if (device)
		health_add(health, "", (double)refused, "names/device/%s", device);
}

void health_figure(struct health *health, const char *family, const char *name, const char *key,
	const char *unit, double value)
{
	health_add(health, unit, value, "%s/%s/%s", family, name, key);
}

static void health_take_trap(void *arg, const char *key, const char *unit, double value)
{
	health_add(arg, unit, value, "traps/snmp/%s", key);
}

void health_traps(struct health *health, const struct trap_counters *counters)
{
	static const struct trap_counters none;
	const struct trap_counters *c = &none;
	if (counters)
		c = counters;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"open", counters != NULL},
		{"received", c->received},
		{"events", c->events},
		{"informs", c->informs},
		{"repeated", c->repeated},
		{"unknown_sender", c->unknown_sender},
		{"wrong_credential", c->wrong_credential},
		{"malformed", c->malformed},
		{"unknown_trap", c->unknown_trap},
		{"limited", c->limited},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		health_add(health, "", (double)rows[i].value, "traps/%s", rows[i].name);
	refused_figures(&c->by_unknown, "no_device", health_take_trap, health);
	refused_figures(&c->by_credential, "credential", health_take_trap, health);
	refused_figures(&c->by_malformed, "malformed", health_take_trap, health);
	refused_figures(&c->by_limited, "rate", health_take_trap, health);
}

/* How far each tier reaches back, whether the quota is why, and where the store is going. */
static void health_store_tiers(struct health *health, const struct store_usage *usage)
{
	double full_s = NAN, growth = NAN;
	for (unsigned tier = 0; tier < STORE_TIERS; tier++) {
		if (usage->oldest_ns[tier] == 0)
			continue;
		health_add(health, "s", (double)usage->oldest_ns[tier] / 1e9, "store/oldest/%s_s",
			store_tier_names[tier]);
		health_add(health, "", usage->cut[tier], "store/cut/%s", store_tier_names[tier]);
	}
	if (usage->full_ns)
		full_s = (double)usage->full_ns / 1e9;
	if (usage->used_bytes)
		growth = usage->growth_bytes_day;
	health_add(health, "bytes", growth, "store/growth_bytes_day");
	health_add(health, "s", full_s, "store/quota_full_s");
}

void health_commit(struct health *health, struct store *store, int64_t now_ns)
{
	struct store_stats s;
	store_stats(store, &s);
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"commits", s.commits},
		{"samples", s.samples},
		{"dropped", s.dropped},
		{"dropped_records", s.dropped_records},
		{"errors", s.errors},
		{"slow_commits", s.slow_commits},
		{"pending", s.pending},
		{"wal_bytes", s.wal_bytes},
		{"log_errors", s.log_errors},
		{"log_stuck", s.log_stuck},
		{"retention_held", s.retention_held},
		{"retention_failed", s.retention_failed},
		{"compact_failed", s.compact_failed},
		{"damaged_devices", s.usage.damaged_devices},
		{"damaged_hours", s.usage.damaged_hours},
		{"quota_bytes", s.usage.quota_bytes},
		{"used_bytes", s.usage.used_bytes},
		{"quota_stuck", s.usage.stuck},
		{"misplaced", s.misplaced},
		{"rescued", s.rescued},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		health_add(health, "", (double)rows[i].value, "store/%s", rows[i].name);
	for (unsigned use = 0; s.usage.counted && use < STORE_USES; use++)
		health_add(health, "bytes", (double)s.usage.by[use], "store/use/%s",
			store_use_names[use]);
	health_store_tiers(health, &s.usage);
	double last_commit_s = NAN;
	if (s.last_commit_ns)
		last_commit_s = (double)s.last_commit_ns / 1e9;
	health_add(health, "s", last_commit_s, "store/last_commit_s");
	health_add(health, "s", (double)s.slowest_ns / 1e9, "store/slowest_commit_s");
	store_health(store, now_ns, health->v, health->n);
}
