/* pcap_chart - the slices of a capture as columns over time. */
#include "agent/capture/pcap_chart.h"

#include "agent/base/clock.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"

enum { CHART_SLICES = 4096, CHART_PAUSES = 6 };

static int64_t chart_time(const json_t *object, const char *key)
{
	wall_t t = {0};
	(void)wall_parse(doc_word(object, key), (wall_t){0}, &t);
	return t.ns;
}

/* Slices without a packet do not stand in the document: their rate is 0. */
static json_t *chart_rates(const json_t *bins, double bin_s)
{
	const int64_t from_ns = chart_time(json_array_get(bins, 0), "t");
	json_t *rates = json_array();
	for (size_t i = 0; i < json_array_size(bins); i++) {
		const json_t *bin = json_array_get(bins, i);
		const double slice = (double)(chart_time(bin, "t") - from_ns) / (bin_s * 1e9);
		while ((double)json_array_size(rates) + 0.5 < slice &&
			json_array_size(rates) < CHART_SLICES)
			json_array_append_new(rates, json_real(0));
		json_array_append_new(
			rates, json_number_or_null(doc_number(bin, "octets") * 8 / bin_s));
	}
	return rates;
}

static void chart_pauses(json_t *page, const json_t *pauses)
{
	for (size_t i = 0; i < json_array_size(pauses) && i < CHART_PAUSES; i++) {
		const json_t *pause = json_array_get(pauses, i);
		page_factf(page, "paused", "priority %.0f from %s to %s",
			doc_number(pause, "priority"), doc_word(pause, "t_first"),
			doc_word(pause, "t_last"));
	}
}

void pcap_chart(json_t *page, const json_t *document)
{
	const json_t *rates = json_object_get(document, "rates");
	const json_t *bins = json_object_get(rates, "bins");
	const double bin_s = doc_number(rates, "bin_s");
	const size_t n = json_array_size(bins);
	char until[WALL_TEXT_MAX];
	if (n < 2 || !(bin_s > 0))
		return;
	const wall_t end = {
		chart_time(json_array_get(bins, n - 1), "t") + (int64_t)(bin_s * NS_PER_S)};
	wall_format(until, end, 3);
	json_t *times = page_times(page, "Rate of the data packets", "bit/s",
		doc_word(json_array_get(bins, 0), "t"), until, PAGE_COLUMNS);
	page_series(times, "", chart_rates(bins, bin_s));
	chart_pauses(page, json_object_get(document, "pause"));
}
