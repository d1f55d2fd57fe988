/* cmd_doctor - "rocewatch doctor": how the collection itself is doing, and what to do about it. */
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "agent/document/quantity.h"
#include "agent/reports/agent_state.h"
#include "agent/reports/class_worlds.h"
#include "agent/reports/doctor.h"
#include "agent/reports/text.h"

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
	{"tunneled_packets", "IN TUNNELS", COL_INT, true},
	{"copies", "COPIES", COL_INT, true},
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

static const struct column agent_columns[] = {
	{"name", "AGENT", COL_TEXT, false},
	{"devices", "DEVICES", COL_INT, true},
	{"newest", "DATA UP TO", COL_TIME, false},
	{"behind_s", "AGE", COL_DURATION_S, true},
	{"late", "LATE", COL_TEXT, false},
};
static const struct view agent_view = {
	.rows = "agents",
	.columns = agent_columns,
	.n_columns = rw_countof(agent_columns),
	.empty = "no agents",
};

static const struct column job_file_columns[] = {
	{"file", "JOBS FROM", COL_TEXT, false},
	{"jobs", "NAMED", COL_INT, true},
	{"age_s", "AGE", COL_DURATION_S, true},
	{"note", "NOT NAMED", COL_TEXT, false},
};
static const struct view job_file_view = {
	.rows = "job_files",
	.columns = job_file_columns,
	.n_columns = rw_countof(job_file_columns),
	.empty = "no files of a scheduler",
};

/* "   suspect 14", or "   suspect -" where it is not known. */
static void cmd_doctor_put_count(FILE *out, const json_t *object, const char *key, const char *name)
{
	if (json_is_integer(json_object_get(object, key)))
		fprintf(out, "   %s %lld", name, text_count(object, key));
	else
		fprintf(out, "   %s -", name);
}

struct doctor_count {
	const char *key, *name;
};

static void doctor_put_counts(
	FILE *out, const json_t *object, const struct doctor_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cmd_doctor_put_count(out, object, counts[i].key, counts[i].name);
	fputc('\n', out);
}

static double doctor_value(const json_t *object, const char *key, double scale)
{
	return json_number_value(json_object_get(object, key)) / scale;
}

static void doctor_put_quality(FILE *out, const json_t *quality)
{
	static const struct doctor_count counts[] = {
		{"samples", "samples"},
		{"suspect_samples", "suspect"},
		{"late_samples", "late"},
		{"duplicate_samples", "duplicate"},
		{"restart_samples", "after a restart"},
		{"refused_samples", "refused"},
		{"failed_windows", "windows not analysed"},
	};
	fputs("DATA QUALITY", out);
	doctor_put_counts(out, quality, counts, rw_countof(counts));
}

static void doctor_put_traps(FILE *out, const json_t *traps)
{
	static const struct doctor_count counts[] = {
		{"received", "received"},
		{"events", "events"},
		{"informs", "informs"},
		{"unknown_sender", "unknown sender"},
		{"wrong_credential", "wrong credential"},
		{"malformed", "malformed"},
		{"limited", "over the limit"},
		{"unknown_trap", "unknown trap"},
	};
	const char *state = "NOT RECEIVED";
	if (!json_is_object(traps))
		return;
	if (json_is_true(json_object_get(traps, "open")))
		state = "listening";
	fprintf(out, "TRAPS        %s", state);
	doctor_put_counts(out, traps, counts, rw_countof(counts));
}

static void doctor_put_store(FILE *out, const json_t *store)
{
	const char *writer = "writer alive";
	if (json_is_null(json_object_get(store, "writer_pid")))
		writer = "no writer";
	fprintf(out, "STORE       ");
	text_put_age(out, store, "span_s", "holds");
	fprintf(out, "   %.1f MB   WAL %.1f MB", doctor_value(store, "size_bytes", 1e6),
		doctor_value(store, "wal_bytes", 1e6));
	text_put_age(out, store, "last_commit_age_s", "last commit");
	cmd_doctor_put_count(out, store, "pending_samples", "pending");
	cmd_doctor_put_count(out, store, "failed_commits", "failed commits");
	fprintf(out, "   disk %.0f %% free   %s\n", 100 * doctor_value(store, "disk_free_ratio", 1),
		writer);
}

