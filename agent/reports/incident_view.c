/*
 * incident_view - incidents as people see them: list, card and timeline.
 */
#include "agent/reports/incident_view.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/reports/incident_list.h"
#include "agent/reports/text.h"

#define ROLES_SHOWN 8

/* ---- the card ------------------------------------------------------------ */

static void put_when(FILE *out, const json_t *object)
{
	const char *opened = doc_word(object, "opened"), *closed = doc_word(object, "closed"),
		   *first = doc_word(object, "first");
	if (!*first)
		first = opened;
	fprintf(out, "when        %s %s %.19sZ", doc_word(object, "state"),
		*closed ? "from" : "since", first);
	if (*closed)
		fprintf(out, " to %.19sZ", closed);
	fprintf(out, ", raised %.19sZ", opened);
	const json_t *windows = json_object_get(object, "windows");
	if (json_is_integer(windows))
		fprintf(out, ", in %lld window%s", (long long)json_integer_value(windows),
			str_if(json_integer_value(windows) != 1, "s"));
	fputc('\n', out);
}

static void put_where(FILE *out, const json_t *object)
{
	static const struct {
		const char *key, *word;
	} parts[] = {
		{"device", ""},
		{"port", "port "},
		{"group", "group "},
		{"member", "member "},
		{"host", "host "},
	};
	const json_t *subject = json_object_get(object, "subject");
	const char *before = "where       ";
	for (size_t k = 0; k < rw_countof(parts); k++) {
		if (!*doc_word(subject, parts[k].key))
			continue;
		fprintf(out, "%s%s%s", before, parts[k].word, doc_word(subject, parts[k].key));
		before = ", ";
	}
	if (json_is_integer(json_object_get(subject, "priority")))
		fprintf(out, "%spriority %lld", before,
			(long long)json_integer_value(json_object_get(subject, "priority")));
	fputc('\n', out);
}

static void put_cost(FILE *out, const json_t *object)
{
	double per_hour = doc_number(object, "usd_per_hour"),
	       total = doc_number(object, "usd_total");
	long long gpus = (long long)json_integer_value(json_object_get(object, "gpus_affected"));
	fprintf(out, "cost        ");
	if (isnan(per_hour))
		fprintf(out, "unknown%s\n",
			str_if(!gpus, " (no job is configured for this subject, or no price)"));
	else
		fprintf(out, "$%.2f/h, $%.2f so far (%lld GPUs wait)\n", per_hour,
			isnan(total) ? 0 : total, gpus);
}

/* The time a job lost since the onset: as a share of wall time, and per step where the normal
 * length of a step is configured. */
static void put_loss(FILE *out, const json_t *object, double explained)
{
	const double lost = doc_number(object, "loss_ratio"),
		     before = doc_number(object, "step_before_s"),
		     now = doc_number(object, "step_s");
	const double share = isnan(explained) ? 0 : explained;
	if (!(lost > 0))
		return;
	fprintf(out, "lost        %.1f %% of wall time of %s since %s, measured at %s", 100 * lost,
		*doc_word(object, "job") ? doc_word(object, "job") : "all hosts",
		doc_word(object, "since"), doc_word(object, "measured_at"));
	if (!isnan(before) && !isnan(now))
		fprintf(out, "; accounts for %.3g of %.3g ms per step",
			1e3 * (now - before) * share, 1e3 * (now - before));
	fputc('\n', out);
}

/* How much of the slowdown it accounts for, and which findings are its effects. */
static void put_explained(FILE *out, const json_t *doc)
{
	const double explained = doc_number(doc, "explained_ratio");
	const json_t *also = json_object_get(doc, "also"), *o;
	size_t k;
	if (!isnan(explained))
		fprintf(out, "accounts    for %.0f %% of the measured slowdown\n", 100 * explained);
	json_array_foreach (json_object_get(doc, "loss"), k, o)
		put_loss(out, o, explained);
	json_array_foreach (also, k, o)
		fprintf(out, "%-12s%s\n", str_if(!k, "also"),
			*doc_word(o, "summary") ? doc_word(o, "summary") : doc_word(o, "cause"));
	if (*doc_word(doc, "parent"))
		fprintf(out, "part of     %s\n", doc_word(doc, "parent"));
}

