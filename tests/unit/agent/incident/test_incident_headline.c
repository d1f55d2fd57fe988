/* test_incident_headline - one line of at most 60 columns for each cause, from an incident's own
 * values, and from as little as a stored incident may have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/incident/incident.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "db/model/entity.h"

static void expect(const struct incident *incident, const char *line)
{
	rw_cleanup(freep) char *got = incident_headline(incident);
	assert_string_equal(got, line);
}

static struct incident storm(void)
{
	static const struct evidence measured[] = {
		{.metric = "pfc.rx_pause_ratio", .value = 1, .unit = "ratio"}};
	return (struct incident){.cause = CAUSE_PFC_STORM,
		.device = "leaf2",
		.port = "Ethernet2",
		.host = "node-010",
		.priority = 3,
		.summary = "node-010 pauses its switch and receives nothing; 7 switches wait",
		.evidence = measured,
		.n_evidence = 1};
}

static void headline_pause(void **state)
{
	static const struct evidence bound[] = {
		{.metric = "pfc.rx_pause_ratio_hi", .value = 0.071, .unit = "ratio"}};
	struct incident i = storm();
	expect(&i, "node-010 pauses leaf2:Ethernet2 100 % of the time");
	i.evidence = bound;
	expect(&i, "node-010 pauses leaf2:Ethernet2 at most 7.1 % of the time");
	i.host = NULL;
	expect(&i, "leaf2:Ethernet2 is paused at most 7.1 % of the time");
	i.n_evidence = 0;
	expect(&i, "leaf2:Ethernet2 is paused by its neighbour");
	i.device = NULL; /* nothing is known but the sentence of the finding */
	expect(&i, "node-010 pauses its switch and receives nothing");
}

static void headline_several(void **state)
{
	struct incident i = {.cause = CAUSE_ECN_LATE,
		.priority = PRIO_NONE,
		.summary = "8 switches: Kmin too high: PFC XOFF fires at 9600 KB"};
	expect(&i, "8 switches: PFC pauses before ECN marks");
	i.summary = "Kmin too high";
	expect(&i, "the fabric: PFC pauses before ECN marks");
}

static void headline_cuts(void **state)
{
	const struct incident i = {.cause = CAUSE_CONFIG_DRIFT,
		.device = "leaf2",
		.summary = "leaf2: cfg.hash_fields was \"src_ip,dst_ip,src_port\", now "
			   "\"src_ip,dst_ip\"; no accepted tuning sheet asked for it"};
	expect(&i, "leaf2: cfg.hash_fields was \"src_ip,dst_ip,src_port\", now...");
}

static __attribute__((format(printf, 2, 3))) void rows_bad(int *bad, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print_error("%s\n", text);
	++*bad;
}

/* Each row: a template that can be filled, and that fits with names of a usual length. */
static void headline_rows(void **state)
{
	int bad = 0;
	for (int c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++) {
		const struct incident i = {.cause = (enum cause)c,
			.device = "leaf-0123",
			.port = "Ethernet49/1",
			.host = "gpu-node-0123",
			.group = "job:train",
			.summary = "a sentence of the finding; and more"};
		const char *rows = cause_info(i.cause)->headline;
		rw_cleanup(freep) char *line = incident_headline(&i);
		assert_non_null(rows);
		if (strlen(line) > INCIDENT_HEADLINE_MAX || strstr(line, "..."))
			rows_bad(&bad, "%s: too long: %s", cause_name(i.cause), line);
		if (strpbrk(line, "{}[]|"))
			rows_bad(&bad, "%s: not filled: %s", cause_name(i.cause), line);
		if (!strstr(rows, "{summary}") && !strstr(rows, "{fair_share}") &&
			strstr(line, "a sentence of the finding"))
			rows_bad(&bad, "%s: no part of it fits: %s", cause_name(i.cause), rows);
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headline_pause),
		cmocka_unit_test(headline_several),
		cmocka_unit_test(headline_cuts),
		cmocka_unit_test(headline_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
