/* cmd_import - "rocewatch import": what hosts print about their NICs and collectives. */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/import/import_host.h"

enum { FILES_MOST = 4096 };
#define IMPORT_TEXT_MAX ((size_t)64 << 20)
#define BELOW 0.9 /* of the median: the rule of thumb for bus bandwidth */

extern const struct command command_import;

static const struct command_option options[] = {
	{"host", 0, "NAME", "whose text it is, where the text does not say so"},
	{"nic", 0, "NAME", "of which NIC, where the text does not say so"},
	{"below", 0, "RATIO", "flag a node below this share of the median (default: 90%)"},
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
	{0},
};

const struct command command_import = {
	.name = "import",
	.summary = "what hosts print about their NICs and collectives, compared",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
	.sub_kind = "kind",
};
