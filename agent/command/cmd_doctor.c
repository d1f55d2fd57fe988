/* cmd_doctor - "rocewatch doctor": how the collection itself is doing, and what to do about it. */

#include "agent/document/json_value.h"
#include "agent/support/bundle.h"
#include "agent/command/command.h"
#include "agent/answers/doctor/doctor_coverage.h"
#include "agent/document/quantity.h"
#include "agent/answers/common/agent_state.h"
#include "agent/answers/common/class_worlds.h"
#include "agent/answers/doctor/doctor.h"
#include "agent/answers/common/text.h"

#define SHAPE struct doctor_target
static const struct shown target_columns[] = {COLUMN(name, "TARGET"), COLUMN(protocol, "PROTO"),
	COLUMN(status, "STATUS"), COLUMN(age_s, "AGE"), COLUMN(poll_p95_s, "P95"),
	COLUMN(values_per_s, "VALUES/S"), COLUMN(varbinds_per_s, "ASKED/S"),
	COLUMN(missed_polls, "MISSED"), COLUMN(timeouts, "TIMEOUTS"),
	COLUMN(max_repetitions, "MAX-REP")};
static const struct shown csv_columns[] = {PLAIN(name), PLAIN(protocol), PLAIN(address),
	PLAIN(status), PLAIN(state), PLAIN(reason), PLAIN(age_s), PLAIN(interval_s),
	PLAIN(poll_p50_s), PLAIN(poll_p95_s), PLAIN(values_per_s), PLAIN(varbinds_per_s),
	PLAIN(polls), PLAIN(missed_polls), PLAIN(suspect_readings), PLAIN(timeouts), PLAIN(errors),
	PLAIN(max_repetitions), PLAIN(remedy)};
#undef SHAPE
static const struct shape_table target_table = {
	&doctor_target_shape, target_columns, rw_countof(target_columns)};
static const struct shape_table csv_table = {
	&doctor_target_shape, csv_columns, rw_countof(csv_columns)};

static const void *doctor_targets_of(const void *answer, size_t *ret_n)
{
	const struct doctor_answer *doctor = answer;
	*ret_n = doctor->n_targets;
	return doctor->targets;
}

#define SHAPE struct doctor_capture
static const struct shown capture_columns[] = {COLUMN(name, "CAPTURE"), COLUMN(interface, "FROM"),
	COLUMN(sampling, "1 IN"), COLUMN(frames, "FRAMES"), COLUMN(roce_packets, "ROCE"),
	COLUMN(tunneled_packets, "IN TUNNELS"), COLUMN(copies, "COPIES"),
	COLUMN(kernel_drops, "DROPPED"), COLUMN(captured_bytes, "STANDS FOR"),
	COLUMN(expected_bytes, "PORT CARRIED"), COLUMN(notes, "NOTES")};
#undef SHAPE
static const struct shape_table capture_table = {
	&doctor_capture_shape, capture_columns, rw_countof(capture_columns)};

static const void *doctor_captures_of(const void *answer, size_t *ret_n)
{
	const struct doctor_answer *doctor = answer;
	*ret_n = doctor->n_captures;
	return doctor->captures;
}

