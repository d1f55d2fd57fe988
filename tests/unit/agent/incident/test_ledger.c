/* test_ledger - an incident's life as rows of windows; the money; causes that change; restart in
 * the middle. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/command/command.h"
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
			   "  - { a: \"leaf2:e1\", b: \"host:other-1\" }\n"
			   "jobs:\n"
			   "  - { name: train, gpus: 512, hosts: \"node-*\" }\n"
			   "  - { name: small, gpus: 8, hosts: \"other-*\" }\n"
			   "cost: { usd_per_gpu_hour: 30 }\n";

static struct config *config_of(const char *text)
{
	struct config *c = NULL;
	struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	if (config_parse(text, strlen(text), "test", CONFIG_CASE, tables, n, &c, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "configuration");
	err_list_done(&errors);
	return c;
}

struct heard {
	struct str states; /* one letter per change of state: o c x (open, clearing, closed) */
	unsigned updates;
	char last_note[256];
};

static void hear(void *arg, const struct incident *i, enum incident_state from)
{
	struct heard *h = arg;
	if (from != i->state)
		str_addn(&h->states, &"pocx"[i->state], 1);
	else
		h->updates++;
	if (i->note)
		snprintf(h->last_note, sizeof(h->last_note), "%s", i->note);
	json_t *document = incident_json(i);
	assert_string_equal(json_string_value(json_object_get(document, "state")),
		incident_state_name(i->state));
	json_decref(document);
}

static struct finding finding_at(int window, enum finding_verdict verdict, uint32_t hold)
{
	return (struct finding){.analyzer = "ecmp_imbalance",
		.cause = CAUSE_ECMP_IMBALANCE,
		.verdict = verdict,
		.severity = SEV_WARNING,
		.from_ns = (window - 1) * W,
		.to_ns = window * W,
		.device = "leaf1",
		.group = "uplinks",
		.priority = PRIO_NONE,
		.hold = hold,
		.summary = "skewed",
		.confidence_ratio = 0.5,
		.coverage_ratio = 1,
		.loss_ratio = 0.1,
		.explained_ratio = NAN,
		.value = 0.5,
		.warn = 0.2};
}

static void feed(struct ledger *l, const char *windows, int first, uint32_t hold)
{
	for (int k = 0; windows[k]; k++) {
		enum finding_verdict v = windows[k] == 'O' ? FINDING_OVER
			: windows[k] == 'U'                ? FINDING_UNDER
			: windows[k] == 'i'                ? FINDING_IDLE
							   : FINDING_UNKNOWN;
		struct finding f = finding_at(first + k, v, hold);
		ledger_take(l, &f);
	}
}

static void test_life(void **state)
{
	static const struct {
		const char *what, *windows; /* O over, U under, i idle, ? unknown */
		uint32_t hold;
		const char *states;
		size_t incidents;
	} rows[] = {
		{"held long enough", "OOO", 3, "o", 1},
		{"not held long enough", "OO", 3, "", 0},
		{"one quiet window among five does not hold it up", "OOUO", 3, "o", 1},
		{"three of the last five, not of six", "OUUOUUO", 3, "", 0},
		{"five quiet windows forget a pending one", "OOUUUUUOO", 3, "", 0},
		{"two of three for a hold of two", "OUO", 2, "o", 1},
		{"two of four are too thin for it", "OUUO", 2, "", 0},
		{"idle windows neither count nor forget", "OiOiiO", 3, "o", 1},
		{"unknown freezes a pending one", "OO???O", 3, "o", 1},
		{"quiet closes after as many windows", "OOOUUU", 3, "ocx", 1},
		{"back while clearing", "OOOUUOUU", 3, "ococ", 1},
		{"idle does not close", "OOOUiiiiU", 3, "oc", 1},
		{"unknown does not close", "OOOUU?????", 3, "oc", 1},
		{"back after it closed: the same story", "OOOUUUOOO", 3, "ocxo", 1},
		{"not held long enough to come back", "OOOUUUOO", 3, "ocx", 1},
		{"hold of one opens and closes at once", "OU", 1, "ocx", 1},
		{"hold of zero is one", "O", 0, "o", 1},
		{"quiet from the start", "UUU", 3, "", 0},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct heard h = {0};
		const struct incident **v;
		struct ledger *l = ledger_new(c->fabric, hear, &h);
		print_message("   row: %s\n", rows[k].what);
		feed(l, rows[k].windows, 1, rows[k].hold);
		assert_string_equal(h.states.s ? h.states.s : "", rows[k].states);
		assert_int_equal(ledger_incidents(l, &v), rows[k].incidents);
		ledger_free(l);
		str_done(&h.states);
	}
	config_free(c);
}

static void test_times_and_money(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	feed(l, "OiOOUUU", 10, 3);
	assert_int_equal(ledger_incidents(l, &v), 1);
	assert_int_equal(v[0]->first_ns, 9 * W);
	assert_int_equal(v[0]->opened_ns, 13 * W);
	assert_int_equal(v[0]->closed_ns, 16 * W);
	assert_int_equal(v[0]->windows, 3);
	/* only the job with a host at leaf1 waits; three windows of a minute were over */
	assert_int_equal(v[0]->gpus_affected, 512);
	assert_true(fabs(v[0]->usd_per_hour - 512 * 30 * 0.1) < 1e-9);
	assert_true(fabs(v[0]->usd_total - 512 * 30 * 0.1 * 3 / 60) < 1e-9);
	assert_int_equal(strlen(v[0]->id), 8);
	assert_int_equal(strspn(v[0]->id, "abcdefghijklmnopqrstuvwxyz234567"), 8);
	ledger_free(l);
	config_free(c);
}

static void test_cost_unknown(void **state)
{
	static const char bare[] = "fabric: pod-a\ndevices:\n  - { name: leaf1, role: leaf }\n";
	static const struct {
		const char *what, *text;
		double loss;
	} rows[] = {
		{"no jobs", bare, 0.1},
		{"loss unknown", yaml, NAN},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct config *c = config_of(rows[k].text);
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		struct finding f = finding_at(1, FINDING_OVER, 1);
		print_message("   row: %s\n", rows[k].what);
		f.loss_ratio = rows[k].loss;
		ledger_take(l, &f);
		assert_int_equal(ledger_incidents(l, &v), 1);
		json_t *document = incident_json(v[0]);
		assert_true(json_is_null(json_object_get(document, "usd_per_hour")));
		assert_true(json_is_null(json_object_get(document, "usd_total")));
		assert_true(json_is_integer(json_object_get(document, "gpus_affected")));
		json_decref(document);
		ledger_free(l);
		config_free(c);
	}
}

static void test_contract_fields(void **state)
{
	static const char *const keys[] = {"id", "cause", "severity", "state", "opened", "closed",
		"subject", "roles", "confidence_ratio", "confidence_inputs", "evidence",
		"coverage_ratio", "jobs", "gpus_affected", "ruled_out", "changed_before",
		"next_steps", "explained_ratio", "usd_per_hour", "usd_total", "parent", "acked_by",
		"summary", "value", "warn"};
	static const char *const subject_keys[] = {
		"device", "port", "priority", "host", "hosts", "group", "flows", "member"};
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	feed(l, "O", 1, 1);
	assert_int_equal(ledger_incidents(l, &v), 1);
	json_t *document = incident_json(v[0]);
	for (size_t k = 0; k < rw_countof(keys); k++) {
		if (!json_object_get(document, keys[k]))
			fail_msg("field %s is missing", keys[k]);
	}
	for (size_t k = 0; k < rw_countof(subject_keys); k++) {
		if (!json_object_get(json_object_get(document, "subject"), subject_keys[k]))
			fail_msg("field subject.%s is missing", subject_keys[k]);
	}
	json_decref(document);
	ledger_free(l);
	config_free(c);
}

