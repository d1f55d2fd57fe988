/*
 * cmd_replay - "rocewatch replay": runs the analyzers over history or a recorded case again,
 * through the pipeline of the agent.
 *
 * Everything is read and checked before OUT.db is made. When anything fails later, OUT.db is
 * removed again: it never holds half a case.
 */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/command/command.h"
#include "agent/incident/incident_json.h"
#include "agent/modules.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/incident/incident_view.h"
#include "agent/client/client.h"
#include "agent/daemon/tune_agent.h"
#include "agent/document/quantity.h"
#include "agent/incident/ledger.h"
#include "agent/judge/pipeline.h"
#include "agent/judge/resume.h"
#include "base/process.h"
#include "collectors/recorded/replay.h"
#include "collectors/recorded/replay_capture.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

static const struct command_option replay_options[] = {
	{"from", 0, "SOURCE",
		"a database, a folder with fabric.yaml and samples.tsv, or a samples.tsv (default: "
		"the configured store)"},
	{"fabric", 0, "FILE",
		"the fabric and options to use (default: fabric.yaml beside the samples, or "
		"what the database holds)"},
	{"db", 0, "OUT.db", "keep samples, flows, findings and incidents in this new database"},
	{"set", 0, "KEY=VALUE",
		"change a setting of analyzers, policy, lossless, defaults, cost or tuning, such "
		"as "
		"analyzers.ecmp_imbalance.warn=30% or tuning.min_evidence=5m (may be repeated)"},
	{0},
};

extern const struct command command_replay;

struct replay {
	const struct globals *g;
	const char *from, *fabric, *out;
	bool from_db;
	char *samples_path, *fabric_path;
	char *dir; /* of the captures; NULL = none */
	int64_t from_ns, to_ns; /* --since, --until; 0 = all */
	struct config *config;
	struct history *history;
	struct entities *entities;
	struct sample_list samples;
	struct flow_list flows;
	struct store *store;
	struct ledger *ledger;
	struct pipeline *pipeline;
	struct resume_seen seen;
	bool out_made;
	bool usage; /* the error is on the command line */
};

#define AROUND_SPAN_NS (15 * 60 * NS_PER_S) /* as for every command (agent/client/client.c) */

/* ---- the source ----------------------------------------------------------- */

static bool is_sqlite(const char *path)
{
	/* with its NUL: sqlite.org/fileformat.html section 1.3 */
	static const char magic[16] = "SQLite format 3";
	char head[16];
	rw_cleanup(closep) int fd = str_open_file(path, NULL);
	return fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		memcmp(head, magic, sizeof(magic)) == 0;
}

static char *cmd_replay_joined(const char *dir, const char *name)
{
	struct str b = {0};
	str_addf(&b, "%s/%s", dir, name);
	return b.s;
}

/* directory_of - "." for a name without one; the caller frees. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return rw_strdup(".");
	if (slash == path)
		return rw_strdup("/");
	return strndup(path, (size_t)(slash - path));
}

static int find_source(struct replay *replay, struct err *e)
{
	struct stat st;
	if (stat(replay->from, &st) < 0)
		return err_at(e, -errno, replay->from, 0, 0, "cannot be read: %s", strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		replay->dir = rw_strdup(replay->from);
		replay->samples_path = cmd_replay_joined(replay->from, "samples.tsv");
	} else if (is_sqlite(replay->from)) {
		replay->from_db = true;
		return 0;
	} else {
		replay->dir = directory_of(replay->from);
		replay->samples_path = rw_strdup(replay->from);
	}
	replay->fabric_path = cmd_replay_joined(replay->dir, "fabric.yaml");
	return 0;
}

static int print_errors(const struct err_list *errors, struct err *e)
{
	for (size_t k = 0; k + 1 < errors->n; k++)
		err_print(stderr, &errors->v[k]);
	if (errors->n)
		*e = errors->v[errors->n - 1];
	return -EINVAL;
}

/* until_or_end - the time of the configuration that counts. */
static int64_t until_or_end(const struct replay *replay)
{
	if (replay->to_ns)
		return replay->to_ns;
	return INT64_MAX;
}

/* cmd_replay_read_config - --fabric, else -c, else fabric.yaml beside the samples or the
 * configuration in the database. */
