/* test_replay - lines of samples.tsv: what is read, and what is refused with which words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "collectors/recorded/replay.h"
#include "db/model/metric.h"

#define NAMED(row) print_message("   row: %s\n", (row)->what)

static int parse(
	const char *text, struct entities **entities, struct sample_list *out, struct err *e)
{
	*entities = entities_new();
	*out = (struct sample_list){0};
	return replay_parse(text, strlen(text), "case.tsv", *entities, out, e);
}

static void test_good(void **state)
{
	static const struct {
		const char *what, *text;
		int64_t t_ns;
		uint64_t value;
		unsigned flags, window_ms;
		int priority;
	} rows[] = {
		{"port counter", "10\tleaf1\tEth1\t-\tport.out_octets\t42\n", 10000000000, 42, 0, 0,
			PRIO_NONE},
		{"exact nanoseconds", "1763690400.123456789\tleaf1\tEth1\t-\tport.out_octets\t1\n",
			1763690400123456789, 1, 0, 0, PRIO_NONE},
		{"trailing zeros past the ninth digit lose nothing",
			"0.5000000000\tleaf1\tEth1\t-\tport.out_octets\t1\n", 500000000, 1, 0, 0,
			PRIO_NONE},
		{"largest counter", "0\tleaf1\tEth1\t-\tport.out_octets\t18446744073709551615\n", 0,
			UINT64_MAX, 0, 0, PRIO_NONE},
		{"whole number in another notation", "0\tleaf1\tEth1\t-\tport.speed_bps\t4e11\n", 0,
			400000000000, 0, 0, PRIO_NONE},
		{"priority", "0\tleaf1\tEth1\t3\tpfc.rx_frames\t7\n", 0, 7, 0, 0, 3},
		{"unmapped queue has no priority", "0\tleaf1\tEth1#q9\t-\tqueue.out_octets\t7\n", 0,
			7, 0, 0, PRIO_NONE},
		{"flags and window",
			"0\tleaf1\tEth1\t3\tqueue.watermark_bytes\t7\tsuspect,restart\t60\n", 0, 7,
			SF_SUSPECT | SF_RESTART, 60000, 3},
		{"flags without window", "0\tleaf1\tEth1\t3\tqueue.watermark_bytes\t7\twrap32\n", 0,
			7, SF_WRAP32, 0, 3},
		{"no flags, window", "0\tleaf1\tEth1\t3\tqueue.watermark_bytes\t7\t-\t0.5\n", 0, 7,
			0, 500, 3},
		{"CRLF", "0\tleaf1\tEth1\t-\tport.out_octets\t7\r\n", 0, 7, 0, 0, PRIO_NONE},
		{"no newline at the end", "0\tleaf1\tEth1\t-\tport.out_octets\t7", 0, 7, 0, 0,
			PRIO_NONE},
		{"header and comments",
			"# a "
			"case\n\ntime_s\tdevice\tport\tpriority\tmetric\tvalue\n0\tleaf1\tEth1\t-"
			"\tport.out_octets\t7\n",
			0, 7, 0, 0, PRIO_NONE},
		{"device state without port", "0\tleaf1\t-\t-\tcfg.hash_seed\t7\n", 0, 7, 0, 0,
			PRIO_NONE},
		{"pool", "0\tleaf1\tpool:ingress\t-\tpool.watermark_bytes\t7\n", 0, 7, 0, 0,
			PRIO_NONE},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct entities *entities;
		struct sample_list out;
		struct err e = {0};
		NAMED(&rows[k]);
		assert_int_equal(parse(rows[k].text, &entities, &out, &e), 0);
		assert_int_equal(out.n, 1);
		assert_int_equal(out.v[0].t_ns, rows[k].t_ns);
		assert_int_equal(out.v[0].value, rows[k].value);
		assert_int_equal(out.v[0].flags, rows[k].flags);
		assert_int_equal(out.v[0].window_ms, rows[k].window_ms);
		assert_int_equal(out.v[0].source, SOURCE_REPLAY);
		assert_int_equal(entity_get(entities, out.v[0].entity)->priority, rows[k].priority);
		free(out.v);
		entities_free(entities);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *what, *text;
		int line, col;
		const char *says; /* part of the message */
	} rows[] = {
		{"too few columns", "0\tleaf1\tEth1\t-\tport.out_octets\n", 1, 1,
			"5 columns; expected at least 6"},
		{"too many columns", "0\tleaf1\tEth1\t-\tport.out_octets\t7\t-\t-\tmore\n", 1, 38,
			"more than 8 columns"},
		{"time is no number", "x\tleaf1\tEth1\t-\tport.out_octets\t7\n", 1, 1,
			"invalid time_s 'x'"},
		{"negative time", "-1\tleaf1\tEth1\t-\tport.out_octets\t7\n", 1, 1,
			"invalid time_s '-1'"},
		{"time finer than a nanosecond",
			"0.0000000001\tleaf1\tEth1\t-\tport.out_octets\t7\n", 1, 1,
			"invalid time_s"},
		{"time beyond 64 bits", "99999999999\tleaf1\tEth1\t-\tport.out_octets\t7\n", 1, 1,
			"invalid time_s"},
		{"a dot and nothing", "1.\tleaf1\tEth1\t-\tport.out_octets\t7\n", 1, 1,
			"invalid time_s"},
		{"after the year 2262", "10000000000\tleaf1\tEth1\t-\tport.out_octets\t7\n", 1, 1,
			"invalid time_s"},
		{"no device", "0\t-\tEth1\t-\tport.out_octets\t7\n", 1, 3,
			"expected the name of a device"},
		{"priority 8", "0\tleaf1\tEth1\t8\tpfc.rx_frames\t7\n", 1, 14,
			"invalid priority '8'; expected 0 to 7"},
		{"metric misspelt", "0\tleaf1\tEth1\t-\tport.out_octet\t7\n", 1, 16,
			"perhaps 'port.out_octets'"},
		{"metric unknown", "0\tleaf1\tEth1\t-\tcolour.of_cable_tray\t7\n", 1, 16,
			"such as port.out_octets"},
		{"counter with a fraction", "0\tleaf1\tEth1\t-\tport.out_octets\t7.5\n", 1, 32,
			"expected a whole number"},
		{"counter beyond 64 bits",
			"0\tleaf1\tEth1\t-\tport.out_octets\t18446744073709551616\n", 1, 32,
			"expected a whole number"},
		{"negative counter", "0\tleaf1\tEth1\t-\tport.out_octets\t-7\n", 1, 32,
			"expected a whole number"},
		{"hex", "0\tleaf1\tEth1\t-\tport.out_octets\t0x10\n", 1, 32,
			"expected a whole number"},
		{"nan", "0\tleaf1\tEth1\t-\toptic.rx_power_dbm\tnan\n", 1, 35, "expected a number"},
		{"no value", "0\tleaf1\tEth1\t-\tport.out_octets\t\n", 1, 32,
			"expected a whole number"},
		{"flag unknown", "0\tleaf1\tEth1\t-\tport.out_octets\t7\tnice\n", 1, 34,
			"invalid flags 'nice'"},
		{"window is no time", "0\tleaf1\tEth1\t3\tqueue.watermark_bytes\t7\t-\tlong\n", 1,
			42, "invalid window_s 'long'"},
		{"port metric without port", "0\tleaf1\t-\t-\tport.out_octets\t7\n", 1, 9,
			"expected a port"},
		{"port metric with a priority", "0\tleaf1\tEth1\t3\tport.out_octets\t7\n", 1, 14,
			"no priority"},
		{"priority metric without priority", "0\tleaf1\tEth1\t-\tpfc.rx_frames\t7\n", 1, 14,
			"a port and a priority"},
		{"device measurement with a port", "0\tleaf1\tEth1\t-\tpool.watermark_bytes\t7\n",
			1, 14, "no port"},
		{"the line is counted",
			"# "
			"c\n0\tleaf1\tEth1\t-\tport.out_octets\t7\n\n1\tleaf1\tEth1\t-\tport.out_"
			"octets\tx\n",
			4, 32, "invalid value 'x'"},
		{"a second header is data",
			"0\tleaf1\tEth1\t-\tport.out_octets\t7\ntime_"
			"s\tdevice\tport\tpriority\tmetric\tvalue\n",
			2, 1, "invalid time_s 'time_s'"},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct entities *entities;
		struct sample_list out;
		struct err e = {0};
		NAMED(&rows[k]);
		assert_int_equal(parse(rows[k].text, &entities, &out, &e), -EINVAL);
		assert_int_equal(out.n, 0); /* nothing half-read */
		assert_string_equal(e.file, "case.tsv");
		assert_int_equal(e.line, rows[k].line);
		assert_int_equal(e.col, rows[k].col);
		if (!strstr(e.text, rows[k].says))
			fail_msg("said '%s', expected '%s' in it", e.text, rows[k].says);
		free(out.v);
		entities_free(entities);
	}
}

