/* Nouns: the metric table, interning, flags as text. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "db/model/entity.h"
#include "db/model/finding.h"
#include "db/model/metric.h"

static void metric_table(void **state)
{
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		assert_non_null(info);
		assert_int_equal(metric_by_name(info->name), (int)m);
		assert_true(*info->unit && *info->help);
		/* a name becomes a column: letters, digits, '_' and one or more dots */
		assert_int_equal(strspn(info->name, "abcdefghijklmnopqrstuvwxyz0123456789_."),
			strlen(info->name));
		for (unsigned k = 0; k < m; k++) {
			const char *a = info->name, *b = metric_info(k)->name;
			size_t i = 0;
			while (a[i] &&
				(a[i] == b[i] ||
					(strchr("._", a[i]) && b[i] && strchr("._", b[i]))))
				i++;
			if (a[i] == b[i])
				fail_msg("%s and %s make the same column", a, b);
		}
	}
	assert_null(metric_info(METRIC_COUNT));
	assert_int_equal(metric_by_name("port.no_such"), -1);
	assert_int_equal(metric_by_name(""), -1);
	assert_int_equal(metric_by_name(NULL), -1);
	assert_string_equal(metric_kind_name(METRIC_WATERMARK), "watermark");
	assert_string_equal(metric_scope_name(SCOPE_PRIO), "priority");
}

static void names_of_words(void **state)
{
	assert_string_equal(severity_name(SEV_CRITICAL), "critical");
	assert_string_equal(finding_verdict_name(FINDING_IDLE), "idle");
	assert_string_equal(quality_name(QUALITY_SUSPECT), "suspect");
	assert_string_equal(ecmp_verdict_name(ECMP_WITHIN_CHANCE), "within chance");
	assert_string_equal(ecmp_verdict_name((enum ecmp_verdict)99), "unknown");
	assert_string_equal(sample_source_name(SOURCE_CONFIG), "config");
	assert_null(sample_source_name(99));
}

static void entity_intern(void **state)
{
	struct entities *t = entities_new();
	uint32_t prio = entities_intern(t, "leaf1", "swp1", 3);
	const struct entity *e = entity_get(t, prio);

	assert_int_equal(entities_count(t), 3); /* device, port, priority */
	assert_int_equal(prio, 3);
	assert_string_equal(e->device, "leaf1");
	assert_string_equal(e->port, "swp1");
	assert_int_equal(e->priority, 3);
	const struct entity *port = entity_get(t, e->parent), *device = entity_get(t, port->parent);
	assert_string_equal(port->port, "swp1");
	assert_int_equal(port->priority, PRIO_NONE);
	assert_string_equal(device->port, "");
	assert_int_equal(device->parent, ENTITY_NONE);
	assert_ptr_equal(device->device, e->device);
	assert_int_equal(entities_intern(t, "leaf1", "swp1", 3), prio);
	assert_int_equal(entities_intern(t, "leaf1", NULL, PRIO_NONE), device->id);
	assert_int_equal(entities_find(t, "leaf1", "swp1", PRIO_NONE), port->id);
	assert_int_equal(entities_find(t, "leaf1", "swp2", PRIO_NONE), ENTITY_NONE);
	/* names that would run together without a separator stay apart */
	assert_int_not_equal(entities_intern(t, "leaf1s", "wp1", PRIO_NONE), port->id);
	assert_null(entity_get(t, ENTITY_NONE));
	assert_null(entity_get(t, 1000));
	for (int i = 0; i < 5000; i++) {
		char name[400];
		snprintf(name, sizeof(name), "Ethernet%d%0*d", i, i % 300 + 1, 0);
		entities_intern(t, "leaf2", name, i % 8);
	}
	assert_string_equal(e->port, "swp1"); /* lent pointers stay valid */
	entities_free(t);
	entities_free(NULL);
}

#define SECOND INT64_C(1000000000)

static size_t release(struct entities *t, int64_t idle_s)
{
	const struct entity_release how = {.idle_ns = idle_s * SECOND};
	return entities_release(t, &how);
}

