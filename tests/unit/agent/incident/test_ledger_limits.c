/* ledger: what opens, goes on and ends an incident at both sides of its limits, and who waits for
 * whom. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/ledger.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "config/config.h"
#include "db/model/entity.h"

#define W (60 * NS_PER_S)

static const char yaml[] = "fabric: pod-a\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e1\", b: \"host:node-1\" }\n"
			   "  - { a: \"leaf1:e2\", b: \"host:other-1\" }\n"
			   "jobs:\n"
			   "  - { name: train, gpus: 512, hosts: \"node-*\" }\n"
			   "  - { name: small, gpus: 8, hosts: \"other-*\" }\n";

struct kept {
	struct config *config;
	struct ledger *ledger;
};

static int setup(void **state)
{
	static struct kept kept;
	rw_cleanup(err_list_done) struct err_list errors = {0};
	if (config_parse(yaml, strlen(yaml), "test", CONFIG_CASE, NULL, 0, &kept.config, &errors))
		return -1;
	kept.ledger = ledger_new(kept.config->fabric, NULL, NULL);
	*state = &kept;
	return 0;
}

static int teardown(void **state)
{
	struct kept *kept = *state;
	ledger_free(kept->ledger);
	config_free(kept->config);
	return 0;
}

/* A window that ends at @to_ns, of which @share is new, about the port of node-1. */
static void take(struct ledger *ledger, enum cause cause, int64_t to_ns, double share,
	struct finding finding)
{
	finding.analyzer = cause_name(cause);
	finding.cause = cause;
	finding.from_ns = to_ns - W;
	finding.to_ns = to_ns;
	finding.new_ns = (int64_t)(share * (double)W);
	finding.device = "leaf1";
	finding.port = finding.port ? finding.port : "e1";
	finding.priority = PRIO_NONE;
	finding.summary = finding.summary ? finding.summary : "said";
	finding.confidence_ratio = 0.5; /* only time counts */
	finding.hold = finding.hold > 0 ? finding.hold : 1;
	finding.value = finding.value > 0 ? finding.value : 0.5;
	finding.loss_ratio = finding.explained_ratio = NAN;
	finding.warn = finding.warn > 0 ? finding.warn : 0.2;
	ledger_take(ledger, &finding);
}
#define OVER(...) ((struct finding){.verdict = FINDING_OVER, __VA_ARGS__})
#define UNDER ((struct finding){.verdict = FINDING_UNDER})

static size_t opened(const struct ledger *ledger, const struct incident **first)
{
	const struct incident **v;
	const size_t n = ledger_incidents(ledger, &v);
	if (n)
		*first = v[0];
	return n;
}

/* Two windows, whole or in thirds: the last third opens it unless it is weaker by a sixth. It began
 * where the first one was new. */
static void a_window_that_falls(void **state)
{
	struct kept *kept = *state;
	static const struct {
		int parts;
		double last;
		bool opens;
	} rows[] = {{3, 0.418, true}, {3, 0.416, false}, {1, 0.1, true}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct ledger *l = ledger_new(kept->config->fabric, NULL, NULL);
		const struct incident *first = NULL;
		const int parts = rows[i].parts;
		for (int k = 1; k <= 2 * parts; k++)
			take(l, CAUSE_ECMP_IMBALANCE, W * 10 + k * W / parts, 1.0 / parts,
				OVER(.hold = 2, .value = k < 2 * parts ? 0.5 : rows[i].last));
		assert_int_equal(opened(l, &first), rows[i].opens);
		assert_true(!first || llabs(first->first_ns - 10 * W) < NS_PER_MS);
		ledger_free(l);
	}
}

/* How strong a window is goes by its own limit. */
static void the_strongest_window_speaks(void **state)
{
	struct ledger *l = ((struct kept *)*state)->ledger;
	const struct incident *first = NULL;
	take(l, CAUSE_ECMP_IMBALANCE, 10 * W, 1, OVER(.summary = "first"));
	take(l, CAUSE_ECMP_IMBALANCE, 11 * W, 1,
		OVER(.summary = "second", .value = 0.6, .warn = 0.4));
	assert_int_equal(opened(l, &first), 1);
	assert_string_equal(first->summary, "first");
	take(l, CAUSE_ECMP_IMBALANCE, 12 * W, 1,
		OVER(.summary = "third", .value = 0.4, .warn = 0.1));
	assert_string_equal(first->summary, "third");
}