static void test_severity_and_strength(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	struct finding f = finding_at(1, FINDING_OVER, 1);
	ledger_take(l, &f);
	f = finding_at(2, FINDING_OVER, 1);
	f.severity = SEV_CRITICAL;
	f.value = 0.9;
	f.summary = "worse";
	ledger_take(l, &f);
	f = finding_at(3, FINDING_OVER, 1);
	f.summary = "milder";
	ledger_take(l, &f);
	assert_int_equal(ledger_incidents(l, &v), 1);
	assert_int_equal(v[0]->severity, SEV_CRITICAL);
	assert_string_equal(v[0]->summary, "worse");
	assert_true(v[0]->value == 0.9);
	ledger_free(l);
	config_free(c);
}

static void test_cause_changes(void **state)
{
	static const struct {
		const char *what;
		double confidence; /* of the other cause; the first has 0.5 */
		double value; /* and 0.5 */
		int windows; /* in a row */
		const char *cause;
	} rows[] = {
		{"surer: at once", 0.9, 0.5, 1, "ecmp_low_entropy"},
		{"as sure: at once", 0.5, 0.5, 1, "ecmp_low_entropy"},
		{"a little less sure, one window", 0.45, 0.5, 1, "ecmp_imbalance"},
		{"a little less sure, but held", 0.45, 0.5, 3, "ecmp_low_entropy"},
		{"clearly less sure, however long", 0.3, 0.5, 9, "ecmp_imbalance"},
		{"as sure and weaker: the window in which the fault ends", 0.5, 0.3, 1,
			"ecmp_imbalance"},
		{"a little surer and weaker, two windows", 0.55, 0.3, 2, "ecmp_imbalance"},
		{"as sure and weaker, but held", 0.5, 0.3, 3, "ecmp_low_entropy"},
		{"weaker, but much surer: at once", 0.9, 0.3, 1, "ecmp_low_entropy"},
		{"as sure and stronger: at once", 0.5, 0.9, 1, "ecmp_low_entropy"},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct heard h = {0};
		struct ledger *l = ledger_new(c->fabric, hear, &h);
		const struct incident **v;
		char id[9];
		print_message("   row: %s\n", rows[k].what);
		feed(l, "OOO", 1, 3);
		assert_int_equal(ledger_incidents(l, &v), 1);
		memcpy(id, v[0]->id, sizeof(id));
		for (int w = 0; w < rows[k].windows; w++) {
			struct finding f = finding_at(4 + w, FINDING_OVER, 3);
			f.cause = CAUSE_ECMP_LOW_ENTROPY;
			f.confidence_ratio = rows[k].confidence;
			f.value = rows[k].value;
			f.summary = "other";
			ledger_take(l, &f);
		}
		assert_int_equal(ledger_incidents(l, &v), 1);
		assert_string_equal(cause_name(v[0]->cause), rows[k].cause);
		assert_string_equal(v[0]->summary,
			str_eq(rows[k].cause, "ecmp_imbalance") ? "skewed" : "other");
		assert_string_equal(v[0]->id, id);
		if (!str_eq(rows[k].cause, "ecmp_imbalance"))
			assert_string_equal(
				h.last_note, "cause: ecmp_low_entropy, was ecmp_imbalance");
		ledger_free(l);
		str_done(&h.states);
	}
	config_free(c);
}

/* One fault, one story: what an open story explains does not open beside it, and says so there. */
static struct finding finding_of(
	int window, const char *cause, const char *port, const char *host, uint32_t hold)
{
	struct finding f = finding_at(window, FINDING_OVER, hold);
	f.analyzer = cause;
	f.cause = cause_by_name(cause);
	f.device = "leaf1";
	f.group = NULL;
	f.port = port;
	f.host = host;
	f.summary = cause;
	return f;
}

static void near_usd(double got, double expected)
{
	if (!(fabs(got - expected) < 1e-6))
		fail_msg("%.9g, expected %.9g", got, expected);
}

/* A storage host is in no job: the jobs on its switch wait for it. */
static void test_storage_host_costs(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	for (int window = 0; window < 4; window++) {
		struct finding f = finding_of(window, "slow_receiver", "Ethernet9", "storage-1", 1);
		ledger_take(l, &f);
	}
	assert_int_equal(ledger_incidents(l, &v), 1);
	assert_int_equal(v[0]->gpus_affected, 512);
	ledger_free(l);
	config_free(c);
}

/* Without links nobody knows that what three devices show is one fault, and no throughput: each
 * claims. A job loses no more than all of itself in any window, and so it is told at each moment.
 */
static void test_job_is_lost_once(void **state)
{
	static const char text[] = "fabric: pod-a\n"
				   "devices:\n"
				   "  - { name: leaf1, role: leaf }\n"
				   "jobs:\n"
				   "  - { name: train, gpus: 512, hosts: \"node-*\" }\n"
				   "cost: { usd_per_gpu_hour: 30 }\n";
	static const struct {
		const char *what, *cause[3];
		double claim[3], part[3];
	} rows[] = {
		{"three that stop it", {"slow_receiver", "link_errors", "ecmp_imbalance"},
			{1, 1, 1}, {1 / 3.0, 1 / 3.0, 1 / 3.0}},
		{"by what each claims", {"slow_receiver", "link_errors", "ecmp_imbalance"},
			{1, 0.5, 0.5}, {0.5, 0.25, 0.25}},
		{"less than there is", {"slow_receiver", "link_errors", "ecmp_imbalance"},
			{0.4, 0.3, 0.1}, {0.4, 0.3, 0.1}},
	};
	const double hour_usd = 512 * 30;
	struct config *c = config_of(text);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		print_message("   row: %s\n", rows[i].what);
		for (int window = 1; window <= 5; window++) {
			double per_hour = 0, total = 0;
			for (int k = 0; k < 3; k++) {
				struct finding f = finding_of(window, rows[i].cause[k],
					(const char *[]){"e1", "e2", "e3"}[k], NULL, 1);
				f.loss_ratio = rows[i].claim[k];
				ledger_take(l, &f);
				ledger_rates(l, NULL, 0); /* each analyzer's window ends */
			}
			const size_t n = ledger_incidents(l, &v);
			assert_int_equal(n, 3);
			for (size_t k = 0; k < n; k++) {
				assert_null(v[k]->parent);
				per_hour += v[k]->usd_per_hour;
				total += v[k]->usd_total;
			}
			assert_true(per_hour <= hour_usd * (1 + 1e-9));
			assert_true(total <= hour_usd * window / 60 * (1 + 1e-9));
			for (size_t k = 0; k < n; k++)
				for (int j = 0; j < 3; j++)
					if (str_eq(v[k]->port,
						    (const char *[]){"e1", "e2", "e3"}[j])) {
						near_usd(v[k]->usd_per_hour,
							hour_usd * rows[i].part[j]);
						near_usd(v[k]->usd_total,
							hour_usd * rows[i].part[j] * window / 60);
					}
		}
		ledger_free(l);
	}
	config_free(c);
}

