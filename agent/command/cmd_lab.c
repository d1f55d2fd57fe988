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

#include "agent/base/cleanup.h"

static const struct command_option options[] = {
	{"dir", 0, "DIR", "run, set, show: directory of the live lab; /tmp/rocewatch-lab-UID"},
	{"device", 0, "GLOB", "set: only these switches"},
	{"at", 0, "DUR", "run: the fault begins after this time; 20s"},
	{"out", 0, "DIR", "record: where to write the case"},
	{"seed", 0, "N", "run, record: seed for the places and sizes of faults; 1"},
	{"begin", 0, "TIME", "record: UTC of the first sample; 2026-01-05T00:00:00Z"},
	{"interval", 0, "DUR",
		"record: time between samples; 10s. run: between polls, in the configuration it "
		"writes; 1s"},
	{"for", 0, "DUR", "record: length; default: the scenario's. run: stop after this time"},
	{"face", 0, "FACE",
		"record: full, sonic-snmp, nxos-snmp, cumulus-snmp, sonic-gnmi, cumulus-gnmi or "
		"openconfig-gnmi: only what such a switch answers; full. run: nxos, cumulus, eos "
		"or sonic by SNMP, or one of the three by gNMI; nxos, or eos where ECN marks "
		"decide"},
	{"push", 0, NULL,
		"run: the NICs of all hosts push their counters over OpenTelemetry, as NVIDIA's "
		"DTS "
		"names them"},
	{"tls", 0, NULL, "run: gNMI over TLS"},
	{"set", 0, "KEY=VALUE[,...]",
		"record: with these thresholds instead of the scenario's; leaf2:kmin=200KB is for "
		"one switch, leaf*/hosts:alpha=1/4 for ports to hosts"},
	{"set-at", 0, "DUR",
		"record: the thresholds of --set apply from this time, not from the start"},
	{"senders", 0, "+N", "record: N more senders wherever several send to one port"},
	{"load", 0, "FACTOR", "record: multiplies the bytes of an exchange"},
	{"perturb", 0, "N", "record: another fabric of the same kind, by seed N"},
	{"cache", 0, "DIR", "record: keep simulation results here for the next run"},
	{"packets", 0, NULL, "record: also captures, from mirrors of the leaf's uplinks"},
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
	char path[PATH_MAX + 64], *argv[2 * rw_countof(options) + 8] = {path};
	char names[rw_countof(options)][24];
	size_t n = 1;
	if (args->argc < 1 || args->argc > 2) {
		fprintf(stderr,
			"rocewatch lab: expected list, run SCENARIO, set KEY=VALUE, show or record "
			"SCENARIO; see rocewatch lab --help\n");
		return EXIT_USAGE;
	}
	if (!find_lab(path, sizeof(path))) {
		fprintf(stderr,
			"rocewatch lab: rocewatch-lab not found beside rocewatch or in "
			"../libexec/rocewatch; it is built with -DRW_LAB=ON\n");
		return EXIT_FAILED;
	}
	for (size_t i = 0; options[i].name; i++) {
		const char *value = command_opt(&command_lab, args, options[i].name);
		if (!value)
			continue;
		snprintf(names[i], sizeof(names[i]), "--%s", options[i].name);
		argv[n++] = names[i];
		if (options[i].arg)
			argv[n++] = (char *)value;
	}
	argv[n++] = (char *)"--";
	for (int i = 0; i < args->argc; i++)
		argv[n++] = args->argv[i];
	argv[n] = NULL;
	execv(path, argv);
	fprintf(stderr, "rocewatch lab: %s: %s\n", path, strerror(errno));
	return EXIT_FAILED;
}

const struct command command_lab = {
	.name = "lab",
	.args = "list|run SCENARIO|set KEY=VALUE|show|record SCENARIO",
	.summary = "a simulated fabric, to try everything without switches",
	.help = "`list` names the scenarios. `run` serves one live: every switch is an SNMP agent "
		"on an address of 127/8 (snmpd must be installed), DIR/rocewatch.yaml "
		"is ready for `agent`, DIR/truth.json names the fault. `set` changes thresholds "
		"of the running lab (kmin, kmax, pmax, alpha, headroom, xon_offset): "
		"the exchange is simulated again and the counters follow. It also takes "
		"fault=on|off "
		"and clock=hold|run. `show` prints the state. `record` writes a scenario as a case "
		"(samples.tsv, fabric.yaml, and truth.json with the true fault) that "
		"`rocewatch replay --from DIR` reads. The simulation is an executable of its own, "
		"rocewatch-lab, found beside rocewatch or in ../libexec/rocewatch.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_lab_run,
};
