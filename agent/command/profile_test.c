/*
 * profile_test - the command "profile test TARGET": from the options to the device that is asked,
 * and the answer as text and tables.
 */
#include "agent/command/profile_test.h"

#include "agent/answers/common/text.h"
#include "agent/document/json_value.h"
#include "agent/document/shape.h"
#include "base/log.h"
#include "base/loop.h"
#include "collectors/gnmi/gnmi.h"
#include "collectors/snmp/snmp.h"
#include "collectors/target/collector.h"
#include "config/config.h"
#include "db/model/entity.h"

/*
 * profile_reading - what a test of a device keeps whatever the protocol: the first reading of each
 * series, implausible values, and who the device says it is.
 */

#define IMPLAUSIBLE_MAX 100

struct profile_test { /* first in what each protocol keeps: the argument of its sink */
	struct loop *loop;
	struct loop_timer *limit; /* the device gets no longer than this */
	struct entities *entities;
	int64_t run_ns;
	json_t *columns, *implausible, *identity; /* owned */
	struct map *first; /* (entity, metric) -> index into .readings */
	struct sample_list readings; /* the first one of each series */
	size_t n_samples, n_moved;
	char reason[256]; /* why it failed; "" while it has not */
};

static void profile_test_identity(
	struct profile_test *test, const char *profile, const char *sysname, const char *descr)
{
	json_decref(test->identity);
	test->identity = json_pack(
		"{s:s, s:s, s:s}", "profile", profile, "sysname", sysname, "descr", descr);
}

/* 0 or negative errno. profile_test_done also after a failure. */
static int profile_test_begin(struct profile_test *test, int64_t run_ns, int64_t limit_ns,
	void (*on_limit)(void *arg), void *arg, struct err *e)
{
	*test = (struct profile_test){.run_ns = run_ns};
	int r = loop_new(&test->loop);
	if (r < 0)
		return err_set(e, r, "no event loop: %s", strerror(-r));
	test->entities = entities_new();
	test->columns = json_array();
	test->implausible = json_array();
	profile_test_identity(test, "", "", "");
	test->first = map_new();
	test->limit = loop_timer_new(test->loop, on_limit, arg);
	loop_timer_start(test->limit, limit_ns, 0);
	return 0;
}

static void profile_test_done(struct profile_test *test)
{
	if (!test->loop)
		return;
	loop_timer_free(test->limit);
	loop_free(test->loop);
	entities_free(test->entities);
	json_decref(test->columns);
	json_decref(test->implausible);
	json_decref(test->identity);
	map_free(test->first);
	free(test->readings.v);
}

/* Where the first reading of this series stands; -1 when @sample is the first, which is then
 * kept. */
static ptrdiff_t profile_test_first(struct profile_test *test, const struct sample *sample)
{
	struct sample_list *list = &test->readings;
	uint64_t key = (uint64_t)sample->entity << 16 | sample->metric, at;
	if (map_get(test->first, key, &at))
		return (ptrdiff_t)at;
	map_put(test->first, key, list->n);
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n++] = *sample;
	return -1;
}

/* One line for a value that cannot be right; at most a hundred. */
static void profile_test_implausible(
	struct profile_test *test, const struct sample *sample, const char *why, double value)
{
	const struct entity *entity = entity_get(test->entities, sample->entity);
	if (json_array_size(test->implausible) >= IMPLAUSIBLE_MAX)
		return;
	json_t *priority = json_null();
	if (entity->priority != PRIO_NONE)
		priority = json_integer(entity->priority);
	json_array_append_new(test->implausible,
		json_pack("{s:s, s:s, s:o, s:s, s:f}", "metric", metric_info(sample->metric)->name,
			"port", entity->port, "priority", priority, "why", why, "value", value));
}

static const char *profile_test_wrong(const struct collector_value *value)
{
	if (value->wrong_type < value->rows)
		return "some wrong";
	return "wrong type";
}

/* ---- the document as a struct: what a person reads of it ---------------------- */

struct column_told {
	const char *table, *cadence, *how, *trouble, *verdict, *value, *type, *doc, *path;
	uint64_t rows, wrong_type;
};
struct implausible_told {
	const char *port, *metric, *why;
	double value;
};
struct identity_told {
	const char *profile, *sysname, *descr;
};
struct profile_told {
	const char *protocol, *address, *unknown_path;
	struct identity_told device;
	struct column_told *columns;
	size_t n_columns;
	struct implausible_told *implausible;
	size_t n_implausible;
	double poll_s, deadline_s;
	uint64_t series, values, moved, unknown_paths;
};

#define SAID(m) TEXT(m, "", .known = true)
#define SHAPE struct column_told
static const struct field column_told_fields[] = {
	SAID(table),
	SAID(cadence),
	SAID(how),
	SAID(trouble),
	SAID(verdict),
	SAID(value),
	SAID(type),
	SAID(doc),
	SAID(path),
	COUNT(rows, ""),
	COUNT(wrong_type, ""),
};
static SHAPE_OF(column_told, "column", "");
#undef SHAPE