/* A spine that is gone is why its leaves spread over the others anew, and why what arrives at a
 * leaf does; other pods are none of its business. */
static void test_device_gone(void **state)
{
	static const char text[] = "fabric: pod-a\n"
				   "devices:\n"
				   "  - { name: leaf1, role: leaf }\n"
				   "  - { name: leaf2, role: leaf }\n"
				   "  - { name: spine1, role: spine }\n"
				   "  - { name: spine2, role: spine }\n"
				   "  - { name: spine3, role: spine }\n"
				   "links:\n"
				   "  - { a: \"leaf1:e1\", b: \"spine1:e1\" }\n"
				   "  - { a: \"leaf1:e2\", b: \"spine2:e1\" }\n"
				   "  - { a: \"leaf1:e3\", b: \"spine2:e2\" }\n"
				   "  - { a: \"leaf2:e1\", b: \"spine2:e3\" }\n"
				   "  - { a: \"leaf2:e2\", b: \"spine3:e1\" }\n";
	static const struct {
		const char *device, *group, *member;
		bool explained;
	} rows[] = {
		{"leaf1", "uplinks", "e2", true},
		{"leaf1", "to:spine2", "e2", true},
		{"spine2", "to:leaf1", "e1", true},
		{"leaf2", "uplinks", "e1", false},
	};
	struct config *c = config_of(text);
	const struct incident gone = {.cause = CAUSE_DEVICE_DOWN, .device = "spine1"};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		const struct incident uneven = {.cause = CAUSE_ECMP_IMBALANCE,
			.device = rows[k].device,
			.group = rows[k].group,
			.member = rows[k].member};
		print_message("   row: %s %s\n", rows[k].device, rows[k].group);
		assert_int_equal(explains(c->fabric, &gone, &uneven), rows[k].explained);
	}
	config_free(c);
}

static void test_folding(void **state)
{
	static const struct {
		/* each OVER in windows 1.. */
		const char *what, *first, *first_host, *second, *second_host;
		uint32_t first_hold, second_hold;
		size_t incidents;
	} rows[] = {
		{"explained while open: told there", "slow_receiver", "h1", "incast", "h1", 1, 3,
			1},
		{"its explanation is still pending: it waits", "slow_receiver", "h1", "incast",
			"h1", 3, 2, 1},
		{"loss is not what a slow receiver does: two stories", "slow_receiver", "h1",
			"lossless_loss", "h1", 3, 1, 2},
		{"a pending storm: loss at its port waits for it", "pfc_storm", "h1",
			"lossless_loss", "h1", 3, 1, 1},
		{"elsewhere: two stories", "slow_receiver", "h1", "incast", "h2", 1, 1, 2},
		{"vague ones fold anywhere", "link_errors", "h1", "unknown", "h2", 1, 1, 1},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		print_message("   row: %s\n", rows[k].what);
		for (int w = 1; w <= 4; w++) {
			struct finding a = finding_of(w, rows[k].first, "Ethernet1",
				rows[k].first_host, rows[k].first_hold);
			struct finding b = finding_of(w, rows[k].second,
				str_eq(rows[k].second_host, "h1") ? "Ethernet1" : "Ethernet2",
				rows[k].second_host, rows[k].second_hold);
			ledger_take(l, &a);
			ledger_take(l, &b);
		}
		assert_int_equal(ledger_incidents(l, &v), rows[k].incidents);
		const size_t also = v[0]->n_also;
		assert_int_equal(also, rows[k].incidents == 1 ? 1 : 0);
		ledger_free(l);
	}
	config_free(c);
}

/* Nothing is part of something milder: what is worse is told by itself. */
static void test_folds_into_no_milder(void **state)
{
	static const struct {
		const char *what, *by, *other;
		enum severity by_severity, other_severity;
		size_t incidents;
	} rows[] = {
		{"a job that loses half is no part of an information", "ecmp_imbalance", "unknown",
			SEV_INFO, SEV_WARNING, 2},
		{"a queue that fills as the job becomes slower is why", "incast", "unknown",
			SEV_INFO, SEV_CRITICAL, 1},
		{"as bad: part of it", "ecmp_imbalance", "unknown", SEV_WARNING, SEV_WARNING, 1},
		{"milder: part of it", "ecmp_imbalance", "unknown", SEV_CRITICAL, SEV_WARNING, 1},
		{"what is critical makes its cause critical", "missing_route", "ecmp_imbalance",
			SEV_WARNING, SEV_CRITICAL, 1},
		{"critical is no part of an information", "missing_route", "ecmp_imbalance",
			SEV_INFO, SEV_CRITICAL, 2},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < 3 * rw_countof(rows); k++) {
		/* the one that explains first, second, or first and still pending */
		const int order = (int)(k % 3);
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		print_message("   row: %s, order %d\n", rows[k / 3].what, order);
		for (int w = 1; w <= 6; w++) {
			struct finding by =
				finding_of(w, rows[k / 3].by, "e1", "node-1", order == 2 ? 3 : 1);
			struct finding other = finding_of(
				w, rows[k / 3].other, "e1", "node-1", order == 2 ? 2 : 1);
			by.severity = rows[k / 3].by_severity;
			other.severity = rows[k / 3].other_severity;
			if (order != 1 || w > 2)
				ledger_take(l, &by);
			ledger_take(l, &other);
		}
		/* what begins two windows later is not why */
		const bool apart = rows[k / 3].incidents == 2 ||
			(order == 1 && rows[k / 3].by_severity == SEV_INFO);
		assert_int_equal(ledger_incidents(l, &v), order == 1 ? 2 : rows[k / 3].incidents);
		for (size_t i = 0; i < ledger_incidents(l, &v); i++) {
			const bool child = order == 1 && !apart &&
				v[i]->cause == cause_by_name(rows[k / 3].other);
			assert_int_equal(v[i]->parent != NULL, child);
			assert_int_equal(v[i]->n_also, !apart && !child);
			if (!apart && !child)
				assert_true(v[i]->severity >= rows[k / 3].other_severity);
		}
		ledger_free(l);
	}
	config_free(c);
}

/* A part whose cause changes is no part of what does not explain the new one. */
static void test_changes_out_of_its_parent(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	for (int w = 1; w <= 12; w++) {
		struct finding by = finding_of(w, "slow_receiver", "e1", "node-1", 1);
		struct finding part =
			finding_of(w, w <= 3 ? "incast" : "mtu_mismatch", "e1", "node-1", 1);
		part.analyzer = "part";
		part.confidence_ratio = w <= 3 ? 0.6 : 0.95;
		if (w > 1)
			ledger_take(l, &by);
		ledger_take(l, &part);
	}
	assert_int_equal(ledger_incidents(l, &v), 2);
	for (size_t i = 0; i < 2; i++)
		assert_null(v[i]->parent);
	ledger_free(l);
	config_free(c);
}

/* A part that becomes worse than an information is told by itself from then on; one that becomes
 * worse than a fault makes that worse. Whether it was open before, or never. */
