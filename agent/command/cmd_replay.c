/*
 * cmd_replay - "rocewatch replay": the analyzers over history or a recorded case again, through the
 * very pipeline of the agent.
 *
 * Everything is read and checked before OUT.db is made, and OUT.db is removed again when anything
 * fails: never a half-applied case.
 */
#include "agent/command/command.h"
#include "agent/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/daemon/resume.h"
#include "agent/reports/incident_view.h"
#include "agent/incident/ledger.h"
#include "agent/daemon/pipeline.h"
#include "agent/daemon/tune_agent.h"
#include "collectors/recorded/replay.h"
#include "collectors/recorded/replay_capture.h"
#include "config/config.h"
#include "db/series/series.h"
#include "db/store/store.h"

static const struct command_option options[] = {
	{"from", 0, "SOURCE",
		"a database, a folder with fabric.yaml and samples.tsv, or a samples.tsv (default: "
		"the configured store)"},
	{"fabric", 0, "FILE",
		"the fabric and options to judge by (default: fabric.yaml beside the samples, or "
		"what the database holds)"},
	{"db", 0, "OUT.db", "keep samples, flows, findings and incidents in this new database"},
	{"set", 0, "KEY=VALUE",
		"another setting, such as analyzers.ecmp_imbalance.warn=30% (may be repeated)"},
	{0},
};

extern const struct command command_replay;

struct replay {
	const struct globals *g;
	const char *from, *fabric, *out;
	bool from_db;
	/* dir: where captures are looked for, NULL = nowhere */
	char *samples_path, *fabric_path, *dir;
	int64_t from_ns, to_ns; /* --since, --until; 0 = all */
	struct config *config;
	struct series_db *db;
	struct entities *entities;
	struct sample_list samples;
	struct flow_list flows;
	struct store *store;
	struct ledger *ledger;
	struct pipeline *pipeline;
	struct history_seen seen;
	bool out_made, usage; /* usage: what is wrong is on the command line */
};

#define AROUND_SPAN_NS (15 * 60 * NS_PER_S) /* as for every command (context.c) */

/* ---- what to read -------------------------------------------------------- */

static bool is_sqlite(const char *path)
{
	/* with its NUL: sqlite.org/fileformat.html section 1.3 */
	static const char magic[16] = "SQLite format 3";
	char head[16];
	rw_cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		memcmp(head, magic, sizeof(magic)) == 0;
}

static char *joined(const char *dir, const char *name)
{
	struct str b = {0};
	str_addf(&b, "%s/%s", dir, name);
	return b.s;
}

