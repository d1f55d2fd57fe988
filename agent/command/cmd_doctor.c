/* cmd_doctor - how the collection itself is doing, and what to do about it. */
#include "agent/base/str.h"
#include "agent/command/command.h"

#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/reports/doctor.h"

static const struct column target_columns[] = {
	{"name", "TARGET", COL_TEXT, false},
	{"protocol", "PROTO", COL_TEXT, false},
	{"status", "STATUS", COL_TEXT, false},
	{"age_s", "AGE", COL_DURATION_S, true},
	{"poll_p95_s", "P95", COL_DURATION_S, true},
	{"values_per_s", "VALUES/S", COL_NUMBER, true},
	{"varbinds_per_s", "ASKED/S", COL_NUMBER, true},
	{"missed_polls", "MISSED", COL_INT, true},
	{"timeouts", "TIMEOUTS", COL_INT, true},
	{"max_repetitions", "MAX-REP", COL_INT, true},
	{"notes", "NOTES", COL_TEXT, false},
};
static const struct column csv_columns[] = {
	{"name"},
	{"protocol"},
	{"address"},
	{"status"},
	{"state"},
	{"reason"},
	{"age_s"},
	{"interval_s"},
	{"poll_p50_s"},
	{"poll_p95_s"},
	{"values_per_s"},
	{"varbinds_per_s"},
	{"polls"},
	{"missed_polls"},
	{"suspect_readings"},
	{"timeouts"},
	{"errors"},
	{"max_repetitions"},
	{"do"},
};
static const struct column capture_columns[] = {
	{"name", "CAPTURE", COL_TEXT, false},
	{"interface", "FROM", COL_TEXT, false},
	{"sampling", "1 IN", COL_INT, true},
	{"frames", "FRAMES", COL_INT, true},
	{"roce_packets", "ROCE", COL_INT, true},
	{"kernel_drops", "DROPPED", COL_INT, true},
	{"captured_bytes", "STANDS FOR", COL_BYTES, true},
	{"expected_bytes", "PORT CARRIED", COL_BYTES, true},
	{"notes", "NOTES", COL_TEXT, false},
};
static const struct view target_view = {
	.rows = "targets",
	.columns = target_columns,
	.n_columns = rw_countof(target_columns),
	.empty = "no targets",
};
static const struct view capture_view = {
	.rows = "captures",
	.columns = capture_columns,
	.n_columns = rw_countof(capture_columns),
	.empty = "no captures",
};

static double cmd_doctor_number(const json_t *object, const char *key, double scale)
{
	const json_t *v = json_object_get(object, key);
	if (json_is_number(v))
		return json_number_value(v) / scale;
	return 0;
}

/* "suspect 14", or "suspect -" where it is not known. */
static void print_count(FILE *out, const json_t *object, const char *key, const char *name)
{
	const json_t *v = json_object_get(object, key);
	if (json_is_integer(v))
		fprintf(out, "   %s %" JSON_INTEGER_FORMAT, name, json_integer_value(v));
	else
		fprintf(out, "   %s -", name);
}

static void print_age(FILE *out, const json_t *object, const char *key, const char *name)
{
	char text[32];
	const json_t *v = json_object_get(object, key);
	fprintf(out, "   %s %s", name,
		json_is_number(v)
			? duration_format(text, sizeof(text), (int64_t)(json_number_value(v) * 1e9))
			: "-");
}

static void print_quality(FILE *out, const json_t *quality)
{
	static const struct {
		const char *key, *name;
	} counts[] = {
		{"samples", "samples"},
		{"suspect_samples", "suspect"},
		{"late_samples", "late"},
		{"duplicate_samples", "duplicate"},
		{"restart_samples", "after a restart"},
		{"refused_samples", "refused"},
		{"failed_windows", "windows not analysed"},
	};
	fputs("DATA QUALITY", out);
	for (size_t i = 0; i < rw_countof(counts); i++)
		print_count(out, quality, counts[i].key, counts[i].name);
	fputc('\n', out);
}

static void print_traps(FILE *out, const json_t *traps)
{
	static const struct {
		const char *key, *name;
	} counts[] = {
		{"received", "received"},
		{"events", "events"},
		{"informs", "informs"},
		{"unknown_sender", "unknown sender"},
		{"wrong_credential", "wrong credential"},
		{"malformed", "malformed"},
		{"limited", "over the limit"},
		{"unknown_trap", "without meaning to us"},
	};
	if (!json_is_object(traps))
		return;
	fprintf(out, "TRAPS        %s",
		json_is_true(json_object_get(traps, "open")) ? "listening" : "NOT RECEIVED");
	for (size_t i = 0; i < rw_countof(counts); i++)
		print_count(out, traps, counts[i].key, counts[i].name);
	fputc('\n', out);
}

