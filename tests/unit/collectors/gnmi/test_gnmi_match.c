/* Patterns of paths, and the time of a value. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collectors/gnmi/gnmi_match.h"
#include "collectors/gnmi/gnmi_target.h"

static const struct {
	/* "port number:set pool name queue"; NULL = no match */
	const char *what, *pattern, *path, *says;
} rows[] = {
	{"a port", "/interfaces/interface[name={port}]/state/counters/in-octets",
		"/interfaces/interface[name=Ethernet1/1]/state/counters/in-octets", "Ethernet1/1"},
	{"another leaf", "/a[name={port}]/x", "/a[name=e1]/y", NULL},
	{"another depth", "/a[name={port}]/x", "/a[name=e1]/x/y", NULL},
	{"a key too many in the path is fine", "/a[name={port}]/x", "/a[name=e1][vrf=red]/x", "e1"},
	{"a key that is missing", "/a[name={port}][vrf=red]/x", "/a[name=e1]/x", NULL},
	{"a queue", "/q[name={queue}]", "/q[name=3]", "- queue:8"},
	{"a queue with letters before", "/q[name={queue}]", "/q[name=UC3]", "- queue:8"},
	{"a queue with a dash", "/q[name={queue}]", "/q[name=q-7]", "- queue:80"},
	{"a queue with a name", "/q[name={queue}]", "/q[name=NC1]", "- queue:0 queue=NC1"},
	{"alias and queue", "/Q/{alias}:{queue}/B", "/Q/etp1:3/B", "etp1! queue:8"},
	{"an alias with a colon", "/Q/{alias}:{queue}/B", "/Q/et-0\\/0\\/0:1:3/B",
		"et-0/0/0:1! queue:8"},
	{"what comes behind is no queue", "/Q/{alias}:{queue}/B", "/Q/etp1:3:periodic/B", NULL},
	{"it has its own pattern", "/Q/{alias}:{queue}:periodic/B", "/Q/etp1:3:periodic/B",
		"etp1! queue:8"},
	{"a range of groups", "/BUFFER_PG/{port}|{group}/profile",
		"/BUFFER_PG/Ethernet0|3-4/profile", "Ethernet0 group:18"},
	{"a list of groups", "/BUFFER_PG/{port}|{group}/profile",
		"/BUFFER_PG/Ethernet0|0,3-4/profile", "Ethernet0 group:19"},
	{"a range the wrong way", "/BUFFER_PG/{port}|{group}/p", "/BUFFER_PG/Ethernet0|4-3/p",
		NULL},
	{"a number too high", "/P/{port}|{group}/p", "/P/Ethernet0|64/p", NULL},
	{"priority in the middle of a name", "/C/{alias}/PFC_{priority}_RX", "/C/etp1/PFC_3_RX",
		"etp1! priority:8"},
	{"no such priority", "/C/{alias}/PFC_{priority}_RX", "/C/etp1/PFC_8_RX", NULL},
	{"a star", "/COUNTERS/Ethernet*/{alias}/x", "/COUNTERS/Ethernet*/etp1/x", "etp1!"},
	{"a pool", "/POOL/{pool}/size", "/POOL/ingress_lossless_pool/size",
		"- pool=ingress_lossless_pool"},
	{"an object", "/W/{name}/ecn", "/W/AZURE_LOSSLESS/ecn", "- name=AZURE_LOSSLESS"},
	{"nothing where something should be", "/W/{name}/ecn", "/W[a=b]/ecn", NULL},
};

static char *place_text(const struct gnmi_match *p, char buf[200])
{
	static const char *const numbers[] = {"", "priority", "queue", "group"};
	int n = snprintf(buf, 200, "%.*s%s", p->port.p ? (int)p->port.n : 1,
		p->port.p ? p->port.p : "-", p->alias ? "!" : "");
	if (p->number)
		n += snprintf(buf + n, 200 - (size_t)n, " %s:%llx", numbers[p->number],
			(unsigned long long)p->numbers);
	if (p->pool.p)
		n += snprintf(buf + n, 200 - (size_t)n, " pool=%.*s", (int)p->pool.n, p->pool.p);
	if (p->name.p)
		n += snprintf(buf + n, 200 - (size_t)n, " name=%.*s", (int)p->name.n, p->name.p);
	if (p->queue_name.p)
		snprintf(buf + n, 200 - (size_t)n, " queue=%.*s", (int)p->queue_name.n,
			p->queue_name.p);
	return buf;
}

static void test_match(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		struct gnmi_pattern *p = gnmi_pattern_new(rows[i].pattern, a, NULL);
		struct gnmi_elem *elems;
		struct gnmi_match at;
		size_t n;
		char buf[200];
		assert_non_null(p);
		assert_int_equal(
			gnmi_path_parse(rows[i].path, strlen(rows[i].path), a, &elems, &n, NULL),
			0);
		bool met = gnmi_pattern_match(p, elems, n, &at);
		if (met != (rows[i].says != NULL) ||
			(met && strcmp(place_text(&at, buf), rows[i].says) != 0))
			fail_msg("%s: reads '%s'", rows[i].what,
				met ? place_text(&at, buf) : "no match");
	}
}

