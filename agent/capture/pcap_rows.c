/* pcap_rows - choosing and sorting. */
#include "agent/capture/pcap_rows.h"

#include <stdlib.h>

#include "base/str.h"
#include "agent/capture/pcap_parts.h"

static double sort_ce(const void *reading, const struct flow *flow)
{
	return (double)flow->ce;
}

static double sort_cnp(const void *reading, const struct flow *flow)
{
	return (double)flow->cnp_about;
}

static double sort_nak(const void *reading, const struct flow *flow)
{
	return (double)(flow->nak_about + flow->rnr_nak_about);
}

static double sort_retransmits(const void *reading, const struct flow *flow)
{
	return (double)flow->psn.retransmits;
}

static double sort_stall(const void *reading, const struct flow *flow)
{
	return pcap_stall_s(reading, flow);
}

const struct pcap_sort pcap_sorts[] = {
	{"octets", "octets sent", NULL},
	{"ce", "packets marked CE", sort_ce},
	{"cnp", "CNPs that the receiver sent about it", sort_cnp},
	{"nak", "NAKs and RNR NAKs that the receiver sent about it", sort_nak},
	{"retransmits", "packets sent again", sort_retransmits},
	{"stall", "the longest time it stood still in a message", sort_stall},
	{NULL},
};

const struct pcap_sort *pcap_sort_named(const char *word)
{
	for (const struct pcap_sort *sort = pcap_sorts; sort->word; sort++)
		if (str_eq(sort->word, word))
			return sort;
	return NULL;
}

/* What a choice of the flow table is asked with. */
struct rows_ask {
	const struct pcap_reading *reading;
	const struct pcap_select *select;
	const struct pcap_sort *sort;
};

static double rows_weight(const void *arg, const struct flow *flow)
{
	const struct rows_ask *ask = arg;
	return ask->sort->weight(ask->reading, flow);
}

static bool rows_wanted(const void *arg, const struct flow *flow)
{
	const struct rows_ask *ask = arg;
	return pcap_select_qp(ask->select, flow->key.dst_qp);
}

void pcap_rows_choose(struct pcap_rows *rows, struct pcap_reading *reading,
	const struct pcap_select *select, const struct pcap_sort *sort, size_t top)
{
	const struct rows_ask ask = {reading, select, sort};
	struct flow_choice choice = {.arg = &ask, .most = top};
	if (sort->weight)
		choice.weight = rows_weight;
	if (select->n_qps)
		choice.wanted = rows_wanted;
	rows->all = flow_table_choose(reading->analysis.flows, &choice, &rows->ids, &rows->n);
}

void pcap_rows_done(struct pcap_rows *rows)
{
	free(rows->ids);
	*rows = (struct pcap_rows){0};
}