static int cmd_replay_read_config(struct replay *replay, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	int rc;
	if (replay->config)
		return 0; /* read already, to find the store */
	if (replay->fabric || (!replay->g->config_named && !replay->from_db)) {
		const char *path = str_or(replay->fabric, replay->fabric_path);
		rc = path_answers(path, e);
		if (rc < 0)
			return rc;
		if (access(path, F_OK) < 0)
			return err_at(e, -EINVAL, path, 0, 0,
				"file not found; name the fabric of the case with --fabric FILE");
		rc = config_load(path, CONFIG_CASE, tables, n, &replay->config, &errors);
	} else if (replay->g->config_named) {
		rc = config_load(
			replay->g->config_path, CONFIG_FULL, tables, n, &replay->config, &errors);
	} else {
		rw_cleanup(freep) char *yaml = NULL;
		rc = history_fabric_at(replay->history, until_or_end(replay), &yaml, e);
		if (rc == -ENODATA)
			return err_at(e, -EINVAL, replay->from, 0, 0,
				"holds no configuration; name one with --fabric FILE");
		if (rc != 0)
			return rc;
		rc = config_parse(yaml, strlen(yaml), "configuration in the database", CONFIG_CASE,
			tables, n, &replay->config, &errors);
	}
	if (rc == 0)
		return 0;
	return print_errors(&errors, e);
}

static int apply_sets(struct replay *replay, const struct command_args *args, struct err *e)
{
	rw_cleanup(freep) const char **sets = command_opt_all(args, "set");
	for (const char **set = sets; *set; set++) {
		const char *equals = strchr(*set, '=');
		if (!equals)
			return err_set(e, -EINVAL,
				"--set: '%.100s' is not KEY=VALUE, such as "
				"analyzers.ecmp_imbalance.warn=30%%",
				*set);
		rw_cleanup(freep) char *key = strndup(*set, (size_t)(equals - *set));
		struct err why = {0};
		if (config_set(replay->config, key, equals + 1, &why) != 0)
			return err_set(e, -EINVAL, "--set %.100s: %s", key, why.text);
	}
	return 0;
}

static int parse_around(struct replay *replay, int64_t newest_ns, struct err *e)
{
	int64_t span_ns = AROUND_SPAN_NS;
	struct err why = {0};
	wall_t t;
	if (replay->g->since || replay->g->until)
		return err_set(e, -EINVAL,
			"--around cannot be combined with --since or --until; use --span");
	if (replay->g->span && unit_duration(replay->g->span, &span_ns, &why) < 0)
		return err_set(e, -EINVAL, "--span: %s", why.text);
	if (wall_parse(replay->g->around, (wall_t){newest_ns}, &t) != 0)
		return err_set(e, -EINVAL,
			"--around: '%.60s' is not a time; write it as 2026-11-21T03:00:00Z or "
			"24h",
			replay->g->around);
	if (span_ns <= 0 || __builtin_sub_overflow(t.ns, span_ns, &replay->from_ns) ||
		__builtin_add_overflow(t.ns, span_ns, &replay->to_ns))
		return err_set(e, -EINVAL, "--span: '%.60s' is not a duration such as 10m",
			replay->g->span);
	replay->usage = false;
	return 0;
}

static int parse_times(struct replay *replay, int64_t newest_ns, struct err *e)
{
	const struct {
		const char *option, *text;
		int64_t *ret;
	} times[] = {
		{"--since", replay->g->since, &replay->from_ns},
		{"--until", replay->g->until, &replay->to_ns},
	};
	replay->usage = true;
	if (replay->g->span && !replay->g->around)
		return err_set(e, -EINVAL, "--span needs --around");
	if (replay->g->around)
		return parse_around(replay, newest_ns, e);
	for (size_t k = 0; k < rw_countof(times); k++) {
		wall_t t;
		if (!times[k].text)
			continue;
		if (wall_parse(times[k].text, (wall_t){newest_ns}, &t) != 0)
			return err_set(e, -EINVAL,
				"%s: '%.60s' is not a time; write it as 2026-11-21T03:00:00Z or "
				"24h",
				times[k].option, times[k].text);
		*times[k].ret = t.ns;
	}
	if (replay->from_ns && replay->to_ns && replay->from_ns >= replay->to_ns)
		return err_set(e, -EINVAL, "--since is not before --until");
	replay->usage = false;
	return 0;
}