/* What nobody has seen or holds goes, with its priorities; what is left keeps its ids. */
static void names_are_released(void **state)
{
	struct entities *t = entities_new();
	const uint32_t old = entities_intern(t, "leaf1", "veth1", 3);
	const uint32_t held = entities_intern(t, "leaf1", "swp1", 4);
	const uint32_t seen = entities_intern(t, "leaf1", "swp2", PRIO_NONE);
	entities_hold(t, entities_find(t, "leaf1", "swp1", PRIO_NONE));
	for (int64_t s = 0; s <= 100; s += 5)
		entities_tick(t, (1000 + s) * SECOND);
	entities_seen(t, seen);
	assert_int_equal(release(t, 101), 0);
	assert_int_equal(release(t, 100), 2); /* veth1 and its priority */
	assert_null(entity_get(t, old));
	assert_int_equal(entities_find(t, "leaf1", "veth1", 3), ENTITY_NONE);
	assert_int_equal(entities_find(t, "leaf1", "swp1", 4), held);
	assert_int_equal(entities_find(t, "leaf1", "swp2", PRIO_NONE), seen);
	assert_int_equal(entities_known(t), 4);
	/* its names stay readable, and its id is nobody else's, until all are done with it */
	assert_string_equal(entities_gone(t, 0)->port, "veth1");
	assert_null(entities_gone(t, 2));
	const uint32_t again = entities_intern(t, "leaf1", "veth1", 3);
	assert_true(again > seen);
	entities_reclaim(t);
	assert_null(entities_gone(t, 0));
	const uint32_t next = entities_intern(t, "leaf1", "veth2", PRIO_NONE);
	assert_true(next < again); /* an id is given again */
	/* when it is dropped it is as if it had just been seen */
	entities_drop(t, entities_find(t, "leaf1", "swp1", PRIO_NONE));
	assert_int_equal(release(t, 1), 0);
	assert_int_equal(entities_find(t, "leaf1", "swp1", 4), held);
	entities_free(t);
}

/* A process that stood still, or a clock that jumped, makes no name old. */
static void names_age_while_watched(void **state)
{
	struct entities *t = entities_new();
	entities_intern(t, "leaf1", "swp1", PRIO_NONE);
	entities_tick(t, 1 * SECOND);
	entities_tick(t, 7200 * SECOND);
	assert_int_equal(release(t, 3600), 0);
	entities_tick(t, 5 * SECOND);
	assert_int_equal(release(t, 3600), 0);
	entities_free(t);
}

static bool keep_leaf(void *arg, const struct entity *entity)
{
	return strncmp(entity->device, "leaf", 4) == 0;
}

/* A million names come and go: the table stays as large as what lives at once. */
static void churn_is_flat(void **state)
{
	struct entities *t = entities_new();
	const struct entity_release how = {.idle_ns = 20 * SECOND, .keep = keep_leaf};
	const struct entity_limits limits = {.per_device = 3000};
	const char *device;
	size_t n;
	char port[32];
	entities_limit(t, &limits);
	entities_intern(t, "leaf1", "swp1", 3);
	for (int s = 1; s <= 1000; s++) {
		entities_tick(t, s * SECOND);
		for (int k = 0; k < 100; k++) {
			snprintf(port, sizeof(port), "veth%d", s * 100 + k);
			assert_int_not_equal(
				entities_intern(t, "churn", port, PRIO_NONE), ENTITY_NONE);
		}
		entities_fresh(t, &n);
		assert_int_equal(n, s == 1 ? 104 : 100);
		entities_fresh_done(t);
		entities_release(t, &how);
		entities_reclaim(t);
		assert_true(entities_known(t) <= 2004);
		assert_true(entities_count(t) <= 2104);
	}
	assert_int_equal(entities_refused(t, &device), 0);
	assert_int_not_equal(entities_find(t, "leaf1", "swp1", 3), ENTITY_NONE);
	assert_int_equal(entities_find(t, "churn", "veth100", PRIO_NONE), ENTITY_NONE);
	assert_int_not_equal(entities_find(t, "churn", "veth100099", PRIO_NONE), ENTITY_NONE);
	entities_free(t);
}

/* A switch that invents texts fills its own room. */
static void texts_are_bounded(void **state)
{
	struct entities *t = entities_new();
	const char *device;
	char text[32];
	for (int i = 0; i < ENTITY_TEXTS_MAX + 100; i++) {
		snprintf(text, sizeof(text), "invented %d", i);
		entities_text_of(t, "evil", text);
	}
	assert_int_equal(entities_refused(t, &device), 100);
	assert_string_equal(device, "evil");
	assert_int_equal(entities_text_of(t, "evil", "one more"), 0);
	assert_int_not_equal(entities_text_of(t, "leaf1", "one more"), 0);
	assert_int_not_equal(entities_text_of(t, "evil", "one more"), 0); /* known now */
	entities_free(t);
}