#define SHAPE struct implausible_told
static const struct field implausible_told_fields[] = {
	SAID(port),
	SAID(metric),
	SAID(why),
	NUMBER(value, UNIT_NONE, ""),
};
static SHAPE_OF(implausible_told, "implausible", "");
#undef SHAPE

#define SHAPE struct identity_told
static const struct field identity_told_fields[] = {SAID(profile), SAID(sysname), SAID(descr)};
static SHAPE_OF(identity_told, "identity", "");
#undef SHAPE

#define SHAPE struct profile_told
static const struct field profile_told_fields[] = {
	SAID(protocol),
	SAID(address),
	SAID(unknown_path),
	PART(device, identity_told, ""),
	ROWS(columns, column_told, ""),
	ROWS(implausible, implausible_told, ""),
	NUMBER(poll_s, UNIT_SECONDS, ""),
	NUMBER(deadline_s, UNIT_SECONDS, ""),
	COUNT(series, ""),
	COUNT(values, ""),
	COUNT(moved, ""),
	COUNT(unknown_paths, ""),
};
static SHAPE_OF(profile_told, "profile test", "");
#undef SHAPE

static bool column_given(const struct column_told *columns, size_t n, const char *value)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(columns[i].value, value) && columns[i].rows > 0)
			return true;
	return false;
}

/* "not needed" stays the verdict of a fallback only where another column gave its value; else it
 * is "empty" like any other. */
static void profile_test_fallbacks(json_t *columns)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const size_t n = json_array_size(columns);
	struct column_told *told = arena_array(a, struct column_told, n + 1);
	for (size_t i = 0; i < n; i++)
		shape_read(&column_told_shape, json_array_get(columns, i), a, &told[i]);
	for (size_t i = 0; i < n; i++)
		if (str_eq(told[i].verdict, "not needed") && !column_given(told, n, told[i].value))
			json_object_set_new(
				json_array_get(columns, i), "verdict", json_string("empty"));
}

/* Ends the run with a reason. */
static void profile_test_fail(struct profile_test *test, const char *reason)
{
	snprintf(test->reason, sizeof(test->reason), "%s", reason);
	loop_stop(test->loop);
}

/* That reason as an error, -EIO: with the device's name once, and without the advice to run this
 * very command. */
static int profile_test_error(const struct profile_test *test, const char *device, struct err *e)
{
	static const char advice[] = ". Try: rocewatch profile test";
	const char *cut = strstr(test->reason, advice);
	int n = (int)strlen(test->reason);
	if (cut)
		n = (int)(cut - test->reason);
	if (strncmp(test->reason, device, strlen(device)) == 0)
		return err_set(e, -EIO, "%.*s", n, test->reason);
	return err_set(e, -EIO, "%s: %.*s", device, n, test->reason);
}

/* Ends the run when the target could not be reached. */
static bool profile_test_target_failed(struct profile_test *test, const struct target *target)
{
	if (target->state != TARGET_BACKOFF)
		return false;
	profile_test_fail(test, target->reason);
	return true;
}

/* ---- profile_test ---------------------------------------------------------- */

#define TEST_SECONDS 10
#define TEST_POLL_NS (60 * NS_PER_S) /* what a poll may take at least, whatever is configured */
#define SNMP_PORT 161

/* ---- the answer ---------------------------------------------------------- */

/* "  1 of 248 of a wrong type" */
static void test_put_wrong(FILE *out, const struct column_told *row)
{
	if (row->wrong_type > 0)
		fprintf(out, "  (%" PRIu64 " of %" PRIu64 " of a wrong type)", row->wrong_type,
			row->rows);
	fputc('\n', out);
}

static bool test_lacks_cell(const struct profile_told *told)
{
	for (size_t i = 0; i < told->n_columns; i++)
		if (str_eq(told->columns[i].verdict, "no cell size"))
			return true;
	return false;
}

static void test_put_foot(FILE *out, const struct profile_told *told)
{
	for (size_t i = 0; i < told->n_implausible; i++) {
		const struct implausible_told *row = &told->implausible[i];
		fprintf(out, "IMPLAUSIBLE  %s %s: %s (%g)\n", row->port, row->metric, row->why,
			row->value);
	}
	if (test_lacks_cell(told))
		fprintf(out,
			"no cell size: these values are not stored. The device does not tell the "
			"size of its buffer cell: declare it in thresholds (cell).\n");
	fprintf(out,
		"A counter that is all zero proves nothing until the feature behind it is on, or "
		"the counter has moved.\n");
}

