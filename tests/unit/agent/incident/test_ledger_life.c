/* test_ledger_life - what the end of a fault may not do to its incident: windows that straddle a
 * repair, parts whose explanation has ended, a change that is taken back; families of groups; what
 * a job loses; subjects of which nobody speaks, whatever was changed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/incident/explain.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/modules.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "config/config.h"
#include "db/model/entity.h"

#define W (60 * NS_PER_S)

static const char yaml[] = "fabric: pod-a\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: leaf2, role: leaf }\n"
			   "  - { name: spine1, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e49\", b: \"spine1:e1\" }\n"
			   "  - { a: \"leaf2:e49\", b: \"spine1:e2\" }\n"
			   "  - { a: \"leaf1:e1\", b: \"host:node-1\" }\n"
			   "  - { a: \"leaf2:e1\", b: \"host:node-2\" }\n"
			   "jobs:\n"
			   "  - { name: train, gpus: 512, hosts: \"node-*\" }\n"
			   "cost: { usd_per_gpu_hour: 30 }\n";

struct life {
	struct config *config;
	struct ledger *ledger;
};

static struct life life_begin(void)
{
	struct life life = {0};
	struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	if (config_parse(
		    yaml, strlen(yaml), "test", CONFIG_CASE, tables, n, &life.config, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "configuration");
	err_list_done(&errors);
	life.ledger = ledger_new(life.config->fabric, NULL, NULL);
	return life;
}

static void life_end(struct life *life)
{
	ledger_free(life->ledger);
	config_free(life->config);
}

static struct finding life_finding(int window, const char *analyzer, enum cause cause)
{
	return (struct finding){.analyzer = analyzer,
		.cause = cause,
		.verdict = FINDING_OVER,
		.severity = SEV_WARNING,
		.from_ns = (window - 1) * W,
		.to_ns = window * W,
		.device = "leaf1",
		.priority = PRIO_NONE,
		.hold = 2,
		.summary = "as it was",
		.confidence_ratio = 0.8,
		.coverage_ratio = 1,
		.loss_ratio = NAN,
		.explained_ratio = NAN,
		.value = 0.5,
		.warn = 0.2};
}

static const struct incident *life_one(const struct life *life)
{
	const struct incident **v;
	assert_int_equal(ledger_incidents(life->ledger, &v), 1);
	return v[0];
}

/* ---- the window in which a fault ends -------------------------------------- */

/* A network that is silent since a repair proves nothing: a job was slow for no known reason, and
 * the first silent window calls it a straggler, much surer. That must hold for more than a window.
 */
static void test_silence_must_hold(void **state)
{
	for (int silent = 1; silent <= 2; silent++) {
		struct life life = life_begin();
		for (int w = 1; w <= 8; w++) {
			const bool late = w > 4 && w <= 4 + silent;
			struct finding f =
				life_finding(w, "steps", late ? CAUSE_STRAGGLER : CAUSE_UNKNOWN);
			f.device = NULL;
			f.group = "job:train";
			f.confidence_ratio = late ? 0.8 : 0.4;
			f.summary = late ? "network ruled out" : "as it was";
			if (w > 4 + silent)
				f.verdict = FINDING_UNDER;
			ledger_take(life.ledger, &f);
		}
		const struct incident *i = life_one(&life);
		print_message("   row: silent for %d\n", silent);
		assert_int_equal(i->state, INCIDENT_CLOSED);
		assert_int_equal(i->cause, silent == 1 ? CAUSE_UNKNOWN : CAUSE_STRAGGLER);
		assert_string_equal(i->summary, silent == 1 ? "as it was" : "network ruled out");
		life_end(&life);
	}
}

/* One window that says something else, and less surely, makes nothing worse. Held, it does. */
static void test_severity_must_hold(void **state)
{
	struct life life = life_begin();
	for (int w = 1; w <= 5; w++) {
		struct finding f = life_finding(
			w, "pause_storm", w <= 3 ? CAUSE_PFC_STORM : CAUSE_SLOW_RECEIVER);
		f.host = "node-1";
		f.value = w <= 3 ? 1 : 0.4;
		f.confidence_ratio = w <= 3 ? 0.9 : 0.5;
		f.severity = w <= 3 ? SEV_WARNING : SEV_CRITICAL;
		ledger_take(life.ledger, &f);
		const struct incident *i = NULL;
		if (w >= 2)
			i = life_one(&life);
		if (w == 4)
			assert_int_equal(i->severity, SEV_WARNING);
		if (w == 5)
			assert_int_equal(i->severity, SEV_CRITICAL);
		if (i)
			assert_int_equal(i->cause, CAUSE_PFC_STORM);
	}
	life_end(&life);
}