static void put_roles(FILE *out, const json_t *roles)
{
	static const struct {
		const char *role, *word;
	} kinds[] = {
		{"culprit", "culprit"},
		{"direct_victim", "victims"},
		{"indirect_victim", "indirect"},
	};
	for (size_t k = 0; k < rw_countof(kinds); k++) {
		size_t i, n = 0;
		const json_t *role;
		json_array_foreach (roles, i, role) {
			if (!str_eq(doc_word(role, "role"), kinds[k].role))
				continue;
			if (n++ == 0)
				fprintf(out, "%-12s", kinds[k].word);
			if (n <= ROLES_SHOWN)
				fprintf(out, "%s%s", str_if(n > 1, ", "), doc_word(role, "entity"));
		}
		if (n > ROLES_SHOWN)
			fprintf(out, " and %zu more", n - ROLES_SHOWN);
		if (n)
			fputc('\n', out);
	}
}

static const char *confidence_word(double value)
{
	if (isnan(value))
		return "unknown";
	if (value >= 0.8)
		return "high";
	if (value >= 0.5)
		return "medium";
	return "low";
}

static void put_list(FILE *out, const char *head, const json_t *list)
{
	size_t k;
	const json_t *v;
	json_array_foreach (list, k, v) {
		const char *text = json_string_value(v);
		if (!text)
			text = doc_word(v, "text");
		fprintf(out, "%-12s%s\n", str_if(k == 0, head), text);
		if (*doc_word(v, "risk"))
			fprintf(out, "%-12s  risk: %s\n", "", doc_word(v, "risk"));
	}
}

static const struct column evidence_columns[] = {
	{"metric", "EVIDENCE", COL_TEXT, false},
	{"device", "DEVICE", COL_TEXT, false},
	{"port", "PORT", COL_TEXT, false},
	{"shown", "VALUE", COL_TEXT, true},
	{"quality", "QUALITY", COL_TEXT, false},
	{"from", "FROM", COL_TIME, false},
	{"to", "TO", COL_TIME, false},
};
static const struct view evidence_view = {
	.rows = "evidence",
	.columns = evidence_columns,
	.n_columns = rw_countof(evidence_columns),
	.empty = "no evidence kept",
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
	.rows = "flows",
	.columns = flow_columns,
	.n_columns = rw_countof(flow_columns),
	.empty = "no flows seen",
};

static void incident_view_put_evidence(FILE *out, const json_t *doc, bool color, bool header)
{
	json_t *shown = json_deep_copy(json_object_get(doc, "evidence")), *row;
	size_t k;
	json_array_foreach (shown, k, row) {
		rw_cleanup(str_done) struct str text = {0};
		const json_t *value = json_object_get(row, "value");
		if (json_is_number(value))
			str_add_quantity(&text, json_number_value(value), doc_word(row, "unit"));
		else
			str_add(&text, json_is_string(value) ? json_string_value(value) : "-");
		json_object_set_new(row, "shown", json_string(text.s));
	}
	json_t *list = json_pack("{s:o}", "evidence", shown ? shown : json_array());
	report_print(out, list, &evidence_view, FORMAT_TABLE, header, color);
	json_decref(list);
}

static void incident_view_print_card(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *subject = json_object_get(doc, "subject");
	double confidence = doc_number(doc, "confidence_ratio"),
	       coverage = doc_number(doc, "coverage_ratio");
	fprintf(out, "INCIDENT %s  %s  %s\n", doc_word(doc, "id"), doc_word(doc, "severity"),
		doc_word(doc, "cause"));
	fprintf(out, "what        %s\n",
		*doc_word(doc, "summary") ? doc_word(doc, "summary") : doc_word(doc, "cause"));
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
	put_explained(out, doc);
	put_roles(out, json_object_get(doc, "roles"));
	if (*doc_word(doc, "acked_by"))
		fprintf(out, "%-12s%s%s%s\n", "acked by", doc_word(doc, "acked_by"),
			str_if(*doc_word(doc, "ack_note"), ": "), doc_word(doc, "ack_note"));
	if (*doc_word(doc, "assigned_to"))
		fprintf(out, "%-12s%s\n", "owner", doc_word(doc, "assigned_to"));
	put_list(out, "changed", json_object_get(doc, "changed_before"));
	put_list(out, "ruled out", json_object_get(doc, "ruled_out"));
	put_list(out, "next", json_object_get(doc, "next_steps"));
	fputc('\n', out);
	incident_view_put_evidence(out, doc, color, header);
	if (json_array_size(json_object_get(subject, "flows")) > 0) {
		fputc('\n', out);
		report_print(out, subject, &flow_view, FORMAT_TABLE, header, color);
	}
}

/* ---- views --------------------------------------------------------------- */