static void test_grows_out_of_its_parent(void **state)
{
	struct config *c = config_of(yaml);
	for (int k = 0; k < 4; k++) {
		const bool open = k % 2, harmless = k / 2;
		struct heard h = {0};
		struct ledger *l = ledger_new(c->fabric, hear, &h);
		const struct incident **v;
		for (int w = 1; w <= 6; w++) {
			struct finding by = finding_of(w, "slow_receiver", "e1", "node-1", 1);
			struct finding part = finding_of(w, "incast", "e1", "node-1", 1);
			if (harmless)
				by.severity = part.severity = SEV_INFO;
			if (w > 3)
				part.severity = SEV_CRITICAL;
			if (!open || w > 1)
				ledger_take(l, &by);
			ledger_take(l, &part);
		}
		assert_int_equal(ledger_incidents(l, &v), 1 + (open || harmless));
		assert_int_equal(v[0]->severity, SEV_CRITICAL);
		for (size_t i = 0; i < ledger_incidents(l, &v); i++) {
			const bool part = v[i]->cause == CAUSE_INCAST;
			assert_int_equal(v[i]->parent != NULL, part && !harmless);
			if (!part)
				assert_int_equal(
					v[i]->severity, harmless ? SEV_INFO : SEV_CRITICAL);
		}
		ledger_free(l);
		str_done(&h.states);
	}
	config_free(c);
}

/* One setting that is wrong on many switches stays one incident: as bad as the worst of them. */
static void test_speaks_for_the_worst(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	for (int w = 1; w <= 3; w++) {
		struct finding first = finding_of(w, "ecn_late", NULL, NULL, 1), second = first;
		second.device = "leaf2";
		second.severity = SEV_CRITICAL;
		ledger_take(l, &first);
		ledger_take(l, &second);
	}
	assert_int_equal(ledger_incidents(l, &v), 1);
	assert_string_equal(v[0]->device, "leaf1");
	assert_int_equal(v[0]->severity, SEV_CRITICAL);
	ledger_free(l);
	config_free(c);
}

/* What was open before its explanation is part of it as soon as that opens, also when its own
 * windows are clear by then; not when it began long before. */
static void test_absorbed(void **state)
{
	struct config *c = config_of(yaml);
	for (int minutes = 1; minutes <= 21; minutes += 20) {
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		struct finding symptom = finding_of(1, "incast", "Ethernet1", "h1", 1);
		ledger_take(l, &symptom);
		struct finding root =
			finding_of(1 + minutes, "slow_receiver", "Ethernet1", "h1", 1);
		root.confidence_ratio = 0.9;
		ledger_take(l, &root);
		const struct incident **v;
		assert_int_equal(ledger_incidents(l, &v), 2);
		const struct incident *child = v[0]->cause == CAUSE_INCAST ? v[0] : v[1];
		if (minutes < 10)
			assert_non_null(child->parent);
		else
			assert_null(child->parent);
		ledger_free(l);
	}
	config_free(c);
}

/* A cause that is found later explains what was open before it was found. */
static void test_absorbed_by_new_cause(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	struct finding first = finding_of(1, "slow_receiver", "Ethernet1", "h1", 1);
	ledger_take(l, &first);
	struct finding loss = finding_of(1, "lossless_loss", "Ethernet1", "h1", 1);
	loss.analyzer = "lossless_loss";
	ledger_take(l, &loss);
	const struct incident **v;
	assert_int_equal(ledger_incidents(l, &v), 2);
	assert_null(v[0]->parent);
	assert_null(v[1]->parent);
	struct finding storm = finding_of(2, "pfc_storm", "Ethernet1", "h1", 1);
	storm.analyzer = first.analyzer;
	ledger_take(l, &storm);
	assert_int_equal(ledger_incidents(l, &v), 2);
	const struct incident *child = v[0]->cause == CAUSE_LOSSLESS_LOSS ? v[0] : v[1];
	assert_non_null(child->parent);
	ledger_free(l);
	config_free(c);
}

/* Open first, explained later: it keeps its place and learns its parent; its explanation lists it.
 * A much less sure one explains nothing. */
static void test_parent(void **state)
{
	struct config *c = config_of(yaml);
	for (int sure = 0; sure < 2; sure++) {
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		for (int w = 1; w <= 6; w++) {
			struct finding child = finding_of(w, "incast", "Ethernet1", "h1", 1),
				       parent =
					       finding_of(w, "slow_receiver", "Ethernet1", "h1", 1);
			child.confidence_ratio = 0.8;
			parent.confidence_ratio = sure ? 0.8 : 0.3;
			ledger_take(l, &child);
			if (w > 2)
				ledger_take(l, &parent);
		}
		assert_int_equal(ledger_incidents(l, &v), 2);
		const struct incident *child = v[0]->cause == CAUSE_INCAST ? v[0] : v[1],
				      *parent = v[0]->cause == CAUSE_INCAST ? v[1] : v[0];
		if (sure) {
			assert_string_equal(child->parent, parent->id);
			assert_string_equal(child->parent, parent->id);
			assert_int_equal(parent->n_also, 1);
		} else {
			assert_null(child->parent);
			assert_null(child->parent);
		}
		assert_null(parent->parent);
		ledger_free(l);
	}
	config_free(c);
}

/* What people do stands in the timeline; what was changed before a story is told with it. */
static void test_acts(void **state)
{
	static const struct {
		const char *what;
		enum incident_action act;
		const char *text;
		int r;
		const char *note;
	} rows[] = {
		{"assigned", ACTION_ASSIGN, "compute", 0, "assigned to compute by kim"},
		{"a note", ACTION_NOTE, "optic ordered", 0, "kim: optic ordered"},
		{"a note without text", ACTION_NOTE, "", -EINVAL, NULL},
		{"merged into nothing", ACTION_MERGE, "zzzzzzzz", -ENOENT, NULL},
		{"closed", ACTION_CLOSE, "it is the test rig", 0,
			"closed: by kim: it is the test rig"},
		{"closed twice", ACTION_CLOSE, NULL, -EALREADY, NULL},
	};
	struct config *c = config_of(yaml);
	struct heard h = {0};
	struct ledger *l = ledger_new(c->fabric, hear, &h);
	const struct incident **v;
	char id[9];
	feed(l, "OOO", 1, 3);
	assert_int_equal(ledger_incidents(l, &v), 1);
	memcpy(id, v[0]->id, sizeof(id));
	for (size_t k = 0; k < rw_countof(rows); k++) {
		print_message("   row: %s\n", rows[k].what);
		assert_int_equal(
			ledger_action(l, id, rows[k].act, "kim", rows[k].text, 5 * W), rows[k].r);
		if (rows[k].note)
			assert_string_equal(h.last_note, rows[k].note);
	}
	assert_string_equal(ledger_find(l, id)->assigned_to, "compute");
	feed(l, "OOO", 6, 3); /* it goes on: the same story, and the same owner */
	assert_int_equal(ledger_incidents(l, &v), 1);
	assert_string_equal(v[0]->id, id);
	assert_int_equal(v[0]->state, INCIDENT_OPEN);
	assert_int_equal(v[0]->closed_ns, 0);
	assert_string_equal(v[0]->assigned_to, "compute");
	assert_string_equal(h.last_note, "opened again: the fault goes on");
	ledger_free(l);
	str_done(&h.states);
	config_free(c);
}

