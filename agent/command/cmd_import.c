/* cmd_import - "rocewatch import": what hosts and jobs say about their NICs and collectives, and
 * history that another database has. */
#include "agent/command/command.h"

#include "agent/client/client.h"
#include "agent/import/import_host.h"
#include "agent/incident/silence.h"
#include "agent/import/past.h"
#include "agent/modules.h"
#include "agent/ranks/rank_answer.h"
#include "base/locked.h"
#include "config/config.h"

enum { FILES_MOST = 4096 };
#define IMPORT_TEXT_MAX ((size_t)64 << 20)
#define BELOW 0.9 /* of the median: the rule of thumb for bus bandwidth */

extern const struct command command_import;

static const struct command_option options[] = {
	{"host", 0, "NAME", "whose text it is, where the text does not say so"},
	{"nic", 0, "NAME", "of which NIC, where the text does not say so"},
	{"job-file", 0, "FILE",
		"what runs where: squeue --json or kubectl get pods -A -o json; ranks lie in "
		"blocks on its hosts, in their order"},
	{"job", 0, "NAME", "its job (default: the one with as many GPUs as there are ranks)"},
	{"note", 0, NULL,
		"keep each row's sentence for 'incident show' and 'blame', and the step for "
		"'steps'"},
	{"below", 0, "RATIO", "flag a node below this share of the median (default: 90%)"},
	{"profile", 0, "NAME",
		"what the series mean: snmp_exporter, gnmic, telegraf, rocewatch, a built-in "
		"profile with a section push:, or FILE.yaml"},
	{"out", 0, "DIR", "where the case goes: a new directory, or one that this has begun"},
	{"fabric", 0, "FILE",
		"devices and links, which come into the case (default: the configuration)"},
	{"prefix", 0, "TEXT", "what stands before the names there, such as gnmic_"},
	{"match", 0, "MATCHERS", "only series with these labels, such as 'job=\"snmp\"'"},
	{"user", 0, "NAME", "log in by this name, with --password-file"},
	{"password-file", 0, "FILE", "file that holds the password"},
	{"token-file", 0, "FILE", "file that holds a bearer token"},
	{"ca", 0, "FILE", "authorities that may have signed its certificate"},
	{"rate", 0, "N", "requests a second at most (default: 2)"},
	{"timeout", 0, "DUR", "limit of one request (default: 1m; 20s for RAS in all)"},
	{0},
};

/* Standard input, at most @max bytes. 0 or negative errno. */
static int read_stdin(size_t max, char **ret, size_t *ret_n, struct err *e)
{
	rw_cleanup(str_done) struct str all = {0};
	char part[65536];
	size_t n;
	while ((n = fread(part, 1, sizeof(part), stdin)) > 0) {
		if (all.n + n > max)
			return err_set(
				e, -EFBIG, "standard input is larger than %zu MiB", max >> 20);
		str_addn(&all, part, n);
	}
	if (ferror(stdin))
		return err_set(e, -EIO, "standard input cannot be read: %s", strerror(errno));
	*ret_n = all.n;
	*ret = all.s ? all.s : rw_strdup("");
	all = (struct str){0};
	return 0;
}

static int import_read_file(const char *path, struct import_text *ret, struct err *e)
{
	char *text = NULL;
	size_t n = 0;
	int rc;
	if (str_eq(path, "-"))
		rc = read_stdin(IMPORT_TEXT_MAX, &text, &n, e);
	else
		rc = str_read_file(path, IMPORT_TEXT_MAX, &text, &n, e);
	ret->text = text;
	ret->n = n;
	ret->name = path;
	return rc;
}