static void test_put_head(FILE *out, const struct profile_told *told)
{
	const struct identity_told *device = &told->device;
	fprintf(out, "%s  profile %s%s%s\n%s\n", told->address, device->profile,
		str_if(*device->sysname, "  sysName "), device->sysname, device->descr);
}

static void test_snmp_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct profile_told *told = shape_read_new(&profile_told_shape, doc, a);
	const char *table = "";
	test_put_head(out, told);
	for (size_t i = 0; i < told->n_columns; i++) {
		const struct column_told *row = &told->columns[i];
		if (!str_eq(row->table, table))
			fprintf(out, "\n%s (%s)\n", row->table, row->cadence);
		table = row->table;
		fprintf(out, "  %-10s %5" PRIu64 " rows  %-26s %-12s %s", row->verdict, row->rows,
			row->value, text_or_dash(row->type), row->doc);
		test_put_wrong(out, row);
	}
	fprintf(out,
		"\n%" PRIu64 " values per poll in %.3f s; %" PRIu64
		" counters moved between the two readings\n",
		told->values, isnan(told->poll_s) ? 0 : told->poll_s, told->moved);
	/* The agent drops a poll that is late; the test has waited for it. */
	if (told->deadline_s > 0 && told->poll_s > told->deadline_s)
		fprintf(out,
			"a poll takes longer than its deadline of %.3g s, and the agent drops it: "
			"raise snmp.deadline or interval, or poll less\n",
			told->deadline_s);
	test_put_foot(out, told);
}

static void test_gnmi_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct profile_told *told = shape_read_new(&profile_told_shape, doc, a);
	const char *table = "";
	test_put_head(out, told);
	const bool scraped = str_eq(told->protocol, "scrape");
	for (size_t i = 0; i < told->n_columns; i++) {
		const struct column_told *row = &told->columns[i];
		if (!str_eq(row->table, table))
			fprintf(out, "\n%s (%s, %s)%s%s\n", row->table, row->cadence, row->how,
				str_if(*row->trouble, "  "), row->trouble);
		table = row->table;
		fprintf(out, "  %-10s %5" PRIu64 " %s  %-26s %-8s %s", row->verdict, row->rows,
			scraped ? "series" : "paths", row->value, text_or_dash(row->type),
			row->path);
		test_put_wrong(out, row);
	}
	fprintf(out, "\n%" PRIu64 " series, %" PRIu64 " values; %" PRIu64 " counters moved\n",
		told->series, told->values, told->moved);
	if (told->unknown_paths > 0 && scraped)
		fprintf(out, "%" PRIu64 " lines came with names that no profile knows\n",
			told->unknown_paths);
	else if (told->unknown_paths > 0)
		fprintf(out, "%" PRIu64 " paths came that the profile does not know, e.g. %s\n",
			told->unknown_paths, told->unknown_path);
	test_put_foot(out, told);
}

static const struct column snmp_columns[] = {
	{"table", "TABLE", COL_TEXT, false},
	{"verdict", "VERDICT", COL_TEXT, false},
	{"rows", "ROWS", COL_INT, true},
	{"value", "VALUE", COL_TEXT, false},
	{"type", "TYPE", COL_TEXT, false},
	{"oid", "OID", COL_TEXT, false},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view snmp_view = {
	.title = "profile test",
	.rows = "columns",
	.columns = snmp_columns,
	.n_columns = rw_countof(snmp_columns),
	.text = test_snmp_text,
	.empty = "no columns",
};
static const struct column gnmi_columns[] = {
	{"table", "STREAM", COL_TEXT, false},
	{"how", "HOW", COL_TEXT, false},
	{"verdict", "VERDICT", COL_TEXT, false},
	{"rows", "PATHS", COL_INT, true},
	{"value", "VALUE", COL_TEXT, false},
	{"type", "TYPE", COL_TEXT, false},
	{"path", "PATH", COL_TEXT, false},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view gnmi_view = {
	.title = "profile test",
	.rows = "columns",
	.columns = gnmi_columns,
	.n_columns = rw_countof(gnmi_columns),
	.text = test_gnmi_text,
	.empty = "no leaves",
};

/* ---- of each sink: who the device says it is, and what a test does not look at ---- */

static void test_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	profile_test_identity(arg, profile, sysname, descr);
}

static void test_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
}

static void test_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
}

static void test_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}

/*
 * profile_test_gnmi - "profile test" over gNMI: subscribes, waits until every stream of the profile
 * had its first round and the time is over, and reports path by path what came.
 */

struct gnmi_test {
	struct profile_test test;
	struct loop_timer *end; /* runs from the first round on */
	struct gnmi_target *target;
	bool *moved; /* by index of the first readings */
	size_t cap_moved;
	bool up;
};

/* ---- paths --------------------------------------------------------------- */