/* One letter a switch and window: O over, U under. */
static void feed_switches(struct ledger *l, const char *const *windows, enum cause cause)
{
	static const char *const names[] = {"leaf1", "leaf2", "spine1"};
	for (int w = 0; windows[w]; w++)
		for (size_t k = 0; k < rw_countof(names); k++) {
			struct finding f = finding_at(
				w + 1, windows[w][k] == 'O' ? FINDING_OVER : FINDING_UNDER, 2);
			f.cause = cause;
			f.device = names[k];
			f.group = NULL;
			ledger_take(l, &f);
		}
}

/* A setting that is wrong on many switches is one incident: the first speaks for all, and it ends
 * when the last one is well, however they flap. Other causes are counted one by one. */
static void test_one_cause_many_switches(void **state)
{
	static const char *const flapping[] = {
		"OOO", "OOO", "UOU", "UOO", "UUO", "OUU", "UOU", "UOO", "UUO", "OUU", "UUO", NULL};
	static const char *const well[] = {
		"OOO", "OOO", "UUU", "UUU", "UUU", "UUU", "UUU", "UUU", NULL};
	static const struct {
		const char *what;
		const char *const *windows;
		enum cause cause;
		size_t incidents;
		enum incident_state state;
		const char *begins;
	} rows[] = {
		{"one by one they flap", flapping, CAUSE_HEADROOM_SMALL, 1, INCIDENT_OPEN,
			"3 switches: skewed"},
		{"all are well again", well, CAUSE_ECN_LATE, 1, INCIDENT_CLOSED,
			"3 switches: skewed"},
		{"faults of their own", well, CAUSE_POOL_EXHAUSTED, 3, INCIDENT_CLOSED, "skewed"},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct heard h = {0};
		struct ledger *l = ledger_new(c->fabric, hear, &h);
		const struct incident **v;
		print_message("   row: %s\n", rows[k].what);
		feed_switches(l, rows[k].windows, rows[k].cause);
		assert_int_equal(ledger_incidents(l, &v), rows[k].incidents);
		assert_int_equal(v[0]->state, rows[k].state);
		assert_string_equal(v[0]->summary, rows[k].begins);
		if (rows[k].incidents == 1) {
			assert_string_equal(v[0]->device, "leaf1");
			assert_int_equal(v[0]->n_also, 2);
		}
		if (rows[k].state == INCIDENT_OPEN)
			assert_string_equal(h.states.s, "o");
		ledger_free(l);
		str_done(&h.states);
	}
	config_free(c);
}

/* Of a switch that opened first and is not judged any more, the one of many speaks, too. */
static void test_many_speak_for_one(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	for (int window = 1; window <= 8; window++) {
		struct finding one = finding_at(window, FINDING_OVER, 2);
		one.cause = CAUSE_ECN_OFF;
		one.group = NULL;
		struct finding many = one;
		many.device = NULL;
		if (window <= 2)
			ledger_take(l, &one);
		if (window > 1)
			ledger_take(l, &many);
		ledger_judged(l, one.analyzer, window * W, 1, NULL, NULL);
	}
	const struct incident **v;
	assert_int_equal(ledger_incidents(l, &v), 2);
	const size_t of_one = v[0]->device ? 0 : 1;
	assert_string_equal(v[of_one]->parent, v[1 - of_one]->id);
	assert_null(v[1 - of_one]->parent);
	ledger_free(l);
	config_free(c);
}

#define BLOCKS 60 /* of a job's past, a window each */
#define FAULT 70 /* the window it begins in */

/* One window: the finding, and what the job moved up to then, 20 % less since the fault. */
static void feed_priced(struct ledger *l, int window)
{
	static const double wobble[] = {0.4, -0.3, 0.1, -0.2, 0.3, -0.1, -0.4, 0.2};
	double rate[BLOCKS];
	for (int k = 0; k < BLOCKS; k++) {
		const int at = window - BLOCKS + k + 1;
		rate[k] = wobble[at % 8] + (at >= FAULT ? 80 : 100);
	}
	struct job_rate job = {.job = "train",
		.from_ns = (window - BLOCKS) * W,
		.block_ns = W,
		.n = BLOCKS,
		.rate = rate};
	struct finding f = finding_at(window, FINDING_OVER, 3);
	f.host = "node-1";
	f.loss_ratio = NAN;
	ledger_take(l, &f);
	ledger_rates(l, &job, 1);
}

/* Closed while it goes on, it costs what it cost: what is slow by then is not what is usual. */
static void test_price_survives(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	int window = FAULT;
	for (; window < FAULT + 40; window++)
		feed_priced(l, window);
	assert_int_equal(ledger_incidents(l, &v), 1);
	const double per_hour = v[0]->usd_per_hour, total = v[0]->usd_total;
	assert_true(per_hour > 0.15 * 512 * 30 && per_hour < 0.3 * 512 * 30);
	char id[9];
	memcpy(id, v[0]->id, sizeof(id));
	assert_int_equal(ledger_action(l, id, ACTION_CLOSE, "kim", NULL, (window - 1) * W), 0);
	for (; window < FAULT + 40 + 2 * BLOCKS; window++)
		feed_priced(l, window);
	assert_int_equal(ledger_incidents(l, &v), 1);
	assert_string_equal(v[0]->id, id);
	assert_float_equal(v[0]->usd_per_hour, per_hour, 0.02 * per_hour);
	/* and so many windows of it more */
	const double expected = per_hour * 2 * BLOCKS / 60;
	assert_float_equal(v[0]->usd_total - total, expected, 0.1 * expected);
	ledger_free(l);
	config_free(c);
}

/* When and after what a fault is the old one; also by a ledger that was restarted in between. */
static void test_returns(void **state)
{
	const int hours = (int)(3600 * NS_PER_S / W);
	const struct {
		const char *what;
		int gap; /* windows between */
		enum cause cause;
		size_t incidents;
	} rows[] = {
		{"at once", 1, CAUSE_ECMP_IMBALANCE, 1},
		{"seven hours later", 7 * hours, CAUSE_ECMP_IMBALANCE, 1},
		{"nine hours later", 9 * hours, CAUSE_ECMP_IMBALANCE, 2},
		{"another cause", 1, CAUSE_ECMP_LOW_ENTROPY, 2},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < 2 * rw_countof(rows); k++) {
		const bool restart = k % 2;
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		print_message("   row: %s%s\n", rows[k / 2].what, restart ? ", restarted" : "");
		feed(l, "OOO", 1, 3);
		assert_int_equal(ledger_incidents(l, &v), 1);
		ledger_action(l, v[0]->id, ACTION_ACK, "kim", NULL, 4 * W);
		feed(l, "UUU", 4, 3);
		if (restart) {
			rw_cleanup(freep) char *json = incident_json_text(v[0]);
			struct ledger *next = ledger_new(c->fabric, NULL, NULL);
			assert_int_equal(ledger_restore(next, json), 0);
			ledger_free(l);
			l = next;
		}
		for (int i = 0; i < 3; i++) {
			struct finding f = finding_at(7 + rows[k / 2].gap + i, FINDING_OVER, 3);
			f.cause = rows[k / 2].cause;
			ledger_take(l, &f);
		}
		assert_int_equal(ledger_incidents(l, &v), rows[k / 2].incidents);
		if (rows[k / 2].incidents == 1)
			assert_string_equal(v[0]->acked_by, "kim");
		ledger_forget(l, INT64_MAX); /* what is closed is gone, and not reached again */
		feed(l, "OOO", 20 * hours, 3);
		ledger_free(l);
	}
	config_free(c);
}

