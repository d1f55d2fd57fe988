/*
 * profile_test - the command "profile test TARGET": from the options to the device that is asked,
 * and the answer as text and tables.
 */
#include "agent/command/profile_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/text.h"
#include "config/config.h"

#define TEST_SECONDS 10
#define SNMP_PORT 161

/* ---- the answer ---------------------------------------------------------- */

/* "  1 of 248 of a wrong type" */
static void test_put_wrong(FILE *out, const json_t *row)
{
	const long long wrong = text_count(row, "wrong_type");
	if (wrong > 0)
		fprintf(out, "  (%lld of %lld of a wrong type)", wrong, text_count(row, "rows"));
	fputc('\n', out);
}

static void test_put_unknown(FILE *out, const json_t *doc)
{
	if (json_integer_value(json_object_get(doc, "unknown_paths")) > 0)
		fprintf(out, "%lld paths came that the profile does not know, e.g. %s\n",
			text_count(doc, "unknown_paths"), doc_word(doc, "unknown_path"));
}

static bool test_lacks_cell(const json_t *doc)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "columns"), i, row)
		if (str_eq(doc_word(row, "verdict"), "no cell size"))
			return true;
	return false;
}

static void test_put_foot(FILE *out, const json_t *doc)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "implausible"), i, row)
		fprintf(out, "IMPLAUSIBLE  %s %s: %s (%g)\n", doc_word(row, "port"),
			doc_word(row, "metric"), doc_word(row, "why"), doc_number(row, "value"));
	if (test_lacks_cell(doc))
		fprintf(out,
			"no cell size: these values are not stored. The device does not tell the "
			"size of its buffer cell: declare it in thresholds (cell).\n");
	fprintf(out,
		"A counter that is all zero proves nothing until the feature behind it is on, or "
		"the counter has moved.\n");
}

static void test_snmp_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *identity = json_object_get(doc, "device"), *row;
	const char *table = "";
	size_t i;
	fprintf(out, "%s  profile %s  sysName %s\n%s\n", doc_word(doc, "address"),
		doc_word(identity, "profile"), doc_word(identity, "sysname"),
		doc_word(identity, "descr"));
	json_array_foreach (json_object_get(doc, "columns"), i, row) {
		const char *name = doc_word(row, "table");
		if (!str_eq(name, table))
			fprintf(out, "\n%s (%s)\n", name, doc_word(row, "cadence"));
		table = name;
		fprintf(out, "  %-10s %5lld rows  %-26s %-12s %s", doc_word(row, "verdict"),
			text_count(row, "rows"), doc_word(row, "value"), text_of(row, "type"),
			doc_word(row, "doc"));
		test_put_wrong(out, row);
	}
	fprintf(out,
		"\n%lld values per poll in %.3f s; %lld counters moved between the two readings\n",
		text_count(doc, "values"), json_number_value(json_object_get(doc, "poll_s")),
		text_count(doc, "moved"));
	test_put_foot(out, doc);
}

static void test_gnmi_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *identity = json_object_get(doc, "device"), *row;
	const char *table = "";
	size_t i;
	fprintf(out, "%s  profile %s\n%s\n", doc_word(doc, "address"),
		doc_word(identity, "profile"), doc_word(identity, "descr"));
	json_array_foreach (json_object_get(doc, "columns"), i, row) {
		const char *name = doc_word(row, "table"), *trouble = doc_word(row, "trouble");
		if (!str_eq(name, table))
			fprintf(out, "\n%s (%s, %s)%s%s\n", name, doc_word(row, "cadence"),
				doc_word(row, "how"), str_if(*trouble, "  "), trouble);
		table = name;
		fprintf(out, "  %-10s %5lld paths  %-26s %-8s %s", doc_word(row, "verdict"),
			text_count(row, "rows"), doc_word(row, "value"), text_of(row, "type"),
			doc_word(row, "path"));
		test_put_wrong(out, row);
	}
	fprintf(out, "\n%lld series, %lld values; %lld counters moved\n", text_count(doc, "series"),
		text_count(doc, "values"), text_count(doc, "moved"));
	test_put_unknown(out, doc);
	test_put_foot(out, doc);
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
	if (r < 0) {
		err_print(stderr, &e);
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
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
	if (!snmp.deadline_ns)
		snmp.deadline_ns = 60 * NS_PER_S;
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
	if (ask.protocol && !gnmi && !str_eq(ask.protocol, "snmp"))
		return usage_error(command,
			"--protocol: unknown protocol '%s'; expected snmp or gnmi", ask.protocol);
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