static const struct column list_columns[] = {
	{"id", "ID", COL_TEXT, false},
	{"severity", "SEVERITY", COL_TEXT, false},
	{"state", "STATE", COL_TEXT, false},
	{"opened", "OPENED", COL_TIME, false},
	{"cause", "CAUSE", COL_TEXT, false},
	{"where", "WHERE", COL_TEXT, false},
	{"confidence_ratio", "CONF", COL_RATIO_PCT, true},
	{"usd_per_hour", "COST/H", COL_USD, true},
	{"acked_by", "ACKED", COL_TEXT, false},
	{"summary", "SUMMARY", COL_TEXT, false},
};
/* "45s", "11m", "13h", "9d". */
static void list_age(char *text, size_t size, double age_s)
{
	static const struct {
		double below_s, unit_s;
		char letter;
	} units[] = {{60, 1, 's'}, {3600, 60, 'm'}, {48 * 3600, 3600, 'h'}, {INFINITY, 86400, 'd'}};
	size_t k = 0;
	if (isnan(age_s)) {
		snprintf(text, size, "-");
		return;
	}
	while (age_s >= units[k].below_s)
		k++;
	snprintf(text, size, "%.0f%c", floor(age_s / units[k].unit_s), units[k].letter);
}

/* "$960", "$12.4k"; "-" when it is not known. */
static void list_money(char *text, size_t size, double usd)
{
	if (isnan(usd))
		snprintf(text, size, "-");
	else if (usd < 10)
		snprintf(text, size, "$%.2f", usd);
	else if (usd < 9999.5)
		snprintf(text, size, "$%.0f", usd);
	else if (usd < 99950)
		snprintf(text, size, "$%.1fk", usd / 1e3);
	else
		snprintf(text, size, "$%.0fk", usd / 1e3);
}

static const char *list_state(const json_t *incident)
{
	const char *state = doc_word(incident, "state");
	if (str_eq(state, "closed"))
		return "closed";
	if (str_eq(state, "clearing"))
		return "clears";
	if (*doc_word(incident, "acked_by"))
		return "ack";
	return "new";
}

static const char *list_severity(const json_t *incident)
{
	static const char *const words[][2] = {
		{"critical", "CRIT"}, {"warning", "warn"}, {"info", "info"}};
	for (size_t k = 0; k < rw_countof(words); k++)
		if (str_eq(words[k][0], doc_word(incident, "severity")))
			return words[k][1];
	return "-";
}

/* Columns in front of the headline, and behind it. */
enum { LIST_BEFORE = 27, LIST_BEHIND = 7 };

static void list_line(FILE *out, const json_t *incident, bool color)
{
	char age[16], money[16];
	const char *severity = list_severity(incident);
	const bool loud = color && str_eq(severity, "CRIT");
	list_age(age, sizeof(age), doc_number(incident, "age_s"));
	list_money(money, sizeof(money), doc_number(incident, "usd_per_hour"));
	fprintf(out, "%-8.8s %s%-4s%s %4s %6s  ", doc_word(incident, "id"),
		str_if(loud, "\033[1;31m"), severity, str_if(loud, "\033[0m"), age, money);
	text_put_cut(
		out, doc_word(incident, "headline"), text_width(out) - LIST_BEFORE - LIST_BEHIND);
	fprintf(out, " %s\n", list_state(incident));
}

static void list_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *incidents = json_object_get(doc, "incidents"), *o;
	const bool filtered = json_is_true(json_object_get(doc, "filtered"));
	const long long closed = text_count(doc, "closed");
	size_t k, n = 0;
	json_array_foreach (incidents, k, o) {
		if (!filtered && !incident_is_open(o))
			continue;
		if (n++ == 0 && header)
			fprintf(out, "%-8s %-4s %4s %6s  %-*s %s\n", "ID", "SEV", "AGE", "COST/H",
				(int)(text_width(out) - LIST_BEFORE - LIST_BEHIND), "WHAT",
				"STATE");
		list_line(out, o, color);
	}
	if (n == 0)
		fprintf(out, "%s\n", filtered ? "no incidents" : "no open incidents");
	if (!filtered && closed)
		fprintf(out, "%lld closed: rocewatch incident list --all\n", closed);
}

const struct view incident_list_view = {
	.title = "Incidents",
	.rows = "incidents",
	.columns = list_columns,
	.n_columns = rw_countof(list_columns),
	.text = list_text,
	.empty = "no incidents",
};

static const struct column timeline_columns[] = {
	{"t", "TIME", COL_TIME, false},
	{"text", "EVENT", COL_TEXT, false},
};
const struct view incident_timeline_view = {
	.title = "Timeline",
	.rows = "timeline",
	.columns = timeline_columns,
	.n_columns = rw_countof(timeline_columns),
	.empty = "nothing recorded",
};

const struct view incident_card_view = {
	.title = "Incident",
	.rows = NULL,
	.columns = list_columns,
	.n_columns = rw_countof(list_columns),
	.text = incident_view_print_card,
};
