/* snmp_rows: what agents do to a walk over several columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "collectors/snmp/snmp_rows.h"
#include "tests/unit/collectors/snmp/oid_text.h"

/* A walk is written as text: "1.6.5=7" is OID 1.6.5 with Counter64 7; "1.6.5=!" endOfMibView, "=?"
 * noSuchInstance, "='ab" a string. Lines are answers. The table has the columns 1.6 and 1.7. */
struct script {
	uint32_t arcs[256][8];
	struct snmp_varbind v[256];
};

static size_t answer_parse(struct script *s, const char *line)
{
	char *copy = strdup(line), *save, *word;
	size_t n = 0;
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save), n++) {
		char *value = strchr(word, '=');
		*value++ = '\0';
		int arcs = oid_of_text(word, s->arcs[n], 8);
		assert_true(arcs > 0);
		s->v[n] = (struct snmp_varbind){.oid = {s->arcs[n], (size_t)arcs},
			.type = SNMP_COUNTER64,
			.number = strtoull(value, NULL, 10)};
		if (*value == '!')
			s->v[n].type = SNMP_END_OF_MIB;
		else if (*value == '?')
			s->v[n].type = SNMP_NO_SUCH_INSTANCE;
		else if (*value == '\'') {
			s->v[n].type = SNMP_STRING;
			s->v[n].bytes = (const uint8_t *)(line + (value + 1 - copy));
			s->v[n].n_bytes = strcspn(value + 1, " ");
		}
	}
	free(copy);
	return n;
}

static const struct {
	const char *what;
	const char *answers[6];
	const char *rows; /* "index:a,b" with - for absent */
	uint32_t non_increasing, no_value, stalled;
} walks[] = {
	{"in step", {"1.6.1=10 1.7.1=20 1.6.2=11 1.7.2=21 1.7.1=0 1.8.1=0"}, "1:10,20 2:11,21", 0,
		0, 0},
	{"ends of different columns",
		{"1.6.1=10 1.7.1=20 1.6.2=11 1.7.5=25", "1.7.1=9 1.7.6=26", "1.7.6=26"},
		"1:10,20 2:11,- 5:-,25 6:-,26", 1, 0, 0},
	{"end of the view", {"1.6.1=10 1.7.1=20 1.6.1=! 1.7.1=!"}, "1:10,20", 0, 0, 0},
	{"a row appears in the second column only",
		{"1.6.1=1 1.7.1=1 1.6.3=3 1.7.2=2 1.7.1=0 1.7.3=3 1.8=0 1.8=0"},
		"1:1,1 2:-,2 3:3,3", 0, 0, 0},
	{"a row vanished between the answers",
		{"1.6.1=1 1.7.1=1", "1.6.2=2 1.7.3=3", "1.6.3=3 1.8.1=0", "1.9=0"},
		"1:1,1 2:2,- 3:3,3", 0, 0, 0},
	{"ordered as text: 1, 10, 2",
		{"1.6.1=1 1.7.1=1 1.6.10=10 1.7.10=10", "1.6.2=2 1.7.2=2", "1.8=0 1.8=0"},
		"1:1,1 2:2,2 10:10,10", 0, 0, 0},
	{"goes back, and then round",
		{"1.6.4=4 1.7.4=4 1.6.3=3 1.7.5=5", "1.6.4=4 1.7.6=6", "1.8.1=0"},
		"3:3,- 4:4,4 5:-,5 6:-,6", 1, 0, 0},
	{"goes back to a row without a value", {"1.6.4=4 1.7.4=4 1.6.3=? 1.7.5=5", "1.8.1=0"},
		"4:4,4 5:-,5", 1, 0, 0},
	{"the same OID again and again", {"1.6.4=4 1.7.4=4", "1.6.4=4 1.7.4=4"}, "4:4,4", 2, 0, 0},
	{"noSuchInstance inside", {"1.6.1=? 1.7.1=7 1.6.2=2 1.7.2=?", "1.8=0 1.8=0"}, "1:-,7 2:2,-",
		0, 2, 0},
	{"cut in the middle of a repetition",
		{"1.6.1=1 1.7.1=2 1.6.2=3", "1.6.3=5 1.7.2=4", "1.8=0 1.7.3=6", "1.8=0"},
		"1:1,2 2:3,4 3:5,6", 0, 0, 0},
	{"rows of one column put in before those of another",
		{"1.6.5=5 1.7.1=1 1.6.6=6 1.7.2=2", "1.6.7=7 1.7.3=3 1.6.8=8 1.7.7=7",
			"1.8=0 1.8=0"},
		"1:-,1 2:-,2 3:-,3 5:5,- 6:6,- 7:7,7 8:8,-", 0, 0, 0},
	{"nothing at all", {""}, "", 0, 0, 1},
	{"index of several parts", {"1.6.1.3=13 1.7.1.3=23 1.6.1.4=14 1.7.1.4=24 1.8=0 1.8=0"},
		"1.3:13,23 1.4:14,24", 0, 0, 0},
	{"another table at once", {"1.3.6.9=1 2.1=1"}, "", 1, 0, 0},
	{"the column itself as instance", {"1.6=5 1.7=5"}, "", 2, 0, 0},
	{"strings", {"1.6.1='eth1 1.7.1=1 1.8=0 1.8=0"}, "1:eth1,1", 0, 0, 0},
};

