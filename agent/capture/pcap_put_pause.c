/* pcap_put_pause - pause frames by priority, and the time that each device paused. */
#include "agent/capture/pcap_parts.h"

#include "agent/capture/pcap_sampling.h"
#include "agent/capture/pcap_verdict.h"
#include "agent/document/json_value.h"

/* A sentence is worth a pause of so much of the time, by its lower bound. */
#define PAUSED_SHARE 0.001
#define PAUSED_CRITICAL 0.1

enum { MAC_TEXT_MAX = 18 };

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

static const char *pause_mac_text(char buf[MAC_TEXT_MAX], const uint8_t mac[6])
{
	snprintf(buf, MAC_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5]);
	return buf;
}

static void pause_sentence(json_t *document, const struct pause_row *row, const char *mac,
	double low_ratio, double high_ratio)
{
	char what[32] = "all traffic", longest[32];
	enum pcap_severity severity = PCAP_WARNING;
	if (!(low_ratio >= PAUSED_SHARE))
		return;
	if (low_ratio >= PAUSED_CRITICAL)
		severity = PCAP_CRITICAL;
	if (row->priority != PAUSE_ALL_TRAFFIC)
		snprintf(what, sizeof(what), "priority %u", (unsigned)row->priority);
	duration_format(longest, sizeof(longest), row->longest_ns);
	char upper[32] = "";
	if (high_ratio > low_ratio * 1.01)
		snprintf(upper, sizeof(upper), "..%.3g", high_ratio * 100);
	json_t *said = pcap_verdict_add_as(document, PCAP_VERDICT_PAUSED, severity,
		"%s paused %s of its neighbour for %.3g%s %% of the time, %s at the longest, with "
		"%lu frame%s",
		mac, what, low_ratio * 100, upper, longest, (unsigned long)row->frames,
		plural(row->frames));
	json_object_set_new(said, "mac", json_string(mac));
	if (row->priority != PAUSE_ALL_TRAFFIC)
		json_object_set_new(said, "priority", json_integer(row->priority));
	json_object_set_new(said, "t", json_time(row->first_ns));
	json_object_set_new(said, "n", json_integer((json_int_t)row->frames));
}

/* In a sample frames are missing, so no time is known. */
static void pause_put_times(
	json_t *document, json_t *o, const struct pause_row *row, double lasts_ns, bool every)
{
	double low = NAN, high = NAN, longest = NAN;
	char mac[MAC_TEXT_MAX];
	if (every) {
		low = (double)row->low_ns;
		high = (double)row->high_ns;
		longest = (double)row->longest_ns;
	}
	const double second = (double)NS_PER_S;
	json_object_set_new(o, "paused_s_low", json_number_or_null(low / second));
	json_object_set_new(o, "paused_s_high", json_number_or_null(high / second));
	json_object_set_new(o, "longest_s", json_number_or_null(longest / second));
	json_object_set_new(o, "duty_ratio_low", json_number_or_null(low / lasts_ns));
	json_object_set_new(o, "duty_ratio_high", json_number_or_null(high / lasts_ns));
	pause_sentence(
		document, row, pause_mac_text(mac, row->mac), low / lasts_ns, high / lasts_ns);
}

static json_t *pause_json(
	json_t *document, const struct pause_row *row, double lasts_ns, bool every)
{
	char mac[MAC_TEXT_MAX];
	json_t *o = json_object();
	json_object_set_new(o, "mac", json_string(pause_mac_text(mac, row->mac)));
	if (row->priority == PAUSE_ALL_TRAFFIC)
		json_object_set_new(o, "priority", json_null());
	else
		pcap_count_put(o, "priority", row->priority);
	pcap_count_put(o, "frames", row->frames);
	pcap_count_put(o, "xoff", row->xoff);
	pcap_count_put(o, "xon", row->xon);
	pause_put_times(document, o, row, lasts_ns, every);
	json_object_set_new(o, "t_first", json_time(row->first_ns));
	json_object_set_new(o, "t_last", json_time(row->last_ns));
	return o;
}

void pcap_put_pause(json_t *document, struct pcap_reading *reading)
{
	const struct roce_count *count = &reading->analysis.count;
	const double lasts_ns = (double)(count->last_ns - count->first_ns);
	const bool every = pcap_sampling(reading) == 1;
	size_t n;
	uint64_t refused;
	rw_cleanup(freep) struct pause_row *rows = pause_log_rows(
		capture_clock_pauses(reading->analysis.clock), count->last_ns, &n, &refused);
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, pause_json(document, &rows[i], lasts_ns, every));
	json_object_set_new(document, "pause", a);
	json_object_set_new(document, "pfc", json_pfc(count));
}
