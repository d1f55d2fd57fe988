/* profile_test_gnmi - see the header. */
#include "agent/base/str.h"
#include "agent/command/profile_test_gnmi.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/document/json_value.h"
#include "agent/document/writer.h"
#include "collectors/gnmi/gnmi.h"
#include "db/model/metric.h"

#define IMPLAUSIBLE_MAX 100

struct test {
	struct loop *loop;
	struct loop_timer *limit, *end;
	struct entities *entities;
	struct gnmi_target *target;
	int64_t run_ns;
	json_t *leaves, *implausible, *identity; /* owned */
	struct map *first; /* (entity, metric) -> index into v */
	struct sample *v; /* first readings */
	bool *moved;
	size_t n, cap, cap_moved, n_moved, n_samples;
	bool up, failed;
	char reason[256];
};

static void profile_test_gnmi_implausible(
	struct test *test, const struct sample *sample, const char *why)
{
	const struct entity *e = entity_get(test->entities, sample->entity);
	if (json_array_size(test->implausible) < IMPLAUSIBLE_MAX)
		json_array_append_new(test->implausible,
			json_pack("{s:s, s:s, s:o, s:s, s:f}", "metric",
				metric_info(sample->metric)->name, "port", e->port, "priority",
				e->priority == PRIO_NONE ? json_null() : json_integer(e->priority),
				"why", why, "value", sample_number(sample->metric, sample->value)));
}

static void profile_test_gnmi_judge(struct test *test, size_t at, const struct sample *sample)
{
	const bool counter = metric_info(sample->metric)->kind == METRIC_COUNTER;
	if (counter && sample->value != test->v[at].value && !test->moved[at]) {
		test->moved[at] = true;
		test->n_moved++;
	}
	if (sample->flags & SF_SUSPECT)
		profile_test_gnmi_implausible(test, sample, "faster than can be");
	if (counter && sample->value < test->v[at].value && !(sample->flags & SF_RESTART))
		profile_test_gnmi_implausible(test, sample, "went back without a restart");
}

static void profile_test_gnmi_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct test *t = arg;
	t->n_samples += n;
	for (size_t i = 0; i < n; i++) {
		uint64_t at, key = (uint64_t)samples[i].entity << 16 | samples[i].metric;
		if (map_get(t->first, key, &at)) {
			profile_test_gnmi_judge(t, at, &samples[i]);
			continue;
		}
		map_put(t->first, key, t->n);
		rw_grow(t->moved, t->n, t->cap_moved);
		rw_grow(t->v, t->n, t->cap);
		t->moved[t->n] = false;
		t->v[t->n++] = samples[i];
	}
}

static void profile_test_gnmi_on_target(void *arg, const struct target *state)
{
	struct test *t = arg;
	if (state->state == TARGET_BACKOFF) {
		t->failed = true;
		snprintf(t->reason, sizeof(t->reason), "%s", state->reason);
		loop_stop(t->loop);
	} else if (state->state == TARGET_UP && !t->up) {
		t->up = true;
		loop_timer_start(t->end, t->run_ns, 0);
	}
}

static void profile_test_gnmi_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct test *t = arg;
	json_decref(t->identity);
	t->identity = json_pack(
		"{s:s, s:s, s:s}", "profile", profile, "sysname", sysname, "descr", descr);
}

static void profile_test_gnmi_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
}
static void profile_test_gnmi_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
}
static void profile_test_gnmi_on_event(void *arg, int64_t t_ns, const char *kind,
	const char *device, const char *port, const char *text)
{
}
static void profile_test_gnmi_on_end(void *arg)
{
	loop_stop(((struct test *)arg)->loop);
}

static void profile_test_gnmi_on_limit(void *arg)
{
	struct test *t = arg;
	t->failed = !t->up;
	snprintf(t->reason, sizeof(t->reason), "no stream delivered within the time allowed");
	loop_stop(t->loop);
}

/* ---- what is told -------------------------------------------------------- */

static const char *profile_test_gnmi_verdict(const struct gnmi_leaf *leaf)
{
	if (leaf->paths == 0) {
		if (*leaf->trouble)
			return "refused";
		if (leaf->fallback)
			return "not needed";
		return "empty";
	}
	if (leaf->wrong_type)
		return "wrong type";
	if (leaf->zero == leaf->paths)
		return "all zero";
	return "answers";
}

static void leaf_add(void *arg, const struct gnmi_leaf *leaf)
{
	struct test *t = arg;
	json_array_append_new(t->leaves,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:s, s:o}", "table",
			leaf->stream, "cadence", leaf->slow ? "slow" : "fast", "how", leaf->how,
			"path", leaf->path, "value", leaf->what, "verdict",
			profile_test_gnmi_verdict(leaf), "rows", (json_int_t)leaf->paths, "zero",
			(json_int_t)leaf->zero, "wrong_type", (json_int_t)leaf->wrong_type, "type",
			json_string_or_null(*leaf->type ? leaf->type : NULL), "doc", leaf->doc,
			"trouble", json_string_or_null(*leaf->trouble ? leaf->trouble : NULL)));
}