static bool anything_polled(const struct config *config)
{
	for (size_t k = 0; k < config->n_devices; k++) {
		if (config_device_polled(&config->devices[k]))
			return true;
	}
	return false;
}

/* warn_unknown_devices - samples of a device that is not in the fabric are stored, but no analyzer
 * uses them: most likely a name is misspelt. */
static void warn_unknown_devices(const struct replay *replay)
{
	for (uint32_t id = 1; id <= entities_count(replay->entities) && !replay->g->quiet; id++) {
		const struct entity *e = entity_get(replay->entities, id);
		if (e && !*e->port && e->priority == PRIO_NONE &&
			!fabric_device(replay->config->fabric, e->device))
			fprintf(stderr,
				"%s: warning: device '%s' is not in the fabric: its samples are "
				"not analyzed\n",
				replay->samples_path, e->device);
	}
}

static int read_case(struct replay *replay, struct err *e)
{
	int rc = replay_read(replay->samples_path, replay->entities, &replay->samples, e);
	if (rc != 0)
		return rc;
	if (replay->samples.n == 0)
		return err_at(e, -ENODATA, replay->samples_path, 0, 0, "holds no samples");
	warn_unknown_devices(replay);
	rc = parse_times(replay, replay->samples.v[replay->samples.n - 1].t_ns, e);
	if (rc != 0)
		return rc;
	/* Keeps the samples from --since to --until. */
	size_t n = 0;
	for (size_t k = 0; k < replay->samples.n; k++) {
		int64_t t = replay->samples.v[k].t_ns;
		if ((!replay->from_ns || t >= replay->from_ns) &&
			(!replay->to_ns || t <= replay->to_ns))
			replay->samples.v[n++] = replay->samples.v[k];
	}
	replay->samples.n = n;
	/* The sampling interval of a case is that of its samples; a database has it in its
	 * configuration. */
	int64_t interval_ns = replay_interval(replay->samples.v, replay->samples.n);
	if (interval_ns > 0 && !anything_polled(replay->config)) {
		char text[32];
		rc = config_set(replay->config, "defaults.interval",
			unit_duration_text(text, sizeof(text), interval_ns), e);
		if (rc != 0)
			return rc;
	}
	return replay_captures(replay->dir, replay->config, replay->entities, &replay->flows, e);
}

/* ---- running ------------------------------------------------------------- */

static int open_out(struct replay *replay, struct err *e)
{
	if (!replay->out)
		return 0;
	if (access(replay->out, F_OK) == 0)
		return err_at(e, -EEXIST, replay->out, 0, 0,
			"exists already; replay writes a new database only");
	struct store_options o = {.path = replay->out, .replay = true, .recorded = true};
	int rc = db_store_open(&o, replay->entities, &replay->store, e);
	replay->out_made = rc == 0 || rc != -EBUSY;
	return rc;
}

static int run_pipeline(struct replay *replay, struct err *e)
{
	int64_t begin_ns = 0, last_ns = 0;
	if (replay->from_db) {
		int rc = history_range(replay->history, &begin_ns, &last_ns, e);
		if (rc != 0) {
			if (rc == -ENODATA)
				return err_at(e, rc, replay->from, 0, 0, "holds no samples");
			return rc;
		}
		if (replay->from_ns > begin_ns)
			begin_ns = replay->from_ns;
	} else if (replay->samples.n) {
		begin_ns = replay->samples.v[0].t_ns;
	}
	replay->ledger = ledger_new(replay->config->fabric, incident_store, replay->store);
	replay->pipeline =
		pipeline_new(replay->config, replay->entities, replay->store, replay->ledger);
	if (replay->store) {
		rw_cleanup(freep) char *yaml = config_text(replay->config);
		if (yaml)
			store_fabric(replay->store, begin_ns, yaml);
		pipeline_announce(replay->pipeline, begin_ns);
	}
	if (replay->from_db) {
		int agreed = tune_agent_expect_from(replay->history, replay->pipeline, e);
		if (agreed != 0)
			return agreed;
		struct resume_range range = {.from_ns = INT64_MIN, .to_ns = replay->to_ns};
		if (replay->from_ns)
			range.from_ns = replay->from_ns;
		int rc = resume_feed(replay->history, replay->entities, replay->pipeline, &range,
			&replay->seen, e);
		if (rc != 0)
			return rc;
	} else {
		pipeline_feed(replay->pipeline, replay->samples.v, replay->samples.n,
			replay->flows.v, replay->flows.n);
		replay->seen.samples = replay->samples.n;
		if (replay->samples.n) {
			replay->seen.first_ns = replay->samples.v[0].t_ns;
			replay->seen.last_ns = replay->samples.v[replay->samples.n - 1].t_ns;
		}
	}
	pipeline_finish(replay->pipeline);
	if (replay->store)
		return store_flush(replay->store, e);
	return 0;
}