static void entity_text(void **state)
{
	struct entities *t = entities_new();

	assert_int_equal(entities_text(t, ""), 0);
	assert_int_equal(entities_text(t, NULL), 0);
	assert_int_equal(entities_text(t, "dscp"), 1);
	assert_int_equal(entities_text(t, "pcp"), 2);
	assert_int_equal(entities_text(t, "dscp"), 1);
	assert_string_equal(entities_text_get(t, 2), "pcp");
	assert_string_equal(entities_text_get(t, 0), "");
	assert_string_equal(entities_text_get(t, 77), "");
	entities_free(t);
}

static void flags_as_text(void **state)
{
	char buf[SAMPLE_FLAGS_TEXT_MAX];
	unsigned all = (SF_DECLARED << 1) - 1, got;

	for (unsigned f = 0; f <= all; f++) {
		assert_int_equal(sample_flags_parse(sample_flags_text(buf, f), &got), 0);
		assert_int_equal(got, f);
	}
	assert_string_equal(sample_flags_text(buf, SF_RESTART | SF_WRAP32), "restart,wrap32");
	static const char *const bad[] = {
		"restrat", "restart,", ",restart", "restart,,late", "Restart", " "};
	for (size_t i = 0; i < rw_countof(bad); i++)
		if (sample_flags_parse(bad[i], &got) != -EINVAL)
			fail_msg("'%s' was accepted", bad[i]);
	assert_int_equal(sample_flags_parse("-", &got), 0);
	assert_int_equal(got, 0);
	assert_true(sample_number(M_OPTIC_RX_POWER, sample_of_f64(-3.5)) == -3.5);
	assert_true(sample_number(M_PORT_IN_OCTETS, 1000) == 1000);
	assert_true(isnan(sample_number(M_CFG_TRUST, 1)));
}

/* A switch that invents names fills its own room, not that of the others. */
static void names_are_bounded(void **state)
{
	struct entities *t = entities_new();
	const struct entity_limits limits = {.per_device = 10, .total = 30};
	const char *device;
	char port[32];
	entities_limit(t, &limits);
	assert_int_not_equal(entities_intern(t, "leaf1", "swp1", 3), ENTITY_NONE);
	for (int i = 0; i < 100; i++) {
		snprintf(port, sizeof(port), "invented%d", i);
		entities_intern(t, "evil", port, PRIO_NONE);
	}
	assert_int_equal(entities_refused(t, &device), 90);
	assert_string_equal(device, "evil");
	assert_int_equal(entities_intern(t, "evil", "invented99", PRIO_NONE), ENTITY_NONE);
	assert_int_not_equal(entities_intern(t, "evil", "invented3", PRIO_NONE), ENTITY_NONE);
	/* the others go on, up to the bound of all together */
	for (int i = 0; i < 100; i++) {
		snprintf(port, sizeof(port), "leaf%d", i);
		entities_intern(t, port, "swp1", 3);
	}
	assert_true(entities_count(t) <= 32);
	for (uint32_t id = 1; id <= entities_count(t); id++) {
		const struct entity *e = entity_get(t, id);
		assert_true(*e->port == '\0' || e->parent != ENTITY_NONE);
	}
	entities_free(t);
}

/* Names and texts from outside become fit to be printed, whoever brings them. */
static void names_are_clean(void **state)
{
	struct entities *t = entities_new();
	const uint32_t id = entities_intern(t, "leaf1", "Eth\0331\n", 3);
	assert_string_equal(entity_get(t, id)->port, "Eth 1 ");
	assert_int_equal(entities_intern(t, "leaf1", "Eth\0331\n", 3), id);
	assert_int_equal(entities_find(t, "leaf1", "Eth 1 ", 3), id);
	assert_string_equal(entities_text_get(t, entities_text(t, "a\033b")), "a b");
	assert_int_equal(entities_text(t, "a\007b"), entities_text(t, "a b"));
	assert_int_equal(entities_text_of(t, "leaf1", "a\177b"), entities_text(t, "a b"));
	entities_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metric_table),
		cmocka_unit_test(names_of_words),
		cmocka_unit_test(entity_intern),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(names_are_released),
		cmocka_unit_test(names_age_while_watched),
		cmocka_unit_test(churn_is_flat),
		cmocka_unit_test(texts_are_bounded),
		cmocka_unit_test(entity_text),
		cmocka_unit_test(flags_as_text),
		cmocka_unit_test(names_are_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