static const char *gnmi_leaf_verdict(const struct collector_value *leaf)
{
	static const char *const of_stream[] = {[OUTCOME_HAS_NONE] = "has none",
		[OUTCOME_REFUSED] = "refused",
		[OUTCOME_SILENT] = "silent"};
	if (leaf->rows == 0 && leaf->outcome != OUTCOME_FINE)
		return of_stream[leaf->outcome];
	if (leaf->rows == 0)
		return leaf->fallback ? "not needed" : "empty";
	if (leaf->wrong_type)
		return profile_test_wrong(leaf);
	if (leaf->zero == leaf->rows)
		return "all zero";
	return "answers";
}

static json_t *gnmi_word_or_null(const char *text)
{
	if (*text)
		return json_string_or_null(text);
	return json_null();
}

static void gnmi_add_leaf(void *arg, const struct collector_value *leaf)
{
	struct gnmi_test *gnmi = arg;
	json_array_append_new(gnmi->test.columns,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:s, s:o}", "table",
			leaf->table, "cadence", leaf->slow ? "slow" : "fast", "how", leaf->how,
			"path", leaf->path, "value", leaf->what, "verdict", gnmi_leaf_verdict(leaf),
			"rows", (json_int_t)leaf->rows, "zero", (json_int_t)leaf->zero,
			"wrong_type", (json_int_t)leaf->wrong_type, "type",
			gnmi_word_or_null(leaf->type), "doc", leaf->doc, "trouble",
			gnmi_word_or_null(leaf->trouble)));
}

/* ---- the sink ------------------------------------------------------------ */

static void gnmi_judge(struct gnmi_test *gnmi, size_t at, const struct sample *sample)
{
	const struct sample *first = &gnmi->test.readings.v[at];
	double value = sample_number(sample->metric, sample->value);
	bool counter = metric_info(sample->metric)->kind == METRIC_COUNTER;
	if (counter && sample->value != first->value && !gnmi->moved[at]) {
		gnmi->moved[at] = true;
		gnmi->test.n_moved++;
	}
	if (sample->flags & SF_SUSPECT)
		profile_test_implausible(&gnmi->test, sample, "faster than can be", value);
	if (counter && sample->value < first->value && !(sample->flags & SF_RESTART))
		profile_test_implausible(&gnmi->test, sample, "went back without a restart", value);
}

static void gnmi_test_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct gnmi_test *gnmi = arg;
	gnmi->test.n_samples += n;
	for (size_t i = 0; i < n; i++) {
		ptrdiff_t at = profile_test_first(&gnmi->test, &samples[i]);
		if (at >= 0) {
			gnmi_judge(gnmi, (size_t)at, &samples[i]);
			continue;
		}
		size_t last = gnmi->test.readings.n - 1;
		rw_grow(gnmi->moved, last, gnmi->cap_moved);
		gnmi->moved[last] = false;
	}
}

static void gnmi_test_on_target(void *arg, const struct target *state)
{
	struct gnmi_test *gnmi = arg;
	if (profile_test_target_failed(&gnmi->test, state))
		return;
	if (state->state == TARGET_UP && !gnmi->up) {
		gnmi->up = true;
		loop_timer_start(gnmi->end, gnmi->test.run_ns, 0);
	}
}

static void gnmi_test_on_end(void *arg)
{
	struct gnmi_test *gnmi = arg;
	loop_stop(gnmi->test.loop);
}

static void gnmi_test_on_limit(void *arg)
{
	struct gnmi_test *gnmi = arg;
	if (gnmi->up)
		loop_stop(gnmi->test.loop);
	else
		profile_test_fail(&gnmi->test, "no stream delivered within the time allowed");
}

static json_t *gnmi_test_json(struct gnmi_test *gnmi, const char *device)
{
	const struct profile_test *test = &gnmi->test;
	const struct target *state = gnmi_target_state(gnmi->target);
	const struct gnmi_target_counts counts = gnmi_target_counts(gnmi->target);
	double p50, p95;
	target_poll_quantiles(state, &p50, &p95);
	gnmi_target_values(gnmi->target, gnmi_add_leaf, gnmi);
	profile_test_fallbacks(test->columns);
	return json_pack("{s:s, s:s, s:s, s:O, s:O, s:O, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:o}",
		"target", device, "protocol", "gnmi", "address", state->address, "device",
		test->identity, "columns", test->columns, "implausible", test->implausible,
		"values", (json_int_t)test->n_samples, "series", (json_int_t)test->readings.n,
		"moved", (json_int_t)test->n_moved, "poll_s", json_number_or_null(p50), "messages",
		(json_int_t)counts.messages, "refused", (json_int_t)counts.refused, "unknown_paths",
		(json_int_t)counts.unknown_paths, "unknown_path",
		gnmi_word_or_null(counts.unknown_path));
}

