/*
 * bench_ipfix - how many counters of high-frequency telemetry are taken a second: decoded, mapped
 * and reduced to samples (with and without the ring), on one core; and for how long the ring holds.
 *
 *	bench_ipfix            512 objects x 8 statistics, a record a millisecond
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "collectors/push/burst.h"
#include "collectors/push/ipfix.h"
#include "collectors/push/push_map.h"
#include "config/profile/profile.h"
#include "config/push_objects.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

enum { OBJECTS = 512, STATS = 8, FIELDS = OBJECTS * STATS, ROUNDS = 60000, PER_INTERVAL = 1000 };
#define T0 UINT64_C(1790000000000000000)

static const uint16_t stats[STATS] = {0, 9, 3, 12, 109, 110, 141, 160};

struct wire {
	uint8_t v[65536];
	size_t n;
};

struct bench {
	struct ipfix_flow *flow;
	struct burst *burst;
	struct push_map *map;
	struct push_objects *objects;
	struct entities *entities;
	struct ipfix_unknown unknown;
	struct sample *samples;
	uint64_t stored;
};

static void put(struct wire *w, uint64_t value, int bytes)
{
	while (bytes-- > 0)
		w->v[w->n++] = (uint8_t)(value >> (8 * bytes));
}

static void begin(struct wire *w, unsigned set)
{
	w->n = 0;
	put(w, 10, 2);
	put(w, 0, 2);
	put(w, T0 / 1000000000, 4);
	put(w, 0, 8);
	put(w, set, 2);
	put(w, 0, 2);
}

static void end(struct wire *w)
{
	w->v[2] = (uint8_t)(w->n >> 8);
	w->v[3] = (uint8_t)w->n;
	w->v[18] = (uint8_t)((w->n - 16) >> 8);
	w->v[19] = (uint8_t)(w->n - 16);
}

static void make_template(struct wire *w)
{
	begin(w, 2);
	put(w, 256, 2);
	put(w, FIELDS + 1, 2);
	put(w, 325, 2);
	put(w, 8, 2);
	for (unsigned o = 0; o < OBJECTS; o++)
		for (unsigned s = 0; s < STATS; s++) {
			put(w, 0x8000 | (o + 1), 2);
			put(w, 8, 2);
			put(w, 0x10000 | stats[s], 4);
		}
	end(w);
}

static void make_record(struct wire *w, const uint64_t *v, uint64_t tick)
{
	begin(w, 256);
	put(w, T0 + tick * 1000000, 8);
	for (unsigned i = 0; i < FIELDS; i++)
		put(w, v[i], 8);
	end(w);
}

static void on_records(void *arg, struct ipfix_session *session, struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s)
{
	struct bench *b = arg;
	if (!b->flow) {
		const struct ipfix_meaning meaning = {.map = b->map,
			.objects = b->objects,
			.entities = b->entities,
			.device = "leaf1"};
		b->flow = ipfix_flow_new(template, b->burst);
		ipfix_flow_means(b->flow, &meaning);
		b->samples = rw_calloc(ipfix_flow_fields(b->flow), sizeof(*b->samples));
	}
	ipfix_flow_add(b->flow, template, data, n, export_s, (int64_t)T0, INT64_C(1) << 60);
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t seed = 1;

static uint64_t noise(uint64_t most)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % most;
}

/* @busy of the objects carry traffic. */
static void step(uint64_t *v, unsigned busy, uint64_t tick)
{
	for (unsigned o = 0; o < busy; o++) {
		uint64_t *own = &v[o * STATS];
		own[0] += (11900 + noise(64)) * 4178;
		own[1] += (11900 + noise(64)) * 4178;
		own[4] += tick % 1000 < 20;
		own[6] += tick % 1000 < 20 ? 900 + noise(100) : 0;
	}
}

