/* options - a table of what can be given, read from the command line. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/packetsim/options.h"

#define NUMBER(field) offsetof(struct options, field), true
#define WORD(field) offsetof(struct options, field), false

static const struct option_row {
	const char *name;
	size_t at;
	bool number;
	const char *fallback, *help;
} rows[] = {
	{"out", WORD(out), NULL,
		"directory for fabric.yaml, samples.tsv, truth.json; none: truth only"},
	{"name", WORD(name), "packetsim", "name of the run in truth.json"},
	{"seed", NUMBER(seed), "1", "of everything that is drawn"},
	{"workload", WORD(workload), "incast+shuffle",
		"incast, shuffle, incast+shuffle, ring, storage, ring+storage"},
	{"fault", WORD(fault), "none", "see below"},
	{"cause", WORD(cause), NULL, "what truth.json calls wrong thresholds"},
	{"accept", WORD(accept), NULL, "other causes that are right, with commas"},
	{"onset", NUMBER(onset_s), "0", "seconds after which the fault begins"},
	{"interval", NUMBER(interval_s), "10", "seconds between polls"},
	{"length", NUMBER(length_s), "660", "seconds of the recording"},
	{"leaves", NUMBER(leaves), "4", "switches of the first tier"},
	{"spines", NUMBER(spines), "2", "switches of the second tier"},
	{"hosts", NUMBER(hosts_per_leaf), "4", "hosts of a leaf"},
	{"host-gbps", NUMBER(host_gbps), "100", "speed of a host's link"},
	{"uplink-gbps", NUMBER(uplink_gbps), "200", "speed of a link between switches"},
	{"host-us", NUMBER(host_prop_us), "1", "propagation of a host's link, microseconds"},
	{"uplink-us", NUMBER(uplink_prop_us), "1", "propagation between switches, microseconds"},
	{"second-gbps", NUMBER(second_gbps), "0", "speed of every second host; 0: the same"},
	{"third-us", NUMBER(third_prop_us), "0",
		"propagation to every third host, microseconds; 0: the same"},
	{"buffer", NUMBER(buffer), "4194304", "bytes of a switch, reserve and headroom included"},
	{"reserve", NUMBER(reserve), "4096", "bytes of each group"},
	{"alpha", NUMBER(alpha), "1/8", "of the dynamic threshold"},
	{"kmin", NUMBER(kmin), "400KB", "marking begins"},
	{"kmax", NUMBER(kmax), "1600KB", "everything is marked"},
	{"by-speed", NUMBER(by_speed), "0",
		"1: kmin and kmax are of a host's speed, and grow with a port's"},
	{"pmax", NUMBER(pmax), "20%", "share marked at kmax"},
	{"headroom-factor", NUMBER(headroom_factor), "1.5", "x (2 R t / 8 + 2 frames)"},
	{"headroom", NUMBER(headroom), "0", "bytes of each group instead"},
	{"xon-offset", NUMBER(xon_offset), "3072", "resume so far below the threshold"},
	{"steps", NUMBER(steps), "8", "that are simulated before and in the fault"},
	{"gap-us", NUMBER(gap_us), "3000", "between two exchanges, microseconds"},
	{"senders", NUMBER(senders), "12", "of the incast"},
	{"incast-kb", NUMBER(incast_kb), "1000", "of each of them"},
	{"root", NUMBER(root), "0", "receiver of the incast; -1: drawn"},
	{"peers", NUMBER(peers), "3", "of each host in the shuffle"},
	{"shuffle-kb", NUMBER(shuffle_kb), "200", "to each of them"},
	{"qps", NUMBER(qps), "4", "queue pairs of a neighbour in the ring"},
	{"flow-kb", NUMBER(flow_kb), "1000", "of each flow in ring and storage"},
	{"store-kb", NUMBER(store_kb), "500", "of each of four writes beside the ring"},
	{"fresh", NUMBER(fresh), "0", "1: new source ports in each step"},
	{"ports", WORD(ports), NULL, "file with the source port of each flow of a step"},
	{"crc", NUMBER(crc), "0", "1: leaves choose by a CRC16 of the headers"},
	{"cc-off", NUMBER(cc_off), "0", "1: nobody reacts to marks"},
	{"rp-timer-us", NUMBER(rp_timer_us), "300", "until a sender speeds up again"},
	{"cut-us", NUMBER(cut_us), "4", "between two cuts"},
	{"average-us", NUMBER(average_us), "1", "of the average of marking"},
	{"cnp-us", NUMBER(cnp_us), "4", "between two CNPs of a flow"},
	{"ai-mbps", NUMBER(ai_mbps), "40", "additive increase"},
	{"second-timer-us", NUMBER(second_timer_us), "0",
		"rp-timer-us of every second host's NIC; 0: the same"},
	{"second-ai-mbps", NUMBER(second_ai_mbps), "0", "ai-mbps of these; 0: the same"},
	{"hai-mbps", NUMBER(hai_mbps), "200", "hyper increase"},
	{"min-mbps", NUMBER(min_mbps), "1000", "slowest rate of a sender"},
	{"weight", NUMBER(weight), "1/256", "g of the average"},
	{"drain", NUMBER(drain), "20%", "share of its speed that a slow receiver takes"},
	{"loss", NUMBER(loss), "0.001", "of a bad cable"},
	{"limit-ms", NUMBER(limit_ms), "400", "of simulated time for a phase"},
};

enum { OPTION_ROWS = sizeof(rows) / sizeof(rows[0]) };

/* 400KB, 1MiB, 5%, 1/16, 0.2; NAN: not a number. */
static double number_of(const char *text)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"", 1}, {"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"KiB", 1024}, {"MiB", 1048576},
		{"%", 0.01}, {"s", 1}, {"m", 60}, {"h", 3600}};
	char *end;
	const double value = strtod(text, &end);
	if (end == text)
		return NAN;
	if (*end == '/') {
		const char *below = end + 1;
		const double divisor = strtod(below, &end);
		return end == below || *end || divisor == 0 ? NAN : value / divisor;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].unit) == 0)
			return value * units[i].factor;
	return NAN;
}

