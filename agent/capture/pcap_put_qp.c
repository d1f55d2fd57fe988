/* pcap_put_qp - one direction of a queue pair. */
#include "agent/capture/pcap_parts.h"

json_t *pcap_qp_row(struct pcap_reading *reading, const struct flow *flow)
{
	json_t *o = json_object();
	pcap_address_put(o, "src", flow->key.family, flow->key.src);
	pcap_address_put(o, "dst", flow->key.family, flow->key.dst);
	pcap_count_put(o, "dst_qp", flow->key.dst_qp);
	pcap_count_put(o, "packets", flow->packets);
	pcap_count_put(o, "octets", flow->octets);
	pcap_count_put(o, "psn_first", flow->psn_first);
	pcap_count_put(o, "psn_last", flow->psn_last);
	pcap_put_qp_loss(o, reading, flow);
	pcap_count_put(o, "ce", flow->ce);
	pcap_count_put(o, "cnp", flow->cnp_sent);
	if (flow->source_ports == 1)
		pcap_count_put(o, "src_port", flow->key.src_port);
	else
		json_object_set_new(o, "src_port", json_null());
	pcap_count_put(o, "source_ports", flow->source_ports);
	pcap_count_put(o, "ect", flow->ect);
	pcap_count_put(o, "not_ect", flow->not_ect);
	pcap_count_put(o, "cnp_returned", flow->cnp_about);
	pcap_count_put(o, "payload_bytes", flow->payload_bytes);
	/* kept for directions that carry data */
	if (flow->stream)
		pcap_count_put(o, "burst_bps", flow->burst_octets * 8000);
	else
		json_object_set_new(o, "burst_bps", json_null());
	pcap_put_qp_time(o, reading, flow);
	return o;
}
