/* pcap_put_copies - packets that were captured more than once. */
#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_verdict.h"

/* What a person would call each way in which copies differ from their packets. */
static const char *const copies_come[COPY_FROM_COUNT] = {
	[COPY_UNKNOWN] =
		("the capture shows no difference between a packet and its copy: a mirror of "
		 "both directions, or of two ports on one path"),
	[COPY_DIRECTION] = "packets were captured on their way in and on their way out",
	[COPY_INTERFACE] = "packets were captured on more than one interface",
	[COPY_MIRROR] = "packets were captured in more than one mirror session",
	[COPY_TTL] = "packets were captured before and after a hop that routes them",
	[COPY_VLAN] = "packets were captured with different VLAN tags",
};

void pcap_put_copies(json_t *document, struct pcap_reading *reading)
{
	static const struct copies_count none;
	const struct copies_count *count = &none;
	if (reading->analysis.copies)
		count = copies_count(reading->analysis.copies);
	json_t *o = json_object();
	json_object_set_new(o, "packets", json_null());
	json_object_set_new(o, "share_ratio", json_null());
	json_object_set_new(o, "from", json_null());
	json_object_set_new(o, "text", json_null());
	json_object_set_new(document, "copies", o);
	if (pcap_psn_cut(reading)) {
		json_object_set_new(o, "text",
			json_string("many packets end before their PSN: copies of them cannot be "
				    "told from other packets"));
		return;
	}
	pcap_count_put(o, "packets", count->packets);
	if (count->of)
		json_object_set_new(
			o, "share_ratio", json_real((double)count->packets / (double)count->of));
	if (count->packets == 0)
		return;
	enum copy_from most = COPY_UNKNOWN;
	for (int i = 0; i < COPY_FROM_COUNT; i++)
		if (count->from[i] > count->from[most])
			most = (enum copy_from)i;
	json_object_set_new(o, "from", json_string(copy_from_word(most)));
	json_object_set_new(o, "text", json_string(copies_come[most]));
	json_object_set_new(o, "delay_mean_s",
		json_real((double)count->delay_sum_ns / (double)count->packets / 1e9));
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_COPIES,
		"%llu of %llu RoCEv2 packets are copies and are counted apart: %s",
		(unsigned long long)count->packets, (unsigned long long)count->of,
		copies_come[most]);
	pcap_count_put(row, "n", count->packets);
}
