/* report_parts - reports within reports. */
#include "agent/reports/report_parts.h"

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/report.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "agent/answers/common/served.h"

/* Lines of missing data that are taken over from one report. */
enum { MISSING_SAID = 2 };

int report_collect_whole(struct client *client, const char *name, report_put_fn *const *steps,
	size_t n, const char *fine, struct report_result *ret, struct err *e)
{
	json_t *doc = report_frame(name, client);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = steps[i](client, doc, e);
	if (rc < 0) {
		json_decref(doc);
		return rc;
	}
	const json_t *telemetry = json_object_get(doc, "telemetry");
	if (isnan(doc_number(telemetry, "coverage_ratio")))
		report_verdict(
			client->config, doc, REPORT_UNKNOWN, "nothing of this time is stored");
	else
		report_verdict(client->config, doc, REPORT_OK, fine);
	*ret = (struct report_result){.doc = doc, .window_ns = 60 * NS_PER_S};
	return 0;
}

int report_part(struct client *client, const struct report *report, json_t **ret, struct err *e)
{
	const struct report_ask ask = {0};
	rw_cleanup(report_result_done) struct report_result result = {0};
	const int rc = report->collect(client, &ask, &result, e);
	if (rc == 0)
		*ret = json_incref(result.doc);
	return rc;
}

void report_part_verdict(json_t *parts, const char *name, const json_t *part)
{
	json_array_append_new(parts,
		json_pack("{s:s, s:s, s:s}", "report", name, "state",
			report_state_name(report_doc_state(part)), "text",
			doc_word(part, "verdict")));
}

static bool report_has_line(const json_t *lines, const json_t *line)
{
	const json_t *one;
	size_t i;
	json_array_foreach (lines, i, one)
		if (json_equal(one, line))
			return true;
	return false;
}

void report_part_problems(json_t *doc, const char *name, const json_t *part)
{
	const json_t *row;
	json_t *problems = json_object_get(doc, "problems");
	size_t i, k, n = 0;
	json_array_foreach (json_object_get(part, "problems"), i, row) {
		bool known = false;
		for (k = 0; k < json_array_size(problems) && !known; k++)
			known = json_equal(json_object_get(json_array_get(problems, k), "key"),
				json_object_get(row, "key"));
		if (!known)
			json_array_append_new(problems, json_copy((json_t *)row));
	}
	json_array_foreach (json_object_get(part, "missing"), i, row)
		if (!report_has_line(json_object_get(doc, "missing"), row) && n++ < MISSING_SAID)
			report_missing(doc, "%s: %s", name, json_string_value(row));
	if (n > MISSING_SAID)
		report_missing(doc, "%s: %zu more; 'rocewatch report %s' lists them", name,
			n - MISSING_SAID, name);
}

json_t *report_part_rows(const json_t *part, const char *key, size_t most)
{
	json_t *rows = json_array(), *row;
	size_t i;
	json_array_foreach (json_object_get(part, key), i, row) {
		if (i >= most)
			break;
		json_array_append(rows, row);
	}
	return rows;
}

int report_served(struct client *client, const char *path, json_t **ret, struct err *e)
{
	const struct served_ask ask = {0};
	const struct served_document *row = served_find(path);
	struct client ranged = report_client(client);
	if (!row || !row->make)
		return err_set(e, -ENOENT, "no document '%s' is served", path);
	return row->make(&ranged, &ask, ret, e);
}
