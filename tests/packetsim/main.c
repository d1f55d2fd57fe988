/*
 * packetsim - a second packet-level simulation of a RoCE fabric, written from published
 * descriptions alone, to hold diagnosis and threshold advice against data that the simulated fabric
 * of tests/fabric did not make. README.md says what is modelled.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/packetsim/record.h"

static int file_print(
	const struct run *run, const char *name, void (*print)(const struct run *run, FILE *out))
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", run->options->out, name);
	FILE *out = fopen(path, "w");
	if (!out) {
		fprintf(stderr, "packetsim: %s: %s\n", path, strerror(errno));
		return -1;
	}
	static char buffer[1 << 20];
	setvbuf(out, buffer, _IOFBF, sizeof(buffer));
	print(run, out);
	const int failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		fprintf(stderr, "packetsim: %s: not written\n", path);
		return -1;
	}
	return 0;
}

static int run_print(const struct run *run)
{
	if (!run->options->out) {
		truth_print(run, stdout);
		return 0;
	}
	if (mkdir(run->options->out, 0777) < 0 && errno != EEXIST) {
		fprintf(stderr, "packetsim: %s: %s\n", run->options->out, strerror(errno));
		return -1;
	}
	if (file_print(run, "fabric.yaml", fabric_print) < 0 ||
		file_print(run, "samples.tsv", samples_print) < 0 ||
		file_print(run, "flows.csv", flows_print) < 0)
		return -1;
	return file_print(run, "truth.json", truth_print);
}

int main(int argc, char **argv)
{
	struct options options = options_default();
	if (argc < 2 || strcmp(argv[1], "--help") == 0) {
		printf("usage: packetsim [--OPTION VALUE]...\n");
		options_help(stdout);
		fault_help(stdout);
		return 0;
	}
	if (options_read(&options, argc, argv) < 0)
		return 2;
	const struct fault *fault = fault_find(options.fault);
	if (!fault) {
		fprintf(stderr, "packetsim: --fault %s: no such fault\n", options.fault);
		return 2;
	}
	struct run run = {.options = &options, .fault = fault};
	if (options.onset_s > 0)
		run.before = phase_run(&options, fault_find("none"));
	run.in = phase_run(&options, fault);
	if (!run.in->n_steps) {
		fprintf(stderr, "packetsim: --workload %s: no such workload, or no step\n",
			options.workload);
		return 2;
	}
	const int failed = run_print(&run);
	phase_free(run.before);
	phase_free(run.in);
	return failed < 0;
}