static int profile_test_gnmi(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e)
{
	struct gnmi_test gnmi = {0};
	const struct sink sink = {&gnmi, gnmi_test_on_samples, test_on_flows, gnmi_test_on_target,
		test_on_device, test_on_port, test_on_event};
	int64_t limit_ns = run_ns + 6 * device->gnmi->timeout_ns;
	int r = profile_test_begin(&gnmi.test, run_ns, limit_ns, gnmi_test_on_limit, &gnmi, e);
	if (r < 0)
		return r;
	gnmi.end = loop_timer_new(gnmi.test.loop, gnmi_test_on_end, &gnmi);
	r = gnmi_target_new(
		gnmi.test.loop, gnmi.test.entities, device, config, &sink, &gnmi.target, e);
	if (r < 0) {
		r = -EINVAL;
	} else {
		loop_run(gnmi.test.loop);
		if (*gnmi.test.reason)
			r = profile_test_error(&gnmi.test, device->name, e);
		else
			*ret = gnmi_test_json(&gnmi, device->name);
		gnmi_target_free(gnmi.target);
	}
	loop_timer_free(gnmi.end);
	free(gnmi.moved);
	profile_test_done(&gnmi.test);
	return r;
}

/* profile_test_scrape - "profile test" of a host's exporters: the same leaves and judgement, of two
 * scrapes. */

extern const struct collector collector_scrape;

struct scrape_test {
	struct gnmi_test gnmi; /* first: what its sink is given */
	void *instance;
};

static void scrape_test_on_target(void *arg, const struct target *state)
{
	struct scrape_test *scrape = arg;
	profile_test_target_failed(&scrape->gnmi.test, state);
	if (state->polls >= 2)
		loop_stop(scrape->gnmi.test.loop);
}

static void scrape_test_on_limit(void *arg)
{
	struct scrape_test *scrape = arg;
	profile_test_fail(&scrape->gnmi.test, "no second answer within the time allowed");
}

static void scrape_test_on_figure(void *arg, const char *key, const char *unit, double value)
{
	if (str_eq(key, "unknown"))
		*(double *)arg = value;
}

static json_t *scrape_test_json(struct scrape_test *scrape, const char *device)
{
	const struct profile_test *test = &scrape->gnmi.test;
	const struct target *state = collector_scrape.state(scrape->instance);
	double p50, p95, unknown = 0; /* of all scrapes */
	target_poll_quantiles(state, &p50, &p95);
	collector_scrape.values(scrape->instance, gnmi_add_leaf, &scrape->gnmi);
	collector_scrape.figures(scrape->instance, scrape_test_on_figure, &unknown);
	return json_pack("{s:s, s:s, s:s, s:O, s:O, s:O, s:I, s:I, s:I, s:o, s:I}", "target",
		device, "protocol", "scrape", "address", state->address, "device", test->identity,
		"columns", test->columns, "implausible", test->implausible, "values",
		(json_int_t)test->n_samples, "series", (json_int_t)test->readings.n, "moved",
		(json_int_t)test->n_moved, "poll_s", json_number_or_null(p50), "unknown_paths",
		(json_int_t)(unknown / (double)state->polls));
}

static int profile_test_scrape(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e)
{
	struct scrape_test scrape = {0};
	struct profile_test *test = &scrape.gnmi.test;
	const struct sink sink = {&scrape, gnmi_test_on_samples, test_on_flows,
		scrape_test_on_target, test_on_device, test_on_port, test_on_event};
	struct config_scraped asked = *config_scraped_host(config, device->name);
	struct config_scrape often = *asked.scrape;
	asked.scrape = &often;
	often.interval_ns = run_ns;
	int r = profile_test_begin(
		test, run_ns, 3 * run_ns + 2 * often.timeout_ns, scrape_test_on_limit, &scrape, e);
	if (r < 0)
		return r;
	const struct collector_env env = {.loop = test->loop,
		.entities = test->entities,
		.config = config,
		.sink = &sink,
		.row = &collector_scrape};
	r = collector_scrape.open(&env, &asked, &scrape.instance, e);
	if (r < 0) {
		r = -EINVAL;
	} else {
		loop_run(test->loop);
		if (*test->reason)
			r = profile_test_error(test, device->name, e);
		else
			*ret = scrape_test_json(&scrape, device->name);
		collector_scrape.close(scrape.instance);
	}
	free(scrape.gnmi.moved);
	profile_test_done(test);
	return r;
}

/*
 * profile_test_snmp - "profile test" over SNMP: polls the device twice. The first poll says which
 * columns answer, the second which counters move and whether they can be right.
 */

#define LINE_RATE_MARGIN 1.02 /* clocks of the two readings are not the same */

struct snmp_test {
	struct profile_test test;
	struct snmp_target *target;
	struct smap *speeds; /* port -> bit/s */
	uint64_t polls;
};