static int find_source(struct replay *r, struct err *e)
{
	struct stat st;
	if (stat(r->from, &st) < 0)
		return err_at(e, -errno, r->from, 0, 0, "cannot be read: %s", strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		r->dir = rw_strdup(r->from);
		r->samples_path = joined(r->from, "samples.tsv");
	} else if (is_sqlite(r->from)) {
		r->from_db = true;
		return 0;
	} else {
		char *slash = strrchr(r->from, '/');
		r->dir = slash ? strndup(r->from, slash == r->from ? 1 : (size_t)(slash - r->from))
			       : rw_strdup(".");
		r->samples_path = rw_strdup(r->from);
	}
	r->fabric_path = joined(r->dir, "fabric.yaml");
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

/* The configuration to judge by: --fabric, else -c, else what lies beside the samples or in the
 * database. */
static int read_config(struct replay *r, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	int rc;
	if (r->config)
		return 0; /* read already, to find the store */
	if (r->fabric || (!r->g->config_named && !r->from_db)) {
		const char *path = r->fabric ? r->fabric : r->fabric_path;
		if (access(path, F_OK) < 0)
			return err_at(e, -EINVAL, path, 0, 0,
				"the fabric of the case is not there; name it with --fabric FILE");
		rc = config_load(path, CONFIG_CASE, tables, n, &r->config, &errors);
	} else if (r->g->config_named) {
		rc = config_load(r->g->config_path, CONFIG_FULL, tables, n, &r->config, &errors);
	} else {
		rw_cleanup(freep) char *yaml = NULL;
		rc = series_db_fabric(r->db, r->to_ns ? r->to_ns : INT64_MAX, &yaml, e);
		if (rc == -ENODATA)
			return err_at(e, -EINVAL, r->from, 0, 0,
				"holds no configuration; name one with --fabric FILE");
		if (rc != 0)
			return rc;
		rc = config_parse(yaml, strlen(yaml), "configuration in the database", CONFIG_CASE,
			tables, n, &r->config, &errors);
	}
	return rc == 0 ? 0 : print_errors(&errors, e);
}

static int apply_sets(struct replay *r, const char *const *set, struct err *e)
{
	for (; set && *set; set++) {
		const char *equals = strchr(*set, '=');
		if (!equals)
			return err_set(e, -EINVAL,
				"--set: read '%.100s', expected KEY=VALUE such as "
				"analyzers.ecmp_imbalance.warn=30%%",
				*set);
		rw_cleanup(freep) char *key = strndup(*set, (size_t)(equals - *set));
		struct err why = {0};
		if (config_set(r->config, key, equals + 1, &why) != 0)
			return err_set(e, -EINVAL, "--set %.100s: %s", key, why.text);
	}
	return 0;
}

static int parse_around(struct replay *r, int64_t newest_ns, struct err *e)
{
	int64_t span_ns = AROUND_SPAN_NS;
	struct err why = {0};
	wall_t t;
	if (r->g->since || r->g->until)
		return err_set(
			e, -EINVAL, "--around goes with --span, not with --since or --until");
	if (r->g->span && unit_duration(r->g->span, &span_ns, &why) < 0)
		return err_set(e, -EINVAL, "--span: %s", why.text);
	if (wall_parse(r->g->around, (wall_t){newest_ns}, &t) != 0)
		return err_set(e, -EINVAL,
			"--around: read '%.60s', expected a time such as 2026-11-21T03:00:00Z or "
			"24h",
			r->g->around);
	if (span_ns <= 0 || __builtin_sub_overflow(t.ns, span_ns, &r->from_ns) ||
		__builtin_add_overflow(t.ns, span_ns, &r->to_ns))
		return err_set(e, -EINVAL, "--span: read '%.60s', expected a duration such as 10m",
			r->g->span);
	r->usage = false;
	return 0;
}

static int parse_times(struct replay *r, int64_t newest_ns, struct err *e)
{
	const struct {
		const char *option, *text;
		int64_t *ret;
	} times[] = {
		{"--since", r->g->since, &r->from_ns},
		{"--until", r->g->until, &r->to_ns},
	};
	r->usage = true;
	if (r->g->span && !r->g->around)
		return err_set(e, -EINVAL, "--span goes with --around");
	if (r->g->around)
		return parse_around(r, newest_ns, e);
	for (size_t k = 0; k < rw_countof(times); k++) {
		wall_t t;
		if (!times[k].text)
			continue;
		if (wall_parse(times[k].text, (wall_t){newest_ns}, &t) != 0)
			return err_set(e, -EINVAL,
				"%s: read '%.60s', expected a time such as 2026-11-21T03:00:00Z or "
				"24h",
				times[k].option, times[k].text);
		*times[k].ret = t.ns;
	}
	if (r->from_ns && r->to_ns && r->from_ns >= r->to_ns)
		return err_set(e, -EINVAL, "--since is not before --until");
	r->usage = false;
	return 0;
}

/* Keep only the samples of --since ... --until. */
static void cut(struct replay *r)
{
	size_t n = 0;
	for (size_t k = 0; k < r->samples.n; k++) {
		int64_t t = r->samples.v[k].t_ns;
		if ((!r->from_ns || t >= r->from_ns) && (!r->to_ns || t <= r->to_ns))
			r->samples.v[n++] = r->samples.v[k];
	}
	r->samples.n = n;
}

static bool anything_polled(const struct config *c)
{
	for (size_t k = 0; k < c->n_devices; k++) {
		if (c->devices[k].snmp || c->devices[k].gnmi)
			return true;
	}
	return false;
}

/* Samples of a device that the fabric does not have are kept and judged by nobody: most likely one
 * of the two is misspelt. */
static void warn_unknown_devices(const struct replay *r)
{
	for (uint32_t id = 1; id <= entities_count(r->entities) && !r->g->quiet; id++) {
		const struct entity *e = entity_get(r->entities, id);
		if (e && !*e->port && e->priority == PRIO_NONE &&
			!fabric_device(r->config->fabric, e->device))
			fprintf(stderr,
				"%s: warning: samples of device '%s', which the fabric does not "
				"have: they are not judged\n",
				r->samples_path, e->device);
	}
}

static int read_case(struct replay *r, struct err *e)
{
	int rc = replay_read(r->samples_path, r->entities, &r->samples, e);
	if (rc != 0)
		return rc;
	if (r->samples.n == 0)
		return err_at(e, -ENODATA, r->samples_path, 0, 0, "holds no samples");
	warn_unknown_devices(r);
	rc = parse_times(r, r->samples.v[r->samples.n - 1].t_ns, e);
	if (rc != 0)
		return rc;
	cut(r);
	/* a case says how often it was sampled by its samples; the database keeps it with the
	 * configuration */
	int64_t interval_ns = replay_interval(r->samples.v, r->samples.n);
	if (interval_ns > 0 && !anything_polled(r->config)) {
		char text[32];
		rc = config_set(r->config, "defaults.interval",
			unit_duration_text(text, sizeof(text), interval_ns), e);
		if (rc != 0)
			return rc;
	}
	return replay_captures(r->dir, r->config, r->entities, &r->flows, e);
}

/* ---- running ------------------------------------------------------------- */

static int open_out(struct replay *r, struct err *e)
{
	if (!r->out)
		return 0;
	if (access(r->out, F_OK) == 0)
		return err_at(e, -EEXIST, r->out, 0, 0,
			"exists already; replay writes a new database only");
	struct store_options o = {.path = r->out, .replay = true};
	int rc = store_open(&o, r->entities, &r->store, e);
	r->out_made = rc == 0 || rc != -EBUSY;
	return rc;
}

static int run_pipeline(struct replay *r, struct err *e)
{
	int64_t begin_ns = 0, last_ns = 0;
	if (r->from_db) {
		int rc = series_db_range(r->db, &begin_ns, &last_ns, e);
		if (rc != 0)
			return rc == -ENODATA ? err_at(e, rc, r->from, 0, 0, "holds no samples")
					      : rc;
		if (r->from_ns > begin_ns)
			begin_ns = r->from_ns;
	} else if (r->samples.n) {
		begin_ns = r->samples.v[0].t_ns;
	}
	r->ledger = ledger_new(r->config->fabric, incident_store, r->store);
	r->pipeline = pipeline_new(r->config, r->entities, r->store, r->ledger);
	if (r->store) {
		rw_cleanup(freep) char *yaml = config_text(r->config);
		if (yaml)
			store_fabric(r->store, begin_ns, yaml);
		pipeline_announce(r->pipeline, begin_ns);
	}
	if (r->from_db) {
		int agreed = tune_records_expect(r->db, r->pipeline, e);
		if (agreed != 0)
			return agreed;
		struct history_range range = {
			.from_ns = r->from_ns ? r->from_ns : INT64_MIN, .to_ns = r->to_ns};
		int rc = history_feed(r->db, r->entities, r->pipeline, &range, &r->seen, e);
		if (rc != 0)
			return rc;
	} else {
		pipeline_feed(r->pipeline, r->samples.v, r->samples.n, r->flows.v, r->flows.n);
		r->seen.samples = r->samples.n;
		if (r->samples.n) {
			r->seen.first_ns = r->samples.v[0].t_ns;
			r->seen.last_ns = r->samples.v[r->samples.n - 1].t_ns;
		}
	}
	pipeline_finish(r->pipeline);
	return r->store ? store_flush(r->store, e) : 0;
}

static json_t *document(const struct replay *r)
{
	const struct pipeline_counters *n = pipeline_counters(r->pipeline);
	const struct incident **v;
	json_t *incidents = json_array(), *doc = json_object();
	size_t count = ledger_incidents(r->ledger, &v);
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	for (size_t k = 0; k < count; k++)
		json_array_append_new(incidents, incident_public(v[k]->json));
	bool any = r->seen.samples > 0;
	/* time 0 is a time here: recorded cases begin at 1970-01-01T00:00:00Z */
	json_object_set_new(doc, "from",
		any ? json_string(wall_format(from, (wall_t){r->seen.first_ns}, 3)) : json_null());
	json_object_set_new(doc, "to",
		any ? json_string(wall_format(to, (wall_t){r->seen.last_ns}, 3)) : json_null());
	json_object_set_new(doc, "samples", json_integer((json_int_t)r->seen.samples));
	json_object_set_new(doc, "late", json_integer((json_int_t)n->late));
	json_object_set_new(doc, "duplicates", json_integer((json_int_t)n->duplicates));
	json_object_set_new(doc, "refused", json_integer((json_int_t)n->refused));
	json_object_set_new(doc, "flows", json_integer((json_int_t)n->flows));
	json_object_set_new(doc, "windows", json_integer((json_int_t)n->windows));
	json_object_set_new(doc, "findings", json_integer((json_int_t)n->findings));
	json_object_set_new(doc, "incidents", incidents);
	return doc;
}

static void print_text(FILE *out, const json_t *doc, const struct view *v, bool color, bool header)
{
	const char *from = json_string_value(json_object_get(doc, "from")),
		   *to = json_string_value(json_object_get(doc, "to"));
	if (header && from && to)
		fprintf(out, "%.19sZ to %.19sZ: %lld samples, %lld windows, incidents: %zu\n\n",
			from, to, (long long)json_integer_value(json_object_get(doc, "samples")),
			(long long)json_integer_value(json_object_get(doc, "windows")),
			json_array_size(json_object_get(doc, "incidents")));
	report_print(out, doc, &incident_list_view, FORMAT_TABLE, header, color);
}

static void remove_out(const struct replay *r)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", ".lock"};
	for (size_t k = 0; k < rw_countof(suffixes); k++) {
		rw_cleanup(str_done) struct str name = {0};
		str_addf(&name, "%s%s", r->out, suffixes[k]);
		unlink(name.s);
	}
}

