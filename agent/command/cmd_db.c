/* cmd_db - "rocewatch db": statistics, copies and recorded cases of the store. */
#include "agent/command/command.h"
#include "agent/document/json_value.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/answers/query/query.h"
#include "agent/client/client.h"
#include "agent/document/quantity.h"
#include "agent/history/case_export.h"
#include "db/clickhouse/ch_rows.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/sqlite/admin.h"

static const struct command_option options[] = {
	{"force", 0, NULL, "write into a directory that already exists"},
	{"metric", 0, "GLOB,...", "with --format csv: only these metrics"},
	{"device", 0, "GLOB", "with --format csv: only these devices"},
	{"port", 0, "GLOB", "with --format csv: only these ports"},
	{"rate", 0, NULL, "with --format csv: counters as rate per second"},
	{"step", 0, "DUR", "with --format csv: one row per step, not per sample"},
	{"agg", 0, "HOW", "with --format csv: what a step becomes, as for query"},
	{"cluster", 0, "NAME", "for a sharded and replicated cluster"},
	{"database", 0, "NAME", "the database (default: rocewatch)"},
	{0},
};

#define MIB 1048576.0
#define LEAST_BYTES 102400 /* smaller tables are left to --format json */

extern const struct command command_db;

/* ---- the file ------------------------------------------------------------- */

/* db_path - --db, else the configured store. With --db no configuration is read: the file must be
 * accessible when its configuration is broken. Without, a configuration with mistakes still says
 * where the store is, as far as it can be read. The caller frees. */
static int db_path(const struct globals *globals, char **ret, struct err *e)
{
	struct client client = {0};
	if (globals->db) {
		*ret = rw_strdup(globals->db);
		return 0;
	}
	int r = client_config_read(&client, globals, e);
	if (r == 0)
		*ret = rw_strdup(client.db_path);
	if (r == 0 && client.config_error && !globals->quiet)
		fprintf(stderr, "%s; the database is %s\n", client.config_error, client.db_path);
	client_done(&client);
	return r;
}

/* ---- stat ---------------------------------------------------------------- */

static const char *stat_text(const json_t *row, const char *key)
{
	return str_or(json_string_value(json_object_get(row, key)), "-");
}

static void stat_print_time(FILE *out, const json_t *row, const char *key)
{
	fprintf(out, " %-20s", when_text(json_string_value(json_object_get(row, key))).s);
}

/* What each tier holds, and what waits in the tail to become blocks. */
static void print_stat_tiers(FILE *out, const json_t *doc, bool header)
{
	const json_t *tiers = json_object_get(doc, "tiers"), *row;
	const json_t *growth = json_object_get(doc, "growth_bytes_day");
	size_t i;

	if (json_is_number(growth))
		fprintf(out, "%-24s %.1f\n", "growth, MB a day", json_number_value(growth) / 1e6);
	if (header && json_array_size(tiers) > 0)
		fprintf(out, "\n%-8s %-20s %-20s %10s %14s %10s %8s\n", "TIER", "FROM", "TO",
			"ROWS", "SAMPLES", "MiB", "B/SAMPLE");
	json_array_foreach (tiers, i, row) {
		const json_t *each = json_object_get(row, "bytes_per_sample");
		fprintf(out, "%-8s", stat_text(row, "tier"));
		stat_print_time(out, row, "from");
		stat_print_time(out, row, "to");
		fprintf(out, " %10" JSON_INTEGER_FORMAT " %14" JSON_INTEGER_FORMAT " %10.1f",
			json_integer_value(json_object_get(row, "rows")),
			json_integer_value(json_object_get(row, "samples")),
			json_number_value(json_object_get(row, "bytes")) / MIB);
		if (json_is_number(each))
			fprintf(out, " %8.3f\n", json_number_value(each));
		else
			fprintf(out, " %8s\n", "-");
	}
}