/* seen_time - null without samples. 0 is a time: recorded cases begin at 1970-01-01T00:00:00Z. */
static json_t *seen_time(const struct replay *replay, int64_t t_ns)
{
	char text[WALL_TEXT_MAX];
	if (replay->seen.samples == 0)
		return json_null();
	return json_string(wall_format(text, (wall_t){t_ns}, 3));
}

static json_t *cmd_replay_document(const struct replay *replay)
{
	const struct pipeline_counters *n = pipeline_counters(replay->pipeline);
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct incident **v;
	json_t *incidents = json_array(), *doc = json_object();
	size_t count = ledger_incidents(replay->ledger, &v);
	for (size_t k = 0; k < count; k++) {
		json_t *incident = incident_json(v[k]);
		json_array_append_new(
			incidents, incident_public(replay->config, incident_told(incident, a)));
		json_decref(incident);
	}
	json_object_set_new(doc, "from", seen_time(replay, replay->seen.first_ns));
	json_object_set_new(doc, "to", seen_time(replay, replay->seen.last_ns));
	json_object_set_new(doc, "samples", json_integer((json_int_t)replay->seen.samples));
	json_object_set_new(doc, "late", json_integer((json_int_t)n->late));
	json_object_set_new(doc, "duplicates", json_integer((json_int_t)n->duplicates));
	json_object_set_new(doc, "refused", json_integer((json_int_t)n->refused));
	json_object_set_new(doc, "flows", json_integer((json_int_t)n->flows));
	json_object_set_new(doc, "windows", json_integer((json_int_t)n->windows));
	json_object_set_new(doc, "findings", json_integer((json_int_t)n->findings));
	json_object_set_new(doc, "incidents", incidents);
	return doc;
}

static const struct column found_columns[] = {
	{"id", "ID", COL_TEXT, false},
	{"severity", "SEVERITY", COL_TEXT, false},
	{"state", "STATE", COL_TEXT, false},
	{"opened", "OPENED", COL_TIME, false},
	{"usd_per_hour", "COST/H", COL_USD, true},
	{"headline", "WHAT", COL_TEXT, false},
};
static const struct view found_view = {
	.rows = "incidents",
	.columns = found_columns,
	.n_columns = rw_countof(found_columns),
	.empty = "no incidents",
};

/* One line for each family: {incidents: [...]}; the caller owns it. */
static json_t *cmd_replay_found(const json_t *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *rows = json_array();
	size_t n;
	struct incident_told *told = incidents_told(incidents, a, &n);
	n = incident_families(told, n);
	for (size_t k = 0; k < n; k++) {
		char parts[INCIDENT_PARTS_MAX];
		json_t *row = json_copy((json_t *)told[k].tree);
		json_object_set_new(row, "headline",
			json_sprintf(
				"%s%s", told[k].headline, incident_parts_text(&told[k], parts)));
		json_array_append_new(rows, row);
	}
	return json_pack("{s:o}", "incidents", rows);
}

static void cmd_replay_print_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const char *from = json_string_value(json_object_get(doc, "from")),
		   *to = json_string_value(json_object_get(doc, "to"));
	const json_t *incidents = json_object_get(doc, "incidents");
	if (header && from && to)
		fprintf(out, "%s to %s: %s samples, %s windows, incidents: %zu\n\n",
			when_text(from).s, when_text(to).s,
			number_count((uint64_t)json_integer_value(json_object_get(doc, "samples")))
				.s,
			number_count((uint64_t)json_integer_value(json_object_get(doc, "windows")))
				.s,
			json_array_size(incidents));
	json_t *found = cmd_replay_found(incidents);
	report_print(out, found, &found_view, FORMAT_TABLE, header, color);
	json_decref(found);
}