static void replay_done(struct replay *r, int rc)
{
	pipeline_free(r->pipeline);
	ledger_free(r->ledger);
	store_close(r->store);
	if (rc != 0 && r->out_made)
		remove_out(r);
	series_db_close(r->db);
	entities_free(r->entities);
	config_free(r->config);
	free(r->samples.v);
	free(r->flows.v);
	free(r->samples_path);
	free(r->fabric_path);
	free(r->dir);
}

/* *ret_exit is what to end with when this fails. */
static int replay(struct replay *r, const struct command_args *a, int *ret_exit, struct err *e)
{
	*ret_exit = EXIT_USAGE;
	if (!r->from) { /* the configured store */
		rw_cleanup(err_list_done) struct err_list errors = {0};
		size_t n;
		const struct option_table *const *tables = module_tables(&n);
		if (config_load(r->g->config_path, CONFIG_FULL, tables, n, &r->config, &errors) !=
			0)
			return print_errors(&errors, e);
		r->from = r->config->store.path;
	}
	if (!r->from)
		return err_set(
			e, -EINVAL, "expected --from with a database, a folder or a samples.tsv");
	*ret_exit = EXIT_FAILED;
	int rc = find_source(r, e);
	if (rc == 0 && r->from_db)
		rc = series_db_open(r->from, &r->db, e);
	if (rc == 0 && r->from_db) {
		int64_t first_ns, newest_ns = 0;
		rc = series_db_range(r->db, &first_ns, &newest_ns, e);
		rc = rc == -ENODATA ? 0 : rc;
		if (rc == 0) {
			*ret_exit = EXIT_USAGE;
			rc = parse_times(r, newest_ns, e);
		}
	}
	if (rc != 0)
		return rc;
	*ret_exit = EXIT_USAGE;
	rc = read_config(r, e);
	if (rc == 0 && r->from_db) {
		bool configured = r->from == r->config->store.path;
		rc = config_recall(&r->config, r->db, r->to_ns ? r->to_ns : INT64_MAX, e);
		if (configured) /* lent by a configuration that may be gone */
			r->from = r->config->store.path;
	}
	if (rc == 0)
		rc = apply_sets(r, a->set, e);
	if (rc != 0)
		return rc;
	*ret_exit = EXIT_FAILED;
	r->entities = entities_new();
	if (!r->from_db)
		rc = read_case(r, e);
	if (rc == 0)
		rc = open_out(r, e);
	return rc == 0 ? run_pipeline(r, e) : rc;
}

