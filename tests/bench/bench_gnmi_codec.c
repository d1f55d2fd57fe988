/*
 * bench_gnmi_codec [SHAPE DECODER ROUNDS] - what one gNMI update costs from bytes to a counter in a
 * table, without a network.
 *
 *   single   a notification for each update, about 128 bytes
 *   hundred  100 updates in a notification, about 98 bytes each
 *   table    queues of a port as one JSON value, every number a string
 *
 * codec is gnmi_decode_subscribe(), walk is gnmi_walk_message(). The codec's callback has to find
 * the series by the path's text, the walker's by its id. Both must deliver the same sum of values.
 * Without arguments: all of them, with enough rounds to be timed.
 */
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "proto/gnmi_codec.h"
#include "proto/gnmi_walk.h"
#include "tests/unit/proto/gnmi_wire.h"

#define PORTS 64
#define LEAVES 40
#define PER_MESSAGE 100
#define SERIES_MAX 16384

struct stream {
	struct str *v; /* messages */
	size_t n, cap;
};

struct run {
	struct smap *by_path;
	uint64_t series[SERIES_MAX];
	uint64_t updates, sum;
};

static void put_chunk(struct str *out, char tag, const struct str *inside)
{
	str_addn(out, &tag, 1);
	wire_varint(out, inside->n);
	str_addn(out, inside->s, inside->n);
}

static void put_text(struct str *out, char tag, const char *text)
{
	struct str s = {.s = (char *)text, .n = strlen(text)};
	put_chunk(out, tag, &s);
}

static void put_elem(struct str *path, const char *name, const char *key, const char *value)
{
	struct str elem = {0}, entry = {0};
	put_text(&elem, 0x0a, name);
	if (key) {
		put_text(&entry, 0x0a, key);
		put_text(&entry, 0x12, value);
		put_chunk(&elem, 0x12, &entry);
	}
	put_chunk(path, 0x1a, &elem);
	str_done(&elem);
	str_done(&entry);
}

/* An update with its tag: of a counter, or of JSON text. */
static void put_update(struct str *out, unsigned port, unsigned leaf, const char *json)
{
	struct str path = {0}, value = {0}, update = {0};
	char name[32], counter[48];
	snprintf(name, sizeof(name), "Ethernet%u/1", port);
	snprintf(counter, sizeof(counter), "in-discarded-packets-of-%02u", leaf);
	if (json) {
		put_elem(&path, "COUNTERS", NULL, NULL);
		put_elem(&path, name, NULL, NULL);
		put_elem(&path, "Queues", NULL, NULL);
		put_text(&value, 0x5a, json);
	} else {
		put_elem(&path, "interfaces", NULL, NULL);
		put_elem(&path, "interface", "name", name);
		put_elem(&path, "state", NULL, NULL);
		put_elem(&path, "counters", NULL, NULL);
		put_elem(&path, counter, NULL, NULL);
		str_add(&value, "\x18");
		wire_varint(&value, 1000000007u * (uint64_t)(port + 1) + leaf);
	}
	put_chunk(&update, 0x0a, &path);
	put_chunk(&update, 0x1a, &value);
	put_chunk(out, 0x22, &update);
	str_done(&path);
	str_done(&value);
	str_done(&update);
}

/* @updates with a time and a prefix before them; emptied. */
static void put_message(struct stream *s, struct str *updates)
{
	struct str notification = {0}, prefix = {0};
	put_text(&prefix, 0x12, "openconfig");
	put_text(&prefix, 0x22, "leaf1");
	str_add(&notification, "\x08");
	wire_varint(&notification, 1763700000000000000);
	put_chunk(&notification, 0x12, &prefix);
	str_addn(&notification, updates->s, updates->n);
	rw_grow(s->v, s->n, s->cap);
	s->v[s->n] = (struct str){0};
	put_chunk(&s->v[s->n++], 0x0a, &notification);
	str_done(&notification);
	str_done(&prefix);
	str_done(updates);
}

static void make_counters(struct stream *s, unsigned per_message)
{
	struct str updates = {0};
	for (unsigned i = 0; i < PORTS * LEAVES; i++) {
		put_update(&updates, i / LEAVES, i % LEAVES, NULL);
		if ((i + 1) % per_message == 0)
			put_message(s, &updates);
	}
	if (updates.n)
		put_message(s, &updates);
}

static void make_single(struct stream *s)
{
	make_counters(s, 1);
}

static void make_hundred(struct stream *s)
{
	make_counters(s, PER_MESSAGE);
}