/* Windows of three polls, a poll apart. What grows less with each of them has ended before the
 * newest part: nothing opens by it. What grows opens at once, and so does what stays. */
static void test_falling_opens_nothing(void **state)
{
	static const struct {
		const char *what;
		double value[3];
		size_t incidents;
	} rows[] = {
		{"it ends", {0.078, 0.039, 0.01}, 0},
		{"it begins", {0.039, 0.078, 0.1}, 1},
		{"it stays, and wobbles", {0.078, 0.07, 0.075}, 1},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct life life = life_begin();
		const struct incident **v;
		print_message("   row: %s\n", rows[k].what);
		for (int w = 0; w < 3; w++) {
			struct finding f = life_finding(10 + w, "congestion", CAUSE_INCAST);
			f.from_ns = f.to_ns - 3 * W;
			f.new_ns = W;
			f.hold = 3;
			f.host = "node-1";
			f.value = rows[k].value[w];
			f.warn = 0.001;
			ledger_take(life.ledger, &f);
		}
		assert_int_equal(ledger_incidents(life.ledger, &v), rows[k].incidents);
		life_end(&life);
	}
}

/* What was part of an incident that has ended opens only by windows of its own. */
static void test_part_of_what_ended(void **state)
{
	struct life life = life_begin();
	const struct incident **v;
	for (int w = 1; w <= 10; w++) {
		struct finding root = life_finding(w, "pause_storm", CAUSE_SLOW_RECEIVER);
		struct finding part = life_finding(w, "congestion", CAUSE_INCAST);
		root.host = part.host = "node-1";
		if (w > 4)
			root.verdict = FINDING_UNDER;
		ledger_take(life.ledger, &root);
		ledger_take(life.ledger, &part);
		const size_t n = ledger_incidents(life.ledger, &v);
		print_message("   window %d: %zu\n", w, n);
		/* the root ends with window 6; hold + 2 windows later it is no echo of the root */
		assert_int_equal(n, w == 1 ? 0 : w < 9 ? 1 : 2);
	}
	life_end(&life);
}

/* A setting that is set back has changed once more: another story, and the first stays as it was.
 */
static void test_set_back(void **state)
{
	struct life life = life_begin();
	const struct incident **v;
	for (int w = 1; w <= 8; w++) {
		struct finding f = life_finding(w, "settings_drift", CAUSE_CONFIG_DRIFT);
		f.hold = 1;
		f.severity = SEV_INFO;
		f.summary = w < 6 ? "kmin was 1, now 2" : "kmin was 2, now 1";
		if (w != 1 && w != 6)
			f.verdict = FINDING_UNDER;
		ledger_take(life.ledger, &f);
	}
	assert_int_equal(ledger_incidents(life.ledger, &v), 2);
	for (size_t k = 0; k < 2; k++) {
		const bool first = v[k]->opened_ns == 1 * W;
		assert_int_equal(v[k]->state, INCIDENT_CLOSED);
		assert_string_equal(
			v[k]->summary, first ? "kmin was 1, now 2" : "kmin was 2, now 1");
	}
	life_end(&life);
}

/* ---- families --------------------------------------------------------------- */

/* Too few flows, too little capacity: every leaf shows it, and it is one thing. So are groups that
 * become uneven together and alike. A damaged hash that comes later, or is much worse, is a story
 * of its own. */
static void test_families(void **state)
{
	static const struct {
		const char *what;
		enum cause cause;
		int later; /* windows until the second leaf shows it */
		double value; /* of the second; the first has 0.5 */
		size_t incidents;
	} rows[] = {
		{"few flows", CAUSE_ECMP_LOW_ENTROPY, 5, 0.5, 1},
		{"few uplinks", CAUSE_OVERSUBSCRIPTION, 5, 0.5, 1},
		{"uneven together", CAUSE_ECMP_IMBALANCE, 0, 0.6, 1},
		{"uneven, one after the other", CAUSE_ECMP_IMBALANCE, 5, 0.6, 2},
		{"uneven, one much more", CAUSE_ECMP_IMBALANCE, 0, 1.5, 2},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct life life = life_begin();
		const struct incident **v;
		print_message("   row: %s\n", rows[k].what);
		for (int w = 1; w <= 12; w++)
			for (int leaf = 1; leaf <= 2; leaf++) {
				struct finding f = life_finding(w, "ecmp", rows[k].cause);
				if (leaf == 2 && w <= rows[k].later)
					continue;
				if (leaf == 2)
					f.value = rows[k].value;
				f.device = leaf == 1 ? "leaf1" : "leaf2";
				f.group = "uplinks";
				f.summary = "uneven";
				ledger_take(life.ledger, &f);
			}
		assert_int_equal(ledger_incidents(life.ledger, &v), rows[k].incidents);
		if (rows[k].incidents == 1)
			assert_string_equal(v[0]->summary, "2 groups: uneven");
		life_end(&life);
	}
}

