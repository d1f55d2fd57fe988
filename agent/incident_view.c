/* incident_view - see incident_view.h. */
#include "agent/incident_view.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/ledger.h"

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

static double number_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return json_is_number(v) ? json_number_value(v) : NAN;
}

json_t *incident_public(const json_t *incident)
{
	json_t *o = json_copy((json_t *)incident);
	json_object_del(o, "progress");
	return o;
}

/* --- order -------------------------------------------------------------------------------------------------------------- */

static enum severity severity_of(const json_t *o)
{
	for (int k = SEV_CRITICAL; k > SEV_INFO; k--) {
		if (str_eq(severity_name((enum severity)k), text_of(o, "severity")))
			return (enum severity)k;
	}
	return SEV_INFO;
}

static int worst_first(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	const json_t *v[2] = {x, y};
	struct incident i[2] = {0};
	for (int k = 0; k < 2; k++) {
		i[k].severity = severity_of(v[k]);
		i[k].usd_per_hour = number_of(v[k], "usd_per_hour");
		i[k].confidence_ratio = number_of(v[k], "confidence_ratio");
		snprintf(i[k].id, sizeof(i[k].id), "%s", text_of(v[k], "id"));
	}
	int opened = strcmp(text_of(x, "opened"), text_of(y, "opened")); /* RFC 3339 in UTC sorts as text */
	i[0].opened_ns = opened;
	return incident_compare(&i[0], &i[1]);
}

void incidents_sort(json_t *incidents)
{
	size_t n = json_array_size(incidents);
	rw_cleanup(freep) json_t **v = rw_calloc(n + 1, sizeof(json_t *));
	for (size_t k = 0; k < n; k++)
		v[k] = json_incref(json_array_get(incidents, k));
	qsort(v, n, sizeof(json_t *), worst_first);
	json_array_clear(incidents);
	for (size_t k = 0; k < n; k++)
		json_array_append_new(incidents, v[k]);
}

/* --- the card ------------------------------------------------------------------------------------------------------------ */

static void put_when(FILE *out, const json_t *o)
{
	const char *opened = text_of(o, "opened"), *closed = text_of(o, "closed"), *first = text_of(o, "first");
	fprintf(out, "when        %s since %.19sZ", text_of(o, "state"), *first ? first : opened);
	if (*closed)
		fprintf(out, " until %.19sZ", closed);
	fprintf(out, ", raised %.19sZ", opened);
	const json_t *windows = json_object_get(o, "windows");
	if (json_is_integer(windows))
		fprintf(out, ", in %lld windows", (long long)json_integer_value(windows));
	fputc('\n', out);
}

static void put_where(FILE *out, const json_t *o)
{
	static const struct { const char *key, *word; } parts[] = {
		{"device", ""}, {"port", "port "}, {"group", "group "}, {"member", "member "}, {"host", "host "},
	};
	const json_t *subject = json_object_get(o, "subject");
	const char *before = "where       ";
	for (size_t k = 0; k < rw_countof(parts); k++) {
		if (!*text_of(subject, parts[k].key))
			continue;
		fprintf(out, "%s%s%s", before, parts[k].word, text_of(subject, parts[k].key));
		before = ", ";
	}
	if (json_is_integer(json_object_get(subject, "priority")))
		fprintf(out, "%spriority %lld", before, (long long)json_integer_value(json_object_get(subject, "priority")));
	fputc('\n', out);
}

static void put_cost(FILE *out, const json_t *o)
{
	double per_hour = number_of(o, "usd_per_hour"), total = number_of(o, "usd_total");
	long long gpus = (long long)json_integer_value(json_object_get(o, "gpus_affected"));
	fprintf(out, "cost        ");
	if (isnan(per_hour))
		fprintf(out, "unknown%s\n", gpus ? "" : " (no job is configured for this subject, or no price)");
	else
		fprintf(out, "$%.2f/h, $%.2f so far (%lld GPUs wait)\n", per_hour, isnan(total) ? 0 : total, gpus);
}

static const char *confidence_word(double v)
{
	return isnan(v) ? "unknown" : v >= 0.8 ? "high" : v >= 0.5 ? "medium" : "low";
}

static void put_list(FILE *out, const char *head, const json_t *list)
{
	size_t k;
	const json_t *v;
	json_array_foreach(list, k, v) {
		fprintf(out, "%-12s%s\n", k ? "" : head, json_is_string(v) ? json_string_value(v) : text_of(v, "text"));
		if (*text_of(v, "risk"))
			fprintf(out, "%-12s  risk: %s\n", "", text_of(v, "risk"));
	}
}