/* Windows that are known from before open nothing; each window counts once when it is back. */
static void windows_are_counted_once(void **state)
{
	struct ledger *l = ((struct kept *)*state)->ledger;
	const struct incident *first = NULL;
	ledger_known(l, 11 * W);
	take(l, CAUSE_ECMP_IMBALANCE, 10 * W, 1, OVER(.hold = 2));
	take(l, CAUSE_ECMP_IMBALANCE, 11 * W, 1, OVER(.hold = 2));
	assert_int_equal(opened(l, &first), 0);
	take(l, CAUSE_ECMP_IMBALANCE, 12 * W, 1, OVER(.hold = 2));
	assert_int_equal(opened(l, &first), 1);
	assert_true(first->windows == 3 && first->raised == 3);
	for (int k = 13; k < 17; k++)
		take(l, CAUSE_ECMP_IMBALANCE, k * W, 1, UNDER);
	assert_int_equal(first->state, INCIDENT_CLOSED);
	for (int k = 17; k < 19; k++)
		take(l, CAUSE_ECMP_IMBALANCE, k * W, 1, OVER(.hold = 2));
	assert_int_equal(opened(l, &first), 1);
	assert_int_equal(first->state, INCIDENT_OPEN);
	assert_true(first->windows == 5 && first->raised == 2);
}

/* Of two that ended the later one goes on, in whichever order they are restored. */
static void the_later_of_two_goes_on(void **state)
{
	struct kept *kept = *state;
	const struct incident **v, *first = NULL;
	for (int k = 0; k < 2; k++) {
		const int64_t at_ns = 10 * W + k * 2 * LEDGER_REOPEN_NS;
		take(kept->ledger, CAUSE_ECMP_IMBALANCE, at_ns, 1, OVER());
		take(kept->ledger, CAUSE_ECMP_IMBALANCE, at_ns + W, 1, UNDER);
	}
	assert_int_equal(ledger_incidents(kept->ledger, &v), 2);
	for (size_t from = 0; from < 2; from++) {
		struct ledger *l = ledger_new(kept->config->fabric, NULL, NULL);
		for (size_t k = 0; k < 2; k++) {
			rw_cleanup(freep) char *json = incident_json_text(v[(from + k) % 2]);
			assert_int_equal(ledger_restore(l, json), 0);
		}
		take(l, CAUSE_ECMP_IMBALANCE, 13 * W + 2 * LEDGER_REOPEN_NS, 1, OVER());
		assert_int_equal(opened(l, &first), 2);
		ledger_free(l);
	}
}

/* Nobody speaks of it although its switch is judged: after three windows, and two minutes. */
static void two_minutes_unheard(void **state)
{
	struct ledger *l = ((struct kept *)*state)->ledger;
	const struct incident *first = NULL;
	const int64_t step_ns = 10 * NS_PER_S;
	for (int k = 0; k <= 13; k++) {
		const int64_t to_ns = 10 * W + k * step_ns;
		if (k < 2)
			take(l, CAUSE_PFC_STORM, to_ns, 1, OVER());
		struct finding other = UNDER;
		other.port = "e2";
		take(l, CAUSE_PFC_STORM, to_ns, 1, other);
		ledger_judged(l, "pfc_storm", to_ns, 1, NULL, NULL);
		assert_int_equal(opened(l, &first), 1);
		assert_int_equal(first->state, k < 13 ? INCIDENT_OPEN : INCIDENT_CLOSED);
	}
}

/* A milder part makes nothing milder. */
static void as_bad_as_its_worst_part(void **state)
{
	struct ledger *l = ((struct kept *)*state)->ledger;
	const struct incident *first = NULL;
	for (int k = 10; k < 13; k++) {
		take(l, CAUSE_ECMP_IMBALANCE, k * W, 1, OVER(.severity = SEV_CRITICAL));
		take(l, CAUSE_UNKNOWN, k * W, 1, OVER(.severity = SEV_WARNING));
	}
	assert_int_equal(opened(l, &first), 1);
	assert_int_equal(first->severity, SEV_CRITICAL);
}

/* What has a cause that is about to open waits for it: a window more than that takes, not more. */
static void a_part_waits_for_its_cause(void **state)
{
	struct ledger *l = ((struct kept *)*state)->ledger;
	const struct incident *first = NULL;
	for (int k = 1; k <= 7; k++) {
		const struct finding by = k % 2 ? OVER(.hold = 4, .host = "node-1") : UNDER;
		take(l, CAUSE_SLOW_RECEIVER, k * W, 1, by);
		take(l, CAUSE_INCAST, k * W, 1, OVER(.host = "node-1"));
		assert_int_equal(opened(l, &first), k == 7);
	}
}

/* One that is open already becomes a part when its cause opens, not while that is pending. */
static void a_pending_cause_takes_nothing(void **state)
{
	struct ledger *l = ((struct kept *)*state)->ledger;
	const struct incident **v;
	for (int k = 1; k <= 4; k++) {
		take(l, CAUSE_INCAST, k * W, 1, OVER(.host = "node-1"));
		if (k > 1)
			take(l, CAUSE_SLOW_RECEIVER, k * W, 1, OVER(.hold = 3, .host = "node-1"));
		const size_t n = ledger_incidents(l, &v);
		assert_int_equal(n, k < 4 ? 1 : 2);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(
				v[i]->parent != NULL, k == 4 && v[i]->cause == CAUSE_INCAST);
	}
}

/* ---- one incident -------------------------------------------------------------- */

