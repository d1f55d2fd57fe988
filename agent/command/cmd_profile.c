/* cmd_profile - what the profiles collect, and what a live device really answers, column by column.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "agent/document/json_value.h"
#include "agent/modules.h"
#include "agent/command/profile_test_gnmi.h"
#include "collectors/snmp/snmp.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "config/profile/profile_gnmi.h"
#include "db/model/metric.h"

#define TEST_SECONDS 10
#define LINE_RATE_MARGIN 1.02 /* clocks of the two readings are not the same */
#define SNMP_PORT 161

static const struct command_option options[] = {
	{"community-file", 0, "FILE", "test ADDRESS: the file with the SNMP v2c community"},
	{"credentials", 0, "NAME", "test ADDRESS: credentials of this name in the configuration"},
	{"profile", 0, "NAME",
		"test: this profile instead of the one the device's description chooses"},
	{"protocol", 0, "PROTOCOL",
		"test: snmp or gnmi; of a device with both, SNMP when not said"},
	{"for", 0, "DURATION",
		"test: time between the first and the last reading, to see what moves (default "
		"10s)"},
	{"timeout", 0, "DURATION", "test ADDRESS: wait this long for an answer (default 2s)"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_profile;

static const char *cadence_name(enum profile_cadence cadence)
{
	if (cadence == CADENCE_SLOW)
		return "slow";
	return "fast";
}

static int cmd_profile_print(
	const struct globals *globals, const json_t *doc, const struct view *view)
{
	if (report_print(stdout, doc, view, globals->format, !globals->no_header,
		    globals->color == COLOR_ALWAYS) < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

/* config_get - the configuration, if there is one or one was asked for. */
static int config_get(const struct globals *globals, bool needed, struct config **ret)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	*ret = NULL;
	if (!needed && !globals->config_named && access(globals->config_path, F_OK) < 0)
		return 0;
	int rc = config_load(globals->config_path, CONFIG_FULL, tables, n, ret, &errors);
	for (size_t i = 0; rc < 0 && i < errors.n; i++)
		err_print(stderr, &errors.v[i]);
	return rc;
}

static int profiles_get_all(const struct config *config, struct profiles **ret)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	int rc = profiles_load(config ? config->profile_dir : NULL, ret, &errors);
	for (size_t i = 0; i < errors.n; i++)
		err_print(stderr, &errors.v[i]);
	return rc;
}

/* ---- list and show ------------------------------------------------------- */

static json_t *matches_json(const struct profile *profile)
{
	json_t *list = json_array();
	for (size_t i = 0; i < profile->n_matches; i++) {
		char oid[PROFILE_OID_MAX * 11] = "";
		for (size_t k = 0; k < profile->matches[i].n_object_id; k++)
			snprintf(oid + strlen(oid), sizeof(oid) - strlen(oid), k ? ".%u" : "%u",
				profile->matches[i].object_id[k]);
		json_array_append_new(list,
			json_pack("{s:o, s:o}", "object_id", json_string_or_null(*oid ? oid : NULL),
				"descr", json_string_or_null(profile->matches[i].descr)));
	}
	return list;
}

static bool gnmi_has(const struct profile *profile, unsigned metric)
{
	for (size_t i = 0; profile->gnmi && i < profile->gnmi->n_streams; i++)
		for (size_t k = 0; k < profile->gnmi->streams[i]->n_values; k++)
			if (profile->gnmi->streams[i]->values[k].metric == (int)metric)
				return true;
	return false;
}

static json_t *metrics_json(const struct profile *profile)
{
	json_t *list = json_array();
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		bool has = gnmi_has(profile, m);
		for (size_t i = 0; i < profile->n_tables && !has; i++)
			for (size_t k = 0; k < profile->tables[i]->n_values && !has; k++)
				has = profile->tables[i]->values[k].metric == (int)m;
		if (has)
			json_array_append_new(list, json_string(metric_info(m)->name));
	}
	return list;
}

static json_t *profile_json(const struct profile *profile)
{
	json_t *protocols = json_array();
	if (profile->snmp)
		json_array_append_new(protocols, json_string("snmp"));
	if (profile->gnmi)
		json_array_append_new(protocols, json_string("gnmi"));
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o}", "name", profile->name, "protocols",
		protocols, "doc", profile->doc, "tables", (int)profile->n_tables, "metrics",
		metrics_json(profile), "match", matches_json(profile));
}