/* Prints what the texts say. The exit code, or a negative errno with @e filled. */
static int import_run_kind(const struct command_args *args, const struct import_kind *kind,
	struct import_text *texts, size_t n, double below, struct err *e)
{
	int rc = 0;
	const char *host = command_opt(&command_import, args, "host");
	const char *nic = command_opt(&command_import, args, "nic");
	for (size_t i = 0; i < n && rc == 0; i++) {
		texts[i].host = str_or(host, "");
		texts[i].nic = str_or(nic, "");
		rc = import_read_file(args->argv[i + 1], &texts[i], e);
	}
	if (rc < 0)
		return rc;
	json_t *doc = kind->read(texts, n, below, e);
	if (!doc)
		return -EINVAL;
	rc = command_print(args, doc, kind->view, e);
	if (rc == 0 && kind->gates && json_array_size(import_flagged(doc)))
		rc = EXIT_FAILED;
	json_decref(doc);
	return rc;
}

static const struct import_kind *import_kind_of(const char *name)
{
	for (const struct import_kind *kind = import_kinds; kind->name; kind++)
		if (strcmp(kind->name, name) == 0)
			return kind;
	return NULL;
}

static int cmd_import_run(struct command_args *args)
{
	struct err e = {0};
	double below = BELOW;
	const struct import_kind *kind = import_kind_of(args->sub->name);
	const char *given = command_opt(&command_import, args, "below");
	if (given && (unit_ratio(given, &below, &e) < 0 || !(below > 0 && below <= 1)))
		return usage_error(
			&command_import, "--below: '%.32s' is not a share such as 90%%", given);
	const size_t n = (size_t)args->argc - 1;
	if (n > FILES_MOST)
		return usage_error(&command_import, "more than %d files", FILES_MOST);
	struct import_text *texts = rw_calloc(n, sizeof(*texts));
	const int rc = import_run_kind(args, kind, texts, n, below, &e);
	for (size_t i = 0; i < n; i++)
		free((char *)texts[i].text);
	free(texts);
	if (rc >= 0)
		return rc;
	err_print(stderr, &e);
	return EXIT_FAILED;
}

/* ---- history of another database ------------------------------------------------ */

enum { SECRET_MAX = 16384, RATE_MOST = 1000 };
#define FABRIC_MAX ((size_t)64 << 20)
#define PAST_SPAN_NS (24 * 3600 * NS_PER_S)

/* A secret without the newline behind it; NULL when the option is not given. */
static int past_secret(
	const struct command_args *args, const char *option, const char **ret, struct err *e)
{
	const struct config_secret secret = {
		.from = SECRET_FILE, .name = command_opt(&command_import, args, option)};
	char *text = NULL;
	*ret = NULL;
	if (!secret.name)
		return 0;
	const int rc = secret_read(&secret, &text, e);
	*ret = text;
	return rc;
}

static int past_login(const struct command_args *args, struct past_ask *ask, struct err *e)
{
	ask->username = command_opt(&command_import, args, "user");
	rw_cleanup(freep) char *authorities = NULL;
	size_t n;
	int rc = past_secret(args, "password-file", &ask->password, e);
	if (rc == 0)
		rc = past_secret(args, "token-file", &ask->token, e);
	if (rc == 0 && ask->ca) /* libcurl would wait for a pipe */
		rc = str_read_file(ask->ca, FABRIC_MAX, &authorities, &n, e);
	if (rc == 0 && !ask->username != !ask->password)
		rc = err_set(e, -EINVAL, "--user and --password-file belong together");
	if (rc == 0 && ask->token && ask->username)
		rc = err_set(e, -EINVAL, "give --token-file or --user, not both");
	return rc;
}

/* The address is printed and kept in the case: no log-in may stand in it. */
static int past_address(enum past_api api, const char *url, struct err *e)
{
	const char *host = strstr(url, "://");
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return err_set(e, -EINVAL,
			"the address begins with http:// or https://, such as "
			"http://prometheus:9090");
	if (strpbrk(url, "?#"))
		return err_set(
			e, -EINVAL, "the address ends before the '?': --match selects series");
	if (memchr(host + 3, '@', strcspn(host + 3, "/")))
		return err_set(
			e, -EINVAL, "the address holds a log-in: use --user with --password-file");
	if (api == PAST_INFLUX && !strchr(host + 3, '/'))
		return err_set(e, -EINVAL,
			"the address ends with the database, such as http://influx:8086/telegraf");
	return 0;
}

