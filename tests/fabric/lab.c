/*
 * rocewatch-lab - a simulated fabric to try rocewatch on without switches. Options as in the
 * command line's contract; exit codes 0 done, 1 failed, 2 bad usage.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/fabric/live.h"
#include "tests/fabric/record.h"
#include "tests/fabric/thresholds.h"

/* One date for all, so that the same recording is the same bytes on every day. */
#define DEFAULT_BEGIN "2026-01-05T00:00:00Z"

static const char help[] =
	"Usage: rocewatch lab list [--scenarios DIR] [--json]\n"
	"       rocewatch lab run SCENARIO [--dir DIR] [--seed N] [--interval DUR] [--at DUR] "
	"[--for DUR] [--face FACE] [--tls] [--push | --scrape]\n"
	"       rocewatch lab set KEY=VALUE [--device GLOB] [--dir DIR]\n"
	"       rocewatch lab show [counters] [--dir DIR]\n"
	"       rocewatch lab record SCENARIO --out DIR [--seed N] [--interval DUR] [--at DUR] "
	"[--for DUR] [--face FACE] [--packets]\n"
	"                            [--begin TIME] [--perturb N] [--cache DIR] [--set "
	"[DEVICES:]KEY=VALUE,...] "
	"[--set-at DUR] [--senders +N] [--load FACTOR]\n"
	"A simulated RoCE fabric: switches, hosts, training traffic, and something that goes "
	"wrong.\n\n"
	"list                what can be simulated, one scenario a line: name, cause, title\n"
	"run                 serve a scenario live: every switch is an SNMP agent or gNMI server "
	"on an address of 127/8; DIR/rocewatch.yaml is ready for\n"
	"                    rocewatch -c DIR/rocewatch.yaml agent, and DIR/truth.json says what "
	"is wrong\n"
	"set                 change the running lab: kmin, kmax, headroom, xon_offset (sizes), "
	"pmax, alpha (ratios): the exchange is simulated\n"
	"                    again and the counters follow, of one switch with --device leaf2; "
	"fault=on|off; clock=hold|run\n"
	"show                what the running lab is; counters: what its switches answer, as lines "
	"of a recorded case\n"
	"record              write a scenario as a recorded case: samples.tsv, fabric.yaml, and "
	"truth.json with what is really wrong\n\n"
	"    --dir DIR       of the live lab; /tmp/rocewatch-lab-UID. Files of an earlier lab "
	"there are replaced\n"
	"    --at DUR        the fault begins after this; in a live lab 20s when not given, in a "
	"recording what the scenario says\n"
	"    --out DIR       record: where to; made when it is missing\n"
	"    --seed N        1 when not given; places and sizes of what goes wrong are drawn by "
	"it\n"
	"    --begin TIME    record: UTC of the first sample, such as \"2026-01-05 "
	"08:00\"; " DEFAULT_BEGIN "\n"
	"    --interval DUR  between samples; 10s, of a live lab's configuration 1s\n"
	"    --for DUR       length of the recording; the scenario's own when not given. A live "
	"lab ends after it\n"
	"    --face FACE     only what such a switch answers: nxos, cumulus, eos or sonic by SNMP, "
	"or sonic-gnmi, cumulus-gnmi, openconfig-gnmi.\n"
	"                    A recording also full, which is its default; a live lab's is nxos, "
	"which has pause time, or eos where ECN marks decide\n"
	"    --tls           run: gNMI over TLS; DIR/ca.pem signs the switches\n"
	"    --push          run: the NICs of all hosts push their counters over OpenTelemetry, as "
	"NVIDIA's DTS names them\n"
	"    --scrape        run: the same counters to be scraped, as node_exporter names them\n"
	"    --packets       captures too: what mirrors of the leaf's uplinks saw, one packet in "
	"N, and bursts in full\n"
	"    --perturb N     another fabric of the same kind, drawn by N: hash, DCQCN timers, "
	"buffers, thresholds, cables and times 30 % up or down\n"
	"    --set K=V,...   record: with these thresholds instead of the scenario's; "
	"leaf2:kmin=200KB is of one switch, 'leaf*/hosts:alpha=1/4'\n"
	"                    of the ports to hosts (/uplinks: the others). Steps lengthen or "
	"shorten by what it does to the exchange\n"
	"    --set-at DUR    the thresholds of --set hold from then on, not from the start\n"
	"    --senders +N    N more senders meet wherever several meet already (gather, incast, "
	"storage)\n"
	"    --load FACTOR   times the bytes of an exchange; 1 when not given\n"
	"    --cache DIR     keep what was simulated, for the same scenario and seed with another "
	"face or interval\n"
	"    --scenarios DIR look for scenarios here; also $ROCEWATCH_LAB_SCENARIOS\n"
	"-h, --help          this text\n\n"
	"SCENARIO is a name from the list, or a file. Read a case with: rocewatch replay --from "
	"DIR\n";

