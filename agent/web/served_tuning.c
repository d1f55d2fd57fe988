/* served_tuning - the documents about thresholds: what was proposed, decided and applied, and what
 * a review of the time range says. Nothing is recorded or decided here. */

#include "agent/answers/common/served.h"
#include "agent/tuning/tune_documents.h"

#define TUNE_SPAN_NS (24 * 3600 * NS_PER_S)

static int served_tune_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return tune_list_document(client, ret, e);
}

static int served_tune_show(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	return tune_show_document(client, served_get(ask, "id"), ret, e);
}

static int served_tune_review(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(tune_reviewed_done) struct tune_reviewed reviewed = {0};
	const struct tune_ask asked = {.device = served_get(ask, "device"),
		.port = served_get(ask, "port"),
		.uplinks = served_get(ask, "uplinks"),
		.priority = served_get(ask, "priority"),
		.allow_reduce = served_flag(ask, "allow-reduce")};
	const int rc = tune_review_asked(client, &asked, &reviewed, e);
	if (rc == 0)
		*ret = tune_reviewed_json(&reviewed);
	return rc;
}

static const struct served_param tune_show_params[] = {
	{"id", "the sheet's id, or its beginning", true},
	{0},
};
static const struct served_param tune_review_params[] = {
	{"device", "only these switches, a glob", false},
	{"port", "only sheets that touch such a port, a glob", false},
	{"priority", "only this priority, 0 to 7", false},
	{"uplinks", "only sheets that touch a link to this switch", false},
	{"allow-reduce", "flag: headroom may be advised down", false},
	{0},
};

static const struct served_document rows[] = {
	{.path = "tune/list",
		.summary = "Every threshold change that was proposed, with its state.",
		.span_ns = TUNE_SPAN_NS,
		.make = served_tune_list},
	{.path = "tune/show",
		.summary = "One threshold change as a sheet: values, reasons, effect, rollback.",
		.params = tune_show_params,
		.span_ns = TUNE_SPAN_NS,
		.make = served_tune_show},
	{.path = "tune/review",
		.summary = "What the time range says of the thresholds; nothing is recorded.",
		.params = tune_review_params,
		.span_ns = TUNE_SPAN_NS,
		.make = served_tune_review},
};

const struct served_group served_tuning = {.rows = rows, .n_rows = rw_countof(rows)};