/* Of two that are alike at most one explains the other: else both would wait. */
static void test_families_have_one_head(void **state)
{
	static const enum cause causes[] = {CAUSE_ECMP_LOW_ENTROPY, CAUSE_OVERSUBSCRIPTION,
		CAUSE_ECMP_IMBALANCE, CAUSE_UNLUCKY_PLACEMENT};
	static const char *const groups[] = {"to:spine1", "uplinks"};
	struct life life = life_begin();
	for (size_t k = 0; k < rw_countof(causes); k++) {
		const struct incident one = {
			.cause = causes[k], .device = "leaf1", .group = groups[0], .value = 1};
		const struct incident other = {
			.cause = causes[k], .device = "leaf1", .group = groups[1], .value = 1};
		print_message("   row: %s\n", cause_name(causes[k]));
		assert_false(explains(life.config->fabric, &one, &other) &&
			explains(life.config->fabric, &other, &one));
	}
	life_end(&life);
}

/* ---- what a job loses ------------------------------------------------------- */

#define BLOCKS 60
#define FAULT 70

static void feed_rate(struct life *life, int window, double left)
{
	static const double wobble[] = {0.4, -0.3, 0.1, -0.2, 0.3, -0.1, -0.4, 0.2};
	double rate[BLOCKS];
	for (int k = 0; k < BLOCKS; k++) {
		const int at = window - BLOCKS + k + 1;
		rate[k] = wobble[at % 8] + (at >= FAULT ? 100 * left : 100);
	}
	const struct job_rate job = {.job = "train",
		.from_ns = (window - BLOCKS) * W,
		.block_ns = W,
		.n = BLOCKS,
		.rate = rate};
	ledger_rates(life->ledger, &job, 1);
}

static void feed_loss(
	struct life *life, int window, double left, enum cause cause, enum severity severity)
{
	struct finding f = life_finding(window, "congestion", cause);
	f.severity = severity;
	if (severity == SEV_INFO)
		f.loss_ratio = 1 - left;
	f.host = "node-1";
	ledger_take(life->ledger, &f);
	feed_rate(life, window, left);
}

static void test_loss_counts(void **state)
{
	static const struct {
		const char *what;
		double left;
		enum cause cause;
		enum severity given, expected;
	} rows[] = {
		{"a third of the job", 0.67, CAUSE_INCAST, SEV_WARNING, SEV_CRITICAL},
		{"an eighth", 0.87, CAUSE_INCAST, SEV_WARNING, SEV_WARNING},
		{"an eighth, called harmless", 0.87, CAUSE_INCAST, SEV_INFO, SEV_WARNING},
		{"a twentieth, called harmless", 0.95, CAUSE_INCAST, SEV_INFO, SEV_INFO},
		{"the network is ruled out", 0.67, CAUSE_STRAGGLER, SEV_INFO, SEV_INFO},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct life life = life_begin();
		print_message("   row: %s\n", rows[k].what);
		for (int w = FAULT; w < FAULT + 40; w++)
			feed_loss(&life, w, rows[k].left, rows[k].cause, rows[k].given);
		assert_int_equal(life_one(&life)->severity, rows[k].expected);
		life_end(&life);
	}
}

/* What an incident explained stands by itself when that has ended: of what a job loses, claimed or
 * measured, it has its part beside what else is open, and all together no more than the job. */