/* ---- columns ------------------------------------------------------------- */

static const char *snmp_column_verdict(const struct collector_value *column)
{
	if (column->pending)
		return "not read yet";
	if (column->rows == 0) {
		if (column->fallback)
			return "not needed";
		return "empty";
	}
	if (column->wrong_type)
		return profile_test_wrong(column);
	if (column->no_cell)
		return "no cell size";
	if (column->zero == column->rows)
		return "all zero";
	return "answers";
}

static void snmp_add_column(void *arg, const struct collector_value *column)
{
	struct snmp_test *snmp = arg;
	const char *type = NULL;
	if (*column->type)
		type = column->type;
	json_array_append_new(snmp->test.columns,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:s}", "table",
			column->table, "cadence", column->slow ? "slow" : "fast", "oid",
			column->path, "value", column->what, "verdict", snmp_column_verdict(column),
			"rows", (json_int_t)column->rows, "zero", (json_int_t)column->zero,
			"wrong_type", (json_int_t)column->wrong_type, "type",
			json_string_or_null(type), "doc", column->doc));
}

/* ---- two readings of one counter ------------------------------------------ */

static bool snmp_counts_octets(unsigned metric)
{
	return metric == M_PORT_IN_OCTETS || metric == M_PORT_OUT_OCTETS ||
		metric == M_QUEUE_OUT_OCTETS;
}

static bool snmp_counts_pause(unsigned metric)
{
	return metric == M_PFC_RX_PAUSE_NS || metric == M_PFC_TX_PAUSE_NS;
}

static void snmp_judge_rate(struct snmp_test *snmp, const struct sample *sample, double per_s)
{
	struct profile_test *test = &snmp->test;
	const struct entity *entity = entity_get(test->entities, sample->entity);
	uint64_t speed_bps = 0;
	smap_get(snmp->speeds, entity->port, strlen(entity->port), &speed_bps);
	if (snmp_counts_octets(sample->metric) && speed_bps &&
		per_s * 8 > (double)speed_bps * LINE_RATE_MARGIN)
		profile_test_implausible(test, sample, "faster than the line, bit/s", per_s * 8);
	if (snmp_counts_pause(sample->metric) && per_s > (double)NS_PER_S * LINE_RATE_MARGIN)
		profile_test_implausible(test, sample,
			"paused longer than the time between the readings, ns per s", per_s);
}

static void snmp_judge(
	struct snmp_test *snmp, const struct sample *first, const struct sample *second)
{
	if (metric_info(second->metric)->kind != METRIC_COUNTER || second->t_ns <= first->t_ns)
		return;
	if (second->value != first->value)
		snmp->test.n_moved++;
	if (second->flags & SF_RESTART)
		return;
	if (second->value >= first->value) {
		double seconds = (double)(second->t_ns - first->t_ns) / (double)NS_PER_S;
		snmp_judge_rate(snmp, second, (double)(second->value - first->value) / seconds);
	} else if (!(second->flags & SF_WRAP32)) {
		profile_test_implausible(&snmp->test, second, "went back without a restart",
			(double)first->value - (double)second->value);
	}
}

/* ---- the sink ------------------------------------------------------------ */

static void snmp_test_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct snmp_test *snmp = arg;
	snmp->test.n_samples += n;
	for (size_t i = 0; i < n; i++) {
		ptrdiff_t at = profile_test_first(&snmp->test, &samples[i]);
		if (at >= 0 && snmp->polls > 0)
			snmp_judge(snmp, &snmp->test.readings.v[at], &samples[i]);
	}
}

static void snmp_test_on_target(void *arg, const struct target *state)
{
	struct snmp_test *snmp = arg;
	profile_test_target_failed(&snmp->test, state);
	if (state->polls == snmp->polls)
		return;
	snmp->polls = state->polls;
	if (state->polls == 1)
		snmp_target_values(snmp->target, snmp_add_column, snmp);
	if (state->polls >= 2)
		loop_stop(snmp->test.loop);
}

static void snmp_test_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	struct snmp_test *snmp = arg;
	smap_put(snmp->speeds, port, strlen(port), speed_bps);
}

static void snmp_test_on_limit(void *arg)
{
	struct snmp_test *snmp = arg;
	profile_test_fail(&snmp->test, "no complete poll within the time allowed");
}

static json_t *snmp_test_json(const struct snmp_test *snmp, const struct config_device *device)
{
	const struct profile_test *test = &snmp->test;
	const struct target *state = snmp_target_state(snmp->target);
	double p50, p95, deadline_s = NAN;
	target_poll_quantiles(state, &p50, &p95);
	if (device->snmp->deadline_ns)
		deadline_s = (double)device->snmp->deadline_ns / NS_PER_S;
	profile_test_fallbacks(test->columns);
	return json_pack("{s:s, s:s, s:O, s:O, s:O, s:I, s:I, s:o, s:o, s:i}", "target",
		device->name, "address", state->address, "device", test->identity, "columns",
		test->columns, "implausible", test->implausible, "values",
		(json_int_t)(test->n_samples / 2), "moved", (json_int_t)test->n_moved, "poll_s",
		json_number_or_null(p50), "deadline_s", json_number_or_null(deadline_s),
		"max_repetitions", (int)snmp_target_state(snmp->target)->max_repetitions);
}

