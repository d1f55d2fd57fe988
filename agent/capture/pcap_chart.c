/* pcap_chart - one polygon of rates, one line per device and priority that paused. */
#include "agent/capture/pcap_chart.h"

#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/document/writer.h"

enum { CHART_WIDTH = 900, CHART_HEIGHT = 160, CHART_LEFT = 80, CHART_LINE = 16, CHART_LINES = 6 };

struct pcap_chart_scale {
	int64_t from_ns, to_ns;
	double bin_s, most_bps;
};

static int64_t chart_time(const json_t *object, const char *key)
{
	wall_t t = {0};
	(void)wall_parse(doc_word(object, key), (wall_t){0}, &t);
	return t.ns;
}

static double chart_bps(const json_t *bin, const struct pcap_chart_scale *scale)
{
	return doc_number(bin, "octets") * 8 / scale->bin_s;
}

static double chart_x(const struct pcap_chart_scale *scale, int64_t t_ns)
{
	const double share =
		(double)(t_ns - scale->from_ns) / (double)(scale->to_ns - scale->from_ns);
	return CHART_LEFT + share * (CHART_WIDTH - CHART_LEFT);
}

static void chart_scale(const json_t *document, struct pcap_chart_scale *ret)
{
	const json_t *rates = json_object_get(document, "rates");
	const json_t *bins = json_object_get(rates, "bins");
	const size_t n = json_array_size(bins);
	*ret = (struct pcap_chart_scale){.bin_s = doc_number(rates, "bin_s"), .most_bps = 1};
	ret->from_ns = chart_time(json_array_get(bins, 0), "t");
	ret->to_ns = chart_time(json_array_get(bins, n - 1), "t") +
		(int64_t)(ret->bin_s * (double)NS_PER_S) + 1;
	for (size_t i = 0; i < n; i++) {
		const double bps = chart_bps(json_array_get(bins, i), ret);
		if (bps > ret->most_bps)
			ret->most_bps = bps;
	}
}

/* Each slice is a bar; slices without packets stand not in the document and draw nothing. */
static void chart_rates(FILE *out, const json_t *bins, const struct pcap_chart_scale *scale)
{
	const double wide =
		chart_x(scale, scale->from_ns + (int64_t)(scale->bin_s * 1e9)) - CHART_LEFT;
	for (size_t i = 0; i < json_array_size(bins); i++) {
		const json_t *bin = json_array_get(bins, i);
		const double high = chart_bps(bin, scale) / scale->most_bps * CHART_HEIGHT;
		fprintf(out,
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
			"fill=\"#4a7ebb\"/>\n",
			chart_x(scale, chart_time(bin, "t")), CHART_HEIGHT - high, wide, high);
	}
}

static void chart_pauses(FILE *out, const json_t *pauses, const struct pcap_chart_scale *scale)
{
	for (size_t i = 0; i < json_array_size(pauses) && i < CHART_LINES; i++) {
		const json_t *pause = json_array_get(pauses, i);
		const double from = chart_x(scale, chart_time(pause, "t_first"));
		const double to = chart_x(scale, chart_time(pause, "t_last"));
		const int y = CHART_HEIGHT + CHART_LINE * ((int)i + 1);
		fprintf(out,
			"<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"6\" fill=\"#c0504d\"/>\n"
			"<text x=\"0\" y=\"%d\">priority %.0f</text>\n",
			from, y, to - from + 1, y + 7, doc_number(pause, "priority"));
	}
}

static void chart_axes(FILE *out, const struct pcap_chart_scale *scale)
{
	struct str most = {0};
	str_add_quantity(&most, scale->most_bps, "bit/s");
	fprintf(out,
		"<text x=\"0\" y=\"12\">%s</text><text x=\"0\" y=\"%d\">0</text>"
		"<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#888\"/>\n",
		most.s, CHART_HEIGHT, CHART_LEFT, CHART_WIDTH, CHART_HEIGHT, CHART_HEIGHT);
	str_done(&most);
}

void pcap_chart(FILE *out, const json_t *document)
{
	const json_t *bins = json_object_get(json_object_get(document, "rates"), "bins");
	const json_t *pauses = json_object_get(document, "pause");
	struct pcap_chart_scale scale;
	if (json_array_size(bins) < 2)
		return;
	chart_scale(document, &scale);
	fprintf(out,
		"<svg viewBox=\"0 0 %d %d\" width=\"100%%\" style=\"max-width:%dpx;"
		"font:11px system-ui;fill:currentColor\" role=\"img\">\n"
		"<title>octets on the wire by time, and when pause frames were seen</title>\n",
		CHART_WIDTH, CHART_HEIGHT + CHART_LINE * (CHART_LINES + 1), CHART_WIDTH);
	chart_rates(out, bins, &scale);
	chart_axes(out, &scale);
	chart_pauses(out, pauses, &scale);
	fputs("</svg>\n", out);
	fprintf(out,
		"<p>Blue: rate of the data packets in slices of %.6g s. Red: from the first to "
		"the last pause frame.</p>\n",
		scale.bin_s);
}
