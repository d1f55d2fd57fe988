/*
 * report_fake - the smallest report and its check: what the next person writes who adds one.
 */
#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/str.h"
#include "agent/check/check.h"
#include "agent/client/client.h"
#include "agent/reports/report.h"

static int fake_collect(struct client *client, const struct report_ask *ask,
	struct report_result *ret, struct err *e)
{
	if (str_eq(ask->device, "nowhere"))
		return err_set(e, -EINVAL, "no device matches 'nowhere'");
	ret->doc = json_pack("{s:s, s:[{s:s, s:I}]}", "state", "OK", "rows", "device", "leaf1",
		"span_s", (json_int_t)((client->to_ns - client->from_ns) / NS_PER_S));
	ret->window_ns = NS_PER_S;
	return 0;
}

static const struct column columns[] = {{"device"}, {"span_s", "span", COL_INT, true}};
static const struct view view = {
	.title = "Fake", .rows = "rows", .columns = columns, .n_columns = 2, .empty = "nothing"};

const struct report report_fake = {
	.name = "fake",
	.summary = "the length of the time range",
	.options = "device",
	.span_ns = 60 * NS_PER_S,
	.collect = fake_collect,
	.view = &view,
};

static void fake_judge(const struct report_result *result, const struct check_ranges *ranges,
	struct check_line *ret)
{
	const json_t *row = json_array_get(json_object_get(result->doc, "rows"), 0);
	double span_s = (double)json_integer_value(json_object_get(row, "span_s"));
	if (check_range_alerts(&ranges->warn, span_s))
		ret->state = CHECK_WARNING;
	str_addf(&ret->text, "%g s", span_s);
	check_line_value(ret, "span", span_s, 0, ranges, NAN);
}

const struct check check_fake = {
	.name = "fake",
	.label = "FAKE",
	.summary = "the length of the time range",
	.report = "fake",
	.judge = fake_judge,
};