static void doctor_put_process(FILE *out, const json_t *process)
{
	static const struct doctor_count counts[] = {
		{"pipeline_refused", "refused"},
		{"pipeline_duplicates", "duplicates"},
		{"pipeline_late_flows", "late flows"},
		{"store_queue", "store queue"},
	};
	fprintf(out, "PROCESS     ");
	text_put_age(out, process, "up_s", "up");
	if (json_is_number(json_object_get(process, "rss_bytes")))
		fprintf(out, "   memory %.1f MB", doctor_value(process, "rss_bytes", 1e6));
	else
		fputs("   memory -", out);
	fputs("   dropped:", out);
	doctor_put_counts(out, json_object_get(process, "dropped"), counts, rw_countof(counts));
}

/* ---- what each device shows ---------------------------------------------- */

#define COVERAGE_WIDTH 100

/* "cause (no what, no what), " with line breaks before column @width. */
static void coverage_put(FILE *out, const char *head, const json_t *rows)
{
	const json_t *row, *missing;
	size_t i, k, column = 0;
	if (json_array_size(rows) == 0)
		return;
	fprintf(out, "  %-7s", head);
	json_array_foreach (rows, i, row) {
		rw_cleanup(str_done) struct str item = {0};
		str_addf(&item, "%s", text_of(row, "cause"));
		json_array_foreach (json_object_get(row, "missing"), k, missing)
			str_addf(&item, "%s%s%s", k ? "; no " : " (no ", text_of(missing, "what"),
				str_if(json_is_true(json_object_get(missing, "asked")), " *"));
		str_addf(&item, ")%s", str_if(i + 1 < json_array_size(rows), ","));
		if (column > 0 && column + item.n + 10 > COVERAGE_WIDTH) {
			fprintf(out, "\n%9s", "");
			column = 0;
		}
		fprintf(out, " %s", item.s);
		column += item.n + 1;
	}
	fputc('\n', out);
}

static bool coverage_same(const json_t *left, const json_t *right)
{
	return json_equal(json_object_get(left, "delivers"), json_object_get(right, "delivers")) &&
		json_equal(json_object_get(left, "blind"), json_object_get(right, "blind")) &&
		json_equal(json_object_get(left, "weak"), json_object_get(right, "weak"));
}

/* The first device of a kind, with the names of those that are like it. */
static void coverage_put_kind(FILE *out, const json_t *rows, size_t first)
{
	const json_t *row = json_array_get(rows, first), *other;
	size_t i;
	fprintf(out, "COVERAGE     %s", text_of(row, "device"));
	json_array_foreach (rows, i, other)
		if (i > first && coverage_same(row, other))
			fprintf(out, ", %s", text_of(other, "device"));
	const size_t blind = json_array_size(json_object_get(row, "blind"));
	const size_t seen = json_array_size(json_object_get(row, "sees")) +
		json_array_size(json_object_get(row, "weak"));
	if (!json_is_true(json_object_get(row, "delivers"))) {
		fputs(": unknown, nothing was delivered lately\n", out);
		return;
	}
	fprintf(out, ": shows %zu of %zu causes\n", seen, seen + blind);
	coverage_put(out, "blind:", json_object_get(row, "blind"));
	coverage_put(out, "unsure:", json_object_get(row, "weak"));
}

static void doctor_put_coverage(FILE *out, const json_t *rows)
{
	const json_t *row, *before;
	size_t i, k;
	json_array_foreach (rows, i, row) {
		bool told = false;
		json_array_foreach (rows, k, before)
			told = told || (k < i && coverage_same(before, row));
		if (!told)
			coverage_put_kind(out, rows, i);
	}
	if (json_array_size(rows) > 0)
		fputc('\n', out);
}

/* The past: what the agent said of itself then is not kept. */
static void doctor_put_past(FILE *out, const json_t *doc)
{
	rw_cleanup(str_done) struct str age = {0};
	agent_state_text(json_object_get(doc, "agent"), &age);
	fprintf(out,
		"As of %s, %s. What the agent says of itself, and what is to\n"
		"be done, is known for the present only.\n\n",
		when_text(text_of(doc, "time")).s, age.s);
}

static void doctor_put_todo(FILE *out, const json_t *todo, bool color)
{
	const json_t *row;
	size_t i;
	if (json_array_size(todo) == 0) {
		fputs("\nAll good: nothing to do.\n", out);
		return;
	}
	fputs("\nTO DO\n", out);
	json_array_foreach (todo, i, row) {
		const char *severity = "WARNING", *on = "\033[33m";
		if (str_eq(text_of(row, "severity"), "critical")) {
			severity = "CRITICAL";
			on = "\033[31m";
		}
		fprintf(out, "%s%-8s%s  %s: %s\n          -> %s\n", str_if(color, on), severity,
			str_if(color, "\033[0m"), text_of(row, "subject"), text_of(row, "what"),
			text_of(row, "do"));
	}
}