static const struct column list_columns[] = {
	{"name", "PROFILE", COL_TEXT, false},
	{"protocols[]", "PROTOCOLS", COL_TEXT, false},
	{"tables", "TABLES", COL_INT, true},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view list_view = {
	"profiles", "profiles", list_columns, rw_countof(list_columns), NULL, "no profiles"};

static int cmd_profile_run_list(const struct globals *globals, const struct profiles *profiles)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < profiles_count(profiles); i++)
		json_array_append_new(rows, profile_json(profiles_at(profiles, i)));
	json_t *doc = json_pack("{s:o}", "profiles", rows);
	int rc = cmd_profile_print(globals, doc, &list_view);
	json_decref(doc);
	return rc;
}

static json_t *table_rows(const struct profile_table *table)
{
	json_t *rows = json_array();
	for (size_t k = 0; k < table->n_values; k++) {
		const struct profile_value *v = &table->values[k];
		char oid[PROFILE_OID_MAX * 11] = "";
		for (size_t i = 0; i < table->columns[v->column].n; i++)
			snprintf(oid + strlen(oid), sizeof(oid) - strlen(oid), i ? ".%u" : "%u",
				table->columns[v->column].v[i]);
		json_array_append_new(rows,
			json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "table", table->name, "cadence",
				cadence_name(table->cadence), "oid", oid, "value",
				v->metric >= 0 ? metric_info((unsigned)v->metric)->name
					       : profile_attribute_name(v->attribute),
				"fallback", v->fallback, "doc", v->doc));
	}
	return rows;
}

static json_t *stream_rows(const struct profile_gnmi_stream *stream)
{
	static const char *const attributes[] = {"", "port_alias", "boot_time", "sysname"};
	json_t *rows = json_array();
	for (size_t k = 0; k < stream->n_values; k++) {
		const struct profile_gnmi_value *v = &stream->values[k];
		json_array_append_new(rows,
			json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "table", stream->name,
				"cadence", stream->slow ? "slow" : "fast", "oid", v->path, "value",
				v->metric >= 0      ? metric_info((unsigned)v->metric)->name
					: v->refers ? v->refers
						    : attributes[v->attribute],
				"fallback", v->fallback, "doc", v->doc));
	}
	return rows;
}

static void cmd_profile_show_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	fputs(json_string_value(json_object_get(doc, "text")), out);
}

