/* pcap_document - the frame of the document of a capture; pcap_parts.h has its parts. */
#include "agent/capture/pcap_document.h"

#include "agent/base/cleanup.h"
#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

static void document_put_qps(json_t *o, struct pcap_reading *reading)
{
	size_t n;
	uint64_t reordered = 0;
	uint32_t *chosen;
	const struct flow_choice all = {0};
	flow_table_choose(reading->analysis.flows, &all, &chosen, &n);
	rw_cleanup(freep) uint32_t *ids = chosen;
	json_t *rows = json_array();
	for (size_t i = 0; i < n; i++) {
		struct flow row;
		flow_table_row(reading->analysis.flows, ids[i], &row);
		json_array_append_new(rows, pcap_qp_row(reading, &row));
		reordered += row.psn.reordered;
	}
	json_object_set_new(o, "qps", rows);
	pcap_count_put(o, "reordered", reordered);
}

json_t *pcap_document(struct pcap_reading *reading, const char *file)
{
	capture_analysis_flush(&reading->analysis);
	json_t *o = json_object();
	json_object_set_new(o, "file", json_string_or_null(file));
	json_object_set_new(o, "verdicts", json_array());
	pcap_put_packets(o, reading);
	pcap_put_encapsulation(o, reading);
	pcap_put_entropy(o, reading);
	pcap_put_loss(o, reading);
	pcap_put_pause(o, reading);
	pcap_put_rhythm(o, reading);
	document_put_qps(o, reading);
	pcap_verdict_sort(o);
	return o;
}
