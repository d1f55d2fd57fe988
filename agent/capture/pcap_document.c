/* pcap_document - the frame of the document of a capture; pcap_parts.h has its parts. */
#include "agent/capture/pcap_document.h"

#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_verdict.h"

json_t *pcap_document(struct pcap_reading *reading)
{
	capture_analysis_flush(&reading->analysis);
	json_t *o = json_object();
	pcap_put_input(o, reading);
	json_object_set_new(o, "verdicts", json_array());
	pcap_put_packets(o, reading);
	pcap_put_encapsulation(o, reading);
	pcap_put_entropy(o, reading);
	pcap_put_copies(o, reading);
	pcap_put_loss(o, reading);
	pcap_put_time(o, reading);
	pcap_put_reaction(o, reading);
	pcap_put_pause(o, reading);
	pcap_put_rhythm(o, reading);
	pcap_put_sflow(o, reading);
	pcap_put_findings(o, reading); /* the last one: it reads what the others put */
	pcap_verdict_sort(o);
	return o;
}