static const struct column show_columns[] = {
	{"table", "TABLE", COL_TEXT, false},
	{"cadence", "CADENCE", COL_TEXT, false},
	{"oid", "OID OR PATH", COL_TEXT, false},
	{"value", "VALUE", COL_TEXT, false},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view show_view = {"profile", "columns", show_columns, rw_countof(show_columns),
	cmd_profile_show_text, "no columns"};

static int cmd_profile_run_show(
	const struct globals *globals, const struct profiles *profiles, const char *name)
{
	const struct profile *p = profiles_get(profiles, name);
	if (!p) {
		const char *names[256];
		size_t n;
		if (profiles_count(profiles) < rw_countof(names))
			n = profiles_count(profiles);
		else
			n = rw_countof(names);
		for (size_t i = 0; i < n; i++)
			names[i] = profiles_at(profiles, i)->name;
		const char *near = str_nearest(name, names, n);
		if (near)
			return usage_error(&command_profile, "no profile '%s', did you mean '%s'?",
				name, near);
		return usage_error(&command_profile,
			"no profile '%s'; 'rocewatch profile list' names them", name);
	}
	json_t *doc = profile_json(p), *columns = json_array(), *quirks = json_array();
	for (size_t i = 0; i < p->n_tables; i++) {
		json_t *rows = table_rows(p->tables[i]);
		json_array_extend(columns, rows);
		json_decref(rows);
	}
	for (size_t i = 0; p->gnmi && i < p->gnmi->n_streams; i++) {
		json_t *rows = stream_rows(p->gnmi->streams[i]);
		json_array_extend(columns, rows);
		json_decref(rows);
	}
	for (size_t i = 0; i < p->n_quirks; i++)
		json_array_append_new(quirks,
			json_pack("{s:s, s:s, s:s}", "name", p->quirks[i].name, "doc",
				p->quirks[i].doc, "evidence", p->quirks[i].evidence));
	json_object_set_new(doc, "columns", columns);
	json_object_set_new(doc, "quirks", quirks);
	json_object_set_new(doc, "extends", json_string_or_null(p->extends));
	json_object_set_new(doc, "file", json_string(p->file));
	json_object_set_new(doc, "text", json_string_or_null(p->text));
	int rc = cmd_profile_print(globals, doc, &show_view);
	json_decref(doc);
	return rc;
}

/* ---- test ---------------------------------------------------------------- */

struct test {
	struct loop *loop;
	struct loop_timer *limit;
	struct entities *entities;
	struct snmp_target *target;
	const char *device;
	int64_t run_ns;
	json_t *columns, *implausible; /* owned */
	json_t *identity;
	struct smap *speeds; /* port -> bit/s */
	struct map *first; /* (entity, metric) -> index into samples */
	struct sample_list samples; /* first readings */
	size_t n_samples, moved;
	uint64_t polls;
	bool failed;
	char reason[256];
};

static uint64_t sample_key(const struct sample *sample)
{
	return (uint64_t)sample->entity << 16 | sample->metric;
}

static const char *column_verdict(const struct snmp_column_view *view)
{
	if (view->rows == 0) {
		if (view->fallback)
			return "not needed";
		return "empty";
	}
	if (view->wrong_type)
		return "wrong type";
	if (view->zero == view->rows)
		return "all zero";
	return "answers";
}

static void cmd_profile_column_add(void *arg, const struct snmp_column_view *view)
{
	struct test *t = arg;
	json_array_append_new(t->columns,
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:s}", "table",
			view->table, "cadence", view->slow ? "slow" : "fast", "oid", view->oid,
			"value", view->what, "verdict", column_verdict(view), "rows",
			(json_int_t)view->rows, "zero", (json_int_t)view->zero, "wrong_type",
			(json_int_t)view->wrong_type, "type",
			json_string_or_null(*view->type ? view->type : NULL), "doc", view->doc));
}

static void cmd_profile_implausible(
	struct test *test, const struct sample *sample, const char *why, double value)
{
	const struct entity *e = entity_get(test->entities, sample->entity);
	if (json_array_size(test->implausible) < 100)
		json_array_append_new(test->implausible,
			json_pack("{s:s, s:s, s:o, s:s, s:f}", "metric",
				metric_info(sample->metric)->name, "port", e->port, "priority",
				e->priority == PRIO_NONE ? json_null() : json_integer(e->priority),
				"why", why, "value", value));
}

/* cmd_profile_judge - two readings of one counter. */
static void cmd_profile_judge(
	struct test *test, const struct sample *left, const struct sample *right)
{
	const struct metric_info *m = metric_info(right->metric);
	if (m->kind != METRIC_COUNTER || right->t_ns <= left->t_ns)
		return;
	if (right->value != left->value)
		test->moved++;
	if (right->flags & SF_RESTART)
		return;
	double seconds = (double)(right->t_ns - left->t_ns) / NS_PER_S,
	       per_s = (double)(right->value - left->value) / seconds;
	if (right->value < left->value) {
		if (!(right->flags & SF_WRAP32))
			cmd_profile_implausible(test, right, "went back without a restart",
				(double)left->value - (double)right->value);
		return;
	}
	uint64_t speed = 0;
	const struct entity *e = entity_get(test->entities, right->entity);
	if ((right->metric == M_PORT_IN_OCTETS || right->metric == M_PORT_OUT_OCTETS ||
		    right->metric == M_QUEUE_OUT_OCTETS) &&
		smap_get(test->speeds, e->port, strlen(e->port), &speed) && speed &&
		per_s * 8 > (double)speed * LINE_RATE_MARGIN)
		cmd_profile_implausible(test, right, "faster than the line, bit/s", per_s * 8);
	if ((right->metric == M_PFC_RX_PAUSE_NS || right->metric == M_PFC_TX_PAUSE_NS) &&
		per_s > (double)NS_PER_S * LINE_RATE_MARGIN)
		cmd_profile_implausible(test, right,
			"paused longer than the time between the readings, ns per s", per_s);
}