static void test_part_of_ended_is_priced(void **state)
{
	static const struct {
		const char *what;
		double left; /* NAN: no throughput is known */
		double lost;
	} rows[] = {{"claimed", NAN, 1}, {"measured", 0.5, 0.5}};
	const double hour_usd = 512 * 30;
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct life life = life_begin();
		const struct incident **v;
		size_t parts = 0;
		print_message("   row: %s\n", rows[k].what);
		for (int w = FAULT; w < FAULT + 40; w++) {
			struct finding part = life_finding(w, "lossless_loss", CAUSE_LOSSLESS_LOSS);
			struct finding other = life_finding(w, "link_health", CAUSE_LINK_ERRORS);
			struct finding root = life_finding(w, "pause_storm", CAUSE_PFC_STORM);
			double open_usd = 0;
			part.port = other.port = root.port = "e1";
			root.host = "node-1";
			other.device = "leaf2";
			other.host = "node-2";
			part.loss_ratio = other.loss_ratio = root.loss_ratio = 1;
			if (w >= FAULT + 20)
				root.verdict = FINDING_UNDER;
			ledger_take(life.ledger, &part);
			ledger_take(life.ledger, &other);
			if (w > FAULT + 3)
				ledger_take(life.ledger, &root);
			if (isnan(rows[k].left))
				ledger_rates(life.ledger, NULL, 0);
			else
				feed_rate(&life, w, rows[k].left);
			const size_t n = ledger_incidents(life.ledger, &v);
			for (size_t i = 0; i < n; i++) {
				const struct incident *parent = NULL;
				if (v[i]->parent)
					parent = ledger_find(life.ledger, v[i]->parent);
				parts += parent != NULL;
				if (v[i]->state != INCIDENT_CLOSED &&
					(!parent || parent->state == INCIDENT_CLOSED))
					open_usd += v[i]->usd_per_hour;
			}
			assert_true(!(open_usd > 1.0001 * hour_usd));
		}
		assert_true(parts > 0);
		const size_t n = ledger_incidents(life.ledger, &v);
		assert_int_equal(n, 3);
		for (size_t i = 0; i < n; i++)
			if (v[i]->state != INCIDENT_CLOSED &&
				!(fabs(v[i]->usd_per_hour / hour_usd - rows[k].lost / 2) < 0.01))
				fail_msg("%s: %.0f", cause_name(v[i]->cause), v[i]->usd_per_hour);
		life_end(&life);
	}
}

/* ---- subjects of which nobody speaks ----------------------------------------- */

static bool life_delivers(
	const void *arg, const char *analyzer, const char *device, const char *port)
{
	return *(const bool *)arg;
}

/* A port of which the analyzer says nothing, nor of another one of its switch: when its counters
 * still come, its incident ends; when they do not, nothing is known and it stays. */
static void test_spoken_of_by_nobody(void **state)
{
	static const struct {
		const char *what;
		bool delivers;
		int windows;
		enum incident_state state;
	} rows[] = {
		{"its counters come", true, 12, INCIDENT_CLOSED},
		{"its counters come, for a short while", true, 5, INCIDENT_OPEN},
		{"silent", false, 30, INCIDENT_OPEN},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct life life = life_begin();
		print_message("   row: %s\n", rows[k].what);
		for (int w = 1; w <= 3 + rows[k].windows; w++) {
			struct finding f = life_finding(w, "pause_storm", CAUSE_SLOW_RECEIVER);
			f.port = "e10";
			if (w <= 3)
				ledger_take(life.ledger, &f);
			ledger_judged(life.ledger, "pause_storm", w * W, 1, life_delivers,
				&rows[k].delivers);
		}
		assert_int_equal(life_one(&life)->state, rows[k].state);
		life_end(&life);
	}
}

/* ---- any change of the topology while a fault lasts --------------------------- */

#define CYCLES 1000
#define CYCLE_FAULT 12 /* windows with a fault and with changes */
#define CYCLE_AFTER 20 /* windows without: more than the slowest rule takes */

enum { CYCLE_LEAVES = 2, CYCLE_PORTS = 3, CYCLE_CHANGES = 6 };
enum cycle_plug { PLUG_HOST, PLUG_UNDECLARED, PLUG_SWITCH, PLUGS };

struct cycle {
	uint32_t random;
	struct config *config;
	struct ledger *ledger;
	struct cycle_leaf {
		unsigned name, spine; /* numbers in names */
		bool absent;
		enum cycle_plug plug[CYCLE_PORTS];
		unsigned host[CYCLE_PORTS];
		bool ill[CYCLE_PORTS], uneven;
	} leaf[CYCLE_LEAVES];
	unsigned names;
	size_t by_rule, by_finding; /* closed because nobody judges it; because it is well */
};