static int option_set(struct options *options, const struct option_row *row, const char *text)
{
	char *field = (char *)options + row->at;
	if (!row->number) {
		memcpy(field, &text, sizeof(text));
		return 0;
	}
	const double value = number_of(text);
	if (isnan(value)) {
		fprintf(stderr, "packetsim: --%s %s: not a number\n", row->name, text);
		return -1;
	}
	memcpy(field, &value, sizeof(value));
	return 0;
}

/* PLACE:KNOB=VALUE or KNOB=VALUE, several with commas. */
static int option_settings(struct options *options, const char *text)
{
	char copy[64];
	while (*text) {
		const size_t length = strcspn(text, ",");
		if (length >= sizeof(copy) || options->n_settings == MOST_SETTINGS)
			return -1;
		memcpy(copy, text, length);
		copy[length] = '\0';
		text += length + (text[length] == ',');
		struct setting *new = &options->settings[options->n_settings++];
		char *equal = strchr(copy, '=');
		if (!equal)
			return -1;
		*equal = '\0';
		char *colon = strchr(copy, ':');
		if (colon)
			*colon = '\0';
		snprintf(new->place, sizeof(new->place), "%.31s", colon ? copy : "*");
		snprintf(new->knob, sizeof(new->knob), "%.15s", colon ? colon + 1 : copy);
		new->value = number_of(equal + 1);
		if (isnan(new->value))
			return -1;
	}
	return 0;
}

struct options options_default(void)
{
	struct options options = {0};
	for (size_t i = 0; i < OPTION_ROWS; i++)
		if (rows[i].fallback)
			option_set(&options, &rows[i], rows[i].fallback);
	return options;
}

static const struct option_row *option_find(const char *name)
{
	for (size_t i = 0; i < OPTION_ROWS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

int options_read(struct options *options, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i] + 2;
		if (strncmp(argv[i], "--", 2) != 0 || i + 1 == argc) {
			fprintf(stderr, "packetsim: %s: expected --option value\n", argv[i]);
			return -1;
		}
		const struct option_row *row = option_find(name);
		const char *value = argv[++i];
		if (strcmp(name, "set") == 0) {
			if (option_settings(options, value) == 0)
				continue;
			fprintf(stderr, "packetsim: --set %s: not understood\n", value);
			return -1;
		}
		if (!row) {
			fprintf(stderr, "packetsim: --%s: no such option\n", name);
			return -1;
		}
		if (option_set(options, row, value) < 0)
			return -1;
	}
	return 0;
}

void options_help(FILE *out)
{
	for (size_t i = 0; i < OPTION_ROWS; i++)
		fprintf(out, "  --%-16s %s (%s)\n", rows[i].name, rows[i].help,
			rows[i].fallback ? rows[i].fallback : "not given");
	fprintf(out, "  --%-16s %s\n", "set",
		"PLACE:KNOB=VALUE,...: leaf1, leaf1/hosts, leaf1/uplinks, leaf1/Ethernet3, "
		"spine2, *, */hosts");
}