static void test_lists(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_list v[4];
	size_t n = 0;
	gnmi_pattern_lists(
		gnmi_pattern_new(
			"/interfaces/interface[name={port}]/queues/queue[name={queue}]", a, NULL),
		v, &n, rw_countof(v));
	gnmi_pattern_lists(gnmi_pattern_new("/interfaces/interface[name={port}]/state", a, NULL), v,
		&n, rw_countof(v));
	assert_int_equal(n, 2);
	assert_string_equal(v[0].name, "interface");
	assert_string_equal(v[1].name, "queue");
	assert_string_equal(v[1].keys[0], "name");
	assert_null(gnmi_pattern_new("/a[b", a, NULL));
}

/* ---- time ---------------------------------------------------------------- */

#define T0 (1763700000 * NS_PER_S)

static int64_t at(struct gnmi_time *t, double arrival_s, double stamp_s)
{
	const struct gnmi_update u = {.t_ns = T0 + (int64_t)(stamp_s * 1e9)};
	return gnmi_time_take(t, &u, T0 + (int64_t)(arrival_s * 1e9));
}

static void test_time(void **state)
{
	struct gnmi_time t = {.interval_ns = 10 * NS_PER_S};
	assert_int_equal(at(&t, 10.05, 10), T0 + 10 * NS_PER_S); /* fresh: the device's */
	assert_int_equal(at(&t, 20.05, 19), T0 + 19 * NS_PER_S);
	/* did not change since: now */
	assert_int_equal(at(&t, 30, 5), T0 + 30 * NS_PER_S);
	/* and its neighbours keep theirs */
	assert_int_equal(at(&t, 30, 29.5), T0 + (int64_t)(29.5 * 1e9));
	assert_int_equal(t.skew_ns, 0);
	assert_int_equal(at(&t, 40, 4000), T0 + 40 * NS_PER_S); /* ahead */
	/* not believed for a while */
	assert_int_equal(at(&t, 50, 50), T0 + 50 * NS_PER_S);
	/* one stamp, one time, in however many messages */
	assert_int_equal(at(&t, 51, 50), T0 + 50 * NS_PER_S);
	assert_int_equal(at(&t, 51, 50.5), T0 + 51 * NS_PER_S);
	assert_int_equal(at(&t, 52, 50.5), T0 + 51 * NS_PER_S);
	/* a stamp that stands still: the next sample */
	assert_int_equal(at(&t, 56.1, 50.5), T0 + (int64_t)(56.1 * 1e9));
	assert_true(t.skew_ns < -3000 * NS_PER_S);
	assert_int_equal(at(&t, 700, 699.5), T0 + (int64_t)(699.5 * 1e9)); /* believed again */
	const struct gnmi_update zero = {.clock = GNMI_CLOCK_MISSING};
	assert_int_equal(gnmi_time_take(&t, &zero, T0), T0);
}

static void test_time_behind(void **state)
{
	struct gnmi_time t = {.interval_ns = NS_PER_S};
	for (int i = 0; i < 60; i++) /* a clock 3 s behind: never mixed with arrival */
		assert_int_equal(at(&t, i, i - 3), T0 + i * NS_PER_S);
	assert_true(t.skew_ns >= 3 * NS_PER_S && t.skew_ns < 4 * NS_PER_S);
	for (int i = 60; i < 100; i++) /* set right: within some periods the stamps count again */
		at(&t, i + 0.1, i);
	assert_int_equal(at(&t, 100.1, 100), T0 + 100 * NS_PER_S);
	assert_int_equal(t.skew_ns, 0);
}

/* The least lag of a period speaks of the clock, the largest of the network; and two seconds ahead
 * are no rounding. */
static void test_time_least_lag(void **state)
{
	struct gnmi_time t = {.interval_ns = 10 * NS_PER_S};
	for (int i = 1; i < 12; i++) {
		assert_int_equal(at(&t, 10 * i + 0.1, 10 * i), T0 + 10 * i * NS_PER_S);
		at(&t, 10 * i + 9, 10 * i); /* sent again, late */
	}
	assert_int_equal(t.skew_ns, 0);
	assert_int_equal(at(&t, 120.1, 120), T0 + 120 * NS_PER_S);
	assert_int_equal(at(&t, 130, 132), T0 + 130 * NS_PER_S);
	assert_true(t.skew_ns < 0);
}

/* Values that come each minute: the least lag is that of two minutes, not of ten seconds, or a
 * value that is late once would look like a clock behind. */
static void test_time_period(void **state)
{
	struct gnmi_time t = {.interval_ns = 60 * NS_PER_S};
	at(&t, 0.1, 0);
	at(&t, 60.1, 60);
	at(&t, 160, 120); /* late by 40 s, and so the next: with 31 s it is another clock */
	at(&t, 220, 180);
	assert_int_equal(t.skew_ns, 0);
	assert_int_equal(at(&t, 220.2, 220.1), T0 + (int64_t)(220.1 * 1e9));
	/* ... and the least lag of a period is forgotten with the one after it */
	for (int i = 4; i < 12; i++)
		at(&t, 60 * i + 40, 60 * i);
	assert_true(t.skew_ns >= 39 * NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_time_behind),
		cmocka_unit_test(test_time_period),
		cmocka_unit_test(test_time_least_lag),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
