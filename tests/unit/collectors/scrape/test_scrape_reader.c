/* exposition and scrape_reader: what is read of lines, and what samples become of a page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "collectors/scrape/scrape_reader.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"

#define NOW_NS (1795860000LL * 1000000000)
#define BAD "-"

/* One line as NAME|KEY=VALUE,...|NUMBER|TIME; BAD: it is refused, "": there is no line. */
static char *line_told(struct exposition *text, struct str *out)
{
	struct exposition_line line;
	const int rc = exposition_next(text, &line);
	if (rc == 0)
		return "";
	if (rc < 0 || exposition_labels(text, &line) < 0)
		return BAD;
	str_addf(out, "%.*s|", (int)line.n_name, line.name);
	for (size_t i = 0; i < line.n_labels; i++)
		str_addf(out, "%.*s=%.*s,", (int)line.labels[i].n_key, line.labels[i].key,
			(int)line.labels[i].n_value, line.labels[i].value);
	if (line.number.whole)
		str_addf(out, "|%lld|", (long long)line.number.integer);
	else
		str_addf(out, "|%g|", line.number.real);
	if (line.has_time)
		str_addf(out, "%lld", (long long)line.t_ns);
	return out->s;
}

static void test_lines(void **state)
{
	static const struct {
		const char *line, *told;
		bool openmetrics;
	} rows[] = {
		{"a 1", "a||1|"},
		{"  a:b_9\t 18446744073709551615 \r", "a:b_9||1.84467e+19|"},
		{"a{} -3", "a||-3|"},
		{"a{b=\"c\"}4", "a|b=c,|4|"},
		{"a { b = \"c\" , d=\"}\", } 6.9e+12 1000", "a|b=c,d=},|6.9e+12|1000000000"},
		{"a{b=\"\\\\n\\\"\\n\"} NaN", "a|b=\\n\"\n,|nan|"},
		{"a{b=\"c\"} 1 2.5 # {x=\"y\"} 1", "a|b=c,|1|2500000000", true},
		{"a +Inf", "a||inf|"},
		{"# TYPE a counter", ""},
		{"   ", ""},
		{"a 1 2.5 # {x=\"y\"} 1", BAD}, /* in the older format there is no such thing */
		{"a", BAD},
		{"a 0x10", BAD},
		{"a 1 1e30", BAD},
		{"a 1 1795860000000000", BAD}, /* microseconds: as ms they fit no int64_t of ns */
		{"a 1 -9e12", "a||1|-9000000000000000000"},
		{"a 1 2 3", BAD},
		{"9a 1", BAD},
		{"a{b} 1", BAD},
		{"a{b=c} 1", BAD},
		{"a{b=\"c} 1", BAD},
		{"a{b=\"c\\", BAD},
		{"a{b=\"c\" d=\"e\"} 1", BAD},
		{"<html>", BAD},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str out = {0};
		rw_cleanup(freep) struct exposition *text = rw_calloc(1, sizeof(*text));
		exposition_begin(text, rows[i].line, strlen(rows[i].line), rows[i].openmetrics);
		assert_string_equal(line_told(text, &out), rows[i].told);
	}
}

struct expected {
	const char *port, *metric;
	int priority;
	uint64_t value;
};

/* Names as node_exporter, rdma_exporter and bnxt's counters have them: files named in the profiles.
 */
static void test_page(void **state)
{
	static const char page[] =
		"# HELP node_infiniband_np_cnp_packets_sent_total x\n"
		"node_infiniband_np_cnp_packets_sent_total{device=\"mlx5_0\",port=\"1\"} 7\n"
		"node_infiniband_np_cnp_packets_sent_total{device=\"mlx5_0\",port=\"2\"} 8\n"
		"node_ethtool_received_prio3_pause_duration{device=\"ens1np0\"} 1.5e+06\n"
		"node_ethtool_transmitted_pfc_ena_frames_pri5{device=\"ens2np0\"} 11\n"
		"rdma_roce_pfc_pause_frames_total{device=\"mlx5_1\",direction=\"tx\",priority="
		"\"4\"} 9\n"
		"rdma_pcie_outbound_stalled_percent{device=\"mlx5_1\",op=\"wr\"} NaN\n"
		"rdma_tx_cnp_pkts_total{netdev=\"no device\"} 1\n"
		"rdma_tx_cnp_pkts_total{device=\"bnxt_re0\"} -1\n"
		"rdma_tx_cnp_pkts_total{device=\"bnxt_re0\"} 1 1000\n"
		"rdma_tx_cnp_pkts_total{device=\n"
		"node_load1 0.5\n"
		"<p>\n";
	static const struct expected expected[] = {
		{"mlx5_0", "nic.cnp_sent", PRIO_NONE, 7},
		{"mlx5_9", "nic.rx_pause_ns", 3, 1500000000},
		{"ens2np0", "nic.tx_pause_frames", 5, 11},
		{"mlx5_1", "nic.tx_pause_frames", 4, 9},
	};
	const char *pairs[] = {"ens1np0=mlx5_9", "ens1=x"};
	const struct config_texts ports = {pairs, rw_countof(pairs)};
	struct err_list errors = {0};
	struct profiles *profiles;
	size_t n;
	assert_int_equal(profiles_load(NULL, &profiles, &errors), 0);
	struct entities *entities = entities_new();
	struct push_map *names = push_map_new(profiles);
	struct scrape_reader *reader = scrape_reader_new(entities, "gpu1", names);
	scrape_reader_ports(reader, &ports);
	for (size_t slice = 1; slice < sizeof(page); slice *= 4) { /* the same in any pieces */
		scrape_reader_begin(reader, NOW_NS);
		scrape_reader_text(reader, page, sizeof(page) - 1, false);
		while (scrape_reader_step(reader, slice))
			;
		const struct sample *samples = scrape_reader_samples(reader, &n);
		const struct scrape_counts *counts = scrape_reader_counts(reader);
		assert_int_equal(n, rw_countof(expected));
		for (size_t i = 0; i < n; i++) {
			const struct entity *entity = entity_get(entities, samples[i].entity);
			assert_string_equal(entity->device, "gpu1");
			assert_string_equal(entity->port, expected[i].port);
			assert_int_equal(entity->priority, expected[i].priority);
			assert_string_equal(
				metric_info(samples[i].metric)->name, expected[i].metric);
			assert_int_equal(samples[i].value, expected[i].value);
			assert_int_equal(samples[i].t_ns, NOW_NS);
			assert_int_equal(samples[i].source, SOURCE_SCRAPE);
		}
		const uint64_t told[] = {counts->lines, counts->bad_lines, counts->unknown,
			counts->no_place, counts->no_value, counts->off_clock, counts->repeated};
		const uint64_t right[] = {12, 2, 1, 1, 1, 1, 1};
		assert_memory_equal(told, right, sizeof(told));
		assert_string_equal(counts->first_unknown, "node_load1");
		assert_string_equal(scrape_reader_profile(reader)->name, "nic-nvidia");
	}
	scrape_reader_free(reader);
	push_map_free(names);
	entities_free(entities);
	profiles_free(profiles);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines), cmocka_unit_test(test_page)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