static void cmd_profile_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct test *t = arg;
	t->n_samples += n;
	for (size_t i = 0; i < n; i++) {
		uint64_t at;
		if (map_get(t->first, sample_key(&samples[i]), &at)) {
			if (t->polls > 0)
				cmd_profile_judge(t, &t->samples.v[at], &samples[i]);
			continue;
		}
		map_put(t->first, sample_key(&samples[i]), t->samples.n);
		rw_grow(t->samples.v, t->samples.n, t->samples.cap);
		t->samples.v[t->samples.n++] = samples[i];
	}
}

static void cmd_profile_on_target(void *arg, const struct target *state)
{
	struct test *t = arg;
	if (state->state == TARGET_BACKOFF) {
		t->failed = true;
		snprintf(t->reason, sizeof(t->reason), "%s", state->reason);
		loop_stop(t->loop);
	}
	if (state->polls == t->polls)
		return;
	t->polls = state->polls;
	if (state->polls == 1)
		snmp_target_columns(t->target, cmd_profile_column_add, t);
	if (state->polls >= 2)
		loop_stop(t->loop);
}

static void cmd_profile_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct test *t = arg;
	json_decref(t->identity);
	t->identity = json_pack(
		"{s:s, s:s, s:s}", "profile", profile, "sysname", sysname, "descr", descr);
}

static void cmd_profile_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	struct test *t = arg;
	smap_put(t->speeds, port, strlen(port), speed_bps);
}

static void cmd_profile_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
}

static void cmd_profile_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}

static void test_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *identity = json_object_get(doc, "device");
	const char *table = "";
	size_t i;
	json_t *row;
	fprintf(out, "%s  profile %s  sysName %s\n%s\n",
		json_string_value(json_object_get(doc, "address")),
		json_string_value(json_object_get(identity, "profile")),
		json_string_value(json_object_get(identity, "sysname")),
		json_string_value(json_object_get(identity, "descr")));
	json_array_foreach (json_object_get(doc, "columns"), i, row) {
		const char *name = json_string_value(json_object_get(row, "table"));
		if (strcmp(name, table) != 0)
			fprintf(out, "\n%s (%s)\n", name,
				json_string_value(json_object_get(row, "cadence")));
		table = name;
		fprintf(out, "  %-10s %5lld rows  %-26s %-12s %s\n",
			json_string_value(json_object_get(row, "verdict")),
			(long long)json_integer_value(json_object_get(row, "rows")),
			json_string_value(json_object_get(row, "value")),
			json_is_string(json_object_get(row, "type"))
				? json_string_value(json_object_get(row, "type"))
				: "-",
			json_string_value(json_object_get(row, "doc")));
	}
	fprintf(out,
		"\n%lld values per poll in %.3f s; %lld counters moved between the two readings\n",
		(long long)json_integer_value(json_object_get(doc, "values")),
		json_number_value(json_object_get(doc, "poll_s")),
		(long long)json_integer_value(json_object_get(doc, "moved")));
	json_array_foreach (json_object_get(doc, "implausible"), i, row)
		fprintf(out, "IMPLAUSIBLE  %s %s: %s (%g)\n",
			json_string_value(json_object_get(row, "port")),
			json_string_value(json_object_get(row, "metric")),
			json_string_value(json_object_get(row, "why")),
			json_number_value(json_object_get(row, "value")));
	fprintf(out,
		"A counter that is all zero proves nothing until the feature behind it is on, or "
		"it has moved.\n");
}

