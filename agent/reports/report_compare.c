/* report_compare - the same report of earlier ranges, and what differs. */
#include "agent/reports/report_compare.h"

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "db/series/history.h"

#define DAY_NS (24 * 3600 * NS_PER_S)

static const json_t *compare_row(const json_t *doc, const char *list, const char *key)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, list), i, row)
		if (str_eq(doc_word(row, "key"), key))
			return row;
	return NULL;
}

/* Keys of the problems of @doc that @other does not have. */
static json_t *compare_keys(const json_t *doc, const json_t *other)
{
	json_t *keys = json_array();
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "problems"), i, row)
		if (!compare_row(other, "problems", doc_word(row, "key")))
			json_array_append(keys, json_object_get(row, "key"));
	return keys;
}

static json_t *compare_figures(const json_t *doc, const json_t *other)
{
	json_t *figures = json_array();
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "figures"), i, row) {
		const json_t *then = compare_row(other, "figures", doc_word(row, "key"));
		const double value = doc_number(then, "value");
		json_t *figure = json_object();
		json_object_set(figure, "key", json_object_get(row, "key"));
		json_object_set_new(figure, "value", json_number_or_null(value));
		json_object_set_new(
			figure, "change", json_number_or_null(doc_number(row, "value") - value));
		json_array_append_new(figures, figure);
	}
	return figures;
}

/* Problems that were there then as well, in another state: also news. */
static json_t *compare_states(const json_t *doc, const json_t *other)
{
	json_t *keys = json_array();
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "problems"), i, row) {
		const json_t *then = compare_row(other, "problems", doc_word(row, "key"));
		if (then && !str_eq(doc_word(row, "state"), doc_word(then, "state")))
			json_array_append(keys, json_object_get(row, "key"));
	}
	return keys;
}

static json_t *compare_entry(
	const char *with, const struct client *then, const json_t *doc, const json_t *other)
{
	json_t *entry = json_object();
	const char *state = doc_word(other, "state");
	json_object_set_new(entry, "with", json_string(with));
	json_object_set_new(entry, "since", json_time(then->from_ns));
	json_object_set_new(entry, "until", json_time(then->to_ns));
	json_object_set_new(entry, "state", json_string_or_null(*state ? state : NULL));
	json_object_set_new(entry, "figures", compare_figures(doc, other));
	json_object_set_new(entry, "new", compare_keys(doc, other));
	json_object_set_new(entry, "gone", compare_keys(other, doc));
	json_object_set_new(entry, "changed", compare_states(doc, other));
	return entry;
}

/* Nothing stored of that time: what was not seen cannot be compared. */
static bool compare_has_data(struct client *client)
{
	int64_t first_ns, last_ns;
	struct err e = {0};
	if (history_range(client->history, &first_ns, &last_ns, &e) < 0)
		return false;
	return first_ns < client->to_ns && last_ns > client->from_ns;
}

static int compare_with(const struct report *report, const struct client *client,
	const struct report_ask *ask, json_t *doc, const char *with, int64_t back_ns, struct err *e)
{
	struct client then = *client;
	struct report_result result = {0};
	int rc = 0;
	then.from_ns -= back_ns;
	then.to_ns -= back_ns;
	then.range_given = true;
	if (compare_has_data(&then))
		rc = report->collect(&then, ask, &result, e);
	if (rc == -ENODATA)
		rc = 0;
	if (rc == 0)
		json_array_append_new(json_object_get(doc, "compare"),
			compare_entry(with, &then, doc, result.doc));
	report_result_done(&result);
	return rc;
}

int report_compare(const struct report *report, struct client *client, const struct report_ask *ask,
	json_t *doc, struct err *e)
{
	const int64_t span_ns = client->to_ns - client->from_ns;
	const struct {
		const char *with;
		int64_t back_ns;
	} ranges[] = {{"previous", span_ns}, {"yesterday", DAY_NS}, {"last_week", 7 * DAY_NS}};
	int rc = 0;
	json_object_set_new(doc, "compare", json_array());
	for (size_t i = 0; rc == 0 && i < rw_countof(ranges); i++) {
		const bool again = i > 0 && ranges[i].back_ns == span_ns;
		if (!again)
			rc = compare_with(
				report, client, ask, doc, ranges[i].with, ranges[i].back_ns, e);
	}
	return rc;
}