static uint32_t cycle_draw(struct cycle *cycle, uint32_t below)
{
	cycle->random = cycle->random * 1664525 + 1013904223;
	return (cycle->random >> 16) % below;
}

static struct config *cycle_config(const struct cycle *cycle)
{
	rw_cleanup(str_done) struct str out = {0};
	struct config *config = NULL;
	struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	str_add(&out,
		"fabric: pod-a\ndevices:\n  - { name: spine1, role: spine }\n"
		"  - { name: spine2, role: spine }\n");
	for (size_t k = 0; k < CYCLE_LEAVES; k++)
		if (!cycle->leaf[k].absent)
			str_addf(&out, "  - { name: leaf%u, role: leaf }\n", cycle->leaf[k].name);
	str_add(&out, "links:\n  - { a: \"spine1:e99\", b: \"host:watcher\" }\n");
	for (size_t k = 0; k < CYCLE_LEAVES; k++) {
		const struct cycle_leaf *leaf = &cycle->leaf[k];
		if (leaf->absent)
			continue;
		for (size_t up = 0; up < 2; up++)
			str_addf(&out, "  - { a: \"leaf%u:e%zu\", b: \"spine%u:e%zu\" }\n",
				leaf->name, 49 + up, leaf->spine, 50 + 2 * k + up);
		for (size_t p = 0; p < CYCLE_PORTS; p++)
			if (leaf->plug[p] == PLUG_HOST)
				str_addf(&out, "  - { a: \"leaf%u:e%zu\", b: \"host:node-%u\" }\n",
					leaf->name, p, leaf->host[p]);
			else if (leaf->plug[p] == PLUG_SWITCH)
				str_addf(&out, "  - { a: \"leaf%u:e%zu\", b: \"spine2:e%zu\" }\n",
					leaf->name, p, 10 * k + p);
	}
	if (config_parse(out.s, out.n, "test", CONFIG_CASE, tables, n, &config, &errors) != 0)
		fail_msg("%s\n%s", errors.n ? errors.v[0].text : "configuration", out.s);
	err_list_done(&errors);
	return config;
}

static void cycle_hear(void *arg, const struct incident *incident, enum incident_state from)
{
	struct cycle *cycle = (struct cycle *)arg;
	if (incident->state != INCIDENT_CLOSED || from == INCIDENT_CLOSED)
		return;
	assert_non_null(incident->note); /* why, for its timeline */
	if (strstr(incident->note, "not seen for"))
		cycle->by_finding++;
	else
		cycle->by_rule++;
}

/* The agent ends, and starts with @config and what it had stored. */
static void cycle_restart(struct cycle *cycle, const struct config *config)
{
	const struct incident **v;
	struct ledger *next = ledger_new(config->fabric, cycle_hear, cycle);
	const size_t n = ledger_incidents(cycle->ledger, &v);
	for (size_t k = 0; k < n; k++) {
		rw_cleanup(freep) char *json = incident_json_text(v[k]);
		assert_int_equal(ledger_restore(next, json), 0);
	}
	ledger_free(cycle->ledger);
	cycle->ledger = next;
}

static void cycle_change(struct cycle *cycle)
{
	struct cycle_leaf *leaf = &cycle->leaf[cycle_draw(cycle, CYCLE_LEAVES)];
	const size_t p = cycle_draw(cycle, CYCLE_PORTS);
	switch (cycle_draw(cycle, CYCLE_CHANGES)) {
	case 0: leaf->host[p] = ++cycle->names; break;
	case 1: leaf->plug[p] = (enum cycle_plug)cycle_draw(cycle, PLUGS); break;
	case 2: leaf->name = ++cycle->names; break;
	case 3: leaf->absent = !leaf->absent; break;
	case 4: leaf->spine = 3 - leaf->spine; break;
	default:
		for (size_t all = 0; all < CYCLE_PORTS; all++)
			leaf->plug[all] = PLUG_SWITCH;
	}
	struct config *config = cycle_config(cycle);
	if (cycle_draw(cycle, 4) == 0)
		cycle_restart(cycle, config);
	else
		ledger_reload(cycle->ledger, config->fabric);
	config_free(cycle->config);
	cycle->config = config;
}

static void cycle_take(struct cycle *cycle, struct finding finding, bool over, const char *device)
{
	finding.device = device;
	if (!over)
		finding.verdict = FINDING_UNDER;
	ledger_take(cycle->ledger, &finding);
}

