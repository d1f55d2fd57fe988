/* Counters that wrap, jump, are cleared, served by a real snmpd from a file that the test writes:
 * flags are set, and no increase that was never there comes out of it. */
#include "tests/unit/collectors/snmp/snmp_world.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "db/series/series.h"

#define BASE ".1.3.6.1.4.1.99999.1"
#define SPEED_MBPS 1000
#define LINE_BYTES_S (SPEED_MBPS * 125000.0)

static const char profile[] = "name: quality\ndoc: what a test serves\nsnmp:\n  tables:\n"
			      "    - { name: names, cadence: slow, oid: 1.3.6.1.4.1.99999.1, "
			      "index: [port], columns: [{ column: 1, attribute: port_name },\n"
			      "        { column: 2, metric: port.speed_bps, unit: Mbps }] }\n"
			      "    - { name: counters, cadence: fast, oid: 1.3.6.1.4.1.99999.1, "
			      "index: [port], columns: [{ column: 3, metric: port.in_octets },\n"
			      "        { column: 4, metric: port.out_octets }, { column: 5, "
			      "attribute: discontinuity }] }\n";

/* snmpd's "pass" protocol: -g OID and -n OID; three lines of answer. The file is in order of object
 * identifiers. */
static const char script[] =
	"#!/bin/sh\nexec awk -v mode=\"$1\" -v want=\"$2\" '\n"
	"function after(a, b,  x, y, n, m, i) { n = split(a, x, \".\"); m = split(b, y, \".\");\n"
	"  for (i = 1; i <= n && i <= m; i++) if (x[i] + 0 != y[i] + 0) return x[i] + 0 > y[i] + "
	"0; return n > m }\n"
	"mode == \"-g\" ? $1 == want : after($1, want) { print $1; print $2; print $3; exit }' "
	"\"$(dirname \"$0\")/values\"\n";

struct bed {
	struct world w;
	struct world_agent a;
	char dir[64];
};

static void put(const struct bed *b, const char *name, const char *text, mode_t mode)
{
	char path[128], temporary[128];
	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	snprintf(temporary, sizeof(temporary), "%s/%s.new", b->dir, name);
	FILE *f = fopen(temporary, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(temporary, mode), 0);
	assert_int_equal(rename(temporary, path), 0);
}

static void serve(const struct bed *b, uint64_t in, uint32_t out, unsigned discontinuity)
{
	char text[512];
	snprintf(text, sizeof(text),
		BASE ".1.7 string eth7\n" BASE ".2.7 gauge %u\n" BASE ".3.7 counter64 %llu\n" BASE
		     ".4.7 counter %u\n" BASE ".5.7 timeticks %u\n",
		SPEED_MBPS, (unsigned long long)in, out, discontinuity);
	put(b, "values", text, 0644);
}

