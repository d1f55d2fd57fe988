/* query as its users see it: through the command line, rows in every format, with and without a
 * configuration beside the data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/command/command.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define NOW_S 1700000000LL
#define HEAD "time,device,port,priority,metric,value,flags,unit"

extern const struct command command_query;
static const struct command *const table[] = {&command_query, NULL};
static char dir[] = "/tmp/rw-query-XXXXXX", db[64];

/* One counter, read each 10 s, of which the restart in the middle makes no spike. The configuration
 * beside it is of another version. */
static int begin(void **state)
{
	struct entities *t = entities_new();
	struct store *s = NULL;
	struct err e = {0};

	if (!mkdtemp(dir))
		return -1;
	snprintf(db, sizeof(db), "%s/x.db", dir);
	const struct store_options o = {.path = db, .replay = true};
	if (db_store_open(&o, t, &s, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	store_fabric(s, 0, "fabrik: not understood\n");
	static const uint64_t values[] = {1000, 2000, 3000, 100, 1100};
	for (size_t i = 0; i < rw_countof(values); i++) {
		const struct sample x = {.t_ns = (NOW_S + 10 * (int64_t)i) * NS_PER_S,
			.value = values[i],
			.source = SOURCE_REPLAY,
			.entity = entities_intern(t, "leaf1", "swp1", PRIO_NONE),
			.metric = M_PORT_OUT_OCTETS,
			.flags = i == 3 ? SF_RESTART : 0};
		store_samples(s, &x, 1);
	}
	/* Two ports, found in the wrong order; nothing was heard from 22:16:30 to 22:18:50. */
	for (int64_t k = 0; k <= 40; k++) {
		static const char *const ports[] = {"Ethernet10", "Ethernet2"};
		for (size_t i = 0; i < rw_countof(ports) && (k < 20 || k > 32); i++) {
			const struct sample x = {.t_ns = (NOW_S + 10 * k) * NS_PER_S,
				.value = (uint64_t)k * (i + 1) * 1000,
				.source = SOURCE_REPLAY,
				.entity = entities_intern(t, "leaf2", ports[i], PRIO_NONE),
				.metric = M_PORT_IN_PACKETS};
			store_samples(s, &x, 1);
		}
	}
	static const double ratios[] = {1e-9, 2.5e-9, 4e-9};
	for (size_t i = 0; i < rw_countof(ratios); i++) {
		const struct sample x = {.t_ns = (NOW_S + 10 * (int64_t)i) * NS_PER_S,
			.value = sample_of_f64(ratios[i]),
			.source = SOURCE_REPLAY,
			.entity = entities_intern(t, "leaf2", "Ethernet2", PRIO_NONE),
			.metric = M_PORT_PRE_FEC_BER};
		store_samples(s, &x, 1);
	}
	int r = store_flush(s, &e);
	store_close(s);
	entities_free(t);
	return r;
}

static int end(void **state)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static const struct {
	const char *what;
	const char *argv[8];
	int exit;
	const char *out;
} rows[] = {
	{"samples", {"port.out_octets", "--format=csv", "--since=2023-11-14 22:13:50"}, 0,
		HEAD "\n2023-11-14T22:13:50.000Z,leaf1,swp1,"
		     ",port.out_octets,100,restart,bytes\n"
		     "2023-11-14T22:14:00.000Z,leaf1,swp1,,port.out_octets,1100,,bytes\n"},
	{"rates", {"port.out_octets", "--rate", "--format=csv", "--no-header"}, 0,
		"2023-11-14T22:13:20.000Z,leaf1,swp1,,port.out_octets,,,bytes/"
		"s\n2023-11-14T22:13:30.000Z,"
		"leaf1,swp1,,port.out_octets,100,,bytes/s\n"
		"2023-11-14T22:13:40.000Z,leaf1,swp1,,port.out_octets,100,,bytes/"
		"s\n2023-11-14T22:13:50."
		"000Z,leaf1,swp1,,port.out_octets,,restart,bytes/s\n"
		"2023-11-14T22:14:00.000Z,leaf1,swp1,,port.out_octets,100,,bytes/s\n"},
	{"no samples", {"port.in_octets", "--format=csv"}, 0, HEAD "\n"},
	{"no samples, JSON", {"port.in_octets", "--format=json"}, 0,
		"{\"rows\":[],\"from\":\"2023-11-14T21:20:00.000Z\",\"to\":\"2023-11-14T22:20:00."
		"000Z\",\"step_s\":null,\"agg\":null,\"by\":null,\"join\":null,\"tiers\":[],"
		"\"raw_from\":null,\"note\":\"No samples: the devices never delivered this "
		"metric\"}\n"},
	{"no samples in the range",
		{"port.in_packets", "--since=2023-11-14 22:17", "--until=2023-11-14 22:18"}, 0,
		"port.in_packets, packets: as stored\n"
		"TIME                      DEVICE  PORT               packets  FLAGS\n"
		"No samples in this time range\n"},
	{"steps with a gap, in natural order",
		{"port.in_packets", "--rate", "--step=1m", "--since=2023-11-14 22:15"}, 0,
		"port.in_packets, packets/s: mean of each 1m\n"
		"TIME                  DEVICE  PORT             packets/s  FLAGS\n"
		"2023-11-14 22:16:00Z  leaf2   Ethernet2              200\n"
		"2023-11-14 22:16:00Z  leaf2   Ethernet10             100\n"
		"2023-11-14 22:17:00Z  leaf2   Ethernet2              200\n"
		"2023-11-14 22:17:00Z  leaf2   Ethernet10             100\n"
		"2023-11-14 22:18:00Z  leaf2   Ethernet2                -  gap\n"
		"2023-11-14 22:18:00Z  leaf2   Ethernet10               -  gap\n"
		"2023-11-14 22:19:00Z  leaf2   Ethernet2              200  after_gap\n"
		"2023-11-14 22:19:00Z  leaf2   Ethernet10             100  after_gap\n"
		"2023-11-14 22:20:00Z  leaf2   Ethernet2              200\n"
		"2023-11-14 22:20:00Z  leaf2   Ethernet10             100\n"
		"Until 2023-11-14 22:20:00Z from minutes: single values are gone or not needed\n"},
	{"how much of a gap was seen",
		{"port.in_packets", "--agg=coverage", "--step=5m", "--port=Ethernet2",
			"--format=csv", "--since=2023-11-14 22:15"},
		0,
		HEAD "\n2023-11-14T22:20:00.000Z,leaf2,Ethernet2,,port.in_packets,"
		     "0.5333333333333333,,ratio\n"},
	{"added up by device", {"port.in_packets", "--agg=increase", "--by=device", "--format=csv"},
		0,
		HEAD ",series,series_known\n"
		     "2023-11-14T22:20:00.000Z,leaf2,,,port.in_packets,120000,,packets,2,2\n"},
	{"the one with the most",
		{"port.*_packets", "--top=1", "--no-header", "--since=2023-11-14 22:15"}, 0,
		"2023-11-14 22:20:00Z  leaf2   Ethernet2   port.in_packets             200\n"},
	{"rounded, with its unit", {"port.pre_fec_ber", "--agg=p50"}, 0,
		"port.pre_fec_ber, %: p50 of the whole range\n"
		"TIME                  DEVICE  PORT                    %  FLAGS\n"
		"2023-11-14 22:20:00Z  leaf2   Ethernet2        2.52e-07\n"
		"Until 2023-11-14 22:20:00Z from minutes: single values are gone or not needed\n"},
	{"a device that nobody knows", {"port.in_octets", "--device=leaf22"}, 2, ""},
	{"a port that nobody knows", {"port.in_octets", "--port=swp9*"}, 2, ""},
	{"a port of another device", {"port.in_octets", "--device=leaf2", "--port=swp1"}, 2, ""},
	{"a wrong word", {"port.in_octets", "--agg=averige"}, 2, ""},
	{"sum of what", {"port.in_octets", "--agg=sum"}, 2, ""},
	{"joined by nothing", {"port.in_octets", "--join=max"}, 2, ""},
	{"steps without number", {"port.in_packets", "--step=1ns"}, 2, ""},
	{"no such step", {"port.in_octets", "--step=0s"}, 2, ""},
	{"increase of a gauge", {"port.pre_fec_ber", "--agg=increase"}, 2, ""},
	{"SQL",
		{"sql",
			"SELECT device, value, NULL AS \"a,b\" FROM samples WHERE value>2000 AND "
			"device='leaf1'",
			"--format=csv"},
		0, "device,value,\"a,b\"\nleaf1,3000,\n"},
	{"SQL, JSON",
		{"sql", "SELECT device, value FROM samples WHERE value>2000 AND device='leaf1'",
			"--format=json"},
		0, "{\"rows\":[\n{\"device\":\"leaf1\",\"value\":3000}\n]}\n"},
	{"SQL, nothing found",
		{"sql", "SELECT device, value AS v FROM samples WHERE value>90000", "--format=csv"},
		0, "device,v\n"},
	{"SQL, nothing found, table",
		{"sql", "SELECT device, value AS v FROM samples WHERE value>90000"}, 0,
		"device  v\n"},
	{"SQL, table",
		{"sql", "SELECT 'a' AS name, 5 AS n, NULL AS x UNION ALL SELECT 'long', 1234, 'y'"},
		0, "name     n  x\na        5  -\nlong  1234  y\n"},
	{"SQL, nothing found, no header",
		{"sql", "SELECT device FROM samples WHERE value>90000", "--format=csv",
			"--no-header"},
		0, ""},
	{"SQL, nothing found, JSON",
		{"sql", "SELECT device FROM samples WHERE value>90000", "--format=json"}, 0,
		"{\"rows\":[]}\n"},
	{"SQL that fails", {"sql", "SELECT nothing FROM nowhere", "--format=csv"}, 1, ""},
	{"SQL that writes", {"sql", "DELETE FROM entity"}, 1, ""},
	{"no such metric", {"port.out_octet"}, 2, ""},
	{"rate of a gauge", {"port.speed_bps", "--rate"}, 2, ""},
};

static void test_rows(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char *argv[14] = {
			(char *)"rocewatch", (char *)"query", (char *)"--db", db, (char *)"-q"};
		char path[] = "/tmp/rw-query-out-XXXXXX";
		rw_cleanup(freep) char *text = NULL;
		int fd = mkstemp(path), saved = dup(1), argc = 5;
		for (size_t k = 0; k < rw_countof(rows[i].argv) && rows[i].argv[k]; k++)
			argv[argc++] = (char *)(uintptr_t)rows[i].argv[k];
		fflush(stdout);
		dup2(fd, 1);
		close(fd);
		int r = cli_run(argc, argv, table);
		dup2(saved, 1);
		close(saved);
		assert_int_equal(str_read_file(path, 1 << 20, &text, NULL, NULL), 0);
		unlink(path);
		if (r != rows[i].exit || strcmp(text, rows[i].out) != 0)
			fail_msg("%s: exit %d, and\n%s\ninstead of\n%s", rows[i].what, r, text,
				rows[i].out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
	return cmocka_run_group_tests(tests, begin, end);
}
