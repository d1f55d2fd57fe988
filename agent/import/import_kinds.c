/* import_kinds - the kinds of texts of hosts, and how their documents print. */

#include "agent/document/json_value.h"
#include "agent/import/import_host.h"
#include "agent/import/past.h"

static void import_text_print(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	struct view table = *view;
	size_t i;
	json_t *row;
	table.text = NULL;
	report_print(out, doc, &table, FORMAT_TABLE, header, color);
	json_array_foreach (import_flagged(doc), i, row)
		fprintf(out, "%s! %s: %s\n", i ? "" : "\n", doc_word(row, "host"),
			doc_word(row, "text"));
	json_array_foreach (json_object_get(doc, "notes"), i, row)
		fprintf(out, "%s- %s\n", i ? "" : "\n", json_string_value(row));
}

static const struct column nccl_tests_columns[] = {
	{"host", "HOST", COL_TEXT, false},
	{"runs", "RUNS", COL_INT, true},
	{"operation", "OPERATION", COL_TEXT, false},
	{"ranks", "RANKS", COL_INT, true},
	{"size_bytes", "SIZE", COL_BYTES, true},
	{"busbw_gb_s", "BUSBW GB/s", COL_NUMBER, true},
	{"of_median_ratio", "OF MEDIAN", COL_RATIO_PCT, true},
	{"verdict", "VERDICT", COL_TEXT, false},
};
static const struct view nccl_tests_view = {.title = "bus bandwidth of nodes",
	.rows = "rows",
	.columns = nccl_tests_columns,
	.n_columns = rw_countof(nccl_tests_columns),
	.text = import_text_print,
	.empty = "no run of nccl-tests"};

static const struct column nccl_log_columns[] = {
	{"host", "HOST", COL_TEXT, false},
	{"network", "NETWORK", COL_TEXT, false},
	{"n_nics", "NICS", COL_INT, true},
	{"nics[]", "PICKED UP", COL_TEXT, false},
	{"missing[]", "NOT PICKED UP", COL_TEXT, false},
	{"idle[]", "IDLE", COL_TEXT, false},
	{"gdr", "GDR", COL_TEXT, false},
	{"warnings", "WARNINGS", COL_INT, true},
};
static const struct view nccl_log_view = {.title = "NICs that NCCL picked up",
	.rows = "rows",
	.columns = nccl_log_columns,
	.n_columns = rw_countof(nccl_log_columns),
	.text = import_text_print,
	.empty = "no host"};

static const struct column ethtool_columns[] = {
	{"host", "HOST", COL_TEXT, false},
	{"nic", "NIC", COL_TEXT, false},
	{"counter", "COUNTER", COL_TEXT, false},
	{"value", "VALUE", COL_TEXT, true},
	{"grew", "GREW", COL_TEXT, true},
	{"unit", "UNIT", COL_TEXT, false},
	{"metric", "METRIC", COL_TEXT, false},
};
static const struct view ethtool_view = {.title = "counters of NICs",
	.rows = "rows",
	.columns = ethtool_columns,
	.n_columns = rw_countof(ethtool_columns),
	.text = import_text_print,
	.empty = "no counter that says something here: all are 0"};

static const struct column past_columns[] = {
	{"metric", "METRIC", COL_TEXT, false},
	{"series", "SERIES", COL_INT, true},
	{"samples", "SAMPLES", COL_INT, true},
	{"first", "FIRST", COL_TIME, false},
	{"last", "LAST", COL_TIME, false},
	{"step_s", "EVERY", COL_DURATION_S, true},
};
const struct view past_view = {.title = "imported history",
	.rows = "rows",
	.columns = past_columns,
	.n_columns = rw_countof(past_columns),
	.text = import_text_print,
	.empty = "no sample"};

const struct import_kind import_kinds[] = {
	{"nccl-tests", "bus bandwidth of each node, against the median of all", import_nccl_tests,
		&nccl_tests_view, true},
	{"nccl-log", "which NICs NCCL picked up on each host (NCCL_DEBUG=INFO)", import_nccl_log,
		&nccl_log_view},
	{"ethtool", "counters of NICs: ethtool -S and -m, hw_counters below /sys, rdma statistic",
		import_ethtool, &ethtool_view},
	{0},
};