static void bed_new(struct bed *b)
{
	char line[256];
	*b = (struct bed){0};
	snprintf(b->dir, sizeof(b->dir), "/tmp/rw-quality-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	put(b, "pass.sh", script, 0755);
	put(b, "quality.yaml", profile, 0644);
	snprintf(line, sizeof(line), "rocommunity secret\npass " BASE " %s/pass.sh\n", b->dir);
	world_new(&b->w, "secret");
	b->w.config.profile_dir = b->dir;
	serve(b, 0, 0, 0);
	agent_start(&b->a, "udp:127.0.0.1", free_port(AF_INET), line);
	world_add(&b->w, "127.0.0.1", b->a.port);
	b->w.devices[0].profile = "quality";
	b->w.snmp[0].timeout_ns = 5 * NS_PER_S; /* a process for each value, on a busy machine */
}

static void bed_done(struct bed *b)
{
	char command[128];
	world_free(&b->w);
	agent_stop(&b->a);
	snprintf(command, sizeof(command), "rm -rf %s", b->dir);
	assert_int_equal(system(command), 0);
}

static uint64_t awaited;
static unsigned awaited_metric;

static bool seen(struct world *w)
{
	const struct sample *s = world_sample(w, "sw0", "eth7", PRIO_NONE, awaited_metric);
	return s && s->value == awaited;
}

/* Serve these and wait until both were read; the flags of the first sample of the new value. */
static unsigned step(
	struct bed *b, uint64_t in, uint32_t out, unsigned discontinuity, unsigned metric)
{
	size_t from = b->w.n_samples;
	serve(b, in, out, discontinuity);
	awaited_metric = metric;
	awaited = metric == M_PORT_IN_OCTETS ? in : out;
	world_wait(&b->w, seen, 60, "the new value is read");
	uint32_t id = entities_find(b->w.entities, "sw0", "eth7", PRIO_NONE);
	for (; from < b->w.n_samples; from++)
		if (b->w.samples[from].entity == id && b->w.samples[from].metric == metric &&
			b->w.samples[from].value == awaited)
			return b->w.samples[from].flags;
	fail_msg("the value was there before");
	return 0;
}

/* What all readings of a metric say it grew by, as reports and analyzers ask it; with and without a
 * bound. */
static uint64_t increase(const struct bed *b, unsigned metric, double bound)
{
	int64_t t[512];
	uint64_t v[512];
	uint16_t f[512];
	struct series s = {.entity = entities_find(b->w.entities, "sw0", "eth7", PRIO_NONE),
		.metric = (uint16_t)metric,
		.t_ns = t,
		.value = v,
		.flags = f};
	struct increase r;
	for (size_t i = 0; i < b->w.n_samples && s.n < 512; i++)
		if (b->w.samples[i].entity == s.entity && b->w.samples[i].metric == metric) {
			t[s.n] = b->w.samples[i].t_ns;
			v[s.n] = b->w.samples[i].value;
			f[s.n++] = b->w.samples[i].flags;
		}
	assert_int_equal(series_increase(&s, t[0] - 1, t[s.n - 1], bound, &r), 0);
	return r.value;
}

static void test_wrap32(void **state)
{
	struct bed b;
	bed_new(&b);
	serve(&b, 0, 4294966000u, 0);
	world_start(&b.w, 0);
	awaited_metric = M_PORT_OUT_OCTETS;
	awaited = 4294966000u;
	world_wait(&b.w, seen, 60, "the first value");
	for (uint32_t v = 4294966200u; v != 4294967000u; v += 200)
		assert_int_equal(
			step(&b, 0, v, 0, M_PORT_OUT_OCTETS) & (SF_RESTART | SF_SUSPECT), 0);
	/* 1200 octets, nothing else */
	assert_int_equal(step(&b, 0, 704, 0, M_PORT_OUT_OCTETS), SF_WRAP32);
	assert_int_equal(step(&b, 0, 904, 0, M_PORT_OUT_OCTETS), SF_WRAP32);
	assert_int_equal(increase(&b, M_PORT_OUT_OCTETS, LINE_BYTES_S), 800 + 1200 + 200);
	assert_int_equal(snmp_target_state(b.w.targets[0])->suspects, 0);
	bed_done(&b);
}

static void test_jump(void **state)
{
	struct bed b;
	bed_new(&b);
	world_start(&b.w, 0);
	awaited_metric = M_PORT_IN_OCTETS;
	awaited = 0;
	world_wait(&b.w, seen, 60, "the first value");
	for (uint64_t v = 1000; v <= 4000; v += 1000)
		assert_int_equal(step(&b, v, 0, 0, M_PORT_IN_OCTETS), 0);
	/* one answer that cannot be: a petabyte in a moment */
	assert_int_equal(step(&b, UINT64_C(1) << 50, 0, 0, M_PORT_IN_OCTETS), SF_SUSPECT);
	assert_true(snmp_target_state(b.w.targets[0])->suspects >= 1);
	/* and the counter goes on from there: it begins anew, whoever asks without a bound gets no
	 * spike either */
	step(&b, (UINT64_C(1) << 50) + 1000, 0, 0, M_PORT_IN_OCTETS);
	assert_int_equal(step(&b, (UINT64_C(1) << 50) + 2000, 0, 0, M_PORT_IN_OCTETS), 0);
	assert_true(increase(&b, M_PORT_IN_OCTETS, LINE_BYTES_S) <= 6000);
	assert_true(increase(&b, M_PORT_IN_OCTETS, 0) <= 6000);
	/* cleared without a word */
	assert_int_equal(step(&b, 5, 0, 0, M_PORT_IN_OCTETS), SF_RESTART);
	assert_int_equal(step(&b, 1005, 0, 0, M_PORT_IN_OCTETS), 0);
	/* a discontinuity that the agent tells: even a step forward is no traffic */
	assert_int_equal(step(&b, 900000, 0, 4711, M_PORT_IN_OCTETS), SF_RESTART);
	assert_int_equal(step(&b, 901000, 0, 4711, M_PORT_IN_OCTETS), 0);
	assert_true(increase(&b, M_PORT_IN_OCTETS, 0) <= 9000);
	bed_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrap32),
		cmocka_unit_test(test_jump),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
