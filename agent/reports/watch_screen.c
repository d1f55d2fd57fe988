/*
 * watch_screen - a frame of `rocewatch watch` as text: head, devices that do not answer, signals,
 * uplinks, incidents.
 */
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/quantity.h"
#include "agent/reports/text.h"
#include "agent/reports/watch_frame.h"

enum { BAR_WIDTH = 20, UPLINK_WIDTH = 40 };

static void screen_put_head(FILE *out, const json_t *doc, bool color)
{
	const json_t *quality = json_object_get(doc, "data_quality");
	const char *agent = "no agent running: as of the newest sample";
	if (json_is_true(json_object_get(quality, "agent_running")))
		agent = "agent running";
	fprintf(out, "rocewatch  ");
	text_put(out, text_of(doc, "fabric"));
	fprintf(out, "   %.10s %.8sZ   %s   ", text_of(doc, "time"), text_clock(doc, "time"),
		agent);
	text_put_state(out, text_of(doc, "state"), color);
	fputc('\n', out);
}

static void screen_put_counts(FILE *out, const json_t *doc)
{
	const json_t *quality = json_object_get(doc, "data_quality");
	long long up = text_count(quality, "up");
	long long devices = up + text_count(quality, "down") + text_count(quality, "unknown");
	long long captures_up = text_count(quality, "captures_up");
	long long captures = captures_up + text_count(quality, "captures_down") +
		text_count(quality, "captures_unknown");
	fprintf(out, "devices %lld/%lld up", up, devices);
	if (captures > 0)
		fprintf(out, "   captures %lld/%lld up", captures_up, captures);
	text_put_age(out, quality, "oldest_device_age_s", "oldest data");
	fprintf(out, "   open incidents %lld\n", text_count(doc, "open_incidents"));
}

static void screen_put_devices(FILE *out, const json_t *devices, bool color)
{
	const json_t *row;
	size_t i;
	json_array_foreach (devices, i, row) {
		if (str_eq(text_of(row, "status"), "up"))
			continue;
		fprintf(out, "  ");
		text_put_state(out, text_of(row, "status"), color);
		text_put(out, text_of(row, "name"));
		fprintf(out, " %s: ", text_of(row, "protocol"));
		text_put(out, text_of(row, "reason"));
		fputc('\n', out);
	}
}

static void screen_add_value(struct str *out, const json_t *row)
{
	const json_t *value = json_object_get(row, "value");
	const char *unit = text_of(row, "unit");
	if (!json_is_number(value))
		str_add(out, "-");
	else if (str_eq(unit, "ratio"))
		str_addf(out, "%.0f %%", json_number_value(value) * 100);
	else
		str_add_quantity(out, json_number_value(value), unit);
}

static void screen_put_signals(FILE *out, const json_t *doc, bool color)
{
	const json_t *window = json_object_get(doc, "window"), *row;
	size_t i;
	fprintf(out, "\n%-24s %-18s %-9s%s   (window %.8s - %.8sZ)\n", "GOLDEN SIGNAL", "NOW",
		"STATE", "WHERE", text_clock(window, "from"), text_clock(window, "to"));
	json_array_foreach (json_object_get(doc, "signals"), i, row) {
		rw_cleanup(str_done) struct str now = {0};
		screen_add_value(&now, row);
		fprintf(out, "%-24s %-18s ", text_of(row, "signal"), now.s);
		text_put_state(out, text_of(row, "state"), color);
		const char *key = "where";
		if (!json_is_string(json_object_get(row, key)))
			key = "why";
		text_put(out, text_of(row, key));
		fputc('\n', out);
	}
}

static void screen_put_bar(FILE *out, double ratio)
{
	int filled = (int)lrint(fmin(ratio, 1) * BAR_WIDTH);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputc(i < filled ? '#' : '-', out);
}

static void screen_put_uplinks(FILE *out, const json_t *uplinks)
{
	const json_t *row;
	size_t i;
	fprintf(out, "\nTOP LOADED UPLINKS (%% of line)\n");
	json_array_foreach (uplinks, i, row) {
		double ratio = json_number_value(json_object_get(row, "utilization_ratio"));
		char name[128];
		snprintf(name, sizeof(name), "%s %s > %s", text_of(row, "device"),
			text_of(row, "port"), text_of(row, "peer"));
		fprintf(out, "  ");
		text_put(out, name);
		for (size_t k = strlen(name); k < UPLINK_WIDTH; k++)
			fputc(' ', out);
		fprintf(out, " %5.1f ", ratio * 100);
		screen_put_bar(out, ratio);
		fputc('\n', out);
	}
	if (json_array_size(uplinks) == 0)
		fprintf(out, "  none: no samples in this window, or port speeds are not known\n");
}

static void screen_put_incidents(FILE *out, const json_t *incidents, bool color)
{
	const json_t *row;
	size_t i;
	fprintf(out, "\nINCIDENTS\n");
	json_array_foreach (incidents, i, row) {
		fprintf(out, "  %s ", text_of(row, "id"));
		text_put_state(out, text_of(row, "severity"), color);
		fprintf(out, "since %.10s %.8sZ  ", text_of(row, "opened"),
			text_clock(row, "opened"));
		text_put(out, text_of(row, "summary"));
		fputc('\n', out);
	}
	if (json_array_size(incidents) == 0)
		fprintf(out, "  none open\n");
}

static void watch_screen(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	if (header)
		screen_put_head(out, doc, color);
	screen_put_counts(out, doc);
	screen_put_devices(out, json_object_get(doc, "devices"), color);
	screen_put_signals(out, doc, color);
	screen_put_uplinks(out, json_object_get(doc, "uplinks"));
	screen_put_incidents(out, json_object_get(doc, "incidents"), color);
}

static const struct column columns[] = {{"signal"}, {"value"}, {"unit"}, {"state"}, {"where"}};

const struct view watch_view = {
	.title = "rocewatch",
	.rows = "signals",
	.columns = columns,
	.n_columns = rw_countof(columns),
	.text = watch_screen,
};
