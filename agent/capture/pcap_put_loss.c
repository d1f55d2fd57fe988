/* pcap_put_loss - gaps, retransmissions and refusals of the whole capture. */
#include "agent/base/cleanup.h"
#include "agent/capture/pcap_parts.h"

static json_t *json_naks(const struct roce_count *count)
{
	json_t *o = json_object();
	for (unsigned i = 0; i < 32; i++) {
		if (!count->nak_code[i])
			continue;
		/* reserved codes share one text */
		const char *text = aeth_nak_text((uint8_t)i);
		const json_int_t before = json_integer_value(json_object_get(o, text));
		pcap_count_put(o, text, count->nak_code[i] + (uint64_t)before);
	}
	return o;
}

/* loss_reordered - packets that came late, over all rows: the totals lack those not yet judged. */
static uint64_t loss_reordered(const struct flow_table *flows)
{
	size_t n;
	uint64_t reordered = 0;
	uint32_t *chosen;
	const struct flow_choice all = {0};
	flow_table_choose(flows, &all, &chosen, &n);
	rw_cleanup(freep) uint32_t *ids = chosen;
	for (size_t i = 0; i < n; i++) {
		struct flow row;
		flow_table_row(flows, ids[i], &row);
		reordered += row.psn.reordered;
	}
	return reordered;
}

void pcap_put_loss(json_t *document, struct pcap_reading *reading)
{
	struct flow_totals totals;
	flow_table_totals(reading->analysis.flows, &totals);
	json_object_set_new(document, "nak_codes", json_naks(&reading->analysis.count));
	pcap_count_put(document, "gaps", totals.psn.gaps);
	pcap_count_put(document, "missing", totals.psn.missing);
	pcap_count_put(document, "duplicates", totals.psn.duplicates);
	pcap_count_put(document, "retransmits", totals.psn.retransmits);
	pcap_count_put(document, "reordered", loss_reordered(reading->analysis.flows));
}
