/* topology - the graph: found by asking the switches (LLDP), shown, and audited. */
#include "agent/command/command.h"
#include "agent/command/survey.h"
#include "agent/document/paper.h"
#include "agent/document/json_value.h"
#include "agent/modules.h"

#include <sys/stat.h>

#include "agent/answers/topology/topology_document.h"
#include "agent/jobs/slurm.h"
#include "base/log.h"
#include "config/config.h"
#include "config/topology.h"

#define DEADLINE_NS (60 * NS_PER_S)
#define SPAN_NS (15 * 60 * NS_PER_S)

static const struct command_option options[] = {
	{"out", 0, "FILE",
		"write to FILE (replaced as a whole) instead of stdout; export: or both files "
		"into a directory"},
	{"deadline", 0, "DURATION",
		"give devices that are still silent up after this long (default: 60s)"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_topology;

/* ---- discover ------------------------------------------------------------ */

static void print_comments(FILE *out, const struct survey *discover)
{
	char now[WALL_TEXT_MAX];
	size_t answered = 0, disputed = 0;
	for (size_t i = 0; i < discover->n; i++)
		answered += discover->v[i].answered;
	for (size_t i = 0; i < discover->n_links; i++)
		disputed += discover->links[i].problem != NULL;
	fprintf(out,
		"# rocewatch topology discover, %s: %zu of %zu devices answered, %zu links, %zu "
		"disputed (as comments)\n",
		wall_format(now, wall_now(), 0), answered, discover->n,
		discover->n_links - disputed, disputed);
	for (size_t i = 0; i < discover->n; i++) {
		const struct survey_device *x = &discover->v[i];
		if (!x->answered)
			fprintf(out,
				"# %s did not answer: its links are those that its neighbours "
				"report\n",
				x->device->name);
		else if (*x->self.sysname &&
			strncasecmp(x->self.sysname, x->device->name,
				strcspn(x->self.sysname, ".")) != 0)
			fprintf(out, "# %s calls itself %s\n", x->device->name, x->self.sysname);
	}
}

static int print_yaml(FILE *out, void *arg)
{
	const struct survey *d = arg;
	rw_cleanup(freep) char *text = config_text_unlinked(d->config);
	print_comments(out, d);
	fputs(text, out);
	topology_print(out, d->links, d->n_links);
	if (fflush(out) != 0 || ferror(out))
		return -EIO;
	return 0;
}

static int cmd_topology_print_json(FILE *out, void *arg)
{
	const struct survey *d = arg;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *devices = json_array(), *links = json_array();
	for (size_t i = 0; i < d->n; i++) {
		const struct survey_device *x = &d->v[i];
		const char *reason = NULL, *sysname = NULL;
		if (!x->answered)
			reason = x->reason;
		else if (*x->self.sysname)
			sysname = x->self.sysname;
		json_array_append_new(devices,
			json_pack("{s:s, s:s, s:b, s:o, s:o, s:i}", "name", x->device->name, "role",
				device_role_name(x->device->device->role), "answered", x->answered,
				"reason", json_string_or_null(reason), "sysname",
				json_string_or_null(sysname), "neighbors", (int)x->n));
	}
	for (size_t i = 0; i < d->n_links; i++) {
		const struct topology_link *l = &d->links[i];
		const char *peer_port = NULL;
		if (l->b_device)
			peer_port = l->b_port;
		else if (*l->nic)
			peer_port = l->nic;
		json_array_append_new(links,
			json_pack("{s:s, s:s, s:s, s:o, s:b, s:o}", "device", l->a_device, "port",
				l->a_port, "peer", str_or(l->b_device, topology_link_peer(a, l)),
				"peer_port", json_string_or_null(peer_port), "confirmed",
				l->confirmed, "problem", json_string_or_null(l->problem)));
	}
	json_t *doc = json_pack("{s:s, s:o, s:o}", "fabric", d->config->fabric->name, "devices",
		devices, "links", links);
	int r = 0;
	if (json_print(out, doc, JSON_INDENT(2)) < 0 || putc('\n', out) == EOF || fflush(out) != 0)
		r = -EIO;
	json_decref(doc);
	return r;
}

static int config_read(const struct globals *globals, struct config **ret)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	int r = config_load(globals->config_path, CONFIG_FULL, tables, n, ret, &errors);
	for (size_t i = 0; i < errors.n; i++)
		err_print(stderr, &errors.v[i]);
	return r;
}

static int run_discover(struct command_args *args)
{
	const char *out = command_opt(&command_topology, args, "out"),
		   *text = command_opt(&command_topology, args, "deadline");
	int64_t deadline_ns = DEADLINE_NS;
	if (text && (unit_duration(text, &deadline_ns, NULL) < 0 || deadline_ns <= 0))
		return usage_error(&command_topology,
			"--deadline: '%.40s' is not a duration such as 30s", text);
	struct survey d = {0};
	struct config *config = NULL;
	struct err e = {0};
	int code = EXIT_OK;
	if (config_read(args->g, &config) < 0)
		return EXIT_USAGE;
	if (!args->g->verbose)
		log_set_level(LOG_ERROR_); /* what goes wrong is reported once, below */
	if (survey_config(&d, config, deadline_ns, &e) < 0) {
		err_print(stderr, &e);
		code = EXIT_FAILED;
	}
	for (size_t i = 0; i < d.n && code == EXIT_OK; i++)
		if (!d.v[i].answered)
			fprintf(stderr, "rocewatch: %s: %s\n", d.v[i].device->name, d.v[i].reason);
	if (code == EXIT_OK && d.n_answered == 0) {
		fprintf(stderr, "rocewatch: no device answered (%zu asked): nothing to print\n",
			d.n);
		code = EXIT_FAILED;
	}
	if (code == EXIT_OK) {
		int (*print)(FILE *, void *) =
			args->g->format_given && args->g->format == FORMAT_JSON
			? cmd_topology_print_json
			: print_yaml;
		if (out ? file_write(out, print, &d, &e) < 0 : print(stdout, &d) < 0) {
			if (out)
				err_print(stderr, &e);
			code = EXIT_FAILED;
		}
	}
	survey_done(&d);
	config_free(config);
	return code;
}

/* ---- show, check ---------------------------------------------------------- */

/* Without a database (the agent never ran) there is still the configuration to show. */
static int context_or_config(struct client *client, const struct globals *globals, struct err *e)
{
	int r = command_open(client, globals, SPAN_NS, e);
	if (r == 0 || globals->db || r != -ENOENT)
		return r;
	*client = (struct client){0};
	if (config_read(globals, &client->config) < 0)
		return -EINVAL;
	return 0;
}

static int cmd_topology_failed(int rc, const struct err *e)
{
	if (*e->text)
		err_print(stderr, e);
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

/* The audit fails when it finds something. */
static int cmd_topology_show(
	const struct command_args *args, const json_t *doc, const struct view *view, bool audit)
{
	if (report_print(stdout, doc, view, args->g->format, !args->g->no_header,
		    args->g->color == COLOR_ALWAYS) < 0)
		return EXIT_FAILED;
	if (audit && json_array_size(json_object_get(doc, "findings")) > 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int run_view(
	struct command_args *args, topology_make *make, const struct view *view, bool audit)
{
	struct client client;
	struct err e = {0};
	json_t *doc = NULL;
	struct globals globals = *args->g;
	if (globals.around) { /* a state: as it was then */
		globals.until = globals.around;
		globals.around = NULL;
		globals.span = NULL;
	}
	int rc = context_or_config(&client, &globals, &e);
	if (rc < 0)
		return cmd_topology_failed(rc, &e);
	if (!client.history)
		fprintf(stderr,
			"rocewatch: there is no database yet: only what is configured is known\n");
	rc = topology_document(&client, make, &doc, &e);
	client_done(&client);
	if (rc < 0) {
		err_print(stderr, &e);
		return EXIT_FAILED;
	}
	const int code = cmd_topology_show(args, doc, view, audit);
	json_decref(doc);
	return code;
}

/* ---- export --------------------------------------------------------------- */

struct slurm_export {
	const struct fabric *fabric;
	enum slurm_file file;
};

static int cmd_topology_slurm(FILE *out, void *arg)
{
	const struct slurm_export *slurm = arg;
	const int rc = slurm_topology_print(out, slurm->fabric, slurm->file);
	if (rc == 0 && (fflush(out) != 0 || ferror(out)))
		return -EIO;
	return rc;
}

/* One file, named by its end; both into a directory. */
static int cmd_topology_export_to(const struct fabric *fabric, const char *to, struct err *e)
{
	static const char *const names[] = {"topology.yaml", "topology.conf"};
	struct stat st;
	if (stat(to, &st) < 0 || !S_ISDIR(st.st_mode)) {
		struct slurm_export slurm = {fabric, SLURM_YAML};
		if (strlen(to) > 5 && str_eq(to + strlen(to) - 5, ".conf"))
			slurm.file = SLURM_CONF;
		return file_write(to, cmd_topology_slurm, &slurm, e);
	}
	for (size_t k = 0; k < rw_countof(names); k++) {
		rw_cleanup(str_done) struct str path = {0};
		struct slurm_export slurm = {fabric, (enum slurm_file)k};
		str_addf(&path, "%s/%s", to, names[k]);
		const int rc = file_write(path.s, cmd_topology_slurm, &slurm, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int run_export(struct command_args *args)
{
	struct client client;
	struct err e = {0};
	const char *to = command_opt(&command_topology, args, "out");
	if (!str_eq(args->g->other_format, "slurm"))
		return usage_error(&command_topology, "missing --format slurm");
	int rc = context_or_config(&client, args->g, &e);
	if (rc < 0)
		return cmd_topology_failed(rc, &e);
	struct slurm_export slurm = {client.config->fabric, SLURM_YAML};
	if (to)
		rc = cmd_topology_export_to(client.config->fabric, to, &e);
	else
		rc = cmd_topology_slurm(stdout, &slurm);
	client_done(&client);
	if (rc == -ENODATA)
		err_set(&e, rc,
			"no link leads to a host: declare links to host:NAME, or let the agent "
			"discover them");
	if (rc < 0)
		return cmd_topology_failed(rc, &e);
	return EXIT_OK;
}

static int cmd_topology_run_show(struct command_args *args)
{
	return run_view(args, topology_show_json, &topology_show_view, false);
}

static int cmd_topology_run_check(struct command_args *args)
{
	return run_view(args, topology_check_json, &topology_check_view, true);
}

static const struct subcommand subcommands[] = {
	{.name = "discover",
		.summary = "ask the switches for their links (LLDP)",
		.help = "Asks every configured device once (SNMP: LLDP-MIB and IF-MIB) and prints "
			"the configuration with the links it found, which 'config check' accepts. "
			"Links that the devices disagree about are printed as comments. Devices "
			"that do not answer are listed on stderr. Exit 1: no device answered.",
		.options = "out deadline",
		.formats = WRITES_SAID,
		.examples = {{"topology discover --out rocewatch.new.yaml",
				     "writes a configuration with the links found",
				     .not_run = "asks switches"},
			{"topology discover --deadline 20s --format json",
				"prints devices and links as a document",
				.not_run = "asks switches"}},
		.run = run_discover},
	{.name = "show",
		.summary = "the graph in force: devices by tier, links with their state",
		.help = "Each link has its state and its source (declared or discovered). With "
			"'links: discover' these are the links the agent knows.",
		.takes = TAKES_DB | TAKES_AT,
		.formats = WRITES_ALL,
		.examples = {{"topology show", "prints devices and links"},
			{"topology show --format json", "writes the graph as a document"}},
		.run = cmd_topology_run_show},
	{.name = "check",
		.summary = "audit: oversubscription, ECMP width, speed, MTU, PFC",
		.help = "Also missing members, LLDP against the declared links, and system names "
			"against configured names; each finding with a severity and a remedy. "
			"Exit 1: there are findings.",
		.takes = TAKES_DB | TAKES_AT,
		.formats = WRITES_ALL,
		.examples = {{"topology check", "lists what is wrong, with the remedy"},
			{"topology check --format csv", "writes the findings as csv"}},
		.run = cmd_topology_run_check},
	{.name = "export",
		.summary = "the tree of switches for Slurm's topology/tree plugin",
		.help = "--format slurm is required. It writes topology.yaml, or topology.conf "
			"with "
			"--out FILE.conf, or both with --out DIRECTORY. Leaves that serve the same "
			"hosts become one switch, and so do switches above the same leaves.",
		.options = "out",
		.takes = TAKES_DB,
		.other_format = "slurm",
		.examples = {{"topology export --format slurm", "prints topology.yaml"},
			{"topology export --format slurm --out topology.conf",
				"writes topology.conf"}},
		.run = run_export},
	{0},
};

const struct command command_topology = {
	.name = "topology",
	.summary = "the fabric graph: discover, show, check, export",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
};
