/*
 * profile against the models of the makers: models.tsv says what each model has and what it has
 * not; a path of a profile that it denies, or that nobody looked up, is a mistake. So is a column
 * of a maker's own MIB that stands not there, or there with another syntax.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "config/profile/profile.h"
#include "config/profile/profile_push.h"
#include "db/model/metric.h"
#include "tests/model_facts.h"

static int facts_open(void **state)
{
	return facts_read("tests/unit/config/profile/models.tsv");
}

static int facts_close(void **state)
{
	facts_free();
	return 0;
}

/* The model's unit of a time is the profile's. */
static bool unit_holds(const struct fact *fact, const struct profile_gnmi_value *value)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}};
	for (size_t i = 0; i < rw_countof(units); i++)
		if (strcmp(fact->unit, units[i].name) == 0)
			return value->mul == units[i].ns && value->div == 1;
	return strcmp(metric_info((unsigned)value->metric)->unit, "ns") != 0;
}

static void leaf_judge(
	const struct profile *profile, const struct profile_gnmi_value *value, struct str *out)
{
	const struct fact *absent = fact_absent(profile->name, value->path);
	const struct fact *served = fact_of(profile->name, profile->gnmi->extends, value->path);
	if (absent)
		str_addf(out, "%s: %s: %s is not served (source %s)\n", profile->name,
			metric_info((unsigned)value->metric)->name, absent->path, absent->source);
	else if (!served)
		str_addf(out, "%s: %s: nobody looked up %s\n", profile->name,
			metric_info((unsigned)value->metric)->name, value->path);
	else if (!unit_holds(served, value))
		str_addf(out, "%s: %s: the model's unit is %s\n", profile->name,
			metric_info((unsigned)value->metric)->name, served->unit);
}

/* profile_judge - adds a line to @out for each mistake. */
static void profile_judge(const struct profile *profile, struct str *out)
{
	for (size_t i = 0; i < profile->gnmi->n_streams; i++) {
		const struct profile_gnmi_stream *stream = profile->gnmi->streams[i];
		for (size_t k = 0; k < stream->n_values; k++)
			if (stream->values[k].metric >= 0)
				leaf_judge(profile, &stream->values[k], out);
		for (size_t k = 0; k < stream->n_subscriptions; k++)
			if (fact_absent(profile->name, stream->subscriptions[k].path))
				str_addf(out, "%s: subscribes to %s, which is not served\n",
					profile->name, stream->subscriptions[k].path);
	}
}

