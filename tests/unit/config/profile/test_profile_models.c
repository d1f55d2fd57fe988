/*
 * profile against the models of the makers: models.tsv says what each model has and what it has
 * not; a path of a profile that it denies, or that nobody looked up, is a mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "config/profile/profile.h"
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

static bool is_judged(const struct profile *profile)
{
	for (size_t i = 0; profile->gnmi && i < facts.n; i++)
		if (fact_is_of(&facts.v[i], profile->name))
			return true;
	return false;
}

static void test_builtin_profiles(void **state)
{
	rw_cleanup(str_done) struct str out = {0};
	struct err_list errors = {0};
	struct profiles *profiles = NULL;
	size_t judged = 0;
	assert_int_equal(profiles_load(NULL, &profiles, &errors), 0);
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		if (!is_judged(profile))
			continue;
		profile_judge(profile, &out);
		judged++;
	}
	if (out.n)
		fail_msg("%s", out.s);
	assert_int_equal(judged, 8);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin_profiles), cmocka_unit_test(test_planted_mistakes)};
	return cmocka_run_group_tests(tests, facts_open, facts_close);
}
