/* cmd_support_bundle - one file with what a maintainer needs to reproduce a problem. */
#include "agent/command/command.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/support/bundle.h"

extern const struct command command_support_bundle;

#define AROUND_NS (15 * 60 * NS_PER_S)

static const struct command_option options[] = {
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
	.options = options,
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_SAID,
	.examples = {{"support-bundle --out bundle.tar.gz --anonymize",
			     "writes the bundle, IP addresses replaced"},
		{"support-bundle --dry-run", "lists what would go in"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_support_bundle_run,
};