static char *rows_text(const struct snmp_rows *r, char *buf, size_t size)
{
	size_t at = 0;
	buf[0] = '\0';
	for (size_t row = 0; row < snmp_rows_count(r); row++) {
		char index[64];
		at += (size_t)snprintf(buf + at, size - at, "%s%s:", row ? " " : "",
			snmp_oid_text(index, sizeof(index), snmp_rows_index(r, row)));
		for (size_t c = 0; c < 2; c++) {
			const struct snmp_value *cell = snmp_rows_value(r, row, c);
			size_t n = 0;
			const uint8_t *p = cell ? snmp_rows_bytes(r, cell, &n) : NULL;
			if (!cell)
				at += (size_t)snprintf(buf + at, size - at, "%s-", c ? "," : "");
			else if (p)
				at += (size_t)snprintf(
					buf + at, size - at, "%s%.*s", c ? "," : "", (int)n, p);
			else
				at += (size_t)snprintf(buf + at, size - at, "%s%llu", c ? "," : "",
					(unsigned long long)cell->u);
		}
	}
	return buf;
}

static struct snmp_rows *two_columns(void)
{
	static const uint32_t a[] = {1, 6}, b[] = {1, 7};
	const struct snmp_oid columns[] = {{a, 2}, {b, 2}};
	return snmp_rows_new(columns, 2);
}

static void test_walks(void **state)
{
	for (size_t i = 0; i < rw_countof(walks); i++) {
		struct snmp_rows *r = two_columns();
		struct snmp_oid ask[2];
		static struct script s;
		char text[512];
		for (size_t k = 0; k < 6 && walks[i].answers[k]; k++) {
			if (snmp_rows_next(r, ask, 2) == 0)
				fail_msg("%s: over before answer %zu", walks[i].what, k);
			snmp_rows_take(r, s.v, answer_parse(&s, walks[i].answers[k]));
		}
		if (!walks[i].stalled && snmp_rows_next(r, ask, 2) != 0)
			fail_msg("%s: still asks", walks[i].what);
		if (strcmp(rows_text(r, text, sizeof(text)), walks[i].rows) != 0)
			fail_msg("%s: got '%s', expected '%s'", walks[i].what, text, walks[i].rows);
		const struct snmp_rows_stats *st = snmp_rows_stats(r);
		if (st->non_increasing != walks[i].non_increasing ||
			st->no_value != walks[i].no_value || st->stalled != walks[i].stalled)
			fail_msg("%s: counted %u non-increasing, %u without value, %u stalled",
				walks[i].what, st->non_increasing, st->no_value, st->stalled);
		snmp_rows_free(r);
	}
}

static void test_asks_where_it_stopped(void **state)
{
	struct snmp_rows *r = two_columns();
	struct snmp_oid ask[2];
	static struct script s;
	char text[64];
	assert_int_equal(snmp_rows_next(r, ask, 2), 2);
	assert_string_equal(snmp_oid_text(text, sizeof(text), ask[0]), "1.6");
	assert_true(snmp_rows_take(r, s.v, answer_parse(&s, "1.6.1=1 1.7.1=1 1.6.9=1 1.8.0=1")));
	assert_int_equal(snmp_rows_next(r, ask, 2), 1);
	assert_string_equal(snmp_oid_text(text, sizeof(text), ask[0]), "1.6.9");
	snmp_rows_refuse(r, 0);
	assert_int_equal(snmp_rows_next(r, ask, 2), 0);
	bool want[] = {false, true};
	snmp_rows_begin(r, want); /* the next walk begins at the top, with the wanted columns */
	assert_int_equal(snmp_rows_count(r), 0);
	assert_int_equal(snmp_rows_next(r, ask, 2), 1);
	assert_string_equal(snmp_oid_text(text, sizeof(text), ask[0]), "1.7");
	snmp_rows_free(r);
}

static void test_few_at_a_time(void **state)
{
	struct snmp_rows *r = two_columns();
	struct snmp_oid ask[1];
	static struct script s;
	char text[64];
	assert_int_equal(snmp_rows_next(r, ask, 1), 1);
	snmp_rows_take(r, s.v, answer_parse(&s, "1.6.1=1 1.6.2=2 1.7.1=0"));
	assert_int_equal(snmp_rows_next(r, ask, 1), 1);
	snmp_rows_take(r, s.v, answer_parse(&s, "1.7.1=5 1.7.2=6 1.8=0"));
	assert_int_equal(snmp_rows_next(r, ask, 1), 0);
	assert_string_equal(rows_text(r, text, sizeof(text)), "1:1,5 2:2,6");
	snmp_rows_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_asks_where_it_stopped),
		cmocka_unit_test(test_few_at_a_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