static void profile_test_gnmi_print_text(
	FILE *out, const json_t *doc, const struct view *layout, bool color, bool header)
{
	const json_t *identity = json_object_get(doc, "device");
	const char *table = "";
	size_t i;
	json_t *row;
	fprintf(out, "%s  profile %s\n%s\n", doc_word(doc, "address"),
		doc_word(identity, "profile"), doc_word(identity, "descr"));
	json_array_foreach (json_object_get(doc, "columns"), i, row) {
		const char *name = doc_word(row, "table");
		if (strcmp(name, table) != 0)
			fprintf(out, "\n%s (%s, %s)%s%s\n", name, doc_word(row, "cadence"),
				doc_word(row, "how"), str_if(*doc_word(row, "trouble"), "  "),
				doc_word(row, "trouble"));
		table = name;
		fprintf(out, "  %-10s %5lld paths  %-26s %-8s %s\n", doc_word(row, "verdict"),
			(long long)json_integer_value(json_object_get(row, "rows")),
			doc_word(row, "value"),
			*doc_word(row, "type") ? doc_word(row, "type") : "-",
			doc_word(row, "path"));
	}
	fprintf(out, "\n%lld series, %lld values; %lld counters moved\n",
		(long long)json_integer_value(json_object_get(doc, "series")),
		(long long)json_integer_value(json_object_get(doc, "values")),
		(long long)json_integer_value(json_object_get(doc, "moved")));
	json_array_foreach (json_object_get(doc, "implausible"), i, row)
		fprintf(out, "IMPLAUSIBLE  %s %s: %s (%g)\n", doc_word(row, "port"),
			doc_word(row, "metric"), doc_word(row, "why"),
			json_number_value(json_object_get(row, "value")));
	fprintf(out,
		"A counter that is all zero proves nothing until the feature behind it is on, or "
		"it has moved.\n");
}

static const struct column columns[] = {
	{"table", "STREAM", COL_TEXT, false},
	{"how", "HOW", COL_TEXT, false},
	{"verdict", "VERDICT", COL_TEXT, false},
	{"rows", "PATHS", COL_INT, true},
	{"value", "VALUE", COL_TEXT, false},
	{"type", "TYPE", COL_TEXT, false},
	{"path", "PATH", COL_TEXT, false},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view view = {"profile test", "columns", columns, rw_countof(columns),
	profile_test_gnmi_print_text, "no leaves"};

static int profile_test_gnmi_tell(
	const struct globals *globals, struct test *test, const struct config_device *device)
{
	double p50, p95;
	const struct target *state = gnmi_target_state(test->target);
	const struct gnmi_target_counts n = gnmi_target_counts(test->target);
	target_poll_quantiles(state, &p50, &p95);
	gnmi_target_leaves(test->target, leaf_add, test);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:O, s:O, s:O, s:I, s:I, s:I, s:o, s:I, s:I}",
		"target", device->name, "protocol", "gnmi", "address", state->address, "device",
		test->identity, "columns", test->leaves, "implausible", test->implausible, "values",
		(json_int_t)test->n_samples, "series", (json_int_t)test->n, "moved",
		(json_int_t)test->n_moved, "poll_s", json_number_or_null(p50), "messages",
		(json_int_t)n.messages, "refused", (json_int_t)n.refused);
	int rc = EXIT_OK;
	if (report_print(stdout, doc, &view, globals->format, !globals->no_header,
		    globals->color == COLOR_ALWAYS) < 0)
		rc = EXIT_FAILED;
	json_decref(doc);
	return rc;
}

int profile_test_gnmi(const struct globals *globals, const struct config_device *device,
	const struct config *config, int64_t run_ns)
{
	struct test t = {.run_ns = run_ns};
	struct sink sink = {&t, profile_test_gnmi_on_samples, profile_test_gnmi_on_flows,
		profile_test_gnmi_on_target, profile_test_gnmi_on_device, profile_test_gnmi_on_port,
		profile_test_gnmi_on_event};
	struct err e = {0};
	if (loop_new(&t.loop) < 0) {
		fprintf(stderr, "rocewatch: no event loop: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	t.entities = entities_new();
	t.leaves = json_array();
	t.implausible = json_array();
	t.identity = json_pack("{s:s, s:s, s:s}", "profile", "", "sysname", "", "descr", "");
	t.first = map_new();
	t.limit = loop_timer_new(t.loop, profile_test_gnmi_on_limit, &t);
	t.end = loop_timer_new(t.loop, profile_test_gnmi_on_end, &t);
	loop_timer_start(t.limit, run_ns + 6 * device->gnmi->timeout_ns, 0);
	int rc = gnmi_target_new(t.loop, t.entities, device, config, &sink, &t.target, &e);
	if (rc < 0) {
		err_print(stderr, &e);
		rc = EXIT_USAGE;
	} else {
		loop_run(t.loop);
		if (t.failed)
			fprintf(stderr, "rocewatch: %s: %s\n", device->name, t.reason);
		if (t.failed)
			rc = EXIT_FAILED;
		else
			rc = profile_test_gnmi_tell(globals, &t, device);
		gnmi_target_free(t.target);
	}
	loop_timer_free(t.limit);
	loop_timer_free(t.end);
	loop_free(t.loop);
	entities_free(t.entities);
	json_decref(t.leaves);
	json_decref(t.implausible);
	json_decref(t.identity);
	map_free(t.first);
	free(t.v);
	free(t.moved);
	return rc;
}
