/* pcap_tables - columns of the tables. */
#include "agent/capture/pcap_tables.h"

#include "agent/base/cleanup.h"

static const struct column reaction_columns[] = {
	{"host", "SENDER", COL_TEXT},
	{"ce", "CE SENT", COL_INT},
	{"cnp", "CNPS IN", COL_INT},
	{"rate_before_bps", "BEFORE", COL_BPS},
	{"rate_after_bps", "AFTER", COL_BPS},
	{"ratio", "RATIO", COL_NUMBER},
	{"n", "MEASURED", COL_INT},
	{"verdict", "VERDICT", COL_TEXT},
};

static const struct column receiver_columns[] = {
	{"host", "RECEIVER", COL_TEXT},
	{"ce", "CE IN", COL_INT},
	{"cnp", "CNPS SENT", COL_INT},
	{"cnp_per_ce_ratio", "CNP PER CE", COL_NUMBER},
	{"verdict", "VERDICT", COL_TEXT},
};

static const struct column pause_columns[] = {
	{"mac", "PAUSED BY", COL_TEXT},
	{"priority", "PRIORITY", COL_INT},
	{"xoff", "XOFF", COL_INT},
	{"xon", "XON", COL_INT},
	{"paused_s_low", "AT LEAST", COL_DURATION_S},
	{"paused_s_high", "AT MOST", COL_DURATION_S},
	{"longest_s", "LONGEST", COL_DURATION_S},
	{"duty_ratio_low", "DUTY FROM", COL_RATIO_PCT},
	{"duty_ratio_high", "TO", COL_RATIO_PCT},
};

const struct pcap_table pcap_tables[] = {
	{"Senders: what they did after CNPs told them to slow down",
		{.rows = "cnp_reaction",
			.columns = reaction_columns,
			.n_columns = rw_countof(reaction_columns)}},
	{"Receivers: whether they answer CE marks with CNPs",
		{.rows = "receivers",
			.columns = receiver_columns,
			.n_columns = rw_countof(receiver_columns)}},
	{"Pause: who stopped its neighbour, and for how long",
		{.rows = "pause",
			.columns = pause_columns,
			.n_columns = rw_countof(pause_columns)}},
	{NULL},
};

json_t *pcap_table_part(const struct pcap_table *table, const json_t *document, size_t *ret_n)
{
	const json_t *all = json_object_get(document, table->view.rows);
	*ret_n = json_array_size(all);
	if (*ret_n == 0)
		return NULL;
	json_t *some = json_array();
	for (size_t i = 0; i < *ret_n && i < PCAP_TABLE_ROWS; i++)
		json_array_append(some, json_array_get(all, i));
	json_t *part = json_object();
	json_object_set_new(part, table->view.rows, some);
	return part;
}