static void test_hostile(void **state)
{
	static const char nul[] =
		"0\tleaf1\tEth1\t-\tport.out_octets\t7\n0\tle\0f1\tEth1\t-\tport.out_octets\t7\n";
	struct entities *entities = entities_new();
	struct sample_list out = {0};
	struct err e = {0};
	assert_int_equal(
		replay_parse(nul, sizeof(nul) - 1, "nul.tsv", entities, &out, &e), -EINVAL);
	assert_int_equal(e.line, 2);
	assert_int_equal(out.n, 0);

	rw_cleanup(str_done) struct str longest = {0};
	str_add(&longest, "0\t");
	for (int k = 0; k < REPLAY_LINE_MAX; k++)
		str_add(&longest, "a");
	assert_int_equal(
		replay_parse(longest.s, longest.n, "long.tsv", entities, &out, &e), -EINVAL);
	assert_non_null(strstr(e.text, "at most 4096 are allowed"));
	free(out.v);
	entities_free(entities);
}

static void test_order(void **state)
{
	static const char text[] = "20\tb\tp\t-\tport.out_octets\t3\n10\tb\tp\t-\tport.out_"
				   "octets\t1\n10\ta\tp\t-\tport.out_octets\t2\n";
	struct entities *entities;
	struct sample_list out;
	assert_int_equal(parse(text, &entities, &out, NULL), 0);
	assert_int_equal(out.n, 3);
	for (size_t k = 0; k < 3; k++)
		/* by time, then by entity: b was named first */
		assert_int_equal(out.v[k].value, k + 1);
	free(out.v);
	entities_free(entities);
}