static int past_time(const char *option, const char *text, wall_t now, int64_t *ret, struct err *e)
{
	wall_t t;
	if (!text)
		return 0;
	if (wall_parse(text, now, &t) < 0)
		return err_set(e, -EINVAL,
			"%s: '%.60s' is not a time; write it as 2026-11-21T03:00:00Z or 24h",
			option, text);
	*ret = t.ns;
	return 0;
}

static int past_limits(const struct command_args *args, struct past_ask *ask, struct err *e)
{
	const wall_t now = wall_now();
	const char *rate = command_opt(&command_import, args, "rate"),
		   *timeout = command_opt(&command_import, args, "timeout");
	struct err why = {0};
	int rc = past_time("--until", args->g->until, now, &ask->to_ns, e);
	if (!args->g->until)
		ask->to_ns = now.ns;
	ask->from_ns = ask->to_ns - PAST_SPAN_NS;
	if (rc == 0)
		rc = past_time("--since", args->g->since, now, &ask->from_ns, e);
	ask->from_ns -= ask->from_ns % NS_PER_MS; /* as exact as these databases are */
	ask->to_ns -= ask->to_ns % NS_PER_MS;
	if (rc == 0 && (ask->from_ns <= 0 || ask->from_ns >= ask->to_ns))
		rc = err_set(e, -EINVAL, "--since is not before --until");
	ask->per_s = PAST_RATE_DEFAULT;
	ask->timeout_ns = PAST_TIMEOUT_DEFAULT_NS;
	if (rc == 0 && rate &&
		(unit_double(rate, &ask->per_s, NULL) < 0 || !(ask->per_s >= 0.01) ||
			ask->per_s > RATE_MOST))
		rc = err_set(e, -EINVAL, "--rate: '%.32s' is no number from 0.01 to %d", rate,
			RATE_MOST);
	if (rc == 0 && timeout && unit_duration(timeout, &ask->timeout_ns, &why) < 0)
		rc = err_set(e, -EINVAL, "--timeout is %s", why.text);
	if (rc == 0 && (ask->timeout_ns < NS_PER_S || ask->timeout_ns > 3600 * NS_PER_S))
		rc = err_set(e, -EINVAL, "--timeout is from 1s to 1h");
	return rc;
}

/* The devices and links that the case is judged by. */
static int past_fabric(
	const struct command_args *args, char **ret_text, struct config **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const char *path =
		str_or(command_opt(&command_import, args, "fabric"), args->g->config_path);
	size_t n, n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	int rc = str_read_file(path, FABRIC_MAX, ret_text, &n, e);
	if (rc < 0)
		return rc;
	rc = config_parse(*ret_text, n, path, CONFIG_CASE, tables, n_tables, ret, &errors);
	if (rc < 0 && errors.n)
		*e = errors.v[0];
	return rc;
}

/* -EINVAL: wrong usage. */
static int past_run(const struct command_args *args, struct past_ask *ask, struct err *e)
{
	rw_cleanup(freep) char *fabric = NULL, *url = rw_strdup(args->argv[1]);
	struct config *config = NULL;
	json_t *doc = NULL;
	size_t n = strlen(url);
	while (n && url[n - 1] == '/')
		url[--n] = '\0';
	ask->url = url;
	int rc = past_address(ask->api, url, e);
	if (rc == 0)
		rc = past_limits(args, ask, e);
	if (rc == 0)
		rc = past_login(args, ask, e);
	if (rc == 0)
		rc = past_fabric(args, &fabric, &config, e);
	ask->fabric_text = fabric;
	ask->config = config;
	if (rc == 0)
		rc = past_import(ask, &doc, e);
	if (rc == 0)
		rc = command_print(args, doc, &past_view, e);
	json_decref(doc);
	config_free(config);
	return rc;
}