static const struct view target_view = {
	.table = &target_table,
	.table_rows = doctor_targets_of,
	.empty = "no targets",
};
static const struct view capture_view = {
	.table = &capture_table,
	.table_rows = doctor_captures_of,
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
static void cmd_doctor_put_count(FILE *out, const char *name, uint64_t n)
{
	if (n != COUNT_UNKNOWN)
		fprintf(out, "   %s %" PRIu64, name, n);
	else
		fprintf(out, "   %s -", name);
}

static void doctor_put_age(FILE *out, const char *name, double age_s)
{
	char text[32] = "-";
	if (!isnan(age_s))
		duration_format(text, sizeof(text), (int64_t)(age_s * (double)NS_PER_S));
	fprintf(out, "   %s %s", name, text);
}

/* 0 where it is not known. */
static double doctor_megabytes(uint64_t bytes)
{
	return bytes == COUNT_UNKNOWN ? 0 : (double)bytes / 1e6;
}

static void doctor_put_quality(FILE *out, const struct doctor_quality *quality)
{
	fputs("DATA QUALITY", out);
	cmd_doctor_put_count(out, "samples", quality->samples);
	cmd_doctor_put_count(out, "suspect", quality->suspect_samples);
	cmd_doctor_put_count(out, "late", quality->late_samples);
	cmd_doctor_put_count(out, "duplicate", quality->duplicate_samples);
	cmd_doctor_put_count(out, "after a restart", quality->restart_samples);
	cmd_doctor_put_count(out, "refused", quality->refused_samples);
	cmd_doctor_put_count(out, "windows not analysed", quality->failed_windows);
	fputc('\n', out);
}

static void doctor_put_traps(FILE *out, const struct doctor_traps *traps)
{
	if (!traps)
		return;
	fprintf(out, "TRAPS        %s", traps->open ? "listening" : "NOT RECEIVED");
	cmd_doctor_put_count(out, "received", traps->received);
	cmd_doctor_put_count(out, "events", traps->events);
	cmd_doctor_put_count(out, "informs", traps->informs);
	cmd_doctor_put_count(out, "unknown sender", traps->unknown_sender);
	cmd_doctor_put_count(out, "wrong credential", traps->wrong_credential);
	cmd_doctor_put_count(out, "malformed", traps->malformed);
	cmd_doctor_put_count(out, "over the limit", traps->limited);
	cmd_doctor_put_count(out, "unknown trap", traps->unknown_trap);
	fputc('\n', out);
}

static void doctor_put_store(FILE *out, const struct doctor_store *store)
{
	const char *writer = "writer alive";
	double free_ratio = store->disk_free_ratio;
	if (store->writer_pid == COUNT_UNKNOWN)
		writer = "no writer";
	if (isnan(free_ratio))
		free_ratio = 0;
	fprintf(out, "STORE       ");
	doctor_put_age(out, "holds", store->span_s);
	fprintf(out, "   %.1f MB   WAL %.1f MB", doctor_megabytes(store->size_bytes),
		doctor_megabytes(store->wal_bytes));
	doctor_put_age(out, "last commit", store->last_commit_age_s);
	cmd_doctor_put_count(out, "pending", store->pending_samples);
	cmd_doctor_put_count(out, "failed commits", store->failed_commits);
	fprintf(out, "   disk %.0f %% free   %s\n", 100 * free_ratio, writer);
}

static void doctor_put_process(FILE *out, const struct doctor_process *process)
{
	const struct doctor_dropped *dropped = &process->dropped;
	fprintf(out, "PROCESS     ");
	doctor_put_age(out, "up", process->up_s);
	if (process->rss_bytes != COUNT_UNKNOWN)
		fprintf(out, "   memory %.1f MB", doctor_megabytes(process->rss_bytes));
	else
		fputs("   memory -", out);
	fputs("   dropped:", out);
	cmd_doctor_put_count(out, "refused", dropped->pipeline_refused);
	cmd_doctor_put_count(out, "duplicates", dropped->pipeline_duplicates);
	cmd_doctor_put_count(out, "late flows", dropped->pipeline_late_flows);
	cmd_doctor_put_count(out, "store queue", dropped->store_queue);
	fputc('\n', out);
}

/* Is the fabric well? As every face tells it: what follows is about the collection. */
static void doctor_put_verdict(FILE *out, const struct doctor_answer *doctor)
{
	rw_cleanup(str_done) struct str line = {0};
	verdict_line(&line, doctor->verdict.state, doctor->verdict.why);
	fputs("FABRIC       ", out);
	text_put(out, line.s);
	fputs("\n\n", out);
}

/* The past: what the agent said of itself then is not kept. */
static void doctor_put_past(FILE *out, const struct doctor_answer *doctor)
{
	rw_cleanup(str_done) struct str age = {0};
	agent_state_text(&doctor->agent, &age);
	fprintf(out,
		"As of %s, %s. What the agent says of itself, and what is to\n"
		"be done, is known for the present only.\n\n",
		when_text(text_of(doctor->doc, "time")).s, age.s);
}

static void doctor_put_todo(FILE *out, const struct doctor_answer *doctor, bool color)
{
	if (doctor->n_todo == 0) {
		fputs("\nThe collection is well: nothing to do.\n", out);
		return;
	}
	fputs("\nTO DO\n", out);
	for (size_t i = 0; i < doctor->n_todo; i++) {
		const struct store_alarm *row = &doctor->todo[i];
		const char *severity = "WARNING", *on = "\033[33m";
		if (str_eq(row->severity, "critical")) {
			severity = "CRITICAL";
			on = "\033[31m";
		}
		fprintf(out, "%s%-8s%s  %s: %s\n          -> %s\n", str_if(color, on), severity,
			str_if(color, "\033[0m"), text_or_dash(row->subject),
			text_or_dash(row->what), text_or_dash(row->remedy));
	}
}

/* How far behind the present the fabric is judged; nothing where another process judges. */
static void doctor_put_judge(FILE *out, const struct doctor_judge *judge)
{
	char behind[32], until[WALL_TEXT_MAX];
	if (!judge)
		return;
	if (isnan(judge->behind_s))
		fputs("JUDGE        has judged nothing yet\n", out);
	else
		fprintf(out, "JUDGE        judged up to %s, %s ago\n",
			wall_text(until, judge->until, 0),
			duration_format(behind, sizeof(behind), (int64_t)(judge->behind_s * 1e9)));
}

/* ---- notes ----------------------------------------------------------------- */

#define DOCTOR_NOTE_BETWEEN "; "
#define DOCTOR_NOTE_NAMES 6

struct doctor_note {
	const char *text;
	const char *names[DOCTOR_NOTE_NAMES]; /* of targets */
	size_t n_names; /* also of those beyond */
};

struct doctor_notes {
	struct arena *arena;
	struct doctor_note *v;
	size_t n, cap;
};

/* notes_take - the notes of @target, those that are there already with one name more. */
static void notes_take(struct doctor_notes *notes, const struct doctor_target *target)
{
	rw_cleanup(str_done) struct str address = {0};
	str_addf(&address, "%s: ", str_or(target->address, ""));
	char *rest = arena_strdup(notes->arena, str_or(target->notes, ""));
	while (*rest) {
		char *text = rest, *end = strstr(rest, DOCTOR_NOTE_BETWEEN);
		rest += end ? (size_t)(end - rest) + strlen(DOCTOR_NOTE_BETWEEN) : strlen(rest);
		if (end)
			*end = '\0';
		if (strncmp(text, address.s, address.n) == 0)
			text += address.n;
		size_t i = 0;
		while (i < notes->n && strcmp(notes->v[i].text, text) != 0)
			i++;
		rw_grow(notes->v, notes->n, notes->cap);
		if (i == notes->n)
			notes->v[notes->n++] = (struct doctor_note){.text = text};
		struct doctor_note *note = &notes->v[i];
		if (note->n_names < DOCTOR_NOTE_NAMES)
			note->names[note->n_names] = target->name;
		note->n_names++;
	}
}

/* What stands out of targets, each once, and of which. */
static void doctor_put_notes(FILE *out, const struct doctor_answer *doctor)
{
	struct doctor_notes notes = {.arena = arena_new()};
	for (size_t i = 0; i < doctor->n_targets; i++)
		notes_take(&notes, &doctor->targets[i]);
	for (size_t i = 0; i < notes.n; i++) {
		const struct doctor_note *note = &notes.v[i];
		fprintf(out, "%-6s%s\n       ", i ? "" : "NOTES", note->text);
		for (size_t k = 0; k < note->n_names && k < DOCTOR_NOTE_NAMES; k++)
			fprintf(out, "%s%s", str_if(k, ", "), note->names[k]);
		if (note->n_names > DOCTOR_NOTE_NAMES)
			fprintf(out, " and %zu more", note->n_names - DOCTOR_NOTE_NAMES);
		fputc('\n', out);
	}
	if (notes.n > 0)
		fputc('\n', out);
	free(notes.v);
	arena_free(notes.arena);
}

static void cmd_doctor_print_text(
	FILE *out, const void *answer, const struct view *layout, bool color, bool header)
{
	const struct doctor_answer *doctor = answer;
	const json_t *doc = doctor->doc;
	const bool past = doctor->agent.past;
	doctor_put_verdict(out, doctor);
	if (past)
		doctor_put_past(out, doctor);
	answer_print(out, NULL, doctor, &target_view, FORMAT_TABLE, header, color);
	fputc('\n', out);
	doctor_put_notes(out, doctor);
	if (doctor->n_captures > 0) {
		answer_print(out, NULL, doctor, &capture_view, FORMAT_TABLE, header, color);
		fputc('\n', out);
	}
	class_worlds_print(out, doctor->classes, doctor->n_classes);
	if (doctor->n_classes > 0)
		fputc('\n', out);
	coverage_print(out, doctor);
	if (json_array_size(json_object_get(doc, "job_files")) > 0) {
		text_put_table(out, doc, &job_file_view, color, header);
		fputc('\n', out);
	}
	if (json_array_size(json_object_get(doc, "agents")) > 0) {
		text_put_table(out, doc, &agent_view, color, header);
		doctor_put_judge(out, doctor->judge);
		fputc('\n', out);
	}
	doctor_put_quality(out, &doctor->data_quality);
	doctor_put_traps(out, doctor->traps);
	doctor_put_store(out, &doctor->store);
	doctor_put_process(out, &doctor->process);
	if (!past)
		doctor_put_todo(out, doctor, color);
}

static const struct view view = {
	.title = "Collection",
	.table = &csv_table,
	.table_rows = doctor_targets_of,
	.answer_text = cmd_doctor_print_text,
	.empty = "no targets",
};

static int cmd_doctor_read(struct client *client, struct arena *a, void *ret, struct err *e)
{
	return doctor_read(client, a, ret, e);
}

static json_t *cmd_doctor_json(const void *answer)
{
	return ((const struct doctor_answer *)answer)->doc;
}

static int cmd_doctor_code(const void *answer)
{
	return ((const struct doctor_answer *)answer)->n_todo > 0 ? EXIT_FAILED : EXIT_OK;
}

static int cmd_doctor_run(struct command_args *args)
{
	static const struct command_told told = {
		sizeof(struct doctor_answer), cmd_doctor_read, cmd_doctor_json, cmd_doctor_code};
	return command_tell(args, &told, &view);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "health of the collection, and what to do about it",
	.help = "FABRIC is the state and the sentence of `status`; all else is about the "
		"collection.\n\n"
		"Exit code: 0 nothing to do, 1 something is to be done (or the command failed), 2 "
		"for "
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

/* cmd_support_bundle - one file with what a maintainer needs to reproduce a problem. */

extern const struct command command_support_bundle;

#define AROUND_NS (15 * 60 * NS_PER_S)

static const struct command_option support_bundle_options[] = {
	{"out", 0, "FILE", "where to write the bundle (.tar.gz); it must not exist"},
	{"incident", 0, "ID", "the case is of this incident, instead of the last hour"},
	{"anonymize", 0, NULL, "replace IP addresses, each always by the same one"},
	{"profile-test", 0, "DEVICE",
		"also ask this device what it answers, as 'profile test' does; may be repeated"},
	{"add", 0, "FILE", "also put in this text, with its secrets masked; may be repeated"},
	{"unit", 0, "NAME", "the systemd unit whose journal is read; rocewatch.service"},
	{"dry-run", 0, NULL, "only list what would go in"},
	{0},
};

static const struct column plan_columns[] = {
	{"name", "FILE", COL_TEXT, false},
	{"what", "WHAT", COL_TEXT, false},
	{"from", "FROM", COL_TEXT, false},
};
static const struct view plan_view = {
	.title = "Support bundle",
	.rows = "parts",
	.columns = plan_columns,
	.n_columns = rw_countof(plan_columns),
	.empty = "nothing",
};

/* --around T is T +- --span. 0, or -EINVAL after the mistake was printed. */
static int support_range(const struct globals *g, char since[WALL_TEXT_MAX],
	char until[WALL_TEXT_MAX], struct bundle_ask *ask)
{
	int64_t span_ns = AROUND_NS;
	wall_t t;
	struct err e = {0};
	ask->since = g->since;
	ask->until = g->until;
	if (g->until && !g->since)
		return usage_error(&command_support_bundle, "--until needs --since");
	if (!g->around)
		return 0;
	if (wall_parse(g->around, wall_now(), &t) != 0)
		return usage_error(
			&command_support_bundle, "--around: '%.60s' is not a time", g->around);
	if (g->span && unit_duration(g->span, &span_ns, &e) != 0)
		return usage_error(&command_support_bundle, "--span: %s", e.text);
	ask->since = wall_format(since, (wall_t){t.ns - span_ns}, 3);
	ask->until = wall_format(until, (wall_t){t.ns + span_ns}, 3);
	return 0;
}

static void support_say(const char *path, const json_t *manifest, bool quiet)
{
	const json_t *missing = json_object_get(manifest, "missing"), *row;
	size_t i;
	json_array_foreach (missing, i, row)
		if (!quiet)
			fprintf(stderr, "missing: %s: %s\n", doc_word(row, "name"),
				doc_word(row, "why"));
	if (!quiet)
		fprintf(stderr,
			"%s: %zu files, %lld places masked; look through it before you send it\n",
			path, json_array_size(json_object_get(manifest, "files")) + 1,
			(long long)json_integer_value(json_object_get(manifest, "masked")));
}

static int support_write(struct command_args *args, const char *path, const struct bundle_ask *ask)
{
	struct err e = {0};
	json_t *manifest = NULL;
	int rc = bundle_write(path, ask, &manifest, &e);
	if (rc == 0) {
		support_say(path, manifest, args->g->quiet);
		if (args->g->format == FORMAT_JSON)
			rc = command_print(args, manifest, &plan_view, &e);
	}
	json_decref(manifest);
	if (rc == 0)
		return EXIT_OK;
	err_print(stderr, &e);
	return EXIT_FAILED;
}

static int cmd_support_bundle_run(struct command_args *args)
{
	const struct command *command = &command_support_bundle;
	const struct globals *g = args->g;
	char since[WALL_TEXT_MAX], until[WALL_TEXT_MAX];
	const char *path = command_opt(command, args, "out"),
		   *unit = command_opt(command, args, "unit");
	rw_cleanup(freep) const char **devices = command_opt_all(args, "profile-test");
	rw_cleanup(freep) const char **added = command_opt_all(args, "add");
	struct bundle_ask ask = {
		.config = g->config_named ? g->config_path : NULL,
		.db = g->db,
		.incident = command_opt(command, args, "incident"),
		.unit = str_or(unit, "rocewatch.service"),
		.devices = devices,
		.added = added,
		.anonymize = command_opt(command, args, "anonymize") != NULL,
	};
	const int wrong = support_range(g, since, until, &ask);
	if (wrong != 0)
		return wrong;
	if (command_opt(command, args, "dry-run")) {
		struct err e = {0};
		json_t *plan = bundle_plan(&ask);
		const int rc = command_print(args, plan, &plan_view, &e);
		json_decref(plan);
		if (rc != 0)
			err_print(stderr, &e);
		return rc == 0 ? EXIT_OK : EXIT_FAILED;
	}
	if (!path)
		return usage_error(command, "missing --out FILE");
	return support_write(args, path, &ask);
}

const struct command command_support_bundle = {
	.name = "support-bundle",
	.summary = "what a maintainer needs to reproduce a problem; no secrets",
	.help = "Writes one archive (.tar.gz, mode 0600): version, configuration, status, doctor, "
		"incidents and their cards, events, log, facts of the database and of the machine, "
		"and the samples of the last hour as a case that 'rocewatch replay --from case' "
		"reads. README.md in it says what each file is; manifest.json has their "
		"SHA-256.\n\n"
		"Secrets are replaced by MASKED: the contents of all files, variables and "
		"credentials that the configuration names, private keys, log-ins and tokens in "
		"addresses, also in base64. Look through it all the same before you send it.\n\n"
		"It works with the agent stopped, with a broken configuration and without a "
		"database: what cannot be had is listed as missing. It takes two minutes at most.",
	.options = support_bundle_options,
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_SAID,
	.examples = {{"support-bundle --out bundle.tar.gz --anonymize",
			     "writes the bundle, IP addresses replaced"},
		{"support-bundle --dry-run", "lists what would go in"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_support_bundle_run,
};
