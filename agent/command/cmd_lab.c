/*
 * cmd_lab - "rocewatch lab": starts rocewatch-lab, the simulated fabric. That is an executable of
 * its own, because the product needs nothing of it. This process becomes it by execv().
 */
#include "agent/command/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

static const struct command_option options[] = {
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
	char path[PATH_MAX + 64], *argv[2 * rw_countof(options) + 12] = {path};
	char names[rw_countof(options)][24];
	size_t n = 1;
	if (!find_lab(path, sizeof(path))) {
		fprintf(stderr,
			"rocewatch lab: rocewatch-lab not found beside rocewatch or in "
			"../libexec/rocewatch; it is built with -DRW_LAB=ON\n");
		return EXIT_FAILED;
	}
	for (size_t i = 0; options[i].name; i++) {
		const char *value = command_opt(&command_lab, args, options[i].name);
		const bool other = options[i].only && !str_eq(options[i].only, args->sub->name);
		if (!value || other)
			continue;
		snprintf(names[i], sizeof(names[i]), "--%s", options[i].name);
		argv[n++] = names[i];
		if (options[i].arg)
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

static const struct subcommand subcommands[] = {
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
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
};