static void remove_out(const struct replay *replay)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", ".lock"};
	for (size_t k = 0; k < rw_countof(suffixes); k++) {
		rw_cleanup(str_done) struct str name = {0};
		str_addf(&name, "%s%s", replay->out, suffixes[k]);
		unlink(name.s);
	}
}

static void replay_done(struct replay *replay, int rc)
{
	pipeline_free(replay->pipeline);
	ledger_free(replay->ledger);
	store_close(replay->store);
	if (rc != 0 && replay->out_made)
		remove_out(replay);
	history_close(replay->history);
	entities_free(replay->entities);
	config_free(replay->config);
	free(replay->samples.v);
	free(replay->flows.v);
	free(replay->samples_path);
	free(replay->fabric_path);
	free(replay->dir);
}

/* cmd_replay - *ret_exit is the exit code when this fails. */
static int cmd_replay(
	struct replay *replay, const struct command_args *args, int *ret_exit, struct err *e)
{
	*ret_exit = EXIT_USAGE;
	if (!replay->from) { /* the configured store */
		rw_cleanup(err_list_done) struct err_list errors = {0};
		size_t n;
		const struct option_table *const *tables = module_tables(&n);
		if (config_load(replay->g->config_path, CONFIG_FULL, tables, n, &replay->config,
			    &errors) != 0)
			return print_errors(&errors, e);
		replay->from = replay->config->store.path;
	}
	if (!replay->from)
		return err_set(
			e, -EINVAL, "give --from with a database, a folder or a samples.tsv");
	*ret_exit = EXIT_FAILED;
	int rc = find_source(replay, e);
	if (rc == 0 && replay->from_db)
		rc = db_history_open(replay->from, &replay->history, e);
	if (rc == 0 && replay->from_db) {
		int64_t first_ns, newest_ns = 0;
		rc = history_range(replay->history, &first_ns, &newest_ns, e);
		if (rc == -ENODATA)
			rc = 0;
		if (rc == 0) {
			*ret_exit = EXIT_USAGE;
			rc = parse_times(replay, newest_ns, e);
		}
	}
	if (rc != 0)
		return rc;
	*ret_exit = EXIT_USAGE;
	rc = cmd_replay_read_config(replay, e);
	if (rc == 0 && replay->from_db) {
		bool configured = replay->from == replay->config->store.path;
		rc = config_recall(&replay->config, replay->history, until_or_end(replay), e);
		if (configured) /* lent by a configuration that may be gone */
			replay->from = replay->config->store.path;
	}
	if (rc == 0)
		rc = apply_sets(replay, args, e);
	if (rc != 0)
		return rc;
	*ret_exit = EXIT_FAILED;
	replay->entities = entities_new();
	if (!replay->from_db)
		rc = read_case(replay, e);
	if (rc == 0)
		rc = open_out(replay, e);
	if (rc == 0)
		return run_pipeline(replay, e);
	return rc;
}

static int cmd_replay_run(struct command_args *args)
{
	static const struct view view = {
		.title = "Replay", .rows = "incidents", .text = cmd_replay_print_text};
	struct replay r = {.g = args->g,
		.from = command_opt(&command_replay, args, "from"),
		.fabric = command_opt(&command_replay, args, "fabric")};
	struct err e = {0};
	int exit_code;
	r.out = command_opt(&command_replay, args, "db");
	if (!r.out)
		r.out = args->g->db;
	if (args->argc == 1 && r.from)
		return usage_error(&command_replay,
			"unexpected argument '%.64s'; --from names the source", args->argv[0]);
	if (args->argc == 1)
		r.from = args->argv[0];

	int rc = cmd_replay(&r, args, &exit_code, &e);
	if (rc == 0) {
		struct view v = view;
		v.columns = incident_list_view.columns;
		v.n_columns = incident_list_view.n_columns;
		v.empty = incident_list_view.empty;
		json_t *doc = cmd_replay_document(&r);
		rc = report_print(stdout, doc, &v, args->g->format, !args->g->no_header,
			args->g->color == COLOR_ALWAYS);
		json_decref(doc);
		if (rc != 0)
			err_set(&e, rc, "the result could not be written: %s", strerror(-rc));
		exit_code = EXIT_FAILED;
	}
	if (rc != 0 && r.usage)
		exit_code = EXIT_USAGE;
	if (rc != 0)
		err_print(stderr, &e);
	replay_done(&r, rc);
	if (rc == 0)
		return EXIT_OK;
	return exit_code;
}

