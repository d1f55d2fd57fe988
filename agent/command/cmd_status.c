/* cmd_status - the state of the fabric, once: who answers, how old the data is, what is open. */
#include "agent/base/str.h"
#include "agent/command/command.h"

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/reports/status.h"

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

static long long count_of(const json_t *quality, const char *key)
{
	return (long long)json_integer_value(json_object_get(quality, key));
}

static void cmd_status_print_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const json_t *q = json_object_get(doc, "data_quality");

	if (header) {
		const char *time = json_string_value(json_object_get(doc, "time"));
		fprintf(out, "%s   %.19s%s   %s\n",
			json_string_value(json_object_get(doc, "fabric")), str_or(time, "-"),
			str_if(time, "Z"),
			json_is_true(json_object_get(q, "agent_running"))
				? "agent running"
				: "no agent running: as of the newest sample");
		long long captures = count_of(q, "captures_up") + count_of(q, "captures_down") +
			count_of(q, "captures_unknown");
		fprintf(out, "up %lld   down %lld   unknown %lld   ", count_of(q, "up"),
			count_of(q, "down"), count_of(q, "unknown"));
		if (captures > 0)
			fprintf(out, "captures %lld/%lld up   ", count_of(q, "captures_up"),
				captures);
		fprintf(out, "open incidents %lld\n\n", count_of(doc, "open_incidents"));
	}
	report_print(out, doc, &device_view, FORMAT_TABLE, header, color);
	if (count_of(doc, "open_incidents") > 0) {
		fputc('\n', out);
		report_print(out, doc, &incident_view, FORMAT_TABLE, header, color);
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

extern const struct command command_status;

static int cmd_status_run(struct command_args *args)
{
	return command_answer(&command_status, args, status_document, &view, NULL);
}

const struct command command_status = {
	.name = "status",
	.args = "",
	.summary = "who answers, how old the data is, which incidents are open",
	.help = "A device is up while it is polled and answers, down when it is polled and does "
		"not, and unknown in every other case: silent for more "
		"than three intervals, not polled, or no agent running. Unknown is never shown as "
		"up. Captures (protocol pcap) have a row each, by their own "
		"names, and are counted apart.\n\nA database that no agent writes is judged as of "
		"its "
		"newest sample.",
	.run = cmd_status_run,
};