/* Polls in the order of the one before, in another order, and with a line more or less. */
static void test_order_of_polls(void **state)
{
	static const char *const polls[] = {"cab", "cab", "abc", "cab", "ca", "ca", "bca", "abcd"};
	rw_cleanup(str_done) struct str text = {0};
	struct entities *entities;
	struct sample_list out;
	size_t lines = 0;
	for (size_t i = 0; i < rw_countof(polls); i++)
		for (const char *p = polls[i]; *p; p++, lines += 2)
			str_addf(&text,
				"%zu\t%c\tp\t-\tport.out_octets\t1\n"
				"%zu\t%c\tp\t-\tport.in_octets\t2\n",
				i, *p, i, *p);
	assert_int_equal(parse(text.s, &entities, &out, NULL), 0);
	assert_int_equal(out.n, lines);
	for (size_t i = 1; i < out.n; i++)
		assert_true(sample_order(&out.v[i - 1], &out.v[i]) < 0);
	for (size_t i = 0; i < out.n; i++) {
		const bool in = out.v[i].metric == M_PORT_IN_OCTETS;
		assert_int_equal(out.v[i].value, in ? 2 : 1);
		assert_int_equal(entity_get(entities, out.v[i].entity)->priority, PRIO_NONE);
	}
	free(out.v);
	entities_free(entities);
}

/* A file without an end of line is not read into memory whole. */
static void test_line_without_end(void **state)
{
	char path[] = "/tmp/rocewatch-replay-XXXXXX";
	rw_cleanup(closep) int fd = mkstemp(path);
	struct entities *entities = entities_new();
	struct sample_list out = {0};
	struct err e = {0};
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "# a comment\n", 12), 12);
	assert_int_equal(ftruncate(fd, 200 << 20), 0); /* zeros, and no block of the disk */
	assert_int_equal(replay_read(path, entities, &out, &e), -EINVAL);
	assert_int_equal(e.line, 2);
	assert_non_null(strstr(e.text, "the line is longer than 65536 bytes"));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(replay_read(path, entities, &out, &e), -EINVAL);
	assert_non_null(strstr(e.text, "is a pipe; expected a regular file"));
	unlink(path);
	assert_int_equal(out.n, 0);
	free(out.v);
	entities_free(entities);
}

static void test_file(void **state)
{
	char path[] = "/tmp/rocewatch-replay-XXXXXX";
	rw_cleanup(closep) int fd = mkstemp(path);
	static const char text[] = "0\tleaf1\tEth1\t-\tport.out_octets\t1\n30\tleaf1\tEth1\t-"
				   "\tport.out_octets\t2\n60\tleaf1\tEth1\t-\tport.out_octets\t3\n";
	struct entities *entities = entities_new();
	struct sample_list out = {0};
	struct err e = {0};
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(replay_read(path, entities, &out, &e), 0);
	assert_int_equal(out.n, 3);
	assert_int_equal(replay_interval(out.v, out.n), 30000000000);
	unlink(path);
	assert_int_equal(replay_read(path, entities, &out, &e), -ENOENT);
	/* what was there is not touched by a file that could not be opened */
	assert_int_equal(out.n, 3);
	assert_int_equal(replay_interval(out.v, 1), 0);
	free(out.v);
	entities_free(entities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_line_without_end),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_of_polls),
		cmocka_unit_test(test_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