static void run(struct bench *b, const char *what, unsigned busy)
{
	static struct wire wire, records[64];
	static uint64_t v[FIELDS];
	const struct ipfix_options options = {.arg = b, .records = on_records};
	const uint8_t source[16] = {0};
	struct ipfix *ipfix = ipfix_new(&options);
	double spent = 0;
	memset(v, 0, sizeof(v));
	make_template(&wire);
	ipfix_message(ipfix, source, wire.v, wire.n, false, (mono_t){1});
	for (uint64_t tick = 0; tick < ROUNDS; tick += 64) {
		for (unsigned i = 0; i < 64; i++) {
			step(v, busy, tick + i);
			make_record(&records[i], v, tick + i);
		}
		const double from = seconds();
		for (unsigned i = 0; i < 64; i++) {
			ipfix_message(
				ipfix, source, records[i].v, records[i].n, false, (mono_t){1});
			if ((tick + i) % PER_INTERVAL == 0)
				b->stored += ipfix_flow_end(
					b->flow, 1000000000, &b->unknown, b->samples);
		}
		spent += seconds() - from;
	}
	const struct ipfix_counts *c = ipfix_counts(ipfix);
	printf("%-34s %6.1f M counters/s and core  (%.1f M in %.2f s; %llu samples, %llu "
	       "unknown)\n",
		what, (double)c->values / spent / 1e6, (double)c->values / 1e6, spent,
		(unsigned long long)b->stored, (unsigned long long)b->unknown.values);
	ipfix_free(ipfix);
	ipfix_flow_free(b->flow);
	free(b->samples);
	b->flow = NULL;
	b->samples = NULL;
	b->stored = 0;
}

static void ring(unsigned ports, unsigned busy)
{
	static uint64_t v[FIELDS];
	static struct burst_field fields[FIELDS];
	struct burst *burst = burst_new((size_t)8 << 20);
	struct burst_span span;
	size_t stride;
	memset(v, 0, sizeof(v));
	for (unsigned o = 0; o < ports; o++)
		for (unsigned s = 0; s < STATS; s++)
			fields[o * STATS + s] = (struct burst_field){1, stats[s], o + 1};
	const uint32_t group = burst_group(burst, fields, ports * STATS);
	const double from = seconds();
	for (uint64_t tick = 0; tick < 90000; tick++) {
		step(v, busy, tick);
		uint64_t *row = burst_row(burst, group, (int64_t)(T0 + tick * 1000000), &stride);
		for (unsigned i = 0; i < ports * STATS; i++)
			row[i * stride] = v[i];
	}
	burst_span(burst, &span);
	printf("ring: %u ports x %u, %2u busy: %5.1f s of 90 in %.2f MB, %.3f B a value, %.1f M "
	       "values/s\n",
		ports, STATS, busy, (double)(span.to_ns - span.from_ns) / 1e9,
		(double)span.bytes / 1048576, (double)span.bytes / (double)span.values,
		90000.0 * ports * STATS / (seconds() - from) / 1e6);
	burst_free(burst);
}

int main(void)
{
	struct err_list errors = {0};
	struct profiles *profiles;
	struct bench b = {.entities = entities_new(), .objects = push_objects_new()};
	if (profiles_load(NULL, &profiles, &errors) < 0)
		return 1;
	b.map = push_map_new(profiles);
	for (unsigned o = 1; o <= OBJECTS; o++) {
		char text[64];
		struct err e = {0};
		snprintf(text, sizeof(text), "PORT %u=Ethernet%u", o, o);
		push_objects_add(b.objects, text, &e);
	}
	run(&b, "decoded, mapped, reduced", 64);
	b.burst = burst_new((size_t)8 << 20);
	run(&b, "and kept in the ring, 64 busy", 64);
	burst_free(b.burst);
	b.burst = burst_new((size_t)8 << 20);
	run(&b, "and kept in the ring, 512 busy", 512);
	burst_free(b.burst);
	ring(64, 0);
	ring(64, 8);
	ring(64, 16);
	ring(64, 32);
	ring(64, 64);
	push_map_free(b.map);
	push_objects_free(b.objects);
	entities_free(b.entities);
	profiles_free(profiles);
	return 0;
}
