/* pcap_put_entropy - five-tuples, source ports, and how evenly they spread the load. */
#include <math.h>

#include "agent/capture/pcap_parts.h"
#include "agent/document/json_value.h"

void pcap_put_entropy(json_t *document, struct pcap_reading *reading)
{
	struct flow_totals totals;
	flow_table_totals(reading->analysis.flows, &totals);
	double n_eff = NAN;
	if (totals.sum_sq_octets > 0)
		n_eff = flow_n_eff(totals.sum_octets, totals.sum_sq_octets);
	pcap_count_put(document, "five_tuples", totals.five_tuples);
	pcap_count_put(document, "udp_source_ports", reading->analysis.count.udp_source_ports);
	pcap_count_put(document, "flows", totals.flows);
	json_object_set_new(document, "n_eff", json_number_or_null(n_eff));
	pcap_count_put(document, "unattributed", totals.unattributed);
	pcap_count_put(document, "burst_bps", totals.burst_octets * 8000);
	if (totals.refused)
		pcap_count_put(
			json_object_get(document, "errors"), "flow_table_full", totals.refused);
}