static void print_stat(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	static const struct {
		const char *key, *title;
	} lines[] = {
		{"path", "file"},
		{"schema_version", "schema version"},
		{"file_bytes", "size, bytes"},
		{"wal_bytes", "write-ahead log, bytes"},
		{"free_bytes", "free inside, bytes"},
		{"writer_pid", "written by pid"},
		{"from", "first sample"},
		{"to", "last sample"},
		{"entities", "entities"},
		{"rows", "rows"},
		{"samples", "samples"},
		{"flows", "flows"},
		{"findings", "findings"},
		{"incidents", "incidents"},
		{"events", "events"},
		{"integrity", "integrity"},
	};

	for (size_t i = 0; i < rw_countof(lines); i++) {
		const json_t *j = json_object_get(doc, lines[i].key);
		if (json_is_string(j))
			fprintf(out, "%-24s %s\n", lines[i].title, json_string_value(j));
		else if (json_is_integer(j))
			fprintf(out, "%-24s %" JSON_INTEGER_FORMAT "\n", lines[i].title,
				json_integer_value(j));
		else
			fprintf(out, "%-24s -\n", lines[i].title);
	}
	print_stat_tiers(out, doc, header);
	const json_t *metrics = json_object_get(doc, "metrics"), *m;
	const json_t *tables = json_object_get(doc, "tables");
	size_t k;
	if (header && json_array_size(tables) > 0)
		fprintf(out, "\n%-32s %16s\n", "TABLE", "MiB");
	json_array_foreach (tables, k, m)
		if (json_number_value(json_object_get(m, "bytes")) >= LEAST_BYTES)
			fprintf(out, "%-32s %16.1f\n",
				json_string_value(json_object_get(m, "table")),
				json_number_value(json_object_get(m, "bytes")) / MIB);
	if (header && json_array_size(metrics) > 0)
		fprintf(out, "\n%-32s %16s\n", "METRIC", "SAMPLES");
	json_array_foreach (metrics, k, m)
		fprintf(out, "%-32s %16" JSON_INTEGER_FORMAT "\n",
			json_string_value(json_object_get(m, "metric")),
			json_integer_value(json_object_get(m, "samples")));
}

static const struct column stat_columns[] = {
	{"metric", "metric", COL_TEXT, false}, {"samples", "samples", COL_INT, true}};
static const struct view stat_view = {
	.title = "Database",
	.rows = "metrics",
	.columns = stat_columns,
	.n_columns = rw_countof(stat_columns),
	.text = print_stat,
	.empty = "no samples",
};

static json_t *cmd_db_time_or_null(const struct db_stat *stat, int64_t t_ns)
{
	/* 0: the agent's own pulse is all there is yet */
	if (stat->samples && t_ns > 0)
		return json_time(t_ns);
	return json_null();
}

static json_t *stat_tier(const char *name, const struct db_stat_tier *tier)
{
	json_t *from = json_null(), *to = json_null(), *each = json_null();
	if (tier->rows > 0) {
		json_decref(from);
		json_decref(to);
		from = json_time(tier->from_ns);
		to = json_time(tier->to_ns);
	}
	if (tier->samples > 0) {
		json_decref(each);
		each = json_real((double)tier->bytes / (double)tier->samples);
	}
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:o}", "tier", name, "from", from, "to",
		to, "rows", (json_int_t)tier->rows, "samples", (json_int_t)tier->samples, "bytes",
		(json_int_t)tier->bytes, "bytes_per_sample", each);
}

static json_t *stat_document(const char *path, const struct db_stat *stat)
{
	json_t *metrics = json_array();
	json_t *writer = json_null();
	if (stat->writer_pid > 0)
		writer = json_integer(stat->writer_pid);
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (stat->by_metric[m] > 0)
			json_array_append_new(metrics,
				json_pack("{s:s, s:I}", "metric", metric_info(m)->name, "samples",
					(json_int_t)stat->by_metric[m]));
	json_t *tables = json_array();
	for (unsigned t = 0; t < stat->n_tables; t++)
		json_array_append_new(tables,
			json_pack("{s:s, s:I}", "table", stat->tables[t].name, "bytes",
				(json_int_t)stat->tables[t].bytes));
	json_t *tiers = json_array(), *growth = json_null();
	for (unsigned t = 0; t < STORE_TIERS; t++)
		json_array_append_new(tiers, stat_tier(store_tier_names[t], &stat->tiers[t]));
	json_array_append_new(tiers, stat_tier("tail", &stat->tail));
	if (isfinite(stat->growth_bytes_day))
		growth = json_real(stat->growth_bytes_day);
	return json_pack("{s:o, s:i, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:s, s:o, s:o, s:o, s:o}",
		"path", json_string_or_null(path), "schema_version", stat->schema_version,
		"file_bytes", (json_int_t)stat->file_bytes, "wal_bytes",
		(json_int_t)stat->wal_bytes, "free_bytes", (json_int_t)stat->free_bytes,
		"writer_pid", writer, "from", cmd_db_time_or_null(stat, stat->first_ns), "to",
		cmd_db_time_or_null(stat, stat->last_ns), "entities", (json_int_t)stat->entities,
		"rows", (json_int_t)stat->rows, "samples", (json_int_t)stat->samples, "flows",
		(json_int_t)stat->flows, "findings", (json_int_t)stat->findings, "incidents",
		(json_int_t)stat->incidents, "events", (json_int_t)stat->events, "integrity",
		stat->check, "metrics", metrics, "tables", tables, "tiers", tiers,
		"growth_bytes_day", growth);
}