static int run(struct command_args *a)
{
	static const struct view view = {
		.title = "Replay", .rows = "incidents", .text = print_text};
	struct replay r = {.g = a->g,
		.from = command_opt(&command_replay, a, "from"),
		.fabric = command_opt(&command_replay, a, "fabric")};
	struct err e = {0};
	int exit_code;
	r.out = command_opt(&command_replay, a, "db");
	if (!r.out)
		r.out = a->g->db;
	if (a->argc > 1 || (a->argc == 1 && r.from))
		return usage_error(
			&command_replay, "read '%.64s', expected one source", a->argv[a->argc - 1]);
	if (a->argc == 1)
		r.from = a->argv[0];

	int rc = replay(&r, a, &exit_code, &e);
	if (rc == 0) {
		struct view v = view;
		v.columns = incident_list_view.columns;
		v.n_columns = incident_list_view.n_columns;
		v.empty = incident_list_view.empty;
		json_t *doc = document(&r);
		rc = report_print(stdout, doc, &v, a->g->format, !a->g->no_header,
			a->g->color == COLOR_ALWAYS);
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
	return rc == 0 ? EXIT_OK : exit_code;
}

const struct command command_replay = {
	.name = "replay",
	.args = "[--from DB|DIR|samples.tsv]",
	.summary = "run the analyzers over history or a recorded case again",
	.help = "Live and replay are the same code: what was recorded gives the incidents that "
		"were raised. With --set one sees what other settings "
		"would have given. With --db every other command can be asked with --db OUT.db and "
		"no configuration file.\n\n"
		"A case is a folder with fabric.yaml and samples.tsv (time_s device port priority "
		"metric value [flags [window_s]], separated by tabs), and "
		"optionally capture.yaml with capture-NAME.pcap. A line that is not clear refuses "
		"the whole case.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