struct options {
	const char *out, *scenarios, *dir, *face, *device, *begin;
	uint64_t seed;
	double interval_ns, length_ns, at_ns;
	bool packets, tls, push, scrape, json;
	const char *cache;
	uint64_t perturb;
	const char *set[SETTINGS_MAX];
	size_t n_set;
	double set_at_ns, load, senders;
};

static int __attribute__((format(printf, 1, 2))) usage(const char *fmt, ...)
{
	va_list ap;
	fprintf(stderr, "rocewatch lab: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; see rocewatch lab --help\n");
	return 2;
}

/* Where scenarios are: asked for, beside the executable, or installed. */
static const char *scenario_dir(const struct options *o, char *buf, size_t size)
{
	char self[PATH_MAX];
	const char *env = getenv("ROCEWATCH_LAB_SCENARIOS");
	if (o->scenarios || env)
		return o->scenarios ? o->scenarios : env;
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		static const char *const places[] = {"scenarios", "../share/rocewatch/scenarios",
			"../../share/rocewatch/scenarios"};
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		for (size_t i = 0; i < rw_countof(places); i++)
			if (snprintf(buf, size, "%s/%s", self, places[i]) < (int)size &&
				access(buf, R_OK) == 0)
				return buf;
	}
	return "/usr/share/rocewatch/scenarios";
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}
static int is_scenario(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');
	return dot && str_eq(dot, ".yaml");
}

/* A scenario as a line, or as an object of the document. */
static void list_one(const struct scenario *s, json_t *rows)
{
	if (rows)
		json_array_append_new(rows,
			json_pack("{s:s, s:s, s:s}", "name", s->name, "cause", s->cause, "title",
				s->title));
	else
		printf("%-20s %-18s %s\n", s->name, s->cause, s->title);
}