static void test_changed_before(void **state)
{
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	struct finding drift = finding_of(1, "config_drift", NULL, NULL, 1),
		       after = finding_of(2, "incast", "Ethernet1", "h1", 1);
	ledger_take(l, &drift);
	ledger_take(l, &after);
	assert_int_equal(ledger_incidents(l, &v), 2);
	for (size_t k = 0; k < 2; k++)
		assert_int_equal(v[k]->n_changed_before, v[k]->cause == CAUSE_INCAST ? 1 : 0);
	ledger_free(l);
	config_free(c);
}

/* The same windows, once in one run and once with a restart after each of them, must end in the
 * same bytes. */
static void test_restart_anywhere(void **state)
{
	static const char windows[] = "OOOOUOUUU";
	struct config *c = config_of(yaml);
	const struct incident **v;
	struct ledger *whole = ledger_new(c->fabric, NULL, NULL);
	feed(whole, windows, 1, 3);
	assert_int_equal(ledger_incidents(whole, &v), 1);
	rw_cleanup(freep) char *expected = incident_json_text(v[0]);
	for (size_t cut = 3; cut < strlen(windows); cut++) {
		struct ledger *before = ledger_new(c->fabric, NULL, NULL),
			      *after = ledger_new(c->fabric, NULL, NULL);
		rw_cleanup(freep) char *head = strndup(windows, cut);
		print_message("   row: restart after %s\n", head);
		feed(before, head, 1, 3);
		assert_int_equal(ledger_incidents(before, &v), 1);
		rw_cleanup(freep) char *stored = incident_json_text(v[0]);
		assert_int_equal(ledger_restore(after, stored), 0);
		assert_int_equal(ledger_restore(after, stored), -EEXIST);
		/* all windows again: those that counted do not count twice */
		feed(after, windows, 1, 3);
		assert_int_equal(ledger_incidents(after, &v), 1);
		rw_cleanup(freep) char *got = incident_json_text(v[0]);
		assert_string_equal(got, expected);
		ledger_free(before);
		ledger_free(after);
	}
	ledger_free(whole);
	config_free(c);
}

static void test_restore_refuses(void **state)
{
	static const char *const bad[] = {"", "[]", "{}", "{\"id\":\"abc\"}",
		"{\"id\":\"abcdefgh\",\"state\":\"open\",\"progress\":1,\"subject\":{}}"};
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	for (size_t k = 0; k < rw_countof(bad); k++) {
		print_message("   row: %s\n", bad[k]);
		assert_int_equal(ledger_restore(l, bad[k]), -EINVAL);
	}
	ledger_free(l);
	config_free(c);
}

static void test_ack_reload_forget(void **state)
{
	static const char other[] = "fabric: pod-a\ndevices:\n  - { name: leaf2, role: leaf }\n";
	struct config *c = config_of(yaml), *next = config_of(other);
	struct heard h = {0};
	struct ledger *l = ledger_new(c->fabric, hear, &h);
	const struct incident **v;
	char id[9];
	feed(l, "OO", 1, 1);
	assert_int_equal(ledger_incidents(l, &v), 1);
	for (int k = 0; k < 9; k++)
		id[k] = v[0]->id[k] >= 'a' ? (char)(v[0]->id[k] - 32) : v[0]->id[k];
	assert_int_equal(ledger_action(l, "zzzzzzzz", ACTION_ACK, "kim", NULL, 0), -ENOENT);
	/* an id is read in any case */
	assert_int_equal(ledger_action(l, id, ACTION_ACK, "kim", "on it", 5 * W), 0);
	assert_string_equal(h.last_note, "acknowledged by kim: on it");
	assert_string_equal(ledger_find(l, id)->acked_by, "kim");
	ledger_reload(l, next->fabric);
	assert_string_equal(h.states.s, "ox");
	assert_int_equal(v[0]->closed_ns, 2 * W);
	ledger_forget(l, 2 * W);
	assert_int_equal(ledger_incidents(l, &v), 1);
	ledger_forget(l, 3 * W);
	assert_int_equal(ledger_incidents(l, &v), 0);
	ledger_free(l);
	str_done(&h.states);
	config_free(c);
	config_free(next);
}

static void test_worst_first(void **state)
{
	static const struct {
		enum severity severity;
		double loss, confidence;
		const char *device;
	} rows[] = {
		{SEV_WARNING, 0.1, 0.5, "leaf1"},
		{SEV_CRITICAL, 0.1, 0.5, "leaf2"},
		{SEV_CRITICAL, NAN, 0.9, "spine1"},
	};
	static const char *const expected[] = {"leaf2", "spine1", "leaf1"};
	struct config *c = config_of(yaml);
	struct ledger *l = ledger_new(c->fabric, NULL, NULL);
	const struct incident **v;
	for (size_t k = 0; k < rw_countof(rows); k++) {
		struct finding f = finding_at(1, FINDING_OVER, 1);
		f.cause = CAUSE_LINK_ERRORS;
		f.severity = rows[k].severity;
		f.loss_ratio = rows[k].loss;
		f.confidence_ratio = rows[k].confidence;
		f.device = rows[k].device;
		ledger_take(l, &f);
	}
	assert_int_equal(ledger_incidents(l, &v), 3);
	for (size_t k = 0; k < 3; k++)
		assert_string_equal(v[k]->device, expected[k]);
	ledger_free(l);
	config_free(c);
}

/* How many OVER windows open an incident, by how far they are above their threshold. */
static void test_weight(void **state)
{
	static const struct {
		const char *what;
		double distance, confidence; /* value over threshold */
		int strides; /* a window is judged as often within its length */
		bool proven;
		uint32_t hold;
		int windows;
	} rows[] = {
		{"at the threshold", 1, 0.95, 1, false, 3, 3},
		{"at the threshold, thirds of windows", 1, 0.95, 3, false, 3, 9},
		{"twice the threshold", 2, 0.95, 3, false, 3, 3},
		{"twice the threshold, not sure of the cause", 2, 0.5, 3, false, 3, 9},
		{"far above", 20, 0.95, 3, false, 3, 2},
		{"far above, confidence unknown", 20, NAN, 3, false, 3, 9},
		{"an exact sign", 1, 0.5, 3, true, 3, 2},
		{"never a single window", 1000, 1, 1, true, 2, 2},
		{"but for a hold of one", 1, 0.5, 3, false, 1, 1},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < rw_countof(rows); k++) {
		print_message("   row: %s\n", rows[k].what);
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		int windows = 0;
		while (ledger_incidents(l, &v) == 0 && windows < 20) {
			struct finding f = finding_at(10, FINDING_OVER, rows[k].hold);
			f.new_ns = W / rows[k].strides;
			f.to_ns += windows * f.new_ns;
			f.from_ns = f.to_ns - W;
			f.value = rows[k].distance * f.warn;
			f.confidence_ratio = rows[k].confidence;
			f.proven = rows[k].proven;
			ledger_take(l, &f);
			windows++;
		}
		assert_int_equal(windows, rows[k].windows);
		ledger_free(l);
	}
	config_free(c);
}

