/* pcap_put_pause - pause frames by priority. */
#include "agent/capture/pcap_parts.h"

static json_t *json_pfc(const struct roce_count *count)
{
	json_t *a = json_array();
	for (int i = 0; i < 8; i++) {
		if (count->pfc_xoff[i] + count->pfc_xon[i] == 0)
			continue;
		json_t *o = json_object();
		pcap_count_put(o, "priority", (uint64_t)i);
		pcap_count_put(o, "xoff", count->pfc_xoff[i]);
		pcap_count_put(o, "xon", count->pfc_xon[i]);
		pcap_count_put(o, "quanta_max_sum", count->pfc_quanta[i]);
		json_array_append_new(a, o);
	}
	return a;
}

void pcap_put_pause(json_t *document, struct pcap_reading *reading)
{
	json_object_set_new(document, "pfc", json_pfc(&reading->analysis.count));
}
