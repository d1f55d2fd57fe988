/* pcap_view - columns. */
#include "agent/capture/pcap_view.h"

#include "agent/base/cleanup.h"
#include "agent/document/json_value.h"

/* Columns are only added at the end: scripts count them. */
static const struct column pcap_columns[] = {
	{"file", NULL, COL_TEXT},
	{"src", NULL, COL_TEXT},
	{"dst", NULL, COL_TEXT},
	{"dst_qp", NULL, COL_INT},
	{"packets", NULL, COL_INT},
	{"octets", NULL, COL_INT},
	{"psn_first", NULL, COL_INT},
	{"psn_last", NULL, COL_INT},
	{"gaps", NULL, COL_INT},
	{"duplicates", NULL, COL_INT},
	{"retransmits", NULL, COL_INT},
	{"ce", NULL, COL_INT},
	{"cnp", NULL, COL_INT},
	{"src_port", NULL, COL_INT},
	{"missing", NULL, COL_INT},
	{"reordered", NULL, COL_INT},
	{"nak", NULL, COL_INT},
	{"rnr_nak", NULL, COL_INT},
	{"cnp_returned", NULL, COL_INT},
	{"nak_returned", NULL, COL_INT},
	{"burst_bps", NULL, COL_INT},
	{"transport", NULL, COL_TEXT},
	{"t_first", NULL, COL_TIME},
	{"t_last", NULL, COL_TIME},
	{"copies", NULL, COL_INT},
	{"rate_bps", NULL, COL_NUMBER},
	{"messages", NULL, COL_INT},
	{"events_total", NULL, COL_INT},
	{"stall_s", NULL, COL_NUMBER},
};
const struct view pcap_view = {.title = "RoCEv2 in captures",
	.rows = "qps",
	.columns = pcap_columns,
	.n_columns = rw_countof(pcap_columns),
	.empty = "no RoCEv2 packets"};

static const struct column pcap_columns_short[] = {
	{"src", "SOURCE", COL_TEXT},
	{"dst", "DESTINATION", COL_TEXT},
	{"dst_qp", "DST QP", COL_QP},
	{"packets", "PACKETS", COL_INT},
	{"octets", "OCTETS", COL_BYTES},
	{"rate_bps", "RATE", COL_BPS},
	{"gaps", "GAPS", COL_INT},
	{"retransmits", "RETR", COL_INT},
	{"refused", "NAK", COL_INT},
	{"ce", "CE", COL_INT},
	{"cnp_returned", "CNP", COL_INT},
	{"stall_s", "STALL", COL_DURATION_S},
};
const struct view pcap_view_short = {.rows = "qps",
	.columns = pcap_columns_short,
	.n_columns = rw_countof(pcap_columns_short),
	.empty = "no RoCEv2 packets"};

static void view_put_stall(json_t *row)
{
	json_t *stalls = json_object_get(row, "stalls"), *stall;
	double longest = 0;
	size_t i;
	if (!json_is_array(stalls))
		return;
	json_array_foreach (stalls, i, stall) {
		const double s = doc_number(stall, "s");
		if (s > longest)
			longest = s;
	}
	json_object_set_new(row, "stall_s", json_real(longest));
}

void pcap_view_row(json_t *row)
{
	const json_t *nak = json_object_get(row, "nak_returned");
	const json_t *rnr = json_object_get(row, "rnr_nak_returned");
	json_t *refused = json_null();
	if (json_is_integer(nak) && json_is_integer(rnr))
		refused = json_integer(json_integer_value(nak) + json_integer_value(rnr));
	json_object_set_new(row, "refused", refused);
	view_put_stall(row);
}