const struct command command_replay = {
	.name = "replay",
	.args = "[SOURCE]",
	.summary = "run the analyzers over history or a recorded case again",
	.help = "Live and replay are the same code: a recording gives the same incidents again. "
		"--set shows what other settings would have given. With --db, every other command "
		"can read the result with --db OUT.db and needs no configuration file.\n\n"
		"A case is a folder with fabric.yaml and samples.tsv (time_s device port priority "
		"metric value [flags [window_s]], separated by tabs), and "
		"optionally capture.yaml with capture-NAME.pcap. One line with a mistake refuses "
		"the whole case.",
	.options = replay_options,
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_ALL,
	.examples = {{"replay --from storm.case --db again.db",
			     "judges a case again and keeps the result"},
		{"replay --from storm.case --set analyzers.pause_storm.critical=50%",
			"shows what another limit would have found"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_replay_run,
};

/*
 * cmd_lab - "rocewatch lab": starts rocewatch-lab, the simulated fabric. That is an executable of
 * its own, because the product needs nothing of it. This process becomes it by execv().
 */

static const struct command_option lab_options[] = {
	{"dir", 0, "DIR", "directory of the live lab (default: /tmp/rocewatch-lab-UID)"},
	{"device", 0, "GLOB", "only these switches"},
	{"at", 0, "DUR", "the fault begins after this time (default: 20s)"},
	{"out", 0, "DIR", "where to write the case"},
	{"seed", 0, "N", "seed for the places and sizes of faults (default: 1)"},
	{"begin", 0, "TIME", "UTC of the first sample (default: 2026-01-05T00:00:00Z)"},
	{"interval", 0, "DUR", "time between samples (default: 10s)", "record"},
	{"interval", 0, "DUR", "time between polls, in the configuration (default: 1s)", "run"},
	{"for", 0, "DUR", "length (default: that of the scenario)", "record"},
	{"for", 0, "DUR", "stop after this time", "run"},
	{"face", 0, "FACE",
		"only what such a switch answers: nxos, cumulus, eos or sonic by SNMP, or "
		"sonic-gnmi, cumulus-gnmi, openconfig-gnmi. A recording also full, which is its "
		"default; a live lab's is nxos, or eos where ECN marks decide"},
	{"push", 0, NULL,
		"the NICs of all hosts push their counters over OpenTelemetry, as NVIDIA's DTS "
		"names them"},
	{"scrape", 0, NULL,
		"exporters of all hosts show these counters over HTTP, as node_exporter names "
		"them"},
	{"tls", 0, NULL, "gNMI over TLS"},
	{"set", 0, "KEY=VALUE[,...]",
		"with these thresholds instead of the scenario's; leaf2:kmin=200KB is for one "
		"switch, leaf*/hosts:alpha=1/4 for ports to hosts"},
	{"set-at", 0, "DUR", "the thresholds of --set apply from this time on"},
	{"senders", 0, "+N", "N more senders wherever several send to one port"},
	{"load", 0, "FACTOR", "multiplies the bytes of an exchange"},
	{"perturb", 0, "N", "another fabric of the same kind, by seed N"},
	{"cache", 0, "DIR", "keep simulation results here for the next run"},
	{"packets", 0, NULL, "also captures, from mirrors of the leaf's uplinks"},
	{"scenarios", 0, "DIR", "where the scenarios are"},
	{0},
};

/* find_lab - beside our own binary, or in the libexec directory of its installation. */
static bool find_lab(char *path, size_t size)
{
	static const char *const places[] = {"", "/../libexec/rocewatch", "/../lib/rocewatch"};
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return false;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < rw_countof(places); i++)
		if (snprintf(path, size, "%s%s/rocewatch-lab", self, places[i]) < (int)size &&
			access(path, X_OK) == 0)
			return true;
	return false;
}

extern const struct command command_lab;

static int cmd_lab_run(struct command_args *args)
{
	char path[PATH_MAX + 64], *argv[2 * rw_countof(lab_options) + 12] = {path};
	char names[rw_countof(lab_options)][24];
	size_t n = 1;
	if (!find_lab(path, sizeof(path))) {
		fprintf(stderr,
			"rocewatch lab: rocewatch-lab not found beside rocewatch or in "
			"../libexec/rocewatch; it is built with -DRW_LAB=ON\n");
		return EXIT_FAILED;
	}
	for (size_t i = 0; lab_options[i].name; i++) {
		const char *value = command_opt(&command_lab, args, lab_options[i].name);
		const bool other =
			lab_options[i].only && !str_eq(lab_options[i].only, args->sub->name);
		if (!value || other)
			continue;
		snprintf(names[i], sizeof(names[i]), "--%s", lab_options[i].name);
		argv[n++] = names[i];
		if (lab_options[i].arg)
			argv[n++] = (char *)value;
	}
	if (args->g->format_given && args->g->format == FORMAT_JSON)
		argv[n++] = (char *)"--json";
	argv[n++] = (char *)"--";
	for (int i = 0; i < args->argc; i++)
		argv[n++] = args->argv[i];
	argv[n] = NULL;
	execv(path, argv);
	fprintf(stderr, "rocewatch lab: %s: %s\n", path, strerror(errno));
	return EXIT_FAILED;
}

static const struct subcommand lab_subcommands[] = {
	{.name = "list",
		.summary = "the scenarios, each with the cause it shows",
		.options = "scenarios",
		.formats = WRITES_SAID,
		.examples = {{"lab list", "lists the scenarios"},
			{"lab list --format json", "writes them as a document"}},
		.run = cmd_lab_run},
	{.name = "run",
		.args = "SCENARIO",
		.summary = "serve a scenario live, as SNMP or gNMI switches on 127/8",
		.help = "Every switch is an SNMP agent on an address of 127/8 (snmpd must be "
			"installed), or answers gNMI. DIR/rocewatch.yaml is ready for 'rocewatch "
			"agent -c', DIR/truth.json names the fault. It runs until Ctrl-C.",
		.options = "dir at seed interval for face push scrape tls scenarios",
		.examples = {{"lab run pfc-storm --dir lab", "serves a PFC storm below lab/",
				     .not_run = "runs until it is stopped"},
			{"lab run dcqcn-off --dir lab --face sonic-gnmi --for 10m",
				"serves SONiC switches over gNMI for ten minutes",
				.not_run = "takes ten minutes"}},
		.run = cmd_lab_run},
	{.name = "set",
		.args = "KEY=VALUE",
		.summary = "change thresholds of the running lab, or its fault",
		.help = "Keys: kmin, kmax, pmax, alpha, headroom, xon_offset: the exchange is "
			"simulated again and the counters follow. Also fault=on|off and "
			"clock=hold|run.",
		.options = "dir device",
		.examples = {{"lab set fault=off --dir lab", "ends the fault",
				     .not_run = "needs a running lab"},
			{"lab set kmin=400KB --device leaf1 --dir lab", "sets Kmin of one switch",
				.not_run = "needs a running lab"}},
		.run = cmd_lab_run},
	{.name = "show",
		.args = "[counters]",
		.summary = "thresholds and state of the running lab",
		.options = "dir",
		.examples = {{"lab show --dir lab", "prints thresholds and the fault",
				     .not_run = "needs a running lab"},
			{"lab show counters --dir lab", "prints the counters of all ports",
				.not_run = "needs a running lab"}},
		.run = cmd_lab_run},
	{.name = "record",
		.args = "SCENARIO",
		.summary = "write a scenario as a case for replay",
		.help = "A case is samples.tsv, fabric.yaml, and truth.json with the true fault; "
			"'rocewatch replay --from DIR' reads it.",
		.options = "out seed begin interval for face set set-at senders load perturb cache "
			   "packets scenarios",
		.examples = {{"lab record pfc-storm --out recorded", "writes the case"},
			{"lab record healthy --out short --for 5m --face nxos-snmp",
				"writes five minutes with only what NX-OS answers over SNMP"}},
		.run = cmd_lab_run},
	{0},
};

const struct command command_lab = {
	.name = "lab",
	.summary = "a simulated fabric, to try everything without switches",
	.help = "The simulation is an executable of its own, rocewatch-lab, found beside rocewatch "
		"or in ../libexec/rocewatch.",
	.options = lab_options,
	.usage_exit = EXIT_USAGE,
	.subs = lab_subcommands,
};