static bool has_facts(const struct profile *profile, const char *prefix)
{
	for (size_t i = 0; i < facts.n; i++)
		if (fact_is_of(&facts.v[i], profile->name) &&
			strncmp(facts.v[i].path, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

/* ---- MIBs ------------------------------------------------------------------ */

#define ENTERPRISES "1.3.6.1.4.1."

/* What is wrong with how @value reads an object of this syntax; NULL: nothing. */
static const char *syntax_wrong(const struct profile_value *value, const char *syntax)
{
	const bool counts = metric_info((unsigned)value->metric)->kind == METRIC_COUNTER;
	if (strcmp(syntax, "c64") == 0 && value->width == 32)
		return "a Counter64 does not wrap at 2^32";
	if (strcmp(syntax, "i32") == 0 && counts && value->width != 32)
		return "an Integer32 that counts needs 'width: 32'";
	if ((strcmp(syntax, "text") == 0) != value->text)
		return "a text is read as one, and nothing else is";
	return NULL;
}

static void column_judge(const struct profile *profile, const struct profile_table *table,
	const struct profile_value *value, struct str *out)
{
	rw_cleanup(str_done) struct str oid = {0};
	const struct profile_oid *column = &table->columns[value->column];
	for (size_t i = 0; i < column->n; i++)
		str_addf(&oid, "%s%u", i ? "." : "", column->v[i]);
	if (value->metric < 0 || strncmp(oid.s, ENTERPRISES, strlen(ENTERPRISES)) != 0)
		return;
	const char *metric = metric_info((unsigned)value->metric)->name;
	const struct fact *fact = fact_served(profile->name, oid.s);
	const char *wrong = fact ? syntax_wrong(value, fact->unit) : NULL;
	if (!fact)
		str_addf(out, "%s: %s: nobody looked up %s\n", profile->name, metric, oid.s);
	else if (wrong)
		str_addf(out, "%s: %s: %s: %s\n", profile->name, metric, oid.s, wrong);
}

/* mib_judge - what the profile itself says; adds a line to @out for each mistake. Returns how many
 * tables it has. */
static size_t mib_judge(const struct profile *profile, struct str *out)
{
	for (size_t i = profile->n_tables_inherited; i < profile->n_tables; i++)
		for (size_t k = 0; k < profile->tables[i]->n_values; k++)
			column_judge(
				profile, profile->tables[i], &profile->tables[i]->values[k], out);
	return profile->n_tables - profile->n_tables_inherited;
}

/* ---- names that are pushed ------------------------------------------------- */

/* Of a profile whose names the index has: each of them. */
static size_t names_judge(const struct profile *profile, struct str *out)
{
	size_t n = 0;
	if (!has_facts(profile, "nvswitch_"))
		return 0;
	for (size_t g = 0; g < profile->n_push; g++)
		for (size_t i = 0; i < profile->push[g]->n_values; i++, n++)
			if (!fact_served(profile->name, profile->push[g]->values[i].name))
				str_addf(out, "%s: nobody looked up %s\n", profile->name,
					profile->push[g]->values[i].name);
	return n;
}

static void test_builtin_profiles(void **state)
{
	rw_cleanup(str_done) struct str out = {0};
	struct err_list errors = {0};
	struct profiles *profiles = NULL;
	size_t judged = 0, tables = 0, names = 0;
	assert_int_equal(profiles_load(NULL, &profiles, &errors), 0);
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		tables += mib_judge(profile, &out);
		names += names_judge(profile, &out);
		if (!profile->gnmi || !has_facts(profile, "/"))
			continue;
		profile_judge(profile, &out);
		judged++;
	}
	if (out.n)
		fail_msg("%s", out.s);
	assert_int_equal(judged, 8);
	assert_true(tables > 30 && names > 30);
	profiles_free(profiles);
	err_list_done(&errors);
}

/* Mistakes put in by hand: the judge names each. .at NULL: all of OpenConfig is taken over. */
#define PFC_OF "/qos/interfaces/interface[interface-id={port}]/"
static const struct {
	const char *what, *profile, *at, *leaf, *said;
} planted[] = {
	{"a leaf that the maker calls not supported", "eos", NULL, NULL, "max-queue-len"},
	{"a subscription to what is not there", "nxos", NULL, NULL,
		"subscribes to /interfaces/interface[name=*]/state/transceiver"},
	{"a path that nobody looked up", "nxos", "/System/tulips[id={port}]",
		"path: red, metric: port.in_octets",
		"nobody looked up /System/tulips[id={port}]/red"},
	{"a unit that is not the model's", "eos",
		"/interfaces/interface[name={port}]/ethernet/pfc/priorities/"
		"priority[index={priority}]/state",
		"path: pfc-on-total-rx-time, metric: pfc.rx_pause_ns, unit: us", "unit is ns"},
	{"a pause time in another unit than Cumulus serves", "cumulus",
		PFC_OF "switch-priority[priority={priority}]/state",
		"path: in-pause-duration, metric: pfc.rx_pause_ns, unit: ms", "unit is us"},
	{"a pause time where Cumulus has none", "cumulus",
		PFC_OF "state/switch-priority[priority={priority}]",
		"path: in-pause-duration, metric: pfc.rx_pause_ns, unit: us",
		"in-pause-duration is not served (source L)"},
	{"a leaf beside those of Juniper's state model", "junos",
		"/state/interfaces/interface[name={port}]/counters/errors",
		"path: out-ecn-marked-pkts, metric: port.ecn_marked", "nobody looked up"},
	{"a place of EOS's switch that is not the port's", "eos",
		"/qos/interfaces/interface[interface-id={port}]/output/pfc/state",
		"path: priorities-no-drop, metric: cfg.pfc_enabled, list: bits",
		"output/pfc/state is not served (source B)"},
	{"a field that no SONiC table has", "sonic", "/WRED_PROFILE/{name}",
		"path: blue_min_threshold, of: wred, metric: cfg.ecn_kmin_bytes",
		"nobody looked up /WRED_PROFILE/{name}/blue_min_threshold"},
};

static void test_planted_mistakes(void **state)
{
	struct err_list errors = {0};
	for (size_t i = 0; i < rw_countof(planted); i++) {
		rw_cleanup(str_done) struct str out = {0}, text = {0};
		struct profiles *profiles = NULL;
		str_addf(&text, "name: %s\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n",
			planted[i].profile);
		if (planted[i].at)
			str_addf(&text,
				"  streams: [{ name: s, subscribe: [{ path: /x }], values: "
				"[{ at: \"%s\", leaves: [{ %s }] }] }]\n",
				planted[i].at, planted[i].leaf);
		else
			str_addf(&text, "  extends: openconfig\n");
		if (profiles_parse(text.s, text.n, "planted", &profiles, &errors) < 0) {
			err_print(stderr, &errors.v[0]);
			fail_msg("%s: does not parse", planted[i].what);
		}
		for (size_t k = 0; k < profiles_count(profiles); k++)
			if (strcmp(profiles_at(profiles, k)->file, "planted") == 0)
				profile_judge(profiles_at(profiles, k), &out);
		if (!out.s || !strstr(out.s, planted[i].said))
			fail_msg("%s: the judge says '%s'", planted[i].what, str_or(out.s, ""));
		profiles_free(profiles);
	}
	err_list_done(&errors);
}

static const char planted_name[] =
	"name: cumulus\ndoc: d\nmatch: [{ descr: x }]\npush:\n"
	"  - { name: p, doc: d, evidence: \"document: x\", port: interface, values: [\n"
	"      { name: nvswitch_interface_if_in_octets, metric: port.in_octets },\n"
	"      { name: nvswitch_interface_if_out_octet, metric: port.out_octets }] }\n";

static void test_planted_name(void **state)
{
	rw_cleanup(str_done) struct str out = {0};
	struct err_list errors = {0};
	struct profiles *profiles = NULL;
	assert_int_equal(
		profiles_parse(planted_name, strlen(planted_name), "planted", &profiles, &errors),
		0);
	names_judge(profiles_get(profiles, "cumulus"), &out);
	assert_string_equal(out.s, "cumulus: nobody looked up nvswitch_interface_if_out_octet\n");
	profiles_free(profiles);
	err_list_done(&errors);
}

static const struct {
	const char *what, *profile, *oid, *column, *said;
} planted_columns[] = {
	{"a column that the MIB does not have", "cumulus", "1.3.6.1.4.1.40310.2.2.3.1",
		"column: 44, metric: pfc.rx_frames, priority: 3",
		"nobody looked up 1.3.6.1.4.1.40310.2.2.3.1.44"},
	{"a table of another maker", "eos", "1.3.6.1.4.1.9.9.813.1.2.1",
		"column: 2, metric: pfc.tx_frames", "nobody looked up 1.3.6.1.4.1.9.9.813.1.2.1.2"},
	{"a count in an Integer32 that would not wrap", "eos", "1.3.6.1.4.1.30065.3.11.1.2.1",
		"column: 4, metric: pfcwd.storms", "needs 'width: 32'"},
	{"a Counter64 that would wrap", "nxos", "1.3.6.1.4.1.9.9.813.1.2.1",
		"column: 2, metric: pfc.tx_frames, width: 32", "does not wrap at 2^32"},
	{"a text that is read as a number", "aruba-cx", "1.3.6.1.4.1.47196.4.1.1.3.27.1.2.1.1",
		"column: 2, metric: optic.temperature_c", "a text is read as one"},
	{"a column in the place of its neighbour", "junos", "1.3.6.1.4.1.2636.3.15.11.1",
		"column: 2, metric: pfc.tx_frames", "nobody looked up"},
};

static void test_planted_columns(void **state)
{
	struct err_list errors = {0};
	for (size_t i = 0; i < rw_countof(planted_columns); i++) {
		rw_cleanup(str_done) struct str out = {0}, text = {0};
		struct profiles *profiles = NULL;
		str_addf(&text,
			"name: %s\ndoc: d\nmatch: [{ descr: x }]\nsnmp:\n  tables: [{ name: t, "
			"cadence: fast, oid: %s, index: [port, priority], columns: [{ %s }] }]\n",
			planted_columns[i].profile, planted_columns[i].oid,
			planted_columns[i].column);
		if (profiles_parse(text.s, text.n, "planted", &profiles, &errors) < 0) {
			err_print(stderr, &errors.v[0]);
			fail_msg("%s: does not parse", planted_columns[i].what);
		}
		for (size_t k = 0; k < profiles_count(profiles); k++)
			if (strcmp(profiles_at(profiles, k)->file, "planted") == 0)
				mib_judge(profiles_at(profiles, k), &out);
		if (!out.s || !strstr(out.s, planted_columns[i].said))
			fail_msg("%s: the judge says '%s'", planted_columns[i].what,
				str_or(out.s, ""));
		profiles_free(profiles);
	}
	err_list_done(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_builtin_profiles),
		cmocka_unit_test(test_planted_mistakes), cmocka_unit_test(test_planted_columns),
		cmocka_unit_test(test_planted_name)};
	return cmocka_run_group_tests(tests, facts_open, facts_close);
}
