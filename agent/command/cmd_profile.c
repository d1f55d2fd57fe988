/*
 * cmd_profile - "rocewatch profile": lists and shows the profiles, and tests one on a live device
 * (profile_test).
 */
#include <unistd.h>

#include "agent/command/command.h"
#include "agent/answers/settings/config_document.h"
#include "agent/document/json_value.h"
#include "agent/modules.h"
#include "agent/command/profile_test.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "config/profile/profile_coverage.h"
#include "config/profile/profile_gnmi.h"
#include "db/model/metric.h"

static const struct command_option options[] = {
	{"community-file", 0, "FILE", "of an ADDRESS: the file with the SNMP v2c community"},
	{"credentials", 0, "NAME", "of an ADDRESS: credentials of this name in the configuration"},
	{"profile", 0, "NAME",
		"this profile instead of the one that the device's description chooses"},
	{"protocol", 0, "snmp|gnmi|scrape", "by which (default: SNMP, where a device has both)"},
	{"for", 0, "DURATION",
		"time between the first and the last reading, to see what moves (default: 10s)"},
	{"timeout", 0, "DURATION", "of an ADDRESS: wait this long for an answer (default: 2s)"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_profile;

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

static const struct column list_columns[] = {
	{"name", "PROFILE", COL_TEXT, false},
	{"protocols[]", "PROTOCOLS", COL_TEXT, false},
	{"tables", "TABLES", COL_INT, true},
	{"evidence.recorded", "RECORDED", COL_INT, true},
	{"evidence.mock", "MOCK", COL_INT, true},
	{"evidence.document", "DOCUMENT", COL_INT, true},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view list_view = {
	"profiles", "profiles", list_columns, rw_countof(list_columns), NULL, "no profiles"};

static int cmd_profile_run_list(const struct globals *globals, const struct profiles *profiles)
{
	json_t *doc = profile_list_json(profiles);
	int rc = cmd_profile_print(globals, doc, &list_view);
	json_decref(doc);
	return rc;
}

/* row_evidence - of one column or path, into its row. */
static void row_evidence(json_t *row, struct profile_evidence evidence)
{
	json_object_set_new(row, "evidence", json_string(evidence_kind_name(evidence.kind)));
	json_object_set_new(row, "evidence_source", json_string_or_null(evidence.source));
}

static json_t *table_rows(const struct profile *profile, size_t number)
{
	const struct profile_table *table = profile->tables[number];
	json_t *rows = json_array();
	for (size_t k = 0; k < table->n_values; k++) {
		const struct profile_value *v = &table->values[k];
		char oid[PROFILE_OID_MAX * 11] = "";
		for (size_t i = 0; i < table->columns[v->column].n; i++)
			snprintf(oid + strlen(oid), sizeof(oid) - strlen(oid), i ? ".%u" : "%u",
				table->columns[v->column].v[i]);
		json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "table", table->name,
			"cadence", profile_cadence_name(table->cadence), "oid", oid, "value",
			v->metric >= 0 ? metric_info((unsigned)v->metric)->name
				       : profile_attribute_name(v->attribute),
			"fallback", v->fallback, "doc", v->doc);
		row_evidence(row, profile_table_evidence(profile, number, v));
		json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *stream_rows(const struct profile *profile, size_t number)
{
	const struct profile_gnmi_stream *stream = profile->gnmi->streams[number];
	json_t *rows = json_array();
	for (size_t k = 0; k < stream->n_values; k++) {
		const struct profile_gnmi_value *v = &stream->values[k];
		const char *value = profile_gnmi_attribute_name(v->attribute);
		if (v->metric >= 0)
			value = metric_info((unsigned)v->metric)->name;
		else if (v->refers)
			value = v->refers;
		json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:b, s:s}", "table", stream->name,
			"cadence", stream->slow ? "slow" : "fast", "oid", v->path, "value", value,
			"fallback", v->fallback, "doc", v->doc);
		row_evidence(row, profile_stream_evidence(profile, number, v));
		json_array_append_new(rows, row);
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
	{"evidence", "EVIDENCE", COL_TEXT, false},
	{"doc", "WHAT", COL_TEXT, false},
};
static const struct view show_view = {"profile", "columns", show_columns, rw_countof(show_columns),
	cmd_profile_show_text, "no columns"};

static int profile_unknown(const struct profiles *profiles, const char *name)
{
	const char *names[256];
	size_t n = profiles_count(profiles);
	if (n > rw_countof(names))
		n = rw_countof(names);
	for (size_t i = 0; i < n; i++)
		names[i] = profiles_at(profiles, i)->name;
	const char *near = str_nearest(name, names, n);
	if (near)
		return usage_error(
			&command_profile, "unknown profile '%s'; did you mean '%s'?", name, near);
	return usage_error(&command_profile,
		"unknown profile '%s'; 'rocewatch profile list' lists them", name);
}

static int cmd_profile_run_show(
	const struct globals *globals, const struct profiles *profiles, const char *name)
{
	const struct profile *p = profiles_get(profiles, name);
	if (!p)
		return profile_unknown(profiles, name);
	json_t *doc = profile_json(p), *columns = json_array(), *quirks = json_array();
	for (size_t i = 0; i < p->n_tables; i++) {
		json_t *rows = table_rows(p, i);
		json_array_extend(columns, rows);
		json_decref(rows);
	}
	for (size_t i = 0; p->gnmi && i < p->gnmi->n_streams; i++) {
		json_t *rows = stream_rows(p, i);
		json_array_extend(columns, rows);
		json_decref(rows);
	}
	for (size_t i = 0; i < p->n_quirks; i++)
		json_array_append_new(quirks,
			json_pack("{s:s, s:s, s:s}", "name", p->quirks[i].name, "doc",
				p->quirks[i].doc, "evidence", p->quirks[i].evidence));
	json_object_set_new(doc, "columns", columns);
	json_object_set_new(doc, "coverage", profile_coverage_json(p));
	json_object_set_new(doc, "quirks", quirks);
	json_object_set_new(doc, "extends", json_string_or_null(p->extends));
	json_object_set_new(doc, "file", json_string(p->file));
	json_object_set_new(doc, "text", json_string_or_null(p->text));
	int rc = cmd_profile_print(globals, doc, &show_view);
	json_decref(doc);
	return rc;
}

/* ---- the command --------------------------------------------------------- */

struct profile_call {
	struct command_args *args;
	const struct config *config; /* NULL: there is none */
	const struct profiles *profiles;
};

static int profile_list(const struct profile_call *call)
{
	return cmd_profile_run_list(call->args->g, call->profiles);
}

static int profile_show(const struct profile_call *call)
{
	return cmd_profile_run_show(call->args->g, call->profiles, call->args->argv[1]);
}

static int profile_try(const struct profile_call *call)
{
	return profile_test(&command_profile, call->args, call->config, call->args->argv[1]);
}

static int profile_call_run(struct command_args *args, int (*run)(const struct profile_call *call))
{
	struct config *config = NULL;
	struct profiles *profiles = NULL;
	int code = EXIT_USAGE;
	if (config_get(args->g, false, &config) == 0 && profiles_get_all(config, &profiles) == 0)
		code = run(&(struct profile_call){args, config, profiles});
	profiles_free(profiles);
	config_free(config);
	return code;
}

static int cmd_profile_list(struct command_args *args)
{
	return profile_call_run(args, profile_list);
}

static int cmd_profile_show(struct command_args *args)
{
	return profile_call_run(args, profile_show);
}

static int cmd_profile_test(struct command_args *args)
{
	return profile_call_run(args, profile_try);
}

static const struct subcommand subcommands[] = {
	{.name = "list",
		.summary = "all profiles, with the evidence of what they ask",
		.formats = WRITES_ALL,
		.examples = {{"profile list", "lists the profiles"},
			{"profile list --format csv", "writes them as csv"}},
		.run = cmd_profile_list},
	{.name = "show",
		.args = "NAME",
		.summary = "what one profile asks, value by value",
		.formats = WRITES_ALL,
		.examples = {{"profile show nxos", "prints the profile with its documents"},
			{"profile show sonic --format json", "writes it as a document"}},
		.run = cmd_profile_show},
	{.name = "test",
		.args = "TARGET",
		.summary = "try a profile on a live device",
		.help = "Polls a device twice and shows for each column whether it answers, is "
			"empty or looks implausible; over gNMI it subscribes and does the same "
			"for each path, and of a host's exporters (scrape) for each name. TARGET "
			"is a configured device, a host that is scraped, or (SNMP only) "
			"ADDRESS[:PORT] with --community-file or --credentials. Exit 1: the device "
			"does not answer.",
		.options = "community-file credentials profile protocol for timeout",
		.formats = WRITES_ALL,
		.examples = {{"profile test leaf1", "tests a configured device",
				     .not_run = "asks a switch"},
			{"profile test 192.0.2.7 --community-file /etc/rocewatch/community",
				"tests a switch that is not configured yet",
				.not_run = "asks a switch"}},
		.run = cmd_profile_test},
	{0},
};

const struct command command_profile = {
	.name = "profile",
	.summary = "what each profile collects; try one on a live device",
	.help = "A profile maps what a kind of switch answers to the metrics of rocewatch.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
};
