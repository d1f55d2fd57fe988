/* pcap_put_rhythm - the training step in the times of packets. */
#include "agent/capture/pcap_parts.h"

/* The step and who finishes it last; nothing where the capture shows no step. */
void pcap_put_rhythm(json_t *document, struct pcap_reading *reading)
{
	struct pcap_rhythm_found found;
	pcap_rhythm_find(reading->rhythm, &found);
	if (!found.found)
		return;
	json_t *o = json_object();
	json_object_set_new(o, "step_s", json_real(found.step_s));
	json_object_set_new(o, "exchange_s", json_real(found.exchange_s));
	json_object_set_new(o, "confidence_ratio", json_real(found.confidence_ratio));
	pcap_count_put(o, "steps", found.steps);
	pcap_count_put(o, "sources", found.sources);
	json_t *last = json_null();
	if (found.last_known) {
		last = json_object();
		pcap_address_put(last, "src", found.last_family, found.last_src);
		json_object_set_new(last, "later_by_s", json_real(found.last_by_s));
		json_object_set_new(last, "share", json_real(found.last_share));
	}
	json_object_set_new(o, "last_finisher", last);
	json_object_set_new(document, "rhythm", o);
}
