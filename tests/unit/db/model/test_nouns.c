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

#include "agent/base/cleanup.h"
#include "db/model/ecmp.h"
#include "db/model/entity.h"
#include "db/model/finding.h"
#include "db/model/metric.h"
#include "db/model/sample.h"

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

static void entity_load(void **state)
{
	struct entities *t = entities_new();

	/* the child first: it is adopted later */
	assert_int_equal(entities_load(t, 3, "leaf1", "swp1", 3), 0);
	assert_int_equal(entity_get(t, 3)->parent, ENTITY_NONE);
	assert_int_equal(entities_load(t, 1, "leaf1", "", PRIO_NONE), 0);
	assert_int_equal(entities_load(t, 2, "leaf1", "swp1", PRIO_NONE), 0);
	assert_int_equal(entity_get(t, 3)->parent, 2);
	assert_int_equal(entity_get(t, 2)->parent, 1);
	assert_int_equal(entities_load(t, 2, "leaf1", "swp1", PRIO_NONE), 0); /* the same again */
	assert_int_equal(entities_load(t, 2, "leaf9", "swp1", PRIO_NONE), -EEXIST);
	assert_int_equal(entities_load(t, 9, "leaf1", "swp1", PRIO_NONE), -EEXIST);
	assert_int_equal(entities_load(t, 0, "leaf1", "swp1", PRIO_NONE), -EINVAL);
	assert_int_equal(entities_load(t, UINT32_MAX, "leaf1", "x", PRIO_NONE), -ERANGE);
	assert_int_equal(entities_intern(t, "leaf2", "", PRIO_NONE), 4);
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
	/* what stands in a file beyond the bound is loaded; what no file can hold is left out */
	assert_int_equal(entities_load(t, 500, "evil", "stored", PRIO_NONE), 0);
	assert_int_equal(entities_load(t, ENTITY_ID_MAX + 1, "a", "", PRIO_NONE), -ERANGE);
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
	/* a file with two names that are one when they are clean keeps both numbers */
	assert_int_equal(entities_load(t, 10, "leaf1", "\xc2\x9b", PRIO_NONE), 0);
	assert_int_equal(entities_load(t, 11, "leaf1", "\x1b", PRIO_NONE), 0);
	assert_string_equal(entity_get(t, 10)->port, " ");
	assert_string_equal(entity_get(t, 11)->port, " ~11");
	assert_int_equal(entities_text_load(t, 1,
				 "a\x1b"
				 "b"),
		0);
	assert_int_equal(entities_text_load(t, 2,
				 "a\x07"
				 "b"),
		0);
	assert_string_equal(entities_text_get(t, 2), "a b");
	assert_int_equal(entities_text_load(t, 3, "a b"), -EEXIST);
	assert_int_equal(entities_text_load(t, 9, "c"), -EINVAL);
	assert_int_equal(entities_text_load(t, 3, NULL), -EINVAL);
	assert_int_equal(entities_text(t, "c\033"), 3);
	entities_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metric_table),
		cmocka_unit_test(names_of_words),
		cmocka_unit_test(entity_intern),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(entity_load),
		cmocka_unit_test(entity_text),
		cmocka_unit_test(flags_as_text),
		cmocka_unit_test(names_are_clean),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