static void print_store(FILE *out, const json_t *store, const json_t *pipeline)
{
	const json_t *dropped = json_object_get(pipeline, "dropped");
	fprintf(out, "STORE       ");
	print_age(out, store, "span_s", "holds");
	fprintf(out, "   %.1f MB   WAL %.1f MB", cmd_doctor_number(store, "size_bytes", 1e6),
		cmd_doctor_number(store, "wal_bytes", 1e6));
	print_age(out, store, "last_commit_age_s", "last commit");
	print_count(out, store, "pending_samples", "pending");
	print_count(out, store, "failed_commits", "failed commits");
	fprintf(out, "   disk %.0f %% free   %s\n",
		100 * cmd_doctor_number(store, "disk_free_ratio", 1),
		json_is_null(json_object_get(store, "writer_pid")) ? "no writer" : "writer alive");
	fprintf(out, "PROCESS     ");
	print_age(out, pipeline, "up_s", "up");
	if (json_is_number(json_object_get(pipeline, "rss_bytes")))
		fprintf(out, "   memory %.1f MB", cmd_doctor_number(pipeline, "rss_bytes", 1e6));
	else
		fputs("   memory -", out);
	fputs("   dropped:", out);
	print_count(out, dropped, "pipeline_refused", "refused");
	print_count(out, dropped, "pipeline_duplicates", "duplicates");
	print_count(out, dropped, "pipeline_late_flows", "late flows");
	print_count(out, dropped, "store_queue", "store queue");
	fputc('\n', out);
}

static void print_todo(FILE *out, const json_t *todo, bool color)
{
	const json_t *t;
	size_t i;
	if (json_array_size(todo) == 0) {
		fputs("\nNothing needs doing.\n", out);
		return;
	}
	fputs("\nTO DO\n", out);
	json_array_foreach (todo, i, t) {
		bool critical =
			strcmp(json_string_value(json_object_get(t, "severity")), "critical") == 0;
		fprintf(out, "%s%-8s%s  %s: %s\n          -> %s\n",
			color ? (critical ? "\033[31m" : "\033[33m") : "",
			critical ? "CRITICAL" : "WARNING", str_if(color, "\033[0m"),
			json_string_value(json_object_get(t, "subject")),
			json_string_value(json_object_get(t, "what")),
			json_string_value(json_object_get(t, "do")));
	}
}

static void cmd_doctor_print_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	report_print(out, doc, &target_view, FORMAT_TABLE, header, color);
	fputc('\n', out);
	if (json_array_size(json_object_get(doc, "captures")) > 0) {
		report_print(out, doc, &capture_view, FORMAT_TABLE, header, color);
		fputc('\n', out);
	}
	print_quality(out, json_object_get(doc, "data_quality"));
	print_traps(out, json_object_get(doc, "traps"));
	print_store(out, json_object_get(doc, "store"), json_object_get(doc, "process"));
	print_todo(out, json_object_get(doc, "todo"), color);
}

static const struct view view = {
	.title = "Collection",
	.rows = "targets",
	.columns = csv_columns,
	.n_columns = rw_countof(csv_columns),
	.text = cmd_doctor_print_text,
	.empty = "no targets",
};

extern const struct command command_doctor;

static int cmd_doctor_run(struct command_args *args)
{
	json_t *doc;
	int code = command_answer(&command_doctor, args, doctor_document, &view, &doc);
	if (code == EXIT_OK && json_array_size(json_object_get(doc, "todo")) > 0)
		code = EXIT_FAILED;
	json_decref(doc);
	return code;
}

const struct command command_doctor = {
	.name = "doctor",
	.args = "",
	.summary = "each target, capture and the store: age, loss, slowness, data quality, and "
		   "what to do about it",
	.help = "Exit code: 0 when nothing needs doing, 1 when something does (or the doctor "
		"failed), 2 for bad usage or configuration.\n\n"
		"ASKED/S is the load put on a device: values asked of it each second, whatever "
		"became of them. MAX-REP is how much of a table one answer may "
		"hold; it is halved when large answers get lost. MISSED are polls that should have "
		"been and were not.\n\n"
		"A capture that saw 0 RoCE packets is never a sign of health: STANDS FOR is what "
		"it caught times its sampling, PORT CARRIED what the counters of the port "
		"it mirrors say, both over five minutes.",
	.run = cmd_doctor_run,
};
