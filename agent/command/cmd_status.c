/* cmd_status - the state of the fabric, once: who answers, how old the data is, what is open. */
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "agent/document/quantity.h"
#include "agent/reports/agent_state.h"
#include "agent/reports/status.h"
#include "agent/reports/store_facts.h"
#include "agent/reports/text.h"

static const struct column device_columns[] = {
	{"name", "NAME", COL_TEXT, false},
	{"protocol", "PROTOCOL", COL_TEXT, false},
	{"status", "STATUS", COL_TEXT, false},
	{"age_s", "AGE", COL_DURATION_S, true},
	{"poll_p50_s", "POLL P50", COL_DURATION_S, true},
	{"poll_p95_s", "P95", COL_DURATION_S, true},
	{"polls", "POLLS", COL_INT, true},
	{"timeouts", "TIMEOUTS", COL_INT, true},
	{"errors", "ERRORS", COL_INT, true},
	{"reason", "REASON", COL_TEXT, false},
};
static const struct column csv_columns[] = {
	{"name"},
	{"up"},
	{"status"},
	{"reason"},
	{"age_s"},
	{"protocol"},
	{"address"},
	{"state"},
	{"interval_s"},
	{"poll_p50_s"},
	{"poll_p95_s"},
	{"polls"},
	{"timeouts"},
	{"errors"},
	{"device"},
	{"port"},
};
static const struct column incident_columns[] = {
	{"id", "INCIDENT", COL_TEXT, false},
	{"severity", "SEVERITY", COL_TEXT, false},
	{"state", "STATE", COL_TEXT, false},
	{"opened", "OPENED", COL_TIME, false},
	{"cause", "CAUSE", COL_TEXT, false},
	{"summary", "SUMMARY", COL_TEXT, false},
};
static const struct view device_view = {
	.rows = "devices",
	.columns = device_columns,
	.n_columns = rw_countof(device_columns),
	.empty = "no devices",
};
static const struct view incident_view = {
	.rows = "incidents",
	.columns = incident_columns,
	.n_columns = rw_countof(incident_columns),
	.empty = "no open incidents",
};

/* The file on disk is not the configuration in force. */
static void status_put_refused(FILE *out, const json_t *refused)
{
	if (!json_is_object(refused))
		return;
	fprintf(out, "CONFIGURATION REFUSED at %s: ", when_text(text_of(refused, "t")).s);
	text_put(out, text_of(refused, "text"));
	fputc('\n', out);
}

/* What the store cannot do, and a line for each system to which it sends. */
static void status_put_store_facts(FILE *out, const json_t *doc)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "alarms"), i, row) {
		rw_cleanup(str_done) struct str line = {0};
		const bool critical = str_eq(text_of(row, "severity"), "critical");
		str_addf(&line, "%s %s: ", critical ? "CRITICAL" : "WARNING",
			text_of(row, "subject"));
		str_addf(&line, "%s -> %s", text_of(row, "what"), text_of(row, "do"));
		text_put(out, line.s);
		fputc('\n', out);
	}
	json_array_foreach (json_object_get(doc, "ship"), i, row) {
		rw_cleanup(str_done) struct str line = {0};
		str_addf(&line, "ship %s: ", text_of(row, "name"));
		ship_fact_text(row, &line);
		text_put(out, line.s);
		fputc('\n', out);
	}
}

static void status_put_head(FILE *out, const json_t *doc)
{
	const json_t *quality = json_object_get(doc, "data_quality");
	rw_cleanup(str_done) struct str agent = {0};
	agent_state_text(json_object_get(doc, "agent"), &agent);
	long long captures_up = text_count(quality, "captures_up");
	long long captures = captures_up + text_count(quality, "captures_down") +
		text_count(quality, "captures_unknown");
	fprintf(out, "%s   %s   %s\n", text_of(doc, "fabric"), when_text(text_of(doc, "time")).s,
		agent.s);
	fprintf(out, "up %lld   down %lld   unknown %lld   ", text_count(quality, "up"),
		text_count(quality, "down"), text_count(quality, "unknown"));
	if (captures > 0)
		fprintf(out, "captures %lld/%lld up   ", captures_up, captures);
	if (json_is_null(json_object_get(doc, "open_incidents")))
		fputs("incidents: in the judge's database\n", out);
	else
		fprintf(out, "open incidents %lld\n", text_count(doc, "open_incidents"));
	status_put_refused(out, json_object_get(json_object_get(doc, "agent"), "reload_refused"));
	status_put_store_facts(out, doc);
	fputc('\n', out);
}

static void cmd_status_print_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	if (header)
		status_put_head(out, doc);
	text_put_table(out, doc, &device_view, color, header);
	if (text_count(doc, "open_incidents") > 0) {
		fputc('\n', out);
		text_put_table(out, doc, &incident_view, color, header);
	}
}

static const struct view view = {
	.title = "Fabric status",
	.rows = "devices",
	.columns = csv_columns,
	.n_columns = rw_countof(csv_columns),
	.text = cmd_status_print_text,
	.empty = "no devices",
};

static int cmd_status_run(struct command_args *args)
{
	return command_answer(args, status_document, &view, NULL);
}

const struct command command_status = {
	.name = "status",
	.summary = "who answers, how old the data is, which incidents are open",
	.help = "A device is up while it is polled and answers, down when it is polled and does "
		"not, and unknown in every other case: silent for more "
		"than three intervals and 10 s, not polled, or no agent running. Unknown is never "
		"shown as "
		"up. Captures (protocol pcap) have a row each, by their own "
		"names, and are counted apart.\n\nAges count from the clock, also "
		"when no agent runs; those of a replayed database from its newest sample. With "
		"--until T or --around T it shows the state as it was at T.",
	.takes = TAKES_DB | TAKES_AT,
	.formats = WRITES_ALL,
	.examples = {{"status", "shows each device, its age and the open incidents"},
		{"status --until 5m", "shows the same as it was five minutes ago"}},
	.run = cmd_status_run,
};