static void whose_jobs_wait(void **state)
{
	static const struct {
		const char *group, *device, *host;
		uint64_t gpus;
	} rows[] = {{"job:small", NULL, NULL, 8}, {NULL, "leaf1", "node-1", 512},
		{NULL, "leaf1", "other-1", 8}, {NULL, "leaf1", NULL, 520},
		{NULL, "spine1", NULL, 520}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct finding f = {.cause = CAUSE_LINK_ERRORS,
			.group = rows[i].group,
			.device = rows[i].device,
			.host = rows[i].host};
		struct incident_record *r = incident_record_new(&f);
		incident_record_impact(r, ((struct kept *)*state)->config->fabric);
		assert_int_equal(r->i.gpus_affected, rows[i].gpus);
		incident_record_free(r);
	}
}

/* The beginning of a timeline stays; of the rest the oldest line goes. */
static void a_long_timeline(void **state)
{
	struct incident_record *r = incident_record_blank();
	char text[8];
	for (int k = 1; k <= 130; k++) {
		snprintf(text, sizeof(text), "%d", k);
		incident_record_line(r, k, text);
		assert_int_equal(r->i.n_timeline, k < 128 ? k : 128);
	}
	assert_string_equal(r->i.timeline[15].text, "16");
	assert_string_equal(r->i.timeline[16].text, "19");
	incident_record_free(r);
}

/* What a job loses is shared by those that may be why: open, or pending and seen lately where none
 * is open; no part of another, and no information that claims nothing. */
static void a_loss_is_shared(void **state)
{
	static const struct claim_row {
		enum incident_state state, of_first;
		enum severity severity;
		const char *parent;
		bool seen;
		double claim, share; /* share: of the first */
	} rows[] = {
		{INCIDENT_OPEN, INCIDENT_OPEN, SEV_WARNING, NULL, true, NAN, 0.5},
		{INCIDENT_OPEN, INCIDENT_OPEN, SEV_INFO, NULL, true, NAN, 1},
		{INCIDENT_OPEN, INCIDENT_OPEN, SEV_INFO, NULL, true, 0.1, 0.5},
		{INCIDENT_PENDING, INCIDENT_OPEN, SEV_WARNING, NULL, true, NAN, 1},
		{INCIDENT_PENDING, INCIDENT_PENDING, SEV_WARNING, NULL, true, NAN, 0.5},
		{INCIDENT_PENDING, INCIDENT_PENDING, SEV_WARNING, NULL, false, NAN, 1},
	};
	double moved[30];
	const struct job_rate rate = {.job = "train", .block_ns = W, .rate = moved, .n = 30};
	for (size_t k = 0; k < 30; k++)
		moved[k] = k < 20 ? 100 : 70;
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct incident_record *both[2];
		for (int k = 0; k < 2; k++) {
			const struct finding f = {.cause = CAUSE_LINK_ERRORS,
				.verdict = FINDING_OVER,
				.device = "leaf1",
				.host = "node-1",
				.from_ns = 20 * W,
				.to_ns = 21 * W};
			both[k] = incident_record_new(&f);
			both[k]->i.first_ns = 20 * W;
			both[k]->cost.window_ns = W;
			both[k]->i.state = k ? rows[i].state : rows[i].of_first;
			both[k]->i.severity = k ? rows[i].severity : SEV_WARNING;
			if (k == 0 || rows[i].seen)
				weight_judged(&both[k]->weight, &f, 3);
		}
		incident_record_set(&both[1]->i.parent, rows[i].parent);
		both[1]->cost.claim_ratio = rows[i].claim;
		claims_count(both, 2, ((struct kept *)*state)->config->fabric, &rate);
		assert_int_equal(both[0]->cost.n, 1);
		if (fabs(both[0]->cost.v[0].share_ratio - rows[i].share) > 1e-9)
			fail_msg("row %zu: %g", i, both[0]->cost.v[0].share_ratio);
		/* 30 % less, without any error, of which it has its share */
		assert_true(fabs(incident_record_loss(both[0]) - 0.3 * rows[i].share) < 1e-3);
		both[0]->cost.v[0].error_ratio = 0.1;
		assert_true(fabs(incident_record_loss(both[0]) - 0.2 * rows[i].share) < 1e-3);
		incident_record_free(both[0]);
		incident_record_free(both[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_window_that_falls, setup, teardown),
		cmocka_unit_test_setup_teardown(the_strongest_window_speaks, setup, teardown),
		cmocka_unit_test_setup_teardown(windows_are_counted_once, setup, teardown),
		cmocka_unit_test_setup_teardown(the_later_of_two_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(two_minutes_unheard, setup, teardown),
		cmocka_unit_test_setup_teardown(as_bad_as_its_worst_part, setup, teardown),
		cmocka_unit_test_setup_teardown(a_part_waits_for_its_cause, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pending_cause_takes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(whose_jobs_wait, setup, teardown),
		cmocka_unit_test(a_long_timeline),
		cmocka_unit_test_setup_teardown(a_loss_is_shared, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