/* How far behind the present the fabric is judged; nothing where another process judges. */
static void doctor_put_judge(FILE *out, const json_t *judge)
{
	char behind[32];
	const json_t *behind_s = json_object_get(judge, "behind_s");
	if (!judge)
		return;
	if (!json_is_number(behind_s))
		fputs("JUDGE        has judged nothing yet\n", out);
	else
		fprintf(out, "JUDGE        judged up to %s, %s ago\n",
			when_text(text_of(judge, "until")).s,
			duration_format(behind, sizeof(behind),
				(int64_t)(json_number_value(behind_s) * 1e9)));
}

static void cmd_doctor_print_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const bool past = json_is_true(json_object_get(json_object_get(doc, "agent"), "past"));
	if (past)
		doctor_put_past(out, doc);
	text_put_table(out, doc, &target_view, color, header);
	fputc('\n', out);
	if (json_array_size(json_object_get(doc, "captures")) > 0) {
		text_put_table(out, doc, &capture_view, color, header);
		fputc('\n', out);
	}
	class_worlds_print(out, json_object_get(doc, "classes"));
	if (json_array_size(json_object_get(doc, "classes")) > 0)
		fputc('\n', out);
	doctor_put_coverage(out, json_object_get(doc, "coverage"));
	if (json_array_size(json_object_get(doc, "job_files")) > 0) {
		text_put_table(out, doc, &job_file_view, color, header);
		fputc('\n', out);
	}
	if (json_array_size(json_object_get(doc, "agents")) > 0) {
		text_put_table(out, doc, &agent_view, color, header);
		doctor_put_judge(out, json_object_get(doc, "judge"));
		fputc('\n', out);
	}
	doctor_put_quality(out, json_object_get(doc, "data_quality"));
	doctor_put_traps(out, json_object_get(doc, "traps"));
	doctor_put_store(out, json_object_get(doc, "store"));
	doctor_put_process(out, json_object_get(doc, "process"));
	if (!past)
		doctor_put_todo(out, json_object_get(doc, "todo"), color);
}

static const struct view view = {
	.title = "Collection",
	.rows = "targets",
	.columns = csv_columns,
	.n_columns = rw_countof(csv_columns),
	.text = cmd_doctor_print_text,
	.empty = "no targets",
};

static int cmd_doctor_run(struct command_args *args)
{
	json_t *doc;
	int code = command_answer(args, doctor_document, &view, &doc);
	if (code == EXIT_OK && json_array_size(json_object_get(doc, "todo")) > 0)
		code = EXIT_FAILED;
	json_decref(doc);
	return code;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "health of the collection, and what to do about it",
	.help = "Exit code: 0 all good, 1 something is to be done (or the command failed), 2 for "
		"bad usage or configuration.\n\n"
		"ASKED/S is the load on the device: values requested per second, answered or not. "
		"MAX-REP is how many rows of a table one answer may hold (SNMP max-repetitions); "
		"it is halved when large answers get lost. MISSED counts polls that were due and "
		"did not happen.\n\n"
		"COVERAGE says which causes a device can show by the counters that it delivered "
		"lately. 'blind': a counter that the cause needs is absent, and absent is never 0; "
		"'unsure': it is seen later or less surely. '*': its profile asks for that "
		"counter, so "
		"the switch does not deliver it, or counting is off there. docs/detectors.md lists "
		"what each cause needs; docs/coverage.md, what each kind of switch tells.\n\n"
		"CLASS says in which congestion world each lossless class lives, each word with "
		"its "
		"source: read back from switches, seen in counters or packets, declared in the "
		"configuration, or assumed because nothing says it. Advice on thresholds and "
		"detectors go by it; what differs between declared and read back is told.\n\n"
		"A capture that saw 0 RoCE packets is never a sign of health. STANDS FOR is the "
		"captured bytes times the sampling, PORT CARRIED is what the counters of the "
		"mirrored port say, both over five minutes.",
	.takes = TAKES_DB | TAKES_AT,
	.formats = WRITES_ALL,
	.examples = {{"doctor", "lists what is wrong with the collection, and the remedy"},
		{"doctor --format json --quiet", "writes the same as a document"}},
	.run = cmd_doctor_run,
};