/* A link that flaps once a minute, seen in two of three windows that hold each interruption. One
 * interruption alone opens nothing. */
static void test_repeated(void **state)
{
	static const struct {
		const char *windows;
		size_t incidents;
	} rows[] = {{"OOOUUUUUUUUU", 0}, {"OOUOOUOO", 1}};
	struct config *c = config_of(yaml);
	for (size_t n = 0; n < rw_countof(rows); n++) {
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		for (int k = 0; rows[n].windows[k]; k++) {
			struct finding f = finding_at(10, FINDING_UNDER, 2);
			if (rows[n].windows[k] == 'O')
				f.verdict = FINDING_OVER;
			f.value = f.warn = 2;
			f.new_ns = W / 3;
			f.to_ns += k * f.new_ns;
			f.from_ns = f.to_ns - W;
			ledger_take(l, &f);
		}
		const struct incident **v;
		assert_int_equal(ledger_incidents(l, &v), rows[n].incidents);
		ledger_free(l);
	}
	config_free(c);
}

/* Windows overlap: the incident stays open until a whole one is clear, and closes after `hold`. */
static void test_overlap_closes(void **state)
{
	struct config *c = config_of(yaml);
	struct heard h = {0};
	struct ledger *l = ledger_new(c->fabric, hear, &h);
	static const char windows[] = "OOOOOOOOOUUOUUOUUUUUUUUU";
	for (int k = 0; windows[k]; k++) {
		struct finding f = finding_at(10, FINDING_UNDER, 3);
		if (windows[k] == 'O')
			f.verdict = FINDING_OVER;
		f.new_ns = W / 3;
		f.to_ns += k * f.new_ns;
		f.from_ns = f.to_ns - W;
		ledger_take(l, &f);
	}
	assert_string_equal(str_or(h.states.s, ""), "ocx");
	assert_string_equal(h.last_note, "closed: not seen for 3 windows");
	str_done(&h.states);
	ledger_free(l);
	config_free(c);
}

/* All hosts of a leaf and of another begin to pause in one window, some of them so much that it is
 * a storm, and queues fill beside them. Returns how many pairs of incidents were compared. */
static uint64_t storm_of(const struct fabric *fabric, unsigned hosts)
{
	struct ledger *l = ledger_new(fabric, NULL, NULL);
	const struct incident **v;
	for (int w = 1; w <= 12; w++)
		for (unsigned k = 0; k < hosts; k++) {
			char port[16], host[16];
			snprintf(port, sizeof(port), "e%u", k);
			snprintf(host, sizeof(host), "h%u", k);
			const char *cause = k % 3 == 0 ? "pfc_storm" : "slow_receiver";
			struct finding f = finding_of(w, cause, port, host, 3);
			f.analyzer = "pause_storm";
			f.device = k % 2 ? "leaf1" : "leaf2";
			if (w > 6)
				f.verdict = FINDING_UNDER;
			ledger_take(l, &f);
			f.analyzer = "congestion";
			f.cause = k % 4 ? CAUSE_INCAST : CAUSE_LINK_FLAP;
			ledger_take(l, &f);
		}
	assert_true(ledger_incidents(l, &v) >= hosts);
	for (size_t k = 0; k < hosts; k++) {
		assert_int_equal(v[k]->state, INCIDENT_CLOSED);
		assert_true(v[k]->n_changed_before <= 33);
	}
	const uint64_t compared = ledger_compared(l);
	ledger_free(l);
	return compared;
}

static const char relinked[] = "fabric: pod-a\n"
			       "devices:\n"
			       "  - { name: leaf1, role: leaf }\n"
			       "  - { name: leaf2, role: leaf }\n"
			       "  - { name: spine1, role: spine }\n"
			       "links:\n"
			       "  - { a: \"leaf1:e49\", b: \"spine1:e1\" }\n"
			       "  - { a: \"leaf2:e49\", b: \"spine1:e2\" }\n"
			       "  - { a: \"leaf1:e1\", b: \"host:node-9\" }\n"
			       "  - { a: \"leaf2:e1\", b: \"host:other-1\" }\n"
			       "jobs:\n"
			       "  - { name: train, gpus: 512, hosts: \"node-*\" }\n";

static const struct incident *incident_about(const struct ledger *l, const char *host)
{
	const struct incident **v;
	const size_t n = ledger_incidents(l, &v);
	for (size_t k = 0; k < n; k++)
		if (str_eq(v[k]->host, host))
			return v[k];
	return NULL;
}

/* A host that is called otherwise, a group that is gone, a job that has ended: their incidents
 * close with a reload, or at the start that follows it, and let go what they explained. */
static void test_subject_gone(void **state)
{
	struct config *c = config_of(yaml), *next = config_of(relinked);
	for (int restart = 0; restart < 2; restart++) {
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		struct finding f = finding_of(2, "pfc_storm", "e1", "node-1", 1);
		struct finding part = finding_of(1, "lossless_loss", "e1", NULL, 1);
		struct finding job = finding_of(1, "unknown", NULL, NULL, 1);
		struct finding stays = finding_of(1, "slow_receiver", "e1", "other-1", 1);
		job.device = NULL;
		job.group = "job:small";
		job.severity = SEV_CRITICAL;
		stays.device = "leaf2";
		ledger_take(l, &part);
		ledger_take(l, &job);
		ledger_take(l, &stays);
		ledger_take(l, &f);
		char ghost[9];
		memcpy(ghost, incident_about(l, "node-1")->id, sizeof(ghost));
		if (restart) {
			struct ledger *fresh = ledger_new(next->fabric, NULL, NULL);
			const size_t n = ledger_incidents(l, &v);
			for (size_t k = 0; k < n; k++) {
				rw_cleanup(freep) char *json = incident_json_text(v[k]);
				assert_int_equal(ledger_restore(fresh, json), 0);
			}
			ledger_free(l);
			l = fresh;
		} else {
			ledger_reload(l, next->fabric);
		}
		const struct incident *gone = ledger_find(l, ghost);
		assert_int_equal(gone->state, INCIDENT_CLOSED);
		assert_non_null(strstr(gone->timeline[gone->n_timeline - 1].text,
			"its host is no longer linked to this port"));
		assert_int_equal(incident_about(l, "other-1")->state, INCIDENT_OPEN);
		const size_t n = ledger_incidents(l, &v);
		for (size_t k = 0; k < n; k++) {
			assert_false(v[k]->state != INCIDENT_CLOSED && str_eq(v[k]->parent, ghost));
			if (str_eq(v[k]->group, "job:small"))
				assert_int_equal(
					v[k]->state, restart ? INCIDENT_OPEN : INCIDENT_CLOSED);
		}
		/* the same storm under the host's new name stands by itself */
		f = finding_of(3, "pfc_storm", "e1", "node-9", 1);
		ledger_take(l, &f);
		assert_null(incident_about(l, "node-9")->parent);
		ledger_free(l);
	}
	config_free(c);
	config_free(next);
}

