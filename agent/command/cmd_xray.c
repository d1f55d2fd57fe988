/* cmd_xray - "rocewatch xray": the hash of switches learned from samples, where flows go, and
 * source ports that spread them. */

#include "agent/client/client.h"
#include "agent/command/command.h"
#include "agent/xray/xray_answer.h"
#include "config/config.h"

#define XRAY_SPAN_NS (24 * 3600 * NS_PER_S)

extern const struct command command_xray;

static const struct command_option options[] = {
	{"device", 0, "GLOB", "only samples of these switches"},
	{"members", 0, "GLOB", "only samples with these members: the uplinks, for instance"},
	{"links", 0, "FILE",
		"csv with the switch behind each member: device, member, next; with several "
		"groups of a switch also group, next_group"},
	{"flows", 0, "FILE",
		"csv with the flows that are asked about: src, dst, src_port; also device, group, "
		"dst_port, protocol, dst_qp, weight"},
	{"ports", 0, "LOW-HIGH", "source ports that may be prescribed (default: 49152-65535)"},
	{"goal", 0, "RATIO", "max/mean-1 that is good enough (default: 2%)"},
	{NULL, 0, NULL, NULL},
};

/* A file that may say whose samples it holds: "DEVICE:MEMBER=FILE". */
static int read_samples(struct xray_set *set, const char *word, struct err *e)
{
	rw_cleanup(freep) char *names = NULL, *text = NULL;
	const char *path = word, *equals = strchr(word, '='), *device = NULL, *member = NULL;
	size_t n;
	if (equals && memchr(word, ':', (size_t)(equals - word))) {
		names = rw_strdup(word);
		names[equals - word] = '\0';
		path = equals + 1;
		member = strrchr(names, ':') + 1;
		names[member - names - 1] = '\0';
		device = names;
	}
	int rc = str_read_file(path, XRAY_FILE_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	if (xray_is_capture(text, n))
		return xray_capture(set, path, device, member, e);
	if (device)
		return err_at(e, -EINVAL, path, 0, 0,
			"not a capture: a csv file names device and member itself");
	return xray_csv_samples(set, text, n, path, e);
}

static int read_database(struct xray_set *set, const struct command_args *args, struct err *e)
{
	struct client client = {0};
	int rc = command_open(&client, args->g, XRAY_SPAN_NS, e);
	if (rc == 0)
		rc = xray_history(set, client.history, client.config->fabric, client.from_ns,
			client.to_ns, e);
	client_done(&client);
	return rc;
}

static int read_option(struct xray_set *set, const struct command_args *args, const char *option,
	int (*read)(
		struct xray_set *set, const char *text, size_t n, const char *name, struct err *e),
	struct err *e)
{
	const char *path = command_opt(&command_xray, args, option);
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	if (!path)
		return 0;
	const int rc = str_read_file(path, XRAY_FILE_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	return read(set, text, n, path, e);
}

static int read_all(struct xray_set *set, const struct command_args *args, struct err *e)
{
	int rc = 0;
	set->devices = command_opt(&command_xray, args, "device");
	set->members = command_opt(&command_xray, args, "members");
	if (args->argc < 2)
		rc = read_database(set, args, e);
	for (int i = 1; i < args->argc && rc == 0; i++)
		rc = read_samples(set, args->argv[i], e);
	if (rc == 0)
		rc = read_option(set, args, "links", xray_csv_links, e);
	if (rc == 0)
		rc = read_option(set, args, "flows", xray_csv_flows, e);
	if (rc == 0 && set->n_units == 0)
		rc = err_set(e, -EINVAL,
			"no RoCEv2 packet with the member it left by was found in the samples");
	if (rc == 0)
		rc = xray_learn_all(set, e);
	return rc;
}

static int print(const struct command_args *args, const struct shape *shape, const void *answer,
	const struct view *view)
{
	json_t *doc = shape_json(shape, answer);
	const int rc = answer_print(stdout, doc, answer, view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	return rc;
}

static int refuse(const struct err *e)
{
	err_print(stderr, e);
	return EXIT_USAGE;
}

static int run_learn(struct command_args *args)
{
	rw_cleanup(xray_set_freep) struct xray_set *set = xray_set_new();
	struct xray_learn_answer answer;
	struct err e = {0};
	if (read_all(set, args, &e) < 0)
		return refuse(&e);
	const bool good = xray_say_learned(set, &answer);
	if (print(args, &xray_learn_answer_shape, &answer, &xray_learn_view) < 0 || !good)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int run_paths(struct command_args *args, const struct xray_ports *ports)
{
	rw_cleanup(xray_set_freep) struct xray_set *set = xray_set_new();
	struct xray_paths_answer answer;
	struct err e = {0};
	bool good;
	if (!command_opt(&command_xray, args, "flows"))
		return usage_error(&command_xray, "say which flows with --flows FILE");
	if (read_all(set, args, &e) < 0 || xray_say_paths(set, ports, &answer, &good, &e) < 0)
		return refuse(&e);
	if (print(args, &xray_paths_answer_shape, &answer, &xray_paths_view) < 0 || !good)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int run_predict(struct command_args *args)
{
	return run_paths(args, NULL);
}

static int run_prescribe(struct command_args *args)
{
	struct xray_ports ports;
	struct err e = {0};
	if (xray_ports_read(command_opt(&command_xray, args, "ports"),
		    command_opt(&command_xray, args, "goal"), &ports, &e) < 0)
		return usage_error(&command_xray, "--%s", e.text);
	return run_paths(args, &ports);
}

static const struct subcommand subs[] = {
	{.name = "learn",
		.args = "[FILE...]",
		.summary = "which function each switch follows, and which it does not",
		.help = "Exit 0: all groups were learned, and no two tiers are polarised. 1: one "
			"was "
			"refused, or is polarised. 2: bad input.",
		.options = "device members links",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"xray learn samples.csv", "learns the switches of a file"},
			{"xray learn samples.csv --links links.csv",
				"compares each switch with those behind it", .exit = EXIT_FAILED}},
		.run = run_learn},
	{.name = "predict",
		.args = "[FILE...]",
		.summary = "where flows will go, and which collide",
		.help = "Exit 0: all paths are known. 1: some are not. 2: bad input.",
		.options = "device members links flows",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"xray predict samples.csv --flows job.csv --device leaf1",
				     "names the member that each flow leaves by"},
			{"xray predict samples.csv --flows job.csv --links links.csv",
				"follows the flows over two tiers"}},
		.run = run_predict},
	{.name = "prescribe",
		.args = "[FILE...]",
		.summary = "UDP source ports that spread the flows",
		.help = "Source ports in the file of flows are what it is compared with; where "
			"there "
			"are none, drawn ones are. Exit 0: all paths are known and the goal is "
			"reached. 1: not so. 2: bad input.",
		.options = "device members links flows ports goal",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"xray prescribe samples.csv --flows job.csv --device leaf1",
				     "writes a port for each queue pair"},
			{"xray prescribe samples.csv --flows job.csv --links links.csv",
				"spreads them over two tiers", .exit = EXIT_FAILED}},
		.run = run_prescribe},
	{0},
};

const struct command command_xray = {
	.name = "xray",
	.summary = "the hash of switches, learned: predicts paths, prescribes ports",
	.help = "Samples say which flow left by which member of an ECMP group. From a few hundred "
		"of them the function of the switch follows (bits of a linear hash, or CRC and XOR "
		"with a table, modulo or multiplication), and with it the path of every flow that "
		"is like them. What cannot be learned is refused, what is not known is not "
		"guessed. "
		"docs/hash-xray.md explains it.\n\n"
		"FILE: csv with the columns src, dst, src_port, member, and where known time, "
		"device, group, dst_port, protocol, dst_qp; or a capture with sFlow datagrams or "
		"mirrored packets (ERSPAN). DEVICE:MEMBER=FILE is a capture taken at a member. "
		"Without FILE: the flows that the agent kept (sFlow, mirrors of one direction), of "
		"the last day or the time that is named.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subs,
};