/* As detectors do: a finding of each subject that the topology has, and none of any other. */
static void cycle_window(struct cycle *cycle, int window, bool fault)
{
	const bool delivers = true;
	for (size_t k = 0; k < CYCLE_LEAVES; k++) {
		const struct cycle_leaf *leaf = &cycle->leaf[k];
		char name[32], port[16], host[32];
		snprintf(name, sizeof(name), "leaf%u", leaf->name);
		const struct fabric_device *device = fabric_device(cycle->config->fabric, name);
		for (size_t p = 0; device && p < CYCLE_PORTS; p++) {
			struct finding f = life_finding(
				window, "pause_storm", p ? CAUSE_SLOW_RECEIVER : CAUSE_PFC_STORM);
			snprintf(port, sizeof(port), "e%zu", p);
			snprintf(host, sizeof(host), "node-%u", leaf->host[p]);
			f.port = port;
			if (leaf->plug[p] == PLUG_HOST)
				f.host = host;
			if (leaf->plug[p] != PLUG_SWITCH)
				cycle_take(cycle, f, fault && leaf->ill[p], name);
		}
		for (size_t g = 0; device && g < device->n_groups; g++) {
			struct finding f = life_finding(window, "ecmp", CAUSE_ECMP_IMBALANCE);
			f.group = device->groups[g].id;
			cycle_take(cycle, f, fault && leaf->uneven, name);
		}
	}
	ledger_judged(cycle->ledger, "pause_storm", window * W, 1, life_delivers, &delivers);
	ledger_judged(cycle->ledger, "ecmp", window * W, 1, life_delivers, &delivers);
}

static size_t cycle_open(const struct cycle *cycle)
{
	const struct incident **v;
	size_t open = 0;
	const size_t n = ledger_incidents(cycle->ledger, &v);
	for (size_t k = 0; k < n; k++) {
		if (v[k]->state == INCIDENT_CLOSED)
			continue;
		open++;
		print_message("   open: %s %s %s %s\n", v[k]->device, str_or(v[k]->port, "-"),
			str_or(v[k]->host, "-"), str_or(v[k]->group, "-"));
	}
	return open;
}

/* Whatever is renamed, relinked, regrouped, taken out, added or restarted while a fault lasts: when
 * it is over, nothing is open. */
static void test_any_change_ends(void **state)
{
	size_t by_rule = 0, by_finding = 0;
	for (uint32_t draw = 1; draw <= CYCLES; draw++) {
		struct cycle cycle = {.random = draw * 2654435761u, .names = 10};
		for (size_t k = 0; k < CYCLE_LEAVES; k++) {
			struct cycle_leaf *leaf = &cycle.leaf[k];
			leaf->name = (unsigned)k + 1;
			leaf->spine = 1;
			leaf->uneven = cycle_draw(&cycle, 2);
			for (size_t p = 0; p < CYCLE_PORTS; p++) {
				leaf->plug[p] = (enum cycle_plug)cycle_draw(&cycle, PLUG_SWITCH);
				leaf->host[p] = ++cycle.names;
				leaf->ill[p] = cycle_draw(&cycle, 2);
			}
		}
		cycle.config = cycle_config(&cycle);
		cycle.ledger = ledger_new(cycle.config->fabric, cycle_hear, &cycle);
		for (int w = 1; w <= CYCLE_FAULT + CYCLE_AFTER; w++) {
			const bool fault = w <= CYCLE_FAULT;
			if (fault && w > 2 && cycle_draw(&cycle, 4) == 0)
				cycle_change(&cycle);
			cycle_window(&cycle, w, fault);
		}
		const size_t open = cycle_open(&cycle);
		by_rule += cycle.by_rule;
		by_finding += cycle.by_finding;
		ledger_free(cycle.ledger);
		config_free(cycle.config);
		if (open > 0)
			fail_msg("draw %u: %zu incidents are open", draw, open);
	}
	print_message("   closed: %zu judged by nobody, %zu that are well\n", by_rule, by_finding);
	assert_true(by_rule > CYCLES);
	assert_true(by_finding > CYCLES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silence_must_hold),
		cmocka_unit_test(test_severity_must_hold),
		cmocka_unit_test(test_falling_opens_nothing),
		cmocka_unit_test(test_part_of_what_ended),
		cmocka_unit_test(test_set_back),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_families_have_one_head),
		cmocka_unit_test(test_loss_counts),
		cmocka_unit_test(test_part_of_ended_is_priced),
		cmocka_unit_test(test_spoken_of_by_nobody),
		cmocka_unit_test(test_any_change_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
