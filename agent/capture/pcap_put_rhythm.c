/* pcap_put_rhythm - the training step in the times of packets. */
#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_sampling.h"

#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

static void rhythm_sentence(json_t *document, const struct pcap_rhythm_found *found)
{
	char host[INET6_ADDRSTRLEN], later[32], step[32];
	pcap_address_text(host, found->last_family, found->last_src);
	duration_format(later, sizeof(later), (int64_t)(found->last_by_s * (double)NS_PER_S));
	duration_format(step, sizeof(step), (int64_t)(found->step_s * (double)NS_PER_S));
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LAST_FINISHER,
		"%s finishes last in %.0f %% of the steps of %s, %s after the next host", host,
		found->last_share * 100, step, later);
	json_object_set_new(row, "host", json_string(host));
	json_object_set_new(row, "later_by_s", json_real(found->last_by_s));
	json_object_set_new(row, "n", json_integer((json_int_t)found->steps));
}

/* The step and who finishes it last; nothing where the capture shows no step. */
void pcap_put_rhythm(json_t *document, struct pcap_reading *reading)
{
	struct pcap_rhythm_found found;
	pcap_rhythm_find(reading->rhythm, &found);
	if (!found.found)
		return;
	json_t *o = json_object();
	json_object_set_new(o, "step_s", json_real(found.step_s));
	json_object_set_new(o, "period_s", json_real(found.step_s));
	json_object_set_new(o, "exchange_s", json_real(found.exchange_s));
	/* of a sample, the first and the last packet of a burst are hardly ever there */
	double burst_s = NAN, duty = NAN;
	if (pcap_sampling(reading) == 1) {
		burst_s = found.exchange_s;
		duty = fmin(1, burst_s / found.step_s);
	}
	json_object_set_new(o, "burst_s", json_number_or_null(burst_s));
	json_object_set_new(o, "duty_ratio", json_number_or_null(duty));
	json_object_set_new(o, "confidence_ratio", json_real(found.confidence_ratio));
	pcap_count_put(o, "steps", found.steps);
	pcap_count_put(o, "sources", found.sources);
	json_t *last = json_null();
	if (found.last_known) {
		last = json_object();
		pcap_address_put(last, "src", found.last_family, found.last_src);
		json_object_set_new(last, "later_by_s", json_real(found.last_by_s));
		json_object_set_new(last, "share", json_real(found.last_share));
		rhythm_sentence(document, &found);
	}
	json_object_set_new(o, "last_finisher", last);
	json_object_set_new(document, "rhythm", o);
}