static int list(const struct options *o)
{
	json_t *rows = o->json ? json_array() : NULL;
	char buf[PATH_MAX], path[PATH_MAX + 300];
	const char *dir = scenario_dir(o, buf, sizeof(buf));
	struct dirent **v = NULL;
	const int n = scandir(dir, &v, is_scenario, by_name);
	int rc = 0;
	if (n < 0) {
		fprintf(stderr, "rocewatch lab: %s: %s\n", dir, strerror(errno));
		json_decref(rows);
		return 1;
	}
	for (int i = 0; i < n; i++) {
		struct scenario s;
		struct err e = {0};
		snprintf(path, sizeof(path), "%s/%s", dir, v[i]->d_name);
		if (scenario_read(path, 1, &s, &e) == 0)
			list_one(&s, rows);
		else {
			err_print(stderr, &e);
			rc = 1;
		}
		free(v[i]);
	}
	free(v);
	if (!rows)
		return rc;
	json_t *doc = json_pack("{s:o}", "scenarios", rows);
	json_dumpf(doc, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(doc);
	return rc;
}

static const char *nearest(const char *dir, const char *name, char *buf, size_t size)
{
	struct dirent **v = NULL;
	const char *names[256], *near = NULL;
	const int n = scandir(dir, &v, is_scenario, by_name);
	int count = 0;
	for (int i = 0; i < n && i < 256; i++) {
		*strrchr(v[i]->d_name, '.') = '\0';
		names[count++] = v[i]->d_name;
	}
	near = str_nearest(name, names, (size_t)count);
	if (near)
		snprintf(buf, size, "%s", near);
	for (int i = 0; i < n; i++)
		free(v[i]);
	free(v);
	return near ? buf : NULL;
}

/* A file, or a name of the list. 0, or the exit code. */
static int read_scenario(const char *name, const struct options *o, struct scenario *s)
{
	char buf[PATH_MAX], path[PATH_MAX + 300], near[300];
	struct err e = {0};
	if (strchr(name, '/') || access(name, R_OK) == 0)
		snprintf(path, sizeof(path), "%.*s", PATH_MAX, name);
	else {
		const char *dir = scenario_dir(o, buf, sizeof(buf));
		snprintf(path, sizeof(path), "%s/%.255s.yaml", dir, name);
		if (access(path, R_OK) != 0) {
			const char *n = nearest(dir, name, near, sizeof(near));
			fprintf(stderr,
				"rocewatch lab: no scenario '%.64s'%s%s%s; rocewatch lab list "
				"names them\n",
				name, n ? "; did you mean '" : "", n ? n : "", n ? "'?" : "");
			return 2;
		}
	}
	if (scenario_read(path, o->seed, s, &e) != 0) {
		err_print(stderr, &e);
		return 2;
	}
	if (o->perturb > 0)
		scenario_perturb(s, o->perturb);
	s->cache_dir = o->cache;
	return 0;
}

/* The same names as of a live lab: nxos is nxos-snmp. FACES: there is none. */
static unsigned face_named(const char *name)
{
	char by_snmp[64];
	unsigned face = 0;
	snprintf(by_snmp, sizeof(by_snmp), "%s-snmp", name);
	while (face < FACES && !str_eq(name, face_names[face]) &&
		!str_eq(by_snmp, face_names[face]))
		face++;
	return face;
}

static int record(const char *name, const struct options *o)
{
	struct scenario s;
	struct err e = {0};
	unsigned face = FACE_FULL;
	if (!o->out)
		return usage("record needs --out DIR");
	if (o->face)
		face = face_named(o->face);
	if (face == FACES)
		return usage("--face: '%s' is not valid; expected full, sonic, nxos, cumulus, eos, "
			     "sonic-gnmi, cumulus-gnmi or openconfig-gnmi",
			o->face);
	wall_t begin;
	if (wall_parse(o->begin, wall_now(), &begin) != 0 || begin.ns < 0)
		return usage("--begin: '%s' is not a time; expected one such as " DEFAULT_BEGIN,
			o->begin);
	int rc = read_scenario(name, o, &s);
	if (rc != 0)
		return rc;
	if (o->at_ns > 0)
		s.at_ns = o->at_ns;
	struct scenario loaded = s, tuned = s;
	loaded.slice_bytes *= o->load;
	loaded.more_senders = tuned.more_senders = o->senders;
	/* how long an exchange is was settled without them */
	loaded.slowdown = tuned.slowdown = loaded.excess_ns = tuned.excess_ns = 0;
	tuned.slice_bytes = loaded.slice_bytes;
	if (threshold_assign(&tuned, o->set, o->n_set, &e) != 0)
		return usage("--set: %s", e.text);
	const bool other_load = o->load != 1 || o->senders > 0, later = o->set_at_ns > 0;
	struct record_options r = {o->out, (double)begin.ns,
		o->interval_ns > 0 ? o->interval_ns : 10e9,
		o->length_ns > 0 ? o->length_ns : s.length_ns, (enum face)face, o->packets,
		.tuned = o->n_set && !later ? &tuned
			: other_load        ? &loaded
					    : NULL,
		.tuned_later = o->n_set && later ? &tuned : NULL, .later_ns = o->set_at_ns};
	if (later && (!o->n_set || o->set_at_ns >= r.length_ns))
		return usage("--set-at goes with --set, and before the end of the recording");
	if ((r.tuned || r.tuned_later) && (s.jobs > 1 || r.packets))
		return usage("--set, --load and --senders go with one job and without captures");
	if (r.length_ns < 2 * r.interval_ns)
		return usage("a recording needs at least two intervals");
	if (r.length_ns / r.interval_ns > 2e6)
		return usage("more than 2,000,000 intervals: choose a longer --interval or a "
			     "shorter --for");
	if (record_case(&s, &r, &e) != 0) {
		err_print(stderr, &e);
		return 1;
	}
	return 0;
}

static int failed(const struct err *e)
{
	fprintf(stderr, "rocewatch lab: %s\n", e->text);
	return 1;
}

static int run(const char *name, const struct options *o)
{
	struct scenario s;
	struct err e = {0};
	struct live_options r = {o->dir, o->interval_ns > 0 ? o->interval_ns : 1e9,
		o->at_ns > 0 ? o->at_ns : 20e9, o->length_ns,
		o->face ? live_face_find(o->face) : NULL, o->tls, o->push, o->scrape};
	if (o->face && !r.face)
		return usage("--face: '%s' is not valid; expected nxos, cumulus, eos, sonic, "
			     "sonic-gnmi, "
			     "cumulus-gnmi or openconfig-gnmi",
			o->face);
	if (o->tls && !(r.face && r.face->gnmi))
		return usage("--tls goes with a face that answers gNMI: --face sonic-gnmi, "
			     "cumulus-gnmi or openconfig-gnmi");
	if (o->push && o->scrape)
		return usage("--push and --scrape: expected one of them");
	char cache[PATH_MAX];
	int rc = read_scenario(name, o, &s);
	if (rc != 0)
		return rc;
	if (s.cache_dir && (mkdir(s.cache_dir, 0777) == 0 || errno == EEXIST) &&
		realpath(s.cache_dir, cache))
		s.cache_dir = cache; /* a live lab works in a directory of its own */
	if (!r.face)
		r.face = live_face_for(s.cause);
	return live_run(&s, &r, &e) == 0 ? 0 : failed(&e);
}

static int ask(const char *verb, const char *what, const struct options *o)
{
	char request[256];
	struct err e = {0};
	if (snprintf(request, sizeof(request), "%s%s%s%s", verb, what, o->device ? " " : "",
		    o->device ? o->device : "") >= (int)sizeof(request))
		return usage("'%.40s...' is too long", what);
	const int rc = live_ask(o->dir, request, &e);
	return rc < 0 ? failed(&e) : rc;
}

static int duration(const char *s, double *ret)
{
	struct err e = {0};
	int64_t ns;
	if (unit_duration(s, &ns, &e) != 0 || ns < 100000000) {
		fprintf(stderr, "rocewatch lab: %s\n",
			*e.text ? e.text : "a duration of at least 100ms was expected");
		return -EINVAL;
	}
	*ret = (double)ns;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"out", 1, NULL, 'o'}, {"seed", 1, NULL, 's'},
		{"interval", 1, NULL, 'i'}, {"for", 1, NULL, 'f'}, {"face", 1, NULL, 'F'},
		{"scenarios", 1, NULL, 'S'}, {"packets", 0, NULL, 'p'}, {"tls", 0, NULL, 't'},
		{"push", 0, NULL, 'u'}, {"scrape", 0, NULL, 'x'}, {"perturb", 1, NULL, 'P'},
		{"cache", 1, NULL, 'c'}, {"dir", 1, NULL, 'd'}, {"device", 1, NULL, 'D'},
		{"at", 1, NULL, 'a'}, {"set", 1, NULL, 'k'}, {"begin", 1, NULL, 'b'},
		{"set-at", 1, NULL, 'K'}, {"senders", 1, NULL, 'n'}, {"load", 1, NULL, 'l'},
		{"json", 0, NULL, 'j'}, {"help", 0, NULL, 'h'}, {0}};
	struct options o = {.seed = 1, .load = 1, .begin = DEFAULT_BEGIN};
	int64_t seed;
	int opt;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		switch (opt) {
		case 'o': o.out = optarg; break;
		case 'b': o.begin = optarg; break;
		case 'S': o.scenarios = optarg; break;
		case 'j': o.json = true; break;
		case 'p': o.packets = true; break;
		case 't': o.tls = true; break;
		case 'u': o.push = true; break;
		case 'x': o.scrape = true; break;
		case 'c': o.cache = optarg; break;
		case 'd': o.dir = optarg; break;
		case 'D': o.device = optarg; break;
		case 'F': o.face = optarg; break;
		case 'a':
			if (duration(optarg, &o.at_ns) != 0)
				return 2;
			break;
		case 'k':
			for (char *rest = optarg, *word; (word = strsep(&rest, ","));) {
				if (o.n_set == rw_countof(o.set))
					return usage("more than %d settings", SETTINGS_MAX);
				o.set[o.n_set++] = word;
			}
			break;
		case 'K':
			if (duration(optarg, &o.set_at_ns) != 0)
				return 2;
			break;
		case 'n':
			if (unit_int(optarg + (*optarg == '+'), &seed, NULL) != 0 || seed < 1 ||
				seed > 64)
				return usage(
					"--senders: '%s' is not valid; expected +1 to +64", optarg);
			o.senders = (double)seed;
			break;
		case 'l':
			if (unit_double(optarg, &o.load, NULL) != 0 ||
				!(o.load >= 0.1 && o.load <= 10))
				return usage(
					"--load: '%s' is not valid; expected a factor of 0.1 to 10",
					optarg);
			break;
		case 'i':
			if (duration(optarg, &o.interval_ns) != 0)
				return 2;
			break;
		case 'f':
			if (duration(optarg, &o.length_ns) != 0)
				return 2;
			break;
		case 'P':
			if (unit_int(optarg, &seed, NULL) != 0 || seed < 1)
				return usage("--perturb: '%s' is not valid; expected a whole "
					     "number from 1 up",
					optarg);
			o.perturb = (uint64_t)seed;
			break;
		case 's':
			if (unit_int(optarg, &seed, NULL) != 0 || seed < 0)
				return usage("--seed: '%s' is not valid; expected a whole number "
					     "from 0 up",
					optarg);
			o.seed = (uint64_t)seed;
			break;
		case 'h': fputs(help, stdout); return fflush(stdout) == 0 ? 0 : 1;
		case ':': return usage("%s needs a value", argv[optind - 1]);
		default: return usage("unknown option %s", argv[optind - 1]);
		}
	}
	argc -= optind;
	argv += optind;
	if (argc == 1 && str_eq(argv[0], "list"))
		return list(&o);
	if (argc == 2 && str_eq(argv[0], "record"))
		return record(argv[1], &o);
	if (argc == 2 && str_eq(argv[0], "run"))
		return run(argv[1], &o);
	if (argc == 2 && str_eq(argv[0], "set"))
		return ask("set ", argv[1], &o);
	if (o.device)
		return usage("--device goes with set");
	if (o.tls || o.push || o.scrape)
		return usage("--tls, --push and --scrape go with run");
	if (argc >= 1 && argc <= 2 && str_eq(argv[0], "show") &&
		(argc == 1 || str_eq(argv[1], "counters")))
		return ask(argc == 1 ? "show" : "", argc == 1 ? "" : "counters", &o);
	return usage("expected list, run SCENARIO, set KEY=VALUE, show or record SCENARIO");
}
