/* Of a device asked over SNMP and gNMI, each series comes from one source at a time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include "agent/sources/sources.h"
#include "base/cleanup.h"
#include "db/model/metric.h"

static struct {
	struct sample v[100];
	size_t n;
} got;

static void on_samples(void *arg, const struct sample *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		got.v[got.n++] = v[i];
}
static void on_target(void *arg, const struct target *t)
{
}
static void on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
}
static bool prefers(void *arg, const char *device, unsigned metric)
{
	return metric == M_PFCWD_STORMS;
}

static size_t told, told_times;
static void on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	told = n;
	told_times++;
}

static struct source_choice *choice_new(void)
{
	const struct sink to = {.samples = on_samples,
		.target = on_target,
		.device = on_device,
		.neighbors = on_neighbors};
	got.n = 0;
	return source_choice_new(&to, prefers, NULL);
}

/* give - how many of one sample of each of these metrics got through. */
static size_t give(const struct sink *s, int64_t t_ns, const uint16_t *metrics, size_t n)
{
	struct sample v[8] = {0};
	size_t before = got.n;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct sample){.t_ns = t_ns, .entity = 1, .metric = metrics[i]};
	s->samples(s->arg, v, n);
	return got.n - before;
}
#define GIVE(s, t, ...)                                                                            \
	give((s), (t), (const uint16_t[]){__VA_ARGS__},                                            \
		rw_countof(((const uint16_t[]){__VA_ARGS__})))

static void state_of(const struct sink *s, enum target_state state)
{
	s->target(s->arg, &(struct target){.state = state, .interval_ns = 10 * NS_PER_S});
}

static void test_alone(void **state)
{
	struct source_choice *c = choice_new();
	const struct sink *snmp = source_choice_sink(c, "leaf1", COLLECTS_DEVICE),
			  *other = source_choice_sink(c, "leaf2", COLLECTS_DEVICE_PREFERRED);
	state_of(other, TARGET_UP);
	assert_int_equal(GIVE(other, 1, M_PORT_IN_OCTETS), 1);
	assert_int_equal(GIVE(snmp, 1, M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS), 2);
	source_choice_free(c);
}

/* What is pushed wins over both protocols; while it is silent they fill in, the better one first.
 */
static void test_pushed(void **state)
{
	struct source_choice *c = choice_new();
	const int64_t now = wall_now().ns, later = now + 31 * NS_PER_S;
	const struct sink *snmp = source_choice_sink(c, "leaf1", COLLECTS_DEVICE),
			  *gnmi = source_choice_sink(c, "leaf1", COLLECTS_DEVICE_PREFERRED),
			  *push = source_choice_sink(c, "leaf1", COLLECTS_DEVICE_PUSHED);
	state_of(snmp, TARGET_UP);
	state_of(gnmi, TARGET_UP);
	gnmi->device(gnmi->arg, "leaf1", "nxos", "", "");
	assert_int_equal(GIVE(snmp, now, M_PORT_IN_OCTETS, M_PFCWD_STORMS), 2);
	assert_int_equal(GIVE(gnmi, now, M_PORT_IN_OCTETS, M_PFC_RX_FRAMES), 2);
	state_of(push, TARGET_UP);
	assert_int_equal(GIVE(push, now, M_PORT_IN_OCTETS, M_PFCWD_STORMS), 2);
	assert_int_equal(GIVE(gnmi, now, M_PORT_IN_OCTETS, M_PFC_RX_FRAMES), 1);
	assert_int_equal(GIVE(snmp, now, M_PORT_IN_OCTETS, M_PFCWD_STORMS), 0);
	state_of(push, TARGET_BACKOFF); /* a short silence changes nothing */
	assert_int_equal(GIVE(gnmi, now, M_PORT_IN_OCTETS), 0);
	assert_int_equal(GIVE(snmp, later, M_PORT_IN_OCTETS, M_PFCWD_STORMS), 1);
	assert_int_equal(got.v[got.n - 1].metric, M_PFCWD_STORMS);
	assert_int_equal(GIVE(gnmi, later, M_PORT_IN_OCTETS), 1);
	source_choice_gone(c, "leaf1", COLLECTS_DEVICE_PUSHED);
	assert_int_equal(GIVE(gnmi, later, M_PORT_IN_OCTETS), 1);
	source_choice_free(c);
}

/* SNMP's word of the neighbours counts where it knows any. */
static void test_neighbors(void **state)
{
	static const struct {
		bool snmp;
		size_t n;
		size_t expected_n, expected_times;
		const char *why;
	} rows[] = {
		{false, 3, 3, 1, "gNMI alone"},
		{true, 0, 3, 1, "an SNMP agent without LLDP"},
		{true, 2, 2, 2, "SNMP knows"},
		{false, 3, 2, 2, "gNMI beside it"},
		{true, 0, 2, 2, "SNMP knows none any more, gNMI does"},
		{false, 4, 4, 3, "gNMI again"},
	};
	struct source_choice *c = choice_new();
	const struct sink *snmp = source_choice_sink(c, "leaf1", COLLECTS_DEVICE),
			  *gnmi = source_choice_sink(c, "leaf1", COLLECTS_DEVICE_PREFERRED);
	told_times = 0;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct sink *s = rows[i].snmp ? snmp : gnmi;
		s->neighbors(s->arg, NULL, NULL, rows[i].n);
		if (told != rows[i].expected_n || told_times != rows[i].expected_times)
			fail_msg(
				"%s: %zu neighbours told %zu times", rows[i].why, told, told_times);
	}
	source_choice_free(c);
}

static void test_both(void **state)
{
	struct source_choice *c = choice_new();
	const int64_t now = wall_now().ns;
	const struct sink *snmp = source_choice_sink(c, "leaf1", COLLECTS_DEVICE),
			  *gnmi = source_choice_sink(c, "leaf1", COLLECTS_DEVICE_PREFERRED);
	state_of(snmp, TARGET_UP);
	/* nobody else yet */
	assert_int_equal(GIVE(snmp, now, M_PORT_IN_OCTETS, M_PFC_RX_FRAMES, M_PFCWD_STORMS), 3);
	state_of(gnmi, TARGET_UP);
	gnmi->device(gnmi->arg, "leaf1", "nxos", "", "");
	/* the last is better from SNMP */
	assert_int_equal(GIVE(gnmi, now, M_PORT_IN_OCTETS, M_QUEUE_ECN_MARKED, M_PFCWD_STORMS), 2);
	/* the first now comes by gNMI */
	assert_int_equal(GIVE(snmp, now, M_PORT_IN_OCTETS, M_PFC_RX_FRAMES, M_PFCWD_STORMS), 2);
	assert_int_equal(got.v[got.n - 2].metric, M_PFC_RX_FRAMES);

	state_of(gnmi, TARGET_BACKOFF); /* a short outage changes nothing */
	assert_int_equal(GIVE(snmp, wall_now().ns, M_PORT_IN_OCTETS), 0);
	assert_int_equal(GIVE(snmp, wall_now().ns + 31 * NS_PER_S, M_PORT_IN_OCTETS), 1);
	state_of(gnmi, TARGET_UP);
	assert_int_equal(GIVE(snmp, wall_now().ns + 32 * NS_PER_S, M_PORT_IN_OCTETS), 0);
	source_choice_gone(c, "leaf1", COLLECTS_DEVICE_PREFERRED);
	assert_int_equal(GIVE(snmp, now, M_PORT_IN_OCTETS), 1);
	source_choice_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone),
		cmocka_unit_test(test_neighbors), cmocka_unit_test(test_both),
		cmocka_unit_test(test_pushed)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