static int run_stat(const struct command_args *args, const char *path, struct err *e)
{
	struct db_stat s;
	int r = db_stat_read(path, &s, e);
	if (r < 0)
		return r;
	json_t *doc = stat_document(path, &s);
	r = report_print(stdout, doc, &stat_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (r == 0 && !str_eq(s.check, "ok"))
		return err_set(e, -EBADMSG,
			"%s is damaged: %s; replace it with a copy made by 'rocewatch db backup'",
			path, s.check);
	if (r < 0)
		return err_set(e, r, "the result could not be written");
	return 0;
}

/* ---- backup, vacuum ------------------------------------------------------ */

static int run_backup(const struct command_args *args, const char *path, struct err *e)
{
	int r = db_backup(path, args->argv[1], e);

	if (r < 0)
		return r;
	return command_said(args,
		json_pack("{s:s, s:s, s:s}", "action", "backup", "path", path, "to", args->argv[1]),
		e, "%s copied to %s", path, args->argv[1]);
}

static int run_vacuum(const struct command_args *args, const char *path, struct err *e)
{
	struct stat before = {0}, after = {0};

	stat(path, &before);
	int r = db_vacuum(path, e);
	if (r < 0 || stat(path, &after) < 0)
		return r;
	return command_said(args,
		json_pack("{s:s, s:s, s:I, s:I}", "action", "vacuum", "path", path, "bytes",
			(json_int_t)after.st_size, "before_bytes", (json_int_t)before.st_size),
		e, "%s: %lld bytes, was %lld", path, (long long)after.st_size,
		(long long)before.st_size);
}

/* ---- export -------------------------------------------------------------- */

static int export_time(
	const char *option, const char *text, int64_t now_ns, int64_t *ret, struct err *e)
{
	wall_t t;

	if (!text)
		return 0;
	if (wall_parse(text, (wall_t){now_ns}, &t) < 0)
		return err_set(e, -EINVAL,
			"%s: '%.64s' is not a time; write it as 2026-11-21T03:00:00Z, or 24h "
			"for a day ago",
			option, text);
	*ret = t.ns;
	return 0;
}

static int cmd_db_export_case(const struct command_args *args, const char *path, struct err *e)
{
	const char *dir = args->argv[1];
	struct history *d;
	int64_t first = 0, last = 0;
	uint64_t samples = 0;
	int mode = CASE_NEW;
	if (command_opt(&command_db, args, "force"))
		mode = CASE_OVERWRITE;
	int r = db_history_open(path, &d, e);
	if (r < 0)
		return r;
	r = history_range(d, &first, &last, e);
	if (r == -ENODATA)
		r = err_set(e, r, "%s holds no samples", path);
	/* everything, or --since to --until; a time such as 24h is before the newest sample */
	struct history_filter filter = {
		.priority = HISTORY_ANY_PRIORITY, .from_ns = first, .to_ns = last};
	if (r == 0)
		r = export_time("--since", args->g->since, last, &filter.from_ns, e);
	if (r == 0)
		r = export_time("--until", args->g->until, last, &filter.to_ns, e);
	if (r == 0)
		r = case_export(d, dir, mode, &filter, &samples, e);
	history_close(d);
	if (r == 0 && !args->g->quiet)
		fprintf(stderr, "%" PRIu64 " samples written to %s\n", samples, dir);
	return r;
}

/* ---- export as csv ------------------------------------------------------- */

/* Every metric that @ask lets through, or with --rate every counter. */
static int cmd_db_write_csv(struct client *client, const struct query_ask *ask, FILE *file,
	uint64_t *rows, struct err *e)
{
	struct query_out out = {.format = FORMAT_CSV, .header = true, .file = file};
	errno = 0;
	const int rc = query_run(client, ask, &out, e);
	*rows += out.rows;
	if (rc == -EIO)
		return err_set(
			e, rc, "the rows could not be written: %s", strerror(errno ? errno : EIO));
	return rc;
}

/* One metric into DIR/METRIC.csv; a metric without rows leaves no file. */
static int cmd_db_csv_file(struct client *client, const struct query_ask *ask, const char *dir,
	const char *metric, bool force, uint64_t *rows, struct err *e)
{
	struct query_ask one = *ask;
	char path[PATH_MAX];
	uint64_t n = 0;
	one.metric = metric;
	if (query_check(&one, NULL) < 0)
		return 0; /* --rate of a gauge */
	snprintf(path, sizeof(path), "%s/%s.csv", dir, metric);
	if (!force && access(path, F_OK) == 0)
		return err_at(e, -EEXIST, path, 0, 0, "exists already; --force overwrites it");
	FILE *file = fopen(path, "we");
	if (!file)
		return err_at(e, -errno, path, 0, 0, "cannot be written: %s", strerror(errno));
	int rc = cmd_db_write_csv(client, &one, file, &n, e);
	if (fclose(file) != 0 && rc == 0)
		rc = err_at(e, -errno, path, 0, 0, "cannot be written: %s", strerror(errno));
	if (rc < 0 || n == 0)
		unlink(path);
	*rows += n;
	return rc;
}

static bool cmd_db_metric_named(const char *globs, const char *name)
{
	rw_cleanup(freep) char *words = rw_strdup(str_or(globs, "*"));
	char *save = NULL;
	for (char *word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (str_glob(word, name))
			return true;
	return false;
}

static int cmd_db_csv_files(struct client *client, const struct query_ask *ask, const char *dir,
	bool force, uint64_t *rows, struct err *e)
{
	int rc = 0;
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_at(e, -errno, dir, 0, 0, "cannot be made: %s", strerror(errno));
	for (unsigned m = 0; m < METRIC_COUNT && rc == 0; m++)
		if (cmd_db_metric_named(ask->metric, metric_info(m)->name))
			rc = cmd_db_csv_file(
				client, ask, dir, metric_info(m)->name, force, rows, e);
	return rc;
}

/* The whole of what is kept, unless a range was asked for. */
static int cmd_db_csv_range(struct client *client, struct err *e)
{
	int64_t first_ns, last_ns;
	if (client->range_given)
		return 0;
	const int rc = history_range(client->history, &first_ns, &last_ns, e);
	if (rc < 0)
		return rc;
	client->from_ns = first_ns - 1;
	client->to_ns = last_ns;
	return 0;
}

static int cmd_db_export_csv(const struct command_args *args, struct err *e)
{
	const struct command *c = &command_db;
	struct globals globals = *args->g;
	struct client client;
	uint64_t rows = 0;
	const char *to = args->argv[1];
	const struct query_ask ask = {.metric = str_or(command_opt(c, args, "metric"), "*"),
		.device = command_opt(c, args, "device"),
		.port = command_opt(c, args, "port"),
		.step = command_opt(c, args, "step"),
		.agg = command_opt(c, args, "agg"),
		.rate = command_opt(c, args, "rate") != NULL};
	int rc = query_check(&ask, e);
	if (rc == 0)
		rc = client_open_data(&client, &globals, NS_PER_S, e);
	if (rc < 0)
		return rc;
	rc = cmd_db_csv_range(&client, e);
	if (rc == 0 && str_eq(to, "-"))
		rc = cmd_db_write_csv(&client, &ask, stdout, &rows, e);
	else if (rc == 0)
		rc = cmd_db_csv_files(
			&client, &ask, to, command_opt(c, args, "force") != NULL, &rows, e);
	client_done(&client);
	if (rc == 0 && !args->g->quiet)
		fprintf(stderr, "%" PRIu64 " rows written to %s\n", rows,
			str_eq(to, "-") ? "standard output" : to);
	return rc;
}

static int cmd_db_run_export(const struct command_args *args, const char *path, struct err *e)
{
	if (args->g->format_given && args->g->format == FORMAT_CSV)
		return cmd_db_export_csv(args, e);
	static const char *const csv_only[] = {"metric", "device", "port", "rate", "step", "agg"};
	for (size_t i = 0; i < rw_countof(csv_only); i++)
		if (command_opt(&command_db, args, csv_only[i]))
			return err_set(e, -EINVAL, "--%s needs --format csv", csv_only[i]);
	return cmd_db_export_case(args, path, e);
}

/* ---- clickhouse ------------------------------------------------------------ */

/* A name that stands in statements as it is. */
static bool is_plain_name(const char *name)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
	return *name && name[strspn(name, plain)] == '\0';
}

static int cmd_db_run_clickhouse(struct command_args *args)
{
	const char *cluster = command_opt(&command_db, args, "cluster");
	const char *database = str_or(command_opt(&command_db, args, "database"), "rocewatch");
	rw_cleanup(str_done) struct str sql = {0};
	if (!str_eq(args->argv[1], "schema"))
		return usage_error(
			&command_db, "unknown word '%.64s'; expected schema", args->argv[1]);
	if (!is_plain_name(database) || !is_plain_name(str_or(cluster, "none")))
		return usage_error(&command_db,
			"--cluster and --database: expected letters, digits, '_', '-' and '.'");
	ch_schema(&sql, database, cluster);
	if (fputs(sql.s, stdout) == EOF)
		return EXIT_FAILED;
	return EXIT_OK;
}

/* ---- the command --------------------------------------------------------- */

typedef int db_run_fn(const struct command_args *args, const char *path, struct err *e);

/* @remote: it also works on a database that is not a file. */
static int cmd_db_with_path(struct command_args *args, db_run_fn *run, bool remote)
{
	rw_cleanup(freep) char *path = NULL;
	struct err e = {0};
	int r = db_path(args->g, &path, &e);
	if (r < 0) {
		err_print(stderr, &e);
		return EXIT_USAGE;
	}
	if (strstr(path, "://") && !remote)
		r = err_set(&e, -ENOTSUP,
			"%s works on files; of the database %s only an export can be made",
			args->sub->name, path);
	else
		r = run(args, path, &e);
	if (r == 0)
		return EXIT_OK;
	err_print(stderr, &e);
	if (r == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

static int cmd_db_stat(struct command_args *args)
{
	return cmd_db_with_path(args, run_stat, false);
}

static int cmd_db_backup(struct command_args *args)
{
	return cmd_db_with_path(args, run_backup, false);
}

static int cmd_db_vacuum(struct command_args *args)
{
	return cmd_db_with_path(args, run_vacuum, false);
}

static int cmd_db_export(struct command_args *args)
{
	return cmd_db_with_path(args, cmd_db_run_export, true);
}

static const struct subcommand subcommands[] = {
	{.name = "stat",
		.summary = "size, contents and integrity of the database",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"db stat", "counts samples and checks the file"},
			{"db stat --format json", "writes the same as a document"}},
		.run = cmd_db_stat},
	{.name = "backup",
		.args = "FILE",
		.summary = "a consistent copy, while the agent runs",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"db backup copy1.db", "copies the configured database"},
			{"db backup --db copy.db copy2.db --quiet",
				"copies another one and prints nothing"}},
		.run = cmd_db_backup},
	{.name = "vacuum",
		.summary = "give unused space back; the agent must be stopped",
		.takes = TAKES_DB,
		.formats = WRITES_SAID,
		.examples = {{"db vacuum", "makes the configured database smaller"},
			{"db vacuum --db copy.db --format json", "reports the sizes as JSON"}},
		.run = cmd_db_vacuum},
	{.name = "export",
		.args = "DIR",
		.summary = "a recorded case for replay, or rows as csv",
		.help = "Writes fabric.yaml and samples.tsv, which 'rocewatch replay --from DIR' "
			"reads. An export has no flows of captures: replay these from the "
			"database.\n\n"
			"--format csv writes DIR/METRIC.csv for each metric, or with DIR \"-\" all "
			"rows to standard output: time, device, port, priority, metric, value, "
			"flags, unit; exact, in order of time. Without --since everything that is "
			"kept is written.",
		.options = "force metric device port rate step agg",
		.takes = TAKES_DB | TAKES_SINCE | TAKES_UNTIL,
		.formats = 1 << FORMAT_TABLE | 1 << FORMAT_CSV,
		.examples = {{"db export last-hour --since 1h", "writes the last hour as a case"},
			{"db export - --format csv --metric 'pfc.*' --since 5m",
				"prints five minutes of PFC counters as csv"}},
		.run = cmd_db_export},
	{.name = "clickhouse",
		.args = "schema",
		.summary = "the statements that make the tables of ClickHouse",
		.help = "For store.ship.",
		.options = "cluster database",
		.examples = {{"db clickhouse schema", "prints them for one server"},
			{"db clickhouse schema --cluster prod --database roce",
				"prints them for a cluster"}},
		.run = cmd_db_run_clickhouse},
	{0},
};

const struct command command_db = {
	.name = "db",
	.summary = "the store: contents, backup, export of recorded cases",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
};