static int profile_test_snmp(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e)
{
	struct snmp_test snmp = {0};
	const struct sink sink = {&snmp, snmp_test_on_samples, test_on_flows, snmp_test_on_target,
		test_on_device, snmp_test_on_port, test_on_event};
	struct config_snmp patient = *device->snmp;
	struct config_device asked = *device;
	asked.snmp = &patient;
	/* A slow answer is still an answer: how slow is what the test is there to tell. */
	if (patient.deadline_ns < TEST_POLL_NS)
		patient.deadline_ns = TEST_POLL_NS;
	int64_t limit_ns = 2 * (run_ns + patient.deadline_ns) + 5 * NS_PER_S;
	int r = profile_test_begin(&snmp.test, run_ns, limit_ns, snmp_test_on_limit, &snmp, e);
	if (r < 0)
		return r;
	snmp.speeds = smap_new();
	snmp_init();
	r = snmp_target_new(
		snmp.test.loop, snmp.test.entities, &asked, config, &sink, &snmp.target, e);
	if (r < 0) {
		r = -EINVAL;
	} else {
		loop_run(snmp.test.loop);
		if (*snmp.test.reason)
			r = profile_test_error(&snmp.test, device->name, e);
		else
			*ret = snmp_test_json(&snmp, device);
		snmp_target_free(snmp.target);
	}
	smap_free(snmp.speeds);
	profile_test_done(&snmp.test);
	return r;
}

/* ---- the question -------------------------------------------------------- */

/* What the command line says, with the device that is asked. */
struct test_ask {
	const struct command *command;
	const char *target; /* a configured device, or ADDRESS[:PORT] */
	const char *community_file, *credentials, *profile, *protocol;
	int64_t run_ns, timeout_ns;
	bool verbose;
	const struct config *config; /* may be NULL */
	const struct config_device *configured; /* NULL: by address */
};

typedef int profile_test_fn(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e);

/* Asks and prints; the log stays silent, because what goes wrong is reported once, at the end. */
static int test_report(const struct test_ask *ask, const struct globals *globals,
	profile_test_fn *test, const struct config_device *device, const struct view *view)
{
	static const struct config none;
	struct err e = {0};
	json_t *doc = NULL;
	const struct config *config = ask->config;
	if (!config)
		config = &none;
	if (!ask->verbose)
		log_set_level(LOG_ERROR_);
	int r = test(device, config, ask->run_ns, &doc, &e);
	if (r < 0)
		return command_exit(r, &e);
	r = report_print(stdout, doc, view, globals->format, !globals->no_header,
		globals->color == COLOR_ALWAYS);
	json_decref(doc);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int test_gnmi(const struct test_ask *ask, const struct globals *globals)
{
	struct config_device device = *ask->configured;
	struct config_gnmi gnmi = *device.gnmi;
	int64_t third_ns = ask->run_ns / 3;
	device.gnmi = &gnmi;
	if (ask->profile)
		device.profile = ask->profile;
	if (gnmi.interval_ns > third_ns && third_ns >= NS_PER_S)
		gnmi.interval_ns = third_ns; /* several rounds, so that counters can move */
	return test_report(ask, globals, profile_test_gnmi, &device, &gnmi_view);
}

/* HOST, HOST:PORT, [IPv6]:PORT or a bare IPv6 address; @buf keeps the host. */
static bool address_read(const char *text, char *buf, size_t size, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);
	int64_t port = SNMP_PORT;
	if (*text == '[') {
		const char *close = strchr(text, ']');
		if (!close || (close[1] != '\0' && close[1] != ':'))
			return false;
		colon = NULL;
		if (close[1])
			colon = close + 1;
		end = close;
		text++;
	} else if (colon && strchr(text, ':') != colon) {
		colon = NULL; /* a bare IPv6 address */
	} else if (colon) {
		end = colon;
	}
	if (colon && (unit_int(colon + 1, &port, NULL) < 0 || port < 1 || port > UINT16_MAX))
		return false;
	if (end == text || (size_t)(end - text) >= size)
		return false;
	snprintf(buf, size, "%.*s", (int)(end - text), text);
	*ret_port = (uint16_t)port;
	return true;
}

static const struct config_credential *credential_find(
	const struct config *config, const char *name)
{
	for (size_t i = 0; config && i < config->n_credentials; i++)
		if (str_eq(config->credentials[i].name, name))
			return &config->credentials[i];
	return NULL;
}