static int cmd_import_past(struct command_args *args)
{
	struct err e = {0};
	struct past_ask ask = {.api = past_api_of(args->sub->name),
		.profile = command_opt(&command_import, args, "profile"),
		.prefix = str_or(command_opt(&command_import, args, "prefix"), ""),
		.match = str_or(command_opt(&command_import, args, "match"), ""),
		.out = command_opt(&command_import, args, "out"),
		.ca = command_opt(&command_import, args, "ca")};
	if (!ask.profile)
		return usage_error(&command_import, "--profile says what the series mean");
	if (!ask.out)
		return usage_error(&command_import, "--out DIR says where the case goes");
	curl_io_begin();
	const int rc = past_run(args, &ask, &e);
	locked_free((char *)(uintptr_t)ask.password);
	locked_free((char *)(uintptr_t)ask.token);
	if (rc >= 0)
		return rc;
	err_print(stderr, &e);
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

#define PAST_OPTIONS "profile out fabric prefix match user password-file token-file ca rate timeout"
#define NEEDS_SERVER "asks a server"
#define PAST_HELP                                                                                  \
	"Fetches raw samples from --since (default: a day) to --until and writes DIR, a case for " \
	"'rocewatch replay --from DIR': incidents and prices of a time when nothing of this was "  \
	"deployed. A second start goes on where the first one ended. What no series tells stays "  \
	"unknown, and is said at the end. Nothing is written to the server. docs/past.md has the " \
	"profiles and the limits."
#define PAST_SUBCOMMAND(word, server, more, ...)                                                   \
	{                                                                                          \
		.name = word, .args = "URL",                                                       \
		.summary = "history that " server " has, as a case for replay",                    \
		.help = PAST_HELP more, .options = PAST_OPTIONS,                                   \
		.takes = TAKES_SINCE | TAKES_UNTIL, .formats = WRITES_ALL,                         \
		.examples = {__VA_ARGS__}, .run = cmd_import_past                                  \
	}

/* ---- collectives ------------------------------------------------------------ */

#define RAS_PREFIX "ras:"
enum { RAS_SECONDS = 20, RAS_SECONDS_MOST = 600 };

static int collectives_read_one(
	struct collective_set *set, const char *source, unsigned seconds, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	int rc;
	if (strncmp(source, RAS_PREFIX, strlen(RAS_PREFIX)) == 0)
		rc = collective_ras(source + strlen(RAS_PREFIX), seconds, &text, &n, e);
	else if (str_eq(source, "-"))
		rc = read_stdin(IMPORT_TEXT_MAX, &text, &n, e);
	else
		rc = str_read_file(source, IMPORT_TEXT_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	return collective_read(set, text, n, source, e);
}

/* @t: when it was, by the clocks of hosts, which may be ahead of this one. */
static int collectives_keep(struct client *client, const char *kind, const char *device,
	const char *job, const char *text, wall_t t, struct err *e)
{
	const wall_t now = wall_now();
	if (t.ns == TIME_UNKNOWN.ns || t.ns > now.ns)
		t = now;
	json_t *request = json_pack("{s:s, s:s, s:I, s:s*, s:s*, s:s}", "cmd", "event_add", "kind",
		kind, "t_ns", (json_int_t)t.ns, "device", device, "job", job, "text", text);
	const int rc = command_event_store(client, request, e);
	json_decref(request);
	return rc;
}

static int collectives_note(struct client *client, const struct rank_answer *answer, struct err *e)
{
	rw_cleanup(str_done) struct str step = {0};
	int rc = 0;
	for (size_t i = 0; i < answer->n_rows && rc == 0; i++) {
		const struct rank_row *row = &answer->rows[i];
		rw_cleanup(str_done) struct str host = {0};
		str_addf(&host, "host:%s", str_or(row->host, ""));
		if (row->host)
			rc = collectives_keep(
				client, EVENT_RANK, host.s, NULL, row->text, row->to, e);
	}
	if (rc < 0 || isnan(answer->step_s))
		return rc;
	str_addf(&step, EVENT_STEP_TEXT, answer->step_s, answer->exchange_s, answer->waiting_s);
	return collectives_keep(client, EVENT_STEP, NULL, answer->job, step.s, answer->to, e);
}

static int collectives_tell(struct command_args *args, struct collective_set *set,
	struct client *client, const char *why, struct err *e)
{
	struct rank_answer answer;
	const struct rank_ask ask = {.client = client,
		.client_why = why,
		.job_file = command_opt(&command_import, args, "job-file"),
		.job = command_opt(&command_import, args, "job")};
	int rc = rank_answer_make(set, &ask, &answer, e);
	if (rc == 0 && client && command_opt(&command_import, args, "note"))
		rc = collectives_note(client, &answer, e);
	if (rc < 0)
		return rc;
	json_t *doc = shape_json(&rank_answer_shape, &answer);
	rc = answer_print(stdout, doc, &answer, &rank_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (rc < 0)
		return err_set(e, rc, "the result could not be written: %s", strerror(-rc));
	return 0;
}

/* Without a database that somebody named, the ranks alone are told. */
static int collectives_with_database(
	struct command_args *args, struct collective_set *set, struct err *e)
{
	struct client client = {0};
	struct err why = {0};
	struct client *known = &client;
	int rc = command_open(&client, args->g, 15 * 60 * NS_PER_S, &why);
	if (rc < 0 && (args->g->db || args->g->config_named)) {
		*e = why;
		return rc;
	}
	if (rc < 0)
		known = NULL;
	rc = collectives_tell(args, set, known, why.text, e);
	if (known)
		client_done(&client);
	return rc;
}

static int cmd_import_run_collectives(struct command_args *args)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct collective_set set;
	struct err e = {0};
	int64_t limit_ns = RAS_SECONDS * NS_PER_S;
	const char *given = command_opt(&command_import, args, "timeout");
	if (given &&
		(unit_duration(given, &limit_ns, &e) < 0 || limit_ns < NS_PER_S ||
			limit_ns > RAS_SECONDS_MOST * NS_PER_S))
		return usage_error(&command_import, "--timeout: '%.32s' is not 1s to %ds", given,
			RAS_SECONDS_MOST);
	const unsigned seconds = (unsigned)(limit_ns / NS_PER_S);
	int rc = 0;
	collective_set_init(&set, a);
	for (int i = 1; i < args->argc && rc == 0; i++)
		rc = collectives_read_one(&set, args->argv[i], seconds, &e);
	if (rc == 0)
		rc = collectives_with_database(args, &set, &e);
	collective_set_done(&set);
	if (rc >= 0)
		return EXIT_OK;
	err_print(stderr, &e);
	return EXIT_FAILED;
}

#define STDIN_TOO                                                                                  \
	"FILE is \"-\" for standard input. Lines may carry the tags of pdsh and mpirun. Nothing "  \
	"is "                                                                                      \
	"stored, and no agent is needed."

static const struct subcommand subcommands[] = {
	{.name = "nccl-tests",
		.args = "FILE...",
		.summary = "bus bandwidth of each node, against the median of all",
		.help = "Reads the tables of nccl-tests, one run or many, in one file or several, "
			"and flags nodes below 90 % of the median of runs alike. Run it on each "
			"node, or on pairs: a node counts by the best of its runs. Exits 1 where "
			"one "
			"is flagged. " STDIN_TOO,
		.options = "host below",
		.formats = WRITES_ALL,
		.examples = {{"import nccl-tests node-*.txt",
				     "flags the slow nodes, one file a node", .exit = EXIT_FAILED},
			{"import nccl-tests --below 95% node-*.txt",
				"flags nodes below 95 % of the median", .exit = EXIT_FAILED}},
		.run = cmd_import_run},
	{.name = "nccl-log",
		.args = "FILE...",
		.summary = "which NICs NCCL picked up on each host",
		.help = "Reads NCCL_DEBUG=INFO and shows which NICs NCCL picked up, those that "
			"most "
			"hosts have and one has not, and those that no channel uses. " STDIN_TOO,
		.options = "host",
		.formats = WRITES_ALL,
		.examples = {{"import nccl-log job.log", "lists the NICs of each host"},
			{"import nccl-log - --format json < job.log",
				"writes the same of standard input as a document"}},
		.run = cmd_import_run},
	{.name = "ethtool",
		.args = "FILE...",
		.summary = "counters of NICs: pause, retransmissions, CNPs, PCIe, cable",
		.help = "Reads ethtool -S, ethtool -m, \"grep . "
			"/sys/class/infiniband/*/ports/1/hw_counters/*\" and rdma statistic. Two "
			"readings of a NIC show what grew; one shows counts since the driver was "
			"loaded. " STDIN_TOO
			" NIC counters that shall count in incidents are pushed (push: in the "
			"configuration).",
		.options = "host nic",
		.formats = WRITES_ALL,
		.examples = {{"import ethtool before.txt after.txt --host node-010 --nic eth2",
				     "shows what grew between two readings"},
			{"import ethtool after.txt --host node-010 --nic eth2",
				"shows the counts of one reading"}},
		.run = cmd_import_run},
	PAST_SUBCOMMAND("prometheus", "Prometheus", " Thanos and Mimir answer the same way.",
		{"import prometheus http://p:9090 --profile snmp_exporter --out day",
			"fetches the last day", .not_run = NEEDS_SERVER},
		{"import prometheus http://p:9090 --profile gnmic --since 7d --out w",
			"fetches a week of what gnmic has subscribed to", .not_run = NEEDS_SERVER}),
	PAST_SUBCOMMAND("victoria", "VictoriaMetrics", "",
		{"import victoria http://v:8428 --profile rocewatch --out day",
			"fetches a day that agents have shipped there by remote write",
			.not_run = NEEDS_SERVER},
		{"import victoria http://v:8428 --profile gnmic --since 7d --out w",
			"fetches a week of what gnmic has subscribed to", .not_run = NEEDS_SERVER}),
	PAST_SUBCOMMAND("influx", "InfluxDB",
		" URL ends with the database; --match is a condition of InfluxQL.",
		{"import influx http://i:8086/telegraf --profile telegraf --out day",
			"fetches the last day of what telegraf wrote there",
			.not_run = NEEDS_SERVER},
		{"import influx http://i:8086/db --profile telegraf --since 7d --out w",
			"fetches a week of it", .not_run = NEEDS_SERVER}),
	{.name = "collectives",
		.args = "SOURCE...",
		.summary = "which rank the others waited for, and what its port did then",
		.help = "SOURCE is a file, or ras:HOST[:PORT] for the RAS service of a job that "
			"runs. Files are PyTorch's flight recorder as JSON (format 2, one file a "
			"rank, whose name ends with the rank), logs of NCCL's inspector (format "
			"v4) and what ncclras --format json --verbose prints; several kinds in one "
			"call complete each other. A pickle is code and is refused.\n\n"
			"Clocks of hosts are not trusted: who was late follows from the order of "
			"collectives and from their durations, and is undecided where these do not "
			"tell. With a database, each late rank's port and host are looked up in "
			"its "
			"incidents and counters: what was wrong there, or that the network was "
			"innocent. Nothing is stored but with --note.",
		.options = "job-file job timeout note",
		.takes = TAKES_DB,
		.formats = WRITES_ALL,
		.examples = {{"import collectives inspector.log",
				     "names the ranks that others waited for, and their ports"},
			{"import collectives inspector.log --note",
				"keeps what it finds: incidents and hosts show it"}},
		.run = cmd_import_run_collectives},
	{0},
};

const struct command command_import = {
	.name = "import",
	.summary = "what hosts and jobs say, compared; history of another database, as a case",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
	.sub_kind = "kind",
};
