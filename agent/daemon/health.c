/* health - see the header. One arena of texts per snapshot. */
#include "agent/daemon/health.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/daemon/pipeline.h"
#include "collectors/gnmi/gnmi.h"
#include "collectors/packet/pcap.h"
#include "collectors/snmp/trap_receiver.h"
#include "db/store/store.h"

#define RATE_SPAN_NS (60 * NS_PER_S)
#define RATE_LEAST_NS                                                                              \
	(5 * NS_PER_S) /* over less than this, one poll more or less is the whole rate */

struct health {
	struct arena *texts;
	struct store_health *v;
	size_t n, cap;
	wall_t started;
	mono_t now;
};

double health_rate(struct health_rate *r, mono_t now, uint64_t count)
{
	if (r->before.t_ns == 0 || count < r->now.count) {
		r->before.t_ns = r->now.t_ns = now.ns;
		r->before.count = r->now.count = count;
		return NAN;
	}
	if (now.ns - r->now.t_ns >= RATE_SPAN_NS) {
		r->before = r->now;
		r->now.t_ns = now.ns;
		r->now.count = count;
	}
	int64_t span = now.ns - r->before.t_ns;
	return span >= RATE_LEAST_NS ? (double)(count - r->before.count) * 1e9 / (double)span : NAN;
}

struct health *health_new(wall_t started)
{
	struct health *h = rw_calloc(1, sizeof(*h));
	h->texts = arena_new();
	h->started = started;
	return h;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	arena_free(h->texts);
	free(h->v);
	free(h);
}

static void add(struct health *h, const char *unit, double value, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void add(struct health *h, const char *unit, double value, const char *fmt, ...)
{
	char key[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(key, sizeof(key), fmt, ap);
	va_end(ap);
	rw_grow(h->v, h->n, h->cap);
	h->v[h->n++] = (struct store_health){
		.key = arena_strdup(h->texts, key), .unit = unit, .value = value};
}

/* Resident memory, statm(5) field 2. NAN where the kernel does not tell. */
static double rss_bytes(void)
{
	rw_cleanup(fclosep) FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long size, resident;
	if (!f || fscanf(f, "%llu %llu", &size, &resident) != 2)
		return NAN;
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void health_begin(struct health *h, mono_t now)
{
	arena_reset(h->texts);
	h->n = 0;
	h->now = now;
	add(h, "bytes", rss_bytes(), "process/rss_bytes");
	add(h, "s", (double)h->started.ns / 1e9, "process/started_s");
}

void health_pipeline(struct health *h, const struct pipeline_counters *n)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"samples", n->samples},
		{"late", n->late},
		{"duplicates", n->duplicates},
		{"refused", n->refused},
		{"restarts", n->restarts},
		{"suspects", n->suspects},
		{"flows", n->flows},
		{"late_flows", n->late_flows},
		{"windows", n->windows},
		{"findings", n->findings},
		{"failed", n->failed},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		add(h, "", (double)rows[i].value, "pipeline/%s", rows[i].name);
}

void health_target(struct health *h, struct health_source *past, const char *name,
	const struct target *t, unsigned max_repetitions)
{
	add(h, "1/s", health_rate(&past->values, h->now, t->values), "target/%s/%s/values_per_s",
		name, t->protocol);
	add(h, "1/s", health_rate(&past->varbinds, h->now, t->varbinds),
		"target/%s/%s/varbinds_per_s", name, t->protocol);
	add(h, "", (double)t->missed, "target/%s/%s/missed", name, t->protocol);
	add(h, "", (double)t->suspects, "target/%s/%s/suspects", name, t->protocol);
	if (t->interval_ns > 0)
		add(h, "s", (double)t->interval_ns / 1e9, "target/%s/%s/interval_s", name,
			t->protocol);
	if (max_repetitions)
		add(h, "", max_repetitions, "target/%s/%s/max_repetitions", name, t->protocol);
}

void health_gnmi(struct health *h, const char *name, struct gnmi_target_counts n)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"messages", n.messages},
		{"bytes", n.bytes},
		{"updates", n.updates},
		{"refused", n.refused},
		{"odd_times", n.odd_times},
		{"stale", n.stale},
		{"reconnects", n.reconnects},
		{"stalls", n.stalls},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		add(h, "", (double)rows[i].value, "gnmi/%s/%s", name, rows[i].name);
	add(h, "s", n.skew_s, "gnmi/%s/skew_s", name);
}

void health_capture(struct health *h, const char *name, const struct capture_counts *n)
{
	add(h, "", (double)n->frames, "capture/%s/frames", name);
	add(h, "", (double)n->roce, "capture/%s/roce", name);
	add(h, "", (double)n->bad, "capture/%s/bad", name);
	add(h, "", (double)n->kernel_drops, "capture/%s/kernel_drops", name);
}

void health_traps(struct health *h, const struct trap_counters *n)
{
	static const struct trap_counters none;
	const struct trap_counters *c = n ? n : &none;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"open", n != NULL},
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
		add(h, "", (double)rows[i].value, "traps/%s", rows[i].name);
}

void health_commit(struct health *h, struct store *store, int64_t now_ns)
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
		{"errors", s.errors},
		{"pending", s.pending},
		{"wal_bytes", s.wal_bytes},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		add(h, "", (double)rows[i].value, "store/%s", rows[i].name);
	add(h, "s", s.last_commit_ns ? (double)s.last_commit_ns / 1e9 : NAN, "store/last_commit_s");
	store_health(store, now_ns, h->v, h->n);
}