static int test_snmp(const struct test_ask *ask, const struct globals *globals)
{
	struct config_snmp_credential community = {
		.version = 2, .community = {SECRET_FILE, ask->community_file, 0, 0}};
	struct config_credential given = {.name = "command line", .snmp = &community};
	struct config_snmp snmp = {.timeout_ns = ask->timeout_ns, .retries = 2};
	struct config_device device = {.name = ask->target, .profile = "auto"};
	char host[256];

	/* 1. Whom: a configured device as it is configured, or an address. */
	if (ask->configured) {
		device = *ask->configured;
		snmp = *device.snmp;
	}
	device.snmp = &snmp;
	if (!snmp.address) {
		if (!address_read(ask->target, host, sizeof(host), &snmp.port))
			return usage_error(ask->command,
				"'%s' is neither a configured device nor ADDRESS[:PORT]",
				ask->target);
		snmp.address = host;
	}
	/* 2. As whom: --credentials before --community-file before the configuration. */
	if (ask->community_file)
		snmp.credential = &given;
	if (ask->credentials) {
		snmp.credential = credential_find(ask->config, ask->credentials);
		if (!snmp.credential)
			return usage_error(ask->command, "no credentials '%s' in the configuration",
				ask->credentials);
	}
	if (!snmp.credential || !snmp.credential->snmp)
		return usage_error(ask->command,
			"'%s' is not a configured device: give --community-file FILE or "
			"--credentials NAME",
			ask->target);
	/* 3. How: two polls, @run_ns apart. */
	if (ask->profile)
		device.profile = ask->profile;
	snmp.interval_ns = ask->run_ns;
	snmp.slow_interval_ns = 3600 * NS_PER_S;
	return test_report(ask, globals, profile_test_snmp, &device, &snmp_view);
}

/* ---- the command --------------------------------------------------------- */

static const struct config_device *device_find(const struct config *config, const char *name)
{
	for (size_t i = 0; config && i < config->n_devices; i++)
		if (str_eq(config->devices[i].name, name))
			return &config->devices[i];
	return NULL;
}

/* An option that is a duration of at least @least_ns; 0, or the exit code of a usage error. */
static int profile_test_read_duration(const struct command *command,
	const struct command_args *args, const char *name, int64_t least_ns, int64_t *ns)
{
	const char *text = command_opt(command, args, name);
	if (!text)
		return 0;
	if (unit_duration(text, ns, NULL) == 0 && *ns >= least_ns)
		return 0;
	return usage_error(command, "--%s: '%s' is not a duration such as 10s", name, text);
}

int profile_test(const struct command *command, struct command_args *args,
	const struct config *config, const char *target)
{
	struct test_ask ask = {
		.command = command,
		.target = target,
		.community_file = command_opt(command, args, "community-file"),
		.credentials = command_opt(command, args, "credentials"),
		.profile = command_opt(command, args, "profile"),
		.protocol = command_opt(command, args, "protocol"),
		.run_ns = TEST_SECONDS * NS_PER_S,
		.timeout_ns = 2 * NS_PER_S,
		.verbose = args->g->verbose > 0,
		.config = config,
		.configured = device_find(config, target),
	};
	int code = profile_test_read_duration(command, args, "for", NS_PER_S / 10, &ask.run_ns);
	if (code == 0)
		code = profile_test_read_duration(
			command, args, "timeout", NS_PER_MS, &ask.timeout_ns);
	if (code != 0)
		return code;

	bool gnmi = str_eq(ask.protocol, "gnmi");
	const bool scrape = str_eq(ask.protocol, "scrape");
	if (ask.protocol && !gnmi && !scrape && !str_eq(ask.protocol, "snmp"))
		return usage_error(command,
			"--protocol: unknown protocol '%s'; expected snmp, gnmi or scrape",
			ask.protocol);
	if (config && config_scraped_host(config, target) && (scrape || !ask.configured))
		return test_report(&ask, args->g, profile_test_scrape,
			&config_scraped_host(config, target)->device, &gnmi_view);
	if (scrape)
		return usage_error(command, "%s is not configured for scrape", target);
	if (!ask.configured && gnmi)
		return usage_error(command,
			"'%s' is not a configured device: over gNMI only configured devices can be "
			"tested",
			target);
	if (!ask.configured)
		return test_snmp(&ask, args->g);
	if (!ask.protocol)
		gnmi = ask.configured->gnmi && !ask.configured->snmp;
	if (gnmi && ask.configured->gnmi)
		return test_gnmi(&ask, args->g);
	if (gnmi || !ask.configured->snmp)
		return usage_error(command, "device %s is not configured for %s", target,
			gnmi ? "gNMI" : "SNMP");
	return test_snmp(&ask, args->g);
}