/* What an undeclared neighbour did is spoken of no more once its port is a link: a reload that
 * declares it ends that at once, and so does the start after it. A setting of the port goes on. */
static void test_neighbour_declared(void **state)
{
	static const struct {
		const char *link; /* "": none */
		const char *cause;
		enum incident_state expected;
	} rows[] = {
		{"  - { a: \"leaf1:e10\", b: \"host:node-10\" }\n", "slow_receiver",
			INCIDENT_CLOSED},
		{"  - { a: \"leaf1:e10\", b: \"spine1:e10\" }\n", "pfc_storm", INCIDENT_CLOSED},
		{"  - { a: \"leaf1:e11\", b: \"host:node-11\" }\n", "pfc_watchdog", INCIDENT_OPEN},
		{"  - { a: \"leaf1:e10\", b: \"host:node-10\" }\n", "config_drift", INCIDENT_OPEN},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < 2 * rw_countof(rows); k++) {
		const size_t row = k / 2;
		rw_cleanup(str_done) struct str text = {0};
		const char *jobs = strstr(yaml, "jobs:");
		str_addf(&text, "%.*s%s%s", (int)(jobs - yaml), yaml, rows[row].link, jobs);
		struct config *next = config_of(text.s);
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		struct finding f = finding_of(1, rows[row].cause, "e10", NULL, 1);
		ledger_take(l, &f);
		const struct incident **v;
		assert_int_equal(ledger_incidents(l, &v), 1);
		if (k % 2) {
			rw_cleanup(freep) char *json = incident_json_text(v[0]);
			ledger_free(l);
			l = ledger_new(next->fabric, NULL, NULL);
			assert_int_equal(ledger_restore(l, json), 0);
		} else {
			ledger_reload(l, next->fabric);
		}
		assert_int_equal(ledger_incidents(l, &v), 1);
		assert_int_equal(v[0]->state, rows[row].expected);
		if (v[0]->state == INCIDENT_CLOSED)
			assert_non_null(strstr(v[0]->timeline[v[0]->n_timeline - 1].text,
				"its port is declared as a link now"));
		ledger_free(l);
		config_free(next);
	}
	config_free(c);
}

/* One window of an analyzer: what it says of the ghost, and of another port of the device. */
static void judge_window(struct ledger *l, int window, char ghost, char other)
{
	const struct {
		char says;
		const char *port, *host;
	} ports[] = {{ghost, "e1", "node-1"}, {other, "e49", NULL}};
	for (size_t k = 0; k < rw_countof(ports); k++) {
		struct finding f = finding_of(window, "pfc_storm", ports[k].port, ports[k].host, 2);
		f.analyzer = "pause_storm";
		f.verdict = ports[k].says == 'O' ? FINDING_OVER
			: ports[k].says == 'U'   ? FINDING_UNDER
						 : FINDING_UNKNOWN;
		if (ports[k].says != '-')
			ledger_take(l, &f);
	}
	ledger_judged(l, "pause_storm", window * W, 1, NULL, NULL);
}

/* A port that is judged no more although others of its switch are: its incident explains nothing,
 * then closes. One that is unknown, or whose whole switch is silent, stays. */
static void test_judged_by_nobody(void **state)
{
	static const struct {
		const char *what;
		char ghost, other;
		int windows;
		enum incident_state state;
	} rows[] = {
		{"nobody speaks of it any more", '-', 'U', 4, INCIDENT_CLOSED},
		{"too few windows to say so", '-', 'U', 3, INCIDENT_OPEN},
		{"it is unknown", '?', 'U', 30, INCIDENT_OPEN},
		{"the whole switch is unknown", '-', '?', 30, INCIDENT_OPEN},
		{"the whole switch is not spoken of", '-', '-', 30, INCIDENT_OPEN},
		{"it goes on", 'O', 'U', 30, INCIDENT_OPEN},
	};
	struct config *c = config_of(yaml);
	for (size_t k = 0; k < 2 * rw_countof(rows); k++) {
		const bool restart = k % 2;
		struct ledger *l = ledger_new(c->fabric, NULL, NULL);
		const struct incident **v;
		int w = 1;
		print_message("   row: %s%s\n", rows[k / 2].what, restart ? ", restarted" : "");
		for (; w <= 3; w++)
			judge_window(l, w, 'O', 'U');
		assert_int_equal(ledger_incidents(l, &v), 1);
		if (restart) {
			struct ledger *fresh = ledger_new(c->fabric, NULL, NULL);
			rw_cleanup(freep) char *json = incident_json_text(v[0]);
			assert_int_equal(ledger_restore(fresh, json), 0);
			ledger_free(l);
			l = fresh;
		}
		for (int n = 0; n < rows[k / 2].windows; n++, w++)
			judge_window(l, w, rows[k / 2].ghost, rows[k / 2].other);
		assert_int_equal(ledger_incidents(l, &v), 1);
		assert_int_equal(v[0]->state, rows[k / 2].state);
		const bool silent = rows[k / 2].ghost == '-' && rows[k / 2].other == 'U';
		struct finding loss = finding_of(w, "lossless_loss", "e1", NULL, 1);
		ledger_take(l, &loss);
		assert_int_equal(ledger_incidents(l, &v), silent ? 2 : 1);
		ledger_free(l);
	}
	config_free(c);
}

/* What opens together is not compared with all that is open: twice as much is twice the work. */
static void test_storm_is_linear(void **state)
{
	struct config *c = config_of(yaml);
	const uint64_t few = storm_of(c->fabric, 100), many = storm_of(c->fabric, 800);
	print_message(
		"   compared: %llu, %llu\n", (unsigned long long)few, (unsigned long long)many);
	assert_true(few > 0);
	assert_true(many <= 9 * few);
	assert_true(many <= 800 * 40);
	config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_weight),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_overlap_closes),
		cmocka_unit_test(test_times_and_money),
		cmocka_unit_test(test_cost_unknown),
		cmocka_unit_test(test_contract_fields),
		cmocka_unit_test(test_severity_and_strength),
		cmocka_unit_test(test_cause_changes),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_folds_into_no_milder),
		cmocka_unit_test(test_changes_out_of_its_parent),
		cmocka_unit_test(test_grows_out_of_its_parent),
		cmocka_unit_test(test_speaks_for_the_worst),
		cmocka_unit_test(test_storage_host_costs),
		cmocka_unit_test(test_job_is_lost_once),
		cmocka_unit_test(test_device_gone),
		cmocka_unit_test(test_acts),
		cmocka_unit_test(test_returns),
		cmocka_unit_test(test_price_survives),
		cmocka_unit_test(test_one_cause_many_switches),
		cmocka_unit_test(test_many_speak_for_one),
		cmocka_unit_test(test_changed_before),
		cmocka_unit_test(test_parent),
		cmocka_unit_test(test_absorbed),
		cmocka_unit_test(test_absorbed_by_new_cause),
		cmocka_unit_test(test_restart_anywhere),
		cmocka_unit_test(test_restore_refuses),
		cmocka_unit_test(test_ack_reload_forget),
		cmocka_unit_test(test_worst_first),
		cmocka_unit_test(test_storm_is_linear),
		cmocka_unit_test(test_subject_gone),
		cmocka_unit_test(test_neighbour_declared),
		cmocka_unit_test(test_judged_by_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