static const struct column evidence_columns[] = {
	{"metric", "EVIDENCE", COL_TEXT, false},
	{"device", "DEVICE", COL_TEXT, false},
	{"port", "PORT", COL_TEXT, false},
	{"value", "VALUE", COL_NUMBER, true},
	{"unit", "UNIT", COL_TEXT, false},
	{"quality", "QUALITY", COL_TEXT, false},
	{"from", "FROM", COL_TIME, false},
	{"to", "TO", COL_TIME, false},
};
static const struct view evidence_view = {
	.rows = "evidence", .columns = evidence_columns, .n_columns = rw_countof(evidence_columns), .empty = "no evidence kept",
};
static const struct column flow_columns[] = {
	{"src", "FLOW FROM", COL_TEXT, false},
	{"dst", "TO", COL_TEXT, false},
	{"src_port", "UDP PORT", COL_INT, true},
	{"dst_qp", "QP", COL_QP, true},
	{"port", "ON PORT", COL_TEXT, false},
	{"octets", "BYTES", COL_BYTES, true},
	{"burst_bps", "IN BURSTS", COL_BPS, true},
};
static const struct view flow_view = {
	.rows = "flows", .columns = flow_columns, .n_columns = rw_countof(flow_columns), .empty = "no flows seen",
};

static void print_card(FILE *out, const json_t *doc, const struct view *v, bool color, bool header)
{
	const json_t *subject = json_object_get(doc, "subject"), *roles = json_object_get(doc, "roles"), *role;
	double confidence = number_of(doc, "confidence_ratio"), coverage = number_of(doc, "coverage_ratio");
	size_t k;
	fprintf(out, "INCIDENT %s  %s  %s\n", text_of(doc, "id"), text_of(doc, "severity"), text_of(doc, "cause"));
	fprintf(out, "what        %s\n", *text_of(doc, "summary") ? text_of(doc, "summary") : text_of(doc, "cause"));
	put_where(out, doc);
	put_when(out, doc);
	fprintf(out, "confidence  %s", confidence_word(confidence));
	if (!isnan(confidence))
		fprintf(out, " (%.0f %%)", confidence * 100);
	if (!isnan(coverage))
		fprintf(out, ", %.0f %% of the data was there", coverage * 100);
	fputc('\n', out);
	put_list(out, "  because", json_object_get(doc, "confidence_inputs"));
	put_cost(out, doc);
	json_array_foreach(roles, k, role)
		fprintf(out, "%-12s%s (%s)\n", k ? "" : "who", text_of(role, "entity"), text_of(role, "role"));
	if (*text_of(doc, "acked_by"))
		fprintf(out, "%-12s%s%s%s\n", "acked by", text_of(doc, "acked_by"), *text_of(doc, "ack_note") ? ": " : "", text_of(doc, "ack_note"));
	put_list(out, "ruled out", json_object_get(doc, "ruled_out"));
	put_list(out, "next", json_object_get(doc, "next_steps"));
	fputc('\n', out);
	report_print(out, doc, &evidence_view, FORMAT_TABLE, header, color);
	if (json_array_size(json_object_get(subject, "flows")) > 0) {
		fputc('\n', out);
		report_print(out, subject, &flow_view, FORMAT_TABLE, header, color);
	}
}

/* --- views ----------------------------------------------------------------------------------------------------------------- */

static const struct column list_columns[] = {
	{"id", "ID", COL_TEXT, false},
	{"severity", "SEVERITY", COL_TEXT, false},
	{"state", "STATE", COL_TEXT, false},
	{"opened", "OPENED", COL_TIME, false},
	{"cause", "CAUSE", COL_TEXT, false},
	{"subject.device", "DEVICE", COL_TEXT, false},
	{"subject.group", "GROUP", COL_TEXT, false},
	{"confidence_ratio", "CONF", COL_RATIO_PCT, true},
	{"usd_per_hour", "COST/H", COL_USD, true},
	{"acked_by", "ACKED", COL_TEXT, false},
	{"summary", "SUMMARY", COL_TEXT, false},
};
const struct view incident_list_view = {
	.title = "Incidents", .rows = "incidents", .columns = list_columns, .n_columns = rw_countof(list_columns), .empty = "no incidents",
};

static const struct column timeline_columns[] = {
	{"t", "TIME", COL_TIME, false},
	{"text", "EVENT", COL_TEXT, false},
};
const struct view incident_timeline_view = {
	.title = "Timeline", .rows = "timeline", .columns = timeline_columns, .n_columns = rw_countof(timeline_columns), .empty = "nothing recorded",
};

const struct view incident_card_view = {
	.title = "Incident", .rows = NULL, .columns = list_columns, .n_columns = rw_countof(list_columns), .text = print_card,
};