static const struct column test_columns[] = {
	{"table", "TABLE", COL_TEXT, false},
	{"verdict", "VERDICT", COL_TEXT, false},
	{"rows", "ROWS", COL_INT, true},
	{"value", "VALUE", COL_TEXT, false},
	{"type", "TYPE", COL_TEXT, false},
	{"oid", "OID", COL_TEXT, false},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view test_view = {
	"profile test", "columns", test_columns, rw_countof(test_columns), test_text, "no columns"};

static int test_report(const struct globals *globals, struct test *test)
{
	double p50, p95;
	target_poll_quantiles(snmp_target_state(test->target), &p50, &p95);
	json_t *doc = json_pack("{s:s, s:s, s:O, s:O, s:O, s:I, s:I, s:o, s:i}", "target",
		test->device, "address", snmp_target_state(test->target)->address, "device",
		test->identity, "columns", test->columns, "implausible", test->implausible,
		"values", (json_int_t)(test->n_samples / 2), "moved", (json_int_t)test->moved,
		"poll_s", json_number_or_null(p50), "max_repetitions",
		(int)snmp_target_max_repetitions(test->target));
	int rc = cmd_profile_print(globals, doc, &test_view);
	json_decref(doc);
	return rc;
}

static void cmd_profile_on_limit(void *arg)
{
	struct test *t = arg;
	t->failed = true;
	snprintf(t->reason, sizeof(t->reason), "no complete poll within the time allowed");
	loop_stop(t->loop);
}

/* test_run - poll @device twice and report. */
static int test_run(const struct globals *globals, const struct config_device *device,
	const struct config *config, int64_t run_ns)
{
	struct test t = {.device = device->name, .run_ns = run_ns};
	struct sink sink = {&t, cmd_profile_on_samples, cmd_profile_on_flows, cmd_profile_on_target,
		cmd_profile_on_device, cmd_profile_on_port, cmd_profile_on_event};
	struct err e = {0};
	if (loop_new(&t.loop) < 0) {
		fprintf(stderr, "rocewatch: no event loop: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	t.entities = entities_new();
	t.columns = json_array();
	t.implausible = json_array();
	t.identity = json_pack("{s:s, s:s, s:s}", "profile", "", "sysname", "", "descr", "");
	t.speeds = smap_new();
	t.first = map_new();
	t.limit = loop_timer_new(t.loop, cmd_profile_on_limit, &t);
	loop_timer_start(t.limit, 2 * (run_ns + device->snmp->deadline_ns) + 5 * NS_PER_S, 0);
	snmp_init();
	int rc = snmp_target_new(t.loop, t.entities, device, config, &sink, &t.target, &e);
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
			rc = test_report(globals, &t);
		snmp_target_free(t.target);
	}
	loop_timer_free(t.limit);
	loop_free(t.loop);
	entities_free(t.entities);
	json_decref(t.columns);
	json_decref(t.implausible);
	json_decref(t.identity);
	smap_free(t.speeds);
	map_free(t.first);
	free(t.samples.v);
	return rc;
}

/* address_read - HOST, HOST:PORT, [IPv6]:PORT; @buf keeps the host. */
static bool address_read(const char *text, char *buf, size_t size, uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':'), *end = text + strlen(text);
	int64_t port = SNMP_PORT;
	if (*text == '[') {
		const char *close = strchr(text, ']');
		if (!close || (close[1] != '\0' && close[1] != ':'))
			return false;
		if (close[1])
			colon = close + 1;
		else
			colon = NULL;
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

/* run_test_gnmi - a configured device, as it is configured. */
static int run_test_gnmi(struct command_args *args, const struct config *config,
	const struct config_device *configured, int64_t run_ns)
{
	struct config_device device = *configured;
	struct config_gnmi gnmi = *device.gnmi;
	const char *profile = command_opt(&command_profile, args, "profile");
	device.gnmi = &gnmi;
	if (profile)
		device.profile = profile;
	if (gnmi.interval_ns > run_ns / 3 && run_ns / 3 >= NS_PER_S)
		gnmi.interval_ns = run_ns / 3; /* so that something can move */
	if (!args->g->verbose)
		log_set_level(LOG_ERROR_);
	return profile_test_gnmi(args->g, &device, config, run_ns);
}

static int run_test(struct command_args *args, const struct config *config, const char *target)
{
	const struct command *c = &command_profile;
	const char *file = command_opt(c, args, "community-file"),
		   *name = command_opt(c, args, "credentials"), *text,
		   *protocol = command_opt(c, args, "protocol");
	int64_t run_ns = TEST_SECONDS * NS_PER_S, timeout_ns = 2 * NS_PER_S;
	char host[256];
	if (((text = command_opt(c, args, "for")) &&
		    (unit_duration(text, &run_ns, NULL) < 0 || run_ns < NS_PER_S / 10)) ||
		((text = command_opt(c, args, "timeout")) &&
			(unit_duration(text, &timeout_ns, NULL) < 0 || timeout_ns < NS_PER_MS)))
		return usage_error(c, "read '%s', expected a duration such as 10s", text);

	if (protocol && strcmp(protocol, "snmp") != 0 && strcmp(protocol, "gnmi") != 0)
		return usage_error(c, "read '%s', expected snmp or gnmi", protocol);

	struct config none = {0};
	struct config_snmp_credential community = {
		.version = 2, .community = {SECRET_FILE, file, 0, 0}};
	struct config_credential given = {.name = "command line", .snmp = &community};
	struct config_snmp snmp = {.timeout_ns = timeout_ns, .retries = 2};
	struct config_device device = {.name = target, .profile = "auto", .snmp = &snmp};
	for (size_t i = 0; config && i < config->n_devices; i++)
		if (strcmp(config->devices[i].name, target) == 0) {
			if (config->devices[i].gnmi &&
				(str_eq(protocol, "gnmi") ||
					(!protocol && !config->devices[i].snmp)))
				return run_test_gnmi(args, config, &config->devices[i], run_ns);
			if (!config->devices[i].snmp || str_eq(protocol, "gnmi"))
				return usage_error(c, "device %s is not asked over %s", target,
					str_or(protocol, "SNMP"));
			device = config->devices[i];
			snmp = *device.snmp;
			device.snmp = &snmp;
		}
	if (!snmp.address) {
		if (!address_read(target, host, sizeof(host), &snmp.port))
			return usage_error(c,
				"read '%s', expected a configured device or ADDRESS[:PORT]",
				target);
		snmp.address = host;
	}
	if (file)
		snmp.credential = &given;
	for (size_t i = 0; name && config && i < config->n_credentials; i++)
		if (strcmp(config->credentials[i].name, name) == 0)
			snmp.credential = &config->credentials[i];
	if (name && (!snmp.credential || strcmp(snmp.credential->name, name) != 0))
		return usage_error(c, "no credentials '%s' in the configuration", name);
	if (!snmp.credential || !snmp.credential->snmp)
		return usage_error(c,
			protocol && strcmp(protocol, "gnmi") == 0
				? "'%s' is not a configured device: over gNMI, configured devices "
				  "are tested"
				: "'%s' is not a configured device: give --community-file FILE or "
				  "--credentials NAME",
			target);
	if ((text = command_opt(c, args, "profile")))
		device.profile = text;
	snmp.interval_ns = run_ns;
	snmp.slow_interval_ns = 3600 * NS_PER_S;
	if (!snmp.deadline_ns)
		snmp.deadline_ns = 60 * NS_PER_S;
	if (!args->g->verbose)
		log_set_level(LOG_ERROR_); /* what goes wrong is told once, at the end */
	return test_run(args->g, &device, config ? config : &none, run_ns);
}

/* ---- the command --------------------------------------------------------- */

static int cmd_profile_run(struct command_args *args)
{
	const char *verb = NULL;
	if (args->argc > 0)
		verb = args->argv[0];
	struct config *config = NULL;
	struct profiles *profiles = NULL;
	bool list = str_eq(verb, "list"), show = str_eq(verb, "show"), test = str_eq(verb, "test");
	if (!list && !show && !test)
		return usage_error(&command_profile,
			verb ? "read '%s', expected list, show NAME or test TARGET" : "%s",
			str_or(verb, "expected list, show NAME or test TARGET"));
	if (args->argc != (list ? 1 : 2))
		return usage_error(&command_profile,
			list           ? "'list' takes no argument"
				: show ? "expected the name of one profile"
				       : "expected one target");
	int rc = EXIT_OK;
	if (config_get(args->g, false, &config) < 0)
		rc = EXIT_USAGE;
	if (rc == EXIT_OK && profiles_get_all(config, &profiles) < 0)
		rc = EXIT_USAGE;
	if (rc == EXIT_OK) {
		if (list)
			rc = cmd_profile_run_list(args->g, profiles);
		else if (show)
			rc = cmd_profile_run_show(args->g, profiles, args->argv[1]);
		else
			rc = run_test(args, config, args->argv[1]);
	}
	profiles_free(profiles);
	config_free(config);
	return rc;
}

const struct command command_profile = {
	.name = "profile",
	.args = "list|show NAME|test TARGET",
	.summary = "what each profile collects; try one on a live device",
	.help = "A profile maps what a kind of switch answers to canonical metrics. 'test' polls a "
		"device twice and says column by column\n"
		"what answers, what is empty and what looks implausible; over gNMI it subscribes "
		"and does the same path by path. TARGET is a\n"
		"configured device, or (SNMP) ADDRESS[:PORT] together with\n"
		"--community-file or --credentials.\n"
		"\n"
		"Exit code: 0 done, 1 the device does not answer, 2 bad usage or configuration.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_profile_run,
};