static void make_table(struct stream *s)
{
	static const char *const fields[] = {"SAI_QUEUE_STAT_BYTES", "SAI_QUEUE_STAT_PACKETS",
		"SAI_QUEUE_STAT_DROPPED_PACKETS", "SAI_QUEUE_STAT_DROPPED_BYTES",
		"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"};
	for (unsigned port = 0; port < PORTS; port++) {
		struct str json = {0}, updates = {0};
		for (unsigned queue = 0; queue < 8; queue++) {
			str_addf(&json, "%s\"Ethernet%u/1:%u\":{", queue ? "," : "{", port, queue);
			for (unsigned f = 0; f < rw_countof(fields); f++)
				str_addf(&json, "%s\"%s\":\"%u\"", f ? "," : "", fields[f],
					1000007 * (port + 1) + queue * 10 + f);
			str_add(&json, "}");
		}
		str_add(&json, "}");
		put_update(&updates, port, 0, json.s);
		put_message(s, &updates);
		str_done(&json);
	}
}

static void take(struct run *r, uint64_t id, const struct gnmi_update *u)
{
	uint64_t v;
	if (id < SERIES_MAX && gnmi_value_u64(&u->value, &v) == 0) {
		r->series[id] = v;
		r->sum += v;
		r->updates++;
	}
}

static void take_by_id(void *arg, const struct gnmi_update *u)
{
	take(arg, u->path_id, u);
}

static void take_by_path(void *arg, const struct gnmi_update *u)
{
	struct run *r = arg;
	uint64_t id;
	if (!smap_get(r->by_path, u->path, u->path_n, &id)) {
		id = smap_count(r->by_path);
		smap_put(r->by_path, u->path, u->path_n, id);
	}
	take(r, id, u);
}

static void run_codec(struct run *r, const struct stream *s, unsigned rounds)
{
	struct gnmi_counts counts = {0};
	struct gnmi_decode d = {
		.plain_names = false, .fn = take_by_path, .arg = r, .counts = &counts};
	struct arena *a = arena_new();
	r->by_path = smap_new();
	for (unsigned i = 0; i < rounds; i++)
		for (size_t k = 0; k < s->n; k++) {
			gnmi_decode_subscribe(s->v[k].s, s->v[k].n, &d, a);
			arena_reset(a);
		}
	smap_free(r->by_path);
	arena_free(a);
}

static void run_walk(struct run *r, const struct stream *s, unsigned rounds)
{
	struct gnmi_counts counts = {0};
	struct gnmi_walk *w = gnmi_walk_new(&(struct gnmi_decode){
		.plain_names = false, .fn = take_by_id, .arg = r, .counts = &counts});
	for (unsigned i = 0; i < rounds; i++)
		for (size_t k = 0; k < s->n; k++)
			gnmi_walk_message(w, s->v[k].s, s->v[k].n);
	gnmi_walk_free(w);
}

static const struct {
	const char *name;
	void (*make)(struct stream *s);
} shapes[] = {{"single", make_single}, {"hundred", make_hundred}, {"table", make_table}};

static const struct {
	const char *name;
	void (*run)(struct run *r, const struct stream *s, unsigned rounds);
	unsigned rounds; /* about a second */
} decoders[] = {{"codec", run_codec, 300}, {"walk", run_walk, 3000}};

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	bool known = argc == 1;
	for (size_t i = 0; i < rw_countof(shapes); i++) {
		struct stream s = {0};
		uint64_t sum_per_round = 0, bytes = 0;
		shapes[i].make(&s);
		for (size_t k = 0; k < s.n; k++)
			bytes += s.v[k].n;
		for (size_t k = 0; k < rw_countof(decoders); k++) {
			static struct run r;
			if (argc == 4 &&
				(!str_eq(argv[1], shapes[i].name) ||
					!str_eq(argv[2], decoders[k].name)))
				continue;
			known = true;
			unsigned rounds = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 10)
						    : decoders[k].rounds;
			r = (struct run){0};
			double cpu = cpu_s();
			decoders[k].run(&r, &s, rounds);
			cpu = cpu_s() - cpu;
			if (rounds == 0 || r.updates == 0 ||
				(sum_per_round && r.sum / rounds != sum_per_round)) {
				fprintf(stderr, "%s %s: not all values arrived\n", shapes[i].name,
					decoders[k].name);
				return 1;
			}
			sum_per_round = r.sum / rounds;
			printf("%llu updates, %s, %s: %.4f us CPU per update, %.1f bytes each\n",
				(unsigned long long)r.updates, shapes[i].name, decoders[k].name,
				cpu / (double)r.updates * 1e6,
				(double)bytes * rounds / (double)r.updates);
		}
		for (size_t k = 0; k < s.n; k++)
			str_done(&s.v[k]);
		free(s.v);
	}
	if (!known)
		fprintf(stderr,
			"usage: bench_gnmi_codec [single|hundred|table codec|walk ROUNDS]\n");
	return known ? 0 : 2;
}
